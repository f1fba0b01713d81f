"""Rank-HLapSVM: Rank-SVM with a hypergraph Laplacian penalty on the training scores.

Problem (Chen et al., "Efficient multi-label classification with hypergraph regularization", eq. 10)::

    min_W  1/2 sum_p |w_p|^2 + lam/2 trace(F'LF) + C sum_i 1/(|y_i||z_i|) sum_pairs max(0, 1 - (f_p - f_q)(x_i))

with F = XW' the training scores and L = D - HVH' the clique-expansion Laplacian of the label hypergraph (eq. 5), whose
hyperedge weights are exp(-nu * mean intra-class squared distance) (eq. 29, 30).

With M = I + lam X'LX = RR' and rows x~ = R^-1 x the problem is plain Rank-SVM in w~ = R'w, so it is solved by the same
loops on whitened rows and mapped back. The constant feature of the bias is untouched, because L maps constants to zero.
`optimality` is that problem's relative duality gap, which is also this one's. lam = 0 gives Rank-SVM itself.

Cost beside Rank-SVM's: O(n m^2 + k m^2 + m^3 / 3) flops and two m x m matrices, once for each (lam, nu); whitened rows
are dense, n x m. L, n x n, is never formed.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from mlrank.arrays import Features, FloatArray, as_dense
from mlrank.hypergraph import hyperedge_weights, laplacian_gram
from mlrank.solvers.base import LinearModel, TrainingSet, check_not_negative, check_positive
from mlrank.solvers.rank_svm import BIAS, Pairs, solve

__all__ = ["RankHLapSVM"]


@dataclass(frozen=True)
class Whitened:
    """Rows R^-1 x with the factor R' (upper triangular); the factor is None, and the rows are X, for lam = 0."""

    X: Features
    factor: FloatArray | None
    pairs: Pairs


@dataclass(frozen=True)
class RankHLapSVM:
    """Linear Rank-HLapSVM (eq. 10).

    Parameters
    ----------
    C : float
        Weight of the loss, above 0.
    lam : float
        Weight of the hypergraph penalty, 0 or more.
    nu : float
        Decay of the hyperedge weights with intra-class distance, 0 or more; 0 weighs all labels alike.
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
    lam: float = 1.0
    nu: float = 0.0
    bias: str = "augmented"
    tol: float = 1e-3
    max_iter: int = 10_000
    seed: int = 0

    SHARED: ClassVar[tuple[str, ...]] = ("lam", "nu")
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_positive(self, "C", "tol", "max_iter")
        check_not_negative(self, "lam", "nu")
        if self.bias not in BIAS:
            raise ValueError(f"bias must be one of {', '.join(BIAS)}, found {self.bias!r}")

    def prepare(self, train: TrainingSet) -> Whitened:
        """Whiten the rows by I + lam X'LX, the same for every C."""
        pairs = Pairs.of(train.Y)
        if self.lam == 0:
            return Whitened(train.X, None, pairs)
        metric = self.lam * laplacian_gram(train.X, train.Y, hyperedge_weights(train.X, train.Y, self.nu))
        metric[np.diag_indices_from(metric)] += 1.0
        factor = cholesky(metric, overwrite_a=True)
        rows = solve_triangular(factor, as_dense(train.X).T, trans="T", overwrite_b=False).T
        return Whitened(np.ascontiguousarray(rows), factor, pairs)

    def fit(self, train: TrainingSet, prepared: Whitened | None = None) -> LinearModel:
        """Solve eq. 10 on `train`.

        Raises
        ------
        ValueError
            If no row has both a relevant and an irrelevant label.
        """
        white = prepared or self.prepare(train)
        bias = BIAS[self.bias]
        solution = solve(white.X, white.pairs, self.C, bias, self.tol, self.max_iter, self.seed)
        coef = solution.W
        if white.factor is not None:
            coef = np.ascontiguousarray(solve_triangular(white.factor, solution.W.T).T)
        return LinearModel(coef, bias * solution.intercept, solution.info(self.tol))
