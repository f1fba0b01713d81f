"""Kernel functions on dense or CSR rows, ``KERNELS[name](X, Z, gamma, degree, coef0) -> (n_rows_of_X, n_rows_of_Z)``.

`degree` and `coef0` are of the polynomial kernel alone, `gamma` of the rbf, polynomial and chi2 kernels. Each kernel is
a base that no constant enters (inner products, distances) and a finish that applies the constants, so that a search
over gamma computes the base once: see KernelRows.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from mlrank.arrays import Features, FloatArray, as_dense, as_features

__all__ = [
    "HISTOGRAM_KERNELS",
    "KERNELS",
    "Kernel",
    "KernelFunction",
    "canonical",
    "feature_pair",
]

S = TypeVar("S")


@dataclass(frozen=True)
class KernelFunction:
    """A kernel function, made of two parts.

    base : (X, Z) -> (n_rows_of_X, n_rows_of_Z); it may be faster where Z is X
    finish : (base, gamma, degree, coef0) -> kernel values; never writes to `base`
    constants : those of gamma, degree and coef0 that have an effect
    """

    base: Callable[[Features, Features], FloatArray]
    finish: Callable[[FloatArray, float, int, float], FloatArray]
    constants: tuple[str, ...] = ()

    def __call__(self, X: Features, Z: Features, gamma: float = 1.0, degree: int = 3, coef0: float = 1.0) -> FloatArray:
        """Return kernel values of all rows of `X` with all rows of `Z`."""
        return self.finish(self.base(*feature_pair(X, Z)), gamma, degree, coef0)


def feature_pair(X: Features, Z: Features) -> tuple[Features, Features]:
    """Return both as features, one object where they are one."""
    rows = as_features(X)
    return rows, rows if Z is X else as_features(Z)


def _inner(X: Features, Z: Features) -> FloatArray:
    return np.ascontiguousarray(as_dense(X @ Z.T))


def _squared_distances(X: Features, Z: Features) -> FloatArray:
    from mlrank.kernels.distances import squared_distances

    return squared_distances(X, Z)


def _chi2_distances(X: Features, Z: Features) -> FloatArray:
    from mlrank.kernels.chi2 import chi2_distances  # numba takes half a second to load, which other kernels need not

    return chi2_distances(X, Z)


def _chi2_similarities(X: Features, Z: Features) -> FloatArray:
    from mlrank.kernels.chi2 import chi2_similarities  # as above

    return chi2_similarities(X, Z)


def _plain(base: FloatArray, gamma: float, degree: int, coef0: float) -> FloatArray:
    return base


def _power(base: FloatArray, gamma: float, degree: int, coef0: float) -> FloatArray:
    values: FloatArray = (gamma * base + coef0) ** degree
    return values


def _exponential(base: FloatArray, gamma: float, degree: int, coef0: float) -> FloatArray:
    values: FloatArray = base * -gamma
    return np.exp(values, out=values)


CONSTANTS = ("gamma", "degree", "coef0")
KERNELS: dict[str, KernelFunction] = {
    "linear": KernelFunction(_inner, _plain),  # x'z
    "rbf": KernelFunction(_squared_distances, _exponential, ("gamma",)),  # exp(-gamma |x - z|^2)
    "polynomial": KernelFunction(_inner, _power, CONSTANTS),  # (gamma x'z + coef0)^degree
    # For features of at least 0; 0/0 counts 0.
    "chi2": KernelFunction(_chi2_distances, _exponential, ("gamma",)),  # exp(-gamma sum_j (x_j - z_j)^2 / (x_j + z_j))
    "additive_chi2": KernelFunction(_chi2_similarities, _plain),  # 2 sum_j x_j z_j / (x_j + z_j)
}
# Those that take features of at least 0 alone.
HISTOGRAM_KERNELS = frozenset({"chi2", "additive_chi2"})


@dataclass(frozen=True)
class Kernel:
    """A kernel with its constants.

    Parameters
    ----------
    kind : str
        A key of KERNELS, or "precomputed" for solvers that take rows of a kernel matrix.
    gamma, degree, coef0 : float, int, float
    """

    kind: str = "linear"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0

    @classmethod
    def of(cls, settings: Any) -> "Kernel":
        """Return the kernel of a solver or model, from its `kernel`, `gamma`, `degree` and `coef0`."""
        return cls(settings.kernel, settings.gamma, settings.degree, settings.coef0)

    def __call__(self, X: Features, Z: Features) -> FloatArray:
        """Return the kernel values (n_rows_of_X, n_rows_of_Z)."""
        return KERNELS[self.kind](X, Z, self.gamma, self.degree, self.coef0)


def canonical(solver: S) -> S:
    """Return a solver with the constants that have no effect on its kernel at their defaults."""
    given: Any = solver
    used = KERNELS[given.kernel].constants if given.kernel in KERNELS else ()
    changed: S = replace(given, **{name: getattr(type(given), name) for name in CONSTANTS if name not in used})
    return changed
