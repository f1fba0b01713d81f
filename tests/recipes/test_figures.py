"""WorkLocks on pairs, and the figures of recipes: the experiments they need and the curves that come of the runs."""

from dataclasses import replace

import pytest

from mlrank.config import config_of
from mlrank.datasets.catalogue import is_known
from mlrank.errors import UserError
from mlrank.recipes import compare, figure_experiments, load_recipe, paper_figure, render_comparison
from mlrank.records.run import TimeInfo

FIGURES = """
figures:
  sizes:
    title: "Figure 1: against rows"
    vary: split.train
    values: [2, 4]
    x: {label: rows, divide: 2}
    y: {metric: f1_macro, label: F1}
    paper_at: 4
    methods: {A: {solver: binary_svm}, B: {solver: rank_svm}}
    panels: {both: [A, B]}
  weights:
    title: "Figure 2: against C"
    vary: settings.C
    values: [0.1, 1, 1000]
    x: {label: C, spacing: even}
    y: {metric: f1_macro, label: F1}
    subset: {rows: 12}
    methods: {B: {solver: rank_svm}}
    flat: {A: {solver: binary_svm, C: 2}}
    panels: {both: [A, B]}
  clock:
    title: "Figure 3: time"
    vary: subset.top_features
    values: [1, 2]
    x: {label: features}
    y: {metric: fit_seconds, label: seconds}
    methods: {A: {solver: binary_svm}}
    panels: {one: [A]}
"""


@pytest.fixture
def figured(folder):
    path = folder / "tiny.yaml"
    path.write_text(path.read_text() + FIGURES)
    return load_recipe("tiny", folder)


def with_claim(folder, claim):
    path = folder / "tiny.yaml"
    text = path.read_text()
    (folder / "tiny.yaml").write_text(text[: text.index("claims:")] + f"claims:\n  - {claim}\n")
    return load_recipe("tiny", folder)


def test_pairs_are_judged_one_by_one_and_the_wrong_ones_named(folder, over_splits):
    claim = "{text: all better, metrics: [f1_macro], pairs: [[B, A], [A, B]]}"
    recipe = with_claim(folder, claim)
    records = over_splits({"A": {"f1_macro": 0.5}, "B": {"f1_macro": 0.75}})
    (result,) = compare(recipe, recipe.data[1], records).claims
    assert (result.ordering, result.verdict) == ("fails", "contradicts its own table")  # it prints B above A
    # B is ahead on all four splits, so one pair is and the other is not; of the second, p is nearly 1.
    assert result.details == (
        "f1_macro: 1 of 2 pairs in this order; not A 0.5000 and B 0.7500; 1 of 2 pairs shown one by one, as claimed on "
        "4 of 8 splits of pairs, largest uncorrected p 1; the contrary shown, p < 0.001",
    )
    recipe = with_claim(folder, claim.replace(", [A, B]", ""))
    assert compare(recipe, recipe.data[1], records).claims[0].verdict == "holds"
    (missing,) = compare(recipe, recipe.data[1], records[:4]).claims
    assert missing.verdict == "undecided"
    assert missing.details == ("f1_macro: 0 of 1 pairs in this order; not B missing and A 0.5000",)


