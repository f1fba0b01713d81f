"""Symmetric systems A F + F C = B on a graph: A large and known by its products, C of one row for each label.

With C = Q diag(c) Q' the columns part: (A + c_j I) g_j = (B Q)_j and F = G Q'. All columns are solved at once by
conjugate gradients of their own, preconditioned by the diagonal. Against one sparse LU factorisation for each c_j this
is some hundred times faster on neighbour graphs in ten dimensions or more, whose factors fill up; block conjugate
gradients save iterations that cost more than they save.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from mlrank.arrays import FloatArray

__all__ = ["Solution", "shifted_cg", "sylvester"]

# Columns that are done leave when they are this part of all: taking them out costs about one iteration.
LEAVE = 0.1


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

    Every column stops at the residual tol |B| / sqrt(k), so that all together reach tol |B|.
    """
    X = np.zeros_like(B)
    goal = tol * float(np.linalg.norm(B)) / np.sqrt(max(B.shape[1], 1))
    columns = np.flatnonzero(_norms(B) > goal)
    R, c = B[:, columns], shifts[columns]
    scale = _inverse(diagonal[:, None] + c)
    V, P = np.zeros_like(R), R * scale
    energy = np.einsum("ij,ij->j", R, P)
    n_iter = 0
    while columns.size and n_iter < max_iter:
        n_iter += 1
        move = product(P)
        move += c * P
        length = energy * _inverse(np.einsum("ij,ij->j", P, move))
        V += length * P
        move *= length
        R -= move
        done = _norms(R) <= goal
        if done.all() or done.mean() >= LEAVE:
            X[:, columns[done]] = V[:, done]
            R, V, P, scale = (part[:, ~done] for part in (R, V, P, scale))
            columns, c, energy = columns[~done], c[~done], energy[~done]
        Z = R * scale
        new = np.einsum("ij,ij->j", R, Z)
        P *= new * _inverse(energy)
        P += Z
        energy = new
    X[:, columns] = V
    return X, n_iter


def _norms(B: FloatArray) -> FloatArray:
    norms: FloatArray = np.sqrt(np.einsum("ij,ij->j", B, B))
    return norms


def _inverse(values: FloatArray) -> FloatArray:
    """Return 1 / values, 0 where they are 0: rows without edges, and columns that are solved exactly."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
