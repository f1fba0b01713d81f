"""The model of solvers whose scores are kernel expansions over training rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlrank.arrays import Features, FloatArray
from mlrank.kernels import KERNELS
from mlrank.solvers.base import FitInfo

__all__ = ["KernelModel"]


@dataclass(frozen=True)
class KernelModel:
    """Scores ``K(X, X_train) @ dual.T + intercept``; a precomputed K is given in place of X.

    Parameters
    ----------
    X_train : (n_support, n_features), rows with a nonzero coefficient; (n_support,) their numbers if precomputed
    dual : (n_labels, n_support) ndarray
    intercept : (n_labels,) ndarray
    kernel, gamma : the kernel's key and its gamma
    info : FitInfo
    degree, coef0 : of the polynomial kernel
    """

    X_train: Features
    dual: FloatArray
    intercept: FloatArray
    kernel: str
    gamma: float
    info: FitInfo
    degree: int = 3
    coef0: float = 1.0

    def decision_function(self, X: Features) -> FloatArray:
        """Return scores (n_samples, n_labels)."""
        if self.kernel == "precomputed":
            K = X[:, self.X_train]
        else:
            K = KERNELS[self.kernel](X, self.X_train, self.gamma, self.degree, self.coef0)
        return np.asarray(K @ self.dual.T) + self.intercept

    def arrays(self) -> Mapping[str, Any]:
        """Return the arrays that define the model."""
        return {"X_train": self.X_train, "dual": self.dual, "intercept": self.intercept}

    def meta(self) -> Mapping[str, Any]:
        """Return the kind of model and its kernel."""
        constants = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return {"model": "kernel", "kernel": self.kernel, **constants}
