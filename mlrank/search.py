"""Grid search and refit: the only module that starts jobs.

A task is one (fold, group of grid points): the rows are scaled and the solver's preparation made once, then every point
of the group is fitted and scored. Tasks run in worker processes with one BLAS thread each, also when there is only one
worker, so that results do not depend on the number of workers.
"""

import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray, take_rows
from mlrank.metrics import METRICS, evaluate
from mlrank.scaling import SCALERS
from mlrank.solvers import TrainingSet
from mlrank.splits import kfold

__all__ = ["Chain", "Point", "Task", "best_point", "execute", "groups", "refit", "search"]

# A task returns, and is journalled, as a whole: short ones lose little when a run is cut.
POINTS_PER_TASK = 4
HELDOUT_FOLDS = 3
WARM_UP_ROWS = 20


@dataclass(frozen=True)
class Point:
    """A grid point.

    settings, threshold_settings : of the solver and of the threshold
    key : of the trial or run it is for
    seed : of the fit; it comes from the solver's part of the key, so points that differ in the threshold share a fit
    """

    settings: Mapping[str, Any]
    threshold_settings: Mapping[str, Any]
    key: str
    seed: int


@dataclass(frozen=True)
class Chain:
    """What happens to scaled rows: a solver, a threshold, and the scores the threshold is fitted to."""

    solver: type[Any]
    threshold: type[Any]
    threshold_scores: str
    scale: str

    def build(self, point: Point) -> Any:
        """Return the solver with the point's settings; a solver that draws gets the point's seed."""
        seeded = "seed" in {field.name for field in fields(self.solver)} and "seed" not in point.settings
        return self.solver(**point.settings, **({"seed": point.seed} if seeded else {}))


@dataclass(frozen=True)
class Task:
    """Points to be fitted on the rows `train` and judged on the rows `test`.

    `metric` is the search's; `number` tells the caller which of its tasks a result belongs to.
    """

    chain: Chain
    points: tuple[Point, ...]
    train: IntArray
    test: IntArray
    metric: str
    number: int = 0


@dataclass(frozen=True)
class Fitted:
    """A model with its cut and the seconds both took."""

    model: Any
    cut: Any
    fit_seconds: float
    threshold_seconds: float


def groups(chain: Chain, points: Sequence[Point]) -> list[tuple[Point, ...]]:
    """Group points with equal SHARED settings, in order, at most POINTS_PER_TASK to a group."""
    shared = getattr(chain.solver, "SHARED", ())
    sorted_out: dict[str, list[Point]] = {}
    for point in points:
        solver = chain.build(point)
        sorted_out.setdefault(repr([getattr(solver, name) for name in shared]), []).append(point)
    return [
        tuple(members[start : start + POINTS_PER_TASK])
        for members in sorted_out.values()
        for start in range(0, len(members), POINTS_PER_TASK)
    ]


def execute(function: Callable[..., Any], tasks: Sequence[Any], shared: tuple[Any, ...], jobs: int) -> Iterator[Any]:
    """Yield ``function(task, *shared)`` for each task, in the order in which they finish."""
    if jobs == 1 or len(tasks) < 2:
        with threadpool_limits(1):
            yield from (function(task, *shared) for task in tasks)
        return
    with parallel_config(backend="loky", inner_max_num_threads=1):
        workers = Parallel(n_jobs=min(jobs, len(tasks)), return_as="generator_unordered", batch_size=1)
        yield from workers(delayed(function)(task, *shared) for task in tasks)


def search(task: Task, X: Features, Y: BoolArray) -> list[dict[str, Any]]:
    """Fit and judge every point of a task; a failed fit is a record with its traceback."""
    rows = _Rows.scaled(task, X, Y)
    shelf = _Shelf(task.chain, rows.train)
    return [_attempt(task, rows, shelf, point) for point in task.points]


def _attempt(task: Task, rows: "_Rows", shelf: "_Shelf", point: Point) -> dict[str, Any]:
    record = {"key": point.key, "value": None, "error": None}
    try:
        fitted = shelf.fit(point)
        scores = fitted.model.decision_function(rows.X_test)
        metric = METRICS[task.metric]
        predicted = scores if metric.needs == "scores" else _cut(task, fitted, scores, rows)
        value = float(metric.function(rows.Y_test, predicted).value)
    except Exception:  # any failure of a fit is data: it is stored, and the other fits go on
        return record | {"error": traceback.format_exc()}
    info = fitted.model.info
    return record | {
        "value": None if np.isnan(value) else value,
        "converged": info.converged,
        "optimality": info.optimality,
        "n_iter": info.n_iter,
        "time": {"fit": fitted.fit_seconds, "threshold": fitted.threshold_seconds},
    }


def refit(task: Task, X: Features, Y: BoolArray) -> tuple[int, dict[str, Any], dict[str, Any]]:
    """Fit the single point of `task`; return its number, what a run's record stores of the fit, and its arrays."""
    (point,) = task.points
    record: dict[str, Any] = {"status": "failed", "error": None, "info": None, "metrics": {}, "changes": [], "time": {}}
    try:
        rows = _Rows.scaled(task, X, Y)
        _warm_up(task.chain.build(point), rows.train)
        fitted = _Shelf(task.chain, rows.train).fit(point)
        started = time.perf_counter()
        scores = fitted.model.decision_function(rows.X_test)
        Y_pred = _cut(task, fitted, scores, rows)
        predict_seconds = time.perf_counter() - started
        found = evaluate(rows.Y_test, scores, Y_pred)
    except Exception:  # stored as a failed run; the other runs go on
        return task.number, record | {"error": traceback.format_exc()}, {}
    record |= {
        "status": "done",
        "info": asdict(fitted.model.info),
        "metrics": {name: value._asdict() for name, value in found.items()},
        "changes": list(rows.notes),
        "time": {"fit": fitted.fit_seconds, "threshold": fitted.threshold_seconds, "predict": predict_seconds},
    }
    return task.number, record, {"scores": scores, "Y_pred": Y_pred, "Y_true": rows.Y_test, "rows": task.test}


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

    def __init__(self, chain: Chain, train: TrainingSet) -> None:
        self.chain, self.train = chain, train
        self.prepared: tuple[Any, ...] = (None, None)
        self.last: tuple[Any, ...] = (None, None, None)

    def fit(self, point: Point) -> Fitted:
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
            self.prepared = (shared, solver.prepare(self.train))
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


def best_point(values: Iterable[Sequence[float | None]], higher_is_better: bool) -> tuple[int, float] | None:
    """Return (index, mean over folds) of the best point, the first of equals; None where nothing is defined.

    A fold whose value is undefined (None) is left out of a point's mean; a point without any value cannot win.
    """
    sign = 1.0 if higher_is_better else -1.0
    best: tuple[int, float] | None = None
    for index, folds in enumerate(values):
        defined = [value for value in folds if value is not None]
        if defined:
            mean = float(np.mean(defined))
            if best is None or sign * mean > sign * best[1]:
                best = (index, mean)
    return best
