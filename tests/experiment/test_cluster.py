"""A Dask cluster gives the bytes of a local run, also when a worker is killed in the middle."""

import os
import resource
import signal
from pathlib import Path

import pytest

from mlrank.config import load_config
from mlrank.errors import UserError
from mlrank.experiment import run
from mlrank.experiment.events import TrialEvent
from mlrank.search import cluster_pool
from tests.experiment.kills import slow_config
from tests.experiment.small import CONFIG, small_config
from tests.experiment.test_run import contents

THREADS = "methods:\n  M: {{solver: 'tests.experiment.small:Threads', shift: 0}}\n"

distributed = pytest.importorskip("distributed", reason="the extra 'distributed' is not installed")
# Lost connections are what the test is about; distributed tells of them as warnings of the interpreter.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture
def cluster(tmp_path):
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        local_directory=str(tmp_path / "dask"),
        silence_logs=50,
    ) as cluster:
        yield cluster


def test_a_worker_killed_in_the_middle_loses_nothing(tmp_path, monkeypatch, cluster):
    config = slow_config(tmp_path)
    monkeypatch.chdir(tmp_path)
    experiment = load_config(config)
    with distributed.Client(cluster, set_as_default=False) as client:
        pids = list(client.run(os.getpid).values())
    keys = []

    def kill_one(event):
        if isinstance(event, TrialEvent):
            keys.append(event.record.key)
            if len(keys) == 5:
                os.kill(pids[0], signal.SIGKILL)

    folder = run(experiment, tmp_path / "cluster", cluster_pool(cluster.scheduler_address), kill_one)
    assert len(keys) == len(set(keys)) == 60
    assert contents(folder) == contents(run(experiment, tmp_path / "local", jobs=1))


def limit_memory(more):
    """Let this process take so many bytes more than it has."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more,) * 2)


def test_two_workers_make_a_fit_that_is_too_large_for_one(tmp_path, monkeypatch, cluster):
    large = "methods:\n  Large: {{solver: 'tests.experiment.small:Blocks', held: 1000000000}}\n"
    config = small_config(tmp_path, text=CONFIG[: CONFIG.index("methods:")] + large)
    with distributed.Client(cluster, set_as_default=False) as client:
        client.run(limit_memory, 3_000_000_000)
    with monkeypatch.context() as whole:
        whole.setattr("mlrank.search.sharing.BLOCK_OPERATIONS", 1e99)
        (record,) = run(config, tmp_path / "whole", cluster_pool(cluster.scheduler_address)).runs()
        assert "MemoryError" in record.error
    (record,) = run(config, tmp_path / "shared", cluster_pool(cluster.scheduler_address)).runs()
    assert (record.error, record.time.blocks) == (None, 2)


def test_no_cluster_is_told_in_one_line(monkeypatch):
    monkeypatch.setattr("mlrank.search.cluster.CONNECT_SECONDS", 1)
    message = r"^no cluster with workers at tcp://127\.0\.0\.1:9: "
    with pytest.raises(UserError, match=message), cluster_pool("tcp://127.0.0.1:9"):
        pass


def test_a_fit_has_one_thread_in_every_library(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")
    config = small_config(tmp_path, text=CONFIG[: CONFIG.index("methods:")] + THREADS)
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        dashboard_address=None,
        local_directory=str(tmp_path / "dask"),
        silence_logs=50,
    ) as cluster:
        folder = run(config, tmp_path / "r", cluster_pool(cluster.scheduler_address))
    (record,) = folder.runs()
    assert record.info.objective == 1.0
