"""Metrics of scores: how well relevant cells are ranked above irrelevant ones, per row, per label, or over all cells.

Every function takes ``(Y, scores)``, arrays (n_samples, n_labels), or a `Rankings` in place of `scores` so that several
metrics share its sorted lists. Cost: a sort of every list, O(n_samples * n_labels * log), once per `Rankings` and kind
of list; then O(number of relevant cells) per metric. Only the order of the scores counts, infinite ones included.
The parameter `empty` is the value of an undefined term; NaN, the default, leaves the term out of the average.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from mlrank.arrays import BoolArray, FloatArray, IntArray
from mlrank.labels import LabelMatrix, TopScores, row_counts
from mlrank.metrics.base import MetricValue
from mlrank.metrics.sets import average, check_shapes, observed, ratio

__all__ = [
    "BestRankings",
    "RankedLists",
    "Rankings",
    "auc_macro",
    "auc_micro",
    "auc_samples",
    "auc_samples_of",
    "by_index",
    "coverage",
    "lrap",
    "map_macro",
    "marked",
    "ndcg_at",
    "one_error",
    "precision_at",
    "ranking_loss",
    "rankings_of",
]

# Entries of blocks of best scores, and of the marks of a block of rows.
BLOCK_CELLS, SCRATCH = 1 << 20, 1 << 24


@dataclass(frozen=True)
class RankedLists:
    """Where the relevant items of several lists stand, each list ordered by falling score.

    The first six arrays have one entry per relevant item, lists in order and items by rising score within a list.
    Where only the best items of each list are known, those are counted that are among them.

    Parameters
    ----------
    lists : which list the item belongs to
    above, through : how many items of its list score higher, and how many score at least as high (itself included)
    relevant_above, relevant_through : the same among the relevant items
    items : the number of the item in its list
    n_relevant, n_items : (n_lists,) relevant items, and all items, in each list
    """

    lists: IntArray
    above: IntArray
    through: IntArray
    relevant_above: IntArray
    relevant_through: IntArray
    items: IntArray
    n_relevant: IntArray
    n_items: IntArray

    @classmethod
    def of(cls, Y: BoolArray, scores: FloatArray, known: BoolArray | None) -> "RankedLists":
        """Rank the known entries of the rows of `scores`, `Y` being False where they are unknown.

        Ties need no care: binary search counts both ends of a group of equal scores.
        """
        n_lists, width = Y.shape
        n_items = np.full(n_lists, width, np.int64) if known is None else np.count_nonzero(known, axis=1)
        n_relevant = np.count_nonzero(Y, axis=1).astype(np.int64)
        higher: list[IntArray] = []
        reached: list[IntArray] = []
        own_higher: list[IntArray] = []
        own_reached: list[IntArray] = []
        items: list[IntArray] = []
        # Unknown entries come last, as infinite scores, and are cut off.
        rising = np.sort(scores if known is None else np.where(known, scores, np.inf), axis=1)
        for everything, size, row, relevant in zip(rising, n_items, scores, Y, strict=True):
            marked = np.flatnonzero(relevant)
            items.append(marked[np.argsort(row[marked], kind="stable")])
            own = row[items[-1]]
            higher.append(size - everything[:size].searchsorted(own, "right"))
            reached.append(size - everything[:size].searchsorted(own, "left"))
            own_higher.append(own.size - own.searchsorted(own, "right"))
            own_reached.append(own.size - own.searchsorted(own, "left"))
        lists = np.repeat(np.arange(n_relevant.size), n_relevant)
        parts = [np.concatenate(part) for part in (higher, reached, own_higher, own_reached, items)]
        return cls(lists, parts[0], parts[1], parts[2], parts[3], parts[4], n_relevant, n_items)

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

    def expected(self, weights: FloatArray, gains: FloatArray | None = None) -> FloatArray:
        """Return of each list the sum of the weights of the places of its relevant items, averaged over orders of ties.

        Parameters
        ----------
        weights : the weight of each place, the top one first, as many as the longest list has
        gains : what each item of a list counts; 1 if left out
        """
        running = np.concatenate([[0.0], np.cumsum(weights)])
        terms = (running[self.through] - running[self.above]) / (self.through - self.above)
        return self.total(terms if gains is None else terms * gains[self.items])


@dataclass(frozen=True)
class Rankings:
    """True label sets and scores with their ranked lists, computed when first asked for.

    Parameters
    ----------
    Y : (n_samples, n_labels) bool ndarray
    scores : (n_samples, n_labels) float64 ndarray
    known : (n_samples, n_labels) bool ndarray, optional
        Which entries of `Y` count; those of a row or label that do not are left out of its list.
    propensities : (n_labels,) ndarray, optional
        How likely a relevant label is to be noted, for the metrics that weigh by it; see `mlrank.metrics.propensity`.

    Raises
    ------
    ValueError
        If a dtype or shape is wrong, there is no cell, or a score is NaN.
    """

    Y: BoolArray
    scores: FloatArray
    known: BoolArray | None = None
    propensities: FloatArray | None = None

    def __post_init__(self) -> None:
        check_shapes(self.Y, self.scores, "scores")
        object.__setattr__(self, "Y", observed(self.Y, self.known))
        unordered = np.isnan(self.scores)
        if unordered.any():
            row, label = np.argwhere(unordered)[0]
            raise ValueError(f"scores has {unordered.sum()} NaN, the first in row {row}, label {label}")

    @cached_property
    def by_row(self) -> RankedLists:
        """The labels of each row, ranked."""
        return RankedLists.of(self.Y, self.scores, self.known)

    @cached_property
    def by_label(self) -> RankedLists:
        """The rows of each label, ranked."""
        known = None if self.known is None else np.ascontiguousarray(self.known.T)
        return RankedLists.of(np.ascontiguousarray(self.Y.T), np.ascontiguousarray(self.scores.T), known)

    @cached_property
    def pooled(self) -> RankedLists:
        """All cells, ranked as one list."""
        known = None if self.known is None else self.known.reshape(1, -1)
        return RankedLists.of(self.Y.reshape(1, -1), self.scores.reshape(1, -1), known)


@dataclass(frozen=True)
class BestRankings:
    """True label sets and the best scores of each row, with the ranked lists of the rows.

    Parameters
    ----------
    Y : (n_samples, n_labels) bool csr_array
    best : TopScores
        A relevant label that is not among a row's best counts as one behind all places that are looked at.
    propensities : (n_labels,) ndarray, optional
        As of `Rankings`.

    Raises
    ------
    ValueError
        If shapes disagree, or there is no cell.
    """

    Y: LabelMatrix
    best: TopScores
    propensities: FloatArray | None = None

    def __post_init__(self) -> None:
        if 0 in self.Y.shape or len(self.best.labels) != self.Y.shape[0]:
            raise ValueError(f"the best scores are of {len(self.best.labels)} rows, Y has shape {self.Y.shape}")

    @cached_property
    def by_row(self) -> RankedLists:
        """The best labels of each row, ranked; a block of rows at a time."""
        parts = [self._ranked(rows) for rows in _row_blocks(self.Y.shape[0], max(self.best.labels.shape[1], 1))]
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        n_items = np.full(self.Y.shape[0], self.Y.shape[1], np.int64)
        lists, above, through, own_above, own_through, items = columns
        return RankedLists(lists, above, through, own_above, own_through, items, row_counts(self.Y), n_items)

    def _ranked(self, rows: slice) -> tuple[IntArray, ...]:
        labels, scores = self.best.labels[rows], self.best.scores[rows]
        hits = marked(self.Y[rows], labels)
        n_rows, width = labels.shape
        # Equal scores stand together: a place is the first of its group, or has that of the place before.
        places = np.broadcast_to(np.arange(width), labels.shape)
        first = np.ones(labels.shape, np.bool_)
        first[:, 1:] = scores[:, 1:] != scores[:, :-1]
        above = np.maximum.accumulate(np.where(first, places, 0), axis=1)
        last = np.ones(labels.shape, np.bool_)
        last[:, :-1] = first[:, 1:]
        behind = np.minimum.accumulate(np.where(last, places, width)[:, ::-1], axis=1)[:, ::-1] + 1
        running = np.concatenate([np.zeros((n_rows, 1), np.int64), np.cumsum(hits, axis=1)], axis=1)
        # Items of a list stand by rising score.
        row, place = np.nonzero(hits[:, ::-1])
        place = width - 1 - place
        at = (row, place)
        own_above, own_through = running[row, above[at]], running[row, behind[at]]
        return row + rows.start, above[at], behind[at], own_above, own_through, labels[at].astype(np.int64)


def marked(Y: LabelMatrix, labels: Any) -> BoolArray:
    """Return which labels of each row, (n_rows, m), are marked in sparse Y (n_rows, n_labels); -1 is none.

    Takes time and memory by the entries of both, through a row of marks that is wiped after each block of rows.
    """
    n_rows, n_labels = Y.shape
    found = np.zeros(labels.shape, np.bool_)
    size = max(1, SCRATCH // n_labels)
    # One more label, which no row has, for places without any: -1 counts from the end.
    scratch = np.zeros((min(size, n_rows), n_labels + 1), np.bool_)
    for start in range(0, n_rows, size):
        stop = min(start + size, n_rows)
        rows = np.repeat(np.arange(stop - start), np.diff(Y.indptr[start : stop + 1]))
        at = (rows, Y.indices[Y.indptr[start] : Y.indptr[stop]])
        scratch[at] = True
        found[start:stop] = scratch[np.arange(stop - start)[:, None], labels[start:stop]]
        scratch[at] = False
    return found


def _row_blocks(n_rows: int, width: int) -> Iterator[slice]:
    size = max(1, BLOCK_CELLS // width)
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def rankings_of(Y: BoolArray, scores: "FloatArray | Rankings | BestRankings") -> Rankings:
    """Return the ranked lists of `scores`, which may be them already; those of the best scores have `by_row` alone."""
    if isinstance(scores, Rankings | BestRankings):
        return scores  # type: ignore[return-value]
    return Rankings(Y, scores)


def by_index(rankings: Rankings, axis: int) -> Rankings:
    """Return rankings without ties along an axis: what comes first in the matrix ranks higher."""
    order = np.argsort(-rankings.scores, axis=axis, kind="stable")
    place = np.argsort(order, axis=axis, kind="stable")
    return Rankings(rankings.Y, -place.astype(np.float64), rankings.known)


def auc_macro(Y: BoolArray, scores: FloatArray | Rankings, empty: float = math.nan) -> MetricValue:
    """Average the ROC area of the labels; `empty` is that of a label with one class."""
    return average(1.0 - rankings_of(Y, scores).by_label.misordered(tie=0.5), "labels", empty)


def auc_micro(Y: BoolArray, scores: FloatArray | Rankings, empty: float = math.nan) -> MetricValue:
    """Compute the ROC area of all cells pooled; `empty` is its value if they are of one class."""
    return average(1.0 - rankings_of(Y, scores).pooled.misordered(tie=0.5), "all", empty)


def auc_samples(Y: BoolArray, scores: FloatArray | Rankings, empty: float = math.nan) -> MetricValue:
    """Average the ROC area of the rows; `empty` is that of a row with no or only relevant labels."""
    return average(auc_samples_of(rankings_of(Y, scores).by_row), "rows", empty)


def auc_samples_of(ranked: RankedLists) -> FloatArray:
    """Return the ROC area of each list, NaN where it has one class."""
    area: FloatArray = 1.0 - ranked.misordered(tie=0.5)
    return area


def map_macro(
    Y: BoolArray, scores: FloatArray | Rankings, empty: float = math.nan, ties: Literal["group", "index"] = "group"
) -> MetricValue:
    """Average the average precision of the labels; `empty` is that of a label without positives.

    With `ties` "index" rows of equal score count in their order, as programs that sort do.
    """
    rankings = rankings_of(Y, scores)
    ranked = rankings.by_label if ties == "group" else by_index(rankings, axis=0).by_label
    return average(ranked.precision(), "labels", empty)


def lrap(Y: BoolArray, scores: FloatArray | Rankings, empty: float = math.nan) -> MetricValue:
    """Average the average precision of the rows; `empty` is that of a row without relevant labels."""
    return average(rankings_of(Y, scores).by_row.precision(), "rows", empty)


def ranking_loss(Y: BoolArray, scores: FloatArray | Rankings, empty: float = math.nan, tie: float = 1.0) -> MetricValue:
    """Average the fraction of misordered pairs of the rows; a tied pair counts `tie`."""
    return average(rankings_of(Y, scores).by_row.misordered(tie), "rows", empty)


def precision_at(Y: BoolArray, scores: FloatArray | Rankings, k: int, empty: float = math.nan) -> MetricValue:
    """Average the relevant fraction of the first `k` labels; `empty` is for rows without relevant labels."""
    _check_depth(k)
    ranked = rankings_of(Y, scores).by_row
    hits = ranked.expected((np.arange(ranked.n_items.max()) < k).astype(np.float64))
    return average(np.where(ranked.n_relevant > 0, hits / k, np.nan), "rows", empty)


def one_error(Y: BoolArray, scores: FloatArray | Rankings, empty: float = math.nan) -> MetricValue:
    """Compute how often the first label is irrelevant; `empty` is for rows without relevant labels."""
    precision = precision_at(Y, scores, 1, 1.0 - empty)
    return precision._replace(value=1.0 - precision.value)


def coverage(Y: BoolArray, scores: FloatArray | Rankings, empty: float = math.nan, first: int = 1) -> MetricValue:
    """Average the depth of the last relevant label of the rows, the top label being at depth `first`."""
    ranked = rankings_of(Y, scores).by_row
    depth = np.full(ranked.n_relevant.size, np.nan)
    # Items stand by rising score within a list, so the first one of each is the deepest.
    nonempty = ranked.n_relevant > 0
    depth[nonempty] = ranked.through[(np.cumsum(ranked.n_relevant) - ranked.n_relevant)[nonempty]]
    return average(depth - 1 + first, "rows", empty)


def ndcg_at(Y: BoolArray, scores: FloatArray | Rankings, k: int, empty: float = math.nan) -> MetricValue:
    """Average the normalised discounted gain of the first `k` labels; `empty` is for rows without relevant labels."""
    _check_depth(k)
    ranked = rankings_of(Y, scores).by_row
    place = np.arange(ranked.n_items.max())
    discounts = np.where(place < k, 1.0 / np.log2(place + 2.0), 0.0)
    best = np.concatenate([[0.0], np.cumsum(discounts)])[ranked.n_relevant]
    return average(ratio(ranked.expected(discounts), best), "rows", empty)


def _check_depth(k: int) -> None:
    if k < 1:
        raise ValueError(f"k must be at least 1, found {k}")
