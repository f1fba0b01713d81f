"""Block conjugate gradients: (A + s I) X = B for many right-hand sides at once, and for many shifts s.

A is positive semi-definite and known by its products alone, in two steps where it is G'G.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, pinvh

from mlrank.arrays import FloatArray
from mlrank.linalg._overlaps import Overlaps
from mlrank.linalg.bases import orthonormal_columns, subtract_product
from mlrank.linalg.operators import Operator

# Of the size of A: what is this small after a subtraction is cleaned once more, and what is this small is rounding.
CLEAN = 1e-4
NOISE = 1e-13
# A block whose overlap with an earlier one has grown beyond the first is cleaned of those beyond the second. The root
# of the unit of rounding is enough for a tridiagonal matrix that is exact to rounding (Simon 1984).
DRIFT = 1e-8
TRACE = 1e-10
NOTHING = np.zeros(0, dtype=bool)
# Steps after which the fall of the residual tells something.
SETTLED = 4

__all__ = ["BlockLanczos", "LanczosSolution", "block_cg"]


class LanczosSolution(NamedTuple):
    """The solution after `n_blocks` steps.

    Parameters
    ----------
    weights : (n_columns, k) ndarray, X = first columns of the basis @ weights
    tail : (p, k) ndarray, the residual is the next block @ tail
    n_blocks : int
    residual : float, relative, in the norm that was asked for
    """

    weights: FloatArray
    tail: FloatArray
    n_blocks: int
    residual: float


@dataclass
class BlockLanczos:
    """Block conjugate gradients for every shift s at once: (A + s I) X_s = B from one basis of one Krylov space.

    New blocks are kept orthogonal to earlier ones, to the root of the unit of rounding: without that, rounding undoes
    it as soon as some directions have converged, and heavy-tailed features need ten times as many steps or never end.
    Only blocks that are foretold to have drifted further are cleaned, and only of blocks that they have drifted to;
    what is taken off is kept, so that residuals are exact all the same.

    The space does not depend on the shift, so products with A are made once for all shifts, and the basis grows when a
    shift needs more of it. What a shift gets depends on the shift alone, not on those solved before: the first blocks
    that reach its tolerance. The block tridiagonal systems are solved by elimination, O(k^3) for each block. Blocks get
    narrower where directions run out.

    Parameters
    ----------
    operator : Operator
    start : (size, p) ndarray with orthonormal columns
    scale : (p, k) ndarray, B = start @ scale
    energy : bool
        Whether residuals R are measured by sqrt(trace(R'AR)) instead of the Frobenius norm.
    """

    operator: Operator
    start: FloatArray
    scale: FloatArray
    energy: bool = False
    blocks: list[FloatArray] = field(init=False, default_factory=list)
    half: list[FloatArray] = field(init=False, default_factory=list)
    diagonal: list[FloatArray] = field(init=False, default_factory=list)
    below: list[FloatArray] = field(init=False, default_factory=list)
    taken: list[tuple[int, int, FloatArray]] = field(init=False, default_factory=list)
    overlaps: Overlaps = field(init=False)
    again: NDArray[np.bool_] = field(init=False, default_factory=lambda: NOTHING)

    def __post_init__(self) -> None:
        self.overlaps = Overlaps(self.start.shape[1])
        self.blocks.append(np.ascontiguousarray(self.start))

    def solve(self, shift: float, tol: float, most: int, worth: float = np.inf) -> LanczosSolution | None:
        """Return the solution for one shift to the relative residual `tol`.

        None if `most` blocks do not reach it, or as soon as more than `worth` are foretold.
        """
        if self.start.shape[1] == 0:
            return LanczosSolution(self.scale, self.scale, 1, 0.0)
        eliminated: list[Any] = []
        right = [self.scale]
        goal = self._norm(self.scale, 0)
        norms: list[float] = []
        for j in range(most):
            pivot = self._diagonal(j) + shift * np.eye(len(self._diagonal(j)))
            if j:
                pivot -= self.below[j - 1] @ _solve(eliminated[-1], self.below[j - 1].T)
                right.append(-self.below[j - 1] @ _solve(eliminated[-1], right[-1]))
            eliminated.append(_factor(pivot))
            tail = -self._below(j) @ _solve(eliminated[-1], right[-1])
            norms.append(self._norm(tail, j + 1))
            if norms[-1] <= tol * goal:
                weights = self._weights(eliminated, right)
                tail = -self._below(j) @ weights[-1]
                residual = self._norm(tail, j + 1) / goal if goal > 0 else 0.0
                return LanczosSolution(np.vstack(weights), tail, j + 1, residual)
            if _predicted_steps(norms, tol * goal) > worth:
                return None
        return None

    def combine(self, weights: FloatArray) -> FloatArray:
        """Return basis @ weights, shape (size, k)."""
        total, begin = np.zeros((self.start.shape[0], weights.shape[1])), 0
        for block in self.blocks:
            if begin == weights.shape[0]:
                break
            total += block @ weights[begin : begin + block.shape[1]]
            begin += block.shape[1]
        return total

    def energy_of(self, tail: FloatArray, n_blocks: int) -> FloatArray:
        """Return R'AR, or R'R, of the residual of a solution, as its norm was asked for, shape (k, k)."""
        return tail.T @ self._diagonal(n_blocks) @ tail if self.energy and tail.size else tail.T @ tail

    def _weights(self, eliminated: list[Any], right: list[FloatArray]) -> list[FloatArray]:
        """Return the solution of the projected system, a part for each block."""
        weights = self._substitute(eliminated, right)
        # What was taken off new blocks belongs to the projected system, above its three diagonals. It is at most the
        # root of rounding, so one correction leaves rounding.
        rest = [np.zeros_like(part) for part in right]
        for i, j, part in self.taken:
            if j < len(rest):
                rest[i] -= part @ weights[j]
        for j in range(1, len(rest)):
            rest[j] -= self.below[j - 1] @ _solve(eliminated[j - 1], rest[j - 1])
        return [first + second for first, second in zip(weights, self._substitute(eliminated, rest), strict=True)]

    def _substitute(self, eliminated: list[Any], right: list[FloatArray]) -> list[FloatArray]:
        weights = [_solve(eliminated[-1], right[-1])]
        for j in range(len(right) - 2, -1, -1):
            weights.append(_solve(eliminated[j], right[j] - self.below[j].T @ weights[-1]))
        return weights[::-1]

    def _norm(self, factor: FloatArray, j: int) -> float:
        """Return the norm of (block j) @ factor."""
        square = np.einsum("ij,ij", factor, self._diagonal(j) @ factor if self.energy else factor)
        return float(np.sqrt(max(square, 0.0)))

    def _diagonal(self, j: int) -> FloatArray:
        while len(self.diagonal) <= j:
            if self.diagonal:
                self._below(len(self.diagonal) - 1)
            U, product = self.operator.half(self.blocks[len(self.diagonal)])
            self.half = [U]
            self.diagonal.append(product)
        return self.diagonal[j]

    def _below(self, j: int) -> FloatArray:
        """Return the coupling of blocks j and j + 1, making block j + 1 if it is not there."""
        while len(self.below) <= j:
            i = len(self.below)
            product = self._diagonal(i)
            rest = np.ascontiguousarray(self.operator.rest(self.half.pop()))
            subtract_product(rest, self.blocks[i], product)
            if i:
                subtract_product(rest, self.blocks[i - 1], self.below[i - 1].T)
            Q, R = self._new_directions(rest)
            self.blocks.append(np.ascontiguousarray(Q))
            self.below.append(R)
        return self.below[j]

    def _new_directions(self, rest: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (Q, R) with rest = QR and Q orthonormal, also against earlier blocks; directions that are noise go."""
        Q, R = orthonormal_columns(rest)
        n_blocks, D = len(self.blocks), self.diagonal[-1]
        size = max(float(np.linalg.norm(product)) for product in self.diagonal)
        if np.abs(np.diag(R)).min(initial=size) > CLEAN * size:
            overlaps = self.overlaps.foretell(D, R, size)
            astray = self._astray(overlaps)
            overlaps[astray] = self.overlaps.fresh(int(astray.sum()), len(R))
            # Too little is taken off to harm a block within itself.
            Q = self._taken_off(Q, R, astray)
        else:
            left, values, right = np.linalg.svd(R)
            keep = values > NOISE * size
            # What is left of large vectors after a subtraction is not orthogonal to any block.
            astray, R = np.ones(n_blocks, dtype=bool), values[keep, None] * right[keep]
            Q, turn = orthonormal_columns(self._taken_off(Q @ left[:, keep], R, astray))
            R = turn @ R
            overlaps = self.overlaps.fresh(n_blocks, Q.shape[1])
        self.overlaps.accept(D, R, overlaps)
        return Q, R

    def _taken_off(self, Q: FloatArray, R: FloatArray, astray: NDArray[np.bool_]) -> FloatArray:
        """Return Q without what it has of the given blocks, remembering that for the projected system."""
        Q = np.ascontiguousarray(Q)
        for i in np.flatnonzero(astray):
            part = self.blocks[i].T @ Q
            subtract_product(Q, self.blocks[i], part)
            self.taken.append((int(i), len(self.blocks) - 1, part @ R))
        return Q

    def _astray(self, overlaps: FloatArray) -> NDArray[np.bool_]:
        """Return from which blocks a new one must be cleaned: none, or those that the overlap has grown from.

        The block after one that was cleaned is cleaned too: overlaps come from two blocks back.
        """
        largest = np.abs(overlaps).max(axis=(1, 2))
        drifted = largest.max() > DRIFT
        astray: NDArray[np.bool_] = (largest > TRACE) & (drifted or self.again.any())
        astray[: len(self.again)] |= self.again
        self.again = astray if drifted and not self.again.any() else NOTHING
        return astray


def _predicted_steps(norms: list[float], goal: float) -> float:
    """Return how many steps the fall of the residual over the later half of those so far foretells."""
    done, half = len(norms), len(norms) // 2
    if done < SETTLED:
        return 0.0
    fall = np.log(norms[-half - 1] / norms[-1]) / half
    return float(done + np.log(norms[-1] / goal) / fall) if fall > 0 else np.inf


def _factor(pivot: FloatArray) -> tuple[str, Any]:
    """Return a factorization of a small matrix that may be short of rank."""
    try:
        return "cholesky", cho_factor(pivot, lower=True, check_finite=False)
    except LinAlgError:
        return "inverse", pinvh(pivot)


def _solve(factor: tuple[str, Any], right: FloatArray) -> FloatArray:
    kind, parts = factor
    return np.asarray(cho_solve(parts, right, check_finite=False) if kind == "cholesky" else parts @ right)


def block_cg(
    operator: Operator, B: FloatArray, shift: float, tol: float, max_iter: int
) -> tuple[FloatArray, FloatArray, int]:
    """Solve (A + shift I) X = B by block conjugate gradients, in the memory of a few blocks.

    The residual is kept as Q C with orthonormal Q (Dubrulle, "Retooling the method of block conjugate gradients", ETNA
    12, 2001, variant BCGrQ), so columns that converge early, or depend on others, do no harm.

    Returns
    -------
    X, residual : (size, k) ndarray
    n_iter : int
        `max_iter` where the relative residual, in the Frobenius norm, did not reach `tol` before.
    """
    Q, C = orthonormal_columns(B)
    X, step, goal = np.zeros_like(B), Q, tol * float(np.linalg.norm(B))
    n_iter = 0
    while np.linalg.norm(C) > goal and n_iter < max_iter:
        n_iter += 1
        U, product = operator.half(np.ascontiguousarray(step))
        factor = _factor(product + shift * (step.T @ step))
        X += step @ _solve(factor, C)
        move = operator.rest(U) + shift * step
        Q, R = orthonormal_columns(Q - move @ _solve(factor, np.eye(len(C))))
        step = Q + step @ R.T
        C = R @ C
    return X, Q @ C, n_iter
