"""Worker processes: threads, shared preparations, time limits, death, and disks that refuse."""

import json
import os
import resource
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.errors import UserError
from mlrank.experiment import plan_cells, run
from mlrank.experiment.events import TrialEvent
from mlrank.records import RunFolder, TrialRecord
from mlrank.search import pools
from mlrank.search.pools import pools_ahead
from mlrank.search.shared_memory import SharedData, map_folder
from mlrank.search.task_data import TaskData
from tests.experiment.kills import ROOT, slow_config
from tests.experiment.small import CONFIG, Iterated, grow, small_config, worker_pids
from tests.experiment.test_run import contents

HEAD = CONFIG.split("methods:")[0]


def one_method(folder, settings, search="{{folds: 2}}"):
    text = f"{HEAD}methods:\n  A: {{{{solver: 'tests.experiment.small:{settings}}}}}\nsearch: {search}\nseed: 3\n"
    return small_config(folder, text=text)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_fit_has_one_thread(tmp_path, monkeypatch, jobs):
    # Threads times workers: 1 * 2 on the smallest machine there is.
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    (record,) = run(one_method(tmp_path, "Threads', shift: [0, 1]"), tmp_path / "r", jobs).runs()
    assert record.info.objective == 1


def test_workers_collect_garbage_but_what_they_have_loaded(tmp_path):
    # Found by a fit in a worker's first task, and where nothing is searched that is the only one.
    for method in ("Collected', shift: 0", "Collected', shift: [0, 1, 3]"):
        (record,) = run(one_method(tmp_path, method), tmp_path / "r", 2).runs()
        assert record.info.objective > 10_000


def test_a_worker_whose_fits_take_much_memory_stays():
    with pools_ahead(2, []) as pool_of, pool_of(2) as pool:
        first = set(pool.executor.map(grow, range(2)))
        assert first == set(pool.executor.map(grow, range(2)))


def test_workers_start_while_fits_are_planned_and_all_of_them_end(tmp_path, monkeypatch):
    config, started = one_method(tmp_path, "Means', shift: [0, 1]"), []

    def planning(given):
        time.sleep(0.5)
        started.append(worker_pids(os.getpid()))
        return plan_cells(given)

    monkeypatch.setattr(sys.modules["mlrank.experiment.run"], "plan_cells", planning)
    run(config, tmp_path / "r", 2)
    run(config, tmp_path / "r", 2)  # nothing is left to do
    with monkeypatch.context() as little:
        # Room for a bare process more than for one that fits as well.
        little.setattr(sys.modules["mlrank.experiment.run"], "_largest_fit", lambda planned: 1e12)
        run(config, tmp_path / "s", 2)
    with pytest.raises(UserError, match="max_fits"):
        run(one_method(tmp_path, "Means', shift: [0, 1]", "{{folds: 2, max_fits: 3}}"), tmp_path / "t", 2)
    assert [len(found) for found in started] == [2, 0, 2, 2]
    assert worker_pids(os.getpid()) == []


FEW = """methods:
  Binary-SVM: {{solver: binary_svm, C: [0.1, 1, 10]}}
  Rank-SVM: {{solver: rank_svm, C: [0.1, 1]}}
search: {{folds: 3}}
"""


@pytest.fixture
def starts(monkeypatch):
    """How many workers each start was of."""
    found = []
    executor = pools._executor
    monkeypatch.setattr(pools, "_executor", lambda size: found.append(size) or executor(size))
    return found


def test_few_short_fits_are_made_without_workers(tmp_path, monkeypatch, starts):
    monkeypatch.setattr(pools, "SECONDS_HERE", 1000)
    folder = run(small_config(tmp_path, text=HEAD + FEW), tmp_path / "here", 2)
    assert starts == []
    whole = run(small_config(tmp_path, text=HEAD + FEW), tmp_path / "whole", 1)
    assert contents(folder) == contents(whole)


@pytest.mark.parametrize(("limit", "n_starts"), [("SECONDS_HERE", 1), ("OPERATIONS_HERE", 1), (None, 0)])
def test_workers_start_once_fits_have_taken_long_or_before_a_large_one(tmp_path, monkeypatch, starts, limit, n_starts):
    # Two data sets: the workers get the second one as well.
    config = small_config(tmp_path, text=HEAD + FEW)
    other = config.datasets[0].model_copy(update={"name": "other"})
    config = config.model_copy(update={"datasets": (*config.datasets, other)})
    monkeypatch.setattr(sys.modules["mlrank.experiment.run"], "FEW_FITS", 40)
    monkeypatch.setattr(pools, "SECONDS_HERE", 1000)
    with monkeypatch.context() as low:
        if limit is not None:
            low.setattr(pools, limit, 0)
        folder = run(config, tmp_path / "r", 2)
    assert starts == [2] * n_starts
    assert contents(folder) == contents(run(config, tmp_path / "whole", 1))
    assert worker_pids(os.getpid()) == []


