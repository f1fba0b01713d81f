"""Logistic regression: one independent regression for each label, with a squared penalty.

For each label, with signs s_i = +1 or -1 and costs c_i = C, or C times `positive_weight` where s_i = 1::

    bias="free"       min_w,b  1/2 |w|^2 + sum_i c_i log(1 + exp(-s_i f(x_i)))             a free bias
    bias="augmented"  min_w,b  1/2 (|w|^2 + b^2) + sum_i c_i log(1 + exp(-s_i f(x_i)))     a constant feature's weight

with the dual, where H(p) = -p log p - (1 - p) log(1 - p)::

    max_alpha  sum_i c_i H(alpha_i / c_i) - 1/2 |sum_i s_i alpha_i x_i|^2     0 <= alpha_i <= c_i

and sum_i s_i alpha_i = 0 for a free bias, or less 1/2 (sum_i s_i alpha_i)^2 for an augmented one. Scores f are
log-odds: 1 / (1 + exp(-f)) is the probability of the label, as far as `positive_weight` is 1.

`objective` is the sum over labels and `optimality` the relative duality gap of that sum, computed in double precision
from the given rows at the weights and dual variables that were found; each label's own gap is below `tol`. Weights that
`min_weight` leaves out are left out of both, and the bound stands: the gap tells what they were worth.

All labels are fitted together by Newton steps: on narrow rows each step solves its system by a factor
(one_vs_rest/logistic.py, rows.py), on others by conjugate gradients (one_vs_rest/conjugate.py). `n_iter` counts the
steps of all labels.

A label that every training row carries, or none, has no regression: its score is log((p + 1/2) / (q + 1/2)), with p of
the rows that carry it and q that do not; one that is known of no row scores as one that no row carries. A label of
which some rows are unknown has a regression on its known rows.

Cost: some 5 to 10 steps a label, more for a C at which labels are parted without an error.
References: those of one_vs_rest/logistic.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import FloatArray
from mlrank.labels import label_counts
from mlrank.solvers.base import (
    WHOLE,
    Block,
    CertificateKind,
    FitInfo,
    TrainingSet,
    check_choices,
    check_not_negative,
    check_positive,
    relative_gap,
)
from mlrank.solvers.models import LinearModel, SparseLinearModel
from mlrank.solvers.one_vs_rest import LabelMachines, LogisticRows, MachineRows, dual_point_of, join_machines, pruned
from mlrank.solvers.scales import scale_notes

__all__ = ["Logistic"]

Prepared: TypeAlias = MachineRows | LogisticRows
BIASES = ("free", "augmented")
# Over the rows of each label, as the cost model counts them.
PASSES = 30.0
# The smaller side of rows whose systems get a factor; cells of sparse rows that are made dense for it.
SIDE, DENSE_CELLS = 500, 2**22


@dataclass(frozen=True)
class Logistic:
    """One logistic regression for each label.

    Use it where scores should be log-odds, or ranking by one-vs-rest machines falls short: each label by itself, exact,
    on dense and sparse rows.

    Parameters
    ----------
    C : float
        Weight of the loss, above 0.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Most Newton steps for one label; 200 are made at most.
    bias : {"free", "augmented"}
        Whether its square costs what that of a weight does: that of an augmented one does.
    positive_weight : float
        What C is multiplied by for the rows that have a label.
    min_weight : float
        Weights of at most this size are left out of the model, which is stored without them, at a price that the gap
        states; 0 leaves all.

    References
    ----------
    Lin, Weng and Keerthi, "Trust region Newton method for large-scale logistic regression", JMLR 9 (2008). Yu, Huang
    and Lin, "Dual coordinate descent methods for logistic regression and maximum entropy models", Machine Learning 85
    (2011).
    """

    C: float = 1.0
    tol: float = 1e-3
    max_iter: int = 200
    bias: str = "free"
    positive_weight: float = 1.0
    min_weight: float = 0.0
    loss: ClassVar[str] = "logistic"

    SHARED: ClassVar[tuple[str, ...]] = ("bias", "positive_weight")
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False
    USES_KNOWN: ClassVar[bool] = True
    SPARSE_LABELS: ClassVar[bool] = True
    CERTIFICATE: ClassVar[CertificateKind | None] = "gap"
    LOADS: ClassVar[tuple[str, ...]] = ("numba",)

    def __post_init__(self) -> None:
        check_positive(self, "C", "tol", "max_iter", "positive_weight")
        check_not_negative(self, "min_weight")
        check_choices(self, {"bias": BIASES})

    @property
    def free(self) -> bool:
        """Whether the bias costs nothing."""
        return self.bias == "free"

    def prepare(self, train: TrainingSet) -> Prepared:
        """Return the rows of all labels' regressions."""
        cells = train.n_samples * train.n_features
        if min(train.X.shape) <= SIDE and (not issparse(train.X) or cells <= DENSE_CELLS):
            return MachineRows(train, "logistic", self.free, self.positive_weight)
        return LogisticRows(train, self.free, self.positive_weight)

    def cost(self, n_samples: int, n_features: int, n_labels: int, density: float = 1.0) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow with the shape of the training set."""
        # Dual variables of all rows and labels, which are not kept beyond 2^28 of them.
        cells, duals = density * n_samples * n_features, min(float(n_samples) * n_labels, 2.0**28)
        return PASSES * cells * n_labels, 16.0 * cells + 16.0 * duals + 16.0 * n_features * n_labels

    def fit(self, train: TrainingSet, prepared: Prepared | None = None) -> LinearModel | SparseLinearModel:
        """Fit one regression for each label of `train`."""
        return self.join(train, [self.fit_block(train, WHOLE, prepared)])

    def fit_block(self, train: TrainingSet, block: Block, prepared: Prepared | None = None) -> LabelMachines:
        """Return the regressions of a block of labels; see `fit`."""
        rows = self.prepare(train) if prepared is None else prepared
        return rows.fit(self.C, self.tol, int(self.max_iter), block)

    def join(self, train: TrainingSet, parts: Sequence[LabelMachines]) -> LinearModel | SparseLinearModel:
        """Return the model of the regressions of all blocks."""
        together = join_machines(parts)
        labels, found = together
        weights, intercept = np.zeros((train.n_labels, train.n_features)), _log_odds(train)
        weights[labels], intercept[labels] = found.W, found.b
        gap = relative_gap(float(found.primal.sum()), float(found.dual.sum()))
        reached = gap <= self.tol
        info = FitInfo(int(found.n_iter.sum()), float(found.primal.sum()), gap, reached, scale_notes(train, reached))
        point = dual_point_of(together, train.n_labels)
        return pruned(LinearModel(weights, intercept, info, dual_point=point), train, self)


def _log_odds(train: TrainingSet) -> FloatArray:
    """Return the log-odds of each label over its known rows."""
    present = np.asarray(label_counts(train.Y), dtype=np.float64)
    known = np.full(train.n_labels, train.n_samples) if train.known is None else train.known.sum(axis=0)
    absent = np.where(known > 0, known - present, train.n_samples)
    return np.asarray(np.log((present + 0.5) / (absent + 0.5)))
