"""A figure of panels with curves, as papers show results against a size or a setting."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mlrank.plots.canvas import COLORS, DASHES, MARKERS, frame, notes_inches, plain, saved

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["COLORS", "MARKERS", "Curve", "Level", "Panel", "PanelFigure", "plain", "render_panels", "saved"]

_PANEL_INCHES = (4.2, 3.2)


@dataclass(frozen=True)
class Curve:
    """One curve.

    Parameters
    ----------
    label : str
    x, y : tuple of float, equally long
    spread : tuple of float, optional
        Half the height of an error bar at each point.
    kind : {"line", "points", "fit"}
        A line through marked points; points alone; or a thin line without points in the colour of the curve before,
        which is what was fitted to it.
    """

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    spread: tuple[float, ...] | None = None
    kind: str = "line"


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
    """One pair of axes; `x_label` and `y_label` take the place of the figure's."""

    title: str
    curves: tuple[Curve, ...]
    levels: tuple[Level, ...] = ()
    x_label: str | None = None
    y_label: str | None = None
    log_x: bool | None = None


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


def render_panels(figure: PanelFigure, fmt: str) -> bytes:
    """Return a figure as a file's content.

    Parameters
    ----------
    fmt : one of FORMATS

    Raises
    ------
    ValueError
        For another format.
    """
    columns = min(2, len(figure.panels))
    rows = -(-len(figure.panels) // columns)
    width = _PANEL_INCHES[0] * columns
    with saved((width, _PANEL_INCHES[1] * rows + 0.6 + notes_inches(figure.notes, width)), fmt) as (drawn, buffer):
        axes = drawn.subplots(rows, columns, squeeze=False, sharey=figure.same_y).ravel()
        for place, ax in enumerate(axes):
            if place < len(figure.panels):
                _draw(ax, figure, figure.panels[place])
            else:
                ax.set_visible(False)
        frame(drawn, figure.title, figure.notes)
    return buffer.getvalue()


def _draw(ax: "Axes", figure: PanelFigure, panel: Panel) -> None:
    colors: dict[str, str] = {}
    shown: list[Any] = []
    place = -1
    for curve in panel.curves:
        place += curve.kind != "fit"
        number = place % len(COLORS)
        style: dict[str, Any] = {"color": COLORS[number], "marker": MARKERS[number], "linestyle": DASHES[number]}
        colors[curve.label] = style["color"]
        shown += _curve(ax, curve, style)
    for level in panel.levels:
        color, label = colors.get(level.of, "#555555"), plain(level.label)
        if level.x is None:
            shown.append(ax.axhline(level.y, label=label, color=color, linewidth=0.8, linestyle=(0, (1, 2))))
        else:
            shown += ax.plot([level.x], [level.y], "*", label=label, color=color, markersize=11, markeredgecolor="k")
    ax.set_title(plain(panel.title), fontsize=9)
    ax.set_xlabel(plain(panel.x_label or figure.x_label))
    ax.set_ylabel(plain(panel.y_label or figure.y_label))
    ax.tick_params(labelleft=True)
    ax.grid(visible=True, alpha=0.25)
    if figure.log_y:
        ax.set_yscale("log")
    if figure.log_x if panel.log_x is None else panel.log_x:
        ax.set_xscale("log")
    if figure.ticks is not None:
        ax.set_xticks([position for position, _ in figure.ticks], [text for _, text in figure.ticks], rotation=45)
    if shown:
        ax.legend(handles=shown, fontsize=7)


def _curve(ax: "Axes", curve: Curve, style: dict[str, Any]) -> list[Any]:
    """Draw one curve and return what the legend is to show of it."""
    if curve.kind == "fit":
        ax.plot(curve.x, curve.y, color=style["color"], linewidth=0.8, linestyle=style["linestyle"], alpha=0.8)
        return []
    if curve.kind == "points":
        style["linestyle"] = "none"
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
