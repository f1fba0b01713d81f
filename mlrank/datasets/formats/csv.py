"""Tables of text: comma-separated values (CSV) with one header line, whose names may be quoted.

The label columns are named by a file of label names or by label_columns. Cells are numbers, labels 0 or 1. A cell that
is empty or ? is missing. Other separators (TSV) share the functions here.
"""

import csv
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from mlrank.arrays import Features, as_dense
from mlrank.datasets.dataset import Dataset
from mlrank.datasets.formats.base import Columns, Format, LoadOptions, Source, StreamRequest, WriteJob, as_dataset
from mlrank.datasets.formats.cell_rows import DenseCells, labels_aside, stream_cells
from mlrank.datasets.formats.growth import Growth
from mlrank.datasets.formats.layout import Attribute, TableHeader, columns_layout, make_plan
from mlrank.datasets.formats.names import read_labels, repeated
from mlrank.datasets.formats.room import check_columns
from mlrank.datasets.formats.text import LineBlock, read_blocks, shown
from mlrank.datasets.formats.writing import label_cells, refuse_wide
from mlrank.errors import UserError

__all__ = ["CSV", "label_columns", "read_table", "row_lines", "stream_table", "table_header", "write_table"]

_NAMES = {",": "comma", "\t": "tab"}


def read_table(source: Source, separator: str = ",") -> Dataset:
    """Read tables with one header line.

    Raises
    ------
    UserError
        At the first thing that cannot be understood, with file, line and column.
    """
    header, blocks = _open(source.parts[0], separator)
    layout = columns_layout(header, label_columns(source))
    rows = DenseCells(len(layout.feature_names), len(layout.label_names), Growth(source.parts))
    sizes = []
    for place, path in enumerate(source.parts):
        if place:
            header, blocks = _open(path, separator)
        plan = make_plan(header, layout, source.impute is not None, empty_is_missing=True)
        sizes.append(rows.read(blocks, plan, header))
    X, Y = rows.finish()
    known = rows.missing.known(Y.shape)
    X, fill, notes = rows.missing.fill(X, source.impute, sizes[0], layout.feature_names)
    names = layout.label_names, layout.feature_names
    return as_dataset(source, X, Y, *names, sizes, notes=notes, known=known, fill=fill)


def stream_table(request: StreamRequest, separator: str = ",") -> Iterator[Features]:
    """Yield the selected features of a table block by block."""
    header, blocks = _open(request.path, separator)
    layout = labels_aside(header, request.selection)
    return stream_cells(request, header, layout, DenseCells, blocks, empty_is_missing=True)


def write_table(job: WriteJob, key: str, separator: str = ",") -> LoadOptions:
    """Write a table: the features, then the labels; an unknown label entry is an empty cell.

    Raises
    ------
    UserError
        If a name does not fit into the header line, or the table would be too large.
    """
    data = job.dataset
    refuse_wide(data, key)
    for name in (*data.feature_names, *data.label_names):
        if "\n" in name:
            raise UserError(f"the name {shown(name)} does not fit into a header line")
    for path, rows in job.parts():
        with open(path, "w", encoding="utf-8", newline="") as file:
            names = [*data.feature_names, *data.label_names]
            csv.writer(file, delimiter=separator, lineterminator="\n").writerow(names)
            for row in rows:
                values = as_dense(data.X[[row]])[0].tolist()
                cells = [cell.replace("?", "") for cell in label_cells(data, row)]
                file.write(separator.join([*map(repr, values), *cells]) + "\n")
    return job.options(format=key, label_columns=list(data.label_names))


def label_columns(source: Source) -> int | tuple[str, ...]:
    """Return which columns of a table are labels, as the options say.

    Raises
    ------
    UserError
        If neither or both of label_columns and a file of label names are given.
    """
    if (source.labels is None) == (source.label_columns is None):
        message = (
            "a table does not say which columns are labels: give label_columns, or a file of their names as labels"
        )
        raise UserError(message if source.labels is None else "give either label_columns or labels", source.parts[0])
    if source.label_columns is not None:
        return source.label_columns
    return read_labels(source.labels).names if source.labels else ()


def table_header(path: Path, names: list[str], separator: str = ",") -> TableHeader:
    """Return the columns of a table as attributes; their names must be there and differ."""
    check_columns(len(names), "feature", path)
    for place, name in enumerate(names):
        if not name.strip():
            raise UserError(f"column {place + 1} has no name", path, 1)
        if "\0" in name:
            raise UserError(f"the column name {shown(name)} holds a NUL character", path, 1)
    if (twice := repeated(names)) is not None:
        raise UserError(f"two columns are named {shown(twice)}", path, 1)
    attributes = tuple(Attribute(name, "numeric", (), 1, 1) for name in names)
    return TableHeader(path, "", attributes, _NAMES[separator])


def row_lines(path: Path) -> Iterator[int]:
    """Yield the numbers of the lines that are rows."""
    for block in read_blocks(path):
        for number, line in enumerate(block.text.split(b"\n")[:-1], start=block.line):
            if number > 1 and line.strip():
                yield number


def _open(path: Path, separator: str) -> tuple[TableHeader, Iterator[LineBlock]]:
    """Read the header line of a table; return its columns and the blocks of rows that follow, cells between commas."""
    blocks = read_blocks(path)
    first = next(blocks, None)
    if first is None:
        raise UserError("holds no header line", path)
    line, _, rest = first.text.partition(b"\n")
    if (at := line.find(b"\0")) >= 0:
        raise UserError("a NUL byte in the header line", path, 1, at + 1)
    check_columns(line.count(separator.encode()), "feature", path)
    try:
        text = line.decode("utf-8").rstrip("\r")
        names = next(csv.reader([text], delimiter=separator, strict=True), [])
    except UnicodeDecodeError as error:
        raise UserError("not UTF-8 text; convert the file to UTF-8", path, 1, error.start + 1) from error
    except csv.Error as error:
        raise UserError(f"the header line is no {'CSV' if separator == ',' else 'TSV'}: {error}", path, 1, 1) from error
    if len(names) == 1:
        hint = next((f"; this one seems to use {shown(mark)}" for mark in ";,\t|" if mark in text), "")
        message = f"a header line of one column: columns are separated by {_NAMES[separator]}s{hint}"
        raise UserError(message, path, 1, 1)
    blocks = chain([LineBlock(path, rest, 2)] if rest else [], blocks)
    return table_header(path, names, separator), _between_commas(blocks, separator)


def _between_commas(blocks: Iterator[LineBlock], separator: str) -> Iterator[LineBlock]:
    """Yield blocks with commas as separators; refuse a comma beside another separator, and what begins a comment."""
    mark = separator.encode()
    for block in blocks:
        for wrong in (b"%",) if mark == b"," else (b"%", b","):
            if (at := block.text.find(wrong)) >= 0:
                raise block.error(at, f"found '{wrong.decode()}' where a number belongs")
        yield block if mark == b"," else LineBlock(block.path, block.text.replace(mark, b","), block.line)


CSV = Format(
    key="csv",
    endings=(".csv",),
    options=("labels", "label_columns", "impute"),
    read=read_table,
    stream=stream_table,
    write=lambda job: write_table(job, "csv"),
    written=".csv",
    by_columns="csv",
    columns=lambda path: Columns(head=1),
    row_lines=row_lines,
)
