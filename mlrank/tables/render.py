"""Tables as Markdown, LaTeX (booktabs), HTML, CSV and JSON."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from mlrank.errors import unknown_name
from mlrank.records import dump_json
from mlrank.tables.arrange import Grid, Shown, to_grid
from mlrank.tables.markup import html, html_page, html_table, latex, latex_table, markdown, markdown_table
from mlrank.tables.resulttable import ResultTable, TableRow

__all__ = ["FORMATS", "PRINTED", "grid_to_html", "render", "render_grids"]

# The formats of the files beside the runs; a table is printed in others too.
FORMATS = ("md", "latex", "csv")
PRINTED = (*FORMATS, "html", "json")


def render(tables: ResultTable | Sequence[ResultTable], fmt: str, decimals: int = 4) -> str:
    """Return one or more tables as text that ends in a newline.

    Parameters
    ----------
    fmt : one of PRINTED
        LaTeX needs the package booktabs alone; CSV has one header, full precision and no notes; JSON has everything.
    decimals : digits after the point of metrics, except in CSV and JSON

    Raises
    ------
    ValueError
        For another format, or tables of different metrics as CSV.
    """
    tables = [tables] if isinstance(tables, ResultTable) else list(tables)
    if fmt == "csv":
        return _csv(tables)
    if fmt == "json":
        return dump_json([{**asdict(table), "title": table.title} for table in tables])
    return render_grids([to_grid(table, decimals) for table in tables], fmt)


def render_grids(grids: Sequence[Grid], fmt: str) -> str:
    """Return grids as text that ends in a newline.

    Raises
    ------
    ValueError
        For a format other than "md", "latex" and "html".
    """
    if fmt == "html":
        return html_page(grids[0].title if grids else "", [grid_to_html(grid) for grid in grids])
    if fmt not in ("md", "latex"):
        raise ValueError(unknown_name("format of a table", fmt, PRINTED))
    return "\n".join((_markdown if fmt == "md" else _latex)(grid) for grid in grids)


def _markdown(grid: Grid) -> str:
    rows = [[_in_markdown(cell) for cell in row] for row in grid.rows]
    lines = [f"**{markdown(grid.title)}**", "", *markdown_table([*map(markdown, grid.header)], rows, grid.sides), ""]
    return "\n".join([*lines, *(f"- {markdown(note)}" for note in grid.notes)]) + "\n"


def _in_markdown(cell: Shown) -> str:
    text = markdown(cell.text)
    return f"**{text}**" if cell.best else f"<ins>{text}</ins>" if cell.second else text


def _latex(grid: Grid) -> str:
    header, notes = [*map(latex, grid.header)], [*map(latex, grid.notes)]
    formats = [_number_format(grid, place) for place in range(len(header))] if grid.siunitx else [None] * len(header)
    rows = [[_in_latex(cell, f is not None) for cell, f in zip(row, formats, strict=True)] for row in grid.rows]
    return latex_table(latex(grid.title), header, rows, grid.sides, notes, grid.label, grid.wide, formats, grid.narrow)


_NUMBER = re.compile(r"(-?\d+)(\.\d+)?(?: ± \d+\.?(\d+))?([†*‡•◦]*)")


def _number_format(grid: Grid, place: int) -> str | None:
    """Return the format of a column of numbers, as siunitx takes it; None of a column that has other texts too."""
    cells = [row[place].text for row in grid.rows]
    found = [_NUMBER.fullmatch(text) for text in cells if text != "-"]
    if grid.sides[place] != "r" or not found or not all(found):
        return None
    numbers = [one for one in found if one]
    before, after = (max(len((one[part] or "").lstrip(".")) for one in numbers) for part in (1, 2))
    # An uncertainty has as many digits as its number has behind the point, one before and the point.
    spread = f"({after + 1})" if any(one[3] for one in numbers) else ""
    marks = max((one[4] for one in numbers), key=len)
    room = f", table-space-text-post={{{latex(marks)}}}" if marks else ""
    return f"table-format={before}.{after}{spread}{room}"


def _in_latex(cell: Shown, aligned: bool = False) -> str:
    text = latex(cell.text)
    if aligned:
        number = _NUMBER.fullmatch(cell.text)
        if number is None:
            return f"{{{text}}}"
        marks = f" {{{latex(number[4])}}}" if number[4] else ""
        plain = cell.text.removesuffix(number[4]).replace("±", r"\pm")
        # A second is set in italics: lines below do not go with aligned numbers.
        return (r"\bfseries " if cell.best else r"\itshape " if cell.second else "") + plain + marks
    return rf"\textbf{{{text}}}" if cell.best else rf"\underline{{{text}}}" if cell.second else text


def grid_to_html(grid: Grid) -> str:
    """Return a grid as an HTML fragment; cells carry their number as ``data-value``, for sorting."""
    rows = [[(_in_html(cell), cell.value) for cell in row] for row in grid.rows]
    return html_table(html(grid.title), [*map(html, grid.header)], rows, grid.sides, [*map(html, grid.notes)])


def _in_html(cell: Shown) -> str:
    text = html(cell.text)
    return f"<strong>{text}</strong>" if cell.best else f"<u>{text}</u>" if cell.second else text


def _csv(tables: Sequence[ResultTable]) -> str:
    if len({table.metrics for table in tables}) > 1:
        raise ValueError("tables of different metrics have no common CSV header")
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    metrics = tables[0].metrics if tables else ()
    writer.writerow([*_FIXED, *(f"{name}_{part}" for name in metrics for part in ("mean", "std", "n"))])
    for table in tables:
        for row in table.rows:
            writer.writerow(_csv_row(table, row))
    return buffer.getvalue()


_FIXED = (
    *("experiment", "dataset", "source", "stand_in", "method", "solver", "n_splits", "n_done", "n_failed"),
    *("n_not_converged", "oracle_threshold", "transductive", "chosen_settings", "optimality", "certificate_kind"),
    *("fit_seconds", "fit_seconds_q1", "fit_seconds_q3", "predict_seconds", "peak_memory_bytes"),
)


def _csv_row(table: ResultTable, row: TableRow) -> list[Any]:
    numbers = [part for cell in row.cells for part in (cell.value, cell.std, cell.n)]
    return [
        *(row.experiment, table.dataset, table.source, str(table.stand_in).lower(), row.method, row.solver),
        *(table.n_splits, row.n_done, row.n_failed, row.n_not_converged, str(row.oracle).lower()),
        *(str(row.transductive).lower(), row.settings, row.optimality, row.certificate),
        *(row.fit.value, row.fit.low, row.fit.high, row.predict.value, row.memory.value, *numbers),
    ]
