"""``mlrank compare`` on stored runs."""

import json
import re
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from mlrank.cli import app
from mlrank.errors import UserError
from mlrank.records import RunFolder
from mlrank.records.folder import DataNames
from tests.stats.records import arrays, names, table


def invoke(*words):
    result = CliRunner().invoke(app, ["compare", *map(str, words)], env={"COLUMNS": "100"})
    if isinstance(result.exception, UserError):
        raise result.exception
    return result


@pytest.fixture
def results(tmp_path):
    """Three data sets, one in each folder: three methods, two splits on the first and one on the others."""
    scores = {"A": 0.5, "B": 0.6, "C": 0.55}
    for place, (name, n_splits) in enumerate({"x": 2, "y": 1, "z": 1}.items()):
        folder = RunFolder.create(tmp_path, name)
        folder.write_config(
            {"name": name, "datasets": [name], "methods": dict.fromkeys(scores), "metrics": ["f1_macro"]}
        )
        values = {m: {name: [v + 0.01 * place * s for s in range(n_splits)]} for m, v in scores.items()}
        for number, found in enumerate(table(values, experiment=name)):
            folder.write_run(found, arrays(number))
            folder.write_names(name, found.dataset.hash, DataNames(names(found), tuple("abcde")))
    return tmp_path


def test_over_datasets_and_over_the_splits_of_each(results):
    text = invoke(results / "x", results / "y", results / "z").stdout
    titles = [line for line in text.splitlines() if line.startswith("f1_macro o")]
    assert titles == [
        "f1_macro over 3 data sets: x, y, z",
        "f1_macro on x, 2 splits",
        "f1_macro on y, 1 split",
        "f1_macro on z, 1 split",
    ]
    assert "no test of f1_macro is" in text
    assert "B (control)" in text


def test_tests_of_labels_that_metrics_share_are_told_once(results):
    folder = RunFolder.open(results / "x")
    for found in folder.runs():
        shared = found.metrics["f1_macro"]
        metrics = dict.fromkeys(("f1_macro", "f1_micro", "hamming_loss", "lrap"), shared)
        folder.write_run(replace(found, metrics=metrics), folder.run_arrays(found))
    text = invoke(
        results / "x", "-m", "f1_macro", "-m", "f1_micro", "-m", "hamming_loss", "-m", "lrap", "--details"
    ).stdout
    said = " ".join(text.split())
    # f1_micro looks at the F1 of labels too, and so does hamming_loss, of which another method is best; lrap at AUC.
    found = re.findall(r"\w against \w, label by label on x[^(]*\([^)]*\)", said)
    assert len(found) == len(set(found)) == 6


@pytest.fixture
def several(results):
    """As `results`, with a second metric of the same values, of which the smallest is best."""
    for name in ("x", "y", "z"):
        folder = RunFolder.open(results / name)
        for found in folder.runs():
            shared = found.metrics["f1_macro"]
            changed = replace(found, metrics={"f1_macro": shared, "hamming_loss": shared})
            folder.write_run(changed, folder.run_arrays(found))
        folder.write_config({**folder.read_config(), "metrics": ["f1_macro", "hamming_loss"]})
    return [results / name for name in ("x", "y", "z")]


def test_several_metrics_are_one_table_of_mean_ranks(several):
    lines = invoke(*several).stdout.splitlines()
    assert lines[0] == "2 metrics over 3 data sets: x, y, z"
    rows = [line.split() for line in lines if line.startswith(("f1_macro", "hamming_loss"))]
    # All three data sets agree; that two of them agree with the first by chance has probability 1 / 6^2.
    assert rows == [
        ["f1_macro", "↑", "3.00*", "1.00", "2.00", "0.028"],
        ["hamming_loss", "↓", "1.00", "3.00*", "2.00", "0.028"],
    ]
    assert lines[-1] == "--metric NAME shows the tests of one metric, --details those of all"
    # On one data set it is one of means.
    lines = invoke(several[0], "--control", "C").stdout.splitlines()
    assert lines[0] == "2 metrics on x, 2 splits"
    assert [line.split()[2:5] for line in lines if line.startswith("f1_macro")] == [["0.5000", "0.6000", "0.5500"]]


def test_details_are_there_on_demand_of_one_metric_and_in_files(several):
    one, every = "f1_macro over 3 data sets: x, y, z", "hamming_loss over 3 data sets: x, y, z"
    for words in (["--details"], ["--label-tests"], ["--labels"], ["--format", "md"]):
        text = invoke(*several, *words).stdout
        assert one in text
        assert every in text
    assert invoke(*several, "-m", "f1_macro").stdout.startswith(one)
    text = invoke(*several, "-m", "f1_macro", "--summary", "--format", "md").stdout
    assert text.startswith("**1 metric over 3 data sets: x, y, z**")
    row = next(line for line in text.splitlines() if "| 3.00" in line)
    assert row.split() == ["|", "f1_macro", "↑", "|", r"3.00\*", "|", "**1.00**", "|", "2.00", "|", "0.028", "|"]
    assert len(json.loads(invoke(*several, "--json").stdout)[0]["over_splits"][1]["labels"]) == 2


def test_json_has_numbers_sentences_and_what_was_left_out(results):
    (found,) = json.loads(invoke(results / "x", results / "y", "--json", "--method", "A", "--method", "B").stdout)
    assert (found["metric"], found["left_out"]) == ("f1_macro", [])
    over = found["over_datasets"]
    assert (over["methods"], over["mean_ranks"], over["friedman"]) == (["A", "B"], [2.0, 1.0], None)
    assert over["sentences"][0] == "Mean ranks (1 = best): B 1.00, A 2.00."
    assert [part["dataset"] for part in found["over_splits"]] == ["x", "y"]
    assert found["over_splits"][1]["labels"][0]["test"] == "mcnemar"


def test_labels_have_a_table_each_when_asked_for(results):
    text = invoke(results / "y", "--label-tests", "--control", "C").stdout
    assert "C against A on y, label by label" in text
    assert "C against B on y, label by label" in text


def test_the_figure_goes_to_the_file_named(results):
    path = results / "ranks.svg"
    result = invoke(results / "x", results / "y", results / "z", "--figure", path, "--format", "md")
    assert f"written to {path}" in result.stderr
    assert "Mean ranks in f1_macro over 3 data sets" in path.read_text()
    assert result.stdout.startswith("**f1_macro over 3 data sets")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["x", "--figure", "ranks.svg"], "critical differences are over two data sets and more, found one"),
        (["x", "y", "--figure", "ranks.gif"], "unknown format of a figure 'gif'"),
        (["x", "y", "-m", "f1_macro", "-m", "f1_micro", "--figure", "r.svg"], "needs two methods"),
        (["x", "y", "--method", "A", "--method", "B", "--figure", "ranks.svg"], "two methods have none"),
        (["x", "--control", "Z"], "unknown control 'Z'"),
        (["x", "--metric", "f1"], "unknown metric 'f1'"),
        (["x", "--summary", "--labels"], "--label-tests goes with --details, found --summary"),
        (["x", "--method", "A"], "needs two methods with values, found 1"),
    ],
)
def test_what_cannot_be_done_is_told(results, words, message):
    paths = [str(results / word) if word in ("x", "y", "z") else word for word in words]
    with pytest.raises(UserError, match=message):
        invoke(*paths)


def test_the_help_has_examples():
    assert "mlrank compare results/repeated-folds" in invoke("--help").stdout
