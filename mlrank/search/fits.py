"""Fitting and judging the points of a task, in whatever process it lands.

The rows are scaled and the solver's preparation made once for a task, then its points are fitted and scored.
"""

import time
import traceback
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mlrank.arrays import BoolArray, Features, FloatArray, take_rows
from mlrank.metrics import METRICS, evaluate
from mlrank.scaling import SCALERS
from mlrank.search.limits import time_limit
from mlrank.search.tasks import Point, Result, Task
from mlrank.solvers import TrainingSet
from mlrank.splits import kfold

__all__ = ["died", "refit", "work"]

# A task returns after this time and a fit, or after ten times its preparation, and is journalled as far as it got.
SLICE_SECONDS = 1.0
PREPARATIONS_PER_SLICE = 10
HELDOUT_FOLDS = 3
WARM_UP_ROWS = 20


@dataclass(frozen=True)
class Fitted:
    """A model with its cut and the seconds both took."""

    model: Any
    cut: Any
    fit_seconds: float
    threshold_seconds: float


def work(task: Task, X: Features, Y: BoolArray) -> list[Result]:
    """Fit and judge the points of a task, as many as fit into a slice of time; return one result for each.

    A failed fit is a result with its traceback. The points left over are the caller's to hand out again: so a long
    task is journalled as it goes, and other workers can take a part of it.
    """
    if task.refit:
        return [refit(task, X, Y)]
    started = time.perf_counter()
    try:
        rows = _Rows.scaled(task, X, Y)
    except Exception:  # rows that cannot be scaled fail every point
        return [Result(_failure(point), {}) for point in task.points]
    scaling_seconds = time.perf_counter() - started
    shelf = _Shelf(task, rows.train)
    results: list[Result] = []
    for point in task.points:
        results.append(Result(_attempt(task, rows, shelf, point), {}))
        overhead = scaling_seconds + shelf.prepare_seconds
        if time.perf_counter() - started > max(SLICE_SECONDS, PREPARATIONS_PER_SLICE * overhead):
            break
    return results


def died(task: Task, error: Exception) -> Result:
    """Return the result of a task whose worker did not survive it."""
    (point,) = task.points
    reason = f"the worker process died, perhaps for lack of memory ({type(error).__name__}: {error})"
    failure = {"key": point.key, "value": None, "error": reason}
    return Result(_failed_run() | {"error": reason} if task.refit else failure, {})


def _failure(point: Point) -> dict[str, Any]:
    return {"key": point.key, "value": None, "error": traceback.format_exc()}


def _failed_run() -> dict[str, Any]:
    return {"status": "failed", "error": None, "info": None, "metrics": {}, "changes": [], "time": {}}


def _attempt(task: Task, rows: "_Rows", shelf: "_Shelf", point: Point) -> dict[str, Any]:
    try:
        fitted = shelf.fit(point)
        scores = fitted.model.decision_function(rows.X_test)
        metric = METRICS[task.metric]
        predicted = scores if metric.needs == "scores" else _cut(task, fitted, scores, rows)
        value = float(metric.function(rows.Y_test, predicted).value)
    except Exception:  # any failure of a fit is data: it is stored, and the other fits go on
        return _failure(point)
    info = fitted.model.info
    return {
        "key": point.key,
        "error": None,
        "value": None if np.isnan(value) else value,
        "converged": info.converged,
        "optimality": info.optimality,
        "n_iter": info.n_iter,
        "time": {"fit": fitted.fit_seconds, "threshold": fitted.threshold_seconds},
    }


def refit(task: Task, X: Features, Y: BoolArray) -> Result:
    """Fit the single point of `task`; return what a run's record stores of the fit, and its arrays."""
    (point,) = task.points
    record = _failed_run()
    try:
        rows = _Rows.scaled(task, X, Y)
        _warm_up(task.chain.build(point), rows.train)
        fitted = _Shelf(task, rows.train).fit(point)
        started = time.perf_counter()
        scores = fitted.model.decision_function(rows.X_test)
        Y_pred = _cut(task, fitted, scores, rows)
        predict_seconds = time.perf_counter() - started
        found = evaluate(rows.Y_test, scores, Y_pred)
    except Exception:  # stored as a failed run; the other runs go on
        return Result(record | {"error": traceback.format_exc()}, {})
    record |= {
        "status": "done",
        "info": asdict(fitted.model.info),
        "metrics": {name: value._asdict() for name, value in found.items()},
        "changes": list(rows.notes),
        "time": {"fit": fitted.fit_seconds, "threshold": fitted.threshold_seconds, "predict": predict_seconds},
    }
    return Result(record, {"scores": scores, "Y_pred": Y_pred, "Y_true": rows.Y_test, "rows": task.test})


