"""One label's support vector machine on the rows that were given: its certificate, and its solution on any scales.

With signs s, dual variables alpha and beta = s alpha, for rows X or their kernel matrix K::

    hinge           P = 1/2 |w|^2 + C sum max(0, 1 - s f),                  D = sum alpha - 1/2 |X'beta|^2
    squared hinge   P = 1/2 (|w|^2 + b^2) + C sum max(0, 1 - s f)^2,        D = the same less
                                                                    1/2 (sum beta)^2 + sum alpha^2 / (4 C)

A bias of the hinge loss that is free asks for sum beta = 0: what a library leaves of it is taken off the larger side.
One that is not ("augmented") adds b^2 / 2 to P and takes (sum beta)^2 / 2 off D. Rows that have the label may cost more
or less than C: their costs are C times a weight, in both objectives.
Libraries stop early, or never, where features or rows are on scales far apart. The hinge loss then is minimized by an
interior-point method, the squared one by Newton's method, with least squares by QR where these are needed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lstsq

from mlrank.arrays import Features, FloatArray, as_dense
from mlrank.kernels.exact import ACCURACY, expansion_error, expansion_square, long_expansion
from mlrank.kernels.factor import factor_gram
from mlrank.linalg.interior import OPERATIONS, UNKNOWNS, factored, interior_point
from mlrank.linalg.sums import adjoint_of, column_offsets, less_offsets, scores_of
from mlrank.solvers.base import relative_gap

__all__ = ["LabelRows", "balanced", "solve_inside", "solve_squared"]

# By so much, relative, may a bound exceed the objective.
ROUNDING = 1e-9
# The most steps.
STEPS = 60


def balanced(beta: FloatArray) -> FloatArray:
    """Return dual variables with signs whose sum is 0, near `beta`: the larger side is made smaller."""
    above, below = float(beta[beta > 0].sum()), -float(beta[beta < 0].sum())
    if above == below or min(above, below) <= 0:
        return beta if above == below else np.zeros_like(beta)
    return np.where(beta > 0, beta * min(1.0, below / above), beta * min(1.0, above / below))


@dataclass(frozen=True)
class LabelRows:
    """The rows of one label.

    Parameters
    ----------
    X : rows of features, or the kernel matrix if `gram`
    gram : whether weights are coefficients of the rows
    exact : () -> the kernel matrix in long doubles, or None; asked where rounding shows
    sign : (n_samples,), +1 and -1
    C : float
    positive_weight : what C is multiplied by for rows that have the label
    free : whether the bias of the hinge loss is
    """

    X: Features
    gram: bool
    exact: Callable[[], Any]
    sign: FloatArray
    C: float
    positive_weight: float = 1.0
    free: bool = True

    @property
    def cost(self) -> FloatArray:
        """What a unit of loss costs, of each row."""
        return np.where(self.sign > 0, self.C * self.positive_weight, self.C)

    def repaired(self, beta: FloatArray) -> FloatArray:
        """Return `beta`, with a sum of 0 if the bias is free."""
        return balanced(beta) if self.free else beta

    def weights(self, beta: FloatArray) -> FloatArray:
        """Return X'beta, or `beta` for a kernel."""
        if self.gram:
            return beta
        if not self.free:
            return adjoint_of(self.X, beta)
        return np.asarray(less_offsets(self.X, column_offsets(self.X)).T @ beta)

    def scores(self, weights: FloatArray, intercept: float) -> tuple[float, FloatArray]:
        """Return |f|^2 and the scores of the rows."""
        if not self.gram:
            scores = scores_of(self.X, weights[None], np.array([intercept]), column_offsets(self.X))[:, 0]
            return float(weights @ weights), scores
        outputs = self.X @ weights
        square, scores = float(weights @ outputs), outputs + intercept
        loss = float(self.cost @ np.maximum(0.0, 1.0 - self.sign * scores))
        error = expansion_error(self.X, weights) * float(np.abs(weights).sum() + self.cost.sum())
        if error > ACCURACY * (0.5 * square + loss) and (K := self.exact()) is not None:
            long = long_expansion(K, weights)
            return float((weights * long).sum()), (long + intercept).astype(np.float64)
        return square, scores

    def hinge(self, weights: FloatArray, intercept: float, beta: FloatArray) -> tuple[float, float]:
        """Return P at weights and intercept, and D at `beta`, which has sum 0 where the bias is free."""
        square, scores = self.scores(weights, intercept)
        primal = 0.5 * square + float(self.cost @ np.maximum(0.0, 1.0 - self.sign * scores))
        total, norm = float(np.abs(beta).sum()), self._norm(beta)
        if not self.free:
            primal, norm = primal + 0.5 * intercept**2, norm + float(beta.sum()) ** 2
        return self._values(primal, total, norm, 1.0)

    def squared_hinge(self, w: FloatArray, intercept: float) -> tuple[float, float]:
        """Return P at weights and intercept, and D at the dual variables 2 c max(0, 1 - s f)."""
        square, scores = self.scores(w, intercept)
        slack, cost = np.maximum(0.0, 1.0 - self.sign * scores), self.cost
        alpha = 2.0 * cost * slack
        primal = 0.5 * (square + intercept**2) + float(cost @ slack**2)
        # The dual point belongs to its own weights, X' (s alpha), which equal w only at the optimum.
        beta = self.sign * alpha
        v, c = adjoint_of(self.X, beta), float(beta.sum())
        norm = float(v @ v) + c * c + float(alpha @ (alpha / (2.0 * cost)))
        return self._values(primal, float(alpha.sum()), norm, np.inf)

    def squared_dual(self, w: FloatArray, intercept: float) -> FloatArray:
        """Return the dual variables with signs, s 2 c max(0, 1 - s f), that go with weights of the squared hinge."""
        return 2.0 * self.cost * self.sign * np.maximum(0.0, 1.0 - self.sign * self.scores(w, intercept)[1])

    def _values(self, primal: float, total: float, norm: float, most: float) -> tuple[float, float]:
        """Return both objectives; D at the best part, of at most `most`, of the dual point if the whole is no bound."""
        dual = total - 0.5 * norm
        if dual <= 0 and norm > 0:
            part = min(most, total / norm)
            dual = part * total - 0.5 * part**2 * norm
        return primal, dual if 0.0 <= dual <= primal * (1.0 + ROUNDING) else 0.0

    def _norm(self, beta: FloatArray) -> float:
        if not self.gram:
            v = self.weights(beta)
            return float(v @ v)
        return expansion_square(self.X, beta, float(np.abs(beta).sum()), self.exact)


