"""Fitted thresholds. All but the top-k kinds predict the labels whose score strictly exceeds the threshold."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray, as_features
from mlrank.labels import LabelMatrix, TopScores, chosen_labels, row_counts

__all__ = [
    "CUTS",
    "BoundedCut",
    "CountedSets",
    "FeatureCut",
    "LabelCut",
    "OracleCut",
    "ScoreCut",
    "ShareCut",
    "TopCut",
    "check_scores",
    "counted_best",
    "counted_sets",
    "label_sets",
    "looks_at_truth",
]


def check_scores(scores: FloatArray, Y: BoolArray | None = None, X: Features | None = None) -> None:
    """Raise ValueError unless `scores` is a matrix of finite numbers and `Y` and `X`, where given, fit it."""
    if scores.ndim != 2:
        raise ValueError(f"scores must have two dimensions, found {scores.ndim}")
    if scores.dtype.kind != "f":
        raise ValueError(f"scores must be real numbers, found {scores.dtype}")
    finite = np.isfinite(scores)
    if not finite.all():
        wrong = np.argwhere(~finite)
        row, label = wrong[0]
        raise ValueError(f"scores has {len(wrong)} entries that are not finite, the first in row {row}, label {label}")
    if Y is not None and (Y.dtype != np.bool_ or Y.shape != scores.shape):
        raise ValueError(f"Y must be bool of the shape of scores, {scores.shape}, found {Y.dtype} of shape {Y.shape}")
    if X is not None and X.shape[0] != scores.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows, scores has {scores.shape[0]}")


@dataclass(frozen=True)
class LabelCut:
    """One threshold per label.

    Parameters
    ----------
    thresholds : (n_labels,) ndarray
        May be infinite: the label is then never (inf) or always (-inf) predicted.
    """

    thresholds: FloatArray

    def __call__(self, scores: FloatArray, X: Features, Y: BoolArray | None = None) -> BoolArray:
        """Predict the labels whose score exceeds the threshold of the label."""
        check_scores(scores)
        _check_width(scores, self.thresholds.size)
        return np.asarray(scores > self.thresholds)

    def of_best(self, best: TopScores, sizes: IntArray) -> BoolArray:
        """Return which of the best labels of each row exceed their threshold."""
        return np.asarray(best.scores > self.thresholds[best.labels])

    def arrays(self) -> Mapping[str, FloatArray]:
        """Return `thresholds`."""
        return {"thresholds": self.thresholds}

    def meta(self) -> Mapping[str, object]:
        """Return the kind of cut."""
        return {"cut": "label"}


@dataclass(frozen=True)
class FeatureCut:
    """One threshold per row, ``x @ coef + intercept``.

    Parameters
    ----------
    coef : (n_features,) ndarray
    intercept : float
    n_used : int
        Rows with a target, to which it was fitted; with none the threshold is 0.
    optimality : float
        Relative duality gap of the regression.
    converged : bool
        Whether that reached the tolerance.
    """

    coef: FloatArray
    intercept: float
    n_used: int
    optimality: float
    converged: bool

    def __call__(self, scores: FloatArray, X: Features, Y: BoolArray | None = None) -> BoolArray:
        """Predict the labels whose score exceeds the threshold of the row."""
        check_scores(scores, X=X)
        return np.asarray(scores > (np.asarray(as_features(X) @ self.coef) + self.intercept)[:, None])

    def arrays(self) -> Mapping[str, FloatArray]:
        """Return `coef`."""
        return {"coef": self.coef}

    def meta(self) -> Mapping[str, object]:
        """Return the kind of cut, its intercept and how the regression went."""
        return {
            "cut": "feature",
            "intercept": self.intercept,
            "n_used": self.n_used,
            "optimality": self.optimality,
            "converged": self.converged,
        }


@dataclass(frozen=True)
class ScoreCut:
    """One threshold per row, ``scores @ coef + intercept``.

    Parameters
    ----------
    coef : (n_labels,) ndarray
    intercept : float
    n_used : int
        Rows with a target, to which it was fitted; with none the threshold is 0.
    """

    coef: FloatArray
    intercept: float
    n_used: int

    def __call__(self, scores: FloatArray, X: Features, Y: BoolArray | None = None) -> BoolArray:
        """Predict the labels whose score exceeds the threshold of the row."""
        check_scores(scores)
        _check_width(scores, self.coef.size)
        return np.asarray(scores > (scores @ self.coef + self.intercept)[:, None])

    def arrays(self) -> Mapping[str, FloatArray]:
        """Return `coef`."""
        return {"coef": self.coef}

    def meta(self) -> Mapping[str, object]:
        """Return the kind of cut, its intercept and the number of rows fitted to."""
        return {"cut": "score", "intercept": self.intercept, "n_used": self.n_used}


@dataclass(frozen=True)
class ShareCut:
    """A share of the rows for each label, the best scored of those that are cut together.

    Parameters
    ----------
    shares : (n_labels,) ndarray of numbers from 0 to 1
    """

    shares: FloatArray
    TOGETHER: ClassVar[bool] = True

    def __call__(self, scores: FloatArray, X: Features, Y: BoolArray | None = None) -> BoolArray:
        """Predict each label for its share of these rows, ties by lower row index."""
        check_scores(scores)
        _check_width(scores, self.shares.size)
        order = np.argsort(-scores, axis=0, kind="stable")
        taken = np.arange(len(scores))[:, None] < np.rint(len(scores) * self.shares)
        found = np.zeros(scores.shape, np.bool_)
        np.put_along_axis(found, order, taken, axis=0)
        return found

    def arrays(self) -> Mapping[str, FloatArray]:
        """Return `shares`."""
        return {"shares": self.shares}

    def meta(self) -> Mapping[str, object]:
        """Return the kind of cut."""
        return {"cut": "share"}


@dataclass(frozen=True)
class TopCut:
    """The `k` best scored labels of every row, ties by lower label index."""

    k: int

    def __call__(self, scores: FloatArray, X: Features, Y: BoolArray | None = None) -> BoolArray:
        """Predict `k` labels per row."""
        check_scores(scores)
        if self.k > scores.shape[1]:
            raise ValueError(f"top_k with k={self.k} needs that many labels, found {scores.shape[1]}")
        return _best(scores, np.full(scores.shape[0], self.k))

    def of_best(self, best: TopScores, sizes: IntArray) -> BoolArray:
        """Return the first `k` of the best labels of each row."""
        return _first(best, np.full(len(best.labels), self.k))

    def arrays(self) -> Mapping[str, FloatArray]:
        """Return no arrays."""
        return {}

    def meta(self) -> Mapping[str, object]:
        """Return the kind of cut and `k`."""
        return {"cut": "top", "k": self.k}


@dataclass(frozen=True)
class OracleCut:
    """As many of the best scored labels of a row as it truly has, ties by lower label index."""

    def __call__(self, scores: FloatArray, X: Features, Y: BoolArray | None = None) -> BoolArray:
        """Predict ``Y[i].sum()`` labels for row i."""
        if Y is None:
            raise ValueError("oracle_size needs the true labels Y of the rows it decides on")
        check_scores(scores, Y)
        return _best(scores, np.count_nonzero(Y, axis=1))

    def of_best(self, best: TopScores, sizes: IntArray) -> BoolArray:
        """Return as many of the best labels of each row as it truly has."""
        return _first(best, sizes)

    def arrays(self) -> Mapping[str, FloatArray]:
        """Return no arrays."""
        return {}

    def meta(self) -> Mapping[str, object]:
        """Return the kind of cut."""
        return {"cut": "oracle"}


@dataclass(frozen=True)
class BoundedCut:
    """The label sets of another cut, filled up and cut down to a number of labels by the order of scores.

    Parameters
    ----------
    base : fitted cut
    min_labels : int
        A row that has fewer gets the best scored of its other labels besides; all labels where there are fewer.
    max_labels : int or None
        A row that has more keeps its best scored ones. Ties go to the lower label index.
    """

    base: Any
    min_labels: int
    max_labels: int | None

    def __post_init__(self) -> None:
        least, most = self.min_labels, self.min_labels if self.max_labels is None else self.max_labels
        if type(least) is not int or type(most) is not int or not 0 <= least <= most:
            raise ValueError(f"no bounds on labels: {self.min_labels!r} to {self.max_labels!r}")

    @property
    def TOGETHER(self) -> bool:
        """Whether the other cut decides over all rows together."""
        return bool(getattr(self.base, "TOGETHER", False))

    def __call__(self, scores: FloatArray, X: Features, Y: BoolArray | None = None) -> BoolArray:
        """Predict what the other cut predicts, within the bounds."""
        return self.within(self.base(scores, X, Y), scores)

    def within(self, sets: BoolArray, scores: FloatArray) -> BoolArray:
        """Return label sets (n_samples, n_labels) within the bounds."""
        sizes = np.count_nonzero(sets, axis=1)
        bounded = np.clip(sizes, self.min_labels, self.max_labels)
        rows = np.flatnonzero(bounded != sizes)
        if not rows.size:
            return sets
        # The labels of the set come first, then the others, both by falling scores: a sort that keeps ties in order.
        order = np.argsort(-scores[rows], axis=1, kind="stable")
        outside = ~np.take_along_axis(sets[rows], order, axis=1)
        order = np.take_along_axis(order, np.argsort(outside, axis=1, kind="stable"), axis=1)
        changed = np.zeros(order.shape, np.bool_)
        np.put_along_axis(changed, order, np.arange(order.shape[1]) < bounded[rows, None], axis=1)
        found = sets.copy()
        found[rows] = changed
        return found

    def within_best(self, chosen: BoolArray) -> BoolArray:
        """Return the choice among the best labels of each row, which stand by falling scores, within the bounds."""
        bounded = np.clip(np.count_nonzero(chosen, axis=1), self.min_labels, self.max_labels)
        order = np.argsort(~chosen, axis=1, kind="stable")
        found = np.zeros(chosen.shape, np.bool_)
        np.put_along_axis(found, order, np.arange(chosen.shape[1]) < bounded[:, None], axis=1)
        return found

    def arrays(self) -> Mapping[str, FloatArray]:
        """Return no arrays: the other cut is stored as a part of its own."""
        return {}

    def meta(self) -> Mapping[str, object]:
        """Return the kind of cut and the bounds."""
        return {"cut": "bounded", "min_labels": self.min_labels, "max_labels": self.max_labels}


def looks_at_truth(cut: Any) -> bool:
    """Return whether a cut needs the true labels of the rows that it decides on."""
    return isinstance(cut.base if isinstance(cut, BoundedCut) else cut, OracleCut)


class CountedSets(NamedTuple):
    """Label sets, dense or sparse, and how many rows the bounds of a cut gave more labels and fewer."""

    sets: LabelMatrix
    n_filled: int = 0
    n_shortened: int = 0


def counted_sets(
    cut: Any, scores: FloatArray, X: Features, Y: BoolArray | None = None, known: BoolArray | None = None
) -> CountedSets:
    """Return what a cut predicts; an oracle alone is shown the true labels `Y`, and ranks those not `known` last."""
    if isinstance(cut, BoundedCut):
        free = label_sets(cut.base, scores, X, Y, known)
        sets = cut.within(free, scores)
        more = np.count_nonzero(sets, axis=1) - np.count_nonzero(free, axis=1)
        return CountedSets(sets, int(np.count_nonzero(more > 0)), int(np.count_nonzero(more < 0)))
    if not isinstance(cut, OracleCut):
        sets = np.asarray(cut(scores, X))
        if sets.dtype != np.bool_ or sets.shape != scores.shape:
            found = f"{sets.dtype} of shape {sets.shape}"
            raise ValueError(f"a cut must return bool label sets of shape {scores.shape}, found {found}")
        return CountedSets(sets)
    if known is not None:
        scores = np.where(known, scores, scores.min() - 1.0)
    return CountedSets(cut(scores, X, Y))


def label_sets(
    cut: Any, scores: FloatArray, X: Features, Y: BoolArray | None = None, known: BoolArray | None = None
) -> BoolArray:
    """Return the label sets of `counted_sets`."""
    sets: BoolArray = counted_sets(cut, scores, X, Y, known).sets
    return sets


def counted_best(cut: Any, best: TopScores, Y: LabelMatrix) -> tuple[BoolArray, CountedSets]:
    """Return which of the best labels of each row a cut predicts, (n_rows, m), and as sparse label sets.

    A label beyond the best ones is not predicted. An oracle alone is shown the true labels `Y`.

    Raises
    ------
    ValueError
        If the cut needs all scores, or a row may get more labels than there are best ones.
    """
    bare = cut.base if isinstance(cut, BoundedCut) else cut
    if not hasattr(bare, "of_best"):
        raise ValueError(f"a cut of the kind {type(bare).__name__} needs all scores, not the best of each row alone")
    there = best.labels >= 0
    free = bare.of_best(best, row_counts(Y)) & there
    chosen = cut.within_best(free) & there if isinstance(cut, BoundedCut) else free
    more = np.count_nonzero(chosen, axis=1) - np.count_nonzero(free, axis=1)
    sets = chosen_labels(best, chosen, Y.shape[1])
    return chosen, CountedSets(sets, int(np.count_nonzero(more > 0)), int(np.count_nonzero(more < 0)))


# Cuts by what their ``meta()["cut"]`` says.
CUTS: Mapping[str, type[Any]] = {
    "label": LabelCut,
    "feature": FeatureCut,
    "score": ScoreCut,
    "share": ShareCut,
    "top": TopCut,
    "oracle": OracleCut,
    "bounded": BoundedCut,
}


def _best(scores: FloatArray, sizes: np.ndarray[Any, Any]) -> BoolArray:
    """Mark the `sizes[i]` best scores of row i; the stable sort puts lower label indices first among equal ones."""
    order = np.argsort(-scores, axis=1, kind="stable")
    chosen = np.zeros(scores.shape, dtype=np.bool_)
    np.put_along_axis(chosen, order, np.arange(scores.shape[1]) < sizes[:, None], axis=1)
    return chosen


def _first(best: TopScores, sizes: IntArray) -> BoolArray:
    return np.asarray(np.arange(best.labels.shape[1]) < sizes[:, None])


def _check_width(scores: FloatArray, n_labels: int) -> None:
    if scores.shape[1] != n_labels:
        raise ValueError(f"the cut was fitted to {n_labels} labels, scores has {scores.shape[1]}")
