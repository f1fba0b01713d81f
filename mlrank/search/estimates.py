"""What fits will take: a pilot fit on few rows, scaled up by the solver's own account of its cost."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from mlrank.arrays import BoolArray, Features, IntArray, take_rows
from mlrank.search.tasks import Chain, Point
from mlrank.solvers import TrainingSet

__all__ = ["Estimate", "Pilot", "available_memory", "workers_that_fit"]

PILOT_ROWS = 200
# A process with the libraries loaded, before any data.
PROCESS_BYTES = 250e6
USABLE = 0.8


@dataclass(frozen=True)
class Estimate:
    """Seconds and bytes of one fit; `seconds` is None where the pilot fit failed."""

    seconds: float | None
    bytes: float


class Pilot:
    """Estimates the fits of a solver on a data set from one fit on few of its rows.

    The solver's ``cost(n_samples, n_features, n_labels) -> (operations, bytes)`` says how time and memory grow; of a
    solver without it both are taken to grow with n_samples * n_features * n_labels and the size of the data.

    Parameters
    ----------
    chain : Chain
    point : Point
        The grid point to be fitted.
    X, Y : the whole data set
    rows : of its training part
    """

    def __init__(self, chain: Chain, point: Point, X: Features, Y: BoolArray, rows: IntArray) -> None:
        self.solver: Any = chain.build(point)
        self.X, self.Y = X, Y
        self.rows = np.sort(np.random.default_rng(point.seed).permutation(rows)[:PILOT_ROWS])
        self.row_bytes = X.nnz / X.shape[0] * 12 if hasattr(X, "nnz") else X.shape[1] * 8

    @cached_property
    def seconds(self) -> float | None:
        """Seconds of the pilot fit, None if it failed."""
        return _seconds(self.solver, TrainingSet(take_rows(self.X, self.rows), self.Y[self.rows]))

    def estimate(self, n_samples: int) -> Estimate:
        """Return what a fit on so many rows takes."""
        growth = self._cost(n_samples)[0] / self._cost(self.rows.size)[0]
        return Estimate(None if self.seconds is None else self.seconds * growth, self.memory(n_samples))

    def memory(self, n_samples: int) -> float:
        """Return the bytes that a fit on so many rows takes; nothing is fitted."""
        return self._cost(n_samples)[1]

    def _cost(self, n_samples: int) -> tuple[float, float]:
        cost: Callable[[int, int, int], tuple[float, float]] = getattr(self.solver, "cost", self._plain_cost)
        operations, memory = cost(n_samples, self.X.shape[1], self.Y.shape[1])
        return float(operations), float(memory + self._data_bytes(n_samples))

    def _plain_cost(self, n_samples: int, n_features: int, n_labels: int) -> tuple[float, float]:
        return float(n_samples) * n_features * n_labels, self._data_bytes(n_samples)

    def _data_bytes(self, n_samples: int) -> float:
        """Return what the rows of a task take: as cut out, as scaled, and the labels and scores."""
        return float(n_samples * (2 * self.row_bytes + 9 * self.Y.shape[1]))


def _seconds(solver: Any, train: TrainingSet) -> float | None:
    """Return the seconds of the faster of two fits: the first may be one that compiles."""
    found = []
    with threadpool_limits(1):
        for _ in range(2):
            started = time.perf_counter()
            try:
                solver.fit(train)
            except Exception:  # a few rows may be no problem at all; the estimate is then unknown
                return None
            found.append(time.perf_counter() - started)
    return min(found)


def workers_that_fit(jobs: int, bytes_of_fit: float, memory: float | None) -> int:
    """Return how many of `jobs` workers fit into `memory` bytes, at least one; all where the memory is unknown."""
    if memory is None:
        return jobs
    return max(1, min(jobs, int(USABLE * memory / (PROCESS_BYTES + bytes_of_fit))))


def available_memory() -> float | None:
    """Return the bytes that this process and its children may still take; None where the system does not tell."""
    found = [_meminfo(), _control_group()]
    return min((value for value in found if value is not None), default=None)


def _meminfo() -> float | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def _control_group() -> float | None:
    """Return what is left of a container's memory."""
    folder = Path("/sys/fs/cgroup")
    try:
        most, used = ((folder / name).read_text(encoding="ascii").strip() for name in ("memory.max", "memory.current"))
        return float(most) - float(used) if most != "max" else None
    except (OSError, ValueError):
        return None