@pytest.mark.parametrize(
    ("before", "after", "few"),
    [
        ("folds: 3", "folds: 3, time_limit: 30", 30),
        ("binary_svm, C: [0.1, 1, 10]", "'tests.experiment.small:Means'", 30),
        ("binary_svm, C: [0.1, 1, 10]", "label_powerset", 30),
        ("folds: 3", "folds: 3, metric: 'tests.experiment.test_own_parts:missed'", 30),
        ("folds: 3", "folds: 3", 16),
    ],
    ids=["ended by its process", "own code", "estimators", "own metric", "many"],
)
def test_fits_that_may_end_their_process_or_are_many_are_made_by_workers(
    tmp_path, monkeypatch, starts, before, after, few
):
    monkeypatch.setattr(sys.modules["mlrank.experiment.run"], "FEW_FITS", few)
    monkeypatch.setattr(pools, "SECONDS_HERE", 1000)
    run(small_config(tmp_path, text=HEAD + FEW.replace(before, after)), tmp_path / "r", 2)
    assert starts == [2]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_group_is_prepared_once_for_each_fold(tmp_path, monkeypatch, jobs):
    made = tmp_path / "made"
    made.mkdir()
    monkeypatch.setenv("PREPARED", str(made))
    shifts = [3 * i for i in range(30)]
    config = one_method(tmp_path, f"Prepared', shift: {shifts}, group: [1, 2, 3]", "{{folds: 3}}")
    run(config, tmp_path / "r", jobs)
    # 3 folds, 3 groups; the refit and its warm-up prepare for themselves.
    assert len(list(made.iterdir())) == 9 + 1


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_fit_over_the_time_limit_fails_and_the_others_go_on(tmp_path, jobs):
    config = one_method(tmp_path, "Endless', shift: [0, 1, 3]", "{{folds: 2, time_limit: 0.2}}")
    folder = run(config, tmp_path / "r", jobs)
    errors = [record.error for record in folder.journal.read().values() if record.error]
    assert len(errors) == 2
    assert all("TimeLimit: the fit took longer than the time limit of 0.2 s" in error for error in errors)
    (record,) = folder.runs()
    assert (record.status, record.search.n_failed) == ("done", 2)


def test_a_point_over_the_time_limit_in_one_fold_is_not_tried_in_others(tmp_path):
    text = f"{HEAD}methods:\n  A: {{{{solver: 'tests.experiment.small:Endless', shift: [1, 2, 0]}}}}\n"
    text += "search: {{folds: 3, time_limit: 0.2}}\n"
    config, seen = small_config(tmp_path, split="{kind: kfold, folds: 2}", text=text), []
    run(config, tmp_path / "r", notify=seen.append)
    trials = [event for event in seen if isinstance(event, TrialEvent)]
    tried, not_tried = [], []
    for event in trials:
        if event.settings["shift"] == 1:
            (not_tried if event.record.error.endswith("not tried in this one") else tried).append(event)
    # One in each search; and all that fail otherwise are tried.
    assert [event.run.split for event in tried] == ["r0f0", "r0f1"]
    assert len(not_tried) == 4
    assert all("the time limit of 0.2 s in another fold of the search" in event.record.error for event in not_tried)
    others = [event.record.error for event in trials if event.settings["shift"] == 2]
    assert len(others) == 6
    assert all("this one always fails" in error for error in others)
    # The first fold of each search comes before the second of any, so that workers side by side know it too.
    assert [event.run.split for event in trials][::3] == ["r0f0", "r0f1"] * 3
    for record in RunFolder.of(tmp_path / "r", "small").runs():
        assert (record.searched, record.search.n_failed) == ({"shift": 0}, 6)


