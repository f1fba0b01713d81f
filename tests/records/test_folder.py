import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mlrank import __version__
from mlrank.errors import UserError
from mlrank.records import FORMAT, DataNames, RunFolder, atomic, checkout_commit, environment, folder, software_info
from mlrank.records.atomic import LEFT_SECONDS, whole_file
from mlrank.records.run import MetricRecord
from tests.stats.records import record as made


def record(dataset="yeast", split="official", method="Rank-SVM", value=0.5, **more):
    return replace(made(method, dataset, split, value), **more)


def arrays():
    return {"scores": np.array([[0.5, -1.0]]), "Y_pred": np.array([[True, False]]), "rows": np.array([4])}


def test_create_makes_the_folder_and_takes_it_again(tmp_path):
    first = RunFolder.create(tmp_path / "results", "a/b")
    assert first.path == tmp_path / "results" / "a%2Fb"
    assert os.listdir(first.path) == ["format.json"]
    assert RunFolder.create(str(tmp_path / "results"), "a/b") == first


def test_an_experiment_needs_a_name(tmp_path):
    with pytest.raises(UserError, match="needs a name"):
        RunFolder.create(tmp_path, "")


@pytest.mark.parametrize("taken", ["results", "results/demo"])
def test_a_file_in_place_of_the_folder_is_one_line(tmp_path, taken):
    path = tmp_path / taken
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine")
    with pytest.raises(UserError, match="cannot make the folder: a file stands where a folder is needed"):
        RunFolder.create(tmp_path / "results", "demo")
    assert path.read_text() == "mine"


@pytest.mark.parametrize(("number", "reason"), [(13, "permission denied"), (30, "read-only file system")])
def test_a_folder_that_cannot_be_written_is_known_at_once(tmp_path, monkeypatch, number, reason):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(atomic.os, "open", refuse)
    with pytest.raises(UserError, match=f"cannot write the file: {reason}"):
        RunFolder.create(tmp_path, "demo")


def test_open_names_the_experiments_below(tmp_path):
    RunFolder.create(tmp_path, "one").write_config({})
    with pytest.raises(UserError, match=r"holds no config.yaml; experiments below it: .*/one$"):
        RunFolder.open(tmp_path)
    with pytest.raises(UserError, match="no such results folder"):
        RunFolder.open(tmp_path / "two")
    assert RunFolder.open(tmp_path / "one") == RunFolder(tmp_path / "one")


def test_a_folder_is_found_by_the_name_of_its_experiment(tmp_path):
    folder = RunFolder.create(tmp_path, "größe: 実験")
    folder.write_config({"name": "größe: 実験"})
    assert folder.path.name.isascii()
    assert RunFolder.open(tmp_path / "größe: 実験") == folder
    with pytest.raises(UserError, match="nothing: there is no such results folder"):
        RunFolder.open(tmp_path / "nothing")
    with pytest.raises(UserError, match="there is no such results folder"):
        RunFolder.open("..//..//nowhere/..")


def test_the_configuration_keeps_its_order_and_values(tmp_path):
    config = {
        "name": "x",
        "methods": {"B": {"C": [1e-6, 8.0]}, "A": {"C": [2, None, True, "no", "010", "1e-3"]}},
    }
    results = RunFolder(tmp_path)
    results.write_config(config)
    assert results.read_config() == config
    assert list(results.read_config()["methods"]) == ["B", "A"]


