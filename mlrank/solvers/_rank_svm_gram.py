"""Rank-SVM rows from inner products: kernels, and penalised problems with more features than rows.

With K the kernel of the training rows and L the hypergraph Laplacian, the dual of eq. 10 has the Gram matrix (eq. 27)::

    A = K (I + lam L K)^-1,    new rows:  f(x) = k_x' (I + lam L K)^-1 beta

which is I + lam X'LX inverted between the rows if K = XX'. A = USU' gives the rows U S^1/2 of a plain problem. The
constant feature of a penalised bias adds bias^2 to A and is added last: L maps constants to zero, so it belongs outside
the inverse, where it would cost nine digits.
"""

import numpy as np
from scipy.linalg import eigh, lu_factor, lu_solve

from mlrank.arrays import BoolArray, Features, FloatArray
from mlrank.hypergraph import vertex_degree
from mlrank.solvers._rank_svm_rows import NOISE, FlatRows

__all__ = ["check_size", "gram_rows", "kernel_distance"]

# Cells of the largest matrix that is formed: 1.7 GiB, and its eigenvectors as much again.
CELLS_LIMIT = 15_000**2


def check_size(rows: int, columns: int, what: str) -> None:
    """Raise ValueError where `what` needs a matrix of more than CELLS_LIMIT cells."""
    if rows * columns > CELLS_LIMIT:
        needed, most = (8 * cells / 2**30 for cells in (rows * columns, CELLS_LIMIT))
        raise ValueError(
            f"{what} needs a matrix of {rows} x {columns} cells, {needed:.1f} GiB; at most {most:.1f} GiB are supported"
        )


def gram_rows(
    K: FloatArray,
    bias: float,
    free: bool,
    penalty: tuple[float, BoolArray, FloatArray] | None = None,
    span: Features | None = None,
) -> FlatRows:
    """Return rows whose inner products are eq. 27 with a bias; O(n^3).

    Parameters
    ----------
    K : (n_samples, n_samples), without bias
    penalty : (lam, Y, hyperedge weights), or None for lam = 0
    span : the training rows, if K is linear and weights are wanted
    """
    A, factors = K, None
    if penalty is not None:
        lam, Y, weights = penalty
        H = Y.astype(np.float64)
        # I + lam K L, without forming L.
        system = lam * (K * vertex_degree(Y, weights) - ((K @ H) * weights) @ H.T)
        system[np.diag_indices_from(system)] += 1.0
        factors = lu_factor(system, overwrite_a=True)
        A = lu_solve(factors, K)
        A = 0.5 * (A + A.T)
    means = A.mean(axis=0)
    A = A - means - means[:, None] + means.mean() if free else A + bias**2
    moment, vectors = eigh(A / len(A), overwrite_a=True)
    kept = moment > NOISE * max(moment[-1], 0.0)
    moment, vectors = moment[kept], vectors[:, kept]
    root = np.sqrt(len(A) * moment)
    basis = vectors / root
    shift = means @ basis if free else None
    if factors is not None:
        basis = lu_solve(factors, basis, trans=1)
    return FlatRows(np.ascontiguousarray(vectors * root), moment, basis, bias, shift, span, dual=True).with_free_bias()


def kernel_distance(K: FloatArray, Y: BoolArray) -> FloatArray:
    """Return the mean squared distance between two different rows of each label (eq. 30) in the space of the kernel."""
    H = Y.astype(np.float64)
    size = H.sum(axis=0)
    total = 2 * (size * (np.diag(K) @ H) - np.einsum("ie,ij,je->e", H, K, H, optimize=True))
    pairs = size * (size - 1)
    distance: FloatArray = np.divide(total, pairs, out=np.zeros_like(total), where=pairs > 0)
    return np.maximum(distance, 0.0)
