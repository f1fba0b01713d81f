"""Which reading of a paper gives its table back: numbers recovered by each, what is luck, and what becomes of claims.

The reading that recovers most is chosen for the whole table, never for one number. It is the best of several, so its
count alone says little: the rows that the paper prints are dealt out to the methods anew, again and again, and each
time the best of all readings is taken. The share of deals that recover as many is the chance that as many readings
would do so if the printed rows had nothing to do with the methods they stand for. Whole rows are dealt, so what the
measures of one method have in common stays, and all readings meet the same deal, so readings that are much alike do
not count as many. A table whose rows are all alike has a chance near 1: then any order recovers as many, and the
numbers say nothing about the methods.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from math import factorial
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ValidationError

from mlrank.arrays import IntArray
from mlrank.errors import UserError, os_errors
from mlrank.metrics import METRICS
from mlrank.recipes.claims import values_over_splits
from mlrank.recipes.compare import Comparison, compare, option_records
from mlrank.recipes.evidence import ALPHA
from mlrank.recipes.readings import ReadingsPlan, records_under
from mlrank.recipes.recipe import Claim, Recipe
from mlrank.recipes.recipe_parts import FROZEN, grade_on
from mlrank.recipes.verdicts import judge_cell, printed_decimals
from mlrank.records import RunRecord

__all__ = [
    "READING_RULES",
    "RECOVERED",
    "ClaimOver",
    "ClaimUnder",
    "QuestionRead",
    "ReadingOutcome",
    "ReadingsReport",
    "claim_over",
    "judge_readings",
    "luck",
    "recovered_by_rows",
    "stored_readings",
    "with_readings",
]

# What `mlrank explain` says of readings.
READING_RULES: Mapping[str, str] = {
    "readings": "Where a paper leaves something open (how labels are coded, which rows are drawn, what a search "
    "maximises, what 0/0 counts as), its recipe names the choices that a reader has, each question with the place in "
    "the paper and with the recipe's own choice. A reading takes one choice for every question: 'mlrank reproduce NAME "
    "--readings' tries every combination. Readings share all fits that they do not read differently, and what only "
    "changes how a stored run is measured costs none.",
    "recovered": "A number of the paper that matches or is close under a reading. The reading that recovers most is "
    "chosen for the whole table, never for one number; of equals the one with more matches, then the one that departs "
    "least from the recipe. A table counts as recovered from 60% of its numbers on, a bound of ours.",
    "luck": "How likely the best of so many readings recovers so many numbers if the printed rows had nothing to do "
    "with the methods they stand for: the rows are dealt to the methods in every order (in 10 000 random ones where "
    "there are more), each time the best reading is taken, and the share of orders that recover as many is given. With "
    "k methods it is 1/k! at least; near 1, the rows are so alike that any order does.",
}

# The verdicts that count as a number recovered.
RECOVERED = ("matches", "close")
# All deals of the printed rows are tried up to so many; of more, so many drawn ones.
MOST_DEALS = 10_000


class QuestionRead(BaseModel):
    """A question, as the recipe has it, with the choices that were read."""

    model_config = FROZEN

    paper: str
    default: str
    choices: tuple[str, ...]


class ClaimUnder(BaseModel):
    """What became of a claim under one reading.

    `difference` is that of the pair of methods that is furthest from what the claim says, in the measure where that is
    so: positive where the whole claim is as claimed by the means. None where a value is missing.
    """

    model_config = FROZEN

    ordering: str
    p: float | None
    difference: float | None


class ReadingOutcome(BaseModel):
    """One reading of a table: the choices by question, how many numbers it recovers, and the claims in order."""

    model_config = FROZEN

    choices: dict[str, str]
    departures: int
    matches: int
    close: int
    claims: tuple[ClaimUnder, ...]

    @property
    def recovered(self) -> int:
        """Numbers that match or are close."""
        return self.matches + self.close


class ClaimOver(BaseModel):
    """A claim over all readings.

    `verdict` is what the recipe's own reading finds ("holds", "fails" or "undecided") unless other readings decide
    otherwise, more than the 5% that may by luck: then it is "depends on the reading", and `says` names the choices.
    """

    model_config = FROZEN

    text: str
    verdict: str
    says: str


class ReadingsReport(BaseModel):
    """All readings of one table on one data set, as it is stored.

    Parameters
    ----------
    recipe, paper, table, dataset, grid : str
    grade : key of GRADES
    n_splits : int
    n_numbers : how many numbers of the paper could be recovered
    questions : by name
    readings : in the order they were planned, the recipe as it stands first
    left_out : how many readings a budget left out
    best : the place of the reading that recovers most; of equals the one with more matches, then fewer departures
    chance : how likely the best of as many readings recovers as many if printed rows had nothing to do with methods;
        None where there is nothing to recover or to deal
    deals : how many deals of the printed rows that is from
    every_deal : whether these are all there are
    claims : one for each claim of the recipe
    """

    model_config = FROZEN

    recipe: str
    paper: str
    table: str
    dataset: str
    grid: str
    grade: str
    n_splits: int
    n_numbers: int
    questions: dict[str, QuestionRead]
    readings: tuple[ReadingOutcome, ...]
    left_out: int
    best: int
    chance: float | None
    deals: int
    every_deal: bool
    claims: tuple[ClaimOver, ...]


def judge_readings(
    plan: ReadingsPlan, runs: Mapping[int, Sequence[RunRecord]], left_out: int = 0
) -> tuple[ReadingsReport, list[Comparison]]:
    """Return what each reading recovers, with the paper's table beside ours under each.

    Parameters
    ----------
    runs : the records of each experiment of the plan, by its place
    left_out : how many readings a budget left out
    """
    recipe, option = plan.recipe, plan.option
    records = [option_records(recipe, option, records_under(plan, at, runs)) for at in range(len(plan.readings))]
    comparisons = [compare(recipe, option, found) for found in records]
    outcomes = [
        ReadingOutcome(
            choices=dict(reading.choices),
            departures=reading.departures,
            matches=_count(comparison, "matches"),
            close=_count(comparison, "close"),
            claims=tuple(
                ClaimUnder(ordering=result.ordering, p=result.p, difference=_difference(claim, found))
                for claim, result in zip(recipe.claims, comparison.claims, strict=True)
            ),
        )
        for reading, comparison, found in zip(plan.readings, comparisons, records, strict=True)
    ]
    best = max(range(len(outcomes)), key=lambda at: (outcomes[at].recovered, outcomes[at].matches, -at))
    chance, deals, every = luck(np.stack([recovered_by_rows(recipe, found, comparisons[0].grade) for found in records]))
    printed = sum(number is not None for by_metric in recipe.expected.values() for number in by_metric.values())
    numbers = 0 if comparisons[0].grade == "stand-in" else printed
    report = ReadingsReport(
        recipe=recipe.name,
        paper=recipe.paper,
        table=recipe.table,
        dataset=comparisons[0].dataset,
        grid=plan.grid,
        grade=comparisons[0].grade,
        n_splits=comparisons[0].n_splits,
        n_numbers=numbers,
        questions=_questions(recipe, outcomes),
        readings=tuple(outcomes),
        left_out=left_out,
        best=best,
        chance=chance if numbers else None,
        deals=deals,
        every_deal=every,
        claims=tuple(claim_over(claim.named, outcomes, place) for place, claim in enumerate(recipe.claims)),
    )
    return report, comparisons


def _count(comparison: Comparison, verdict: str) -> int:
    return sum(cell.verdict == verdict for cell in comparison.cells)


def _questions(recipe: Recipe, outcomes: Sequence[ReadingOutcome]) -> dict[str, QuestionRead]:
    read = {
        name: [choice for choice in question.names if any(o.choices[name] == choice for o in outcomes)]
        for name, question in recipe.readings.items()
    }
    return {
        name: QuestionRead(paper=question.paper, default=question.default, choices=tuple(read[name]))
        for name, question in recipe.readings.items()
    }


def recovered_by_rows(recipe: Recipe, records: Sequence[RunRecord], grade: str | None = None) -> IntArray:
    """Return how many numbers each printed row recovers if it is taken for that of each method.

    Parameters
    ----------
    grade : key of GRADES

    Returns
    -------
    (n_methods, n_methods) int64 ndarray
        Of methods with a printed number, in the recipe's order: row i is our method, column j the paper's row. The
        diagonal is the table as it is printed.
    """
    numbers = [number for by_metric in recipe.expected.values() for number in by_metric.values()]
    decimals = printed_decimals(numbers)
    splits = list(dict.fromkeys(record.split for record in records))
    grade = grade or grade_on(recipe.data[0], any(record.dataset.stand_in for record in records))
    rows = {
        method: by_metric
        for method, by_metric in recipe.expected.items()
        if any(number is not None for number in by_metric.values())
    }
    found = np.zeros((len(rows), len(rows)), dtype=np.int64)
    for i, method in enumerate(rows):
        ours = {metric: values_over_splits(records, method, metric, splits) for metric in _metrics(recipe)}
        for j, (printed, by_metric) in enumerate(rows.items()):
            spread = recipe.spread.get(printed, {})
            found[i, j] = sum(
                judge_cell(ours[metric], number, grade, decimals, spread.get(metric)).verdict in RECOVERED
                for metric, number in by_metric.items()
            )
    return found


def _metrics(recipe: Recipe) -> list[str]:
    return list(dict.fromkeys(metric for by_metric in recipe.expected.values() for metric in by_metric))


def luck(recovered: IntArray, most: int = MOST_DEALS, seed: int = 0) -> tuple[float, int, bool]:
    """Return the chance that the best of several readings recovers as many numbers as it does, by dealing rows anew.

    Parameters
    ----------
    recovered : (n_readings, n_methods, n_methods) int64 ndarray
        See `recovered_by_rows`.
    most : all deals are tried if they are no more than that; else so many are drawn

    Returns
    -------
    chance : float
        The share of deals, the one that is printed among them, in which the best reading recovers at least as many.
    deals : int
    every : bool
        Whether these are all deals.

    Notes
    -----
    Cost: deals x readings x methods. With k methods no chance is below 1 / k!.
    """
    n = recovered.shape[1]
    every = factorial(n) <= most
    if every:
        deals = np.array(list(permutations(range(n))), dtype=np.int64).reshape(factorial(n), n)
    else:
        rng = np.random.default_rng(seed)
        drawn = [rng.permutation(n) for _ in range(most - 1)]
        deals = np.array([np.arange(n), *drawn], dtype=np.int64)
    counts = np.zeros((recovered.shape[0], len(deals)), dtype=np.int64)
    for method in range(n):
        counts += recovered[:, method, :][:, deals[:, method]]
    best = counts.max(axis=0)
    observed = recovered[:, np.arange(n), np.arange(n)].sum(axis=1).max()
    return float(np.mean(best >= observed)), len(deals), every


def _difference(claim: Claim, records: Sequence[RunRecord]) -> float | None:
    """Return the difference of the pair that is furthest from the claim, over all its measures; see ClaimUnder."""
    splits = list(dict.fromkeys(record.split for record in records))
    found = []
    for metric in claim.metrics:
        sign = METRICS[metric].sign
        ours = {method: values_over_splits(records, method, metric, splits) for method in claim.methods}
        means = {method: float(values.mean()) for method, values in ours.items() if values is not None}
        if len(means) < len(ours):
            return None
        if claim.close:
            found.append(min(claim.within - abs(means[a] - means[b]) for a, b in claim.close))
        elif claim.best is not None:
            ahead = sorted(sign * (means[claim.best] - means[other]) for other in claim.among)
            found.append(ahead[min(claim.places, len(ahead)) - 1])
        else:
            pairs = claim.pairs or tuple(combinations(claim.order or (), 2))
            found.append(min(sign * (means[a] - means[b]) for a, b in pairs))
    return min(found)


def claim_over(text: str, outcomes: Sequence[ReadingOutcome], place: int) -> ClaimOver:
    """Return what becomes of a claim over all readings.

    Parameters
    ----------
    outcomes : the readings, the recipe as it stands first
    place : of the claim among those of each
    """
    orderings = [outcome.claims[place].ordering for outcome in outcomes]
    own = orderings[0]
    others = {"holds", "fails"} - {own}
    counts = [f"{name} under {orderings.count(name)}" for name in ("holds", "undecided", "fails") if name in orderings]
    how = f"{', '.join(counts)} of {len(orderings)} readings"
    if len(set(orderings)) == 1:
        return ClaimOver(text=text, verdict=own, says=f"{own} under all {len(orderings)} readings")
    if not others & set(orderings):
        return ClaimOver(text=text, verdict=own, says=how)
    if max(orderings.count(other) for other in others) <= ALPHA * len(orderings):
        return ClaimOver(text=text, verdict=own, says=f"{how}; so few may decide by luck")
    named = "; ".join(
        f"{name} {_what_they_share(outcomes, [o == name for o in orderings])}"
        for name in ("holds", "fails")
        if name in orderings
    )
    return ClaimOver(text=text, verdict="depends on the reading", says=f"{how}: {named}")


def _what_they_share(outcomes: Sequence[ReadingOutcome], chosen: Sequence[bool]) -> str:
    """Return the choices that the chosen readings have in common and not all have.

    Without any, those that set all other readings apart; without these, the first of the chosen ones.
    """
    mine = [outcome for outcome, is_chosen in zip(outcomes, chosen, strict=True) if is_chosen]
    rest = [outcome for outcome, is_chosen in zip(outcomes, chosen, strict=True) if not is_chosen]
    shared, apart = _shared(mine, outcomes), _shared(rest, outcomes)
    if not shared and apart and _number_with(apart, outcomes) == len(rest):
        return f"under all but those with {_words(apart)}"
    if not shared:
        chosen_first = min(mine, key=lambda outcome: outcome.departures).choices
        first = {q: choice for q, choice in chosen_first.items() if len({o.choices[q] for o in outcomes}) > 1}
        return f"with {_words(first)}" + (f", and {len(mine) - 1} more" if len(mine) > 1 else "")
    such = _number_with(shared, outcomes)
    return f"with {_words(shared)}" + ("" if such == len(mine) else f" ({len(mine)} of {such} such readings)")


def _shared(some: Sequence[ReadingOutcome], outcomes: Sequence[ReadingOutcome]) -> dict[str, str]:
    """Return the choices that some readings have in common and not all have."""
    return {
        question: choice
        for question, choice in (some[0].choices.items() if some else ())
        if {o.choices[question] for o in some} == {choice} != {o.choices[question] for o in outcomes}
    }


def _number_with(choices: Mapping[str, str], outcomes: Sequence[ReadingOutcome]) -> int:
    return sum(all(o.choices[question] == choice for question, choice in choices.items()) for o in outcomes)


def _words(choices: Mapping[str, str]) -> str:
    return ", ".join(f"{question} {choice}" for question, choice in choices.items())


# What a claim's verdict may be for readings to have a say: neither the print nor the data have spoken.
_OPEN = ("holds", "fails", "undecided")


def with_readings(comparison: Comparison, report: ReadingsReport) -> Comparison:
    """Return a comparison whose claims depend on the reading where they do, by what was stored of the same data.

    Readings may be of a quicker grid and fewer splits than the table: the line names these, as the recipe's own reading
    may decide otherwise there than the table does.
    """
    if (report.dataset, report.grade) != (comparison.dataset, comparison.grade):
        return comparison
    depends = {claim.text: claim.says for claim in report.claims if claim.verdict == "depends on the reading"}
    where = f"in grid '{report.grid}' on {report.n_splits} splits"
    claims = tuple(
        replace(
            claim,
            verdict="depends on the reading",
            line=f"claim '{claim.text}': depends on the reading, {where}: {depends[claim.text]}; as the recipe stands: "
            f"{claim.line.partition(': ')[2]}",
        )
        if claim.verdict in _OPEN and claim.text in depends
        else claim
        for claim in comparison.claims
    )
    return replace(comparison, claims=claims)


def stored_readings(folder: Path, recipe: str) -> ReadingsReport | None:
    """Return the readings that were stored of a recipe's table; None if there are none.

    Parameters
    ----------
    folder : that of SUMMARY.md

    Raises
    ------
    UserError
        If the file is damaged.
    """
    path = folder / f"{recipe}-readings.json"
    if not path.exists():
        return None
    with os_errors("read the readings", path):
        content = path.read_bytes()
    try:
        return ReadingsReport.model_validate(json.loads(content))
    except (ValueError, ValidationError) as error:
        raise UserError(f"damaged readings; run 'mlrank reproduce {recipe} --readings' again", path) from error
