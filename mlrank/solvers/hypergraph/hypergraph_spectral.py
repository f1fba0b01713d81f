"""Hypergraph spectral learning, exact (HG) and as least squares (lsHG), and a classifier in the projected space.

Problem (Sun, Ji and Ye, "Hypergraph spectral learning for multi-label classification", KDD 2008), with centered rows Xc
and the similarity S = H0 H0' of an expansion of the label hypergraph::

    method="exact"    max_W  trace(W'Xc'S Xc W),   W'(Xc'Xc + lam I)W = I              (eq. 12; eigenproblem 13, 14)
    method="lstsq"    min_W  |Xc W - H|^2 + lam |W|^2                                  (eq. 28; lam = 0: least norm)

where H is an orthonormal basis of the range of P H0, P the centering: the best approximation HH' of PSP (Theorem 4.2).

The paper calls lsHG an approximation of HG. Both span the same subspace, for every expansion, lam and rank: with
H0 = H D V', D singular, the directions of HG are those of Z = (Xc'Xc + lam I)^+ Xc'H, turned and scaled by the
eigenvectors of the small matrix D (H'Xc Z) D of r <= n_labels rows. So `algorithm="reduced"`, the default, solves one
ridge system for both methods, and the d x d eigenproblem is never formed; `algorithm="printed"` forms it.

`optimality` is the relative residual of the normal equations, |Xc'h - (Xc'Xc + lam I)z| / |Xc'h| of the column h of H
where it is largest, and with method="exact" the larger of it and the relative residual of the eigenproblem. `objective`
is the maximum of eq. 12, which is the sum of the eigenvalues, or the minimum of eq. 28. One iteration is one product of
Xc and of Xc' with all targets.

The rows are multiplied by sqrt(n_samples) after projection, before they are classified: the columns then have a spread
of about one, so that svm_C means the same for any number of rows.

With `kernel` another than "linear", Xc are the centered rows in the kernel's feature space (the paper's future work).

With `n_components` directions H is the first columns of that basis, those with the largest singular values in D: HH' is
the best approximation of PSP of that rank. Sparse labels stay sparse then, without a kernel, with equal weights and the
head "svm" or "ridge": H is found by products with them in the memory of some 6 n_components numbers for each label, its
residual is part of `optimality`, and the model stays two factors. Of very many labels the head "ridge" takes one small
system for all of them, and "svm" a machine for each.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from mlrank.arrays import Features, FloatArray, with_ones
from mlrank.hypergraph import EXPANSIONS, hyperedge_weights
from mlrank.kernels import Kernel
from mlrank.labels import LabelMatrix, check_dense
from mlrank.linalg import CenteredRows, center_columns
from mlrank.solvers.base import (
    CertificateKind,
    TrainingSet,
    check_choices,
    check_components,
    check_kernel,
    check_not_negative,
    check_positive,
    n_components_of,
)
from mlrank.solvers.binary_svm import LOSSES
from mlrank.solvers.hypergraph.heads import HEADS, LinearHead, NeighborModel, ridge_head, svm_head
from mlrank.solvers.hypergraph.systems import (
    BACKENDS,
    LARGE,
    HypergraphDirections,
    RidgeSystem,
    exact_directions,
    lstsq_directions,
    printed_directions,
)
from mlrank.solvers.hypergraph.targets import Target, sparse_target, target
from mlrank.solvers.models import KernelModel, KernelProjection, LinearModel, LowRankModel, Projection
from mlrank.solvers.scales import scale_notes

__all__ = [
    "HypergraphSpectral",
    "KernelProjection",
    "Projection",
]

# Products with all targets that an iterative solution takes, for estimates.
ITERATIONS = 30
CHOICES = {
    "expansion": tuple(EXPANSIONS),
    "method": ("exact", "lstsq"),
    "head": HEADS,
    "algorithm": ("reduced", "printed"),
    "backend": BACKENDS,
    "bias": ("centered", "augment"),
    "fill": ("rank", "k"),
    "scale": ("metric", "unit"),
    "weights": ("equal", "distance"),
    "svm_loss": LOSSES,
}


@dataclass(frozen=True)
class HypergraphSpectral:
    """Hypergraph spectral learning (eq. 12 to 14, or 28) with a classifier in the projected space.

    Use it for a projection that labels shape, with one linear machine for each label behind it; it is quick with many
    features.

    Parameters
    ----------
    expansion : {"clique", "star", "zhou", "cca"}
        Which similarity of rows the labels give.
    lam : float
        Ridge weight, 0 or more.
    method : {"exact", "lstsq"}
        HG or lsHG.
    head : {"svm", "ridge", "knn"}
        What is learned from projected rows; the paper's is "svm".
    svm_C, svm_loss, svm_tol : float, str, float
        C, loss and tol of the head "svm" (see BinarySVM).
    ridge_lam : float
        Ridge weight of the head "ridge".
    n_neighbors : int
        Of the head "knn".
    kernel, gamma, degree, coef0 : str, float, int, float
        linear, rbf, polynomial, chi2 or additive_chi2, with exp(-gamma D) for rbf and chi2 and (gamma x'z +
        coef0)^degree for polynomial.
    weights : {"equal", "distance"}
        Hyperedge weights: 1, since the paper leaves them open, or exp(-nu * mean squared distance within
        the label), as Rank-HLapSVM has them.
    nu : float
        Of weights "distance".
    algorithm : {"reduced", "printed"}
        The small eigenproblem, or for method "exact" the paper's of n_features rows.
    backend : {"auto", "direct", "iterative"}
        How ridge systems are solved; "auto" goes by size, and by how many steps are foretold.
    bias : {"centered", "augment"}
        A free bias, by centering that leaves sparse rows sparse; or for method "lstsq" a column of ones, whose weight
        is penalized like the others, as eq. 30 has it.
    center_H0 : bool
        Whether Theorem 4.2 is applied to the centered factor of S, as it assumes, or, False, to the factor as printed.
        Method "exact" does not depend on it.
    fill : {"rank", "k"}
        For method "lstsq", as many targets as the factor's rank, or n_labels as printed, the rest arbitrary.
    scale : {"metric", "unit"}
        For method "exact", columns of W with W'(Xc'Xc + lam I)W = I, or of length one.
    n_components : int, float or None
        Directions of the labels that are kept, those with the largest singular values; a number below 1 is a part of
        the labels, rounded half up, at least 1; None keeps all. Those of the expansion "cca" are all alike.
    tol : float
        Relative residual at which to stop.
    max_iter : int
        Most products of Xc and Xc' with all targets.

    References
    ----------
    Sun, Ji and Ye, "Hypergraph spectral learning for multi-label classification", KDD 2008.
    """

    expansion: str = "clique"
    lam: float = 1.0
    method: str = "exact"
    head: str = "svm"
    svm_C: float = 1.0
    svm_loss: str = "hinge"
    svm_tol: float = 1e-3
    ridge_lam: float = 1.0
    n_neighbors: int = 10
    kernel: str = "linear"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0
    weights: str = "equal"
    nu: float = 1.0
    algorithm: str = "reduced"
    backend: str = "auto"
    bias: str = "centered"
    center_H0: bool = True
    fill: str = "rank"
    scale: str = "metric"
    n_components: int | float | None = None
    tol: float = 1e-6
    max_iter: int = 1000

    SHARED: ClassVar[tuple[str, ...]] = ("kernel", "gamma", "degree", "coef0", "bias", "backend")
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False
    SPARSE_LABELS: ClassVar[bool] = True
    CERTIFICATE: ClassVar[CertificateKind | None] = "residual"
    LOADS: ClassVar[tuple[str, ...]] = ("numba", "scikit-learn")

    def __post_init__(self) -> None:
        check_positive(self, "svm_C", "svm_tol", "ridge_lam", "n_neighbors", "tol", "max_iter")
        check_not_negative(self, "lam", "nu")
        check_kernel(self)
        check_choices(self, CHOICES)
        self._check_together()
        if self.n_components is not None:
            check_components(self)
            if self.expansion == "cca" or self.fill == "k":
                raise ValueError(f"n_components goes with no expansion 'cca' or fill 'k', found {self.n_components!r}")

    def _check_together(self) -> None:
        exact_only = (("algorithm", "printed"), ("scale", "unit"))
        lstsq_only = (("bias", "augment"), ("fill", "k"), ("center_H0", False))
        for name, value in exact_only if self.method == "lstsq" else lstsq_only:
            if getattr(self, name) == value:
                other = "exact" if self.method == "lstsq" else "lstsq"
                raise ValueError(f"{name} {value!r} goes with method '{other}', found method {self.method!r}")
        if self.kernel != "linear" and (self.bias == "augment" or self.algorithm == "printed"):
            raise ValueError(f"bias 'augment' and algorithm 'printed' are linear only, found kernel {self.kernel!r}")

    def prepare(self, train: TrainingSet) -> RidgeSystem:
        """Center the rows, or the kernel matrix; every lam, expansion and head shares what is computed from them."""
        if self.kernel != "linear":
            centered = center_columns(center_columns(self._kernel_of(train.X)).T)
            return RidgeSystem(None, (centered + centered.T) / 2, self.backend)
        if self.bias == "augment":
            return RidgeSystem(CenteredRows(with_ones(train.X), np.zeros(train.n_features + 1)), None, self.backend)
        return RidgeSystem(CenteredRows(train.X), None, self.backend)

    def natural_cut(self, train: TrainingSet) -> float:
        """Return 0 for margins, 0.5 for ridge regression of 0 and 1 and for shares of neighbors."""
        return 0.0 if self.head == "svm" else 0.5

    def cost(self, n_samples: int, n_features: int, n_labels: int) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow with the shape of the training set."""
        if self.kernel != "linear":
            return float(n_samples) ** 2 * (n_features + n_samples), 24.0 * n_samples**2
        smaller = min(n_samples, n_features)
        kept = n_labels if self.n_components is None else min(n_components_of(self.n_components, n_labels), n_labels)
        # A direct solution up to this size, products with all targets beyond.
        width = smaller if smaller <= LARGE else ITERATIONS * kept
        gram = 16.0 * smaller**2 if smaller <= LARGE else 0.0
        of_labels = 48.0 * n_labels * kept if kept < n_labels else 0.0
        return float(n_samples) * n_features * width, gram + 32.0 * (n_samples + n_features) * kept + of_labels

    def fit(
        self, train: TrainingSet, prepared: RidgeSystem | None = None
    ) -> LinearModel | LowRankModel | KernelModel | NeighborModel:
        """Project the rows of `train` and fit the head to them.

        Raises
        ------
        UserError
            If labels are sparse, and dense ones, which these settings need, take more memory than there is.
        """
        projection = self.fit_projection(train, prepared)
        root, info = np.sqrt(train.n_samples), projection.info
        Z = root * projection.transform(train.X)
        if self.head == "knn":
            near = min(self.n_neighbors, train.n_samples)
            notes = info.notes + scale_notes(train, info.converged)
            return NeighborModel(projection, Z / root, self._labels(train), near, replace(info, notes=notes))
        head = self._linear_head(Z, self._labels(train))
        converged = info.converged and head.converged
        info = replace(info, converged=converged, notes=info.notes + scale_notes(train, converged))
        if isinstance(projection, Projection) and self._keeps_sparse(train):
            return projection.factored_model(root * head.coef, head.intercept, info)
        return projection.model(root * head.coef, head.intercept, info)

    def fit_projection(self, train: TrainingSet, prepared: RidgeSystem | None = None) -> Projection | KernelProjection:
        """Find the directions of `train` alone; what comes back has ``.transform(X)``."""
        system = self.prepare(train) if prepared is None else prepared
        targets = self._target(train)
        found = self._directions(system, targets)
        if targets.error > found.info.optimality:
            info = replace(found.info, optimality=targets.error, converged=targets.error <= self.tol)
            found = found._replace(info=info)
        if system.rows is None:
            # k(x) is centered by the mean row of K on one side, and by the coefficients themselves on the other.
            dual = center_columns(found.coef)
            offset = -(self._kernel_of(train.X).mean(axis=0) @ dual)
            constants = (self.kernel, self.gamma, self.degree, self.coef0)
            return KernelProjection(train.X, dual, offset, found.eigenvalues, *constants, found.info)
        if self.bias == "augment":
            return Projection(found.coef[:-1], found.coef[-1], found.eigenvalues, found.info)
        offset = -(system.rows.mean @ found.coef)
        if self.method == "lstsq":
            offset += targets.mean
        return Projection(found.coef, offset, found.eigenvalues, found.info)

    def _keeps_sparse(self, train: TrainingSet) -> bool:
        """Return whether labels stay sparse; else settings need dense ones."""
        linear, head = self.kernel == "linear", self.head in ("svm", "ridge")
        return train.has_sparse_labels and self.n_components is not None and linear and head and self.weights == "equal"

    def _labels(self, train: TrainingSet) -> LabelMatrix:
        if self._keeps_sparse(train):
            return train.sparse_Y
        if train.has_sparse_labels:
            hint = "a number of n_components with kernel 'linear', weights 'equal' and head 'svm' or 'ridge' needs none"
            check_dense(train.Y, "dense labels, which these settings need,", hint)
        return train.dense_Y  # which is made once

    def _target(self, train: TrainingSet) -> Target:
        Y, count = self._labels(train), None
        weights = np.ones(train.n_labels)
        if self.n_components is not None:
            count = n_components_of(self.n_components, train.n_labels)
            if self._keeps_sparse(train):
                return sparse_target(Y, self.expansion, weights, self.center_H0, count)
        if self.weights == "distance":
            weights = hyperedge_weights(train.X, Y, self.nu)
        return target(Y, self.expansion, weights, self.center_H0, self.fill == "k", count)

    def _directions(self, system: RidgeSystem, targets: Target) -> HypergraphDirections:
        if self.algorithm == "printed":
            return printed_directions(system, targets, self.lam, self.scale == "unit", self.tol)
        # Targets of the same name share a basis between values of lam.
        name = f"{self.expansion} {self.weights} {self.nu} {self.center_H0} {self.fill} {self.n_components}"
        if self.method == "lstsq":
            return lstsq_directions(system, targets, self.lam, self.tol, self.max_iter, name)
        return exact_directions(system, targets, self.lam, self.scale == "unit", self.tol, self.max_iter, name)

    def _kernel_of(self, X: Features) -> FloatArray:
        return Kernel.of(self)(X, X)

    def _linear_head(self, Z: FloatArray, Y: LabelMatrix) -> LinearHead:
        if self.head == "ridge":
            return ridge_head(Z, Y, self.ridge_lam)
        return svm_head(Z, Y, self.svm_C, self.svm_loss, self.svm_tol)
