"""Multi-label LIBSVM files, "l,l i:v i:v" with labels in any order, and XMC files, which add a header.

A row without labels starts with a blank. Features and labels are numbered; whether from 0 or 1 is decided once for
all parts, by the user or by whether number 0 occurs in the training part, and so is the number of columns. In XMC
files (of the Extreme Classification Repository) both count from 0, and the first line, "n d k", says how many rows,
features and labels there are.
"""

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from mlrank.arrays import Features
from mlrank.datasets.dataset import Dataset
from mlrank.datasets.formats.base import Columns, Format, LoadOptions, Source, StreamRequest, WriteJob
from mlrank.datasets.formats.growth import Growth
from mlrank.datasets.formats.libsvm.numbering import find_number
from mlrank.datasets.formats.libsvm.rows import NumberedRows
from mlrank.datasets.formats.names import LabelTree, read_labels, read_names
from mlrank.datasets.formats.room import MOST_COLUMNS, check_columns
from mlrank.datasets.formats.text import LineBlock, read_blocks, shown
from mlrank.datasets.formats.writing import entries, refuse_unknown
from mlrank.errors import UserError
from mlrank.labels import labels_of

__all__ = ["LIBSVM", "XMC"]

_HEADER = re.compile(rb"[ \t]*([0-9]{1,10})[ \t]+([0-9]{1,10})[ \t]+([0-9]{1,10})[ \t\r]*")


def _read_libsvm(source: Source) -> Dataset:
    """Read multi-label LIBSVM files into a csr_array; features and labels are named by their numbers as written.

    `source.name_file` may name the labels and `source.features` the features. Features count from 0 if
    `source.zero_based` is True, or None and the training part uses number 0; else from 1. Labels likewise, except
    that with False they still count from 0 where the training part uses number 0, as the files of the LIBSVM
    collection do.

    Raises
    ------
    UserError
        At the first thing that cannot be understood, with file, line and column; if a later part is wider than the
        training part; if it is unclear whether labels count from 0 or 1.
    """
    rows = NumberedRows(Growth(source.parts))
    for path in source.parts:
        rows.read(path, read_blocks(path))
    return rows.finish(source, *_names(source))


def _read_xmc(source: Source) -> Dataset:
    """Read XMC files into a csr_array; the training part's first line decides how many features and labels there are.

    Raises
    ------
    UserError
        At the first thing that cannot be understood, with file, line and column; if a file holds other numbers of
        rows, features or labels than its first line, the training part's first line or the names say.
    """
    rows, sizes = NumberedRows(Growth(source.parts)), []
    for path in source.parts:
        (n_rows, *size), blocks = _header(path)
        sizes.append(size)
        before = int(rows.state[0])
        rows.read(path, blocks)
        if (n_read := int(rows.state[0]) - before) != n_rows:
            raise UserError(f"the first line says {n_rows} rows, the file has {n_read}", path, 1, 1)
        if size != sizes[0]:
            expected = "{} features and {} labels".format(*sizes[0])
            message = f"{source.parts[0].name} has {expected}; the first line here says other numbers"
            raise UserError(message, path, 1, 1)
    trees = _names(source)
    for tree, number, what in zip(trees, (sizes[0][1], sizes[0][0]), ("labels", "features"), strict=True):
        if tree and len(tree.names) != number:
            raise UserError(f"names {len(tree.names)} {what}, {source.parts[0].name} has {number}", tree.path)
    return rows.finish(source, *trees, declared=(sizes[0][0], sizes[0][1]))


def _names(source: Source) -> tuple[LabelTree | None, LabelTree | None]:
    """Read the files that name labels and features."""
    labels = read_labels(source.name_file) if source.name_file else None
    return labels, read_names(source.features, "feature") if source.features else None


def _header(path: Path) -> tuple[list[int], Iterator[LineBlock]]:
    """Read the first line of an XMC file; return [rows, features, labels] and the blocks behind it."""
    blocks = read_blocks(path)
    first = next(blocks, None)
    if first is None:
        raise UserError("holds no rows", path)
    line, _, rest = first.text.partition(b"\n")
    match = _HEADER.fullmatch(line)
    if not match:
        expected = "expected the first line of an XMC file: numbers of rows, features and labels"
        raise UserError(f"{expected}, found {shown(line.strip())}", path, 1, 1)
    numbers = [int(number) for number in match.groups()]
    for what, number in zip(MOST_COLUMNS, numbers[1:], strict=True):
        if not 0 < number <= MOST_COLUMNS[what]:
            raise UserError(f"{number} {what}s: possible are 1 to {MOST_COLUMNS[what]}", path, 1, 1)
        check_columns(number, what, path)
    return numbers, chain([LineBlock(path, rest, 2)] if rest else [], blocks)


def _stream_libsvm(request: StreamRequest) -> Iterator[Features]:
    return _stream(request, request.zero_based, read_blocks(request.path), 0)


def _stream_xmc(request: StreamRequest) -> Iterator[Features]:
    zero_based = True if request.zero_based is None else request.zero_based
    return _stream(request, zero_based, _header(request.path)[1], 1)


