"""Metrics of scores: how well relevant cells are ranked above irrelevant ones, per row, per label, or over all cells.

Every function takes ``(Y, scores)``, arrays (n_samples, n_labels), or a `Rankings` in place of `scores` so that several
metrics share its sorted lists. Cost: a sort of every list, O(n_samples * n_labels * log), once per `Rankings` and kind
of list; then O(number of relevant cells) per metric. Only the order of the scores counts, infinite ones included.
The parameter `empty` is the value of an undefined term; NaN, the default, leaves the term out of the average.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mlrank.arrays import BoolArray, FloatArray, IntArray
from mlrank.metrics.base import MetricValue
from mlrank.metrics.sets import average, check_shapes, ratio

__all__ = [
    "Rankings",
    "auc_macro",
    "auc_micro",
    "auc_samples",
    "coverage",
    "lrap",
    "map_macro",
    "ndcg_at",
    "one_error",
    "precision_at",
    "ranking_loss",
]


@dataclass(frozen=True)
class RankedLists:
    """Where the relevant items of several lists stand, each list ordered by falling score.

    The first five arrays have one entry per relevant item, lists in order and items by rising score within a list.

    Parameters
    ----------
    lists : which list the item belongs to
    above, through : how many items of its list score higher, and how many score at least as high (itself included)
    relevant_above, relevant_through : the same among the relevant items
    n_relevant : (n_lists,) relevant items in each list
    n_items : items in each list
    """

    lists: IntArray
    above: IntArray
    through: IntArray
    relevant_above: IntArray
    relevant_through: IntArray
    n_relevant: IntArray
    n_items: int

    @classmethod
    def of(cls, Y: BoolArray, scores: FloatArray) -> "RankedLists":
        """Rank the rows of `scores`. Ties need no care: binary search counts both ends of a group of equal scores."""
        n_items = Y.shape[1]
        n_relevant = np.count_nonzero(Y, axis=1).astype(np.int64)
        higher: list[IntArray] = []
        reached: list[IntArray] = []
        own_higher: list[IntArray] = []
        own_reached: list[IntArray] = []
        for everything, row, relevant in zip(np.sort(scores, axis=1), scores, Y, strict=True):
            own = np.sort(row[relevant])
            higher.append(n_items - everything.searchsorted(own, "right"))
            reached.append(n_items - everything.searchsorted(own, "left"))
            own_higher.append(own.size - own.searchsorted(own, "right"))
            own_reached.append(own.size - own.searchsorted(own, "left"))
        lists = np.repeat(np.arange(n_relevant.size), n_relevant)
        parts = [np.concatenate(part) for part in (higher, reached, own_higher, own_reached)]
        return cls(lists, parts[0], parts[1], parts[2], parts[3], n_relevant, n_items)

    def total(self, terms: FloatArray | IntArray) -> FloatArray:
        """Sum terms, one per relevant item, over each list."""
        return np.asarray(np.bincount(self.lists, terms, self.n_relevant.size), dtype=np.float64)

    def mean(self, terms: FloatArray | IntArray) -> FloatArray:
        """Average terms over the relevant items of each list; NaN for a list without any."""
        return ratio(self.total(terms), self.n_relevant)

    def misordered(self, tie: float) -> FloatArray:
        """Return of each list the fraction of (relevant, irrelevant) pairs in the wrong order; a tie counts `tie`."""
        higher = self.above - self.relevant_above
        tied = (self.through - self.relevant_through) - higher
        return ratio(self.total(higher + tie * tied), self.n_relevant * (self.n_items - self.n_relevant))

    def precision(self) -> FloatArray:
        """Return of each list the average precision, a group of equal scores entering as one."""
        return self.mean(self.relevant_through / self.through)

    def expected(self, weights: FloatArray) -> FloatArray:
        """Return of each list the sum of the weights of the places of its relevant items, averaged over orders of ties.

        Parameters
        ----------
        weights : (n_items,) the weight of each place, the top one first
        """
        running = np.concatenate([[0.0], np.cumsum(weights)])
        return self.total((running[self.through] - running[self.above]) / (self.through - self.above))


@dataclass(frozen=True)
class Rankings:
    """True label sets and scores with their ranked lists, computed when first asked for.

    Parameters
    ----------
    Y : (n_samples, n_labels) bool ndarray
    scores : (n_samples, n_labels) float64 ndarray

    Raises
    ------
    ValueError
        If a dtype or shape is wrong, there is no cell, or a score is NaN.
    """

    Y: BoolArray
    scores: FloatArray

    def __post_init__(self) -> None:
        check_shapes(self.Y, self.scores, "scores")
        unordered = np.isnan(self.scores)
        if unordered.any():
            row, label = np.argwhere(unordered)[0]
            raise ValueError(f"scores has {unordered.sum()} NaN, the first in row {row}, label {label}")

    @cached_property
    def by_row(self) -> RankedLists:
        """The labels of each row, ranked."""
        return RankedLists.of(self.Y, self.scores)

    @cached_property
    def by_label(self) -> RankedLists:
        """The rows of each label, ranked."""
        return RankedLists.of(np.ascontiguousarray(self.Y.T), np.ascontiguousarray(self.scores.T))

    @cached_property
    def pooled(self) -> RankedLists:
        """All cells, ranked as one list."""
        return RankedLists.of(self.Y.reshape(1, -1), self.scores.reshape(1, -1))


def _rankings(Y: BoolArray, scores: FloatArray | Rankings) -> Rankings:
    return scores if isinstance(scores, Rankings) else Rankings(Y, scores)


def auc_macro(Y: BoolArray, scores: FloatArray | Rankings, empty: float = math.nan) -> MetricValue:
    """Average the ROC area of the labels; `empty` is that of a label with one class."""
    return average(1.0 - _rankings(Y, scores).by_label.misordered(tie=0.5), "labels", empty)


def auc_micro(Y: BoolArray, scores: FloatArray | Rankings, empty: float = math.nan) -> MetricValue:
    """Compute the ROC area of all cells pooled; `empty` is its value if they are of one class."""
    return average(1.0 - _rankings(Y, scores).pooled.misordered(tie=0.5), "all", empty)


def auc_samples(Y: BoolArray, scores: FloatArray | Rankings, empty: float = math.nan) -> MetricValue:
    """Average the ROC area of the rows; `empty` is that of a row with no or only relevant labels."""
    return average(1.0 - _rankings(Y, scores).by_row.misordered(tie=0.5), "rows", empty)


def map_macro(Y: BoolArray, scores: FloatArray | Rankings, empty: float = math.nan) -> MetricValue:
    """Average the average precision of the labels; `empty` is that of a label without positives."""
    return average(_rankings(Y, scores).by_label.precision(), "labels", empty)


def lrap(Y: BoolArray, scores: FloatArray | Rankings, empty: float = math.nan) -> MetricValue:
    """Average the average precision of the rows; `empty` is that of a row without relevant labels."""
    return average(_rankings(Y, scores).by_row.precision(), "rows", empty)


def ranking_loss(Y: BoolArray, scores: FloatArray | Rankings, empty: float = math.nan, tie: float = 1.0) -> MetricValue:
    """Average the fraction of misordered pairs of the rows; a tied pair counts `tie`."""
    return average(_rankings(Y, scores).by_row.misordered(tie), "rows", empty)


def precision_at(Y: BoolArray, scores: FloatArray | Rankings, k: int, empty: float = math.nan) -> MetricValue:
    """Average the relevant fraction of the first `k` labels; `empty` is for rows without relevant labels."""
    _check_depth(k)
    ranked = _rankings(Y, scores).by_row
    hits = ranked.expected((np.arange(ranked.n_items) < k).astype(np.float64))
    return average(np.where(ranked.n_relevant > 0, hits / k, np.nan), "rows", empty)


def one_error(Y: BoolArray, scores: FloatArray | Rankings, empty: float = math.nan) -> MetricValue:
    """Compute how often the first label is irrelevant; `empty` is for rows without relevant labels."""
    precision = precision_at(Y, scores, 1, 1.0 - empty)
    return precision._replace(value=1.0 - precision.value)


def coverage(Y: BoolArray, scores: FloatArray | Rankings, empty: float = math.nan, first: int = 1) -> MetricValue:
    """Average the depth of the last relevant label of the rows, the top label being at depth `first`."""
    ranked = _rankings(Y, scores).by_row
    depth = np.full(ranked.n_relevant.size, np.nan)
    # Items stand by rising score within a list, so the first one of each is the deepest.
    nonempty = ranked.n_relevant > 0
    depth[nonempty] = ranked.through[(np.cumsum(ranked.n_relevant) - ranked.n_relevant)[nonempty]]
    return average(depth - 1 + first, "rows", empty)


def ndcg_at(Y: BoolArray, scores: FloatArray | Rankings, k: int, empty: float = math.nan) -> MetricValue:
    """Average the normalised discounted gain of the first `k` labels; `empty` is for rows without relevant labels."""
    _check_depth(k)
    ranked = _rankings(Y, scores).by_row
    place = np.arange(ranked.n_items)
    discounts = np.where(place < k, 1.0 / np.log2(place + 2.0), 0.0)
    best = np.concatenate([[0.0], np.cumsum(discounts)])[ranked.n_relevant]
    return average(ratio(ranked.expected(discounts), best), "rows", empty)


def _check_depth(k: int) -> None:
    if k < 1:
        raise ValueError(f"k must be at least 1, found {k}")
