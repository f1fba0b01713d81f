"""Shells complete names: recipes, data sets, solvers, without loading what computes."""

import os
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from mlrank.cli import app, completion
from mlrank.datasets import read_catalogue
from mlrank.datasets.formats import FORMATS
from mlrank.metrics import METRICS
from mlrank.plots import KINDS
from mlrank.recipes import recipes
from mlrank.solvers import PROJECTIONS, SOLVERS
from tests.experiment.kills import ROOT


def test_every_recipe_data_set_and_solver_is_completed():
    assert completion.complete_recipe("") == sorted([*recipes(), "all"])
    assert completion.complete_dataset("") == sorted(read_catalogue())
    assert completion.complete_topic("") == sorted({*recipes(), *SOLVERS, *PROJECTIONS})
    assert completion.complete_topic("rank_s") == ["rank_svm"]
    assert completion.metric_names() == list(METRICS)
    assert completion.format_keys() == list(FORMATS)
    assert completion.solver_keys() == list(SOLVERS)
    assert completion.figure_kinds() == list(KINDS)
    assert completion.complete_kind("co") == ["convergence", "cooccurrence", "correlation"]
    assert completion.complete_benchmark("emotions,bi") == ["emotions,bibtex", "emotions,birds"]
    assert completion.complete_published("benchmark:rank_s") == ["benchmark:rank_svm"]
    assert completion.complete_metric("auc_sa") == ["auc_samples", "auc_samples_multi", "auc_samples_single"]


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
        (["plot", "results/a", "conv"], ["convergence"]),
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


def test_a_reader_that_has_read_enough_is_no_error():
    command = f"{sys.executable} -c 'from mlrank.cli import main; main()' explain | head -n 3"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("metrics")


@pytest.mark.parametrize("width", [30, 200])
def test_what_is_explained_fits_the_width(width):
    lines = CliRunner().invoke(app, ["explain"], env={"COLUMNS": str(width)}).output.splitlines()
    assert max(map(len, lines)) <= width
    assert [line for line in lines if line != line.rstrip()] == []


def test_a_reader_of_plain_lines_that_has_read_enough_is_no_error_either():
    command = f"{sys.executable} -c 'from mlrank.cli import main; main()' explain --json | true"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", ["evaluate", "table", "compare", "plot", "report"])
def test_help_names_every_metric_whole(command):
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "80"}).output
    assert "…" not in shown
    assert set(METRICS) <= set(re.findall(r"\w+", shown.partition("Metrics: ")[2]))
