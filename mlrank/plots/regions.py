"""A figure of decision regions: which class scores best at each point of the plane, beside the training points."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlrank.arrays import FloatArray, IntArray
from mlrank.plots.canvas import COLORS, DARK_COLORS, MARKERS, frame, ink, notes_inches, plain, saved

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RegionFigure", "RegionPanel", "render_regions"]

_PANEL_INCHES = 3.4
_PALE = 0.4


@dataclass(frozen=True)
class RegionPanel:
    """One pair of axes.

    Parameters
    ----------
    title : str
    winners : (n_y, n_x) int64 ndarray or None
        Number of the class at each point of the grid, -1 for none; None for the points alone.
    """

    title: str
    winners: IntArray | None = None


@dataclass(frozen=True)
class RegionFigure:
    """A figure of panels side by side, with the same points in each.

    Parameters
    ----------
    title : str
    panels : tuple of RegionPanel
    points : (n, 2) ndarray
    classes : (n,) int64 ndarray, the class number of each point
    names : tuple of str, the name of each class
    x, y : (n_x,) and (n_y,) ndarray, where the columns and rows of the grid lie, evenly spaced
    notes : tuple of str
        Lines below the panels.
    """

    title: str
    panels: tuple[RegionPanel, ...]
    points: FloatArray
    classes: IntArray
    names: tuple[str, ...]
    x: FloatArray
    y: FloatArray
    notes: tuple[str, ...] = ()


def render_regions(figure: RegionFigure, fmt: str, *, dark: bool = False, alt: str = "") -> bytes:
    """Return a figure as a file's content.

    Parameters
    ----------
    fmt : one of FORMATS
    dark, alt : as of `saved`

    Raises
    ------
    ValueError
        For another format, or more classes than there are colours.
    """
    if len(figure.names) > len(COLORS):
        raise ValueError(f"regions of at most {len(COLORS)} classes can be distinguished, found {len(figure.names)}")
    width = _PANEL_INCHES * len(figure.panels)
    height = _PANEL_INCHES + 0.5 + notes_inches(figure.notes, width)
    with saved((width, height), fmt, dark=dark, alt=alt) as (drawn, buffer):
        axes = drawn.subplots(1, len(figure.panels), squeeze=False, sharey=True).ravel()
        for ax, panel in zip(axes, figure.panels, strict=True):
            _draw(ax, figure, panel, DARK_COLORS if dark else COLORS)
        handles, labels = axes[0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside right upper")
        frame(drawn, figure.title, figure.notes)
    return buffer.getvalue()


def _draw(ax: "Axes", figure: RegionFigure, panel: RegionPanel, colors: Sequence[str]) -> None:
    from matplotlib.colors import ListedColormap, to_rgb

    if panel.winners is not None:
        # The ground shines through, whatever its colour is.
        pale = [(*to_rgb(color), _PALE) for color in colors]
        ax.imshow(
            panel.winners,
            origin="lower",
            extent=(*_ends(figure.x), *_ends(figure.y)),
            cmap=ListedColormap([(1.0, 1.0, 1.0, 0.0), *pale]),
            vmin=-1.5,
            vmax=len(COLORS) - 0.5,
            interpolation="nearest",
        )
    for number, name in enumerate(figure.names):
        here = figure.points[figure.classes == number]
        ax.scatter(
            here[:, 0],
            here[:, 1],
            s=14,
            label=plain(name),
            color=colors[number],
            marker=MARKERS[number],
            edgecolors=ink(),
            linewidths=0.3,
        )
    ax.set_title(plain(panel.title))
    ax.set_aspect("equal")
    ax.set_xlim(figure.x[0], figure.x[-1])
    ax.set_ylim(figure.y[0], figure.y[-1])


def _ends(line: FloatArray) -> tuple[float, float]:
    """Return the ends of a line of squares, half a step outside: each point lies in the middle of its own."""
    half = (line[-1] - line[0]) / (len(line) - 1) / 2
    return float(line[0] - half), float(line[-1] + half)
