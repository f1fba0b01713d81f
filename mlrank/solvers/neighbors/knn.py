"""Plain k-nearest neighbors: a label scores the part of the nearest training rows that carry it.

The baseline that class-balanced neighbors are measured against. Rows without labels are neighbors like others. Of
equally near rows those with the lower numbers count. A training row is not its own neighbor in
``model.training_scores()``, which thresholds are fitted to; ``decision_function`` takes any row for a new one. Nothing
is solved: there is neither an objective nor a certificate, and `optimality` is nan.

Sparse labels stay sparse: the neighbors' labels are added up as a sparse product, and ``top_scores`` finds the best
labels of a row among those that its neighbors carry, in memory of these.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array, issparse

from mlrank.arrays import Features, FloatArray, IntArray
from mlrank.labels import LabelMatrix, TopScores, top_of_counted
from mlrank.solvers.base import FitInfo, ModelArrays, ModelMeta, TrainingSet, check_count
from mlrank.solvers.models import best_in_blocks
from mlrank.solvers.neighbors.class_neighbors import ClassNeighbors, Nearest

__all__ = [
    "KNN",
    "Neighbors",
    "few_rows",
    "label_counts",
]


def carried_labels(rows: IntArray, Y: csr_array) -> csr_array:
    """Return how many of some training rows carry each label, (n_samples, n_labels), as they are stored.

    Parameters
    ----------
    rows : (n_neighbors, n_samples) numbers of training rows, -1 where there is none
    Y : (n_train, n_labels) csr_array of float64
    """
    there = rows.T >= 0
    ends = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    picks = csr_array((np.ones(int(ends[-1])), rows.T[there], ends), shape=(rows.shape[1], Y.shape[0]))
    return csr_array(picks @ Y)


def _nearest(X_train: Features, X: Features, n_neighbors: int, own: IntArray | None) -> Iterator[Nearest]:
    one_class = np.ones((X_train.shape[0], 1), dtype=np.bool_)
    return ClassNeighbors(X_train, one_class).blocks(X, n_neighbors, own)


def label_counts(
    X_train: Features, Y_train: LabelMatrix, X: Features, n_neighbors: int, own: IntArray | None
) -> tuple[FloatArray, IntArray]:
    """Return how many of the nearest training rows of each row carry each label, and how many there are.

    Parameters
    ----------
    X_train : (n_train, n_features) ndarray or csr_array
    Y_train : (n_train, n_labels) bool ndarray or csr_array
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
    counts, n_found = np.empty((X.shape[0], Y_train.shape[1])), np.empty(X.shape[0], dtype=np.int64)
    carried: LabelMatrix = Y_train.astype(np.float64)
    if not issparse(Y_train):
        # A last row without labels stands for neighbors that are not there.
        carried = np.vstack([carried, np.zeros((1, carried.shape[1]))])
    for near in _nearest(X_train, X, n_neighbors, own):
        (rows,) = near.rows
        n_found[near.block] = (rows >= 0).sum(axis=0)
        whole = carried_labels(rows, carried).toarray() if issparse(carried) else carried[rows].sum(axis=0)
        counts[near.block] = whole
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
    Y_train : (n_train, n_labels) bool ndarray or csr_array
    n_neighbors : int
    info : FitInfo
    """

    X_train: Features
    Y_train: LabelMatrix
    n_neighbors: int
    info: FitInfo
    PROBABILITIES: ClassVar[bool] = True

    def _scores(self, X: Features, own: IntArray | None) -> FloatArray:
        counts, n_found = label_counts(self.X_train, self.Y_train, X, self.n_neighbors, own)
        return counts / np.maximum(n_found, 1)[:, None]

    def top_scores(self, X: Features, k: int) -> TopScores:
        """Return the `k` best scored labels of each row; see `TopScores`."""
        if not issparse(self.Y_train):
            return best_in_blocks(self.decision_function, X, k, self.Y_train.shape[1])
        parts, Y = [], self.Y_train.astype(np.float64)
        for near in _nearest(self.X_train, X, self.n_neighbors, None):
            (rows,) = near.rows
            counts = carried_labels(rows, Y)
            counts.data /= np.repeat((rows >= 0).sum(axis=0), np.diff(counts.indptr))
            parts.append(top_of_counted(counts, k))
        return TopScores(*(np.concatenate(values) for values in zip(*parts, strict=True)))

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
    SPARSE_LABELS: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_count(self, "n_neighbors")

    def cost(self, n_samples: int, n_features: int, n_labels: int, density: float = 1.0) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow with the shape of the training set: it keeps the rows."""
        cells = density * n_samples * n_features
        # Counts of labels, which are sparse where labels are: beyond 2^28 entries.
        return cells, 8.0 * cells + 8.0 * min(float(n_samples) * n_labels, 2.0**28)

    def fit(self, train: TrainingSet, prepared: None = None) -> Neighbors:
        """Keep the rows of `train`."""
        info = FitInfo(1, float("nan"), float("nan"), True, few_rows(train, self.n_neighbors))
        return Neighbors(train.X, train.Y, int(self.n_neighbors), info)
