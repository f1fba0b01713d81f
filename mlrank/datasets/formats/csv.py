"""Tables of text: comma-separated values (CSV), usually with a line of names; other separators are seen in it.

The label columns are named by label_columns, by a file of label names, or lie in a file of their own; see `frames` for
what cells may hold. TSV shares the functions here.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

from mlrank.arrays import Features, as_dense
from mlrank.datasets.dataset import Dataset
from mlrank.datasets.formats.base import Columns, Format, LoadOptions, Source, StreamRequest, WriteJob
from mlrank.datasets.formats.frames import (
    COLUMN_OPTIONS,
    labels_elsewhere,
    open_table,
    read_tables,
    stream_tables,
)
from mlrank.datasets.formats.text import read_blocks, shown
from mlrank.datasets.formats.writing import described_rows, label_cells, refuse_wide
from mlrank.errors import UserError

__all__ = ["CSV", "read_table", "row_lines", "stream_table", "write_table"]


def read_table(source: Source, key: str) -> Dataset:
    """Read tables of separated text, of the format `key`.

    Raises
    ------
    UserError
        At the first thing that cannot be understood, with file, line and column.
    """
    tables = [open_table(path, key, source.separator, source.header) for path in source.parts]
    return read_tables(source, tables, labels_elsewhere(source))


def stream_table(request: StreamRequest, key: str) -> Iterator[Features]:
    """Yield the selected features of a table of the format `key` block by block."""
    style = request.style
    return stream_tables(request, open_table(request.path, key, style.separator, style.header))


def write_table(job: WriteJob, key: str, separator: str = ",") -> LoadOptions:
    """Write a table: ids, groups and folds, the features, then the labels; an unknown label entry is an empty cell.

    Raises
    ------
    UserError
        If a name does not fit into the header line, or the table would be too large.
    """
    data = job.dataset
    refuse_wide(data, key)
    described, options = described_rows(data)
    for name in (*data.feature_names, *data.label_names):
        if "\n" in name:
            raise UserError(f"the name {shown(name)} does not fit into a header line")
    names = [*described, *data.feature_names, *data.label_names]
    for path, rows in job.parts():
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter=separator, lineterminator="\n")
            writer.writerow(names)
            for row in rows:
                values = as_dense(data.X[[row]])[0].tolist()
                cells = [cell.replace("?", "") for cell in label_cells(data, row)]
                writer.writerow([*(column[row] for column in described.values()), *map(repr, values), *cells])
    # Names that are all numbers look like a row.
    header = {"header": True} if all(name.strip().isdigit() for name in names) else {}
    return job.options(format=key, label_columns=list(data.label_names), **options, **header)


def row_lines(path: Path) -> Iterator[int]:
    """Yield the numbers of the lines that are rows."""
    for block in read_blocks(path):
        for number, line in enumerate(block.text.split(b"\n")[:-1], start=block.line):
            if number > 1 and line.strip():
                yield number


CSV = Format(
    key="csv",
    endings=(".csv",),
    options=(*COLUMN_OPTIONS, "header", "separator"),
    read=lambda source: read_table(source, "csv"),
    stream=lambda request: stream_table(request, "csv"),
    write=lambda job: write_table(job, "csv"),
    written=".csv",
    by_columns="csv",
    columns=lambda path: Columns(head=1),
    row_lines=row_lines,
)
