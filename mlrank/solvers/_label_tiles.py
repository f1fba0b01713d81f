"""Runs of training rows with equal labels, and a search that looks at the least key of each run first."""

from typing import Any, NamedTuple

import numpy as np

from mlrank.arrays import BoolArray, IntArray
from mlrank.solvers._bknn_kernels import bit_places, least_of_groups, limits_of_classes, rows_within

__all__ = ["ROOM", "SPARE", "Search", "Tiles"]

# Rows of each class listed beyond those asked for, to have a border, and room for more that may lie within it.
SPARE = 1
ROOM = 8
# Most rows of a tile.
TILE_ROWS = 16
# A class of s tiles puts sqrt(0.3 s) of them into a group: more cost as much in the lists as they save before.
TILES_OF_GROUP = 0.3


class Tiles(NamedTuple):
    """Runs of rows with equal labels, not longer than leaves every class more tiles than rows are kept, if it can.

    Parameters
    ----------
    edges : tile i are rows ``edges[i]`` to before ``edges[i + 1]``
    starts, of_class : class q has the tiles ``of_class[starts[q] : starts[q + 1]]``
    indptr, classes : tile i belongs to the classes ``classes[indptr[i] : indptr[i + 1]]``
    """

    edges: IntArray
    starts: IntArray
    of_class: Any
    indptr: IntArray
    classes: Any

    @classmethod
    def of(cls, Y: BoolArray, n_kept: int) -> "Tiles":
        """Return the tiles of rows that are sorted by their label sets."""
        new = np.ones(len(Y), dtype=np.bool_)
        np.any(Y[1:] != Y[:-1], axis=1, out=new[1:])
        first = np.flatnonzero(new)
        longest = np.clip(Y.sum(axis=0) // (2 * n_kept), 1, TILE_ROWS).astype(np.int8)
        longest_of_run = np.where(Y[first], longest, np.int8(TILE_ROWS)).min(axis=1, initial=TILE_ROWS)
        run = np.cumsum(new) - 1
        within = np.arange(len(Y)) - first[run]
        edges = np.append(np.flatnonzero(within % longest_of_run[run] == 0), len(Y))
        carried = Y[edges[:-1]]
        q, of_class = np.nonzero(carried.T)
        starts = np.searchsorted(q, np.arange(Y.shape[1] + 1))
        indptr = np.append(0, np.cumsum(carried.sum(axis=1)))
        return cls(edges, starts, of_class.astype(np.int32), indptr, np.nonzero(carried)[1].astype(np.int32))

    def groups(self, n_kept: int) -> tuple[Any, IntArray]:
        """Return the group of each tile, once for each of its classes, and where the groups of each class start."""
        sizes = np.diff(self.starts)
        width = np.maximum(np.minimum(np.sqrt(TILES_OF_GROUP * sizes).astype(np.int64), sizes // (2 * n_kept)), 1)
        starts = np.append(0, np.cumsum(-(-sizes // width)))
        rank = np.arange(self.of_class.size) - np.repeat(self.starts[:-1], sizes)
        group = np.repeat(starts[:-1], sizes) + rank // np.repeat(width, sizes)
        by_tile = np.argsort(self.of_class, kind="stable")
        return group[by_tile].astype(np.int32), starts


class Search(NamedTuple):
    """A search for the `n_nearest` rows of each class: the tiles, their groups, and places of bits."""

    tiles: Tiles
    n_nearest: int
    groups: Any
    group_starts: IntArray
    places: IntArray

    @classmethod
    def of(cls, tiles: Tiles, n_nearest: int) -> "Search":
        """Return the search with groups of a size that suits it."""
        return cls(tiles, n_nearest, *tiles.groups(n_nearest + SPARE), bit_places())

    def listed(self, keys: Any, least: Any) -> tuple[Any, Any, IntArray]:
        """Return of each class and scored row a key, the rows with keys up to it, and how many they are."""
        n_classes, n_lanes, kept = self.group_starts.size - 1, keys.shape[1], self.n_nearest + SPARE
        least_of = np.empty((self.group_starts[-1], n_lanes), dtype=np.float32)
        least_of_groups(least, self.tiles.indptr, self.groups, least_of)
        borders = np.empty((n_classes, n_lanes), dtype=np.float32)
        limits_of_classes(least_of, self.group_starts, kept, borders)
        rows = np.empty((n_classes, n_lanes, kept + ROOM), dtype=np.int32)
        found = np.empty((n_classes, n_lanes), dtype=np.int64)
        edges, _, _, indptr, classes = self.tiles
        rows_within(keys, least, edges, indptr, classes, borders, self.places, rows, found)
        return borders, rows, found
