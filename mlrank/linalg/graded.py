"""The singular value decomposition of rows whose columns, or whose own sizes, are many powers of ten apart.

The usual decompositions, and those of Gram matrices, are accurate beside the largest singular value: a column 1e8 times
the others leaves no digit of theirs. One-sided Jacobi rotations after a pivoted QR factorization are accurate beside
each singular value, however the rows and columns are scaled (Drmac & Veselic, "New fast and accurate Jacobi SVD
algorithm", SIAM J. Matrix Anal. Appl. 29, 2008; LAPACK's dgejsv). They take several times as long.
"""

import numpy as np
from scipy.linalg.lapack import dgejsv, dpstrf

from mlrank.arrays import FloatArray

__all__ = ["graded_rows", "graded_svd"]

EPS = float(np.finfo(np.float64).eps)
# dgejsv: scaled rows and columns; both sides of vectors; no cutting of small values; no perturbation.
SCALED, VECTORS, ALL_VALUES, AS_GIVEN = 2, 0, 0, 0


def graded_svd(A: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return U (n, r), singular values (r,), largest first, and V (d, r) with A = U diag(values) V'.

    A singular value counts as zero where it is no more than what rounding makes of the terms that it is the sum of: the
    columns of `A` times its right singular vector, or the rows times its left one. O(n d min(n, d)).
    """
    if not A.any():
        return np.zeros((A.shape[0], 0)), np.zeros(0), np.zeros((A.shape[1], 0))
    tall = A if A.shape[0] >= A.shape[1] else A.T
    rows, columns = np.flatnonzero(tall.any(axis=1)), np.flatnonzero(tall.any(axis=0))
    part = np.asfortranarray(tall[np.ix_(rows, columns)])
    if part.shape[0] < part.shape[1]:  # rows of zeros were left out
        left, values, right = graded_svd(part)
    else:
        values, left, right, scale, _, failed = dgejsv(
            part, joba=SCALED, jobu=VECTORS, jobv=VECTORS, jobr=ALL_VALUES, jobt=AS_GIVEN, jobp=AS_GIVEN
        )
        if failed:
            raise ArithmeticError("the Jacobi rotations of a singular value decomposition did not settle")
        values = values * (scale[0] / scale[1])
        keep = values > max(part.shape) * EPS * _terms(part, left, right)
        left, values, right = left[:, keep], values[keep], right[:, keep]
    U, V = np.zeros((tall.shape[0], len(values))), np.zeros((tall.shape[1], len(values)))
    U[rows], V[columns] = left, right
    return (U, values, V) if tall is A else (V, values, U)


def _terms(A: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
    """Return for each singular value the size of the terms that it is a sum of, by columns or by rows."""
    columns, rows = np.linalg.norm(A, axis=0)[:, None], np.linalg.norm(A, axis=1)[:, None]
    terms: FloatArray = np.minimum(np.linalg.norm(columns * right, axis=0), np.linalg.norm(rows * left, axis=0))
    return terms


def graded_rows(K: FloatArray) -> FloatArray:
    """Return L (n, r) with K = LL' for a positive semidefinite `K`, to rounding beside each two diagonal entries.

    A Cholesky factorization with pivoting of the matrix scaled to a diagonal of ones, O(n r^2): rows many powers of ten
    apart keep their digits.
    """
    root = np.sqrt(np.maximum(np.diag(K), 0.0))
    scale = np.where(root > 0, root, 1.0)
    factor, pivots, rank, _ = dpstrf(np.asfortranarray(K / scale[:, None] / scale), lower=1, tol=len(K) * EPS)
    L = np.zeros((len(K), rank))
    L[pivots - 1] = np.tril(factor)[:, :rank]
    return root[:, None] * L
