"""Figures on axes of matplotlib that a notebook has, or new ones."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from mlrank.errors import unknown_name
from mlrank.plots.canvas import grid
from mlrank.plots.collect import KINDS, Material, figures_of_kind
from mlrank.plots.critical import CriticalFigure, draw_critical
from mlrank.plots.heat import HeatFigure, draw_map
from mlrank.plots.panels import PanelFigure, draw_panels
from mlrank.plots.words import AnyFigure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Plots", "draw_on"]


def draw_on(figure: AnyFigure, ax: "Axes | Sequence[Axes] | None" = None) -> "list[Axes]":
    """Draw the panels of a figure and return their axes.

    Parameters
    ----------
    ax : as many as the figure has panels; None for those of a new figure of pyplot

    Raises
    ------
    ValueError
        For another number of axes, for what is none, or for a figure that has no axes of its own.
    """
    from matplotlib.axes import Axes

    if not isinstance(figure, PanelFigure | HeatFigure | CriticalFigure):
        raise ValueError(f"a {type(figure).__name__} is drawn as a file alone")
    n = 1 if isinstance(figure, CriticalFigure) else len(figure.panels)
    if ax is None:
        import matplotlib.pyplot as plt

        rows, columns = grid(n)
        size = (4.2 * columns, 3.4 * rows)
        _, made = plt.subplots(rows, columns, squeeze=False, layout="constrained", figsize=size)
        axes = list(made.ravel())
        for spare in axes[n:]:
            spare.set_visible(False)
        axes = axes[:n]
    else:
        axes = list(ax) if isinstance(ax, Iterable) else [ax]
    for one in axes:
        if not isinstance(one, Axes):
            raise ValueError(f"'ax' must be an Axes of matplotlib, or a list of them, found {one!r}")
    if len(axes) != n:
        panels = "1 panel: 'ax' must be one axes" if n == 1 else f"{n} panels: 'ax' must be a list of as many axes"
        raise ValueError(f"the figure has {panels}, found {len(axes)}")
    if isinstance(figure, CriticalFigure):
        draw_critical(axes[0], figure)
    elif isinstance(figure, HeatFigure):
        draw_map(axes, figure)
    else:
        draw_panels(axes, figure)
    return axes


class Plots:
    """The figures of results: an attribute for each of KINDS, a function that draws it and returns its axes.

    Each takes ``metric`` (the first of the configuration if left out), ``dataset`` where there is a figure for each,
    and ``ax``: an Axes, or as many as the figure has panels; None for those of a new figure.

    Parameters
    ----------
    material : function from a metric and a data set, each or None, to what figures are drawn from
    """

    def __init__(self, material: Callable[[str | None, str | None], Material]) -> None:
        self._material = material

    def __getattr__(self, kind: str) -> "Callable[..., list[Axes]]":
        if kind not in KINDS:
            raise AttributeError(unknown_name("kind of figure", kind, KINDS))
        return partial(self._draw, kind)

    def __repr__(self) -> str:
        return f"<figures: {', '.join(sorted(KINDS))}>"

    def __dir__(self) -> list[str]:
        return sorted(KINDS)

    def _draw(
        self, kind: str, metric: str | None = None, *, dataset: str | None = None, ax: Any = None
    ) -> "list[Axes]":
        figures = figures_of_kind(kind, self._material(metric, dataset))
        return draw_on(next(iter(figures.values())), ax)
