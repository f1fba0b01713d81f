"""Tables of nothing but numbers, with labels of 0 and 1: read in blocks of rows into arrays that grow in place.

Nearly all files are such tables. One that turns out to hold anything else is left to `reading`, which looks at whole
columns; where both can read a table they give the same.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mlrank.arrays import BoolArray, FloatArray, IntArray
from mlrank.datasets.formats.frames.tables import TextTable
from mlrank.datasets.formats.growth import resized
from mlrank.room import check_room

__all__ = ["PlainTable", "plain_table"]

# Cells of a block: what pandas holds beside the arrays.
BLOCK_CELLS = 1 << 18


class PlainTable(NamedTuple):
    """X with 0 where a value is missing, Y, the mask of known labels, and the places of missing values of X."""

    X: FloatArray
    Y: BoolArray
    known: BoolArray
    missing: tuple[IntArray, IntArray]


def plain_table(table: TextTable, features: Sequence[str], labels: Sequence[str]) -> PlainTable | None:
    """Return the columns of a table; None if one holds anything but numbers, or a label other than 0 and 1.

    Takes one pass over the text, and memory for X and Y and one block.
    """
    X, Y = np.zeros((0, len(features))), np.zeros((0, len(labels)), np.bool_)
    known, n = np.zeros((0, len(labels)), np.bool_), 0
    gone: list[tuple[IntArray, IntArray]] = []
    columns = [*features, *labels]
    for frame in table.rows(columns, (), max(1, BLOCK_CELLS // len(columns))):
        if not all(dtype.kind in "biuf" for dtype in frame.dtypes):
            return None
        cells = frame.to_numpy(np.float64, na_value=np.nan)
        values, marks = cells[:, : len(features)], cells[:, len(features) :]
        complete = bool(np.isfinite(cells).all())
        there, given = marks == 1, ~np.isnan(marks)
        if (not complete and np.isinf(values).any()) or not (there | (marks == 0) | ~given).all():
            return None
        end = n + len(cells)
        if end > len(X):
            room = max(end, len(X) + len(X) // 4)
            check_room((room - len(X)) * (8 * len(features) + 2 * len(labels)), f"a further {end - n} rows", table.path)
            X, Y, known = resized(X, room), resized(Y, room), resized(known, room)
        X[n:end], Y[n:end], known[n:end] = values, there, given
        if not complete:
            rows, places = np.nonzero(np.isnan(values))
            X[n + rows, places] = 0.0
            gone.append((n + rows, places))
        n = end
    if n == 0:
        return None
    none = np.zeros(0, np.int64)
    rows, places = (np.concatenate([none, *(part[side] for part in gone)]) for side in (0, 1))
    return PlainTable(resized(X, n), resized(Y, n), resized(known, n), (rows, places))
