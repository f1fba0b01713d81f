"""Multi-label ranking on the examples that were given: its certificate, and an interior-point method for any scales.

The weights of eq. 13 go with a threshold for each example, which is eliminated from the systems; problem (4) has its
pairs as hinge terms. Where labels are mixed by R, weights are V R^1/2, so that their penalty stays |V|^2.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlrank.arrays import Features, FloatArray, as_dense
from mlrank.kernels.exact import ACCURACY, expansion_error, expansion_square, long_expansion
from mlrank.kernels.factor import factor_gram
from mlrank.linalg.interior import OPERATIONS, UNKNOWNS, interior_point, label_system, pair_system
from mlrank.linalg.sums import adjoint_of, column_offsets, scores_of
from mlrank.solvers.mlr.rows import RankingProblem

__all__ = ["GivenExamples", "fits", "judged", "solve_inside"]

# By so much, relative, may a bound exceed the objective.
ROUNDING = 1e-9
STEPS = 40


@dataclass(frozen=True)
class GivenExamples:
    """The examples of a problem.

    Parameters
    ----------
    X : rows of features, with a column of ones for a bias; or the kernel matrix if `gram`
    gram : whether coefficients are of the examples
    exact : () -> the kernel matrix in long doubles, or None; asked where rounding shows
    problem : RankingProblem
    """

    X: Features
    gram: bool
    exact: Callable[[], Any]
    problem: RankingProblem

    def values(self, coefficients: FloatArray, beta: FloatArray) -> tuple[float, float]:
        """Return the primal objective at coefficients (n_features or n_samples, n_labels), and the dual at beta."""
        total, norm = float(np.vdot(self.problem.labels.signs, beta)), self._norm(beta)
        return judged(self.primal(coefficients), total, norm)

    def primal(self, coefficients: FloatArray) -> float:
        """Return half the squared norm and C times the loss."""
        mixed = self.problem.mixed(coefficients)
        if not self.gram:
            scores = scores_of(self.X, mixed.T, np.zeros(mixed.shape[1]), column_offsets(self.X))
            return self._value(float(np.vdot(coefficients, mixed)), scores)
        scores = np.asarray(self.X @ mixed)
        value = self._value(float(np.vdot(coefficients, scores)), scores)
        weight = float(np.abs(coefficients).sum()) + self.problem.C * scores.shape[1] * scores.size
        if expansion_error(self.X, mixed) * weight > ACCURACY * value and (K := self.exact()) is not None:
            long = long_expansion(K, mixed)
            return self._value(float((coefficients * long).sum()), long.astype(np.float64))
        return value

    def _value(self, square: float, scores: FloatArray) -> float:
        return 0.5 * square + self.problem.C * self.problem.labels.loss(scores)

    def _norm(self, beta: FloatArray) -> float:
        if not self.gram:
            V = adjoint_of(self.X, beta)
            return float(np.vdot(V, self.problem.mixed(V)))
        mix = self.problem.mix if self.problem.mix.size else None
        return expansion_square(self.X, beta, float(np.abs(beta).sum()), self.exact, mix)


def judged(primal: float, total: float, norm: float) -> tuple[float, float]:
    """Return primal objective and bound: the largest dual objective of a part of beta, 0 where rounding exceeds.

    Parameters
    ----------
    total, norm : sum of alpha, and squared norm of the weights that beta gives
    """
    if not np.isfinite(norm):
        return primal, 0.0
    part = min(1.0, total / norm) if norm > 0 else 1.0
    dual = max(part * total - 0.5 * part**2 * norm, 0.0)
    return primal, dual if dual <= primal * (1.0 + ROUNDING) else 0.0


class Weights:
    """Weights (n_labels, r) of dense rows Z, mixed by the square root of a problem's mix, and their scores."""

    def __init__(self, Z: FloatArray, problem: RankingProblem) -> None:
        self.Z, self.root = Z, problem.root

    def outputs(self, V: FloatArray) -> FloatArray:
        """Return the scores (n, n_labels)."""
        F: FloatArray = self.Z @ V.T
        return F if self.root is None else np.asarray(F @ self.root)

    def adjoint(self, beta: FloatArray) -> FloatArray:
        """Return the gradient of the sum of scores times `beta`, (n_labels, r)."""
        V: FloatArray = beta.T @ self.Z
        return V if self.root is None else np.asarray(self.root @ V)

    def coefficients(self, V: FloatArray, basis: FloatArray | None) -> FloatArray:
        """Return coefficients as of GivenExamples."""
        W = V.T if self.root is None else np.linalg.solve(self.root, V).T
        return np.asarray(W if basis is None else basis @ W)


