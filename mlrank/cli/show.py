"""Printing what a results folder holds."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlrank.records import RunFolder, RunRecord

__all__ = ["show_failures", "show_run"]


def show_run(folder: "RunFolder", metrics: Sequence[str], as_json: bool) -> int:
    """Print the tables of a run, or its records as JSON, and return the exit code: 2 if a fit failed."""
    from mlrank.cli.grids import print_grids
    from mlrank.records import dump_json
    from mlrank.tables import build_tables, environments_of, to_grid

    records = folder.runs()
    if as_json:
        print(dump_json(records), end="")
    else:
        print_grids(
            [to_grid(table) for table in build_tables(records, metrics, environments_of(folder, records))], "rich"
        )
        print(f"written to {folder.path}: runs/, tables/*.md, *.tex, *.csv")
    return show_failures(records)


def show_failures(records: Sequence["RunRecord"]) -> int:
    """Print the fits that failed to stderr, and return the exit code."""
    failed = [record for record in records if not record.done]
    for record in failed:
        print(f"mlrank: {record.label} failed: {record.reason}", file=sys.stderr)
    return 2 if failed else 0
