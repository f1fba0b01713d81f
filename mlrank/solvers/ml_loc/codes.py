"""The codes of ML-LOC: for each row a small linear program over a simplex, solved for many rows at once.

For a row with outputs f and signs s of its k labels, code weights v_j and penalties q of its m groups::

    min_c  sum_j max(0, 1 - s_j (f_j + v_j'c)) + q'c,   c >= 0, sum c = 1                                  (primal)
    max_a  sum_j a_j (1 - s_j f_j) + min_g (q_g - sum_j a_j s_j v_jg),   0 <= a <= 1                       (dual)

Most rows belong to one group altogether: the best of the m unit vectors is then the solution, which the dual point of
its active losses proves. The others go through an interior-point method that keeps both problems feasible, so each has
its certificate; its limit is the center of the optimal face, which does not depend on the order of labels or groups.
"""

from typing import NamedTuple

import numpy as np

from mlrank.arrays import FloatArray

__all__ = [
    "Codes",
    "best_codes",
]

# Relative duality gap of one row's program.
GAP = 1e-9
MOST_STEPS = 50
# Part of the way to the boundary, and by what complementarity is to fall, at each step.
STRIDE = 0.95
CENTRE = 0.1
RIDGE = 1e-13
# Numbers held at a time.
BLOCK = 2_000_000


class Codes(NamedTuple):
    """Codes of rows, (n_rows, n_groups), the values of their programs and lower bounds of these, (n_rows,)."""

    C: FloatArray
    values: FloatArray
    bounds: FloatArray


