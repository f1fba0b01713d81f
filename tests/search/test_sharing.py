"""One fit shared by workers: the bytes of a whole one for any number of workers, blocks and deaths."""

import os
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.config import load_config, parse_config
from mlrank.experiment import run
from mlrank.records import RunFolder
from mlrank.search.fits import work
from mlrank.search.pools import FILED_BYTES, SerialPool, _in_file, _with_file, _without_files, local_pool
from mlrank.search.shared_memory import Filed
from mlrank.search.sharing import BLOCK_OPERATIONS, SharedFits, blocks_of
from mlrank.search.task_data import TaskData, TaskRows
from mlrank.search.tasks import Chain, Part, Point, Task
from mlrank.search.threads import one_thread
from mlrank.solvers import SOLVERS
from mlrank.solvers.base import Block
from mlrank.thresholds import THRESHOLDS
from tests.experiment.kills import finish, start
from tests.experiment.small import Blocks, Means, small_data, write_libsvm
from tests.experiment.test_run import contents

CONFIG = """
name: small
datasets: [{{train: {folder}/train.svm, test: {folder}/test.svm}}]
split: {{kind: official}}
methods:
  Small: {{solver: binary_svm, C: 3}}
  Large: {{solver: {solver}}}
search: {{folds: 2, metric: f1_micro}}
"""
OWN = "'tests.experiment.small:Blocks'"
LARGE = 4 * BLOCK_OPERATIONS


class Several(SerialPool):
    """Several workers, all of them in this process."""

    def __init__(self, size):
        self.size, self.depth, self.blocks = size, 2 * size, []

    def submit(self, task):
        self.blocks.append(task.block)
        return super().submit(task)


@contextmanager
def lent(pool):
    """Give the pool, with one thread for each fit as in every pool."""
    with one_thread():
        yield pool


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((60, 5)), 2)
    Y = X @ rng.standard_normal((5, 18)) + 0.5 * rng.standard_normal((60, 18)) > 0.3
    write_libsvm(tmp_path / "train.svm", X[:40], Y[:40])
    write_libsvm(tmp_path / "test.svm", X[40:], Y[40:])
    return tmp_path


def config_of(folder, solver):
    return parse_config(CONFIG.format(folder=folder, solver=solver), "small.yaml")


@pytest.mark.parametrize(
    "solver",
    [
        "binary_svm, C: [0.5, 2]",
        "binary_svm, kernel: rbf",
        "logistic, C: [0.5, 2]",
        "svm_perf",
        "svm_perf, kernel: rbf",
        "label_tree, leaf: 4, branching: 2",
    ],
)
def test_the_bytes_of_a_whole_fit_for_any_number_of_workers(folder, monkeypatch, solver):
    monkeypatch.setattr("mlrank.search.sharing.BLOCK_OPERATIONS", 1.0)
    monkeypatch.setattr("mlrank.solvers.one_vs_rest.rows.CELLS", 1)
    monkeypatch.setattr("mlrank.solvers.one_vs_rest.rows.LEAST", 4)
    monkeypatch.setattr("mlrank.solvers.svm_perf.svm_perf.LABELS_AT_ONCE", 4)
    config = config_of(folder, solver)
    whole = run(config, folder / "whole", 1)
    assert {record.time.blocks for record in whole.runs()} == {None}
    for size in (2, 3):
        pool = Several(size)
        shared = run(config, folder / str(size), lent(pool))
        assert {Block(number, size) for number in range(size)} <= set(pool.blocks)
        assert size in {record.time.blocks for record in shared.runs()}
        assert contents(shared) == contents(whole)
        assert {key: replace(one, time=None) for key, one in shared.journal.read().items()} == {
            key: replace(one, time=None) for key, one in whole.journal.read().items()
        }


def test_processes_share_a_fit_and_one_may_die_of_a_block(folder, monkeypatch):
    config = config_of(folder, OWN)
    whole = run(config, folder / "whole", 1)
    monkeypatch.setenv("BLOCK_DIED", str(folder / "died"))
    shared = run(config, folder / "shared", 2)
    assert (folder / "died").exists()
    assert {record.method: record.time.blocks for record in shared.runs()} == {"Small": None, "Large": 2}
    assert contents(shared) == contents(whole)


