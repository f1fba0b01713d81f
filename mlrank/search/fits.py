"""Fitting and judging the points of a task, in whatever process it lands.

The rows are scaled, projected and the solver's preparation made once for a task, then its points are fitted and scored.

Points share their preparation and nothing else: none starts from the model of another. Which points of a grid a task
gets depends on the workers and on what a killed search had journalled, so a start would make a trial's result depend on
them, within the tolerance of the solver, and files would differ from run to run.
"""

import time
import traceback
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import Features, FloatArray, take_rows
from mlrank.calibration import fit_calibration
from mlrank.hardware import machine_name, peak_memory, reset_peak_memory
from mlrank.metrics import METRICS
from mlrank.models import Fit, Predictor, probe_rows
from mlrank.records import software_info
from mlrank.records.run import FitRecord, MetricRecord, ModelInfo, TimeInfo, TrialRecord
from mlrank.search.clock import fit_clock
from mlrank.search.crossfit import heldout_scores, own_scores
from mlrank.search.judging import Fitted, judged, predict, searched_value
from mlrank.search.limits import time_limit
from mlrank.search.task_data import TaskData, TaskRows
from mlrank.search.tasks import Chain, Part, Point, Refit, Result, Task
from mlrank.search.threads import hold_numba
from mlrank.solvers import Capabilities, FitInfo, TrainingSet
from mlrank.solvers.base import Block
from mlrank.solvers.models import TransductiveModel, asked_and_seen

__all__ = ["died", "refit", "work"]

# A task returns after this time and a fit, or after ten times its preparation, and is journalled as far as it got.
SLICE_SECONDS = 1.0
PREPARATIONS_PER_SLICE = 10
WARM_UP_ROWS = 20
# Under a time limit, compiling and loading may take so long, and iterations of a warm-up are as few as this.
COMPILE_SECONDS = 30.0
WARM_UP_ITERATIONS = 20


# The settings that say when a fit stops.
_LIMITS = {"tol", "max_iter"}


def work(task: Task, task_data: TaskData) -> list[Result]:
    """Fit and judge the points of a task, as many as fit into a slice of time; return one result for each.

    A failed fit is a result with its traceback. The points left over are the caller's to hand out again: so a long
    task is journalled as it goes, and other workers can take a part of it.
    """
    METRICS.load((task.metric, *task.own_metrics))
    if task.block is not None:
        return [solve_block(task, task_data, task.block)]
    if task.refit:
        return [refit(task, task_data)]
    started = time.perf_counter()
    try:
        rows = _rows_of(task, task_data)
    except Exception:  # rows that cannot be scaled fail every point
        return [TrialRecord(point.key, error=traceback.format_exc()) for point in task.points]
    scaling_seconds = time.perf_counter() - started
    if _times_count(task):
        _warm_up(task, rows.train)
    cache = _FitCache(task, rows)
    results: list[Result] = []
    for point in task.points:
        results.append(_attempt(task, rows, cache, point))
        overhead = scaling_seconds + cache.prepare_seconds
        if time.perf_counter() - started > max(SLICE_SECONDS, PREPARATIONS_PER_SLICE * overhead):
            break
    return results


def _times_count(task: Task) -> bool:
    """Return whether compiling may count for no fit: times of refits, limited ones, or those to reach some limit."""
    limited = task.time_limit is not None or _LIMITS & {name for point in task.points for name in point.settings}
    return not task.parts and (task.refit or bool(limited))


def solve_block(task: Task, task_data: TaskData, block: Block) -> Part:
    """Solve a block of the fit of the single point of `task`."""
    (point,) = task.points
    try:
        rows = _rows_of(task, task_data)
        if _times_count(task):
            _warm_up(task, rows.train)
        measurable = task.refit and reset_peak_memory()
        cache = _FitCache(task, rows)
        with time_limit(task.time_limit):
            hold_numba()
            started = fit_clock()
            solver = task.chain.build(point)
            # It prepares what it needs itself, which may be less than the whole.
            solved = solver.fit_block(cache.train, block)
            seconds = fit_clock() - started
        peak = peak_memory() if measurable else None
        _KEPT[point.key] = rows
        return Part(solved, seconds, peak)
    except Exception:  # the fit is then made whole: its error is that of a whole one
        return Part(failed=True)


# The rows of the block that this process has solved last.
_KEPT: dict[str, TaskRows] = {}


def _rows_of(task: Task, task_data: TaskData) -> TaskRows:
    """Return the rows of a task; a process that has just solved a block of the fit still has them."""
    shares = task.parts or task.block is not None
    kept = _KEPT.get(task.points[0].key) if shares else None
    _KEPT.clear()
    return kept or TaskRows.of(task, task_data)


def died(task: Task, error: Exception) -> Result:
    """Return the result of a task whose worker did not survive it."""
    if task.block is not None:
        return Part(failed=True)
    (point,) = task.points
    hung = "" if task.time_limit is None else f" or ended as the fit hung, far over its limit of {task.time_limit:g} s"
    reason = f"the worker process died, perhaps for lack of memory{hung} ({type(error).__name__}: {error})"
    return Refit(software_info(), error=reason) if task.refit else TrialRecord(point.key, error=reason)


