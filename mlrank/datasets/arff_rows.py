"""The data lines of ARFF files, read block by block into arrays that grow in place."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array

from mlrank.arrays import BoolArray, Features
from mlrank.datasets import _codes as codes
from mlrank.datasets.arff_header import Header
from mlrank.datasets.arff_layout import Layout
from mlrank.datasets.files import Block, shown
from mlrank.datasets.gaps import Gaps
from mlrank.datasets.growth import Growth, no_room, resized
from mlrank.datasets.numbers import cell_at, reread_numbers
from mlrank.errors import UserError, unknown_name

__all__ = ["DenseRows", "Rows", "first_byte", "rows_for"]

# A message names this many declared values at most.
SHOWN_VALUES = 10


class Rows(Protocol):
    """Rows read so far, and which of their cells are missing."""

    gaps: Gaps

    def read(self, blocks: Iterable[Block], plan: Any, header: Header) -> int:
        """Append the rows of one part; return how many."""
        ...

    def finish(self) -> tuple[Features, BoolArray]:
        """Return X and Y."""
        ...


def rows_for(layout: Layout, blocks: Iterator[Block], growth: Growth) -> tuple[Rows, Iterator[Block]]:
    """Look at the first data row; return a store for sparse or dense rows, and the blocks again.

    Raises
    ------
    UserError
        If there is no row.
    """
    passed = []
    for block in blocks:
        passed.append(block)
        if first := first_byte(block.text):
            store = SparseRows if first == b"{" else DenseRows
            return store(len(layout.feature_names), len(layout.label_names), growth), chain(passed, blocks)
    raise UserError("no rows after the header", layout.header.path)


class DenseRows:
    """Rows of comma-separated cells."""

    def __init__(self, n_features: int, n_labels: int, growth: Growth) -> None:
        self.growth = growth
        self.X = np.zeros((0, n_features))
        self.Y = np.zeros((0, n_labels), np.bool_)
        self.n = 0
        self.gaps = Gaps()

    def read(self, blocks: Iterable[Block], plan: Any, header: Header) -> int:
        """Append the rows of one part; return how many."""
        from mlrank.datasets._arff_kernels import dense_rows

        start, n_attributes = self.n, len(header.attributes)
        for block in blocks:
            # A cell may be empty, but a separator or the line's end stands behind each: blank lines claim no memory.
            size = len(block.text)
            self.growth.passed(size)
            # One more row may be begun, in which a mistake is found.
            added = min(block.n_lines, size // n_attributes + 1)
            self._resize(self.growth.room(len(self.X), self.n, added, size))
            text, scratch = _scratch(block)
            code, at, j, self.n = dense_rows(text, self.X, self.Y, self.n, plan, *scratch)
            if code != codes.DONE:
                raise _error(code, block, at, j, header)
            _reread(block, scratch, self.X.reshape(-1), self.gaps, plan, self.Y.shape[1])
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


class SparseRows:
    """Rows of index-value pairs in braces."""

    def __init__(self, n_features: int, n_labels: int, growth: Growth) -> None:
        self.growth = growth
        self.n_features = n_features
        self.data = np.zeros(0)
        self.indices = np.zeros(0, np.int32)
        self.indptr = np.zeros(1, np.int32)
        self.Y = np.zeros((0, n_labels), np.bool_)
        self.state = np.zeros(2, np.int64)
        self.gaps = Gaps()

    def read(self, blocks: Iterable[Block], plan: Any, header: Header) -> int:
        """Append the rows of one part; return how many."""
        from mlrank.datasets._arff_kernels import sparse_rows

        start, seen = int(self.state[0]), np.zeros(len(header.attributes), np.int64)
        for block in blocks:
            size, (row, entry) = len(block.text), self.state.tolist()
            self.growth.passed(size)
            rows = min(block.n_lines, block.text.count(b"{"))
            entries = rows * (1 + plan.omitted.shape[0]) + block.text.count(b",")
            n_rows = self.growth.room(len(self.Y), row, rows, size)
            self._resize(n_rows, self.growth.room(len(self.data), entry, entries, size))
            text, scratch = _scratch(block)
            store = (self.data, self.indices, self.indptr)
            code, at, j = sparse_rows(text, store, self.Y, self.state, plan, seen, *scratch)
            if code != codes.DONE:
                raise _error(code, block, at, j, header)
            _reread(block, scratch, self.data, self.gaps, plan, self.Y.shape[1])
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


def _scratch(block: Block) -> tuple[Any, tuple[Any, ...]]:
    """Return the text, and room for a word, numbers to read again (such as 1e23 and a comma), gaps and two counts.

    Behind each missing cell stands a byte that ends it, so there are no more than bytes.
    """
    size = len(block.text)
    slow, gaps = np.empty((size // 5 + 1, 3), np.int64), np.empty((size, 2), np.int64)
    return np.frombuffer(block.text, np.uint8), (np.empty(size, np.uint8), slow, gaps, np.zeros(2, np.int64))


def _reread(block: Block, scratch: tuple[Any, ...], values: Any, gaps: Gaps, plan: Any, n_labels: int) -> None:
    """Do what a compiled loop left to do: read numbers with care, and note the gaps."""
    _, slow, found, (n_slow, n_gaps) = scratch
    reread_numbers(block, slow[:n_slow], values)
    if n_gaps:
        gaps.add(found[:n_gaps], plan, n_labels)


def first_byte(text: bytes) -> bytes:
    """Return the first byte of the first line that is a row; nothing if there is none."""
    at = 0
    while at < len(text):
        stop = text.index(b"\n", at)
        line = text[at:stop].lstrip()
        if line and not line.startswith(b"%"):
            return line[:1]
        at = stop + 1
    return b""


def _counted(rows: int, header: Header) -> int:
    if rows == 0:
        raise UserError("no rows after the header", header.path)
    return rows


def _error(code: int, block: Block, at: int, j: int, header: Header) -> Exception:
    if code == codes.NO_ROOM:
        return no_room(block, at)
    return block.error(
        at, _message(code, cell_at(block, at, b",\t}" if code < codes.NOT_AN_INDEX else b" ,}"), j, header)
    )


def _message(code: int, found: str, j: int, header: Header) -> str:
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
        codes.NO_CLASS: f"the row has no value for {name}, the hierarchical attribute",
    }[code]


def _unknown_value(name: str, found: str, values: list[str]) -> str:
    near = unknown_name(f"value of attribute {name}", found, values).partition(" Known:")[0]
    more = f" and {len(values) - SHOWN_VALUES} more" if len(values) > SHOWN_VALUES else ""
    return f"{near} Declared: {', '.join(values[:SHOWN_VALUES])}{more}."
