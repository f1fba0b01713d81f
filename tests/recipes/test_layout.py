"""Runs in the layouts of the papers: every recipe has one that fits, and cells stand where the paper has them."""

from dataclasses import replace

import pytest

from mlrank.config import RecipeConfig
from mlrank.errors import UserError
from mlrank.recipes import load_recipe, paper_grids, recipe_grids, recipes
from mlrank.records.run import ThresholdInfo
from mlrank.tables import render_grids
from tests.tables.conftest import make_record


def record(experiment, dataset, method, split="r0", seconds=1.0, stand_in=False, **metrics):
    data = {"name": dataset, "stand_in": stand_in}
    return make_record(method, split, experiment=experiment, metrics=metrics, time={"fit": seconds}, dataset=data)


# The recipes that experiments come from where that is not the table of a recipe of their name.
ORIGINS = {
    "yeast-paper": RecipeConfig(name="yeast", grid="paper"),
    "voc2007-times": RecipeConfig(name="voc2007", part="times"),
    "msrc-times": RecipeConfig(name="msrc", part="times"),
    "arts-times": RecipeConfig(name="arts", part="times"),
    "voc2006": None,
}


def grids_of(records):
    names = {record.experiment for record in records}
    return paper_grids(records, {name: ORIGINS.get(name, RecipeConfig(name=name)) for name in names})


def texts(grid):
    return [[cell.text for cell in row] for row in grid.rows]


def test_one_column_for_each_data_set_of_a_table_that_several_recipes_make():
    records = [record("scene", "scene", m, auc_macro=v) for m, v in (("HG_c", 0.5), ("HG_c(lam)", 0.9), ("SVM", 0.1))]
    records += [record("yeast-paper", "yeast", "HG_c", auc_macro=0.25)]
    (grid,) = grids_of(records)
    assert grid.header == ("Algorithm", "Scene", "Yeast")
    assert texts(grid)[:2] == [["HG_c", "0.5000", "0.2500"], ["HG_c^λ", "0.9000", "-"]]
    assert [row[0] for row in texts(grid)] == list(load_recipe("scene").layout.methods.values())
    assert grid.rows[1][1].best
    assert any(note.endswith("run but not in the paper's table: SVM") for note in grid.notes)
    assert grid.title.startswith("Ours on same source, new sample, laid out as Table 2 of Sun, Ji and Ye")
    assert r"HG\_c$^\lambda$" in render_grids([grid], "latex")


def test_percent_spreads_and_measures_below_each_other_with_times_apart():
    values = {"auc_rank_curve": 0.5, "auc_rank_curve_multi": 0.25, "auc_rank_curve_single": 0.75}
    records = [record("voc2007", "voc2007", "LIBSVM", **values)]
    records += [record("voc2007", "voc2007", "LIBSVM", "r1", **(values | {"auc_rank_curve": 0.52}))]
    records += [record("voc2007-times", "voc2007", "LIBSVM", seconds=12.345)]
    table, times = grids_of(records)
    assert table.header == ("", "", "Proposed", "LIBSVM", "SVM-perf", "MLSSM")
    names = [row[:2] for row in texts(table)]
    assert [name[1] for name in names] == ["overall", "multi-obj", "single-obj"]
    assert [bool(name[0]) for name in names] == [True, False, False]
    assert [row[3] for row in texts(table)] == ["51.0 ± 1.4", "25.0 ± 0.0", "75.0 ± 0.0"]
    assert texts(times)[0][2] == "12.35"


def test_seconds_of_another_experiment_are_a_row_of_the_same_table_where_the_paper_has_them_there():
    found = {"auc_macro": 0.5, "f1_macro": 0.4, "f1_micro": 0.3, "jaccard_samples": 0.2}
    records = [record(r, d, "SLRM", seconds=9.0, **found) for r, d in (("msrc", "msrc-v2"), ("sun", "sun-attribute"))]
    records += [record("msrc-times", "msrc-v2", "SLRM", seconds=1.5, **found)]
    (grid,) = grids_of(records)
    assert [row[1] for row in texts(grid)] == [
        *("AUC", "Macro-F1", "Micro-F1", "Accuracy", "RunTime (s)"),
        *("AUC", "Macro-F1", "Micro-F1", "Accuracy"),
    ]
    assert grid.header[-1] == "SLRM"
    assert texts(grid)[4][-1] == "1.50"  # not the 9 seconds of the fits with other settings