class MachineTerms:
    """The hinge terms of one label, of weights (r + 1,) for dense rows Z (n, r) and a bias."""

    def __init__(self, Z: FloatArray, rows: LabelRows) -> None:
        sign = rows.sign
        self.A = sign[:, None] * np.column_stack([Z, np.ones(len(Z))])
        self.margin, self.cost, self.repaired = np.ones(len(Z)), rows.cost, rows.repaired
        self.size, self.start = np.linalg.norm(self.A, axis=1), np.zeros(self.A.shape[1])
        self.weight = np.append(np.ones(Z.shape[1]), 0.0 if rows.free else 1.0)
        self.sign = sign

    def forward(self, u: FloatArray) -> FloatArray:
        """Return s f of each row."""
        return self.A @ u

    def adjoint(self, values: FloatArray) -> FloatArray:
        """Return the sum of rows times signs and values."""
        return self.A.T @ values

    def penalty(self, u: FloatArray) -> FloatArray:
        """Return the weights, without a bias that is free."""
        return self.weight * u

    def system(self, theta: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Factor I + A' diag(theta) A."""
        H = self.A.T @ (theta[:, None] * self.A)
        H[np.diag_indices_from(H)] += self.weight
        return factored(H)

    def gap(self, u: FloatArray, dual: FloatArray) -> float:
        """Return the relative duality gap."""
        loss = float(self.cost @ np.maximum(0.0, 1.0 - self.A @ u))
        primal = 0.5 * float(u @ self.penalty(u)) + loss
        alpha = np.abs(self.repaired(self.sign * dual))
        v = self.penalty(self.adjoint(alpha))
        return (primal - float(alpha.sum()) + 0.5 * float(v @ v)) / primal if primal > 0 else 0.0


def solve_inside(rows: LabelRows, tol: float, max_iter: int) -> tuple[FloatArray, float, FloatArray, int] | None:
    """Return weights, intercept, beta and steps for the hinge loss; None where the systems would be too large."""
    n, m = rows.X.shape
    if min(n, m) > UNKNOWNS or n * m > OPERATIONS / UNKNOWNS:
        return None
    center = None
    if rows.gram:
        Z, _, basis = factor_gram(np.array(rows.X))
    else:
        X = as_dense(rows.X)
        # An augmented bias does not take up what is taken off all rows.
        center = np.median(X, axis=0) if rows.free else np.zeros(m)
        Z, basis = X - center, None
        if m > n:
            Q, R = np.linalg.qr(Z.T)
            Z, basis = R.T, Q
    if float(len(Z)) * Z.shape[1] ** 2 > OPERATIONS:
        return None
    point = interior_point(MachineTerms(Z, rows), tol, min(max_iter, STEPS))
    u, intercept = point.weights[:-1], float(point.weights[-1])
    weights = u if basis is None else basis @ u
    if center is not None:
        intercept = float(np.longdouble(intercept) - weights.astype(np.longdouble) @ center)
    return weights, intercept, rows.repaired(rows.sign * point.dual), point.n_iter


def solve_squared(
    rows: LabelRows, tol: float, max_iter: int, start: FloatArray | None = None
) -> tuple[FloatArray, float, int] | None:
    """Return weights, intercept and steps for the squared hinge loss; None where the systems would be too large.

    Newton's method from `start`, weights and intercept, or from zero, to the relative gap `tol`: by Cholesky factors of
    the normal equations, n m^2 operations a step; where these have lost the digits that the gap needs, by QR of the
    rows themselves, which takes some ten times as long.
    """
    n, m = rows.X.shape
    if float(n) * m**2 > OPERATIONS or float(m) ** 2 * (n + m) > OPERATIONS:
        return None
    A = np.column_stack([as_dense(rows.X), np.ones(n)])
    unit = np.linalg.norm(A, axis=0)
    unit[unit == 0] = 1.0
    A, root = A / unit, np.sqrt(2.0 * rows.cost)
    u, n_iter = np.zeros(m + 1) if start is None else start * unit, 0

    def gap(u: FloatArray) -> float:
        return relative_gap(*rows.squared_hinge(u[:-1] / unit[:-1], float(u[-1] / unit[-1])))

    def value(u: FloatArray) -> float:
        slack = np.maximum(0.0, 1.0 - rows.sign * (A @ u))
        return 0.5 * float((u / unit) @ (u / unit)) + float(rows.cost @ slack**2)

    for least_squares in (_by_cholesky, _by_qr):
        lowest, most = value(u), min(max_iter, n_iter + STEPS)
        while n_iter < most and gap(u) > tol:
            n_iter += 1
            active = rows.sign * (A @ u) < 1.0
            aim = least_squares((root[:, None] * A)[active], (root * rows.sign)[active], 1.0 / unit)
            part = 1.0
            while aim is not None and (found := value(u + part * (aim - u))) > lowest and part > 1e-8:
                part /= 2
            if aim is None or not found < lowest:
                break
            u, lowest = u + part * (aim - u), found
    return u[:-1] / unit[:-1], float(u[-1] / unit[-1]), n_iter


def _by_cholesky(B: FloatArray, target: FloatArray, penalty: FloatArray) -> FloatArray | None:
    """Minimize |B u - target|^2 + |penalty u|^2 by the normal equations; None where rounding leaves no factor."""
    H = B.T @ B
    H[np.diag_indices_from(H)] += penalty**2
    try:
        found: FloatArray = cho_solve(cho_factor(H, overwrite_a=True, check_finite=False), B.T @ target)
    except np.linalg.LinAlgError:
        return None
    return found


def _by_qr(B: FloatArray, target: FloatArray, penalty: FloatArray) -> FloatArray:
    """Minimize the same by QR with columns exchanged."""
    padded = np.append(target, np.zeros(len(penalty)))
    found: FloatArray = lstsq(np.vstack([B, np.diag(penalty)]), padded, lapack_driver="gelsy", cond=1e-15)[0]
    return found
