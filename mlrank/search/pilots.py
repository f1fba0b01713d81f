"""Pilot fits: seconds of fits on few of the rows of a task, from which those on more are estimated."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mlrank.metrics import METRICS, search_value
from mlrank.search.fits import project
from mlrank.search.judging import Fitted, Predicted, judged
from mlrank.search.task_data import TaskData, TaskRows
from mlrank.search.tasks import Point, Task
from mlrank.search.threads import hold_numba, one_thread
from mlrank.solvers import TrainingSet
from mlrank.thresholds.cuts import CountedSets

__all__ = ["PilotFit", "PilotFits"]

# Rows of the two pilot fits, and how many rows are scored by their models.
PILOT_ROWS = (150, 450)
SCORED_ROWS = 100
# A fit that took less may have spent its time on loading and compiling, and is made again.
REPEATED_SECONDS = 3.0


@dataclass(frozen=True)
class PilotFit:
    """A fit on so many rows, its seconds, and the seconds its model takes to score a row."""

    rows: int
    seconds: float
    row_seconds: float = 0.0


@dataclass(frozen=True)
class PilotFits:
    """What the fits of a task take on few rows.

    sizes : fits of its point on few and on more rows; none if one failed, as on few rows it may
    relative : seconds of points of its search on the fewest rows, relative to that one, itself among them
    trial_judging, run_judging : seconds in which all its test rows are judged, by the metric of a search and by all
    """

    sizes: tuple[PilotFit, ...]
    relative: tuple[float, ...] = (1.0,)
    trial_judging: float = 0.0
    run_judging: float = 0.0

    @classmethod
    def of(cls, task: Task, task_data: TaskData, points: Sequence[Point] = ()) -> "PilotFits":
        """Fit the single point of `task` on few of its rows, and other `points` of its search on the fewest."""
        rng = np.random.default_rng(task.points[0].seed)
        unlabeled = np.zeros(0, np.int64) if task.unlabeled is None else task.unlabeled
        train, rest = (rng.permutation(rows) for rows in (task.train, unlabeled))
        scored = np.sort(rng.permutation(task.test)[:SCORED_ROWS])
        sizes, tasks = [], []
        for size in dict.fromkeys(min(rows, train.size) for rows in PILOT_ROWS):
            # A solver that uses unlabeled rows gets its share of them.
            share = rest[: rest.size * size // train.size]
            seen = share if share.size else train[:1]
            tested = share[:SCORED_ROWS] if share.size else scored
            tasks.append(replace(task, train=np.sort(train[:size]), test=tested, unlabeled=seen))
            found = _fit(tasks[-1], task_data)
            if found is None:
                return cls(())
            sizes.append(found)
        fits = (_fit(tasks[0].of((point,)), task_data) for point in points)
        relative = [fit.seconds / max(sizes[0].seconds, 1e-9) for fit in fits if fit is not None]
        return cls(tuple(sizes), (1.0, *relative), *_judge(task, task_data))


def _fit(task: Task, task_data: TaskData) -> PilotFit | None:
    """Return the faster of two fits, or a long one; None if one fails."""
    (point,) = task.points
    solver: Any = task.chain.build(point)
    fits, scorings = [], []
    try:
        rows = TaskRows.of(task, task_data)
        projection, train = None, rows.train
        if task.chain.projection is not None:
            projection, train = project(task.chain, point, train)
        with one_thread():
            for _ in range(2):
                hold_numba()
                started = time.process_time()  # what a fit takes that shares its core with nobody
                model = solver.fit(train)
                fits.append(time.process_time() - started)
                started = time.process_time()
                _score(Fitted(model, projection, None, None, 0.0, 0.0), rows.test)
                scorings.append(time.process_time() - started)
                if fits[0] > REPEATED_SECONDS:
                    break
    except Exception:  # a few rows may be no problem at all; the estimate is then unknown
        return None
    return PilotFit(task.train.size, min(fits), min(scorings) / max(1, task.test.size))


def _score(fitted: Fitted, test: TrainingSet) -> None:
    if issparse(test.Y):
        fitted.best(test.X, test.n_labels)
    else:
        fitted.scores(test)


def _judge(task: Task, task_data: TaskData) -> tuple[float, float]:
    """Return the seconds in which the test rows are judged by the metric of a search, and cut out and judged by all.

    Their scores are random ones. Nothing is judged where labels are sparse: fits to so many take far longer.
    """
    if issparse(task_data.Y):
        return 0.0, 0.0
    scores = np.random.default_rng(0).standard_normal((task.test.size, task_data.Y.shape[1]))
    predicted, rows = Predicted(scores, None, CountedSets(scores > 0)), TaskRows.of(task, task_data)
    compared = predicted.counted.sets if METRICS[task.metric].needs == "sets" else scores

    def by_one() -> None:
        search_value(task.metric, rows.test.Y, compared, rows.test.known, rows.propensities)

    def by_all() -> None:
        judged(predicted, TaskRows.of(task, task_data), task.test, task.own_metrics)

    return _faster(by_one), _faster(by_all)


def _faster(run: Callable[[], None]) -> float:
    """Return the seconds of the faster of two calls, as the first may compile; 0 if it fails, as own metrics may."""
    found = []
    for _ in range(2):
        started = time.process_time()
        with suppress(Exception):
            run()
        found.append(time.process_time() - started)
    return min(found)
