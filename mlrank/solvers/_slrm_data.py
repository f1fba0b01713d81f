"""The training set as SLRM takes it: coded labels, rows in the faster form; and what solvers say of missing labels."""

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import BoolArray, Features, FloatArray
from mlrank.solvers.base import TrainingSet

__all__ = ["coded", "dense_if_full", "never_known", "notes"]

# Of all features of all rows.
FULL = 1 / 4


def coded(train: TrainingSet, coding: str) -> FloatArray:
    """Return labels as +1 and -1 ("signs") or 1 and 0 ("01"), 0 where they are missing."""
    labels = np.where(train.Y, 1.0, -1.0 if coding == "signs" else 0.0)
    return labels if train.known is None else np.where(train.known, labels, 0.0)


def dense_if_full(X: Features) -> Features:
    """Return sparse rows as dense ones where so many features are not zero that products are faster."""
    return X.toarray() if issparse(X) and X.nnz > FULL * X.shape[0] * X.shape[1] else X


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
