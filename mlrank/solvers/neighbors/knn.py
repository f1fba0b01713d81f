"""Plain k-nearest neighbors: a label scores the part of the nearest training rows that carry it.

The baseline that class-balanced neighbors are measured against. Rows without labels are neighbors like others. Of
equally near rows those with the lower numbers count. A training row is not its own neighbor in
``model.training_scores()``, which thresholds are fitted to; ``decision_function`` takes any row for a new one. Nothing
is solved: there is neither an objective nor a certificate, and `optimality` is nan.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray
from mlrank.solvers.base import FitInfo, ModelArrays, ModelMeta, TrainingSet, check_count
from mlrank.solvers.neighbors.class_neighbors import ClassNeighbors

__all__ = [
    "KNN",
    "Neighbors",
    "few_rows",
    "label_counts",
]


def label_counts(
    X_train: Features, Y_train: BoolArray, X: Features, n_neighbors: int, own: IntArray | None
) -> tuple[FloatArray, IntArray]:
    """Return how many of the nearest training rows of each row carry each label, and how many there are.

    Parameters
    ----------
    X_train : (n_train, n_features) ndarray or csr_array
    Y_train : (n_train, n_labels) bool ndarray
    X : (n_samples, n_features) ndarray or csr_array
    n_neighbors : int
    own : (n_samples,) ndarray or None
        Numbers of the training rows that the rows of `X` are; they are not their own neighbors.

    Returns
    -------
    counts : (n_samples, n_labels) ndarray
    n_found : (n_samples,) ndarray of int
        `n_neighbors`, or all training rows where there are fewer.
    """
    one_class = np.ones((X_train.shape[0], 1), dtype=np.bool_)
    # A last row without labels stands for neighbors that are not there.
    carried = np.vstack([Y_train, np.zeros_like(Y_train[:1])]).astype(np.float64)
    counts, n_found = np.empty((X.shape[0], Y_train.shape[1])), np.empty(X.shape[0], dtype=np.int64)
    for near in ClassNeighbors(X_train, one_class).blocks(X, n_neighbors, own):
        n_found[near.block] = (near.rows[0] >= 0).sum(axis=0)
        counts[near.block] = carried[near.rows[0]].sum(axis=0)
    return counts, n_found


def few_rows(train: TrainingSet, n_neighbors: int) -> tuple[str, ...]:
    """Return the note that there are fewer rows than neighbors, if so."""
    few = (f"{train.n_samples} rows, fewer than {n_neighbors} neighbors",)
    return few if train.n_samples < n_neighbors else ()


class ScoredNeighbors(ABC):
    """Models that score rows by their nearest training rows."""

    X_train: Features

    def decision_function(self, X: Features) -> FloatArray:
        """Return scores (n_samples, n_labels)."""
        return self._scores(X, None)

    def training_scores(self) -> FloatArray:
        """Return scores (n_train, n_labels) of the training rows, none of which is its own neighbor."""
        return self._scores(self.X_train, np.arange(self.X_train.shape[0]))

    @abstractmethod
    def _scores(self, X: Features, own: IntArray | None) -> FloatArray:
        """Return the scores of rows, which are the training rows of the numbers `own` if these are given."""


@dataclass(frozen=True)
class Neighbors(ScoredNeighbors):
    """Scores by the labels of the nearest training rows.

    Parameters
    ----------
    X_train : (n_train, n_features) ndarray or csr_array
    Y_train : (n_train, n_labels) bool ndarray
    n_neighbors : int
    info : FitInfo
    """

    X_train: Features
    Y_train: BoolArray
    n_neighbors: int
    info: FitInfo
    PROBABILITIES: ClassVar[bool] = True

    def _scores(self, X: Features, own: IntArray | None) -> FloatArray:
        counts, n_found = label_counts(self.X_train, self.Y_train, X, self.n_neighbors, own)
        return counts / np.maximum(n_found, 1)[:, None]

    def arrays(self) -> ModelArrays:
        """Return the training rows with their labels."""
        return {"X_train": self.X_train, "Y_train": self.Y_train}

    def meta(self) -> ModelMeta:
        """Return the kind of model and its setting."""
        return {"model": "neighbors", "n_neighbors": self.n_neighbors}


@dataclass(frozen=True)
class KNN:
    """Nearest neighbors, all labels at once.

    Use it as the plainest baseline; nothing is trained.

    Parameters
    ----------
    n_neighbors : int
        Where there are fewer training rows, all count.

    References
    ----------
    Cover and Hart, "Nearest neighbor pattern classification", IEEE Transactions on Information Theory 13 (1967).
    """

    n_neighbors: int = 10

    SHARED: ClassVar[tuple[str, ...]] = ()
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False
    NATURAL_CUT: ClassVar[float] = 0.5

    def __post_init__(self) -> None:
        check_count(self, "n_neighbors")

    def cost(self, n_samples: int, n_features: int, n_labels: int) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow with the shape of the training set: it keeps the rows."""
        return float(n_samples) * n_features, 8.0 * n_samples * (n_features + n_labels)

    def fit(self, train: TrainingSet, prepared: None = None) -> Neighbors:
        """Keep the rows of `train`."""
        info = FitInfo(1, float("nan"), float("nan"), True, few_rows(train, self.n_neighbors))
        return Neighbors(train.X, train.dense_Y, int(self.n_neighbors), info)
