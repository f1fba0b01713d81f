"""The recipes of the SLRM paper: its Table 2, one data set each, and what they alone ask of recipes."""

from dataclasses import replace

import pytest

from mlrank.config import config_of
from mlrank.datasets.catalogue import is_known
from mlrank.errors import UserError
from mlrank.recipes import (
    compare,
    experiment_mapping,
    figure_experiments,
    load_recipe,
    paper_figure,
    related_grid,
    related_mapping,
    related_of,
    times_mapping,
)
from mlrank.records.run import FitRecord
from mlrank.tables import render_grids
from tests.recipes.conftest import on_splits, p_above
from tests.recipes.test_times import TIMES, judged, run

NAMES = ("corel5k", "mediamill-slrm", "msrc", "sun")
METHODS = ["CPLST", "FaIE", "ML-LOC", "MC", "MIML", "SLRM"]
METRICS = ("auc_macro", "f1_macro", "f1_micro", "jaccard_samples")
# Table 2: the row of SLRM and the best of the other methods in each measure, and the seconds of all.
SLRM = {
    "msrc": ((0.8253, 0.4481, 0.5890, 0.3866), (0.8133, 0.4083, 0.5538, 0.3344)),
    "mediamill-slrm": ((0.7969, 0.1413, 0.6476, 0.4691), (0.7938, 0.1399, 0.6422, 0.4509)),
    "corel5k": ((0.5762, 0.0497, 0.2700, 0.1566), (0.5786, 0.0422, 0.2322, 0.1447)),
    "sun": ((0.7126, 0.2687, 0.5043, 0.3388), (0.7020, 0.2852, 0.4936, 0.3287)),
}
SECONDS = {
    "msrc": (0.059, 0.141, 33.49, 35.55, 687.78, 0.731),
    "mediamill-slrm": (0.278, 10.09, 4928.37, 2534.60, 8953.65, 0.790),
    "corel5k": (1.53, 2.67, 17021.46, 1441.99, 3957.35, 15.36),
    "sun": (0.2050, 1.1104, 571.69, 1927.21, 4016.15, 0.7182),
}


def parsed(mapping):
    return config_of(mapping, "recipe.yaml")


def experiments(name, grid):
    recipe = load_recipe(name)
    for option in recipe.data:
        files = {"train": "a.svm"} if option.dataset == "user" else None
        yield option, parsed(experiment_mapping(recipe, option, grid, files))


@pytest.mark.parametrize("name", NAMES)
def test_numbers_and_claims_are_those_of_the_paper(name):
    recipe = load_recipe(name)
    assert list(recipe.expected) == METHODS
    assert all(tuple(found) == METRICS for found in recipe.expected.values())
    ours, others = SLRM[name]
    assert tuple(recipe.expected["SLRM"].values()) == ours
    best = [max(recipe.expected[method][metric] for method in METHODS[:-1]) for metric in METRICS]
    assert tuple(best) == others
    first, *pairwise = recipe.claims
    assert (first.best, first.among, first.places, first.metrics) == ("SLRM", tuple(METHODS[:-1]), 2, METRICS)
    # The bold type of the table says so, no sentence does.
    assert [claim.source for claim in recipe.claims] == ["table", "text", "text"]
    assert first.named == "SLRM is best or second in each measure (from the table)"
    assert [pair for claim in pairwise for pair in claim.pairs] == [("SLRM", method) for method in METHODS[:-1]]
    # The paper's own numbers put SLRM first or second everywhere, or they would have been copied wrongly.
    for metric, value in zip(METRICS, ours, strict=True):
        assert sum(recipe.expected[method][metric] > value for method in METHODS[:-1]) <= 1


@pytest.mark.parametrize("grid", ["coarse", "paper"])
@pytest.mark.parametrize("name", NAMES)
def test_every_option_makes_a_valid_experiment(name, grid):
    for option, config in experiments(name, grid):
        assert option.dataset == "user" or is_known(option.dataset)
        assert list(config.methods) == METHODS
        assert {method.threshold for method in config.methods.values()} == {"oracle_size"}
        assert (config.split.kind, config.split.parts) == ("per_class", 10)
        assert config.search.metric == "f1_micro"
        if grid == "paper":
            assert (config.split.repeats, config.search.folds, config.subset.rows) == (10, 10, None)
            axes = {method: dict(config.methods[method].axes) for method in METHODS}
            decades = tuple(10.0**power for power in range(-3, 4))
            for method, setting in (("SLRM", "lam"), ("SLRM", "gamma"), ("FaIE", "alpha"), ("MC", "lam")):
                assert axes[method][setting] == pytest.approx(decades)
            assert axes["CPLST"]["n_components"] == (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)


