"""Rows of cells, as of tables and ARFF files, read block by block into arrays that grow in place."""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array

from mlrank.arrays import BoolArray, Features
from mlrank.datasets.formats import _codes as codes
from mlrank.datasets.formats.base import StreamRequest
from mlrank.datasets.formats.growth import Growth, no_room, resized
from mlrank.datasets.formats.layout import ColumnLayout, TableHeader, columns_layout, make_plan
from mlrank.datasets.formats.missing import MissingValues, put_values
from mlrank.datasets.formats.numbers import cell_at, reread_numbers
from mlrank.datasets.formats.selection import Selection
from mlrank.datasets.formats.text import MOST_EMPTY, LineBlock, shown
from mlrank.errors import UserError, unknown_name

__all__ = ["CellRows", "DenseCells", "labels_aside", "rows_for", "stream_cells"]

# A message names this many declared values at most.
SHOWN_VALUES = 10


class CellRows(Protocol):
    """Rows read so far, and which of their cells are missing."""

    missing: MissingValues

    def read(self, blocks: Iterable[LineBlock], plan: Any, header: TableHeader) -> int:
        """Append the rows of one part; return how many."""
        ...

    def finish(self) -> tuple[Features, BoolArray]:
        """Return X and Y."""
        ...


def rows_for(layout: ColumnLayout, blocks: Iterator[LineBlock], growth: Growth) -> tuple[CellRows, Iterator[LineBlock]]:
    """Look at the first data row; return a store for sparse or dense rows, and the blocks again.

    Raises
    ------
    UserError
        If there is no row.
    """
    for block in blocks:
        if first := _first_byte(block.text):
            store = SparseCells if first == b"{" else DenseCells
            return store(len(layout.feature_names), len(layout.label_names), growth), chain([block], blocks)
    raise UserError("no rows after the header", layout.header.path)


