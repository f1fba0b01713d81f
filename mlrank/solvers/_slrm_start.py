"""What SLRM tries before any step with the squared loss and a diagonal G: the solution where the graph is heavy.

Let labels be in the right singular vectors of B = Xl'Y: its columns b_j are orthogonal, and T with the columns
min(1, lam/|b_j|) b_j has no singular value above lam. What belongs to it, V = G^-1 (B - T), has the columns of G^-1 B
shrunk by the same factors. Its gap is lam |V|_* - trace(T'V), and |V|_* is at most the sum of its columns' lengths;
neither takes a product. Where that is small enough V is the solution, with a column for each singular value of B above
lam.
"""

from functools import cached_property

import numpy as np
from scipy.linalg import eigvalsh

from mlrank.arrays import FloatArray
from mlrank.solvers._slrm_admm import Solution, Stop
from mlrank.solvers._slrm_columns import solved_in_one_direction, start_of_columns, suited_penalty
from mlrank.solvers._slrm_losses import Loss
from mlrank.solvers._slrm_squared import Start, cut_at, minimize_squared
from mlrank.solvers._slrm_systems import EPS, EigenSystem
from mlrank.solvers.base import relative_gap

__all__ = ["PartedCross", "solve_squared", "solved_by_start"]


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
) -> Solution:
    """Minimise eq. 9 from where it is cheapest, from weights `start` in the system's coordinates, or as printed.

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
) -> Solution:
    if start is not None:
        T, squares = cut_at(lam, system.gradient(start)), eigvalsh(start.T @ start, check_finite=False)
        values = np.sqrt(squares[squares > len(squares) * EPS * squares[-1]])
        return minimize_squared(system, square, lam, stop, Start(T, len(values), suited_penalty(system, values, lam)))
    if stop.beta is not None:
        return minimize_squared(system, square, lam, stop, None)
    over = np.flatnonzero(parted.lengths > lam)
    found = solved_in_one_direction(system, int(over[0]), square, lam, stop.tol) if len(over) == 1 else None
    return found or minimize_squared(system, square, lam, stop, start_of_columns(system, over, lam))


def solved_by_start(system: EigenSystem, parted: PartedCross, square: float, lam: float, tol: float) -> Solution | None:
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
        return Solution(left * taken, None, len(on), gap, 1, (objective,))
    return Solution(left[:, on] * taken[on], np.eye(len(kept))[:, on], len(on), gap, 1, (objective,))
