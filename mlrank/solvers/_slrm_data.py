"""The training set as SLRM takes it: coded labels, rows in the faster form."""

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import Features, FloatArray
from mlrank.solvers.base import TrainingSet

__all__ = ["coded", "dense_if_full"]

# Of all features of all rows.
FULL = 1 / 4


def coded(train: TrainingSet, coding: str) -> FloatArray:
    """Return labels as +1 and -1 ("signs") or 1 and 0 ("01"), 0 where they are missing."""
    labels = np.where(train.Y, 1.0, -1.0 if coding == "signs" else 0.0)
    return labels if train.known is None else np.where(train.known, labels, 0.0)


def dense_if_full(X: Features) -> Features:
    """Return sparse rows as dense ones where so many features are not zero that products are faster."""
    return X.toarray() if issparse(X) and X.nnz > FULL * X.shape[0] * X.shape[1] else X
