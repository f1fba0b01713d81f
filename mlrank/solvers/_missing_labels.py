"""What solvers that leave out missing labels tell of rows and labels of which nothing is known."""

import numpy as np

from mlrank.arrays import BoolArray
from mlrank.solvers.base import TrainingSet

__all__ = ["never_known", "notes"]


def never_known(train: TrainingSet) -> BoolArray:
    """Return which labels are missing in every row."""
    known = np.ones_like(train.Y) if train.known is None else train.known
    return np.asarray(~known.any(axis=0))


def notes(train: TrainingSet, rows_count: str, labels_score: str) -> tuple[str, ...]:
    """Return what is to be told of rows and labels of which nothing is known: what is made of either."""
    if train.known is None:
        return ()
    n_rows, n_labels = int((~train.known.any(axis=1)).sum()), int(never_known(train).sum())
    rows = f"{n_rows} of {train.n_samples} rows have no known label: {rows_count}"
    labels = f"{n_labels} of {train.n_labels} labels are known in no row: {labels_score}"
    return (rows,) * (n_rows > 0) + (labels,) * (n_labels > 0)
