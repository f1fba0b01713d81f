"""Sums over features that lie far from zero, such as years and Unix times, without the digits that they cancel."""

import numpy as np
from scipy.sparse import csr_array, issparse

from mlrank.arrays import Features, FloatArray

__all__ = ["adjoint_of", "column_offsets", "less_offsets", "scores_of"]

# A column lies far from zero if the square of its mean is so many times its variance.
FAR = 1e4


def column_offsets(X: Features) -> FloatArray | None:
    """Return the mean of each column that lies far from zero, 0 for the others; None if there is none.

    Of sparse rows only columns without a zero count.
    """
    n = X.shape[0]
    if issparse(X):
        mean, square = (np.asarray(part.sum(axis=0)).ravel() / n for part in (X, X * X))
        full = np.bincount(X.indices, minlength=X.shape[1]) == n
    else:
        mean, square, full = np.ones(n) @ X / n, np.einsum("ij,ij->j", X, X) / n, True
    far = full & (mean * mean > FAR * np.maximum(square - mean * mean, 0.0)) & (mean != 0)
    return np.where(far, mean, 0.0) if far.any() else None


def less_offsets(X: Features, offsets: FloatArray | None) -> Features:
    """Return the rows less `offsets`."""
    if offsets is None:
        return X
    if issparse(X):
        return csr_array((X.data - offsets[X.indices], X.indices, X.indptr), shape=X.shape)
    return X - offsets


def adjoint_of(X: Features, beta: FloatArray) -> FloatArray:
    """Return X'beta for beta (n_samples,) or (n_samples, n_labels), without rounding of the offsets of columns."""
    offsets = column_offsets(X)
    product: FloatArray = np.asarray(less_offsets(X, offsets).T @ beta)
    return product if offsets is None else product + np.multiply.outer(offsets, beta.sum(axis=0))


def scores_of(X: Features, coef: FloatArray, intercept: FloatArray, offsets: FloatArray | None) -> FloatArray:
    """Return X coef' + intercept (n_samples, n_labels), without rounding of the `offsets`."""
    scores: FloatArray = np.asarray(less_offsets(X, offsets) @ coef.T)
    if offsets is not None:
        intercept = (coef.astype(np.longdouble) @ offsets + intercept).astype(np.float64)
    return scores + intercept
