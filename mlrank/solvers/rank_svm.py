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

Rows with no label or with all labels hold no pair and do not enter. The bias is the last weight and penalised like the
others, as in eq. 8 (`bias="augmented"`), or absent (`bias="none"`).

Cost of a pass: O(n (active labels) m + pairs); of a round: two products of 2 n m k flops. Memory: 8 bytes for each pair
beside X, scores and weights.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray
from mlrank.solvers import _rank_svm_kernels as kernels
from mlrank.solvers.base import FitInfo, LinearModel, TrainingSet, check_positive

__all__ = ["BIAS", "Pairs", "RankSVM", "Solution", "solve", "squared_norms"]

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


def _pointers(counts: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


@dataclass(frozen=True)
class Solution:
    """An approximate optimum with its certificate.

    W : (n_labels, n_features); intercept : (n_labels,); alpha : (n_pairs,), irrelevant-major within each row
    primal, dual : objective values at W and alpha; n_iter : passes
    """

    W: FloatArray
    intercept: FloatArray
    alpha: FloatArray
    primal: float
    dual: float
    n_iter: int

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return (self.primal - self.dual) / self.primal

    def info(self, tol: float) -> FitInfo:
        """Return the certificate, measured against `tol`."""
        return FitInfo(self.n_iter, self.primal, self.gap, self.gap <= tol)


def solve(X: Features, pairs: Pairs, C: float, bias: float, tol: float, max_iter: int, seed: int) -> Solution:
    """Solve eq. 9 on `X`, with a constant feature of value `bias` (0 for none), to relative duality gap `tol`."""
    rng = np.random.default_rng(seed)
    n = X.shape[0]
    upper = np.divide(C, pairs.size, out=np.zeros(n), where=pairs.size > 0)
    norms = squared_norms(X) + bias**2
    alpha = np.zeros(int(pairs.size.sum()))
    active = _everything_active(pairs)
    sweep, rows = (kernels.sweep_csr, (X.data, X.indices, X.indptr)) if issparse(X) else (kernels.sweep_dense, X)
    before, n_iter = np.full((n, pairs.n_labels), np.inf), 0
    while True:
        W, intercept, scores, primal, dual = _certify(X, pairs, alpha, upper, bias)
        solution = Solution(W, intercept, alpha, primal, dual, n_iter)
        if solution.gap <= tol or n_iter >= max_iter:
            return solution
        # A pair may stay out only while it is further from moving than its scores moved in the last round.
        slack = 2 * np.abs(scores - before).max(axis=1)
        kernels.find_active(scores, slack, upper, alpha, pairs.lists, active)
        before = scores
        visits = np.flatnonzero(active[3])
        working = np.ascontiguousarray(W.T) if issparse(X) else W
        for _ in range(min(max(1, n_iter // 3), LONGEST_ROUND, max_iter - n_iter)):
            order = rng.permutation(visits)
            sweep(rows, norms, working, intercept, bias, upper, alpha, pairs.lists, active, order)
            n_iter += 1


def _everything_active(pairs: Pairs) -> tuple[Any, IntArray, Any, IntArray]:
    relevant_ptr, relevant, irrelevant_ptr, irrelevant, _ = pairs.lists
    empty = np.zeros_like(relevant), np.zeros_like(irrelevant)
    return (
        empty[0],
        np.zeros(len(relevant_ptr) - 1, np.int64),
        empty[1],
        np.zeros(len(irrelevant_ptr) - 1, np.int64),
    )


def _certify(
    X: Features, pairs: Pairs, alpha: FloatArray, upper: FloatArray, bias: float
) -> tuple[FloatArray, FloatArray, FloatArray, float, float]:
    """Return W, intercept, training scores and both objectives, all from `alpha` alone."""
    beta = kernels.dual_sums(alpha, pairs.lists, pairs.n_labels)
    W = np.ascontiguousarray((X.T @ beta).T)
    intercept = bias * beta.sum(axis=0)
    scores = np.asarray(X @ W.T) + bias * intercept
    square = float(np.vdot(W, W) + intercept @ intercept)
    loss = float(upper @ kernels.hinge_sums(scores, pairs.lists))
    return W, intercept, scores, 0.5 * square + loss, float(alpha.sum()) - 0.5 * square


def squared_norms(X: Features) -> FloatArray:
    """Return |x_i|^2 of each row."""
    if issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    norms: FloatArray = np.einsum("ij,ij->i", X, X)
    return norms


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

    SHARED: ClassVar[tuple[str, ...]] = ()
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_positive(self, "C", "tol", "max_iter")
        if self.bias not in BIAS:
            raise ValueError(f"bias must be one of {', '.join(BIAS)}, found {self.bias!r}")

    def prepare(self, train: TrainingSet) -> Pairs:
        """List the label pairs, the same for every C."""
        return Pairs.of(train.Y)

    def fit(self, train: TrainingSet, prepared: Pairs | None = None) -> LinearModel:
        """Solve eq. 9 on `train`.

        Raises
        ------
        ValueError
            If no row has both a relevant and an irrelevant label.
        """
        pairs = prepared or self.prepare(train)
        bias = BIAS[self.bias]
        solution = solve(train.X, pairs, self.C, bias, self.tol, self.max_iter, self.seed)
        return LinearModel(solution.W, bias * solution.intercept, solution.info(self.tol))
