"""The alternating direction method of multipliers for SLRM, with dual certificates.

In the coordinates of a `SlrmSystem`, with the constraint U = V and its multiplier T::

    U = argmin  loss and smoothness + beta/2 |U - V + T/beta|^2
    V = U + T/beta with singular values lowered by lam/beta
    T = T + beta (U - V), so that no singular value of T exceeds lam

For another loss than the squared one, U minimizes the parabola of the loss's curvature that touches it at the last U
instead: a proximal step, by the same diagonal or the same products as the squared loss needs.

Where the relative residuals, U - V and beta times the step of V, differ by more than a factor of five, the penalty beta
changes by its square root, towards what would make them equal: it costs nothing to change.

Steps begin with zeros, or with V at a start that is given and T from the gradient there. Where G is diagonal and the
loss squared, squared.py has others.

Losses of SLRM as functions of the outputs F (n_samples, n_labels), with gradients and conjugates.

Labels are coded +1 and -1, and 0 where they are missing: a missing entry has no loss. `curvature` bounds the second
derivative, so the loss lies below a parabola with it that touches at any F.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mlrank.arrays import BoolArray, FloatArray
from mlrank.linalg import Shrunk, largest_singular_value, shrink_singular_values
from mlrank.solvers.base import relative_gap
from mlrank.solvers.slrm.systems import EigenSystem, SlrmSystem

__all__ = [
    "ADAPTED_STEPS",
    "LOSSES",
    "ROUNDING",
    "Logistic",
    "Loss",
    "SlrmSolution",
    "Squared",
    "SquaredHinge",
    "State",
    "Stop",
    "allowed",
    "least_squares",
    "minimize",
    "moved_dual",
]


@dataclass(frozen=True)
class Squared:
    """Half the squared distance to the targets, over the known entries (None: all)."""

    targets: FloatArray
    known: BoolArray | None = None
    curvature = 1.0

    def value(self, F: FloatArray) -> float:
        """Return the sum of the losses."""
        rest = self.gradient(F)
        return 0.5 * float(np.vdot(rest, rest))

    def gradient(self, F: FloatArray) -> FloatArray:
        """Return the derivative at each entry."""
        rest = F - self.targets
        return rest if self.known is None else np.where(self.known, rest, 0.0)

    def conjugate(self, A: FloatArray) -> float:
        """Return the sum of sup_f a f - loss(f); `A` is zero at missing entries."""
        return 0.5 * float(np.vdot(A, A)) + float(np.vdot(A, self.targets))


@dataclass(frozen=True)
class Logistic:
    """log(1 + exp(-y f))."""

    targets: FloatArray
    known: BoolArray | None = None
    curvature = 0.25

    def value(self, F: FloatArray) -> float:
        """Return the sum of the losses."""
        return float(np.logaddexp(0.0, -self.targets * F).sum(where=self.targets != 0))

    def gradient(self, F: FloatArray) -> FloatArray:
        """Return the derivative at each entry."""
        from scipy.special import expit

        return np.asarray(-self.targets * expit(-self.targets * F))

    def conjugate(self, A: FloatArray) -> float:
        """Return the sum of sup_f a f - loss(f), for -y a in [0, 1]."""
        from scipy.special import entr

        share = -self.targets * A
        return -float((entr(share) + entr(1.0 - share)).sum(where=self.targets != 0))


@dataclass(frozen=True)
class SquaredHinge:
    """max(0, 1 - y f)^2."""

    targets: FloatArray
    known: BoolArray | None = None
    curvature = 2.0

    def value(self, F: FloatArray) -> float:
        """Return the sum of the losses."""
        short = self._short(F)
        return float(np.vdot(short, short))

    def gradient(self, F: FloatArray) -> FloatArray:
        """Return the derivative at each entry."""
        return -2.0 * self.targets * self._short(F)

    def conjugate(self, A: FloatArray) -> float:
        """Return the sum of sup_f a f - loss(f), for -y a >= 0."""
        return float(np.vdot(self.targets, A)) + 0.25 * float(np.vdot(A, A))

    def _short(self, F: FloatArray) -> FloatArray:
        return np.where(self.targets != 0, np.maximum(0.0, 1.0 - self.targets * F), 0.0)


Loss = Squared | Logistic | SquaredHinge
LOSSES: dict[str, Callable[..., Loss]] = {"squared": Squared, "logistic": Logistic, "squared_hinge": SquaredHinge}


# Residuals may differ by the first factor before beta is changed, by the second at most. After so many steps it stays,
# since only then the method is known to converge.
BALANCE = 5.0
MOST = 4.0
ADAPTED_STEPS = 500
# Certificates of a loss of the outputs cost as much as a step.
CERTIFY_EVERY = 5
# After so many steps a dual point is moved to where it is allowed as well, in so many moves.
MOVED_FROM, MOVES = 50, 3
# Of the gap that is asked for, what rounding in the multiplier may cost.
ROUNDING = 0.1


class Stop(NamedTuple):
    """When to stop: relative duality gap, most steps, and a constant beta or None."""

    tol: float
    max_iter: int
    beta: float | None = None


class SlrmSolution(NamedTuple):
    """What came of it.

    Parameters
    ----------
    left : (size, r) or (n_features, r) ndarray
        In the system's coordinates, or as weights of the features where stated.
    right : (n_labels, r) ndarray or None
        V = left @ right.T; None where left is V itself.
    rank : int
    optimality : float
        Relative duality gap, or the relative residual where lam is zero.
    n_iter : int
    trace : tuple of float
        The primal objective wherever it was computed; the last is that of V.
    dual : (size, n_labels) ndarray or None
        The weights, in the system's coordinates, whose gradient is the multiplier of the bound; None for V itself.
    slopes : (n_samples, n_labels) ndarray or None
        The derivatives of the loss that go with `dual`; None for those at its outputs.
    """

    left: FloatArray
    right: FloatArray | None
    rank: int
    optimality: float
    n_iter: int
    trace: tuple[float, ...]
    dual: FloatArray | None = None
    slopes: FloatArray | None = None


@dataclass
class State:
    """The iterates, and about how many singular values of V are above zero."""

    V: FloatArray
    T: FloatArray
    beta: float
    rank: int

    @classmethod
    def zero(cls, like: FloatArray, beta: float) -> "State":
        """Return zeros for V and T."""
        return cls(np.zeros_like(like), np.zeros_like(like), beta, min(like.shape))

    def shrink(self, A: FloatArray, lam: float, accuracy: float) -> Shrunk:
        """Move V and T, where A = U + T/beta."""
        shrunk = shrink_singular_values(A, lam / self.beta, accuracy, self.rank)
        self.V, self.rank = shrunk.matrix, len(shrunk.values)
        self.T = A - self.V
        self.T *= self.beta
        return shrunk

    def adapt(self, U: FloatArray, before: FloatArray) -> bool:
        """Change beta where one residual is much larger than the other; return whether it was."""
        largest = max(float(np.linalg.norm(U)), float(np.linalg.norm(self.V)))
        primal = float(np.linalg.norm(U - self.V)) * float(np.linalg.norm(self.T))
        dual = self.beta * float(np.linalg.norm(self.V - before)) * largest
        less, more = sorted((primal, dual))
        if more <= BALANCE * less:
            return False
        change = MOST if more >= MOST**2 * less else math.sqrt(more / less)
        self.beta *= change if primal > dual else 1 / change
        return True


def least_squares(system: SlrmSystem, loss: Loss, stop: Stop) -> SlrmSolution:
    """Minimize 1/2 |Xl V - Y|^2 + gamma/2 trace(V'X'LXV): GV = B."""
    B = system.back(loss.targets)
    V, n_iter = system.invert(B, ROUNDING * stop.tol, stop.max_iter)
    F = system.outputs(V)
    smooth = system.smooth(V, F)
    objective = loss.value(F) + 0.5 * float(np.vdot(V, smooth))
    residual = float(np.linalg.norm(system.back(loss.gradient(F)) + smooth))
    rank = int(np.linalg.matrix_rank(V)) if V.any() else 0
    return SlrmSolution(V, None, rank, residual / (float(np.linalg.norm(B)) or 1.0), n_iter, (objective,))


def minimize(system: SlrmSystem, loss: Loss, lam: float, stop: Stop, start: FloatArray | None) -> SlrmSolution:
    """Minimize loss(Xl V) + gamma/2 trace(V'X'LXV) + lam |V|_* for any loss, where G is diagonal or not."""
    U = np.zeros((system.size, loss.targets.shape[1])) if start is None else start
    F = system.outputs(U)
    state = State.zero(U, stop.beta or system.penalty)
    if start is not None:
        state.V, state.T = start, -_gradient(system, loss, start, F)
    best, dual = _Certificate(), None
    for n_iter in range(1, stop.max_iter + 1):
        before = state.V
        if n_iter > 1 or start is None:
            B = system.back(loss.curvature * F - loss.gradient(F))
            U = system.solve(B + state.beta * state.V - state.T, state.beta, U)
            F = system.outputs(U)
        shrunk = state.shrink(U + state.T / state.beta, lam, ROUNDING * stop.tol)
        if n_iter == 1 or n_iter % CERTIFY_EVERY == 0 or n_iter == stop.max_iter:
            best = best.tightened(system, loss, state.V, lam, lam * float(shrunk.values.sum()))
            if best.optimality > stop.tol and n_iter >= MOVED_FROM and isinstance(system, EigenSystem):
                moved = moved_dual(system, np.array(loss.curvature), loss, state.V, lam)
                if moved.bound > best.bound:
                    best, dual = best._replace(bound=moved.bound), moved
            if best.optimality <= stop.tol:
                break
        if stop.beta is None and n_iter < ADAPTED_STEPS:
            state.adapt(U, before)
    found = SlrmSolution(shrunk.left, shrunk.right, state.rank, best.optimality, n_iter, best.trace)
    return found if dual is None else found._replace(dual=dual.weights, slopes=dual.slopes)


class DualPoint(NamedTuple):
    """Weights in the system's coordinates and derivatives of the loss that together are a dual point, and its bound."""

    weights: FloatArray
    slopes: FloatArray
    bound: float


