"""``mlrank status``, ``mlrank why`` and ``--retry-failed``."""

import json
import re
import shutil
import sys
from dataclasses import asdict

import numpy as np
import pytest

from mlrank.records import RunFolder, WorkLocks, software_info, sources
from tests.cli.test_commands import mlrank, write_config  # noqa: F401  a fixture
from tests.experiment.small import small_data, write_libsvm

FLAKY = ("{solver: binary_svm, C: [0.1, 1, 10]}", "{solver: 'tests.experiment.small:Flaky', shift: [0, 1]}")


@pytest.fixture
def states(mlrank):  # noqa: F811
    def call(*words):
        code, out, _ = mlrank("status", *words, "--json")
        (found,) = json.loads(out).values()
        return code, [state["state"] for state in found], found

    return call


def test_states_follow_a_run(finished, states, mlrank, tmp_path):  # noqa: F811
    config = write_config(tmp_path / "c.yaml")
    assert states("c.yaml")[:2] == (0, ["planned", "planned"])
    shutil.copytree(finished, tmp_path / "results")
    code, names, found = states("results/small")
    assert (code, names) == (0, ["done", "done"])
    assert [(state["n_done"], state["n_trials"]) for state in found] == [(9, 9), (24, 24)]
    write_config(config, ("C: [0.1, 1, 10]", "C: [0.1, 1]"))
    assert states("c.yaml")[1] == ["stale", "done"]
    _, out, _ = mlrank("status")
    assert "Rank-HLapSVM" not in out
    assert re.search(r"small +train +2 +2 +33/33", out)  # both done, as their folder's configuration says
    _, out, _ = mlrank("status", "--list")
    assert "Rank-HLapSVM" in out
    assert "24/24" in out
    _, out, _ = mlrank("status", "c.yaml")
    assert re.search(r"experiment.*runs.*done.*stale.*search fits", out)
    assert re.search(r"small +train +2 +1 +1 ", out)


@pytest.mark.usefixtures("trained")
def test_a_run_at_which_a_process_is_at_work_is_running(states, tmp_path):
    folder = RunFolder(tmp_path / "results/small")
    path = folder.path / "runs/train/official/Binary-SVM.json"
    key = json.loads(path.read_text())["key"]
    path.unlink()
    with WorkLocks(folder.path / "claims") as claims:
        claims.take(key)
        assert states("results/small")[1] == ["running", "done"]
    assert states("results/small")[1] == ["planned", "done"]


@pytest.mark.usefixtures("trained")
def test_an_experiment_whose_data_are_elsewhere_does_not_hide_the_others(mlrank, tmp_path):  # noqa: F811
    shutil.copytree(tmp_path / "results/small", tmp_path / "results/away")
    stored = tmp_path / "results/away/config.yaml"
    stored.write_text(stored.read_text().replace("small", "away").replace("train.svm", "gone.svm"))
    code, out, err = mlrank("status")
    assert code == 2
    assert re.search(r"small +train +2 +2 +33/33", out)
    assert "away" not in out
    assert err.startswith("mlrank: results/away/config.yaml:")
    assert "gone.svm" in err
    assert err.count("\n") == 1
    assert mlrank("status", "results/away")[:2] == (1, "")


def test_failures_are_listed_and_made_again_only_when_asked(mlrank, states, tmp_path, monkeypatch):  # noqa: F811
    config = write_config(tmp_path / "c.yaml", FLAKY)
    monkeypatch.setenv("FLAKY", "1")
    assert mlrank("train", config, "--jobs", 1, "--quiet")[0] == 2
    code, names, found = states("results/small")
    assert (code, names) == (2, ["failed", "done"])
    assert found[0]["errors"] == ["RuntimeError: not today"] * 6
    code, out, _ = mlrank("status", "results/small")
    assert "train / official / Binary-SVM: RuntimeError: not today" in out
    monkeypatch.delenv("FLAKY")
    code, _, err = mlrank("train", config, "--jobs", 1)
    assert code == 2
    assert "32 fits, 32 of them already done" in err
    code, _, err = mlrank("train", config, "--jobs", 1, "--retry-failed")
    assert code == 0
    assert "32 fits, 25 of them already done" in err
    assert states("results/small")[:2] == (0, ["done", "done"])


def test_why_names_the_line_the_data_and_the_version(mlrank, finished, tmp_path, monkeypatch):  # noqa: F811
    config = write_config(tmp_path / "c.yaml")
    assert mlrank("why", config, "Binary-SVM")[1] == "train / official / Binary-SVM: not run yet\n"
    shutil.copytree(finished, tmp_path / "results")
    where = "train / official / Binary-SVM: "
    assert mlrank("why", config, "Binary-SVM")[1] == f"{where}nothing has changed since it was run\n"
    assert mlrank("why", config)[1] == "2 of 2 runs: nothing has changed since it was run\n"
    write_config(config, ("C: [0.1, 1, 10]", "C: [0.1, 1]"), ("folds: 3", "folds: 4"))
    _, out, _ = mlrank("why", config, "Binary-SVM")
    assert f"{where}{config}:7:" in out
    assert "C was [0.1, 1.0, 10.0], is [0.1, 1.0]" in out
    assert f"{where}{config}:9: search.folds was 3, is 4" in out
    write_config(config)
    X, Y = small_data(seed=1)
    write_libsvm(tmp_path / "test.svm", X[60:], Y[60:])
    monkeypatch.setattr("mlrank.experiment.cell.__version__", "99")
    _, out, _ = mlrank("why", config, "Binary-SVM")
    first, second = out.splitlines()
    assert first.startswith(f"{where}the data changed (hash ")
    assert second.startswith(f"{where}mlrank's version was ")
    _, out, _ = mlrank("why", config)
    assert out.splitlines()[:2] == [first, second]
    assert {line.split(": ")[0] for line in out.splitlines()} == {
        "train / official / Binary-SVM",
        "train / official / Rank-HLapSVM",
    }
    code, _, err = mlrank("why", config, "Binary-SWM")
    assert (code, "Did you mean 'Binary-SVM'?" in err) == (1, True)


