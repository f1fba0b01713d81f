"""A tree of labels with a certified squared hinge machine for each child of each node.

Balanced 2-means puts labels of similar rows into one branch (`mlrank.solvers.label_tree.tree`). Each child c of a node
has a machine, with the node's rows, those of a label below the node, as examples, positive where the label is below c::

    min_w  1/2 |w|**2 + C sum_i max(0, 1 - y_i w.x_i)**2          x_i with a feature 1 appended, the bias
    max_a  sum_i a_i - 1/2 |sum_i a_i y_i x_i|**2 - sum_i a_i**2 / (4 C),   a >= 0

so that negatives are those of siblings alone. The score of a label is a sum over the machines on the way to it from the
root, of -max(0, 1 - z)**3 or of log 1 / (1 + exp(-z)) for the margin z: the logarithm of a product of probabilities.
A model follows a beam of the best nodes for the best labels of a row; its ``decision_function`` goes through all nodes.

`optimality` is the largest relative duality gap (P - D) / P of all machines, recomputed in float64 from the weights and
multipliers; `objective` the sum of their P, and `n_iter` the most passes over its rows that a node took. Weights that
`min_weight` leaves out come after: a note counts them.

A fit costs the nonzeros of the rows, times the labels of a row, times the number of levels, log(n_labels) of them, a
pass; memory holds X once more in float32, the node at work, and the weights. Weights are float32, for a tol below 1e-4
or values above 1000 float64. Nodes whose features are out of scale cost (n + m) m^2 a child more, if they are small.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mlrank.arrays import as_features, read_only
from mlrank.labels import columns_of
from mlrank.solvers.base import (
    WHOLE,
    Block,
    CertificateKind,
    FitInfo,
    TrainingSet,
    check_choices,
    check_count,
    check_not_negative,
    check_positive,
    relative_gap,
)
from mlrank.solvers.label_tree.model import SCORES, TreeModel
from mlrank.solvers.label_tree.nodes import Machines, NodeRows, Weights, train_node
from mlrank.solvers.label_tree.tree import GrownTree, Tree, grow, shape_of
from mlrank.solvers.scales import scale_notes

__all__ = ["LabelTree"]

# No gap below it is sought in float32, nor with values above MOST, of which it loses what tells rows apart, nor with
# ones below LEAST, whose squares are none of its numbers.
FLOAT32_TOL, FLOAT32_MOST, FLOAT32_LEAST = 1e-4, 1e3, 1e-12
# The most children that a node may have: a byte says which.
MOST_CHILDREN = 256
DRAWS = 100_003
# Weights of a label that `min_weight` may leave, as an estimate of memory.
KEPT_WEIGHTS = 500.0


class TrainedNodes(NamedTuple):
    """The machines of nodes, by the numbers that nodes have from the root down, and the tree, whose order has gaps.

    Labels whose place another block knows are -1.
    """

    tree: Tree
    nodes: dict[int, Weights]


@dataclass(frozen=True)
class LabelTree:
    """A tree of labels, whose nodes choose among their children by linear machines.

    Use it for thousands of labels and more: time grows with the logarithm of their number.

    It ranks labels. Margins of rare ones are mostly below 0, so that fewer labels are above the natural cut, where
    machines are undecided, than rows have. ``threshold: {kind: top_k, k: 5}`` takes a fixed number of the best.

    Parameters
    ----------
    C : float
        Weight of the loss. Rows of unit length (``scale: l2``) are what the default is for.
    branching : int
        Children of a node, a power of 2 up to 256.
    leaf : int
        Labels of a leaf at most, up to 256. Larger leaves are slower to train, and a little more precise.
    beam : int
        Nodes of a level that prediction follows for the best labels. Of 10^5 labels without clusters, 10 lose a
        hundredth of precision at 1 and three at 5; 40 win little.
    scores : {"hinge", "logistic"}
        How margins become scores: -max(0, 1 - z)**3, or the logarithm of 1 / (1 + exp(-z)).
    min_weight : float
        Weights that are not larger in size are left out of the model; 0 for none. Extreme multi-label programs take 0.1
        for rows of unit length.
    tol : float
        Relative duality gap of each machine.
    max_iter : int
        Passes over the rows of a node at most.
    seed : int
        Of the first centers of labels, and the order of rows.

    References
    ----------
    Prabhu et al., "Parabel: partitioned label trees for extreme classification", WWW 2018.
    Yu, Zhong, Zhang, Chang & Dhillon, "PECOS: prediction for enormous and correlated output spaces", JMLR 23 (2022).
    Hsieh et al., "A dual coordinate descent method for large-scale linear SVM", ICML 2008.
    """

    C: float = 1.0
    branching: int = 16
    leaf: int = 100
    beam: int = 20
    scores: str = "hinge"
    min_weight: float = 0.0
    tol: float = 1e-2
    max_iter: int = 1000
    seed: int = 0

    SHARED: ClassVar[tuple[str, ...]] = ("branching", "leaf", "seed")
    CERTIFICATE: ClassVar[CertificateKind | None] = "gap"
    SPARSE_LABELS: ClassVar[bool] = True
    BY_PLACE: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_positive(self, "C", "tol")
        check_count(self, "branching", "leaf", "beam", "max_iter")
        check_not_negative(self, "min_weight", "seed")
        check_choices(self, {"scores": SCORES})
        if self.branching < 2 or self.branching > MOST_CHILDREN or int(self.branching).bit_count() != 1:
            raise ValueError(f"branching must be a power of 2 from 2 to {MOST_CHILDREN}, found {self.branching!r}")
        if self.leaf > MOST_CHILDREN:
            raise ValueError(f"leaf must be {MOST_CHILDREN} or less, found {self.leaf!r}")

    def natural_cut(self, train: TrainingSet) -> float:
        """Return the score of a label all of whose machines are undecided, z = 0; those they all vote for are above."""
        levels = 1 + len(shape_of(train.n_labels, int(self.branching), int(self.leaf))[1])
        return -levels * (1.0 if self.scores == "hinge" else float(np.log(2.0)))

    def cost(self, n_samples: int, n_features: int, n_labels: int, density: float = 1.0) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow with the shape of the training set.

        A machine has a weight of 9 bytes for each feature that the rows of its node have, of at most five labels each.
        Of rows of length 1, a `min_weight` of 0.1 leaves some 200 for a label.
        """
        levels = 1 + len(shape_of(n_labels, int(self.branching), int(self.leaf))[1])
        cells = density * n_samples * n_features
        weights = min(float(n_features) * n_labels, 5.0 * cells * self.leaf)
        if self.min_weight > 0:
            weights = min(weights, KEPT_WEIGHTS * n_labels)
        return 40.0 * cells * self.branching * levels, 16.0 * cells + 9.0 * weights

    def prepare(self, train: TrainingSet) -> GrownTree:
        """Return the tree of the labels of `train`."""
        return self._grow(train, WHOLE)

    def fit(self, train: TrainingSet, prepared: GrownTree | None = None) -> TreeModel:
        """Grow the tree of labels, then train the machines of each node."""
        return self.join(train, [self.fit_block(train, WHOLE, prepared)])

    def fit_block(self, train: TrainingSet, block: Block, prepared: GrownTree | None = None) -> TrainedNodes:
        """Train the machines of the nodes of a block; what it needs of the tree is grown where that is not given."""
        tree = self._grow(train, block) if prepared is None else prepared
        machines = Machines(float(self.C), float(self.tol), int(self.max_iter), float(self.min_weight))
        rows = self._rows(train)
        nodes = {node.number: train_node(rows, node, machines) for node in tree.nodes(block)}
        return TrainedNodes(Tree(tree.own_order(block), tree.leaf_ptr, tree.widths), nodes)

    def join(self, train: TrainingSet, parts: Sequence[TrainedNodes]) -> TreeModel:
        """Return the model of the nodes of all blocks, which are let go as they are joined."""
        nodes = {number: weights for part in parts for number, weights in part.nodes.items()}
        for part in parts:
            part.nodes.clear()
        order = np.maximum.reduce([part.tree.order for part in parts])
        return _model(self, train, replace(parts[0].tree, order=order), [nodes.pop(number) for number in sorted(nodes)])

    def _grow(self, train: TrainingSet, block: Block) -> GrownTree:
        X, rng = as_features(csr_array(train.X)), np.random.default_rng(self.seed)
        return grow(X, train.sparse_Y, int(self.branching), int(self.leaf), rng, block)

    def _rows(self, train: TrainingSet) -> NodeRows:
        X, columns = as_features(csr_array(train.X)), columns_of(train.sparse_Y)
        largest = float(np.abs(X.data).max(initial=0.0))
        single = self.tol >= FLOAT32_TOL and (largest == 0 or FLOAT32_LEAST <= largest <= FLOAT32_MOST)
        values = X.data.astype(np.float32 if single else np.float64)
        return NodeRows(
            *(read_only(X.indptr), read_only(X.indices), values),
            *(columns.indptr.astype(np.int64), read_only(columns.indices)),
            draws=np.random.default_rng(self.seed).random(DRAWS),
            local_row=np.full(X.shape[0], -1, np.int32),
            local_feature=np.full(X.shape[1], -1, np.int32),
        )


