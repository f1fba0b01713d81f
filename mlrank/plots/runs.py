"""What figures of runs have in common: which runs are done, and which sizes are the same size."""

from collections.abc import Mapping, Sequence
from typing import Any

from mlrank.errors import UserError, unknown_name
from mlrank.metrics import METRICS

__all__ = ["Record", "Size", "by_size", "check_metric", "done_runs", "origin", "value_of"]

Record = Mapping[str, Any]
Size = float
# Folds differ by a few rows: sizes that differ by less than this share are one size.
SAME_SIZE = 0.05


def check_metric(metric: str) -> None:
    """Raise a UserError unless `metric` is a metric."""
    if metric not in METRICS:
        raise UserError(unknown_name("metric", metric, METRICS))


def done_runs(records: Sequence[Record]) -> list[Record]:
    """Return the finished runs.

    Raises
    ------
    UserError
        If there is none.
    """
    done = [record for record in records if record["status"] == "done"]
    if not done:
        raise UserError("nothing to draw: no run is finished without failure")
    return done


def value_of(record: Record, metric: str) -> float | None:
    """Return a run's value of a metric, None where it is undefined or was not stored."""
    value: float | None = record["metrics"].get(metric, {}).get("value")
    return value


def by_size(records: Sequence[Record], key: str) -> dict[Size, list[Record]]:
    """Return the runs of each size of their data, sizes rising; `key` is that of a record's dataset.

    Sizes within SAME_SIZE of the smallest of them are one, called by their mean.
    """
    ordered = sorted(records, key=lambda record: float(record["dataset"][key]))
    groups: list[list[Record]] = []
    for record in ordered:
        if groups and record["dataset"][key] <= (1 + SAME_SIZE) * groups[-1][0]["dataset"][key]:
            groups[-1].append(record)
        else:
            groups.append([record])
    return {sum(float(r["dataset"][key]) for r in group) / len(group): group for group in groups}


def origin(records: Sequence[Record]) -> str:
    """Return which experiments and data sets the runs are from, and whether any data were generated, in one line."""
    experiments = ", ".join(dict.fromkeys(record["experiment"] for record in records))
    stand_in = dict.fromkeys(record["dataset"]["name"] for record in records if record["dataset"]["stand_in"])
    generated = f"; stand-in data, generated: {', '.join(stand_in)}" if stand_in else ""
    return f"Runs of {experiments}{generated}."
