"""The alternating direction method of multipliers for SLRM, with dual certificates.

In the coordinates of a `System`, with the constraint U = V and its multiplier T::

    U = argmin  loss and smoothness + beta/2 |U - V + T/beta|^2
    V = U + T/beta with singular values lowered by lam/beta
    T = T + beta (U - V), so that no singular value of T exceeds lam

For another loss than the squared one, U minimises the parabola of the loss's curvature that touches it at the last U
instead: a proximal step, by the same diagonal or the same products as the squared loss needs.

Where the relative residuals, U - V and beta times the step of V, differ by more than a factor of five, the penalty beta
changes by its square root, towards what would make them equal: it costs nothing to change.

Where G is diagonal and the loss squared, a start is a multiplier T with the V that belongs to it, the minimum of the
quadratic part less <T, V>; `_slrm_columns` tells of which. One penalty suits no ill-conditioned G: a singular value s
of V asks for lam/s. So each right singular vector of V then has a penalty of its own in U, and U + T/beta, which
determines the step after it, is mixed from the last two. That takes a third of the steps and two products more in each,
which are little beside the eigen-decomposition. Nothing proves that it converges always; so after many steps those
above, which do, take over. Other steps begin with V, and T from the gradient there.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.linalg import Shrunk, largest_singular_value, shrink_singular_values
from mlrank.solvers._slrm_losses import Loss
from mlrank.solvers._slrm_mixing import Mixing
from mlrank.solvers._slrm_systems import EigenSystem, System
from mlrank.solvers.base import relative_gap

__all__ = ["ROUNDING", "Solution", "Start", "Stop", "cut_at", "energy", "least_squares", "minimize", "minimize_squared"]

# So many steps have a penalty for each singular vector.
SUITED_STEPS = 200
# In others, residuals may differ by the first factor before beta is changed, by the second at most. After so many it
# stays, since only then the method is known to converge.
BALANCE = 5.0
MOST = 100.0
ADAPTED_STEPS = 500
# Certificates of a loss of the outputs cost as much as a step.
CERTIFY_EVERY = 5
# Of the gap that is asked for, what rounding in the multiplier may cost.
ROUNDING = 0.1
# Of a start: each step cuts its multiplier exactly.
CUT_ACCURACY = 1e-5
EPS = float(np.finfo(np.float64).eps)


class Start(NamedTuple):
    """A multiplier (size, n_labels) to start from, about which rank V will have, and a penalty."""

    T: FloatArray
    rank: int
    beta: float


class Stop(NamedTuple):
    """When to stop: relative duality gap, most steps, and a constant beta or None."""

    tol: float
    max_iter: int
    beta: float | None = None


class Solution(NamedTuple):
    """What came of it.

    Parameters
    ----------
    left : (size, r) ndarray
    right : (n_labels, r) ndarray or None
        V = left @ right.T; None where left is V itself.
    rank : int
    gap : float
        Relative duality gap, or the relative residual where lam is zero.
    n_iter : int
    trace : tuple of float
        The primal objective wherever it was computed; the last is that of V.
    """

    left: FloatArray
    right: FloatArray | None
    rank: int
    gap: float
    n_iter: int
    trace: tuple[float, ...]


@dataclass
class _State:
    """The iterates, and about how many singular values of V are above zero."""

    V: FloatArray
    T: FloatArray
    beta: float
    rank: int

    @classmethod
    def zero(cls, like: FloatArray, beta: float) -> "_State":
        return cls(np.zeros_like(like), np.zeros_like(like), beta, min(like.shape))

    def shrink(self, A: FloatArray, lam: float, accuracy: float) -> Shrunk:
        """Move V and T, where A = U + T/beta."""
        shrunk = shrink_singular_values(A, lam / self.beta, accuracy, self.rank)
        self.V, self.rank = shrunk.matrix, len(shrunk.values)
        self.T = A - self.V
        self.T *= self.beta
        return shrunk

    def minimum(self, e: FloatArray, B: FloatArray) -> FloatArray:
        """Return U where G = diag(e) and the loss is squared."""
        U = self.beta * self.V
        U += B
        U -= self.T
        U /= e + self.beta
        return U

    def suited_step(self, e: FloatArray, B: FloatArray, lam: float, shrunk: Shrunk) -> FloatArray:
        """Return the step of U + T/beta with a penalty for each right singular vector of V, where G = diag(e).

        In the direction of a singular value s, V changes by s / (s + lam/beta) of A's change, across the left singular
        vectors, and T by beta times the rest: that is the slope of the residual GV + T - B there. Along the left ones V
        may change by all of it, so the slope is taken to be no less than e.
        """
        residual = e * self.V
        residual += self.T
        residual -= B
        kept = shrunk.values / (shrunk.values + lam / self.beta)
        slopes = e * kept
        slopes += self.beta * (1.0 - kept)
        np.maximum(slopes, e, out=slopes)
        plain = np.maximum(e, self.beta)
        inner = residual @ shrunk.right
        step = (inner / plain - inner / slopes) @ shrunk.right.T
        residual /= plain
        step -= residual
        return step

    def adapt(self, U: FloatArray, before: FloatArray) -> bool:
        """Change beta where one residual is much larger than the other; return whether it was."""
        largest = max(float(np.linalg.norm(U)), float(np.linalg.norm(self.V)))
        primal = float(np.linalg.norm(U - self.V)) * float(np.linalg.norm(self.T))
        dual = self.beta * float(np.linalg.norm(self.V - before)) * largest
        if max(primal, dual) <= BALANCE * min(primal, dual):
            return False
        change = math.sqrt(max(primal, dual) / max(min(primal, dual), max(primal, dual) / MOST**2))
        self.beta *= change if primal > dual else 1 / change
        return True


def cut_at(lam: float, T: FloatArray) -> FloatArray:
    """Return `T` with the singular values above lam lowered to it."""
    return np.asarray(T - shrink_singular_values(T, lam, CUT_ACCURACY).matrix)


def minimize_squared(system: EigenSystem, square: float, lam: float, stop: Stop, start: Start | None) -> Solution:
    """Minimise 1/2 |Xl V - Y|^2 + gamma/2 trace(V'X'LXV) + lam |V|_*, `square` = |Y|^2, where G is diagonal.

    None for a start is the printed one, V and T of zeros. The multiplier of a step certifies it: where no singular
    value of Z exceeds lam, |Y|^2 / 2 - trace((B - Z)' G^-1 (B - Z)) / 2 with B = Xl'Y is at most the minimum.
    """
    e, B = system.values[:, None], system.cross
    state = _State.zero(B, stop.beta or system.penalty)
    A, share = B / (e + state.beta), 1.0
    if start is not None:
        state.V, state.T, state.rank, state.beta = (B - start.T) / e, start.T, start.rank, start.beta
        A = state.V + start.T / state.beta
        # At most this part of the objective is the nuclear norm, and rounding in T counts for so much.
        least = 0.5 * square - 0.5 * float(np.vdot(state.V, B - start.T))
        share = min(1.0, lam * np.sqrt(min(B.shape)) * float(np.linalg.norm(state.V)) / max(least, EPS * square))
    mixing, bound = Mixing(), -np.inf
    trace: list[float] = []
    while True:
        before = state.V
        accuracy = ROUNDING * stop.tol / max(share, stop.tol)
        shrunk = state.shrink(A, lam, accuracy)
        nuclear = lam * float(shrunk.values.sum())
        objective = 0.5 * square - float(np.vdot(B, state.V)) + 0.5 * energy(system.values, state.V) + nuclear
        rest = state.T / -(1.0 + shrunk.slack)
        rest += B
        bound = max(bound, 0.5 * square - 0.5 * energy(1.0 / system.values, rest))
        trace.append(objective)
        gap = max(relative_gap(objective, bound), 0.0)  # rounding may leave less
        if gap <= stop.tol or len(trace) >= stop.max_iter:
            # Products with V itself are cheaper where its rank is not low.
            whole = 2 * state.rank > B.shape[1]
            left, right = (state.V, None) if whole else (shrunk.left, shrunk.right)
            return Solution(left, right, state.rank, gap, len(trace), tuple(trace))
        share = nuclear / objective
        if stop.beta is None and len(trace) < SUITED_STEPS:
            if shrunk.slack > accuracy:
                # T is beta times a difference that rounding leaves too little of; a smaller beta goes with it as well.
                state.beta *= max(accuracy / shrunk.slack, 1.0 / MOST)
                A, mixing = state.V + state.T / state.beta, Mixing()
            A = mixing.next(A, state.suited_step(e, B, lam, shrunk))
            continue
        U = state.minimum(e, B)
        if stop.beta is None and len(trace) < ADAPTED_STEPS and state.adapt(U, before):
            U = state.minimum(e, B)
        A = U + state.T / state.beta


def energy(weights: FloatArray, V: FloatArray) -> float:
    """Return trace(V' diag(weights) V) in one pass over V."""
    return float(weights @ np.einsum("ij,ij->i", V, V))


def least_squares(system: System, loss: Loss, stop: Stop) -> Solution:
    """Minimise 1/2 |Xl V - Y|^2 + gamma/2 trace(V'X'LXV): GV = B."""
    B = system.back(loss.targets)
    V, n_iter = system.invert(B, ROUNDING * stop.tol, stop.max_iter)
    F = system.outputs(V)
    smooth = system.smooth(V, F)
    objective = loss.value(F) + 0.5 * float(np.vdot(V, smooth))
    residual = float(np.linalg.norm(system.back(loss.gradient(F)) + smooth))
    rank = int(np.linalg.matrix_rank(V)) if V.any() else 0
    return Solution(V, None, rank, residual / (float(np.linalg.norm(B)) or 1.0), n_iter, (objective,))


def minimize(system: System, loss: Loss, lam: float, stop: Stop, start: FloatArray | None) -> Solution:
    """Minimise loss(Xl V) + gamma/2 trace(V'X'LXV) + lam |V|_* for any loss, where G is diagonal or not."""
    U = np.zeros((system.size, loss.targets.shape[1])) if start is None else start
    F = system.outputs(U)
    state = _State.zero(U, stop.beta or system.penalty)
    if start is not None:
        state.V, state.T = start, -_gradient(system, loss, start, F)
    best = _Certificate()
    for n_iter in range(1, stop.max_iter + 1):
        before = state.V
        if n_iter > 1 or start is None:
            B = system.back(loss.curvature * F - loss.gradient(F))
            U = system.solve(B + state.beta * state.V - state.T, state.beta, U)
            F = system.outputs(U)
        shrunk = state.shrink(U + state.T / state.beta, lam, ROUNDING * stop.tol)
        if n_iter == 1 or n_iter % CERTIFY_EVERY == 0 or n_iter == stop.max_iter:
            best = best.tightened(system, loss, state.V, lam, lam * float(shrunk.values.sum()))
            if best.gap <= stop.tol:
                break
        if stop.beta is None and n_iter < ADAPTED_STEPS:
            state.adapt(U, before)
    return Solution(shrunk.left, shrunk.right, state.rank, best.gap, n_iter, best.trace)


class _Certificate(NamedTuple):
    """The objective of the last V and the best bound so far."""

    objective: float = np.inf
    bound: float = -np.inf
    trace: tuple[float, ...] = ()

    @property
    def gap(self) -> float:
        return max(relative_gap(self.objective, self.bound), 0.0)

    def tightened(self, system: System, loss: Loss, V: FloatArray, lam: float, nuclear: float) -> "_Certificate":
        """Compute both at V, `nuclear` = lam |V|_*.

        With A = loss'(F), F = Xl V, and S = gamma X'LX V, the dual objective at (s A, s S) for 0 <= s <= 1 is
        -conjugate(s A) - s^2 trace(V'S) / 2 where no singular value of s (Xl'A + S) exceeds lam.
        """
        F = system.outputs(V)
        smooth = system.smooth(V, F)
        energy = float(np.vdot(V, smooth))
        objective = loss.value(F) + 0.5 * energy + nuclear
        A = loss.gradient(F)
        largest = largest_singular_value(system.back(A) + smooth)
        scale = min(1.0, lam / largest) if largest > 0 else 1.0
        bound = -loss.conjugate(scale * A) - 0.5 * scale**2 * energy
        return _Certificate(objective, max(self.bound, bound), (*self.trace, objective))


def _gradient(system: System, loss: Loss, V: FloatArray, F: FloatArray) -> FloatArray:
    return system.back(loss.gradient(F)) + system.smooth(V, F)
