"""The reference benchmark: run in pieces, published with its rows, and compared with by whoever has another method."""

from mlrank.benchmark.own import SMALL, benchmark_config, own_config
from mlrank.benchmark.pieces import Pieces
from mlrank.benchmark.published import (
    CELLS,
    benchmark_folder,
    benchmark_frame,
    check_same,
    in_metrics,
    load_benchmark,
    published_beside,
    published_records,
    write_table,
)
from mlrank.benchmark.rows import check_rows, read_rows, rows_of, write_rows

__all__ = [
    "CELLS",
    "SMALL",
    "Pieces",
    "benchmark_config",
    "benchmark_folder",
    "benchmark_frame",
    "check_rows",
    "check_same",
    "in_metrics",
    "load_benchmark",
    "own_config",
    "published_beside",
    "published_records",
    "read_rows",
    "rows_of",
    "write_rows",
    "write_table",
]
