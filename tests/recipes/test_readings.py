"""Readings: which fits they share, which one gives a printed table back, and how likely that is by luck."""

import json
import math
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from typer.testing import CliRunner

from mlrank.cli import app
from mlrank.config import config_of
from mlrank.errors import UserError
from mlrank.experiment.run import run_experiment
from mlrank.recipes import TableOutcome, compare, load_recipe
from mlrank.recipes.data import experiment_mapping
from mlrank.recipes.readings import plan_readings, readings_of, records_under
from mlrank.recipes.readings_page import headline, readings_grid
from mlrank.recipes.recovery import (
    ClaimUnder,
    ReadingOutcome,
    claim_over,
    judge_readings,
    luck,
    recovered_by_rows,
    stored_readings,
    with_readings,
)
from mlrank.recipes.run import Runner, write_page, write_summary
from mlrank.recipes.run_readings import run_readings
from mlrank.records import RunFolder
from mlrank.records.atomic import make_folder
from mlrank.records.run import MetricRecord

RECIPE = """\
name: read
title: A tiny table
paper: Somebody, 2000
table: Table 9
data:
  - {dataset: yeast, grade: same-source, note: the same, how_to: it is embedded}
experiment:
  split: {kind: holdout, train: 40, test: 60}
  subset: {rows: 100, top_labels: 4}
  methods: {one: {solver: knn, n_neighbors: 5}, two: {solver: knn}}
  search: {folds: 2, metric: f1_micro}
grids: {coarse: {one: {n_neighbors: [5, 15]}}}
expected:
  one: {f1_macro: ONE, hamming_loss: LOSS}
  two: {f1_macro: TWO}
claims:
  - {text: one is better, metrics: [f1_macro], order: [one, two]}
readings:
  neighbors:
    paper: "section 3 names no number"
    default: ten
    choices: {ten: {}, three: {methods: {two: {n_neighbors: 3}}}}
  scale:
    paper: "not a word"
    default: none
    choices: {none: {}, standard: {scale: standard}}
  select_by:
    paper: "the corresponding measure"
    default: micro
    choices: {micro: {}, macro: {search: {metric: f1_macro}}}
  measure:
    paper: "F1, without a formula"
    default: f1
    choices: {f1: {}, of_means: {metrics: {f1_macro: f1_of_means}, undefined: zero}}
"""


def written(folder, ones=0.5, loss=0.5, twos=0.5, text=RECIPE):
    for name, value in {"ONE": ones, "LOSS": loss, "TWO": twos}.items():
        text = text.replace(name, repr(value))
    (folder / "read.yaml").write_text(text)
    return load_recipe("read", folder)


@pytest.fixture
def recipe(tmp_path):
    return written(tmp_path)


def test_readings_are_the_product_of_the_choices_the_recipe_first(recipe):
    found = readings_of(recipe)
    assert len({reading.choices for reading in found}) == len(found) == 16
    assert found[0].name == "neighbors: ten, scale: none, select_by: micro, measure: f1"
    assert [reading.departures for reading in found] == [0] + 4 * [1] + 6 * [2] + 4 * [3] + [4]
    some = readings_of(recipe, ["measure", "neighbors"])
    assert len(some) == 4
    assert {dict(reading.choices)["scale"] for reading in some} == {"none"}
    with pytest.raises(UserError, match=r"unknown question of the recipe 'read' 'scales'\. Did you mean 'scale'"):
        readings_of(recipe, ["scales"])


def test_readings_share_every_fit_that_they_do_not_read_differently(recipe):
    plan = plan_readings(recipe, recipe.data[0])
    made = {config.name: dict(config.methods) for config in plan.configs}
    # Two scales, for each of them two ways to choose the setting of the one method that is searched.
    assert {name: sorted(methods) for name, methods in made.items()} == {
        "read": ["one", "two"],
        "read-readings-methods": ["two (neighbors three)"],
        "read-readings-scale-standard": ["one", "two", "two (neighbors three)"],
        "read-readings-select_by-macro": ["one"],
        "read-readings-scale-standard-select_by-macro": ["one"],
    }
    own = config_of(experiment_mapping(recipe, recipe.data[0], "coarse"), "the recipe")
    assert plan.configs[0].resolved() == own.resolved()
    by_name = {reading.name: sources for reading, sources in zip(plan.readings, plan.sources, strict=True)}
    found = by_name["neighbors: three, scale: standard, select_by: macro, measure: of_means"]
    names = {method: (plan.configs[at.experiment].name, at.method) for method, at in found.items()}
    assert names == {
        "one": ("read-readings-scale-standard-select_by-macro", "one"),
        "two": ("read-readings-scale-standard", "two (neighbors three)"),
    }
    settings = plan.configs[found["two"].experiment].methods["two (neighbors three)"].resolved()
    assert settings["n_neighbors"] == 3