@pytest.mark.parametrize(("within", "verdict"), [(0.28, "holds"), (0.25, "undecided"), (0.22, "fails")])
def test_closeness_is_judged_whichever_is_better(folder, make, over_splits, within, verdict):
    recipe = with_claim(folder, f"{{text: close, metrics: [ranking_loss], close: [[A, B], [B, A]], within: {within}}}")
    records = over_splits({"A": {"ranking_loss": 0.5}, "B": {"ranking_loss": 0.75}})
    (result,) = compare(recipe, recipe.data[1], records).claims
    assert result.verdict == verdict
    assert f"pairs within {within:g} of each other (a margin of ours)" in result.details[0]
    once = [make("A", ranking_loss=0.5), make("B", ranking_loss=0.75)]
    assert compare(recipe, recipe.data[1], once).claims[0].verdict == "undecided"
    assert compare(recipe, recipe.data[2], []).claims[0].verdict == "not comparable"


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (
            "{text: t, metrics: [f1_macro]}",
            "a claim has one of 'order', 'pairs', 'close' and 'best', found none of them",
        ),
        ("{text: t, metrics: [f1_macro], order: [A, B], pairs: [[A, B]]}", "found order and pairs"),
        ("{text: t, metrics: [f1_macro], pairs: [[A, C]]}", r"unknown method 'C'"),
        ("{text: t, metrics: [f1_macro], close: [[A, B, A]]}", "tuple should have at most 2 items"),
    ],
)
def test_claims_that_say_nothing_are_refused(folder, claim, message):
    with pytest.raises(UserError, match=message):
        with_claim(folder, claim)


def test_a_method_without_a_number_in_the_paper_has_only_ours(folder, make):
    path = folder / "tiny.yaml"
    path.write_text(path.read_text().replace("f1_macro: 0.625", "f1_macro: null"))
    recipe = load_recipe("tiny", folder)
    comparison = compare(recipe, recipe.data[1], [make("A", f1_macro=0.5), make("B", f1_macro=0.75)])
    cell = next(cell for cell in comparison.cells if cell.method == "B")
    assert (cell.paper, cell.ours, cell.difference) == (None, 0.75, None)
    row = next(line for line in render_comparison(comparison, "md").splitlines() if line.startswith("| B"))
    assert row.split()[1:8] == ["B", "|", "-", "|", "0.7500", "|", "-"]


def test_one_experiment_for_each_value_with_it_in_its_place(figured):
    option = figured.data[1]
    sizes = dict(figure_experiments(figured, "sizes", option))
    assert [experiment["split"]["train"] for experiment in sizes.values()] == [2, 4]
    assert sizes[2]["name"] == "tiny-sizes-2"
    assert sizes[2]["datasets"] == ["real"]
    assert sizes[2]["subset"] == {"rows": 10}  # the option's, in place of the experiment's
    assert list(sizes[2]["methods"]) == ["A", "B"]
    weights = dict(figure_experiments(figured, "weights", option))
    assert [weights[value]["methods"]["B"]["C"] for value in (0.1, 1, 1000)] == [0.1, 1, 1000]
    assert weights["flat"]["methods"] == {"A": {"solver": "binary_svm", "C": 2}}
    assert weights["flat"]["subset"] == {"rows": 12}  # the figure's, in place of the option's
    assert figured.experiment["split"]["train"] == 6
    for name in figured.figures:
        for _, mapping in figure_experiments(figured, name, option):
            config_of(mapping, "figure")
    own = dict(figure_experiments(figured, "clock", figured.data[0], {"train": "x.svm"}))
    assert own[1]["datasets"] == [{"train": "x.svm"}]
    assert own[2]["subset"]["top_features"] == 2


def test_curves_are_means_over_partitions_with_their_spread(figured, make):
    runs = {
        2: [make("A", "r0", f1_macro=0.25), make("A", "r1", f1_macro=0.75), make("B", f1_macro=0.5)],
        4: [make("A", "r0", f1_macro=1.0), make("A", "r1", f1_macro=1.0), make("B", status="failed")],
    }
    figure = paper_figure(figured, "sizes", figured.data[1], runs)
    a, b = figure.panels[0].curves
    assert (a.x, a.y) == ((1.0, 2.0), (0.5, 1.0))
    assert a.spread == pytest.approx((0.125**0.5, 0.0))
    assert (b.x, b.y, b.spread) == ((1.0,), (0.5,), None)
    assert [(level.y, level.x, level.of) for level in figure.panels[0].levels] == [(0.5, 2.0, "A"), (0.625, 2.0, "B")]
    assert figure.notes == (
        "ours on real (same data and split), 2 partitions, bars: standard deviation over partitions",
    )
    assert not figure.log_y