def test_a_search_without_any_value_fails_for_a_fit_that_was_made(tmp_path):
    config = one_method(tmp_path, "Endless', shift: [1, 2]", "{{folds: 2, time_limit: 0.2}}")
    # The first point is found to be hopeless in the second fold, as another process may have it.
    ((_, (cell,)),) = plan_cells(config)
    folder = RunFolder.create(tmp_path / "r", "small")
    error = "Traceback\nTimeLimit: the fit took longer than the time limit of 9 s"
    folder.journal.append(TrialRecord(cell.trial(0, 1).key, error=error))
    (record,) = run(config, tmp_path / "r", 1).runs()
    assert folder.journal.read()[cell.trial(0, 0).key].error.endswith("not tried in this one")
    assert (record.status, record.search.n_failed) == ("failed", 4)
    assert record.reason == "RuntimeError: this one always fails"


def test_a_fit_that_hangs_is_ended_where_nothing_is_searched_too(tmp_path, monkeypatch):
    monkeypatch.setattr("mlrank.search.fits.COMPILE_SECONDS", 0.2)
    (record,) = run(one_method(tmp_path, "Endless', shift: 1", "{{time_limit: 0.2}}"), tmp_path / "r", 1).runs()
    assert record.status == "failed"
    assert "longer than the time limit of 0.2 s" in record.error


@pytest.mark.parametrize(("search", "warm_up"), [("{{folds: 2, time_limit: 9}}", 20), ("{{folds: 2}}", 10**9)])
def test_a_warm_up_iterates_little_where_fits_have_a_limit(tmp_path, monkeypatch, search, warm_up):
    monkeypatch.setattr(Iterated, "seen", [])
    monkeypatch.setattr("mlrank.search.fits._WARM", set())
    run(one_method(tmp_path, "Iterated', shift: [0, 1]", search), tmp_path / "r", 1)
    assert {most for rows, most in Iterated.seen if rows == 20} == {warm_up}
    assert {most for rows, most in Iterated.seen if rows > 20} == {10**9}


@pytest.mark.parametrize(
    ("settings", "n_warm_ups"),
    [
        ("shift: [1, 2, 3]", 1),
        # Without a shift other code may run, as with other values that are no numbers.
        ("shift: [2, 0]", 2),
        ("kind: [sum, mean], shift: 1", 2),
        ("kind: [sum, mean], shift: [1, 2]", 2),
    ],
)
def test_a_process_warms_up_once_for_fits_that_run_the_same_code(tmp_path, monkeypatch, settings, n_warm_ups):
    monkeypatch.setattr(Iterated, "seen", [])
    monkeypatch.setattr("mlrank.search.fits._WARM", set())
    monkeypatch.setattr("mlrank.search.fits.SLICE_SECONDS", -1.0)  # every fit is a task
    monkeypatch.setattr("mlrank.search.fits.PREPARATIONS_PER_SLICE", -1.0)
    run(one_method(tmp_path, f"Iterated', {settings}", "{{folds: 2, time_limit: 9}}"), tmp_path / "r", 1)
    assert sum(rows == 20 for rows, _ in Iterated.seen) == n_warm_ups
    assert len(Iterated.seen) >= n_warm_ups + 2 * 2 + 1


def test_a_fit_that_hangs_in_a_library_ends_with_its_worker(tmp_path):
    (record,) = run(one_method(tmp_path, "Stuck', shift: 1", "{{time_limit: 0.1}}"), tmp_path / "r", 2).runs()
    assert record.status == "failed"
    assert "ended as the fit hung, far over its limit of 0.1 s" in record.error


@pytest.mark.parametrize(("value", "message"), [("nan", "entries that are not finite"), ("1j", "must be real numbers")])
@pytest.mark.parametrize("metric", ["f1_micro", "auc_macro"])
def test_scores_that_are_no_numbers_fail_their_fit_alone(tmp_path, value, message, metric):
    config = one_method(tmp_path, f"Odd', value: '{value}', shift: [0, 1]", f"{{{{folds: 2, metric: {metric}}}}}")
    folder = run(config, tmp_path / "r", 1)
    errors = [record.error for record in folder.journal.read().values() if record.error]
    assert len(errors) == 2
    assert all(message in error.splitlines()[-1] for error in errors)
    (record,) = folder.runs()
    assert (record.status, record.searched, record.search.n_failed) == ("done", {"shift": 0}, 2)


def test_a_fit_that_kills_its_worker_fails_alone(tmp_path):
    folder = run(one_method(tmp_path, "Deadly', shift: [0, 1]"), tmp_path / "r", jobs=2)
    records = folder.journal.read().values()
    assert len(records) == 4
    errors = [record.error for record in records if record.error]
    assert len(errors) == 2
    assert all(error.startswith("the worker process died, perhaps for lack of memory") for error in errors)
    assert folder.runs()[0].status == "done"


