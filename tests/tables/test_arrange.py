"""Grids: each number in its place whatever is by, rows and columns, with the marks and notes that belong to it."""

import math

import pytest

from mlrank.errors import UserError
from mlrank.metrics import MetricValue
from mlrank.tables import GridLayout, arrange, build_tables, grid_of_metrics

SHOWN = ["f1_macro", "ranking_loss"]


@pytest.fixture
def records(make):
    """Methods A and B on yeast, on scene with A stopped early and B failed; a method C that ran on scene alone."""
    scene = {"name": "scene", "hash": "77", "source": "scene of Boutell", "changes": ["5 rows left out"]}
    return [
        make("A", metrics={"f1_macro": 0.5, "ranking_loss": 0.3}, searched={"C": 8.0}),
        make("B", metrics={"f1_macro": 0.4, "ranking_loss": 0.2}, threshold={"oracle": True}),
        make("A", metrics={"f1_macro": 0.7}, dataset=scene, info={"converged": False}),
        make("B", dataset=scene, status="failed", error="ValueError: x", threshold={"oracle": True}),
        make("C", metrics={"f1_macro": 0.6}, dataset=scene),
    ]


def texts(grid):
    return [[cell.text for cell in row] for row in grid.rows]


def test_by_dataset_is_the_table_itself(records):
    grids = arrange(records, SHOWN, GridLayout())
    assert [grid.title for grid in grids] == [table.title for table in build_tables(records, SHOWN)]
    assert texts(grids[0]) == [
        ["A", "0.5000", "0.3000", "C=8", "0.25 s", "8.1e-4"],
        ["B*", "0.4000", "0.2000", "-", "0.25 s", "8.1e-4"],
        ["C", "-", "-", "-", "-", "-"],
    ]


def test_by_metric_has_methods_by_datasets(records):
    first, second = arrange(records, SHOWN, GridLayout.of(by="metric"))
    assert first.title == "demo: f1_macro ↑"
    assert first.header == ("method", "yeast", "scene")
    assert first.sides == "lrr"
    # The oracle cut is on every dataset, so the method is starred; A stopped early on one of them alone.
    assert texts(first) == [["A", "0.5000", "0.7000†"], ["B*", "0.4000", "failed"], ["C", "-", "0.6000"]]
    assert texts(second)[0] == ["A", "0.3000", "0.2000†"]
    assert [cell.best for cell in first.rows[0]] == [False, False, True]
    assert [cell.value for cell in first.rows[0]] == [None, 0.5, 0.7]


def test_a_mark_that_is_not_on_every_dataset_stays_with_its_cell(records):
    grid = arrange(records[::-1], SHOWN, GridLayout.of(by="metric"))[0]
    assert texts(grid) == [["C", "0.6000", "-"], ["B*", "failed", "0.4000"], ["A", "0.7000†", "0.5000"]]


def test_by_metric_can_be_turned(records):
    grid = arrange(records, SHOWN, GridLayout.of(cols="method"))[0]
    assert grid.header == ("dataset", "A", "B*", "C")
    assert texts(grid) == [["yeast", "0.5000", "0.4000", "-"], ["scene", "0.7000†", "failed", "0.6000"]]


def test_by_dataset_can_be_turned(records):
    grid = arrange(records, SHOWN, GridLayout.of(rows="metric"))[1]
    assert grid.header == ("metric", "A†", "B*", "C")
    assert texts(grid) == [
        ["f1_macro ↑", "0.7000", "failed", "0.6000"],
        ["ranking_loss ↓", "0.2000", "failed", "0.2000"],
    ]
    assert [cell.best for cell in grid.rows[0]] == [False, True, False, False]
    assert not any(note.startswith("certificate") for note in grid.notes)


def test_by_method_has_datasets_by_metrics_and_says_what_it_chose(records):
    a, b, c = arrange(records, SHOWN, GridLayout.of(by="method"))
    assert (a.title, b.title, c.title) == ("demo: A", "demo: B", "demo: C")
    assert a.header == ("dataset", "f1_macro ↑", "ranking_loss ↓", "chosen settings", "fit", "certificate")
    assert texts(a) == [
        ["yeast", "0.5000", "0.3000", "C=8", "0.25 s", "8.1e-4"],
        ["scene", "0.7000†", "0.2000†", "-", "0.25 s", "8.1e-4"],
    ]
    assert texts(c) == [["scene", "0.6000", "0.2000", "-", "0.25 s", "8.1e-4"]]  # no row where it did not run
    assert not any("failed" in note for note in a.notes)
    assert "scene: B: 1 of 1 fit failed (ValueError: x)" in b.notes


def test_by_method_can_be_turned(records):
    grid = arrange(records, SHOWN, GridLayout.of(by="method", rows="metric"))[0]
    assert grid.header == ("metric", "yeast", "scene")
    assert texts(grid) == [["f1_macro ↑", "0.5000", "0.7000†"], ["ranking_loss ↓", "0.3000", "0.2000†"]]


