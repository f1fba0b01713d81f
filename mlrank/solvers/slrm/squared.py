"""Steps for SLRM where G is diagonal and the loss squared, with a penalty for each right singular vector of V.

The steps are those of admm.py; a start is a multiplier T with the V that belongs to it, the minimum of the
quadratic part less <T, V>. One penalty suits no ill-conditioned G: a singular value s of V asks for lam/s. So each
right singular vector of V has a penalty of its own in U, and U + T/beta, which determines the step after it, is mixed
from the last two. That takes a third of the steps, and two products more in each, which are little beside the
decomposition. Nothing proves that it converges always; so after many steps the others, which do, take over.

SLRM where the singular vectors of V in the space of labels are known, and G is diagonal: each column is by itself.

A column b of B = Xl'Y then has the weights v = argmin v'Gv / 2 - b'v + lam |v|, which are zero for |b| <= lam. Beyond,
v = s q with q = b / (e s + lam) for the eigenvalues e of G, and its length s is what makes |q| = 1: one equation in one
unknown. The multiplier of the column is lam q.

What SLRM tries before any step with the squared loss and a diagonal G: the solution where the graph is heavy.

Let labels be in the right singular vectors of B = Xl'Y: its columns b_j are orthogonal, and T with the columns
min(1, lam/|b_j|) b_j has no singular value above lam. What belongs to it, V = G^-1 (B - T), has the columns of G^-1 B
shrunk by the same factors. Its gap is lam |V|_* - trace(T'V), and |V|_* is at most the sum of its columns' lengths;
neither takes a product. Where that is small enough V is the solution, with a column for each singular value of B above
lam.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigvalsh

from mlrank.arrays import FloatArray, IntArray
from mlrank.linalg import Shrunk, shrink_singular_values, singular_values_below
from mlrank.solvers.base import relative_gap
from mlrank.solvers.slrm.admm import ADAPTED_STEPS, ROUNDING, Loss, SlrmSolution, State, Stop
from mlrank.solvers.slrm.systems import EPS, EigenSystem

__all__ = [
    "Mixing",
    "PartedCross",
    "Start",
    "cut_at",
    "dual_bound",
    "lengths_of_columns",
    "minimize_squared",
    "solve_squared",
    "solved_by_start",
    "solved_in_one_direction",
    "start_of_columns",
    "suited_penalty",
]

# Where the residual has grown by more than this factor, the step is plain.
GROWTH = 2.0


class Mixing:
    """Speeds up x -> x + r(x), the steps of a method that converges by itself.

    The residual r is taken to be linear between the last two points: the combination of them at which it would be least
    is where the next step is made from. More points gain nothing where a step costs a decomposition.
    """

    def __init__(self) -> None:
        self.last: tuple[FloatArray, FloatArray] | None = None

    def next(self, x: FloatArray, residual: FloatArray) -> FloatArray:
        """Return the point after `x`."""
        found: FloatArray = x + residual
        if self.last is not None:
            before, then = self.last
            change = residual - then
            square = float(np.vdot(change, change))
            if square > 0 and np.linalg.norm(residual) <= GROWTH * np.linalg.norm(then):
                weight = float(np.vdot(change, residual)) / square
                found -= weight * (x - before + change)
        self.last = (x, residual)
        return found


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


def minimize_squared(system: EigenSystem, square: float, lam: float, stop: Stop, start: Start | None) -> SlrmSolution:
    """Minimize 1/2 |Xl V - Y|^2 + gamma/2 trace(V'X'LXV) + lam |V|_*, `square` = |Y|^2, where G is diagonal.

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
            dual = None if system.exact else (B - state.T / (1.0 + shrunk.slack)) / e
            return SlrmSolution(left, right, state.rank, gap, len(trace), tuple(trace), dual)
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


