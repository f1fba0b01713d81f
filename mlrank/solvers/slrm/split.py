"""SLRM with a loss of the outputs where cells are so large that a parabola over the loss is of no use.

The outputs F = Xl V get a copy of their own, beside that of V for the nuclear norm, so that the loss is minimized entry
by entry as it is, and the rest is a quadratic form that does not depend on it (Boyd et al., "Distributed optimization
and statistical learning via the alternating direction method of multipliers", 2011, section 5.2). With row weights r_i,
scaled multipliers P and T, and a penalty beta::

    V = argmin  gamma/2 trace(V'X'LXV) + 1/2 sum_i r_i |x_i V - F_i + P_i|^2 + beta/2 |V - W + T|^2
    F = argmin  loss(F) + 1/2 sum_i r_i |F_i - x_i V - P_i|^2          W = V + T with singular values less lam / beta
    P = P + Xl V - F                                                   T = T + V - W

A row of 1e5 has a weight that is the less, as if it were of the others' length: it then moves as far as they do.
"""

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.linalg import largest_singular_value, shrink_singular_values
from mlrank.solvers.base import relative_gap
from mlrank.solvers.slrm.admm import (
    ADAPTED_STEPS,
    BALANCE,
    MOST,
    MOVED_FROM,
    ROUNDING,
    Logistic,
    Loss,
    SlrmSolution,
    Squared,
    Stop,
    allowed,
    moved_dual,
)
from mlrank.solvers.slrm.systems import EigenSystem

__all__ = ["minimize_split", "nearest_to_least", "row_weights"]

# Weights of rows, as parts of the loss's curvature; steps go further than their minimum by this factor.
PART_OF_CURVATURE = {"Squared": 1.0, "Logistic": 0.5, "SquaredHinge": 0.1}
RELAXED = 1.6
# A certificate takes as long as a few steps.
CERTIFY_EVERY = 10
NEWTON_STEPS, NEWTON_TOL = 60, 1e-13


def row_weights(lengths: FloatArray, loss: Loss) -> FloatArray:
    """Return the weights of rows of these lengths, shape (n_samples,): those of long rows are less."""
    used = lengths[lengths > 0]
    middle = float(np.median(used)) if used.size else 1.0
    shorter = np.minimum(1.0, middle / np.maximum(lengths, middle))
    return loss.curvature * PART_OF_CURVATURE[type(loss).__name__] * shorter**2


def nearest_to_least(loss: Loss, Z: FloatArray, weights: FloatArray) -> FloatArray:
    """Return argmin_F loss(F) + 1/2 sum_i weights_i |F_i - Z_i|^2, `weights` of shape (n_samples, 1)."""
    Y = loss.targets
    if isinstance(loss, Squared):
        known = np.ones_like(Y, dtype=np.bool_) if loss.known is None else loss.known
        return np.where(known, (Y + weights * Z) / (1.0 + weights), Z)
    margin = Y * Z
    if not isinstance(loss, Logistic):
        return np.where((margin < 1.0) & (Y != 0), (2.0 * Y + weights * Z) / (2.0 + weights), Z)
    from scipy.special import expit

    # m - yz = expit(-m) / weight, between yz and that plus 1 / weight: Newton's steps, or halves of what is left.
    low, high = margin, margin + 1.0 / weights
    m = (low + high) / 2
    for _ in range(NEWTON_STEPS):
        slope = expit(-m)
        above = m - margin - slope / weights
        low, high = np.where(above < 0, m, low), np.where(above > 0, m, high)
        step = m - above / (1.0 + slope * (1.0 - slope) / weights)
        moved = np.where((step < low) | (step > high), (low + high) / 2, step)
        still = np.abs(moved - m) <= NEWTON_TOL * (1.0 + np.abs(moved))
        m = moved
        if still.all():
            break
    return np.where(Y != 0, Y * m, Z)


