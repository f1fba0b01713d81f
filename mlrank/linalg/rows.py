"""Centered rows, by products alone where they are sparse."""

from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, issparse

from mlrank.arrays import Features, FloatArray, as_features, in_pieces, read_only

__all__ = ["CenteredRows", "center_columns", "column_lengths", "without_constants"]


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
            mean = _mean(X)
        self.mean: FloatArray = mean
        self.shape: tuple[int, int] = X.shape
        self.shifted = bool(self.mean.any())
        # Dense rows, and columns of sparse ones without a zero, are centered once: products are then exact to rounding
        # however far the rows are from the origin. `offset` is what is left to take off.
        self.offset: FloatArray = self.mean
        if not issparse(X):
            self.rows = X - self.mean if self.shifted else X
        else:
            self.rows, self.offset = _filled_centered(X, self.mean) if self.shifted else (X, self.mean)

    def times(self, V: FloatArray) -> FloatArray:
        """Return (X - 1 mean') V for a dense V, shape (n_samples, k)."""
        if not issparse(self.rows):
            return np.asarray(self.rows @ V)
        return _product(self.rows, V, self._ones, self.offset @ V)

    def transpose_times(self, U: FloatArray) -> FloatArray:
        """Return (X - 1 mean')' U for a dense U, shape (n_features, k)."""
        if not issparse(self.rows):
            return np.asarray(self.rows.T @ U)
        return _product(self._columns, U, self.offset, U.sum(axis=0))

    def dense(self) -> FloatArray:
        """Return the centered rows as an ndarray."""
        return self.rows.toarray() - self.offset if issparse(self.rows) else np.asarray(self.rows)

    @cached_property
    def lengths(self) -> FloatArray:
        """Lengths of the centered columns, shape (n_features,)."""
        if not issparse(self.rows):
            return column_lengths(self.rows)
        squares = np.asarray(self.rows.multiply(self.rows).sum(axis=0)).ravel()
        sums = np.asarray(self.rows.sum(axis=0)).ravel()
        squares = squares - (2 * sums - self.shape[0] * self.offset) * self.offset
        lengths: FloatArray = np.sqrt(np.maximum(squares, 0.0))
        return lengths

    @cached_property
    def _ones(self) -> FloatArray:
        return np.ones(self.shape[0])

    @cached_property
    def _columns(self) -> Features:
        # Sums over the rows of the transpose are twice as fast as adding rows to many places, and made for one product.
        return read_only(self.rows.T.tocsr())

    def gram(self, dual: bool) -> FloatArray:
        """Return the dense (n, n) matrix of inner products of rows, or the (m, m) one of columns."""
        if not issparse(self.rows):
            return np.asarray(self.rows @ self.rows.T if dual else self.rows.T @ self.rows)
        from mlrank.linalg._product_kernels import symmetric_product  # only sparse rows need numba

        # The centering of both sides as one term and its transpose: for any vector taken off, not only the mean.
        if dual:
            right = self._ones
            left = np.asarray(self.rows @ self.offset) - (self.offset @ self.offset) / 2
            A, other = self.rows, self._columns
        else:
            right = self.offset
            left = np.asarray(self.rows.sum(axis=0)).ravel() - self.shape[0] / 2 * self.offset
            A, other = self._columns, read_only(self._columns.T.tocsr())
        gram = np.zeros((A.shape[0], A.shape[0]))
        parts = [read_only(part) for one in (A, other) for part in (one.data, one.indices, one.indptr)]
        shared = np.diff(other.indptr).astype(np.float64)
        for rows in in_pieces(len(gram), len(gram) + float(shared @ shared) / max(1, len(gram))):
            symmetric_product(*parts, left, right, gram, rows.start, rows.stop)
        return gram


def _mean(X: Features) -> FloatArray:
    """Return the mean of the rows, of sparse columns without a zero to the last digits, as of dense ones."""
    mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    if issparse(X):
        filled = np.flatnonzero((np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]) & (mean != 0))
        if filled.size:
            mean[filled] = X[:, filled].toarray().mean(axis=0)
    return mean


def _filled_centered(X: Features, mean: FloatArray) -> tuple[Features, FloatArray]:
    """Return a csr_array with `mean` taken off its columns without a zero, and what is left of `mean`."""
    filled = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
    if not (filled & (mean != 0)).any():
        return X, mean
    taken = np.where(filled, mean, 0.0)
    rest = csr_array((X.data - taken[X.indices], X.indices, X.indptr), shape=X.shape)
    return read_only(rest), np.where(filled, 0.0, mean)


def _product(A: Features, V: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
    """Return A V - left right' for a csr_array A."""
    from mlrank.linalg._product_kernels import centered_product

    out = np.empty((A.shape[0], V.shape[1]))
    V = np.ascontiguousarray(V, dtype=np.float64)
    data, indices, indptr = (read_only(part) for part in (A.data, A.indices, A.indptr))
    for rows in in_pieces(len(out), V.shape[1] * (1 + A.nnz / max(1, len(out)))):
        ends = indptr[rows.start : rows.stop + 1]
        centered_product(data, indices, ends, V, left[rows], right, out[rows])
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


def column_lengths(A: FloatArray) -> FloatArray:
    """Return the Euclidean lengths of the columns of `A`."""
    lengths: FloatArray = np.sqrt(np.einsum("ij,ij->j", A, A))
    return lengths