# |q| - 1 of a start, which the next steps improve, and of a solution; Newton's method takes three and five steps.
ROUGH = 1e-2
EXACT = 1e-12
NEWTON_STEPS = 50
# The direction of a solution of rank one is found where it moves by less; mostly after three steps.
STILL = 1e-7
DIRECTION_STEPS = 30


def lengths_of_columns(e: FloatArray, B: FloatArray, lam: float, accuracy: float) -> FloatArray:
    """Return s (r,) with |b / (e s + lam)| = 1 for each column b of `B` (p, r), all longer than lam.

    1/|q| is concave in s, so Newton's steps on it come from below; each costs a few passes over `B`. Of a column hardly
    longer than lam, rounding may leave s below zero.
    """
    s = np.zeros(B.shape[1])
    for _ in range(NEWTON_STEPS):
        D = e[:, None] * s
        D += lam
        q = B / D
        q *= q
        squares = q.sum(axis=0)
        norms = np.sqrt(squares)
        q /= D
        s += (norms - 1.0) * squares / (e @ q)
        if (norms - 1.0).max() <= accuracy:
            break
    return s


def start_of_columns(system: EigenSystem, over: IntArray, lam: float) -> Start:
    """Return the multiplier of each column by itself; `over` are the columns longer than lam.

    A column's multiplier is lam q, so V of all of them has the lengths s.
    """
    B = system.cross[:, over]
    s = lengths_of_columns(system.values, B, lam, ROUGH)
    T = system.cross.copy()
    T[:, over] = lam * B / (system.values[:, None] * s + lam)
    return Start(T, len(over), suited_penalty(system, s, lam))


def suited_penalty(system: EigenSystem, s: FloatArray, lam: float) -> float:
    """Return a penalty that suits singular values `s` of V together.

    The weights in the direction of one solve a system of G + lam/s I, so lam/s would suit it, up to the largest
    eigenvalue of G. Of all it is the geometric mean, unless the system's own is above.
    """
    suited = lam / np.maximum(s, lam / system.values[-1])
    return max(system.penalty, float(np.exp(np.log(suited).mean()))) if s.size else system.penalty


def solved_in_one_direction(
    system: EigenSystem, column: int, square: float, lam: float, tol: float
) -> SlrmSolution | None:
    """Return the minimum over V = s q v' with |v| = 1 if it is that over all V, to the relative duality gap `tol`.

    From the unit vector of `column` on, the only one longer than lam, q and s are the best for v, and then v for
    them; a step costs two products with a vector. `square` is |Y|^2.
    """
    e, B = system.values, system.cross
    v = np.zeros(B.shape[1])
    v[column] = 1.0
    for _ in range(DIRECTION_STEPS):
        b = B @ v
        if float(np.linalg.norm(b)) <= lam:
            return None
        s = float(lengths_of_columns(e, b[:, None], lam, EXACT)[0])
        u = s * b / (e * s + lam)
        before, v = v, B.T @ u
        v /= np.linalg.norm(v)
        if float(np.linalg.norm(v - before)) <= STILL:
            break
    T = B - np.outer(e * u, v)
    slack = ROUNDING * tol
    if not singular_values_below(T, (1.0 + slack) * lam):
        return None
    bound = dual_bound(system, square, T, slack + sum(B.shape) * EPS)
    objective = 0.5 * square - float(u @ (B @ v)) + 0.5 * float(u @ (e * u)) + lam * float(np.linalg.norm(u))
    gap = max(relative_gap(objective, bound), 0.0)
    return SlrmSolution(u[:, None], v[:, None], 1, gap, 1, (objective,)) if gap <= tol else None


