"""SLRM with a loss of the outputs where multipliers crawl: small problems, by the two factors of the weights.

The nuclear norm is what the factors of V weigh at least (Srebro, Rennie & Jaakkola, "Maximum-margin matrix
factorization", NIPS 2004)::

    |V|_* = min 1/2 (|L|^2 + |R|^2),   V = L R'

With factors of full rank the problem has no other minima than that of V, and is smooth: limited-memory quasi-Newton
steps use the curvature of the loss where it is far below its bound, as that of a logistic loss with a small penalty is.
The bound is a dual point near the gradient there.
"""

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.solvers.base import relative_gap
from mlrank.solvers.slrm.admm import Loss, SlrmSolution, Stop, moved_dual
from mlrank.solvers.slrm.systems import EigenSystem

__all__ = ["fits_factored", "minimize_factored"]

# Entries of the factors, and of outputs, that are worth the steps.
UNKNOWNS, OUTPUTS = 2500, 10**5
# Pairs of steps that are remembered. Moves of the dual point, which is sought once.
REMEMBERED, MOVES = 30, 100
# Singular values start at this part of the largest, since no step leaves a zero; ones below that part end as zero.
LEAST, ZERO = 1e-3, 1e-6


def fits_factored(system: EigenSystem, loss: Loss) -> bool:
    """Whether the problem is small enough."""
    n_rows, k = loss.targets.shape
    return bool((system.size + k) * min(system.size, k) <= UNKNOWNS and n_rows * k <= OUTPUTS)


def minimize_factored(
    system: EigenSystem, loss: Loss, weights: FloatArray, lam: float, stop: Stop, start: FloatArray
) -> SlrmSolution:
    """Minimize loss(Xl V) + gamma/2 trace(V'X'LXV) + lam |V|_*, with G = Xl' diag(weights) Xl + gamma X'LX.

    `start` (size, n_labels) is in the system's coordinates, as is the solution.
    """
    rows, e, r = system.rows, system.values[:, None], weights[:, None]
    m, k = start.shape
    rank = min(m, k)
    scale = 1.0 / np.sqrt(e)  # coordinates of unit curvature

    def value(V: FloatArray) -> tuple[float, FloatArray]:
        F = rows @ V
        smooth = e * V - rows.T @ (r * F)
        return loss.value(F) + 0.5 * float(np.vdot(V, smooth)), rows.T @ loss.gradient(F) + smooth

    def split(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        return scale * x[: m * rank].reshape(m, rank), x[m * rank :].reshape(k, rank)

    def objective(x: FloatArray) -> tuple[float, FloatArray]:
        L, R = split(x)
        smooth_part, slope = value(L @ R.T)
        total = smooth_part + 0.5 * lam * float(np.vdot(L, L) + np.vdot(R, R))
        return total, np.concatenate([(scale * (slope @ R + lam * L)).ravel(), (slope.T @ L + lam * R).ravel()])

    left, values, right = np.linalg.svd(start, full_matrices=False)
    root = np.sqrt(np.maximum(values, LEAST * (values[0] or 1.0)))
    x = np.concatenate([(left * root / scale).ravel(), (right.T * root).ravel()])
    options = {"maxiter": stop.max_iter, "maxfun": 2 * stop.max_iter, "maxcor": REMEMBERED, "ftol": 1e-15, "gtol": 0.0}
    from scipy.optimize import minimize

    reached = minimize(objective, x, jac=True, method="L-BFGS-B", options=options)
    L, R = split(reached.x)
    left, values, right = np.linalg.svd(L @ R.T, full_matrices=False)
    kept = values > ZERO * values[0]
    left, right = left[:, kept] * values[kept], right[kept].T
    V = left @ right.T
    primal = value(V)[0] + lam * float(values[kept].sum())
    dual = moved_dual(system, r, loss, V, lam, MOVES)
    gap = max(relative_gap(primal, dual.bound), 0.0)
    return SlrmSolution(left, right, int(kept.sum()), gap, int(reached.nit), (primal,), dual.weights, dual.slopes)
