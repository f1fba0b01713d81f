"""Tables of tab-separated values (TSV) with one header line, otherwise as CSV."""

from mlrank.datasets.formats.base import Columns, Format
from mlrank.datasets.formats.csv import read_table, row_lines, stream_table, write_table
from mlrank.datasets.formats.frames import COLUMN_OPTIONS

__all__ = ["TSV"]

TSV = Format(
    key="tsv",
    endings=(".tsv",),
    options=(*COLUMN_OPTIONS, "header", "separator"),
    read=lambda source: read_table(source, "tsv"),
    stream=lambda request: stream_table(request, "tsv"),
    write=lambda job: write_table(job, "tsv", "\t"),
    written=".tsv",
    by_columns="tsv",
    columns=lambda path: Columns(head=1),
    row_lines=row_lines,
)
