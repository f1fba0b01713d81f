"""Tables beside the runs they were made from."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mlrank.metrics import METRICS
from mlrank.results import RunFolder, safe_name
from mlrank.tables.build import build_tables
from mlrank.tables.render import render

__all__ = ["write_tables"]


def write_tables(folder: RunFolder, records: Sequence[Mapping[str, Any]], metrics: Sequence[str]) -> list[Path]:
    """Write ``tables/<dataset>.md``, ``.tex`` (the metrics given) and ``.csv`` (every metric); return their paths.

    Parameters
    ----------
    folder : the results folder of one experiment
    records : its run records
    metrics : the metrics that the Markdown and LaTeX tables show
    """
    written = []
    for shown, full in zip(build_tables(records, metrics), build_tables(records, list(METRICS)), strict=True):
        name = f"tables/{safe_name(shown.dataset)}"
        written.append(folder.write_text(f"{name}.md", render([shown], "md")))
        written.append(folder.write_text(f"{name}.tex", render([shown], "latex")))
        written.append(folder.write_text(f"{name}.csv", render([full], "csv")))
    return written
