"""Whether what a paper claims of its methods holds in our runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.metrics import METRICS
from mlrank.recipes.evidence import ALPHA, Decision, PartEvidence, better, decide, within
from mlrank.recipes.recipe import GRADES, Claim
from mlrank.records import RunRecord
from mlrank.stats import say_p

__all__ = [
    "ClaimResult",
    "claim_line",
    "combined",
    "judge",
    "judge_claims",
    "share_of",
    "test_words",
    "values_over_splits",
]

Values = Mapping[str, FloatArray | None]
# How many pairs that came out otherwise are spelled out.
SPELLED_OUT = 4


@dataclass(frozen=True)
class ClaimResult:
    """What became of one claim.

    Parameters
    ----------
    text : the paper's claim
    verdict : key of CLAIM_VERDICTS, or "not comparable" on stand-in data
    ordering : "holds", "fails" or "undecided": what it would be whatever the data
    test : the test by which, or why none is possible
    p : its p-value; None where the order of the values alone decided
    details : what was found in each metric, one line each
    line : the verdict in words
    """

    text: str
    verdict: str
    ordering: str
    test: str
    p: float | None
    details: tuple[str, ...]
    line: str


def values_over_splits(
    records: Sequence[RunRecord], method: str, metric: str, splits: Sequence[str]
) -> FloatArray | None:
    """Return the values in the order of the splits; None unless every split has one, as others are not comparable."""
    done = {r.split: r for r in records if r.method == method and r.done}
    values = [done[split].value(metric) for split in splits if split in done]
    if len(values) < len(splits) or not values or None in values:
        return None
    return np.array(values, dtype=np.float64)


def share_of(records: Sequence[RunRecord]) -> float:
    """Return how many test rows there are for each training row, the mean over the records; 0 without any."""
    return fmean(r.dataset.n_test / r.dataset.n_train for r in records) if records else 0.0


def judge_claims(
    claims: Sequence[Claim],
    records: Sequence[RunRecord],
    splits: Sequence[str],
    grade: str,
    printed: Mapping[str, Mapping[str, float | None]],
) -> tuple[ClaimResult, ...]:
    """Judge the claims on a table, the paper's own numbers first, and then ours with Holm's correction over all.

    Parameters
    ----------
    printed : the numbers that the paper prints, by method and metric
    """
    found = [judge(claim, records, splits, grade) for claim in claims]
    corrected = _holm([result.p for result in found])
    results = []
    for claim, result, p in zip(claims, found, corrected, strict=True):
        if p is not None and p > ALPHA >= (result.p or 0.0) and result.ordering in ("holds", "fails"):
            words = f"{result.ordering} by itself, not with Holm's correction over {len(claims)} claims, {say_p(p)}"
            verdict = result.verdict if result.verdict in ("not comparable", "other data") else "undecided"
            line = claim_line(claim.text, "undecided", grade, f"{result.test}; {words}")
            result = replace(result, verdict=verdict, ordering="undecided", line=line)
        against = _against_print(claim, printed)
        if against and grade != "stand-in":
            line = f"claim '{claim.text}': contradicts its own table ({against}); ours: {result.ordering}"
            result = replace(result, verdict="contradicts its own table", line=line)
        results.append(result)
    return tuple(results)


def _holm(ps: Sequence[float | None]) -> list[float | None]:
    """Return p-values with Holm's correction over those that are there."""
    tested = sorted((p, place) for place, p in enumerate(ps) if p is not None)
    found: list[float | None] = [None] * len(ps)
    largest = 0.0
    for rank, (p, place) in enumerate(tested):
        largest = max(largest, min(1.0, (len(tested) - rank) * p))
        found[place] = largest
    return found


def _against_print(claim: Claim, printed: Mapping[str, Mapping[str, float | None]]) -> str:
    """Return where the numbers that a paper prints contradict a claim of it; "" if they do not, or are not there."""
    for metric in claim.metrics:
        numbers = {method: printed.get(method, {}).get(metric) for method in claim.methods}
        values = {method: None if value is None else np.array([value]) for method, value in numbers.items()}
        if any(value is None for value in values.values()):
            continue
        parts, needed, _ = _evidence(claim, metric, values, 0.0)
        contrary = [pair for pair, part in parts.items() if part.as_claimed is False]
        if len(parts) - len(contrary) < needed:
            shown = ", ".join(f"{a} {numbers[a]:g} and {b} {numbers[b]:g}" for a, b in contrary[:SPELLED_OUT])
            return f"{metric}: {shown}"
    return ""


def judge(claim: Claim, records: Sequence[RunRecord], splits: Sequence[str], grade: str) -> ClaimResult:
    """Judge one claim, of whichever form, in each of its metrics."""
    decisions, details = [], []
    share = share_of([record for record in records if record.done])
    for metric in claim.metrics:
        ours = {method: values_over_splits(records, method, metric, splits) for method in claim.methods}
        parts, needed, detail = _evidence(claim, metric, ours, share)
        decision = decide(list(parts.values()), needed, len(claim.metrics))
        decisions.append(decision)
        detail += _counted(list(parts.values()))
        details.append(detail if decision.p is None else f"{detail}: {decision.verdict}, {say_p(decision.p)}")
    return combined(claim.text, decisions, details, len(splits), grade)


