"""The selection of nearest neighbors from lower bounds on squared distances, in compiled code.

Of each row the `n_kept` least lower bounds are kept in a heap; the rows they belong to are compared in float64. Where
that cannot be shown to be enough, all rows whose lower bound is low enough are compared.
"""

from typing import Any

import numpy as np

from mlrank.compiled import INNER, njit

Array = np.ndarray[Any, Any]

# Lower bounds kept beyond the neighbors asked for: rounding rarely moves more across the border.
SPARE = 8
# As many bounds are compared with the border at once.
CHUNK = 64
# Relative to a distance, far above the rounding of a few operations.
ROOM = 1e-12


@njit(cache=True)
def dense_block(X: Array, bounds: Array, error: Array, begin: int, indices: Array, squares: Array) -> int:
    """Fill the neighbors of the rows from `begin` on; return how many pairs were compared in float64."""
    n, k = X.shape[0], indices.shape[1]
    kept = min(n - 1, k + SPARE)
    heap, places = np.empty(kept, bounds.dtype), np.empty(kept, np.int64)
    compared = 0
    for row in range(bounds.shape[0]):
        i = begin + row
        low = bounds[row]
        low[i] = np.inf
        _least(low, heap, places)
        border = _border(heap, places, error, k, i)
        nearest, distance = indices[i], squares[i]
        distance[:] = np.inf
        nearest[:] = n
        if kept == n - 1 or _highest(heap) > border:
            for t in range(kept):
                if heap[t] <= border:
                    compared += 1
                    _offer(nearest, distance, places[t], _dense_distance(X, i, places[t], distance[k - 1]))
        else:
            for j in range(n):
                if low[j] <= border:
                    compared += 1
                    _offer(nearest, distance, j, _dense_distance(X, i, j, distance[k - 1]))
                    if distance[k - 1] == 0:
                        break  # enough equal rows; later ones are no nearer
    return compared


@njit(cache=True)
def listed_rows(X: Array, rows: Array, candidates: Array, indptr: Array, indices: Array, squares: Array) -> None:
    """Fill the neighbors of some rows with the nearest of their candidates, given as in CSR; rows are no own ones."""
    for t in range(rows.shape[0]):
        i = rows[t]
        nearest, distance = indices[i], squares[i]
        distance[:] = np.inf
        nearest[:] = X.shape[0]
        for s in range(indptr[t], indptr[t + 1]):
            j = candidates[s]
            if j != i:
                _offer(nearest, distance, j, _dense_distance(X, i, j, distance[-1]))


@njit(cache=True)
def sparse_rows(
    data: Array,
    columns: Array,
    indptr: Array,
    by_column: Array,
    rows_of_column: Array,
    column_indptr: Array,
    constant: Array,
    error: Array,
    begin: int,
    end: int,
    indices: Array,
    squares: Array,
) -> int:
    """Fill the neighbors of the rows begin..end-1, given as CSR and as CSC; return how many pairs were compared."""
    n, k = indices.shape
    kept = min(n - 1, k + SPARE)
    heap, places = np.empty(kept), np.empty(kept, np.int64)
    low = np.empty(n)
    compared = 0
    for i in range(begin, end):
        for j in range(n):
            low[j] = constant[j]
        _lower(data, columns, indptr, by_column, rows_of_column, column_indptr, low, i)
        low[i] = np.inf
        _least(low, heap, places)
        border = _border(heap, places, error, k, i)
        nearest, distance = indices[i], squares[i]
        distance[:] = np.inf
        nearest[:] = n
        if kept == n - 1 or _highest(heap) > border:
            for t in range(kept):
                if heap[t] <= border:
                    compared += 1
                    _offer(nearest, distance, places[t], _sparse_distance(data, columns, indptr, i, places[t]))
        else:
            for j in range(n):
                if low[j] <= border:
                    compared += 1
                    _offer(nearest, distance, j, _sparse_distance(data, columns, indptr, i, j))
                    if distance[k - 1] == 0:
                        break
    return compared


@njit(cache=True)
def dense_within(X: Array, i: int, radius: float, places: Array, squares: Array) -> int:
    """Fill in the other rows at a squared distance of at most `radius` from row i; return their number."""
    found = 0
    for j in range(X.shape[0]):
        square = _dense_distance(X, i, j, radius)
        if j != i and square <= radius:
            places[found], squares[found] = j, square
            found += 1
    return found


