"""The selection of the nearest rows of each class from keys that rise with the distance, in compiled code.

Keys have a row for each training row and a column, a lane, for each row that is scored: what is done to one lane is
done to all in vector instructions. Training rows with the same labels stand together, in tiles, of whose keys the
least is found once for all labels. Each class puts its tiles into groups: the n_kept-th least of the groups' leasts is
a limit below which at least n_kept rows of the class lie, and hardly more.
"""

from typing import Any

import numpy as np
from numba import njit

Array = np.ndarray[Any, Any]

# A mask has a bit for each lane.
MOST_LANES = 64
# The product with a power of two has another number for each in its six highest bits.
BIT_NUMBERS = np.uint64(0x03F79D71B4CB0A89)
SHIFT, ONE = np.uint64(58), np.uint64(1)


def bit_places() -> Array:
    """Return for the number of each bit, as `BIT_NUMBERS` gives it, which bit that is."""
    places = np.empty(MOST_LANES, np.int64)
    for bit in range(MOST_LANES):
        places[((int(BIT_NUMBERS) << bit) & (2**64 - 1)) >> int(SHIFT)] = bit
    return places


@njit(cache=True)
def least_of_tiles(keys: Array, edges: Array, least: Array) -> None:
    """Fill ``least[i]`` with the least keys of the rows from ``edges[i]`` to before ``edges[i + 1]``, lane by lane."""
    n_lanes = keys.shape[1]
    for i in range(edges.shape[0] - 1):
        for r in range(n_lanes):
            least[i, r] = keys[edges[i], r]
        for j in range(edges[i] + 1, edges[i + 1]):
            for r in range(n_lanes):
                least[i, r] = keys[j, r] if keys[j, r] < least[i, r] else least[i, r]


@njit(cache=True)
def least_of_groups(least: Array, indptr: Array, groups: Array, least_of: Array) -> None:
    """Fill the least keys of each group; tile i is in ``groups[indptr[i] : indptr[i + 1]]``, one for each label."""
    least_of[:] = np.inf
    for i in range(least.shape[0]):
        low = least[i]
        for t in range(indptr[i], indptr[i + 1]):
            here = least_of[groups[t]]
            for r in range(low.shape[0]):
                here[r] = low[r] if low[r] < here[r] else here[r]


@njit(cache=True)
def limits_of_classes(least_of: Array, starts: Array, n_kept: int, limits: Array) -> None:
    """Fill the n_kept-th least of the groups' leasts; class q has groups ``starts[q]`` to before ``starts[q + 1]``."""
    n_lanes = least_of.shape[1]
    rising, moving = np.empty((n_kept, n_lanes), least_of.dtype), np.empty(n_lanes, least_of.dtype)
    for q in range(starts.shape[0] - 1):
        rising[:] = np.inf
        for g in range(starts[q], starts[q + 1]):
            moving[:] = least_of[g]
            # Sorted insertion without a branch: the lesser of two stays, the greater moves on.
            for s in range(n_kept):
                for r in range(n_lanes):
                    here, there = rising[s, r], moving[r]
                    rising[s, r] = there if there < here else here
                    moving[r] = here if there < here else there
        limits[q] = rising[n_kept - 1]


@njit(cache=True)
def rows_within(
    keys: Array,
    least: Array,
    edges: Array,
    indptr: Array,
    classes: Array,
    limits: Array,
    places: Array,
    rows: Array,
    counts: Array,
) -> None:
    """List the rows of each class and lane with keys up to its limit, as many as there is room for.

    Parameters
    ----------
    keys, least, edges, indptr : as above; at most 64 lanes
    classes : tile i has the labels ``classes[indptr[i] : indptr[i + 1]]``
    limits : (n_classes, n_lanes)
    places : from `bit_places`
    rows : (n_classes, n_lanes, room), to be filled
    counts : (n_classes, n_lanes), to be filled with how many there are
    """
    counts[:] = 0
    for i in range(least.shape[0]):
        low = least[i]
        for t in range(indptr[i], indptr[i + 1]):
            q = classes[t]
            limit = limits[q]
            if _any_within(low, limit):
                mask = _lanes_within(low, limit)
                while mask:
                    bit = mask & (~mask + ONE)
                    r = places[(bit * BIT_NUMBERS) >> SHIFT]
                    mask ^= bit
                    counts[q, r] = _list(keys, edges[i], edges[i + 1], r, limit[r], rows[q, r], counts[q, r])


@njit(cache=True)
def _any_within(low: Array, limit: Array) -> bool:
    within = np.int32(0)
    for r in range(low.shape[0]):
        within |= np.int32(low[r] <= limit[r])
    return bool(within > 0)


