"""The paper's numbers beside ours, and whether its claims hold on the data that were used."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from mlrank.reproduce.claims import ClaimResult, Record, judge, mean_over_splits, spread_over_splits
from mlrank.reproduce.recipe import GRADES, USER, DataOption, Recipe

__all__ = ["SECONDS", "ClaimResult", "ComparedCell", "Comparison", "compare"]

# Stands for the metric in tables of run times.
SECONDS = "seconds"


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
        Standard deviations over splits, where the paper gives them.
    """

    method: str
    metric: str
    ours: float | None
    paper: float | None
    difference: float | None
    ours_spread: float | None = None
    paper_spread: float | None = None


@dataclass(frozen=True)
class Comparison:
    """The paper's table beside ours.

    Parameters
    ----------
    title : which table of which paper, on which data, of which grade
    grade : key of GRADES
    cells : tuple of ComparedCell
    claims : tuple of ClaimResult
    notes : tuple of str, the lines below
    """

    title: str
    recipe: str
    dataset: str
    grade: str
    cells: tuple[ComparedCell, ...]
    claims: tuple[ClaimResult, ...]
    notes: tuple[str, ...]


def compare(recipe: Recipe, option: DataOption, records: Sequence[Record]) -> Comparison:
    """Compare run records with what the paper reports.

    Records of other data sets are left aside. Data that call themselves generated are graded "stand-in" whatever the
    recipe says.

    Raises
    ------
    ValueError
        If the option is "user" and the records are of more than one data set of the user's.
    """
    used = option_records(recipe, option, records)
    stand_in = option.grade == "stand-in" or any(record["dataset"]["stand_in"] for record in used)
    grade = "stand-in" if stand_in else option.grade
    n_splits = len({record["split"] for record in used})
    cells = []
    for method, by_metric in recipe.expected.items():
        for metric, paper in by_metric.items():
            ours = mean_over_splits(used, method, metric, n_splits)
            difference = None if ours is None or paper is None or stand_in else ours - paper
            spread = spread_over_splits(used, method, metric) if ours is not None and recipe.spread else None
            spreads = (spread, recipe.spread.get(method, {}).get(metric))
            cells.append(ComparedCell(method, metric, ours, paper, difference, *spreads))
    dataset = used[0]["dataset"]["name"] if used else option.dataset
    return Comparison(
        title=f"{recipe.table} of {recipe.paper} beside ours on {dataset} ({GRADES[grade]})",
        recipe=recipe.name,
        dataset=dataset,
        grade=grade,
        cells=tuple(cells),
        claims=tuple(judge(claim, used, n_splits, grade) for claim in recipe.claims),
        notes=tuple(_notes(recipe, option, used, grade, cells)),
    )


def option_records(recipe: Recipe, option: DataOption, records: Sequence[Record]) -> list[Record]:
    """Return the records of the option's data set.

    Raises
    ------
    ValueError
        If the option is "user" and they are of more than one data set of the user's.
    """
    if option.dataset != USER:
        return [record for record in records if record["dataset"]["name"] == option.dataset]
    others = {other.dataset for other in recipe.data}
    used = [record for record in records if record["dataset"]["name"] not in others]
    names = sorted({record["dataset"]["name"] for record in used})
    if len(names) > 1:
        raise ValueError(f"the records to compare are of several data sets: {', '.join(names)}")
    return used


def _notes(
    recipe: Recipe, option: DataOption, records: Sequence[Record], grade: str, cells: Sequence[ComparedCell]
) -> list[str]:
    notes = [f"data: {option.note}"]
    n_splits = len({record["split"] for record in records})
    if n_splits == 1:
        notes.append("one split: no test is possible, a claim is judged by the order of the values alone")
    elif n_splits > 1:
        notes.append(f"{n_splits} splits: a claim is judged by the order of the means, without a test")
    if grade == "stand-in":
        notes.append("no differences are given: numbers on stand-in data cannot be set against the paper's")
    missing = list(dict.fromkeys(cell.method for cell in cells if cell.ours is None))
    if missing:
        notes.append(f"no number on every split: {', '.join(missing)}")
    notes += [note for cell in cells if cell.ours is not None for note in _undefined(records, cell)]
    return [*notes, *(f"protocol: {line}" for line in recipe.protocol)]


def _undefined(records: Sequence[Record], cell: ComparedCell) -> Iterator[str]:
    """Tell what a mean that leaves undefined terms out would be if they counted as 0, as papers often do."""
    values = [record["metrics"][cell.metric] for record in records if record["method"] == cell.method]
    if all(value["n_defined"] == value["n_total"] for value in values) or values[0]["unit"] == "all":
        return
    least = min(values, key=lambda value: float(value["n_defined"] / value["n_total"]))
    zeros = fmean(value["value"] * value["n_defined"] / value["n_total"] for value in values)
    counts = f"{least['n_defined']} of {least['n_total']} {least['unit']}"
    yield f"{cell.metric} of {cell.method} is over {counts}; with the others as 0 it is {zeros:.4f}"
