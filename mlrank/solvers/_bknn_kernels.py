"""The selection of the nearest rows of each class from keys that rise with the distance, in compiled code.

Keys have a row for each training row and a column, a lane, for each row that is scored: what is done to one lane is
done to all in vector instructions. Training rows with the same labels stand together, in tiles; of a tile each class
that carries it looks at the least key alone, until the tile is known to hold one of the nearest rows.
"""

from typing import Any

import numpy as np
from numba import njit

Array = np.ndarray[Any, Any]

# A class of s tiles looks at the least keys of sqrt(s / 10) of its tiles at a time: about where listing those leasts
# and searching the tiles behind the best of them cost the same.
TILES_PER_SEARCH = 0.1


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
def nearest_of_classes(
    keys: Array, least: Array, edges: Array, starts: Array, tiles: Array, values: Array, rows: Array
) -> None:
    """Fill the least keys of each class and lane and their rows, sorted by both; inf and -1 where there are none.

    Parameters
    ----------
    keys, least, edges : as for `least_of_tiles`
    starts, tiles : class q has the tiles ``tiles[starts[q] : starts[q + 1]]``, rising
    values, rows : (n_classes, n_lanes, n_kept), to be filled
    """
    n_lanes, n_kept = keys.shape[1], values.shape[2]
    low, bounds = np.empty(n_lanes, keys.dtype), np.empty((n_kept, n_lanes), keys.dtype)
    place, places = np.empty(n_lanes, np.int32), np.empty((n_kept, n_lanes), np.int32)
    values[:] = np.inf
    rows[:] = -1
    for q in range(starts.shape[0] - 1):
        begin, end = starts[q], starts[q + 1]
        width = max(1, int(np.sqrt(TILES_PER_SEARCH * (end - begin))))
        bounds[:] = np.inf
        places[:] = -1
        for first in range(begin, end, width):
            _least_of_some(least, tiles[first : min(first + width, end)], low)
            if _any_below(low, bounds[n_kept - 1]):
                place[:] = first
                _sort_in(low, place, bounds, places)
        for r in range(n_lanes):
            limit = bounds[n_kept - 1, r]
            n = 0
            for s in range(n_kept):
                first = places[s, r]
                if first < 0:
                    break
                for t in range(first, min(first + width, end)):
                    tile = tiles[t]
                    if least[tile, r] <= limit:
                        for j in range(edges[tile], edges[tile + 1]):
                            key = keys[j, r]
                            if key <= limit and key < np.inf:
                                n = _insert(key, j, n, values[q, r], rows[q, r])


@njit(cache=True)
def _least_of_some(least: Array, tiles: Array, low: Array) -> None:
    for r in range(low.shape[0]):
        low[r] = least[tiles[0], r]
    for t in range(1, tiles.shape[0]):
        tile = tiles[t]
        for r in range(low.shape[0]):
            low[r] = least[tile, r] if least[tile, r] < low[r] else low[r]


@njit(cache=True)
def _any_below(low: Array, limit: Array) -> bool:
    below = np.int32(0)
    for r in range(low.shape[0]):
        below |= np.int32(low[r] < limit[r])
    return below > 0


@njit(cache=True)
def _sort_in(low: Array, place: Array, bounds: Array, places: Array) -> None:
    """Move each lane of `low` with its place into the rising columns of `bounds`; the largest falls out."""
    for s in range(bounds.shape[0]):
        for r in range(low.shape[0]):
            here, there = bounds[s, r], low[r]
            its_place, other = places[s, r], place[r]
            swap = there < here
            bounds[s, r] = there if swap else here
            low[r] = here if swap else there
            places[s, r] = other if swap else its_place
            place[r] = its_place if swap else other


@njit(cache=True)
def _insert(key: float, row: int, n: int, values: Array, rows: Array) -> int:
    """Insert a row into the first `n` of a list sorted by key and row; return how many there are then."""
    s = n if n < values.shape[0] else n - 1
    if s < n and (key > values[s] or (key == values[s] and row > rows[s])):
        return n
    while s > 0 and (values[s - 1] > key or (values[s - 1] == key and rows[s - 1] > row)):
        values[s], rows[s] = values[s - 1], rows[s - 1]
        s -= 1
    values[s], rows[s] = key, row
    return min(n + 1, values.shape[0])


@njit(cache=True)
def within_limits(
    keys: Array, least: Array, edges: Array, starts: Array, tiles: Array, classes: Array, lanes: Array, limits: Array
) -> tuple[Array, Array]:
    """Return the rows with keys up to the limit of each class and lane listed: where each list starts, and the rows."""
    ends = np.zeros(classes.size + 1, np.int64)
    rows = np.empty(0, np.int32)
    for p in range(classes.size):
        ends[p + 1] = ends[p] + _within(keys, least, edges, starts, tiles, classes[p], lanes[p], limits[p], rows)
    rows = np.empty(ends[-1], np.int32)
    for p in range(classes.size):
        part = rows[ends[p] : ends[p + 1]]
        _within(keys, least, edges, starts, tiles, classes[p], lanes[p], limits[p], part)
    return ends, rows


@njit(cache=True)
def _within(
    keys: Array, least: Array, edges: Array, starts: Array, tiles: Array, q: int, r: int, limit: float, rows: Array
) -> int:
    """Write as many of the rows as there is room for; return how many there are."""
    n = 0
    for t in range(starts[q], starts[q + 1]):
        tile = tiles[t]
        if least[tile, r] <= limit:
            for j in range(edges[tile], edges[tile + 1]):
                if keys[j, r] <= limit and keys[j, r] < np.inf:
                    if n < rows.size:
                        rows[n] = j
                    n += 1
    return n


@njit(cache=True, fastmath={"reassoc", "contract", "nsz"})
def dense_squares(Z: Array, X: Array, lanes: Array, rows: Array, squares: Array) -> None:
    """Fill the squared distances of row ``lanes[p]`` of X and rows ``rows[p]`` of Z; inf where the row is -1."""
    for p in range(squares.shape[0]):
        x = X[lanes[p]]
        for s in range(squares.shape[1]):
            z = Z[rows[p, s]]
            total = 0.0
            for f in range(x.shape[0]):
                difference = z[f] - x[f]
                total += difference * difference
            squares[p, s] = total if rows[p, s] >= 0 else np.inf


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
    squares: Array,
) -> None:
    """Do what `dense_squares` does to CSR rows, Z being the first three arrays and X the next."""
    for p in range(squares.shape[0]):
        for s in range(squares.shape[1]):
            if rows[p, s] < 0:
                squares[p, s] = np.inf
                continue
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
