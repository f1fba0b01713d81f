"""Projections of rows onto directions, by features or by kernel values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlrank.arrays import Features, FloatArray, as_features
from mlrank.kernels import Kernel
from mlrank.solvers.base import FitInfo, ModelArrays, ModelMeta
from mlrank.solvers.models.kernel import KernelModel
from mlrank.solvers.models.linear import LinearModel, LowRankModel
from mlrank.solvers.models.transductive import TransductiveModel

__all__ = [
    "KernelProjection",
    "Projection",
    "asked_and_seen",
]


@dataclass(frozen=True)
class Projection:
    """Projected rows ``X @ coef + offset``.

    Parameters
    ----------
    coef : (n_features, r) ndarray, W of the paper
    offset : (r,) ndarray
    eigenvalues : (r,) ndarray, largest first; None where no eigenproblem is solved
    info : FitInfo
    """

    coef: FloatArray
    offset: FloatArray
    eigenvalues: FloatArray | None
    info: FitInfo

    def transform(self, X: Features) -> FloatArray:
        """Return projected rows, shape (n_samples, r)."""
        return np.asarray(as_features(X) @ self.coef) + self.offset

    def model(self, coef: FloatArray, intercept: FloatArray, info: FitInfo) -> LinearModel:
        """Return the linear model that equals a linear classifier of projected rows."""
        return LinearModel(coef @ self.coef.T, intercept + coef @ self.offset, info)

    def factored_model(self, coef: FloatArray, intercept: FloatArray, info: FitInfo) -> LowRankModel:
        """Return the same with its weights left as two factors, for very many labels."""
        objectives = np.array([info.objective])
        return LowRankModel(self.coef, coef, intercept + coef @ self.offset, coef.shape[1], objectives, info)

    def arrays(self) -> ModelArrays:
        """Return the arrays that define the projection."""
        return {"coef": self.coef, "offset": self.offset, **_spectrum(self.eigenvalues)}

    def meta(self) -> ModelMeta:
        """Return the kind of projection."""
        return {"projection": "linear"}


@dataclass(frozen=True)
class KernelProjection:
    """Projected rows ``K(X, X_train) @ dual + offset``.

    Parameters
    ----------
    X_train : (n_train, n_features)
    dual : (n_train, r) ndarray
    offset : (r,) ndarray
    eigenvalues : (r,) ndarray, largest first; None where no eigenproblem is solved
    kernel, gamma, degree, coef0 : the kernel's key and its constants
    info : FitInfo
    """

    X_train: Features
    dual: FloatArray
    offset: FloatArray
    eigenvalues: FloatArray | None
    kernel: str
    gamma: float
    degree: int
    coef0: float
    info: FitInfo

    def transform(self, X: Features) -> FloatArray:
        """Return projected rows, shape (n_samples, r)."""
        K = Kernel.of(self)(X, self.X_train)
        projected: FloatArray = K @ self.dual + self.offset
        return projected

    def model(self, coef: FloatArray, intercept: FloatArray, info: FitInfo) -> KernelModel:
        """Return the kernel model that equals a linear classifier of projected rows."""
        intercept = intercept + coef @ self.offset
        dual = coef @ self.dual.T
        return KernelModel.expansion(Kernel.of(self), self.X_train, dual, intercept, info)

    def arrays(self) -> ModelArrays:
        """Return the arrays that define the projection."""
        return {"X_train": self.X_train, "dual": self.dual, "offset": self.offset, **_spectrum(self.eigenvalues)}

    def meta(self) -> ModelMeta:
        """Return the kind of projection and its kernel."""
        constants = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return {"projection": "kernel", "kernel": self.kernel, **constants}


def _spectrum(eigenvalues: FloatArray | None) -> Mapping[str, FloatArray]:
    return {} if eigenvalues is None else {"eigenvalues": eigenvalues}


def asked_and_seen(X: Features, projection: Any, model: Any) -> tuple[Features, Features]:
    """Return rows as a model behind a projection (or none) is asked for them, and as the projection gives them.

    A transductive model knows its rows by what they were before: see `TransductiveModel.of_rows`.
    """
    seen = X if projection is None else projection.transform(X)
    return (X if isinstance(model, TransductiveModel) else seen), seen
