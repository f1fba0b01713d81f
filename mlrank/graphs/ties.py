"""Nearest neighbors of a set of rows, from which those of the rows in any order follow without another distance.

Of rows at equal distance the one with the lower index is nearer, so neighbors depend on the order of the rows; the
distances do not. What is found once are the nearest rows together with all that are as near as the last of them.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import Features, FloatArray, IntArray, as_features
from mlrank.graphs._neighbor_kernels import dense_within, sparse_within
from mlrank.graphs.neighbors import inverted, knn

__all__ = ["knn_in_order", "knn_with_ties"]

# As many near rows are kept for each row on average: of rows that are mostly equal, there are too many.
MOST_NEAR = 64


def knn_with_ties(X: Features, n_neighbors: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Return all pairs of a row and another one that is no farther than the `n_neighbors`-th nearest, in any order.

    Parameters
    ----------
    X, n_neighbors : as `knn` takes them

    Returns
    -------
    owners, places : (n_pairs,) int64 ndarray
        Of each pair the row and the one near to it. There are no pairs where they would be more than 64 n_samples.
    squared_distances : (n_pairs,) ndarray

    Raises
    ------
    ValueError
        As `knn` does.
    """
    rows = as_features(X)
    n = rows.shape[0]
    wide = min(n - 1, n_neighbors + 1)
    indices, squares = knn(rows, wide)
    last = squares[:, n_neighbors - 1]
    near = squares <= last[:, None]
    # The next row is as near as the last neighbor: more may be.
    unfinished = np.flatnonzero(near[:, -1]) if wide < n - 1 else np.empty(0, dtype=np.int64)
    near[unfinished] = False
    owners, places, distances = [np.nonzero(near)[0]], [indices[near]], [squares[near]]
    count = owners[0].size
    some, lengths = np.empty(n, dtype=np.int64), np.empty(n)
    within: Callable[..., int] = partial(dense_within, rows)
    if issparse(rows) and unfinished.size:
        within = partial(sparse_within, rows.data, rows.indices, rows.indptr, *inverted(rows))
    for i in unfinished:
        found = within(int(i), float(last[i]), some, lengths)
        count += found
        if count > MOST_NEAR * n:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
        owners.append(np.full(found, i))
        places.append(some[:found].copy())
        distances.append(lengths[:found].copy())
    return np.concatenate(owners), np.concatenate(places), np.concatenate(distances)


def knn_in_order(
    pairs: tuple[IntArray, IntArray, FloatArray], order: IntArray, n_neighbors: int
) -> tuple[IntArray, FloatArray]:
    """Return what `knn` returns for the rows in another order.

    Parameters
    ----------
    pairs : what `knn_with_ties` found
    order : (n_samples,) int64 ndarray
        Which place each of its rows has in the other order.
    n_neighbors : int, that of `pairs`
    """
    owners, near, squares = order[pairs[0]], order[pairs[1]], pairs[2]
    nearest_first = np.lexsort((near, squares, owners))
    ends = np.cumsum(np.bincount(owners, minlength=order.size))
    begins = np.concatenate([[0], ends[:-1]])
    chosen = nearest_first[begins[:, None] + np.arange(n_neighbors)]
    return near[chosen], squares[chosen]