def test_a_budget_takes_the_readings_that_fit_in_the_order_of_departures(recipe):
    plan = plan_readings(recipe, recipe.data[0])
    seconds = dict.fromkeys(plan.used, 10.0)
    seconds[[config.name for config in plan.configs].index("read-readings-select_by-macro")] = None
    names = [reading.name for reading in plan.within(seconds, 25.0).readings]
    assert len(names) == 6  # two measures each of the recipe, and of all that one experiment more has
    assert {name.rpartition(", ")[0] for name in names} == {
        "neighbors: ten, scale: none, select_by: micro",
        "neighbors: ten, scale: standard, select_by: micro",
        "neighbors: three, scale: standard, select_by: micro",
    }
    assert len(plan.within(seconds, 0.0).readings) == 2  # what costs no further experiment
    assert plan.within(seconds, 0.0).used == [0]


def test_readings_that_come_to_the_same_are_one(tmp_path):
    quick = "grids: {small: {one: {n_neighbors: 5}, two: {n_neighbors: 3}}, coarse: {}}\nquick_grid: small"
    text = RECIPE.replace("grids: {coarse: {one: {n_neighbors: [5, 15]}}}", quick)
    recipe = written(tmp_path, text=text)
    plan = plan_readings(recipe, recipe.data[0], grid=recipe.quick_grid)
    # Nothing is searched, so nothing is selected; and three neighbors are all there are.
    assert [reading.name for reading in plan.readings] == [
        "neighbors: ten, scale: none, select_by: micro, measure: f1",
        "neighbors: ten, scale: none, select_by: micro, measure: of_means",
        "neighbors: ten, scale: standard, select_by: micro, measure: f1",
        "neighbors: ten, scale: standard, select_by: micro, measure: of_means",
    ]
    with pytest.raises(UserError, match=r"unknown grid 'smal'\. Did you mean 'small'"):
        written(tmp_path, text=text.replace("quick_grid: small", "quick_grid: smal"))


def test_measures_are_read_from_stored_metrics(recipe, make):
    plan = plan_readings(recipe, recipe.data[0], ["measure"])
    record = replace(
        make("one", dataset="yeast"),
        metrics={
            "f1_macro": MetricRecord(0.9, 3, 4, "labels"),
            "precision_macro": MetricRecord(0.8, 2, 4, "labels"),
            "recall_macro": MetricRecord(0.6, 4, 4, "labels"),
        },
    )
    plain, of_means = (records_under(plan, at, {0: [record]}) for at in (0, 1))
    assert plain[0].metrics == record.metrics
    # Precision is 0.4 with the labels that are never predicted as 0.
    assert of_means[0].value("f1_macro") == pytest.approx(2 * 0.4 * 0.6 / (0.4 + 0.6))
    assert of_means[0].metrics["precision_macro"] == MetricRecord(0.4, 4, 4, "labels")
    without = replace(record, metrics={})
    assert records_under(plan, 1, {0: [without]})[0].metrics == {}


def finished(folder, config):
    """Run an experiment in this process."""
    return run_experiment(config, folder)


