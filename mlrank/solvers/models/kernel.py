"""The model of solvers whose scores are kernel expansions over training rows."""

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from mlrank.arrays import Features, FloatArray, as_dense, as_features, read_only, take_rows
from mlrank.kernels import Kernel
from mlrank.kernels.rows import KernelRows, wrong_width
from mlrank.solvers.base import FitInfo, ModelArrays, ModelMeta
from mlrank.solvers.models.dual import DualPoint

__all__ = [
    "KernelModel",
]


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
    n_train : number of training rows, which is the width of X if precomputed; None where it is not known
    shared : the training rows that the model was fitted on and the numbers of those in `X_train`: what they have
        computed for one model serves the next. It is not stored with the model.
    dual_point : what proves the duality gap, where that is not `dual` itself
    """

    X_train: Features
    dual: FloatArray
    intercept: FloatArray
    kernel: str
    gamma: float
    info: FitInfo
    degree: int = 3
    coef0: float = 1.0
    n_train: int | None = None
    shared: tuple[KernelRows, Any] | None = field(default=None, repr=False, compare=False)
    dual_point: DualPoint | None = field(default=None, repr=False, compare=False)

    @classmethod
    def expansion(
        cls,
        kernel: Kernel,
        X_train: Features,
        dual: FloatArray,
        intercept: FloatArray,
        info: FitInfo,
        n_train: int | None = None,
    ) -> "KernelModel":
        """Make the model of coefficients (n_labels, n_support) for the rows `X_train`."""
        return cls(
            X_train, dual, intercept, kernel.kind, kernel.gamma, info, kernel.degree, kernel.coef0, n_train=n_train
        )

    @classmethod
    def of(
        cls, rows: KernelRows, dual: FloatArray, intercept: FloatArray, gamma: float, info: FitInfo
    ) -> "KernelModel":
        """Make the model of coefficients (n_labels, n_samples) for all training rows."""
        support = np.flatnonzero(dual.any(axis=0))
        X_train = support if rows.kernel == "precomputed" else read_only(take_rows(rows.X, support))
        kept, n_train = np.ascontiguousarray(dual[:, support]), int(rows.X.shape[0])
        constants = (rows.kernel, gamma, info, rows.degree, rows.coef0)
        return cls(X_train, kept, intercept, *constants, n_train, (rows, support))

    def decision_function(self, X: Features) -> FloatArray:
        """Return scores (n_samples, n_labels).

        Raises
        ------
        ValueError
            If the kernel is precomputed and `X` has not one column for each training row.
        """
        X = as_features(X)
        if not self.dual.size:  # no row has a coefficient: neither kernels nor their libraries take none
            if self.kernel == "precomputed" and self.n_train not in (None, X.shape[1]):
                raise ValueError(wrong_width(self.n_train, X.shape[1]))
            return np.tile(self.intercept, (X.shape[0], 1))
        if self.shared is not None:
            rows, support = self.shared
            K = rows.against(X, self.gamma, support)
        elif self.kernel == "precomputed":
            if self.n_train not in (None, X.shape[1]):
                raise ValueError(wrong_width(self.n_train, X.shape[1]))
            K = np.ascontiguousarray(as_dense(X)[:, self.X_train])
        else:
            K = Kernel.of(self)(X, self.X_train)
        return np.asarray(K @ self.dual.T) + self.intercept

    def arrays(self) -> ModelArrays:
        """Return the arrays that define the model."""
        return {"X_train": self.X_train, "dual": self.dual, "intercept": self.intercept}

    def meta(self) -> ModelMeta:
        """Return the kind of model and its kernel."""
        constants = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0, "n_train": self.n_train}
        return {"model": "kernel", "kernel": self.kernel, **constants}

    def __reduce__(self) -> tuple[Any, ...]:
        # The training rows with their distances are of this process alone.
        alone = replace(self, shared=None)
        return KernelModel, tuple(getattr(alone, one.name) for one in fields(alone))
