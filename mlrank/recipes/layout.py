"""Runs in the layout of the paper's own table: its rows, columns, names and digits."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from mlrank.config import RecipeConfig
from mlrank.errors import UserError
from mlrank.recipes.papertable import PaperLayout
from mlrank.recipes.recipe import GRADES, USER, Recipe, load_recipe, recipes
from mlrank.recipes.recipe_parts import grade_on
from mlrank.records import RunRecord
from mlrank.tables import Grid, ResultTable, Shown, TableCell, TableRow, build_tables
from mlrank.tables.arrange import NONE, common_marks, marks_of, merged_notes, without_certificate

__all__ = ["paper_grids", "recipe_grids"]

SECONDS = "fit_seconds"


class _Part(NamedTuple):
    """What one experiment puts into a table of a paper."""

    paper: str
    table: str
    layout: PaperLayout
    spread: bool
    found: ResultTable
    grade: str
    notes: tuple[str, ...]

    @property
    def dataset(self) -> str:
        """What the data are called: as in the paper, with a word if they are not its."""
        return f"{self.layout.dataset} ({self.grade})" if self.grade in ("related", "stand-in") else self.layout.dataset

    @property
    def timed(self) -> bool:
        """Whether it is of run times."""
        return self.found.metrics == (SECONDS,)


def paper_grids(records: Sequence[RunRecord], origins: Mapping[str, RecipeConfig | None]) -> list[Grid]:
    """Return the tables of papers that runs of recipes belong to; those of several recipes may share one.

    Parameters
    ----------
    origins : per experiment, the recipe that it comes from

    Raises
    ------
    UserError
        If an experiment is of no recipe, its paper prints no table of it, or two are of the same recipe.
    """
    taken: dict[tuple[str, bool], str] = {}
    parts = []
    for experiment in dict.fromkeys(record.experiment for record in records):
        name, timed = _recipe_of(experiment, origins.get(experiment))
        if (name, timed) in taken:
            raise UserError(f"'{taken[name, timed]}' and '{experiment}' are runs of the same table: give one of them")
        taken[name, timed] = experiment
        mine = [record for record in records if record.experiment == experiment]
        parts.append(_part(load_recipe(name), timed, mine))
    return _grids(parts)


def recipe_grids(recipe: Recipe, timed: bool, records: Sequence[RunRecord]) -> list[Grid]:
    """Return the paper's table from the runs of one recipe; none if the paper prints no table of them."""
    if _printed(recipe, timed) is None or not records:
        return []
    return _grids([_part(recipe, timed, records)])


def _recipe_of(experiment: str, origin: RecipeConfig | None) -> tuple[str, bool]:
    """Return the recipe that an experiment is of, and whether it is of run times."""
    known = recipes()
    if origin is not None and origin.name in known and origin.part in ("table", "times"):
        return origin.name, origin.part == "times"
    raise UserError(
        f"--layout paper is of runs of 'mlrank reproduce', '{experiment}' is of none of its recipes: {', '.join(known)}"
    )


def _printed(recipe: Recipe, timed: bool) -> tuple[PaperLayout, list[str]] | None:
    """Return the layout of the recipe's table, or of its run times, and what it shows; None if it shows nothing."""
    own = recipe.layout
    if own is None:
        return None
    layout = own.times if timed and own.times else own
    metrics = [metric for metric in layout.metrics if (metric == SECONDS) == timed]
    return (layout, metrics) if metrics else None


def _part(recipe: Recipe, timed: bool, records: Sequence[RunRecord]) -> _Part:
    table = recipe.times.table if timed and recipe.times else recipe.table
    printed = _printed(recipe, timed)
    if printed is None:
        raise UserError(f"{table} of the recipe '{recipe.name}' is no table of scores: it has no paper's layout")
    layout, metrics = printed
    spreads = recipe.times.spread if timed and recipe.times else recipe.spread
    shown = [record for record in records if record.method in layout.methods]
    found = build_tables(shown, metrics)
    if len(found) != 1:
        names = ", ".join(table.dataset for table in found) or "none"
        raise UserError(f"runs of '{recipe.name}' with the paper's methods must be of one data set, found {names}")
    grade, notes = _data(recipe, found[0])
    if extra := list(dict.fromkeys(r.method for r in records if r not in shown)):
        notes.append(f"run but not in the paper's table: {', '.join(extra)}")
    return _Part(recipe.paper, table.partition(",")[0], layout, bool(spreads), found[0], grade, tuple(notes))


