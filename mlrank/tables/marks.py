"""Which rows of a table are best, and which second, in each column."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from mlrank.metrics import METRICS
from mlrank.tables.columns import RUNTIMES, higher_is_better
from mlrank.tables.resulttable import TableRow

__all__ = ["compete", "mark"]

TIE = 1e-12


def compete(rows: Sequence[TableRow], columns: Sequence[str], n_splits: int, one_machine: bool) -> list[TableRow]:
    """Return the rows with the cells that can be best or second; none of a column where fewer than two can."""
    can = [
        [row.cells[place].n == n_splits and _competes(row, column, one_machine) for row in rows]
        for place, column in enumerate(columns)
    ]
    return [
        replace(
            row,
            cells=tuple(
                replace(cell, competes=sum(can[place]) > 1 and can[place][at]) for place, cell in enumerate(row.cells)
            ),
        )
        for at, row in enumerate(rows)
    ]


def mark(
    rows: Sequence[TableRow], columns: Sequence[str], show: Callable[[str, float], str] | None = None
) -> list[TableRow]:
    """Return the rows with the best and the second cell of each column marked, among those that compete.

    Parameters
    ----------
    show : from the column and a value to its text: values of the same text are equal; None for values as they are
    """
    marks = [_marks(rows, place, column, show) for place, column in enumerate(columns)]
    return [
        replace(
            row,
            cells=tuple(
                replace(cell, best=at in marks[place][0], second=at in marks[place][1])
                for place, cell in enumerate(row.cells)
            ),
        )
        for at, row in enumerate(rows)
    ]


def _marks(
    rows: Sequence[TableRow], place: int, column: str, show: Callable[[str, float], str] | None
) -> tuple[list[int], list[int]]:
    """Return the positions of the best rows and of the second."""
    sign = 1.0 if higher_is_better(column) else -1.0
    cells = enumerate(row.cells[place] for row in rows)
    values = {at: cell.value for at, cell in cells if cell.competes and cell.value is not None}

    def first_of(among: dict[int, float]) -> list[int]:
        top = max(among.values(), key=lambda value: sign * value, default=0.0)
        text = show and show(column, top)
        return [at for at, value in among.items() if abs(value - top) <= TIE or (show and show(column, value) == text)]

    best = first_of(values)
    others = {at: value for at, value in values.items() if at not in best}
    second = first_of(others)
    return best, second if len(best) == 1 and len(second) < len(others) else []


def _competes(row: TableRow, column: str, one_machine: bool) -> bool:
    if column in RUNTIMES:
        return one_machine and not row.n_not_converged
    return not (row.oracle and METRICS[column].needs == "sets")
