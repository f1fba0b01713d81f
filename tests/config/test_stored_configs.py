"""A results folder is data: whatever its configuration names, reading it runs no code."""

import sys

import pytest

from mlrank.config import load_config, load_stored_config
from mlrank.config.loading import RESULTS_MARKS
from mlrank.errors import UserError
from mlrank.experiment import run, stored_trials
from tests.cli.test_commands import mlrank  # noqa: F401  a fixture
from tests.experiment.small import small_config

TEXT = """
name: evil
datasets: [yeast]
split: {{kind: official}}
methods:
  Own: {{solver: "{module}:Solver", C: [1, 2], depth: 3}}
"""


@pytest.fixture
def trap(tmp_path, monkeypatch):
    """A module on the path that leaves a mark when it is imported."""
    (tmp_path / "trap_module.py").write_text(
        "from dataclasses import dataclass\nfrom pathlib import Path\n"
        f"Path({str(tmp_path / 'sprung')!r}).touch()\n"
        "@dataclass(frozen=True)\nclass Solver:\n    C: float = 1.0\n    depth: int = 1\n"
        "    def fit(self, train, prepared=None): ...\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path / "sprung"
    sys.modules.pop("trap_module", None)


def write(folder, text=TEXT, **names):
    folder.mkdir(exist_ok=True)
    path = folder / "config.yaml"
    path.write_text(text.format(**{"module": "trap_module", **names}))
    return path


def test_a_configuration_given_by_the_user_is_imported_from(tmp_path, trap):
    config = load_config(write(tmp_path / "mine"))
    assert trap.exists()
    assert config.methods["Own"].solver_class.__module__ == "trap_module"


def test_a_stored_configuration_is_read_without_importing(tmp_path, trap):
    config = load_stored_config(write(tmp_path / "stored"))
    assert not trap.exists()
    assert "trap_module" not in sys.modules
    method = config.methods["Own"]
    assert method.axes == (("C", (1, 2)), ("depth", (3,)))
    assert [point.settings for point in method.grid()] == [{"C": 1, "depth": 3}, {"C": 2, "depth": 3}]
    with pytest.raises(ValueError, match="stands for a solver of a results folder, which is not imported"):
        method.solver_class(C=1).fit(None)
    resolved = config.resolved()
    assert load_config(write(tmp_path / "mine")).resolved() == resolved


@pytest.mark.parametrize("mark", RESULTS_MARKS)
def test_a_results_folder_named_as_a_configuration_is_not_imported_from(tmp_path, trap, mark):
    path = write(tmp_path / "stored")
    (tmp_path / "stored" / mark).touch()
    with pytest.raises(
        UserError, match="names code, 'trap_module:Solver', which is never imported from a results"
    ) as told:
        load_config(path)
    assert "\n" not in str(told.value)
    assert not trap.exists()


@pytest.mark.parametrize("module", ["os", "a.b", "1x", "a b", "..up", "trap_module:Solver"])
def test_odd_paths_of_stored_configurations(tmp_path, trap, module):
    path = write(tmp_path / "stored", module=module)
    if module in ("os", "a.b"):
        assert load_stored_config(path).methods["Own"].solver == f"{module}:Solver"
    else:
        with pytest.raises(UserError, match=r"is not of the form 'package\.module:ClassName'"):
            load_stored_config(path)
    assert not trap.exists()


def test_the_commands_that_read_results_folders_import_nothing(mlrank, tmp_path, trap):  # noqa: F811
    text = (
        "name: small\ndatasets: [{train: train.svm, test: test.svm}]\nsplit: {kind: official}\n"
        'methods:\n  Own: {solver: "tests.experiment.small:Means", shift: [0, 1]}\nsearch: {folds: 2}\n'
    )
    (tmp_path / "c.yaml").write_text(text)
    assert mlrank("train", "c.yaml", "--jobs", 1, "--quiet")[0] == 0
    stored = tmp_path / "results" / "small" / "config.yaml"
    stored.write_text(stored.read_text().replace("tests.experiment.small:Means", "trap_module:Solver"))
    for words in (
        ("status", "results/small"),
        ("why", "results/small", "Own"),
        ("table", "results/small"),
        ("evaluate", "results/small"),
        ("plot", "results/small"),
        ("report", "results/small"),
        ("compare", "results/small"),
        ("train", "results/small/config.yaml"),
    ):
        mlrank(*words)
        assert not trap.exists(), words


def test_stored_trials_of_an_own_solver_are_found_again(tmp_path):
    text = (
        "name: own\ndatasets: [{{train: {train}, test: {test}}}]\nsplit: {split}\nscale: {scale}\n"
        'methods:\n  Own: {{solver: "tests.experiment.small:Means", shift: [0, 1]}}\nsearch: {{folds: 2}}\n'
    )
    folder = run(small_config(tmp_path, text=text), tmp_path / "r")
    found = stored_trials(folder)
    assert sorted((trial.settings["shift"], trial.fold) for trial in found) == [(0, 0), (0, 1), (1, 0), (1, 1)]
