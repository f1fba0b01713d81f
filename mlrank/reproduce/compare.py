"""The paper's numbers beside ours, and whether its claims hold on the data that were used."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any

from mlrank.metrics import METRICS
from mlrank.reproduce.recipe import GRADES, USER, Claim, DataOption, Recipe

__all__ = ["ClaimResult", "ComparedCell", "Comparison", "compare"]

Record = Mapping[str, Any]
TIE = 1e-12


@dataclass(frozen=True)
class ComparedCell:
    """One number of the paper and ours.

    Parameters
    ----------
    method, metric : str
    ours : float or None
        Mean over the splits; None unless there is a value on every split.
    paper : float
    difference : float or None
        Ours minus the paper's; None without our number and on stand-in data, where it has no meaning.
    """

    method: str
    metric: str
    ours: float | None
    paper: float
    difference: float | None


@dataclass(frozen=True)
class ClaimResult:
    """What became of one claim.

    Parameters
    ----------
    text : the paper's claim
    verdict : "held", "failed", "undecided", or "not comparable" on stand-in data
    ordering : "held", "failed" or "undecided": whether the methods came out in the order claimed, whatever the data
    details : our order in each metric, one line each
    line : the verdict in words
    """

    text: str
    verdict: str
    ordering: str
    details: tuple[str, ...]
    line: str


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
    used = _of_option(recipe, option, records)
    stand_in = option.grade == "stand-in" or any(record["dataset"]["stand_in"] for record in used)
    grade = "stand-in" if stand_in else option.grade
    n_splits = len({record["split"] for record in used})
    cells = []
    for method, by_metric in recipe.expected.items():
        for metric, paper in by_metric.items():
            ours = _ours(used, method, metric, n_splits)
            difference = None if ours is None or stand_in else ours - paper
            cells.append(ComparedCell(method, metric, ours, paper, difference))
    dataset = used[0]["dataset"]["name"] if used else option.dataset
    return Comparison(
        title=f"{recipe.table} of {recipe.paper} beside ours on {dataset} ({GRADES[grade]})",
        recipe=recipe.name,
        dataset=dataset,
        grade=grade,
        cells=tuple(cells),
        claims=tuple(_judge(claim, used, n_splits, grade) for claim in recipe.claims),
        notes=tuple(_notes(recipe, option, used, grade, cells)),
    )


def _of_option(recipe: Recipe, option: DataOption, records: Sequence[Record]) -> list[Record]:
    if option.dataset != USER:
        return [record for record in records if record["dataset"]["name"] == option.dataset]
    others = {other.dataset for other in recipe.data}
    used = [record for record in records if record["dataset"]["name"] not in others]
    names = sorted({record["dataset"]["name"] for record in used})
    if len(names) > 1:
        raise ValueError(f"the records to compare are of several data sets: {', '.join(names)}")
    return used


def _ours(records: Sequence[Record], method: str, metric: str, n_splits: int) -> float | None:
    """Return the mean over the splits; None unless every split has a value, since others would not be comparable."""
    done = [record for record in records if record["method"] == method and record["status"] == "done"]
    values = [record["metrics"].get(metric, {}).get("value") for record in done]
    if len(values) < n_splits or not values or None in values:
        return None
    return fmean(values)


def _judge(claim: Claim, records: Sequence[Record], n_splits: int, grade: str) -> ClaimResult:
    verdicts, details = [], []
    for metric in claim.metrics:
        ours = {method: _ours(records, method, metric, n_splits) for method in claim.order}
        sign = 1.0 if METRICS[metric].higher_is_better else -1.0
        verdicts.append(_ordering([ours[method] for method in claim.order], sign))
        details.append(f"{metric}, best first: {_listed(ours, sign)}")
    ordering = next((verdict for verdict in ("failed", "undecided") if verdict in verdicts), "held")
    verdict = "not comparable" if grade == "stand-in" else ordering
    return ClaimResult(claim.text, verdict, ordering, tuple(details), _line(claim.text, ordering, grade))


def _ordering(values: Sequence[float | None], sign: float) -> str:
    """Return whether values fall from best to worst; one wrong pair is enough to fail, whatever is missing."""
    verdicts = set()
    for better, worse in combinations(values, 2):
        if better is None or worse is None or abs(better - worse) <= TIE:
            verdicts.add("undecided")
        else:
            verdicts.add("held" if sign * (better - worse) > 0 else "failed")
    return next((verdict for verdict in ("failed", "undecided") if verdict in verdicts), "held")


def _listed(ours: Mapping[str, float | None], sign: float) -> str:
    known = {method: value for method, value in ours.items() if value is not None}
    ranked = sorted(known, key=lambda method: -sign * known[method])
    missing = [f"{method} missing" for method in ours if method not in known]
    return ", ".join([*(f"{method} {known[method]:.4f}" for method in ranked), *missing])


_STAND_IN = {
    "held": "the methods came out in this order here",
    "failed": "the methods came out in another order here",
    "undecided": "the order is undecided here",
}


def _line(text: str, ordering: str, grade: str) -> str:
    if grade == "stand-in":
        return f"claim '{text}': on stand-in data, says nothing about the paper ({_STAND_IN[ordering]})"
    return f"claim '{text}': {ordering} ({GRADES[grade]})"


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