@njit(cache=True)
def sparse_within(
    data: Array,
    columns: Array,
    indptr: Array,
    by_column: Array,
    rows_of_column: Array,
    column_indptr: Array,
    constant: Array,
    error: Array,
    i: int,
    radius: float,
    places: Array,
    squares: Array,
) -> int:
    """Do what `dense_within` does for rows given as CSR and as CSC."""
    # Until a row is found near, its place in the result holds its lower bound.
    low = squares
    for j in range(low.shape[0]):
        low[j] = constant[j]
    _lower(data, columns, indptr, by_column, rows_of_column, column_indptr, low, i)
    # Lower bounds are of the squares less |x_i|^2, and may be above by the error; the rest is room for rounding here.
    border = radius - constant[i] + 4 * error[i] + ROOM * radius
    found = 0
    for j in range(low.shape[0]):
        if low[j] <= border and j != i:
            square = _sparse_distance(data, columns, indptr, i, j)
            if square <= radius:
                places[found], squares[found] = j, square
                found += 1
    return found


@njit(**INNER)
def _lower(
    data: Array,
    columns: Array,
    indptr: Array,
    by_column: Array,
    rows_of_column: Array,
    column_indptr: Array,
    low: Array,
    i: int,
) -> None:
    """Take 2 x_i . x_j off each `low_j`, through the columns that rows share."""
    for t in range(indptr[i], indptr[i + 1]):
        value, column = -2 * data[t], columns[t]
        for s in range(column_indptr[column], column_indptr[column + 1]):
            low[rows_of_column[s]] += value * by_column[s]


@njit(**INNER)
def _least(low: Array, heap: Array, places: Array) -> None:
    """Fill `heap` with the least values of `low`, the largest of them first, and `places` with where they are."""
    heap[:] = np.inf
    whole = low.shape[0] - low.shape[0] % CHUNK
    for first in range(0, whole, CHUNK):
        # A view of known length: its comparisons become a few vector instructions.
        part, border, below = low[first : first + CHUNK], heap[0], np.int32(0)
        for t in range(CHUNK):
            below += np.int32(part[t] < border)
        if below:
            _take(low, heap, places, first, first + CHUNK)
    _take(low, heap, places, whole, low.shape[0])


@njit(**INNER)
def _take(low: Array, heap: Array, places: Array, begin: int, end: int) -> None:
    for j in range(begin, end):
        if low[j] < heap[0]:
            _replace_top(heap, places, low[j], j)


@njit(**INNER)
def _replace_top(heap: Array, places: Array, value: float, place: int) -> None:
    size, hole = heap.shape[0], 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= value:
            break
        heap[hole], places[hole] = heap[child], places[child]
        hole = child
    heap[hole], places[hole] = value, place


@njit(**INNER)
def _highest(heap: Array) -> float:
    return float(heap[0])


@njit(**INNER)
def _border(heap: Array, places: Array, error: Array, k: int, i: int) -> float:
    """Return the k-th least upper bound among those kept: no nearest row has a lower bound above it."""
    # It is the least of as many of the greatest, which are few: no more than SPARE are kept beyond k.
    greatest = np.full(heap.shape[0] - k + 1, -np.inf)
    for t in range(heap.shape[0]):
        upper = heap[t] + 2 * (error[places[t]] + error[i])
        if upper > greatest[0]:
            s = 0
            while s + 1 < greatest.shape[0] and greatest[s + 1] < upper:
                greatest[s] = greatest[s + 1]
                s += 1
            greatest[s] = upper
    return float(greatest[0])


@njit(**INNER)
def _offer(nearest: Array, distance: Array, place: int, square: float) -> None:
    """Put a row into the sorted list of the nearest if it belongs there; at equal distance by index."""
    t = distance.shape[0] - 1
    if square > distance[t] or (square == distance[t] and place > nearest[t]):
        return
    while t > 0 and (distance[t - 1] > square or (distance[t - 1] == square and nearest[t - 1] > place)):
        distance[t], nearest[t] = distance[t - 1], nearest[t - 1]
        t -= 1
    distance[t], nearest[t] = square, place


@njit(**INNER)
def _dense_distance(X: Array, i: int, j: int, enough: float) -> float:
    """Return |x_i - x_j|^2, or a part of it that already exceeds `enough`."""
    square = 0.0
    for f in range(X.shape[1]):
        difference = X[i, f] - X[j, f]
        square += difference * difference
        if square > enough:
            break
    return square


@njit(**INNER)
def _sparse_distance(data: Array, columns: Array, indptr: Array, i: int, j: int) -> float:
    """Return |x_i - x_j|^2, summed in the order of the columns."""
    s, t, s_end, t_end = indptr[i], indptr[j], indptr[i + 1], indptr[j + 1]
    square = 0.0
    while s < s_end or t < t_end:
        if t == t_end or (s < s_end and columns[s] < columns[t]):
            difference = data[s]
            s += 1
        elif s == s_end or columns[t] < columns[s]:
            difference = data[t]
            t += 1
        else:
            difference = data[s] - data[t]
            s += 1
            t += 1
        square += difference * difference
    return square