class ThresholdTerms:
    """Eq. 13 as hinge terms of a vector: weights (n_labels, r) of dense rows, then a threshold for each example."""

    def __init__(self, Z: FloatArray, problem: RankingProblem) -> None:
        self.Z, self.problem, self.weights = Z, problem, Weights(Z, problem)
        self.signs, self.mask = problem.labels.signs, problem.labels.mixed[:, None] & (problem.labels.signs != 0)
        self.example, self.label = np.nonzero(self.mask)
        self.sign = self.signs[self.mask]
        self.margin, self.cost = np.ones(len(self.sign)), np.full(len(self.sign), problem.C)
        self.size = np.linalg.norm(Z, axis=1)[self.example]
        self.shape = (self.signs.shape[1], Z.shape[1])
        self.start = np.zeros(self.shape[0] * self.shape[1] + len(Z))

    def split(self, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return weights and thresholds."""
        size = self.shape[0] * self.shape[1]
        return u[:size].reshape(self.shape), u[size:]

    def forward(self, u: FloatArray) -> FloatArray:
        """Return y (f - t) of each label of each example."""
        W, t = self.split(u)
        margins: FloatArray = self.sign * (self.weights.outputs(W) - t[:, None])[self.mask]
        return margins

    def spread(self, values: FloatArray) -> FloatArray:
        """Return values of terms as (n_samples, n_labels)."""
        whole = np.zeros(self.mask.shape)
        whole[self.mask] = values
        return whole

    def adjoint(self, values: FloatArray) -> FloatArray:
        """Return the sum of the gradients of all terms times values."""
        beta = self.spread(self.sign * values)
        return np.concatenate([self.weights.adjoint(beta).ravel(), -beta.sum(axis=1)])

    def penalty(self, u: FloatArray) -> FloatArray:
        """Return the weights, and zeros for the thresholds."""
        free = u.copy()
        free[self.shape[0] * self.shape[1] :] = 0.0
        return free

    def system(self, theta: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Factor the system of the weights that is left without the thresholds."""
        parts = self.spread(theta)
        sums = np.maximum(parts.sum(axis=1), 1e-300)
        L = -parts[:, :, None] * (parts / sums[:, None])[:, None, :]
        number = np.arange(self.shape[0])
        # As the sum of the others, not as a difference: one label may have nearly all there is.
        L[:, number, number] = 0.0
        L[:, number, number] = -L.sum(axis=2)
        solve = label_system(self.Z, L, np.ones(self.shape[1]), self.weights.root)

        def solution(rhs: FloatArray) -> FloatArray:
            right, free = self.split(rhs)
            free = np.where(self.mask.any(axis=1), free / sums, 0.0)
            W = solve(right + self.weights.adjoint(parts * free[:, None]))
            t = free + np.einsum("ij,ij->i", parts, self.weights.outputs(W)) / sums
            return np.concatenate([W.ravel(), np.where(self.mask.any(axis=1), t, 0.0)])

        return solution

    def feasible(self, dual: FloatArray) -> FloatArray:
        """Return beta whose rows sum to 0: the larger side of each is made smaller."""
        beta = self.spread(self.sign * dual)
        above, below = np.maximum(beta, 0.0).sum(axis=1), np.maximum(-beta, 0.0).sum(axis=1)
        both, least = np.maximum(above, below), np.minimum(above, below)
        part = np.divide(least, both, out=np.ones(len(both)), where=both > 0)
        shrink = np.where(above > below, 1.0, -1.0)[:, None] * beta > 0
        feasible: FloatArray = np.where(shrink, beta * part[:, None], beta)
        return feasible

    def gap(self, u: FloatArray, dual: FloatArray) -> float:
        """Return the relative duality gap, at the best thresholds."""
        W, _ = self.split(u)
        primal = 0.5 * float(np.vdot(W, W)) + self.problem.C * self.problem.labels.loss(self.weights.outputs(W))
        beta = self.feasible(dual)
        V = self.weights.adjoint(beta)
        bound = float(np.vdot(self.signs, beta)) - 0.5 * float(np.vdot(V, V))
        return (primal - bound) / primal if primal > 0 else 0.0


class PairsOfLabels:
    """Problem (4) as hinge terms of weights (n_labels, r) for dense rows: max(0, 2 - (f_k - f_l)) of each pair."""

    def __init__(self, Z: FloatArray, problem: RankingProblem) -> None:
        self.Z, self.problem, self.weights, signs = Z, problem, Weights(Z, problem), problem.labels.signs
        self.row, self.high, self.low = np.nonzero((signs > 0)[:, :, None] & (signs < 0)[:, None, :])
        self.margin, self.cost = np.full(len(self.row), 2.0), np.full(len(self.row), problem.C)
        self.size, self.start = np.linalg.norm(Z, axis=1)[self.row], np.zeros((signs.shape[1], Z.shape[1]))

    def forward(self, u: FloatArray) -> FloatArray:
        """Return f_k - f_l of each pair."""
        F = self.weights.outputs(u)
        apart: FloatArray = F[self.row, self.high] - F[self.row, self.low]
        return apart

    def sums(self, values: FloatArray) -> FloatArray:
        """Return beta (n_samples, n_labels) of values of pairs."""
        beta = np.zeros((len(self.Z), len(self.start)))
        np.add.at(beta, (self.row, self.high), values)
        np.subtract.at(beta, (self.row, self.low), values)
        return beta

    def adjoint(self, values: FloatArray) -> FloatArray:
        """Return the sum of rows times values."""
        return self.weights.adjoint(self.sums(values))

    def penalty(self, u: FloatArray) -> FloatArray:
        """Return the weights."""
        return u

    def system(self, theta: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Factor I + sum_i L_i (x) z_i z_i', with L_i the Laplacian of the pairs of example i."""
        pairs = self.row, self.high, self.low
        return pair_system(self.Z, len(self.start), pairs, theta, np.ones(self.Z.shape[1]), self.weights.root)

    def gap(self, u: FloatArray, dual: FloatArray) -> float:
        """Return the relative duality gap."""
        primal = 0.5 * float(np.vdot(u, u)) + self.problem.C * self.problem.labels.loss(self.weights.outputs(u))
        V = self.adjoint(dual)
        bound = 2.0 * float(dual.sum()) - 0.5 * float(np.vdot(V, V))
        return (primal - bound) / primal if primal > 0 else 0.0


def fits(given: GivenExamples) -> bool:
    """Whether the systems of an interior-point method are small enough."""
    labels, (n, m) = given.problem.labels, given.X.shape
    k, r = labels.signs.shape[1], min(n, m)
    operations = float(n) * k**2 * r**2 + (k * r) ** 3 / 3 + float(n) * m * r
    return bool(k * r <= UNKNOWNS and operations <= OPERATIONS)


def solve_inside(given: GivenExamples, tol: float) -> tuple[FloatArray, FloatArray, int]:
    """Return coefficients, as of GivenExamples, beta that meets its constraints, and steps."""
    basis = None
    if given.gram:
        Z, _, basis = factor_gram(np.array(given.X))
    else:
        Z = as_dense(given.X)
        if Z.shape[1] > len(Z):
            basis, R = np.linalg.qr(Z.T)
            Z = R.T
    Z = np.ascontiguousarray(Z)
    if given.problem.labels.exact:
        pairs = PairsOfLabels(Z, given.problem)
        point = interior_point(pairs, tol, STEPS)
        return pairs.weights.coefficients(point.weights, basis), pairs.sums(point.dual), point.n_iter
    terms = ThresholdTerms(Z, given.problem)
    point = interior_point(terms, tol, STEPS)
    W = terms.split(point.weights)[0]
    beta = terms.feasible(point.dual)
    free = given.problem.labels.start(given.problem.C, np.linalg.norm(Z, axis=1) > 0)[5]
    beta = np.where((np.linalg.norm(Z, axis=1) > 0)[:, None], beta, free)
    return terms.weights.coefficients(W, basis), beta, point.n_iter
