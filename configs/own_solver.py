"""A solver of one's own: scores fall with the distance from the mean of the rows that carry a label.

With this folder on PYTHONPATH, ``mlrank check-solver own_solver:Centroids`` checks it, and ``mlrank train
own-solver.yaml`` compares it with others.
"""

from dataclasses import dataclass

import numpy as np

from mlrank import TrainingSet
from mlrank.solvers import FitInfo, LinearModel


@dataclass(frozen=True)
class Centroids:
    """Score a row by its squared distance from the mean of all rows, less that from the mean of a label's rows.

    Parameters
    ----------
    shrinkage : float
        By so many rows at the mean of all rows a label's mean is drawn towards it.
    """

    shrinkage: float = 1.0

    def __post_init__(self) -> None:
        if not self.shrinkage > 0:
            raise ValueError(f"shrinkage must be a number above 0, found {self.shrinkage!r}")

    def fit(self, train: TrainingSet, prepared: None = None) -> LinearModel:
        """Return the model of `train`; its scores are linear, as the squares of a row cancel."""
        mean = np.asarray(train.X.mean(axis=0)).ravel()
        counts = train.Y.sum(axis=0)[:, None]
        sums = np.asarray(train.X.T @ train.Y.astype(float)).T
        means = (sums + self.shrinkage * mean) / (counts + self.shrinkage)
        coef = 2.0 * (means - mean)
        intercept = mean @ mean - (means**2).sum(axis=1)
        # A label that no row carries is as far as any other from none: the commoner one is scored above it.
        share = (counts[:, 0] - counts.mean()) / train.n_samples
        return LinearModel(coef, intercept + share, FitInfo(1, float("nan"), 0.0, True))
