"""Logistic regressions on the same rows: Newton steps of all labels in lockstep.

With z = s f and p = 1 / (1 + exp(z)), the loss c log(1 + exp(-z)) has the slope -c p and the curvature h = c p (1 - p),
so that alpha = c p is the dual point of the weights, and its gap half the squared gradient. A step solves the system
I + X' diag(h) X, with the bias as its border, and is halved until the objective falls by a part of what the slope says;
steps double the digits once they are near, so that a certificate costs one or two more.

Here machines lie side by side: arrays of rows are (n_samples, n_machines), weights (n_features + 1, n_machines) with
the bias last. Signs are +1, -1, and 0 where the label of a row is not known, which then costs nothing.

Cost of a step of a machine: 4 nnz(X), two exponentials or logarithms a row, and the system: on dense rows that of
`newton.direction`, where rows whose curvatures are nothing beside the penalty are left out.

References: Lin, Weng & Keerthi, "Trust region Newton method for large-scale logistic regression", JMLR 9, 2008; Yu,
Huang & Lin, "Dual coordinate descent methods for logistic regression and maximum entropy models", Machine Learning 85,
2011, eq. 3 (the dual).
"""

import math
from typing import NamedTuple, Protocol

import numpy as np

from mlrank.arrays import BoolArray, FloatArray, IntArray
from mlrank.compiled import njit
from mlrank.solvers.one_vs_rest.kernels import SignArray
from mlrank.solvers.one_vs_rest.newton import LinearProblem, PathPoint, balanced_rows, direction

__all__ = ["LogisticLockstep", "NewtonRows", "NewtonSteps", "entropies", "log_losses"]

# A step is taken if the objective falls by so much of what the slope promises, or rounding hides it.
DESCENT, ROUNDING = 1e-4, 1e-13
HALVINGS = 40
# The dual point is judged once half the squared gradient is so many times the tolerance.
NEAR = 2.0
# Rows whose curvatures add less than such a part to the penalty, and to the curvature of the bias, are left out.
NOTHING = 1e-2


@njit(cache=True)
def log_losses(  # pragma: no cover
    F: FloatArray, S: SignArray, costs: FloatArray, beta: FloatArray, slopes: FloatArray, loss: FloatArray
) -> None:
    """Write s alpha, the curvatures and each machine's loss; `costs` are those of rows without and with the label."""
    loss[:] = 0.0
    for i in range(F.shape[0]):
        for j in range(F.shape[1]):
            s = S[i, j]
            cost = costs[1] if s > 0 else costs[0] if s < 0 else 0.0
            z = s * F[i, j]
            e = math.exp(-abs(z))
            share = e / (1.0 + e)
            p = share if z > 0 else 1.0 - share
            loss[j] += cost * (max(-z, 0.0) + math.log1p(e))
            beta[i, j] = s * cost * p
            slopes[i, j] = cost * share / (1.0 + e)


def entropies(alpha: FloatArray, costs: FloatArray) -> FloatArray:
    """Return the parts of rows in D: with p = alpha / c, c times the entropy -p log p - (1 - p) log(1 - p)."""
    p = np.divide(alpha, costs, out=np.zeros_like(alpha), where=costs > 0)
    np.clip(p, 0.0, 1.0, out=p)
    q = 1.0 - p
    inside = np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0)
    outside = np.where(q > 0, q * np.log1p(-np.where(q > 0, p, 0.0)), 0.0)
    return np.asarray(-costs * (inside + outside))


class NewtonRows(Protocol):
    """Rows with the constant feature last, as Newton steps need them."""

    def scores(self, V: FloatArray) -> FloatArray:
        """Return (n_samples, n_machines) scores of weights."""
        ...

    def adjoint(self, beta: FloatArray) -> FloatArray:
        """Return (n_features + 1, n_machines) weights of dual variables with signs."""
        ...

    def directions(self, slopes: FloatArray, gradient: FloatArray, free: bool, enough: FloatArray) -> FloatArray:
        """Return Newton's directions; what is left of a machine's system may have a gap of `enough`."""
        ...


class _Trial(NamedTuple):
    """Weights, scores, and what the scores say."""

    V: FloatArray
    F: FloatArray
    beta: FloatArray
    slopes: FloatArray
    P: FloatArray

    def at(self, places: IntArray | BoolArray) -> "_Trial":
        return _Trial(*(np.ascontiguousarray(values[..., places]) for values in self))


