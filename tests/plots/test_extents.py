"""Every kind of figure as drawn: nothing cut, nothing over something else, one size of letters, dark where asked."""

import io
import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from mlrank.plots import Curve, Level, Panel, PanelFigure, description, figures_of_kind, render
from mlrank.plots.convergence import convergence_figure
from mlrank.plots.critical import CriticalFigure
from mlrank.plots.files import AnyFigure
from mlrank.plots.heat import HeatFigure, HeatPanel
from mlrank.plots.learning import learning_figure
from mlrank.plots.specification import Specification, SpecificationFigure
from tests.conftest import DOTS_PER_INCH
from tests.plots.test_figures_of_runs import NAMES, limited, material, sized  # noqa: F401  a fixture


@pytest.fixture(autouse=True)
def figures_have_all_their_pixels(monkeypatch):
    """Measure figures as they are, other than the tests elsewhere do."""
    monkeypatch.setattr("mlrank.plots.canvas._DPI", DOTS_PER_INCH)


LONG = "A method with a name of some length"
PANELS = PanelFigure(
    "A title that goes on and on, as those of experiments on several data sets and metrics do " * 2,
    (
        Panel("left", (Curve("a_b", (1.0, 2.0), (0.5, 0.7), (0.1, 0.2)), Curve(LONG, (1.0, 2.0), (1e-5, 1e5)))),
        Panel(
            LONG * 2,
            (Curve("a", (1.0, 3.0), (0.5, 0.2)),),
            (Level("paper", 0.6, 1.5),),
            ticks=((1.0, LONG), (3.0, "b")),
        ),
        Panel("three", (Curve(LONG, (1.0, 1e6), (1e-9, 1.0)),), log_x=True, log_y=True, stars=((10.0, 1e-3),)),
    ),
    "rows " * 20,
    "share of relevant labels among those that were predicted " * 2,
    ("a note of many words " * 20, "second note"),
)
HEAT = HeatFigure(
    "Maps",
    tuple(
        HeatPanel(
            f"{LONG} {n}", "across", "down", tuple(f"{LONG} {i}" for i in range(n)), tuple(map(str, range(n))), values
        )
        for n in (2, 9)
        for values in [tuple(tuple((i - j) / 9 for i in range(n)) for j in range(n))]
    ),
    "share with both among the rows with either",
)
LABELS = tuple(f"{LONG} {i}" for i in range(38))
LARGE = HeatFigure(
    "Labels", (HeatPanel("", "label", "label", LABELS, LABELS, tuple((0.5,) * 38 for _ in LABELS)),), "phi", True
)
RANKS = CriticalFigure(
    "Mean ranks " * 12,
    (*(f"{LONG} {i}" for i in range(5)), "F"),
    (1.2, 1.25, 3.0, 4.1, 5.4, 5.5),
    1.4,
    (("F", f"{LONG} 4"),),
    notes=("a note " * 30,),
)
READINGS = SpecificationFigure(
    "Readings",
    "difference in f1_macro",
    tuple(
        Specification(
            0.01 * i, "A" if i % 2 else "B", {"split": f"seed {i % 3}", LONG: "x"}, "the print" if i == 3 else ""
        )
        for i in range(8)
    ),
    ("A", "B"),
)
FIGURES: dict[str, AnyFigure] = {
    "panels": PANELS,
    "one legend": replace(PANELS, panels=PANELS.panels[:1] * 2, one_legend=True),
    "heat": HEAT,
    "large heat": LARGE,
    "ranks": RANKS,
    "readings": READINGS,
    "learning": learning_figure([*sized("A", 100, [0.3, 0.31]), *sized("A", 400, [0.6])], "f1_macro"),
    "convergence": convergence_figure([], [limited(0.1, 5, 12.0), limited(0.001, 3000, 10.0)]),
}


def drawn(monkeypatch, figure, fmt="png", **how):
    """Return the figure of matplotlib behind a file, and the file."""
    figures = []
    save = Figure.savefig
    monkeypatch.setattr(
        Figure, "savefig", lambda self, *given, **named: (figures.append(self), save(self, *given, **named))
    )
    content = render(figure, fmt, **how)
    return figures[0], content


def texts_of(figure):
    """Return the visible texts that hold something."""
    renderer = figure.canvas.get_renderer()
    found = figure.findobj(lambda artist: hasattr(artist, "get_text") and hasattr(artist, "get_fontsize"))
    shown = [text for text in found if text.get_visible() and text.get_text().strip()]
    for ax in figure.axes:  # ticks outside the view are not drawn
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not (ax.get_visible() and ax.axison) or not low - 1e-9 * abs(
                    low
                ) <= tick.get_loc() <= high + 1e-9 * abs(high):
                    shown = [text for text in shown if text not in (tick.label1, tick.label2)]
    return [(text, text.get_window_extent(renderer)) for text in shown]


