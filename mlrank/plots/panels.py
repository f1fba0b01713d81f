"""A figure of panels with curves, as papers show results against a size or a setting."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mlrank.plots.canvas import (
    COLORS,
    DASHES,
    MARKERS,
    axes_of,
    frame,
    grid,
    ink,
    notes_inches,
    plain,
    saved,
    short,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Curve", "Level", "Panel", "PanelFigure", "draw_panels", "render_panels"]

_PANEL_INCHES = (4.2, 3.2)
# Of a line of a legend, and the characters that fit into one: each curve needs some for its line and gap.
_LEGEND_INCHES, _LEGEND_CHARACTERS, _HANDLE_CHARACTERS = 0.17, 56, 7


@dataclass(frozen=True)
class Curve:
    """One curve.

    Parameters
    ----------
    label : str
    x, y : tuple of float, equally long
    spread : tuple of float, optional
        Half the height of an error bar at each point.
    kind : {"line", "plain", "points", "fit"}
        A line through marked points; a line without points; points alone; or a thin line without points in the colour
        of the curve before, which is what was fitted to it.
    names : tuple of str, optional
        What is written to the lower left of each point.
    """

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    spread: tuple[float, ...] | None = None
    kind: str = "line"
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Level:
    """A single value to compare with: a point at `x`, or a level line across the panel where `x` is None.

    It takes the colour of the curve labelled `of`, where there is one.
    """

    label: str
    y: float
    x: float | None = None
    of: str = ""


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Parameters
    ----------
    title : str
    curves : tuple of Curve
    levels : tuple of Level
    x_label, y_label, log_x, log_y, ticks : optional
        Take the place of the figure's.
    stars : tuple of (x, y)
        Points to mark.
    legend : bool
        Whether the curves are named.
    """

    title: str
    curves: tuple[Curve, ...]
    levels: tuple[Level, ...] = ()
    x_label: str | None = None
    y_label: str | None = None
    log_x: bool | None = None
    log_y: bool | None = None
    ticks: tuple[tuple[float, str], ...] | None = None
    stars: tuple[tuple[float, float], ...] = ()
    legend: bool = True


@dataclass(frozen=True)
class PanelFigure:
    """A figure, panels two to a row.

    Parameters
    ----------
    title : str
    panels : tuple of Panel
    x_label, y_label : str
    notes : tuple of str
        Lines below the panels.
    ticks : tuple of (position, text), optional
        Of the x axis; chosen by themselves otherwise.
    log_y, log_x : bool
    same_y : bool
        Whether all panels have the same scale.
    one_legend : bool
        Whether the curves are named once, above all panels: they must be the same in each.
    """

    title: str
    panels: tuple[Panel, ...]
    x_label: str
    y_label: str
    notes: tuple[str, ...] = ()
    ticks: tuple[tuple[float, str], ...] | None = None
    log_y: bool = False
    log_x: bool = False
    same_y: bool = True
    one_legend: bool = False


def render_panels(figure: PanelFigure, fmt: str, *, dark: bool = False, alt: str = "") -> bytes:
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
    rows, columns = grid(len(figure.panels))
    width = _PANEL_INCHES[0] * columns
    legend_columns = min(map(_legend_columns, figure.panels))
    panels = 0.0 if figure.one_legend else max(_legend_inches(panel, legend_columns) for panel in figure.panels)
    height = (_PANEL_INCHES[1] + panels) * rows + 0.6 + notes_inches(figure.notes, width)
    with saved((width, height), fmt, dark=dark, alt=alt) as (drawn, buffer):
        axes = axes_of(drawn, len(figure.panels), same_y=figure.same_y)
        places = _shared_places(figure.panels)
        for ax, panel in zip(axes, figure.panels, strict=True):
            _draw(ax, figure, panel, places, legend_columns)
        if figure.one_legend:
            # The title goes with it: above a legend outside the axes no room is kept for one.
            handles, labels = axes[0].get_legend_handles_labels()
            drawn.legend(
                handles,
                labels,
                title=wrapped(figure.title, width - 0.8),
                title_fontproperties={"weight": "bold"},
                loc="outside upper center",
                ncols=min(3, len(labels)),
                frameon=False,
            )
        frame(drawn, "" if figure.one_legend else figure.title, figure.notes)
    return buffer.getvalue()


def draw_panels(axes: "Sequence[Axes]", figure: PanelFigure) -> None:
    """Draw each panel on its axes, each with its own legend."""
    places, columns = _shared_places(figure.panels), min(map(_legend_columns, figure.panels))
    apart = replace(figure, one_legend=False)
    for ax, panel in zip(axes, figure.panels, strict=True):
        _draw(ax, apart, panel, places, columns)


def _shared_places(panels: tuple[Panel, ...]) -> dict[str, int]:
    """Return by label which style a curve has, where panels share curves and styles suffice; nothing elsewhere."""
    named = [{curve.label for curve in panel.curves if curve.kind != "fit"} for panel in panels]
    order = dict.fromkeys(curve.label for panel in panels for curve in panel.curves if curve.kind != "fit")
    alike = len(order) < sum(map(len, named)) and len(order) <= len(COLORS)
    return {label: place for place, label in enumerate(order)} if alike else {}


