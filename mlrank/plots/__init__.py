"""Figures in files: described as values, drawn by matplotlib, equal bytes for equal descriptions."""

from mlrank.plots.panels import FORMATS, Curve, Level, Panel, PanelFigure, render

__all__ = ["FORMATS", "Curve", "Level", "Panel", "PanelFigure", "render"]
