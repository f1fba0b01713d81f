"""Rows whose inner products are a given kernel matrix."""

import numpy as np
from scipy.linalg import eigh

from mlrank.arrays import FloatArray

__all__ = ["factor_gram"]

# The rows are scaled first where their sizes are so many times apart.
GRADED = 30.0
# Directions with less than this part of the largest moment are rounding.
NOISE = 1e-14


def factor_gram(A: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return rows Z with ZZ' = A and Z'Z / n = diag(moment), moments, and B with A B = Z; overwrites `A`.

    Rows of unlike size are scaled to one first: an eigendecomposition is right to rounding of the largest entry, which
    may be more than all there is of a small row. O(n^3).
    """
    n, size = len(A), np.sqrt(np.maximum(np.diag(A), 0.0))
    graded = size.max(initial=0.0) > GRADED * size[size > 0].min(initial=np.inf)
    if graded:
        size[size == 0] = 1.0
        A /= size
        A /= size[:, None]
    moment, vectors = eigh(A / n, overwrite_a=True)
    kept = moment > NOISE * max(moment[-1], 0.0)
    moment, vectors = moment[kept], vectors[:, kept]
    root = np.sqrt(n * moment)
    if not graded:
        return np.ascontiguousarray(vectors * root), moment, vectors / root
    Z = size[:, None] * (vectors * root)
    moment, turn = eigh(Z.T @ Z / n)
    return np.ascontiguousarray(Z @ turn), np.maximum(moment, 0.0), (vectors / size[:, None] / root) @ turn
