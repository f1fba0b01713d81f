"""Comparing several methods over several data sets by their ranks.

On each data set the best method has rank 1, the next rank 2; tied methods share the mean of their places.

References: Friedman (1937); Iman & Davenport (1980); Nemenyi (1963); Holm (1979); all as in Demsar, "Statistical
comparisons of classifiers over multiple data sets", JMLR 7 (2006), section 3.2.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlrank.arrays import FloatArray

__all__ = [
    "Friedman",
    "critical_difference",
    "friedman",
    "groups",
    "holm",
    "nemenyi",
    "ranks_of",
    "standard_error",
    "z_tests",
]

# Scores that differ less are tied, as in tables.
TIE_DECIMALS = 12


@dataclass(frozen=True)
class Friedman:
    """Whether the methods differ at all: Friedman's chi-square, and the F of Iman and Davenport, less conservative.

    Parameters
    ----------
    chi2, df, p : float, int, float
    f, f_df, f_p : float, pair of int, float
        F is infinite where all data sets rank the methods alike.
    """

    chi2: float
    df: int
    p: float
    f: float
    f_df: tuple[int, int]
    f_p: float


def ranks_of(scores: FloatArray, higher_is_better: bool) -> FloatArray:
    """Return the rank of each method on each data set, 1 = best.

    Parameters
    ----------
    scores : (n_datasets, n_methods)
    """
    from scipy.stats import rankdata

    rising = -scores if higher_is_better else scores
    return np.asarray(rankdata(np.round(rising, TIE_DECIMALS), axis=1), dtype=np.float64)


def friedman(ranks: FloatArray, correct_ties: bool = True) -> Friedman | None:
    """Test whether the mean ranks differ; None if every data set has all methods tied.

    Parameters
    ----------
    ranks : (n_datasets, n_methods), of two methods or more
    correct_ties : bool
        Divide by the spread that the ranks have; otherwise by the one they would have without ties, as in Demsar's
        formula, which is smaller than it should be where there are ties.
    """
    from scipy.stats import chi2, f

    n, k = ranks.shape
    middle = (k + 1) / 2
    spread = float(((ranks - middle) ** 2).sum()) if correct_ties else n * k * (k * k - 1) / 12
    if spread == 0:
        return None
    statistic = (k - 1) * float(((ranks.sum(axis=0) - n * middle) ** 2).sum()) / spread
    left = n * (k - 1) - statistic
    ratio = (n - 1) * statistic / left if left > 1e-9 else math.inf
    freedom = (k - 1, (k - 1) * (n - 1))
    f_p = float(f.sf(ratio, *freedom)) if n > 1 else math.nan
    return Friedman(statistic, k - 1, float(chi2.sf(statistic, k - 1)), ratio, freedom, f_p)


def standard_error(n_datasets: int, n_methods: int) -> float:
    """Return the standard error of a difference of two mean ranks under equality."""
    return math.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets))


def nemenyi(mean_ranks: FloatArray, n_datasets: int) -> FloatArray:
    """Return the p-value of each pair of methods, (n_methods, n_methods), for all pairs looked at together."""
    from scipy.stats import studentized_range

    k = mean_ranks.size
    apart = np.abs(mean_ranks[:, None] - mean_ranks[None, :]) / standard_error(n_datasets, k)
    return np.asarray(studentized_range.sf(math.sqrt(2) * apart, k, math.inf), dtype=np.float64)


def critical_difference(n_datasets: int, n_methods: int, alpha: float = 0.05) -> float:
    """Return how far apart the mean ranks of two methods must be to differ by Nemenyi's test.

    >>> round(critical_difference(14, 4), 2)
    1.25
    """
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(1 - alpha, n_methods, math.inf)) / math.sqrt(2)
    return q * standard_error(n_datasets, n_methods)


def groups(mean_ranks: FloatArray, difference: float) -> list[tuple[int, ...]]:
    """Return the largest sets of methods, each by rising rank, in which no two are `difference` or more apart.

    Sets of one method are left out: they are what differs from all others.
    """
    order = np.argsort(mean_ranks, kind="stable")
    found: list[tuple[int, ...]] = []
    end_before = 0
    for start in range(order.size):
        within = [
            place
            for place in range(start, order.size)
            if mean_ranks[order[place]] - mean_ranks[order[start]] < difference
        ]
        end = within[-1] + 1
        if end > end_before and end - start > 1:
            found.append(tuple(int(order[place]) for place in range(start, end)))
        end_before = max(end, end_before)
    return found


def z_tests(mean_ranks: FloatArray, control: int, n_datasets: int) -> tuple[FloatArray, FloatArray]:
    """Return z and the two-sided p-value of each method's mean rank minus the control's, not yet corrected."""
    from scipy.stats import norm

    z = (mean_ranks - mean_ranks[control]) / standard_error(n_datasets, mean_ranks.size)
    return z, np.asarray(2 * norm.sf(np.abs(z)), dtype=np.float64)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values corrected for being looked at together: each may be set against the level of all.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for step, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - step) * p_values[place]))
        corrected[place] = largest
    return corrected
