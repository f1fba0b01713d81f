"""The specification curve: readings in the order of their differences, each above its own choices."""

import re

import pytest
from matplotlib.figure import Figure

from mlrank.plots.specification import (
    Specification,
    SpecificationFigure,
    _draw_choices,
    _draw_curve,
    _lines,
    render_specification,
)

FIGURE = SpecificationFigure(
    "a claim of $ 5",
    "difference",
    (
        Specification(0.3, "holds", {"coding": "01", "scale": "none"}, "recovers most"),
        Specification(-0.2, "fails", {"coding": "signs", "scale": "none"}, "the recipe"),
        Specification(0.1, "undecided", {"coding": "signs", "scale": "l2"}),
        Specification(-0.1, "fails", {"coding": "01", "scale": "l2"}),
    ),
    ("holds", "fails", "undecided"),
    ("a note",),
)


def drawn(figure):
    """Return the texts of the figure as an SVG file."""
    svg = render_specification(figure, "svg").decode()
    return [re.sub(r"<[^>]*>", "", found).strip() for found in re.findall(r"<text.*?</text>", svg, flags=re.S)]


def test_equal_figures_are_equal_files_and_say_what_there_is():
    assert render_specification(FIGURE, "svg") == render_specification(FIGURE, "svg")
    texts = drawn(FIGURE)
    for text in ("a claim of $ 5", "holds (1)", "fails (2)", "undecided (1)", "recovers most", "the recipe", "a note"):
        assert text in texts
    choices = [text for text in texts if ": " in text and "reading" not in text]
    assert choices == ["coding: 01", "coding: signs", "scale: l2", "scale: none"]


def test_every_reading_stands_above_its_choices():
    ordered = [FIGURE.specifications[place] for place in (1, 3, 2, 0)]  # -0.2, -0.1, 0.1, 0.3
    curve, choices = Figure().subplots(2)
    _draw_curve(curve, FIGURE, ordered)
    points = {line.get_label(): list(zip(*line.get_data(), strict=True)) for line in curve.lines}
    assert [points[name] for name in ("holds (1)", "fails (2)", "undecided (1)")] == [
        [(3, 0.3)],
        [(0, -0.2), (1, -0.1)],
        [(2, 0.1)],
    ]
    _draw_choices(choices, _lines(ordered), ordered)
    at = {tick.get_text(): float(y) for tick, y in zip(choices.get_yticklabels(), choices.get_yticks(), strict=True)}
    marks = {line.get_ydata()[0]: list(line.get_xdata()) for line in choices.lines}
    assert {name: marks[y] for name, y in at.items()} == {
        "coding: 01": [1, 3],
        "coding: signs": [0, 2],
        "scale: l2": [1, 2],
        "scale: none": [0, 3],
    }


def test_one_reading_alone_is_drawn_and_none_is_refused():
    alone = SpecificationFigure("t", "d", FIGURE.specifications[:1], FIGURE.found)
    assert "holds (1)" in drawn(alone)
    with pytest.raises(ValueError, match="needs a reading"):
        render_specification(SpecificationFigure("t", "d", (), ()), "svg")
