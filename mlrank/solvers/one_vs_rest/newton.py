"""Linear machines on dense rows: proximal multipliers, each step of which is one of a semismooth Newton method.

With alpha = clip(a0 + h r, 0, c), r = 1 - s f and h = kappa c, the hinge loss is smoothed around multipliers a0. Its
minimum over the weights is found by Newton's method, whose system holds the rows with alpha strictly within bounds
alone, and an exact line search. The multipliers then become alpha, and kappa grows where the gap falls too slowly. The
squared hinge is of that form itself, with h = 2 c, neither upper bound nor multipliers: the first minimum is its own.

Machines go in lockstep, so that products with the rows are those of matrices. A step of a machine costs
4 n m + |J| m min(|J|, m) + min(|J|, m)^3 / 3 operations, J being the rows within bounds; some 10 to 40 steps lead from
ridge regression to a gap of 1e-3, fewer from the solution at a smaller C.

References: Rockafellar, "Augmented Lagrangians and applications of the proximal point algorithm in convex programming",
Mathematics of Operations Research 1, 1976; Keerthi & DeCoste, "A modified finite Newton method for fast solution of
large scale linear SVMs", JMLR 6, 2005.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dposv

from mlrank.arrays import BoolArray, FloatArray, IntArray
from mlrank.solvers.one_vs_rest.kernels import SignArray, line_search, smoothed

__all__ = [
    "STEPS",
    "LinearProblem",
    "Lockstep",
    "PathPoint",
    "balanced_rows",
    "direction",
    "ridge_factor",
    "ridge_point",
]

# Newton steps of one machine for one C, after which another method is asked.
STEPS = 200
# Multipliers move once what is left of the inner minimum is so much of the distance from the smoothed loss.
INNER = 0.3
# The smoothed loss gets so much steeper where the gap falls by less than half between two moves.
STEEPER = 4.0
# The dual point is repaired and judged once the gap before that is so many times the tolerance.
NEAR = 2.0
# Penalty of the first weights, ridge regression of the signs, relative to the mean square of a feature times the rows.
RIDGE = 1e-3
# Beside the slopes of all rows within bounds, what holds a free bias where they do not determine it.
LOOSE = 1e-10


class LinearProblem(NamedTuple):
    """Machines on the same dense rows.

    Parameters
    ----------
    X : (n_samples, n_features)
    S : (n_machines, n_samples) int8, the signs of labels, 0 where unknown
    loss : "hinge", "squared_hinge" or "logistic"
    free : whether the bias is free, else its square counts as those of weights do
    positive_weight : what the costs of rows that have the label are multiplied by
    """

    X: FloatArray
    S: SignArray
    loss: str
    free: bool
    positive_weight: float

    @property
    def squared(self) -> bool:
        """Whether the hinge is squared."""
        return self.loss == "squared_hinge"


@dataclass(frozen=True)
class PathPoint:
    """Where machines are on their way along C.

    Parameters
    ----------
    W, b : weights (n_machines, n_features) and intercepts
    alpha : (n_machines, n_samples) multipliers, divided by C; the logistic loss has none
    kappa : (n_machines,) slopes of the smoothed loss, in units of C
    """

    W: FloatArray
    b: FloatArray
    alpha: FloatArray
    kappa: FloatArray

    def ahead(self, ratio: float) -> "PathPoint":
        """Return where to start for a C that is `ratio` times as large."""
        return replace(self, kappa=np.maximum(self.kappa / ratio, 1.0))


def ridge_factor(X: FloatArray) -> tuple[FloatArray, bool] | None:
    """Return the Cholesky factor of ridge regression on rows, as `cho_solve` takes it; None where there is none."""
    H = X.T @ X
    H[np.diag_indices_from(H)] += max(RIDGE * float(np.trace(H)) / len(H), 1e-300)
    try:
        factor: tuple[FloatArray, bool] = cho_factor(H)
    except (LinAlgError, ValueError):
        return None
    return factor


def ridge_point(problem: LinearProblem, factor: tuple[FloatArray, bool] | None) -> PathPoint:
    """Return ridge regression of the signs, by the factor of its rows, which all machines share."""
    X, S = problem.X, problem.S
    W = np.zeros((len(S), X.shape[1]))
    if factor is not None:
        with suppress(ValueError):  # of a factor that is not finite
            W = cho_solve(factor, X.T @ S.T.astype(np.float64)).T
    return PathPoint(np.ascontiguousarray(W), S.mean(axis=1), np.zeros(S.shape), np.ones(len(S)))


def balanced_rows(beta: FloatArray) -> FloatArray:
    """Return dual variables with signs whose sums over each row of the array are 0: the larger side is made smaller."""
    above, below = np.maximum(beta, 0.0).sum(axis=1), -np.minimum(beta, 0.0).sum(axis=1)
    least = np.minimum(above, below)
    up = np.divide(least, above, out=np.zeros_like(least), where=above > 0)
    down = np.divide(least, below, out=np.zeros_like(least), where=below > 0)
    return np.asarray(np.where(beta > 0, beta * up[:, None], beta * down[:, None]))


class Lockstep:
    """Machines of one C on their way to a relative duality gap of `tol`.

    Attributes
    ----------
    W, b : the weights and intercepts of least objective P so far
    beta : (n_machines, n_samples), the dual variables with signs of largest D so far
    steps : (n_machines,), Newton steps that were made
    """

    def __init__(self, problem: LinearProblem, C: float, point: PathPoint, tol: float) -> None:
        self.problem, self.C, self.tol = problem, C, tol
        self.costs = np.array([C, C * problem.positive_weight])
        self._now_W, self._now_b = point.W.copy(), point.b.copy()
        self._alpha, self._kappa = point.alpha * C, point.kappa.copy()
        self._F = point.W @ problem.X.T + point.b[:, None]
        k = len(problem.S)
        self.W, self.b, self.primal = point.W.copy(), point.b.copy(), np.full(k, np.inf)
        self.beta, self.dual = np.zeros(problem.S.shape), np.zeros(k)
        self._last_gap, self.steps = np.full(k, np.inf), np.zeros(k, dtype=np.int64)
        self._active = np.arange(k)

    def run(self, max_steps: int) -> None:
        """Make steps of all machines until each has reached `tol`, cannot go on, or has made `max_steps`."""
        for _ in range(max_steps):
            self._round(last=False)
            if not self._active.size:
                return
        self._round(last=True)

    def point(self) -> PathPoint:
        """Return where the machines are."""
        return PathPoint(self.W, self.b, self._alpha / self.C, self._kappa)

    def _smoothed(self, active: IntArray) -> tuple[FloatArray, BoolArray, FloatArray]:
        """Return s alpha, which rows are within bounds, and sums, of the machines numbered `active`."""
        shape = (len(active), self.problem.S.shape[1])
        beta, inside, sums = np.empty(shape), np.empty(shape, dtype=np.bool_), np.empty((len(active), 4))
        given = (self._F, self.problem.S, self._alpha, self.costs, self._kappa, self.problem.squared)
        smoothed(active, *given, beta, inside, sums)
        return beta, inside, sums

    def _gradient(self, active: IntArray, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
        held = 0.0 if self.problem.free else 1.0
        return self._now_W[active] - beta @ self.problem.X, held * self._now_b[active] - beta.sum(axis=1)

    def _round(self, last: bool) -> None:
        """Judge all machines, move multipliers where that is due, and make a step of each that is not done."""
        active = self._active
        beta, inside, sums = self._smoothed(active)
        g_w, g_b = self._gradient(active, beta)
        gap = self._judge(active, beta, sums, g_w, g_b, last)
        done = self.primal[active] - self.dual[active] <= self.tol * self.primal[active]
        moved = self._moved(active, beta, sums, g_w, g_b, gap, done)
        going = ~done
        self._active = active = active[going]
        if last or not active.size:
            return
        inside, g_w, g_b, again = inside[going], g_w[going], g_b[going], np.flatnonzero(moved[going])
        if again.size:
            beta, inside[again], _ = self._smoothed(active[again])
            g_w[again], g_b[again] = self._gradient(active[again], beta)
        self._step(active, inside, g_w, g_b)

    def _judge(
        self, active: IntArray, beta: FloatArray, sums: FloatArray, g_w: FloatArray, g_b: FloatArray, last: bool
    ) -> FloatArray:
        """Keep the best P and D of each machine; return gaps, of dual points that are not repaired."""
        w, c = self._now_W[active], self._now_b[active]
        free = self.problem.free
        P = 0.5 * (np.einsum("ij,ij->i", w, w) + (0.0 if free else c * c)) + sums[:, 0]
        lower = P < self.primal[active]
        at = active[lower]
        self.primal[at], self.W[at], self.b[at] = P[lower], w[lower], c[lower]
        D = sums[:, 1] - 0.5 * self._norm(active, w - g_w, beta)
        gap = self.primal[active] - D + (np.abs(g_b) if free else 0.0)
        near = np.arange(len(active)) if last else np.flatnonzero(gap <= NEAR * self.tol * self.primal[active])
        if near.size:
            at, fixed, D = active[near], beta[near], D[near]
            if free:
                fixed = balanced_rows(fixed)
                D = np.abs(fixed).sum(axis=1) - 0.5 * self._norm(at, fixed @ self.problem.X, fixed)
            more = D > self.dual[at]
            self.dual[at[more]], self.beta[at[more]] = D[more], fixed[more]
        return np.asarray(gap)

    def _norm(self, active: IntArray, v: FloatArray, beta: FloatArray) -> FloatArray:
        """Return twice what D loses at weights v = X'beta."""
        norm: FloatArray = np.einsum("ij,ij->i", v, v)
        if not self.problem.free:
            norm += beta.sum(axis=1) ** 2
        if self.problem.squared:
            # A row that costs nothing has no dual variable.
            norm += (beta**2 / (2.0 * np.where(beta > 0, self.costs[1], self.costs[0]))).sum(axis=1)
        return norm

    def _moved(
        self,
        active: IntArray,
        beta: FloatArray,
        sums: FloatArray,
        g_w: FloatArray,
        g_b: FloatArray,
        gap: FloatArray,
        done: BoolArray,
    ) -> BoolArray:
        """Move multipliers to alpha where the inner minimum is near enough; return where."""
        if self.problem.squared:
            return np.zeros(len(active), dtype=np.bool_)
        # What a free bias leaves of the sum of beta is taken off dual variables whose loss is about 1.
        inner = 0.5 * (g_w * g_w).sum(axis=1) + (np.abs(g_b) if self.problem.free else 0.5 * g_b * g_b)
        moved = np.asarray((inner < INNER * (sums[:, 0] - sums[:, 2])) | done)
        at = active[moved]
        self._alpha[at] = np.abs(beta[moved])
        slow = (gap[moved] > 0.5 * self._last_gap[at]) & ~done[moved]
        self._kappa[at[slow]] *= STEEPER
        self._last_gap[at] = gap[moved]
        return moved

    def _step(self, active: IntArray, inside: BoolArray, g_w: FloatArray, g_b: FloatArray) -> None:
        """Go along Newton's directions to the minima on them."""
        X, S, _, free, _ = self.problem
        squared = self.problem.squared
        self.steps[active] += 1
        d_w, d_b = np.empty_like(g_w), np.empty_like(g_b)
        for place, machine in enumerate(active):
            J = np.flatnonzero(inside[place])
            slopes = np.where(S[machine, J] > 0, self.costs[1], self.costs[0])
            slopes *= 2.0 if squared else self._kappa[machine]
            d_w[place], d_b[place] = direction(X, J, slopes, g_w[place], float(g_b[place]), free)
        sound = np.isfinite(d_w).all(axis=1) & np.isfinite(d_b)
        self._active = active = active[sound]
        if not active.size:
            return
        d_w, d_b = d_w[sound], d_b[sound]
        D, (w, c) = d_w @ X.T + d_b[:, None], (self._now_W[active], self._now_b[active])
        held, t = 0.0 if free else 1.0, np.empty(len(active))
        first = np.einsum("ij,ij->i", w, d_w) + held * c * d_b
        second = np.einsum("ij,ij->i", d_w, d_w) + held * d_b * d_b
        line_search(active, self._F, D, S, self._alpha, self.costs, self._kappa, squared, first, second, t)
        self._now_W[active], self._now_b[active] = w + t[:, None] * d_w, c + t * d_b
        self._F[active] += t[:, None] * D