def test_a_table_printed_under_a_reading_is_recovered_under_it_and_not_as_the_recipe_stands(tmp_path, recipe):
    # The printed table: standardised features and three neighbors, run apart from all that is tested.
    mapping = experiment_mapping(recipe, recipe.data[0], "coarse")
    mapping["scale"], mapping["name"] = "standard", "printed"
    mapping["methods"]["two"]["n_neighbors"] = 3
    printed = {}
    for record in finished(tmp_path / "p", config_of(mapping, "printed")).records:
        for metric in ("f1_macro", "hamming_loss"):
            printed.setdefault((record.method, metric), []).append(record.value(metric))
    means = {key: round(float(np.mean(values)), 6) for key, values in printed.items()}
    recipe = written(tmp_path, means["one", "f1_macro"], means["one", "hamming_loss"], means["two", "f1_macro"])

    shown, ran = [], []

    def run(config, jobs):
        ran.append(config.name)
        return finished(tmp_path / "r", config)

    plan = plan_readings(recipe, recipe.data[0], ["neighbors", "scale"])
    done = run_readings(plan, Runner(run, show=shown.append), tmp_path / "r")
    report = done.report
    assert ran == ["read", "read-readings-scale-standard", "read-readings-methods"]
    recovering = [dict(one.choices) for one in report.readings if one.matches == 3]
    assert [(one["neighbors"], one["scale"]) for one in recovering] == [("three", "standard")]
    assert report.readings[report.best].choices == recovering[0]
    # One split leaves no interval: a number matches if it is the printed one in all six decimals.
    assert (report.best, report.readings[0].matches < 3, report.n_numbers) == (3, True, 3)
    assert headline(report)[1].startswith("Of the whole table neighbors: three, scale: standard recovers most: 3 of 3")
    # Two methods, two deals: the one that is printed and the other.
    other = [
        recovered_by_rows(recipe, records_under(plan, at, runs_of(plan, tmp_path)), "same-source") for at in range(4)
    ]
    swapped = max(int(found[0, 1] + found[1, 0]) for found in other)
    assert (report.deals, report.every_deal, report.chance) == (2, True, 1.0 if swapped >= 3 else 0.5)
    assert stored_readings(tmp_path / "r" / "reference", "read") == report
    ends = {"json", "md", "svg"}
    assert {path.name for path in done.files} == {"readings.md"} | {f"read-readings.{end}" for end in ends}
    assert stored_readings(tmp_path, "read") is None
    (tmp_path / "read-readings.json").write_text("{}")
    with pytest.raises(UserError, match="damaged readings; run 'mlrank reproduce read --readings' again"):
        stored_readings(tmp_path, "read")
    assert [row[-1].text for row in readings_grid(report).rows] == [
        {"holds": "holds", "fails": "fails", "undecided": "-"}[report.readings[at].claims[0].ordering]
        for at in sorted(range(4), key=lambda at: (-report.readings[at].recovered, -report.readings[at].matches, at))
    ]


def runs_of(plan, folder):
    return {at: RunFolder.open(folder / "r" / plan.configs[at].name).runs() for at in plan.used}


@pytest.mark.parametrize("seed", range(5))
def test_luck_is_the_share_of_orders_in_which_some_reading_recovers_as_many(seed):
    rng = np.random.default_rng(seed)
    recovered = rng.integers(0, 3, size=(3, 4, 4))
    observed = max(sum(table[i][i] for i in range(4)) for table in recovered.tolist())
    as_many = 0
    for order in permutations(range(4)):
        counts = [sum(table[i][order[i]] for i in range(4)) for table in recovered.tolist()]
        as_many += max(counts) >= observed
    assert luck(recovered) == (as_many / math.factorial(4), 24, True)


def test_drawn_orders_come_near_all_orders_and_have_the_printed_one_among_them():
    rng = np.random.default_rng(7)
    recovered = rng.integers(0, 2, size=(2, 6, 6))
    chance, deals, every = luck(recovered, most=500)
    exact = luck(recovered)[0]
    assert (deals, every) == (500, False)
    assert abs(chance - exact) < 4 * math.sqrt(exact * (1 - exact) / 500) + 1 / 500
    alone = np.zeros((1, 9, 9), dtype=np.int64)
    alone[0, np.arange(9), np.arange(9)] = 1  # nothing but the printed order recovers all
    assert luck(alone, most=50)[0] == 1 / 50
    assert luck(np.zeros((2, 0, 0), dtype=np.int64))[0] == 1.0  # nothing is printed


def test_rows_are_judged_as_those_of_every_method(recipe, make, tmp_path):
    recipe = written(tmp_path, 0.5, 0.25, 0.75)
    records = [
        make(method, split, dataset="yeast", f1_macro=f1, hamming_loss=loss)
        for split, shift in (("r0", 0.001), ("r1", -0.001))
        for method, f1, loss in (("one", 0.75 + shift, 0.25 + shift), ("two", 0.75 - shift, 0.9))
    ]
    # The paper's row of "one" is F1 .5 and loss .25, that of "two" F1 .75 alone.
    assert recovered_by_rows(recipe, records, "same-source").tolist() == [[1, 1], [0, 1]]


def outcomes(*orderings, **choices):
    return [
        ReadingOutcome(
            choices={question: values[at] for question, values in choices.items()},
            departures=at,
            matches=0,
            close=0,
            claims=(ClaimUnder(ordering=ordering, p=None, difference=None),),
        )
        for at, ordering in enumerate(orderings)
    ]