def test_why_names_the_file_of_a_class_that_was_edited(mlrank, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "edited_solver.py").write_text("import edited_part\nfrom tests.experiment.small import Means\n")
    part = tmp_path / "edited_part.py"
    part.write_text("x = 1\n")
    own = (FLAKY[0], "{solver: 'edited_solver:Means', shift: [0, 1]}")
    config = write_config(tmp_path / "c.yaml", own)
    mlrank("train", config, "--jobs", 1, "--quiet")
    where = "train / official / Binary-SVM: "
    assert mlrank("why", "results/small", "Binary-SVM")[1] == f"{where}nothing has changed since it was run\n"
    part.write_text("x = 2\n")
    del sys.modules["edited_solver"], sys.modules["edited_part"]
    sources._first_hashes.cache_clear()
    for run in (config, "results/small"):
        _, out, _ = mlrank("why", run, "Binary-SVM")
        assert out.startswith(f"{where}the file edited_part.py changed (hash ")
        assert out.count("\n") == 1


@pytest.mark.usefixtures("trained")
def test_runs_made_with_other_software_are_counted(mlrank, states, tmp_path):  # noqa: F811
    assert [state["other_software"] for state in states("results/small")[2]] == [[], []]
    path = tmp_path / "results/small/runs/train/official/Binary-SVM.json"
    record = json.loads(path.read_text())
    assert record["software"] == asdict(software_info()) | {"threads": 1, "blas": list(software_info().blas)}
    record["software"]["packages"]["numpy"] = "1.0"
    path.write_text(json.dumps(record))
    line = f"1 run made with other software than now: numpy 1.0 (now {np.__version__})\n"
    assert mlrank("status")[1].endswith(line)


OLD_RUN = {"format": 1, "dataset": {"name": "d"}, "split": "official", "method": "A", "status": "done"}


@pytest.mark.parametrize(
    "words",
    [
        ["train", "c.yaml"],
        ["train", "c.yaml", "--dry-run"],
        ["status"],
        ["status", "c.yaml"],
        ["why", "c.yaml", "Binary-SVM"],
        ["why", "results/small", "Binary-SVM"],
        ["table", "results/small"],
        ["plot", "results/small", "sensitivity"],
        ["report", "results/small"],
        ["evaluate", "results/small"],
        ["compare", "results/small"],
    ],
)
def test_a_folder_of_an_older_version_is_told_and_left_alone(mlrank, tmp_path, words):  # noqa: F811
    config = write_config(tmp_path / "c.yaml")
    folder = tmp_path / "results/small"
    for name, content in {
        "config.yaml": config.read_text(),
        "trials.jsonl": '{"key": "a", "value": 1.0, "error": null, "time": {"fit": 1.0}}\n',
        "planned.json": "[]",
        "runs/d/official/A.json": json.dumps(OLD_RUN),
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    before = {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}
    code, out, err = mlrank(*words)
    assert (code, out) == (1, "")
    assert err.startswith("mlrank: results/small: made by an older version of mlrank, in format 1 (this one reads 2); ")
    assert err.endswith("choose another --results folder or delete it\n")
    assert err.count("\n") == 1
    assert {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")} == before


def test_status_where_nothing_was_run_is_one_line(mlrank):  # noqa: F811
    assert mlrank("status") == (1, "", "mlrank: results: no experiment was run here yet\n")


def test_the_name_of_an_example_is_that_of_its_run(mlrank):  # noqa: F811
    # Also where nothing of that name lies in the folder.
    assert mlrank("why", "quickstart", "Rank-SVM") == (0, "yeast / official / Rank-SVM: not run yet\n", "")
    code, out, err = mlrank("status", "quickstart", "--json")
    assert (code, err) == (0, "")
    assert [state["method"] for state in json.loads(out)["quickstart"]] == ["Binary-SVM", "Rank-SVM", "Rank-HLapSVM"]
    assert mlrank("why", "nothing") == (1, "", "mlrank: nothing: there is no such results folder\n")


def test_a_name_near_that_of_an_example_is_told(mlrank):  # noqa: F811
    code, out, err = mlrank("train", "quickstar")
    assert (code, out) == (1, "")
    assert err.startswith("mlrank: unknown file or example 'quickstar'. Did you mean 'quickstart'?")
    assert err.count("\n") == 1