def test_what_workers_solved_goes_from_one_to_the_other_in_files():
    X, Y = small_data()
    chain = Chain(SOLVERS["label_tree"], THRESHOLDS["zero"], "train", "none")
    point = Point({"leaf": 2, "branching": 2}, {}, "a", 0)
    task = Task(chain, (point,), np.arange(60), np.arange(60, 90), "f1_micro", refit=True)
    whole = work(task, TaskData(X, Y))[0]
    with local_pool(2) as pool:
        pool.load(TaskData(X, Y))
        shared = SharedFits()
        blocks = shared.cut(task, 2)
        parts = [pool.submit(block).result()[0] for block in blocks]
        assert [part.solved.path.exists() for part in parts] == [True, True]
        assert [shared.add(block, part) is None for block, part in zip(blocks, parts, strict=True)] == [True, False]
        joined = pool.submit(replace(task, parts=tuple(parts))).result()[0]
        assert [part.solved.path.exists() for part in parts] == [False, False]
        # Were its worker to die now, and the task started again: what it came to has not arrived.
        again = pool.submit(replace(task, parts=tuple(parts))).result()[0]
    for made in (joined, again):
        assert made.error is None
        assert {name: array.tobytes() for name, array in made.fit.arrays.items()} == {
            name: array.tobytes() for name, array in whole.fit.arrays.items()
        }
    assert (joined.time.blocks, again.time.blocks) == (2, None)


def test_rows_of_a_block_serve_for_what_follows_of_its_fit(monkeypatch):
    made, rows_of = [], TaskRows.of
    monkeypatch.setattr(TaskRows, "of", lambda *given: (made.append(given[0]), rows_of(*given))[1])
    X, Y = small_data()
    data = TaskData(X, Y)
    chain = Chain(SOLVERS["binary_svm"], THRESHOLDS["zero"], "train", "standard")
    task, other = (
        Task(chain, (Point({"C": C}, {}, key, 0),), np.arange(60), np.arange(60, 90), "f1_micro", refit=True)
        for C, key in ((1.0, "a"), (2.0, "b"))
    )
    whole = work(task, data)[0]
    made.clear()
    parts = tuple(work(block, data)[0] for block in SharedFits().cut(task, 2))
    joined = work(replace(task, parts=parts), data)[0]
    assert len(made) == 1
    parts = tuple(work(block, data)[0] for block in SharedFits().cut(task, 2))
    second = work(other, data)[0]  # in between: it has rows of its own, and those of the blocks are let go
    again = work(replace(task, parts=parts), data)[0]
    assert [one.points[0].key for one in made] == ["a", "a", "b", "a"]
    for found in (joined, again):
        assert found.arrays["scores"].tobytes() == whole.arrays["scores"].tobytes()
    assert second.arrays["scores"].tobytes() != whole.arrays["scores"].tobytes()


@pytest.mark.parametrize(("limit", "failed"), [(3.5, False), (None, True)])
def test_files_of_a_fit_that_is_given_up_are_removed(limit, failed, tmp_path):
    shared, task = SharedFits(), task_of(LARGE, limit=limit)
    first, second = shared.cut(task, 2)
    filed = [Filed.write(tmp_path, name) for name in "abc"]
    assert shared.add(first, Part(filed[0], 3.0)) is None
    assert shared.add(second, Part(failed=True) if failed else Part(filed[1], 3.0)) == task
    assert [one.path.exists() for one in filed] == [False, failed, True]
    assert shared.add(second, Part(filed[2])) is None  # came too late
    assert not filed[2].path.exists()


