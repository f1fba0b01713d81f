"""Class-balanced k-nearest neighbors (BKNN): every label is judged by the same number of its own nearest rows.

Wang, Ding and Huang, "Multi-label classification: inconsistency and class balanced k-nearest neighbor", AAAI 2010. Of a
row x and the b training rows x_j of label k that are nearest to it::

    s_k = sum_j exp(-|x - x_j|^2 / (2 sigma)),     f_k = (s_k - s) / s,  s the mean of s_k over the labels    (eq. 4, 5)

The scores do not change when all s_k are multiplied, so the least squared distance is taken off all before they enter
the exponential: far from all training rows, where the formula as printed divides 0 by 0, scores stay finite.
They sum to zero over the labels.

A training row is not its own neighbor when the threshold of a label is learned from the training scores (eq. 6, 7;
threshold "adaptive_f"): ``model.training_scores()`` leaves it out, while ``decision_function`` takes any row for a new
one. A row that stands in the data twice is still its double's neighbor.

Rows without labels are nobody's neighbors, a label without rows scores -1, and where no label has a row every label
scores 0. A label with fewer than b rows sums over those it has, and so scores lower. Nothing is iterated:
there is neither an objective nor a certificate. The distances are exact and their computation is shared by all labels,
see `ClassNeighbors`: n_scored * n_train * (n_features + labels per row) operations.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray
from mlrank.graphs import knn
from mlrank.solvers.base import FitInfo, ModelArrays, ModelMeta, TrainingSet, check_choices, check_positive
from mlrank.solvers.blda import BLDA
from mlrank.solvers.models import Projection
from mlrank.solvers.neighbors.class_neighbors import ClassNeighbors

__all__ = [
    "BalancedKNN",
    "BalancedNeighbors",
]

AGGREGATES = ("sum", "mean")


@dataclass(frozen=True)
class Neighborhood:
    """The training rows as they are compared, and what their distances say by themselves."""

    X: Features
    Y: BoolArray
    projection: Projection | None

    @cached_property
    def typical_square(self) -> float:
        """Median squared distance of a labeled row to the nearest other one, of those that are not equal; else 1."""
        labeled = np.flatnonzero(self.Y.any(axis=1))
        if labeled.size < 2:
            return 1.0
        squares = knn(self.X[labeled], 1)[1]
        if not squares.any():
            return 1.0
        return float(np.median(squares)) or float(np.median(squares[squares > 0]))


@dataclass(frozen=True)
class BalancedNeighbors:
    """Scores by the nearest training rows of each label.

    Parameters
    ----------
    X_train : (n_train, n_features or r) ndarray or csr_array, projected rows if there is a projection
    Y_train : (n_train, n_labels) bool ndarray
    projection : Projection or None
    b : int
    width : float
        2 sigma of eq. 4, or 2 sigma^2.
    aggregate, self_neighbor : str, bool
        As for BalancedKNN.
    info : FitInfo
    """

    X_train: Features
    Y_train: BoolArray
    projection: Projection | None
    b: int
    width: float
    aggregate: str
    self_neighbor: bool
    info: FitInfo

    @cached_property
    def neighbors(self) -> ClassNeighbors:
        """The training rows as they are searched."""
        return ClassNeighbors(self.X_train, self.Y_train)

    def __getstate__(self) -> dict[str, object]:
        """Return what a copy needs: not `neighbors`, which are made again when asked for."""
        return {name: value for name, value in vars(self).items() if name != "neighbors"}

    def decision_function(self, X: Features) -> FloatArray:
        """Return scores (n_samples, n_labels)."""
        return self._scores(X if self.projection is None else self.projection.transform(X), None)

    def training_scores(self) -> FloatArray:
        """Return scores (n_train, n_labels) of the training rows, none of which is its own neighbor."""
        return self._scores(self.X_train, None if self.self_neighbor else np.arange(self.X_train.shape[0]))

    def _scores(self, X: Features, own: IntArray | None) -> FloatArray:
        scores = np.empty((X.shape[0], self.Y_train.shape[1]))
        for near in self.neighbors.blocks(X, self.b, own):
            scores[near.block] = self._balanced(near.squares).T
        return scores

    def _balanced(self, squares: FloatArray) -> FloatArray:
        """Return f (n_labels, n_scored) of eq. 5 from squared distances (n_labels, b, n_scored), which are spent."""
        least = squares.min(axis=(0, 1))
        squares -= np.where(np.isfinite(least), least, 0.0)
        squares *= -1.0 / self.width
        many = (squares > -np.inf).sum(axis=1) if self.aggregate == "mean" else 1
        s: FloatArray = np.exp(squares, out=squares).sum(axis=1)
        s /= np.maximum(many, 1)
        total = s.sum(axis=0)
        return np.where(total > 0, len(s) * s / np.where(total > 0, total, 1.0) - 1.0, 0.0)

    def arrays(self) -> ModelArrays:
        """Return the training rows with their labels."""
        return {"X_train": self.X_train, "Y_train": self.Y_train}

    def meta(self) -> ModelMeta:
        """Return the kind of model and its settings; `projection` is stored as a part of its own."""
        return {
            "model": "balanced_neighbors",
            "b": self.b,
            "width": self.width,
            "aggregate": self.aggregate,
            "self_neighbor": self.self_neighbor,
        }


@dataclass(frozen=True)
class BalancedKNN:
    """Class-balanced nearest neighbors (eq. 4 and 5).

    Use it where labels are of very unequal frequency and rows of one label lie together.

    Parameters
    ----------
    n_neighbors : int
        b of the paper: neighbors of each label.
    width : float or None
        sigma of the paper, which gives no value; None takes the median squared distance of a training row to the
        nearest other one.
    project : BLDA, mapping of its settings, or None
        A projection that the rows go through first. A configuration has `project:` for any solver instead.
    width_power : {1, 2}
        exp(-|.|^2 / (2 width)) as printed, or with width^2.
    aggregate : {"sum", "mean"}
        "mean" divides s_k by the number of rows, so that labels with fewer than n_neighbors do not score lower.
    self_neighbor : bool
        Whether a training row counts as its own neighbor in `training_scores`, as the paper does.

    References
    ----------
    Wang, Ding and Huang, "Multi-label classification: inconsistency and class balanced k-nearest neighbor", AAAI 2010.
    """

    n_neighbors: int = 5
    width: float | None = None
    project: BLDA | Mapping[str, Any] | None = None
    width_power: int = 1
    aggregate: str = "sum"
    self_neighbor: bool = False

    SHARED: ClassVar[tuple[str, ...]] = ("project",)
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_positive(self, "n_neighbors", *(() if self.width is None else ("width",)))
        if int(self.n_neighbors) != self.n_neighbors:
            raise ValueError(f"n_neighbors must be a whole number, found {self.n_neighbors!r}")
        if self.width_power not in (1, 2) or isinstance(self.width_power, bool):
            raise ValueError(f"width_power must be 1 or 2, found {self.width_power!r}")
        check_choices(self, {"aggregate": AGGREGATES})
        if self.project is not None and not isinstance(self.project, BLDA):
            object.__setattr__(self, "project", BLDA(**self.project))

    def prepare(self, train: TrainingSet) -> Neighborhood:
        """Project the rows; what else depends on them alone is computed when first asked for."""
        if not isinstance(self.project, BLDA):
            return Neighborhood(train.X, train.dense_Y, None)
        projection = self.project.fit(train)
        return Neighborhood(projection.transform(train.X), train.dense_Y, projection)

    def cost(self, n_samples: int, n_features: int, n_labels: int) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow with the shape of the training set."""
        known = self.width is not None and self.project is None
        return float(n_samples) * n_features * (1 if known else n_samples), 8.0 * n_samples * (n_features + n_labels)

    def fit(self, train: TrainingSet, prepared: Neighborhood | None = None) -> BalancedNeighbors:
        """Store the rows of `train`, and find the width if it is not given."""
        near = self.prepare(train) if prepared is None else prepared
        square = near.typical_square if self.width is None else self.width**self.width_power
        short = int((train.dense_Y.sum(axis=0) < self.n_neighbors).sum())
        notes = near.projection.info.notes if near.projection is not None else ()
        if short:
            notes += (f"{short} of {train.n_labels} labels have fewer than {self.n_neighbors} rows",)
        info = FitInfo(1, float("nan"), float("nan"), True, notes)
        parts = (near.X, near.Y, near.projection, int(self.n_neighbors), 2.0 * square)
        return BalancedNeighbors(*parts, self.aggregate, self.self_neighbor, info)
