"""Tables beside the runs they were made from."""

from collections.abc import Sequence

from mlrank.metrics import METRICS
from mlrank.records import RunFolder, safe_name
from mlrank.records.run import RunRecord
from mlrank.tables.build import build_tables
from mlrank.tables.render import render
from mlrank.tables.resulttable import ResultTable

__all__ = ["write_tables"]


def write_tables(folder: RunFolder, records: Sequence[RunRecord], metrics: Sequence[str]) -> list[ResultTable]:
    """Write ``tables/<dataset>.md``, ``.tex`` (the metrics given) and ``.csv`` (every metric).

    Parameters
    ----------
    folder : the results folder of one experiment
    records : its run records
    metrics : the metrics that the Markdown and LaTeX tables show

    Returns
    -------
    list of ResultTable, those of the metrics given
    """
    tables = build_tables(records, metrics)
    for shown, full in zip(tables, build_tables(records, list(METRICS)), strict=True):
        name = f"tables/{safe_name(shown.dataset)}"
        folder.write_text(f"{name}.md", render([shown], "md"))
        folder.write_text(f"{name}.tex", render([shown], "latex"))
        folder.write_text(f"{name}.csv", render([full], "csv"))
    return tables
