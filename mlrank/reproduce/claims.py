"""Whether what a paper claims of its methods holds in our runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, stdev
from typing import Any

from mlrank.metrics import METRICS
from mlrank.reproduce.recipe import GRADES, Claim

__all__ = ["ClaimResult", "Record", "judge", "mean_over_splits", "spread_over_splits"]

Record = Mapping[str, Any]
TIE = 1e-12
# How many pairs that came out otherwise are spelled out.
SPELLED_OUT = 4


@dataclass(frozen=True)
class ClaimResult:
    """What became of one claim.

    Parameters
    ----------
    text : the paper's claim
    verdict : "held", "failed", "undecided", or "not comparable" on stand-in data
    ordering : "held", "failed" or "undecided": whether the methods came out as claimed, whatever the data
    details : what was found in each metric, one line each
    line : the verdict in words
    """

    text: str
    verdict: str
    ordering: str
    details: tuple[str, ...]
    line: str


def mean_over_splits(records: Sequence[Record], method: str, metric: str, n_splits: int) -> float | None:
    """Return the mean over the splits; None unless every split has a value, since others would not be comparable."""
    done = [record for record in records if record["method"] == method and record["status"] == "done"]
    values = [record["metrics"].get(metric, {}).get("value") for record in done]
    if len(values) < n_splits or not values or None in values:
        return None
    return fmean(values)


def spread_over_splits(records: Sequence[Record], method: str, metric: str) -> float | None:
    """Return the standard deviation over the splits that have a value; None for a single one."""
    done = [record for record in records if record["method"] == method and record["status"] == "done"]
    values = [record["metrics"][metric]["value"] for record in done]
    return stdev(values) if len(values) > 1 else None


def judge(claim: Claim, records: Sequence[Record], n_splits: int, grade: str) -> ClaimResult:
    """Judge one claim, of whichever form, by the means over the splits."""
    verdicts, details = [], []
    for metric in claim.metrics:
        ours = {method: mean_over_splits(records, method, metric, n_splits) for method in claim.methods}
        verdict, detail = _found(claim, metric, ours)
        verdicts.append(verdict)
        details.append(detail)
    ordering = _worst(verdicts)
    verdict = "not comparable" if grade == "stand-in" else ordering
    return ClaimResult(claim.text, verdict, ordering, tuple(details), _line(claim.text, ordering, grade))


def _found(claim: Claim, metric: str, ours: Mapping[str, float | None]) -> tuple[str, str]:
    sign = 1.0 if METRICS[metric].higher_is_better else -1.0
    if claim.order:
        verdict = _worst([_better(ours[a], ours[b], sign) for a, b in combinations(claim.order, 2)])
        return verdict, f"{metric}, best first: {_listed(ours, sign)}"
    if claim.pairs:
        verdicts = {(a, b): _better(ours[a], ours[b], sign) for a, b in claim.pairs}
        return _worst(verdicts.values()), _told(metric, "in this order", verdicts, ours)
    if claim.best is not None:
        verdict = _among_the_best(claim.best, ours, claim.places, sign)
        return verdict, f"{metric}, best first: {_listed(ours, sign)}"
    verdicts = {(a, b): _close(ours[a], ours[b], claim.within) for a, b in claim.close or ()}
    return _worst(verdicts.values()), _told(metric, f"within {claim.within:g} of each other", verdicts, ours)


def _better(better: float | None, worse: float | None, sign: float) -> str:
    if better is None or worse is None or abs(better - worse) <= TIE:
        return "undecided"
    return "held" if sign * (better - worse) > 0 else "failed"


def _among_the_best(method: str, ours: Mapping[str, float | None], places: int, sign: float) -> str:
    """Return whether fewer than `places` others are better; what ties or is missing might be better or not."""
    found = [_better(value, ours[method], sign) for other, value in ours.items() if other != method]
    if found.count("held") >= places:
        return "failed"
    return "held" if found.count("held") + found.count("undecided") < places else "undecided"


def _close(one: float | None, other: float | None, within: float) -> str:
    if one is None or other is None:
        return "undecided"
    return "held" if abs(one - other) <= within else "failed"


def _worst(verdicts: Iterable[str]) -> str:
    """Return the verdict on all; one that failed is enough to fail, whatever is missing."""
    found = set(verdicts)
    return next((verdict for verdict in ("failed", "undecided") if verdict in found), "held")


def _told(metric: str, how: str, verdicts: Mapping[tuple[str, str], str], ours: Mapping[str, float | None]) -> str:
    held = sum(verdict == "held" for verdict in verdicts.values())
    others = [pair for pair, verdict in verdicts.items() if verdict != "held"]
    text = f"{metric}: {held} of {len(verdicts)} pairs {how}"
    if not others:
        return text
    shown = ", ".join(f"{_named(a, ours)} and {_named(b, ours)}" for a, b in others[:SPELLED_OUT])
    more = f" and {len(others) - SPELLED_OUT} more" if len(others) > SPELLED_OUT else ""
    return f"{text}; not {shown}{more}"


def _named(method: str, ours: Mapping[str, float | None]) -> str:
    value = ours[method]
    return f"{method} missing" if value is None else f"{method} {value:.4f}"


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
