"""Kernel functions, each ``function(X, Z, gamma) -> (n_rows_of_X, n_rows_of_Z)`` on dense or CSR rows."""

from collections.abc import Callable

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from mlrank.arrays import Features, FloatArray, as_dense

__all__ = ["KERNELS", "check_kernel"]


def _linear(X: Features, Z: Features, gamma: float) -> FloatArray:
    return np.ascontiguousarray(as_dense(X @ Z.T))


def _rbf(X: Features, Z: Features, gamma: float) -> FloatArray:
    kernel: FloatArray = rbf_kernel(X, Z, gamma=gamma)
    return kernel


KERNELS: dict[str, Callable[[Features, Features, float], FloatArray]] = {
    "linear": _linear,  # x'z; gamma has no part in it
    "rbf": _rbf,  # exp(-gamma |x - z|^2)
}


def check_kernel(name: str) -> None:
    """Raise ValueError unless `name` is a key of KERNELS."""
    if name not in KERNELS:
        raise ValueError(f"kernel must be one of {', '.join(KERNELS)}, found {name!r}")