def test_a_fit_whose_worker_was_killed_is_tried_again_in_a_worker_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("KILLED", str(tmp_path / "died"))
    folder = run(one_method(tmp_path, "Killed', shift: [0, 1, 3, 4]"), tmp_path / "r", jobs=2)
    assert (tmp_path / "died").exists()
    assert [record.error for record in folder.journal.read().values()] == [None] * 8
    whole = run(one_method(tmp_path, "Killed', shift: [0, 1, 3, 4]"), tmp_path / "whole", jobs=1)
    assert contents(folder) == contents(whole)


@pytest.mark.parametrize("strategy", ["staged", "halving", "random"])
def test_every_strategy_gives_the_same_bytes_after_a_cut(tmp_path, strategy):
    search = f"search: {{{{folds: 3, strategy: {strategy}, max_fits: {60 if strategy == 'halving' else 15}}}}}"
    config = small_config(tmp_path, text=CONFIG.replace("search: {{folds: 3, metric: f1_micro}}", search))
    whole = run(config, tmp_path / "whole", jobs=2 if strategy == "halving" else 1)

    class Cut(Exception):
        pass

    def cut(event, seen=[]):  # noqa: B006
        seen.append(type(event))
        if seen.count(TrialEvent) == 12:
            raise Cut

    with pytest.raises(Cut):
        run(config, tmp_path / "cut", 1, cut)
    kept = set(RunFolder(tmp_path / "cut" / "small").journal.read())
    events = []
    resumed = run(config, tmp_path / "cut", 1, events.append)
    assert not kept & {event.record.key for event in events if isinstance(event, TrialEvent)}
    assert contents(resumed) == contents(whole)
    made = sum(record.search.n_trials for record in whole.runs())
    assert events[0].total == made + 2 == len(whole.journal.read()) + 2


def test_halving_fits_on_nested_parts_of_the_training_rows(tmp_path):
    from mlrank.experiment import plan_cells

    ((_, (cell, _)),) = plan_cells(small_config(tmp_path))
    rows = cell.folds[0][0]
    third, ninth = cell._part(rows, 1 / 3), cell._part(rows, 1 / 9)
    assert (len(third), len(ninth)) == (round(len(rows) / 3), round(len(rows) / 9))
    assert set(ninth) < set(third) < set(rows)
    assert len({cell.trial(0, 0, fraction).key for fraction in (1 / 9, 1 / 3, 1.0)}) == 3


@pytest.mark.parametrize("sparse", [False, True])
def test_maps_hold_the_same_arrays_read_only_and_leave_nothing(tmp_path, sparse):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((7, 3)) * (rng.random((7, 3)) < 0.5)
    Y = rng.random((7, 2)) < 0.5
    left = tmp_path / "mlrank-maps-999999999-x"
    left.mkdir()
    with map_folder(tmp_path) as folder:
        assert not left.exists()
        known = rng.random((2, 7, 2)) < 0.5
        names = ("a", "b", "c") if sparse else None
        given = TaskData(csr_array(X) if sparse else X, Y, known if sparse else None, feature_names=names)
        table = SharedData.write(folder, given).open()
        assert table.feature_names == names
        mapped_X, mapped_Y = table.X, table.Y
        assert np.array_equal(table.known, known) if sparse else table.known is None
        assert np.array_equal(mapped_X.toarray() if sparse else mapped_X, X)
        assert np.array_equal(mapped_Y, Y)
        assert not (mapped_X.data if sparse else mapped_X).flags.writeable
        assert not mapped_Y.flags.writeable
    assert list(tmp_path.iterdir()) == []


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))


def test_a_disk_that_is_full_is_one_line_and_nothing_half_written(tmp_path):
    config = slow_config(tmp_path)
    command = [sys.executable, "-m", "mlrank", "train", str(config), "--jobs", "1", "--quiet"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        preexec_fn=limit_files,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("mlrank: results/small/")
    assert "file too large" in done.stderr
    assert not list(tmp_path.rglob("*.part"))
    lines = (tmp_path / "results/small/trials.jsonl").read_bytes().split(b"\n")
    assert all(json.loads(line)["key"] for line in lines[:-1])


def test_workers_that_were_started_ahead_may_end_before_they_have_their_first_call():
    # What fails is a thread of the executor, which pytest makes an error of the test.
    for _ in range(20):
        with pools_ahead(2, []):
            pass