class DenseCells:
    """Rows of comma-separated cells."""

    def __init__(self, n_features: int, n_labels: int, growth: Growth) -> None:
        self.growth = growth
        self.X = np.zeros((0, n_features))
        self.Y = np.zeros((0, n_labels), np.bool_)
        self.n = 0
        self.missing = MissingValues()

    def read(self, blocks: Iterable[LineBlock], plan: Any, header: TableHeader) -> int:
        """Append the rows of one part; return how many."""
        from mlrank.datasets.formats._cell_kernels import dense_rows

        start, n_attributes = self.n, len(header.attributes)
        for block in blocks:
            # A cell may be empty, but a separator or the line's end stands behind each: blank lines claim no memory.
            self.growth.passed(block, self.n)
            # One more row may be begun, in which a mistake is found.
            added = min(block.n_lines, len(block.text) // n_attributes + 1)
            width = 8 * self.X.shape[1] + self.Y.shape[1]
            self._resize(self.growth.room(block, len(self.X), self.n, added, width))
            text, scratch = _scratch(block)
            code, at, j, self.n = dense_rows(text, self.X, self.Y, self.n, plan, *scratch)
            if code != codes.DONE:
                raise _error(code, block, at, j, header)
            _reread(block, scratch, self.X.reshape(-1), self.missing, plan, self.Y.shape[1])
        return _counted(self.n - start, header)

    def finish(self) -> tuple[Features, BoolArray]:
        """Return X and Y."""
        self._resize(self.n)
        return self.X, self.Y

    def _resize(self, rows: int) -> None:
        try:
            self.X, self.Y = resized(self.X, rows), resized(self.Y, rows)
        except MemoryError as error:
            size = f"{rows} rows or more of {self.X.shape[1]} columns"
            raise UserError(f"not enough memory for {size}; nominal features have one for each value") from error


class SparseCells:
    """Rows of index-value pairs in braces."""

    def __init__(self, n_features: int, n_labels: int, growth: Growth) -> None:
        self.growth = growth
        self.n_features = n_features
        self.data = np.zeros(0)
        self.indices = np.zeros(0, np.int32)
        self.indptr = np.zeros(1, np.int32)
        self.Y = np.zeros((0, n_labels), np.bool_)
        self.state = np.zeros(2, np.int64)
        self.missing = MissingValues()

    def read(self, blocks: Iterable[LineBlock], plan: Any, header: TableHeader) -> int:
        """Append the rows of one part; return how many."""
        from mlrank.datasets.formats._cell_kernels import sparse_rows

        start, seen = int(self.state[0]), np.zeros(len(header.attributes), np.int64)
        for block in blocks:
            row, entry = self.state.tolist()
            self.growth.passed(block, row)
            rows = min(block.n_lines, block.text.count(b"{"))
            entries = rows * (1 + plan.omitted.shape[0]) + block.text.count(b",")
            n_rows = self.growth.room(block, len(self.Y), row, rows, 4 + self.Y.shape[1])
            self._resize(n_rows, self.growth.room(block, len(self.data), entry, entries, 12))
            text, scratch = _scratch(block)
            store = (self.data, self.indices, self.indptr)
            code, at, j = sparse_rows(text, store, self.Y, self.state, plan, seen, *scratch)
            if code != codes.DONE:
                raise _error(code, block, at, j, header)
            _reread(block, scratch, self.data, self.missing, plan, self.Y.shape[1])
        return _counted(int(self.state[0]) - start, header)

    def finish(self) -> tuple[Features, BoolArray]:
        """Return X and Y."""
        self._resize(int(self.state[0]), int(self.state[1]))
        X = csr_array((self.data, self.indices, self.indptr), shape=(self.Y.shape[0], self.n_features))
        X.sort_indices()
        # A number so small that it was rounded to 0 has been stored.
        X.eliminate_zeros()
        return X, self.Y

    def _resize(self, rows: int, entries: int) -> None:
        self.data, self.indices = resized(self.data, entries), resized(self.indices, entries)
        self.indptr, self.Y = resized(self.indptr, rows + 1), resized(self.Y, rows)


def _scratch(block: LineBlock) -> tuple[Any, tuple[Any, ...]]:
    """Return the text, and room for a word, numbers to read again, missing cells and two counts.

    A number to be read again takes five bytes at least, such as 1e23 and a comma. Behind each missing cell stands a
    byte that ends it, so there are no more than bytes.
    """
    size = len(block.text)
    slow, missing = np.empty((size // 5 + 1, 3), np.int64), np.empty((size, 2), np.int64)
    return np.frombuffer(block.text, np.uint8), (np.empty(size, np.uint8), slow, missing, np.zeros(2, np.int64))


def _reread(
    block: LineBlock, scratch: tuple[Any, ...], values: Any, missing: MissingValues, plan: Any, n_labels: int
) -> None:
    """Do what a compiled loop left to do: read numbers with care, and record missing values."""
    _, slow, cells, (n_slow, n_missing) = scratch
    reread_numbers(block, slow[:n_slow], values)
    if n_missing:
        missing.add(cells[:n_missing], plan, n_labels)


# The first byte of a line that is a row.
_ROW = re.compile(rb"^[ \t\r\v\f]*+([^\n%])", re.MULTILINE)


def _first_byte(text: bytes) -> bytes:
    """Return the first byte of the first line that is a row; nothing if there is none."""
    match = _ROW.search(text)
    return match[1] if match else b""


def _counted(rows: int, header: TableHeader) -> int:
    if rows == 0:
        raise UserError("no rows after the header", header.path)
    return rows


def _error(code: int, block: LineBlock, at: int, j: int, header: TableHeader) -> Exception:
    if code == codes.NO_ROOM:
        return no_room(block, at)
    ends = b"\r" if code == codes.WEIGHT else b",\t}" if code < codes.NOT_AN_INDEX else b" ,}"
    return block.error(at, _message(code, cell_at(block, at, ends), j, header))


def _message(code: int, found: str, j: int, header: TableHeader) -> str:
    n_attributes = len(header.attributes)
    attribute = header.attributes[min(j, n_attributes - 1)]
    name = shown(attribute.name)
    if code == codes.UNKNOWN_VALUE:
        return _unknown_value(name, found.strip("'"), [shown(value)[1:-1] for value in attribute.values])
    return {
        codes.NOT_A_NUMBER: f"attribute {name} is numeric, found {found}",
        codes.MISSING: f"the value of {name} is missing: set impute to mean, median or zero to have it filled",
        codes.TOO_FEW: f"the row ends after {j} of {n_attributes} values",
        codes.TOO_MANY: f"the row has more than the {n_attributes} values that the header declares",
        codes.OPEN_QUOTE: f"a quote is opened and not closed on this line: {found}",
        codes.NOT_BINARY: f"{name} takes 0 or 1, found {found}",
        codes.UNKNOWN_CLASS: f"{found} names a class that {name} does not declare",
        codes.NOT_AN_INDEX: f"expected an attribute's number and a blank before its value, found {found}",
        codes.INDEX_TOO_LARGE: f"attribute number {found} is beyond the last, {n_attributes - 1}; they count from 0",
        codes.REPEATED_INDEX: f"attribute number {found} ({name}) occurs twice in this row",
        codes.NOT_SPARSE: f"expected a sparse row in braces as the first row is, found {found}",
        codes.NOT_DENSE: "a sparse row in braces, but the first row has no braces",
        codes.UNCLOSED_ROW: "the row's closing brace is missing",
        codes.AFTER_ROW: f"unexpected text after the closing brace: {found}",
        codes.AFTER_CELL: f"expected a comma after the value of {name}, found {found}; values with blanks need quotes",
        codes.WEIGHT: f"the row has the weight {found}, and no solver takes weights of rows: remove the last value",
        codes.NO_CLASS: f"the row has no value for {name}, the hierarchical attribute",
    }[code]


def _unknown_value(name: str, found: str, values: list[str]) -> str:
    near = unknown_name(f"value of attribute {name}", found, values).partition(" Known:")[0]
    more = f" and {len(values) - SHOWN_VALUES} more" if len(values) > SHOWN_VALUES else ""
    return f"{near} Declared: {', '.join(values[:SHOWN_VALUES])}{more}."


def labels_aside(header: TableHeader, selection: Selection) -> ColumnLayout:
    """Return the layout in which the labels of a selection, as far as they are there, are no features."""
    labels, features = set(selection.labels), set(selection.features)
    there = (attribute.name for attribute in header.attributes)
    return columns_layout(header, tuple(name for name in there if name in labels and name not in features))


def stream_cells(
    request: StreamRequest,
    header: TableHeader,
    layout: ColumnLayout,
    store_type: Callable[..., CellRows],
    blocks: Iterator[LineBlock],
) -> Iterator[Features]:
    """Yield the selected features of rows of cells, block by block; missing ones are NaN.

    Raises
    ------
    UserError
        If a feature is not there, missing without a value to fill it with, or a row cannot be understood.
    """
    take, notes = request.selection.match(layout.feature_names, request.path)
    request.notes.extend(notes)
    as_they_are = np.array_equal(take, np.arange(len(layout.feature_names)))
    plan = make_plan(header, layout, keep_missing=True)
    sizes = (len(layout.feature_names), len(layout.label_names))
    done = 0
    for chunk in _chunks(blocks, request.n_bytes):
        store = store_type(*sizes, Growth(()))
        n_rows = store.read(chunk, plan, header)
        X, _ = store.finish()
        if (first := store.missing.first_feature()) is not None:
            if request.selection.fill is None:
                name = shown(layout.feature_names[first[1]])
                message = f"row {done + first[0] + 1}: the value of {name} is missing, so it has no score"
                raise UserError(message, request.path)
            rows, columns = store.missing.features()
            X = put_values(X, rows, columns, np.full(rows.size, np.nan))
        done += n_rows
        yield X if as_they_are else X[:, take]
    if done == 0:
        raise UserError("holds no rows", request.path)


def _chunks(blocks: Iterator[LineBlock], n_bytes: int) -> Iterator[list[LineBlock]]:
    """Yield blocks together, each time some that hold a row."""
    chunk: list[LineBlock] = []
    size, n_bare = 0, 0
    for block in blocks:
        n_bare += len(block.text)
        if _first_byte(block.text):
            chunk.append(block)
            size, n_bare = size + len(block.text), 0
        if n_bare > MOST_EMPTY:
            raise UserError(f"more than {MOST_EMPTY} bytes without a row: this is no data file", block.path, block.line)
        if size >= n_bytes:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
