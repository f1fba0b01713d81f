"""Orthonormal bases of tall matrices that may be short of rank."""

import numpy as np
from scipy.linalg import qr, solve_triangular, svd

from mlrank.arrays import FloatArray

__all__ = ["orthonormal_columns", "range_basis"]

# Columns whose Cholesky pivots differ by more than this are made orthonormal by reflections instead.
PIVOT_RATIO = 1e-6


def range_basis(A: FloatArray, tol: float = 1e-10, full: bool = False) -> tuple[FloatArray, FloatArray]:
    """Return an orthonormal basis of the range of a tall `A` and its singular values, largest first.

    QR, then the singular values of the small factor: O(n k^2). Singular values of `tol` times the largest or less count
    as zero; `full` keeps their left vectors too, which are then arbitrary.
    """
    if not A.any():
        r = min(A.shape) if full else 0
        return np.eye(A.shape[0], r), np.zeros(r)
    Q, R = qr(A, mode="economic", check_finite=False)
    left, values, _ = svd(R, full_matrices=False, check_finite=False)
    keep = len(values) if full else int((values > tol * values[0]).sum())
    return np.asarray(Q @ left[:, :keep]), np.asarray(values[:keep])


def orthonormal_columns(A: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (Q, R) with A = QR; Q has orthonormal columns also where A is short of rank.

    Two rounds of Cholesky factorisation of the small Gram matrix, which is several times faster than reflections on a
    tall matrix and as accurate where the columns are fairly independent; reflections otherwise.
    """
    Q, R = A, np.eye(A.shape[1])
    if A.shape[1] == 0:
        return Q, R
    for _ in range(2):
        try:
            factor = np.linalg.cholesky(Q.T @ Q).T
        except np.linalg.LinAlgError:
            return _reflections(A)
        pivots = np.diag(factor)
        if pivots.min() <= PIVOT_RATIO * pivots.max():
            return _reflections(A)
        # A product with the inverse, as good as substitution here: the second round mends what the first left.
        Q = Q @ solve_triangular(factor, np.eye(len(factor)), check_finite=False)
        R = factor @ R
    return Q, R


def _reflections(A: FloatArray) -> tuple[FloatArray, FloatArray]:
    Q, R = qr(A, mode="economic", check_finite=False)
    return np.asarray(Q), np.asarray(R)
