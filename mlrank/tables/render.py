"""Tables as Markdown, LaTeX (booktabs), HTML, CSV, JSON and for the terminal."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Literal

from mlrank.errors import escaped_lines, unknown_name
from mlrank.records import dump_json
from mlrank.tables.arrange import Grid, Shown, to_grid
from mlrank.tables.markup import html, html_page, html_table, latex, latex_table, markdown, markdown_table
from mlrank.tables.resulttable import ResultTable, TableRow

if TYPE_CHECKING:
    from rich.console import Group, RenderableType

__all__ = ["FORMATS", "PRINTED", "grid_to_html", "render", "render_grids", "to_rich"]

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


def to_rich(table: ResultTable | Grid, decimals: int = 4, *, width: int | None = None) -> "Group":
    """Return title, table and notes for the terminal, to be printed by a rich console.

    Parameters
    ----------
    decimals : digits after the point of metrics
    width : columns of the terminal, in which no number and no word of a heading is broken: a table that does not fit
        with its headings broken after underscores is printed row by row, a line for each column; None for any width
    """
    from rich import box
    from rich.console import Group, RenderableType
    from rich.table import Table as RichTable
    from rich.text import Text

    grid = table if isinstance(table, Grid) else to_grid(table, decimals)
    # Escaped before widths are measured.
    grid = replace(
        grid,
        title=escaped_lines(grid.title),
        header=tuple(map(escaped_lines, grid.header)),
        rows=tuple(tuple(cell._replace(text=escaped_lines(cell.text)) for cell in row) for row in grid.rows),
        notes=tuple(map(escaped_lines, grid.notes)),
    )
    # A spread or an interval that holds together is folded whole below its mean.
    body = [
        [
            cell._replace(text=cell.text.replace("± ", "±").replace(", ", ",")) if side == "r" else cell
            for cell, side in zip(row, grid.sides, strict=True)
        ]
        for row in grid.rows
    ]
    headers = [grid.header, tuple(name.replace("_", "_\n") for name in grid.header)]
    fitting = ((header, widths) for header in headers if (widths := _widths(header, body, grid.sides, width)))
    header, widths = next(fitting, (grid.header, None))
    middle: list[RenderableType] = []
    if widths is None:
        middle += _records(grid)
    else:
        shown = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
        for name, side, wide in zip(header, grid.sides, widths, strict=True):
            shown.add_column(Text(name), justify=_JUSTIFY[side], overflow="fold", width=wide)
        for row in body:
            shown.add_row(*(Text.assemble((cell.text, _style(cell))) for cell in row))  # the padding is not underlined
        middle.append(shown)
    notes = [Text(f"- {note}", style="dim") for note in grid.notes]
    return Group(Text(grid.title, style="bold"), Text(), *middle, Text(), *notes)


def _widths(
    header: Sequence[str], body: Sequence[Sequence[Shown]], sides: str, most: int | None
) -> tuple[int, ...] | None:
    """Return the width of each column in at most `most` of the terminal; None if words would have to be broken.

    The words of the first column and of headings and numbers stay whole, others up to a length; names stay in a line.
    """
    from rich.cells import cell_len

    least, best = [], []
    for place, (name, side) in enumerate(zip(header, sides, strict=True)):
        cells = [row[place].text for row in body]
        longest = max(map(cell_len, cells), default=0)
        # A number stays with its unit, and only its spread or interval goes below it.
        between = r" (?=[±\[])" if side == "r" else r"\s+"
        words = max((cell_len(word) for text in cells for word in re.split(between, text)), default=0)
        inside = longest if place == 0 else words if side == "r" else min(words, _LONGEST_WORD)
        least.append(max(1, inside, *map(cell_len, re.split(r"\s+(?![↑↓])", name))))
        best.append(max(1, longest, *map(cell_len, name.splitlines())))
    # One is left over: early versions of rich count it for themselves.
    room = sum(best) if most is None else most - _GAP * (len(header) - 1) - 1
    if sum(least) > room:
        return None
    # What is left over goes where the most is missing.
    while sum(least) < min(room, sum(best)):
        place = max(range(len(least)), key=lambda at: best[at] - least[at])
        least[place] += 1
    return tuple(least)


def _records(grid: Grid) -> "Iterator[RenderableType]":
    """Yield each row as its name and a line for each other column, with a line between two rows."""
    from rich.cells import cell_len
    from rich.table import Table as RichTable
    from rich.text import Text

    for place, row in enumerate(grid.rows):
        if place:
            yield Text()
        yield Text.assemble((row[0].text, _style(row[0]) or "bold"))
        lines = RichTable.grid(padding=(0, 2))
        longest = min(_LONGEST_NAME, 2 + max(map(cell_len, grid.header[1:]), default=0))
        lines.add_column(overflow="fold", width=longest)
        lines.add_column(overflow="fold")
        for name, cell in zip(grid.header[1:], row[1:], strict=True):
            lines.add_row(Text(f"  {name}"), Text.assemble((cell.text, _style(cell))))
        yield lines


# Of a column's name, where it stands beside its value; of a word that is not broken in a text; between two columns.
_LONGEST_NAME, _LONGEST_WORD, _GAP = 26, 24, 2
_JUSTIFY: Mapping[str, Literal["left", "right"]] = {"l": "left", "r": "right"}


def _style(cell: Shown) -> str:
    return "bold" if cell.best else "underline" if cell.second else ""


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
