"""Tables of nothing but numbers, with labels of 0 and 1: read in blocks of text into arrays that grow in place.

Nearly all files are such tables, and a compiled loop reads them as fast as the library does, or faster, without a frame
beside the arrays. One that turns out to hold anything else is left to `reading`, which looks at whole columns through
the library; where both can read a table they give the same.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mlrank.arrays import BoolArray, FloatArray, IntArray
from mlrank.datasets.formats.frames.tables import TextTable
from mlrank.datasets.formats.frames.words import MISSING, NUMBER
from mlrank.datasets.formats.growth import Growth, resized

__all__ = ["PlainTable", "plain_table"]


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
    from mlrank.datasets.formats.frames._number_rows import SKIPPED, number_rows

    separator = str(table.separator)
    if not separator.isascii():
        return None
    places = {name: place for place, name in enumerate(features)} | {name: -2 - j for j, name in enumerate(labels)}
    target = np.array([places.get(name, SKIPPED) for name in table.names], np.int64)
    X, Y = np.zeros((0, len(features))), np.zeros((0, len(labels)), np.bool_)
    known, n = np.zeros((0, len(labels)), np.bool_), 0
    none = np.zeros(0, np.int64)
    gone: list[tuple[IntArray, IntArray]] = [(none, none)]
    growth, others = Growth((table.path,)), np.empty((0, 4), np.int64)
    for block in table.blocks():
        growth.passed(block, n)
        added = min(block.n_lines, len(block.text) // len(target) + 1)
        room = growth.room(block, len(X), n, added, 8 * len(features) + 2 * len(labels))
        X, Y, known = resized(X, room), resized(Y, room), resized(known, room)
        if len(others) < len(block.text):
            others = np.empty((len(block.text), 4), np.int64)
        text = np.frombuffer(block.text, np.uint8)
        n, n_others = number_rows(text, ord(separator), target, X, Y, known, n, others)
        missing = _look_at(block.text, others[:n_others], X) if n >= 0 else None
        if missing is None:
            return None
        gone.append(missing)
    if n == 0:
        return None
    rows, columns = (np.concatenate([part[side] for part in gone]) for side in (0, 1))
    return PlainTable(resized(X, n), resized(Y, n), resized(known, n), (rows, columns))


def _look_at(text: bytes, others: IntArray, X: FloatArray) -> tuple[IntArray, IntArray] | None:
    """Put numbers that the loop left out into X, and return the places of missing values; None at any other word."""
    missing = others[:, 0] == others[:, 1]
    for at in np.flatnonzero(~missing):
        start, stop, row, column = others[at].tolist()
        word = text[start:stop].decode("utf-8", "replace").strip()
        if word.lower() in MISSING:
            missing[at] = True
        elif not re.fullmatch(NUMBER, word) or not np.isfinite(value := float(word)):
            return None
        else:
            X[row, column] = value
    return others[missing, 2], others[missing, 3]
