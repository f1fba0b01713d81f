"""Tables of run times: the same fits at the same certified gap, the paper's seconds beside ours."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.errors import UserError
from mlrank.recipes.claims import ClaimResult, beside_print, combined, corrected, share_of, support
from mlrank.recipes.compare import SECONDS, ComparedCell, Comparison, option_records
from mlrank.recipes.data import experiment_mapping
from mlrank.recipes.evidence import PartEvidence, better, decide
from mlrank.recipes.recipe import GRADES, DataOption, Recipe, TimesTable
from mlrank.recipes.recipe_parts import SpeedClaim, grade_on, is_called
from mlrank.records import RunRecord
from mlrank.yamlfile import YamlMapping

__all__ = ["compare_times", "times_mapping", "times_of"]

OTHER_MACHINE = "seconds of another machine: the claim is about ratios"


def times_of(recipe: Recipe, table: str) -> TimesTable:
    """Return the table of run times, asked for by its name or number.

    Raises
    ------
    UserError
        If the recipe has no such table.
    """
    known = recipe.times
    if known is None or not is_called(known.table, table):
        others = " and ".join(other.table for other in (known, recipe.related) if other)
        beside = f"; beside it there is {others}" if others else ""
        raise UserError(f"the recipe '{recipe.name}' is of {recipe.table}{beside}, found --table {table}")
    return known


def times_mapping(recipe: Recipe, times: TimesTable, option: DataOption, user_data: Any = None) -> YamlMapping:
    """Return the experiment as the mapping that a YAML config would hold: the recipe's, with the methods timed."""
    mapping = experiment_mapping(recipe, option, recipe.default_grid, user_data)
    methods = {name: dict(settings) for name, settings in times.methods.items()}
    split = mapping["split"] if times.repeats is None else mapping["split"] | {"repeats": times.repeats}
    origin = mapping["recipe"] | {"part": "times"}
    return mapping | {"name": f"{recipe.name}-times", "methods": methods, "split": split, "recipe": origin}


def compare_times(recipe: Recipe, times: TimesTable, option: DataOption, records: Sequence[RunRecord]) -> Comparison:
    """Set the paper's seconds beside ours, and judge which method is faster."""
    made = option_records(recipe, option, records)
    used = [record for record in made if record.done]
    grade = grade_on(option, any(record.dataset.stand_in for record in used))
    by_method = {method: [r for r in used if r.method == method] for method in times.methods}
    splits = list(dict.fromkeys(record.split for record in made))
    seconds = {method: _seconds(found, splits, times.predictions) for method, found in by_method.items()}
    dataset = used[0].dataset.name if used else option.dataset
    return Comparison(
        title=f"{times.table} of {recipe.paper} beside ours on {dataset} ({GRADES[grade]})",
        recipe=recipe.name,
        paper=recipe.paper,
        table=times.table,
        dataset=dataset,
        grade=grade,
        n_splits=len(splits),
        cells=tuple(_cell(times, name, seconds[name]) for name in times.expected),
        claims=_judge_all(times, seconds, by_method, share_of(used), len(splits), grade),
        notes=(f"data: {option.note}", *_certificates(by_method), *(f"protocol: {line}" for line in times.protocol)),
    )


def _seconds(found: Sequence[RunRecord], splits: Sequence[str], predictions: bool) -> FloatArray | None:
    """Return the seconds in the order of the splits; None unless every split has them."""
    by_split = {record.split: seconds for record in found if (seconds := _of_run(record, predictions)) is not None}
    if not splits or by_split.keys() != set(splits):
        return None
    return np.array([by_split[split] for split in splits], dtype=np.float64)


def _of_run(record: RunRecord, predictions: bool) -> float | None:
    fit, predict = record.time.fit, record.time.predict
    if not predictions or fit is None:
        return fit
    return None if predict is None else fit + predict


def _cell(times: TimesTable, method: str, seconds: FloatArray | None) -> ComparedCell:
    ours = None if seconds is None else float(seconds.mean())
    spread = float(seconds.std(ddof=1)) if seconds is not None and seconds.size > 1 else None
    paper, paper_spread = times.expected[method], times.spread.get(method)
    return ComparedCell(method, SECONDS, ours, paper, None, spread, paper_spread, "not comparable", OTHER_MACHINE)


