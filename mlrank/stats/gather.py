"""From run records to numbers that may be compared: the same data, the same splits, a value for every method."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.errors import UserError, unknown_name
from mlrank.metrics import METRICS
from mlrank.records.run import MetricRecord, RunRecord

__all__ = ["LabeledRun", "Repeats", "gather", "label_records"]

SplitId = tuple[str, str | None]


@dataclass(frozen=True)
class Repeats:
    """One metric of several methods on the splits of one data set that they share.

    Parameters
    ----------
    dataset : str
    metric : str
    methods : tuple of str
    splits : tuple of str
    values : (n_splits, n_methods) ndarray
    test_share : float
        Test rows for each training row, the mean over the splits.
    records : tuple of dict from method to record, one per split
    notes : tuple of str
        What was left out, and what a reader must know.
    """

    dataset: str
    metric: str
    methods: tuple[str, ...]
    splits: tuple[str, ...]
    values: FloatArray
    test_share: float
    records: tuple[dict[str, RunRecord], ...]
    notes: tuple[str, ...]


class LabeledRun(NamedTuple):
    """A run, and what its method is called in a comparison."""

    label: str
    record: RunRecord


def label_records(records: Sequence[RunRecord]) -> list[LabeledRun]:
    """Return the runs with their labels: the method, and the experiment where two of them ran it on the same data."""
    users: dict[tuple[str, str, str], set[str]] = {}
    for record in records:
        data, method = record.dataset, record.method
        users.setdefault((data.name, data.hash, method), set()).add(record.experiment)
    shared = {method for (_, _, method), experiments in users.items() if len(experiments) > 1}
    return [LabeledRun(f"{r.method} ({r.experiment})" if r.method in shared else r.method, r) for r in records]


def gather(
    records: Sequence[RunRecord], metric: str, methods: Sequence[str] | None = None
) -> tuple[list[Repeats], list[str]]:
    """Return what can be compared, one for each data set, all with the same methods; and what was left out and why.

    Left out are: methods with an oracle threshold where the metric is one of label sets, methods without any value,
    data sets on which some method has none, and splits that not all methods share.

    Parameters
    ----------
    methods : labels of the methods to compare; None: all

    Raises
    ------
    UserError
        For an unknown metric or method, or if fewer than two methods or no data set are left.
    """
    if metric not in METRICS:
        raise UserError(unknown_name("metric", metric, METRICS))
    labeled = label_records(records)
    everything = list(dict.fromkeys(run.label for run in labeled))
    for method in methods or ():
        if method not in everything:
            raise UserError(unknown_name("method", method, everything))
    left_out: list[str] = []
    selected = [method for method in everything if not methods or method in methods]
    compared = [method for method in selected if _is_comparable(method, metric, labeled, left_out)]
    if len(compared) < 2:
        why = f" ({'; '.join(left_out)})" if left_out else ""
        raise UserError(f"a comparison in {metric} needs two methods with values, found {len(compared)}{why}")
    found = []
    for dataset, mine in _by_dataset(labeled).items():
        repeats = _repeats(dataset, metric, compared, mine, left_out)
        found += [repeats] if repeats else []
    if not found:
        raise UserError(f"no data set has {metric} of every method on the same splits: {'; '.join(left_out)}")
    return found, left_out


def _is_comparable(method: str, metric: str, runs: Sequence[LabeledRun], left_out: list[str]) -> bool:
    mine = [run.record for run in runs if run.label == method]
    if METRICS[metric].needs == "sets" and any(record.threshold.oracle for record in mine):
        left_out.append(
            f"{method} left out: its threshold looks at the true labels, so its label sets are no predictions"
        )
        return False
    if all(record.value(metric) is None for record in mine):
        left_out.append(f"{method} left out: no {metric} in any run")
        return False
    return True


def _by_dataset(runs: Sequence[LabeledRun]) -> dict[str, list[LabeledRun]]:
    """Return the runs on each data set; versions of one name are distinguished by their hash."""
    versions: dict[str, dict[str, None]] = {}
    for run in runs:
        versions.setdefault(run.record.dataset.name, {})[run.record.dataset.hash] = None
    found: dict[str, list[LabeledRun]] = {}
    for run in runs:
        name, version = run.record.dataset.name, run.record.dataset.hash
        found.setdefault(name if len(versions[name]) == 1 else f"{name} [{version[:8]}]", []).append(run)
    return found


def _repeats(
    dataset: str, metric: str, methods: Sequence[str], labeled: Sequence[LabeledRun], left_out: list[str]
) -> Repeats | None:
    runs: dict[SplitId, dict[str, RunRecord]] = {}
    for label, record in labeled:
        if label in methods and record.value(metric) is not None:
            runs.setdefault((record.split, record.rows), {})[label] = record
    absent = [method for method in methods if not any(method in by_method for by_method in runs.values())]
    if absent:
        left_out.append(f"{dataset} left out: no {metric} of {', '.join(absent)}")
        return None
    shared = {split: by_method for split, by_method in runs.items() if len(by_method) == len(methods)}
    if not shared:
        left_out.append(f"{dataset} left out: the methods share no split ({_splits_of(methods, runs)})")
        return None
    notes = []
    if len(shared) < len(runs):
        notes.append(f"{dataset}: only the {len(shared)} of {len(runs)} splits on which every method has {metric}")
    notes += _partly_defined(dataset, metric, list(shared.values()))
    values = np.array([[by_method[m].value(metric) for m in methods] for by_method in shared.values()], np.float64)
    data = [record.dataset for by_method in shared.values() for record in by_method.values()]
    share = fmean(entry.n_test / entry.n_train for entry in data)
    names = tuple(name for name, _ in shared)
    return Repeats(dataset, metric, tuple(methods), names, values, share, tuple(shared.values()), tuple(notes))


def _splits_of(methods: Sequence[str], runs: Mapping[SplitId, Mapping[str, RunRecord]]) -> str:
    parts = []
    for method in methods:
        names = [name for (name, _), by_method in runs.items() if method in by_method]
        parts.append(f"{method}: {', '.join(names[:3])}{'...' if len(names) > 3 else ''}")
    return "; ".join(parts)


def _partly_defined(dataset: str, metric: str, runs: Sequence[Mapping[str, RunRecord]]) -> list[str]:
    """Tell where methods are averaged over different numbers of labels or rows."""
    counts: dict[str, list[int]] = {}
    totals = [(value.n_total, value.unit) for run in runs for value in _values(run, metric).values()]
    for run in runs:
        for method, value in _values(run, metric).items():
            counts.setdefault(method, []).append(value.n_defined)
    if all(found == next(iter(counts.values())) for found in counts.values()):
        return []
    spans = ", ".join(f"{min(c)}{f' to {max(c)}' if max(c) > min(c) else ''} for {m}" for m, c in counts.items())
    return [f"{dataset}: {metric} is over different numbers of {totals[0][1]}: {spans}, of {totals[0][0]}"]


def _values(run: Mapping[str, RunRecord], metric: str) -> dict[str, MetricRecord]:
    return {method: record.metrics[metric] for method, record in run.items()}
