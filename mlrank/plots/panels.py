"""A figure of panels with curves, as papers show results against a size or a setting."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mlrank.errors import unknown_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLORS", "FORMATS", "MARKERS", "Curve", "Level", "Panel", "PanelFigure", "plain", "render", "saved"]

FORMATS = ("svg", "pdf", "png")
# Distinct in colour, marker and dash, so that curves can be told apart in print and without colour vision.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = ("o", "s", "^", "D", "v", "P")
_DASHES = ("-", "--", "-.", ":", "-", "--")
_PANEL_INCHES = (4.2, 3.2)
_SETTINGS: Any = {"svg.hashsalt": "mlrank", "svg.fonttype": "none", "pdf.fonttype": 42, "font.size": 9}
# No date and no random identifiers, so that the same figure is the same file.
_METADATA: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}


@dataclass(frozen=True)
class Curve:
    """One curve.

    Parameters
    ----------
    label : str
    x, y : tuple of float, equally long
    spread : tuple of float, optional
        Half the height of an error bar at each point.
    """

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    spread: tuple[float, ...] | None = None


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
    """One pair of axes."""

    title: str
    curves: tuple[Curve, ...]
    levels: tuple[Level, ...] = ()


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
    log_y : bool
    """

    title: str
    panels: tuple[Panel, ...]
    x_label: str
    y_label: str
    notes: tuple[str, ...] = ()
    ticks: tuple[tuple[float, str], ...] | None = None
    log_y: bool = False


def render(figure: PanelFigure, fmt: str) -> bytes:
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
    size = (_PANEL_INCHES[0] * columns, _PANEL_INCHES[1] * rows + 0.6 + 0.2 * len(figure.notes))
    with saved(size, fmt) as (drawn, buffer):
        axes = drawn.subplots(rows, columns, squeeze=False, sharey=True).ravel()
        for place, ax in enumerate(axes):
            if place < len(figure.panels):
                _draw(ax, figure, figure.panels[place])
            else:
                ax.set_visible(False)
        drawn.suptitle(plain(figure.title), fontsize=10)
        if figure.notes:
            drawn.supxlabel(plain("\n".join(figure.notes)), fontsize=7, x=0.02, ha="left")
    return buffer.getvalue()


@contextmanager
def saved(size: tuple[float, float], fmt: str) -> Iterator[tuple["Figure", io.BytesIO]]:
    """Give an empty figure to draw on, of so many inches, and where its file's content will be.

    Raises
    ------
    ValueError
        If `fmt` is not one of FORMATS.
    """
    if fmt not in FORMATS:
        raise ValueError(unknown_name("format of a figure", fmt, FORMATS))
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_SETTINGS):
        drawn, buffer = Figure(figsize=size, layout="constrained"), io.BytesIO()
        FigureCanvasAgg(drawn)
        yield drawn, buffer
        drawn.savefig(buffer, format=fmt, dpi=150, metadata=_METADATA[fmt])


def _draw(ax: "Axes", figure: PanelFigure, panel: Panel) -> None:
    colors: dict[str, str] = {}
    shown: list[Any] = []
    for place, curve in enumerate(panel.curves):
        number = place % len(COLORS)
        style: dict[str, Any] = {"color": COLORS[number], "marker": MARKERS[number], "linestyle": _DASHES[number]}
        colors[curve.label] = style["color"]
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
        shown.append(drawn)
    for level in panel.levels:
        color, label = colors.get(level.of, "#555555"), plain(level.label)
        if level.x is None:
            shown.append(ax.axhline(level.y, label=label, color=color, linewidth=0.8, linestyle=(0, (1, 2))))
        else:
            shown += ax.plot([level.x], [level.y], "*", label=label, color=color, markersize=11, markeredgecolor="k")
    ax.set_title(plain(panel.title), fontsize=9)
    ax.set_xlabel(plain(figure.x_label))
    ax.set_ylabel(plain(figure.y_label))
    ax.tick_params(labelleft=True)
    ax.grid(visible=True, alpha=0.25)
    if figure.log_y:
        ax.set_yscale("log")
    if figure.ticks is not None:
        ax.set_xticks([position for position, _ in figure.ticks], [text for _, text in figure.ticks], rotation=45)
    ax.legend(handles=shown, fontsize=7)


def plain(text: str) -> str:
    """Return text in which a dollar does not begin a formula."""
    return text.replace("$", r"\$")
