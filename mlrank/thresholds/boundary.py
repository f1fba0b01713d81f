"""The adaptive decision boundary: for each label the threshold with the least sum of both error rates."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mlrank.arrays import BoolArray, Features, FloatArray
from mlrank.thresholds.base import Cut
from mlrank.thresholds.cuts import LabelCut, check_scores
from mlrank.thresholds.targets import between

__all__ = ["AdaptiveBoundary"]


@dataclass(frozen=True)
class AdaptiveBoundary:
    """Choose for each label the threshold h with the least share of positives missed plus share of negatives taken.

    That is #{positives with f <= h} / P + #{negatives with f > h} / N, the boundary that goes with Wang, Huang and
    Ding's Green's function method (ICCV 2009). Candidates are -inf, the middles between neighbouring distinct scores of
    the label, and inf; of equally good ones the smallest is taken. A label without positives is never predicted, one
    without negatives always. Cost: one sort per label.
    """

    ORACLE: ClassVar[bool] = False
    FIT_ON: ClassVar[str] = "train"

    def fit(self, scores: FloatArray, Y: BoolArray, X: Features, known: BoolArray | None = None) -> Cut:
        """Fit to scores (n_samples, n_labels) and their true labels, where these are known."""
        check_scores(scores, Y, X)
        used = np.ones_like(Y) if known is None else known
        columns = zip(scores.T, Y.T, used.T, strict=True)
        return LabelCut(np.array([_boundary(column[rows], truth[rows]) for column, truth, rows in columns]))


def _boundary(scores: FloatArray, relevant: BoolArray) -> float:
    n_relevant = int(np.count_nonzero(relevant))
    n_irrelevant = relevant.size - n_relevant
    if n_relevant == 0:
        return np.inf
    if n_irrelevant == 0:
        return -np.inf
    order = np.argsort(scores)
    rising, hit = scores[order], relevant[order]
    # Row m of what follows: the m lowest scores are not predicted. In whole numbers, so that ties are ties.
    missed = np.pad(np.cumsum(hit), (1, 0))
    taken = n_irrelevant - np.pad(np.cumsum(~hit), (1, 0))
    cost = missed * n_irrelevant + taken * n_relevant
    cost[1:-1][rising[1:] == rising[:-1]] = 2 * n_relevant * n_irrelevant + 1
    candidates = np.concatenate([[-np.inf], between(rising[:-1], rising[1:]), [np.inf]])
    return float(candidates[cost.argmin()])