@pytest.mark.parametrize(("name", "repeats", "rows"), [
    ("msrc", 10, None), ("corel5k", 3, None), ("sun", 3, 2000), ("mediamill-slrm", 10, 2500),
])  # fmt: skip
def test_the_coarse_grid_is_smaller(name, repeats, rows):
    for _, config in experiments(name, "coarse"):
        folds = 2 if name == "corel5k" else 3
        assert (config.split.repeats, config.search.folds, config.subset.rows) == (repeats, folds, rows)


@pytest.mark.parametrize("grid", ["coarse", "paper"])
@pytest.mark.parametrize("name", NAMES)
def test_every_method_is_searched_over_the_same_values(name, grid):
    """What the paper searches: b of CPLST and FaIE, groups and sizes alike, and all regularisers and trade-offs."""
    searched = {
        "CPLST": {"n_components"},
        "FaIE": {"n_components", "alpha"},
        "ML-LOC": {"n_groups", "lam1"},
        "MC": {"lam"},
        "MIML": {"n_components"},
        "SLRM": {"lam", "gamma"},
    }
    for _, config in experiments(name, grid):
        axes = {
            method: {key: values for key, values in config.methods[method].axes if len(values) > 1}
            for method in METHODS
        }
        assert {method: set(found) for method, found in axes.items()} == searched
        sizes = {values for found in axes.values() for key, values in found.items() if key.startswith("n_")}
        decades = {values for found in axes.values() for key, values in found.items() if not key.startswith("n_")}
        assert (len(sizes), len(decades)) == (1, 1)


# Table 1: instances, features, labels, cardinality.
SIZES = {
    "msrc": (591, 512, 23, 2.508),
    "corel5k": (5000, 499, 374, 3.522),
    "sun": (14240, 512, 102, 15.526),
    "mediamill-slrm": (43907, 210, 101, 4.376),
}


@pytest.mark.parametrize("name", NAMES)
def test_sizes_are_those_of_table_1_and_stand_beside_ours(name, make):
    recipe = load_recipe(name)
    option = next(option for option in recipe.data if option.dataset != "user")
    rows, features, labels, per_row = SIZES[name]
    same = make("SLRM", dataset=option.dataset, auc_macro=0.5)
    data = replace(same.dataset, n_samples=rows, n_features=features, n_labels=labels, cardinality=per_row + 4e-4)
    for changed, words in (
        ({}, "the same"),
        ({"n_features": features + 1, "cardinality": per_row + 6e-4}, "not the same"),
    ):
        found = compare(recipe, option, [replace(same, dataset=replace(data, **changed))])
        (line,) = [note for note in found.notes if note.startswith("Table 1, the paper's / ours: ")]
        assert words in line
        assert f"rows {rows:g} / {rows:g}" in line
    assert line.endswith(": not the same: features, labels per row")


@pytest.mark.parametrize("name", NAMES)
def test_grades_are_honest_and_there_are_always_data(name):
    recipe = load_recipe(name)
    grades = {option.dataset: option.grade for option in recipe.data}
    assert list(grades.values())[-1] == "stand-in"
    assert grades["user"] == "same-source"
    own = {"msrc": ("msrc-v2", "related"), "sun": ("sun-attribute", "stand-in"), "corel5k": ("corel5k", "same-source")}
    dataset, grade = own.get(name, ("mediamill-cut", "same-source"))
    assert grades[dataset] == grade
    assert list(grades).index(dataset) < len(grades) - 1


@pytest.mark.parametrize("name", NAMES)
def test_run_times_are_of_fixed_settings_and_stand_beside_the_papers(name):
    recipe = load_recipe(name)
    assert tuple(recipe.times.expected.values()) == SECONDS[name]
    spoken, shown, local = recipe.times.claims
    assert spoken.faster_first == shown.faster_first == ("SLRM", "MC", "MIML")
    assert local.faster_first == ("SLRM", "ML-LOC")
    # "By orders of magnitude" is no sentence of the paper.
    assert [(claim.source, claim.factor) for claim in recipe.times.claims] == [("text", 1), ("table", 10), ("table", 1)]
    assert recipe.times.predictions
    assert all(recipe.times.expected[slow] > 10 * recipe.times.expected["SLRM"] for slow in ("MC", "MIML"))
    config = parsed(times_mapping(recipe, recipe.times, recipe.data[-1]))
    assert all(len(method.grid()) == 1 for method in config.methods.values())
    assert config.split.repeats == {"corel5k": 2, "mediamill-slrm": 5, "msrc": 10, "sun": 3}[name]
    assert dict(config.methods["MIML"].axes)["protocol"] == ("active_in_train",)