class NewtonSteps:
    """Logistic regressions of one C on their way to a relative duality gap of `tol`.

    Parameters
    ----------
    rows : NewtonRows
    S : (n_samples, n_machines) signs
    costs : (2,) of rows without and with the label
    free : whether the bias costs nothing
    tol : float
    V : (n_features + 1, n_machines), where to start

    Attributes
    ----------
    V, beta : the weights and dual variables with signs that were found
    steps : (n_machines,), Newton steps that were made
    """

    def __init__(
        self, rows: NewtonRows, S: SignArray, costs: FloatArray, free: bool, tol: float, V: FloatArray
    ) -> None:
        self.rows, self.S, self.costs, self.free, self.tol = rows, S, costs, free, tol
        self.V, self.beta = V.copy(), np.zeros(S.shape)
        self.steps = np.zeros(S.shape[1], dtype=np.int64)

    def run(self, max_steps: int) -> None:
        """Make steps of all machines until each has reached `tol`, cannot go on, or has made `max_steps`."""
        active, S = np.arange(self.S.shape[1]), self.S
        stuck = np.zeros(len(active), dtype=np.bool_)
        now = self._trial(self.V, self.rows.scores(self.V), S)
        for number in range(max_steps + 1):
            gradient = self._penalty() * now.V - self.rows.adjoint(now.beta)
            last = stuck | (number == max_steps)
            going = ~(self._judged(active, now, S, gradient, last) | last)
            if not going.any():
                return
            if not going.all():
                active, S = active[going], np.ascontiguousarray(S[:, going])
                now, gradient = now.at(going), gradient[:, going]
            enough = self.tol * now.P
            D = self.rows.directions(now.slopes, gradient, self.free, enough)
            now, moved = self._moved(now, S, D, self.rows.scores(D), (gradient * D).sum(axis=0))
            self.steps[active] += moved
            self.V[:, active], stuck = now.V, ~moved

    def _penalty(self) -> FloatArray:
        held = np.ones((len(self.V), 1))
        held[-1] = 0.0 if self.free else 1.0
        return held

    def _trial(self, V: FloatArray, F: FloatArray, S: SignArray) -> _Trial:
        beta, slopes, loss = np.empty(F.shape), np.empty(F.shape), np.empty(F.shape[1])
        log_losses(F, np.ascontiguousarray(S), self.costs, beta, slopes, loss)
        return _Trial(V, F, beta, slopes, 0.5 * (self._penalty() * V * V).sum(axis=0) + loss)

    def _judged(self, active: IntArray, now: _Trial, S: SignArray, gradient: FloatArray, last: BoolArray) -> BoolArray:
        """Keep dual points that are last or may be near; return which machines have reached the tolerance."""
        left = 0.5 * (gradient[:-1] ** 2).sum(axis=0)
        left += np.abs(gradient[-1]) if self.free else 0.5 * gradient[-1] ** 2
        near = np.flatnonzero((left <= NEAR * self.tol * now.P) | last)
        done = np.zeros(len(active), dtype=np.bool_)
        if near.size:
            beta, signs = now.beta[:, near], S[:, near]
            if self.free:
                beta = balanced_rows(beta.T).T
            costs = np.where(signs > 0, self.costs[1], np.where(signs < 0, self.costs[0], 0.0))
            v = self.rows.adjoint(np.ascontiguousarray(beta))
            D = entropies(np.abs(beta), costs).sum(axis=0) - 0.5 * (self._penalty() * v * v).sum(axis=0)
            self.beta[:, active[near]] = beta
            done[near] = now.P[near] - D <= self.tol * now.P[near]
        return done

    def _moved(
        self, now: _Trial, S: SignArray, D: FloatArray, DF: FloatArray, slope: FloatArray
    ) -> tuple[_Trial, BoolArray]:
        """Return where machines are after a step along D, and whether each has moved."""
        downhill = np.isfinite(slope) & (slope < 0)
        D, DF = np.where(downhill, D, 0.0), np.where(downhill, DF, 0.0)
        after, t = self._trial(now.V + D, now.F + DF, S), 1.0
        least = now.P * (1.0 + ROUNDING)
        bad = np.flatnonzero(~(after.P <= least + DESCENT * slope) & downhill)
        for _ in range(HALVINGS):
            if not bad.size:
                break
            t *= 0.5
            shorter = self._trial(now.V[:, bad] + t * D[:, bad], now.F[:, bad] + t * DF[:, bad], S[:, bad])
            for whole, part in zip(after, shorter, strict=True):
                whole[..., bad] = part
            bad = bad[~(after.P[bad] <= least[bad] + DESCENT * t * slope[bad])]
        for whole, part in zip(after, now, strict=True):
            whole[..., bad] = part[..., bad]
        downhill[bad] = False
        return after, downhill


class _DenseRows:
    """Dense rows, whose systems have factors."""

    def __init__(self, X: FloatArray) -> None:
        self.X, self.squares = X, np.einsum("ij,ij->i", X, X)

    def scores(self, V: FloatArray) -> FloatArray:
        found: FloatArray = self.X @ V[:-1]
        found += V[-1]
        return found

    def adjoint(self, beta: FloatArray) -> FloatArray:
        return np.vstack([self.X.T @ beta, beta.sum(axis=0)])

    def directions(self, slopes: FloatArray, gradient: FloatArray, free: bool, enough: FloatArray) -> FloatArray:
        n, D = len(self.X), np.empty_like(gradient)
        for j in range(slopes.shape[1]):
            h = np.ascontiguousarray(slopes[:, j])
            J = np.flatnonzero((n * h * self.squares > NOTHING) | (n * h > NOTHING * (h.sum() if free else 1.0)))
            D[:-1, j], D[-1, j] = direction(self.X, J, h[J], gradient[:-1, j], float(gradient[-1, j]), free)
        return D


class LogisticLockstep:
    """What `newton.Lockstep` is to hinge losses: the same way from a point of the path to another.

    Attributes
    ----------
    W, b : weights (n_machines, n_features) and intercepts
    beta : (n_machines, n_samples), dual variables with signs
    steps : (n_machines,), Newton steps that were made
    """

    def __init__(self, problem: LinearProblem, C: float, point: PathPoint, tol: float) -> None:
        costs, V = np.array([C, C * problem.positive_weight]), np.vstack([point.W.T, point.b])
        signs = np.ascontiguousarray(problem.S.T)
        self._steps = NewtonSteps(_DenseRows(problem.X), signs, costs, problem.free, tol, V)

    def run(self, max_steps: int) -> None:
        """Make steps of all machines until each has reached `tol`, cannot go on, or has made `max_steps`."""
        self._steps.run(max_steps)
        self.W, self.b = np.ascontiguousarray(self._steps.V[:-1].T), self._steps.V[-1].copy()
        self.beta, self.steps = np.ascontiguousarray(self._steps.beta.T), self._steps.steps

    def point(self) -> PathPoint:
        """Return where the machines are; this loss has no multipliers."""
        k = len(self.b)
        return PathPoint(self.W, self.b, np.empty((k, 0)), np.ones(k))
