"""Ridge regression with a free bias, for every penalty and target at once, from one eigen-decomposition of the rows.

Let Xc be the centered rows, or the centered rows in a kernel's feature space, with thin singular value decomposition
U S V'. Only the smaller Gram matrix is decomposed, so U is known through V where there are more rows than features: no
matrix of n x n arises then, and sparse rows stay sparse. For targets Z with column means m::

    min_W,b  |X W + 1b' - Z|^2 + lam |W|^2     W = V S (S^2 + lam)^-1 U'Z,   b = m - W'(mean row)

The hat matrix Xc (Xc'Xc + lam I)^-1 Xc' is U S^2 (S^2 + lam)^-1 U'. With lam = 0 both are those of the pseudo-inverse.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from mlrank.arrays import Features, FloatArray, read_only
from mlrank.kernels import Kernel
from mlrank.linalg import CenteredRows, center_columns
from mlrank.solvers.base import FitInfo
from mlrank.solvers.models import KernelModel, LinearModel

__all__ = [
    "RidgeSpace",
    "check_penalty",
    "gram_space",
    "kernel_space",
    "linear_space",
]

# Where the penalty is "auto": so much of the mean squared singular value.
AUTO_PENALTY = 1e-6


@dataclass(frozen=True)
class RidgeSpace:
    """The decomposition of one set of rows.

    Parameters
    ----------
    values : (r,) ndarray
        Squared singular values, those that are not zero.
    vectors : (n_samples, r) or (n_features, r) ndarray
        U if `dual`, V otherwise.
    dual : bool
    rows : CenteredRows or None
        None with a kernel.
    level : (n_samples,) ndarray
        Means of the rows of the kernel matrix; empty without a kernel.
    """

    values: FloatArray
    vectors: FloatArray
    dual: bool
    rows: CenteredRows | None
    level: FloatArray

    def penalty(self, lam: float | str) -> float:
        """Return `lam`, or for "auto" a millionth of the mean squared singular value."""
        if lam != "auto":
            return float(lam)
        width = len(self.vectors) if self.rows is None else self.rows.shape[1]
        return AUTO_PENALTY * float(self.values.sum()) / width

    def shrunk(self, lam: float) -> FloatArray:
        """Return the nonzero eigenvalues of the hat matrix, shape (r,)."""
        kept: FloatArray = self.values / (self.values + lam)
        return kept

    def parts(self, targets: FloatArray) -> FloatArray:
        """Return U'Z, shape (r, n_targets); the means of the targets play no part in it."""
        if self.dual or self.rows is None:
            return self.vectors.T @ targets
        parts: FloatArray = (self.vectors.T @ self.rows.transpose_times(targets)) / np.sqrt(self.values)[:, None]
        return parts

    def left(self) -> FloatArray:
        """Return U, shape (n_samples, r)."""
        if self.dual or self.rows is None:
            return self.vectors
        return self.rows.times(self.vectors / np.sqrt(self.values))

    def coef(self, parts: FloatArray, lam: float) -> FloatArray:
        """Return the weights (n_targets, n_features) for U'Z = `parts`; with a kernel (n_targets, n_samples)."""
        if not self.dual and self.rows is not None:
            weight = np.sqrt(self.values) / (self.values + lam)
            return np.ascontiguousarray((self.vectors @ (weight[:, None] * parts)).T)
        expansion = self.vectors @ (parts / (self.values + lam)[:, None])
        coef = expansion if self.rows is None else self.rows.transpose_times(expansion)
        return np.ascontiguousarray(coef.T)

    def model(
        self, X: Features, coef: FloatArray, mean: FloatArray, kernel: Kernel, info: FitInfo
    ) -> LinearModel | KernelModel:
        """Return the model with these weights whose scores of the rows `X` have the column means `mean`."""
        if self.rows is not None:
            return LinearModel(coef, mean - coef @ self.rows.mean, info)
        return KernelModel.expansion(kernel, read_only(X), coef, mean - coef @ self.level, info)


def linear_space(rows: CenteredRows) -> RidgeSpace:
    """Decompose `rows`; those whose mean is set to zero are taken as they are."""
    n_samples, n_features = rows.shape
    dual = n_samples < n_features
    values, vectors = _spectrum(rows.gram(dual))
    return RidgeSpace(values, vectors, dual, rows, np.zeros(0))


def kernel_space(X: Features, kernel: Kernel, centered: bool = True, bias: float = 0.0) -> RidgeSpace:
    """Decompose the kernel matrix of `X`, centered or as it is, with `bias` added to every entry."""
    return gram_space(kernel(X, X) + bias, centered)


def gram_space(K: FloatArray, centered: bool = True) -> RidgeSpace:
    """Decompose a kernel matrix, centered or as it is."""
    level = K.mean(axis=0) if centered else np.zeros(len(K))
    if centered:
        K = center_columns(center_columns(K).T)
        K = (K + K.T) / 2
    values, vectors = _spectrum(K)
    return RidgeSpace(values, vectors, True, None, level)


def _spectrum(gram: FloatArray) -> tuple[FloatArray, FloatArray]:
    values, vectors = eigh(gram, driver="evd", overwrite_a=True, check_finite=False)
    keep = values > len(values) * np.finfo(np.float64).eps * max(values[-1], 0.0)
    return values[keep], vectors[:, keep]


def check_penalty(name: str, value: Any) -> None:
    """Raise ValueError unless a penalty is "auto" or a finite number, 0 or above."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < np.inf
    if value != "auto" and not number:
        raise ValueError(f"{name} must be 'auto' or a number, 0 or above, found {value!r}")
