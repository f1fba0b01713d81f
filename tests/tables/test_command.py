import csv
import io
import json

import pytest
import typer
from typer.testing import CliRunner

from mlrank.cli.table import table
from mlrank.errors import UserError
from mlrank.records import RunFolder
from mlrank.tables import build_tables, render


@pytest.fixture
def invoke():
    app = typer.Typer()
    app.command()(table)

    def run(*arguments, width=200):
        # The command's own errors are turned into a line by the caller of the application.
        result = CliRunner().invoke(app, [str(word) for word in arguments], env={"COLUMNS": str(width)})
        if isinstance(result.exception, UserError):
            raise result.exception
        return result

    return run


@pytest.fixture
def results(tmp_path, make):
    for name, metrics in (("one", ["f1_macro"]), ("two", ["f1_micro", "f1_macro"])):
        folder = RunFolder.create(tmp_path, name)
        folder.write_config({"name": name, "datasets": ["yeast"], "methods": {"B": {}, "A": {}}, "metrics": metrics})
        for method in ("A", "B"):
            folder.write_run(make(method, experiment=name), {})
    return tmp_path


def test_markdown_of_the_metrics_of_the_config_in_its_order(invoke, results):
    result = invoke(results / "two", "--format", "md")
    assert result.exit_code == 0
    records = RunFolder.open(results / "two").runs()
    assert [record.method for record in records] == ["B", "A"]
    assert result.stdout == render(build_tables(records, ["f1_micro", "f1_macro"]), "md")


def test_metrics_and_digits_can_be_chosen(invoke, results):
    result = invoke(results / "one", "-m", "ranking_loss", "-f", "latex", "--decimals", "1")
    assert r"\textbf{0.2}" in result.stdout
    assert "f1" not in result.stdout.split("midrule")[1].split("bottomrule")[0]


