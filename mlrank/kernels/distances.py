"""Distances between rows that keep their digits where sums of squares cancel.

|x|^2 + |z|^2 - 2 x'z is fast, and off by some 1e-16 (|x|^2 + |z|^2): where rows are far from the origin and near each
other, as years and Unix times are, that is all there is. Dense rows whose mean is large beside their spread are moved
first, which changes no distance; then pairs that still cancel are computed from the differences of their features.
Cost: one product of the rows, and O(n_features) for each such pair.
"""

from collections.abc import Callable

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import Features, FloatArray, IntArray, as_dense

__all__ = ["refined", "squared_distances"]

# A distance below this part of what it was computed from has lost digits: others are right to some 1e-12.
CANCELLED = 1e-4
# Rows are moved where their mean square is so many times the mean square around their mean.
FAR = 10.0
# Sparse rows are made dense where more than one pair in so many cancels, and so many cells fit.
WIDELY = 10
DENSE_CELLS = 2**27
# Cells of differences that are formed at a time.
CELLS = 2**20


def squared_distances(X: Features, Z: Features) -> FloatArray:
    """Return |x - z|^2 (n_rows_of_X, n_rows_of_Z), right to some 1e-12 of itself."""
    if not X.shape[0] or not Z.shape[0]:
        return np.zeros((X.shape[0], Z.shape[0]))
    from sklearn.metrics.pairwise import euclidean_distances  # a second to load, which many fits need not

    if not issparse(X) and not issparse(Z):
        X, Z = _moved(X, Z)
    distances: FloatArray = euclidean_distances(X, Z, squared=True)
    sizes = [np.asarray((rows * rows).sum(axis=1)).ravel() for rows in (X, Z)]
    if (issparse(X) or issparse(Z)) and _cancel_widely(distances, *sizes):
        cells = (X.shape[0] + Z.shape[0]) * X.shape[1]
        if cells <= DENSE_CELLS:
            dense = as_dense(X)
            return squared_distances(dense, dense if Z is X else as_dense(Z))
    return refined(distances, X, Z, sizes[0], sizes[1], _squared_difference)


def _moved(X: FloatArray, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return both less the mean of `Z` if that is far from the origin; `Z` alone decides."""
    center = Z.mean(axis=0)
    around = Z - center
    if not np.vdot(Z, Z) > FAR * np.vdot(around, around):
        return X, Z
    return (around if X is Z else X - center), around


def _cancel_widely(distances: FloatArray, size_X: FloatArray, size_Z: FloatArray) -> bool:
    rows = np.linspace(0, len(distances) - 1, min(len(distances), 32)).astype(int)
    lost = distances[rows] < CANCELLED * (size_X[rows, None] + size_Z)
    return bool(WIDELY * lost.sum() > lost.size + WIDELY * len(rows))


def refined(
    distances: FloatArray,
    X: Features,
    Z: Features,
    size_X: FloatArray,
    size_Z: FloatArray,
    of_pairs: Callable[[Features, Features], FloatArray],
) -> FloatArray:
    """Recompute in place the distances that have lost digits to their sizes.

    Parameters
    ----------
    distances : (n_rows_of_X, n_rows_of_Z), each the sum of two sizes less something
    size_X, size_Z : (n_rows_of_X,), (n_rows_of_Z,)
    of_pairs : (rows, rows) -> the distance of each row of the one to that of the other
    """
    itself = X is Z
    height = max(1, CELLS // max(1, len(size_Z)))
    for first in range(0, len(distances), height):
        block = distances[first : first + height]
        lost = block < CANCELLED * (size_X[first : first + height, None] + size_Z)
        if itself:
            number = np.arange(len(block))
            block[number, first + number] = 0.0
            lost[number, first + number] = False
        rows, columns = np.nonzero(lost)
        for at in range(0, len(rows), max(1, CELLS // X.shape[1])):
            part = slice(at, at + max(1, CELLS // X.shape[1]))
            block[rows[part], columns[part]] = _between(X, Z, first + rows[part], columns[part], of_pairs)
    return distances


def _between(
    X: Features, Z: Features, rows: IntArray, columns: IntArray, of_pairs: Callable[[Features, Features], FloatArray]
) -> FloatArray:
    if issparse(X) != issparse(Z):
        return of_pairs(as_dense(X[rows]), as_dense(Z[columns]))
    return of_pairs(X[rows], Z[columns])


def _squared_difference(x: Features, z: Features) -> FloatArray:
    apart = x - z
    if issparse(apart):
        return np.asarray(apart.multiply(apart).sum(axis=1)).ravel()
    squares: FloatArray = np.einsum("ij,ij->i", apart, apart)
    return squares