def _judge_all(
    times: TimesTable,
    seconds: Mapping[str, FloatArray | None],
    by_method: Mapping[str, Sequence[RunRecord]],
    share: float,
    n_splits: int,
    grade: str,
) -> tuple[ClaimResult, ...]:
    """Judge every claim by itself, and then with Holm's correction over all."""
    alone = [_judge(times, claim, seconds, by_method, share, n_splits, grade) for claim in times.claims]
    return tuple(
        beside_print(result, _against_print(times, claim), grade)
        for claim, result in zip(times.claims, corrected(alone, grade), strict=True)
    )


def _judge(
    times: TimesTable,
    claim: SpeedClaim,
    seconds: Mapping[str, FloatArray | None],
    by_method: Mapping[str, Sequence[RunRecord]],
    share: float,
    n_splits: int,
    grade: str,
) -> ClaimResult:
    """Judge by the ratio of the seconds; a slower method that stopped early took at least what it took.

    On one split nothing is decided, as of any other claim: a second fit on other rows may take many times as long.
    """
    found = [_faster(times, claim, slow, seconds, by_method, share) for slow in claim.faster_first[1:]]
    parts = [part for part, _ in found]
    details = [f"{detail}{support([part])}" for part, detail in found]
    return combined(claim.named, [decide(parts, len(parts))], details, n_splits, grade)


def _against_print(times: TimesTable, claim: SpeedClaim) -> str:
    """Return where the seconds that the paper prints contradict its claim; "" if they do not, or are not there.

    By how much it must be faster is for us to say, so only a method that is slower denies the paper.
    """
    fast, *others = claim.faster_first
    least = times.expected.get(fast)
    if least is None:
        return ""
    contrary = [slow for slow in others if (theirs := times.expected.get(slow)) and theirs < least]
    return ", ".join(f"{slow} {times.expected[slow]:g} and {fast} {least:g} seconds as printed" for slow in contrary)


def _faster(
    times: TimesTable,
    claim: SpeedClaim,
    slow: str,
    seconds: Mapping[str, FloatArray | None],
    by_method: Mapping[str, Sequence[RunRecord]],
    share: float,
) -> tuple[PartEvidence, str]:
    """Return whether the first method is faster than `slow` by the claim's factor, and by how much."""
    fast = claim.faster_first[0]
    theirs, least = times.expected[slow], times.expected[fast]
    paper = f"the paper's ratio is {theirs / least:.0f}" if theirs and least else "the paper prints no seconds"
    quick, long = seconds[fast], seconds[slow]
    if quick is None or long is None or not _all_converged(by_method[fast]):
        return PartEvidence(None), f"no pair of times at the same gap; {paper}"
    early = not _all_converged(by_method[slow])
    more = "more than " if early else ""
    ratio = f"{slow} took {more}{long.mean() / quick.mean():.1f} times as long as {fast}; {paper}"
    if claim.factor > 1:
        ratio += f"; at least {claim.factor:g} times is asked for (a margin of ours)"
    # Times vary by factors, so their logarithms are compared.
    part = better(np.log(long), np.log(claim.factor * quick), 1.0, share)
    # A method that was stopped early says nothing by being faster until then.
    return (PartEvidence(None) if early and not part.as_claimed else part), ratio


def _all_converged(found: Sequence[RunRecord]) -> bool:
    return all(record.fit.converged for record in found)


def _certificates(by_method: Mapping[str, Sequence[RunRecord]]) -> list[str]:
    """Return of each method how far it got, since seconds mean nothing without it."""
    lines = []
    for method, found in by_method.items():
        for record in found:
            info = record.fit
            end = "reached" if info.converged else "stopped at"
            gap = f"{info.optimality:.1e}" if info.optimality is not None else "unknown"
            lines.append(f"{method} ({record.split}): {end} an optimality of {gap} after {info.n_iter} iterations")
    return lines
