"""The critical-difference diagram: methods by mean rank, with bars over those that do not differ significantly."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlrank.plots.canvas import frame, ink, notes_inches, plain, saved

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CriticalFigure", "draw_critical", "render_critical"]

WIDTH = 6.5
# Heights in units of a line of text, downwards from the axis.
_FIRST_NAME, _BAR_STEP = 1.6, 0.45
# Inches of a letter, that the axis has at least, and from one number on it to the next.
_LETTER, _LEAST_AXIS, _NUMBERS_APART = 0.07, 2.5, 0.25


@dataclass(frozen=True)
class CriticalFigure:
    """Mean ranks of methods over data sets (Demsar 2006).

    Parameters
    ----------
    title : str
    methods : tuple of str
    mean_ranks : tuple of float
        1 = best.
    difference : float
        The critical difference.
    groups : tuple of tuple of str
        Sets of methods that do not differ significantly.
    control : str, optional
        The method set against the others; it is marked, and so are those that differ from it.
    differ : tuple of str
        Methods that differ from the control.
    notes : tuple of str
    """

    title: str
    methods: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    difference: float
    groups: tuple[tuple[str, ...], ...]
    control: str = ""
    differ: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def render_critical(figure: CriticalFigure, fmt: str, *, dark: bool = False, alt: str = "") -> bytes:
    """Return a figure as a file's content: the best rank on the left, names by rank down one side, then up the other.

    Parameters
    ----------
    fmt : one of FORMATS
    dark, alt : as of `saved`

    Raises
    ------
    ValueError
        For another format.
    """
    half = (len(figure.methods) + 1) // 2
    lines = _FIRST_NAME + _BAR_STEP * len(figure.groups) + half + 0.4
    width = max(WIDTH, 2 * _name_inches(figure) + _LEAST_AXIS)
    height = 0.22 * (lines + 3.2) + 0.5 + notes_inches(figure.notes, width)
    with saved((width, height), fmt, dark=dark, alt=alt) as (drawn, buffer):
        _draw(drawn.subplots(), figure, lines, width)
        frame(drawn, figure.title, figure.notes)
    return buffer.getvalue()


def _name_inches(figure: CriticalFigure) -> float:
    """Return about how wide the longest name is with its rank."""
    return _LETTER * (max(len(_called(figure, method)) for method in figure.methods) + 9)


def _draw(ax: "Axes", figure: CriticalFigure, lines: float, width: float) -> None:
    k = len(figure.methods)
    half, top = (k + 1) // 2, _FIRST_NAME + _BAR_STEP * len(figure.groups)
    # Room for names beside the axis, in ranks.
    names = _name_inches(figure)
    room = names * (k - 1) / (width - 2 * names)
    ax.set_axis_off()
    ax.set_xlim(1 - room, k + room)
    ax.set_ylim(lines, -3.0)
    _axis(ax, k, figure.difference, math.ceil(_NUMBERS_APART * (k - 1) / (width - 2 * names)))
    ranks = dict(sorted(zip(figure.methods, figure.mean_ranks, strict=True), key=lambda item: item[1]))
    for line, (method, rank) in enumerate(ranks.items()):
        left = line < half
        _method(ax, figure, method, rank, top + (line if left else k - 1 - line), 0.9 if left else k + 0.1)
    for place, group in enumerate(figure.groups):
        y = 0.55 + _BAR_STEP * place
        ends = [ranks[group[0]] - 0.015 * k, ranks[group[-1]] + 0.015 * k]
        ax.plot(ends, [y, y], color=ink(), linewidth=3.2, solid_capstyle="butt")


def draw_critical(ax: "Axes", figure: CriticalFigure) -> None:
    """Draw the diagram on axes, as wide as these are, with its title above."""
    lines = _FIRST_NAME + _BAR_STEP * len(figure.groups) + (len(figure.methods) + 1) // 2 + 0.4
    _draw(ax, figure, lines, max(WIDTH, 2 * _name_inches(figure) + _LEAST_AXIS))
    ax.set_title(plain(figure.title))


def _axis(ax: "Axes", k: int, difference: float, step: int) -> None:
    """Draw the axis of ranks, every so many of them with its number, and the critical difference above it."""
    ax.plot([1, k], [0, 0], color=ink(), linewidth=0.9)
    for tick in range(2 * k - 1):
        rank, numbered = 1 + tick / 2, tick % (2 * step) == 0
        ax.plot([rank, rank], [0, -0.45 if numbered else -0.25], color=ink(), linewidth=0.9)
        if numbered:
            ax.text(rank, -0.6, f"{rank:g}", ha="center", va="bottom")
    end = 1 + difference
    ax.plot([1, end], [-2.0, -2.0], color=ink(), linewidth=0.9)
    for x in (1, end):
        ax.plot([x, x], [-2.2, -1.8], color=ink(), linewidth=0.9)
    ax.text((1 + end) / 2, -2.3, f"critical difference {difference:.2f}", ha="center", va="bottom")


def _method(ax: "Axes", figure: CriticalFigure, method: str, rank: float, y: float, x: float) -> None:
    """Draw a method: from its rank on the axis down and across to its name."""
    marked, name = method == figure.control, _called(figure, method)
    left = x < 1
    ax.plot([rank, rank, x], [0, y, y], color="C0" if marked else ink(soft=True), linewidth=1.4 if marked else 0.8)
    text = f"{name}  {rank:.2f}" if left else f"{rank:.2f}  {name}"
    weight = "bold" if marked else "normal"
    x += (-0.05 if left else 0.05) * max(1.0, len(figure.methods) / 8)
    ax.text(x, y, plain(text), ha="right" if left else "left", va="center", fontweight=weight)


def _called(figure: CriticalFigure, method: str) -> str:
    if method == figure.control:
        return f"{method} (control)"
    return f"{method} ≠" if method in figure.differ else method