def _attempt(task: Task, rows: TaskRows, cache: "_FitCache", point: Point) -> TrialRecord:
    try:
        fitted = cache.fit(point, cut=task.cuts)
        value, n_undefined = searched_value(fitted, rows, task.metric)
        info = FitRecord.of(fitted.model.info)
    except Exception:  # any failure of a fit is data: it is stored, and the other fits go on
        return TrialRecord(point.key, error=traceback.format_exc())
    return TrialRecord(
        point.key,
        value,
        None,
        info.converged,
        info.optimality,
        info.n_iter,
        n_undefined,
        TimeInfo(fit=fitted.fit_seconds, threshold=fitted.threshold_seconds),
    )


def refit(task: Task, task_data: TaskData) -> Refit:
    """Fit the single point of `task`."""
    (point,) = task.points
    try:
        rows = _rows_of(task, task_data)
        if _times_count(task):
            _warm_up(task, rows.train)
        measurable = reset_peak_memory()
        fitted = _FitCache(task, rows).fit(point)
        peaks = [peak_memory() if measurable else None, *(part.peak_memory for part in task.parts)]
        started = fit_clock()
        predicted = predict(fitted, rows)
        predict_seconds = fit_clock() - started
        result = judged(predicted, rows, task.test, task.own_metrics)
        info = FitRecord.of(fitted.model.info, Capabilities.of(task.chain.solver).certificate)
    except Exception:  # stored as a failed run; the other runs go on
        return Refit(software_info(), error=traceback.format_exc())
    probed = task.test[: probe_rows(rows.test.n_labels)]
    fit, model = _stored(fitted, rows, take_rows(task_data.X, probed, task.columns))
    return Refit(
        software_info(),
        info=info,
        metrics={name: MetricRecord.of(value) for name, value in result.metrics.items()},
        sets=replace(result.sets, natural_cut=task.chain.natural_cut(task.chain.build(point), rows.train)),
        time=TimeInfo(
            fit=fitted.fit_seconds,
            threshold=fitted.threshold_seconds,
            predict=predict_seconds,
            peak_memory=max((peak for peak in peaks if peak is not None), default=None),
            machine=machine_name(),
            blocks=len(task.parts) or None,
        ),
        model=model,
        changes=rows.notes,
        arrays=result.arrays,
        n_best=result.n_best,
        fit=fit,
    )


def _stored(fitted: Fitted, rows: TaskRows, probe: Features) -> tuple[Fit | None, ModelInfo]:
    """Return the model as it is stored and what the record says of it; None and why not for one that cannot be."""
    sparse = issparse(rows.train.X)
    predictor = Predictor(rows.scaling, fitted.projection, fitted.model, fitted.cut, sparse, fitted.calibration)
    try:
        return Fit.of(predictor, probe), ModelInfo()
    except Exception as error:  # a solver of the user's may give any object for a model
        return None, ModelInfo(" ".join(f"{error}".split()) or type(error).__name__)


def _warm_up(task: Task, train: TrainingSet) -> None:
    """Fit on a few rows, so that loading code is not timed as the fit, and its limit is not spent on compiling.

    That is done once in a process for fits that run the same code.
    """
    solver, limit = task.chain.build(task.points[0]), None
    code = _code_of(task, train)
    if code in _WARM:
        return
    _WARM.add(code)
    head = np.arange(min(WARM_UP_ROWS, train.n_samples))
    if task.time_limit is not None:
        limit = max(task.time_limit, COMPILE_SECONDS)
        if getattr(solver, "max_iter", 0) > WARM_UP_ITERATIONS:
            solver = replace(solver, max_iter=WARM_UP_ITERATIONS)
    # A few rows may be no problem at all; what counts is the fit that follows.
    with suppress(Exception), time_limit(limit):
        solver.fit(train.take(head))


# The code that a process has run in a warm-up.
_WARM: set[Hashable] = set()


def _code_of(task: Task, train: TrainingSet) -> Hashable:
    """Return what says which code a warm-up runs: its solver, settings that are no numbers, the types of all else.

    A number counts by whether it is zero, as that may switch a term off. A warm-up with a limit may be cut short.
    """
    settings = [
        (name, type(value), value == 0 if isinstance(value, int | float) else repr(value))
        for name, value in task.points[0].settings.items()
    ]
    kinds = [(type(part), getattr(part, "dtype", None)) for part in (train.X, train.Y, train.X_unlabeled, train.known)]
    return task.chain.solver, tuple(settings), tuple(kinds), train.pairwise, task.time_limit is None


