"""How likely it is that one of two methods is better, or that they are practically equal.

References: Benavoli et al., "A Bayesian Wilcoxon signed-rank test based on the Dirichlet process", ICML 2014; Corani &
Benavoli, "A Bayesian approach for comparing cross-validated algorithms on multiple data sets", Machine Learning 100
(2015); both as in Benavoli et al., "Time for a change", JMLR 18 (2017).
"""

import math
from typing import NamedTuple

import numpy as np

from mlrank.arrays import FloatArray

__all__ = ["PRIOR_STRENGTH", "Beliefs", "bayes_signed_rank", "bayes_t"]

PRIOR_STRENGTH = 0.5
SAMPLES = 20_000


class Beliefs(NamedTuple):
    """Probabilities, summing to 1: the second method is better, they are practically equal, the first is better."""

    second: float
    equal: float
    first: float


def bayes_signed_rank(differences: FloatArray, rope: float, seed: int = 0) -> Beliefs:
    """Return what differences (first minus second, larger being better) over data sets say.

    A Dirichlet process with one prior observation at 0 of weight PRIOR_STRENGTH, by SAMPLES draws of the weights.

    Parameters
    ----------
    rope : float
        Means of two differences from -rope to rope are practically 0.
    """
    z = np.concatenate([[0.0], differences])
    sums = z[:, None] + z[None, :]
    above, below = (sums > 2 * rope).astype(np.float64), (sums < -2 * rope).astype(np.float64)
    weights = np.random.default_rng(seed).dirichlet([PRIOR_STRENGTH, *np.ones(differences.size)], SAMPLES)
    first = ((weights @ above) * weights).sum(axis=1)
    second = ((weights @ below) * weights).sum(axis=1)
    winners = np.argmax(np.stack([second, 1.0 - first - second, first]), axis=0)
    counts = np.bincount(winners, minlength=3) / SAMPLES
    return Beliefs(float(counts[0]), float(counts[1]), float(counts[2]))


def bayes_t(differences: FloatArray, test_share: float, rope: float) -> Beliefs | None:
    """Return what differences over repeats on one data set say of their mean; None without any spread.

    The posterior of the mean is Student's t around their mean, with the scale of the corrected resampled t-test.
    """
    from scipy.stats import t

    n = differences.size
    if n < 2 or float(np.ptp(differences)) == 0:
        return None
    scale = math.sqrt((1 / n + test_share) * float(differences.var(ddof=1)))
    mean = float(differences.mean())
    second = float(t.cdf((-rope - mean) / scale, n - 1))
    first = float(t.sf((rope - mean) / scale, n - 1))
    return Beliefs(second, max(0.0, 1.0 - first - second), first)
