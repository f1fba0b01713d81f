"""Tables beside the runs they were made from."""

from collections.abc import Sequence
from typing import NamedTuple

from mlrank.metrics import METRICS, own_names
from mlrank.records import RunFolder, safe_name
from mlrank.records.run import RunRecord
from mlrank.tables.build import build_tables
from mlrank.tables.render import render
from mlrank.tables.resulttable import ResultTable

__all__ = ["FinishedExperiment", "write_tables"]


class FinishedExperiment(NamedTuple):
    """An experiment that has run: its results folder, its run records, and the tables that were written."""

    folder: RunFolder
    records: Sequence[RunRecord]
    tables: Sequence[ResultTable]


def write_tables(folder: RunFolder, metrics: Sequence[str]) -> FinishedExperiment:
    """Write ``tables/<dataset>.md``, ``.tex`` (the metrics given) and ``.csv`` (every metric).

    Parameters
    ----------
    folder : the results folder of one experiment
    metrics : the metrics that the Markdown and LaTeX tables show
    """
    records = folder.runs()
    tables = build_tables(records, metrics)
    for shown, full in zip(tables, build_tables(records, [*METRICS, *own_names(metrics)]), strict=True):
        name = f"tables/{safe_name(shown.dataset)}"
        folder.write_text(f"{name}.md", render([shown], "md"))
        folder.write_text(f"{name}.tex", render([shown], "latex"))
        folder.write_text(f"{name}.csv", render([full], "csv"))
    return FinishedExperiment(folder, records, tables)
