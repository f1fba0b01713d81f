"""ARFF files as tables of named columns, for options that only these take: ids, groups, text, columns to be ignored.

Rows are split one by one, which takes about ten times as long as the compiled loops for files of numbers.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mlrank.datasets.formats import _codes as codes
from mlrank.datasets.formats.arff.header import read_header
from mlrank.datasets.formats.frames.tables import Place
from mlrank.datasets.formats.layout import Attribute, TableHeader, kind_of
from mlrank.datasets.formats.text import LineBlock, shown
from mlrank.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ArffTable", "text_attributes"]

# A cell in single or double quotes, or bare, and what ends it.
_CELL = re.compile(r"""[ \t]*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|((?!['"])[^,]*?))[ \t]*(,|$)""")
# The number of an attribute in a sparse row.
_PAIR = re.compile(r"\s*(\d{1,9})\s+(?!,|$)", re.ASCII)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


# Cells of a frame that are made at a time.
BATCH_CELLS = 1 << 20

# The cells of a row; those of a sparse one by the number of their attribute. None: missing.
Row = list[str | None] | dict[int, str | None]


@dataclass
class ArffTable:
    """A file of rows, dense or sparse.

    Raises
    ------
    UserError
        If the header cannot be understood.
    """

    path: Path
    notes: tuple[str, ...] = ()
    is_text: bool = field(default=False, init=False)
    unnamed: tuple[str, ...] = field(default=(), init=False)

    @cached_property
    def header(self) -> TableHeader:
        """What the file declares."""
        return read_header(self.path)[0]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(attribute.name for attribute in self.header.attributes)

    @property
    def is_sparse(self) -> bool:
        """Whether the first row is sparse."""
        return bool(self._whole) and isinstance(self._whole[0][1], dict)

    @property
    def nominal(self) -> frozenset[str]:
        """The columns of declared values other than 0 and 1."""
        return frozenset(
            item.name for item in self.header.attributes if item.kind == "nominal" and kind_of(item) == codes.NOMINAL
        )

    def batches(self, columns: Sequence[str], as_written: bool = False) -> Iterator["pd.DataFrame"]:
        """Yield the columns, all at once."""
        if columns:
            # Of sparse rows a frame of all columns would be far larger than the file.
            step = max(1, BATCH_CELLS // max(1, len(self._whole)))
            for first in range(0, len(columns), step):
                some = columns[first : first + step]
                yield self._frame([cells for _, cells in self._whole], some, some if as_written else ())

    def rows(self, columns: Sequence[str], as_written: Sequence[str], size: int) -> Iterator["pd.DataFrame"]:
        """Yield blocks of rows."""
        waiting: list[Row] = []
        for _, cells in self._rows():
            waiting.append(cells)
            if len(waiting) == size:
                yield self._frame(waiting, columns, as_written)
                waiting = []
        if waiting:
            yield self._frame(waiting, columns, as_written)

    def place(self, row: int, column: str) -> Place:
        """Return the line of a row."""
        line = next((line for number, (line, _) in enumerate(self._rows()) if number == row), None)
        return Place(self.path, row, line)

    @cached_property
    def _whole(self) -> list[tuple[int, Row]]:
        return list(self._rows())

    def _frame(self, rows: list[Row], columns: Sequence[str], as_written: Sequence[str]) -> "pd.DataFrame":
        import pandas as pd

        places = {name: place for place, name in enumerate(self.names)}
        found = {}
        for name in columns:
            attribute, place = self.header.attributes[places[name]], places[name]
            left_out = _left_out(attribute)
            cells: Any = [row[place] if isinstance(row, list) else row.get(place, left_out) for row in rows]
            if name not in as_written and attribute.kind == "numeric":
                try:
                    found[name] = pd.Series(
                        [float(cell) if cell is not None else np.nan for cell in cells], dtype=float
                    )
                    continue
                except ValueError:
                    pass  # what is no number is looked for by those who can say where it is
            found[name] = pd.Series(cells, dtype=object)
        return pd.DataFrame(found, columns=list(columns))

    def _rows(self) -> Iterator[tuple[int, Row]]:
        """Yield the line and the cells of each row."""
        n = len(self.names)
        for block in read_header(self.path)[1]:
            for number, raw in enumerate(block.text.split(b"\n")[:-1], start=block.line):
                line = self._decoded(block, number, raw).strip()
                if not line or line.startswith("%"):
                    continue
                yield number, self._pairs(line, number, n) if line.startswith("{") else self._cells(line, number, n)

    def _cells(self, line: str, number: int, n: int) -> list[str | None]:
        cells: list[str | None] = []
        at, more = 0, True
        while more:
            match = _CELL.match(line, at)
            if match is None:
                raise UserError("a cell with an open quotation mark, or text behind one", self.path, number, at + 1)
            cells.append(_cell(match))
            at, more = match.end(), match[4] == ","
        if len(cells) != n:
            raise UserError(f"the row has {len(cells)} values, the header declares {n}", self.path, number)
        return cells

    def _pairs(self, line: str, number: int, n: int) -> dict[int, str | None]:
        """Return the cells of a sparse row by the number of their attribute."""
        if not line.endswith("}"):
            raise UserError("the row's closing brace is missing, or text stands behind it", self.path, number)
        cells: dict[int, str | None] = {}
        inside = line[1:-1].strip()
        at, more = 0, bool(inside)
        while more:
            pair = _PAIR.match(inside, at)
            if pair is None or int(pair[1]) >= n or int(pair[1]) in cells:
                message = f"expected a new attribute's number up to {n - 1}, a blank and its value"
                raise UserError(f"{message}, found {shown(inside[at:])}", self.path, number)
            match = _CELL.match(inside, pair.end())
            if match is None:
                raise UserError("a cell with an open quotation mark, or text behind one", self.path, number)
            cells[int(pair[1])] = _cell(match)
            at, more = match.end(), match[4] == ","
        return cells

    def _decoded(self, block: LineBlock, number: int, raw: bytes) -> str:
        try:
            return raw.decode("utf-8").rstrip("\r")
        except UnicodeDecodeError as error:
            message = "not UTF-8 text; convert the file to UTF-8"
            raise UserError(message, block.path, number, error.start + 1) from error


def _cell(match: re.Match[str]) -> str | None:
    """Return the text of a cell; None for one that is missing."""
    quoted = match[1] if match[1] is not None else match[2]
    if quoted is not None:
        return re.sub(r"\\(.)", _unescaped, quoted)
    return None if match[3] == "?" else match[3]


def _left_out(attribute: Attribute) -> str | None:
    """Return the value of an attribute that a sparse row leaves out: 0, or the first of those that it declares."""
    if attribute.kind == "numeric":
        return "0"
    return attribute.values[0] if attribute.kind == "nominal" else None


def _unescaped(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[1], match[1])


def text_attributes(header: TableHeader) -> list[Attribute]:
    """Return the attributes that hold text or dates."""
    return [attribute for attribute in header.attributes if attribute.kind == "text"]
