"""Kernel matrices in long doubles, for objectives of which rounding of the plain ones would be a part.

A polynomial of rows far from the origin, or with one huge feature, has values of 10^20 beside values of 1, and rounding
errors of the first larger than the second.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mlrank.arrays import Features, FloatArray, as_dense
from mlrank.kernels import Kernel

__all__ = ["ACCURACY", "EPS", "LONGER", "expansion_error", "expansion_square", "long_expansion", "long_kernel"]

EPS = float(np.finfo(np.float64).eps)
# Rounding of long doubles, of that of doubles.
LONGER = float(np.finfo(np.longdouble).eps) / EPS
# Relative accuracy of objectives: where rounding may be more, they are computed in long doubles.
ACCURACY = 1e-7
# Operations on long doubles that are affordable: some seconds.
AFFORDABLE = 5e8
# Of an objective, what the usual bound of a rounded matrix's least eigenvalue may take off without a closer look; the
# look's operations, and how often its answer is made sharper.
SMALL, FACTORED, HALVINGS = 1e-5, 1e8, 3
# Rows at a time.
ROWS = 256


def expansion_error(K: FloatArray, coef: FloatArray) -> float:
    """Return what an entry of K @ coef may be off by, for K (n, n) and coefficients (n,) or (n, n_labels)."""
    return 4 * EPS * float(np.diag(K).max()) * float(np.max(np.abs(coef).sum(axis=0), initial=0.0))


def expansion_square(
    K: FloatArray, beta: FloatArray, total: float, exact: Callable[[], Any], mix: FloatArray | None = None
) -> float:
    """Return trace(beta'K beta), not less than it, for a dual objective with the sum `total` of its variables.

    Parameters
    ----------
    K : (n, n) ndarray
    beta : (n,) or (n, n_labels) ndarray
    total : float
    exact : () -> K in long doubles, or None where that takes too long; asked where rounding shows. Without it the
        answer is infinite, and the dual objective no bound.
    mix : (n_labels, n_labels) ndarray, optional
        trace(mix beta'K beta) then is returned.
    """
    mixed = beta if mix is None else beta @ mix
    if expansion_error(K, beta) * float(np.abs(mixed).sum()) <= ACCURACY * total:
        return float(np.vdot(mixed, K @ beta))
    long = exact()
    if long is None:
        return np.inf
    product = long_expansion(long, beta)
    square = float((beta * (product if mix is None else product @ mix)).sum())
    if long.dtype != np.float64:
        # Kernel values have rounding errors of their own size, in long doubles as well.
        roots = np.sqrt(np.maximum(np.diag(K), 0.0)) @ np.abs(beta)
        return square + 4 * EPS * LONGER * float(np.vdot(roots, roots if mix is None else np.abs(mix) @ roots))
    return square + _indefinite(long, beta * mixed, square + 2.0 * total)


def _indefinite(K: FloatArray, squares: FloatArray, size: float) -> float:
    """Return how far a sum of beta_i beta_j K_ij may be below 0, for a K that is semidefinite but for rounding.

    `squares` are beta_i^2, of one label or of several. The least eigenvalue of the matrix scaled to a diagonal of ones
    is found if its usual bound counts beside `size`.
    """
    weighted = float(np.diag(K) @ squares.reshape(len(K), -1).sum(axis=1))
    bound = len(K) * EPS * weighted
    if bound <= SMALL * size or float(len(K)) ** 3 > FACTORED:
        return bound
    scale = np.sqrt(np.where(np.diag(K) > 0, np.diag(K), 1.0)).astype(np.longdouble)
    scaled = K / scale / scale[:, None]
    low, high = 0.0, EPS / 8
    while high < len(K) * EPS and not _semidefinite(scaled, high):
        low, high = high, 2.0 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _semidefinite(scaled, middle) else (middle, high)
    rounding = len(K) * (len(K) + 2) * float(np.finfo(np.longdouble).eps) / 2  # of the factor itself
    return min(bound, (high + rounding) * weighted)


def _semidefinite(A: Any, shift: float) -> bool:
    """Return whether A + shift I, whose diagonal is about 1, has a Cholesky factor in long doubles."""
    rest = A.copy()
    rest[np.diag_indices_from(rest)] += shift
    for i in range(len(rest)):
        if not rest[i, i] > 0:
            return False
        rest[i + 1 :, i + 1 :] -= np.multiply.outer(rest[i + 1 :, i], rest[i + 1 :, i] / rest[i, i])
    return True


def long_expansion(K: Any, coef: FloatArray) -> Any:
    """Return K @ coef in long doubles."""
    long = coef.astype(np.longdouble)
    return np.concatenate([K[at : at + ROWS].astype(np.longdouble) @ long for at in range(0, len(K), ROWS)])


def long_kernel(kernel: Kernel, X: Features) -> Any:
    """Return the kernel matrix of the rows in long doubles, a precomputed one as it is; None where it takes long."""
    if kernel.kind == "precomputed":
        return as_dense(X)
    n, d = X.shape
    if float(n) * n * d > AFFORDABLE:
        return None
    rows = as_dense(X).astype(np.longdouble)
    if kernel.kind in ("linear", "polynomial"):
        inner = rows @ rows.T
        if kernel.kind == "linear":
            return inner
        return (np.longdouble(kernel.gamma) * inner + np.longdouble(kernel.coef0)) ** int(kernel.degree)
    sums = np.array([_row(kernel.kind, row, rows) for row in rows])
    return sums if kernel.kind == "additive_chi2" else np.exp(-np.longdouble(kernel.gamma) * sums)


def _row(kind: str, x: Any, rows: Any) -> Any:
    """Return distances or similarities of one row and all."""
    if kind == "rbf":
        return ((rows - x) ** 2).sum(axis=1)
    parts = 2 * rows * x if kind == "additive_chi2" else (rows - x) ** 2
    whole = rows + x
    return np.divide(parts, whole, out=np.zeros_like(whole), where=whole > 0).sum(axis=1)