def _stream(
    request: StreamRequest, zero_based: bool | None, blocks: Iterator[LineBlock], skip: int
) -> Iterator[Features]:
    selection = request.selection
    numbers = selection.numbers(zero_based, request.path)
    n_unused = 0
    for X, start, in_order in _numbered_blocks(request, blocks):
        columns = numbers.columns(X.indices)
        if (wrong := np.flatnonzero(columns == -2)).size:
            _refuse(request.path, X, start, int(wrong[0]), 1, numbers.refusal(int(X.indices[wrong[0]])), skip)
        if not in_order and (again := _repeated(X)) is not None:
            _refuse(request.path, X, start, again, 2, f"feature {X.indices[again]} occurs twice in this row", skip)
        kept = columns >= 0
        n_unused += int((~kept).sum())
        indptr = np.concatenate([[0], np.cumsum(kept)])[X.indptr].astype(np.int32)
        parts = (X.data[kept], columns[kept].astype(np.int32), indptr)
        yield csr_array(parts, shape=(X.shape[0], len(selection.features)))
    if n_unused:
        request.notes.append(f"{n_unused} entries are of features that {selection.owner} does not use, and left out")


def _numbered_blocks(request: StreamRequest, blocks: Iterator[LineBlock]) -> Iterator[tuple[csr_array, int, bool]]:
    """Yield the features of a file's rows, as many at a time as so many bytes of text hold, and ignore labels.

    Yields
    ------
    rows : csr_array, its columns numbered as written and in the order written
    start : int
        Number of the first row in the file, counted from 0.
    in_order : bool
        Whether the numbers of each row rise; otherwise one may occur twice.

    Raises
    ------
    UserError
        At the first thing that cannot be understood, with file, line and column; if the file holds no rows.
    """
    rows, size, start = NumberedRows(Growth(())), 0, 0
    for block in blocks:
        if size == 0:
            rows.state[3] = block.line - 1
        rows.read_block(block)
        size += len(block.text)
        if size >= request.n_bytes and rows.state[0]:
            yield rows.as_written(), start, not rows.state[5]
            start += int(rows.state[0])
            empty_line, rows, size = rows.state[4], NumberedRows(Growth(())), 0
            rows.state[4] = empty_line
    if rows.state[0]:
        yield rows.as_written(), start, not rows.state[5]
    elif start == 0:
        raise UserError("holds no rows", request.path)


def _repeated(X: csr_array) -> int | None:
    """Return the place of the second of two equal numbers in a row; None if there is none."""
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    order = np.lexsort((X.indices, rows))
    twice = np.flatnonzero((np.diff(X.indices[order]) == 0) & (np.diff(rows[order]) == 0))
    return int(order[twice[0] + 1]) if twice.size else None


def _refuse(path: Path, X: csr_array, start: int, entry: int, times: int, message: str, skip: int) -> None:
    row = start + int(np.searchsorted(X.indptr, entry, side="right")) - 1
    line, column = find_number(path, row, "feature", int(X.indices[entry]), times, skip)
    raise UserError(message, path, line, column)


def _write_libsvm(job: WriteJob) -> LoadOptions:
    refuse_unknown(job.dataset, "libsvm")
    for path, rows in job.parts():
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(_line(job.dataset, row, 1) for row in rows)
    return job.options(format="libsvm", zero_based=False, **_write_names(job))


def _write_xmc(job: WriteJob) -> LoadOptions:
    data = job.dataset
    refuse_unknown(data, "xmc")
    for path, rows in job.parts():
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{len(rows)} {data.n_features} {data.n_labels}\n")
            file.writelines(_line(data, row, 0) for row in rows)
    return job.options(format="xmc", **_write_names(job))


def _line(data: Dataset, row: int, base: int) -> str:
    labels = ",".join(str(base + label) for label in labels_of(data.Y, row))
    return labels + " " + " ".join(f"{base + column}:{value!r}" for column, value in entries(data, row)) + "\n"


def _write_names(job: WriteJob) -> dict[str, Path]:
    files = {"labels": job.beside(".labels.txt"), "features": job.beside(".features.txt")}
    for path, names in zip(files.values(), (job.dataset.label_names, job.dataset.feature_names), strict=True):
        for name in names:
            if name != name.strip() or not name or "\n" in name:
                raise UserError(f"the name {shown(name)} does not fit on a line of its own")
        path.write_text("\n".join(names) + "\n", encoding="utf-8", newline="\n")
    return files


def _row_lines(path: Path) -> Iterator[int]:
    for block in read_blocks(path):
        for number, line in enumerate(block.text.split(b"\n")[:-1], start=block.line):
            # A row of nothing at all is a blank; a line that is empty altogether is none.
            if line not in (b"", b"\r") and not line.lstrip().startswith(b"#"):
                yield number


def _sniff(path: Path, source: Source) -> str:
    """Return "xmc" for a file whose first line is three numbers, which no row of a LIBSVM file is."""
    first = next(read_blocks(path), None)
    return "xmc" if first is not None and _HEADER.fullmatch(first.text.partition(b"\n")[0]) else "libsvm"


LIBSVM = Format(
    key="libsvm",
    endings=(".svm", ".libsvm", ".svmlight", ".dat", ".txt"),
    options=("labels", "features", "zero_based"),
    read=_read_libsvm,
    stream=_stream_libsvm,
    write=_write_libsvm,
    written=".svm",
    sniff=_sniff,
    numbered=True,
    row_lines=_row_lines,
)
XMC = Format(
    key="xmc",
    endings=(".xmc",),
    options=("labels", "features"),
    read=_read_xmc,
    stream=_stream_xmc,
    write=_write_xmc,
    written=".txt",
    no_effect={"zero_based": "zero_based is for LIBSVM files; XMC files always count from 0"},
    numbered=True,
    columns=lambda path: Columns(head=1),
    row_lines=lambda path: (line for line in _row_lines(path) if line > 1),
)