@njit(cache=True)
def _lanes_within(low: Array, limit: Array) -> np.uint64:
    mask = np.uint64(0)
    for r in range(low.shape[0]):
        mask |= np.uint64(low[r] <= limit[r]) << np.uint64(r)
    return mask


@njit(cache=True)
def _list(keys: Array, begin: int, end: int, lane: int, limit: float, rows: Array, n: int) -> int:
    """Append the rows from `begin` to before `end` to the `n` that are there; return how many there are then."""
    for j in range(begin, end):
        # A row's own key is infinite, and so is the limit where all rows are within.
        if keys[j, lane] <= limit and keys[j, lane] < np.inf:
            if n < rows.shape[0]:
                rows[n] = j
            n += 1
    return n


@njit(cache=True)
def all_within(
    keys: Array, least: Array, edges: Array, starts: Array, tiles: Array, classes: Array, lanes: Array, limits: Array
) -> tuple[Array, Array]:
    """Return all rows with keys up to the limit of each class and lane listed: where each list starts, and the rows.

    Class q has the tiles ``tiles[starts[q] : starts[q + 1]]``.
    """
    ends = np.zeros(classes.size + 1, np.int64)
    rows = np.empty(0, np.int32)
    for p in range(classes.size):
        own = tiles[starts[classes[p]] : starts[classes[p] + 1]]
        ends[p + 1] = ends[p] + _of_tiles(keys, least, edges, own, lanes[p], limits[p], rows)
    rows = np.empty(ends[-1], np.int32)
    for p in range(classes.size):
        own = tiles[starts[classes[p]] : starts[classes[p] + 1]]
        _of_tiles(keys, least, edges, own, lanes[p], limits[p], rows[ends[p] : ends[p + 1]])
    return ends, rows


@njit(cache=True)
def _of_tiles(keys: Array, least: Array, edges: Array, tiles: Array, lane: int, limit: float, rows: Array) -> int:
    n = 0
    for tile in tiles:
        if least[tile, lane] <= limit:
            n = _list(keys, edges[tile], edges[tile + 1], lane, limit, rows, n)
    return n


@njit(cache=True)
def nearest_first(squares: Array, rows: Array, counts: Array, n_first: int) -> None:
    """Sort the first `n_first` of each list of `counts` squared distances and rows to its front, and empty the rest."""
    for p in range(squares.shape[0]):
        distance, row = squares[p], rows[p]
        for t in range(counts[p]):
            square, number = distance[t], row[t]
            s = t if t < n_first else n_first - 1
            if s < t and (square > distance[s] or (square == distance[s] and number > row[s])):
                continue
            while s > 0 and (distance[s - 1] > square or (distance[s - 1] == square and row[s - 1] > number)):
                distance[s], row[s] = distance[s - 1], row[s - 1]
                s -= 1
            distance[s], row[s] = square, number
        for t in range(counts[p], n_first):
            distance[t], row[t] = np.inf, -1


@njit(cache=True, fastmath={"reassoc", "contract", "nsz"})
def dense_squares(Z: Array, X: Array, lanes: Array, rows: Array, counts: Array, squares: Array) -> None:
    """Fill the squared distances of row ``lanes[p]`` of X and the first ``counts[p]`` rows ``rows[p]`` of Z."""
    for p in range(squares.shape[0]):
        x = X[lanes[p]]
        for s in range(counts[p]):
            z = Z[rows[p, s]]
            total = 0.0
            for f in range(x.shape[0]):
                difference = z[f] - x[f]
                total += difference * difference
            squares[p, s] = total


@njit(cache=True)
def sparse_squares(
    data: Array,
    indices: Array,
    indptr: Array,
    X_data: Array,
    X_indices: Array,
    X_indptr: Array,
    lanes: Array,
    rows: Array,
    counts: Array,
    squares: Array,
) -> None:
    """Do what `dense_squares` does to CSR rows, Z being the first three arrays and X the next."""
    for p in range(squares.shape[0]):
        for s in range(counts[p]):
            a, a_end = indptr[rows[p, s]], indptr[rows[p, s] + 1]
            b, b_end = X_indptr[lanes[p]], X_indptr[lanes[p] + 1]
            total = 0.0
            while a < a_end or b < b_end:
                if b == b_end or (a < a_end and indices[a] < X_indices[b]):
                    difference = data[a]
                    a += 1
                elif a == a_end or X_indices[b] < indices[a]:
                    difference = X_data[b]
                    b += 1
                else:
                    difference = data[a] - X_data[b]
                    a += 1
                    b += 1
                total += difference * difference
            squares[p, s] = total