def test_notes_say_which_dataset_they_are_about(records):
    notes = arrange(records, SHOWN, GridLayout.of(by="metric"))[0].notes
    assert notes[0].startswith("data: yeast, 2417 rows")
    assert notes[1].startswith("data: scene, 2417 rows")
    assert "1 split (official), so no standard deviation" in notes  # of both, said once
    assert "scene: data: 5 rows left out" in notes
    assert "yeast: C: no run" in notes
    assert not any("ranking_loss" in note for note in notes)


def test_costs_have_units_and_quartiles(make):
    records = [
        make("A", f"r{place}", time={"fit": seconds, "peak_memory": 123_456_789})
        for place, seconds in enumerate([0.1, 0.2, 0.3])
    ]
    grid = arrange(records, ["fit_seconds", "peak_memory"], GridLayout())[0]
    assert grid.header == ("method", "fit_seconds ↓", "peak_memory ↓", "chosen settings", "certificate")
    assert texts(grid) == [["A", "0.20 s [0.15, 0.25]", "123 MB [123, 123]", "-", "8.1e-4"]]


def test_two_versions_of_one_dataset_stay_apart(make):
    records = [make("A"), make("A", experiment="other", dataset={"hash": "x"}, metrics={"f1_macro": 0.9})]
    grid = arrange(records, ["f1_macro"], GridLayout.of(by="metric"))[0]
    assert grid.title == "demo + other: f1_macro ↑"
    assert grid.header == ("method", "yeast (demo)", "yeast (other)")
    assert texts(grid) == [["A", "0.5000", "0.9000"]]


def test_methods_of_one_name_keep_their_own_rows(make):
    scene = {"name": "scene", "hash": "2"}
    records = [
        make("A", metrics={"f1_macro": 0.1}),
        make("A", experiment="other", metrics={"f1_macro": 0.2}),
        make("A", experiment="other", dataset=scene, metrics={"f1_macro": 0.3}),
    ]
    by_metric = arrange(records, ["f1_macro"], GridLayout.of(by="metric"))[0]
    assert texts(by_metric) == [["A (demo)", "0.1000", "-"], ["A (other)", "0.2000", "0.3000"]]
    demo, other = arrange(records, ["f1_macro"], GridLayout.of(by="method"))
    assert [row[:2] for row in texts(demo)] == [["yeast", "0.1000"]]
    assert [row[:2] for row in texts(other)] == [["yeast", "0.2000"], ["scene", "0.3000"]]


@pytest.mark.parametrize(
    ("given", "layout"),
    [
        ({}, ("dataset", "method", "metric")),
        ({"by": "metric"}, ("metric", "method", "dataset")),
        ({"rows": "dataset"}, ("method", "dataset", "metric")),
        ({"rows": "dataset", "cols": "method"}, ("metric", "dataset", "method")),
        ({"cols": "method"}, ("metric", "dataset", "method")),
        ({"rows": "metric"}, ("dataset", "metric", "method")),
        ({"by": "method", "cols": "dataset"}, ("method", "metric", "dataset")),
    ],
)
def test_what_is_not_said_of_a_layout_is_filled_in(given, layout):
    assert GridLayout.of(**given) == layout


def test_a_layout_cannot_have_one_thing_on_two_sides():
    with pytest.raises(UserError, match="found --by metric, --rows metric"):
        GridLayout.of(by="metric", rows="metric")


def test_no_records_no_grids():
    assert arrange([], SHOWN, GridLayout()) == []
    assert arrange([], [], GridLayout.of(by="metric")) == []
    assert arrange([], SHOWN, GridLayout.of(by="method")) == []


def test_metrics_of_probabilities_say_why_they_have_no_value():
    undefined = MetricValue(math.nan, 0, 1, "all")
    grid = grid_of_metrics({"brier": undefined, "f1_micro": undefined})
    shown = [(value.text, over.text) for _, value, over in grid.rows]
    assert shown == [("-", "none, as scores are no probabilities"), ("-", "all cells")]


@pytest.mark.parametrize("by", ["dataset", "metric"])
def test_cells_of_the_same_text_have_the_same_mark(make, by):
    values = {"A": (0.70001, 250.1), "B": (0.70004, 255.6), "C": (0.6, 256.4), "D": (0.5, 300), "E": (0.69996, 250.2)}
    records = [
        make(name, metrics={"f1_macro": value}, time={"peak_memory": round(1e6 * memory)})
        for name, (value, memory) in values.items()
    ]
    # One with an oracle threshold has the same text and does not compete.
    records.append(
        make("F", metrics={"f1_macro": 0.70004}, threshold={"oracle": True}, time={"peak_memory": 400_000_000})
    )

    def marks(decimals):
        grids = arrange(records, ["f1_macro", "peak_memory"], GridLayout.of(by=by), decimals)
        columns = [[row[1 + place] for row in grids[0].rows] for place in (0, 1)] if by == "dataset" else []
        columns = columns or [[row[1] for row in grid.rows] for grid in grids]
        return ["".join("b" if cell.best else "s" if cell.second else "-" for cell in cells) for cells in columns]

    # At five digits A is second alone; 256 MB stands twice, below 250 MB, which stands twice as well.
    assert marks(5) == ["sb----", "b---b-"]
    assert marks(4) == ["bb--b-", "b---b-"]
    assert marks(2) == ["bb--b-", "b---b-"]
    del records[4]
    assert marks(5) == ["sb---", "bss--"]
