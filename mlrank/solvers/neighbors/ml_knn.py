"""ML-kNN: a label's probability given how many of the nearest training rows carry it.

Zhang and Zhou, "ML-KNN: a lazy learning approach to multi-label learning", Pattern Recognition 40 (2007). Of a row, let
C be the number of its n_neighbors nearest rows that carry label l. Training rows, none of which is its own neighbor,
give by counting, with the smoothing s::

    P(l) = (s + rows with l) / (2 s + rows)
    P(C = j | l) = (s + rows with l and C = j) / (s (n_neighbors + 1) + rows with l)

and the same of the rows without l. The score is the probability of l given C by Bayes' rule, less 1/2, so that the
paper's rule is the threshold "zero". Neighbors are exact and those of the solver `knn`: of equally near rows those with
the lower numbers count. Nothing is solved: there is neither an objective nor a certificate.

A fit costs the distances of all pairs of rows, n_samples^2 n_features operations; one serves every `s` of a grid.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray
from mlrank.solvers.base import FitInfo, ModelArrays, ModelMeta, TrainingSet, check_count, check_positive
from mlrank.solvers.neighbors.knn import ScoredNeighbors, few_rows, label_counts

__all__ = ["MLKNN", "CountedNeighbors"]


@dataclass(frozen=True)
class CountedNeighbors(ScoredNeighbors):
    """Scores by how many of the nearest training rows carry a label.

    Parameters
    ----------
    X_train : (n_train, n_features) ndarray or csr_array
    Y_train : (n_train, n_labels) bool ndarray
    table : (n_labels, n_neighbors + 1) ndarray
        The score of each label for each number of neighbors that carry it.
    n_neighbors : int
    info : FitInfo
    """

    X_train: Features
    Y_train: BoolArray
    table: FloatArray
    n_neighbors: int
    info: FitInfo

    def _scores(self, X: Features, own: IntArray | None) -> FloatArray:
        counts = label_counts(self.X_train, self.Y_train, X, self.n_neighbors, own)[0].astype(np.int64)
        return self.table[np.arange(counts.shape[1]), counts]

    def arrays(self) -> ModelArrays:
        """Return the training rows with their labels, and the table."""
        return {"X_train": self.X_train, "Y_train": self.Y_train, "table": self.table}

    def meta(self) -> ModelMeta:
        """Return the kind of model and its setting."""
        return {"model": "counted_neighbors", "n_neighbors": self.n_neighbors}


@dataclass(frozen=True)
class MLKNN:
    """Nearest neighbors with Bayes' rule for each label.

    Use it as the usual nearest-neighbor baseline, with probabilities.

    Parameters
    ----------
    n_neighbors : int
        k of the paper, which takes 10. Where there are fewer training rows, all count.
    s : float
        Smoothing; 1 is Laplace's rule.

    References
    ----------
    Zhang and Zhou, "ML-KNN: a lazy learning approach to multi-label learning", Pattern Recognition 40 (2007).
    """

    n_neighbors: int = 10
    s: float = 1.0

    SHARED: ClassVar[tuple[str, ...]] = ("n_neighbors",)
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_count(self, "n_neighbors")
        check_positive(self, "s")

    def cost(self, n_samples: int, n_features: int, n_labels: int) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow: distances, and counts of labels."""
        pairs = float(n_samples) * n_samples * n_features
        return pairs + float(n_samples) * n_labels * self.n_neighbors, 8.0 * n_samples * (n_features + 2 * n_labels)

    def prepare(self, train: TrainingSet) -> IntArray:
        """Return how many neighbors of each training row carry each label, (n_samples, n_labels)."""
        own = np.arange(train.n_samples)
        return label_counts(train.X, train.dense_Y, train.X, int(self.n_neighbors), own)[0].astype(np.int64)

    def fit(self, train: TrainingSet, prepared: IntArray | None = None) -> CountedNeighbors:
        """Count, for each label and each number of neighbors that carry it, the rows with the label and without it."""
        counts = self.prepare(train) if prepared is None else prepared
        n, k = train.n_samples, int(self.n_neighbors)
        having, lacking = np.zeros((2, train.n_labels, k + 1))
        for label in range(train.n_labels):
            carries = train.dense_Y[:, label]
            having[label] = np.bincount(counts[carries, label], minlength=k + 1)
            lacking[label] = np.bincount(counts[~carries, label], minlength=k + 1)
        with_it = having.sum(axis=1, keepdims=True)
        prior = (self.s + with_it) / (2 * self.s + n)
        present = prior * (self.s + having) / (self.s * (k + 1) + with_it)
        absent = (1 - prior) * (self.s + lacking) / (self.s * (k + 1) + n - with_it)
        info = FitInfo(1, float("nan"), float("nan"), True, few_rows(train, k + 1))
        return CountedNeighbors(train.X, train.dense_Y, present / (present + absent) - 0.5, k, info)
