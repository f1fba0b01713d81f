"""SLRM where the singular vectors of V in the space of labels are known, and G is diagonal: each column is by itself.

A column b of B = Xl'Y then has the weights v = argmin v'Gv / 2 - b'v + lam |v|, which are zero for |b| <= lam. Beyond,
v = s q with q = b / (e s + lam) for the eigenvalues e of G, and its length s is what makes |q| = 1: one equation in one
unknown. The multiplier of the column is lam q.
"""

import numpy as np

from mlrank.arrays import FloatArray, IntArray
from mlrank.linalg import singular_values_below
from mlrank.solvers._slrm_admm import ROUNDING, Solution
from mlrank.solvers._slrm_squared import Start, dual_bound
from mlrank.solvers._slrm_systems import EPS, EigenSystem
from mlrank.solvers.base import relative_gap

__all__ = ["lengths_of_columns", "solved_in_one_direction", "start_of_columns", "suited_penalty"]

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


def solved_in_one_direction(system: EigenSystem, column: int, square: float, lam: float, tol: float) -> Solution | None:
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
    return Solution(u[:, None], v[:, None], 1, gap, 1, (objective,)) if gap <= tol else None
