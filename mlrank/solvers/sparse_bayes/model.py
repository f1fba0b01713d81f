"""The model of sparse Bayesian compressed sensing: compressed labels of a row, their variance, and its labels.

Sparse labels from compressed ones: a few Bayesian iterations for each row, for many rows at once.

A row has compressed labels m with variance v, m ~ N(Phi y, v I), and y_j ~ N(0, 1 / a_j) with a_j ~ Gamma(A0, B0). With
D = diag(1 / E a_j) and S = (v I + Phi D Phi')^-1, from E a_j = 1::

    mean = D Phi'S m,   var_j = D_j - D_j^2 phi_j'S phi_j,   E a_j = (A0 + 1/2) / (B0 + (var_j + mean_j^2) / 2)

until the means of a row move by no more than `tol` of their length. All products of a row follow from the K (K + 1) / 2
products of pairs of rows of Phi, so that each iteration is two matrix products and a K x K inverse for each row.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from mlrank.arrays import Features, FloatArray, as_dense, as_features, read_only, take_rows, with_ones
from mlrank.kernels import Kernel
from mlrank.linalg import CenteredRows
from mlrank.solvers.base import FitInfo, ModelArrays, ModelMeta
from mlrank.solvers.ridge import RidgeSpace, kernel_space, linear_space

__all__ = [
    "CompressedModel",
    "Posterior",
    "compressed_model",
    "relevance",
    "rows_space",
]

A0 = B0 = 1e-6
# What is left of a row beyond known directions is recomputed below this part of it, for so many rows at a time.
CANCELLED, ROWS = 1e-6, 256
# Numbers of K x K matrices held at a time.
BLOCK = 1_000_000


class Posterior(NamedTuple):
    """Means and variances of labels, (n_rows, n_labels), and the 1 / E a that gave them."""

    mean: FloatArray
    variance: FloatArray
    prior: FloatArray


class PhiPairs(NamedTuple):
    """Phi, (K, k), the indices of pairs of its rows, how often each counts, and their products, (k, n_pairs)."""

    Phi: FloatArray
    first: npt.NDArray[np.intp]
    second: npt.NDArray[np.intp]
    often: FloatArray
    products: FloatArray


def relevance(
    m: FloatArray,
    v: FloatArray,
    Phi: FloatArray,
    tol: float,
    max_iter: int,
    free: FloatArray | None = None,
    label_v: float | None = None,
) -> Posterior:
    """Return the labels of rows.

    Parameters
    ----------
    m : (n_rows, K) ndarray
    v : (n_rows,) ndarray
    Phi : (K, n_labels) ndarray
    tol, max_iter : float, int
    free : (n_rows, n_labels) ndarray of 0 and 1, optional
        0 for labels that are known, whose part must not be in `m`; their mean and variance is 0.
    label_v : float, optional
        The variance in S where variances of labels are computed, if another than `v`.
    """
    size = max(1, BLOCK // len(Phi) ** 2)
    pairs = _pairs(Phi)
    open_labels = np.ones((len(m), Phi.shape[1])) if free is None else free
    blocks = [slice(begin, begin + size) for begin in range(0, len(m), size)] or [slice(0, 0)]
    parts = [_iterate(m[rows], v[rows], pairs, tol, max_iter, open_labels[rows], label_v) for rows in blocks]
    return Posterior(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _pairs(Phi: FloatArray) -> PhiPairs:
    first, second = (indices.astype(np.intp) for indices in np.triu_indices(len(Phi)))
    often = np.where(first == second, 1.0, 2.0)
    return PhiPairs(Phi, first, second, often, np.ascontiguousarray((Phi[first] * Phi[second]).T))


def _iterate(
    m: FloatArray, v: FloatArray, pairs: PhiPairs, tol: float, max_iter: int, free: FloatArray, label_v: float | None
) -> Posterior:
    found = Posterior(*(np.zeros_like(free) for _ in range(3)))
    left, prior, before = np.arange(len(m)), free, np.zeros_like(free)
    for _ in range(max_iter):
        S, spread = _inverse(prior, v[left], pairs)
        mean = prior * ((S @ m[left][:, :, None])[:, :, 0] @ pairs.Phi)
        if label_v is not None:
            spread = _inverse(prior, np.full(len(left), label_v), pairs)[1]
        variance = prior - prior**2 * spread
        for whole, part in zip(found, (mean, variance, prior), strict=True):
            whole[left] = part
        moved = np.linalg.norm(mean - before, axis=1) > tol * np.linalg.norm(mean, axis=1)
        if not moved.any():
            break
        left, before = left[moved], mean[moved]
        prior = free[left] * (B0 + (variance[moved] + before**2) / 2.0) / (A0 + 0.5)
    return found


def _inverse(prior: FloatArray, v: FloatArray, pairs: PhiPairs) -> tuple[FloatArray, FloatArray]:
    """Return S, (n_rows, K, K), and phi_j'S phi_j, (n_rows, n_labels)."""
    K = len(pairs.Phi)
    S: FloatArray = np.empty((len(prior), K, K))
    S[:, pairs.first, pairs.second] = S[:, pairs.second, pairs.first] = prior @ pairs.products
    S[:, np.arange(K), np.arange(K)] += v[:, None]
    S = np.asarray(np.linalg.inv(S), dtype=np.float64)
    return S, (S[:, pairs.first, pairs.second] * pairs.often) @ pairs.products.T


