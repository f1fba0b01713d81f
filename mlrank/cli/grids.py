"""Printing grids of numbers."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Group

    from mlrank.tables import Grid

__all__ = ["print_as_wide", "print_grids"]

_FILE_WIDTH = 120


def print_grids(grids: Sequence["Grid"], format: str) -> None:
    """Print grids in a format of `mlrank.tables.render_grids`, or as "rich" tables with a blank line between them."""
    from mlrank.tables import render_grids, to_rich

    if format != "rich":
        typer.echo(render_grids(grids, format), nl=False)
        return
    for place, grid in enumerate(grids):
        if place:
            typer.echo()
        print_as_wide(to_rich(grid))


def print_as_wide(shown: "Group") -> None:
    """Print a table as wide as the terminal, or wider if it needs more."""
    from rich.console import Console

    Console(width=_width_for(shown)).print(shown)


def _width_for(shown: "Group") -> int:
    """Return the width of the terminal, or of the table if it needs more: rich would cut its columns off.

    In a file or pipe that names no width there is room for lines that would break a setting in a terminal.
    """
    from rich.console import Console
    from rich.segment import Segment

    console = Console()
    width = console.width if console.is_terminal or "COLUMNS" in os.environ else max(console.width, _FILE_WIDTH)
    while True:
        lines = Segment.split_lines(console.render(shown, console.options.update(width=width)))
        needed = max(map(Segment.get_line_length, lines), default=0)
        if needed <= width:
            return width
        width += 1
