"""Heat maps as files: names, numbers and frames."""

import re
from dataclasses import replace

import pytest

from mlrank.plots import HeatFigure, HeatPanel, render

PANEL = HeatPanel("map $", "across", "down", ("a_b", "c"), ("x", "y"), ((0.25, 1.0), (float("nan"), 0.5)), ((0, 1),))
FIGURE = HeatFigure("title", (PANEL,), "value", notes=("a note",))


def texts(figure):
    svg = render(figure, "svg").decode()
    return [re.sub(r"<[^>]*>", "", found) for found in re.findall(r"<text.*?</text>", svg, flags=re.S)]


@pytest.mark.parametrize("fmt", ["svg"])  # test_panels has all
def test_equal_figures_are_equal_files(fmt):
    assert render(FIGURE, fmt) == render(replace(FIGURE), fmt)


def test_names_and_numbers_are_there_and_missing_cells_have_none():
    found = texts(FIGURE)
    for text in ("title", "map $", "across", "down", "a_b", "c", "x", "y", ".250", "1.000", ".500", "value", "a note"):
        assert text in found
    assert "nan" not in found


def test_large_maps_have_no_numbers_and_few_names():
    names = tuple(f"l{i}" for i in range(41))
    large = HeatPanel("", "", "", names, names, tuple(tuple(0.5 for _ in names) for _ in names))
    found = texts(replace(FIGURE, panels=(large,)))
    assert ".500" not in found
    assert sum(text.startswith("l") for text in found) == 42  # every second, on both sides


def test_the_marked_cell_is_framed():
    frame = b"stroke: #d55e00"
    assert render(FIGURE, "svg").count(frame) == 1
    assert frame not in render(replace(FIGURE, panels=(replace(PANEL, marked=()),)), "svg")


def test_balanced_colours_have_the_same_reach_on_both_sides():
    panel = replace(PANEL, values=((-0.25, 0.75), (0.0, 0.5)))
    found = texts(replace(FIGURE, panels=(panel,), balanced=True))
    assert {"−0.75", "0.75"} <= set(found) or {"−0.6", "0.6"} <= set(found) or {"−0.50", "0.50"} <= set(found)


@pytest.mark.parametrize("value", [0.0, 3.0, float("nan")])
def test_a_map_of_one_value_is_drawn(value):
    assert render(replace(FIGURE, panels=(replace(PANEL, values=((value,) * 2,) * 2),)), "svg")