# Settings of the solver that its models have as well.
SETTINGS = ("kernel", "gamma", "degree", "coef0", "bias", "s2", "c2", "variance", "tol", "max_iter")


@dataclass(frozen=True)
class CompressedModel:
    """Scores are twice the means of labels of 0 and 1, less 1.

    Parameters
    ----------
    coef : (K, n_features) ndarray; with a kernel (K, n_train)
        Compressed labels are products with it, of features or of kernel values with the training rows.
    factor : (n_features, r) or (n_train, r) ndarray
        What training takes off the variance of a row is the square length of its product with it.
    Phi : (K, n_labels) ndarray
    X_train : (n_train, n_features), or (0, n_features) without kernel
    kernel, gamma, degree, coef0, bias : settings of the solver
    s2, c2 : float
    variance, tol, max_iter : settings of the solver
    info : FitInfo
    """

    coef: FloatArray
    factor: FloatArray
    Phi: FloatArray
    X_train: Features
    kernel: str
    gamma: float
    degree: int
    coef0: float
    bias: str
    s2: float
    c2: float
    variance: str
    tol: float
    max_iter: int
    info: FitInfo

    def decision_function(self, X: Features) -> FloatArray:
        """Return scores (n_samples, n_labels)."""
        scores: FloatArray = 2.0 * self.labels(X).mean - 1.0
        return scores

    def latent(self, X: Features) -> tuple[FloatArray, FloatArray]:
        """Return means (n_samples, K) and variances (n_samples,) of compressed labels."""
        X = as_features(X)
        seen = self._seen(X)
        spread = self._spread(seen) if self.kernel == "linear" else self._kernel_spread(X, seen)
        return np.asarray(seen @ self.coef.T), spread + self.s2 + self.c2

    def _kernel_spread(self, X: Features, seen: FloatArray) -> FloatArray:
        """Return the variance of compressed labels without noise, (n_samples,)."""
        taken = np.asarray(seen @ self.factor)
        spread: FloatArray = np.maximum(self._own(X) - (taken**2).sum(axis=1), 0.0)
        return spread

    def _spread(self, seen: Features) -> FloatArray:
        """Return the same of rows as they are: what is left in the directions of `factor`, and all beyond them.

        The difference of two large numbers would leave rounding where the rows are large.
        """
        kept = (self.factor**2).sum(axis=0)
        directions = self.factor / np.sqrt(kept)
        along: FloatArray = np.asarray(seen @ directions)
        spread: FloatArray = (along**2) @ np.maximum(1.0 - kept, 0.0)
        if directions.shape[0] == directions.shape[1]:
            return spread
        own = np.asarray((seen.multiply(seen) if issparse(seen) else seen**2).sum(axis=1)).ravel()
        beyond = own - (along**2).sum(axis=1)
        small = np.flatnonzero(beyond < CANCELLED * own)
        for begin in range(0, small.size, ROWS):
            rows = small[begin : begin + ROWS]
            rest = as_dense(take_rows(seen, rows)) - along[rows] @ directions.T
            beyond[rows] = (rest**2).sum(axis=1)
        spread += np.maximum(beyond, 0.0)
        return spread

    def labels(self, X: Features) -> Posterior:
        """Return means and variances of labels, (n_samples, n_labels)."""
        m, v = self.latent(X)
        if self.variance == "joint":
            return relevance(m, v, self.Phi, self.tol, self.max_iter)
        v = np.full(len(m), self.s2 + self.c2)
        return relevance(m, v, self.Phi, self.tol, self.max_iter, label_v=self.c2)

    def covariance(self, X: Features) -> FloatArray:
        """Return the covariance of each compressed label over the rows of `X`, noise and all."""
        X = as_features(X)
        taken = np.asarray(self._seen(X) @ self.factor)
        between = Kernel.of(self)(X, X) + float(self.bias == "augmented")
        covariance: FloatArray = between - taken @ taken.T
        covariance[np.diag_indices_from(covariance)] += self.s2 + self.c2
        return covariance

    def arrays(self) -> ModelArrays:
        """Return the arrays that define the model."""
        return {"coef": self.coef, "factor": self.factor, "Phi": self.Phi, "X_train": self.X_train}

    def meta(self) -> ModelMeta:
        """Return the kind of model and its settings."""
        return {"model": "compressed", **{name: getattr(self, name) for name in SETTINGS}}

    def _seen(self, X: Features) -> Features:
        if self.kernel == "linear":
            return with_ones(X) if self.bias == "augmented" else X
        values = Kernel.of(self)(X, self.X_train)
        return values + float(self.bias == "augmented")

    def _own(self, X: Features) -> FloatArray:
        """Return the kernel value of each row with itself."""
        one = float(self.bias == "augmented")
        if self.kernel == "linear":
            squares = np.asarray((X.multiply(X) if issparse(X) else X**2).sum(axis=1))
            return squares.ravel() + one
        rows = (take_rows(X, np.array([i])) for i in range(X.shape[0]))
        kernel = Kernel.of(self)
        return np.array([kernel(row, row)[0, 0] for row in rows]) + one


def rows_space(X: Features, settings: Any) -> RidgeSpace:
    """Decompose rows as they are, without centering."""
    if settings.kernel != "linear":
        return kernel_space(X, Kernel.of(settings), centered=False, bias=float(settings.bias == "augmented"))
    rows = with_ones(X) if settings.bias == "augmented" else X
    return linear_space(CenteredRows(rows, np.zeros(rows.shape[1])), centered=False)


def compressed_model(
    X: Features, space: RidgeSpace, coef: FloatArray, Phi: FloatArray, settings: Any, info: FitInfo
) -> CompressedModel:
    """Make the model of compressed labels with these weights."""
    sigma = settings.s2 + settings.c2
    if space.rows is None:
        factor = space.vectors / np.sqrt(space.values + sigma)
    else:
        right = space.vectors
        if space.dual:
            right = space.rows.transpose_times(space.vectors) / np.sqrt(space.values)
        factor = right * np.sqrt(space.shrunk(sigma))
    X_train = read_only(X if space.rows is None else X[:0])
    shared = {name: getattr(settings, name) for name in SETTINGS}
    return CompressedModel(coef, factor, Phi, X_train, info=info, **shared)
