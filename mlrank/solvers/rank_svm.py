"""Rank-SVM by dual coordinate descent.

Problem (Chen et al., "Efficient multi-label classification with hypergraph regularization", eq. 9; Elisseeff & Weston,
NIPS 2001), with relevant labels y_i and irrelevant labels z_i of row i::

    min_W  P(W) = 1/2 sum_p |w_p|^2 + C sum_i 1/(|y_i||z_i|) sum_{p in y_i, q in z_i} max(0, 1 - (w_p - w_q)'x_i)

The dual has one variable for each pair, 0 <= alpha_ipq <= C/(|y_i||z_i|), and with beta of eq. 15 and W = beta'X::

    max_alpha  D(alpha) = sum alpha - 1/2 sum_p |w_p|^2

`optimality` is the relative duality gap (P - D) / P, computed from scratch in double precision; the solver stops on it.
One iteration is one pass over the instances, re-permuted every time: in the printed order 1..n Algorithm 1 needs
some eighty times as many passes. Between rounds of passes one matrix product gives the gap and, from the same scores,
the labels that may still move; only those are swept (shrinking, with everything rechecked before the solver may stop).
Dense rows are swept with a flattened spectrum, which takes 2 to 60 times fewer passes on real data (_rank_svm_rows.py).

Rows with no label or with all labels hold no pair and do not enter. The bias is the last weight and penalised like the
others, as in eq. 8 (`bias="augmented"`), or absent (`bias="none"`).

Cost of a pass: O(n (active labels) m + pairs), with m the nonzeros of a row if sparse; of a round: two products of
2 n m k flops; once for all C: rotating dense rows, O(n m min(n, m)). Memory: 8 bytes for each pair, beside two copies
of dense rows, scores and weights.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mlrank.arrays import BoolArray, FloatArray, IntArray
from mlrank.solvers import _rank_svm_kernels as kernels
from mlrank.solvers._rank_svm_rows import DenseSweeps, FlatRows, SparseSweeps, better_dense
from mlrank.solvers.base import FitInfo, LinearModel, TrainingSet, check_positive

__all__ = ["BIAS", "Pairs", "Prepared", "RankSVM", "Solution", "solve"]

# Value of the constant feature for each setting of `bias`.
BIAS = {"augmented": 1.0, "none": 0.0}
# A round never runs more passes than this without a new certificate.
LONGEST_ROUND = 10
PAIRS_LIMIT = 10**9


@dataclass(frozen=True)
class Pairs:
    """The label pairs of each row, as lists of relevant and irrelevant labels.

    lists : (relevant_ptr, relevant, irrelevant_ptr, irrelevant, offset), the form the compiled loops take
    size : (n_samples,) |y_i| |z_i|, 0 for a row without pairs
    """

    lists: tuple[IntArray, Any, IntArray, Any, IntArray]
    size: IntArray
    n_labels: int

    @classmethod
    def of(cls, Y: BoolArray) -> "Pairs":
        """List the pairs of `Y` (n_samples, n_labels).

        Raises
        ------
        ValueError
            If no row has both a relevant and an irrelevant label, or there are more pairs than memory can be asked for.
        """
        n_relevant = Y.sum(axis=1)
        size = n_relevant * (Y.shape[1] - n_relevant)
        total = int(size.sum())
        if total == 0:
            raise ValueError("no row has both a relevant and an irrelevant label, so there is nothing to rank")
        if total > PAIRS_LIMIT:
            raise ValueError(
                f"{total} label pairs need {8 * total / 2**30:.0f} GiB; at most {PAIRS_LIMIT} are supported"
            )
        relevant, irrelevant = (np.nonzero(part)[1].astype(np.int32) for part in (Y, ~Y))
        pointers = _pointers(n_relevant), _pointers(Y.shape[1] - n_relevant)
        lists = (pointers[0], relevant, pointers[1], irrelevant, _pointers(size)[:-1])
        return cls(lists, size, Y.shape[1])

    def no_labels(self) -> tuple[Any, IntArray, Any, IntArray]:
        """Return room for the active labels of each row: positions in its two lists, and their numbers."""
        _, relevant, _, irrelevant, offset = self.lists
        numbers = np.zeros_like(offset), np.zeros_like(offset)
        return np.zeros_like(relevant), numbers[0], np.zeros_like(irrelevant), numbers[1]


def _pointers(counts: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


@dataclass(frozen=True)
class Prepared:
    """What every C shares: the pairs, and the rows as they will be swept (FlatRows, or a csr_array)."""

    pairs: Pairs
    rows: Any
    bias: float


@dataclass(frozen=True)
class Solution:
    """An approximate optimum with its certificate.

    coef : (n_labels, n_features); intercept : (n_labels,); alpha : (n_pairs,), irrelevant-major within each row
    primal, dual : objective values at the weights and at alpha; n_iter : passes
    """

    coef: FloatArray
    intercept: FloatArray
    alpha: FloatArray
    primal: float
    dual: float
    n_iter: int

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return (self.primal - self.dual) / self.primal

    def model(self, tol: float) -> LinearModel:
        """Return the model, with the certificate measured against `tol`."""
        info = FitInfo(self.n_iter, self.primal, self.gap, self.gap <= tol)
        return LinearModel(self.coef, self.intercept, info)


def solve(prepared: Prepared, C: float, tol: float, max_iter: int, seed: int) -> Solution:
    """Solve eq. 9 to relative duality gap `tol`, or as far as `max_iter` passes go."""
    pairs, rng = prepared.pairs, np.random.default_rng(seed)
    upper = np.divide(C, pairs.size, out=np.zeros(len(pairs.size)), where=pairs.size > 0)
    if isinstance(prepared.rows, FlatRows):
        sweeps: DenseSweeps | SparseSweeps = DenseSweeps(prepared.rows, upper, pairs)
    else:
        sweeps = SparseSweeps(prepared.rows, prepared.bias, upper, pairs)
    alpha, active = np.zeros(int(pairs.size.sum())), pairs.no_labels()
    before, n_iter = np.full((len(upper), pairs.n_labels), np.inf), 0
    while True:
        scores, primal, dual = sweeps.certify(alpha)
        if primal - dual <= tol * primal or n_iter >= max_iter:
            return Solution(*sweeps.weights(), alpha, primal, dual, n_iter)
        # A pair may stay out only while it is further from moving than its scores moved in the last round.
        slack = 2 * np.abs(scores - before).max(axis=1)
        kernels.find_active(scores, slack, upper, alpha, pairs.lists, active)
        before, visits = scores, np.flatnonzero(active[3])
        sweeps.start_round(primal - dual, n_iter)
        for _ in range(min(max(1, n_iter // 3), LONGEST_ROUND, max_iter - n_iter)):
            sweeps.sweep(alpha, active, rng.permutation(visits))
            n_iter += 1
        sweeps.end_round()


@dataclass(frozen=True)
class RankSVM:
    """Linear Rank-SVM (eq. 9).

    Parameters
    ----------
    C : float
        Weight of the loss, above 0. It multiplies a sum over rows, so it is not rescaled with their number.
    bias : {"augmented", "none"}
        A penalised bias, as in eq. 8, or none.
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        Most passes over the rows.
    seed : int
        Of the order of visits.
    """

    C: float = 1.0
    bias: str = "augmented"
    tol: float = 1e-3
    max_iter: int = 10_000
    seed: int = 0

    SHARED: ClassVar[tuple[str, ...]] = ("bias",)
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_positive(self, "C", "tol", "max_iter")
        if self.bias not in BIAS:
            raise ValueError(f"bias must be one of {', '.join(BIAS)}, found {self.bias!r}")

    def prepare(self, train: TrainingSet) -> Prepared:
        """List the label pairs and rotate dense rows, the same for every C."""
        bias = BIAS[self.bias]
        rows = FlatRows.of(train.X, bias) if better_dense(train.X) else train.X
        return Prepared(Pairs.of(train.Y), rows, bias)

    def fit(self, train: TrainingSet, prepared: Prepared | None = None) -> LinearModel:
        """Solve eq. 9 on `train`.

        Raises
        ------
        ValueError
            If no row has both a relevant and an irrelevant label.
        """
        ready = prepared or self.prepare(train)
        return solve(ready, self.C, self.tol, self.max_iter, self.seed).model(self.tol)
