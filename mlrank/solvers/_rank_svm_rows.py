"""How the two kinds of rows are swept: sparse ones as they are, dense ones with a flattened spectrum.

Coordinate descent crawls where few directions of feature space carry most of the rows' second moment: the common mean
of non-negative features, features on unlike scales. For dense rows each round of passes therefore solves not the
problem itself, min_W 1/2 |W|^2 + loss, but a proximal step of it around the weights V of the pass before::

    min_W  1/2 |W|^2 + loss + 1/2 sum_j h_j (W_j - V_j)^2,    h_j = max(0, moment_j / theta - 1)

in the eigenbasis of the second moment, where the extra term makes the rows' moments min(moment_j, theta). Its fixed
points are those of the problem, and one pass serves both the step and the move of V (method of multipliers with one
inexact inner pass). theta = max moment is plain coordinate descent. The gap is the step's own gap plus
1/2 sum h_j^2 (W_j - V_j)^2; theta is moved until both parts shrink together, and back up when the gap grows.

Reference: Rockafellar, "Augmented Lagrangians and applications of the proximal point algorithm in convex programming",
Mathematics of Operations Research, 1976.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh, solve_triangular
from scipy.sparse import issparse

from mlrank.arrays import Features, FloatArray, IntArray, as_dense
from mlrank.solvers import _rank_svm_kernels as kernels

__all__ = ["DenseSweeps", "FlatRows", "SparseSweeps", "better_dense"]

# Part of the gap that the distance to the proximal centre may make up, as a ratio to the step's own gap.
BALANCE = 0.3
# Sparse rows fuller than this are cheaper dense, if they fit.
DENSE_FROM = 0.25
DENSE_BYTES = 2**30


def better_dense(X: Features) -> bool:
    """Whether `X` is dense, or so full that sweeping it dense is cheaper."""
    if not issparse(X):
        return True
    cells = X.shape[0] * X.shape[1]
    return bool(X.nnz >= DENSE_FROM * cells and 8 * cells <= DENSE_BYTES)


@dataclass(frozen=True)
class FlatRows:
    """Dense rows [x, bias] in the eigenbasis of their second moment.

    Z : (n_samples, r), [X, bias] times basis; moment : (r,), mean square of each column of Z, ascending
    basis : (n_features + 1, r); bias : value of the constant feature
    """

    Z: FloatArray
    moment: FloatArray
    basis: FloatArray
    bias: float

    @classmethod
    def of(cls, X: Features, bias: float, factor: FloatArray | None = None) -> "FlatRows":
        """Rotate `X`; `factor`, upper triangular with R'R = M, measures weights by w'Mw instead of w'w.

        O(n m r) flops and one eigenproblem of order r = min(n_samples, n_features + 1).
        """
        X = np.asarray(as_dense(X))
        white = X if factor is None else solve_triangular(factor, X.T, trans="T").T
        rows = np.column_stack([white, np.full(len(X), bias)])
        n, m = rows.shape
        if m <= n:
            moment, basis = eigh(rows.T @ rows / n)
        else:
            moment, left = eigh(rows @ rows.T / n)
            kept = moment > 1e-14 * moment[-1]
            moment = moment[kept]
            basis = rows.T @ (left[:, kept] / np.sqrt(n * moment))
        Z = np.ascontiguousarray(rows @ basis)
        if factor is not None:
            basis = np.vstack([solve_triangular(factor, basis[:-1]), basis[-1:]])
        return cls(Z, np.maximum(moment, 0.0), basis, bias)

    def weights(self, omega: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (coef, intercept) of weights (n_labels, r) in the eigenbasis."""
        weights = omega @ self.basis.T
        return np.ascontiguousarray(weights[:, :-1]), self.bias * weights[:, -1]


