"""Symmetric systems A F + F C = B on a graph: A large and known by its products, C of one row for each label.

With C = Q diag(c) Q' the columns part: (A + c_j I) g_j = (B Q)_j and F = G Q'. Each column is solved by conjugate
gradients, preconditioned by the diagonal. Sparse factorizations, one for each c_j, fill up on neighbor graphs in five
dimensions or more: at 4000 rows a single one takes ten times as long as thirty columns here. Block conjugate gradients
save iterations, but not their cost.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array, diags_array

from mlrank.arrays import BoolArray, FloatArray

__all__ = [
    "GraphSolution",
    "LikeRows",
    "dense_laplacian",
    "label_cosines",
    "shifted_cg",
    "sylvester",
]


def label_cosines(Y: BoolArray) -> FloatArray:
    """Return the cosines between columns of `Y`, shape (n_labels, n_labels), with a diagonal of ones.

    A label that no row carries has the cosine 0 with all others.
    """
    H = Y.astype(np.float64)
    together = H.T @ H
    root = np.sqrt(np.diag(together))
    lengths = np.outer(root, root)
    cosines: FloatArray = np.divide(together, lengths, out=np.zeros_like(together), where=lengths > 0)
    np.fill_diagonal(cosines, 1.0)
    return cosines


def dense_laplacian(affinity: FloatArray, normalized: bool) -> FloatArray:
    """Return D - B, or D^-1/2 (D - B) D^-1/2 with rows of zeros where the degree is zero."""
    degree = affinity.sum(axis=1)
    L: FloatArray = np.diag(degree) - affinity
    if normalized:
        root = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
        L = root[:, None] * L * root
    return L


class LikeRows(NamedTuple):
    """The graph of rows with weights y_i'Corr y_i' / (|y_i||y_i'|), Corr the cosines between labels.

    It joins most rows to most rows and is known by its products: with the rows of Z scaled to length one, A_label =
    Z Corr Z'. Rows without labels have no edges.

    Parameters
    ----------
    Z : (n_rows, n_labels) csr_array
    corr : (n_labels, n_labels) ndarray
    degree : (n_rows,) ndarray, self-loops included, which a Laplacian takes off
    diagonal : (n_rows,) ndarray, of the Laplacian
    """

    Z: csr_array
    corr: FloatArray
    degree: FloatArray
    diagonal: FloatArray

    @classmethod
    def of(cls, Y: BoolArray) -> "LikeRows":
        """Build the graph of the rows of `Y`."""
        corr = label_cosines(Y)
        size = Y.sum(axis=1)
        Z = csr_array(diags_array(1 / np.sqrt(np.maximum(size, 1))) @ csr_array(Y, dtype=np.float64))
        spread = Z @ corr
        loops = np.asarray(Z.multiply(spread).sum(axis=1)).ravel()
        degree = spread @ np.asarray(Z.sum(axis=0)).ravel()
        return cls(Z, corr, degree, np.maximum(degree - loops, 0.0))

    def laplacian_times(self, V: FloatArray) -> FloatArray:
        """Return (D - A_label) V."""
        product: FloatArray = self.degree[:, None] * V - self.Z @ (self.corr @ (self.Z.T @ V))
        return product


# Columns at a time: a few stay in the processor's cache, and neighbors in the order of shifts need as many iterations.
GROUP = 8


class GraphSolution(NamedTuple):
    """F with the iterations it took and its relative residual |B - A F - F C| / |B| in the Frobenius norm."""

    F: FloatArray
    n_iter: int
    optimality: float


def sylvester(
    product: Callable[[FloatArray], FloatArray],
    diagonal: FloatArray,
    C: FloatArray,
    B: FloatArray,
    tol: float,
    max_iter: int,
) -> GraphSolution:
    """Solve A F + F C = B to the relative residual `tol`, which is computed from F itself.

    Parameters
    ----------
    product : V -> A V
        A is symmetric, A + c I positive definite for each eigenvalue c of C, or semi-definite with B in its range.
    diagonal : (n,) ndarray, of A
    C : (k, k) symmetric ndarray
    B : (n, k) ndarray
    """
    size = float(np.linalg.norm(B))
    F = np.zeros_like(B)
    if size == 0:
        return GraphSolution(F, 0, 0.0)
    shifts, Q = eigh(C)
    residual, n_iter, relative = B, 0, 1.0
    # What is solved for is updated, not recomputed, in the iterations: once more where rounding has parted the two.
    while relative > tol and n_iter < max_iter:
        goal = tol / relative
        step, spent = shifted_cg(product, diagonal, residual @ Q, shifts, goal, max_iter - n_iter)
        moved = F + step @ Q.T
        residual = B - product(moved) - moved @ C
        n_iter += spent
        before, now = relative, float(np.linalg.norm(residual)) / size
        if now >= before:
            break
        F, relative = moved, now
        if now > before / 2:
            break
    return GraphSolution(F, n_iter, relative)


def shifted_cg(
    product: Callable[[FloatArray], FloatArray],
    diagonal: FloatArray,
    B: FloatArray,
    shifts: FloatArray,
    tol: float,
    max_iter: int,
) -> tuple[FloatArray, int]:
    """Solve (A + shifts_j I) x_j = b_j for every column j; return X (n, k) and the iterations of the slowest.

    Every column goes on to the residual tol |B| / sqrt(k), so that all together reach tol |B|.
    """
    X = np.zeros_like(B)
    goal = tol * float(np.linalg.norm(B)) / np.sqrt(max(B.shape[1], 1))
    n_iter = 0
    for begin in range(0, B.shape[1], GROUP):
        columns = slice(begin, begin + GROUP)
        X[:, columns], spent = _group(product, diagonal, B[:, columns].copy(), shifts[columns], goal, max_iter)
        n_iter = max(n_iter, spent)
    return X, n_iter


def _group(
    product: Callable[[FloatArray], FloatArray],
    diagonal: FloatArray,
    R: FloatArray,
    shifts: FloatArray,
    goal: float,
    max_iter: int,
) -> tuple[FloatArray, int]:
    """Solve for the columns of `R`, which becomes their residual."""
    X = np.zeros_like(R)
    scale = _inverse(diagonal[:, None] + shifts)
    P = R * scale
    energy = np.einsum("ij,ij->j", R, P)
    n_iter = 0
    while (rest := _norms(R) > goal).any() and n_iter < max_iter:
        n_iter += 1
        move = product(P)
        move += shifts * P
        # A column that is done stays as it is: further steps would go along the null space of a singular A.
        length = rest * energy * _inverse(np.einsum("ij,ij->j", P, move))
        X += length * P
        move *= length
        R -= move
        Z = R * scale
        before, energy = energy, np.einsum("ij,ij->j", R, Z)
        P *= energy * _inverse(before)
        P += Z
    return X, n_iter


def _norms(B: FloatArray) -> FloatArray:
    norms: FloatArray = np.sqrt(np.einsum("ij,ij->j", B, B))
    return norms


def _inverse(values: FloatArray) -> FloatArray:
    """Return 1 / values, 0 where they are 0: rows without edges, and columns that are solved exactly."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
