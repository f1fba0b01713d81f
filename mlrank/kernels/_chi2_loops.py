"""Compiled loops of the chi-squared kernels over the rows first..last-1 of the result; they release the lock."""

from typing import Any

from mlrank.compiled import njit

# Sums may be reordered, in the same way for every entry: what comes out depends on the two rows alone.
FAST = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, error_model="numpy")
def match(
    data: Any,
    indices: Any,
    indptr: Any,
    values: Any,
    owners: Any,
    bounds: Any,
    start: Any,
    out: Any,
    first: int,
    last: int,
) -> None:
    """Add x v / (x + v) to out[i, owner] for each nonzero x of row i and each v in the list of its bin from `start`."""
    for i in range(first, last):
        row = out[i]
        for t in range(indptr[i], indptr[i + 1]):
            x = data[t]
            begin, end = start[t], bounds[indices[t] + 1]
            # Slices and unsigned owners spare the check for negative positions in the inner loop.
            v, owner = values[begin:end], owners[begin:end]
            for k in range(v.size):
                row[owner[k]] += x * v[k] / (x + v[k])


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def sweep(X: Any, Z: Any, same: bool, height: int, out: Any, first: int, last: int) -> None:
    """Set out[i, j] to the sum of x z / (x + z) over bins, for j >= i if `same`; `height` rows of Z at a time."""
    for top in range(first if same else 0, Z.shape[0], height):
        bottom = min(top + height, Z.shape[0])
        for i in range(first, last):
            x = X[i]
            for j in range(max(top, i) if same else top, bottom):
                z = Z[j]
                total = 0.0
                for c in range(x.size):
                    # The least normal number makes 0 / 0 a 0, and is lost in any other sum.
                    total += x[c] * z[c] / (x[c] + z[c] + 2.3e-308)
                out[i, j] = total


@njit(cache=True, nogil=True)
def mirror(out: Any, first: int, last: int) -> None:
    """Copy the upper triangle to the lower one, in tiles that fit into the cache."""
    size = 32
    for top in range(first, last, size):
        bottom = min(top + size, last)
        for left in range(0, bottom, size):
            for i in range(top, bottom):
                for j in range(left, min(left + size, i)):
                    out[i, j] = out[j, i]


@njit(cache=True, nogil=True)
def distances(out: Any, sums_X: Any, sums_Z: Any, first: int, last: int) -> None:
    """Replace S / 2 by |x| + |z| - 2 S, at least 0."""
    for i in range(first, last):
        row = out[i]
        for j in range(row.size):
            row[j] = max(0.0, sums_X[i] + sums_Z[j] - 4.0 * row[j])
