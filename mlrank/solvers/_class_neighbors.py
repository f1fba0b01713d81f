"""The nearest rows of every class, from one computation of distances for all classes.

Of a scored row x and a training row z, both less the mean and scaled, the key |z|^2 / 2 - z'x rises with the distance.
The keys of a block of scored rows are one matrix product in float32; of each class a few more rows than asked for are
listed and their distances computed in float64. A bound on the rounding of float32 tells whether any other row could be
as near; where that cannot be ruled out, distances of all rows whose keys are low enough are computed. So the result is
that of brute force in float64; rows at equal distance come in a fixed order, and if they have the same labels, by
number.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray, as_dense, as_features, take_rows
from mlrank.solvers._bknn_kernels import (
    MOST_LANES,
    all_within,
    dense_squares,
    least_of_tiles,
    nearest_first,
    sparse_squares,
)
from mlrank.solvers._label_tiles import ROOM, SPARE, Search, Tiles

__all__ = ["ClassNeighbors", "Nearest"]

# What a block of scored rows may take; fewer rows at a time than MOST_LANES where there are many training rows.
BLOCK_BYTES = 96 << 20
BLOCK_ROWS = MOST_LANES
# Beyond this many times the length of training rows float32 is not tried, and float64 tells nothing apart.
FAR = 1e15
LARGEST = 1e150
SINGLE, DOUBLE = np.finfo(np.float32), np.finfo(np.float64)


class Nearest(NamedTuple):
    """The nearest rows of each class of a block of scored rows.

    Parameters
    ----------
    block : which rows were scored
    squares : (n_classes, n_scored, count) squared distances, rising; inf where a class has fewer rows
    rows : like `squares`, numbers of training rows, -1 where there is none
    """

    block: slice
    squares: FloatArray
    rows: IntArray


class ClassNeighbors:
    """Finds the nearest rows of each class among training rows; rows that carry no label are never found.

    Parameters
    ----------
    X : (n_train, n_features) ndarray or csr_array
    Y : (n_train, n_classes) bool ndarray
        Which rows belong to which class.
    """

    def __init__(self, X: Features, Y: BoolArray) -> None:
        _check_size(X)
        labels = np.packbits(Y, axis=1)
        # Rows with equal labels keep their order, in which ties are broken.
        order = labels.view(f"V{labels.shape[1]}")[:, 0].argsort(kind="stable")
        labelled: BoolArray = np.asarray(Y.any(axis=1))
        self.order: IntArray = order[labelled[order]]
        self.X = take_rows(X, self.order)
        self.Y = Y[self.order]
        self.sparse = issparse(X)
        self.position = np.full(len(Y), -1)
        self.position[self.order] = np.arange(self.order.size)

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
            Numbers of the training rows that the rows of `X` are; they are not their own neighbours.
        """
        _check_size(X)
        X = as_features(csr_array(X)) if self.sparse and not issparse(X) else X
        size = min(self._block_rows(count), max(X.shape[0], 1))
        search = Search.of(Tiles.of(self.Y, count + SPARE), count)
        room = np.empty((2, self.order.size * size), dtype=np.float32)
        for begin in range(0, X.shape[0], size):
            block = slice(begin, min(begin + size, X.shape[0]))
            part = X[block] if self.sparse else as_dense(X[block])
            places = None if own is None else self.position[own[block]]
            squares, rows = self._nearest(part, search, places, room)
            rows = np.where(rows < 0, -1, self.order[rows]) if self.order.size else rows
            yield Nearest(block, squares, rows)

    def _block_rows(self, count: int) -> int:
        """Return how many scored rows at a time take BLOCK_BYTES."""
        each = (
            12 * self.order.size + 40 * self.Y.shape[1] * (count + ROOM) + (12 * self.X.shape[1] if self.sparse else 0)
        )
        return int(min(max(BLOCK_BYTES // each, 1), BLOCK_ROWS))

    def _nearest(self, X: Features, search: Search, own: IntArray | None, room: Any) -> tuple[FloatArray, Any]:
        shape = (self.order.size, X.shape[0])
        keys = self._keys(X, room[0, : shape[0] * shape[1]].reshape(shape))
        if own is not None:
            lanes = np.flatnonzero(own >= 0)
            keys[own[lanes], lanes] = np.inf
        least = _least_of_tiles(keys, search.tiles.edges, room[1])
        borders, rows, found = search.listed(keys, least)
        listed, count = np.minimum(found, rows.shape[2]), search.n_nearest
        squares, rows = self._sorted(X, np.arange(rows[:, :, 0].size) % shape[1], rows, listed, count)
        limits = self._limits(X, squares[:, :, -1])
        # Rows that are not listed have keys above the border; if it is infinite all are listed.
        unsure = np.argwhere((np.isfinite(borders) & (borders < limits)) | (found > listed))
        if len(unsure):
            classes, lanes = unsure.T
            again = all_within(keys, least, *search.tiles[:3], classes, lanes, limits[classes, lanes])
            squares[classes, lanes], rows[classes, lanes] = self._first(X, lanes, *again, count)
        return squares, rows

    def _keys(self, X: Features, keys: Any) -> Any:
        # Rows that are far away are cut off rather than infinite.
        if self.sparse:
            rows, half = self.factor
            columns = np.clip(X.T.toarray() / self.scale, -FAR, FAR)
            return np.add(rows @ np.ascontiguousarray(columns, dtype=np.float32), half, out=keys)
        columns = np.vstack([np.clip((X - self.mean) / self.scale, -FAR, FAR).T, np.ones(len(X))])
        return np.matmul(self.factor, columns.astype(np.float32), out=keys)

    def _limits(self, X: Features, squares: FloatArray) -> FloatArray:
        """Return the key above which a row is farther than `squares` say, whatever float32 has rounded.

        The key of a row is wrong by the rounding of a product of d + 1 terms in any order, its factors rounded, at
        most, and by what taking the mean off has rounded; the limit itself by the rounding of float64. Rows longer than
        |x| and the distance together need no bound: they are farther. Of a row that is FAR away every row is within.
        """
        length = np.minimum(_lengths(X if self.sparse else X - self.mean) / self.scale, FAR)
        distance = np.minimum(np.sqrt(squares) / self.scale, 2 * FAR)
        terms = (np.diff(self.X.indptr).max(initial=0) if self.sparse else self.X.shape[1]) + 5
        reach = np.minimum(1.0, length + distance)
        rounding = SINGLE.eps * (reach * length + reach**2 / 2) + SINGLE.tiny + DOUBLE.eps * (length**2 + distance**2)
        shift = 4 * DOUBLE.eps * np.sqrt(self.X.shape[1]) * (float(np.linalg.norm(self.mean)) / self.scale + 1 + length)
        limits: FloatArray = (distance**2 - length**2) / 2 + terms * rounding + 4 * shift * (length + reach + shift)
        return limits

    def _sorted(
        self, X: Features, lanes: IntArray, rows: Any, counts: IntArray, n_first: int
    ) -> tuple[FloatArray, Any]:
        """Return the `n_first` least squared distances of each list of `rows`, rising, and the rows they are of."""
        shape, flat = rows.shape, rows.reshape(-1, rows.shape[-1])
        squares = np.empty(flat.shape)
        self._squares(X, lanes, flat, counts.ravel(), squares)
        nearest_first(squares, flat, counts.ravel(), n_first)
        first = (*shape[:-1], n_first)
        return squares[:, :n_first].reshape(first), flat[:, :n_first].reshape(first)

    def _first(self, X: Features, lanes: IntArray, starts: IntArray, rows: Any, count: int) -> tuple[FloatArray, Any]:
        """Return of each of the lists of `rows` that `starts` tell the first `count` by distance, then by number."""
        sizes = np.diff(starts)
        lists = np.repeat(np.arange(sizes.size), sizes)
        squares = np.empty((rows.size, 1))
        self._squares(X, lanes[lists], rows[:, None], np.ones(rows.size, dtype=np.int64), squares)
        order = np.lexsort((rows, squares[:, 0], lists))
        place = np.arange(rows.size) - np.repeat(starts[:-1], sizes)
        taken = place < count
        found, chosen = np.full((sizes.size, count), np.inf), np.full((sizes.size, count), -1, dtype=np.int32)
        found[lists[taken], place[taken]] = squares[order, 0][taken]
        chosen[lists[taken], place[taken]] = rows[order][taken]
        return found, chosen

    def _squares(self, X: Features, lanes: IntArray, rows: Any, counts: IntArray, squares: FloatArray) -> None:
        if self.sparse:
            Z = self.X
            parts = (Z.data, Z.indices, Z.indptr, X.data, X.indices, X.indptr)
            sparse_squares(*parts, lanes, rows, counts, squares)
        else:
            dense_squares(self.X, X, lanes, rows, counts, squares)


def _least_of_tiles(keys: Any, edges: IntArray, room: Any) -> Any:
    shape = (edges.size - 1, keys.shape[1])
    if shape == keys.shape:
        return keys  # each tile is a row
    least = room[: shape[0] * shape[1]].reshape(shape)
    least_of_tiles(keys, edges, least)
    return least


def _lengths(X: Features) -> FloatArray:
    squares = X.multiply(X).sum(axis=1) if issparse(X) else np.einsum("ij,ij->i", X, X)
    return np.sqrt(np.asarray(squares, dtype=np.float64).ravel())


def _check_size(X: Features) -> None:
    """Raise ValueError unless squared distances of the rows are finite."""
    largest = float(np.abs(X.data if issparse(X) else X).max(initial=0.0))
    if not largest < LARGEST:
        raise ValueError(f"X must have finite entries below {LARGEST:g}, so that distances exist, found {largest:g}")
