"""The model of a label tree: weights by node, all scores of a row, and its best ones by beam search."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from mlrank.arrays import Features, FloatArray, IntArray, as_features, piece_size, read_only
from mlrank.compiled import njit
from mlrank.labels import TopScores
from mlrank.solvers.base import FitInfo, ModelArrays, ModelMeta
from mlrank.solvers.label_tree.beam import search
from mlrank.solvers.label_tree.tree import Tree

__all__ = ["SCORES", "TreeModel"]

# How the margin z of a child becomes the logarithm of a probability.
SCORES = ("hinge", "logistic")
# Weights of a node among which one is searched, about; features that are taken together for it, at most 2^31.
PER_PLACE, MOST_SHIFT = 16, 31
# A node is held as a matrix too if that has at most so many entries for each of its weights: these lie in one line of
# the cache, and not in three.
ENTRIES = 3
# The nodes of rows that are followed together take at most so many bytes, 40 each.
BEAM_BYTES, NODE_BYTES = 1 << 26, 40


@dataclass(frozen=True)
class TreeModel:
    """Scores are sums along the way from the root to a label.

    Parameters
    ----------
    order, leaf_ptr, widths : of the `Tree`
    node_ptr : (n_nodes + 1,) int64 ndarray
        The weights of node i, level by level from the root, are ``weights[node_ptr[i]:node_ptr[i + 1]]``.
    features, children, weights : int32, uint8 and float ndarrays
        Each weight with its feature, which rises within a node, and the place of its child in the node.
    bias : float ndarray, of all children, level by level
    n_features : int
    beam : int, nodes of each level that `top_scores` follows
    scores : one of SCORES
    info : FitInfo
    """

    order: IntArray
    leaf_ptr: IntArray
    widths: IntArray
    node_ptr: IntArray
    features: npt.NDArray[np.int32]
    children: npt.NDArray[np.uint8]
    weights: FloatArray
    bias: FloatArray
    n_features: int
    beam: int
    scores: str
    info: FitInfo

    def __post_init__(self) -> None:
        tree = Tree(self.order, self.leaf_ptr, self.widths)
        # Of other types, which a file may have, differences and products may be out of their range.
        whole = (self.order, self.leaf_ptr, self.widths, self.node_ptr)
        _require(all(part.dtype == np.int64 for part in whole), "places of type int64")
        _require(
            self.features.dtype == np.int32 and self.children.dtype == np.uint8, "features as int32, children as bytes"
        )
        _require({self.weights.dtype, self.bias.dtype} <= {np.dtype("f4"), np.dtype("f8")}, "weights of type float")
        _require(self.order.ndim == self.leaf_ptr.ndim == self.widths.ndim == 1, "arrays of one dimension")
        _require(np.array_equal(np.sort(self.order), np.arange(self.order.size)), "an order that has each label once")
        _require(((self.widths >= 2) & (self.widths <= 256)).all() and self.widths.size < 64, "widths from 2 to 256")
        _require(float(np.prod(self.widths.astype(float))) == self.leaf_ptr.size - 1, "as many leaves as widths give")
        _require(_rises(self.leaf_ptr, self.order.size), "leaves that follow one another")
        _require(int(np.diff(self.leaf_ptr).max()) <= 256, "256 labels a leaf at most")
        _require(self.node_ptr.size == int(tree.level_sizes.sum()) + 1, "as many nodes as widths give")
        _require(_rises(self.node_ptr, self.weights.size), "weights node by node")
        _require(self.features.size == self.children.size == self.weights.size, "a feature and a child for each weight")
        _require(self.bias.size == int(tree.level_sizes[1:].sum()) + self.order.size, "a bias for each child")
        _require(self.scores in SCORES and self.beam >= 1 and self.n_features >= 1, "settings that there are")
        inside = self.features.size == 0 or 0 <= self.features.min() <= self.features.max() < self.n_features
        _require(bool(inside), "features below n_features")
        counts = np.diff(self.leaf_ptr)
        of_node = np.concatenate([np.repeat(self.widths, tree.level_sizes[:-1]), counts])
        # In bytes, as there are very many weights: a node has a child at least.
        last = np.repeat((np.maximum(of_node, 1) - 1).astype(np.uint8), np.diff(self.node_ptr))
        _require((self.children <= last).all(), "children that the node has")

    def __getstate__(self) -> dict[str, object]:
        # What a search goes through are the same arrays, or made of them, and a copy would hold them twice.
        return {name: value for name, value in self.__dict__.items() if name != "_searched"}

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.order.size)

    @property
    def tree(self) -> Tree:
        """The tree alone."""
        return Tree(self.order, self.leaf_ptr, self.widths)

    def decision_function(self, X: Features) -> FloatArray:
        """Return scores (n_samples, n_labels), by all nodes and not a beam alone."""
        rows = self._rows(X)
        found = np.empty((rows.shape[0], self.n_labels))
        self._follow(rows, self._searched[-1], found, np.empty((0, 0)), np.empty((0, 0), np.int32))
        return found

    def top_scores(self, X: Features, k: int) -> TopScores:
        """Return the best `k` labels of each row that a beam finds.

        Of the children of the nodes in the beam, the best `beam` are the next ones; a beam that holds fewer than `k`
        labels at its end is made larger. A row costs the weights of beam * n_levels nodes that its features meet, which
        are found by their places: half a byte for each weight, and at most three weights more for each of a node that
        has a third of what it could have.
        """
        rows, k = self._rows(X), min(k, self.n_labels)
        *_, smallest, n_leaves = self._searched
        beam = min(max(self.beam, -(-k // smallest)), n_leaves)
        scores, labels = np.empty((rows.shape[0], k)), np.empty((rows.shape[0], k), np.int32)
        self._follow(rows, beam, np.empty((0, 0)), scores, labels)
        return TopScores(labels, scores)

    @cached_property
    def _searched(self) -> tuple[Any, ...]:
        """What a search goes through: (tree, weights, places), its table, widest node, least labels of a leaf, leaves.

        The table holds nothing between calls of a search, no two of which are made at the same time.
        """
        tree, counts = self.tree, np.diff(self.leaf_ptr)
        parts: list[Any] = [self.order, self.leaf_ptr, self.widths, tree.level_sizes]
        parts += [self.node_ptr, self.features, self.children, self.weights, self.bias]
        parts += [*_places_of(self), *_matrices_of(self)]
        widest = max([int(counts.max()), *self.widths.tolist()])
        table, least = np.zeros(self.n_features, np.int32), max(int(counts.min()), 1)
        return tuple(read_only(part) for part in parts), table, widest, least, int(tree.level_sizes.max())

    def _follow(
        self, X: csr_array, beam: int, every: FloatArray, best: FloatArray, labels: npt.NDArray[np.int32]
    ) -> None:
        """Fill `every` with the scores of all labels, or `best` and `labels` with the best ones."""
        parts, table, widest, *_ = self._searched
        n_levels, kind = self.widths.size + 1, SCORES.index(self.scores)
        most = piece_size(17.0 * (1 + X.nnz / max(X.shape[0], 1) + widest))
        together = max(1, BEAM_BYTES // (NODE_BYTES * beam))
        for begin in range(0, X.shape[0], together):
            n_rows = min(together, X.shape[0] - begin)
            nodes, scores = np.zeros((2, n_rows, beam), np.int64), np.zeros((2, n_rows, beam))
            n_nodes, visits = np.ones((2, n_rows), np.int64), np.empty(n_rows * beam, np.int64)
            state = np.zeros(3, np.int64)
            beams = table, nodes, scores, n_nodes, visits, state
            while state[0] < n_levels:
                search(X.indptr, X.indices, X.data, begin, *parts, kind, widest, *beams, most, every, best, labels)

    def _rows(self, X: Features) -> csr_array:
        X = as_features(X)
        if X.shape[1] != self.n_features:
            raise ValueError(f"X has {X.shape[1]} features, the model {self.n_features}")
        rows: csr_array = read_only(as_features(csr_array(X)))
        return rows

    def arrays(self) -> ModelArrays:
        """Return the tree and its weights."""
        names = ("order", "leaf_ptr", "widths", "node_ptr", "features", "children", "weights", "bias")
        return {name: getattr(self, name) for name in names}

    def meta(self) -> ModelMeta:
        """Return the kind of model and how it is searched."""
        return {"model": "label_tree", "n_features": self.n_features, "beam": self.beam, "scores": self.scores}


def _rises(ptr: IntArray, end: int) -> bool:
    return bool(ptr.size and ptr[0] == 0 and ptr[-1] == end and (np.diff(ptr) >= 0).all())


def _require(condition: Any, expected: str) -> None:
    if not condition:
        raise ValueError(f"a label tree needs {expected}")


def _places_of(model: TreeModel) -> tuple[IntArray, IntArray, IntArray]:
    """Return (place_ptr, shifts, places), by which the weights of a feature are found in a node without a search.

    Those of node i for the features from ``f << shifts[i]`` on, to the next f, are the ones from ``places[p + f]`` to
    ``places[p + f + 1]``, p = ``place_ptr[i]``: about `PER_PLACE` of them.
    """
    n_weights = np.diff(model.node_ptr)
    ratio = PER_PLACE * model.n_features / np.maximum(n_weights, 1)
    shifts = np.minimum(np.ceil(np.log2(np.maximum(ratio, 1.0))), MOST_SHIFT).astype(np.int64)
    place_ptr = np.concatenate([[0], np.cumsum(((model.n_features - 1) >> shifts) + 2)])
    places = np.empty(place_ptr[-1], np.int64)
    _fill_places(model.node_ptr, model.features, place_ptr, shifts, places)
    return place_ptr, shifts, places


def _matrices_of(model: TreeModel) -> tuple[IntArray, npt.NDArray[Any]]:
    """Return (matrix_at, matrices): nodes that have a third of the weights that they could have, or more, as matrices.

    That of node i (n_features, n_children) begins at ``matrix_at[i]``, which is -1 for nodes that have none.
    """
    widths = np.repeat(model.widths, model.tree.level_sizes[:-1])
    sizes = np.concatenate([widths, np.diff(model.leaf_ptr)]) * model.n_features
    full = (ENTRIES * np.diff(model.node_ptr) >= sizes) & (sizes > 0)
    sizes[~full] = 0
    matrix_at = np.where(full, np.cumsum(sizes) - sizes, -1)
    matrices = np.zeros(int(sizes.sum()), model.weights.dtype)
    n_children = sizes // model.n_features
    _fill_matrices(model.node_ptr, model.features, model.children, model.weights, matrix_at, n_children, matrices)
    return matrix_at, matrices


@njit(cache=True)
def _fill_matrices(node_ptr, features, children, weights, matrix_at, n_children, matrices):  # type: ignore[no-untyped-def]
    for node in np.flatnonzero(matrix_at >= 0):
        for at in range(node_ptr[node], node_ptr[node + 1]):
            matrices[matrix_at[node] + features[at] * n_children[node] + children[at]] += weights[at]


@njit(cache=True)
def _fill_places(node_ptr, features, place_ptr, shifts, places):  # type: ignore[no-untyped-def]
    for node in range(shifts.size):
        at, high = node_ptr[node], node_ptr[node + 1]
        for place in range(place_ptr[node + 1] - place_ptr[node]):
            while at < high and (features[at] >> shifts[node]) < place:
                at += 1
            places[place_ptr[node] + place] = at
