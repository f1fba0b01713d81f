"""From run records to numbers that may be compared: the same data, the same splits, a value for every method."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.errors import UserError, unknown_name
from mlrank.metrics import METRICS

__all__ = ["Repeats", "gather", "label_records"]

Record = Mapping[str, Any]
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
    records: tuple[dict[str, Record], ...]
    notes: tuple[str, ...]


def label_records(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return the records with a "label": the method, with its experiment where two of them ran it on the same data."""
    users: dict[tuple[str, str, str], set[str]] = {}
    for record in records:
        data, method = record["dataset"], record["method"]
        users.setdefault((data["name"], data["hash"], method), set()).add(record["experiment"])
    shared = {method for (_, _, method), experiments in users.items() if len(experiments) > 1}
    return [
        {**r, "label": f"{r['method']} ({r['experiment']})" if r["method"] in shared else r["method"]} for r in records
    ]


def gather(
    records: Sequence[Record], metric: str, methods: Sequence[str] | None = None
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
    labelled = label_records(records)
    everything = list(dict.fromkeys(record["label"] for record in labelled))
    for method in methods or ():
        if method not in everything:
            raise UserError(unknown_name("method", method, everything))
    left_out: list[str] = []
    wanted = [method for method in everything if not methods or method in methods]
    compared = [method for method in wanted if _is_comparable(method, metric, labelled, left_out)]
    if len(compared) < 2:
        said = f" ({'; '.join(left_out)})" if left_out else ""
        raise UserError(f"a comparison in {metric} needs two methods with values, found {len(compared)}{said}")
    found = []
    for dataset, mine in _by_dataset(labelled).items():
        repeats = _repeats(dataset, metric, compared, mine, left_out)
        found += [repeats] if repeats else []
    if not found:
        raise UserError(f"no data set has {metric} of every method on the same splits: {'; '.join(left_out)}")
    return found, left_out


def _is_comparable(method: str, metric: str, records: Sequence[Record], left_out: list[str]) -> bool:
    mine = [record for record in records if record["label"] == method]
    if METRICS[metric].needs == "sets" and any(record["threshold"]["oracle"] for record in mine):
        left_out.append(
            f"{method} left out: its threshold looks at the true labels, so its label sets are no predictions"
        )
        return False
    if all(_value(record, metric) is None for record in mine):
        left_out.append(f"{method} left out: no {metric} in any run")
        return False
    return True


def _value(record: Record, metric: str) -> float | None:
    value: float | None = record["metrics"].get(metric, {}).get("value") if record["status"] == "done" else None
    return value


def _by_dataset(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Return the records of each data set; versions of one name are told apart by their hash."""
    versions: dict[str, dict[str, None]] = {}
    for record in records:
        versions.setdefault(record["dataset"]["name"], {})[record["dataset"]["hash"]] = None
    found: dict[str, list[Record]] = {}
    for record in records:
        name, version = record["dataset"]["name"], record["dataset"]["hash"]
        found.setdefault(name if len(versions[name]) == 1 else f"{name} [{version[:8]}]", []).append(record)
    return found


def _repeats(
    dataset: str, metric: str, methods: Sequence[str], records: Sequence[Record], left_out: list[str]
) -> Repeats | None:
    runs: dict[SplitId, dict[str, Record]] = {}
    for record in records:
        if record["label"] in methods and _value(record, metric) is not None:
            runs.setdefault((record["split"], record.get("inputs", {}).get("rows")), {})[record["label"]] = record
    absent = [method for method in methods if not any(method in by_method for by_method in runs.values())]
    if absent:
        left_out.append(f"{dataset} left out: no {metric} of {', '.join(absent)}")
        return None
    shared = {split: by_method for split, by_method in runs.items() if len(by_method) == len(methods)}
    if not shared:
        left_out.append(f"{dataset} left out: the methods share no split ({_told(methods, runs)})")
        return None
    notes = []
    if len(shared) < len(runs):
        notes.append(f"{dataset}: only the {len(shared)} of {len(runs)} splits on which every method has {metric}")
    notes += _partly_defined(dataset, metric, list(shared.values()))
    values = np.array([[_value(by_method[m], metric) for m in methods] for by_method in shared.values()], np.float64)
    data = [record["dataset"] for by_method in shared.values() for record in by_method.values()]
    share = fmean(entry["n_test"] / entry["n_train"] for entry in data)
    names = tuple(name for name, _ in shared)
    return Repeats(dataset, metric, tuple(methods), names, values, share, tuple(shared.values()), tuple(notes))


def _told(methods: Sequence[str], runs: Mapping[SplitId, Mapping[str, Record]]) -> str:
    parts = []
    for method in methods:
        names = [name for (name, _), by_method in runs.items() if method in by_method]
        parts.append(f"{method}: {', '.join(names[:3])}{'...' if len(names) > 3 else ''}")
    return "; ".join(parts)


def _partly_defined(dataset: str, metric: str, runs: Sequence[Mapping[str, Record]]) -> list[str]:
    """Tell where methods are averaged over different numbers of labels or rows."""
    counts: dict[str, list[int]] = {}
    totals = [(value["n_total"], value["unit"]) for run in runs for value in _values(run, metric).values()]
    for run in runs:
        for method, value in _values(run, metric).items():
            counts.setdefault(method, []).append(value["n_defined"])
    if all(found == next(iter(counts.values())) for found in counts.values()):
        return []
    spans = ", ".join(f"{min(c)}{f' to {max(c)}' if max(c) > min(c) else ''} for {m}" for m, c in counts.items())
    return [f"{dataset}: {metric} is over different numbers of {totals[0][1]}: {spans}, of {totals[0][0]}"]


def _values(run: Mapping[str, Record], metric: str) -> dict[str, Mapping[str, Any]]:
    return {method: record["metrics"][metric] for method, record in run.items()}
