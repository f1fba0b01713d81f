"""Tables as grids of texts: which of dataset, method and metric a grid is for, and which are its rows and columns."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from mlrank.errors import UserError
from mlrank.metrics import METRICS, MetricValue
from mlrank.records.run import RunRecord
from mlrank.tables.build import build_tables
from mlrank.tables.columns import RUNTIMES, arrow
from mlrank.tables.marks import mark
from mlrank.tables.notes import CERTIFICATE, notes_of
from mlrank.tables.resulttable import ResultTable, TableCell, TableRow

__all__ = [
    "NONE",
    "Grid",
    "GridLayout",
    "Shown",
    "arrange",
    "common_marks",
    "grid_of_metrics",
    "marks_of",
    "merged_notes",
    "to_grid",
    "without_certificate",
]

NONE = "-"
SIDES = ("dataset", "method", "metric")


class Shown(NamedTuple):
    """The text of one cell, whether it is the best or second of its contest, and the number behind it."""

    text: str
    best: bool = False
    second: bool = False
    value: float | None = None


@dataclass(frozen=True)
class Grid:
    """A table as it is printed.

    Parameters
    ----------
    title : str
    header : tuple of str
    sides : str
        l or r per column.
    rows : tuple of tuple of Shown
    notes : tuple of str
    label : str or None
        The name by which a paper refers to it.
    wide : bool
        Whether it spans both columns of a page.
    narrow : bool
        Whether it fits one of two columns of a page.
    siunitx : bool
        Whether LaTeX aligns numbers at their points, by the package siunitx.
    """

    title: str
    header: tuple[str, ...]
    sides: str
    rows: tuple[tuple[Shown, ...], ...]
    notes: tuple[str, ...]
    label: str | None = None
    wide: bool = False
    siunitx: bool = False
    narrow: bool = False


class GridLayout(NamedTuple):
    """One grid for each dataset, method or metric, and which of the other two are its rows and its columns."""

    by: str = "dataset"
    rows: str = "method"
    cols: str = "metric"

    @classmethod
    def of(cls, by: str | None = None, rows: str | None = None, cols: str | None = None) -> "GridLayout":
        """Return the usual layout with what is given.

        Raises
        ------
        UserError
            If two are given the same.

        >>> GridLayout.of(by="method"), GridLayout.of(cols="dataset")
        (GridLayout(by='method', rows='dataset', cols='metric'), GridLayout(by='metric', rows='method', cols='dataset'))
        """
        for usual in _USUAL:
            if all(side in (None, place) for side, place in zip((by, rows, cols), usual, strict=True)):
                return usual
        given = {"by": by, "rows": rows, "cols": cols}
        options = ", ".join(f"--{name} {value}" for name, value in given.items() if value)
        raise UserError(f"what tables are by, their rows and their columns must be different, found {options}")


_USUAL = (
    GridLayout("dataset", "method", "metric"),
    GridLayout("method", "dataset", "metric"),
    GridLayout("metric", "method", "dataset"),
    GridLayout("metric", "dataset", "method"),
    GridLayout("dataset", "metric", "method"),
    GridLayout("method", "metric", "dataset"),
)


class _Digits(NamedTuple):
    """How many digits metrics have, and what shows each cost of a grid in one unit."""

    decimals: int
    costs: Mapping[str, Callable[[float], str]]

    @classmethod
    def of(cls, tables: Sequence[ResultTable], decimals: int) -> "_Digits":
        values: dict[str, list[float]] = {"fit_seconds": []}
        for table in tables:
            for row in table.rows:
                shown = dict(zip(table.metrics, row.cells, strict=True))
                for name, cell in ({"fit_seconds": row.fit} | shown).items():
                    if name in RUNTIMES:
                        found = (cell.value, cell.low, cell.high)
                        values.setdefault(name, []).extend(value for value in found if value is not None)
        return cls(decimals, {name: RUNTIMES[name].alike(found) for name, found in values.items()})

    def show(self, column: str, value: float) -> str:
        """Return a metric, or a cost with its unit."""
        return self.costs[column](value) if column in RUNTIMES else f"{value:.{self.decimals}f}"

    def marked(self, table: ResultTable) -> ResultTable:
        """Return a table in which equal texts have equal marks, though there may be more digits behind them."""
        return replace(table, rows=tuple(mark(table.rows, table.metrics, self.show)))


def arrange(
    records: Sequence[RunRecord],
    columns: Sequence[str],
    layout: GridLayout,
    decimals: int = 4,
) -> list[Grid]:
    """Return the grids of run records in a layout; see `build_tables` for what is best.

    Raises
    ------
    UserError
        For a name that is no metric.
    """
    tables = build_tables(records, columns)
    if layout.by == "dataset":
        return [to_grid(table, decimals, turned=layout.rows == "metric") for table in tables]
    if layout.by == "metric":
        parts = [(name, build_tables(records, [name])) for name in columns]
        return [_over_datasets(name, part, layout, decimals, [t.notes for t in part]) for name, part in parts]
    labels = dict.fromkeys(row.label for table in tables for row in table.rows)
    return [_of_method(label, tables, records, layout, decimals) for label in labels]


def _of_method(
    label: str,
    tables: Sequence[ResultTable],
    records: Sequence[RunRecord],
    layout: GridLayout,
    decimals: int,
) -> Grid:
    """Return the grid of one method, with the notes on it alone."""
    kept, noted = [], []
    for table in tables:
        for row in table.rows:
            if row.label == label and (row.n_done or row.n_failed):
                about = (row.experiment, row.method, table.dataset)
                mine = [r for r in records if (r.experiment, r.method, r.dataset.name) == about]
                kept.append(table)
                noted.append(notes_of({label: mine}, table.metrics))
    return _over_datasets(label, kept, layout, decimals, noted)


def to_grid(table: ResultTable, decimals: int = 4, turned: bool = False) -> Grid:
    """Return the grid of one dataset: methods by metrics with settings, time and certificate, or the two turned."""
    how = _Digits.of([table], decimals)
    table = how.marked(table)
    if turned:
        names = [row.label + marks_of(row) for row in table.rows]
        body = [
            (Shown(arrow(name)), *(_shown(row, place, name, how) for row in table.rows))
            for place, name in enumerate(table.metrics)
        ]
        notes = without_certificate(table.notes)
        return Grid(table.title, ("metric", *names), "l" + "r" * len(names), tuple(body), notes)
    header, sides = _header("method", table.metrics)
    rows = [
        (Shown(row.label + marks_of(row)), *_cells(row, table.metrics, how), *_extras(row, table.metrics, how))
        for row in table.rows
    ]
    return Grid(table.title, header, sides, tuple(rows), table.notes)


def _header(corner: str, columns: Sequence[str]) -> tuple[tuple[str, ...], str]:
    fit = () if "fit_seconds" in columns else ("fit",)
    header = (corner, *map(arrow, columns), "chosen settings", *fit, "certificate")
    return header, "l" + "r" * len(columns) + "l" + "r" * len(fit) + "r"


def _cells(row: TableRow, columns: Sequence[str], how: _Digits) -> Iterator[Shown]:
    return (_shown(row, place, name, how) for place, name in enumerate(columns))


def _extras(row: TableRow, columns: Sequence[str], how: _Digits) -> Iterator[Shown]:
    yield Shown(row.settings or NONE)
    if "fit_seconds" not in columns:
        value = row.fit.value
        yield Shown(NONE if value is None else how.costs["fit_seconds"](value), value=value)
    optimality = row.optimality
    text = NONE if optimality is None else f"{_scientific(optimality)} {row.certificate or ''}".rstrip()
    yield Shown(text, value=optimality)


def marks_of(row: TableRow) -> str:
    """Return the marks of a row: fits that did not converge, an oracle threshold, test rows seen by the fit."""
    return "†" * bool(row.n_not_converged) + "*" * row.oracle + "‡" * row.transductive


def _shown(row: TableRow, place: int, column: str, how: _Digits) -> Shown:
    cell = row.cells[place]
    if cell.value is None:
        return Shown("failed" if row.n_failed and not row.n_done else NONE)
    text = _cost(cell, how.costs[column]) if column in RUNTIMES else how.show(column, cell.value) + _spread(cell, how)
    return Shown(text, cell.best, cell.second, cell.value)


def _spread(cell: TableCell, how: _Digits) -> str:
    return "" if cell.std is None else f" ± {cell.std:.{how.decimals}f}"


def _cost(cell: TableCell, show: Callable[[float], str]) -> str:
    values = [show(value) for value in (cell.value, cell.low, cell.high) if value is not None]
    if len(values) == 1:
        return values[0]
    low, high = values[1], values[2]
    unit = high.rpartition(" ")[2]
    return f"{values[0]} [{low.removesuffix(f' {unit}')}, {high.removesuffix(f' {unit}')}]"


def _scientific(value: float) -> str:
    """Return 0.00081 as 8.1e-4."""
    if value == 0:
        return "0"
    digits, exponent = f"{value:.1e}".split("e")
    return f"{digits}e{int(exponent)}"


def _over_datasets(
    what: str,
    tables: Sequence[ResultTable],
    layout: GridLayout,
    decimals: int,
    noted: Sequence[Sequence[str]],
) -> Grid:
    """Return the grid of one method or metric over several datasets; `what` is its name."""
    how = _Digits.of(tables, decimals)
    datasets = dict(zip(_dataset_labels(tables), map(how.marked, tables), strict=True))
    found = {(name, row.label): row for name, table in datasets.items() for row in table.rows}
    metrics = tables[0].metrics if tables else ()
    methods = [what] if layout.by == "method" else list(dict.fromkeys(label for _, label in found))
    names = {"dataset": list(datasets), "method": methods, "metric": list(metrics)}
    marks = {} if layout.by == "method" else common_marks(found)
    rows = []
    for name in names[layout.rows]:
        cells = []
        for other in names[layout.cols]:
            at = {"method": what, "metric": metrics[0], layout.rows: name, layout.cols: other}
            row = found.get((at["dataset"], at["method"]))
            cells.append(_marked(row, metrics.index(at["metric"]), at["metric"], marks, how))
        beside = _extras(found[name, what], metrics, how) if layout.cols == "metric" else ()
        rows.append((Shown(_called(layout.rows, name, marks)), *cells, *beside))
    header, sides = _header(layout.rows, metrics)
    if layout.cols != "metric":
        header = (layout.rows, *(_called(layout.cols, name, marks) for name in names[layout.cols]))
        sides = "l" + "r" * len(names[layout.cols])
        noted = [without_certificate(notes) for notes in noted]
    experiments = " + ".join(dict.fromkeys(row.experiment for row in found.values()))
    title = arrow(what) if layout.by == "metric" else what
    notes = (*(f"data: {table.about}" for table in tables), *merged_notes(list(datasets), noted))
    return Grid(f"{experiments}: {title}", header, sides, tuple(rows), notes)


def _dataset_labels(tables: Sequence[ResultTable]) -> list[str]:
    names = [table.dataset for table in tables]
    return [
        table.dataset if names.count(table.dataset) == 1 else f"{table.dataset} ({table.experiment})"
        for table in tables
    ]


def common_marks(rows: Mapping[tuple[str, str], TableRow]) -> dict[str, str]:
    """Return of each method the marks that it has on every dataset: they go to its name, others to single cells."""
    by_method: dict[str, list[str]] = {}
    for (_, label), row in rows.items():
        if row.n_done or row.n_failed:
            by_method.setdefault(label, []).append(marks_of(row))
    return {
        label: "".join(mark for mark in found[0] if all(mark in other for other in found))
        for label, found in by_method.items()
    }


def _marked(row: TableRow | None, place: int, column: str, common: Mapping[str, str], how: _Digits) -> Shown:
    if row is None:
        return Shown(NONE)
    shown = _shown(row, place, column, how)
    own = "".join(mark for mark in marks_of(row) if mark not in common.get(row.label, ""))
    return shown._replace(text=shown.text + own)


def _called(side: str, name: str, marks: Mapping[str, str]) -> str:
    """Return what a row or column of a grid is called."""
    return arrow(name) if side == "metric" else name + marks.get(name, "") if side == "method" else name


def without_certificate(notes: Sequence[str]) -> tuple[str, ...]:
    """Return the notes of a grid that has no column of certificates."""
    return tuple(note for note in notes if note != CERTIFICATE)


def merged_notes(names: Sequence[str], noted: Sequence[Sequence[str]]) -> list[str]:
    """Return the notes of several tables: those of all once, others with the datasets they are about."""
    about: dict[str, list[str]] = {}
    for name, notes in zip(names, noted, strict=True):
        for note in notes:
            about.setdefault(note, []).append(name)
    return [note if len(found) == len(names) else f"{', '.join(found)}: {note}" for note, found in about.items()]


def grid_of_metrics(metrics: Mapping[str, MetricValue], title: str = "", notes: Sequence[str] = ()) -> Grid:
    """Return a row for each metric: its value, and over how many terms of how many it is the mean."""
    rows = []
    for name, measured in metrics.items():
        value = None if measured.value != measured.value else measured.value
        over = "all cells" if measured.unit == "all" else f"{measured.n_defined} of {measured.n_total} {measured.unit}"
        if value is None and name in METRICS and METRICS[name].needs == "probabilities":
            over = "none, as scores are no probabilities"
        rows.append((Shown(arrow(name)), Shown(NONE if value is None else f"{value:.4f}", value=value), Shown(over)))
    return Grid(title, ("metric", "value", "over"), "lrl", tuple(rows), tuple(notes))