def combined(
    text: str, decisions: Sequence[Decision], details: Sequence[str], n_splits: int, grade: str
) -> ClaimResult:
    """Return the verdict on a claim that must hold in every decision; one failure is enough to fail."""
    verdicts = [decision.verdict for decision in decisions]
    ordering = next((worst for worst in ("fails", "undecided") if worst in verdicts), "holds")
    ps = [d.p for d in decisions if d.verdict == ordering and d.p is not None]
    p = (min if ordering == "fails" else max)(ps, default=None)
    test = test_words(n_splits, any(decision.p is not None for decision in decisions))
    if n_splits == 1:
        ordering, p = "undecided", None
    verdict = {"stand-in": "not comparable", "related": "other data"}.get(grade, ordering)
    line = claim_line(text, ordering, grade, test if p is None else f"{test}, {say_p(p)}")
    return ClaimResult(text, verdict, ordering, test, p, tuple(details), line)


def test_words(n_splits: int, tested: bool) -> str:
    """Return by what a claim was judged."""
    if tested:
        return f"corrected resampled t-test over {n_splits} splits, one-sided"
    why = "one split" if n_splits == 1 else "values are missing, tied or without spread"
    return f"order only, no test possible: {why}"


Evidence = tuple[Mapping[tuple[str, str], PartEvidence], int, str]


def _evidence(claim: Claim, metric: str, ours: Values, share: float) -> Evidence:
    """Return the evidence on each pair of methods, how many pairs must be as claimed, and all of it in words."""
    sign = METRICS[metric].sign
    if claim.best is not None:
        parts = {(claim.best, m): better(ours[claim.best], ours[m], sign, share) for m in ours if m != claim.best}
        return parts, len(parts) - claim.places + 1, f"{metric}, best first: {_listed(ours, sign)}"
    if claim.close:
        parts = {(a, b): within(ours[a], ours[b], claim.within, share) for a, b in claim.close}
        margin = f"within {claim.within:g} of each other (a margin of ours)"
        return parts, len(parts), _in_words(metric, margin, parts, ours)
    pairs = claim.pairs or tuple(combinations(claim.order or (), 2))
    parts = {(a, b): better(ours[a], ours[b], sign, share) for a, b in pairs}
    ranking = f"{metric}, best first: {_listed(ours, sign)}"
    return parts, len(parts), ranking if claim.order else _in_words(metric, "in this order", parts, ours)


def _in_words(metric: str, how: str, found: Mapping[tuple[str, str], PartEvidence], ours: Values) -> str:
    others = [pair for pair, part in found.items() if not part.as_claimed]
    text = f"{metric}: {len(found) - len(others)} of {len(found)} pairs {how}"
    if not others:
        return text
    shown = ", ".join(f"{_named(a, ours)} and {_named(b, ours)}" for a, b in others[:SPELLED_OUT])
    more = f" and {len(others) - SPELLED_OUT} more" if len(others) > SPELLED_OUT else ""
    return f"{text}; not {shown}{more}"


def _counted(parts: Sequence[PartEvidence]) -> str:
    """Return how many pairs are in order, shown one by one, and on how many splits, with the largest plain p."""
    n_splits = sum(part.n_splits for part in parts)
    if not n_splits or all(part.n_splits == 1 for part in parts):
        return ""
    in_order = sum(part.as_claimed is True for part in parts)
    shown = sum(part.p is not None and part.p <= ALPHA for part in parts)
    wins = sum(part.wins for part in parts)
    plain = [part.plain for part in parts if part.plain is not None]
    largest = f", largest uncorrected p {max(plain):.2g}" if plain else ""
    return f"; {in_order} of {len(parts)} pairs in order, {shown} shown, on {wins} of {n_splits} splits{largest}"


def _named(method: str, ours: Values) -> str:
    values = ours[method]
    return f"{method} missing" if values is None else f"{method} {values.mean():.4f}"


def _listed(ours: Values, sign: float) -> str:
    known = {method: float(values.mean()) for method, values in ours.items() if values is not None}
    ranked = sorted(known, key=lambda method: -sign * known[method])
    return ", ".join(_named(method, ours) for method in [*ranked, *(m for m in ours if m not in known)])


_STAND_IN = {
    "holds": "the methods came out in this order here",
    "fails": "the methods came out in another order here",
    "undecided": "the order is undecided here",
}


_THERE = {"holds": "borne out", "fails": "contradicted", "undecided": "undecided"}


def claim_line(text: str, ordering: str, grade: str, how: str) -> str:
    """Return the verdict on a claim in words."""
    if grade == "related":
        return f"claim '{text}': on a related collection, where it is {_THERE[ordering]} ({how})"
    if grade == "stand-in":
        return f"claim '{text}': on stand-in data, says nothing about the paper ({_STAND_IN[ordering]})"
    return f"claim '{text}': {ordering} ({GRADES[grade]}; {how})"
