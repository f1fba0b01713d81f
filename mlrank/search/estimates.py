"""What fits will take: pilot fits on few rows, scaled up by the solver's own estimate of its cost."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import signature
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mlrank.labels import MOST_BEST
from mlrank.search.crossfit import HELDOUT_FOLDS
from mlrank.search.fits import project
from mlrank.search.task_data import TaskData, TaskRows
from mlrank.search.tasks import Task
from mlrank.search.threads import hold_numba, one_thread
from mlrank.solvers import Capabilities

__all__ = ["Estimate", "Pilot", "workers_that_fit"]

# Rows of the two pilot fits.
PILOT_ROWS = (150, 450)
# A process before any data, and what it takes beside that for the libraries that a fit loads.
PROCESS_BYTES = 70e6
LIBRARY_BYTES = {"numba": 110e6, "scikit-learn": 80e6}
USABLE = 0.8
# Operations, about a nanosecond each, for each feature of a row and each label, of a solver that does not say what its
# fits cost: of estimators of scikit-learn, ensembles among them.
USUAL_OPERATIONS = 1000.0


@dataclass(frozen=True)
class Estimate:
    """Seconds of one fit, and bytes of its process; `seconds` is None where a pilot fit failed."""

    seconds: float | None
    bytes: float


class Pilot:
    """Estimates the fits of a solver on a data set from two fits on few of its rows, scaled and projected.

    The solver's ``cost(n_samples, n_features, n_labels) -> (operations, bytes)`` says how time and memory grow; of a
    solver without it both are taken to grow with n_samples * n_features * n_labels and the size of the data. One with a
    fourth argument `density` gets the part of X that is stored, where rows are sparse. An operation is about a
    nanosecond, so that fits of different solvers can be compared before any is made. Two fits tell what time comes on
    top of that, whatever the number of rows. A solver that uses unlabeled rows gets its share of them, and all rows
    count.

    Parameters
    ----------
    task : Task
        Of the fit on the whole training part.
    task_data : TaskData
    """

    def __init__(self, task: Task, task_data: TaskData) -> None:
        (point,) = task.points
        self.solver: Any = task.chain.build(point)
        self.task, self.task_data = task, task_data
        self.others = np.zeros(0, np.int64) if task.unlabeled is None else task.unlabeled
        X = task_data.X
        self.row_bytes = X.nnz / X.shape[0] * 12 if hasattr(X, "nnz") else X.shape[1] * 8

    @cached_property
    def fits(self) -> tuple[tuple[int, float], ...]:
        """Rows and seconds of the pilot fits; none if one failed, as on few rows it may."""
        rng = np.random.default_rng(self.task.points[0].seed)
        train, others = (rng.permutation(rows) for rows in (self.task.train, self.others))
        found = []
        for size in dict.fromkeys(min(rows, train.size) for rows in PILOT_ROWS):
            share = others[: others.size * size // train.size]
            unlabeled = share if share.size else train[:1]
            task = replace(self.task, train=np.sort(train[:size]), test=train[:1], unlabeled=unlabeled)
            seconds = _seconds(task, self.solver, self.task_data)
            if seconds is None:
                return ()
            found.append((size, seconds))
        return tuple(found)

    def estimate(self, n_samples: int, *, trial: bool = False) -> Estimate:
        """Return what a fit on so many rows takes, with those for held-out scores where they are needed."""
        seconds = self._time(n_samples)
        if seconds is not None and self._cross_fits(trial):
            part = self._time(round(n_samples * (1 - 1 / HELDOUT_FOLDS)))
            seconds += HELDOUT_FOLDS * (part or 0.0)
        return Estimate(seconds, self.memory(n_samples))

    def work(self, n_samples: int, *, trial: bool = False) -> float:
        """Return the operations of a fit on so many rows, with those for held-out scores; nothing is fitted."""
        operations = self._cost(n_samples)[0]
        if self._cross_fits(trial):
            operations += HELDOUT_FOLDS * self._cost(round(n_samples * (1 - 1 / HELDOUT_FOLDS)))[0]
        return max(1.0, operations)

    def _cross_fits(self, trial: bool) -> bool:
        return self.task.chain.cross_fits and replace(self.task, refit=not trial).cuts

    def _time(self, n_samples: int) -> float | None:
        if not self.fits:
            return None
        (first, less), (last, more) = self.fits[0], self.fits[-1]
        work, low, high = (self._cost(rows)[0] for rows in (n_samples, first, last))
        # The part that grows explains at most all of the longer fit.
        slope = min(max(more - less, 0.0) / (high - low), more / high) if high > low else more / high
        return more + slope * (work - high) if work > high else more * work / high

    def memory(self, n_samples: int) -> float:
        """Return the bytes that a process takes which makes a fit on so many rows; nothing is fitted."""
        return PROCESS_BYTES + sum(map(LIBRARY_BYTES.__getitem__, self._loads)) + self._cost(n_samples)[1]

    @property
    def _loads(self) -> set[str]:
        able = Capabilities.of(self.solver)
        loads = set(able.loads)
        if issparse(self.task_data.X) or able.kernel not in (None, "linear", "precomputed"):
            loads.add("numba")
        if able.kernel == "rbf":
            loads.add("scikit-learn")  # for its distances
        if self.task.chain.calibrate is not None:
            loads.add("scikit-learn")
        return loads

    def _cost(self, n_samples: int) -> tuple[float, float]:
        estimates = Capabilities.of(self.solver).estimates_cost
        cost: Callable[..., tuple[float, float]] = self.solver.cost if estimates else self._plain_cost
        n_seen = n_samples + round(n_samples * self.others.size / self.task.train.size)
        X = self.task_data.X
        counts_stored = issparse(X) and "density" in signature(cost).parameters
        density = {"density": X.nnz / (X.shape[0] * X.shape[1])} if counts_stored else {}
        operations, memory = cost(n_seen, X.shape[1], self.task_data.Y.shape[1], **density)
        return float(operations), float(memory + self._data_bytes(n_seen))

    def _plain_cost(self, n_samples: int, n_features: int, n_labels: int) -> tuple[float, float]:
        return USUAL_OPERATIONS * n_samples * n_features * n_labels, self._data_bytes(n_samples)

    def _data_bytes(self, n_samples: int) -> float:
        """Return what the rows of a task take: as cut out, as scaled, and the labels and scores."""
        Y = self.task_data.Y
        if issparse(Y):  # marks, and the best scores of a row as they are chosen and judged
            return float(n_samples * (2 * self.row_bytes + 15 * Y.nnz / Y.shape[0] + 40 * MOST_BEST))
        return float(n_samples * (2 * self.row_bytes + 9 * Y.shape[1]))


def _seconds(task: Task, solver: Any, task_data: TaskData) -> float | None:
    """Return the seconds of the faster of two fits, as the first may be one that compiles; None if one fails."""
    found = []
    try:
        train = TaskRows.of(task, task_data).train
        if task.chain.projection is not None:
            train = project(task.chain, task.points[0], train)[1]
        with one_thread():
            for _ in range(2):
                hold_numba()
                started = time.process_time()  # what a fit takes that shares its core with nobody
                solver.fit(train)
                found.append(time.process_time() - started)
    except Exception:  # a few rows may be no problem at all; the estimate is then unknown
        return None
    return min(found)


def workers_that_fit(jobs: int, bytes_of_process: float, memory: float | None) -> int:
    """Return how many of `jobs` workers fit into `memory` bytes, at least one; all where the memory is unknown."""
    if memory is None:
        return jobs
    return max(1, min(jobs, int(USABLE * memory / max(PROCESS_BYTES, bytes_of_process))))
