"""Tables as pandas frames: a file of separated text, a Parquet file, or a frame of the user's, behind one interface."""

import csv
import io
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol

from mlrank.datasets.formats.frames.widths import PIECE, CountedRows, Widths, cells_of
from mlrank.datasets.formats.growth import Growth
from mlrank.datasets.formats.names import repeated
from mlrank.datasets.formats.room import check_columns
from mlrank.datasets.formats.text import LineBlock, is_packed, read_blocks, shown
from mlrank.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FrameTable", "Place", "Table", "TextTable", "cell_error", "check_names"]

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
# What the library takes for a missing number at once; other spellings of words.MISSING are looked up afterwards.
NA_VALUES = ["", "?", "NA", "N/A", "n/a", "#N/A", "nan", "NaN", "-nan", "-NaN", "null", "NULL", "None", "<NA>"]


class Place(NamedTuple):
    """Where a cell stands: the file, the number of its row in it, and its line and column where the file has lines."""

    path: Path
    row: int
    line: int | None = None
    column: int | None = None


class Table(Protocol):
    """A table of named columns."""

    path: Path

    @property
    def is_text(self) -> bool:
        """Whether cells have a spelling of their own, of which numbers were guessed."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What was seen in the file and is to be shown."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        ...

    @property
    def unnamed(self) -> tuple[str, ...]:
        """The columns that have no name in the file, by the names that they got; they are no features."""
        ...

    def batches(self, columns: Sequence[str], as_written: bool = False) -> Iterator["pd.DataFrame"]:
        """Yield the columns, perhaps some at a time, each time with all rows.

        `as_written`: cells are text as the file has it, or values as they are stored, and "" where there is none.
        """
        ...

    def rows(self, columns: Sequence[str], as_written: Sequence[str], size: int) -> Iterator["pd.DataFrame"]:
        """Yield blocks of about so many rows with the columns, those of `as_written` as text."""
        ...

    def place(self, row: int, column: str) -> Place:
        """Return where a cell stands."""
        ...


def cell_error(table: Table, row: int, column: str, message: str) -> UserError:
    """Return an error at the place of a cell, or with the number of its row where the table has no lines."""
    path, row, line, place = table.place(row, column)
    return UserError(message if line is not None else f"row {row + 1}: {message}", path, line, place)


def check_names(path: Path, names: Sequence[str], line: int | None = None) -> None:
    """Refuse columns without a name, or two of the same.

    Raises
    ------
    UserError
        With the place of the column.
    """
    check_columns(len(names), "feature", path)
    for place, name in enumerate(names):
        if not name.strip():
            raise UserError(f"column {place + 1} has no name", path, line)
        if "\0" in name:
            raise UserError(f"the column name {shown(name)} holds a NUL character", path, line)
    if (twice := repeated(names)) is not None:
        raise UserError(f"two columns are named {shown(twice)}", path, line)


@dataclass
class FrameTable:
    """A frame in memory; its index is no column."""

    path: Path
    frame: "pd.DataFrame"
    notes: tuple[str, ...] = ()
    is_text: bool = field(default=False, init=False)
    unnamed: tuple[str, ...] = field(default=(), init=False)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        names = tuple(str(name) for name in self.frame.columns)
        check_names(self.path, names)
        return names

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    def batches(self, columns: Sequence[str], as_written: bool = False) -> Iterator["pd.DataFrame"]:
        """Yield the columns, all at once."""
        frame = self.frame.iloc[:, [self._places[name] for name in columns]]
        yield frame.set_axis(list(columns), axis=1)

    def rows(self, columns: Sequence[str], as_written: Sequence[str], size: int) -> Iterator["pd.DataFrame"]:
        """Yield blocks of rows."""
        (frame,) = self.batches(columns)
        for start in range(0, len(frame), size):
            yield frame.iloc[start : start + size]

    def place(self, row: int, column: str) -> Place:
        """Return the row: a frame has no lines."""
        return Place(self.path, row)


@dataclass
class TextTable:
    """A file of separated text, with or without a line of names.

    Parameters
    ----------
    path : Path
    separator : str or None
        None: the comma, or what the first line has more of.
    least : int
        The least number of columns.
    planned : set of str or None
        The columns that are read at once when the first of them is asked for; None: all.
    header : bool or None
        Whether the first line has the names; None: it has, and is refused if it holds nothing but numbers that are not
        the columns' own.

    Raises
    ------
    UserError
        If the first line is no line of names.
    """

    path: Path
    separator: str | None = None
    header: bool | None = None
    notes: tuple[str, ...] = ()
    names: tuple[str, ...] = field(default=(), init=False)
    unnamed: tuple[str, ...] = field(default=(), init=False)
    least: int = 2
    planned: frozenset[str] | None = None
    is_text: bool = field(default=True, init=False)
    _frame: "pd.DataFrame | None" = field(default=None, init=False, repr=False)
    _counted: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.separator is not None and (len(self.separator) != 1 or self.separator in '"\r\n'):
            raise UserError(f"separator must be one character, found {shown(self.separator)}", self.path)
        line = self._first_line()
        if "\r" in line:
            raise UserError("lines end with carriage returns alone: save the file with line feeds", self.path, 1)
        if line.lower().startswith("sep=") and len(line) == 5:
            message = f"the first line is Excel's {shown(line)}, not the names: remove it, and set separator if needed"
            raise UserError(message, self.path, 1, 1)
        if self.separator is None:
            self.separator = _separator_of(line)
            if self.separator != ",":
                self.notes = (f"cells are separated by {SEPARATORS[self.separator]}s",)
        check_columns(line.count(self.separator), "feature", self.path)
        what = SEPARATORS.get(self.separator, shown(self.separator))
        try:
            cells = next(csv.reader([line], delimiter=self.separator, strict=True), [])
        except csv.Error as error:
            kind = {",": "CSV", "\t": "TSV"}.get(self.separator, f"{what}-separated text")
            raise UserError(f"the header line is no {kind}: {error}", self.path, 1, 1) from error
        names = [cell.strip() for cell in cells]
        numeric = [name for name in names if _is_number(name)]
        if self.header is None and len(numeric) == len(names) > 0 and not _counted(names):
            message = "the first line holds nothing but numbers: if it is a row and no line of names, set header: false"
            raise UserError(message, self.path, 1, 1)
        self.header = self.header is not False
        if len(names) < self.least:
            marks = [mark for mark in (*SEPARATORS, " ") if mark in line]
            hint = f"; this one seems to use {shown(marks[0])}" if marks else ""
            message = (
                f"a first line of one column: columns are separated by {what}s{hint}; set separator to say by what"
            )
            raise UserError(message, self.path, 1, 1)
        if not self.header:
            names = [str(number) for number in range(1, len(names) + 1)]
        else:
            # As pandas and R write a table with its row names, and spreadsheets one with empty columns behind.
            last = max((place for place, name in enumerate(names) if name), default=0)
            gone = [place for place, name in enumerate(names) if not name and (place == 0 or place > last)]
            for place in gone if last else ():
                names[place] = f"(unnamed {place + 1})" if place else "(unnamed)"
            self.unnamed = tuple(names[place] for place in gone)
        check_names(self.path, names, 1)
        self.names = tuple(names)

    def batches(self, columns: Sequence[str], as_written: bool = False) -> Iterator["pd.DataFrame"]:
        """Yield the columns, all at once; the text is read once for all that is not asked for as written."""
        if not columns:
            return
        if as_written:
            yield self._read(columns, list(columns))
            return
        if self._frame is None or not set(columns) <= set(self._frame.columns):
            self._frame = self._read(self.names if self.planned is None else self.planned | set(columns), [])
        yield self._frame[list(columns)]

    def column(self, name: str) -> "pd.Series[Any]":
        """Return a column."""
        return next(self.batches([name]))[name]

    def rows(self, columns: Sequence[str], as_written: Sequence[str], size: int) -> Iterator["pd.DataFrame"]:
        """Yield blocks of rows."""
        with self._parsed(columns, as_written, chunksize=size) as reader, reader:
            for frame in reader:
                yield self._named(frame)[list(columns)]

    def _read(self, columns: Collection[str], as_written: Sequence[str]) -> "pd.DataFrame":
        with self._parsed(columns, as_written) as frame:
            return self._named(frame)

    @contextmanager
    def _parsed(self, columns: Collection[str], as_written: Sequence[str], **options: Any) -> Iterator[Any]:
        """Give what pandas reads: a frame, or a reader of frames, whose columns have numbers."""
        import pandas as pd

        assert self.separator is not None
        places = {name: place for place, name in enumerate(self.names)}
        take = sorted(places[name] for name in columns)
        if len(take) < len(self.names):
            options["usecols"] = take
        na: Any = NA_VALUES
        if as_written:
            options["dtype"] = {places[name]: str for name in as_written}
            na = {places[name]: NA_VALUES for name in columns if name not in set(as_written)}
        if _exact_argument():
            options["float_precision"] = "round_trip"
        # Where all columns are read, the library refuses a row of too many cells, other than the first; one of too few
        # lacks the last. So the text needs no second look but where a last cell is missing.
        self._counted = "usecols" in options or is_packed(self.path) or len(self.separator) > 1
        with self._errors(), self._open() as stream:
            yield pd.read_csv(
                stream,
                sep=self.separator,
                header=None,
                names=range(len(self.names)),
                keep_default_na=False,
                na_values=na,
                skipinitialspace=True,
                low_memory=False,
                index_col=False,
                encoding="utf-8",
                **options,
            )

    def _named(self, frame: "pd.DataFrame") -> "pd.DataFrame":
        """Return a frame with the names of its columns; refuse a row of too few cells."""
        named = frame.set_axis([self.names[place] for place in frame.columns], axis=1)
        last = self.names[-1]
        if not self._counted and last in named.columns and named[last].isna().any():
            self._counted = True
            with self._counting() as stream:
                while stream.read(PIECE):
                    pass
        return named

    def _counting(self) -> IO[bytes]:
        rows = CountedRows(self.blocks(), len(self.names), str(self.separator), self.check_widths)
        return io.BufferedReader(rows, PIECE)

    def _open(self) -> IO[bytes]:
        """Open the text at its first row: as a stream that counts the cells of rows, or as the file that it is."""
        if self._counted:
            return self._counting()
        first = next(self.blocks(), None)
        if first is not None and Widths(len(self.names), str(self.separator)).differ(first.text):
            self.check_widths()
        with open(self.path, "rb") as whole, mmap(whole.fileno(), 0, access=ACCESS_READ) as content:
            # The library would take one for the end of a cell.
            if content.find(b"\0") >= 0:
                for _ in self.blocks():
                    pass
        file = open(self.path, "rb")  # noqa: SIM115, the caller closes it
        if self.header:
            file.readline()
        elif file.read(3) != b"\xef\xbb\xbf":
            file.seek(0)
        return file

    @contextmanager
    def _errors(self) -> Iterator[None]:
        import pandas as pd

        try:
            with warnings.catch_warnings():
                # Of a first row of too many cells the library would leave out the last.
                warnings.simplefilter("error", pd.errors.ParserWarning)
                yield
        except UnicodeDecodeError as error:
            raise self._not_utf8() from error
        except pd.errors.ParserWarning as error:
            self.check_widths()
            message = f"a row has more than the {len(self.names)} values that the header declares"
            raise UserError(message, self.path) from error
        except pd.errors.EmptyDataError as error:
            raise UserError("no rows after the header" if self.header else "holds no rows", self.path) from error
        except pd.errors.ParserError as error:
            self.check_widths()
            message = " ".join(str(error).removeprefix("Error tokenizing data. C error: ").split())
            raise UserError(f"cannot be read as separated text: {message}", self.path) from error

    def _first_line(self) -> str:
        first = next(read_blocks(self.path), None)
        if first is None:
            raise UserError("holds no header line" if self.header is not False else "holds no rows", self.path)
        line = first.text.partition(b"\n")[0]
        if (at := line.find(b"\0")) >= 0:
            raise UserError("a NUL byte in the header line", self.path, 1, at + 1)
        try:
            return line.decode("utf-8").rstrip("\r")
        except UnicodeDecodeError as error:
            message = "not UTF-8 text; convert the file to UTF-8"
            raise UserError(message, self.path, 1, error.start + 1) from error

    def blocks(self) -> Iterator[LineBlock]:
        """Yield the lines of rows."""
        growth, n = Growth((self.path,)), 0
        for block in read_blocks(self.path):
            growth.passed(block, n)
            n += not block.text.isspace()
            if (at := block.text.find(b"\0")) >= 0:
                raise block.error(at, "a NUL byte: this is no text, or a damaged file")
            if block.line == 1 and self.header:
                end = block.text.index(b"\n") + 1
                block = LineBlock(block.path, block.text[end:], 2)
            if block.text:
                yield block

    def records(self) -> Iterator[tuple[int, str, list[int]]]:
        """Yield the number of its first line, its text, and where its cells begin, for each row: slowly."""
        for line, text in self._record_texts():
            if text.strip():
                yield line, text, cells_of(text, str(self.separator))[0]

    def _record_texts(self) -> Iterator[tuple[int, str]]:
        waiting, start = "", 0
        for block in self.blocks():
            for number, raw in enumerate(block.text.split(b"\n")[:-1], start=block.line):
                try:
                    lines = raw.decode("utf-8").rstrip("\r").split("\r")
                except UnicodeDecodeError as error:
                    message = "not UTF-8 text; convert the file to UTF-8"
                    raise UserError(message, self.path, number, error.start + 1) from error
                for line in lines:  # to the library a carriage return alone ends a line as well
                    start = start if waiting else number
                    waiting = f"{waiting}\n{line}" if waiting else line
                    if '"' not in waiting or not cells_of(waiting, str(self.separator))[1]:
                        yield start, waiting
                        waiting = ""
        if waiting:
            yield start, waiting

    def check_widths(self) -> None:
        """Refuse the first row of more or fewer cells than there are columns.

        Raises
        ------
        UserError
            With its place.
        """
        n = len(self.names)
        for line, text, cells in self.records():
            if len(cells) > n:
                message = f"the row has more than the {n} values that the header declares"
                raise UserError(message, self.path, line, cells[n])
            if len(cells) < n:
                message = f"the row ends after {len(cells)} of {n} values"
                if cells_of(text, str(self.separator))[1]:
                    message += "; one of its quotation marks is open, write it twice where it belongs to the text"
                    raise UserError(message, self.path, line, cells[-1] + 1 if "\n" not in text[: cells[-1]] else None)
                raise UserError(message, self.path, line, len(text.rpartition("\n")[2]) + 1)

    def place(self, row: int, column: str) -> Place:
        """Return the line and the column of text where a cell stands."""
        for number, (line, text, cells) in enumerate(self.records()):
            if number == row:
                return Place(self.path, row, line, None if "\n" in text else cells[self.names.index(column)] + 1)
        return Place(self.path, row)

    def _not_utf8(self) -> UserError:
        try:
            for _ in self._record_texts():
                pass
        except UserError as error:
            return error
        return UserError("not UTF-8 text; convert the file to UTF-8", self.path)


def _separator_of(line: str) -> str:
    counts = {mark: line.count(mark) for mark in SEPARATORS}
    best = max(counts, key=lambda mark: counts[mark])
    return best if counts[best] > counts[","] else ","


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _counted(names: Sequence[str]) -> bool:
    """Return whether names that are numbers are those of columns: different whole ones, none negative."""
    return all(name.isascii() and name.isdigit() for name in names) and len(set(names)) == len(names) and len(names) > 2


def _exact_argument() -> bool:
    """Return whether the library rounds numbers correctly only if it is asked to."""
    import pandas as pd

    return tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1)
