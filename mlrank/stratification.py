"""Iterative stratification: rows dealt out to parts so that each part has its share of every label.

Algorithm 1 of Sechidis, Tsoumakas & Vlahavas, "On the Stratification of Multi-Label Data", ECML PKDD 2011: the label
that fewest of the rows left have is dealt out first, each of its rows to the part that lacks most of it. It draws, and
so deals, as the library `iterative-stratification` does, which loads scikit-learn: a second of most commands.
"""

import numpy as np

from mlrank.arrays import BoolArray, FloatArray, IntArray

__all__ = ["deal"]


def deal(Y: BoolArray, ratios: FloatArray, rng: np.random.Generator) -> IntArray:
    """Return the part of each row.

    Parameters
    ----------
    Y : (n_samples, n_labels) bool ndarray, each row with a label
    ratios : (n_parts,) ndarray
        The share of each part; they sum to 1.
    rng : breaks ties
    """
    part = np.full(Y.shape[0], -1)
    rows_lacking = ratios * Y.shape[0]
    lacking = np.outer(ratios, Y.sum(axis=0))
    while (left := part < 0).any():
        counts = Y[left].sum(axis=0)
        label = _one_of(np.flatnonzero(counts == counts[counts > 0].min()), rng)
        for row in np.flatnonzero(Y[:, label] & left):
            neediest = np.flatnonzero(lacking[:, label] == lacking[:, label].max())
            neediest = neediest[rows_lacking[neediest] == rows_lacking[neediest].max()]
            part[row] = chosen = _one_of(neediest, rng)
            lacking[chosen, Y[row]] -= 1
            rows_lacking[chosen] -= 1
    return part


def _one_of(places: IntArray, rng: np.random.Generator) -> int:
    return int(places[rng.choice(places.size) if places.size > 1 else 0])
