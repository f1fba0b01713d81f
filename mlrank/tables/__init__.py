"""Tables of results, one per dataset: methods by metrics, with chosen settings, fit time and certificate."""

from mlrank.tables.build import Cell, Row, Table, build_tables
from mlrank.tables.files import write_tables
from mlrank.tables.render import FORMATS, render, to_rich

__all__ = ["FORMATS", "Cell", "Row", "Table", "build_tables", "render", "to_rich", "write_tables"]
