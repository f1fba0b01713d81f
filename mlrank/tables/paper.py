"""Tables for papers: some rows and columns of a grid, names for readers, mean ranks, a caption and a label."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mlrank.errors import UserError, unknown_name
from mlrank.metrics import METRICS
from mlrank.tables.arrange import NONE, Grid, Shown
from mlrank.tables.columns import RUNTIMES

__all__ = ["PaperOptions", "bare", "for_paper"]

# The columns beside those of metrics, by their names as options.
BESIDE = {"settings": "chosen settings", "fit": "fit", "certificate": "certificate"}


@dataclass(frozen=True)
class PaperOptions:
    """What a table for a paper shows.

    Parameters
    ----------
    columns : names of metrics and of BESIDE, in order; None for all
    methods : names of rows, or of columns where methods are columns, in order; None for all
    titles : what to call methods, metrics and data sets
    ranks : whether a last row has the mean ranks of the columns' methods, or a last column those of the rows
    notes : whether the notes are kept
    caption, label : of LaTeX tables, None for the title and for none
    wide : whether LaTeX tables span two columns of a page
    narrow : whether LaTeX tables fit one of two columns of a page, or a slide
    siunitx : whether LaTeX tables align numbers at their points, by the package siunitx
    """

    columns: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    titles: Mapping[str, str] = field(default_factory=dict)
    ranks: bool = False
    notes: bool = True
    caption: str | None = None
    label: str | None = None
    wide: bool = False
    siunitx: bool = False
    narrow: bool = False

    def __post_init__(self) -> None:
        for what, names in (("columns", self.columns), ("methods", self.methods)):
            if isinstance(names, str):
                raise UserError(f"{what} must be a list of names, found {names!r}; one name is [{names!r}]")


def for_paper(grid: Grid, options: PaperOptions) -> Grid:
    """Return a grid as the options ask for.

    Raises
    ------
    UserError
        If a column or method is named that the grid does not have.
    """
    if options.methods is not None:
        grid = _with_methods(grid, options.methods)
    if options.columns is not None:
        grid = _with_columns(grid, options.columns)
    if options.ranks:
        grid = _with_ranks(grid)
    notes = grid.notes if options.notes else ()
    titles = options.titles
    header = tuple(_titled(name, titles) for name in grid.header)
    rows = tuple((row[0]._replace(text=_titled(row[0].text, titles)), *row[1:]) for row in grid.rows)
    title = grid.title if options.caption is None else options.caption
    if options.wide and options.narrow:
        raise UserError("a table is 'wide', over both columns of a page, or 'narrow', in one of them")
    label, wide, siunitx, narrow = options.label, options.wide, options.siunitx, options.narrow
    return Grid(title, header, grid.sides, rows, notes, label, wide, siunitx, narrow)


def bare(name: str) -> str:
    """Return a name without the arrow or the marks behind it."""
    return name.rstrip("†*‡•◦").removesuffix(" ↑").removesuffix(" ↓")


def _titled(name: str, titles: Mapping[str, str]) -> str:
    plain = bare(name)
    return titles[plain] + name.removeprefix(plain) if plain in titles else name


def _with_methods(grid: Grid, methods: Sequence[str]) -> Grid:
    rows = {bare(row[0].text): row for row in grid.rows}
    columns = {bare(name): place for place, name in enumerate(grid.header[1:], start=1)}
    if all(method in rows for method in methods):
        return replace(grid, rows=tuple(rows[method] for method in methods))
    if all(method in columns for method in methods):
        return _columns_at(grid, [0, *(columns[method] for method in methods)])
    known = rows if any(method in rows for method in methods) or not set(methods) & set(columns) else columns
    missing = next(method for method in methods if method not in known)
    raise UserError(unknown_name("method of the table", missing, known))


def _with_columns(grid: Grid, columns: Sequence[str]) -> Grid:
    places = {bare(name): place for place, name in enumerate(grid.header[1:], start=1)}
    found = [0]
    for column in columns:
        name = BESIDE.get(column, column)
        if name not in places:
            raise UserError(unknown_name("column of the table", column, [*places, *BESIDE]))
        found.append(places[name])
    return _columns_at(grid, found)


def _columns_at(grid: Grid, places: Sequence[int]) -> Grid:
    rows = tuple(tuple(row[place] for place in places) for row in grid.rows)
    header = tuple(grid.header[place] for place in places)
    return replace(grid, header=header, sides="".join(grid.sides[place] for place in places), rows=rows)


def _with_ranks(grid: Grid) -> Grid:
    """Add the mean ranks of methods: over the metrics of a row, or over the data sets or metrics of the columns."""
    signs = [_sign(name, grid.title) for name in grid.header[1:]]
    measured = [place for place, sign in enumerate(signs, start=1) if sign]
    if grid.header[0] == "method":
        ranks = _mean_ranks(
            [[row[place].value for row in grid.rows] for place in measured], [signs[p - 1] for p in measured]
        )
        cells = _ranked(ranks)
        rows = tuple((*row, cell) for row, cell in zip(grid.rows, cells, strict=True))
        return replace(grid, header=(*grid.header, "mean rank"), sides=grid.sides + "r", rows=rows)
    by_row = [[cell.value for cell in row[1:]] for row in grid.rows]
    row_signs = [_sign(row[0].text, grid.title) or _sign(grid.title, grid.title) for row in grid.rows]
    used = [place for place, sign in enumerate(row_signs) if sign]
    ranks = _mean_ranks([by_row[place] for place in used], [row_signs[place] for place in used])
    return replace(grid, rows=(*grid.rows, (Shown("mean rank"), *_ranked(ranks))))


def _sign(name: str, title: str) -> float:
    """Return 1 where larger values of a column are better, -1 where smaller ones are, 0 for a column of no metric."""
    plain = bare(name)
    if plain in METRICS:
        return METRICS[plain].sign
    if plain in RUNTIMES:
        return -1.0
    # The columns of a table of one metric are data sets.
    metric = bare(title.rpartition(": ")[2])
    return METRICS[metric].sign if metric in METRICS and plain not in BESIDE.values() else 0.0


def _mean_ranks(columns: Sequence[Sequence[float | None]], signs: Sequence[float]) -> list[float | None]:
    """Return the mean rank of each method, 1 for the best and the mean of ranks for ties; None without all values."""
    from scipy.stats import rankdata

    table = np.array([[np.nan if value is None else value for value in column] for column in columns], np.float64)
    if not table.size:
        raise UserError("mean ranks need a metric in the table")
    whole = ~np.isnan(table).any(axis=1)
    if not whole.any():
        return [None] * table.shape[1]
    signed = -np.array(signs)[whole, None] * table[whole]
    return [float(rank) for rank in rankdata(signed, axis=1).mean(axis=0)]


def _ranked(ranks: Sequence[float | None]) -> list[Shown]:
    known = sorted({rank for rank in ranks if rank is not None})
    return [
        Shown(NONE)
        if rank is None
        else Shown(f"{rank:.2f}", rank == known[0], len(known) > 1 and rank == known[1], rank)
        for rank in ranks
    ]