def _draw(ax: "Axes", figure: PanelFigure, panel: Panel, places: dict[str, int], legend_columns: int) -> None:
    colors: dict[str, str] = {}
    shown: list[Any] = []
    place, number = -1, 0
    for curve in panel.curves:
        place += curve.kind != "fit"
        if curve.kind != "fit":
            number = places.get(curve.label, place % len(COLORS))
        style: dict[str, Any] = {"color": f"C{number}", "marker": MARKERS[number], "linestyle": DASHES[number]}
        colors[curve.label] = style["color"]
        shown += _curve(ax, curve, style)
    for level in panel.levels:
        color, label = colors.get(level.of, ink(soft=True)), plain(level.label)
        if level.x is None:
            shown.append(ax.axhline(level.y, label=label, color=color, linewidth=0.8, linestyle=(0, (1, 2))))
        else:
            shown += ax.plot([level.x], [level.y], "*", label=label, color=color, markersize=11, markeredgecolor=ink())
    ax.set_xlabel(wrapped(panel.x_label or figure.x_label, _PANEL_INCHES[0] - 0.9))
    ax.set_ylabel(wrapped(panel.y_label or figure.y_label, _PANEL_INCHES[1] - 1.0))
    ax.tick_params(labelleft=True)
    ax.grid(visible=True, alpha=0.25)
    if figure.log_y if panel.log_y is None else panel.log_y:
        ax.set_yscale("log")
        _log_ticks(ax.yaxis, [value for curve in panel.curves for value in curve.y])
    if figure.log_x if panel.log_x is None else panel.log_x:
        ax.set_xscale("log")
        _log_ticks(ax.xaxis, [value for curve in panel.curves for value in curve.x])
    elif all(float(value).is_integer() for curve in panel.curves for value in curve.x):
        ax.locator_params(axis="x", integer=True)  # half an iteration is none
    ticks = panel.ticks if panel.ticks is not None else figure.ticks
    if ticks is not None:
        turned: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        texts = [plain(short(text)) for _, text in ticks]
        ax.set_xticks([at for at, _ in ticks], texts, **(turned if sum(len(text) + 2 for text in texts) > 36 else {}))
    for x, y in panel.stars:
        ax.plot([x], [y], "*", color="C1", markersize=12, markeredgecolor=ink(), zorder=5)
    if shown and panel.legend and not figure.one_legend:
        _name(ax, panel, shown, legend_columns)
    else:
        ax.set_title(wrapped(panel.title, _PANEL_INCHES[0] - 0.9))


def _name(ax: "Axes", panel: Panel, shown: list[Any], columns: int) -> None:
    """Write the title and name the curves above the axes, where nothing is covered."""
    ax.legend(
        handles=shown,
        title=wrapped(panel.title, _PANEL_INCHES[0] - 0.9),
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=columns,
        frameon=False,
    )


def _labels(panel: Panel) -> list[str]:
    return [curve.label for curve in panel.curves if curve.kind != "fit"] + [level.label for level in panel.levels]


def _legend_columns(panel: Panel) -> int:
    longest = max(map(len, _labels(panel)), default=0) + _HANDLE_CHARACTERS
    return max(1, min(3, _LEGEND_CHARACTERS // longest))


def _legend_inches(panel: Panel, columns: int) -> float:
    lines = -(-len(_labels(panel)) // columns) if panel.legend else 0
    return _LEGEND_INCHES * lines


def _log_ticks(axis: Any, values: list[float]) -> None:
    """Name few places of a logarithmic axis, in plain numbers: over a short range also 2 and 5 times a power of 10."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    positive = [value for value in values if value > 0]
    decades = math.log10(max(positive) / min(positive)) if positive else 0.0
    subs = (1.0, 2.0, 5.0) if decades < 2.5 else (1.0,)
    axis.set_major_locator(LogLocator(subs=subs, numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _curve(ax: "Axes", curve: Curve, style: dict[str, Any]) -> list[Any]:
    """Draw one curve and return what the legend is to show of it."""
    if curve.kind == "fit":
        ax.plot(curve.x, curve.y, color=style["color"], linewidth=0.8, linestyle=style["linestyle"], alpha=0.8)
        return []
    if curve.kind == "plain":
        return list(
            ax.plot(curve.x, curve.y, label=plain(curve.label), color=style["color"], linestyle=style["linestyle"])
        )
    if curve.kind == "points":
        style["linestyle"] = "none"
    for x, y, name in zip(curve.x, curve.y, curve.names, strict=False):
        at: dict[str, Any] = {"textcoords": "offset points", "ha": "right", "va": "top"}
        ax.annotate(plain(name), (x, y), (-3, -2), **at, fontsize="x-small", color=ink())
        ax.margins(x=0.12)
    drawn = ax.errorbar(
        curve.x,
        curve.y,
        yerr=curve.spread,
        label=plain(curve.label),
        markersize=4,
        linewidth=1.2,
        capsize=2,
        **style,
    )
    return [drawn]
