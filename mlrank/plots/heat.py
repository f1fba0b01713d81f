"""A figure of heat maps: a number for each pair of settings or labels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.plots.canvas import axes_of, frame, grid, notes_inches, plain, saved, short, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize

__all__ = ["HeatFigure", "HeatPanel", "draw_map", "render_heat"]

# Light to dark, and dark to light to dark: can be distinguished without color vision, and in print.
_RISING, _BALANCED = "cividis", "PuOr"
# Maps of more cells than this have no numbers in them, and thin their ticks.
_MOST_NUMBERS, _MOST_TICKS = 150, 40
# Of numbers on colours, whatever the ground of the figure: not those of the ground.
_LIGHT, _BLACK = "#fefefe", "#010101"
# Of a cell with a number in it, and of one without.
_CELL, _BARE_CELL = 0.36, 0.2


@dataclass(frozen=True)
class HeatPanel:
    """One map.

    Parameters
    ----------
    title, x_label, y_label : str
    x_ticks, y_ticks : tuple of str
        The names of columns and of rows, the first row on top.
    values : tuple of rows, each a tuple of float; NaN where there is none
    marked : tuple of (row, column)
        Cells with a frame.
    """

    title: str
    x_label: str
    y_label: str
    x_ticks: tuple[str, ...]
    y_ticks: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    marked: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class HeatFigure:
    """Maps with one scale of colours, two to a row.

    Parameters
    ----------
    title : str
    panels : tuple of HeatPanel
    value_label : str
        What the colours show.
    balanced : bool
        Whether the colours are centred at 0.
    notes : tuple of str
    """

    title: str
    panels: tuple[HeatPanel, ...]
    value_label: str
    balanced: bool = False
    notes: tuple[str, ...] = ()


def render_heat(figure: HeatFigure, fmt: str, *, dark: bool = False, alt: str = "") -> bytes:
    """Return a figure as a file's content.

    Parameters
    ----------
    fmt : one of FORMATS
    dark, alt : as of `saved`

    Raises
    ------
    ValueError
        For another format.
    """
    from matplotlib.cm import ScalarMappable

    rows, columns = grid(len(figure.panels))
    across, down = (max(len(names(panel)) for panel in figure.panels) for names in (_columns, _rows))
    named = max(len(short(name)) for panel in figure.panels for name in panel.y_ticks) * 0.075
    panel_width = max(3.4, (_CELL if across * down <= _MOST_NUMBERS else _BARE_CELL) * across + named + 0.9)
    panel_height = max(2.2, _BARE_CELL * down + 1.3 + named)
    width = panel_width * columns + 0.9
    scale = _scale(figure)
    with saved((width, panel_height * rows + 0.5 + notes_inches(figure.notes, width)), fmt, dark=dark, alt=alt) as (
        drawn,
        buffer,
    ):
        axes = axes_of(drawn, len(figure.panels))
        for ax, panel in zip(axes, figure.panels, strict=True):
            _draw(ax, figure, panel, scale)
        colors = ScalarMappable(scale, _BALANCED if figure.balanced else _RISING)
        drawn.colorbar(colors, ax=axes, label=wrapped(figure.value_label, panel_height - 0.6), aspect=30)
        frame(drawn, figure.title, figure.notes)
    return buffer.getvalue()


def draw_map(axes: "Sequence[Axes]", figure: HeatFigure) -> None:
    """Draw each map on its axes, with a bar of colours beside the last."""
    from matplotlib.cm import ScalarMappable

    scale = _scale(figure)
    for ax, panel in zip(axes, figure.panels, strict=True):
        _draw(ax, figure, panel, scale)
    drawn, colors = axes[-1].get_figure(root=True), ScalarMappable(scale, _BALANCED if figure.balanced else _RISING)
    if drawn is not None:
        drawn.colorbar(colors, ax=list(axes), label=plain(figure.value_label), aspect=30)


def _columns(panel: HeatPanel) -> tuple[str, ...]:
    return panel.x_ticks


def _rows(panel: HeatPanel) -> tuple[str, ...]:
    return panel.y_ticks


def _scale(figure: HeatFigure) -> "Normalize":
    from matplotlib.colors import Normalize

    found = np.concatenate([np.ravel(panel.values) for panel in figure.panels])
    found = found[np.isfinite(found)]
    low, high = (float(found.min()), float(found.max())) if found.size else (0.0, 1.0)
    if figure.balanced:
        most = max(abs(low), abs(high)) or 1.0
        return Normalize(-most, most)
    return Normalize(low, high if high > low else low + 1.0)


def _draw(ax: "Axes", figure: HeatFigure, panel: HeatPanel, scale: "Normalize") -> None:
    import matplotlib

    values = np.array(panel.values, dtype=np.float64)
    colors = matplotlib.colormaps[_BALANCED if figure.balanced else _RISING].with_extremes(bad="#e8e8e8")
    ax.imshow(np.ma.masked_invalid(values), cmap=colors, norm=scale, aspect="auto", interpolation="nearest")
    _ticks(ax, panel)
    if values.size <= _MOST_NUMBERS:
        _numbers(ax, values, scale, figure.balanced)
    for row, column in panel.marked:
        ax.plot(
            [column - 0.47, column + 0.47, column + 0.47, column - 0.47, column - 0.47],
            [row - 0.47, row - 0.47, row + 0.47, row + 0.47, row - 0.47],
            color="C1",
            linewidth=1.8,
        )
    ax.set_title(wrapped(panel.title, 3.0))
    ax.set_xlabel(plain(panel.x_label))
    ax.set_ylabel(plain(panel.y_label))


def _ticks(ax: "Axes", panel: HeatPanel) -> None:
    for names, place, turn in ((panel.x_ticks, ax.set_xticks, True), (panel.y_ticks, ax.set_yticks, False)):
        step = math.ceil(len(names) / _MOST_TICKS)
        shown = [plain(short(name)) for name in names[::step]]
        long = turn and max(map(len, shown)) * len(shown) > 40
        place(range(0, len(names), step), shown, rotation=90 if long else 0)


def _numbers(ax: "Axes", values: FloatArray, scale: "Normalize", balanced: bool) -> None:
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            strength = float(scale(value))
            dark = abs(strength - 0.5) > 0.33 if balanced else strength < 0.55
            text = f"{value:.3f}".replace("0.", ".", 1)
            ax.text(column, row, text, ha="center", va="center", color=_LIGHT if dark else _BLACK)
