"""Readings of all recipes: how they share a budget, and the page of what they recover."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from mlrank.cli import app
from mlrank.experiment.forecast import forecast
from mlrank.recipes import Recipe, load_recipe
from mlrank.recipes.all_readings import PricedReadings, shared_out, within_budget
from mlrank.recipes.readings import plan_readings
from mlrank.recipes.readings_page import headline
from mlrank.recipes.readings_summary import all_stored_readings, readings_summary, share_recovered
from mlrank.recipes.recovery import ClaimOver, ClaimUnder, QuestionRead, ReadingOutcome, ReadingsReport

REFERENCE = Path(__file__).parents[2] / "results" / "reference"


def recipe(name="tiny", dataset="yeast", grade="same-source", readings=True):
    choices = {"three": {}, "nine": {"methods": {"two": {"n_neighbors": 9}}}}
    scales = {"none": {}, "standard": {"scale": "standard"}}
    questions = {
        "neighbors": {"paper": "no number", "default": "three", "choices": choices},
        "scale": {"paper": "not a word", "default": "none", "choices": scales},
    }
    return Recipe.model_validate(
        {
            "name": name,
            "title": "A tiny table",
            "paper": "Somebody, 2000",
            "table": "Table 9",
            "data": ({"dataset": dataset, "grade": grade, "note": "the same", "how_to": "not at all"},),
            "experiment": {
                "split": {"kind": "holdout", "train": 30, "test": 30},
                "subset": {"rows": 60, "top_labels": 3},
                "methods": {"one": {"solver": "knn", "n_neighbors": 5}, "two": {"solver": "knn"}},
            },
            "grids": {"coarse": {"two": {"n_neighbors": [1, 3]}}, "small": {"two": {"n_neighbors": 3}}},
            "quick_grid": "small",
            "expected": {"one": {"f1_macro": 0.5}, "two": {"f1_macro": 0.5}},
            "claims": ({"text": "one is better", "metrics": ("f1_macro",), "order": ("one", "two")},),
            "readings": questions if readings else {},
        }
    )


def offer(plan, *costs):
    """Return the readings of a plan at these costs, experiment by experiment."""
    return PricedReadings(plan, dict(zip(plan.used, costs, strict=True)))


@pytest.fixture(scope="module")
def plans():
    tiny = recipe()
    return {grid: plan_readings(tiny, tiny.data[0], grid=grid) for grid in ("coarse", "small")}


def test_what_cheap_recipes_leave_goes_to_dear_ones(plans):
    n = len(plans["coarse"].used)
    whole = [offer(plans["coarse"], *n * [each]) for each in (10.0, 1.0, 100.0)]
    asked = []

    def quick(plan):
        asked.append(plan)
        return offer(plans["small"], *len(plans["small"].used) * [2.0])

    # n of a second each; of the rest the second may take a half, and of what it leaves the third takes all.
    chosen = shared_out(whole, quick, n * 1.0 + 2 * n * 10.0)
    assert [found.plan.grid for found in chosen] == ["coarse", "coarse", "small"]
    assert [found.left_out for found in chosen] == [0, 0, 0]
    assert [found.seconds for found in chosen] == [n * 10.0, n * 1.0, len(plans["small"].used) * 2.0]
    assert len(asked) == 1
    # A second less, and the second is too dear as well: it is the one that the half was too little for.
    chosen = shared_out(whole, quick, n * 1.0 + 2 * n * 10.0 - 1)
    assert [found.plan.grid for found in chosen] == ["small", "coarse", "small"]
    # Without a quick grid the default one is cut to what fits, and what is left out is counted.
    (cut,) = shared_out(whole[:1], lambda plan: None, 25.0)
    assert (cut.plan.grid, cut.plan.used) == ("coarse", within_budget(whole[0], 25.0).plan.used)
    assert (cut.seconds, len(cut.plan.readings) + cut.left_out) == (20.0, len(plans["coarse"].readings))
    assert cut.left_out > 0


@pytest.mark.parametrize("seed", range(20))
def test_all_together_stay_within_the_budget_where_the_recipes_alone_do(plans, seed):
    rng = np.random.default_rng(seed)
    costs = rng.exponential(10, size=(4, len(plans["coarse"].used)))
    quick_costs = rng.exponential(1, size=len(plans["small"].used))
    costs[:, 0] = quick_costs[0] = 0.5  # the recipe as it stands
    whole = [offer(plans["coarse"], *row) for row in costs]
    budget = float(rng.uniform(2.0, 100.0))
    chosen = shared_out(whole, lambda plan: offer(plans["small"], *quick_costs), budget)
    assert sum(found.seconds for found in chosen) <= budget
    # Nothing is left out for want of trying: the last recipe had all that the others left.
    assert all(found.plan.readings[0].departures == 0 for found in chosen)


def test_readings_of_unknown_cost_fit_no_budget(plans):
    whole = [offer(plans["coarse"], 1.0, *(len(plans["coarse"].used) - 1) * [None])]
    (found,) = shared_out(whole, lambda plan: None, 1e9)
    assert (found.plan.used, found.seconds) == ([0], 1.0)


def test_experiments_that_differ_in_the_scaling_of_rows_alone_share_pilot_fits(plans, tmp_path):
    pilots, found, n_pilots = {}, {}, {}
    for config in plans["coarse"].configs:
        found[config.name] = {cell.cell: cell.search for cell in forecast(config, tmp_path, pilots)}
        n_pilots[config.name] = len(pilots)
    # Methods one and two, then two with nine neighbors too, then nothing that is new.
    assert n_pilots == {"tiny": 2, "tiny-readings-scale-standard": 3, "tiny-readings-methods": 3}
    assert found["tiny"].items() <= found["tiny-readings-scale-standard"].items()


def report(name, recovered, n, grade="same-source", verdict="holds", **changes):
    """Return a report with as many numbers recovered by each reading, the recipe as it stands first."""
    readings = tuple(
        ReadingOutcome(
            choices={"scale": f"s{place}"},
            departures=min(place, 1),
            matches=count,
            close=0,
            claims=(ClaimUnder(ordering="holds", p=None, difference=None),),
        )
        for place, count in enumerate(recovered)
    )
    names = tuple(f"s{place}" for place in range(len(recovered)))
    known = {
        "recipe": name,
        "paper": "Somebody, 2000",
        "table": "Table 9",
        "dataset": "yeast",
        "grid": "small",
        "grade": grade,
        "n_splits": 3,
        "n_numbers": n,
        "questions": {"scale": QuestionRead(paper="not a word", default="s0", choices=names)},
        "readings": readings,
        "left_out": 0,
        "best": max(range(len(recovered)), key=lambda at: (recovered[at], -at)),
        "chance": 0.25 if n else None,
        "deals": 24,
        "every_deal": True,
        "claims": (ClaimOver(text="one is better", verdict=verdict, says="holds with scale s1"),),
    }
    return ReadingsReport(**known | changes)


def cells(page):
    """Return the rows of the page's table, by recipe."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:1] == "|"]
    return {row[1]: row for row in rows[2:]}


