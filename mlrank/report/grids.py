"""The tables of a report that have a row for each run: chosen settings, certificates, failures."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from mlrank.metrics import METRICS
from mlrank.records.run import RunRecord, SetsInfo, ThresholdInfo
from mlrank.tables import Grid, Shown, build_tables, show_value

__all__ = ["FailedRun", "certificates", "failures", "matrix", "settings"]

NONE = "-"


def settings(records: Sequence[RunRecord]) -> Grid:
    """Return what each run's search chose, its value, and the settings that were fixed."""
    rows = []
    for record in records:
        search, searched = record.search, record.searched
        fixed = {name: value for name, value in record.settings.items() if name not in searched}
        best = search.best
        rows.append(
            (
                *_named(record),
                Shown(_listed(searched) or NONE),
                Shown(NONE if best is None else f"{best:.4f} {search.metric}", value=best),
                _count(search.n_trials),
                Shown(_threshold(record.threshold, record.sets)),
                Shown(_listed(fixed) or NONE),
            )
        )
    header = ("method", "dataset", "split", "chosen", "by the search", "trials", "threshold", "other settings")
    return Grid("What each run was made with", header, "llllrrll", tuple(rows), ())


def certificates(records: Sequence[RunRecord]) -> Grid:
    """Return how far each finished fit came, how long it took, and what it says about itself."""
    rows = []
    for record in records:
        if not record.done:
            continue
        info, seconds = record.fit, record.time.fit
        optimality, objective = info.optimality, info.objective
        rows.append(
            (
                *_named(record),
                Shown("yes" if info.converged else "no †"),
                Shown(
                    NONE if optimality is None else f"{optimality:.1e} {info.certificate or ''}".rstrip(),
                    value=optimality,
                ),
                _count(info.n_iter),
                Shown(NONE if objective is None else f"{objective:.6g}", value=objective),
                Shown(NONE if seconds is None else f"{seconds:.3g}", value=seconds),
                Shown("; ".join(info.notes) or NONE),
            )
        )
    header = (
        *("method", "dataset", "split", "reached its tolerance", "certificate", "iterations", "objective"),
        *("fit (s)", "notes"),
    )
    note = "The certificate bounds the distance from the optimum by the kind named ('mlrank explain SOLVER --run RUN')."
    return Grid("How far each fit came", header, "llllrrrrl", tuple(rows), (note,))


def matrix(records: Sequence[RunRecord], metric: str) -> Grid:
    """Return methods by data sets in a metric: the mean over the splits with its rank, and mean ranks, 1 = best.

    A method without a value on a data set has no rank there; mean ranks are over the data sets that rank all methods.
    """
    from scipy.stats import rankdata

    tables = build_tables(records, [metric])
    labels = list(dict.fromkeys(row.label for table in tables for row in table.rows))
    sign = METRICS[metric].sign
    columns = [{row.label: row.cells[0].value for row in table.rows} for table in tables]
    ranks: list[dict[str, float]] = []
    for column in columns:
        known = {label: value for label, value in column.items() if value is not None}
        ranks.append(dict(zip(known, map(float, rankdata([-sign * value for value in known.values()])), strict=True)))
    whole = [found for found in ranks if len(found) == len(labels)]
    means = {label: fmean(found[label] for found in whole) for label in labels} if whole else {}
    rows = []
    for label in labels:
        cells = [_ranked(column.get(label), found.get(label)) for column, found in zip(columns, ranks, strict=True)]
        mean = means.get(label)
        last = Shown(NONE) if mean is None else Shown(f"{mean:.2f}", mean == min(means.values()), value=mean)
        rows.append((Shown(label), *cells, last))
    header = ("method", *(table.dataset for table in tables), "mean rank")
    return Grid(metric, header, "l" + "r" * (len(tables) + 1), tuple(rows), ())


def _ranked(value: float | None, rank: float | None) -> Shown:
    if value is None or rank is None:
        return Shown(NONE)
    return Shown(f"{value:.4f} ({rank:g})", rank == 1, value=value)


class FailedRun(NamedTuple):
    """A run that failed: where, the last line of its traceback, and all of it."""

    where: str
    reason: str
    traceback: str


def failures(records: Sequence[RunRecord]) -> list[FailedRun]:
    """Return the runs that failed."""
    return [FailedRun(record.label, record.reason, record.error or "") for record in records if not record.done]


def _named(record: RunRecord) -> tuple[Shown, ...]:
    return Shown(record.method), Shown(record.dataset.name), Shown(record.split)


def _count(number: int | None) -> Shown:
    return Shown(NONE if number is None else str(number), value=None if number is None else float(number))


def _listed(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={show_value(value)}" for name, value in values.items())


def _threshold(threshold: ThresholdInfo, sets: SetsInfo | None) -> str:
    natural = {} if sets is None or sets.natural_cut is None else {"value": sets.natural_cut}
    settings = _listed({**threshold.settings, **natural})
    star = "*" if threshold.oracle else ""
    return f"{threshold.kind}{star}{f' ({settings})' if settings else ''}"
