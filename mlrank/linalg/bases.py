"""Orthonormal bases of tall matrices that may be short of rank."""

import numpy as np
from scipy.linalg import qr, solve_triangular, svd
from scipy.linalg.blas import dgemm

from mlrank.arrays import FloatArray

__all__ = ["orthonormal_columns", "range_basis", "subtract_product"]

# Columns whose Cholesky pivots differ by more than this are made orthonormal by reflections instead.
PIVOT_RATIO = 1e-6
# Up to this condition number, in the Frobenius norm and for each column, one round loses a digit or two.
WELL_CONDITIONED = 5.0


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

    Cholesky factorization of the small Gram matrix, several times faster than reflections on a tall matrix; once more
    where the columns are not so independent that one round is as accurate, and reflections where two are not.
    """
    Q, R, width = A, np.eye(A.shape[1]), A.shape[1]
    if width == 0:
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
        inverse = solve_triangular(factor, np.eye(width), check_finite=False)
        Q, R = Q @ inverse, factor @ R
        # Rounding grows with the square of the condition number.
        if np.linalg.norm(factor) * np.linalg.norm(inverse) <= WELL_CONDITIONED * width:
            break
    return Q, R


def _reflections(A: FloatArray) -> tuple[FloatArray, FloatArray]:
    Q, R = qr(A, mode="economic", check_finite=False)
    return np.asarray(Q), np.asarray(R)


def subtract_product(V: FloatArray, A: FloatArray, B: FloatArray) -> None:
    """Set V -= A B in one pass, without the product as an array of its own; V and A row-major."""
    if V.size and A.size:
        dgemm(-1.0, B.T, A.T, beta=1.0, c=V.T, overwrite_c=1)
