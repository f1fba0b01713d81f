"""Products of sparse rows with dense matrices of a few columns, compiled."""

from typing import Any

from mlrank.compiled import njit

# Rows that are written to at a time where a triangle is copied: as many lines of memory stay in the cache.
TILE = 64

__all__ = ["centered_product", "symmetric_product"]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def centered_product(data: Any, indices: Any, indptr: Any, V: Any, left: Any, right: Any, out: Any) -> None:
    """Set out = A V - left right' for A in CSR form, V and `out` row-major.

    Four nonzeros at a time: a row of `out` is then read and written a quarter as often, which is half the time of one
    nonzero after another.
    """
    for i in range(len(indptr) - 1):
        row, offset = out[i], -left[i]
        for c in range(row.size):
            row[c] = offset * right[c]
        t, end = indptr[i], indptr[i + 1]
        while t + 4 <= end:
            a0, a1, a2, a3 = data[t], data[t + 1], data[t + 2], data[t + 3]
            v0, v1, v2, v3 = V[indices[t]], V[indices[t + 1]], V[indices[t + 2]], V[indices[t + 3]]
            for c in range(row.size):
                row[c] = a3 * v3[c] + (a2 * v2[c] + (a1 * v1[c] + (a0 * v0[c] + row[c])))
            t += 4
        while t < end:
            a, v = data[t], V[indices[t]]
            for c in range(row.size):
                row[c] += a * v[c]
            t += 1


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def symmetric_product(
    data: Any,
    indices: Any,
    indptr: Any,
    columns_data: Any,
    rows: Any,
    starts: Any,
    left: Any,
    right: Any,
    out: Any,
    first: int,
    last: int,
) -> None:
    """Set rows of out = A A' - left right' - right left' for A in CSR form, and in CSC form with sorted rows.

    Only the lower triangle is summed, row by row, so that sums stay in the nearest cache; the upper one is copied with
    the last row. `out` is zero before its first row is set.
    """
    for i in range(first, last):
        row = out[i]
        for t in range(indptr[i], indptr[i + 1]):
            a, c = data[t], indices[t]
            for u in range(starts[c], starts[c + 1]):
                if rows[u] > i:
                    break
                row[rows[u]] += a * columns_data[u]
        for j in range(i + 1):
            row[j] -= left[i] * right[j] + right[i] * left[j]
    size = len(out) if last == len(out) else 0
    for begin in range(0, size, TILE):
        for i in range(begin, size):
            for j in range(begin, min(begin + TILE, i)):
                out[j, i] = out[i, j]
