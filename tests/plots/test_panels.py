"""Figures as files: what is drawn, told by the file's own text, and equal bytes for equal figures."""

import re
from dataclasses import replace

import pytest

from mlrank.plots import FORMATS, Curve, Level, Panel, PanelFigure, render

FIGURE = PanelFigure(
    "Figure 9: costs in $",
    (
        Panel("left", (Curve("a_b", (1.0, 2.0), (0.5, 0.7), (0.1, 0.2)), Curve("c", (1.0, 2.0), (0.4, 0.6)))),
        Panel("right", (Curve("a_b", (1.0,), (0.5,)),), (Level("paper's", 0.6, 1.5, of="a_b"), Level("bar", 0.55))),
        Panel("empty", (Curve("nothing", (), ()),)),
    ),
    "rows",
    "ROC",
    ("first note", "second note"),
)


def texts(figure):
    svg = render(figure, "svg").decode()
    return [re.sub(r"<[^>]*>", "", found) for found in re.findall(r"<text.*?</text>", svg, flags=re.S)]


@pytest.mark.parametrize("fmt", FORMATS)
def test_equal_figures_are_equal_files_of_their_format(fmt):
    content = render(FIGURE, fmt)
    assert content == render(replace(FIGURE), fmt)
    assert content.startswith({"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}[fmt])


def test_everything_said_is_there_and_no_text_is_taken_for_a_formula():
    found = texts(FIGURE)
    for text in ("Figure 9: costs in $", "left", "right", "empty", "rows", "ROC", "a_b", "c", "paper's", "bar"):
        assert text in found
    assert any("first note" in text for text in found)


def test_every_point_is_drawn():
    few = replace(FIGURE, panels=FIGURE.panels[:1])
    extra = Curve("d", (1.0, 1.5, 2.0), (0.1, 0.2, 0.3))
    more = replace(few, panels=(replace(few.panels[0], curves=(*few.panels[0].curves, extra)),))
    # One marker for each point and one in the legend.
    assert render(more, "svg").count(b"<use") - render(few, "svg").count(b"<use") >= 4
    assert render(FIGURE, "svg").count(b'id="axes_') == 3


def test_ticks_and_logarithmic_axes():
    ticks = ((1.0, "ten"), (2.0, "many"))
    found = texts(replace(FIGURE, ticks=ticks))
    assert "ten" in found
    assert "many" in found
    assert render(replace(FIGURE, log_y=True), "svg") != render(FIGURE, "svg")


def test_an_unknown_format_is_refused():
    with pytest.raises(ValueError, match="unknown format of a figure 'gif'"):
        render(FIGURE, "gif")
