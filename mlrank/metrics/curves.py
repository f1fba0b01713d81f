"""The ROC curve of predicting the first k labels of every row, for k = 0, 1, ... up to all of them.

From the efficient multi-label ranking paper (Bucak, Mallapragada, Jin & Jain), section 6: for each k the true and false
positive rates over all test images make one point of the curve, whose area is taken by trapezoids from (0, 0). It
does not say how rates are averaged. Pooled rates (`auc_rank_curve`) come nearest to its tables; means of
the rows' own rates are the other reading (`auc_rank_curve_mean`), and the area of each row's own curve the third, which
is `auc_samples`. The three agree if every row has equally many relevant labels. Pooled, a perfect ranking stays below 1
where rows have different numbers of them: at a given k some rows have run out of relevant labels before others have.

Labels of equal score count with their expectation over random order, or (`ties="index"`) in the order of the columns.
"""

import math
from typing import Literal

import numpy as np

from mlrank.arrays import BoolArray, FloatArray
from mlrank.metrics.base import MetricValue
from mlrank.metrics.rankings import RankedLists, Rankings, auc_samples_of, by_index, rankings_of
from mlrank.metrics.sets import average, ratio

__all__ = ["auc_rank_curve", "auc_rank_curve_mean", "auc_samples_among"]

Among = Literal["all", "single", "multi"]


def auc_rank_curve(
    Y: BoolArray,
    scores: FloatArray | Rankings,
    empty: float = math.nan,
    among: Among = "all",
    ties: Literal["expected", "index"] = "expected",
) -> MetricValue:
    """Compute the area under the curve of rates pooled over the rows.

    Parameters
    ----------
    empty : its value if the rows have no relevant or no irrelevant label
    among : "all" rows, or those with a "single" relevant label, or with several ("multi"), which are counted
    """
    ranked = _ranked(Y, scores, ties)
    rows = _among(ranked, among)
    pooled = average(_area(ranked, rows.astype(np.float64), rows.astype(np.float64)), "all", empty)
    if among == "all":
        return pooled
    n_rows = int(rows.sum())
    return pooled._replace(n_defined=n_rows * pooled.n_defined, n_total=n_rows, unit="rows")


def auc_rank_curve_mean(
    Y: BoolArray,
    scores: FloatArray | Rankings,
    empty: float = math.nan,
    among: Among = "all",
    ties: Literal["expected", "index"] = "expected",
) -> MetricValue:
    """Compute the area under the curve of the mean rates of rows that have both; parameters as in auc_rank_curve."""
    ranked = _ranked(Y, scores, ties)
    n_irrelevant = ranked.n_items - ranked.n_relevant
    rows = _among(ranked, among)
    both = rows & (ranked.n_relevant > 0) & (n_irrelevant > 0)
    area = _area(ranked, both / np.maximum(ranked.n_relevant, 1), both / np.maximum(n_irrelevant, 1))
    return average(area, "all", empty)._replace(n_defined=int(both.sum()), n_total=int(rows.sum()), unit="rows")


def auc_samples_among(
    Y: BoolArray, scores: FloatArray | Rankings, empty: float = math.nan, among: Among = "all"
) -> MetricValue:
    """Average the ROC area of the rows with a "single" relevant label, or with several ("multi")."""
    ranked = rankings_of(Y, scores).by_row
    return average(auc_samples_of(ranked)[_among(ranked, among)], "rows", empty)


def _ranked(Y: BoolArray, scores: FloatArray | Rankings, ties: str) -> RankedLists:
    rankings = rankings_of(Y, scores)
    return rankings.by_row if ties == "expected" else by_index(rankings, axis=1).by_row


def _among(ranked: RankedLists, among: str) -> BoolArray:
    """Return the mask of the rows that are meant."""
    if among == "all":
        return np.ones(ranked.n_relevant.size, np.bool_)
    return np.asarray(ranked.n_relevant == 1 if among == "single" else ranked.n_relevant > 1)


def _area(ranked: RankedLists, relevant: FloatArray, irrelevant: FloatArray) -> FloatArray:
    """Return the area, shape (1,), NaN without relevant or irrelevant labels.

    Parameters
    ----------
    relevant, irrelevant : (n_lists,) weights of a relevant and of an irrelevant label in each row
    """
    width = int(ranked.n_items.max(initial=0))
    true_at = _hits(ranked, relevant[ranked.lists], width)
    # At place k stands a label of every row that is long enough, and what is not relevant is irrelevant.
    longer = np.cumsum(np.bincount(ranked.n_items, irrelevant, width + 1)[::-1])[::-1][1:]
    false_at = longer - _hits(ranked, irrelevant[ranked.lists], width)
    # A trapezoid for each place: its width times the mean of the heights at both ends.
    heights = np.cumsum(true_at) - true_at / 2
    both = (relevant @ ranked.n_relevant) * (irrelevant @ (ranked.n_items - ranked.n_relevant))
    return ratio(np.array([heights @ false_at]), np.array([both]))


def _hits(ranked: RankedLists, weights: FloatArray, width: int) -> FloatArray:
    """Return the weight of the relevant labels expected at each place, shape (width,); tied ones share their places."""
    share = weights / (ranked.through - ranked.above)
    begin = np.bincount(ranked.above, share, width + 1)
    end = np.bincount(ranked.through, share, width + 1)
    hits: FloatArray = np.cumsum(begin - end)[:width]
    return hits
