"""Figures of decision regions: what is drawn where, and equal bytes for equal figures."""

import io
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from mlrank.plots import RegionFigure, RegionPanel, description, render, render_regions
from mlrank.plots.canvas import COLORS

LINE = np.linspace(-2, 2, 5)
WINNERS = np.zeros((5, 5), dtype=np.int64)
WINNERS[:, 3:] = 1
WINNERS[4] = 2
FIGURE = RegionFigure(
    "Figure 1: in the plane",
    (RegionPanel("points"), RegionPanel("one-vs-all", WINNERS)),
    np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.5]]),
    np.array([0, 1, 2]),
    ("left", "right", "above $"),
    LINE,
    LINE,
    ("a note",),
)


@pytest.mark.parametrize("fmt", ["svg"])  # test_panels has all
def test_equal_figures_are_equal_files_of_their_format(fmt):
    content = render_regions(FIGURE, fmt)
    assert content == render_regions(replace(FIGURE), fmt)
    assert content.startswith({"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}[fmt])


def test_everything_said_is_there():
    svg = render_regions(FIGURE, "svg").decode()
    for text in ("Figure 1: in the plane", "points", "one-vs-all", "left", "right", "above $", "a note"):
        assert f">{text}<" in svg


def shares(figure):
    """Return the share of the picture in the pale colour of each class."""
    picture = imread(io.BytesIO(render_regions(figure, "png")))[:, :, :3]
    pale = [np.array([0.4 * part + 0.6 for part in to_rgb(color)]) for color in COLORS[:3]]
    return np.array([(np.abs(picture - color).max(axis=2) < 0.01).mean() for color in pale])


def test_each_class_has_its_part_of_the_panel():
    found = shares(FIGURE)
    # The grid's squares are cut in half at the border: 4 x 4 units, of which the top half unit is class 2.
    parts = np.array([2.5 * 3.5, 1.5 * 3.5, 4 * 0.5])
    assert found / found.sum() == pytest.approx(parts / parts.sum(), abs=0.02)
    nobody = replace(FIGURE, panels=(RegionPanel("none", np.full((5, 5), -1)), RegionPanel("points")))
    assert shares(nobody).max() < 1e-3


def test_a_dark_one_has_the_dark_ground_in_its_regions():
    nobody = replace(FIGURE, panels=(RegionPanel("none", np.full((5, 5), -1)),))
    for figure, places in ((FIGURE, 0.5), (nobody, 0.8)):
        picture = imread(io.BytesIO(render(figure, "png", dark=True)))[:, :, :3]
        assert (picture.max(axis=2) < 0.12).mean() > places / 2
        assert (picture.min(axis=2) > 0.95).mean() < 0.01


def test_the_words_say_how_much_of_the_plane_each_class_has():
    words = description(FIGURE)
    assert "one-vs-all, the share of the plane where a class scores best: left 48%, right 32%, above $ 20%" in words


def test_rows_go_up_and_columns_to_the_right():
    picture = imread(io.BytesIO(render_regions(replace(FIGURE, panels=FIGURE.panels[1:]), "png")))[:, :, :3]

    def middle(number):
        pale = [0.4 * part + 0.6 for part in to_rgb(COLORS[number])]
        return np.argwhere(np.abs(picture - pale).max(axis=2) < 0.01).mean(axis=0)

    assert middle(2)[0] < middle(0)[0]
    assert middle(0)[1] < middle(1)[1]


def test_more_classes_than_colours_and_unknown_formats_are_refused():
    with pytest.raises(ValueError, match="at most 6 classes can be distinguished, found 7"):
        render_regions(replace(FIGURE, names=tuple("abcdefg")), "png")
    with pytest.raises(ValueError, match="unknown format of a figure 'gif'"):
        render_regions(FIGURE, "gif")
