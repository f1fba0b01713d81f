"""The selection of the nearest rows of each class from keys that rise with the distance, in compiled code.

Keys have a row for each training row and a column, a lane, for each row that is scored: what is done to one lane is
done to all in vector instructions. Keys come by chunks of training rows, small enough to stay in the cache. Each chunk
first lowers a limit for each class and lane, below which enough rows of the class lie, then is searched for keys within
the limits. What is found is kept, and looked at again when the limits are final.
"""

from typing import Any

import numpy as np

from mlrank.compiled import INNER, njit

Array = np.ndarray[Any, Any]

# Rows beyond this reach are farther than the limit says, if a key is wrong by less than 0.001 of it, see `_widened`.
WIDER, FARTHER, TWO, HALF = np.float32(1.1), np.float32(1.01), np.float32(2.0), np.float32(0.5)
NOTHING, LONGEST = np.float32(0.0), np.float32(1.0)
# Where all rows are within: all but a row's own key, which is infinite.
MOST = np.float32(np.finfo(np.float32).max)


@njit(cache=True)
def lower_limits(
    keys: Array,
    starts: Array,
    members: Array,
    widths: Array,
    lengths: Array,
    extra: Array,
    rounding: np.float32,
    rising: Array,
    limits: Array,
) -> None:
    """Lower the limits by a chunk of keys.

    The rows of a class are put into groups of whose keys only the least counts: the n-th least of the groups' leasts
    is a limit below which at least n rows of the class lie, and hardly more.

    Parameters
    ----------
    keys : (n_rows, n_lanes) of the chunk
    starts, members : class q has the rows ``members[starts[q] : starts[q + 1]]`` of the chunk
    widths : rows of a group of each class
    lengths, extra, rounding : (n_lanes,), (n_lanes,) and a number: bounds on what is wrong with the keys
    rising : (n_classes, n, n_lanes), the n least of the groups so far, to be updated
    limits : (n_classes, n_lanes), to be updated
    """
    least = np.empty(keys.shape[1], keys.dtype)
    for q in range(starts.shape[0] - 1):
        for begin in range(starts[q], starts[q + 1], widths[q]):
            last = min(begin + widths[q], starts[q + 1]) - 1
            first = keys[members[begin]]
            for r in range(least.shape[0]):
                least[r] = first[r]
            # Four rows at a time, of which the last may be one.
            for t in range(begin + 1, last + 1, 4):
                i, j, k = min(t + 1, last), min(t + 2, last), min(t + 3, last)
                _lower(least, keys[members[t]], keys[members[i]], keys[members[j]], keys[members[k]])
            _insert(least, rising[q])
        if starts[q] < starts[q + 1]:
            _widened(rising[q, -1], lengths, extra, rounding, limits[q])


@njit(**INNER)
def _lower(least: Array, a: Array, b: Array, c: Array, d: Array) -> None:
    for r in range(least.shape[0]):
        lesser = a[r] if a[r] < b[r] else b[r]
        other = c[r] if c[r] < d[r] else d[r]
        lesser = lesser if lesser < other else other
        least[r] = lesser if lesser < least[r] else least[r]


@njit(**INNER)
def _insert(moving: Array, rising: Array) -> None:
    """Insert into sorted lists, one a lane, without a branch: the lesser of two stays, the greater moves on."""
    for s in range(rising.shape[0]):
        here = rising[s]
        for r in range(moving.shape[0]):
            a, b = here[r], moving[r]
            here[r] = b if b < a else a
            moving[r] = a if b < a else b


@njit(**INNER)
def _widened(least: Array, lengths: Array, extra: Array, rounding: np.float32, limits: Array) -> None:
    """Fill the keys above which a row is farther than those with keys up to `least`, whatever has been rounded.

    The key of a row z is wrong by rounding (|z|^2 / 2 + |z||x|), at most, and by `extra` for all rows alike, which is
    in it twice. With a rounding below 0.001 a row with a key up to `least` is not longer than the reach below, and one
    that is longer is farther, so for neither the longest row of all, of length 1, need be taken.
    """
    for r in range(least.shape[0]):
        length = lengths[r]
        square = TWO * least[r] + length * length
        reach = WIDER * length + FARTHER * np.sqrt(square if square > NOTHING else NOTHING)
        reach = reach if reach < LONGEST else LONGEST
        limit = least[r] + (TWO * rounding * reach * (length + HALF * reach) + extra[r])
        limits[r] = limit if limit < MOST else MOST


@njit(**INNER)
def _mark(row: Array, a: Array, b: Array, c: Array, d: Array, within: Array) -> None:
    """Mark the lanes with keys up to any of four limits."""
    for r in range(row.shape[0]):
        bound = a[r] if a[r] > b[r] else b[r]
        other = c[r] if c[r] > d[r] else d[r]
        within[r] |= row[r] <= (bound if bound > other else other)


