"""Exact nearest neighbors of every row among the other rows.

The result is that of brute force in float64: squared distances are sums of (x_f - z_f)^2 in the order of the features,
the same for dense and CSR rows, and of rows at equal distance the one with the lower index is nearer.

Dense rows are compared by matrix products in float32, a block of rows at a time. What comes out is lowered by a bound
on its rounding error, so that no neighbor can be missed: only rows whose lower bound is below the k-th best upper
bound are compared in float64. Sparse rows are compared through the columns they share.
"""

from typing import Any

import numpy as np
from scipy.sparse import csc_array, issparse

from mlrank.arrays import Features, FloatArray, IntArray, as_features, in_pieces, read_only
from mlrank.graphs._neighbor_kernels import SPARE, dense_block, listed_rows, sparse_rows

__all__ = ["inverted", "knn"]

# One block of lower bounds, in bytes.
BLOCK_BYTES = 64e6
# Where more than this part of all pairs must be compared in float64, the bounds are computed in float64 from there on.
MANY = 1 / 32
LARGEST = 1e150
# Up to here a tree is faster than products at any number of rows: at 6 features they are equal for 20000 rows.
TREE_FEATURES = 5
# Relative error of a tree's distances, with room to spare.
TREE_ERROR = 1e-12


def knn(X: Features, n_neighbors: int) -> tuple[IntArray, FloatArray]:
    """Return the nearest other rows of each row, nearest first.

    Parameters
    ----------
    X : (n_samples, n_features) ndarray or csr_array
    n_neighbors : int
        From 1 to n_samples - 1.

    Returns
    -------
    indices : (n_samples, n_neighbors) int64 ndarray
    squared_distances : (n_samples, n_neighbors) ndarray

    Raises
    ------
    ValueError
        If `n_neighbors` is out of range, or `X` has entries that are not finite or so large that squares overflow.
    """
    rows = as_features(X)
    n = rows.shape[0]
    if not 1 <= n_neighbors < n:
        raise ValueError(f"n_neighbors must be from 1 to {n - 1}, one below the number of rows, found {n_neighbors}")
    largest = float(np.abs(rows.data if issparse(rows) else rows).max(initial=0.0))
    if not largest < LARGEST:
        raise ValueError(f"X must have finite entries below {LARGEST:g}, so that distances exist, found {largest:g}")
    rows = read_only(rows)
    indices, squares = np.empty((n, n_neighbors), dtype=np.int64), np.empty((n, n_neighbors))
    if issparse(rows):
        _of_sparse(rows, indices, squares)
    elif rows.shape[1] <= TREE_FEATURES:
        _of_tree(rows, indices, squares)
    else:
        _of_dense(rows, indices, squares)
    return indices, squares


def _of_tree(X: FloatArray, indices: IntArray, squares: FloatArray) -> None:
    from scipy.spatial import cKDTree

    n, k = indices.shape
    # Halves by value, not by number of rows: equal rows would make trees by number slow to build.
    tree = cKDTree(X, balanced_tree=False)
    found, near = tree.query(X, min(n, k + 1 + SPARE))
    listed_rows(X, np.arange(n), near.ravel(), np.arange(0, near.size + 1, near.shape[1]), indices, squares)
    farthest = np.sqrt(squares[:, -1])
    open_rows = np.flatnonzero(found[:, -1] <= farthest * (1 + TREE_ERROR)) if near.shape[1] < n else np.empty(0, int)
    _among_equals(X, open_rows[farthest[open_rows] == 0], indices, squares)
    for i in open_rows[farthest[open_rows] > 0]:
        within = np.array(tree.query_ball_point(X[i], farthest[i] * (1 + TREE_ERROR)), dtype=np.int64)
        listed_rows(X, np.array([i]), within, np.array([0, within.size]), indices, squares)


def _among_equals(X: FloatArray, rows: IntArray, indices: IntArray, squares: FloatArray) -> None:
    """Fill the neighbors of rows that have more equals than neighbors: the first of these, without themselves."""
    if not rows.size:
        return
    k = indices.shape[1]
    # Adding zero makes -0 and 0 equal.
    _, group, size = np.unique(X[rows] + 0.0, axis=0, return_inverse=True, return_counts=True)
    by_group = rows[np.argsort(group.ravel(), kind="stable")]
    squares[rows] = 0.0
    for members in np.split(by_group, np.cumsum(size)[:-1]):
        first = members[: k + 1]
        indices[members] = first[:k]
        for place, i in enumerate(first[:k]):
            indices[i] = np.delete(first, place)


def _of_dense(X: FloatArray, indices: IntArray, squares: FloatArray) -> None:
    n = X.shape[0]
    precision: np.dtype[Any] = np.dtype(np.float32)
    left, right, error = _factors(X, precision)
    size = min(n, max(1, int(BLOCK_BYTES / (precision.itemsize * n))))
    block = np.empty((size, n), dtype=precision)
    for begin in range(0, n, size):
        part = left[begin : begin + size]
        bounds = np.matmul(part, right.T, out=block[: len(part)])
        compared = 0
        for rows in in_pieces(len(bounds), float(n) * X.shape[1]):
            compared += dense_block(X, bounds[rows], error, begin + rows.start, indices, squares)
        if precision == np.float32 and compared > MANY * bounds.size:
            precision = np.dtype(np.float64)
            left, right, error = _factors(X, precision)
            block = np.empty((size, n), dtype=precision)


def _factors(X: FloatArray, precision: np.dtype[Any]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return (left, right, error): left_i . right_j is at most |x_i - x_j|^2 - |x_i|^2 + error_i, but for the scale.

    The product falls short of that by at most 2 (error_i + error_j). Rows are centered and scaled to length at most
    one, so that nothing overflows in float32.
    """
    mean = X.mean(axis=0)
    A = X - mean
    longest = float(np.abs(A).max(initial=0.0)) or 1.0
    A /= longest
    squares = np.einsum("ij,ij->i", A, A)
    unit, tiny = float(np.finfo(precision).eps), float(np.finfo(precision).tiny)
    # A product of d + 1 terms in any order, its factors rounded, is wrong by (d + 4) unit |x||z| at most.
    error = (X.shape[1] + 4) * unit * squares
    # What centering itself has rounded, in units of the longest row.
    shift = 4 * np.finfo(np.float64).eps * (np.linalg.norm(mean) / longest + 1) * np.sqrt(X.shape[1])
    error += 4 * shift * np.sqrt(squares) + shift**2 + (X.shape[1] + 4) * tiny
    left = np.column_stack([A, np.ones(len(A))]).astype(precision)
    right = np.column_stack([-2 * A, squares - error]).astype(precision)
    return left, right, error


def _of_sparse(X: Features, indices: IntArray, squares: FloatArray) -> None:
    columns = inverted(X)
    shared = np.diff(columns[2]).astype(np.float64)
    for rows in in_pieces(X.shape[0], X.shape[0] + float(shared @ shared) / X.shape[0]):
        sparse_rows(X.data, X.indices, X.indptr, *columns, rows.start, rows.stop, indices, squares)


def inverted(X: Features) -> tuple[FloatArray, IntArray, IntArray, FloatArray, FloatArray]:
    """Return the entries of `X` by column, as in CSC; each row's |x|^2 less its error, and that error."""
    columns = csc_array(X)
    parts = (columns.indices.astype(np.int32, copy=False), columns.indptr.astype(np.int32, copy=False))
    lengths = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    unit = float(np.finfo(np.float64).eps)
    error = (np.diff(X.indptr).max(initial=0) + 4) * unit * lengths + np.finfo(np.float64).tiny
    return columns.data, *parts, lengths - error, error
