"""The objective and the certificate of SLRM on the rows and labels as they are given.

Systems are solved in coordinates in which G is diagonal. What a decomposition has dropped or rounded is in the
certificate, since that is computed anew here, from weights of the features and products with the rows alone.
"""

import numpy as np
from scipy.linalg import eigvalsh

from mlrank.arrays import FloatArray
from mlrank.linalg import column_lengths, largest_singular_value
from mlrank.solvers.base import relative_gap
from mlrank.solvers.slrm.admm import SlrmSolution
from mlrank.solvers.slrm.problem import SlrmProblem
from mlrank.solvers.slrm.systems import EigenSystem

__all__ = ["certified"]


def certified(problem: SlrmProblem, system: EigenSystem, gamma: float, lam: float, found: SlrmSolution) -> SlrmSolution:
    """Return the solution, which has a row for each feature, with its objective and certificate on the given rows."""
    left = found.left
    V = left if found.right is None else left @ found.right.T
    loss, F = problem.turned_loss, problem.labeled.times(V)
    smooth, energy = problem.smoothed(gamma, V)
    objective = loss.value(F) + 0.5 * energy
    if lam == 0:
        gradient = problem.labeled.transpose_times(loss.gradient(F)) + smooth
        error = _backward(problem, V, gradient, smooth, loss.targets)
        return found._replace(optimality=error, trace=(*found.trace[:-1], objective))
    gram = left.T @ left if found.right is None else found.right @ (left.T @ left) @ found.right.T
    objective += lam * float(np.sqrt(np.maximum(eigvalsh((gram + gram.T) / 2), 0.0)).sum())
    if found.dual is not None:
        W = system.lift(found.dual)
        F = problem.labeled.times(W)
        smooth, energy = problem.smoothed(gamma, W)
    A = loss.gradient(F) if found.slopes is None else found.slopes
    largest = largest_singular_value(problem.labeled.transpose_times(A) + smooth)
    scale = min(1.0, lam / largest) if largest > 0 else 1.0
    bound = -loss.conjugate(scale * A) - 0.5 * scale**2 * energy
    gap = max(relative_gap(objective, bound), 0.0)
    return found._replace(optimality=gap, trace=(*found.trace[:-1], objective))


def _backward(
    problem: SlrmProblem, V: FloatArray, gradient: FloatArray, smooth: FloatArray, targets: FloatArray
) -> float:
    """Return the largest entry of the gradient relative to the terms it is a sum of, feature by feature."""
    columns = problem.labeled.lengths[:, None]
    terms = columns * (column_lengths(targets) + (columns * np.abs(V)).sum(axis=0)) + np.abs(smooth)
    return float(np.divide(np.abs(gradient), terms, out=np.zeros_like(terms), where=terms > 0).max(initial=0.0))
