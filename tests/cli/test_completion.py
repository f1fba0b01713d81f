"""Shells complete names: recipes, data sets, solvers, without loading what computes."""

import os
import subprocess
import sys

import pytest

from mlrank.cli import completion
from mlrank.datasets import read_catalogue
from mlrank.recipes import recipes
from mlrank.solvers import PROJECTIONS, SOLVERS
from tests.experiment.kills import ROOT


def test_every_recipe_data_set_and_solver_is_completed():
    assert completion.complete_recipe("") == sorted([*recipes(), "all"])
    assert completion.complete_dataset("") == sorted(read_catalogue())
    assert completion.complete_topic("") == sorted({*recipes(), *SOLVERS, *PROJECTIONS})
    assert completion.complete_topic("rank_s") == ["rank_svm"]


def complete(*words):
    """Return what bash would be told."""
    script = (
        "import sys\nfrom mlrank.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = ('numpy', 'scipy', 'yaml', 'numba')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    line = {"COMP_WORDS": " ".join(["mlrank", *words]), "COMP_CWORD": str(len(words))}
    asked = {"_MLRANK_COMPLETE": "complete_bash", **line, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", f"import sys\nsys.argv = ['mlrank']\n{script}"]
    done = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True, check=True)
    *found, loaded = done.stdout.splitlines()
    assert loaded == "[]"
    return found


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["repr"], ["reproduce"]),
        (["reproduce", "mlr"], ["mlr-toy"]),
        (["datasets", "info", "yeast-"], ["yeast-libsvm"]),
        (["explain", "rank_h"], ["rank_hlapsvm"]),
    ],
)
def test_a_shell_is_told_names(words, found):
    assert complete(*words) == found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_shown(shell):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    command = [sys.executable, "-c", "import sys; sys.argv[0] = 'mlrank'; from mlrank.cli import main; main()"]
    done = subprocess.run(
        [*command, "--show-completion", shell], env=environment, capture_output=True, text=True, check=True
    )
    assert "_MLRANK_COMPLETE=complete_" + shell in done.stdout
