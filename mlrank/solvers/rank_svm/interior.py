"""Rank-SVM by an interior-point method, where passes crawl: columns or rows of unlike scale, and very large C."""

from collections.abc import Callable

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.linalg.interior import OPERATIONS, UNKNOWNS, InteriorPoint, interior_point, pair_system
from mlrank.solvers.rank_svm import kernels
from mlrank.solvers.rank_svm.descent import Pairs
from mlrank.solvers.rank_svm.rows import FlatRows, meet_constraints

__all__ = ["PairTerms", "solve_inside"]

# The most pairs, and the most steps.
PAIRS, STEPS = 10**6, 60


class PairTerms:
    """The pairs as hinge terms of weights (n_labels, r) for FlatRows."""

    def __init__(self, rows: FlatRows, pairs: Pairs, upper: FloatArray) -> None:
        self.Z, self.free, self.pairs, self.upper = rows.Z, rows.free, pairs, upper
        self.row, self.high, self.low = kernels.list_pairs(pairs.lists)
        self.margin, self.cost = np.ones(len(self.row)), upper[self.row]
        self.size = np.linalg.norm(self.Z, axis=1)[self.row]
        self.start = np.zeros((pairs.n_labels, self.Z.shape[1]))
        self.weight = np.ones(self.Z.shape[1])
        self.weight[self.Z.shape[1] - rows.free :] = 0.0

    def forward(self, u: FloatArray) -> FloatArray:
        """Return f_p - f_q of each pair."""
        F = self.Z @ u.T
        margins: FloatArray = F[self.row, self.high] - F[self.row, self.low]
        return margins

    def adjoint(self, values: FloatArray) -> FloatArray:
        """Return beta'Z of values of pairs."""
        sums: FloatArray = kernels.dual_sums(values, self.pairs.lists, self.pairs.n_labels).T @ self.Z
        return sums

    def penalty(self, u: FloatArray) -> FloatArray:
        """Return the weights without those of a free bias."""
        return u * self.weight

    def system(self, theta: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Factor I + sum_i L_i (x) z_i z_i', with L_i the Laplacian of the pairs of row i."""
        return pair_system(self.Z, self.pairs.n_labels, (self.row, self.high, self.low), theta, self.weight)

    def feasible(self, dual: FloatArray) -> FloatArray:
        """Return dual variables that meet the constraints of a free bias."""
        return meet_constraints(dual, self.upper, self.pairs) if self.free else dual

    def gap(self, u: FloatArray, dual: FloatArray) -> float:
        """Return the relative duality gap."""
        alpha = self.feasible(dual)
        loss = float(self.upper @ kernels.hinge_sums(self.Z @ u.T, self.pairs.lists))
        primal = 0.5 * float(np.vdot(u, self.penalty(u))) + loss
        v = self.penalty(self.adjoint(alpha))
        bound = float(alpha.sum()) - 0.5 * float(np.vdot(v, v))
        return (primal - bound) / primal if primal > 0 else 0.0


def solve_inside(
    rows: FlatRows, pairs: Pairs, upper: FloatArray, tol: float
) -> tuple[InteriorPoint, FloatArray] | None:
    """Return the solution and dual variables that meet all constraints; None where the systems would be too large."""
    (n, r), k = rows.Z.shape, pairs.n_labels
    operations = float(n) * k**2 * r**2 + (k * r) ** 3 / 3
    if k * r > UNKNOWNS or int(pairs.size.sum()) > PAIRS or operations > OPERATIONS or r == 0:
        return None
    terms = PairTerms(rows, pairs, upper)
    point = interior_point(terms, tol, STEPS)
    return point, terms.feasible(point.dual)