@pytest.mark.parametrize("name", NAMES)
def test_figures_vary_what_the_paper_varies(name):
    recipe = load_recipe(name)
    figure = "figure-2" if name in ("corel5k", "mediamill-slrm") else "figure-3"
    assert list(recipe.figures) == (["figure-1", "figure-2"] if figure == "figure-2" else ["figure-3"])
    known = recipe.figures[figure]
    made = [parsed(mapping) for _, mapping in figure_experiments(recipe, figure, recipe.data[-1])]
    assert len(made) == len(known.values)
    if figure == "figure-2":
        assert [config.split.parts for config in made] == list(known.values)
        assert {method for config in made for method in config.methods} == set(METHODS)
    else:
        assert [config.split.missing_labels for config in made] == list(known.values)
        assert {method for config in made for method in config.methods} == {"FaIE", "MC", "SLRM"}


@pytest.mark.parametrize("name", ["corel5k", "mediamill-slrm"])
def test_the_objective_is_drawn_against_iterations(name, make):
    recipe = load_recipe(name)
    option = recipe.data[-1]
    known = recipe.figures["figure-1"]
    made = {value: parsed(mapping) for value, mapping in figure_experiments(recipe, "figure-1", option)}
    assert list(made) == list(known.values)
    for value, config in made.items():
        assert {dict(method.axes)["max_iter"] for method in config.methods.values()} == {(value,)}
    ((method, *_),) = known.panels.values()
    runs = {
        value: [replace(make(method, f1_macro=0.5), info=FitRecord(1, 100.0 / value, None, True))]
        for value in known.values
    }
    drawn = paper_figure(recipe, "figure-1", option, runs)
    assert drawn.panels[0].curves[0].x == known.values
    assert drawn.panels[0].curves[0].y == tuple(100.0 / value for value in known.values)
    assert not drawn.log_y


def test_related_labels_are_a_table_of_their_own(make):
    recipe = load_recipe("msrc")
    assert related_of(recipe, "3") is related_of(recipe, "Table 3") is recipe.related
    assert related_of(recipe, "2") is related_of(load_recipe("sun"), "3") is None
    config = parsed(related_mapping(recipe, recipe.related, recipe.data[-1]))
    assert list(config.methods) == ["SLRM"]
    assert len(config.methods["SLRM"].grid()) == 1
    assert (config.split.kind, config.split.parts, config.split.repeats) == ("per_class", 10, 1)
    assert len(recipe.related.expected) == 23
    assert all(
        other in recipe.related.expected for named in recipe.related.expected.values() for other in named.split(", ")
    )
    record = make("SLRM", f1_macro=0.5)
    related = {"sky": (("tree", 0.5), ("car", 0.25)), "a|b": ()}
    text = render_grids([related_grid(recipe.related, recipe.data[1], record, related)], "md")
    assert r"| sky   | tree (0.500), car (0.250) | tree, road |" in text
    assert r"| a\|b  | none" in text
    assert "- 1 of the 2 labels that the paper names are among ours" in text
    unnamed = render_grids([related_grid(recipe.related, recipe.data[1], record, {"0": (("1", 0.5),)})], "md")
    assert "| 0     | 1 (0.500) |\n" in unnamed
    assert "the labels have no names of the paper's here" in unnamed


def with_best(folder, claim, effort=""):
    path = folder / "tiny.yaml"
    text = path.read_text()
    methods = "    B: {solver: rank_svm, threshold: svr_midpoint}\n"
    text = text.replace(methods, f"{methods}    D: {{solver: binary_svm}}\n")
    path.write_text(f"{text[: text.index('claims:')]}claims:\n  - {claim}\n{effort}")
    return load_recipe("tiny", folder)


BEST = "{text: t, metrics: [f1_macro], best: B, among: [A, D], places: 2}"


