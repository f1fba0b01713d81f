"""From run records to tables: what is averaged, what is best, what is missing."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median, stdev
from typing import Any

from mlrank.errors import UserError, unknown_name
from mlrank.metrics import METRICS
from mlrank.tables.notes import notes_of

__all__ = ["Cell", "Row", "Table", "build_tables"]

Record = Mapping[str, Any]
TIE = 1e-12


@dataclass(frozen=True)
class Cell:
    """One metric of one method.

    Parameters
    ----------
    mean : float or None
        Over the splits on which the metric is defined; None if there is none.
    std : float or None
        Of the sample (divided by n - 1); None for fewer than two splits.
    n : int
        Number of splits that entered the mean.
    best : bool
        Whether no comparable row of the table has a better mean; ties are all best.
    """

    mean: float | None
    std: float | None
    n: int
    best: bool = False


@dataclass(frozen=True)
class Row:
    """One method on one dataset.

    Parameters
    ----------
    method, solver : str
    cells : tuple of Cell, one per metric of the table
    n_done, n_failed : int
        Splits with a result, splits whose run failed; both 0 for a method without any run.
    settings : str
        The values that the search chose, the commonest over the splits.
    fit_seconds : float or None
        Median over the splits.
    optimality : float or None
        The worst certificate over the splits; None if one is unknown.
    n_not_converged : int
    oracle : bool
        Whether the threshold looks at the true labels of the rows it decides on.
    transductive : bool
        Whether the fit saw the features of the test rows.
    """

    method: str
    solver: str
    cells: tuple[Cell, ...]
    n_done: int
    n_failed: int
    settings: str
    fit_seconds: float | None
    optimality: float | None
    n_not_converged: int
    oracle: bool
    transductive: bool


@dataclass(frozen=True)
class Table:
    """The results of one experiment on one dataset.

    Parameters
    ----------
    experiment, dataset, source, title : str
    stand_in : bool
        Whether the data were generated.
    metrics : tuple of str
    n_splits : int
        Number of different splits over all rows.
    rows : tuple of Row
    notes : tuple of str, the lines below the table
    """

    experiment: str
    dataset: str
    source: str
    title: str
    stand_in: bool
    metrics: tuple[str, ...]
    n_splits: int
    rows: tuple[Row, ...]
    notes: tuple[str, ...]


def build_tables(records: Sequence[Record], metrics: Sequence[str]) -> list[Table]:
    """Return one table per experiment and dataset, in the order of the records.

    Best is decided per metric among the rows that have a value on every split of the table. A row with an oracle
    threshold never competes in a metric of label sets; it does in a metric of scores, which no threshold touches.

    Parameters
    ----------
    records : run records as ``RunFolder.runs()`` returns them
    metrics : names of the metrics to show, in order

    Raises
    ------
    UserError
        For a name that is no metric.
    """
    for name in metrics:
        if name not in METRICS:
            raise UserError(unknown_name("metric", name, METRICS))
    methods: dict[str, dict[str, None]] = {}
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        methods.setdefault(record["experiment"], {})[record["method"]] = None
        groups.setdefault((record["experiment"], record["dataset"]["name"]), []).append(record)
    return [_table(group, list(methods[name[0]]), tuple(metrics)) for name, group in groups.items()]


def _table(records: Sequence[Record], methods: Sequence[str], metrics: tuple[str, ...]) -> Table:
    n_splits = len({record["split"] for record in records})
    by_method = {method: [record for record in records if record["method"] == method] for method in methods}
    rows = [_row(method, found, metrics) for method, found in by_method.items()]
    dataset = records[0]["dataset"]
    return Table(
        experiment=records[0]["experiment"],
        dataset=dataset["name"],
        source=dataset["source"],
        title=_title(records),
        stand_in=dataset["stand_in"],
        metrics=metrics,
        n_splits=n_splits,
        rows=tuple(_mark_best(rows, metrics, n_splits)),
        notes=tuple(notes_of(by_method, metrics, n_splits)),
    )


def _row(method: str, records: Sequence[Record], metrics: Sequence[str]) -> Row:
    done = [record for record in records if record["status"] == "done"]
    worst = [record["info"]["optimality"] for record in done]
    return Row(
        method=method,
        solver=records[0]["solver"] if records else "",
        cells=tuple(_cell(done, metric) for metric in metrics),
        n_done=len(done),
        n_failed=len(records) - len(done),
        settings=_chosen(done),
        fit_seconds=median(record["time"]["fit"] for record in done) if done else None,
        optimality=max(worst) if worst and None not in worst else None,
        n_not_converged=sum(not record["info"]["converged"] for record in done),
        oracle=any(record["threshold"]["oracle"] for record in records),
        transductive=any(record.get("transductive") for record in records),
    )


def _cell(done: Sequence[Record], metric: str) -> Cell:
    found = [record["metrics"].get(metric, {}).get("value") for record in done]
    values = [value for value in found if value is not None]
    mean = fmean(values) if values else None
    return Cell(mean, stdev(values) if len(values) > 1 else None, len(values))


def _chosen(done: Sequence[Record]) -> str:
    """Return the commonest value of each searched axis; how common, where the splits differ."""
    axes = dict.fromkeys(axis for record in done for axis in record["searched"])
    parts = []
    for axis in axes:
        # Values are counted by their text, since a list is no dict key; the first seen wins a tie.
        ((value, count),) = Counter(show_value(record["searched"].get(axis)) for record in done).most_common(1)
        parts.append(f"{axis}={value}" if count == len(done) else f"{axis}={value} ({count} of {len(done)})")
    return ", ".join(parts)


def show_value(value: Any) -> str:
    """Return a setting as short text: 8.0 as 8, 1e-05 as 1e-05, everything else as it is.

    >>> show_value(8.0), show_value(0.015625), show_value("rbf"), show_value(None)
    ('8', '0.015625', 'rbf', 'none')
    """
    if value is None:
        return "none"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _mark_best(rows: Sequence[Row], metrics: Sequence[str], n_splits: int) -> list[Row]:
    best = [_best(rows, place, metric, n_splits) for place, metric in enumerate(metrics)]
    marked = []
    for at, row in enumerate(rows):
        cells = tuple(replace(cell, best=at in best[place]) for place, cell in enumerate(row.cells))
        marked.append(replace(row, cells=cells))
    return marked


def _best(rows: Sequence[Row], place: int, metric: str, n_splits: int) -> set[int]:
    """Return the positions of the best rows; none where fewer than two rows compete."""
    kind = METRICS[metric]
    sign = 1.0 if kind.higher_is_better else -1.0
    means: dict[int, float] = {}
    for at, row in enumerate(rows):
        mean = row.cells[place].mean
        if mean is not None and row.cells[place].n == n_splits and not (row.oracle and kind.needs == "sets"):
            means[at] = sign * mean
    if len(means) < 2:
        return set()
    return {at for at, mean in means.items() if mean >= max(means.values()) - TIE}


def _title(records: Sequence[Record]) -> str:
    data = [record["dataset"] for record in records]
    first = data[0]
    source = first["source"]
    if first["stand_in"] and "stand-in data" not in source:
        source = f"stand-in data: {source}"
    shape = (
        f"{first['n_samples']} rows ({_span(data, 'n_train')} train, {_span(data, 'n_test')} test), "
        f"{first['n_features']} features, {first['n_labels']} labels, {first['cardinality']:.2f} per row"
    )
    return f"{records[0]['experiment']}: {first['name']}, {shape}; {source}"


def _span(data: Sequence[Mapping[str, Any]], key: str) -> str:
    low, high = min(entry[key] for entry in data), max(entry[key] for entry in data)
    return f"{low}" if low == high else f"{low} to {high}"
