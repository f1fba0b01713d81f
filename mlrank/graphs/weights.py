"""Graphs on the rows: each row is joined to its nearest neighbors, with weights that fall with the distance.

A row chooses its neighbors, so the choice is not mutual. `symmetrize="max"` keeps an edge that either end has chosen,
"mutual" one that both have; the weight is the same from both ends. A graph of so few rows that `n_neighbors` are not
there joins every row to all others. Edges whose weight underflows to zero are none.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_array, issparse

from mlrank.arrays import Features, FloatArray, IntArray, as_features, take_rows
from mlrank.errors import not_among
from mlrank.graphs.neighbors import knn

__all__ = ["GRAPHS", "SYMMETRIZE", "Finder", "cosine_graph", "gaussian_graph", "self_tuning_graph"]

SYMMETRIZE = ("max", "mutual")
# Rows, n_neighbors -> what `knn` returns for them.
Finder: TypeAlias = Callable[[Features, int], tuple[IntArray, FloatArray]]


def self_tuning_graph(
    X: Features, n_neighbors: int, scale_neighbor: int = 7, symmetrize: str = "max", find: Finder = knn
) -> csr_array:
    """Return the graph with weights exp(-|x_i - x_j|^2 / (s_i s_j)), s_i the distance of x_i to a near row.

    Zelnik-Manor & Perona, "Self-tuning spectral clustering", NIPS 2004; the graph of the SLRM paper, eq. 6. The weights
    do not depend on the scale of the features.

    Parameters
    ----------
    X : (n_samples, n_features) ndarray or csr_array
    n_neighbors : int
        Neighbors that each row chooses, all others if there are fewer.
    scale_neighbor : int
        s_i is the distance to the neighbor of this rank, or to the last if there are fewer. Where it is zero, among
        equal rows, s_i is the least distance above zero, and 1 if all rows are equal.
    symmetrize : {"max", "mutual"}
    find : callable
        Finds neighbors as `knn` does, perhaps from what was found before.

    Returns
    -------
    (n_samples, n_samples) csr_array
    """
    _check(n_neighbors, symmetrize)
    if scale_neighbor < 1:
        raise ValueError(f"scale_neighbor must be at least 1, found {scale_neighbor}")
    rows = as_features(X)
    n = rows.shape[0]
    if n == 1:
        return csr_array((1, 1), dtype=np.float64)
    indices, squares = find(rows, min(max(n_neighbors, scale_neighbor), n - 1))
    scale = _local_scale(rows, squares[:, min(scale_neighbor, n - 1) - 1], find)
    indices, squares = indices[:, :n_neighbors], squares[:, :n_neighbors]
    # One division after the other: the product of two scales may overflow or vanish.
    return _symmetric(indices, np.exp(-squares / scale[:, None] / scale[indices]), symmetrize)


def gaussian_graph(
    X: Features, n_neighbors: int, width: float | None = None, symmetrize: str = "max", find: Finder = knn
) -> csr_array:
    """Return the graph with weights exp(-|x_i - x_j|^2 / width).

    Parameters
    ----------
    X, n_neighbors, symmetrize, find : as in `self_tuning_graph`
    width : float, optional
        The mean squared distance between a row and its neighbors by default (1 if that is zero).

    Returns
    -------
    (n_samples, n_samples) csr_array
    """
    _check(n_neighbors, symmetrize)
    if width is not None and not 0 < width < np.inf:
        raise ValueError(f"width must be a number above 0, found {width}")
    rows = as_features(X)
    if rows.shape[0] == 1:
        return csr_array((1, 1), dtype=np.float64)
    indices, squares = find(rows, min(n_neighbors, rows.shape[0] - 1))
    return _symmetric(indices, np.exp(-squares / (width or squares.mean() or 1.0)), symmetrize)


def cosine_graph(
    X: Features, n_neighbors: int, tau: float = 1.0, symmetrize: str = "max", find: Finder = knn
) -> csr_array:
    """Return the graph with weights exp(-(1 - cos(x_i, x_j)) / tau), neighbors by largest cosine.

    Rows of zeros have no direction and hence no edges.

    Parameters
    ----------
    X, n_neighbors, symmetrize, find : as in `self_tuning_graph`
    tau : float

    Returns
    -------
    (n_samples, n_samples) csr_array
    """
    _check(n_neighbors, symmetrize)
    if not 0 < tau < np.inf:
        raise ValueError(f"tau must be a number above 0, found {tau}")
    rows = as_features(X)
    n, (unit, used) = rows.shape[0], _unit_rows(rows)
    if used.size < 2:
        return csr_array((n, n), dtype=np.float64)
    indices, squares = find(unit, min(n_neighbors, used.size - 1))
    # Of rows of length one, |x - z|^2 = 2 (1 - cos).
    graph = _symmetric(indices, np.exp(-squares / (2 * tau)), symmetrize).tocoo()
    return csr_array(as_features(csr_array((graph.data, (used[graph.row], used[graph.col])), shape=(n, n))))


GRAPHS: dict[str, Callable[..., csr_array]] = {
    "self_tuning": self_tuning_graph,
    "gaussian": gaussian_graph,
    "cosine": cosine_graph,
}


def _check(n_neighbors: int, symmetrize: str) -> None:
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors must be at least 1, found {n_neighbors}")
    if symmetrize not in SYMMETRIZE:
        raise ValueError(not_among("symmetrize", symmetrize, SYMMETRIZE))


def _symmetric(indices: IntArray, weights: FloatArray, symmetrize: str) -> csr_array:
    n, k = indices.shape
    chosen = csr_array((weights.ravel(), indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    both = chosen.maximum(chosen.T) if symmetrize == "max" else chosen.minimum(chosen.T)
    both.eliminate_zeros()
    return csr_array(as_features(both))


def _local_scale(X: Features, squares: FloatArray, find: Finder) -> FloatArray:
    """Return the square roots, with the least distance above zero, or 1, where they are zero."""
    scale = np.sqrt(squares)
    none = np.flatnonzero(scale == 0)
    if none.size:
        distinct, place = _distinct_rows(X)
        if distinct.shape[0] > 1:
            nearest = np.sqrt(find(distinct, 1)[1][:, 0])
            scale[none] = nearest[place[none]]
        scale[scale == 0] = 1.0
    return scale


def _distinct_rows(X: Features) -> tuple[Features, IntArray]:
    """Return the different rows of `X` and which of them each row is."""
    if not issparse(X):
        rows, place = np.unique(X, axis=0, return_inverse=True)
        return rows, place.ravel()
    clean = X.copy()
    clean.eliminate_zeros()
    first: dict[tuple[bytes, bytes], int] = {}
    place = np.empty(X.shape[0], dtype=np.int64)
    for i, (begin, end) in enumerate(zip(clean.indptr[:-1], clean.indptr[1:], strict=True)):
        key = (clean.indices[begin:end].tobytes(), clean.data[begin:end].tobytes())
        place[i] = first.setdefault(key, len(first))
    return take_rows(clean, np.unique(place, return_index=True)[1]), place


def _unit_rows(X: Features) -> tuple[Features, IntArray]:
    """Return the rows of `X` that are not zero, scaled to length one, and their numbers."""
    largest = abs(X).max(axis=1).toarray().ravel() if issparse(X) else np.abs(X).max(axis=1, initial=0.0)
    used = np.flatnonzero(largest > 0)
    rows = take_rows(X, used)
    # By the largest entry first: squares of small ones vanish.
    rows = _scaled(rows, 1 / largest[used])
    squares = rows.multiply(rows).sum(axis=1) if issparse(rows) else np.einsum("ij,ij->i", rows, rows)
    return _scaled(rows, 1 / np.sqrt(np.asarray(squares).ravel())), used


def _scaled(X: Features, factors: FloatArray) -> Features:
    if issparse(X):
        return csr_array((X.data * np.repeat(factors, np.diff(X.indptr)), X.indices, X.indptr), shape=X.shape)
    return X * factors[:, None]
