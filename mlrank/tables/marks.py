"""Which rows of a table are best, and which second, in each column."""

from collections.abc import Sequence
from dataclasses import replace

from mlrank.metrics import METRICS
from mlrank.tables.columns import RUNTIMES, higher_is_better
from mlrank.tables.resulttable import TableRow

__all__ = ["mark"]

TIE = 1e-12


def mark(rows: Sequence[TableRow], columns: Sequence[str], n_splits: int, one_machine: bool) -> list[TableRow]:
    """Return the rows with the best and the second cell of each column marked."""
    marks = [_marks(rows, place, column, n_splits, one_machine) for place, column in enumerate(columns)]
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
    rows: Sequence[TableRow], place: int, column: str, n_splits: int, one_machine: bool
) -> tuple[list[int], list[int]]:
    """Return the positions of the best rows and of the second; none where fewer than two rows compete."""
    sign = 1.0 if higher_is_better(column) else -1.0
    values: dict[int, float] = {}
    for at, row in enumerate(rows):
        value = row.cells[place].value
        if value is not None and row.cells[place].n == n_splits and _competes(row, column, one_machine):
            values[at] = sign * value
    best = [at for at, value in values.items() if value >= max(values.values()) - TIE] if len(values) > 1 else []
    others = {at: value for at, value in values.items() if at not in best}
    second = [at for at, value in others.items() if value >= max(others.values()) - TIE]
    return best, second if len(best) == 1 and len(second) < len(others) else []


def _competes(row: TableRow, column: str, one_machine: bool) -> bool:
    if column in RUNTIMES:
        return one_machine and not row.n_not_converged
    return not (row.oracle and METRICS[column].needs == "sets")
