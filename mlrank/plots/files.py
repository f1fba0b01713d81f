"""Any figure as a file: equal bytes for equal descriptions."""

from mlrank.plots.critical import CriticalFigure, render_critical
from mlrank.plots.heat import HeatFigure, render_heat
from mlrank.plots.panels import PanelFigure, render_panels

__all__ = ["AnyFigure", "render"]

AnyFigure = PanelFigure | HeatFigure | CriticalFigure


def render(figure: AnyFigure, fmt: str) -> bytes:
    """Return a figure as a file's content.

    Parameters
    ----------
    fmt : one of FORMATS

    Raises
    ------
    ValueError
        For another format.
    """
    if isinstance(figure, CriticalFigure):
        return render_critical(figure, fmt)
    if isinstance(figure, HeatFigure):
        return render_heat(figure, fmt)
    return render_panels(figure, fmt)
