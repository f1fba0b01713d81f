"""Tables of run times: the same fits at the same certified gap, the paper's seconds beside ours."""

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from mlrank.errors import UserError
from mlrank.reproduce.compare import SECONDS, ClaimResult, ComparedCell, Comparison, option_records
from mlrank.reproduce.data import experiment_mapping
from mlrank.reproduce.recipe import GRADES, DataOption, Recipe, TimesTable

__all__ = ["compare_times", "times_mapping", "times_of"]

Record = Mapping[str, Any]


def times_of(recipe: Recipe, table: str) -> TimesTable:
    """Return the table of run times, asked for by its name or number.

    Raises
    ------
    UserError
        If the recipe has no such table.
    """
    known = recipe.times
    if known is None or table not in (known.table, known.table.split()[-1]):
        others = f"; beside it there is {known.table}" if known else ""
        raise UserError(f"the recipe '{recipe.name}' is of {recipe.table}{others}, found --table {table}")
    return known


def times_mapping(recipe: Recipe, times: TimesTable, option: DataOption, user_data: Any = None) -> dict[str, Any]:
    """Return the experiment as the mapping that a YAML config would hold: the recipe's, with the methods timed."""
    mapping = experiment_mapping(recipe, option, recipe.default_grid, user_data)
    methods = {name: dict(settings) for name, settings in times.methods.items()}
    split = mapping["split"] if times.repeats is None else mapping["split"] | {"repeats": times.repeats}
    return mapping | {"name": f"{recipe.name}-times", "methods": methods, "split": split}


def compare_times(recipe: Recipe, times: TimesTable, option: DataOption, records: Sequence[Record]) -> Comparison:
    """Set the paper's seconds beside ours, and judge which method is faster."""
    used = [record for record in option_records(recipe, option, records) if record["status"] == "done"]
    stand_in = option.grade == "stand-in" or any(record["dataset"]["stand_in"] for record in used)
    grade = "stand-in" if stand_in else option.grade
    by_method = {method: [r for r in used if r["method"] == method] for method in times.methods}
    seconds = {method: [record["time"]["fit"] for record in found] for method, found in by_method.items()}
    ours = {method: fmean(found) if found else None for method, found in seconds.items()}
    spread = {method: stdev(found) if times.spread and len(found) > 1 else None for method, found in seconds.items()}
    dataset = used[0]["dataset"]["name"] if used else option.dataset
    return Comparison(
        title=f"{times.table} of {recipe.paper} beside ours on {dataset} ({GRADES[grade]})",
        recipe=recipe.name,
        dataset=dataset,
        grade=grade,
        cells=tuple(
            ComparedCell(name, SECONDS, ours[name], paper, None, spread[name], times.spread.get(name))
            for name, paper in times.expected.items()
        ),
        claims=(_judge(times, ours, by_method, grade),),
        notes=(f"data: {option.note}", *_certificates(by_method), *(f"protocol: {line}" for line in times.protocol)),
    )


def _judge(
    times: TimesTable, ours: Mapping[str, float | None], by_method: Mapping[str, Sequence[Record]], grade: str
) -> ClaimResult:
    """Judge by the ratio of the seconds; a slower method that stopped early took at least what it took."""
    found = [_faster(times, slow, ours, by_method) for slow in times.faster_first[1:]]
    orderings = {ordering for ordering, _ in found}
    ordering = next((worst for worst in ("failed", "undecided") if worst in orderings), "held")
    verdict = "not comparable" if grade == "stand-in" else ordering
    details = tuple(detail for _, detail in found)
    return ClaimResult(times.claim, verdict, ordering, details, f"claim '{times.claim}': {ordering} ({GRADES[grade]})")


def _faster(
    times: TimesTable, slow: str, ours: Mapping[str, float | None], by_method: Mapping[str, Sequence[Record]]
) -> tuple[str, str]:
    """Tell whether the first method is faster than `slow`, and by how much."""
    fast = times.faster_first[0]
    paper = f"the paper's ratio is {times.expected[slow] / times.expected[fast]:.0f}"
    quick, long = ours[fast], ours[slow]
    if quick is None or long is None or not _all_converged(by_method[fast]):
        return "undecided", f"no pair of times at the same gap; {paper}"
    early = not _all_converged(by_method[slow])
    ratio = f"{slow} took {'more than ' if early else ''}{long / quick:.1f} times as long as {fast}"
    # A method that was stopped early says nothing by being faster until then.
    ordering = "held" if long > times.factor * quick else "undecided" if early else "failed"
    return ordering, f"{ratio}; {paper}"


def _all_converged(found: Sequence[Record]) -> bool:
    return all(record["info"]["converged"] for record in found)


def _certificates(by_method: Mapping[str, Sequence[Record]]) -> list[str]:
    """Return of each method how far it got, since seconds mean nothing without it."""
    lines = []
    for method, found in by_method.items():
        for record in found:
            info = record["info"]
            end = "reached" if info["converged"] else "stopped at"
            gap = f"{info['optimality']:.1e}" if info["optimality"] is not None else "unknown"
            lines.append(f"{method} ({record['split']}): {end} relative gap {gap} after {info['n_iter']} iterations")
    return lines
