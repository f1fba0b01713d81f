"""Marks in tables: which methods differ from the best of their column, or from a named one, by tests of `compare`."""

from collections.abc import Sequence
from dataclasses import replace

from mlrank.errors import UserError, unknown_name
from mlrank.metrics import METRICS
from mlrank.records.run import RunRecord
from mlrank.stats import compare_splits, gather
from mlrank.tables.arrange import Grid, GridLayout
from mlrank.tables.paper import bare

__all__ = ["BETTER", "WORSE", "with_marks"]

WORSE, BETTER = "•", "◦"


def with_marks(
    grids: Sequence[Grid], records: Sequence[RunRecord], layout: GridLayout, against: str | None, alpha: float = 0.05
) -> list[Grid]:
    """Return grids of metrics in which methods are marked that differ from another over the splits of a data set.

    Parameters
    ----------
    grids : as `arrange` returns them for the layout, by data set or by metric
    records : those that they are of
    against : the method that others are set against; None: the best of each metric and data set
    alpha : level of the corrected resampled t-test, Holm over the pairs with that method

    Raises
    ------
    UserError
        If there is no such method, or the layout has a grid for each method.
    """
    if layout.by == "method":
        raise UserError("marks compare methods, and --by method gives each a table of its own")
    known = dict.fromkeys(record.method for record in records)
    if against is not None and against not in known:
        raise UserError(unknown_name("method", against, known))
    found: dict[tuple[str, str], dict[str, str]] = {}
    datasets = list(dict.fromkeys(record.dataset.name for record in records))
    # A grid by metric has it behind the experiment's name, one by data set is one of these in their order.
    own = datasets if layout.by == "dataset" else [bare(grid.title.rpartition(": ")[2]) for grid in grids]
    marked = []
    for grid, name in zip(grids, own, strict=True):
        rows = []
        for row in grid.rows:
            cells = [row[0]]
            for other, cell in zip(grid.header[1:], row[1:], strict=True):
                at = {layout.by: name, layout.rows: bare(row[0].text), layout.cols: bare(other)}
                dataset, metric, method = at["dataset"], at["metric"], at["method"]
                if metric in METRICS and cell.value is not None:
                    if (dataset, metric) not in found:
                        found[dataset, metric] = _marks(records, dataset, metric, against, alpha)
                    cell = cell._replace(text=cell.text + found[dataset, metric].get(method, ""))
                cells.append(cell)
            rows.append(tuple(cells))
        other = f"'{against}'" if against else "the best of the metric"
        test = f"over the splits at {alpha:g} (corrected resampled t-test, Holm)"
        note = f"{WORSE} worse, {BETTER} better than {other} {test}; one split is no test"
        marked.append(replace(grid, rows=tuple(rows), notes=(note, *grid.notes)))
    return marked


def _marks(
    records: Sequence[RunRecord], dataset: str, metric: str, against: str | None, alpha: float
) -> dict[str, str]:
    """Return the marks of the methods that differ; none where nothing can be tested."""
    mine = [record for record in records if record.dataset.name == dataset]
    try:
        (repeats,), _ = gather(mine, metric)
        over = compare_splits(repeats, control=against, alpha=alpha, against_control=True)
    except UserError:  # no two methods, or no split on which all have a value
        return {}
    marks = {}
    for pair in over.pairs:
        if pair.p_holm is not None and pair.p_holm <= alpha:
            ahead = pair.mean if pair.first == over.control else -pair.mean
            marks[pair.second if pair.first == over.control else pair.first] = WORSE if ahead > 0 else BETTER
    return marks
