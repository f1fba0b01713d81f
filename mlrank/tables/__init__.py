"""Tables of results: methods by metrics for each dataset, or any other way round, with settings, time, certificate."""

from mlrank.tables.arrange import Grid, GridLayout, Shown, arrange, grid_of_metrics, to_grid
from mlrank.tables.build import build_tables, show_value
from mlrank.tables.columns import RUNTIMES
from mlrank.tables.compared import grid_of_datasets, grid_of_labels, grid_of_splits
from mlrank.tables.files import FinishedExperiment, write_tables
from mlrank.tables.overview import overview_of_datasets, overview_of_splits
from mlrank.tables.provenance import software_facts
from mlrank.tables.render import FORMATS, PRINTED, grid_to_html, render, render_grids
from mlrank.tables.resulttable import ResultTable, TableCell, TableRow
from mlrank.tables.terminal import Styled, rows_to_rich, to_rich
from mlrank.tables.tidy import TIDY_COLUMNS, TIDY_FORMATS, tidy_bytes, tidy_format, tidy_frame

__all__ = [
    "FORMATS",
    "PRINTED",
    "RUNTIMES",
    "TIDY_COLUMNS",
    "TIDY_FORMATS",
    "FinishedExperiment",
    "Grid",
    "GridLayout",
    "ResultTable",
    "Shown",
    "Styled",
    "TableCell",
    "TableRow",
    "arrange",
    "build_tables",
    "grid_of_datasets",
    "grid_of_labels",
    "grid_of_metrics",
    "grid_of_splits",
    "grid_to_html",
    "overview_of_datasets",
    "overview_of_splits",
    "render",
    "render_grids",
    "rows_to_rich",
    "show_value",
    "software_facts",
    "tidy_bytes",
    "tidy_format",
    "tidy_frame",
    "to_grid",
    "to_rich",
    "write_tables",
]
