"""Printing what a results folder holds."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlrank.records import RunRecord
    from mlrank.tables import FinishedExperiment

__all__ = ["show_failures", "show_run"]


def show_run(finished: "FinishedExperiment", as_json: bool) -> int:
    """Print the tables of a run, or its records as JSON, and return the exit code: 2 if a fit failed."""
    from mlrank.cli.grids import print_grids
    from mlrank.records import dump_json
    from mlrank.tables import to_grid

    if as_json:
        print(dump_json([record.to_json() for record in finished.records]), end="")
    else:
        print_grids([to_grid(table) for table in finished.tables], "rich")
        print(f"written to {finished.folder.path}: runs/, tables/*.md, *.tex, *.csv")
    return show_failures(finished.records)


def show_failures(records: Sequence["RunRecord"]) -> int:
    """Print to stderr which runs failed, and in which searches fits did; return the exit code."""
    for record in records:
        if not record.done:
            print(f"mlrank: {record.label} failed: {record.reason}", file=sys.stderr)
        elif record.search.n_failed:
            share = f"{record.search.n_failed} of {record.search.n_trials} fits of the search failed"
            print(f"mlrank: {record.label}: {share}; mlrank status says why", file=sys.stderr)
    return 2 if any(record.n_failed for record in records) else 0
