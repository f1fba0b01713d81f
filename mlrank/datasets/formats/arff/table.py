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
from mlrank.datasets.formats.layout import Attribute, TableHeader, kind_of
from mlrank.datasets.formats.text import LineBlock
from mlrank.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ArffTable", "text_attributes"]

# A cell in single or double quotes, or bare, and what ends it.
_CELL = re.compile(r"""[ \t]*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|((?!['"])[^,]*?))[ \t]*(,|$)""")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass
class ArffTable:
    """A file of dense rows.

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
    def nominal(self) -> frozenset[str]:
        """The columns of declared values other than 0 and 1."""
        return frozenset(
            item.name for item in self.header.attributes if item.kind == "nominal" and kind_of(item) == codes.NOMINAL
        )

    def batches(self, columns: Sequence[str], as_written: bool = False) -> Iterator["pd.DataFrame"]:
        """Yield the columns, all at once."""
        if columns:
            yield self._frame([cells for _, cells in self._whole], columns, columns if as_written else ())

    def rows(self, columns: Sequence[str], as_written: Sequence[str], size: int) -> Iterator["pd.DataFrame"]:
        """Yield blocks of rows."""
        waiting: list[list[str | None]] = []
        for _, cells in self._rows():
            waiting.append(cells)
            if len(waiting) == size:
                yield self._frame(waiting, columns, as_written)
                waiting = []
        if waiting:
            yield self._frame(waiting, columns, as_written)

    def place(self, row: int, column: str) -> tuple[int | None, int | None]:
        """Return the line of a row."""
        return next((line for number, (line, _) in enumerate(self._rows()) if number == row), None), None

    @cached_property
    def _whole(self) -> list[tuple[int, list[str | None]]]:
        return list(self._rows())

    def _frame(self, rows: list[list[str | None]], columns: Sequence[str], as_written: Sequence[str]) -> "pd.DataFrame":
        import pandas as pd

        places = {name: place for place, name in enumerate(self.names)}
        found = {}
        for name in columns:
            cells: Any = [row[places[name]] for row in rows]
            if name not in as_written and self.header.attributes[places[name]].kind == "numeric":
                try:
                    found[name] = pd.Series(
                        [float(cell) if cell is not None else np.nan for cell in cells], dtype=float
                    )
                    continue
                except ValueError:
                    pass  # what is no number is looked for by those who can say where it is
            found[name] = pd.Series(cells, dtype=object)
        return pd.DataFrame(found, columns=list(columns))

    def _rows(self) -> Iterator[tuple[int, list[str | None]]]:
        """Yield the line and the cells of each row."""
        n = len(self.names)
        for block in read_header(self.path)[1]:
            for number, raw in enumerate(block.text.split(b"\n")[:-1], start=block.line):
                line = self._decoded(block, number, raw).strip()
                if not line or line.startswith("%"):
                    continue
                if line.startswith("{"):
                    message = "options of tables, and attributes of text, go with dense rows, found a sparse one"
                    raise UserError(message, self.path, number, 1)
                yield number, self._cells(line, number, n)

    def _cells(self, line: str, number: int, n: int) -> list[str | None]:
        cells: list[str | None] = []
        at, more = 0, True
        while more:
            match = _CELL.match(line, at)
            if match is None:
                raise UserError("a cell with an open quotation mark, or text behind one", self.path, number, at + 1)
            quoted = match[1] if match[1] is not None else match[2]
            bare = match[3] if quoted is None else re.sub(r"\\(.)", _unescaped, quoted)
            cells.append(None if quoted is None and bare == "?" else bare)
            at, more = match.end(), match[4] == ","
        if len(cells) != n:
            raise UserError(f"the row has {len(cells)} values, the header declares {n}", self.path, number)
        return cells

    def _decoded(self, block: LineBlock, number: int, raw: bytes) -> str:
        try:
            return raw.decode("utf-8").rstrip("\r")
        except UnicodeDecodeError as error:
            message = "not UTF-8 text; convert the file to UTF-8"
            raise UserError(message, block.path, number, error.start + 1) from error


def _unescaped(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[1], match[1])


def text_attributes(header: TableHeader) -> list[Attribute]:
    """Return the attributes that hold text or dates."""
    return [attribute for attribute in header.attributes if attribute.kind == "text"]
