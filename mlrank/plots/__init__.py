"""Figures in files: described as values, drawn by matplotlib, equal bytes for equal descriptions."""

from mlrank.plots.axes import Plots, draw_on
from mlrank.plots.canvas import FORMATS
from mlrank.plots.collect import KINDS, Material, figures_of_kind
from mlrank.plots.critical import CriticalFigure
from mlrank.plots.files import AnyFigure, render
from mlrank.plots.heat import HeatFigure, HeatPanel
from mlrank.plots.panels import Curve, Level, Panel, PanelFigure
from mlrank.plots.ranks import critical_figure
from mlrank.plots.regions import RegionFigure, RegionPanel, render_regions
from mlrank.plots.words import description

__all__ = [
    "FORMATS",
    "KINDS",
    "AnyFigure",
    "CriticalFigure",
    "Curve",
    "HeatFigure",
    "HeatPanel",
    "Level",
    "Material",
    "Panel",
    "PanelFigure",
    "Plots",
    "RegionFigure",
    "RegionPanel",
    "critical_figure",
    "description",
    "draw_on",
    "figures_of_kind",
    "render",
    "render_regions",
]