class PartedCross:
    """B = Xl'Y with labels in its right singular vectors.

    Parameters
    ----------
    cross : (p, r) ndarray
        Xl'Y, its columns orthogonal but for rounding.
    basis : (n_labels, r) ndarray
        The singular vectors, orthonormal.
    """

    def __init__(self, cross: FloatArray, basis: FloatArray) -> None:
        self.cross, self.basis = cross, basis
        self.lengths = np.sqrt(np.einsum("ij,ij->j", cross, cross))

    @cached_property
    def _skew(self) -> FloatArray:
        """What keeps the columns from being orthogonal: the squares of their Gram matrix but for the diagonal."""
        skew: FloatArray = self.cross.T @ self.cross
        np.fill_diagonal(skew, 0.0)
        skew *= skew
        return skew

    def kept(self, lam: float) -> FloatArray:
        """Return which part of each column T has."""
        found: FloatArray = lam / np.maximum(self.lengths, lam)
        return found

    def slack(self, lam: float, kept: FloatArray) -> float:
        """Return s such that no singular value of T exceeds (1 + s) lam, whatever rounding did."""
        apart = float(np.sqrt(kept**2 @ self._skew @ kept**2)) / lam**2
        return apart + sum(self.cross.shape) * len(kept) * EPS


def solve_squared(
    system: EigenSystem, parted: PartedCross, loss: Loss, lam: float, stop: Stop, start: FloatArray | None
) -> SlrmSolution:
    """Minimize eq. 9 from where it is cheapest, from weights `start` in the system's coordinates, or as printed.

    V of what is returned is not in coordinates: it has a row for each feature.
    """
    square = float(np.vdot(loss.targets, loss.targets))
    if start is None and stop.beta is None:
        found = solved_by_start(system, parted, square, lam, stop.tol)
        if found is not None:
            return found
    found = _solved_by_steps(system, parted, square, lam, stop, start)
    return found._replace(left=system.lift(found.left))


def _solved_by_steps(
    system: EigenSystem, parted: PartedCross, square: float, lam: float, stop: Stop, start: FloatArray | None
) -> SlrmSolution:
    if start is not None:
        T, squares = cut_at(lam, system.gradient(start)), eigvalsh(start.T @ start, check_finite=False)
        values = np.sqrt(squares[squares > len(squares) * EPS * squares[-1]])
        return minimize_squared(system, square, lam, stop, Start(T, len(values), suited_penalty(system, values, lam)))
    if stop.beta is not None:
        return minimize_squared(system, square, lam, stop, None)
    over = np.flatnonzero(parted.lengths > lam)
    found = solved_in_one_direction(system, int(over[0]), square, lam, stop.tol) if len(over) == 1 else None
    return found or minimize_squared(system, square, lam, stop, start_of_columns(system, over, lam))


def solved_by_start(
    system: EigenSystem, parted: PartedCross, square: float, lam: float, tol: float
) -> SlrmSolution | None:
    """Return the V that belongs to T if its relative duality gap is at most `tol`; `square` is |Y|^2.

    V has a row for each feature: for every lam it has columns of G^-1 Xl'Y, which is turned into them once.
    """
    kept = parted.kept(lam)
    taken = 1.0 - kept
    bound = 0.5 * square - 0.5 * float((1.0 - kept / (1.0 + parted.slack(lam, kept))) ** 2 @ system.energies)
    smooth = 0.5 * square - float((taken - 0.5 * taken**2) @ system.energies)
    most = float(taken @ np.sqrt(np.diagonal(system.inverse_gram)))
    if relative_gap(smooth + lam * most, bound) > tol:
        return None
    on = np.flatnonzero(taken)
    gram = taken[on, None] * system.inverse_gram[np.ix_(on, on)] * taken[on]
    nuclear = float(np.sqrt(np.maximum(eigvalsh(gram, overwrite_a=True, check_finite=False), 0.0)).sum())
    objective = smooth + lam * nuclear
    gap = max(relative_gap(objective, bound), 0.0)
    left = system.lifted_inverse_cross
    if 2 * len(on) > len(kept):
        return SlrmSolution(left * taken, None, len(on), gap, 1, (objective,))
    return SlrmSolution(left[:, on] * taken[on], np.eye(len(kept))[:, on], len(on), gap, 1, (objective,))
