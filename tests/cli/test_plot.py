"""``mlrank plot`` on stored runs."""

import json

import pytest
from typer.testing import CliRunner

from mlrank.cli import app
from mlrank.errors import UserError
from mlrank.experiment import run
from tests.experiment.small import small_config


def invoke(*words):
    result = CliRunner().invoke(app, ["plot", *map(str, words)], env={"COLUMNS": "100"})
    if isinstance(result.exception, UserError):
        raise result.exception
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("plot")
    return run(small_config(path), path / "results").path


def test_figures_go_into_the_results_folder_as_svg_and_pdf(folder):
    result = invoke(folder, "sensitivity")
    names = [line.rsplit("/", 1)[1] for line in result.stdout.splitlines()]
    assert names == [f"sensitivity-part-train{part}.{fmt}" for part in ("", "-Rank-HLapSVM") for fmt in ("svg", "pdf")]
    assert all((folder / "figures" / name).stat().st_size > 1000 for name in names)


def test_all_draws_what_can_be_drawn_and_says_what_cannot(folder, tmp_path):
    result = invoke(folder, "all", "--out", tmp_path, "--format", "png", "--metric", "f1_macro")
    assert result.exit_code == 0
    drawn = {path.stem.split("-")[0] for path in tmp_path.glob("*.png")}
    assert drawn == {"sensitivity", "labels", "threshold", "cooccurrence", "correlation"}
    said = {line.split(":")[0] for line in result.stderr.splitlines() if "not drawn" in line}
    assert said == {"learning", "convergence", "runtime", "critical", "reliability"}


def test_methods_can_be_chosen(folder, tmp_path):
    invoke(folder, "threshold", "--method", "Binary-SVM", "--out", tmp_path, "-f", "svg")
    text = (tmp_path / "threshold-part-train.svg").read_text()
    assert "Binary-SVM" in text
    assert "Rank-HLapSVM" not in text


def test_labels_have_their_names_where_the_data_are_gone(tmp_path):
    config = small_config(tmp_path)
    folder = run(config, tmp_path / "results").path
    for path in tmp_path.glob("*.svm"):
        path.unlink()
    names = [f"called {place}" for place in range(4)]
    (stored,) = (folder / "names").iterdir()
    stored.write_text(json.dumps(json.loads(stored.read_text()) | {"labels": names}))
    invoke(folder, "cooccurrence", "--out", tmp_path, "-f", "svg")
    text = (tmp_path / "cooccurrence-part-train.svg").read_text()
    assert all(name in text for name in names)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["learning"], "no learning curve"),
        (["pie"], "unknown kind of figure 'pie'"),
        (["labels", "--format", "gif"], "unknown format of a figure 'gif'"),
        (["labels", "--method", "Rank-SWM"], "unknown method 'Rank-SWM'"),
        (["labels", "--metric", "f1_macroo"], "unknown metric 'f1_macroo'. Did you mean 'f1_macro'"),
        (["labels", "--metric", "f1_micro"], "f1_micro is not averaged over labels"),
        (["learning", "--metric", "f2"], "unknown metric 'f2'"),
    ],
)
def test_what_cannot_be_drawn_is_told(folder, words, message):
    with pytest.raises(UserError, match=message):
        invoke(folder, *words)


def test_the_help_names_every_kind_with_examples():
    from mlrank.plots import KINDS

    text = invoke("--help").stdout
    assert all(kind in text for kind in KINDS)
    assert "mlrank plot results/quickstart sensitivity" in text