@pytest.mark.parametrize("text", ["a: 1: 2", "- 1"])
def test_a_damaged_configuration_is_named(tmp_path, text):
    (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(UserError, match=r"config.yaml:1:"):
        RunFolder(tmp_path).read_config()


def test_a_run_comes_back_with_its_arrays(tmp_path):
    results = RunFolder(tmp_path)
    results.write_run(record(method="Größe/2", value=float("nan")), arrays())
    (found,) = results.runs()
    assert found == record(method="Größe/2", metrics={"f1_macro": MetricRecord(None, 3, 3, "labels")})
    stored = results.run_arrays(found)
    assert set(stored) == {"scores", "Y_pred", "rows"}
    for name, value in arrays().items():
        np.testing.assert_array_equal(stored[name], value)
    assert results.find_run("yeast", "official", "Größe/2") == found
    assert results.find_run("yeast", "official", "Größe") is None


def test_two_writings_give_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        RunFolder(tmp_path / name).write_run(record(settings={"b": 1, "a": 0.1}), arrays())
    for suffix in ("json", "npz"):
        first, second = (tmp_path / name / f"runs/yeast/official/Rank-SVM.{suffix}" for name in ("a", "b"))
        assert first.read_bytes() == second.read_bytes()


def test_a_failed_run_replaces_a_run_and_its_arrays(tmp_path):
    results = RunFolder(tmp_path)
    results.write_run(record(), arrays())
    results.write_run(record(value=None, error="Traceback: é\n\udc80"), {})
    assert [run.status for run in results.runs()] == ["failed"]
    assert results.runs()[0].error == "Traceback: é\n\udc80"
    with pytest.raises(UserError, match="cannot read the arrays of the run: no such file"):
        results.run_arrays(record())


@pytest.mark.parametrize("crash_at", [0, 1])
def test_a_crash_while_a_run_is_replaced_never_mixes_old_and_new(tmp_path, monkeypatch, crash_at):
    results = RunFolder(tmp_path)
    results.write_run(record(value=0.1), {"scores": np.array([1.0])})
    replace, calls = os.replace, []

    def crash(*names):
        calls.append(names)
        if len(calls) > crash_at:
            raise KeyboardInterrupt
        replace(*names)

    monkeypatch.setattr(atomic.os, "replace", crash)
    with pytest.raises(KeyboardInterrupt):
        results.write_run(record(value=0.2), {"scores": np.array([2.0])})
    assert results.runs() == []
    assert results.find_run("yeast", "official", "Rank-SVM") is None


def test_runs_come_in_the_order_of_the_configuration(tmp_path):
    results = RunFolder(tmp_path)
    datasets = ["zoo", {"train": "data/mine.svm.xz", "test": None}, {"name": "alpha"}]
    results.write_config({"datasets": datasets, "methods": {"Z": {}, "A": {}}})
    written = [
        (dataset, split, method)
        for dataset in ("other", "alpha", "zoo", "mine")
        for split in ("r10f0", "r2f1", "r2f0")
        for method in ("B", "A", "Z")
    ]
    for names in written:
        results.write_run(record(*names), {})
    assert [run.names for run in results.runs()] == [
        (dataset, split, method)
        for dataset in ("zoo", "mine", "alpha", "other")
        for split in ("r2f0", "r2f1", "r10f0")
        for method in ("Z", "A", "B")
    ]


def test_leftovers_of_a_crash_are_not_read(tmp_path):
    results = RunFolder(tmp_path)
    results.write_run(record(), {})
    (tmp_path / "runs/yeast/official/Rank-SVM.json.0123.part").write_text("{half")
    assert len(results.runs()) == 1


def ended_process():
    """Return the name that a process had which has ended."""
    script = "from mlrank.processes import process_name; print(process_name())"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()


def test_parts_of_ended_processes_are_swept_and_those_of_running_ones_stay(tmp_path):
    folder = RunFolder.create(tmp_path, "demo")
    here = folder.path / "runs"
    left, old = f"x.json.{ended_process()}.0123abcd.part", time.time() - LEFT_SECONDS - 60
    for name in (
        left,
        "x.json.0000-elsewhere.part",
        "y.json.ffffff-17-42.0123abcd.part",
        "z.json.ffffff-17-42.45.part",
    ):
        here.mkdir(exist_ok=True)
        (here / name).write_text("half")
    for name in ("x.json.0000-elsewhere.part", "z.json.ffffff-17-42.45.part"):
        os.utime(here / name, (old, old))
    with whole_file(here / "mine.json") as handle:
        (part,) = here.glob("mine.json.*.part")
        os.utime(part, (old, old))
        folder.sweep()
        handle.write(b"whole")
    assert {path.name for path in here.iterdir()} == {"mine.json", "y.json.ffffff-17-42.0123abcd.part"}


def test_a_start_at_this_moment_is_not_taken_for_an_older_version(tmp_path, monkeypatch):
    exists = Path.exists

    def after_a_start(path, **more):
        answer = exists(path, **more)
        if path.name == "format.json" and not answer:  # now the other process comes
            monkeypatch.undo()
            RunFolder.create(tmp_path, "demo").write_config({})
        return answer

    monkeypatch.setattr(Path, "exists", after_a_start)
    RunFolder.of(tmp_path, "demo")
    assert (tmp_path / "demo" / "config.yaml").exists()


def test_a_run_that_another_process_is_about_to_replace_is_not_there(tmp_path, monkeypatch):
    results = RunFolder(tmp_path)
    results.write_run(record(), {})
    (path,) = tmp_path.glob("runs/*/*/*.json")
    glob = Path.glob

    def before_the_end(folder, pattern):
        found = list(glob(folder, pattern))
        path.unlink(missing_ok=True)
        return found

    monkeypatch.setattr(Path, "glob", before_the_end)
    assert results.runs() == []
    assert results.find_run(*record().names) is None


@pytest.mark.parametrize("content", [b"", b"{half", b"[]", b"{}", b'{"format": 2, "dataset": "x"}', b"\xff\xfe"])
def test_a_damaged_record_is_named(tmp_path, content):
    results = RunFolder(tmp_path)
    results.write_run(record(), {})
    path = tmp_path / "runs/yeast/official/Rank-SVM.json"
    path.write_bytes(content)
    with pytest.raises(UserError) as error:
        results.runs()
    assert str(error.value) == f"{path}: damaged record of a run; delete it to have the run done again"


def test_a_record_of_another_format_is_refused(tmp_path):
    results = RunFolder(tmp_path)
    results.write_run(record(), {})
    path = tmp_path / "runs/yeast/official/Rank-SVM.json"
    for number, age in ((FORMAT - 1, "an older"), (FORMAT + 1, "a newer")):
        path.write_text(json.dumps({"format": number, "dataset": {"name": "yeast"}, "status": "done"}))
        with pytest.raises(UserError) as error:
            results.runs()
        assert str(error.value).startswith(f"{path}: made by {age} version of mlrank, in format {number} (this")
        assert str(error.value).endswith("; choose another --results folder or delete it")


@pytest.mark.parametrize("content", ["config.yaml", "trials.jsonl", "planned.json", "runs/x.json"])
def test_a_folder_without_a_mark_is_of_an_older_version_and_stays_as_it_is(tmp_path, content):
    path = tmp_path / "demo" / content
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    before = sorted((tmp_path / "demo").rglob("*"))
    opened = [RunFolder.create, RunFolder.of]
    if content == "config.yaml":
        opened.append(lambda parent, name: RunFolder.open(parent / name))
    for take in opened:
        with pytest.raises(UserError, match=r"demo: made by an older version of mlrank.*choose another --results"):
            take(tmp_path, "demo")
    assert sorted((tmp_path / "demo").rglob("*")) == before
    assert path.read_text() == "{}"


def test_a_damaged_mark_is_one_line(tmp_path):
    folder = RunFolder.create(tmp_path, "demo")
    folder.write_config({"name": "demo"})
    (folder.path / "format.json").write_text("{")
    with pytest.raises(UserError, match=r"format.json: damaged mark of the results folder's format"):
        RunFolder.open(folder.path)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04 cut", None])
def test_damaged_arrays_are_named(tmp_path, content):
    results = RunFolder(tmp_path)
    results.write_run(record(), arrays())
    path = tmp_path / "runs/yeast/official/Rank-SVM.npz"
    packed = bytearray(path.read_bytes())
    packed[packed.index(b"PK\x01\x02") + 10] = 99  # a packing that nobody knows
    path.write_bytes(bytes(packed) if content is None else content)
    with pytest.raises(UserError, match=r"Rank-SVM.npz: damaged arrays"):
        results.run_arrays(record())


def test_arrays_that_claim_more_than_memory_are_not_unpacked(tmp_path, monkeypatch):
    results = RunFolder(tmp_path)
    results.write_run(record(), {"scores": np.zeros((1000, 100))})  # packed to less than a hundredth
    monkeypatch.setattr("mlrank.stored.available_memory", lambda: 1e5)
    with pytest.raises(UserError, match=r"Rank-SVM.npz: damaged arrays") as refused:
        results.run_arrays(record())
    assert "800128 bytes when unpacked" in str(refused.value.__cause__)


def test_names_that_differ_in_case_never_overwrite_each_other(tmp_path, monkeypatch):
    results = RunFolder(tmp_path)
    results.write_run(record(method="svm"), {})
    results.write_run(record(method="SVM"), {})
    assert [run.method for run in results.runs()] == ["SVM", "svm"]
    safe_name = atomic.safe_name
    monkeypatch.setattr(folder, "safe_name", lambda name: safe_name(name).lower())  # a disk that folds case
    with pytest.raises(UserError, match="does not tell letter case, and the file already holds the run yeast / offi"):
        results.write_run(record(method="SVM"), {})
    assert results.find_run("yeast", "official", "SVM") is None


@pytest.mark.parametrize(
    "names",
    [
        DataNames(("1", "2", "3"), ("7", "8", "9", "10", "11")),
        DataNames(("Größe", "2", "\udc80"), ("a", "a,b", '"', "1", "2")),
    ],
)
def test_names_of_labels_and_features_come_back_in_the_same_bytes(tmp_path, names):
    results = RunFolder(tmp_path)
    results.write_names("a/b", "00ff", names)
    (path,) = tmp_path.glob("names/*.json")
    stamp, content = path.stat().st_mtime_ns, path.read_bytes()
    results.write_names("a/b", "00ff", names)
    assert (path.stat().st_mtime_ns, path.read_bytes()) == (stamp, content)
    run = record("a/b")
    run = replace(run, dataset=replace(run.dataset, hash="00ff"))
    assert results.names(run) == names
    assert len(content) < 120
    with pytest.raises(UserError, match="cannot read the names of the data set: no such file"):
        results.names(record("a/b"))
    for damaged in (b"", b"[]", b'{"labels": ["x"], "features": ["y"]}', b'{"labels": 3, "features": ["y"]}'):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match="damaged names of a data set; delete the file and start the experiment"):
            results.names(run)