def _data(recipe: Recipe, found: ResultTable) -> tuple[str, list[str]]:
    """Return the grade of the data, and how they differ from the paper's."""
    by_name = {option.dataset: option for option in recipe.data}
    option = by_name.get(found.dataset, by_name.get(USER))
    grade = grade_on(option, found.stand_in) if option else "stand-in"
    return grade, [f"{GRADES[grade]}: {option.note}"] if option else []


def _grids(parts: Sequence[_Part]) -> list[Grid]:
    groups: dict[tuple[str, str], list[_Part]] = {}
    for part in parts:
        groups.setdefault((part.paper, part.table), []).append(part)
    return [_grid(paper, table, group) for (paper, table), group in groups.items()]


def _graded(parts: Sequence[_Part]) -> str:
    """Return how the data of all parts compare with the paper's."""
    return ", ".join(dict.fromkeys(GRADES[part.grade] for part in parts))


Place = tuple[str, ...]


def _grid(paper: str, table: str, parts: Sequence[_Part]) -> Grid:
    order = list(dict.fromkeys(part.dataset for part in parts))
    parts = sorted(parts, key=lambda part: (order.index(part.dataset), part.timed))
    first = parts[0].layout
    rows_of = {(str(number), row.method): row for number, part in enumerate(parts) for row in part.found.rows}
    marks = common_marks(rows_of)
    cells: dict[tuple[Place, Place], Shown] = {}
    for part in parts:
        for at, shown in _cells(part, marks):
            cells[_place(at, first.rows), _place(at, first.cols)] = shown
    rows, cols = list(dict.fromkeys(r for r, _ in cells)), list(dict.fromkeys(c for _, c in cells))
    header = (first.corner, *[""] * (len(first.rows) - 1), *(", ".join(col) for col in cols))
    body = [
        (*map(Shown, names), *(cells.get((row, col), Shown(NONE)) for col in cols))
        for row, names in zip(rows, _once(rows), strict=True)
    ]
    sides = "l" * len(first.rows) + "r" * len(cols)
    title = f"Ours on {_graded(parts)}, laid out as {table} of {paper}: {first.caption}"
    return Grid(title, header, sides, tuple(body), tuple(_notes(parts)))


def _cells(part: _Part, marks: Mapping[str, str]) -> Iterator[tuple[dict[str, str], Shown]]:
    """Yield where a cell belongs, and what stands there."""
    rows = {row.method: row for row in part.found.rows}
    for place, metric in enumerate(part.found.metrics):
        for method, called in part.layout.methods.items():
            row = rows.get(method)
            mark = marks.get(method, "")
            at = {"dataset": part.dataset, "method": called + mark, "metric": part.layout.metrics[metric]}
            yield at, _shown(part, row, place, metric, mark)


def _shown(part: _Part, row: TableRow | None, place: int, metric: str, common: str) -> Shown:
    if row is None or row.cells[place].value is None:
        return Shown("failed" if row and row.n_failed and not row.n_done else NONE)
    cell = row.cells[place]
    own = "".join(mark for mark in marks_of(row) if mark not in common)
    return Shown(_number(part, cell, metric) + own, cell.best, cell.second, cell.value)


def _number(part: _Part, cell: TableCell, metric: str) -> str:
    if metric == SECONDS:
        return f"{cell.value:.2f}"
    factor, decimals = part.layout.factor, part.layout.decimals
    spread = f" ± {factor * cell.std:.{decimals}f}" if part.spread and cell.std is not None else ""
    return f"{factor * (cell.value or 0.0):.{decimals}f}{spread}"


def _place(at: Mapping[str, str], sides: Sequence[str]) -> Place:
    return tuple(at[side] for side in sides)


def _once(rows: Sequence[Place]) -> Iterator[Place]:
    """Yield the names of rows, the first of several once for all that follow, as papers do."""
    before = ""
    for first, *others in rows:
        yield (first if first != before or not others else "", *others)
        before = first


def _notes(parts: Sequence[_Part]) -> Iterator[str]:
    tables = {f"{part.dataset}{', run times' * (part.timed)}": part.found for part in parts}
    yield from dict.fromkeys(f"data: {table.about}" for table in tables.values())
    noted = [(*part.notes, *without_certificate(part.found.notes)) for part in parts]
    yield from merged_notes(list(tables), noted)
