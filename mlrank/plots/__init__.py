"""Figures in files: described as values, drawn by matplotlib, equal bytes for equal descriptions."""

from mlrank.plots.panels import FORMATS, Curve, Level, Panel, PanelFigure, render
from mlrank.plots.regions import RegionFigure, RegionPanel, render_regions

__all__ = [
    "FORMATS",
    "Curve",
    "Level",
    "Panel",
    "PanelFigure",
    "RegionFigure",
    "RegionPanel",
    "render",
    "render_regions",
]