@pytest.mark.parametrize(
    ("a", "b", "d", "first", "second"),
    [
        (0.5, 0.75, 0.6, "holds", "holds"),
        (0.8, 0.75, 0.6, "fails", "holds"),
        (0.8, 0.75, 0.9, "fails", "fails"),
        (0.75, 0.75, 0.6, "undecided", "holds"),
        (None, 0.75, 0.6, "undecided", "holds"),
        (None, 0.75, 0.9, "fails", "undecided"),
        (0.5, None, 0.6, "undecided", "undecided"),
    ],
)
def test_being_among_the_best_is_judged_by_how_many_are_better(folder, over_splits, a, b, d, first, second):
    recipe = with_best(folder, BEST)
    values = {"A": a, "B": b, "D": d}
    records = over_splits({method: {"f1_macro": value} for method, value in values.items() if value is not None})
    for places, verdict in ((1, first), (2, second)):
        changed = recipe.model_copy(update={"claims": (recipe.claims[0].model_copy(update={"places": places}),)})
        (claim,) = compare(changed, recipe.data[1], records).claims
        assert claim.verdict == verdict
        once = [record for record in records if record.split == "r0"]
        assert compare(changed, recipe.data[1], once).claims[0].verdict == "undecided"
        if None not in values.values():  # as many as needed, the p of the k-th largest, times k: from scratch
            ps = sorted(p_above(on_splits("B", b) - on_splits(other, values[other])) for other in "AD")
            holds = ps[1] if places == 1 else 2 * ps[0]
            assert (holds <= 0.05) == (verdict == "holds")
    if b == 0.75 and a == 0.5:
        assert claim.details[0].startswith(
            "f1_macro, best first: B 0.7500, D 0.6000, A 0.5000; 2 of 2 pairs as claimed; 2 of 2 pairs shown "
        )


def test_lower_is_better_where_it_is(folder, over_splits):
    recipe = with_best(folder, BEST.replace("f1_macro", "ranking_loss").replace("places: 2", "places: 1"))
    means = {"A": 0.3, "B": 0.1, "D": 0.2}
    records = over_splits({method: {"ranking_loss": mean} for method, mean in means.items()})
    assert compare(recipe, recipe.data[1], records).claims[0].verdict == "holds"


@pytest.mark.parametrize(
    ("claim", "effort", "message"),
    [
        (BEST.replace("best: B, ", ""), "", "found none of them"),
        (BEST.replace(", among: [A, D]", ""), "", "'best' and 'among' go together"),
        (BEST.replace("[A, D]", "[A, E]"), "", "unknown method 'E'"),
        (BEST.replace("best: B", "best: E"), "", "unknown method 'E'"),
        (BEST, "effort: {corse: {search: {folds: 2}}}\n", r"unknown grid 'corse'. Did you mean 'coarse'"),
        (BEST, "effort: {coarse: {serch: {folds: 2}}}\n", r"unknown key of a recipe 'serch'. Did you mean 'search'"),
    ],
)
def test_what_makes_no_sense_is_refused(folder, claim, effort, message):
    with pytest.raises(UserError, match=message):
        with_best(folder, claim, effort)


def test_a_grid_can_make_fewer_runs_on_fewer_rows(folder):
    effort = "effort: {coarse: {split: {repeats: 2}, subset: {rows: 12}, search: {folds: 3}}}\n"
    recipe = with_best(folder, BEST, effort)
    coarse, paper = (experiment_mapping(recipe, recipe.data[1], grid) for grid in ("coarse", "paper"))
    assert coarse["split"] == {"kind": "holdout", "train": 6, "test": 4, "repeats": 2}
    # The option's own subset is replaced, then made smaller.
    assert coarse["subset"] == {"rows": 12}
    assert coarse["search"] == {"folds": 3}
    assert paper["split"] == {"kind": "holdout", "train": 6, "test": 4}
    assert paper["subset"] == {"rows": 10}
    assert "search" not in paper


@pytest.mark.parametrize(("factor", "verdict"), [(1, "holds"), (14, "holds"), (16, "fails")])
def test_faster_may_mean_so_many_times_faster(folder, make, factor, verdict):
    path = folder / "tiny.yaml"
    path.write_text(f"{path.read_text()}{TIMES}      factor: {factor}\n")
    recipe = load_recipe("tiny", folder)
    records = [run(make, "slow", seconds, split=f"r{i}") for i, seconds in enumerate((30.0, 30.3, 29.7))]
    records += [run(make, "fast", 2.0, split=f"r{i}") for i in range(3)]
    _, claim = judged(recipe, records)
    assert claim.verdict == verdict
    margin = f"at least {factor} times is asked for (a margin of ours)"
    assert (margin in claim.details[0]) == (factor > 1)