def best_codes(outputs: FloatArray, weights: FloatArray, signs: FloatArray, penalty: FloatArray) -> Codes:
    """Return the best codes.

    Parameters
    ----------
    outputs : (n_rows, n_labels) ndarray
        Of the machines without codes.
    weights : (n_labels, n_groups) ndarray
        Of codes in the machines.
    signs : (n_rows, n_labels) ndarray
        +1 or -1.
    penalty : (n_rows, n_groups) ndarray
        Of belonging to a group.
    """
    size = max(1, BLOCK // max(1, weights.size))
    blocks = [slice(begin, begin + size) for begin in range(0, len(outputs), size)]
    parts = [_best(outputs[rows], weights, signs[rows], penalty[rows]) for rows in blocks]
    return Codes(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _best(outputs: FloatArray, weights: FloatArray, signs: FloatArray, penalty: FloatArray) -> Codes:
    rows = np.arange(len(outputs))
    need = 1.0 - signs * outputs
    # gain[i, j, g] is what the margin of label j gains where row i belongs to group g.
    gain = signs[:, :, None] * weights
    losses = np.maximum(need[:, :, None] - gain, 0.0).sum(axis=1) + penalty
    group = losses.argmin(axis=1)
    values = losses[rows, group]
    active = (need > gain[rows, :, group]).astype(np.float64)
    bounds = _dual(active, need, gain, penalty)
    C = np.zeros_like(penalty)
    C[rows, group] = 1.0
    mixed = np.flatnonzero(values - bounds > GAP * (1.0 + np.abs(values)))
    if mixed.size:
        inside = _interior(need[mixed], gain[mixed], penalty[mixed])
        C[mixed], values[mixed], bounds[mixed] = inside
    return Codes(C, values, bounds)


def _dual(active: FloatArray, need: FloatArray, gain: FloatArray, penalty: FloatArray) -> FloatArray:
    prices = penalty - np.einsum("ij,ijg->ig", active, gain)
    value: FloatArray = (active * need).sum(axis=1) + prices.min(axis=1)
    return value


def _primal(C: FloatArray, need: FloatArray, gain: FloatArray, penalty: FloatArray) -> FloatArray:
    loss = np.maximum(need - np.einsum("ijg,ig->ij", gain, C), 0.0).sum(axis=1)
    value: FloatArray = loss + (C * penalty).sum(axis=1)
    return value


class _Iterate(NamedTuple):
    """Strictly feasible points: code c, losses xi with slack t, multipliers a and b of these, z of c, nu of the sum.

    b is 1 - a, kept beside it since the difference has no digits left where a is close to 1.
    """

    c: FloatArray
    xi: FloatArray
    t: FloatArray
    a: FloatArray
    b: FloatArray
    z: FloatArray
    nu: FloatArray


def _interior(need: FloatArray, gain: FloatArray, penalty: FloatArray) -> Codes:
    n, _, m = gain.shape
    found = Codes(np.zeros((n, m)), np.full(n, np.inf), np.full(n, -np.inf))
    left = np.arange(n)
    point = _begin(need, gain, penalty)
    for _ in range(MOST_STEPS):
        C = point.c / point.c.sum(axis=1, keepdims=True)
        found.C[left] = C
        found.values[left] = _primal(C, need, gain, penalty)
        found.bounds[left] = _dual(point.a, need, gain, penalty)
        open_rows = found.values[left] - found.bounds[left] > GAP * (1.0 + np.abs(found.values[left]))
        if not open_rows.any():
            break
        left, need, gain, penalty = left[open_rows], need[open_rows], gain[open_rows], penalty[open_rows]
        point = _advance(_Iterate(*(part[open_rows] for part in point)), gain)
    return found


def _begin(need: FloatArray, gain: FloatArray, penalty: FloatArray) -> _Iterate:
    c = np.full(penalty.shape, 1.0 / penalty.shape[1])
    short = need - np.einsum("ijg,ig->ij", gain, c)
    xi = np.maximum(short, 0.0) + 1.0
    a = np.full(need.shape, 0.5)
    prices = penalty - np.einsum("ij,ijg->ig", a, gain)
    nu = prices.min(axis=1) - 1.0
    return _Iterate(c, xi, xi - short, a, a, prices - nu[:, None], nu)


def _advance(p: _Iterate, gain: FloatArray) -> _Iterate:
    """Take one Newton step for complementarity products CENTRE times their mean."""
    count = 2 * p.a.shape[1] + p.c.shape[1]
    mean = ((p.a * p.t).sum(axis=1) + (p.b * p.xi).sum(axis=1) + (p.c * p.z).sum(axis=1)) / count
    goal = CENTRE * mean[:, None]
    rest_a, rest_b, rest_c = goal - p.a * p.t, goal - p.b * p.xi, goal - p.c * p.z
    # Losses and multipliers are eliminated, which leaves an m x m system with the multiplier of the sum beside it.
    pivot = p.t + p.a * p.xi / p.b
    w, g = p.a / pivot, (rest_a - p.a * rest_b / p.b) / pivot
    system = gain.transpose(0, 2, 1) @ (w[:, :, None] * gain)
    diagonal = np.arange(p.c.shape[1])
    system[:, diagonal, diagonal] += p.z / p.c
    # Close to the solution weights differ by more than the digits there are: this keeps the system regular.
    system[:, diagonal, diagonal] *= 1.0 + RIDGE
    right = rest_c / p.c + np.einsum("ij,ijg->ig", g, gain)
    both = np.linalg.solve(system, np.stack([right, np.ones_like(right)], axis=2))
    by_nu = -both[:, :, 0].sum(axis=1) / both[:, :, 1].sum(axis=1)
    by_c = both[:, :, 0] + by_nu[:, None] * both[:, :, 1]
    gained = np.einsum("ijg,ig->ij", gain, by_c)
    by_a = g - w * gained
    by_xi = (rest_b + p.xi * by_a) / p.b
    by_t = gained + by_xi
    by_z = -np.einsum("ij,ijg->ig", by_a, gain) - by_nu[:, None]
    far = _stride((p.c, by_c), (p.xi, by_xi), (p.t, by_t))
    near = _stride((p.a, by_a), (p.b, -by_a), (p.z, by_z))
    return _Iterate(
        p.c + far * by_c,
        p.xi + far * by_xi,
        p.t + far * by_t,
        p.a + near * by_a,
        p.b - near * by_a,
        p.z + near * by_z,
        p.nu + near[:, 0] * by_nu,
    )


def _stride(*pairs: tuple[FloatArray, FloatArray]) -> FloatArray:
    """Return how far each row may go so that all its values stay above zero, shape (n_rows, 1)."""
    fastest = np.max([(-by / value).max(axis=1) for value, by in pairs], axis=0)
    stride: FloatArray = np.minimum(1.0, STRIDE / np.maximum(fastest, STRIDE))
    return stride[:, None]
