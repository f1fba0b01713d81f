"""The page itself: what the template is filled with."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from mlrank.errors import UserError, escaped_lines
from mlrank.metrics import METRICS
from mlrank.plots import KINDS, Material
from mlrank.plots.canvas import COLORS, DARK_COLORS
from mlrank.records.run import RunRecord
from mlrank.report.drawings import drawings
from mlrank.report.grids import certificates, failures, matrix, settings
from mlrank.stats import (
    cautions_of_datasets,
    cautions_of_splits,
    compare_datasets,
    compare_splits,
    gather,
    say_datasets,
    say_splits,
)
from mlrank.tables import ResultTable, build_tables, grid_to_html, software_facts, to_grid

__all__ = ["LIMIT_BYTES", "Progress", "ReportInput", "render_report"]

# A page stays below this; figures get what the rest leaves.
LIMIT_BYTES = 2_000_000
_COSTS = ("fit_seconds", "threshold_seconds", "predict_seconds", "search_seconds", "peak_memory")


class Progress(NamedTuple):
    """How far a run is: its runs and fits that are done, whether a process is at a fit, failures of fits, and when."""

    runs: int
    planned: int | None
    fits: int
    at_work: bool
    failures: Mapping[str, int]
    at: str


@dataclass(frozen=True)
class ReportInput:
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
    material : what figures are drawn from
    version : str
        Of mlrank, which makes the page.
    metrics : names of the metrics that tables show
    progress : Progress or None
        Of a run that goes on: the page then follows the file, and figures are left for its end.
    """

    name: str
    records: Sequence[RunRecord]
    n_planned: int | None
    config: str
    material: Material
    version: str
    metrics: Sequence[str] = field(default_factory=list)
    progress: Progress | None = None


def render_report(report: ReportInput) -> str:
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
    if report.progress is not None:
        return escaped_lines(template.render(context, figures=[], not_drawn=["figures: drawn when the run is done"]))
    drawn, not_drawn = drawings(report.material, LIMIT_BYTES - bare - 50_000)
    kinds = [(KINDS[kind], [one for one in drawn if one.kind == kind]) for kind in dict.fromkeys(d.kind for d in drawn)]
    return escaped_lines(template.render(context, figures=kinds, not_drawn=not_drawn))


def _context(report: ReportInput) -> dict[str, object]:
    records = report.records
    tables = build_tables(records, report.metrics)
    full = build_tables(records, list(METRICS))
    costs = build_tables(records, _COSTS)
    return {
        "name": report.name,
        "version": report.version,
        "facts": _facts(report),
        "stand_in": [table.dataset for table in tables if table.stand_in],
        "matrices": [(metric, grid_to_html(matrix(records, metric))) for metric in report.metrics if records],
        "progress": report.progress,
        "tables": [
            {"dataset": t.dataset, "short": _html(t), "full": _html(f), "costs": _html(c)}
            for t, f, c in zip(tables, full, costs, strict=True)
        ],
        "comparisons": [_comparison(records, metric) for metric in report.metrics],
        "settings": grid_to_html(settings(records)),
        "certificates": grid_to_html(certificates(records)),
        "failures": failures(records),
        "colors": COLORS,
        "dark_colors": DARK_COLORS,
        "environment": list(_environment(records)),
        "config": report.config,
    }


def _html(table: ResultTable) -> str:
    return grid_to_html(to_grid(table))


def _facts(report: ReportInput) -> list[tuple[str, str]]:
    """Return the first lines: how much there is, and how it went."""
    records = report.records
    done = [record for record in records if record.done]
    early = sum(not record.fit.converged for record in done)
    trials = sum(record.search.n_trials for record in records)
    failed = sum(record.search.n_failed for record in records)
    of = "" if report.n_planned is None else f" of {report.n_planned} planned"
    seconds = sum(
        part or 0.0 for time in (record.time for record in records) for part in (time.search, time.fit, time.threshold)
    )
    return [
        ("data sets", ", ".join(dict.fromkeys(record.dataset.name for record in records))),
        ("methods", ", ".join(dict.fromkeys(record.method for record in records))),
        ("splits", str(len({(record.dataset.name, record.split) for record in records}))),
        ("runs", f"{len(done)} done{of}, {len(records) - len(done)} failed"),
        ("fits that stopped before their tolerance (†)", f"{early} of {len(done)}"),
        ("search trials", f"{trials}, {failed} failed"),
        ("time of all fits", f"{seconds:.3g} s, one after the other"),
        ("commit", ", ".join(sorted({(record.software.commit or "none")[:12] for record in records}))),
    ]


class _MetricComparison(NamedTuple):
    """What tests find in one metric, in sentences, and what their reader must know."""

    metric: str
    sentences: list[str]
    cautions: list[str]


def _comparison(records: Sequence[RunRecord], metric: str) -> _MetricComparison:
    try:
        repeats, left_out = gather(records, metric)
    except UserError as error:
        return _MetricComparison(metric, [], [f"no comparison: {error}"])
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
    return _MetricComparison(metric, sentences, list(dict.fromkeys(cautions)))


def _environment(records: Sequence[RunRecord]) -> Iterator[tuple[str, str]]:
    """Yield what the runs were made with, by name; several values where runs differ."""
    values: dict[str, dict[str, None]] = {}
    for record in records:
        machine = {"machine": record.time.machine} if record.time.machine else {}
        for name, value in (software_facts(record.software) | machine).items():
            values.setdefault(name, {})[value] = None
    return ((name, "; ".join(found)) for name, found in values.items())
