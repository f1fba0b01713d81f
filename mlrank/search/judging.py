"""What a fit makes of its test rows: scores, label sets, metrics, and the arrays that a run stores of them.

Of labels that are held sparse the best scores of each row stand for all: no array here has an entry for each row and
label then.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray
from mlrank.labels import MOST_BEST, TopScores, label_counts
from mlrank.metrics import METRICS, MetricValue, evaluate, search_value
from mlrank.metrics.definitions import SearchValue
from mlrank.records.run import SetsInfo
from mlrank.search.crossfit import check_shape
from mlrank.search.task_data import TaskRows
from mlrank.solvers import TrainingSet
from mlrank.solvers.models import asked_and_seen, top_scores
from mlrank.thresholds.cuts import CountedSets, check_scores, counted_best, counted_sets, label_sets

__all__ = ["Fitted", "TestResult", "judged", "predict", "searched_value", "sets_info"]


@dataclass(frozen=True)
class Fitted:
    """A model with the projection before it and the calibration after it (or none), its cut, and their seconds."""

    model: Any
    projection: Any
    calibration: Any
    cut: Any
    fit_seconds: float
    threshold_seconds: float

    def scores(self, rows: TrainingSet) -> tuple[FloatArray, Features]:
        """Return the scores of rows, calibrated if that is asked for, and the features that the model saw."""
        asked, seen = asked_and_seen(rows.X, self.projection, self.model)
        scores = self.model.decision_function(asked)
        check_shape(self.model, scores, rows)
        return scores if self.calibration is None else self.calibration(scores), seen

    def best(self, X: Features, n_labels: int) -> TopScores:
        """Return the best scored labels of each row."""
        if self.calibration is not None:
            raise ValueError("a calibration is fitted to all scores, of which there are too many")
        asked, _ = asked_and_seen(X, self.projection, self.model)
        return top_scores(self.model, asked, MOST_BEST, n_labels)


@dataclass(frozen=True)
class TestResult:
    """What came of the test rows.

    metrics : by name
    sets : what the cut made of the rows
    arrays : what the run stores
    n_best : how many of the best scores of a row they hold; None: all scores
    """

    metrics: Mapping[str, MetricValue]
    sets: SetsInfo
    arrays: Mapping[str, np.ndarray[Any, Any]]
    n_best: int | None = None


def searched_value(fitted: Fitted, rows: TaskRows, metric: str) -> SearchValue:
    """Return the value by which a search compares a fit."""
    test, predicted = rows.test, None
    if issparse(test.Y):
        best: Any = fitted.best(test.X, test.n_labels)
        predicted = counted_best(fitted.cut, best, test.Y)[1].sets if METRICS[metric].needs == "sets" else best
        return search_value(metric, test.Y, predicted, None, rows.propensities)
    scores, X = fitted.scores(test)
    check_scores(scores)  # a cut, which there may be none of, would look at them too
    predicted = scores
    if METRICS[metric].needs == "sets":
        predicted = label_sets(fitted.cut, scores, X, test.Y, test.known)
    return search_value(metric, test.Y, predicted, test.known, rows.propensities)


class Predicted(NamedTuple):
    """Scores of the test rows, all or the best of each; which of the best ones are predicted; and the label sets."""

    scores: FloatArray | TopScores
    chosen: BoolArray | None
    counted: CountedSets


def predict(fitted: Fitted, rows: TaskRows) -> Predicted:
    """Score and cut the test rows."""
    test = rows.test
    if issparse(test.Y):
        best = fitted.best(test.X, test.n_labels)
        return Predicted(best, *counted_best(fitted.cut, best, test.Y))
    scores, X = fitted.scores(test)
    return Predicted(scores, None, counted_sets(fitted.cut, scores, X, test.Y, test.known))


def judged(predicted: Predicted, rows: TaskRows, numbers: IntArray, own_metrics: tuple[str, ...]) -> TestResult:
    """Compute every metric of the test rows, whose numbers in the data are given."""
    test, counted = rows.test, predicted.counted
    arrays: dict[str, Any] = {"rows": numbers}
    if rows.propensities is not None:
        arrays["propensities"] = rows.propensities
    if isinstance(best := predicted.scores, TopScores):
        metrics = evaluate(test.Y, best, counted.sets, propensities=rows.propensities)
        arrays |= {"labels": best.labels, "scores": best.scores, "chosen": predicted.chosen}
        arrays |= {"true_labels": test.Y.indices, "true_starts": test.Y.indptr}
        return TestResult(metrics, sets_info(test, counted), arrays, best.labels.shape[1])
    scores = predicted.scores
    metrics = evaluate(test.Y, scores, counted.sets, test.known, own_metrics, rows.propensities)
    arrays = {"scores": scores, "Y_pred": counted.sets, "Y_true": test.Y, **arrays}
    if test.known is not None:
        arrays["known"] = test.known
    return TestResult(metrics, sets_info(test, counted), arrays)


def sets_info(test: TrainingSet, counted: CountedSets) -> SetsInfo:
    """Return what the cut made of the test rows."""
    n_rows, n_labels = test.Y.shape
    n_known = np.full(n_labels, n_rows) if test.known is None else np.count_nonzero(test.known, axis=0)
    predicted, positives = label_counts(counted.sets), label_counts(test.Y)
    always = (predicted == n_rows) & (positives < n_known)
    never = (predicted == 0) & (positives > 0)
    return SetsInfo(n_rows, n_labels, counted.n_filled, counted.n_shortened, int(always.sum()), int(never.sum()))
