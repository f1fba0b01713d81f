"""Figures of the plane from stored runs."""

import numpy as np
import pytest

from mlrank.datasets import load_dataset
from mlrank.errors import UserError
from mlrank.plots import FORMATS
from mlrank.recipes import load_recipe
from mlrank.recipes.run import RecipeRequest, Runner, TablePlan, draw_figures, plan_table
from mlrank.records import RunFolder
from tests.tables.conftest import make_record


def drawn(recipe, folder):
    lines = []
    plan = TablePlan(recipe, recipe.data[0], None, 1)
    files = draw_figures(plan, folder, Runner(None, show=lines.append))
    assert all(path.is_file() for path in files)
    return lines


def test_the_toys_figure_is_drawn_from_its_runs_alone(tmp_path):
    recipe, data = load_recipe("mlr-toy"), load_dataset("mlr-toy")
    folder = RunFolder.create(tmp_path, "mlr-toy")
    test = data.official[1]
    for place, method in enumerate(recipe.experiment["methods"]):
        record = make_record(method, dataset={"name": "mlr-toy"})
        scores = np.roll(np.eye(5), place, axis=1)[data.Y[test].argmax(axis=1)]
        folder.write_run(record, {"rows": test, "scores": scores})
    assert drawn(recipe, folder) == [
        "Figure 1: five classes in the plane",
        f"  {folder.path / 'figures' / 'figure1'}.png",
    ]
    assert {path.name for path in (folder.path / "figures").iterdir()} == {f"figure1.{fmt}" for fmt in FORMATS}
    svg = (folder.path / "figures" / "figure1.svg").read_text()
    assert ">(c) multi-label ranking<" in svg
    assert "no run" not in svg


def test_methods_without_a_run_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr("mlrank.recipes.run.FIGURE_FORMATS", ("svg", "png"))
    recipe = load_recipe("mlr-toy")
    folder = RunFolder.create(tmp_path, "mlr-toy")
    drawn(recipe, folder)
    assert (folder.path / "figures" / "figure1.svg").read_text().count("no run") == 3


def test_recipes_without_figures_say_so():
    with pytest.raises(UserError, match="the recipe 'voc2006' has no figures"):
        plan_table(load_recipe("voc2006"), RecipeRequest(figures=True), Runner(None))
