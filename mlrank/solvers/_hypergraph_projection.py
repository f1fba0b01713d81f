"""Projections of rows onto the directions that hypergraph spectral learning finds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlrank.arrays import Features, FloatArray
from mlrank.kernels import KERNELS
from mlrank.solvers._hypergraph_heads import LinearHead
from mlrank.solvers._kernel_model import KernelModel
from mlrank.solvers.base import FitInfo, LinearModel

__all__ = ["KernelProjection", "Projection"]


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
        return np.asarray(X @ self.coef) + self.offset

    def model(self, head: LinearHead, info: FitInfo) -> LinearModel:
        """Return the linear model that a linear classifier of projected rows amounts to."""
        return LinearModel(head.coef @ self.coef.T, head.intercept + head.coef @ self.offset, info)

    def arrays(self) -> Mapping[str, Any]:
        """Return the arrays that define the projection."""
        return {"coef": self.coef, "offset": self.offset, **_spectrum(self.eigenvalues)}

    def meta(self) -> Mapping[str, Any]:
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
        K = KERNELS[self.kernel](X, self.X_train, *self._constants)
        projected: FloatArray = K @ self.dual + self.offset
        return projected

    def model(self, head: LinearHead, info: FitInfo) -> KernelModel:
        """Return the kernel model that a linear classifier of projected rows amounts to."""
        intercept = head.intercept + head.coef @ self.offset
        dual = head.coef @ self.dual.T
        return KernelModel(
            self.X_train, dual, intercept, self.kernel, self.gamma, info, degree=self.degree, coef0=self.coef0
        )

    def arrays(self) -> Mapping[str, Any]:
        """Return the arrays that define the projection."""
        return {"X_train": self.X_train, "dual": self.dual, "offset": self.offset, **_spectrum(self.eigenvalues)}

    def meta(self) -> Mapping[str, Any]:
        """Return the kind of projection and its kernel."""
        constants = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return {"projection": "kernel", "kernel": self.kernel, **constants}

    @property
    def _constants(self) -> tuple[float, int, float]:
        return self.gamma, self.degree, self.coef0


def _spectrum(eigenvalues: FloatArray | None) -> Mapping[str, FloatArray]:
    return {} if eigenvalues is None else {"eigenvalues": eigenvalues}
