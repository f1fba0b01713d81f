"""Fitted thresholds. All but the top-k kinds predict the labels whose score strictly exceeds the threshold."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mlrank.arrays import BoolArray, Features, FloatArray, as_features

__all__ = [
    "CUTS",
    "FeatureCut",
    "LabelCut",
    "OracleCut",
    "ScoreCut",
    "ShareCut",
    "TopCut",
    "check_scores",
    "label_sets",
]


def check_scores(scores: FloatArray, Y: BoolArray | None = None, X: Features | None = None) -> None:
    """Raise ValueError unless `scores` is a matrix of finite numbers and `Y` and `X`, where given, fit it."""
    if scores.ndim != 2:
        raise ValueError(f"scores must have two dimensions, found {scores.ndim}")
    if scores.dtype.kind != "f":
        raise ValueError(f"scores must be real numbers, found {scores.dtype}")
    wrong = np.argwhere(~np.isfinite(scores))
    if wrong.size:
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

    def arrays(self) -> Mapping[str, FloatArray]:
        """Return no arrays."""
        return {}

    def meta(self) -> Mapping[str, object]:
        """Return the kind of cut."""
        return {"cut": "oracle"}


def label_sets(
    cut: Any, scores: FloatArray, X: Features, Y: BoolArray | None = None, known: BoolArray | None = None
) -> BoolArray:
    """Return what a cut predicts; an oracle alone is shown the true labels `Y`, and ranks those not `known` last."""
    if not isinstance(cut, OracleCut):
        return np.asarray(cut(scores, X))
    if known is not None:
        scores = np.where(known, scores, scores.min() - 1.0)
    return cut(scores, X, Y)


# Cuts by what their ``meta()["cut"]`` says.
CUTS: Mapping[str, type[Any]] = {
    "label": LabelCut,
    "feature": FeatureCut,
    "score": ScoreCut,
    "share": ShareCut,
    "top": TopCut,
    "oracle": OracleCut,
}


def _best(scores: FloatArray, sizes: np.ndarray[Any, Any]) -> BoolArray:
    """Mark the `sizes[i]` best scores of row i; the stable sort puts lower label indices first among equal ones."""
    order = np.argsort(-scores, axis=1, kind="stable")
    chosen = np.zeros(scores.shape, dtype=np.bool_)
    np.put_along_axis(chosen, order, np.arange(scores.shape[1]) < sizes[:, None], axis=1)
    return chosen


def _check_width(scores: FloatArray, n_labels: int) -> None:
    if scores.shape[1] != n_labels:
        raise ValueError(f"the cut was fitted to {n_labels} labels, scores has {scores.shape[1]}")
