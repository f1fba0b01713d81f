"""What a run says of its cost beside seconds: the machine, and memory where the process had no other fit to hold."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from mlrank.experiment import run
from mlrank.hardware import machine_name
from mlrank.records import TrialRecord, software_info
from mlrank.records.run import TimeInfo
from mlrank.search import Chain, Point, Refit, Task, TaskData
from mlrank.search.fits import refit
from mlrank.solvers import SOLVERS
from mlrank.thresholds import THRESHOLDS
from tests.experiment.small import small_config

LARGE = 80 * 2**20


class Greedy(SOLVERS["binary_svm"]):
    """Holds a large block while it fits the whole training part."""

    def fit(self, train, prepared=None):
        block = np.ones(LARGE if train.n_samples > 20 else 1, np.uint8)
        assert block[-1] == 1
        return super().fit(train, prepared)


def table_and_task(solver):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    Y = X @ rng.standard_normal((3, 2)) > 0
    chain = Chain(solver, THRESHOLDS["zero"], "train", "none")
    task = Task(chain, (Point({}, {}, "key", 0),), np.arange(30), np.arange(30, 40), "f1_micro", refit=True)
    return TaskData(X, Y), task


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells the peak of memory")
def test_the_peak_of_memory_is_that_of_the_fit():
    peaks = []
    for solver in (SOLVERS["binary_svm"], Greedy, SOLVERS["binary_svm"]):
        table, task = table_and_task(solver)
        result = refit(task, table)
        assert result.error is None
        peaks.append(result.time.peak_memory)
    before, greedy, after = peaks
    assert greedy >= before + 0.9 * LARGE
    assert after <= greedy - 0.8 * LARGE


def test_runs_name_the_machine_they_were_timed_on(tmp_path):
    records = run(small_config(tmp_path), tmp_path / "results").runs()
    assert {record.time.machine for record in records} == {machine_name()}


@pytest.mark.parametrize(("threads", "told"), [(1, True), (2, False)])
def test_memory_is_left_out_where_one_process_makes_several_fits(monkeypatch, threads, told):
    distributed = pytest.importorskip("distributed", reason="the extra 'distributed' is not installed")
    from mlrank.search import cluster

    software = software_info()
    results = [
        Refit(software, time=TimeInfo(fit=1.0, peak_memory=7)),
        Refit(software, error="failed"),
        TrialRecord("k"),
    ]
    monkeypatch.setattr(cluster, "work", lambda task, table: results)
    monkeypatch.setattr(cluster, "threadpool_limits", lambda count: None)
    monkeypatch.setattr(distributed, "get_worker", lambda: SimpleNamespace(state=SimpleNamespace(nthreads=threads)))
    found = cluster._cluster_work(None, None)
    assert found[0].time == TimeInfo(fit=1.0, peak_memory=7 if told else None)
    assert found[1:] == results[1:]
