"""Numbered features or labels: how wide the training part makes a data set, and whether the other parts fit."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from mlrank.datasets.formats.names import LabelTree
from mlrank.datasets.formats.room import MOST_COLUMNS
from mlrank.datasets.formats.text import read_blocks
from mlrank.errors import UserError

__all__ = ["Numbering", "find_number"]


@dataclass(frozen=True)
class Numbering:
    """The numbers of all parts as written.

    Parameters
    ----------
    what : "feature" or "label"
    numbers, indptr : ndarray
        Row r of all parts has ``numbers[indptr[r]:indptr[r + 1]]``.
    paths : tuple of Path
    ends : tuple of int
        Part p has the rows ends[p]..ends[p + 1] - 1.
    declared : int or None
        The number of columns, where the files' first lines say it.
    """

    what: str
    numbers: Any
    indptr: Any
    paths: tuple[Path, ...]
    ends: tuple[int, ...]
    declared: int | None = None

    @property
    def uses_zero(self) -> bool:
        """Whether the training part uses number 0."""
        return bool((self._part(0) == 0).any())

    def largest(self, part: int) -> int:
        """Return the largest number of a part, -1 if it has none."""
        return int(self._part(part).max(initial=-1))

    def width(self, base: int, tree: LabelTree | None = None) -> int:
        """Return the number of columns, given by the file's first line, the names or the training part.

        Raises
        ------
        UserError
            If there is none, or a number in any part lies below `base` or beyond the last column.
        """
        width = self.declared
        if width is None:
            width = len(tree.names) if tree else self.largest(0) + 1 - base
        if width <= 0 and not (self.numbers < base).any():
            raise UserError(f"the training part has no {self.what}", self.paths[0])
        if width > MOST_COLUMNS[self.what]:
            entry = int(self._part(0).argmax())
            message = f"{self.what} number {self.largest(0)}: more than {MOST_COLUMNS[self.what]} are not supported"
            self._refuse(self._row_of(entry), self.largest(0), message)
        wrong = np.flatnonzero((self.numbers < base) | (self.numbers >= base + width))
        if wrong.size:
            number = int(self.numbers[wrong[0]])
            self._refuse(self._row_of(int(wrong[0])), number, self._message(number, base, width, tree))
        return width

    def narrower(self, stop: int) -> Iterator[str]:
        """Yield a message about each later part that does not reach the training part's last column."""
        for part in range(1, len(self.paths)):
            if self.largest(part) < stop - 1:
                end = f"ends at {self.what} {self.largest(part)}" if self._part(part).size else f"has no {self.what}"
                yield f"{self.paths[part].name} {end} and keeps the training part's width, up to {stop - 1}"

    def check_repeats(self) -> None:
        """Refuse a row that has a number twice.

        Raises
        ------
        UserError
            At the second one.
        """
        rows = np.repeat(np.arange(self.ends[-1]), np.diff(self.indptr))
        order = np.lexsort((self.numbers, rows))
        ordered, rows = self.numbers[order], rows[order]
        repeated = np.flatnonzero((ordered[1:] == ordered[:-1]) & (rows[1:] == rows[:-1]))
        if repeated.size:
            number = int(ordered[repeated[0]])
            self._refuse(int(rows[repeated[0]]), number, f"{self.what} {number} occurs twice in this row", times=2)

    def _row_of(self, entry: int) -> int:
        return int(np.searchsorted(self.indptr, entry, side="right")) - 1

    def _part(self, part: int) -> Any:
        return self.numbers[self.indptr[self.ends[part]] : self.indptr[self.ends[part + 1]]]

    def _refuse(self, row: int, number: int, message: str, times: int = 1) -> NoReturn:
        part = int(np.searchsorted(self.ends, row, side="right")) - 1
        skip = 0 if self.declared is None else 1
        line, column = find_number(self.paths[part], row - self.ends[part], self.what, number, times, skip)
        raise UserError(message, self.paths[part], line, column)

    def _message(self, number: int, base: int, width: int, tree: LabelTree | None) -> str:
        if number < base:
            return f"{self.what} number 0, but {self.what}s count from {base} in the training part; see zero_based"
        if self.declared is not None:
            return f"{self.what} number {number}, but the first line says {width} {self.what}s: 0 to {width - 1}"
        if tree:
            names = f"{tree.path.name} names {width} {self.what}s: {base} to {base + width - 1}"
            return f"{self.what} number {number}, but {names}"
        last = f"the training part ends at {self.what} {base + width - 1}"
        hint = f"; a file of {self.what} names can declare more"
        return f"{self.what} number {number}, but {last}{hint}"


def find_number(path: Path, row: int, what: str, number: int, times: int, skip: int) -> tuple[int, int]:
    """Return line and column where a row of a file, read without error before, has a number for the n-th time.

    The first `skip` lines are no rows.
    """
    labels = rb"(?:^|(?<=,))0*%d(?=[, \t\r#]|$)"
    pattern = re.compile((rb"(?<=[ \t\r])0*%d(?=:)" if what == "feature" else labels) % number)
    for block in read_blocks(path):
        for offset, line in enumerate(block.text.split(b"\n")):
            content = line.partition(b"#")[0]
            if block.line + offset <= skip:
                continue
            if line in (b"", b"\r") or (b"#" in line and not content.strip()):
                continue
            if row == 0:
                return block.line + offset, [match.start() for match in pattern.finditer(content)][times - 1] + 1
            row -= 1
    raise ValueError(f"{path} has changed while it was read")
