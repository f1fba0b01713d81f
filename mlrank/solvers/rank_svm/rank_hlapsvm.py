"""Rank-HLapSVM: Rank-SVM with a hypergraph Laplacian penalty on the training scores.

Problem (Chen et al., "Efficient multi-label classification with hypergraph regularization", eq. 10)::

    min_W  1/2 sum_p |w_p|^2 + lam/2 trace(F'LF) + C sum_i 1/(|y_i||z_i|) sum_pairs max(0, 1 - (f_p - f_q)(x_i))

with F = XW' the training scores and L = D - HVH' the clique-expansion Laplacian of the label hypergraph (eq. 5), whose
hyperedge weights are exp(-nu * mean intra-class squared distance) (eq. 29, 30).

With M = I + lam X'LX = R'R the regularizer is w'Mw, so in weights Rw and rows R'^-1 x the problem is plain Rank-SVM: it
is solved by the same passes and mapped back. The constant feature of the bias is untouched, because L maps constants to
zero. With more features than rows, and for kernels, the same is done by inner products (`gram_rows`).
`optimality` is that problem's relative duality gap, which is also this one's. lam = 0 gives Rank-SVM itself.

Cost beside Rank-SVM's: O(n m^2 + k m^2 + m^3 / 3) flops and an m x m matrix, or O(n^3) and n x n matrices if m > n,
once for each (lam, nu); rows are dense for lam > 0. L, n x n, is never formed. Where the smaller of both does not fit,
lam > 0 is refused. Each visit would have to solve with M by conjugate gradients: 42 iterations for 64 rows at once, and
88 seconds a pass over 1500 rows of Yahoo Arts, whose matrices and passes together take 1.9; both grow alike.
"""

from dataclasses import dataclass, fields
from functools import partial
from typing import ClassVar

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import FloatArray
from mlrank.hypergraph import euclidean_distance, intra_class_distance, laplacian_gram
from mlrank.kernels.exact import long_kernel
from mlrank.linalg.sums import column_offsets, less_offsets
from mlrank.solvers.base import CertificateKind, TrainingSet, check_choices, check_not_negative
from mlrank.solvers.models import KernelModel, LinearModel
from mlrank.solvers.rank_svm.certificate import GivenRows, RankPenalty
from mlrank.solvers.rank_svm.descent import Pairs
from mlrank.solvers.rank_svm.rank_svm import Prepared, RankSVM, fitted, kernel_matrix, prepare_plain
from mlrank.solvers.rank_svm.rows import FlatRows, check_size, gram_rows, kernel_distance
from mlrank.solvers.rank_svm.settings import RankSettings

__all__ = [
    "RankHLapSVM",
]

DISTANCES = {"squared": intra_class_distance, "euclid": euclidean_distance}
# Weights below this are lost beside the identity.
FAINT = 1e-12


