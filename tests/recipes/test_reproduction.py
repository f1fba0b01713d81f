"""``mlrank.reproduce``: the numbers, files and notes of the command, as a value that shows itself."""

from dataclasses import replace

import pytest
from typer.testing import CliRunner

import mlrank
import mlrank.recipes
from mlrank.cli import app
from mlrank.errors import UserError
from mlrank.recipes import render_comparison
from mlrank.recipes.recipe import load_recipe
from mlrank.recipes.run import RecipeRequest, Runner, draw_figures, plan_table
from mlrank.records import RunFolder
from tests.cli.test_reproduce import RECIPE


@pytest.fixture(autouse=True)
def tiny(tmp_path, monkeypatch):
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "tiny.yaml").write_text(RECIPE)
    read = mlrank.recipes.load_recipe

    def load(name):
        return read(name, tmp_path / "recipes")

    for module in ("mlrank.recipes", "mlrank.recipes.reproduction"):
        monkeypatch.setattr(f"{module}.load_recipe", load)
        monkeypatch.setattr(f"{module}.recipes", lambda: ["tiny"])
    monkeypatch.setattr("mlrank.recipes.run.is_available", lambda name: name == "yeast")


def invoked(*words):
    done = CliRunner().invoke(app, ["reproduce", *map(str, words), "--jobs", "1", "--quiet"], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return done.stdout


def texts(folder, names):
    return {name: (folder / "tables" / name).read_text("utf-8") for name in names}


def test_it_equals_the_command(tmp_path):
    told = invoked("tiny", "--results", tmp_path / "c", "--figures")
    made = mlrank.reproduce("tiny", results_dir=tmp_path / "p", figures=True)
    (comparison,) = made.comparisons
    assert made.folder == tmp_path / "p" / "tiny"
    names = ("comparison.md", "comparison.tex", "comparison.csv")
    assert texts(made.folder, names) == texts(tmp_path / "c" / "tiny", names)
    assert render_comparison(comparison, "md") == (made.folder / "tables" / "comparison.md").read_text("utf-8")
    for note in made.notes:
        assert note.replace(str(tmp_path / "p"), str(tmp_path / "c")) in told
    assert made.notes[0] == "tiny: Table 9 of Somebody, 2000"
    assert {path.name for path in made.files} == {*names, "sizes.png", "sizes.svg", "sizes.pdf"}
    assert all(path.is_file() for path in made.files)


def test_the_numbers_are_those_of_the_runs(tmp_path):
    made = mlrank.reproduce("tiny", results_dir=tmp_path)
    cells = {cell.method: cell for cell in made.comparisons[0].cells}
    for run in RunFolder.open(made.folder).runs():
        assert cells[run.method].ours == run.value("f1_macro")
    assert cells["near"].difference == pytest.approx(cells["near"].ours - 0.5, abs=1e-15)
    assert (cells["far"].paper, cells["far"].verdict) == (None, "not comparable")


def test_it_shows_itself_with_every_name_escaped(tmp_path):
    made = mlrank.reproduce("tiny", results_dir=tmp_path / "a&b", data=None)
    page = made._repr_html_()
    assert page.count("<table>") == 1
    assert "<caption>Table 9 of Somebody, 2000 beside ours on yeast (related collection)</caption>" in page
    assert "<li>tiny: Table 9 of Somebody, 2000</li>" in page
    shown = repr(made)
    assert shown.startswith("tiny: Table 9 of Somebody, 2000\n")
    assert shown.endswith((made.folder / "tables" / "comparison.md").read_text("utf-8"))


def test_a_table_of_related_labels_is_a_table_without_verdicts(tmp_path):
    made = mlrank.reproduce("tiny", table="3", results_dir=tmp_path)
    assert made.comparisons == ()
    assert [path.name for path in made.files] == ["related.md"]
    assert repr(made).endswith(made.files[0].read_text("utf-8"))


def test_all_writes_the_summary_and_goes_on_after_what_cannot_be_run(tmp_path, monkeypatch):
    made = mlrank.reproduce("all", results_dir=tmp_path)
    assert made.folder == tmp_path / "reference"
    names = ["SUMMARY.md", "tiny.md", "tiny-related.md", "tiny-sizes.svg", "tiny-sizes.md"]
    assert [path.name for path in made.files] == names
    assert [comparison.table for comparison in made.comparisons] == ["Table 9", "Figure 1"]
    summary, _, related, image, figure = (path.read_text("utf-8") for path in made.files)
    assert all(f"]({page})" in summary for page in ("tiny.md", "tiny-related.md", "tiny-sizes.md"))
    assert "(tiny-sizes.svg)" in figure
    assert image.startswith("<?xml")
    assert related == (tmp_path / "tiny-related" / "tables" / "related.md").read_text("utf-8")
    monkeypatch.setattr("mlrank.recipes.run.is_available", lambda name: False)
    failed = mlrank.reproduce("all", results_dir=tmp_path)
    assert failed.comparisons == ()
    reasons = [note for note in failed.notes if "not run" in note]
    assert [reason.partition(" of ")[0] for reason in reasons] == ["Table 9", "Table 3", "Figure 1", "Figure 2"]
    assert all("was not run: no data for the recipe 'tiny'" in reason for reason in reasons)


def test_the_configuration_in_the_folder_names_the_recipe(tmp_path):
    for request, name, origin in (
        ({}, "tiny", {"name": "tiny", "part": "table", "grid": "coarse", "option": "yeast"}),
        ({"table": "3"}, "tiny-related", {"name": "tiny", "part": "related", "grid": "coarse", "option": "yeast"}),
    ):
        made = mlrank.reproduce("tiny", results_dir=tmp_path, **request)
        assert made.folder.name == name
        assert RunFolder.open(made.folder).read_config()["recipe"] == origin


@pytest.mark.parametrize(
    ("name", "request_", "message"),
    [
        ("tiny", {"labels": "x"}, "'test' and 'labels' go with 'data'"),
        ("tiny", {"fetch": True, "data": "x.svm"}, "give one of them"),
        ("tiny", {"table": "3", "grid": "coarse"}, "a grid belongs to the recipe's own table"),
        ("tiny", {"grid": "paper"}, "unknown grid of the recipe 'tiny' 'paper'"),
        ("tiny", {"table": "8"}, "the recipe 'tiny' is of Table 9"),
        ("tiny", {"data": "x.svm"}, "takes no files of your own"),
        ("all", {"figures": True}, "are of one recipe, found together with 'all'"),
        ("tiney", {}, "unknown recipe 'tiney'. Did you mean 'tiny'"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path, name, request_, message):
    with pytest.raises(UserError, match=message):
        mlrank.reproduce(name, results_dir=tmp_path, **request_)
    assert not any(path.name != "recipes" for path in tmp_path.iterdir())


def test_how_runs_are_made_is_passed_on(tmp_path, monkeypatch):
    seen = []

    def run(config, results_dir, pool, **options):
        seen.append((config.name, results_dir, pool, options))
        raise UserError("enough")

    monkeypatch.setattr("mlrank.api.run_experiment", run)
    monkeypatch.setattr("mlrank.api.cluster_pool", lambda address: f"pool of {address}")
    for given in ({"jobs": 3, "retry_failed": True}, {"scheduler": "tcp://x:1", "log_level": "error"}):
        with pytest.raises(UserError, match="enough"):
            mlrank.reproduce("tiny", results_dir=tmp_path, **given)
    assert seen == [
        ("tiny", tmp_path, 3, {"retry_failed": True, "log_level": "info"}),
        ("tiny", tmp_path, "pool of tcp://x:1", {"retry_failed": False, "log_level": "error"}),
    ]


def test_times_are_measured_by_one_worker_on_this_machine(monkeypatch):
    monkeypatch.setattr("mlrank.recipes.run.is_available", lambda name: True)
    recipe, runner = load_recipe("imageclef"), Runner(None, jobs=4)
    own, times = (plan_table(recipe, RecipeRequest(table=table), runner) for table in (None, recipe.times.table))
    assert (own.times, own.jobs) == (None, 4)
    assert (times.times, times.jobs) == (recipe.times, 1)
    with pytest.raises(UserError, match="times are measured on one machine"):
        plan_table(recipe, RecipeRequest(table="3"), replace(runner, on_cluster=True))


@pytest.mark.parametrize(("metric", "expected"), [("fit_seconds", 1), ("f1_macro", 4)])
def test_figures_of_times_are_made_by_one_worker(tmp_path, metric, expected):
    (tmp_path / "recipes" / "tiny.yaml").write_text(RECIPE.replace("y: {metric: f1_macro,", f"y: {{metric: {metric},"))
    workers = []

    def run(config, jobs):
        workers.append(jobs)
        raise UserError("enough")

    runner = Runner(run, jobs=4)
    plan = plan_table(load_recipe("tiny", tmp_path / "recipes"), RecipeRequest(figures=True), runner)
    with pytest.raises(UserError, match="enough"):
        draw_figures(plan, None, runner)
    assert workers == [expected]
