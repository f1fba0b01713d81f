"""Figures as files: what is drawn, told by the file's own text, and equal bytes for equal figures."""

import functools
import re
from dataclasses import replace

import pytest
from matplotlib.figure import Figure

from mlrank.plots import FORMATS, Curve, Level, Panel, PanelFigure, render
from mlrank.plots.canvas import COLORS

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


@functools.cache
def drawn(figure):
    """Return a figure as SVG, drawn once for all tests; that it is always the same has a test of its own."""
    return render(figure, "svg")


def texts(figure):
    svg = drawn(figure).decode()
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


@pytest.mark.parametrize("fmt", ["png", "pdf"])
def test_letters_that_the_font_lacks_are_told_once(fmt):
    with pytest.warns(UserWarning, match="lacks 実験: boxes stand for them in " + fmt) as told:
        render(replace(FIGURE, title="実験 and 実験"), fmt)
    assert len(told) == 1
    assert "実験" in drawn(replace(FIGURE, title="実験")).decode()


def test_every_point_is_drawn():
    few = replace(FIGURE, panels=FIGURE.panels[:1])
    extra = Curve("d", (1.0, 1.5, 2.0), (0.1, 0.2, 0.3))
    more = replace(few, panels=(replace(few.panels[0], curves=(*few.panels[0].curves, extra)),))
    # One marker for each point and one in the legend.
    assert drawn(more).count(b"<use") - drawn(few).count(b"<use") >= 4
    assert drawn(FIGURE).count(b'id="axes_') == 3


def test_ticks_and_logarithmic_axes():
    ticks = ((1.0, "ten"), (2.0, "many"))
    found = texts(replace(FIGURE, ticks=ticks))
    assert "ten" in found
    assert "many" in found
    assert drawn(replace(FIGURE, log_y=True)) != drawn(FIGURE)


@pytest.mark.parametrize("last", [3.0, 2.5])
def test_whole_numbers_have_whole_ticks(last):
    curve = Curve("a", (1.0, 2.0, last), (10.0, 20.0, 30.0))
    found = texts(PanelFigure("", (Panel("", (curve,)),), "", ""))
    # The y axis is at tens, or at fives.
    assert any(re.fullmatch(r"[123]\.\d+", text) for text in found) == (last == 2.5)


def test_an_unknown_format_is_refused():
    with pytest.raises(ValueError, match="unknown format of a figure 'gif'"):
        render(FIGURE, "gif")


@pytest.mark.parametrize("n_curves", [1, 2, 6, 14])
@pytest.mark.parametrize("label", ["short", "a label that takes more than half of the width of a panel"])
def test_legends_cover_nothing(monkeypatch, label, n_curves):
    figures = []
    save = Figure.savefig
    monkeypatch.setattr(
        Figure, "savefig", lambda self, *given, **named: (figures.append(self), save(self, *given, **named))
    )
    curves = tuple(Curve(f"{label} {i}", (0.0, 1.0), (0.0, 1.0)) for i in range(n_curves))
    render(replace(FIGURE, panels=(Panel("one", curves), Panel("two", curves[:1]), Panel("three", curves))), "png")
    (figure,) = figures
    boxes = [ax.get_window_extent() for ax in figure.axes if ax.get_visible()]
    legends = [ax.get_legend().get_window_extent() for ax in figure.axes if ax.get_visible()]
    for i, legend in enumerate(legends):
        assert not any(legend.overlaps(other) for other in boxes + legends[:i])
        assert legend.x0 >= 0
        assert legend.x1 <= figure.bbox.width
    assert min(box.height for box in boxes) > 2 * figure.dpi


def test_a_curve_of_two_panels_looks_alike_in_both():
    a, b, c = (Curve(name, (0.0, 1.0), (0.0, 1.0)) for name in "abc")

    def colors(*panels):
        svg = drawn(replace(FIGURE, panels=tuple(Panel("", curves, legend=False) for curves in panels))).decode()
        return [color for color in re.findall(r"#[0-9a-f]{6}", svg) if color in COLORS]

    def first_of(*panels):
        return list(dict.fromkeys(colors(*panels)))

    assert first_of((a, b)) == first_of((a, c)) == first_of((a,), (b, c)) == list(COLORS[:2])
    # c is new, with a style that no other has.
    assert first_of((a, b), (a, c)) == list(COLORS[:3])
    assert colors((b, c), (c,))[-1] == COLORS[1]