def test_flat_methods_are_levels_and_even_spacing_names_the_values(figured, make):
    runs = {value: [make("B", f1_macro=value / 1000)] for value in (0.1, 1, 1000)} | {"flat": [make("A", f1_macro=0.3)]}
    figure = paper_figure(figured, "weights", figured.data[1], runs)
    flat, curve = figure.panels[0].curves
    assert (flat.x, flat.y) == ((0.0, 1.0, 2.0), (0.3, 0.3, 0.3))
    assert curve.x == (0.0, 1.0, 2.0)
    assert figure.ticks == ((0.0, "0.1"), (1.0, "1"), (2.0, "1000"))
    assert [(level.y, level.x, level.of) for level in figure.panels[0].levels] == [(0.5, None, "A")]


def test_the_papers_numbers_stand_at_their_value_where_values_stand_evenly(figured, folder):
    path = folder / "tiny.yaml"
    path.write_text(path.read_text().replace("{label: rows, divide: 2}", "{label: rows, divide: 2, spacing: even}"))
    recipe = load_recipe("tiny", folder)
    figure = paper_figure(recipe, "sizes", recipe.data[1], {2: [], 4: []})
    assert [level.x for level in figure.panels[0].levels] == [1.0, 1.0]


def test_stand_in_data_stand_beside_no_number_of_the_paper(figured, make):
    runs = {2: [make("A", dataset="fake", stand_in=True, f1_macro=0.25)], 4: []}
    figure = paper_figure(figured, "sizes", figured.data[2], runs)
    assert figure.panels[0].levels == ()
    assert "stand-in data" in figure.notes[0]


def test_seconds_of_fits_are_drawn_on_a_logarithmic_axis(figured, make):
    runs = {value: [replace(make("A"), time=TimeInfo(fit=value / 8))] for value in (1, 2)}
    figure = paper_figure(figured, "clock", figured.data[1], runs)
    assert figure.panels[0].curves[0].y == (0.125, 0.25)
    assert figure.log_y


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("vary: split.train", "vary: train", "should match pattern"),
        ("metric: f1_macro, label: F1}\n    paper_at", "metric: f1_makro, label: F1}\n    paper_at", "unknown metric"),
        ("panels: {one: [A]}", "panels: {one: [B]}", "unknown method of the figure 'B'"),
        ("divide: 2", "divid: 2", r"unknown key of a recipe 'divid'. Did you mean 'divide'"),
        ("    flat:", "    flatt:", r"unknown key of a recipe 'flatt'. Did you mean 'flat'"),
    ],
)
def test_figures_that_make_no_sense_are_refused(figured, folder, old, new, message):
    path = folder / "tiny.yaml"
    assert path.read_text().count(old) == 1
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(UserError, match=message):
        load_recipe("tiny", folder)


@pytest.mark.parametrize("name", ["yeast", "scene", "arts", "computers"])
def test_the_shipped_recipes_hold_every_variant_and_can_be_run(name):
    recipe = load_recipe(name)
    variants = [f"{base}_{s}{r}" for base in ("HG", "lsHG") for s in ("c", "star", "z", "cca") for r in ("", "(lam)")]
    assert set(recipe.expected) == {*variants, "RankSVM", "SVM"}
    for method, settings in recipe.experiment["methods"].items():
        if method in variants:
            assert settings["method"] == ("lstsq" if method.startswith("ls") else "exact")
            assert ("lam" in settings) == (not method.endswith("(lam)"))
    known = {option.dataset for figure in recipe.figures.values() for option in figure.data}
    assert all(is_known(name) for name in ({option.dataset for option in recipe.data} | known) - {"user"})
    for figure, grid in recipe.figures.items():
        for option in grid.data or recipe.data:
            data = {"train": "x.svm"} if option.dataset == "user" else None
            for _, mapping in figure_experiments(recipe, figure, option, data):
                config_of(mapping, "figure")
