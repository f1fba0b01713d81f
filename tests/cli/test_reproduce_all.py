"""``mlrank reproduce all``: one page on every table, whatever happens to some of them."""

import json

import pytest
from typer.testing import CliRunner

from mlrank.cli import app
from mlrank.recipes import Claim, DataOption, Recipe, TimesTable
from mlrank.recipes.recipe_parts import SpeedClaim
from mlrank.recipes.run import run_table

SOLVERS = {"slow": {"solver": "knn", "n_neighbors": 9}, "fast": {"solver": "knn"}}
TIMES = TimesTable(
    table="Table 7",
    methods=SOLVERS,
    expected={"slow": 100.0, "fast": 2.0},
    claims=(SpeedClaim(text="fast is faster", faster_first=("fast", "slow")),),
)


def recipe(name, dataset="yeast", **changes):
    return Recipe(
        name=name,
        title="A tiny table",
        paper="Somebody, 2000",
        table="Figure 1",
        data=(DataOption(dataset=dataset, grade="stand-in", note="not the paper's", how_to="not at all"),),
        experiment={
            "split": {"kind": "holdout", "train": 30, "test": 30},
            "subset": {"rows": 60},
            "methods": SOLVERS,
        },
        grids={"coarse": {}},
        expected={"slow": {"f1_macro": 0.5}, "fast": {"f1_macro": None}},
        claims=(Claim(text="fast > slow", metrics=("f1_macro",), order=("fast", "slow")),),
        **changes,
    )


@pytest.fixture
def reproduce_all(tmp_path, monkeypatch):
    """Runs the command for the recipes given, in `tmp_path`."""

    def invoke(made, *words):
        by_name = {one.name: one for one in made}
        monkeypatch.setattr("mlrank.recipes.recipes", lambda: list(by_name))
        monkeypatch.setattr("mlrank.recipes.load_recipe", by_name.get)
        shared = ["--results", str(tmp_path), "--jobs", "1", "--quiet"]
        return CliRunner().invoke(app, ["reproduce", "all", *shared, *words])

    return invoke


def rows(text):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "|" in line]


def test_every_table_has_a_line_and_one_without_data_stops_no_other(tmp_path, reproduce_all):
    recipes = [recipe("absent", dataset="user"), recipe("plain"), recipe("timed", times=TIMES)]
    done = reproduce_all(recipes)
    assert done.exit_code == 2
    page = tmp_path / "reference" / "SUMMARY.md"
    text = page.read_text("utf-8")
    _, head, tables = text.partition("| table")  # behind that of papers by verdict
    body = [row for row in rows(head + tables) if row[0] != "table" and not row[0].startswith("---")]
    assert [row[:4] for row in body] == [
        ["Figure 1", "absent", "not run", "-"],
        ["[Figure 1](plain.md)", "plain", "yeast", "stand-in data"],
        ["[Figure 1](timed.md)", "timed", "yeast", "stand-in data"],
        ["[Table 7](timed-times.md)", "timed", "yeast", "stand-in data"],
    ]
    assert {row[5] for row in body[1:]} == {"2 are not comparable"}  # stand-in data
    assert "- **Figure 1, absent**: not run: no data for the recipe 'absent'" in text
    for row in body[1:]:
        name = row[0].split("(")[1].rstrip(")")
        assert (tmp_path / "reference" / name).read_text("utf-8").startswith(f"# {row[1]}: ")
    assert "of absent was not run: no data" in done.stderr
    # once more: nothing is run again, and the page is the same to the byte
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("runs/**/*.json")}
    assert before
    assert reproduce_all(recipes).exit_code == 2
    assert page.read_text("utf-8") == text
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("runs/**/*.json")} == before


def test_whatever_breaks_is_reported_and_an_interrupt_stops_all(tmp_path, monkeypatch, reproduce_all):
    def broken(plan, runner):
        raise ZeroDivisionError("a\nb")

    monkeypatch.setattr("mlrank.recipes.run.run_table", broken)
    assert reproduce_all([recipe("plain")]).exit_code == 2
    page = tmp_path / "reference" / "SUMMARY.md"
    assert "**Figure 1, plain**: not run: a b" in page.read_text("utf-8")
    page.unlink()

    def interrupted(config, results_dir, jobs, notify, **options):
        raise KeyboardInterrupt

    monkeypatch.undo()
    monkeypatch.setattr("mlrank.experiment.run_experiment", interrupted)
    done = reproduce_all([recipe("plain"), recipe("other")])
    assert done.exit_code == 130
    assert done.stderr == "mlrank: interrupted before the first fit, the same command goes on from there\n"
    assert not page.exists()
    # The pages of what had ended are there.
    monkeypatch.undo()
    monkeypatch.setattr("mlrank.recipes.run.run_table", lambda plan, runner: ends_before(plan, "other", runner))
    assert reproduce_all([recipe("plain"), recipe("other")]).exit_code == 130
    assert [path.name for path in page.parent.iterdir()] == ["plain.md"]


def ends_before(plan, name, runner):
    if plan.recipe.name == name:
        raise KeyboardInterrupt
    return run_table(plan, runner)


def test_it_exits_with_0_if_all_ran_and_prints_json(reproduce_all):
    done = reproduce_all([recipe("plain")], "--json")
    assert done.exit_code == 0
    (found,) = json.loads(done.stdout)
    assert (found["recipe"], found["comparison"]["grade"], found["records"]) == ("plain", "stand-in", 2)
    assert {cell["verdict"] for cell in found["comparison"]["cells"]} == {"not comparable"}


@pytest.mark.parametrize("words", ["--grid paper", "--table 3", "--figures", "--data x.svm", "--scheduler tcp://x:1"])
def test_what_is_of_one_recipe_is_refused(words):
    result = CliRunner().invoke(app, ["reproduce", "all", *words.split()])
    assert str(result.exception) == f"{words.split()[0]} is of one recipe, found together with 'all'"


def test_a_dry_run_runs_and_writes_nothing(tmp_path, reproduce_all):
    done = reproduce_all([recipe("plain")], "--dry-run")
    assert done.exit_code == 0
    assert "2 of 2 fits are left" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_as_json_is_one_array_with_an_object_for_each_table(tmp_path, reproduce_all):
    done = reproduce_all([recipe("one"), recipe("two")], "--dry-run", "--json")
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert [entry["recipe"] for entry in found] == ["one", "two"]
    for entry in found:
        assert {"table", "jobs", "memory_available", "seconds"} < set(entry)
        assert sum(cell["n_left"] for cell in entry["cells"]) == 2
    assert list(tmp_path.iterdir()) == []
