"""From run records to tables: what is averaged, what is best, what is missing."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean, median, quantiles, stdev

from mlrank.records.run import DataInfo, RunRecord
from mlrank.tables.columns import RUNTIMES, check_columns
from mlrank.tables.marks import compete, mark
from mlrank.tables.notes import notes_of, split_of
from mlrank.tables.provenance import machine_differs
from mlrank.tables.resulttable import ResultTable, TableCell, TableRow

__all__ = ["build_tables", "show_value"]


def build_tables(records: Sequence[RunRecord], metrics: Sequence[str]) -> list[ResultTable]:
    """Return one table per dataset, in the order of the records.

    Experiments on the same data share a table. Best is decided per column among the rows that have a value on every
    split of the table. A row with an oracle threshold never competes in a metric of label sets; it does in a metric of
    scores, which no threshold touches. Costs are compared among fits that reached their tolerance on one machine.

    Parameters
    ----------
    records : run records as ``RunFolder.runs()`` returns them
    metrics : names of the metrics, and of RUNTIMES, to show, in order

    Raises
    ------
    UserError
        For a name that is no metric.
    """
    check_columns(metrics)
    hashes: dict[tuple[str, str], set[str]] = {}
    methods: dict[str, dict[str, None]] = {}
    for record in records:
        hashes.setdefault((record.experiment, record.dataset.name), set()).add(record.dataset.hash)
        methods.setdefault(record.experiment, {})[record.method] = None
    groups: dict[tuple[str, frozenset[str]], list[RunRecord]] = {}
    for record in records:
        name = record.dataset.name
        groups.setdefault((name, frozenset(hashes[record.experiment, name])), []).append(record)
    labels = _labels([_pairs(group, methods) for group in groups.values()])
    return [_table(group, _pairs(group, methods), labels, tuple(metrics)) for group in groups.values()]


Pair = tuple[str, str]


def _pairs(records: Sequence[RunRecord], methods: Mapping[str, Mapping[str, None]]) -> list[Pair]:
    """Return (experiment, method) of every row of a table: methods that ran on other data alone have a row too."""
    experiments = dict.fromkeys(record.experiment for record in records)
    return [(experiment, method) for experiment in experiments for method in methods[experiment]]


def _labels(tables: Sequence[Sequence[Pair]]) -> dict[Pair, str]:
    """Return what rows are called: with the experiment where two of them would be called the same in some table."""
    shared: set[str] = set()
    for pairs in tables:
        uses = Counter(method for _, method in pairs)
        shared |= {method for method, count in uses.items() if count > 1}
    every = dict.fromkeys(pair for pairs in tables for pair in pairs)
    return {pair: f"{pair[1]} ({pair[0]})" if pair[1] in shared else pair[1] for pair in every}


def _table(
    records: Sequence[RunRecord],
    pairs: Sequence[Pair],
    labels: Mapping[Pair, str],
    columns: tuple[str, ...],
) -> ResultTable:
    by_row = {pair: [r for r in records if (r.experiment, r.method) == pair] for pair in pairs}
    rows = [_row(labels[pair], pair, found, columns) for pair, found in by_row.items()]
    n_splits = len({split_of(record) for record in records})
    competing = compete(rows, columns, n_splits, one_machine=not machine_differs(records))
    dataset = records[0].dataset
    return ResultTable(
        experiment=" + ".join(dict.fromkeys(experiment for experiment, _ in pairs)),
        dataset=dataset.name,
        source=dataset.source,
        about=_about([record.dataset for record in records]),
        stand_in=dataset.stand_in,
        metrics=columns,
        n_splits=n_splits,
        rows=tuple(mark(competing, columns)),
        notes=tuple(notes_of({labels[pair]: found for pair, found in by_row.items()}, columns)),
    )


def _row(label: str, pair: Pair, records: Sequence[RunRecord], columns: Sequence[str]) -> TableRow:
    done = [record for record in records if record.done]
    certificates = [value for record in done if (value := record.fit.optimality) is not None]
    return TableRow(
        label=label,
        method=pair[1],
        experiment=pair[0],
        solver=records[0].solver if records else "",
        cells=tuple(_cell(done, column) for column in columns),
        n_done=len(done),
        n_failed=len(records) - len(done),
        settings=_chosen(done),
        fit=_cell(done, "fit_seconds"),
        predict=_cell(done, "predict_seconds"),
        memory=_cell(done, "peak_memory"),
        optimality=max(certificates) if certificates and len(certificates) == len(done) else None,
        certificate=done[0].fit.certificate if done else None,
        n_not_converged=sum(not record.fit.converged for record in done),
        oracle=any(record.threshold.oracle for record in records),
        transductive=any(record.transductive for record in records),
    )


def _cell(done: Sequence[RunRecord], column: str) -> TableCell:
    if column in RUNTIMES:
        found = [RUNTIMES[column].of(record.time) for record in done]
    else:
        found = [record.value(column) for record in done]
    values = [value for value in found if value is not None]
    if not values:
        return TableCell(None, None, 0)
    if column not in RUNTIMES:
        return TableCell(fmean(values), stdev(values) if len(values) > 1 else None, len(values))
    low, _, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else (None, None, None)
    return TableCell(median(values), None, len(values), low, high)


def _chosen(done: Sequence[RunRecord]) -> str:
    """Return the commonest value of each searched axis; how common, where the splits differ."""
    axes = dict.fromkeys(axis for record in done for axis in record.searched)
    parts = []
    for axis in axes:
        # Values are counted by their text, since a list is no dict key; the first seen wins a tie.
        ((value, count),) = Counter(show_value(record.searched.get(axis)) for record in done).most_common(1)
        parts.append(f"{axis}={value}" if count == len(done) else f"{axis}={value} ({count} of {len(done)})")
    return ", ".join(parts)


def show_value(value: object) -> str:
    """Return a setting as short text: 8.0 as 8, 1e-05 as 1e-05, everything else as it is.

    >>> show_value(8.0), show_value(0.015625), show_value("rbf"), show_value(None)
    ('8', '0.015625', 'rbf', 'none')
    """
    if value is None:
        return "none"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _about(data: Sequence[DataInfo]) -> str:
    first = data[0]
    source = first.source
    if first.stand_in and "stand-in data" not in source:
        source = f"stand-in data: {source}"
    n_train, n_test = _span([entry.n_train for entry in data]), _span([entry.n_test for entry in data])
    shape = (
        f"{first.n_samples} rows ({n_train} train, {n_test} test), "
        f"{first.n_features} features, {first.n_labels} labels, {first.cardinality:.2f} per row"
    )
    return f"{first.name}, {shape}; {source}"


def _span(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low}" if low == high else f"{low} to {high}"