class _FitCache:
    """Fits points on the same rows, keeping the projection, the preparation, and the last model while they serve."""

    def __init__(self, task: Task, rows: TaskRows) -> None:
        self.chain, self.rows, self.limit = task.chain, rows, task.time_limit
        self.train, self.parts = rows.train, task.parts
        self.prepare_seconds = 0.0
        self.projected: tuple[Any, ...] = (None, None)
        self.prepared: tuple[Any, ...] = (None, None)
        self.last: tuple[Any, ...] = (None, None, None)

    def fit(self, point: Point, *, cut: bool = True) -> Fitted:
        """Return the model of a point and its cut, or no cut where scores alone are judged."""
        with time_limit(self.limit):
            return self._fit(point, cut)

    def _fit(self, point: Point, is_cut: bool) -> Fitted:
        hold_numba()
        solver = self.chain.build(point)
        identity = (point.projection_settings, point.settings)
        if self.last[0] != identity:
            started = fit_clock()
            self._project(point)
            if self.parts:
                model = solver.join(self.train, [part.solved for part in self.parts])
            else:
                model = self._by_given_rows(solver.fit(self.train, self.prepare(solver)), self.rows.train)
            seconds = fit_clock() - started + sum(part.seconds for part in self.parts)
            _check_model(model, type(solver).__name__)
            self.last = (identity, model, seconds)
        _, model, seconds = self.last
        if not is_cut:
            return Fitted(model, self.projected[1], None, None, seconds, 0.0)
        started = fit_clock()
        sparse = issparse(self.train.Y) or issparse(self.rows.test.Y)
        heldout = self._heldout_scores(solver, point) if self.chain.cross_fits and not sparse else None
        calibration: Any = None
        if self.chain.calibrate is not None and heldout is not None:
            calibration = fit_calibration(self.chain.calibrate, heldout, self.train.Y, self.rows.known)

        def training_scores() -> FloatArray:
            if sparse:
                name = self.chain.threshold.__name__
                raise ValueError(f"the threshold {name} is fitted to all scores of the training rows")
            held = heldout if self.chain.threshold_scores == "heldout" else None
            scores = own_scores(model, self._known(model)) if held is None else held
            return scores if calibration is None else calibration(scores)

        cut = self.chain.cut(point, solver, self.train, training_scores, self.rows.known)
        return Fitted(model, self.projected[1], calibration, cut, seconds, fit_clock() - started)

    def _by_given_rows(self, model: Any, train: TrainingSet) -> Any:
        """Return a model that, if it has to find rows, finds them by what they are in `train`, before a projection."""
        projects = self.chain.projection is not None
        return model.of_rows(train) if projects and isinstance(model, TransductiveModel) else model

    def _known(self, model: Any) -> TrainingSet:
        """Return the training rows as `model` is asked for them."""
        return self.rows.train if isinstance(model, TransductiveModel) else self.train

    def _project(self, point: Point) -> None:
        """Have the training rows as the point's projection gives them."""
        if self.chain.projection is None or self.projected[0] == point.projection_settings:
            return
        started = time.perf_counter()
        projection, self.train = project(self.chain, point, self.rows.train)
        self.projected, self.prepared = (point.projection_settings, projection), (None, None)
        self.prepare_seconds += time.perf_counter() - started

    def prepare(self, solver: Any) -> Any:
        """Return what the solver shares with others, None for one that prepares nothing."""
        able = Capabilities.of(solver)
        if not able.prepares:
            return None
        shared = [getattr(solver, name) for name in able.shared]
        if self.prepared[0] != shared:
            started = time.perf_counter()
            self.prepared = (shared, solver.prepare(self.train))
            self.prepare_seconds += time.perf_counter() - started
        return self.prepared[1]

    def _heldout_scores(self, solver: Any, point: Point) -> FloatArray:
        """Return scores of the training rows by fits that did not see their labels."""

        def score(part: TrainingSet, X_held: Features) -> FloatArray:
            projection, seen = (None, part) if self.chain.projection is None else project(self.chain, point, part)
            model = self._by_given_rows(solver.fit(seen), part)
            asked, _ = asked_and_seen(X_held, projection, model)
            found: FloatArray = model.decision_function(asked)
            return found

        return heldout_scores(self.rows.train, point.seed, score, self.rows.groups)


def project(chain: Chain, point: Point, train: TrainingSet) -> tuple[Any, TrainingSet]:
    """Return the projection of a point fitted on `train`, and `train` as it gives it."""
    if chain.projection is None:
        raise ValueError("there is no projection")
    projection = chain.projection(**point.projection_settings).fit(train)
    unlabeled = train.X_unlabeled
    seen = None if unlabeled is None else projection.transform(unlabeled)
    return projection, replace(train, X=projection.transform(train.X), X_unlabeled=seen, feature_names=None)


def _check_model(model: Any, solver: str) -> None:
    """Raise a ValueError for what a solver of the user's own returned in place of a model."""
    info = getattr(model, "info", None)
    if not hasattr(model, "decision_function") or not isinstance(info, FitInfo):
        lacks = "decision_function(X)" if not hasattr(model, "decision_function") else "info, a FitInfo"
        raise ValueError(f"fit of {solver} must return a model, found {type(model).__name__} without {lacks}")
