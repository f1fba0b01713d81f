"""How many cells the rows of separated text have, counted quickly block by block, and where they begin."""

import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mlrank.datasets.formats.text import LineBlock

__all__ = ["PIECE", "CountedRows", "Widths", "cells_of"]

PIECE = 1 << 16


def cells_of(text: str, separator: str) -> tuple[list[int], bool]:
    """Return where the cells of a row begin, and whether the last one is quoted and not closed.

    A cell is quoted that begins with a quotation mark; elsewhere one is a character as any other. Separators between
    the marks are none, and two marks there are one.

    >>> cells_of('1,"a,b",3', ","), cells_of('5" pipe,"a', ",")
    (([0, 2, 8], False), ([0, 8], True))
    """
    starts, at, quoted = [0], 0, False
    while True:
        while text.startswith(" ", at) and separator != " ":
            at += 1
        quoted = text.startswith('"', at)
        at += quoted
        while quoted:
            end = text.find('"', at)
            if end < 0:
                return starts, True
            quoted = text.startswith('"', end + 1)
            at = end + 1 + quoted
        at = text.find(separator, at)
        if at < 0:
            return starts, False
        at += len(separator)
        starts.append(at)


class CountedRows(io.RawIOBase):
    """The rows of a table as a file of bytes.

    Where a row may have too many or too few of the `n` cells, `refuse` is called, which looks closely and raises if so.
    """

    def __init__(self, blocks: Iterator[LineBlock], n: int, separator: str, refuse: Callable[[], None]) -> None:
        super().__init__()
        self.blocks, self.refuse = blocks, refuse
        self.left = memoryview(b"")
        self.widths = Widths(n, separator)

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with what comes next; return how many bytes there were."""
        while not self.left:
            block = next(self.blocks, None)
            if block is None:
                if self.widths.inside:
                    self.refuse()
                return 0
            if self.widths.differ(block.text):
                self.refuse()
                # It looked at all rows.
                self.widths = Widths(self.widths.n, "")
            self.left = memoryview(block.text)
        size = min(len(buffer), len(self.left))
        buffer[:size] = self.left[:size]
        self.left = self.left[size:]
        return size


class Widths:
    """Counts the cells of rows, block by block; a quote that a cell does not begin with may make it see a wrong row."""

    def __init__(self, n: int, separator: str) -> None:
        self.n, self.separator = n, ord(separator) if len(separator) == 1 and separator.isascii() else None
        self.inside, self.count = False, 0

    def differ(self, text: bytes) -> bool:
        """Return whether a row may have another number of cells than there are columns."""
        if self.separator is None:
            return False
        raw = np.frombuffer(text, np.uint8)
        ends, cuts = raw == 10, raw == self.separator
        if b'"' in text or self.inside:
            quoted = (np.cumsum(raw == 34) + self.inside) % 2 == 1
            ends, cuts = ends & ~quoted, cuts & ~quoted
            self.inside = bool(quoted[-1])
        ends = np.flatnonzero(ends)
        cuts = np.flatnonzero(cuts)
        if not ends.size:
            self.count += cuts.size
            return False
        per_row = np.diff(np.searchsorted(cuts, ends), prepend=0)
        per_row[0] += self.count
        self.count = int(cuts.size - np.searchsorted(cuts, ends[-1]))
        starts = np.concatenate([[0], ends[:-1] + 1])
        # A blank line is no row.
        wrong = np.flatnonzero(per_row != self.n - 1)
        return any(text[starts[row] : ends[row]].strip() for row in wrong)
