"""The page itself: what the template is filled with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mlrank.errors import UserError
from mlrank.metrics import METRICS
from mlrank.plots import Material
from mlrank.report.drawings import drawings
from mlrank.report.grids import certificates, failures, settings
from mlrank.stats import (
    cautions_of_datasets,
    cautions_of_splits,
    compare_datasets,
    compare_splits,
    gather,
    say_datasets,
    say_splits,
)
from mlrank.tables import Table, build_tables, grid_to_html, to_grid

__all__ = ["LIMIT_BYTES", "Report", "render_report"]

# A page stays below this; figures get what the rest leaves.
LIMIT_BYTES = 2_000_000
_COSTS = ("fit_seconds", "threshold_seconds", "predict_seconds", "search_seconds", "peak_memory")


@dataclass(frozen=True)
class Report:
    """What a report is made from.

    Parameters
    ----------
    name : str
        Of the experiment.
    records : run records of the present configuration
    n_planned : int or None
        Number of runs that the configuration asks for, where known.
    config : str
        The resolved configuration as YAML.
    environments : per experiment, what its environment.json holds
    material : what figures are drawn from
    version : str
        Of mlrank, which makes the page.
    """

    name: str
    records: Sequence[Mapping[str, Any]]
    n_planned: int | None
    config: str
    environments: Mapping[str, Mapping[str, Any]]
    material: Material
    version: str
    metrics: Sequence[str] = field(default_factory=list)


def render_report(report: Report) -> str:
    """Return one HTML page that needs nothing else, smaller than LIMIT_BYTES unless its tables alone are larger."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("mlrank.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.get_template("report.html")
    context = _context(report)
    bare = len(template.render(context, figures=[], not_drawn=[]).encode())
    figures, not_drawn = drawings(report.material, LIMIT_BYTES - bare - 50_000)
    return template.render(context, figures=figures, not_drawn=not_drawn)


def _context(report: Report) -> dict[str, Any]:
    records, environments = report.records, report.environments
    tables = build_tables(records, report.metrics, environments)
    full = build_tables(records, list(METRICS), environments)
    costs = build_tables(records, _COSTS, environments)
    return {
        "name": report.name,
        "version": report.version,
        "facts": _facts(report),
        "stand_in": [table.dataset for table in tables if table.stand_in],
        "findings": [line for table in tables for line in _best(table)],
        "tables": [
            {"dataset": t.dataset, "short": _html(t), "full": _html(f), "costs": _html(c)}
            for t, f, c in zip(tables, full, costs, strict=True)
        ],
        "comparisons": [_comparison(records, metric) for metric in report.metrics],
        "settings": grid_to_html(settings(records)),
        "certificates": grid_to_html(certificates(records)),
        "failures": failures(records),
        "environment": _flat(next(iter(environments.values()), {})),
        "config": report.config,
    }


def _html(table: Table) -> str:
    return grid_to_html(to_grid(table))


def _facts(report: Report) -> list[tuple[str, str]]:
    """Return the first lines: how much there is, and how it went."""
    records = report.records
    done = [record for record in records if record["status"] == "done"]
    early = sum(not record["info"]["converged"] for record in done)
    trials = sum(record["search"]["n_trials"] for record in records)
    failed = sum(record["search"]["n_failed"] for record in records)
    of = "" if report.n_planned is None else f" of {report.n_planned} planned"
    seconds = sum(record["time"].get(part) or 0.0 for record in records for part in ("search", "fit", "threshold"))
    return [
        ("data sets", ", ".join(dict.fromkeys(record["dataset"]["name"] for record in records))),
        ("methods", ", ".join(dict.fromkeys(record["method"] for record in records))),
        ("splits", str(len({(record["dataset"]["name"], record["split"]) for record in records}))),
        ("runs", f"{len(done)} done{of}, {len(records) - len(done)} failed"),
        ("fits that stopped before their tolerance (†)", f"{early} of {len(done)}"),
        ("search trials", f"{trials}, {failed} failed"),
        ("time of all fits", f"{seconds:.3g} s, one after the other"),
        ("commit", ", ".join(sorted({(record["software"]["commit"] or "none")[:12] for record in records}))),
    ]


def _best(table: Table) -> list[str]:
    """Return which method is best in each metric of a table."""
    lines = []
    for place, metric in enumerate(table.metrics):
        best = [row for row in table.rows if row.cells[place].best]
        if best:
            names = " and ".join(row.label for row in best)
            lines.append(f"{metric} on {table.dataset}: {names} ({best[0].cells[place].value:.4f})")
    return lines


def _comparison(records: Sequence[Mapping[str, Any]], metric: str) -> dict[str, Any]:
    """Return what tests say in one metric."""
    try:
        repeats, left_out = gather(records, metric)
    except UserError as error:
        return {"metric": metric, "sentences": [], "cautions": [f"no comparison: {error}"]}
    sentences: list[str] = []
    cautions = list(left_out)
    if len(repeats) > 1:
        over = compare_datasets(repeats)
        sentences += say_datasets(over)
        cautions += cautions_of_datasets(over)
    for part in repeats:
        compared = compare_splits(part)
        sentences += say_splits(compared)
        cautions += cautions_of_splits(compared)
    return {"metric": metric, "sentences": sentences, "cautions": list(dict.fromkeys(cautions))}


def _flat(value: Any, before: str = "") -> list[tuple[str, str]]:
    """Return nested values as pairs of a dotted name and a text."""
    if isinstance(value, Mapping):
        return [pair for name, part in value.items() for pair in _flat(part, f"{before}.{name}" if before else name)]
    if isinstance(value, list) and any(isinstance(part, Mapping) for part in value):
        return [pair for number, part in enumerate(value) for pair in _flat(part, f"{before}.{number}")]
    return [(before, "none" if value is None else str(value))] if before else []