def test_the_page_counts_what_one_reading_for_each_table_recovers():
    reports = [
        report("apart", [5, 6], 10, "related", "depends on the reading"),
        report("good", [1, 3, 2], 4, left_out=7),
        report("poor", [2, 1], 6),
        report("standin", [0, 0], 0, "stand-in"),
    ]
    # 1 + 2 of 4 + 6 as the recipes stand, 3 + 2 at best; the related collection is none of the papers' own data.
    assert share_recovered(reports) == (10, 3, 5)
    page = readings_summary(reports, ["apart", "good", "other", "poor", "standin"])
    assert "of 10 numbers from the papers' own data, 3 (30%) match or are close as the recipes stand" in page
    assert "and 5 (50%) under one stated reading for each table: we ask for 60%" in page
    assert "tables recovered by their best reading (60% of their numbers): apart (6 of 10), good (3 of 4)\n" in page
    assert "tables that no reading recovers (60% of their numbers): poor (2 of 6)\n" in page
    assert "- on stand-in data, where the claims alone are read: standin\n" in page
    assert "- no readings are stored of: other\n" in page
    assert "- apart: 'one is better': holds with scale s1\n" in page
    shown = cells(page)
    assert shown["good"][5:] == ["3 of 10", "4", "1", "3", "scale: s1", "25.0%", "0 of 1"]
    assert shown["poor"][7:10] == ["2", "2", "the recipe"]
    assert shown["apart"][-1] == "1 of 1"
    # On one split no claim can change, and a share of orders is never 0, as the printed one is among them.
    page = readings_summary([report("one", [2, 1], 6, n_splits=1, chance=0.0001)], ["one"])
    assert cells(page)["one"][-2:] == ["under 0.1%", "-"]
    assert (
        headline(report("tied", [2, 3], 6))[1]
        == "Of the whole table scale: s1 recovers most: 3 of 6 numbers (3 match, 0 are close)."
    )
    assert headline(report("tied", [2, 2], 6, best=1))[1].startswith("Of the whole table scale: s1 recovers as many, ")
    assert shown["standin"][6:11] == ["0", "-", "-", "-", "-"]
    enough = readings_summary([report("good", [1, 3], 4)], [])
    assert "under one stated reading for each table: that is what we ask for" in enough