@njit(cache=True)
def keep_within(
    keys: Array, first: int, indptr: Array, classes: Array, limits: Array, ends: Array, lanes: Array, kept: Array
) -> int:
    """Append the lanes and keys of a chunk that are within the limit of any class of their row; return how many are.

    Row j has the classes ``classes[indptr[j] : indptr[j + 1]]``; the chunk starts at row `first`. What row j - 1 has
    left ends before ``ends[j]``, where what row j leaves begins, at most a key for each lane.
    """
    within = np.empty(-(-keys.shape[1] // 8) * 8, np.uint8)
    of_eight = within.view(np.uint64)
    for i in range(keys.shape[0]):
        j = first + i
        end, last = ends[j], indptr[j + 1] - 1
        within[:] = 0
        for t in range(indptr[j], indptr[j + 1], 4):
            p, q, r, s = classes[t], classes[min(t + 1, last)], classes[min(t + 2, last)], classes[min(t + 3, last)]
            _mark(keys[i], limits[p], limits[q], limits[r], limits[s], within)
        for e in range(of_eight.shape[0]):
            if of_eight[e]:
                # Without a branch, since none could be foreseen: what is not within is written over.
                for r in range(8 * e, 8 * e + 8):
                    lanes[end] = r
                    end += within[r]
        for s in range(ends[j], end):
            kept[s] = keys[i, lanes[s]]
        ends[j + 1] = end
    return int(ends[first + keys.shape[0]])


@njit(cache=True)
def still_within(
    first: int,
    last: int,
    indptr: Array,
    classes: Array,
    limits: Array,
    ends: Array,
    lanes: Array,
    kept: Array,
    found: tuple[Array, Array, Array],
) -> tuple[int, int]:
    """List what was kept of the rows from `first` to before `last` and is within limits still, for each class.

    Parameters
    ----------
    first, ..., kept : as above
    found : rows, lanes and classes, to be filled

    Returns
    -------
    row : the first row of which there may be more than there was room for
    n_found : how many there are
    """
    of_row, of_lane, of_class = found
    n = 0
    for j in range(first, last):
        begin, end = ends[j], ends[j + 1]
        if n + (end - begin) * (indptr[j + 1] - indptr[j]) >= of_row.size:
            return j, n
        for t in range(indptr[j], indptr[j + 1]):
            limit, before = limits[classes[t]], n
            for s in range(begin, end):
                of_lane[n] = lanes[s]
                n += kept[s] <= limit[lanes[s]]
            of_row[before:n], of_class[before:n] = j, classes[t]
    return last, n


@njit(cache=True)
def place(
    rows: Array, lanes: Array, classes: Array, distances: Array, counts: Array, squares: Array, nearest: Array
) -> None:
    """Put rows, that rise, into the lists of the nearest of their classes.

    Parameters
    ----------
    rows, lanes, classes, distances : rows with squared distances `distances` of the scored rows `lanes`
    counts : (n_classes, n_lanes) lengths of the lists, to be updated
    squares, nearest : (n_classes, n, n_lanes) lists of squared distances and rows in any order, to be updated
    """
    for p in range(distances.size):
        q, r = classes[p], lanes[p]
        s = counts[q, r]
        if s < squares.shape[1]:
            counts[q, r] = s + 1
        else:
            s = _farthest(squares[q], nearest[q], r)
            # Of equally near rows the first stays.
            if distances[p] >= squares[q, s, r]:
                continue
        squares[q, s, r], nearest[q, s, r] = distances[p], rows[p]


@njit(**INNER)
def _farthest(squares: Array, rows: Array, lane: int) -> int:
    s = 0
    for t in range(1, squares.shape[0]):
        here, there = squares[t, lane], squares[s, lane]
        if here > there or (here == there and rows[t, lane] > rows[s, lane]):
            s = t
    return s


@njit(cache=True, fastmath={"reassoc", "contract", "nsz"})
def dense_squares(Z: Array, X: Array, rows: Array, lanes: Array, squares: Array) -> None:
    """Fill the squared distances of the rows `rows` of Z and `lanes` of X, pair by pair."""
    for p in range(squares.size):
        z, x = Z[rows[p]], X[lanes[p]]
        total = 0.0
        for f in range(x.shape[0]):
            difference = z[f] - x[f]
            total += difference * difference
        squares[p] = total


@njit(cache=True)
def sparse_squares(
    data: Array,
    indices: Array,
    indptr: Array,
    X_data: Array,
    X_indices: Array,
    X_indptr: Array,
    rows: Array,
    lanes: Array,
    squares: Array,
) -> None:
    """Do what `dense_squares` does to CSR rows, Z being the first three arrays and X the next."""
    for p in range(squares.size):
        a, a_end = indptr[rows[p]], indptr[rows[p] + 1]
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
        squares[p] = total
