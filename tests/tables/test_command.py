import csv
import io

import pytest
import typer
from typer.testing import CliRunner

from mlrank.cli.table import table
from mlrank.errors import UserError
from mlrank.results import RunFolder
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
    assert [record["method"] for record in records] == ["B", "A"]
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


def test_the_terminal_gets_one_table_per_experiment(invoke, results):
    result = invoke(results / "one", results / "two")
    assert result.exit_code == 0
    assert [line.split(":")[0] for line in result.stdout.splitlines() if ": yeast, " in line] == ["one", "two"]
    assert "\n\ntwo: yeast" in result.stdout


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
