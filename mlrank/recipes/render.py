"""Comparisons as Markdown, LaTeX, CSV and for the terminal."""

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mlrank.errors import unknown_name
from mlrank.recipes.compare import SECONDS, ComparedCell, Comparison
from mlrank.tables import FORMATS, Grid, Shown, render_grids, rows_to_rich

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["comparison_grid", "comparison_to_rich", "render_comparison"]

DECIMALS = 4
SECONDS_DECIMALS = 2
# On a terminal, where a number takes four columns.
METRICS_ABREAST = 1
PARTS = ("paper", "ours", "difference", "verdict")
COLUMNS = ("paper", "ours", "difference", "paper_spread", "ours_spread", "verdict", "reason")


def render_comparison(comparison: Comparison, fmt: str) -> str:
    """Return a comparison as text that ends in a newline.

    Parameters
    ----------
    fmt : "md", "latex" (needs the package booktabs alone) or "csv" (one line per number, full precision, no claims)

    Raises
    ------
    ValueError
        For another format.
    """
    if fmt not in FORMATS:
        raise ValueError(unknown_name("format of a comparison", fmt, FORMATS))
    return _csv(comparison) if fmt == "csv" else render_grids([comparison_grid(comparison)], fmt)


def comparison_grid(comparison: Comparison) -> Grid:
    """Return one row per method: per metric the paper's number, ours, the difference, the verdict; claims below."""
    header, *rows = _grid(comparison)
    claims = [line for claim in comparison.claims for line in (claim.line, *claim.details)]
    notes = (*claims, *_reasons(comparison), *comparison.notes)
    body = tuple(tuple(map(Shown, row)) for row in rows)
    return Grid(comparison.title, tuple(header), "l" + "r" * (len(header) - 1), body, notes)


def comparison_to_rich(comparison: Comparison, width: int | None = None) -> "Group":
    """Return a comparison for the terminal, to be printed by a rich console; claims come right below the table.

    Parameters
    ----------
    width : columns of the terminal, as `mlrank.tables.rows_to_rich` takes it
    """
    from rich.console import Group
    from rich.text import Text

    # Numbers must not be broken over lines, so what is wide becomes long: one line per number.
    wide = len({cell.metric for cell in comparison.cells}) > METRICS_ABREAST
    header, *rows = _lines(comparison) if wide else _grid(comparison)
    names = [name.replace(" ", "\n") for name in header]
    cells = [[(text, "") for text in row] for row in rows]
    shown = rows_to_rich(names, cells, "l" + "r" * (len(header) - 1), width)
    claims = []
    for claim in comparison.claims:
        claims.append(Text(claim.line, style="bold"))
        claims += [Text(f"  {detail}") for detail in claim.details]
    notes = [Text(f"- {note}", style="dim") for note in (*_reasons(comparison), *comparison.notes)]
    return Group(Text(comparison.title, style="bold"), Text(), *shown, Text(), *claims, *notes)


def _reasons(comparison: Comparison) -> Iterator[str]:
    """Yield why each verdict was given; cells with one reason share a line."""
    about: dict[tuple[str, str], list[str]] = {}
    for cell in comparison.cells:
        about.setdefault((cell.verdict, cell.reason), []).append(f"{cell.method} {cell.metric}")
    for (verdict, reason), names in about.items():
        yield f"{verdict}: {', '.join(names)}: {reason}"


def _grid(comparison: Comparison) -> list[list[str]]:
    """Return the header and one row per method: per metric the paper's number, ours, the difference, the verdict."""
    metrics = list(dict.fromkeys(cell.metric for cell in comparison.cells))
    methods = list(dict.fromkeys(cell.method for cell in comparison.cells))
    cells = {(cell.method, cell.metric): cell for cell in comparison.cells}
    header = ["method", *(f"{metric} {part}" for metric in metrics for part in PARTS)]
    return [
        header,
        *(
            [method, *(text for metric in metrics for text in _texts(cells.get((method, metric))))]
            for method in methods
        ),
    ]


def _lines(comparison: Comparison) -> list[list[str]]:
    """Return the header and one row per number, below a line that names their metric."""
    rows = [["method", *PARTS]]
    for metric in dict.fromkeys(cell.metric for cell in comparison.cells):
        rows.append([metric, *[""] * len(PARTS)])
        rows += [[f"  {cell.method}", *_texts(cell)] for cell in comparison.cells if cell.metric == metric]
    return rows


def _texts(cell: ComparedCell | None) -> tuple[str, str, str, str]:
    if cell is None:
        return "-", "-", "-", "-"
    decimals = SECONDS_DECIMALS if cell.metric == SECONDS else DECIMALS
    ours = _number(cell.ours, cell.ours_spread, decimals)
    difference = "-" if cell.difference is None else f"{cell.difference:+.{DECIMALS}f}"
    return _number(cell.paper, cell.paper_spread, decimals), ours, difference, cell.verdict


def _number(value: float | None, spread: float | None, decimals: int) -> str:
    if value is None:
        return "-"
    return f"{value:.{decimals}f}" + ("" if spread is None else f" ± {spread:.{decimals}f}")


def _csv(comparison: Comparison) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["recipe", "dataset", "grade", "method", "metric", *COLUMNS])
    for cell in comparison.cells:
        names = (comparison.recipe, comparison.dataset, comparison.grade, cell.method, cell.metric)
        writer.writerow([*names, *(getattr(cell, column) for column in COLUMNS)])
    return buffer.getvalue()