def faults(figure):
    """Return what is cut off at the edge of a figure, what lies on what, and sizes of letters that differ."""
    texts = texts_of(figure)
    width, height = figure.bbox.width, figure.bbox.height
    said = [
        f"cut: {text.get_text()!r}"
        for text, box in texts
        if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1
    ]
    for (one, box), (two, other) in itertools.combinations(texts, 2):
        # By less than a point letters do not touch: boxes have room above and below.
        shrunk = [
            b.padded(-0.15 * figure.dpi * one.get_fontsize() / 72) if b.width > 9 and b.height > 9 else b
            for b in (box, other)
        ]
        if shrunk[0].overlaps(shrunk[1]):
            said.append(f"over each other: {one.get_text()!r} and {two.get_text()!r}")
    axes = [ax for ax in figure.axes if ax.get_visible()]
    for one, two in itertools.combinations(axes, 2):
        if one.get_window_extent().padded(-1).overlaps(two.get_window_extent()):
            said.append("axes over each other")
    sizes = {text.get_fontsize() for text, _ in texts}
    return said + ([f"sizes {sizes}"] if sizes != {8.0} else [])


def laid_out(monkeypatch, figure):
    """Return the figure of matplotlib behind a file, laid out and not written, which takes longer."""
    figures = []
    monkeypatch.setattr(
        Figure, "savefig", lambda self, *given, **named: (figures.append(self), self.draw_without_rendering())
    )
    render(figure, "png")
    return figures[0]


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_is_cut_or_lies_on_something_else(monkeypatch, name):
    assert faults(laid_out(monkeypatch, FIGURES[name])) == []


@pytest.mark.parametrize("kind", NAMES)
def test_so_it_is_with_each_kind_of_runs(monkeypatch, kind, material):  # noqa: F811
    assert faults(laid_out(monkeypatch, next(iter(figures_of_kind(kind, material).values())))) == []


def test_planted_faults_are_seen(monkeypatch):
    figure = laid_out(monkeypatch, FIGURES["learning"])
    figure.text(0.98, 0.5, "cut at the edge")
    figure.axes[0].text(0.5, 0.5, "one", transform=figure.axes[0].transAxes)
    figure.axes[0].text(0.5, 0.5, "two", transform=figure.axes[0].transAxes, fontsize=12)
    found = faults(figure)
    assert "cut: 'cut at the edge'" in found
    assert "over each other: 'one' and 'two'" in found
    assert any(fault.startswith("sizes") for fault in found)


@pytest.mark.parametrize("name", ["learning", "heat", "ranks", "readings"])
def test_dark_figures_are_light_on_a_dark_ground(monkeypatch, name):
    figure, content = drawn(monkeypatch, FIGURES[name], dark=True)
    pixels = imread(io.BytesIO(content))[..., :3]
    assert pixels[0, 0].max() < 0.15
    assert (pixels[:, 0].max(axis=1) < 0.15).all()
    inks = [text.get_color() for text, _ in texts_of(figure) if text.get_color() not in ("#fefefe", "#010101")]
    assert set(inks) == {"#e8e8e8"}


def test_pixels_are_300_to_an_inch(monkeypatch):
    figure, content = drawn(monkeypatch, FIGURES["learning"])
    assert imread(io.BytesIO(content)).shape[:2] == tuple(
        np.floor(figure.get_size_inches()[::-1] * 300 + 1e-6).astype(int)
    )


def test_words_tell_what_is_drawn():
    words = description(FIGURES["learning"])
    assert words == (
        "Learning curves, f1_macro (higher is better). x: f1_macro against training rows. A from 0.305 at 100 "
        "to 0.6 at 400."
    )
    words = description(RANKS)
    assert "Mean ranks, best first: A method with a name of some length 0 1.20," in words
    assert "Not separated: F and A method with a name of some length 4." in words
    words = description(HEAT)
    assert "2 rows (down) and 2 columns (across), from -0.111 at 1, " in words
    assert f"0.889 at 0, {LONG} 8" in words
    svg = render(FIGURES["learning"], "svg").decode()
    assert re.search(
        r"<svg[^>]*>\s*<title>Learning curves, f1_macro \(higher is better\)</title>\s*<desc>Learning curves", svg
    )
    assert description(FIGURES["learning"]).encode() in render(FIGURES["learning"], "png")
