"""Kernel functions on dense or CSR rows, ``function(X, Z, gamma, degree, coef0) -> (n_rows_of_X, n_rows_of_Z)``.

`degree` and `coef0` are of the polynomial kernel alone, `gamma` of all but the linear one.
"""

from collections.abc import Callable

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics.pairwise import additive_chi2_kernel, rbf_kernel

from mlrank.arrays import Features, FloatArray, as_dense

__all__ = ["KERNELS", "check_kernel"]


def _linear(X: Features, Z: Features, gamma: float, degree: int = 3, coef0: float = 1.0) -> FloatArray:
    return np.ascontiguousarray(as_dense(X @ Z.T))


def _rbf(X: Features, Z: Features, gamma: float, degree: int = 3, coef0: float = 1.0) -> FloatArray:
    kernel: FloatArray = rbf_kernel(X, Z, gamma=gamma)
    return kernel


def _polynomial(X: Features, Z: Features, gamma: float, degree: int = 3, coef0: float = 1.0) -> FloatArray:
    kernel: FloatArray = (gamma * _linear(X, Z, gamma) + coef0) ** degree
    return kernel


def _chi2(X: Features, Z: Features, gamma: float, degree: int = 3, coef0: float = 1.0) -> FloatArray:
    for rows in (X, Z):
        least = (rows.data if issparse(rows) else rows).min(initial=0.0)
        if least < 0:
            raise ValueError(f"the chi2 kernel needs features of at least 0, found {least:g}")
    # scikit-learn refuses arrays that are read-only.
    kernel: FloatArray = np.exp(gamma * additive_chi2_kernel(np.array(as_dense(X)), np.array(as_dense(Z))))
    return kernel


KERNELS: dict[str, Callable[..., FloatArray]] = {
    "linear": _linear,  # x'z
    "rbf": _rbf,  # exp(-gamma |x - z|^2)
    "polynomial": _polynomial,  # (gamma x'z + coef0)^degree
    "chi2": _chi2,  # exp(-gamma sum_j (x_j - z_j)^2 / (x_j + z_j)), for features of at least 0; 0/0 counts 0
}


def check_kernel(name: str) -> None:
    """Raise ValueError unless `name` is a key of KERNELS."""
    if name not in KERNELS:
        raise ValueError(f"kernel must be one of {', '.join(KERNELS)}, found {name!r}")
