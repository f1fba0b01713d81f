"""Metrics of probabilities, over all entries that are known: how far from the truth, and how well calibrated."""

from collections.abc import Callable

import numpy as np

from mlrank.arrays import BoolArray, FloatArray
from mlrank.metrics.base import MetricValue
from mlrank.metrics.rankings import Rankings, rankings_of

__all__ = ["N_BINS", "brier", "expected_calibration_error", "log_loss", "reliability"]

N_BINS = 10


def brier(Y: BoolArray, scores: FloatArray | Rankings) -> MetricValue:
    """Return the mean squared distance of probabilities from the truth."""
    return _mean(rankings_of(Y, scores), lambda p, y: (p - y) ** 2)


def log_loss(Y: BoolArray, scores: FloatArray | Rankings) -> MetricValue:
    """Return the mean negative logarithm of the probability of what is true."""
    least = float(np.finfo(np.float64).eps)
    return _mean(
        rankings_of(Y, scores), lambda p, y: -np.log(np.clip(np.where(y == 1, p, 1.0 - p), least, 1.0 - least))
    )


def expected_calibration_error(Y: BoolArray, scores: FloatArray | Rankings) -> MetricValue:
    """Return the distance of probabilities from frequencies, a mean over bins weighted by their entries."""
    p, y = _entries(rankings_of(Y, scores))
    if not _probabilities(p):
        return MetricValue(np.nan, 0, 1, "all")
    _, mean, frequency, count = reliability(p, y)
    return MetricValue(float(np.sum(count * np.abs(mean - frequency)) / p.size), 1, 1, "all")


def reliability(p: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return of N_BINS bins of equal width that hold probabilities: number, mean, frequency of 1, and entries.

    A bin has its upper end and not its lower one; 0 belongs to the first.

    Parameters
    ----------
    p, y : (n_entries,) ndarray, probabilities and the truth, 0 or 1
    """
    place = np.searchsorted(np.arange(1, N_BINS) / N_BINS, p, side="left")
    count = np.bincount(place, minlength=N_BINS).astype(np.float64)
    used = np.flatnonzero(count)
    sums = np.bincount(place, p, N_BINS)[used], np.bincount(place, y, N_BINS)[used]
    return used.astype(np.float64), sums[0] / count[used], sums[1] / count[used], count[used]


def _mean(given: Rankings, loss: Callable[[FloatArray, FloatArray], FloatArray]) -> MetricValue:
    p, y = _entries(given)
    if not _probabilities(p):
        return MetricValue(np.nan, 0, 1, "all")
    return MetricValue(float(np.mean(loss(p, y))), 1, 1, "all")


def _entries(given: Rankings) -> tuple[FloatArray, FloatArray]:
    """Return the scores and the truth of all known entries."""
    if given.known is None:
        return given.scores.ravel(), given.Y.ravel().astype(np.float64)
    return given.scores[given.known], given.Y[given.known].astype(np.float64)


def _probabilities(p: FloatArray) -> bool:
    return bool(p.size) and bool(p.min() >= 0.0) and bool(p.max() <= 1.0)