def test_a_large_model_comes_back_in_a_file(tmp_path):
    X, Y = small_data(m=FILED_BYTES // 32)  # four labels of so many weights, of 8 bytes each
    chain = Chain(SOLVERS["binary_svm"], THRESHOLDS["zero"], "train", "none")
    task = Task(chain, (Point({}, {}, "a", 0),), np.arange(60), np.arange(60, 90), "f1_micro", refit=True)
    (whole,) = work(task, TaskData(X, Y))
    filed = _in_file([whole], str(tmp_path))
    assert isinstance(filed, Filed)
    assert _in_file([replace(whole, fit=None)], str(tmp_path)) == [replace(whole, fit=None)]
    assert _in_file([whole], str(tmp_path / "none")) == [whole]
    with local_pool(2) as pool:
        pool.load(TaskData(X, Y))
        (found,) = pool.submit(task).result()
        assert not list(Path(pool.data.folder).glob("part-*"))
    for one in (filed.take()[0], found):
        assert one.fit.arrays["model.coef"].tobytes() == whole.fit.arrays["model.coef"].tobytes()
    assert not filed.path.exists()


def test_objects_come_out_of_files_as_they_went_in(tmp_path):
    large = np.arange(6000.0).reshape(60, 100)
    fixed, empty = np.arange(5000) % 7 == 0, np.empty((0, 3))
    fixed.flags.writeable = False
    given = {
        "rows": large,
        "columns": np.asfortranarray(large),
        "turned": large[:, ::2],
        "fixed": fixed,
        "sparse": csr_array(large * (large % 5 == 0)),
        "small": np.array(["a", "b"]),
        "empty": empty,
        "rest": ("text", None, Part(large[0], 2.0)),
    }
    filed = Filed.write(tmp_path, given)
    first = filed.read()
    for found in (first, filed.read()):
        for name in ("rows", "columns", "turned", "fixed", "small", "empty"):
            np.testing.assert_array_equal(found[name], given[name])
            assert found[name].dtype == given[name].dtype
        assert [found[name].flags.writeable for name in ("rows", "fixed")] == [True, False]
        assert found["columns"].flags.f_contiguous
        np.testing.assert_array_equal(found["sparse"].toarray(), given["sparse"].toarray())
        assert found["rest"][:2] == ("text", None)
        np.testing.assert_array_equal(found["rest"][2].solved, large[0])
        found["rows"][:] = 0.0  # of this reader alone
    found = filed.take()
    assert not filed.path.exists()
    np.testing.assert_array_equal(found["rows"], large)


def test_a_file_that_cannot_be_written_whole_is_not_left(tmp_path, monkeypatch):
    assert Filed.write(tmp_path, [np.zeros(10**5), threading.Lock()]) is None
    made = tempfile.mkstemp

    def on_a_full_disk(**where):
        handle, name = made(**where)
        os.close(handle)
        return os.open("/dev/full", os.O_WRONLY), name

    monkeypatch.setattr(tempfile, "mkstemp", on_a_full_disk)
    assert Filed.write(tmp_path, np.zeros(10**5)) is None
    assert not list(tmp_path.iterdir())


def test_what_a_worker_solved_is_sent_where_no_file_can_hold_it(tmp_path):
    part = Part(np.arange(3), 1.0)
    assert _with_file(part, str(tmp_path / "none")) is part
    assert _with_file(Part(failed=True), str(tmp_path)) == Part(failed=True)
    task = replace(task_of(LARGE), parts=(part, _with_file(part, str(tmp_path))))
    assert [one.solved.tolist() for one in _without_files(task).parts] == [[0, 1, 2], [0, 1, 2]]


def test_a_run_killed_between_two_blocks_is_resumed(folder):
    (folder / "c.yaml").write_text(CONFIG.format(folder=folder, solver=f"{OWN}, pause: 0.1"))
    process = start(folder / "c.yaml", folder / "r", "--jobs", "2")
    store, deadline = RunFolder(folder / "r" / "small"), time.monotonic() + 60
    try:
        while not store.path.exists() or not list(store.runs()):  # the small run is there: the large fit has begun
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        process.kill()
        process.communicate()
    assert len(list(store.runs())) == 1
    finish(start(folder / "c.yaml", folder / "r", "--jobs", "2"))
    assert contents(store) == contents(run(load_config(folder / "c.yaml"), folder / "whole", 1))


def test_a_block_that_fails_has_the_fit_fail_as_a_whole_one_does(folder):
    config = config_of(folder, f"{OWN}, shift: [1, 2]")
    whole, pool = run(config, folder / "whole", 1), Several(2)
    shared = run(config, folder / "shared", lent(pool))
    assert any(pool.blocks)
    assert contents(shared) == contents(whole)
    errors = [{key: one.error for key, one in store.journal.read().items()} for store in (shared, whole)]
    assert errors[0] == errors[1]
    assert sum(error is not None for error in errors[0].values()) == 2


def task_of(operations, solver=Blocks, n_points=1, scores="train", projection=None, limit=None):
    threshold = THRESHOLDS["per_label_f1" if scores == "heldout" else "natural"]
    chain = Chain(solver, threshold, scores, "none", projection)
    points = tuple(Point({}, {}, str(number), 0) for number in range(n_points))
    rows = np.arange(2)
    return Task(chain, points, rows, rows, "f1_micro", operations=operations, time_limit=limit)


@pytest.mark.parametrize(
    ("task", "waiting", "n_blocks"),
    [
        (task_of(LARGE), LARGE, 3),
        (task_of(LARGE / 2), LARGE / 2, 2),
        (task_of(LARGE), 3 * LARGE, 1),
        (task_of(LARGE), 3 * LARGE - 1, 3),
        (task_of(BLOCK_OPERATIONS), BLOCK_OPERATIONS, 1),
        (task_of(LARGE, n_points=2), LARGE, 1),
        (task_of(LARGE, Means), LARGE, 1),
        (task_of(LARGE, scores="heldout"), LARGE, 1),
        (task_of(LARGE, projection=SimpleNamespace), LARGE, 1),
    ],
)
def test_what_is_more_than_a_worker_s_share_of_the_work_left_is_cut(task, waiting, n_blocks):
    assert blocks_of(task, 3, waiting) == n_blocks
    assert blocks_of(task, 1, waiting) == 1


@pytest.mark.parametrize(("parts", "made"), [((1.0, 2.0), True), ((1.0, 3.0), False)])
def test_blocks_that_take_longer_together_than_a_fit_may_are_no_fit(parts, made):
    shared, task = SharedFits(), task_of(LARGE, limit=3.5)
    first, second = shared.cut(task, 2)
    left, right = (Part(name, seconds) for name, seconds in zip("ab", parts, strict=True))
    assert shared.add(second, right) is None
    assert shared.add(first, left) == replace(task, parts=(left, right) if made else ())
    assert not shared.out(first)
    assert shared.add(first, left) is None