@pytest.mark.parametrize("turned", [False, True])
def test_marks_of_a_method_are_on_its_name_if_all_its_runs_have_them(turned):
    found = {"auc_macro": 0.5, "f1_macro": 0.4, "f1_micro": 0.3, "jaccard_samples": 0.2}
    records = [record("msrc", "msrc-v2", method, **found) for method in ("MC", "SLRM")]
    timed = [record("msrc-times", "msrc-v2", "SLRM", seconds=1.5, **found)]
    oracle = ThresholdInfo("oracle_size", oracle=True)
    records, timed = ([replace(r, threshold=oracle) for r in some] for some in (records, timed))
    timed[0] = replace(timed[0], info=replace(timed[0].info, converged=False))
    (grid,) = grids_of(timed + records if turned else records + timed)
    # MC is not timed, and has one column all the same; SLRM did not converge where it was timed, and only there.
    assert grid.header[2:] == ("CPLST", "FAIE", "MLLOC", "MC*", "MIML", "SLRM*")
    assert [row[-1] for row in texts(grid)] == ["0.5000", "0.4000", "0.3000", "0.2000", "1.50†"]


def test_data_that_are_not_the_papers_are_named_so():
    (grid,) = grids_of([record("arts", "arts-standin", "HG_c", stand_in=True, auc_macro=0.5)])
    assert grid.header[1] == "Arts (stand-in)"
    assert grid.title.startswith("Ours on stand-in data,")
    (grid,) = grids_of([record("imageclef", "imageclef2007", "Rank-SVM", f1_macro=0.5, f1_micro=0.5)])
    assert grid.title.startswith("Ours on related collection,")


@pytest.mark.parametrize(
    ("experiments", "message"),
    [
        (["quickstart"], "'quickstart' is of none of its recipes: arts"),
        (["voc2006"], "'voc2006' is of none of its recipes: arts"),  # an own experiment that has a recipe's name
        (["yeast", "yeast-paper"], "'yeast' and 'yeast-paper' are runs of the same table"),
        (["mlr-toy"], "Figure 1 of the recipe 'mlr-toy' is no table of scores"),
        (["arts", "arts-times"], "Figure 5 of the recipe 'arts' is no table of scores"),
    ],
)
def test_what_has_no_layout_is_told(experiments, message):
    with pytest.raises(UserError, match=message):
        grids_of([record(name, "yeast", "HG_c", auc_macro=0.5) for name in experiments])


def test_what_the_paper_prints_no_table_of_gets_none():
    assert recipe_grids(load_recipe("arts"), True, [record("arts-times", "arts", "lsHG_c")]) == []
    assert len(recipe_grids(load_recipe("arts"), False, [record("arts", "arts", "lsHG_c", auc_macro=0.5)])) == 1


@pytest.mark.parametrize("name", [name for name in recipes() if name != "mlr-toy"])
def test_every_number_of_the_paper_has_a_place_in_its_layout(name):
    recipe = load_recipe(name)
    for method, numbers in recipe.expected.items():
        for metric, number in numbers.items():
            # one row of the paper may be two of ours, of which the layout shows the exact one
            if number is not None and "as printed" not in method:
                assert method in recipe.layout.methods
                assert metric in recipe.layout.metrics


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rows: [method]", "rows: [method, dataset]", "rows and columns must be for different things"),
        ("rows: [method]", "rows: [metric]", "neither rows nor columns are for each method"),
        ("    A: a", "    C: c", "unknown method 'C'"),
        ("f1_macro: F1", "f1_makro: F1", "unknown metric 'f1_makro'"),
        ("caption:", "captoin:", "unknown key of a recipe 'captoin'. Did you mean 'caption'"),
    ],
)
def test_layouts_that_make_no_sense_are_refused(folder, old, new, message):
    path = folder / "tiny.yaml"
    layout = "layout:\n  caption: c\n  dataset: D\n  rows: [method]\n  cols: [dataset]\n"
    text = path.read_text() + layout + "  metrics: {f1_macro: F1}\n  methods:\n    A: a\n"
    path.write_text(text)
    assert load_recipe("tiny", folder).layout.methods == {"A": "a"}
    path.write_text(text.replace(old, new))
    with pytest.raises(UserError, match=message):
        load_recipe("tiny", folder)