class DenseSweeps:
    """State of the passes over FlatRows: weights, proximal centre, flattening."""

    def __init__(self, rows: FlatRows, upper: FloatArray, pairs: Any) -> None:
        self.rows, self.upper, self.pairs = rows, upper, pairs
        shape = (pairs.n_labels, len(rows.moment))
        self.kept = np.ones(shape[1])  # part of each moment that is left by the flattening
        self.centre, self.previous, self.working = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.theta, self.floor, self.last_gap = float(rows.moment.mean()), 0.0, np.inf

    def certify(self, alpha: FloatArray) -> tuple[FloatArray, float, float]:
        """Return training scores, primal and dual objective."""
        Z = self.rows.Z
        self.free = kernels.dual_sums(alpha, self.pairs.lists, self.pairs.n_labels).T @ Z
        self.omega = self.kept * self.free + (1 - self.kept) * self.centre
        scores = Z @ self.omega.T
        loss = float(self.upper @ kernels.hinge_sums(scores, self.pairs.lists))
        primal = 0.5 * float(np.vdot(self.omega, self.omega)) + loss
        return scores, primal, float(alpha.sum()) - 0.5 * float(np.vdot(self.free, self.free))

    def start_round(self, gap: float, n_iter: int) -> None:
        """Choose the flattening by the absolute `gap`, and move the centre to the current weights."""
        if n_iter >= 3:
            self._adapt(gap)
        self.last_gap = gap
        moment = self.rows.moment
        self.kept = np.minimum(1.0, self.theta / np.maximum(moment, self.theta))
        root = np.sqrt(self.kept)
        self.scaled = self.rows.Z * root
        self.norms = np.einsum("ij,ij->i", self.scaled, self.scaled)
        self.previous = self.omega / root
        # Weights of the scaled rows at which W = omega for the new centre omega.
        self.working = root * self.free + (1 - self.kept) * self.previous

    def _adapt(self, gap: float) -> None:
        distance = self.omega - self.centre
        outer = 0.5 * float((((1 - self.kept) / self.kept * distance) ** 2).sum())
        inner = max(gap - outer, 1e-12 * gap)
        wanted = self.theta * float(np.clip((outer / (BALANCE * inner)) ** 0.25, 1 / 3, 3))
        if gap > 1.5 * self.last_gap:
            wanted = self.floor = max(wanted, 4 * self.theta)
        elif gap < self.last_gap:
            self.floor *= 0.7
        largest = float(self.rows.moment[-1])
        self.theta = min(max(wanted, self.floor, 1e-12 * largest), largest)

    def sweep(self, alpha: FloatArray, active: Any, order: IntArray) -> None:
        """Make one pass, then one move of the centre."""
        kernels.sweep_dense(self.scaled, self.norms, self.working, self.upper, alpha, self.pairs.lists, active, order)
        following = self.working + (1 - self.kept) * (self.working - self.previous)
        self.previous, self.working = self.working, following

    def end_round(self) -> None:
        """Remember the centre that the last move set."""
        self.centre = self.previous * np.sqrt(self.kept)

    def weights(self) -> tuple[FloatArray, FloatArray]:
        """Return (coef, intercept)."""
        return self.rows.weights(self.omega)


class SparseSweeps:
    """State of plain passes over CSR rows with a constant feature of value `bias`."""

    def __init__(self, X: Features, bias: float, upper: FloatArray, pairs: Any) -> None:
        self.X, self.bias, self.upper, self.pairs = X, bias, upper, pairs
        self.norms = np.asarray(X.multiply(X).sum(axis=1)).ravel() + bias**2

    def certify(self, alpha: FloatArray) -> tuple[FloatArray, float, float]:
        """Return training scores, primal and dual objective."""
        beta = kernels.dual_sums(alpha, self.pairs.lists, self.pairs.n_labels)
        self.W = np.ascontiguousarray(self.X.T @ beta)
        self.bias_weights = self.bias * beta.sum(axis=0)
        scores = np.asarray(self.X @ self.W) + self.bias * self.bias_weights
        half = 0.5 * float(np.vdot(self.W, self.W) + self.bias_weights @ self.bias_weights)
        loss = float(self.upper @ kernels.hinge_sums(scores, self.pairs.lists))
        return scores, half + loss, float(alpha.sum()) - half

    def start_round(self, gap: float, n_iter: int) -> None:
        """Nothing to choose."""

    def sweep(self, alpha: FloatArray, active: Any, order: IntArray) -> None:
        """Make one pass."""
        parts = (self.X.data, self.X.indices, self.X.indptr)
        kernels.sweep_csr(
            parts, self.norms, self.W, self.bias_weights, self.bias, self.upper, alpha, self.pairs.lists, active, order
        )

    def end_round(self) -> None:
        """Nothing to remember."""

    def weights(self) -> tuple[FloatArray, FloatArray]:
        """Return (coef, intercept)."""
        return np.ascontiguousarray(self.W.T), self.bias * self.bias_weights
