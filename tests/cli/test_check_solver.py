"""``mlrank check-solver``, and the example of a user's own solver."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mlrank.solvers import SOLVERS, TrainingSet
from tests.cli.test_commands import mlrank  # noqa: F401  a fixture
from tests.solvers.problems import random_problem

CONFIGS = Path(__file__).parents[2] / "configs"


@pytest.fixture
def own(monkeypatch):
    monkeypatch.syspath_prepend(str(CONFIGS))
    return "own_solver:Centroids"


def test_the_example_of_an_own_solver_is_sound(mlrank, own):  # noqa: F811
    code, out, err = mlrank("check-solver", own)
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "own_solver:Centroids: 13 passed, 0 failed, 10 skipped"
    code, out, err = mlrank("check-solver", own, "--json", "-s", "shrinkage=3")
    assert (code, err) == (0, "")
    assert json.loads(out)["scores"]["outcome"] == "passed"


def test_the_example_computes_what_it_says(own):
    from own_solver import Centroids

    X, Y = random_problem()
    Y = Y[:, :3]
    scores = Centroids(shrinkage=1e-12).fit(TrainingSet(X, Y)).decision_function(X)
    mean = X.mean(axis=0)
    for label in range(3):
        centre = X[Y[:, label]].mean(axis=0)
        far = ((X - mean) ** 2).sum(axis=1) - ((X - centre) ** 2).sum(axis=1)
        share = (Y[:, label].sum() - Y.sum() / 3) / len(X)
        assert np.allclose(scores[:, label], far + share)


def test_the_example_configuration_runs(mlrank, own, tmp_path):  # noqa: F811
    text = (CONFIGS / "own-solver.yaml").read_text().replace("datasets: [yeast]", "datasets: [{train: train.svm}]")
    text = text.replace("split: {kind: official}", "split: {kind: kfold, folds: 2}")
    (tmp_path / "own.yaml").write_text(text)
    code, out, err = mlrank("train", "own.yaml", "--quiet", "--jobs", 1)
    assert (code, err) == (0, "")
    assert "Centroids" in out
    assert len(list((tmp_path / "results" / "own-solver").rglob("Centroids.model"))) == 2


def test_a_broken_solver_has_exit_code_2(mlrank):  # noqa: F811
    code, out, err = mlrank("check-solver", "tests.test_contract_checks:Overclaims")
    assert (code, err) == (2, "")
    assert "failed   certificate  converged with optimality 1.0e-01, which is not between 0 and tol=0.01" in out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["own_solver:Centroid"], "unknown class of module own_solver 'Centroid'. Did you mean 'Centroids'?"),
        (["no_such_module:A"], "no module named 'no_such_module': it is looked for in the current folder and on "),
        (["rank_svn"], "unknown solver 'rank_svn'. Did you mean 'rank_svm'?"),
        (["os:path"], "is not a solver"),
        (["rank_svm", "-s", "CC=1"], "unknown setting of RankSVM 'CC'. Did you mean 'C'?"),
        (["rank_svm", "-s", "C"], "--set takes NAME=VALUE, found 'C'"),
        (
            ["rakel", "-s", "estimator__c=1"],
            "rakel cannot be made of these settings: unknown setting of sklearn.linear",
        ),
        (["mlp", "-s", "max_itr=1"], "unknown setting of mlp 'max_itr'. Did you mean 'max_iter'?"),
        (["rank_svm", "-s", "C=-1"], "RankSVM cannot be made of these settings: C must be a number above 0"),
    ],
)
def test_mistakes_are_one_line(mlrank, own, words, told):  # noqa: F811
    code, out, err = mlrank("check-solver", *words)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert told in err


def test_settings_are_read_as_yaml_reads_words(mlrank):  # noqa: F811
    code, out, _ = mlrank("check-solver", "binary_svm", "-s", "kernel=rbf", "-s", "gamma=1e-1", "-s", "C=2")
    assert code == 0
    assert "binary_svm: " in out
    assert "binary_svm" in SOLVERS


def test_a_preset_has_its_settings_and_those_of_the_estimator_inside(mlrank):  # noqa: F811
    code, out, _ = mlrank("check-solver", "logistic_chain", "-s", "estimator__C=0.5", "-s", "estimator__max_iter=50")
    assert code == 0
    assert "skipped  label_order" in out


def test_it_runs_outside_a_checkout(tmp_path):
    """The checks are part of the package and need none of its tests."""
    code = (
        "import sys; from mlrank.cli import main; sys.argv = ['mlrank', 'check-solver', 'own_solver:Centroids']; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.append({str(CONFIGS)!r}); {code}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "13 passed, 0 failed" in done.stdout
