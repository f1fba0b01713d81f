"""Chi-squared distances and similarities between histograms.

With |x| the sum of x, (x - z)^2 / (x + z) = x + z - 4 x z / (x + z), so that::

    D(x, z) = sum_j (x_j - z_j)^2 / (x_j + z_j) = |x| + |z| - 2 S(x, z),    S(x, z) = 2 sum_j x_j z_j / (x_j + z_j)

and only bins that are nonzero in both histograms enter the sum: rows with many zeros are matched through the list, for
each bin, of the rows that have it. Where D is small beside |x| + |z|, it is computed from its definition. For
histograms that sum to 1, D is at most 2. Empty histograms have S = 0 and D = |z|. scikit-learn's `additive_chi2_kernel`
is -D; S, positive semidefinite, is the additive kernel of Vedaldi and Zisserman.

Rows are divided among as many threads as numba may use (`numba.get_num_threads()`), the numbers do not depend on that.
Cost: O(sum over bins of (rows of X with it) (rows of Z with it)), or O(n n' d) for dense rows; half of it where Z is X.

Reference: Vedaldi & Zisserman, "Efficient additive kernels via explicit feature maps", IEEE PAMI, 2012.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
from scipy.sparse import csr_array, issparse

from mlrank.arrays import Features, FloatArray, IntArray, as_dense, as_features, in_pieces, read_only
from mlrank.kernels import _chi2_loops as loops
from mlrank.kernels import feature_pair
from mlrank.kernels.distances import refined
from mlrank.kernels.histograms import check_histograms

__all__ = ["chi2_distances", "chi2_similarities"]

# Matching two nonzeros through the lists takes some five times as long as one bin of dense rows.
LIST_UP_TO = 0.2
# Rows that a thread takes at a time.
CHUNK = 64
# Doubles of Z that stay in a core's own cache while the rows of X pass by.
TILE = 1 << 16


def chi2_distances(X: Features, Z: Features) -> FloatArray:
    """Return D (n_rows_of_X, n_rows_of_Z), at least 0.

    Raises
    ------
    ValueError
        If a feature is below 0 or not a number, or rows have different numbers of features.
    """
    X, Z = feature_pair(X, Z)
    similarity = _half_similarities(X, Z)
    sums_X = np.asarray(X.sum(axis=1))
    sums_Z = sums_X if Z is X else np.asarray(Z.sum(axis=1))
    _in_threads(
        lambda first, last: loops.distances(similarity, sums_X, sums_Z, first, last),
        len(similarity),
        similarity.shape[1],
    )
    return refined(similarity, X, Z, sums_X, sums_Z, _of_pairs)


def chi2_similarities(X: Features, Z: Features) -> FloatArray:
    """Return S (n_rows_of_X, n_rows_of_Z); raises as `chi2_distances`."""
    similarity = _half_similarities(*feature_pair(X, Z))
    similarity *= 2.0
    return similarity


def _of_pairs(x: Features, z: Features) -> FloatArray:
    """Return D of each row of the one and that of the other, from its definition."""
    if issparse(x):
        x, z = as_dense(x), as_dense(z)
    apart, whole = x - z, x + z
    return np.asarray(np.divide(apart * apart, whole, out=np.zeros_like(whole), where=whole > 0).sum(axis=1))


def _half_similarities(X: Features, Z: Features) -> FloatArray:
    """Return S / 2."""
    if X.shape[1] != Z.shape[1]:  # compiled loops would read what is beside the rows
        raise ValueError(f"a chi2 kernel needs rows of as many features, found {X.shape[1]} and {Z.shape[1]}")
    for rows in (X,) if Z is X else (X, Z):
        check_histograms(rows)
    out = np.zeros((X.shape[0], Z.shape[0]))
    if _share(X) * _share(Z) <= LIST_UP_TO:
        _match(X, Z, out)
    else:
        _sweep(read_only(as_dense(X)), read_only(as_dense(Z)), Z is X, out)
    if Z is X:
        _in_threads(lambda first, last: loops.mirror(out, first, last), len(out), len(out))
    return out


def _match(X: Features, Z: Features, out: FloatArray) -> None:
    """Add up common bins through lists of the rows of Z that have each bin; the upper triangle if Z is X."""
    rows, columns = _sparse(X), _sparse(Z).tocsc()
    columns.sort_indices()
    start = _own_places(rows) if Z is X else columns.indptr[rows.indices].astype(np.int64)
    parts = (rows.data, rows.indices, rows.indptr, columns.data, columns.indices.view(np.uint32), columns.indptr)
    shared = np.diff(columns.indptr).astype(np.float64) * np.bincount(rows.indices, minlength=rows.shape[1])
    cost = out.shape[1] + float(shared.sum()) / max(1, len(out))
    _in_threads(lambda first, last: loops.match(*parts, start, out, first, last), len(out), cost)


def _sweep(X: FloatArray, Z: FloatArray, same: bool, out: FloatArray) -> None:
    height = max(1, TILE // X.shape[1])
    _in_threads(lambda first, last: loops.sweep(X, Z, same, height, out, first, last), len(out), Z.size)


def _own_places(rows: csr_array) -> IntArray:
    """Return for each nonzero its place in the list of its bin: the rows from there on are its own and later ones."""
    numbers = csr_array((np.arange(rows.nnz), rows.indices, rows.indptr), shape=rows.shape).tocsc()
    places = np.empty(rows.nnz, dtype=np.int64)
    places[numbers.data] = np.arange(rows.nnz)
    return places


def _sparse(X: Features) -> csr_array:
    """Return `X` as CSR without stored zeros, whose x x / (x + x) would be 0 / 0."""
    if not issparse(X):
        return as_features(csr_array(X))
    if X.data.all():
        return X
    rows = X.copy()
    rows.eliminate_zeros()
    return read_only(rows)


def _share(X: Features) -> float:
    """Return the share of features that are not zero."""
    nonzero = X.nnz if issparse(X) else np.count_nonzero(X)
    return float(nonzero / max(1, X.shape[0] * X.shape[1]))


def _in_threads(work: Callable[[int, int], None], n_rows: int, cost: float) -> None:
    """Call `work(first, last)` for chunks of rows, in as many threads as numba may use; `work` releases the lock.

    `cost` are the operations of a row.

    Not numba's own parallel loops: those of some systems end the process when two threads of it, as those of a
    cluster's worker, are in one at the same time.
    """
    starts = range(0, n_rows, CHUNK)
    threads = min(numba.get_num_threads(), len(starts))
    if threads <= 1:
        for rows in in_pieces(n_rows, cost):
            work(rows.start, rows.stop)
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(lambda first: work(first, min(first + CHUNK, n_rows)), starts):
            pass
