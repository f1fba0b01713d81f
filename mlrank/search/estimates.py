"""What fits will take: pilot fits on few rows, scaled up by the solver's own estimate of its cost."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import signature
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mlrank.labels import MOST_BEST
from mlrank.search.crossfit import HELDOUT_FOLDS
from mlrank.search.pilots import PilotFits
from mlrank.search.task_data import TaskData
from mlrank.search.tasks import Point, Task
from mlrank.solvers import Capabilities

__all__ = ["Estimate", "Pilot", "workers_that_fit"]

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
    """Estimates the fits of a solver on a data set from fits on few of its rows, scaled and projected.

    The solver's ``cost(n_samples, n_features, n_labels) -> (operations, bytes)`` says how time and memory grow; of a
    solver without it both are taken to grow with n_samples * n_features * n_labels and the size of the data. One with a
    fourth argument `density` gets the part of X that is stored, where rows are sparse. An operation is about a
    nanosecond, so that fits of different solvers can be compared before any is made. Two fits tell what time comes on
    top of that, whatever the number of rows, and those of other points of a search how its points differ. Rows are
    scored by the models of both. A solver that uses unlabeled rows gets its share of them, and all rows count.

    Parameters
    ----------
    task : Task
        Of the fit on the whole training part.
    task_data : TaskData
    points : other points of the search
    """

    def __init__(self, task: Task, task_data: TaskData, points: Sequence[Point] = ()) -> None:
        (point,) = task.points
        self.solver: Any = task.chain.build(point)
        self.task, self.task_data, self.points = task, task_data, points
        self.unlabeled = np.zeros(0, np.int64) if task.unlabeled is None else task.unlabeled
        X = task_data.X
        self.row_bytes = X.nnz / X.shape[0] * 12 if hasattr(X, "nnz") else X.shape[1] * 8

    @cached_property
    def fits(self) -> PilotFits:
        """The pilot fits, made when they are first asked for."""
        return PilotFits.of(self.task, self.task_data, self.points)

    def estimate(self, n_samples: int, n_test: int = 0, *, trial: bool = False) -> Estimate:
        """Return what a fit on so many rows takes, its cut where one is needed, and scoring and judging `n_test`.

        It is the mean of the points of the search, each within the limit on the time of a fit.
        """
        if not self.fits.sizes:
            return Estimate(None, self.memory(n_samples))
        fitting, scoring = self._fitting(n_samples), 0.0
        if self._cross_fits(trial):
            held = n_samples // HELDOUT_FOLDS
            fitting += HELDOUT_FOLDS * self._fitting(n_samples - held)
            scoring += HELDOUT_FOLDS * self._scoring(n_samples - held, held)
        elif self._cuts(trial) and self.task.chain.fits_cut:
            scoring += self._scoring(n_samples, n_samples)
        limit = math.inf if self.task.time_limit is None else self.task.time_limit
        times = [min(limit, relative * fitting + scoring) for relative in self.fits.relative]
        seconds = sum(times) / len(times) + self._scoring(n_samples, n_test)
        seconds += self.fits.trial_judging if trial else self.fits.run_judging
        return Estimate(seconds, self.memory(n_samples))

    def work(self, n_samples: int, *, trial: bool = False) -> float:
        """Return the operations of a fit on so many rows, with those for held-out scores; nothing is fitted."""
        operations = self._cost(n_samples)[0]
        if self._cross_fits(trial):
            operations += HELDOUT_FOLDS * self._cost(round(n_samples * (1 - 1 / HELDOUT_FOLDS)))[0]
        return max(1.0, operations)

    def _cuts(self, trial: bool) -> bool:
        return replace(self.task, refit=not trial).cuts

    def _cross_fits(self, trial: bool) -> bool:
        return self.task.chain.cross_fits and self._cuts(trial)

    def _fitting(self, n_samples: int) -> float:
        """Return the seconds of a fit of the pilot's point on so many rows."""
        first, last = self.fits.sizes[0], self.fits.sizes[-1]
        work, low, high = (self._cost(rows)[0] for rows in (n_samples, first.rows, last.rows))
        return _grown((low, first.seconds), (high, last.seconds), work)

    def _scoring(self, n_samples: int, n_test: int) -> float:
        """Return the seconds in which the model of so many rows scores `n_test`."""
        first, last = self.fits.sizes[0], self.fits.sizes[-1]
        return n_test * _grown((first.rows, first.row_seconds), (last.rows, last.row_seconds), n_samples)

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
        n_seen = n_samples + round(n_samples * self.unlabeled.size / self.task.train.size)
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


def _grown(few: tuple[float, float], more: tuple[float, float], work: float) -> float:
    """Return the seconds of `work` from those of two smaller pieces of it, (work, seconds) each."""
    (low, less), (high, most) = few, more
    # The part that grows explains at most all of the longer time.
    slope = min(max(most - less, 0.0) / (high - low), most / high) if high > low else most / high
    return most + slope * (work - high)


def workers_that_fit(jobs: int, bytes_of_process: float, memory: float | None) -> int:
    """Return how many of `jobs` workers fit into `memory` bytes, at least one; all where the memory is unknown."""
    if memory is None:
        return jobs
    return max(1, min(jobs, int(USABLE * memory / max(PROCESS_BYTES, bytes_of_process))))
