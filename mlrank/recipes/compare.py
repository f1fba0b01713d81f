"""The paper's numbers beside ours, and whether its claims hold on the data that were used."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from mlrank.recipes.claims import ClaimResult, judge_claims, values_over_splits
from mlrank.recipes.constants import Constants, below_constants, unattainable
from mlrank.recipes.recipe import GRADES, USER, DataOption, Recipe
from mlrank.recipes.recipe_parts import grade_on
from mlrank.recipes.verdicts import CellVerdict, judge_cell, printed_decimals
from mlrank.records import RunRecord

__all__ = ["OWN_DATA", "SECONDS", "ClaimResult", "ComparedCell", "Comparison", "compare"]

# Stands for the metric in tables of run times.
SECONDS = "seconds"
# Grades of data on which what is reached without features speaks of the paper's numbers.
OWN_DATA = ("exact", "same-source")


@dataclass(frozen=True)
class ComparedCell:
    """One number of the paper and ours.

    Parameters
    ----------
    method, metric : str
    ours : float or None
        Mean over the splits; None unless there is a value on every split.
    paper : float or None
        None where the paper gives no number.
    difference : float or None
        Ours minus the paper's; None without either number and on stand-in data, where it has no meaning.
    ours_spread, paper_spread : float or None
        Standard deviations over splits; ours from two splits on, the paper's where it gives them.
    verdict, reason : str
        Key of CELL_VERDICTS, and why.
    """

    method: str
    metric: str
    ours: float | None
    paper: float | None
    difference: float | None
    ours_spread: float | None
    paper_spread: float | None
    verdict: str
    reason: str


@dataclass(frozen=True)
class Comparison:
    """The paper's table beside ours.

    Parameters
    ----------
    title : which table of which paper, on which data, of which grade
    recipe, paper, table, dataset : str
    grade : key of GRADES
    cells : tuple of ComparedCell
    n_splits : int
    claims : tuple of ClaimResult
    notes : tuple of str, the lines below
    """

    title: str
    recipe: str
    paper: str
    table: str
    dataset: str
    grade: str
    n_splits: int
    cells: tuple[ComparedCell, ...]
    claims: tuple[ClaimResult, ...]
    notes: tuple[str, ...]


def compare(
    recipe: Recipe, option: DataOption, records: Sequence[RunRecord], constants: Constants | None = None
) -> Comparison:
    """Compare run records with what the paper reports.

    Records of other data sets are left aside. Data that call themselves generated are graded "stand-in" whatever the
    recipe says.

    Parameters
    ----------
    constants : what predictors without features reach on the splits of the records; used where the data are the paper's

    Raises
    ------
    ValueError
        If the option is "user" and the records are of more than one data set of the user's.
    """
    used = option_records(recipe, option, records)
    grade = grade_on(option, any(record.dataset.stand_in for record in used))
    splits = list(dict.fromkeys(record.split for record in used))
    attainable = constants if constants and grade in OWN_DATA else {}
    denied, below = _beside_constants(recipe, attainable)
    cells = [
        _cell(recipe, used, splits, grade, method, metric, denied.get(metric, ""))
        for method, by_metric in recipe.expected.items()
        for metric in by_metric
    ]
    dataset = used[0].dataset.name if used else option.dataset
    return Comparison(
        title=f"{recipe.table} of {recipe.paper} beside ours on {dataset} ({GRADES[grade]})",
        recipe=recipe.name,
        paper=recipe.paper,
        table=recipe.table,
        dataset=dataset,
        grade=grade,
        n_splits=len(splits),
        cells=tuple(cells),
        claims=judge_claims(recipe.claims, used, splits, grade, recipe.expected),
        notes=tuple(_notes(recipe, option, used, grade, cells, below)),
    )


def _beside_constants(recipe: Recipe, constants: Constants) -> tuple[dict[str, str], list[str]]:
    """Return per metric why its printed numbers are not attainable as named, and what single numbers are below."""
    decimals = _decimals(recipe)
    printed = {
        metric: {method: by_metric.get(metric) for method, by_metric in recipe.expected.items()} for metric in constants
    }
    denied = {
        metric: words
        for metric, numbers in printed.items()
        if (words := unattainable(metric, numbers.values(), constants, decimals))
    }
    below = [
        line
        for metric, numbers in printed.items()
        if metric not in denied
        for line in below_constants(metric, numbers, constants, decimals)
    ]
    return denied, below


def _decimals(recipe: Recipe) -> int:
    return printed_decimals(number for by_metric in recipe.expected.values() for number in by_metric.values())


def _cell(
    recipe: Recipe,
    records: Sequence[RunRecord],
    splits: Sequence[str],
    grade: str,
    method: str,
    metric: str,
    denied: str,
) -> ComparedCell:
    paper = recipe.expected[method][metric]
    decimals = _decimals(recipe)
    values = values_over_splits(records, method, metric, splits)
    found = judge_cell(values, paper, grade, decimals, recipe.spread.get(method, {}).get(metric))
    if denied and paper is not None:
        found = CellVerdict("not attainable as named", f"{denied}; ours: {found.verdict}, {found.reason}")
    verdict, reason = found
    ours = None if values is None else float(values.mean())
    difference = None if ours is None or paper is None or grade == "stand-in" else ours - paper
    spread = float(values.std(ddof=1)) if values is not None and values.size > 1 else None
    spreads = (spread, recipe.spread.get(method, {}).get(metric))
    return ComparedCell(method, metric, ours, paper, difference, *spreads, verdict, reason)


def option_records(recipe: Recipe, option: DataOption, records: Sequence[RunRecord]) -> list[RunRecord]:
    """Return the records of the option's data set.

    Raises
    ------
    ValueError
        If the option is "user" and they are of more than one data set of the user's.
    """
    if option.dataset != USER:
        return [record for record in records if record.dataset.name == option.dataset]
    others = {other.dataset for other in recipe.data}
    used = [record for record in records if record.dataset.name not in others]
    names = sorted({record.dataset.name for record in used})
    if len(names) > 1:
        raise ValueError(f"the records to compare are of several data sets: {', '.join(names)}")
    return used


def _notes(
    recipe: Recipe,
    option: DataOption,
    records: Sequence[RunRecord],
    grade: str,
    cells: Sequence[ComparedCell],
    below: Sequence[str],
) -> list[str]:
    notes = [f"data: {option.note}"]
    if recipe.sizes is not None and records:
        data = records[0].dataset
        notes.append(recipe.sizes.beside(data.n_samples, data.n_features, data.n_labels, data.cardinality))
    n_splits = len({record.split for record in records})
    if n_splits == 1:
        notes.append("one split: no test is possible, so no claim is decided")
    elif n_splits > 1:
        notes.append(f"mean ± standard deviation over {n_splits} splits")
    if grade != "stand-in":
        notes.append("rules of the verdicts: mlrank explain VERDICT")
    if grade == "stand-in":
        notes.append("no differences are given: numbers on stand-in data cannot be set against the paper's")
    notes += [f"as printed: {line}" for line in below]
    missing = list(dict.fromkeys(cell.method for cell in cells if cell.ours is None))
    if missing:
        notes.append(f"no number on every split: {', '.join(missing)}")
    notes += [note for cell in cells if cell.ours is not None for note in _undefined(records, cell)]
    return [*notes, *(f"protocol: {line}" for line in recipe.protocol)]


def _undefined(records: Sequence[RunRecord], cell: ComparedCell) -> Iterator[str]:
    """Note what a mean that leaves undefined terms out would be if they counted as 0, as papers often do."""
    values = [record.metrics[cell.metric] for record in records if record.method == cell.method]
    if all(value.n_defined == value.n_total for value in values) or values[0].unit == "all":
        return
    least = min(values, key=lambda value: value.n_defined / value.n_total)
    zeros = fmean((value.value or 0.0) * value.n_defined / value.n_total for value in values)
    counts = f"{least.n_defined} of {least.n_total} {least.unit}"
    yield f"{cell.metric} of {cell.method} is over {counts}; with the others as 0 it is {zeros:.4f}"
