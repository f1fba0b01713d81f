"""Centered rows, by products alone where they are sparse."""

from functools import cached_property

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import Features, FloatArray, as_features
from mlrank.linalg._product_kernels import centered_product, symmetric_product

__all__ = ["CenteredRows", "center_columns", "without_constants"]


class CenteredRows:
    """X - 1 mean', by products only where X is sparse, so that it stays sparse.

    Parameters
    ----------
    X : (n_samples, n_features) ndarray or csr_array
    mean : (n_features,) ndarray, optional
        What is taken off every row; the mean of the rows by default.
    """

    def __init__(self, X: Features, mean: FloatArray | None = None) -> None:
        X = as_features(X)
        if mean is None:
            X = without_constants(X)
            mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        self.mean: FloatArray = mean
        self.shape: tuple[int, int] = X.shape
        self.shifted = bool(self.mean.any())
        # Dense rows are centered once: products are then exact to rounding however far the rows are from the origin.
        self.rows = X if issparse(X) or not self.shifted else X - self.mean

    def times(self, V: FloatArray) -> FloatArray:
        """Return (X - 1 mean') V for a dense V, shape (n_samples, k)."""
        if not issparse(self.rows):
            return np.asarray(self.rows @ V)
        return _product(self.rows, V, self._ones, self.mean @ V)

    def transpose_times(self, U: FloatArray) -> FloatArray:
        """Return (X - 1 mean')' U for a dense U, shape (n_features, k)."""
        if not issparse(self.rows):
            return np.asarray(self.rows.T @ U)
        return _product(self._columns, U, self.mean, U.sum(axis=0))

    @cached_property
    def _ones(self) -> FloatArray:
        return np.ones(self.shape[0])

    @cached_property
    def _columns(self) -> Features:
        # Sums over the rows of the transpose are twice as fast as adding rows to many places, and made for one product.
        return self.rows.T.tocsr()

    def gram(self, dual: bool) -> FloatArray:
        """Return the dense (n, n) matrix of inner products of rows, or the (m, m) one of columns."""
        if not issparse(self.rows):
            return np.asarray(self.rows @ self.rows.T if dual else self.rows.T @ self.rows)
        # The centering of both sides as one term and its transpose: for any vector taken off, not only the mean.
        if dual:
            right = self._ones
            left = np.asarray(self.rows @ self.mean) - (self.mean @ self.mean) / 2
            A, other = self.rows, self._columns
        else:
            right = self.mean
            left = np.asarray(self.rows.sum(axis=0)).ravel() - self.shape[0] / 2 * self.mean
            A, other = self._columns, self._columns.T.tocsr()
        gram = np.zeros((A.shape[0], A.shape[0]))
        symmetric_product(A.data, A.indices, A.indptr, other.data, other.indices, other.indptr, left, right, gram)
        return gram


def _product(A: Features, V: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
    """Return A V - left right' for a csr_array A."""
    out = np.empty((A.shape[0], V.shape[1]))
    centered_product(A.data, A.indices, A.indptr, np.ascontiguousarray(V, dtype=np.float64), left, right, out)
    return out


def without_constants(X: Features) -> Features:
    """Return `X` with constant columns set to zero: centered they are zero, where rounding would leave noise."""
    X = as_features(X)
    if issparse(X):
        filled = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0])
        columns = X[:, filled].toarray() if filled.size else np.empty((X.shape[0], 0))
        constant = filled[(columns == columns[0]).all(axis=0)]
        if constant.size == 0:
            return X
        X = X.copy()
        X.data[np.isin(X.indices, constant)] = 0.0
        return X
    constant = (X == X[0]).all(axis=0)
    return np.where(constant, 0.0, X) if (constant & (X[0] != 0)).any() else X


def center_columns(A: FloatArray) -> FloatArray:
    """Return `A` with the mean of each column taken off."""
    centered: FloatArray = A - A.mean(axis=0)
    return centered
