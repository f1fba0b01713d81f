"""Singular value thresholding, the proximal map of the nuclear norm."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, svd

from mlrank.arrays import FloatArray

__all__ = ["Shrunk", "largest_singular_value", "shrink_singular_values", "singular_values_below"]

EPS = float(np.finfo(np.float64).eps)
# What the decomposition and the product that puts the matrix together again may round, in sums of EPS.
PRODUCTS = 4
# Where so small a part of all eigenvectors is expected to be needed, those alone are computed.
FEW = 1 / 8


class Shrunk(NamedTuple):
    """A matrix with shrunken singular values, left @ right.T.

    Parameters
    ----------
    left : (p, rank) ndarray
        Left singular vectors times `values`.
    right : (k, rank) ndarray
        Right singular vectors.
    values : (rank,) ndarray
        Its singular values, in no particular order.
    slack : float
        Singular values of A - matrix are at most (1 + slack) times the threshold, whatever rounding did.
    """

    left: FloatArray
    right: FloatArray
    values: FloatArray
    slack: float

    @property
    def matrix(self) -> FloatArray:
        """The matrix, of the shape of A."""
        return self.left @ self.right.T


def shrink_singular_values(A: FloatArray, threshold: float, accuracy: float = 1e-9, rank: int | None = None) -> Shrunk:
    """Return argmin_Z 1/2 |Z - A|^2 + threshold |Z|_*: each singular value s becomes max(s - threshold, 0).

    The eigenvectors of the smaller Gram matrix serve, in a third of the time that a decomposition of A takes, unless
    too many digits are lost: it holds squares of singular values, with an error relative to the largest.

    Parameters
    ----------
    A : (p, k) ndarray
    threshold : float
        Above 0.
    accuracy : float
        The slack of the result that still serves.
    rank : int, optional
        About how many singular values are above the threshold, if that is known.
    """
    if A.shape[0] < A.shape[1]:
        turned = shrink_singular_values(A.T, threshold, accuracy, rank)
        return turned._replace(left=turned.right * turned.values, right=turned.left / turned.values)
    gram = A.T @ A
    # A bound on the error of its eigenvalues, relative to the square of the threshold.
    slack = max(A.shape) * EPS * float(np.linalg.norm(gram)) / threshold**2 / 2
    if not slack <= accuracy:
        return _by_decomposition(A, threshold)
    if rank is not None and rank < FEW * len(gram):
        above = (threshold**2, np.inf)
        squares, vectors = eigh(gram, driver="evr", subset_by_value=above, overwrite_a=True, check_finite=False)
    else:
        squares, vectors = eigh(gram, driver="evd", overwrite_a=True, check_finite=False)
    values = np.sqrt(np.maximum(squares, 0.0))
    keep = values > threshold  # a square may exceed that of the threshold, and its root not
    values, vectors = values[keep], vectors[:, keep]
    return Shrunk(A @ vectors * (1 - threshold / values), vectors, values - threshold, slack)


def _by_decomposition(A: FloatArray, threshold: float) -> Shrunk:
    left, values, right = svd(A, full_matrices=False, check_finite=False)
    slack = PRODUCTS * sum(A.shape) * EPS * float(values[0]) / threshold
    shrunken = values[values > threshold] - threshold
    rank = len(shrunken)
    return Shrunk(left[:, :rank] * shrunken, right[:rank].T, shrunken, slack)


def singular_values_below(A: FloatArray, limit: float) -> bool:
    """Return whether no singular value of `A` exceeds `limit`, but for relative rounding of sum(A.shape) EPS.

    That is whether limit^2 I - A'A has a Cholesky factor: a fifth of the time that the largest one takes.
    """
    rest = -_smaller_gram(A)
    np.fill_diagonal(rest, rest.diagonal() + limit**2)
    try:
        cholesky(rest, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return False
    return True


def largest_singular_value(A: FloatArray) -> float:
    """Return the spectral norm of `A`, by the smaller Gram matrix."""
    gram = _smaller_gram(A)
    last = len(gram) - 1
    (square,) = eigh(gram, eigvals_only=True, subset_by_index=[last, last], overwrite_a=True, check_finite=False)
    return float(np.sqrt(max(square, 0.0)))


def _smaller_gram(A: FloatArray) -> FloatArray:
    return A.T @ A if A.shape[0] >= A.shape[1] else A @ A.T
