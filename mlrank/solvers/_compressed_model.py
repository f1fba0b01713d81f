"""The model of sparse Bayesian compressed sensing: compressed labels of a row, their variance, and its labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import Features, FloatArray, read_only, take_rows
from mlrank.kernels import KERNELS
from mlrank.linalg import CenteredRows
from mlrank.solvers._ridge_space import RidgeSpace, kernel_space, linear_space, with_ones
from mlrank.solvers._sparse_bayes import Posterior, relevance
from mlrank.solvers.base import FitInfo

__all__ = ["CompressedModel", "compressed_model", "rows_space"]

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
        seen = self._seen(X)
        taken = np.asarray(seen @ self.factor)
        spread = np.maximum(self._own(X) - (taken**2).sum(axis=1), 0.0)
        return np.asarray(seen @ self.coef.T), spread + self.s2 + self.c2

    def labels(self, X: Features) -> Posterior:
        """Return means and variances of labels, (n_samples, n_labels)."""
        m, v = self.latent(X)
        if self.variance == "joint":
            return relevance(m, v, self.Phi, self.tol, self.max_iter)
        v = np.full(len(m), self.s2 + self.c2)
        return relevance(m, v, self.Phi, self.tol, self.max_iter, label_v=self.c2)

    def covariance(self, X: Features) -> FloatArray:
        """Return the covariance of each compressed label over the rows of `X`, noise and all."""
        taken = np.asarray(self._seen(X) @ self.factor)
        between = KERNELS[self.kernel](X, X, self.gamma, self.degree, self.coef0) + float(self.bias == "augmented")
        covariance: FloatArray = between - taken @ taken.T
        covariance[np.diag_indices_from(covariance)] += self.s2 + self.c2
        return covariance

    def arrays(self) -> Mapping[str, Any]:
        """Return the arrays that define the model."""
        return {"coef": self.coef, "factor": self.factor, "Phi": self.Phi, "X_train": self.X_train}

    def meta(self) -> Mapping[str, Any]:
        """Return the kind of model and its settings."""
        return {"model": "compressed", **{name: getattr(self, name) for name in SETTINGS}}

    def _seen(self, X: Features) -> Features:
        if self.kernel == "linear":
            return with_ones(X) if self.bias == "augmented" else X
        values = KERNELS[self.kernel](X, self.X_train, self.gamma, self.degree, self.coef0)
        return values + float(self.bias == "augmented")

    def _own(self, X: Features) -> FloatArray:
        """Return the kernel value of each row with itself."""
        one = float(self.bias == "augmented")
        if self.kernel == "linear":
            squares = np.asarray((X.multiply(X) if issparse(X) else X**2).sum(axis=1))
            return squares.ravel() + one
        rows = (take_rows(X, np.array([i])) for i in range(X.shape[0]))
        constants = (self.gamma, self.degree, self.coef0)
        return np.array([KERNELS[self.kernel](row, row, *constants)[0, 0] for row in rows]) + one


def rows_space(X: Features, settings: Any) -> RidgeSpace:
    """Decompose rows as they are, without centring."""
    if settings.kernel != "linear":
        return kernel_space(X, settings, centred=False, bias=float(settings.bias == "augmented"))
    rows = with_ones(X) if settings.bias == "augmented" else X
    return linear_space(CenteredRows(rows, np.zeros(rows.shape[1])))


def compressed_model(
    X: Features, space: RidgeSpace, parts: FloatArray, Phi: FloatArray, settings: Any, info: FitInfo
) -> CompressedModel:
    """Make the model of compressed labels with U'Z = `parts`."""
    sigma = settings.s2 + settings.c2
    if space.rows is None:
        factor = space.vectors / np.sqrt(space.values + sigma)
    else:
        right = space.vectors
        if space.dual:
            right = space.rows.transpose_times(space.vectors) / np.sqrt(space.values)
        factor = right * np.sqrt(space.shrunk(sigma))
    X_train = read_only(X if space.rows is None else X[:0])
    told = {name: getattr(settings, name) for name in SETTINGS}
    return CompressedModel(space.coef(parts, sigma), factor, Phi, X_train, info=info, **told)
