"""Numbered features or labels: how wide the training part makes a data set, and whether the other parts fit."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from mlrank.datasets.files import read_blocks
from mlrank.datasets.labels import LabelTree
from mlrank.errors import UserError

__all__ = ["Numbering"]


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
    """

    what: str
    numbers: Any
    indptr: Any
    paths: tuple[Path, ...]
    ends: tuple[int, ...]

    @property
    def uses_zero(self) -> bool:
        """Whether the training part uses number 0."""
        return bool((self._part(0) == 0).any())

    def largest(self, part: int) -> int:
        """Return the largest number of a part, -1 if it has none."""
        return int(self._part(part).max(initial=-1))

    def width(self, base: int, tree: LabelTree | None = None) -> int:
        """Return the number of columns, given by the label names or by the training part.

        Raises
        ------
        UserError
            If there is none, or a number in any part lies below `base` or beyond the last column.
        """
        width = len(tree.names) if tree else self.largest(0) + 1 - base
        if width <= 0:
            raise UserError(f"the training part has no {self.what}", self.paths[0])
        wrong = np.flatnonzero((self.numbers < base) | (self.numbers >= base + width))
        if wrong.size:
            self._refuse(int(wrong[0]), base, width, tree)
        return width

    def narrower(self, stop: int) -> Iterator[str]:
        """Yield what to say about later parts that do not reach the training part's last column."""
        for part in range(1, len(self.paths)):
            if self.largest(part) < stop - 1:
                found = f"ends at {self.what} {self.largest(part)}" if self._part(part).size else f"has no {self.what}"
                yield f"{self.paths[part].name} {found} and keeps the training part's width, up to {stop - 1}"

    def _part(self, part: int) -> Any:
        return self.numbers[self.indptr[self.ends[part]] : self.indptr[self.ends[part + 1]]]

    def _refuse(self, entry: int, base: int, width: int, tree: LabelTree | None) -> NoReturn:
        row = int(np.searchsorted(self.indptr, entry, side="right")) - 1
        part = int(np.searchsorted(self.ends, row, side="right")) - 1
        number = int(self.numbers[entry])
        line, column = _find(self.paths[part], row - self.ends[part], self.what, number)
        raise UserError(self._message(number, base, width, tree), self.paths[part], line, column)

    def _message(self, number: int, base: int, width: int, tree: LabelTree | None) -> str:
        if number < base:
            return f"{self.what} number 0, but {self.what}s count from {base} in the training part; see zero_based"
        if tree:
            return f"label number {number}, but {tree.path.name} names {width} labels: {base} to {base + width - 1}"
        last = f"the training part ends at {self.what} {base + width - 1}"
        hint = "; a file of label names can declare more" if self.what == "label" else ""
        return f"{self.what} number {number}, but {last}{hint}"


def _find(path: Path, row: int, what: str, number: int) -> tuple[int, int]:
    """Return line and column of a number in the given row of a file, which has been read without error."""
    pattern = re.compile(rb"[ \t\r]0*%d:" % number if what == "feature" else rb"(?:^|,)0*%d(?=[, \t\r#]|$)" % number)
    for block in read_blocks(path):
        for offset, line in enumerate(block.text.split(b"\n")):
            content = line.partition(b"#")[0]
            if line in (b"", b"\r") or (b"#" in line and not content.strip()):
                continue
            if row == 0:
                match = pattern.search(content)
                start = match.start() + (content[match.start() : match.start() + 1] in b", \t\r") if match else 0
                return block.line + offset, start + 1
            row -= 1
    raise ValueError(f"{path} has changed while it was read")