def minimize_split(system: EigenSystem, loss: Loss, weights: FloatArray, lam: float, stop: Stop) -> SlrmSolution:
    """Minimize loss(Xl V) + gamma/2 trace(V'X'LXV) + lam |V|_*, with G = Xl' diag(weights) Xl + gamma X'LX."""
    rows, e, r = system.rows, system.values[:, None], weights[:, None]
    F = np.zeros_like(loss.targets)
    V = np.zeros((system.size, F.shape[1]))
    W, T, P = V, V, F
    beta = stop.beta or float(np.exp(np.log(system.values).mean()))
    best: tuple[float, FloatArray] = (np.inf, V)
    bound, dual = -np.inf, (V, loss.gradient(F))
    trace: list[float] = []
    n_iter = 0
    for n_iter in range(1, stop.max_iter + 1):
        V = (rows.T @ (r * (F - P)) + beta * (W - T)) / (e + beta)
        out = rows @ V
        slopes = allowed(loss, r * (out - F + P))
        far, beyond = RELAXED * out + (1.0 - RELAXED) * F, RELAXED * V + (1.0 - RELAXED) * W
        F = nearest_to_least(loss, far + P, r)
        P = P + far - F
        shrunk = shrink_singular_values(beyond + T, lam / beta, ROUNDING * stop.tol)
        before, W = W, shrunk.matrix
        T = T + beyond - W
        if n_iter % CERTIFY_EVERY and n_iter < stop.max_iter:
            continue
        for weight in (V, W):
            value = _objective(system, loss, r, weight, lam)
            best = min(best, (value, weight), key=lambda one: one[0])
        smooth = e * V - rows.T @ (r * out)
        energy = float(np.vdot(V, smooth))
        # Those of F are always allowed, those of the step balance the rest of the gradient exactly.
        for A in (loss.gradient(F), slopes):
            largest = largest_singular_value(rows.T @ A + smooth)
            scale = min(1.0, lam / largest) if largest > 0 else 1.0
            new = -loss.conjugate(scale * A) - 0.5 * scale**2 * energy
            if new > bound:
                bound, dual = new, (V, A)
        if relative_gap(best[0], bound) > stop.tol and n_iter >= MOVED_FROM:
            moved = moved_dual(system, r, loss, W, lam)
            if moved.bound > bound:
                bound, dual = moved.bound, (moved.weights, moved.slopes)
        trace.append(best[0])
        if relative_gap(best[0], bound) <= stop.tol:
            break
        if stop.beta is None and n_iter < ADAPTED_STEPS:
            change = _change(V, W, before, T)
            beta, T = beta * change, T / change
    gap = max(relative_gap(best[0], bound), 0.0)
    rank = int(np.linalg.matrix_rank(best[1])) if best[1].any() else 0
    return SlrmSolution(best[1], None, rank, gap, n_iter, tuple(trace), dual[0], dual[1])


def _objective(system: EigenSystem, loss: Loss, r: FloatArray, V: FloatArray, lam: float) -> float:
    F = system.rows @ V
    smooth = system.values[:, None] * V - system.rows.T @ (r * F)
    return loss.value(F) + 0.5 * float(np.vdot(V, smooth)) + lam * float(np.linalg.svd(V, compute_uv=False).sum())


def _change(V: FloatArray, W: FloatArray, before: FloatArray, T: FloatArray) -> float:
    """Return what the penalty is multiplied by, so that both relative residuals come nearer to each other."""
    tiny = np.finfo(np.float64).tiny
    primal = float(np.linalg.norm(V - W)) / max(float(np.linalg.norm(V)), float(np.linalg.norm(W)), tiny)
    change = float(np.linalg.norm(W - before)) / max(float(np.linalg.norm(T)), tiny)
    if min(primal, change) == 0 or max(primal, change) <= BALANCE * min(primal, change):
        return 1.0
    return float(np.clip(np.sqrt(primal / change), 1.0 / MOST, MOST))
