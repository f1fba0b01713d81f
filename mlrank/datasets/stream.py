"""The features of a file's rows block by block, so that files larger than the memory can be read.

Labels that the file holds are passed over. MATLAB files, and .npz files whose X lies column by column, are read whole.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mlrank.arrays import Features, as_features
from mlrank.datasets.arff_header import Header, read_header
from mlrank.datasets.arff_layout import Layout, clus_layout, columns_layout, make_plan
from mlrank.datasets.arff_rows import DenseRows, first_byte, rows_for
from mlrank.datasets.files import Block, shown
from mlrank.datasets.gaps import nan_places, put_values
from mlrank.datasets.growth import Growth
from mlrank.datasets.libsvm import numbered_blocks
from mlrank.datasets.numbering import find_number
from mlrank.datasets.parsed import Source
from mlrank.datasets.readers import READERS, format_of
from mlrank.datasets.stream_arrays import mat_rows, npz_rows, parquet_rows
from mlrank.datasets.tabular import csv_header
from mlrank.datasets.wanted import Wanted
from mlrank.errors import UserError, unknown_name

__all__ = ["RowStream"]

# So much text is read at a time.
CHUNK_BYTES = 1 << 21


class RowStream:
    """Iterates over the rows of a file as blocks with the columns wanted; `notes` fill up on the way.

    Parameters
    ----------
    path : Path
    wanted : Wanted
    format : str, optional
        Key of READERS; told by the file's ending if left out.
    zero_based : bool, optional
        For formats that number features: whether they count from 0. Left out, the numbers are the features' names.
    cells : int
        Blocks have about so many cells at most, where the format allows to say so.
    """

    def __init__(
        self,
        path: Path,
        wanted: Wanted,
        format: str | None = None,
        zero_based: bool | None = None,
        cells: int = 1 << 22,
    ) -> None:
        if path.is_dir():
            raise UserError("is a folder; name a file in it", path)
        if format is not None and format not in READERS:
            raise UserError(unknown_name("data format", format, READERS))
        self.path, self.wanted, self.zero_based = path, wanted, zero_based
        self.format = format or format_of(path, Source((path,)))
        if zero_based is not None and self.format not in ("libsvm", "xmc"):
            raise UserError(f"features of the format '{self.format}' do not count from a number", path)
        self.rows = max(1, cells // len(wanted.features))
        self.notes: list[str] = []
        self.n_filled = 0

    def __iter__(self) -> Iterator[Features]:
        for block in _OPENERS[self.format](self):
            X = self._filled(as_features(block))
            # The compiled readers refuse such numbers; files of arrays may hold them.
            values = X if isinstance(X, np.ndarray) else X.data
            if not np.isfinite(values).all():
                missing = "missing (NaN) or " if self.wanted.fill is None else ""
                raise UserError(f"holds features that are {missing}infinite, which have no scores", self.path)
            yield X
        if self.n_filled:
            who = self.wanted.who
            self.notes.append(f"{self.n_filled} missing cells filled with the values that {who} was fitted with")

    def _filled(self, X: Features) -> Features:
        """Fill cells that are NaN, if there is what to fill them with."""
        fill = self.wanted.fill
        if fill is None:
            return X
        rows, columns = nan_places(X)
        if not rows.size:
            return X
        self.n_filled += rows.size
        X = X.copy()
        if isinstance(X, np.ndarray):
            X[rows, columns] = fill[columns]
        else:
            X.data[np.isnan(X.data)] = fill[columns]
        return X


def _numbered(stream: RowStream) -> Iterator[Features]:
    path, key = stream.path, stream.format
    numbers = stream.wanted.numbers(key, stream.zero_based, path)
    skip, left_out = int(key == "xmc"), 0
    for X, start, in_order in numbered_blocks(path, key, CHUNK_BYTES):
        columns = numbers.columns(X.indices)
        if (wrong := np.flatnonzero(columns == -2)).size:
            _refuse(stream, X, start, int(wrong[0]), 1, numbers.refusal(int(X.indices[wrong[0]])), skip)
        if not in_order and (again := _repeated(X)) is not None:
            _refuse(stream, X, start, again, 2, f"feature {X.indices[again]} occurs twice in this row", skip)
        kept = columns >= 0
        left_out += int((~kept).sum())
        indptr = np.concatenate([[0], np.cumsum(kept)])[X.indptr].astype(np.int32)
        parts = (X.data[kept], columns[kept].astype(np.int32), indptr)
        yield csr_array(parts, shape=(X.shape[0], len(stream.wanted.features)))
    if left_out:
        who = stream.wanted.who
        stream.notes.append(f"{left_out} entries are of features that {who} does not use, and left out")


def _repeated(X: csr_array) -> int | None:
    """Return the place of the second of two equal numbers in a row; None if there is none."""
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    order = np.lexsort((X.indices, rows))
    twice = np.flatnonzero((np.diff(X.indices[order]) == 0) & (np.diff(rows[order]) == 0))
    return int(order[twice[0] + 1]) if twice.size else None


def _refuse(stream: RowStream, X: csr_array, start: int, entry: int, times: int, message: str, skip: int) -> None:
    row = start + int(np.searchsorted(X.indptr, entry, side="right")) - 1
    line, column = find_number(stream.path, row, "feature", int(X.indices[entry]), times, skip)
    raise UserError(message, stream.path, line, column)


def _arff(stream: RowStream) -> Iterator[Features]:
    header, blocks = read_header(stream.path)
    classes = any(attribute.kind == "hierarchical" for attribute in header.attributes)
    layout = clus_layout(header) if classes else _labels_aside(header, stream.wanted)
    first, blocks = rows_for(layout, blocks, Growth(()))
    return _cells(stream, header, layout, type(first), blocks)


def _csv(stream: RowStream) -> Iterator[Features]:
    header, blocks = csv_header(stream.path)
    return _cells(stream, header, _labels_aside(header, stream.wanted), DenseRows, blocks)


def _labels_aside(header: Header, wanted: Wanted) -> Layout:
    labels, features = set(wanted.labels), set(wanted.features)
    there = (attribute.name for attribute in header.attributes)
    return columns_layout(header, tuple(name for name in there if name in labels and name not in features))


def _cells(
    stream: RowStream, header: Header, layout: Layout, store_type: Callable[..., Any], blocks: Iterator[Block]
) -> Iterator[Features]:
    take, notes = stream.wanted.match(layout.feature_names, stream.path)
    stream.notes += notes
    straight = np.array_equal(take, np.arange(len(layout.feature_names)))
    plan = make_plan(header, layout, keep_gaps=True, empty_is_gap=stream.format == "csv")
    sizes = (len(layout.feature_names), len(layout.label_names))
    done = 0
    for chunk in _chunks(blocks):
        store = store_type(*sizes, Growth(()))
        n_rows = store.read(chunk, plan, header)
        X, _ = store.finish()
        if (gap := store.gaps.first_feature()) is not None:
            if stream.wanted.fill is None:
                name = shown(layout.feature_names[gap[1]])
                message = f"row {done + gap[0] + 1}: the value of {name} is missing, so it has no score"
                raise UserError(message, stream.path)
            rows, columns = store.gaps.features()
            X = put_values(X, rows, columns, np.full(rows.size, np.nan))
        done += n_rows
        yield X if straight else X[:, take]
    if done == 0:
        raise UserError("holds no rows", stream.path)


def _chunks(blocks: Iterator[Block]) -> Iterator[list[Block]]:
    """Yield blocks together, each time some that hold a row."""
    chunk: list[Block] = []
    for block in blocks:
        chunk.append(block)
        if sum(len(part.text) for part in chunk) >= CHUNK_BYTES and any(first_byte(part.text) for part in chunk):
            yield chunk
            chunk = []
    if any(first_byte(part.text) for part in chunk):
        yield chunk


def _arrays(read: Callable[..., Iterator[Any]]) -> Callable[[RowStream], Iterator[Features]]:
    def opened(stream: RowStream) -> Iterator[Features]:
        return read(stream.path, stream.wanted, stream.rows, stream.notes)

    return opened


_OPENERS: dict[str, Callable[[RowStream], Iterator[Features]]] = {
    "clus": _arff,
    "csv": _csv,
    "libsvm": _numbered,
    "mat": _arrays(mat_rows),
    "meka": _arff,
    "mulan": _arff,
    "npz": _arrays(npz_rows),
    "parquet": _arrays(parquet_rows),
    "xmc": _numbered,
}
