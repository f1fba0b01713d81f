"""One label's pairs of rows as hinge terms, for the interior-point method where many planes do not do."""

from collections.abc import Callable

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.linalg.interior import OPERATIONS, UNKNOWNS, factored, interior_point
from mlrank.solvers.svm_perf.planes import Side

__all__ = ["RocTerms", "solve_inside"]

# The most pairs, and the most steps.
PAIRS, STEPS = 10**6, 40


class RocTerms:
    """All pairs of a positive and a negative row as hinge terms of weights (r,) for dense rows Z (n, r)."""

    def __init__(self, Z: FloatArray, side: Side, C: float) -> None:
        self.high, self.low = Z[side.positive], Z[side.negative]
        self.shape = (len(self.high), len(self.low))
        n_pairs = self.shape[0] * self.shape[1]
        self.margin, self.cost, self.start = np.ones(n_pairs), np.full(n_pairs, C / n_pairs), np.zeros(Z.shape[1])
        sizes = np.linalg.norm(self.high, axis=1)[:, None], np.linalg.norm(self.low, axis=1)
        self.size: FloatArray = np.maximum(*sizes).ravel()

    def forward(self, u: FloatArray) -> FloatArray:
        """Return s_i - s_j of each pair."""
        apart: FloatArray = ((self.high @ u)[:, None] - self.low @ u).ravel()
        return apart

    def adjoint(self, values: FloatArray) -> FloatArray:
        """Return the sum of z_i - z_j times values of pairs."""
        table = values.reshape(self.shape)
        sums: FloatArray = self.high.T @ table.sum(axis=1) - self.low.T @ table.sum(axis=0)
        return sums

    def penalty(self, u: FloatArray) -> FloatArray:
        """Return the weights."""
        return u

    def system(self, theta: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Factor I and the sum of theta (z_i - z_j)(z_i - z_j)' over pairs."""
        table = theta.reshape(self.shape)
        cross = self.high.T @ table @ self.low
        H = (self.high.T * table.sum(axis=1)) @ self.high + (self.low.T * table.sum(axis=0)) @ self.low
        H -= cross + cross.T
        H[np.diag_indices_from(H)] += 1.0
        return factored(H)

    def gap(self, u: FloatArray, dual: FloatArray) -> float:
        """Return the relative duality gap."""
        primal = 0.5 * float(u @ u) + float(self.cost @ np.maximum(0.0, 1.0 - self.forward(u)))
        v = self.adjoint(dual)
        return (primal - float(dual.sum()) + 0.5 * float(v @ v)) / primal if primal > 0 else 0.0


def solve_inside(Z: FloatArray, side: Side, C: float, tol: float) -> tuple[FloatArray, FloatArray, float, int] | None:
    """Return weights (r,), c (n,) and sum of the dual variables, and steps; None where systems would be too large."""
    n, r = Z.shape
    n_pairs = side.positive.size * side.negative.size
    if r > UNKNOWNS or n_pairs > PAIRS or float(r) * n_pairs + float(n) * r**2 > OPERATIONS:
        return None
    # A difference of rows is left alone by what they have in common.
    terms = RocTerms(Z - np.median(Z, axis=0), side, C)
    point = interior_point(terms, tol, STEPS)
    table, c = point.dual.reshape(terms.shape), np.zeros(n)
    c[side.positive], c[side.negative] = table.sum(axis=1), -table.sum(axis=0)
    return point.weights, c, float(point.dual.sum()), point.n_iter
