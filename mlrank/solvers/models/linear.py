"""Linear models: with a weight for each feature and label, or with weights as two factors of low rank."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, issparse

from mlrank.arrays import Features, FloatArray, as_features
from mlrank.solvers.base import FitInfo, ModelArrays, ModelMeta
from mlrank.solvers.models.dual import DualPoint

__all__ = [
    "LinearModel",
    "LowRankModel",
    "LowRankWeights",
    "SparseLinearModel",
]


@dataclass(frozen=True)
class LinearModel:
    """Scores ``X @ coef.T + intercept``.

    Parameters
    ----------
    coef : (n_labels, n_features) ndarray
    intercept : (n_labels,) ndarray
    info : FitInfo
    dual_point : DualPoint or None
        What proves the duality gap of a solver that has one.
    """

    coef: FloatArray
    intercept: FloatArray
    info: FitInfo
    dual_point: DualPoint | None = field(default=None, repr=False, compare=False, kw_only=True)

    def decision_function(self, X: Features) -> FloatArray:
        """Return scores (n_samples, n_labels)."""
        return np.asarray(as_features(X) @ self.coef.T) + self.intercept

    def arrays(self) -> Mapping[str, FloatArray]:
        """Return `coef` and `intercept`."""
        return {"coef": self.coef, "intercept": self.intercept}

    def meta(self) -> ModelMeta:
        """Return the kind of model."""
        return {"model": "linear"}


@dataclass(frozen=True)
class SparseLinearModel:
    """Scores ``X @ coef.T + intercept`` with weights of which most are 0.

    Parameters
    ----------
    coef : (n_labels, n_features) csr_array
    intercept : (n_labels,) ndarray
    info : FitInfo
    dual_point : DualPoint or None
        What proves the duality gap of a solver that has one.
    """

    coef: csr_array
    intercept: FloatArray
    info: FitInfo
    dual_point: DualPoint | None = field(default=None, repr=False, compare=False, kw_only=True)

    def decision_function(self, X: Features) -> FloatArray:
        """Return scores (n_samples, n_labels)."""
        scores = as_features(X) @ self.coef.T
        return np.asarray(scores.toarray() if issparse(scores) else scores) + self.intercept

    def arrays(self) -> ModelArrays:
        """Return `coef` and `intercept`."""
        return {"coef": self.coef, "intercept": self.intercept}

    def meta(self) -> ModelMeta:
        """Return the kind of model."""
        return {"model": "sparse_linear"}


@dataclass(frozen=True)
class LowRankModel:
    """Scores ``X @ coef.T + intercept``, with coef = right @ left.T.

    Parameters
    ----------
    left : (n_features, r) ndarray
    right : (n_labels, r) ndarray
    intercept : (n_labels,) ndarray
    rank : int
        Of coef, at most r.
    objectives : (n,) ndarray
        The objective along the iterations, wherever it was computed.
    info : FitInfo
    """

    left: FloatArray
    right: FloatArray
    intercept: FloatArray
    rank: int
    objectives: FloatArray
    info: FitInfo

    @cached_property
    def coef(self) -> FloatArray:
        """The weights, (n_labels, n_features)."""
        found: FloatArray = self.right @ self.left.T
        return found

    def decision_function(self, X: Features) -> FloatArray:
        """Return scores (n_samples, n_labels); a row costs the less of (n_features + n_labels) r and a row of coef."""
        X, (n_features, r) = as_features(X), self.left.shape
        n_labels = len(self.right)
        if (n_features + n_labels) * r < n_features * n_labels:
            return np.asarray(X @ self.left) @ self.right.T + self.intercept
        return np.asarray(X @ self.coef.T) + self.intercept

    def arrays(self) -> Mapping[str, FloatArray]:
        """Return both factors, `intercept` and `objectives`."""
        return {"left": self.left, "right": self.right, "intercept": self.intercept, "objectives": self.objectives}

    def meta(self) -> ModelMeta:
        """Return the kind of model and its rank."""
        return {"model": "low_rank_factors", "rank": self.rank}


@dataclass(frozen=True)
class LowRankWeights(LinearModel):
    """Such a model with its weights multiplied out, as files of kind "low_rank" have it.

    Parameters
    ----------
    rank : int
    objectives : (n,) ndarray
    """

    rank: int
    objectives: FloatArray