def direction(
    X: FloatArray, J: IntArray, slopes: FloatArray, g_w: FloatArray, g_b: float, free: bool
) -> tuple[FloatArray, float]:
    """Return Newton's direction for weights and bias; not a number where its system has no factor.

    The system is that of the weights, I + A' diag(h) A for the rows A = X_J, or that of the rows, diag(1 / h) + A A',
    whichever is smaller, with the bias as its border.
    """
    held = 0.0 if free else 1.0
    if not len(J):
        return -g_w, -held * g_b
    A, total = X[J], float(slopes.sum())
    if len(J) >= X.shape[1]:
        H = dsyrk(1.0, (A * np.sqrt(slopes)[:, None]).T, lower=1)
        H[np.diag_indices_from(H)] += 1.0
        border = slopes @ A
        _, solved, failed = dposv(H, np.column_stack([g_w, border]), lower=1, overwrite_a=1)
        if failed:
            return np.full_like(g_w, np.nan), 0.0
        rest = total - border @ solved[:, 1] + held
        d_b = (float(border @ solved[:, 0]) - g_b) / max(rest, LOOSE * total)
        return -solved[:, 0] - d_b * solved[:, 1], d_b
    G = dsyrk(1.0, A.T, trans=1, lower=1)
    G[np.diag_indices_from(G)] += 1.0 / slopes
    _, solved, failed = dposv(G, np.column_stack([np.ones(len(J)), A @ g_w]), lower=1, overwrite_a=1)
    if failed:
        return np.full_like(g_w, np.nan), 0.0
    d_b = (float(solved[:, 1].sum()) - g_b) / max(float(solved[:, 0].sum()) + held, LOOSE * total)
    return -g_w - (d_b * solved[:, 0] - solved[:, 1]) @ A, d_b