def moved_dual(
    system: EigenSystem, r: FloatArray, loss: Loss, V: FloatArray, lam: float, moves: int = MOVES
) -> DualPoint:
    """Return a dual point near the gradient at V: moved, rather than scaled, to where no singular value exceeds lam.

    Scaling costs as much of the bound as it takes off the largest singular value: all of it where lam is next to
    nothing. The gradient Xl'A + gamma X'LX W of derivatives A and weights W loses exactly E with A - r Xl G^-1 E and
    W - G^-1 E, for G = Xl' diag(r) Xl + gamma X'LX; E is what the singular values have above lam.
    """
    e, W, A = system.values[:, None], V, loss.gradient(system.rows @ V)
    for _ in range(moves):
        smooth = e * W - system.rows.T @ (r * (system.rows @ W))
        excess = shrink_singular_values(system.rows.T @ A + smooth, lam, ROUNDING).matrix
        if not excess.any():
            break
        move = excess / e
        A, W = allowed(loss, A - r * (system.rows @ move)), W - move
    smooth = e * W - system.rows.T @ (r * (system.rows @ W))
    largest = largest_singular_value(system.rows.T @ A + smooth)
    scale = min(1.0, lam / largest) if largest > 0 else 1.0
    bound = -loss.conjugate(scale * A) - 0.5 * scale**2 * float(np.vdot(W, smooth))
    return DualPoint(W, A, bound)


def allowed(loss: Loss, A: FloatArray) -> FloatArray:
    """Return the nearest derivatives that the loss can have."""
    Y = loss.targets
    if isinstance(loss, Squared):
        return A if loss.known is None else np.where(loss.known, A, 0.0)
    return -Y * np.clip(-Y * A, 0.0, 1.0 if isinstance(loss, Logistic) else None)


class _Certificate(NamedTuple):
    """The objective of the last V and the best bound so far."""

    objective: float = np.inf
    bound: float = -np.inf
    trace: tuple[float, ...] = ()

    @property
    def optimality(self) -> float:
        return max(relative_gap(self.objective, self.bound), 0.0)

    def tightened(self, system: SlrmSystem, loss: Loss, V: FloatArray, lam: float, nuclear: float) -> "_Certificate":
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


def _gradient(system: SlrmSystem, loss: Loss, V: FloatArray, F: FloatArray) -> FloatArray:
    return system.back(loss.gradient(F)) + system.smooth(V, F)