def test_csv_of_several_experiments_has_one_header_with_the_metrics_of_all(invoke, results):
    result = invoke(results / "one", results / "two", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert [(row["experiment"], row["method"]) for row in rows] == [
        ("one", "B"),
        ("one", "A"),
        ("two", "B"),
        ("two", "A"),
    ]
    assert [name for name in rows[0] if name.endswith("_mean")] == ["f1_macro_mean", "f1_micro_mean"]
    assert rows[0]["f1_micro_mean"] == "0.6"


def test_the_terminal_gets_one_table_per_dataset(invoke, results, make):
    RunFolder(results / "two").write_run(make("A", experiment="two", dataset={"name": "scene", "hash": "7"}), {})
    result = invoke(results / "one", results / "two")
    assert result.exit_code == 0
    titles = [line.split(",")[0] for line in result.stdout.splitlines() if "2417 rows" in line]
    assert titles == ["one + two: yeast", "two: scene"]
    assert "\n\ntwo: scene" in result.stdout
    assert [line.split("  ")[0] for line in result.stdout.splitlines() if line.startswith("A (")] == [
        "A (one)",
        "A (two)",
        "A (two)",
    ]


def test_experiments_of_one_name_are_told_apart_by_their_folders(invoke, results, make):
    again = RunFolder.create(results / "copy", "one")
    again.write_config({"name": "one", "methods": {"A": {}}, "metrics": ["f1_macro"]})
    again.write_run(make("A", experiment="one"), {})
    text = invoke(results / "one", results / "copy" / "one", "--format", "md").stdout
    assert f"A ({results / 'one'})" in text.replace("\\", "")
    assert f"A ({results / 'copy' / 'one'})" in text.replace("\\", "")


def test_a_folder_given_twice_is_refused(invoke, results):
    with pytest.raises(UserError, match="one: this results folder is given twice"):
        invoke(results / "one", results / "two" / ".." / "one")


def test_costs_take_the_place_of_metrics_unless_metrics_are_named(invoke, results):
    rows = invoke(results / "one", "--runtime", "--format", "md").stdout.splitlines()
    header = [cell.strip() for cell in rows[2].strip("|").split("|")]
    assert header == [
        "method",
        "fit_seconds ↓",
        "predict_seconds ↓",
        "peak_memory ↓",
        "chosen settings",
        "certificate",
    ]
    rows = invoke(results / "one", "--runtime", "-m", "f1_macro", "--format", "md").stdout.splitlines()
    assert rows[2].startswith("| method | f1_macro ↑ | fit_seconds ↓ |")


def test_layouts_can_be_asked_for(invoke, results):
    lines = invoke(results / "two", "--cols", "dataset", "-f", "md").stdout.splitlines()
    assert [line for line in lines if line.startswith("**")] == ["**two: f1_micro ↑**", "**two: f1_macro ↑**"]
    assert lines[2].split() == ["|", "method", "|", "yeast", "|"]
    with pytest.raises(UserError, match="must be different, found --rows metric, --cols metric"):
        invoke(results / "two", "--rows", "metric", "--cols", "metric")


@pytest.mark.parametrize("form", ["csv", "json"])
def test_formats_for_machines_have_one_layout(invoke, results, form):
    with pytest.raises(UserError, match=f": for readers alone, {form} has one form"):
        invoke(results / "two", "--by", "method", "--format", form)


def test_json_holds_everything_in_full(invoke, results):
    (table,) = json.loads(invoke(results / "one", results / "two", "--format", "json").stdout)
    assert table["experiment"] == "one + two"
    assert table["title"].startswith("one + two: yeast, 2417 rows")
    assert table["metrics"] == ["f1_macro", "f1_micro"]
    assert [(row["label"], row["fit"]["value"]) for row in table["rows"]] == [
        ("B (one)", 0.25),
        ("A (one)", 0.25),
        ("B (two)", 0.25),
        ("A (two)", 0.25),
    ]
    assert table["rows"][0]["cells"][1] == {
        "value": 0.6,
        "std": None,
        "n": 1,
        "low": None,
        "high": None,
        "competes": True,
        "best": True,
        "second": False,
    }


def test_an_experiment_without_runs_says_so(invoke, tmp_path):
    RunFolder.create(tmp_path, "new").write_config({"name": "new", "metrics": ["f1_macro"]})
    with pytest.raises(UserError, match="new: no run of this experiment is finished yet"):
        invoke(tmp_path / "new")


def test_a_folder_above_the_experiments_names_them(invoke, results):
    with pytest.raises(UserError, match=r"experiments below it: .*one, .*two$"):
        invoke(results)


def test_a_misspelt_metric_is_one_line(invoke, results):
    with pytest.raises(UserError, match=r"unknown metric 'f1macro'. Did you mean 'f1_macro'\?"):
        invoke(results / "one", "--metric", "f1macro")


def test_the_help_has_examples(invoke):
    assert "mlrank table results/imageclef --format latex > table.tex" in invoke("--help").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--by", "dataset"], "of its own, found it together with --by"),
        (["--decimals", "3"], "of its own, found it together with --decimals"),
        (["-m", "f1_macro"], "of its own, found it together with --metric"),
        (["-f", "csv"], "csv has one form"),
    ],
)
def test_the_layout_of_a_paper_leaves_nothing_to_choose(invoke, results, words, message):
    with pytest.raises(UserError, match=message):
        invoke(results / "one", "--layout", "paper", *words)


def test_tidy_tables_have_the_runs_of_all_folders(invoke, results, tmp_path):
    text = invoke(results / "one", results / "two", "--tidy", "-m", "f1_macro").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["experiment"], row["method"], row["metric"], row["value"]) for row in rows] == [
        (experiment, method, "f1_macro", "0.5") for experiment in ("one", "two") for method in "BA"
    ]
    result = invoke(results / "one", "--tidy", "--out", tmp_path / "all.json")
    assert result.stdout == f"written to {tmp_path / 'all.json'}\n"
    assert len(json.loads((tmp_path / "all.json").read_text())) == 2 * 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--tidy", "--by", "method"], "one form, found --tidy together with --by"),
        (["--tidy", "--decimals", "3"], "one form, found --tidy together with --decimals"),
        (["--tidy", "-f", "latex"], "unknown format of a tidy table 'latex'"),
        (["--out", "x.csv"], "--out goes with --tidy"),
        (["-f", "parquet"], "parquet is a format of --tidy tables"),
    ],
)
def test_what_does_not_go_together_is_one_line(invoke, results, words, message):
    with pytest.raises(UserError, match=message):
        invoke(results / "one", *words)
