"""Rank-HLapSVM: Rank-SVM with a hypergraph Laplacian penalty on the training scores.

Problem (Chen et al., "Efficient multi-label classification with hypergraph regularization", eq. 10)::

    min_W  1/2 sum_p |w_p|^2 + lam/2 trace(F'LF) + C sum_i 1/(|y_i||z_i|) sum_pairs max(0, 1 - (f_p - f_q)(x_i))

with F = XW' the training scores and L = D - HVH' the clique-expansion Laplacian of the label hypergraph (eq. 5), whose
hyperedge weights are exp(-nu * mean intra-class squared distance) (eq. 29, 30).

With M = I + lam X'LX = R'R the regulariser is w'Mw, so in weights Rw and rows R'^-1 x the problem is plain Rank-SVM: it
is solved by the same passes and mapped back. The constant feature of the bias is untouched, because L maps constants to
zero. `optimality` is that problem's relative duality gap, which is also this one's. lam = 0 gives Rank-SVM itself.

Cost beside Rank-SVM's: O(n m^2 + k m^2 + m^3 / 3) flops and an m x m matrix, once for each (lam, nu); rows are dense
for lam > 0. L, n x n, is never formed.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import cholesky

from mlrank.hypergraph import hyperedge_weights, laplacian_gram
from mlrank.solvers._rank_svm_rows import FlatRows
from mlrank.solvers.base import LinearModel, TrainingSet, check_not_negative, check_positive
from mlrank.solvers.rank_svm import BIAS, Pairs, Prepared, RankSVM, solve

__all__ = ["RankHLapSVM"]


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

    SHARED: ClassVar[tuple[str, ...]] = ("lam", "nu", "bias")
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_positive(self, "C", "tol", "max_iter")
        check_not_negative(self, "lam", "nu")
        if self.bias not in BIAS:
            raise ValueError(f"bias must be one of {', '.join(BIAS)}, found {self.bias!r}")

    def prepare(self, train: TrainingSet) -> Prepared:
        """List the label pairs and whiten the rows by I + lam X'LX, the same for every C."""
        if self.lam == 0:
            return RankSVM(bias=self.bias).prepare(train)
        pairs = Pairs.of(train.Y)
        metric = self.lam * laplacian_gram(train.X, train.Y, hyperedge_weights(train.X, train.Y, self.nu))
        metric[np.diag_indices_from(metric)] += 1.0
        bias = BIAS[self.bias]
        return Prepared(pairs, FlatRows.of(train.X, bias, cholesky(metric, overwrite_a=True)), bias)

    def fit(self, train: TrainingSet, prepared: Prepared | None = None) -> LinearModel:
        """Solve eq. 10 on `train`.

        Raises
        ------
        ValueError
            If no row has both a relevant and an irrelevant label.
        """
        ready = prepared or self.prepare(train)
        return solve(ready, self.C, self.tol, self.max_iter, self.seed).model(self.tol)
