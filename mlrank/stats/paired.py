"""Comparing two methods by the differences of their scores, one for each data set, split or label.

References: Wilcoxon (1945), with zeros kept in the ranking (Pratt 1959); Hodges & Lehmann (1963); Nadeau & Bengio,
"Inference for the generalization error", Machine Learning 52 (2003); McNemar (1947).
"""

import math
from dataclasses import dataclass

import numpy as np

from mlrank.arrays import BoolArray, FloatArray
from mlrank.stats.ranks import TIE_DECIMALS

__all__ = ["Interval", "ResampledT", "SignedRank", "hodges_lehmann", "mcnemar", "resampled_t", "signed_rank"]

# Up to so many differences the distribution of the rank sum is counted out, beyond it is taken as normal.
MOST_COUNTED = 100


@dataclass(frozen=True)
class SignedRank:
    """Wilcoxon's signed-rank test.

    Parameters
    ----------
    wins, ties, losses : int
        How many differences are above, at, and below 0.
    plus, minus : float
        Rank sums of the positive and the negative differences; those of the zeros are shared evenly.
    effect : float
        (plus - minus) / (plus + minus), the matched-pairs rank-biserial correlation, from -1 to 1.
    p : float
        Two-sided.
    exact : bool
        Whether it was counted out over all signs.
    """

    wins: int
    ties: int
    losses: int
    plus: float
    minus: float
    effect: float
    p: float
    exact: bool


@dataclass(frozen=True)
class Interval:
    """An estimate and the interval around it; the ends are None where there are too few values for the level."""

    estimate: float
    low: float | None
    high: float | None
    level: float


@dataclass(frozen=True)
class ResampledT:
    """The t-test for scores from overlapping training sets.

    Parameters
    ----------
    mean : float
        Of the differences.
    low, high : float
        Interval of the mean at `level`.
    t, df, p : float, int, float
        Two-sided.
    """

    mean: float
    low: float
    high: float
    level: float
    t: float
    df: int
    p: float


def signed_rank(differences: FloatArray) -> SignedRank | None:
    """Test whether differences are symmetric about 0; None if all of them are 0."""
    from scipy.stats import norm, rankdata

    d = np.round(differences, TIE_DECIMALS)
    if not d.any():
        return None
    ranks = rankdata(np.abs(d))
    shared = float(ranks[d == 0].sum()) / 2
    above, below = float(ranks[d > 0].sum()), float(ranks[d < 0].sum())
    moving = ranks[d != 0]
    exact = moving.size <= MOST_COUNTED
    if exact:
        p = _counted(moving, min(above, below))
    else:
        p = float(2 * norm.sf(abs(above - moving.sum() / 2) / math.sqrt(float((moving**2).sum()) / 4)))
    plus, minus = above + shared, below + shared
    signs = [int(np.count_nonzero(mask)) for mask in (d > 0, d == 0, d < 0)]
    return SignedRank(signs[0], signs[1], signs[2], plus, minus, (plus - minus) / (plus + minus), min(1.0, p), exact)


def _counted(ranks: FloatArray, smaller: float) -> float:
    """Return the two-sided p-value of a rank sum, all signs being equally likely."""
    # Tied ranks are halves, so that doubled ones are whole.
    doubled = np.round(2 * ranks).astype(np.int64)
    ways = _sums(doubled)
    return float(2 * ways[: round(2 * smaller) + 1].sum() / ways.sum())


def _sums(ranks: np.ndarray[tuple[int], np.dtype[np.int64]]) -> FloatArray:
    """Return of each number how likely it is as the sum of the ranks whose sign is positive."""
    ways = np.zeros(int(ranks.sum()) + 1)
    ways[0] = 1.0
    for rank in ranks:
        ways[rank:] = (ways[rank:] + ways[: ways.size - rank]) / 2
        ways[:rank] /= 2
    return ways


def hodges_lehmann(differences: FloatArray, level: float = 0.95) -> Interval:
    """Return the median of the means of all pairs of differences, and the interval that belongs to the rank test."""
    d = np.asarray(differences, dtype=np.float64)
    first, second = np.triu_indices(d.size)
    means = np.sort((d[first] + d[second]) / 2)
    ways = np.cumsum(_sums(np.arange(1, d.size + 1)))
    cut = int(np.count_nonzero(ways / ways[-1] <= (1 - level) / 2))
    if cut == 0:
        return Interval(float(np.median(means)), None, None, level)
    return Interval(float(np.median(means)), float(means[cut - 1]), float(means[means.size - cut]), level)


def resampled_t(differences: FloatArray, test_share: float, level: float = 0.95) -> ResampledT | None:
    """Test whether the mean over repeats is 0, corrected for training sets that overlap; None without any spread.

    Parameters
    ----------
    differences : (n_repeats,)
        Of two methods on the same splits.
    test_share : float
        Test rows for each training row: the variance is that of the repeats times 1 / n_repeats + test_share (Nadeau &
        Bengio, section 3), with 1 / (folds - 1) for repeated folds.
    """
    from scipy.stats import t

    n = differences.size
    if n < 2 or float(np.ptp(np.round(differences, TIE_DECIMALS))) == 0:
        return None
    mean = float(differences.mean())
    error = math.sqrt((1 / n + test_share) * float(differences.var(ddof=1)))
    reach = float(t.ppf((1 + level) / 2, n - 1)) * error
    statistic = mean / error
    return ResampledT(mean, mean - reach, mean + reach, level, statistic, n - 1, float(2 * t.sf(abs(statistic), n - 1)))


def mcnemar(first_right: BoolArray, second_right: BoolArray) -> tuple[int, int, float]:
    """Return how many rows only the first and only the second method got right, and the exact two-sided p-value."""
    from scipy.stats import binom

    first = int(np.count_nonzero(first_right & ~second_right))
    second = int(np.count_nonzero(second_right & ~first_right))
    if first + second == 0:
        return 0, 0, 1.0
    return first, second, min(1.0, float(2 * binom.cdf(min(first, second), first + second, 0.5)))
