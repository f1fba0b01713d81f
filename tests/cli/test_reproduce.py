"""``mlrank reproduce`` of one recipe: its figures, its table of related labels, and what cannot be asked together."""

import json
import re

import pytest
from typer.testing import CliRunner

import mlrank.recipes
from mlrank.cli import app
from mlrank.errors import UserError
from mlrank.models.file import load_model
from mlrank.records import RunFolder
from mlrank.solvers.slrm.slrm import related_labels

RECIPE = """\
name: tiny
title: A tiny table
paper: Somebody, 2000
table: Table 9
data:
  - {dataset: yeast, grade: related, note: another collection, how_to: it is embedded}
experiment:
  split: {kind: holdout, train: 40, test: 20}
  subset: {rows: 60, top_labels: 4}
  methods: {near: {solver: knn}, far: {solver: knn, n_neighbors: 9}}
  metrics: [f1_macro]
grids: {coarse: {}}
expected: {near: {f1_macro: 0.5}, far: {f1_macro: null}}
figures:
  sizes:
    title: "Figure 1: against rows"
    vary: split.train
    values: [10, 30]
    x: {label: rows}
    y: {metric: f1_macro, label: F1}
    methods: {near: {solver: knn}}
    panels: {one: [near]}
  absent:
    title: "Figure 2: of data that nobody has"
    vary: split.train
    values: [10]
    x: {label: rows}
    y: {metric: f1_macro, label: F1}
    methods: {near: {solver: knn}}
    panels: {one: [near]}
    data:
      - {dataset: nus-wide-object, grade: exact, note: the paper's, how_to: not at all}
related:
  table: Table 3
  title: related labels
  method: SLRM
  settings: {solver: slrm, lam: 0.1, gamma: 0.1}
  n_related: 2
"""


@pytest.fixture
def reproduce(tmp_path, monkeypatch):
    (tmp_path / "tiny.yaml").write_text(RECIPE)
    read = mlrank.recipes.load_recipe
    monkeypatch.setattr("mlrank.recipes.load_recipe", lambda name: read(name, tmp_path))
    monkeypatch.setattr("mlrank.recipes.run.is_available", lambda name: name == "yeast")

    def invoke(*words):
        shared = ["--results", str(tmp_path / "r"), "--jobs", "1", "--quiet"]
        result = CliRunner().invoke(app, ["reproduce", *words, *shared], env={"COLUMNS": "200"})
        if isinstance(result.exception, UserError):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.stdout

    return invoke


def test_figures_are_drawn_below_the_folder_of_the_table_and_one_without_data_is_told(reproduce, tmp_path):
    told = reproduce("tiny", "--figures")
    assert "Figure 1: against rows" in told
    assert "Figure 2: of data that nobody has\nnot drawn: no data for the recipe 'tiny'" in told
    drawn = tmp_path / "r" / "tiny" / "figures"
    assert sorted(path.name for path in drawn.iterdir()) == ["sizes.pdf", "sizes.png", "sizes.svg"]
    assert (drawn / "sizes.png").read_bytes().startswith(b"\x89PNG")
    assert "Figure 1: against rows" in (drawn / "sizes.svg").read_text("utf-8")
    for rows in (10, 30):
        (record,) = RunFolder.open(tmp_path / "r" / f"tiny-sizes-{rows}").runs()
        assert (record.dataset.n_train, record.status) == (rows, "done")


def test_related_labels_are_those_of_the_stored_model(reproduce, tmp_path):
    page = reproduce("tiny", "--table", "3")
    folder = RunFolder.open(tmp_path / "r" / "tiny-related")
    (record,) = folder.runs()
    stored = load_model(folder.model_path("yeast", record.split, "SLRM"))
    expected = related_labels(stored.predictor.model, stored.label_names, 2)
    told = json.loads(reproduce("tiny", "--table", "3", "--json"))
    assert len(told) == 4
    assert {label: [name for name, _ in found] for label, found in told.items()} == {
        label: [name for name, _ in found] for label, found in expected.items()
    }
    assert "Table 3: related labels" in page
    for label, found in expected.items():
        (line,) = (line for line in page.splitlines() if line.split()[:1] == [label])
        assert all(name in line for name, _ in found)


def test_a_dry_run_of_related_labels_fits_nothing(reproduce, tmp_path):
    assert "1 of 1 fits are left" in reproduce("tiny", "--table", "3", "--dry-run")
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "which recipe"),
        (["tiny", "--test", "t.svm"], "--test and --labels go with --data"),
        (["tiny", "--table", "3", "--grid", "paper"], "a grid belongs to the recipe's own table"),
        (["tiny", "--fetch", "--data", "d.svm"], "give one of them"),
        (["tiny", "--table", "3", "--figures"], "figures are drawn beside the recipe's own table"),
        (["all", "--figures"], "--figures is of one recipe, found together with 'all'"),
    ],
)
def test_options_that_do_not_go_together_are_told(reproduce, words, message):
    with pytest.raises(UserError, match=re.escape(message)):
        reproduce(*words)


def test_a_recipe_without_figures_says_so(reproduce, tmp_path):
    path = tmp_path / "tiny.yaml"
    text = path.read_text()
    path.write_text(text[: text.index("figures:")] + text[text.index("related:") :])
    with pytest.raises(UserError, match="the recipe 'tiny' has no figures"):
        reproduce("tiny", "--figures")