@pytest.mark.parametrize(
    ("orderings", "verdict", "says"),
    [
        (["holds"] * 4, "holds", "holds under all 4 readings"),
        (["fails", "undecided", "fails", "fails"], "fails", "undecided under 1, fails under 3 of 4 readings"),
        (
            ["fails", "fails", "holds", "holds"],
            "depends on the reading",
            "holds under 2, fails under 2 of 4 readings: holds with coding 01; fails with coding signs",
        ),
        (
            ["undecided", "fails", "fails", "fails"],
            "depends on the reading",
            "undecided under 1, fails under 3 of 4 readings: fails under all but those with coding signs, scale none",
        ),
        (
            ["undecided", "undecided", "undecided", "holds"],
            "depends on the reading",
            "holds under 1, undecided under 3 of 4 readings: holds with coding 01, scale l2",
        ),
        (
            ["holds", "fails", "fails", "holds"],
            "depends on the reading",
            "holds under 2, fails under 2 of 4 readings: holds with coding signs, scale none, and 1 more; "
            "fails with coding signs, scale l2, and 1 more",
        ),
        (
            ["fails", "undecided", "undecided", "holds"],
            "depends on the reading",
            "holds under 1, undecided under 2, fails under 1 of 4 readings: holds with coding 01, scale l2; "
            "fails with coding signs, scale none",
        ),
    ],
)
def test_a_claim_over_readings(orderings, verdict, says):
    found = outcomes(*orderings, coding=["signs", "signs", "01", "01"], scale=["none", "l2", "none", "l2"])
    claim = claim_over("a claim", found, 0)
    assert (claim.verdict, claim.says) == (verdict, says)


def test_a_claim_from_the_table_is_found_again_by_its_name(tmp_path, make):
    text = RECIPE.replace("{text: one is better,", "{text: one is better, source: table,")
    recipe = written(tmp_path, text=text)
    records = [
        make(method, f"r{i}", dataset="yeast", f1_macro=0.5 + i / 8) for i in (0, 1) for method in ("one", "two")
    ]
    report, (comparison, *_) = judge_readings(plan_readings(recipe, recipe.data[0], ["measure"]), {0: records})
    assert [claim.text for claim in report.claims] == [claim.text for claim in comparison.claims]
    assert report.claims[0].text == "one is better (from the table)"


def test_the_difference_is_that_of_the_pair_furthest_from_an_order(tmp_path, make):
    text = RECIPE.replace("two: {solver: knn}}", "two: {solver: knn}, three: {solver: knn}}")
    recipe = written(tmp_path, text=text.replace("[one, two]}", "[one, two, three]}"))
    values = {"one": 0.5, "two": 0.625, "three": 0.75}
    records = [make(method, "r0", dataset="yeast", f1_macro=value) for method, value in values.items()]
    report, _ = judge_readings(plan_readings(recipe, recipe.data[0], ["measure"]), {0: records})
    assert report.readings[0].claims[0].difference == -0.25  # of the first and the last


@pytest.mark.parametrize(("n_fail", "verdict"), [(2, "undecided"), (3, "depends on the reading")])
def test_a_twentieth_of_the_readings_may_decide_by_luck(n_fail, verdict):
    orderings = ["undecided"] * (40 - n_fail) + ["fails"] * n_fail
    found = outcomes(*orderings, coding=["signs"] * 39 + ["01"])
    claim = claim_over("a claim", found, 0)
    assert claim.verdict == verdict
    assert claim.says.startswith(f"undecided under {40 - n_fail}, fails under {n_fail} of 40 readings")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("default: ten", "default: nine", "the default 'nine' is none of the choices ten, three"),
        ("{ten: {}, three: {methods", "{ten: {scale: l2}, three: {methods", "but the choice 'ten' changes something"),
        ("standard: {scale: standard}", "standard: {}", "but the choice 'standard' changes nothing"),
        ("{methods: {two:", "{methods: {three:", "unknown method 'three'"),
        ("{f1_macro: f1_of_means}", "{f1_micro: f1_of_means}", "unknown metric of the paper's table 'f1_micro'"),
        ("{f1_macro: f1_of_means}", "{f1_macro: f1_of_mean}", "unknown measure 'f1_of_mean'. Did you mean"),
        ("{scale: standard}", "{scales: standard}", "unknown key of a recipe 'scales'. Did you mean 'scale'"),
    ],
)
def test_a_wrong_question_is_refused_with_its_place(tmp_path, old, new, message):
    assert RECIPE.count(old) == 1
    with pytest.raises(UserError, match=r"read\.yaml") as raised:
        written(tmp_path, text=RECIPE.replace(old, new))
    assert message in str(raised.value)


