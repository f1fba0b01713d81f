"""Steps for SLRM where G is diagonal and the loss squared, with a penalty for each right singular vector of V.

The steps are those of `_slrm_admm`; a start is a multiplier T with the V that belongs to it, the minimum of the
quadratic part less <T, V>. One penalty suits no ill-conditioned G: a singular value s of V asks for lam/s. So each
right singular vector of V has a penalty of its own in U, and U + T/beta, which determines the step after it, is mixed
from the last two. That takes a third of the steps, and two products more in each, which are little beside the
decomposition. Nothing proves that it converges always; so after many steps the others, which do, take over.
"""

from typing import NamedTuple

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.linalg import Shrunk, shrink_singular_values
from mlrank.solvers._slrm_admm import ADAPTED_STEPS, ROUNDING, Solution, State, Stop
from mlrank.solvers._slrm_mixing import Mixing
from mlrank.solvers._slrm_systems import EPS, EigenSystem
from mlrank.solvers.base import relative_gap

__all__ = ["Start", "cut_at", "dual_bound", "minimize_squared"]

# So many steps have a penalty for each singular vector.
SUITED_STEPS = 200
# Of a start: each step cuts its multiplier exactly.
CUT_ACCURACY = 1e-5
# By so much beta falls at most in a step where rounding shows.
FALL = 100.0


class Start(NamedTuple):
    """A multiplier (size, n_labels) to start from, about which rank V will have, and a penalty."""

    T: FloatArray
    rank: int
    beta: float


def cut_at(lam: float, T: FloatArray) -> FloatArray:
    """Return `T` with the singular values above lam lowered to it."""
    return np.asarray(T - shrink_singular_values(T, lam, CUT_ACCURACY).matrix)


def minimize_squared(system: EigenSystem, square: float, lam: float, stop: Stop, start: Start | None) -> Solution:
    """Minimise 1/2 |Xl V - Y|^2 + gamma/2 trace(V'X'LXV) + lam |V|_*, `square` = |Y|^2, where G is diagonal.

    None for a start is the printed one, V and T of zeros. The multiplier of a step certifies it.
    """
    e, B = system.values[:, None], system.cross
    state, A, share = _begin(system, square, lam, stop, start)
    mixing, bound = Mixing(), -np.inf
    trace: list[float] = []
    while True:
        before = state.V
        accuracy = ROUNDING * stop.tol / max(share, stop.tol)
        shrunk = state.shrink(A, lam, accuracy)
        nuclear = lam * float(shrunk.values.sum())
        quadratic = 0.5 * square - float(np.vdot(B, state.V)) + 0.5 * energy(system.values, state.V)
        trace.append(quadratic + nuclear)
        bound = max(bound, dual_bound(system, square, state.T, shrunk.slack))
        gap = max(relative_gap(trace[-1], bound), 0.0)  # rounding may leave less
        if gap <= stop.tol or len(trace) >= stop.max_iter:
            # Products with V itself are cheaper where its rank is not low.
            whole = 2 * state.rank > B.shape[1]
            left, right = (state.V, None) if whole else (shrunk.left, shrunk.right)
            return Solution(left, right, state.rank, gap, len(trace), tuple(trace))
        share = nuclear / trace[-1]
        if stop.beta is None and len(trace) < SUITED_STEPS:
            allowed = max(accuracy, ROUNDING * gap / max(share, EPS))
            if shrunk.slack > allowed and _fallen(state, lam, shrunk, accuracy):
                A, mixing = state.V + state.T / state.beta, Mixing()
            A = mixing.next(A, _suited_step(state, e, B, lam, shrunk))
            continue
        U = _minimum(state, e, B)
        if stop.beta is None and len(trace) < ADAPTED_STEPS and state.adapt(U, before):
            U = _minimum(state, e, B)
        A = U + state.T / state.beta


def _begin(
    system: EigenSystem, square: float, lam: float, stop: Stop, start: Start | None
) -> tuple[State, FloatArray, float]:
    """Return the state, U + T/beta, and the part of the objective that the nuclear norm is at most.

    Rounding in T counts for that part.
    """
    B, e = system.cross, system.values[:, None]
    if start is None:
        beta = stop.beta or system.penalty
        return State.zero(B, beta), B / (e + beta), 1.0
    V = (B - start.T) / e
    least = max(0.5 * square - 0.5 * float(np.vdot(V, B - start.T)), EPS * square)
    share = min(1.0, lam * np.sqrt(min(B.shape)) * float(np.linalg.norm(V)) / least)
    return State(V, start.T, start.beta, start.rank), V + start.T / start.beta, share


def dual_bound(system: EigenSystem, square: float, T: FloatArray, slack: float) -> float:
    """Return what the minimum is at least, where no singular value of `T` exceeds (1 + slack) lam.

    For any Z without one above lam that is |Y|^2 / 2 - trace((B - Z)' G^-1 (B - Z)) / 2, with B = Xl'Y.
    """
    rest = T / -(1.0 + slack)
    rest += system.cross
    return 0.5 * square - 0.5 * energy(1.0 / system.values, rest)


def energy(weights: FloatArray, V: FloatArray) -> float:
    """Return trace(V' diag(weights) V) in one pass over V."""
    return float(weights @ np.einsum("ij,ij->i", V, V))


def _minimum(state: State, e: FloatArray, B: FloatArray) -> FloatArray:
    """Return U for one penalty."""
    U = state.beta * state.V
    U += B
    U -= state.T
    U /= e + state.beta
    return U


def _fallen(state: State, lam: float, shrunk: Shrunk, accuracy: float) -> bool:
    """Lower beta where rounding leaves too little of the difference that T is beta times; return whether it was.

    A smaller beta goes with the same V and T as well. Below lam over the largest singular value, T/beta is most of what
    rounding errs by, and nothing is won.
    """
    least = lam / float(shrunk.values.max()) if shrunk.values.size else np.inf
    if state.beta <= least:
        return False
    state.beta = max(state.beta * max(accuracy / shrunk.slack, 1.0 / FALL), least)
    return True


def _suited_step(state: State, e: FloatArray, B: FloatArray, lam: float, shrunk: Shrunk) -> FloatArray:
    """Return the step of U + T/beta with a penalty for each right singular vector of V, where G = diag(e).

    In the direction of a singular value s, V changes by s / (s + lam/beta) of A's change, across the left singular
    vectors, and T by beta times the rest: that is the slope of the residual GV + T - B there. Along the left ones V
    may change by all of it, so the slope is taken to be no less than e.
    """
    residual = e * state.V
    residual += state.T
    residual -= B
    kept = shrunk.values / (shrunk.values + lam / state.beta)
    slopes = e * kept
    slopes += state.beta * (1.0 - kept)
    np.maximum(slopes, e, out=slopes)
    plain = np.maximum(e, state.beta)
    inner = residual @ shrunk.right
    step = (inner / plain - inner / slopes) @ shrunk.right.T
    residual /= plain
    step -= residual
    return step
