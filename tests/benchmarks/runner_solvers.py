"""Solvers for measuring the runner: one that does nothing, and one that is scikit-learn's own."""

import time
from dataclasses import dataclass

import numpy as np

from mlrank.solvers import LinearModel, TrainingSet
from mlrank.solvers.base import FitInfo

DONE = FitInfo(1, 0.0, 0.0, True)


@dataclass(frozen=True)
class Nothing:
    """Scores are zero."""

    C: float = 1.0

    def fit(self, train: TrainingSet, prepared: object = None) -> LinearModel:
        return LinearModel(np.zeros((train.n_labels, train.n_features)), np.zeros(train.n_labels), DONE)


@dataclass(frozen=True)
class Nap(Nothing):
    """Scores are zero, after a while."""

    def fit(self, train: TrainingSet, prepared: object = None) -> LinearModel:
        time.sleep(0.05)
        return super().fit(train, prepared)


@dataclass(frozen=True)
class Library:
    """One LinearSVC for each label, as scikit-learn makes them."""

    C: float = 1.0

    def fit(self, train: TrainingSet, prepared: object = None) -> LinearModel:
        # Here: a worker of the others does not load it.
        from sklearn.multiclass import OneVsRestClassifier
        from sklearn.svm import LinearSVC

        model = OneVsRestClassifier(LinearSVC(C=self.C)).fit(train.X, train.Y.astype(int))
        coef = np.vstack([one.coef_ for one in model.estimators_])
        return LinearModel(coef, np.concatenate([one.intercept_ for one in model.estimators_]), DONE)
