"""The value of stored runs in one metric under the rule of each package."""

from collections.abc import Callable, Sequence

import numpy as np

from mlrank.explain.rules import rules_of, value_under
from mlrank.metrics import METRICS
from mlrank.records.run import RunRecord
from mlrank.stored import Arrays
from mlrank.tables import Grid, Shown

__all__ = ["values_of"]


def values_of(metric: str, records: Sequence[RunRecord], arrays: Callable[[RunRecord], Arrays]) -> Grid:
    """Return a row for each data set and method: means over the splits under each package's rule.

    A mean is undefined if a split is: what a package does not average over is not averaged over here.

    Parameters
    ----------
    records : finished runs
    arrays : function from a record to its arrays
    """
    rules = rules_of(metric)
    found: dict[tuple[str, str], list[list[float | None]]] = {}
    for record in records:
        stored = arrays(record)
        predicted = stored["Y_pred" if METRICS[metric].needs == "sets" else "scores"]
        values = [
            value_under(rule, metric, stored["Y_true"], predicted, stored.get("known")) for rule in rules.values()
        ]
        found.setdefault((record.dataset.name, record.method), []).append(values)
    rows = [
        (Shown(dataset), Shown(method), *(_mean(column) for column in zip(*values, strict=True)))
        for (dataset, method), values in found.items()
    ]
    n_splits = max(map(len, found.values()), default=0)
    notes = [f"Means over {n_splits} splits." if n_splits > 1 else "One split."]
    if any(record.threshold.oracle for record in records) and METRICS[metric].needs == "sets":
        notes.append("Some thresholds look at the true labels.")
    header = ("data", "method", *rules)
    return Grid(f"{metric} of the runs under each rule", header, "ll" + "r" * len(rules), tuple(rows), tuple(notes))


def _mean(values: Sequence[float | None]) -> Shown:
    known = [value for value in values if value is not None]
    if not known:  # the rule has no value, for whatever run
        return Shown("-")
    mean = float(np.mean(known))
    return Shown("undefined") if np.isnan(mean) else Shown(f"{mean:.4f}", value=mean)