def _model(solver: LabelTree, train: TrainingSet, tree: Tree, nodes: list[Weights]) -> TreeModel:
    primal, dual = (np.concatenate([getattr(node, name) for node in nodes]) for name in ("primal", "dual"))
    gap = max(relative_gap(*pair) for pair in zip(primal.tolist(), dual.tolist(), strict=True))
    notes = (*_notes(solver, train, nodes), *scale_notes(train, gap <= solver.tol))
    n_passes = max(node.n_passes for node in nodes)
    node_ptr = np.cumsum([0, *(node.weights.size for node in nodes)])
    bias = np.concatenate([node.bias for node in nodes])
    # Parts are let go as soon as they are joined: a model is not held twice.
    features, children, weights = ([node[which] for node in nodes] for which in range(3))
    nodes.clear()
    return TreeModel(
        *(tree.order, tree.leaf_ptr, tree.widths, node_ptr),
        *(_joined(features), _joined(children), _joined(weights), bias),
        n_features=train.n_features,
        beam=int(solver.beam),
        scores=solver.scores,
        info=FitInfo(n_passes, float(primal.sum()), gap, gap <= solver.tol, notes),
    )


def _joined(parts: list[Any]) -> Any:
    joined = np.concatenate(parts)
    parts.clear()
    return joined


def _notes(solver: LabelTree, train: TrainingSet, nodes: list[Weights]) -> tuple[str, ...]:
    notes: list[str] = []
    if dropped := sum(node.n_dropped for node in nodes):
        n_weights = dropped + sum(node.weights.size for node in nodes)
        notes.append(f"left out {dropped} of {n_weights} weights, which are {solver.min_weight:g} or less in size")
    unseen = train.n_labels - int(np.unique(train.sparse_Y.indices).size)
    if unseen:
        notes.append(f"{unseen} of {train.n_labels} labels have no row: they are scored as their siblings' negatives")
    return tuple(notes)
