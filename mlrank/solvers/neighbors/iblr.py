"""IBLR-ML: logistic regression of each label on how many of the nearest training rows carry each of the labels.

Cheng and Huellermeier, "Combining instance-based learning and logistic regression for multilabel classification",
Machine Learning 76 (2009). Of a row, let C_j be the number of its n_neighbors nearest rows that carry label j (a kernel
of 1 in their eq. 9). The log odds of each label l are::

    w_l0 + sum_j w_lj C_j

with weights fitted to the training rows, none of which is its own neighbor, by scikit-learn's logistic regression. The
paper has no penalty; without one the weights of labels that can be separated are infinite, so `C` is that of
scikit-learn, the inverse of a squared penalty. Scores are log odds: the threshold "zero" is a probability of 1/2. A
label that all rows or none carry has a constant score. Neighbors are exact and those of the solver `knn`. There is no
certificate: `converged` is what the regression reports of Newton's method.

A fit costs the distances of all pairs of rows, n_samples^2 n_features operations, which serve every `C` of a grid, and
for each label a few Newton steps of n_samples n_labels^2.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray
from mlrank.solvers.base import FitInfo, ModelArrays, ModelMeta, TrainingSet, check_count, check_positive
from mlrank.solvers.construct import recorded_warnings, warned
from mlrank.solvers.neighbors.knn import ScoredNeighbors, few_rows, label_counts

__all__ = ["IBLR", "RegressedNeighbors"]

# Newton's method squares the error at each step, so a strict tolerance costs a step or two.
TOLERANCE, MOST_STEPS = 1e-8, 100
# The score of a label that all rows carry: its probability is above 0.9999.
CERTAIN = 10.0


@dataclass(frozen=True)
class RegressedNeighbors(ScoredNeighbors):
    """Scores that are linear in how many of the nearest training rows carry each label.

    Parameters
    ----------
    X_train : (n_train, n_features) ndarray or csr_array
    Y_train : (n_train, n_labels) bool ndarray
    coef : (n_labels, n_labels) ndarray
    intercept : (n_labels,) ndarray
    n_neighbors : int
    info : FitInfo
    """

    X_train: Features
    Y_train: BoolArray
    coef: FloatArray
    intercept: FloatArray
    n_neighbors: int
    info: FitInfo

    def _scores(self, X: Features, own: IntArray | None) -> FloatArray:
        counts, _ = label_counts(self.X_train, self.Y_train, X, self.n_neighbors, own)
        found: FloatArray = counts @ self.coef.T + self.intercept
        return found

    def arrays(self) -> ModelArrays:
        """Return the training rows with their labels, and the weights."""
        return {"X_train": self.X_train, "Y_train": self.Y_train, "coef": self.coef, "intercept": self.intercept}

    def meta(self) -> ModelMeta:
        """Return the kind of model and its setting."""
        return {"model": "regressed_neighbors", "n_neighbors": self.n_neighbors}


@dataclass(frozen=True)
class IBLR:
    """Logistic regression on the labels of the nearest neighbors.

    Use it where neighbors tell much and labels depend on each other.

    Parameters
    ----------
    n_neighbors : int
        k of the paper, which takes 10. Where there are fewer training rows, all count.
    C : float
        Inverse of the penalty on the weights; large values come near the paper's regression without one.

    References
    ----------
    Cheng and Hüllermeier, "Combining instance-based learning and logistic regression for multilabel classification",
    Machine Learning 76 (2009).
    """

    n_neighbors: int = 10
    C: float = 1.0

    SHARED: ClassVar[tuple[str, ...]] = ("n_neighbors",)
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False
    LOADS: ClassVar[tuple[str, ...]] = ("numba", "scikit-learn")

    def __post_init__(self) -> None:
        check_count(self, "n_neighbors")
        check_positive(self, "C")

    def cost(self, n_samples: int, n_features: int, n_labels: int) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow: distances, and Newton steps for each label."""
        pairs = float(n_samples) * n_samples * n_features
        return pairs + 10.0 * n_samples * float(n_labels) ** 3, 8.0 * n_samples * (n_features + 2 * n_labels)

    def prepare(self, train: TrainingSet) -> FloatArray:
        """Return how many neighbors of each training row carry each label, (n_samples, n_labels)."""
        return label_counts(train.X, train.dense_Y, train.X, int(self.n_neighbors), np.arange(train.n_samples))[0]

    def fit(self, train: TrainingSet, prepared: FloatArray | None = None) -> RegressedNeighbors:
        """Fit a regression for each label that some rows carry and some do not."""
        from sklearn.linear_model import LogisticRegression

        counts = self.prepare(train) if prepared is None else prepared
        coef = np.zeros((train.n_labels, train.n_labels))
        intercept = np.where(train.dense_Y[0], CERTAIN, -CERTAIN)
        steps = 1
        with recorded_warnings() as caught:
            for label in np.flatnonzero(train.dense_Y.any(axis=0) & ~train.dense_Y.all(axis=0)):
                machine = LogisticRegression(C=self.C, solver="newton-cholesky", tol=TOLERANCE, max_iter=MOST_STEPS)
                machine.fit(counts, train.dense_Y[:, label])
                coef[label], intercept[label] = machine.coef_[0], machine.intercept_[0]
                steps = max(steps, int(machine.n_iter_[0]))
        converged, notes = warned(caught)
        few = few_rows(train, int(self.n_neighbors) + 1)
        info = FitInfo(steps, float("nan"), float("nan"), converged, few + notes)
        return RegressedNeighbors(train.X, train.dense_Y, coef, intercept, int(self.n_neighbors), info)
