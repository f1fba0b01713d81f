"""Tables for the terminal, as wide as it is: one that does not fit becomes a record for each row."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from mlrank.errors import escaped_lines
from mlrank.tables.arrange import Grid, Shown, to_grid
from mlrank.tables.resulttable import ResultTable

if TYPE_CHECKING:
    from rich.console import Group, RenderableType

__all__ = ["Styled", "rows_to_rich", "to_rich"]

# The text of a cell and its style, as rich names it.
Styled: TypeAlias = tuple[str, str]

# Of a column's name, where it stands beside its value; of a word that is not broken in a text; between two columns.
_LONGEST_NAME, _LONGEST_WORD, _GAP = 26, 24, 2
_JUSTIFY: Mapping[str, Literal["left", "right"]] = {"l": "left", "r": "right"}


def to_rich(table: ResultTable | Grid, decimals: int = 4, *, width: int | None = None) -> "Group":
    """Return title, table and notes for the terminal, to be printed by a rich console.

    Parameters
    ----------
    decimals : digits after the point of metrics
    width : columns of the terminal, as `rows_to_rich` takes it; None for any width
    """
    from rich.console import Group
    from rich.text import Text

    grid = table if isinstance(table, Grid) else to_grid(table, decimals)
    rows = [[(cell.text, _style(cell)) for cell in row] for row in grid.rows]
    notes = [Text(f"- {escaped_lines(note)}", style="dim") for note in grid.notes]
    below = [Text(), *notes] if notes else []
    title = Text(escaped_lines(grid.title), style="bold")
    return Group(title, Text(), *rows_to_rich(grid.header, rows, grid.sides, width), *below)


def rows_to_rich(
    header: Sequence[str], rows: Sequence[Sequence[Styled]], sides: str, width: int | None
) -> "list[RenderableType]":
    """Return what a rich console prints, one below the other, to show a table.

    Parameters
    ----------
    header : the names of the columns; a line break in a name is kept in a table
    sides : l or r for each column; texts on the left are broken between words, numbers on the right before their spread
    width : columns of the terminal, in which no number and no word of a heading is broken: a table that does not fit
        with its headings broken after underscores is printed row by row, a line for each column; None for any width
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    # Escaped before widths are measured.
    header = [*map(escaped_lines, header)]
    rows = [[(escaped_lines(text), style) for text, style in row] for row in rows]
    # A spread or an interval that holds together is folded whole below its mean.
    body = [
        [
            (text.replace("± ", "±").replace(", ", ",") if side == "r" else text, style)
            for (text, style), side in zip(row, sides, strict=True)
        ]
        for row in rows
    ]
    for names in (header, [name.replace("_", "_\n") for name in header]):
        widths = _widths(names, body, sides, width)
        if widths is not None:
            break
    else:
        return list(_records(header, rows))
    shown = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
    for name, side, wide in zip(names, sides, widths, strict=True):
        shown.add_column(Text(name), justify=_JUSTIFY[side], overflow="fold", width=wide)
    for row in body:
        shown.add_row(*(Text.assemble(cell) for cell in row))  # the padding is not underlined
    return [shown]


def _widths(
    header: Sequence[str], body: Sequence[Sequence[Styled]], sides: str, most: int | None
) -> tuple[int, ...] | None:
    """Return the width of each column in at most `most` of the terminal; None if words would have to be broken.

    The words of the first column and of headings and numbers stay whole, others up to a length; names stay in a line.
    """
    from rich.cells import cell_len

    least, best = [], []
    for place, (name, side) in enumerate(zip(header, sides, strict=True)):
        cells = [row[place][0] for row in body]
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


def _records(header: Sequence[str], rows: Sequence[Sequence[Styled]]) -> "Iterator[RenderableType]":
    """Yield each row as its name and a line for each other column that is not empty, with a line between two rows."""
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    names = [" ".join(name.split()) for name in header[1:]]
    # The words of a name stay whole, and the arrow with the last of them.
    words = max((cell_len(word) for name in names for word in re.split(r"\s+(?![↑↓])", name)), default=0)
    longest = 2 + max(words, min(_LONGEST_NAME - 2, max(map(cell_len, names), default=0)))
    for place, (first, *others) in enumerate(rows):
        if place:
            yield Text()
        yield Text.assemble((first[0], first[1] or "bold"))
        lines = Table.grid(padding=(0, 2))
        lines.add_column(overflow="fold", width=longest)
        lines.add_column(overflow="fold")
        for name, cell in zip(names, others, strict=True):
            if cell[0]:
                lines.add_row(Text(f"  {name}"), Text.assemble(cell))
        if lines.row_count:
            yield lines


def _style(cell: Shown) -> str:
    return "bold" if cell.best else "underline" if cell.second else ""
