"""Propensity-scored metrics: relevant labels that are seldom noted count more (Jain, Prabhu & Varma 2016).

Of a label with N_l of N training rows the propensity, the chance that it is noted where it is relevant, is modelled
(their section 4) as ``p_l = 1 / (1 + C exp(-A log(N_l + B)))`` with ``C = (log N - 1) (B + 1)^A``. They take A = 0.55
and B = 1.5 in general, 0.5 and 0.4 for Wikipedia, 0.6 and 2.6 for Amazon.

PSP@k sums 1 / p_l over the relevant labels among the first k places and divides by k, PSDCG@k sums 1 / (p_l log2(1 +
place)); both are given as the sum over the rows divided by the largest sum that any order of the labels reaches, as the
paper reports them (its section 7), in [0, 1]. What depends on k alone cancels then. Rows without relevant labels add
nothing to either sum. Tied labels count with their expectation over random order. Undefined where the propensities are
not known, which come from training rows. Cost: as of precision and nDCG, and a sort of the relevant labels of all rows.
"""

import math
from typing import Any

import numpy as np

from mlrank.arrays import BoolArray, FloatArray, IntArray
from mlrank.labels import LabelMatrix, row_counts, sparse_labels
from mlrank.metrics.base import MetricValue
from mlrank.metrics.rankings import rankings_of

__all__ = ["propensities", "psndcg_at", "psp_at"]


def propensities(counts: IntArray, n_samples: int, A: float = 0.55, B: float = 1.5) -> FloatArray:
    """Return the propensity of each label.

    Parameters
    ----------
    counts : (n_labels,) ndarray
        Training rows of each label.
    n_samples : int
        Training rows.
    A, B : float

    >>> propensities(np.array([0, 1, 100]), 1000).round(4)
    array([0.1133, 0.1448, 0.5648])
    """
    C = max(math.log(n_samples) - 1, 0.0) * (B + 1) ** A  # below 0 for two rows, where all are taken for 1
    return np.asarray(1 / (1 + C * (np.asarray(counts) + B) ** -A))


def psp_at(Y: BoolArray, scores: Any, k: int) -> MetricValue:
    """Compute PSP@k."""
    return _scored(Y, scores, lambda place: (place < k).astype(np.float64))


def psndcg_at(Y: BoolArray, scores: Any, k: int) -> MetricValue:
    """Compute PSnDCG@k."""
    return _scored(Y, scores, lambda place: np.where(place < k, 1.0 / np.log2(place + 2.0), 0.0))


def _scored(Y: BoolArray, scores: Any, weights: Any) -> MetricValue:
    rankings = rankings_of(Y, scores)
    n_rows = rankings.Y.shape[0]
    if rankings.propensities is None:
        return MetricValue(math.nan, 0, n_rows, "rows")
    ranked, gains = rankings.by_row, 1 / rankings.propensities
    weight = weights(np.arange(ranked.n_items.max()))
    best = _best_sum(rankings.Y, gains, weight)
    n_defined = int(np.count_nonzero(ranked.n_relevant))
    value = float(ranked.expected(weight, gains).sum() / best) if best else math.nan
    return MetricValue(value, n_defined, n_rows, "rows")


def _best_sum(Y: LabelMatrix, gains: FloatArray, weights: FloatArray) -> float:
    """Return the sum over the rows with the relevant labels in the first places, those of the largest gain first."""
    marks = sparse_labels(Y)
    sizes = row_counts(marks)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    own = gains[marks.indices]
    order = np.lexsort((-own, rows))
    place = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return float(weights[place] @ own[order])