def test_the_log_is_appended_with_the_time(tmp_path):
    results = RunFolder(tmp_path)
    results.log({"event": "start"})
    results.log({"event": "end", "time": "given"})
    first, second = (json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines())
    assert first["event"] == "start"
    assert first["time"].endswith("+00:00")
    assert second == {"event": "end", "time": "given"}


def test_the_environment_is_written_without_machine_paths(tmp_path):
    written = RunFolder(tmp_path).write_environment()
    text = (tmp_path / "environment.json").read_text()
    assert json.loads(text) == written
    assert set(written["versions"]) == {"mlrank", "numpy", "scipy", "scikit-learn", "numba"}
    assert written["versions"]["numpy"] == np.__version__
    assert written["blas"]
    assert str(Path.home()) not in text
    assert os.uname().nodename not in text


def test_the_software_is_that_of_this_process():
    from threadpoolctl import threadpool_limits

    found = software_info()
    assert (found.mlrank, found.packages["numpy"], found.commit) == (__version__, np.__version__, checkout_commit())
    assert set(found.packages) == {"numpy", "scipy", "scikit-learn", "numba"}
    assert found.blas
    with threadpool_limits(1):
        assert software_info() == replace(found, threads=software_info().threads)


def test_the_commit_is_that_of_this_checkout_or_none(tmp_path, monkeypatch):
    import subprocess

    from mlrank.records import software as module

    fake = tmp_path / "site" / "mlrank" / "results" / "environment.py"
    monkeypatch.setattr(module, "__file__", str(fake))
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert checkout_commit() is None  # a repository further up is somebody else's
    root = tmp_path / "site"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    assert checkout_commit() is None  # no commit yet
    author = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    command = ["git", "-C", str(root), *author, "commit", "-q", "--allow-empty", "--no-verify", "-m", "x"]
    subprocess.run(command, check=True)
    head = (root / ".git" / (root / ".git/HEAD").read_text().split()[1]).read_text().strip()
    assert checkout_commit() == head
    assert environment()["commit"] == head


@pytest.mark.parametrize("content", [b"", b"{", b"3", b"[[]]"])
def test_a_damaged_list_of_planned_runs_is_one_line(tmp_path, content):
    folder = RunFolder(tmp_path)
    folder.write_planned(["k"])
    assert folder.runs() == []
    (tmp_path / "planned.json").write_bytes(content)
    with pytest.raises(UserError, match=r"planned\.json: damaged list of the planned runs; start the experiment again"):
        folder.runs()
