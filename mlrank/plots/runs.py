"""What figures of runs have in common: which runs are done, and which sizes are the same size."""

from collections.abc import Callable, Sequence

from mlrank.errors import UserError, unknown_name
from mlrank.metrics import METRICS
from mlrank.records.run import DataInfo, RunRecord
from mlrank.stored import Arrays

__all__ = ["SIZES", "ArraysOf", "NamesOf", "by_size", "check_metric", "done_runs", "origin"]

ArraysOf = Callable[[RunRecord], Arrays]
NamesOf = Callable[[RunRecord], Sequence[str]]
# The sizes of a data set that figures are drawn against.
SIZES: dict[str, Callable[[DataInfo], int]] = {
    "n_train": lambda data: data.n_train,
    "n_features": lambda data: data.n_features,
    "n_labels": lambda data: data.n_labels,
}
# Folds differ by a few rows: sizes that differ by less than this share are one size.
SAME_SIZE = 0.05


def check_metric(metric: str) -> None:
    """Raise a UserError unless `metric` is a metric."""
    if metric not in METRICS:
        raise UserError(unknown_name("metric", metric, METRICS))


def done_runs(records: Sequence[RunRecord]) -> list[RunRecord]:
    """Return the finished runs.

    Raises
    ------
    UserError
        If there is none.
    """
    done = [record for record in records if record.done]
    if not done:
        raise UserError("nothing to draw: no run is finished without failure")
    return done


def by_size(records: Sequence[RunRecord], name: str) -> dict[float, list[RunRecord]]:
    """Return the runs of each size of their data, smallest size first.

    Sizes within SAME_SIZE of the smallest of them count as one, their mean.

    Parameters
    ----------
    name : key of SIZES
    """
    size = SIZES[name]
    groups: list[list[RunRecord]] = []
    for record in sorted(records, key=lambda record: size(record.dataset)):
        if groups and size(record.dataset) <= (1 + SAME_SIZE) * size(groups[-1][0].dataset):
            groups[-1].append(record)
        else:
            groups.append([record])
    return {sum(float(size(r.dataset)) for r in group) / len(group): group for group in groups}


def origin(records: Sequence[RunRecord]) -> str:
    """Return which experiments and data sets the runs are from, and whether any data were generated, in one line."""
    experiments = ", ".join(dict.fromkeys(record.experiment for record in records))
    stand_in = dict.fromkeys(record.dataset.name for record in records if record.dataset.stand_in)
    generated = f"; stand-in data, generated: {', '.join(stand_in)}" if stand_in else ""
    return f"Runs of {experiments}{generated}."
