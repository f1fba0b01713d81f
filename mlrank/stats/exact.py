"""The exact distribution of Friedman's statistic for few methods and data sets.

Under equality each data set's ranks stand in any order alike, so p is the share of the orders of all data sets whose
rank sums spread at least as far as the found ones. Sums are counted up to their order, one data set after another.
"""

import math
from itertools import permutations

import numpy as np

from mlrank.arrays import FloatArray, IntArray

__all__ = ["exact_friedman_p"]

# So many sums are formed for one more data set: some tenths of a second.
_MOST_SUMS = 200_000


def exact_friedman_p(ranks: FloatArray) -> float | None:
    """Return the probability of Friedman's statistic or a larger one if all methods are equal; None if it is long work.

    Parameters
    ----------
    ranks : (n_datasets, n_methods); ties share the mean of their places

    Examples
    --------
    Two data sets that rank four methods alike: one order in 4! = 24.

    >>> round(exact_friedman_p(np.array([[1.0, 2, 3, 4], [1, 2, 3, 4]])), 4)
    0.0417
    """
    n, k = ranks.shape
    if math.factorial(k) > _MOST_SUMS:
        return None
    doubled = np.rint(2 * ranks).astype(np.int64)
    sums, weights = np.sort(doubled[:1], axis=1), np.ones(1)
    for row in doubled[1:]:
        orders = np.array(list(permutations(row)), dtype=np.int64)
        if len(sums) * len(orders) > _MOST_SUMS:
            return None
        sums, weights = _added(sums, weights, orders)
    spread = ((sums - n * (k + 1)) ** 2).sum(axis=1)
    found = ((doubled.sum(axis=0) - n * (k + 1)) ** 2).sum()
    return min(1.0, float(weights[spread >= found].sum()))


def _added(sums: IntArray, weights: FloatArray, orders: IntArray) -> tuple[IntArray, FloatArray]:
    """Return the sums, each rising, with one more row in every order, and their probabilities."""
    every = np.sort((sums[:, None, :] + orders[None, :, :]).reshape(-1, orders.shape[1]), axis=1)
    distinct, place = np.unique(every, axis=0, return_inverse=True)
    shares = np.repeat(weights / len(orders), len(orders))
    return distinct, np.bincount(place.ravel(), weights=shares).astype(np.float64)
