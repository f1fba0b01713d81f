"""The critical-difference diagram: what is said, and where the lines are."""

import re

import pytest

from mlrank.errors import UserError
from mlrank.plots import CriticalFigure, critical_figure, render
from mlrank.stats import compare_datasets, gather
from tests.stats.records import table

FIGURE = CriticalFigure(
    "ranks in f1 of $ data",
    ("C", "A", "B"),
    (2.8, 1.2, 2.0),
    1.1,
    (("A", "B"), ("B", "C")),
    control="A",
    differ=("C",),
    notes=("a note",),
)


def texts(figure):
    svg = render(figure, "svg").decode()
    return [re.sub(r"<[^>]*>", "", found) for found in re.findall(r"<text.*?</text>", svg, flags=re.S)]


@pytest.mark.parametrize("fmt", ["svg"])  # test_panels has all
def test_equal_figures_are_equal_files(fmt):
    assert render(FIGURE, fmt) == render(FIGURE, fmt)


def test_names_stand_with_their_ranks_and_marks():
    found = texts(FIGURE)
    for text in ("A (control)  1.20", "B  2.00", "2.80  C ≠", "critical difference 1.10", "a note", "1", "2", "3"):
        assert text in found
    assert "ranks in f1 of $ data" in found


def lines(figure):
    """Of each line of the drawing: its width and the x of its points."""
    svg = render(figure, "svg").decode()
    found = []
    for path, style in re.findall(r'<path d="([^"]*)"[^>]*style="fill: none; stroke: ([^"]*)"', svg):
        width = float(re.search(r"stroke-width: ([0-9.]+)", style).group(1)) if "stroke-width" in style else 1.0
        found.append((width, [float(x) for x in re.findall(r"[ML] ([0-9.]+)", path)]))
    return found


def test_bars_span_the_ranks_of_their_groups():
    drawn = lines(FIGURE)
    axis = next(xs for _, xs in drawn)  # from rank 1 to rank 3
    unit = (axis[1] - axis[0]) / 2
    bars = [[1 + (x - axis[0]) / unit for x in xs] for width, xs in drawn if width == 3.2]
    assert bars == [
        pytest.approx([1.2 - 0.045, 2.0 + 0.045], abs=1e-3),
        pytest.approx([2.0 - 0.045, 2.8 + 0.045], abs=1e-3),
    ]
    spans = [(xs[-1] - xs[0]) / unit for width, xs in drawn if width == 0.9]
    assert any(span == pytest.approx(1.1, abs=1e-3) for span in spans)  # the critical difference itself


def test_no_line_to_a_name_crosses_another():
    figure = CriticalFigure("t", ("C", "A", "B", "D"), (2.8, 1.2, 2.0, 4.0), 1.1, ())
    svg = render(figure, "svg").decode()
    places = {
        text.split()[-1 if text[0].isdigit() else 0]: (float(x), float(y))
        for x, y, text in re.findall(r' x="([0-9.]+)" y="([0-9.]+)"[^>]*>([^<]+)</text>', svg)
        if "." in text and "critical" not in text
    }
    assert places["A"][0] == places["B"][0] < places["C"][0] == places["D"][0]
    # The outermost ranks have the highest names on their side: a line goes down from its rank and outwards.
    assert places["A"][1] == places["D"][1] < places["B"][1] == places["C"][1]


def test_the_diagram_of_a_comparison():
    scores = {
        name: {f"d{row}": [mean + 0.01 * row] for row in range(8)}
        for name, mean in zip("ABC", (0.5, 0.7, 0.6), strict=True)
    }
    found = compare_datasets(gather(table(scores), "f1_macro")[0], alpha=0.1)
    figure = critical_figure(found)
    assert figure.title == "Mean ranks in f1_macro over 8 data sets"
    assert (figure.methods, figure.mean_ranks, figure.control) == (("A", "B", "C"), (3.0, 1.0, 2.0), "B")
    assert figure.differ == ("A", "C")
    assert figure.groups == (("B", "C"), ("C", "A"))
    assert "at level 0.1" in figure.notes[0]


@pytest.mark.parametrize(
    ("methods", "means", "why"), [("AB", (0.5, 0.7), "two methods have none"), ("ABC", (0.5, 0.5, 0.5), "tied")]
)
def test_no_critical_difference_no_diagram(methods, means, why):
    scores = {name: {f"d{row}": [mean] for row in range(8)} for name, mean in zip(methods, means, strict=True)}
    with pytest.raises(UserError, match=why):
        critical_figure(compare_datasets(gather(table(scores), "f1_macro")[0]))