@dataclass(frozen=True)
class RankHLapSVM:
    """Rank-HLapSVM (eq. 10).

    Use it where rows that share labels should have like scores; at lam = 0 it is Rank-SVM.

    Parameters
    ----------
    C : float
        Weight of the loss, above 0.
    lam : float
        Weight of the hypergraph penalty, 0 or more.
    nu : float
        Decay of the hyperedge weights with intra-class distance, 0 or more; 0 weighs all labels alike.
    kernel : str
        linear, rbf, polynomial, chi2 or additive_chi2; or precomputed: the rows of X then are those of the kernel
        matrix (eq. 27). Distances within classes are between the rows of X, for a precomputed kernel those in its
        space.
    gamma, degree, coef0 : float, int, float
        Of the kernel: exp(-gamma D) for rbf and chi2, (gamma x'z + coef0)^degree for polynomial.
    bias : {"augmented", "free", "none"}
        A penalized bias, as in eq. 8 (K + 1 for kernels), one that is not penalized, or none.
    algorithm, tol, max_iter, seed, order, stop, eps, C_scale
        As for RankSVM.
    distance : {"squared", "euclid"}
        For the paper's sake: eq. 30 squares what its name calls a distance; "euclid" does not.

    References
    ----------
    Chen, Zhang, Wang, Zhang and Gao, "Efficient multi-label classification with hypergraph regularization", CVPR 2009.
    """

    C: float = 1.0
    lam: float = 1.0
    nu: float = 0.0
    kernel: str = "linear"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0
    bias: str = "augmented"
    algorithm: str = "dcd"
    tol: float = 1e-3
    max_iter: int = 10_000
    seed: int = 0
    order: str = "permuted"
    stop: str = "gap"
    eps: float = 1e-3
    C_scale: str = "sum"
    distance: str = "squared"

    SHARED: ClassVar[tuple[str, ...]] = (*RankSVM.SHARED, "lam", "nu", "distance")
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False
    USES_KNOWN: ClassVar[bool] = True
    CERTIFICATE: ClassVar[CertificateKind | None] = "gap"

    def __post_init__(self) -> None:
        RankSettings.of(self)
        check_not_negative(self, "lam", "nu")
        check_choices(self, {"distance": DISTANCES})
        if self.kernel == "precomputed" and self.distance == "euclid":
            raise ValueError("distance 'euclid' needs rows of features, found kernel 'precomputed'")

    def canonical(self) -> "RankHLapSVM | RankSVM":
        """Return Rank-SVM where there is no penalty."""
        return self if self.lam else RankSVM(**{field.name: getattr(self, field.name) for field in fields(RankSVM)})

    def prepare(self, train: TrainingSet) -> Prepared:
        """List the label pairs and whiten the rows by I + lam X'LX, the same for every C."""
        if self.lam == 0:
            return prepare_plain(train, RankSettings.of(self))
        settings, pairs = RankSettings.of(self), Pairs.of(train.dense_Y, train.known)
        bias, free = settings.bias_value, settings.free_bias
        n, m = train.X.shape
        by_rows = self.kernel != "linear" or m > n
        if not by_rows:
            check_size(n if issparse(train.X) else m, m, "lam above 0")
        K = kernel_matrix(train, settings.kernel) if by_rows else None
        weights, notes = self._hyperedges(train, K)
        penalty = RankPenalty(self.lam, train.dense_Y, weights)
        if K is not None:
            span = train.X if self.kernel == "linear" else None
            exact = partial(long_kernel, settings.kernel, train.X)
            given = GivenRows(train.X if span is not None else K, span is None, bias > 0, penalty, exact)
            return Prepared(pairs, gram_rows(K, bias, free, (self.lam, train.dense_Y, weights), span), given, notes)
        # L maps constants to 0, so offsets are left out before they cost digits.
        metric = self.lam * laplacian_gram(less_offsets(train.X, column_offsets(train.X)), train.dense_Y, weights)
        metric[np.diag_indices_from(metric)] += 1.0
        given = GivenRows(train.X, False, bias > 0, penalty)
        return Prepared(pairs, FlatRows.of(train.X, bias, free, metric), given, notes)

    def _hyperedges(self, train: TrainingSet, K: FloatArray | None) -> tuple[FloatArray, tuple[str, ...]]:
        """Return the hyperedge weights (eq. 29), and a note if they are as good as zero."""
        if self.kernel == "precomputed" and K is not None:
            distance = kernel_distance(K, train.dense_Y)
        else:
            distance = DISTANCES[self.distance](train.X, train.dense_Y)
        weights: FloatArray = np.exp(-self.nu * distance)
        # A label with fewer than two rows has weight 1 and no edge.
        edges = train.dense_Y.sum(axis=0) >= 2
        if not edges.any() or weights[edges].max() >= FAINT:
            return weights, ()
        note = (
            f"every hyperedge weight is below {FAINT:g} (nu = {self.nu:g}, smallest mean squared distance within a "
            f"class {distance[edges].min():.3g}): the penalty is as good as absent"
        )
        return weights, (note,)

    def cost(self, n_samples: int, n_features: int, n_labels: int) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow with the shape of the training set."""
        return RankSettings.of(self).cost(n_samples, n_features, n_labels)

    def fit(self, train: TrainingSet, prepared: Prepared | None = None) -> LinearModel | KernelModel:
        """Solve eq. 10 on `train`.

        Raises
        ------
        ValueError
            If no row has both a relevant and an irrelevant label, or the problem does not fit into memory.
        """
        return fitted(prepared or self.prepare(train), RankSettings.of(self), train)
