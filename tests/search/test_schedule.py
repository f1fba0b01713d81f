"""How tasks are cut into parts: workers end together where a part costs nothing, and preparations stay shared."""

from concurrent.futures import Future
from types import SimpleNamespace

import numpy as np
import pytest

from mlrank.records import TrialRecord
from mlrank.records.run import TimeInfo
from mlrank.search import execute
from mlrank.search.tasks import Point, Task


class Clockwork:
    """Two workers that take `seconds` of a setting for each point; `ends` says when each has done its last."""

    size, depth = 2, 4

    def __init__(self, seconds):
        self.seconds, self.ends, self.parts, self.due = seconds, [0, 0], [], {}

    def submit(self, task):
        worker = self.ends.index(min(self.ends))
        took = [self.seconds(point.settings["C"]) for point in task.points]
        self.ends[worker] += sum(took)
        self.parts.append(task.points)
        future = Future()
        self.due[future] = self.ends[worker]
        future.set_result([TrialRecord(p.key, time=TimeInfo(fit=t)) for p, t in zip(task.points, took, strict=True)])
        return future

    def wait(self, running, return_when):
        """Stand for the wait for the first future of several."""
        return SimpleNamespace(done={min(running, key=self.due.__getitem__)})


def parts_of(monkeypatch, prepares, n_folds, n_points, seconds=lambda C: 1):
    pool = Clockwork(seconds)
    monkeypatch.setattr("mlrank.search.schedule.wait", pool.wait)
    rows, chain = np.arange(2), SimpleNamespace(prepares=prepares, solver=None)
    grid = [tuple(Point({"C": i}, {}, f"{fold} {i}", 0) for i in range(n_points)) for fold in range(n_folds)]
    tasks = [Task(chain, points, rows, rows, "f1_micro") for points in grid]
    done = [result.key for _, results in execute(tasks, pool, lambda task: task) for result in results]
    assert sorted(done) == sorted(point.key for points in grid for point in points)
    return pool


@pytest.mark.parametrize(("n_folds", "n_points"), [(5, 7), (1, 9), (3, 40), (2, 1)])
def test_workers_end_together_where_points_share_their_rows_alone(monkeypatch, n_folds, n_points):
    pool = parts_of(monkeypatch, False, n_folds, n_points)
    assert max(pool.ends) - min(pool.ends) <= 1
    assert len(pool.parts) < n_folds * n_points or n_points == 1


@pytest.mark.parametrize("seconds", [lambda C: 2**C, lambda C: 2 ** (6 - C)], ids=["rising", "falling"])
def test_long_fits_come_first_once_it_is_known_which_they_are(monkeypatch, seconds):
    pool = parts_of(monkeypatch, False, 5, 7, seconds)
    last = [max(seconds(point.settings["C"]) for point in part) for part in pool.parts[-4:]]
    assert max(last) <= 8
    assert max(pool.ends) - min(pool.ends) <= 4


def test_a_preparation_is_made_again_for_a_worker_alone_that_has_nothing_to_do(monkeypatch):
    pool = parts_of(monkeypatch, True, 5, 7)
    assert max(map(len, pool.parts)) == 7
    assert len(pool.parts) == 5
