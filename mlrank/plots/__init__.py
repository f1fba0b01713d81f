"""Figures in files: described as values, drawn by matplotlib, equal bytes for equal descriptions."""

from mlrank.plots.canvas import FORMATS
from mlrank.plots.critical import CriticalFigure
from mlrank.plots.files import AnyFigure, render
from mlrank.plots.panels import Curve, Level, Panel, PanelFigure
from mlrank.plots.ranks import critical_figure
from mlrank.plots.regions import RegionFigure, RegionPanel, render_regions

__all__ = [
    "FORMATS",
    "AnyFigure",
    "CriticalFigure",
    "Curve",
    "Level",
    "Panel",
    "PanelFigure",
    "RegionFigure",
    "RegionPanel",
    "critical_figure",
    "render",
    "render_regions",
]
