"""The nearest rows of every class, from one computation of distances for all classes.

Of a scored row x and a training row z, both less the mean and scaled, the key |z|^2 / 2 - z'x rises with the distance.
The keys of a block of scored rows are one matrix product in float32; of each class a few more rows than asked for are
kept and their distances computed in float64. A bound on the rounding of float32 tells whether any other row could be as
near; where that cannot be ruled out, distances of all rows whose keys are low enough are computed. So the result is
that of brute force in float64, where of rows at equal distance those with fewer labels in front come first, then those
with lower numbers.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray, as_dense, as_features, take_rows
from mlrank.solvers._bknn_kernels import (
    dense_squares,
    least_of_tiles,
    nearest_of_classes,
    sparse_squares,
    within_limits,
)

__all__ = ["ClassNeighbors", "Nearest"]

# What a block of scored rows may take: 64 rows at a time, whose keys stay in a cache, fewer where there are many
# training rows.
BLOCK_BYTES = 96 << 20
BLOCK_ROWS = 64
# Rows of each class kept beyond those asked for: the key of the first of them is the border.
SPARE = 1
# Most rows of a tile.
TILE_ROWS = 16
# Beyond this many times the length of training rows float32 is not tried, and float64 tells nothing apart.
FAR = 1e15
LARGEST = 1e150
SINGLE, DOUBLE = np.finfo(np.float32), np.finfo(np.float64)


class Nearest(NamedTuple):
    """The nearest rows of each class of a block of scored rows.

    Parameters
    ----------
    block : which rows were scored
    squares : (n_classes, n_scored, count) squared distances, in no order; inf where a class has fewer rows
    rows : like `squares`, numbers of training rows, -1 where there is none
    """

    block: slice
    squares: FloatArray
    rows: IntArray


class Tiles(NamedTuple):
    """Runs of rows with equal labels: rows ``edges[i]`` to before ``edges[i + 1]``; class q has those listed for it."""

    edges: IntArray
    starts: IntArray
    of_class: Any

    @classmethod
    def of(cls, Y: BoolArray) -> "Tiles":
        new = np.ones(len(Y), dtype=np.bool_)
        np.any(Y[1:] != Y[:-1], axis=1, out=new[1:])
        first = np.flatnonzero(new)
        within = np.arange(len(Y)) - np.repeat(first, np.diff(np.append(first, len(Y))))
        edges = np.append(np.flatnonzero(within % TILE_ROWS == 0), len(Y))
        classes, tiles = np.nonzero(Y[edges[:-1]].T)
        starts = np.searchsorted(classes, np.arange(Y.shape[1] + 1))
        return cls(edges, starts, tiles.astype(np.int32))


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
        self.tiles = Tiles.of(Y[self.order])
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
        size = min(self._block_rows(count + SPARE), max(X.shape[0], 1))
        room = np.empty((2, self.order.size * size), dtype=np.float32)
        for begin in range(0, X.shape[0], size):
            block = slice(begin, min(begin + size, X.shape[0]))
            part = X[block] if self.sparse else as_dense(X[block])
            places = None if own is None else self.position[own[block]]
            squares, rows = self._nearest(part, count, places, room)
            rows = np.where(rows < 0, -1, self.order[rows]) if self.order.size else rows
            yield Nearest(block, squares, rows)

    def _block_rows(self, kept: int) -> int:
        """Return how many scored rows at a time take BLOCK_BYTES."""
        n_classes = self.tiles.starts.size - 1
        each = 8 * self.order.size + 40 * n_classes * kept + (12 * self.X.shape[1] if self.sparse else 0)
        return int(min(max(BLOCK_BYTES // each, 1), BLOCK_ROWS))

    def _nearest(self, X: Features, count: int, own: IntArray | None, room: Any) -> tuple[FloatArray, Any]:
        shape = (self.order.size, X.shape[0])
        keys = self._keys(X, room[0, : shape[0] * shape[1]].reshape(shape))
        if own is not None:
            lanes = np.flatnonzero(own >= 0)
            keys[own[lanes], lanes] = np.inf
        least = self._least_of_tiles(keys, room[1])
        edges, starts, of_class = self.tiles
        listed = (starts.size - 1, keys.shape[1], count + SPARE)
        values, rows = np.empty(listed, dtype=np.float32), np.empty(listed, dtype=np.int32)
        nearest_of_classes(keys, least, edges, starts, of_class, values, rows)
        chosen = np.ascontiguousarray(rows[:, :, :count])
        lanes = np.tile(np.arange(listed[1]), listed[0])
        squares = self._squares(X, lanes, chosen.reshape(-1, count)).reshape(chosen.shape)
        limits = self._limits(X, lanes, squares.max(axis=2))
        # Rows that are not among the chosen have this key or more; infinite, there are none.
        border = values[:, :, count]
        unsure = np.argwhere((border <= limits) & np.isfinite(border))
        if len(unsure):
            classes, lanes = unsure.T
            found = within_limits(keys, least, *self.tiles, classes, lanes, limits[classes, lanes])
            squares[classes, lanes], chosen[classes, lanes] = self._first(X, lanes, *found, count)
        return squares, chosen

    def _least_of_tiles(self, keys: Any, room: Any) -> Any:
        shape = (self.tiles.edges.size - 1, keys.shape[1])
        if shape == keys.shape:
            return keys  # each tile is a row
        least = room[: shape[0] * shape[1]].reshape(shape)
        least_of_tiles(keys, self.tiles.edges, least)
        return least

    def _keys(self, X: Features, keys: Any) -> Any:
        # Rows that are far away are cut off rather than infinite.
        if self.sparse:
            rows, half = self.factor
            columns = np.clip(X.T.toarray() / self.scale, -FAR, FAR)
            return np.add(rows @ np.ascontiguousarray(columns, dtype=np.float32), half, out=keys)
        columns = np.vstack([np.clip((X - self.mean) / self.scale, -FAR, FAR).T, np.ones(len(X))])
        return np.matmul(self.factor, columns.astype(np.float32), out=keys)

    def _limits(self, X: Features, lanes: IntArray, squares: FloatArray) -> FloatArray:
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

    def _first(self, X: Features, lanes: IntArray, starts: IntArray, rows: Any, count: int) -> tuple[FloatArray, Any]:
        """Return of each of the lists of `rows` that `starts` tell the first `count` by distance, then by number."""
        sizes = np.diff(starts)
        lists = np.repeat(np.arange(sizes.size), sizes)
        squares = self._squares(X, lanes[lists], rows[:, None])[:, 0]
        order = np.lexsort((rows, squares, lists))
        place = np.arange(rows.size) - np.repeat(starts[:-1], sizes)
        taken = place < count
        found, chosen = np.full((sizes.size, count), np.inf), np.full((sizes.size, count), -1, dtype=np.int32)
        found[lists[taken], place[taken]] = squares[order][taken]
        chosen[lists[taken], place[taken]] = rows[order][taken]
        return found, chosen

    def _squares(self, X: Features, lanes: IntArray, rows: Any) -> FloatArray:
        squares = np.empty(rows.shape)
        if self.sparse:
            Z = self.X
            sparse_squares(Z.data, Z.indices, Z.indptr, X.data, X.indices, X.indptr, lanes, rows, squares)
        else:
            dense_squares(self.X, X, lanes, rows, squares)
        return squares


def _lengths(X: Features) -> FloatArray:
    squares = X.multiply(X).sum(axis=1) if issparse(X) else np.einsum("ij,ij->i", X, X)
    return np.sqrt(np.asarray(squares, dtype=np.float64).ravel())


def _check_size(X: Features) -> None:
    """Raise ValueError unless squared distances of the rows are finite."""
    largest = float(np.abs(X.data if issparse(X) else X).max(initial=0.0))
    if not largest < LARGEST:
        raise ValueError(f"X must have finite entries below {LARGEST:g}, so that distances exist, found {largest:g}")
