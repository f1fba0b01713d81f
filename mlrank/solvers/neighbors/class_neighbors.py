"""The nearest rows of every class, from one computation of distances for all classes.

Of a scored row x and a training row z, both less the mean and scaled, the key |z|^2 / 2 - z'x rises with the distance.
The keys of some scored rows and a chunk of training rows are one matrix product in float32. Rows with keys that are low
enough for one of their classes, whatever float32 may have rounded, are kept, and their distances computed in float64.
So the result is that of brute force in float64; of rows at equal distance those with lower numbers come first.

A pair of rows costs the product and, for each label of the training row, a comparison in vector instructions; hardly
more than the n nearest rows of each class are looked at one by one.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray, as_dense, as_features, read_only, take_rows
from mlrank.solvers.neighbors.kernels import (
    dense_squares,
    keep_within,
    lower_limits,
    place,
    sparse_squares,
    still_within,
)

__all__ = [
    "ClassNeighbors",
    "Nearest",
]

# Scored rows at a time, fewer where their lists would take more than LIST_BYTES, or sparse ones more than COLUMN_CELLS
# once they are dense; and keys at a time.
BLOCK_ROWS = 512
LIST_BYTES = 32 << 20
COLUMN_CELLS = 1 << 22
CHUNK_KEYS = 1 << 18
# Keys kept until limits are final, and distances computed at a time.
KEPT_KEYS = 1 << 21
FOUND = 1 << 16
# A class of s rows puts sqrt(0.3 s) of them into a group: more cost as much in longer lists as they save before.
ROWS_OF_GROUP = 0.3
# Beyond this many times the length of training rows float32 is not tried, and float64 tells nothing apart.
FAR = 1e15
LARGEST = 1e150
SINGLE, DOUBLE = np.finfo(np.float32), np.finfo(np.float64)


class Nearest(NamedTuple):
    """The nearest rows of each class of a block of scored rows.

    Parameters
    ----------
    block : which rows were scored
    squares : (n_classes, count, n_scored) squared distances in any order; inf where a class has fewer rows
    rows : like `squares`, numbers of training rows, -1 where there is none
    """

    block: slice
    squares: FloatArray
    rows: IntArray


class Chunk(NamedTuple):
    """Some training rows: from `begin` to before `end`, by class as `lower_limits` takes them."""

    begin: int
    end: int
    starts: IntArray
    members: IntArray
    widths: IntArray


class ClassNeighbors:
    """Finds the nearest rows of each class among training rows; rows that carry no label are never found.

    Parameters
    ----------
    X : (n_train, n_features) ndarray or csr_array
    Y : (n_train, n_classes) bool ndarray
        Which rows belong to which class.
    """

    def __init__(self, X: Features, Y: BoolArray) -> None:
        X = as_features(X)
        _check_size(X)
        self.order: IntArray = np.flatnonzero(Y.any(axis=1))
        self.X = X if self.order.size == len(Y) else take_rows(X, self.order)
        self.sparse = issparse(X)
        self.position = np.full(len(Y), -1)
        self.position[self.order] = np.arange(self.order.size)
        self.n_classes = Y.shape[1]
        row, classes = np.nonzero(Y[self.order])
        self.classes = classes.astype(np.int32)
        self.indptr = np.searchsorted(row, np.arange(self.order.size + 1))

    @cached_property
    def mean(self) -> FloatArray | float:
        """What is taken off every row: nothing off sparse ones."""
        mean: FloatArray | float = 0.0 if self.sparse or not self.order.size else self.X.mean(axis=0)
        return mean

    @cached_property
    def lengths(self) -> FloatArray:
        """Lengths of the rows less the mean."""
        return _lengths(self.X - self.mean if not self.sparse else self.X)

    @cached_property
    def scale(self) -> float:
        """The longest of them, by which all is divided."""
        return float(self.lengths.max(initial=0.0)) or 1.0

    @cached_property
    def factor(self) -> Any:
        """What keys are made of; for sparse rows in two parts."""
        half = (self.lengths / self.scale) ** 2 / 2
        if self.sparse:
            parts = ((self.X.data / -self.scale).astype(np.float32), self.X.indices, self.X.indptr)
            return csr_array(parts, shape=self.X.shape), half.astype(np.float32)[:, None]
        return np.column_stack([(self.mean - self.X) / self.scale, half]).astype(np.float32)

    def blocks(self, X: Features, count: int, own: IntArray | None = None) -> Iterator[Nearest]:
        """Yield the `count` nearest rows of each class for some rows of `X` after the other.

        Parameters
        ----------
        X : (n_scored, n_features) ndarray or csr_array
        count : int
        own : (n_scored,) ndarray, optional
            Numbers of the training rows that the rows of `X` are; they are not their own neighbors.

        Raises
        ------
        ValueError
            If the rows have other features than the training rows, or entries too large for distances to exist.
        """
        X = as_features(X)
        _check_size(X)
        if X.shape[1] != self.X.shape[1]:
            raise ValueError(f"X must have the {self.X.shape[1]} features of the training rows, found {X.shape[1]}")
        X = as_features(csr_array(X)) if self.sparse and not issparse(X) else X
        # A list has a key, a distance and a number for each row, and is copied once.
        most = LIST_BYTES // (32 * count * max(self.n_classes, 1))
        if self.sparse:
            most = min(most, max(COLUMN_CELLS // X.shape[1], 8))
        size = max(min(BLOCK_ROWS, most, X.shape[0]), 1)
        chunks = self._chunks(max(CHUNK_KEYS // size, 1), count)
        for begin in range(0, X.shape[0], size):
            block = slice(begin, min(begin + size, X.shape[0]))
            part = read_only(X[block] if self.sparse else as_dense(X[block]))
            places = None if own is None else self.position[own[block]]
            squares, rows = self._nearest(part, chunks, count, places)
            yield Nearest(block, squares, np.where(rows < 0, -1, self.order[rows]) if self.order.size else rows)

    def _chunks(self, size: int, count: int) -> list[Chunk]:
        """Return chunks of `size` rows, whose groups leave every class more of them than `count`, if it can."""
        chunks, seen = [], np.zeros(self.n_classes, dtype=np.int64)
        small = np.min_scalar_type(self.n_classes)  # sorted by counting
        for begin in range(0, self.order.size, size):
            end = min(begin + size, self.order.size)
            entries = slice(self.indptr[begin], self.indptr[end])
            members = np.repeat(np.arange(end - begin), np.diff(self.indptr[begin : end + 1]))
            numbers = np.bincount(self.classes[entries], minlength=self.n_classes)
            starts, seen = np.append(0, np.cumsum(numbers)), seen + numbers
            widths = np.maximum(np.minimum(np.sqrt(ROWS_OF_GROUP * seen).astype(np.int64), seen // (2 * count)), 1)
            by_class = np.argsort(self.classes[entries].astype(small), kind="stable")
            chunks.append(Chunk(begin, end, starts, members[by_class], widths))
        return chunks

    def _nearest(self, X: Features, chunks: list[Chunk], count: int, own: IntArray | None) -> tuple[FloatArray, Any]:
        """Return of each class and row of `X` the `count` least squared distances and the rows they are of."""
        shape = (self.n_classes, count, X.shape[0])
        squares, rows = np.full(shape, np.inf), np.full(shape, -1, dtype=np.int32)
        rising, limits = np.full(shape, np.inf, np.float32), np.full(shape[::2], SINGLE.max)
        numbers = np.zeros(limits.shape, np.int32)
        columns, bounds = self._columns(X), self._bounds(X)
        largest = max((chunk.end - chunk.begin for chunk in chunks), default=0) * shape[2]
        room = np.empty(largest, dtype=np.float32)
        # More than there is room for: what is not within is written, too, before it is written over.
        lanes, kept = np.empty(max(KEPT_KEYS, largest) + 8, np.int16), np.empty(max(KEPT_KEYS, largest), np.float32)
        most = max(FOUND, shape[0] * shape[2] + 1)
        found = (np.empty(most, np.int32), np.empty(most, np.int16), np.empty(most, np.int32))
        ends, first, labels = np.zeros(self.order.size + 1, np.int64), 0, (self.indptr, self.classes, limits)
        for chunk in chunks:
            keys = self._keys(columns, chunk, room, own)
            lower_limits(keys, *chunk[2:], *bounds, rising, limits)
            used = keep_within(keys, chunk.begin, *labels, ends, lanes, kept)
            if chunk is chunks[-1] or used + largest > kept.size:
                while first < chunk.end:
                    first, n = still_within(first, chunk.end, *labels, ends, lanes, kept, found)
                    these, scored, of_class = (part[:n] for part in found)
                    place(these, scored, of_class, self._squares(X, these, scored), numbers, squares, rows)
                ends[first] = 0
        return squares, rows

    def _columns(self, X: Features) -> Any:
        # Rows that are far away are cut off rather than infinite.
        if self.sparse:
            return np.ascontiguousarray(np.clip(X.T.toarray() / self.scale, -FAR, FAR), dtype=np.float32)
        return np.vstack([np.clip((X - self.mean) / self.scale, -FAR, FAR).T, np.ones(len(X))]).astype(np.float32)

    def _keys(self, columns: Any, chunk: Chunk, room: Any, own: IntArray | None) -> Any:
        """Return the keys (n_rows of the chunk, n_lanes), infinite where a row is the scored one itself."""
        taken = slice(chunk.begin, chunk.end)
        shape = (chunk.end - chunk.begin, columns.shape[1])
        keys = room[: shape[0] * shape[1]].reshape(shape)
        if self.sparse:
            rows, half = self.factor
            np.add(rows[taken] @ columns, half[taken], out=keys)
        else:
            np.matmul(self.factor[taken], columns, out=keys)
        if own is not None:
            lanes = np.flatnonzero((own >= chunk.begin) & (own < chunk.end))
            keys[own[lanes] - chunk.begin, lanes] = np.inf
        return keys

    def _bounds(self, X: Features) -> tuple[Any, Any, Any]:
        """Return the lengths of scored rows, and bounds on what is wrong with keys, as `lower_limits` takes them.

        The key of a row is wrong by the rounding of a product of d + 1 terms in any order, its factors and the limit
        rounded, at most; for all rows alike by what taking the mean off has rounded; and distances in float64 are by
        theirs. Of a row that is FAR away every row is within.
        """
        true = _lengths(X if self.sparse else X - self.mean) / self.scale
        length = np.minimum(true, FAR)
        terms = (np.diff(self.X.indptr).max(initial=0) if self.sparse else self.X.shape[1]) + 8
        shift = 4 * DOUBLE.eps * np.sqrt(self.X.shape[1]) * (float(np.linalg.norm(self.mean)) / self.scale + 1 + length)
        extra = 2 * terms * (SINGLE.tiny + DOUBLE.eps * (length + 1) ** 2) + 4 * shift * (length + 1 + shift)
        rounding = terms * SINGLE.eps
        # The bound for short rows holds for little rounding only; all are as long as the longest at most.
        length = length if rounding < 1e-3 else np.maximum(length, 1.0)
        return _up(length), _up(np.where(true < FAR, extra, np.inf)), np.float32(rounding)

    def _squares(self, X: Features, rows: Any, lanes: Any) -> FloatArray:
        """Return the squared distances of the rows `rows` and the scored rows `lanes`, pair by pair."""
        squares, Z = np.empty(rows.size), read_only(self.X)
        if self.sparse:
            sparse_squares(Z.data, Z.indices, Z.indptr, X.data, X.indices, X.indptr, rows, lanes, squares)
        else:
            dense_squares(Z, X, rows, lanes, squares)
        return squares


def _up(bound: FloatArray) -> Any:
    """Return numbers in float32 that are not below `bound`."""
    return np.nextafter(bound.astype(np.float32), np.float32(np.inf))


def _lengths(X: Features) -> FloatArray:
    squares = X.multiply(X).sum(axis=1) if issparse(X) else np.einsum("ij,ij->i", X, X)
    return np.sqrt(np.asarray(squares, dtype=np.float64).ravel())


def _check_size(X: Features) -> None:
    """Raise ValueError unless squared distances of the rows are finite."""
    largest = float(np.abs(X.data if issparse(X) else X).max(initial=0.0))
    if not largest < LARGEST:
        raise ValueError(f"X must have finite entries below {LARGEST:g}, so that distances exist, found {largest:g}")
