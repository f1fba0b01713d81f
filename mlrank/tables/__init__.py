"""Tables of results: methods by metrics for each dataset, or any other way round, with settings, time, certificate."""

from mlrank.tables.arrange import Grid, Layout, Shown, arrange, grid_of_metrics, to_grid
from mlrank.tables.build import build_tables, show_value
from mlrank.tables.columns import RUNTIMES
from mlrank.tables.compared import grid_of_datasets, grid_of_labels, grid_of_splits
from mlrank.tables.files import environments_of, write_tables
from mlrank.tables.overview import overview_of_datasets, overview_of_splits
from mlrank.tables.parts import Cell, Row, Table
from mlrank.tables.render import FORMATS, PRINTED, grid_to_html, render, render_grids, to_rich

__all__ = [
    "FORMATS",
    "PRINTED",
    "RUNTIMES",
    "Cell",
    "Grid",
    "Layout",
    "Row",
    "Shown",
    "Table",
    "arrange",
    "build_tables",
    "environments_of",
    "grid_of_datasets",
    "grid_of_labels",
    "grid_of_metrics",
    "grid_of_splits",
    "grid_to_html",
    "overview_of_datasets",
    "overview_of_splits",
    "render",
    "render_grids",
    "show_value",
    "to_grid",
    "to_rich",
    "write_tables",
]
