"""Figures on axes of matplotlib that a notebook has, or new ones."""

from typing import TYPE_CHECKING

from mlrank.plots.canvas import grid
from mlrank.plots.critical import CriticalFigure, draw_critical
from mlrank.plots.heat import HeatFigure, draw_map
from mlrank.plots.panels import PanelFigure, draw_panels
from mlrank.plots.words import AnyFigure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

__all__ = ["draw_on"]


def draw_on(figure: AnyFigure, ax: "Axes | Sequence[Axes] | None" = None) -> "list[Axes]":
    """Draw the panels of a figure and return their axes.

    Parameters
    ----------
    ax : as many as the figure has panels; None for those of a new figure of pyplot

    Raises
    ------
    ValueError
        For another number of axes, or a figure that has no axes of its own.
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
        axes = [ax] if isinstance(ax, Axes) else list(ax)
    if len(axes) != n:
        raise ValueError(f"the figure has {n} panels, found {len(axes)} axes")
    if isinstance(figure, CriticalFigure):
        draw_critical(axes[0], figure)
    elif isinstance(figure, HeatFigure):
        draw_map(axes, figure)
    else:
        draw_panels(axes, figure)
    return axes