def test_a_recipe_without_readings_is_refused(tmp_path):
    recipe = written(tmp_path, text=RECIPE[: RECIPE.index("readings:")])
    with pytest.raises(UserError, match="the recipe 'read' names no readings"):
        readings_of(recipe)


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    written(tmp_path)
    monkeypatch.setattr("mlrank.recipes.load_recipe", lambda name: load_recipe(name, tmp_path))
    monkeypatch.setattr("mlrank.recipes.run_readings.is_available", lambda name: name == "yeast")

    def call(*words):
        shared = ["--results", str(tmp_path / "r"), "--jobs", "1", "--quiet"]
        done = CliRunner().invoke(app, ["reproduce", *words, *shared], env={"COLUMNS": "200"})
        if isinstance(done.exception, UserError):
            raise done.exception
        assert done.exit_code == 0, done.output
        return done.stdout

    return call


def test_the_command_plans_runs_and_prints_readings(invoke, tmp_path):
    planned = invoke("read", "--readings", "--questions", "neighbors,measure", "--dry-run")
    assert "4 readings from 2 experiments" in planned
    assert "their answers come from the same runs: measure" in planned
    assert not (tmp_path / "r").exists()
    shown = invoke("read", "--questions", "measure, neighbors")
    assert "4 readings were tried in grid 'coarse' on 1 split. There the recipe as it stands recovers" in shown
    assert "On one split no claim is decided under any reading." in shown
    report = json.loads(invoke("read", "--questions", "measure,neighbors", "--json"))
    stored = stored_readings(tmp_path / "r" / "reference", "read")
    assert report == json.loads(stored.model_dump_json())
    assert [len(report["readings"]), report["left_out"]] == [4, 0]
    assert report["questions"]["scale"]["choices"] == ["none"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["read", "--budget", "1"], "--budget goes with --readings"),
        (["read", "--readings", "--table", "3"], "readings are of the recipe's own table, found --table"),
        (["read", "--readings", "--grid", "fine"], "unknown grid of the recipe 'read' 'fine'"),
        (["read", "--readings", "--figures"], "found --figures"),
        (["all", "--questions", "scale"], "--questions is of one recipe, found together with 'all'"),
        (["all", "--readings", "--grid", "fine"], "--grid is of one recipe, found together with 'all'"),
    ],
)
def test_what_does_not_go_with_readings_is_refused(invoke, words, message):
    with pytest.raises(UserError, match=message):
        invoke(*words)


def test_stored_readings_speak_of_claims_that_neither_print_nor_data_decide(recipe, make, tmp_path):
    records = [
        make(method, f"r{i}", dataset="yeast", f1_macro=0.5 + i / 8) for i in (0, 1) for method in ("one", "two")
    ]
    comparison = compare(recipe, recipe.data[0], records)
    plan = plan_readings(recipe, recipe.data[0], ["measure"])
    report, _ = judge_readings(plan, {0: records})
    assert with_readings(comparison, report) == comparison  # all readings find the same
    claim = report.claims[0].model_copy(update={"verdict": "depends on the reading", "says": "holds with scale l2"})
    report = report.model_copy(update={"claims": (claim,)})
    (told,) = with_readings(comparison, report).claims
    assert told.verdict == "depends on the reading"
    assert told.line.startswith(
        "claim 'one is better': depends on the reading, in grid 'coarse' on 2 splits: holds with scale l2; as the "
    )
    other = report.model_copy(update={"dataset": "scene"})
    assert with_readings(comparison, other) == comparison
    denied = replace(comparison, claims=(replace(comparison.claims[0], verdict="contradicts its own table"),))
    assert with_readings(denied, report) == denied
    # The summary and the page of the table say it, and name the readings.
    make_folder(tmp_path / "r" / "reference")
    (tmp_path / "r" / "reference" / "read-readings.json").write_text(report.model_dump_json())
    outcome = TableOutcome("read", recipe.paper, recipe.table, "read.md", comparison, records)
    written = [write_summary([outcome], tmp_path / "r"), *write_page(outcome, tmp_path / "r")]
    summary, page = (path.read_text("utf-8") for path in written)
    assert "2 readings were tried in grid 'coarse' on 2 splits. There the recipe as it stands recovers" in summary
    assert "[Readings](read-readings.md)" in summary
    assert "± **Table 9, read**: claim 'one is better': depends on the reading, in grid 'coarse'" in summary
    assert "**Claims:** 1 depends on the reading." in page