def _warm_up(solver: Any, train: TrainingSet) -> None:
    """Fit on a few rows, so that the time of compiling or loading code is not counted as the fit's."""
    head = np.arange(min(WARM_UP_ROWS, train.n_samples))
    # A few rows may be no problem at all; what counts is the fit that follows.
    with suppress(Exception):
        solver.fit(TrainingSet(take_rows(train.X, head), train.Y[head]))


def _cut(task: Task, fitted: Fitted, scores: FloatArray, rows: "_Rows") -> BoolArray:
    """Return the label sets; only an oracle is shown the true ones."""
    truth = (rows.Y_test,) if task.chain.threshold.ORACLE else ()
    Y_pred: BoolArray = fitted.cut(scores, rows.X_test, *truth)
    return Y_pred


@dataclass(frozen=True)
class _Rows:
    """The rows of a task, scaled by what its training part says."""

    train: TrainingSet
    X_test: Features
    Y_test: BoolArray
    notes: tuple[str, ...]

    @classmethod
    def scaled(cls, task: Task, X: Features, Y: BoolArray) -> "_Rows":
        X_train = take_rows(X, task.train)
        scaling = SCALERS[task.chain.scale]().fit(X_train)
        train = TrainingSet(scaling(X_train), Y[task.train])
        notes = (scaling.note, f"{scaling.n_constant} constant features not scaled" if scaling.n_constant else "")
        return cls(train, scaling(take_rows(X, task.test)), Y[task.test], tuple(filter(None, notes)))


class _Shelf:
    """Fits points on the same rows, keeping the preparation, and the last model while only the threshold changes."""

    def __init__(self, task: Task, train: TrainingSet) -> None:
        self.chain, self.train, self.limit = task.chain, train, task.time_limit
        self.prepare_seconds = 0.0
        self.prepared: tuple[Any, ...] = (None, None)
        self.last: tuple[Any, ...] = (None, None, None)

    def fit(self, point: Point) -> Fitted:
        """Return the model of a point and its cut."""
        with time_limit(self.limit):
            return self._fit(point)

    def _fit(self, point: Point) -> Fitted:
        solver = self.chain.build(point)
        if self.last[0] != point.settings:
            started = time.perf_counter()
            model = solver.fit(self.train, self._prepare(solver))
            seconds = time.perf_counter() - started
            self.last = (point.settings, model, seconds)
        _, model, seconds = self.last
        started = time.perf_counter()
        threshold = self.chain.threshold(**point.threshold_settings)
        scores, Y, X = self._threshold_data(solver, model, point)
        cut = threshold.fit(scores, Y, X)
        return Fitted(model, cut, seconds, time.perf_counter() - started)

    def _prepare(self, solver: Any) -> Any:
        if not hasattr(solver, "prepare"):
            return None
        shared = [getattr(solver, name) for name in getattr(solver, "SHARED", ())]
        if self.prepared[0] != shared:
            started = time.perf_counter()
            self.prepared = (shared, solver.prepare(self.train))
            self.prepare_seconds += time.perf_counter() - started
        return self.prepared[1]

    def _threshold_data(self, solver: Any, model: Any, point: Point) -> tuple[FloatArray, BoolArray, Features]:
        train = self.train
        if self.chain.threshold_scores == "train":
            return model.decision_function(train.X), train.Y, train.X
        scores = np.empty(train.Y.shape)
        for inner, held in kfold(train.Y, HELDOUT_FOLDS, point.seed, stratified=True):
            part = TrainingSet(take_rows(train.X, inner), train.Y[inner])
            scores[held] = solver.fit(part).decision_function(take_rows(train.X, held))
        return scores, train.Y, train.X
