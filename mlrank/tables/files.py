"""Tables beside the runs they were made from, and what the folder says of the machine."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mlrank.errors import UserError
from mlrank.metrics import METRICS
from mlrank.records import RunFolder, safe_name
from mlrank.records.atomic import os_errors
from mlrank.tables.build import build_tables
from mlrank.tables.render import render

__all__ = ["environments_of", "write_tables"]


def write_tables(folder: RunFolder, records: Sequence[Mapping[str, Any]], metrics: Sequence[str]) -> list[Path]:
    """Write ``tables/<dataset>.md``, ``.tex`` (the metrics given) and ``.csv`` (every metric); return their paths.

    Parameters
    ----------
    folder : the results folder of one experiment
    records : its run records
    metrics : the metrics that the Markdown and LaTeX tables show
    """
    written = []
    environments = environments_of(folder, records)
    shown_tables = build_tables(records, metrics, environments)
    for shown, full in zip(shown_tables, build_tables(records, list(METRICS)), strict=True):
        name = f"tables/{safe_name(shown.dataset)}"
        written.append(folder.write_text(f"{name}.md", render([shown], "md")))
        written.append(folder.write_text(f"{name}.tex", render([shown], "latex")))
        written.append(folder.write_text(f"{name}.csv", render([full], "csv")))
    return written


def environments_of(folder: RunFolder, records: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what the folder's environment.json holds, for each experiment of the records; nothing if it has none.

    Raises
    ------
    UserError
        If the file is damaged.
    """
    path = folder.path / "environment.json"
    if not path.exists():
        return {}
    with os_errors("read the environment", path):
        content = path.read_bytes()
    try:
        found = json.loads(content)
        named = {key: found[key] for key in ("python", "versions", "cpu", "cores", "blas")}
    except (ValueError, KeyError, TypeError) as error:
        message = "damaged record of the environment; start the experiment again to have it made"
        raise UserError(message, path) from error
    return {record["experiment"]: {**found, **named} for record in records}
