"""Tables as Markdown, LaTeX (booktabs), CSV and for the terminal."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mlrank.errors import unknown_name
from mlrank.metrics import METRICS
from mlrank.tables.build import Cell, Row, Table
from mlrank.tables.markup import latex, latex_table, markdown, markdown_table

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["FORMATS", "render", "to_rich"]

FORMATS = ("md", "latex", "csv")
NONE = "-"


class Shown(NamedTuple):
    """The text of one cell and whether it is the best of its column."""

    text: str
    best: bool = False


def render(tables: Table | Sequence[Table], fmt: str, decimals: int = 4) -> str:
    """Return one or more tables as text that ends in a newline.

    Parameters
    ----------
    fmt : "md", "latex" (needs the package booktabs alone) or "csv" (one header, full precision, no notes)
    decimals : digits after the point of metrics, except in CSV

    Raises
    ------
    ValueError
        For another format, or tables of different metrics as CSV.
    """
    tables = [tables] if isinstance(tables, Table) else list(tables)
    if fmt not in FORMATS:
        raise ValueError(unknown_name("format of a table", fmt, FORMATS))
    if fmt == "csv":
        return _csv(tables)
    one = _markdown if fmt == "md" else _latex
    return "\n".join(one(table, decimals) for table in tables)


def to_rich(table: Table, decimals: int = 4) -> "Group":
    """Return title, table and notes for the terminal, to be printed by a rich console."""
    from rich import box
    from rich.console import Group
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    # A spread that holds together is folded whole below its mean.
    body = [[cell._replace(text=cell.text.replace("± ", "±")) for cell in row] for row in _body(table, decimals)]
    for place, (name, side) in enumerate(zip(_header(table), _sides(table), strict=True)):
        # Folded, never cut, and numbers never inside: on a narrow terminal every digit stays readable.
        header, justify = Text(name.replace("_", "_\n", 1).replace("certif", "certi-\nf")), _JUSTIFY[side]
        words = [word for row in body for word in row[place].text.split()]
        width = max(map(len, words), default=1) if side == "r" else None
        shown.add_column(header, justify=justify, overflow="fold", no_wrap=name == "method", min_width=width)
    for row in body:
        shown.add_row(*(Text(cell.text, style="bold" if cell.best else "") for cell in row))
    notes = [Text(f"- {note}", style="dim") for note in table.notes]
    return Group(Text(table.title, style="bold"), Text(), shown, Text(), *notes)


_JUSTIFY: Mapping[str, Literal["left", "right"]] = {"l": "left", "r": "right"}


def _header(table: Table) -> list[str]:
    arrows = (f"{name} {'↑' if METRICS[name].higher_is_better else '↓'}" for name in table.metrics)
    return ["method", *arrows, "chosen settings", "fit", "certificate"]


def _sides(table: Table) -> str:
    return "l" + "r" * len(table.metrics) + "lrr"


def _body(table: Table, decimals: int) -> list[list[Shown]]:
    return [_shown_row(row, decimals) for row in table.rows]


def _shown_row(row: Row, decimals: int) -> list[Shown]:
    marks = "†" * bool(row.n_not_converged) + "*" * row.oracle + "‡" * row.transductive
    seconds = NONE if row.fit_seconds is None else _seconds(row.fit_seconds)
    optimality = NONE if row.optimality is None else _scientific(row.optimality)
    cells = [Shown(_number(cell, row, decimals), cell.best) for cell in row.cells]
    return [Shown(row.method + marks), *cells, Shown(row.settings or NONE), Shown(seconds), Shown(optimality)]


def _number(cell: Cell, row: Row, decimals: int) -> str:
    if cell.mean is None:
        return "failed" if row.n_failed and not row.n_done else NONE
    spread = "" if cell.std is None else f" ± {cell.std:.{decimals}f}"
    return f"{cell.mean:.{decimals}f}{spread}"


def _seconds(value: float) -> str:
    return f"{value:.0f} s" if value >= 100 else f"{value:.2g} s"


def _scientific(value: float) -> str:
    """Return 0.00081 as 8.1e-4."""
    if value == 0:
        return "0"
    digits, exponent = f"{value:.1e}".split("e")
    return f"{digits}e{int(exponent)}"


def _markdown(table: Table, decimals: int) -> str:
    rows = [
        [f"**{markdown(cell.text)}**" if cell.best else markdown(cell.text) for cell in row]
        for row in _body(table, decimals)
    ]
    header = [markdown(name) for name in _header(table)]
    lines = [f"**{markdown(table.title)}**", "", *markdown_table(header, rows, _sides(table)), ""]
    return "\n".join([*lines, *(f"- {markdown(note)}" for note in table.notes)]) + "\n"


def _latex(table: Table, decimals: int) -> str:
    rows = [
        [rf"\textbf{{{latex(cell.text)}}}" if cell.best else latex(cell.text) for cell in row]
        for row in _body(table, decimals)
    ]
    header = [latex(name) for name in _header(table)]
    notes = [latex(note) for note in table.notes]
    return latex_table(latex(table.title), header, rows, _sides(table), notes)


def _csv(tables: Sequence[Table]) -> str:
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
    *("n_not_converged", "oracle_threshold", "chosen_settings", "fit_seconds", "optimality"),
)


def _csv_row(table: Table, row: Row) -> list[Any]:
    numbers = [part for cell in row.cells for part in (cell.mean, cell.std, cell.n)]
    return [
        *(table.experiment, table.dataset, table.source, str(table.stand_in).lower(), row.method, row.solver),
        *(table.n_splits, row.n_done, row.n_failed, row.n_not_converged, str(row.oracle).lower(), row.settings),
        *(row.fit_seconds, row.optimality, *numbers),
    ]
