"""The threshold strategies: frozen settings, ``fit(scores, Y, X) -> Cut``."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray, as_features
from mlrank.errors import not_among
from mlrank.thresholds.base import Cut
from mlrank.thresholds.cuts import FeatureCut, LabelCut, OracleCut, ScoreCut, TopCut, check_scores
from mlrank.thresholds.svr import linear_svr
from mlrank.thresholds.targets import TARGETS, between, without_unknown

__all__ = [
    "AdaptiveF",
    "Constant",
    "LstsqScores",
    "Natural",
    "OracleSize",
    "PerLabelF1",
    "SVRMidpoint",
    "SVRMinError",
    "TopK",
    "Zero",
]

# Scores of a ranking loss sum to about 0 over the labels; singular values below this fraction of the largest are noise.
RCOND = 1e-10
# Entries of a unit vector below this are rounding.
FAINT = 1e-12
# Scores that are largest within this of 1, up or down, are taken as they are.
USUAL = 1e4


@dataclass(frozen=True)
class Zero:
    """Predict the labels with a score above 0."""

    ORACLE: ClassVar[bool] = False
    FIT_ON: ClassVar[str] = "train"

    def fit(self, scores: FloatArray, Y: BoolArray, X: Features, known: BoolArray | None = None) -> Cut:
        """Return the cut; nothing is fitted."""
        check_scores(scores, Y, X)
        return self.unfitted(scores.shape[1])

    def unfitted(self, n_labels: int) -> Cut:
        """Return the cut for so many labels."""
        return LabelCut(np.zeros(n_labels))


@dataclass(frozen=True)
class Constant:
    """Predict the labels with a score above `value`, the same for all labels.

    Parameters
    ----------
    value : float
        0.5 suits probabilities.
    """

    value: float = 0.5
    ORACLE: ClassVar[bool] = False
    FIT_ON: ClassVar[str] = "train"

    def __post_init__(self) -> None:
        _check_number("value", self.value)

    def fit(self, scores: FloatArray, Y: BoolArray, X: Features, known: BoolArray | None = None) -> Cut:
        """Return the cut; nothing is fitted."""
        check_scores(scores, Y, X)
        return self.unfitted(scores.shape[1])

    def unfitted(self, n_labels: int) -> Cut:
        """Return the cut for so many labels."""
        return LabelCut(np.full(n_labels, float(self.value)))


@dataclass(frozen=True)
class Natural:
    """Predict the labels with a score above the solver's natural cut: 0 for margins, 0.5 for probabilities and shares.

    It is the default of every solver whose natural cut is not always 0; for the others `zero` is the same. Records and
    tables give its value.
    """

    ORACLE: ClassVar[bool] = False
    FIT_ON: ClassVar[str] = "train"

    def at(self, natural_cut: float) -> Constant:
        """Return the threshold of a solver with this natural cut."""
        return Constant(natural_cut)

    def fit(self, scores: FloatArray, Y: BoolArray, X: Features, known: BoolArray | None = None) -> Cut:
        """Raise ValueError: scores do not say which solver they are of."""
        raise ValueError("natural is the cut of a solver: natural.at(Capabilities.cut_of(solver, train)) has its value")


@dataclass(frozen=True)
class SVRMidpoint:
    """Learn a threshold h(x) by linear support vector regression on the features.

    Rank-HLapSVM paper, section 3.4. The target of a row is the middle between its lowest relevant and highest
    irrelevant score; rows without relevant or without irrelevant labels have none and are dropped, and if no row has
    one, h = 0.
    The bias of the regression is not penalised. Predicted are the labels with f > h. A fit costs a few ordinary least
    squares (see `mlrank.thresholds.svr`).

    Parameters
    ----------
    C, epsilon : float
        Of the regression; the paper names none.
    target : "midpoint", "ew" or "min_error"
        As printed, or one of two readings of the target of Elisseeff and Weston that the paper cites
        (`mlrank.thresholds.targets`).
    tol : float
        Relative duality gap to reach; the cut says whether it was.
    """

    C: float = 1.0
    epsilon: float = 0.1
    target: str = "midpoint"
    tol: float = 1e-8
    ORACLE: ClassVar[bool] = False
    FIT_ON: ClassVar[str] = "train"

    def __post_init__(self) -> None:
        _check_number("C", self.C, above=0)
        _check_number("epsilon", self.epsilon, least=0)
        _check_number("tol", self.tol, above=0)
        _check_target(self.target)

    def fit(self, scores: FloatArray, Y: BoolArray, X: Features, known: BoolArray | None = None) -> Cut:
        """Fit to scores (n_samples, n_labels), their true labels and features."""
        features = as_features(X)
        check_scores(scores, Y, features)
        h = TARGETS[self.target](scores, Y, known)
        used = np.flatnonzero(~np.isnan(h))
        if not used.size:
            return FeatureCut(np.zeros(features.shape[1]), 0.0, 0, 0.0, True)
        fit = linear_svr(as_features(features[used]), h[used], self.C, self.epsilon, self.tol)
        return FeatureCut(fit.coef, fit.intercept, used.size, fit.optimality, fit.optimality <= self.tol)


@dataclass(frozen=True)
class SVRMinError:
    """Learn a threshold h(x) with the fewest wrong labels on the training rows by the regression of SVRMidpoint.

    The Rank-HLapSVM paper cites Elisseeff and Weston for its target and prints another; this is theirs,
    in the form that their method is commonly programmed in (`mlrank.thresholds.targets.min_error`).

    Parameters
    ----------
    C, epsilon, tol : float
        As for SVRMidpoint.
    """

    C: float = 1.0
    epsilon: float = 0.1
    tol: float = 1e-8
    ORACLE: ClassVar[bool] = False
    FIT_ON: ClassVar[str] = "train"

    def __post_init__(self) -> None:
        self._regression()

    def _regression(self) -> SVRMidpoint:
        return SVRMidpoint(self.C, self.epsilon, "min_error", self.tol)

    def fit(self, scores: FloatArray, Y: BoolArray, X: Features, known: BoolArray | None = None) -> Cut:
        """Fit to scores (n_samples, n_labels), their true labels and features."""
        return self._regression().fit(scores, Y, X, known)


@dataclass(frozen=True)
class LstsqScores:
    """Learn a threshold h(f) by least squares on the scores themselves and a constant.

    Elisseeff and Weston, NIPS 2001. The solution of least norm is taken, the constant's coefficient included, because
    the scores of ranking methods are linearly dependent. Rows without relevant or without irrelevant labels have no
    target and are dropped; if no row has one, h = 0. Predicted are the labels with f > h.

    Parameters
    ----------
    target : "min_error", "ew" or "midpoint"
        The threshold with the fewest wrong labels in one of two readings, or the middle between lowest relevant and
        highest irrelevant score (`mlrank.thresholds.targets`).
    """

    target: str = "min_error"
    ORACLE: ClassVar[bool] = False
    FIT_ON: ClassVar[str] = "train"

    def __post_init__(self) -> None:
        _check_target(self.target)

    def fit(self, scores: FloatArray, Y: BoolArray, X: Features, known: BoolArray | None = None) -> Cut:
        """Fit to scores (n_samples, n_labels) and their true labels."""
        check_scores(scores, Y, X)
        h = TARGETS[self.target](scores, Y, known)
        used = ~np.isnan(h)
        if not used.any():
            return ScoreCut(np.zeros(scores.shape[1]), 0.0, 0)
        design = np.column_stack([scores[used], np.ones(np.count_nonzero(used))])
        solution = _shortest_solution(design, h[used])
        return ScoreCut(solution[:-1], float(solution[-1]), len(design))


def _shortest_solution(design: FloatArray, target: FloatArray) -> FloatArray:
    """Return the least squares solution of least norm; columns may be on any scale."""
    largest = np.abs(design).max(axis=0)
    if np.all((largest == 0) | ((largest > 1 / USUAL) & (largest < USUAL))):
        solution: FloatArray = np.linalg.lstsq(design, target, rcond=RCOND)[0].astype(np.float64, copy=False)
        return solution
    unit = np.where(largest > 0, largest, 1.0)
    left, values, right = np.linalg.svd(design / unit, full_matrices=True)
    kept = int((values > RCOND * values[0]).sum())
    solution = (right[:kept].T @ ((left[:, :kept].T @ target) / values[:kept])) / unit
    # Columns were scaled, so what is dependent must be made shortest on the scale that was given.
    # Rounding must not grow with them.
    free = (np.where(np.abs(right[kept:]) > FAINT, right[kept:], 0.0) / unit).T
    size = np.linalg.norm(free, axis=0)
    free = np.linalg.qr(free / np.where(size > 0, size, 1.0))[0]
    return np.asarray(solution - free @ (free.T @ solution))


@dataclass(frozen=True)
class PerLabelF1:
    """Choose for each label the threshold with the largest F1, that of a rare label near to a common one.

    Candidates are inf, the middles between neighbouring distinct scores of the label, -inf, and the one threshold for
    all labels with the largest pooled F1. Of equally good ones the largest is taken. A label without positives is never
    predicted. Fitted to held-out scores unless set otherwise, because scores of the training rows themselves are too
    well separated. Cost: one sort per label and one of all scores.

    A label with few positives may reach its largest F1 where every row gets it. So each is judged together with
    `shrinkage` more positives, and a part of the other entries, that are spread over the scores like those of all
    labels: F1 = 2 (TP + w TP*) / (TP + FP + w (TP* + FP*) + P + w P*) with the counts of all labels P* and
    w = shrinkage / P*. This supposes that scores mean the same for all labels.

    Parameters
    ----------
    shrinkage : float
        With 0 each label stands alone.
    """

    shrinkage: float = 5.0
    ORACLE: ClassVar[bool] = False
    FIT_ON: ClassVar[str] = "heldout"

    def __post_init__(self) -> None:
        _check_number("shrinkage", self.shrinkage, least=0)

    def fit(self, scores: FloatArray, Y: BoolArray, X: Features, known: BoolArray | None = None) -> Cut:
        """Fit to scores (n_samples, n_labels) and their true labels."""
        check_scores(scores, Y, X)
        if self.shrinkage == 0:
            return LabelCut(_best_for_each_label(scores, Y, known, alpha=0.5))
        return LabelCut(_shrunk_for_each_label(scores, Y, known, self.shrinkage))


@dataclass(frozen=True)
class AdaptiveF:
    """Choose for each label the threshold with the largest weighted F of precision p and recall r on the training rows.

    The adaptive decision boundary of the BKNN paper, eq. 6 and 7: F = 1 / (alpha / p + (1 - alpha) / r), half of what
    is printed, which changes no choice. Candidates and ties are those of PerLabelF1 with shrinkage 0,
    which this is at alpha = 0.5 but for the scores it is fitted to. Models of neighbours leave a training row out of
    its own neighbours.

    Parameters
    ----------
    alpha : float
        Weight of the precision, from 0 to 1.
    """

    alpha: float = 0.5
    ORACLE: ClassVar[bool] = False
    FIT_ON: ClassVar[str] = "train"

    def __post_init__(self) -> None:
        _check_number("alpha", self.alpha, least=0)
        if self.alpha > 1:
            raise ValueError(f"alpha must be a number of at most 1, found {self.alpha!r}")

    def fit(self, scores: FloatArray, Y: BoolArray, X: Features, known: BoolArray | None = None) -> Cut:
        """Fit to scores (n_samples, n_labels) and their true labels."""
        check_scores(scores, Y, X)
        return LabelCut(_best_for_each_label(scores, Y, known, self.alpha))


@dataclass(frozen=True)
class TopK:
    """Predict the `k` best scored labels of every row, ties by lower label index.

    Parameters
    ----------
    k : int
    """

    k: int = 1
    ORACLE: ClassVar[bool] = False
    FIT_ON: ClassVar[str] = "train"

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, (int, np.integer)) or self.k < 1:
            raise ValueError(f"k must be a whole number of at least 1, found {self.k!r}")

    def check(self, n_labels: int) -> None:
        """Raise ValueError if there are fewer than `k` labels."""
        if self.k > n_labels:
            raise ValueError(f"top_k with k={self.k} needs that many labels, found {n_labels}")

    def fit(self, scores: FloatArray, Y: BoolArray, X: Features, known: BoolArray | None = None) -> Cut:
        """Return the cut; nothing is fitted.

        Raises
        ------
        ValueError
            If there are fewer than `k` labels.
        """
        check_scores(scores, Y, X)
        return self.unfitted(scores.shape[1])

    def unfitted(self, n_labels: int) -> Cut:
        """Return the cut for so many labels; raise ValueError as `check` does."""
        self.check(n_labels)
        return TopCut(int(self.k))


@dataclass(frozen=True)
class OracleSize:
    """Predict as many labels as the row truly has, the best scored ones, ties by lower label index.

    It reads the labels of the rows it decides on, so its results are an upper reference and not a method's.
    """

    ORACLE: ClassVar[bool] = True
    FIT_ON: ClassVar[str] = "train"

    def fit(self, scores: FloatArray, Y: BoolArray, X: Features, known: BoolArray | None = None) -> Cut:
        """Return the cut; nothing is fitted."""
        check_scores(scores, Y, X)
        return self.unfitted(scores.shape[1])

    def unfitted(self, n_labels: int) -> Cut:
        """Return the cut for so many labels."""
        return OracleCut()


def _best_for_each_label(scores: FloatArray, Y: BoolArray, known: BoolArray | None, alpha: float) -> FloatArray:
    """Return of each label the largest of the thresholds with the largest weighted F."""
    known = np.ones_like(Y) if known is None else known
    candidates, hits, predicted, apart = _curves(scores, Y, known)
    # 1 / (alpha / p + (1 - alpha) / r) with p = hits / predicted and r = hits / positives; where there are hits this
    # divides by 1 or more, and where there are none it is 0.
    f = hits / np.maximum(alpha * predicted + (1 - alpha) * (Y & known).sum(axis=0), 1.0)
    f[~apart] = -1.0
    return np.asarray(np.take_along_axis(candidates, f.argmax(axis=0)[None], axis=0)[0])


def _shrunk_for_each_label(scores: FloatArray, Y: BoolArray, known: BoolArray | None, shrinkage: float) -> FloatArray:
    """Return of each label the largest of the thresholds with the largest F1, `shrinkage` positives of all added."""
    known = np.ones_like(Y) if known is None else known
    Y = Y & known
    positives, every, relevant = Y.sum(axis=0), np.sort(scores[known]), np.sort(scores[Y])
    if not relevant.size:
        return np.full(Y.shape[1], np.inf)
    common = _best_for_each_label(scores[known][:, None], Y[known][:, None], None, alpha=0.5)[0]
    candidates, hits, predicted, apart = _curves(scores, Y, known)
    above = known & (scores > common)
    candidates = np.vstack([candidates, np.full_like(candidates[:1], common)])
    hits, predicted = np.vstack([hits, (above & Y).sum(axis=0)]), np.vstack([predicted, above.sum(axis=0)])
    weight = shrinkage / relevant.size
    all_hits = relevant.size - np.searchsorted(relevant, candidates, side="right")
    all_predicted = every.size - np.searchsorted(every, candidates, side="right")
    f = 2 * (hits + weight * all_hits) / (predicted + weight * all_predicted + positives + shrinkage)
    f[:-1][~apart] = -1.0
    best = np.where(f == f.max(axis=0), candidates, -np.inf).max(axis=0)
    return np.where(positives > 0, best, np.inf)


def _curves(scores: FloatArray, Y: BoolArray, known: BoolArray) -> tuple[FloatArray, IntArray, IntArray, BoolArray]:
    """Return the candidates of each label from inf down, known rows with the label and rows above them, and a mask.

    All are (n_samples + 1, n_labels); the mask is False for a candidate between equal scores, which cannot be parted.
    """
    scores, Y = without_unknown(scores, known, axis=0), Y & known
    order = np.argsort(-scores, axis=0)
    falling = np.take_along_axis(scores, order, axis=0)
    relevant, counted = (np.take_along_axis(part, order, axis=0) for part in (Y, known))
    edge = np.full((1, scores.shape[1]), np.inf)
    candidates = np.vstack([edge, between(falling[1:], falling[:-1]), -edge])
    # Row m of what follows: the m best rows predicted.
    hits, predicted = (np.pad(np.cumsum(part, axis=0), ((1, 0), (0, 0))) for part in (relevant, counted))
    apart = np.pad(falling[1:] != falling[:-1], ((1, 1), (0, 0)), constant_values=True)
    return candidates, hits.astype(np.int64), predicted.astype(np.int64), apart


def _check_number(name: str, value: Any, above: float = -np.inf, least: float = -np.inf) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and np.isfinite(value)
    if not (number and value > above and value >= least):
        words = f" of at least {least}" if np.isfinite(least) else f" above {above}" if np.isfinite(above) else ""
        raise ValueError(f"{name} must be a number{words}, found {value!r}")


def _check_target(target: str) -> None:
    if target not in TARGETS:
        raise ValueError(not_among("target", target, TARGETS))