def test_stored_readings_are_of_the_recipes_as_they_are_now():
    stored = all_stored_readings(REFERENCE)
    assert stored
    for found in stored:
        now = load_recipe(found.recipe)
        assert (found.paper, found.table) == (now.paper, now.table)
        assert {claim.text for claim in found.claims} == {claim.named for claim in now.claims}, found.recipe
        assert found.dataset in {option.dataset for option in now.data}
        assert found.grid in now.grids
        for name, question in found.questions.items():
            assert question.default == now.readings[name].default, (found.recipe, name)
            assert set(question.choices) <= set(now.readings[name].choices), (found.recipe, name)
    assert (REFERENCE / "readings.md").read_text("utf-8").startswith("# What readings of the papers recover\n")


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    def call(made, *words):
        by_name = {one.name: one for one in made}
        monkeypatch.setattr("mlrank.recipes.recipes", lambda: list(by_name))
        monkeypatch.setattr("mlrank.recipes.load_recipe", by_name.get)
        shared = ["--results", str(tmp_path), "--jobs", "1", "--quiet"]
        return CliRunner().invoke(app, ["reproduce", "all", "--readings", *words, *shared], env={"COLUMNS": "200"})

    return call


def test_all_are_planned_within_the_budget_and_one_without_data_stops_no_other(invoke, tmp_path, monkeypatch):
    found = {"cells": [{"n_fits": 2, "n_left": 1}], "seconds": 60.0}
    monkeypatch.setattr("mlrank.cli.forecast.forecast_values", lambda config, results, jobs, pilots: found)
    made = [recipe("absent", dataset="user"), recipe(), recipe("silent", readings=False)]
    planned = invoke(made, "--dry-run")
    assert planned.exit_code == 2
    assert "mlrank: readings of absent were not run: no data for the recipe 'absent'" in planned.stderr
    n = len(plan_readings(made[1], made[1].data[0]).used)
    assert f"4 readings of 1 recipes: about {n} min with 1 worker, of a budget of 90 minutes\n" in planned.stdout
    assert list(tmp_path.iterdir()) == []
    few = json.loads(invoke(made[1:], "--dry-run", "--json", "--budget", "1").stdout)
    assert [(one["recipe"], one["grid"], len(one["readings"]), one["seconds"]) for one in few] == [
        ("tiny", "small", 1, 60.0)
    ]
    dear = invoke(made[1:], "--dry-run", "--budget", "0.5")
    assert "about 60 s with 1 worker, of a budget of 0.5 minutes, which is more than the budget" in dear.stdout


def test_all_are_run_and_written_to_one_page(invoke, tmp_path, monkeypatch):
    found = {"cells": [{"n_fits": 2, "n_left": 1}], "seconds": 1.0}
    monkeypatch.setattr("mlrank.cli.forecast.forecast_values", lambda config, results, jobs, pilots: found)
    done = invoke([recipe()], "--budget", "0.04")
    assert done.exit_code == 0, done.output
    assert "readings were tried in grid 'small'" in done.stdout
    page = (tmp_path / "reference" / "readings.md").read_text("utf-8")
    assert cells(page)["tiny"][2:5] == ["same source, new sample", "small", "1"]
    (stored,) = all_stored_readings(tmp_path / "reference")
    assert (stored.recipe, len(stored.readings) + stored.left_out) == ("tiny", 4)
