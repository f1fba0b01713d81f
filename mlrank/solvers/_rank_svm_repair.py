"""Dual variables that meet the constraints of a free bias: for every label, sum_i beta_i = 0.

A pass leaves small sums. They are moved along pairs of labels like flow in an electric network whose conductances are
the masses of the free variables, which costs the dual objective little because free variables have a gradient near 0.
"""

from typing import Any

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.compiled import njit

__all__ = ["meet_constraints"]

ATTEMPTS = 6
# Sums below this part of all dual variables are rounding.
ROUNDING = 1e-13


def meet_constraints(alpha: FloatArray, upper: FloatArray, pairs: Any) -> FloatArray:
    """Return a feasible point near `alpha`; zeros, which are feasible, where none is found."""
    repaired = alpha.copy()
    total = float(alpha.sum())
    for attempt in range(ATTEMPTS):
        # Free variables first; if they do not do, all that have room in the direction wanted.
        free_only = attempt < ATTEMPTS // 2
        sums, down, up = _masses(repaired, upper, pairs.lists, pairs.n_labels, free_only)
        if np.abs(sums).max() <= ROUNDING * total:
            return repaired
        room = np.minimum(down, up) if free_only else down + up
        conductance = room + room.T
        laplacian = np.diag(conductance.sum(axis=1)) - conductance
        potential = np.linalg.lstsq(laplacian, sums, rcond=1e-12)[0]
        # What each pair (p relevant, q irrelevant) must give up, at most what it has.
        flow = room * (potential[:, None] - potential)
        flow = np.clip(flow, -up, down)
        _shift(repaired, upper, pairs.lists, flow, down, up, free_only)
    return np.zeros_like(alpha)


@njit(cache=True)
def _masses(alpha: Any, upper: Any, pairs: Any, n_labels: int, free_only: bool) -> Any:
    """Return sum_i beta_i, and how far the variables of each pair of labels may fall and rise."""
    relevant_ptr, relevant, irrelevant_ptr, irrelevant, offset = pairs
    sums, down, up = np.zeros(n_labels), np.zeros((n_labels, n_labels)), np.zeros((n_labels, n_labels))
    for i in range(offset.shape[0]):
        at = offset[i]
        for c in range(irrelevant_ptr[i], irrelevant_ptr[i + 1]):
            q = irrelevant[c]
            for r in range(relevant_ptr[i], relevant_ptr[i + 1]):
                p, value = relevant[r], alpha[at]
                sums[p] += value
                sums[q] -= value
                if free_only:
                    mass = value * (upper[i] - value) / upper[i]
                    down[p, q] += mass
                    up[p, q] += mass
                else:
                    down[p, q] += value
                    up[p, q] += upper[i] - value
                at += 1
    return sums, down, up


@njit(cache=True)
def _shift(alpha: Any, upper: Any, pairs: Any, flow: Any, down: Any, up: Any, free_only: bool) -> None:
    """Take `flow` off the variables of each pair of labels, in proportion to the room they have."""
    relevant_ptr, relevant, irrelevant_ptr, irrelevant, offset = pairs
    for i in range(offset.shape[0]):
        at = offset[i]
        for c in range(irrelevant_ptr[i], irrelevant_ptr[i + 1]):
            q = irrelevant[c]
            for r in range(relevant_ptr[i], relevant_ptr[i + 1]):
                p, value = relevant[r], alpha[at]
                f = flow[p, q]
                if f != 0.0:
                    whole = down[p, q] if f > 0.0 else up[p, q]
                    if free_only:
                        share = value * (upper[i] - value) / upper[i]
                    else:
                        share = value if f > 0.0 else upper[i] - value
                    alpha[at] = min(max(value - f * (share / whole), 0.0), upper[i])
                at += 1
