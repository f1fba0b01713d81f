"""Array types, read-only views and the few CSR helpers that more than one module needs."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack, issparse

__all__ = [
    "BoolArray",
    "Features",
    "FloatArray",
    "IntArray",
    "as_dense",
    "as_features",
    "in_pieces",
    "piece_size",
    "read_only",
    "take_rows",
    "with_ones",
]

FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
IntArray: TypeAlias = npt.NDArray[np.int64]
# A float64 matrix of shape (n_samples, n_features): C-contiguous ndarray, or csr_array with int32 indices.
Features: TypeAlias = Any


# No interrupt and no time limit arrives in a compiled loop: one call does no more operations than half a second takes.
PIECE = 5e8


def in_pieces(n: int, cost: float) -> Iterator[slice]:
    """Yield slices of `n` items, in order, each of them few enough for one call of a compiled loop.

    Parameters
    ----------
    n : int
    cost : float
        Operations that an item takes.
    """
    size = piece_size(cost)
    for begin in range(0, n, size):
        yield slice(begin, min(begin + size, n))


def piece_size(cost: float) -> int:
    """Return how many items, each of `cost` operations, one call of a compiled loop may take."""
    return max(1, int(PIECE / max(cost, 1.0)))


def as_features(X: Any) -> Features:
    """Return `X` as C-contiguous float64 ndarray or canonical csr_array with int32 indices; `X` itself where it is one.

    Every public function that takes features begins with it, so that other sparse formats and dtypes work as well.

    Raises
    ------
    ValueError
        If `X` is not two-dimensional.
    """
    if issparse(X):
        if _is_features(X):
            return X
        sparse = csr_array(X, dtype=np.float64)
        if not sparse.has_canonical_format:
            sparse = sparse.copy() if sparse.data is getattr(X, "data", None) else sparse
            sparse.sum_duplicates()
        if sparse.indices.dtype != np.int32 or sparse.indptr.dtype != np.int32:
            if sparse.nnz > np.iinfo(np.int32).max:
                raise ValueError(
                    f"a sparse matrix of {sparse.nnz} nonzeros needs 64-bit indices, which are not supported"
                )
            parts = (sparse.data, sparse.indices.astype(np.int32), sparse.indptr.astype(np.int32))
            sparse = csr_array(parts, shape=sparse.shape)
        return sparse
    dense = np.ascontiguousarray(X, dtype=np.float64)
    if dense.ndim != 2:
        raise ValueError(f"X must have two dimensions, found {dense.ndim}")
    return dense


def _is_features(X: Any) -> bool:
    """Whether a sparse matrix has the form that compiled loops take."""
    if not isinstance(X, csr_array) or X.dtype != np.float64:
        return False
    return X.indices.dtype == X.indptr.dtype == np.int32 and bool(X.has_canonical_format)


def as_dense(X: Features) -> FloatArray:
    """Return `X` as an ndarray. Only for blocks known to be small."""
    return X.toarray() if issparse(X) else X  # type: ignore[no-any-return]


def take_rows(X: Features, rows: IntArray, columns: IntArray | None = None) -> Features:
    """Return the rows of `X` in the order given, of all columns or of those given, with int32 indices kept."""
    if columns is None:
        return as_features(X[rows])
    return as_features(X[rows][:, columns] if issparse(X) else X[np.ix_(rows, columns)])


def with_ones(X: Features) -> Features:
    """Return the rows with a column of ones appended."""
    ones = np.ones((X.shape[0], 1))
    return as_features(hstack([X, ones], format="csr") if issparse(X) else np.hstack([X, ones]))


def read_only(X: Features) -> Features:
    """Return a view of `X` (ndarray or csr_array) whose buffers refuse to be written; `X` itself if they all do.

    Compiled loops take their input like this also where it is their caller's own: for arrays that may be written to,
    each would be compiled once more.
    """
    if issparse(X):
        if not any(part.flags.writeable for part in (X.data, X.indices, X.indptr)):
            return X
        parts = tuple(read_only(part) for part in (X.data, X.indices, X.indptr))
        view = csr_array(parts, shape=X.shape, copy=False)
        view.has_canonical_format = True
        return view
    if not X.flags.writeable:
        return X
    view = X.view()
    view.flags.writeable = False
    return view
