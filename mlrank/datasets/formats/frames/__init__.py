"""Tables of named columns as people have them, through pandas: what cells may hold, and what columns are."""

from mlrank.datasets.formats.frames.joined import JoinedTable, open_table
from mlrank.datasets.formats.frames.label_files import labels_elsewhere
from mlrank.datasets.formats.frames.parquet_table import ParquetTable
from mlrank.datasets.formats.frames.reading import COLUMN_OPTIONS, read_tables
from mlrank.datasets.formats.frames.streaming import stream_tables
from mlrank.datasets.formats.frames.tables import FrameTable, Table, TextTable, check_names

__all__ = [
    "COLUMN_OPTIONS",
    "FrameTable",
    "JoinedTable",
    "ParquetTable",
    "Table",
    "TextTable",
    "check_names",
    "labels_elsewhere",
    "open_table",
    "read_tables",
    "stream_tables",
]
