"""Printing grids of numbers."""

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

    from mlrank.cli.folders import Stored
    from mlrank.tables import Grid, GridLayout, Styled

__all__ = ["arranged", "print_as_wide", "print_grids", "print_table", "terminal_width"]

_FILE_WIDTH = 120
_UNBOUND = 1_000_000


def arranged(
    stored: "Stored",
    columns: Sequence[str],
    layout: "GridLayout",
    decimals: int = 4,
    marks: bool = False,
    against: str | None = None,
) -> "list[Grid]":
    """Return the grids of what is stored, marked where methods differ with `marks` or a method to differ from."""
    from mlrank.tables import arrange
    from mlrank.tables.significance import with_marks

    grids = []
    for shown in [[name] for name in columns] if layout.by == "metric" else [columns]:
        records = stored.in_metrics(shown, {against})
        part = arrange(records, shown, layout, decimals)
        grids += with_marks(part, records, layout, against) if marks or against is not None else part
    return grids


def print_grids(grids: Sequence["Grid"], format: str) -> None:
    """Print grids in a format of `mlrank.tables.render_grids`, or as "rich" tables with a blank line between them.

    A table that would not fit the terminal with all its words whole is printed row by row, a line for each column.
    """
    from mlrank.tables import render_grids, to_rich

    if format != "rich":
        print(render_grids(grids, format), end="")
        return
    for place, grid in enumerate(grids):
        if place:
            print()
        print_as_wide(to_rich(grid, width=terminal_width()))


def print_table(header: Sequence[str], rows: Iterable[Sequence["str | Styled"]], sides: str) -> None:
    """Print a table without title and notes, as `print_grids` does; cells are texts, or texts and their styles."""
    from mlrank.tables import rows_to_rich

    styled = [[(cell, "") if isinstance(cell, str) else cell for cell in row] for row in rows]
    print_as_wide(*rows_to_rich(header, styled, sides, terminal_width()))


def terminal_width() -> int | None:
    """Return the number of columns of the terminal; None in a file or pipe, whose lines may have any width."""
    from mlrank.cli.terminal import new_console

    console = new_console()
    return console.width if _has_width(console) else None


def print_as_wide(*shown: "RenderableType") -> None:
    """Print tables, and what goes with them, as wide as the terminal, or wider if they need more.

    A file or pipe has room for every row of a table in one line, for the next program to read. A list of names with
    what they are (a table without headings) is never wider than the terminal: there a name has a line of its own.
    """
    from rich.table import Table

    from mlrank.cli.terminal import new_console

    console = new_console()
    parts = list(shown)
    if _has_width(console):
        parts = [
            _names_above(part)
            if isinstance(part, Table) and _is_list(part) and _width_for([part]) > console.width
            else part
            for part in shown
        ]
    console = new_console(width=_width_for(parts))
    if console.is_terminal:
        for part in parts:
            console.print(part)
        return
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    # The last column is filled up with blanks.
    text = "\n".join(line.rstrip() for line in captured.get().splitlines())
    print(text, flush=True)


def _has_width(console: "Console") -> bool:
    """Whether lines must fit: a file or pipe has no width, but for one that the environment names."""
    return console.is_terminal or "COLUMNS" in os.environ


def _is_list(table: "Table") -> bool:
    return not table.show_header and len(table.columns) == 2 and table.box is None and table.title is not None


def _names_above(table: "Table") -> "RenderableType":
    """Return a list of names with each text below its name."""
    from rich.console import Group
    from rich.padding import Padding

    names, texts = (list(column.cells) for column in table.columns)
    lines: list[RenderableType] = [table.title or ""]
    for name, text in zip(names, texts, strict=True):
        lines += [name, Padding(text, (0, 0, 0, 2))]
    return Group(*lines)


def _width_for(shown: Sequence["RenderableType"]) -> int:
    """Return the width of the terminal, or of the widest table if it needs more: rich would cut its columns off.

    In a file or pipe that names no width there is room for lines that would break a setting in a terminal.
    """
    from rich.console import Group
    from rich.measure import Measurement
    from rich.segment import Segment
    from rich.table import Table

    from mlrank.cli.terminal import new_console

    console = new_console()
    unbound = console.options.update(width=_UNBOUND)
    # A table tells what it needs, of other things only their lines do.
    single = [one for part in shown for one in (part.renderables if isinstance(part, Group) else (part,))]
    tables = [Measurement.get(console, unbound, part) for part in single if isinstance(part, Table)]
    others = [part for part in single if not isinstance(part, Table)]
    width = max(console.width, *(table.minimum for table in tables), 0)
    if not _has_width(console):
        width = max(width, _FILE_WIDTH, *(table.maximum for table in tables))
    while True:
        options = console.options.update(width=width)
        lines = [line for part in others for line in Segment.split_lines(console.render(part, options))]
        needed = max(map(Segment.get_line_length, lines), default=0)
        if needed <= width:
            return width
        width = needed  # no width between the two has room: a wider part never needs less
