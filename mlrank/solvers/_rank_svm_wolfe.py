"""Rank-SVM by Frank and Wolfe's method, as Elisseeff and Weston proposed.

A step goes from alpha towards the vertex s of the dual's feasible set that maximises the linearised objective g's, by
exact line search: the dual is quadratic. g'(s - alpha) is the duality gap at the current weights, so every step has its
certificate for nothing. Without a free bias the vertex is s = cap where g > 0, else 0. With one it is a linear program
with one constraint for each label, whose multipliers are the best bias (HiGHS; seconds for each step from 10^5 pairs).

The method converges like 1 / steps. It is here to be compared with.
"""

from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csc_array

from mlrank.arrays import FloatArray
from mlrank.solvers import _rank_svm_kernels as kernels
from mlrank.solvers._rank_svm_descent import Run, Solution, caps
from mlrank.solvers._rank_svm_pairs import Pairs

__all__ = ["frank_wolfe"]


def frank_wolfe(rows: Any, pairs: Pairs, run: Run) -> Solution:
    """Solve to relative duality gap `tol`, or as far as `max_iter` steps go; `rows` are FlatRows or SparseRows."""
    upper, R = caps(pairs, run), rows.penalised_rows()
    vertex = _FreeVertex(pairs, upper) if rows.free else _BoxVertex(pairs, upper)
    alpha, n_iter = np.zeros(int(pairs.size.sum())), 0
    W, F = np.zeros((R.shape[1], pairs.n_labels)), np.zeros((R.shape[0], pairs.n_labels))
    while True:
        target, bias = vertex(F)
        half = 0.5 * float(np.vdot(W, W))
        primal = half + float(upper @ kernels.hinge_sums(F + bias, pairs.lists))
        dual = float(alpha.sum()) - half
        if primal - dual <= run.tol * primal or n_iter >= run.max_iter:
            weights = np.column_stack([W.T, bias]) if rows.free else W.T
            coef, intercept = rows.weights(weights)
            return Solution(coef, intercept, alpha, primal, dual, n_iter)
        move = R.T @ kernels.dual_sums(target, pairs.lists, pairs.n_labels) - W
        curvature = float(np.vdot(move, move))
        step = min(1.0, (primal - dual) / curvature) if curvature > 1e-15 else 1.0
        alpha += step * (target - alpha)
        W += step * move
        F = np.ascontiguousarray(R @ W)
        n_iter += 1


class _BoxVertex:
    """The best vertex where the only constraints are 0 <= alpha <= cap."""

    def __init__(self, pairs: Pairs, upper: FloatArray) -> None:
        self.pairs, self.upper = pairs, upper

    def __call__(self, F: FloatArray) -> tuple[FloatArray, FloatArray]:
        target = np.empty(int(self.pairs.size.sum()))
        kernels.best_vertex(F, self.upper, self.pairs.lists, target)
        return target, np.zeros(F.shape[1])


class _FreeVertex:
    """The best vertex with sum_i beta_i = 0, and the best bias for the scores."""

    def __init__(self, pairs: Pairs, upper: FloatArray) -> None:
        rows, relevant, irrelevant = kernels.list_pairs(pairs.lists)
        number = np.arange(len(rows))
        values = np.concatenate([np.ones(len(rows)), -np.ones(len(rows))])
        places = np.concatenate([relevant, irrelevant]), np.concatenate([number, number])
        # The constraints add up to 0 = 0, so one of them is left out.
        self.sums = csc_array((values, places), shape=(pairs.n_labels, len(rows)))[:-1]
        self.rows, self.relevant, self.irrelevant = rows, relevant, irrelevant
        self.bounds = np.column_stack([np.zeros(len(rows)), upper[rows]])

    def __call__(self, F: FloatArray) -> tuple[FloatArray, FloatArray]:
        gradient = 1.0 - F[self.rows, self.relevant] + F[self.rows, self.irrelevant]
        zeros = np.zeros(self.sums.shape[0])
        found = linprog(-gradient, A_eq=self.sums, b_eq=zeros, bounds=self.bounds, method="highs")
        if found.status != 0:
            raise ValueError(f"the linear program of a Frank-Wolfe step failed: {found.message}")
        return np.clip(found.x, 0.0, self.bounds[:, 1]), -np.append(found.eqlin.marginals, 0.0)
