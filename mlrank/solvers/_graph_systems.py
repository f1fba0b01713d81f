"""Symmetric systems A F + F C = B on a graph: A large and known by its products, C of one row for each label.

With C = Q diag(c) Q' the columns part: (A + c_j I) g_j = (B Q)_j and F = G Q'. Each column is solved by conjugate
gradients, preconditioned by the diagonal. Sparse factorisations, one for each c_j, fill up on neighbour graphs in five
dimensions or more: at 4000 rows a single one takes ten times as long as thirty columns here. Block conjugate gradients
save iterations, but not their cost.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from mlrank.arrays import FloatArray

__all__ = ["Solution", "shifted_cg", "sylvester"]

# Columns at a time: a few stay in the processor's cache, and neighbours in the order of shifts need as many iterations.
GROUP = 8


class Solution(NamedTuple):
    """F with the iterations it took and its residual |B - A F - F C| / |B| in the Frobenius norm."""

    F: FloatArray
    n_iter: int
    residual: float


def sylvester(
    product: Callable[[FloatArray], FloatArray],
    diagonal: FloatArray,
    C: FloatArray,
    B: FloatArray,
    tol: float,
    max_iter: int,
) -> Solution:
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
        return Solution(F, 0, 0.0)
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
    return Solution(F, n_iter, relative)


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
