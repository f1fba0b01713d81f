"""The rows of a training set under a kernel, with everything that gamma and C do not change computed once."""

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf

from mlrank.arrays import Features, FloatArray, IntArray, as_dense, as_features, read_only
from mlrank.kernels import KERNELS

__all__ = ["KernelRows", "check_gram"]

# An eigenvalue of a precomputed kernel may be below zero by so much of the largest diagonal entry.
INDEFINITE = 1e-8
# Two entries that should be equal may differ by so much of the largest one.
ASYMMETRIC = 1e-9


class KernelRows:
    """Training rows that give kernel matrices for any gamma.

    A solver makes one in ``prepare``, hands it to its models, and leaves gamma out of SHARED: all fits of a fold then
    share the distances between training rows, and those to the rows that were last scored.

    Parameters
    ----------
    X : (n_samples, n_features) training rows, or the kernel matrix (n_samples, n_samples) if `kernel` is "precomputed"
    kernel : a key of KERNELS, or "precomputed"
    degree, coef0 : of the polynomial kernel
    keep_bases : whether bases stay in memory, 8 bytes a pair of rows; that of the training rows is computed at once

    Raises
    ------
    ValueError
        If a precomputed kernel is not a symmetric, positive semidefinite matrix of the training rows.
    """

    def __init__(self, X: Features, kernel: str, degree: int = 3, coef0: float = 1.0, keep_bases: bool = True) -> None:
        X = as_features(X)
        self.X, self.kernel, self.degree, self.coef0, self.keep_bases = X, kernel, degree, coef0, keep_bases
        self._training: FloatArray | None = None
        self._scored: tuple[Any, FloatArray | None] = (None, None)
        if kernel == "precomputed":
            check_gram(as_dense(X))
        elif keep_bases:
            self._base(X)

    def gram(self, gamma: float) -> FloatArray:
        """Return the kernel matrix (n_samples, n_samples), read-only."""
        K: FloatArray = read_only(self._finish(self._base(self.X), gamma))
        return K

    def against(self, X: Features, gamma: float, rows: IntArray) -> FloatArray:
        """Return the kernel values of the rows of `X` with the training rows numbered `rows`.

        Raises
        ------
        ValueError
            If the kernel is precomputed and `X` has not one column for each training row.
        """
        X = as_features(X)
        if self.kernel == "precomputed" and X.shape[1] != self.X.shape[0]:
            raise ValueError(wrong_width(self.X.shape[0], X.shape[1]))
        return self._finish(np.ascontiguousarray(self._base(X)[:, rows]), gamma)

    def forget(self) -> None:
        """Keep the rows alone, and no more bases."""
        self.keep_bases, self._training, self._scored = False, None, (None, None)

    def _finish(self, base: FloatArray, gamma: float) -> FloatArray:
        if self.kernel == "precomputed":
            return base
        return KERNELS[self.kernel].finish(base, gamma, self.degree, self.coef0)

    def _base(self, X: Features) -> FloatArray:
        if self.kernel == "precomputed":
            return as_dense(X)
        if X is self.X:
            base = KERNELS[self.kernel].base(X, X) if self._training is None else self._training
            self._training = base if self.keep_bases else None
            return base
        if X is not self._scored[0] or self._scored[1] is None:
            base = KERNELS[self.kernel].base(X, self.X)
            self._scored = (X, base) if self.keep_bases else (None, None)
            return base
        return self._scored[1]


def wrong_width(n_samples: int, found: int) -> str:
    """Say that rows of a precomputed kernel have not one value for each training row."""
    return f"rows of a precomputed kernel need one value for each of the {n_samples} training rows, found {found}"


def check_gram(K: FloatArray, rows: str = "the training rows") -> None:
    """Raise ValueError, which calls them `rows`, unless `K` is symmetric and positive semidefinite; O(n^3 / 3)."""
    expected = f"a precomputed kernel must be a symmetric matrix of {rows}, found"
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"{expected} {K.shape[0]} rows of {K.shape[1]} values")
    difference = np.abs(K - K.T)
    # Not a number compares as False.
    if not difference.max() <= ASYMMETRIC * np.abs(K).max():
        row, column = sorted(map(int, np.unravel_index(np.argmax(difference), K.shape)))
        found = f"{K[row, column]:g} and {K[column, row]:g} for rows {row} and {column} (counted from 0)"
        raise ValueError(f"{expected} {found}")
    del difference
    shifted = np.array(K, order="F")
    shifted[np.diag_indices_from(shifted)] += INDEFINITE * max(float(np.diag(K).max()), 1e-300)
    order = dpotrf(shifted, lower=1, overwrite_a=1, clean=0)[1]
    if order > 0:
        # The first rows that are not: the whole matrix has an eigenvalue at least as far below zero.
        least = float(eigh(K[:order, :order], eigvals_only=True, subset_by_index=[0, 0])[0])
        raise ValueError(f"a precomputed kernel must be positive semidefinite, found an eigenvalue of {least:.3g}")
