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
from mlrank.stats import holm, say_p

__all__ = [
    "ClaimResult",
    "beside_print",
    "combined",
    "corrected",
    "judge_claims",
    "share_of",
    "support",
    "values_over_splits",
]

Values = Mapping[str, FloatArray | None]
Printed = Mapping[str, Mapping[str, float | None]]
# How many pairs that came out otherwise are spelled out.
SPELLED_OUT = 4


@dataclass(frozen=True)
class ClaimResult:
    """What became of one claim.

    Parameters
    ----------
    text : the paper's claim
    verdict : key of CLAIM_VERDICTS, or "not comparable" on stand-in data
    ordering : "holds", "fails" or "undecided": what our runs say, whatever the data and the paper's numbers are
    test : the test by which, or why none is possible
    p : its p-value; None where there was none
    p_holm : the same with Holm's correction over the claims of the table; None without p and where there is one claim
    details : what was found in each metric, one line each
    how : the test and its p-values in words
    line : the verdict in words
    """

    text: str
    verdict: str
    ordering: str
    test: str
    p: float | None
    p_holm: float | None
    details: tuple[str, ...]
    how: str
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
    printed: Printed,
) -> tuple[ClaimResult, ...]:
    """Judge the claims on a table by the paper's own numbers, and by ours with Holm's correction over all claims.

    Parameters
    ----------
    printed : the numbers that the paper prints, by method and metric
    """
    alone = [_judge(claim, records, splits, grade) for claim in claims]
    return tuple(
        beside_print(result, _against_print(claim, printed), grade)
        for claim, result in zip(claims, corrected(alone, grade), strict=True)
    )


def corrected(alone: Sequence[ClaimResult], grade: str) -> list[ClaimResult]:
    """Return the results with Holm's correction over all of them."""
    # A claim without a p-value is one of the claims all the same, so that the others do not gain by what is missing.
    ps = holm([1.0 if result.p is None else result.p for result in alone])
    return [_corrected(result, p, len(alone), grade) for result, p in zip(alone, ps, strict=True)]


def _corrected(result: ClaimResult, p_holm: float, n_claims: int, grade: str) -> ClaimResult:
    """Return the result with Holm's correction, after which what was shown may be undecided."""
    if result.p is None or n_claims == 1:
        return result
    how = f"{result.how}, with Holm's correction over {n_claims} claims {say_p(p_holm)}"
    ordering = result.ordering if p_holm <= ALPHA else "undecided"
    return _named_verdict(replace(result, ordering=ordering, how=how, p_holm=p_holm), grade)


def beside_print(result: ClaimResult, against: str, grade: str) -> ClaimResult:
    """Return the verdict that the paper's own numbers contradict a claim, if they do: `against` says where."""
    if not against:
        return result
    verdict = "contradicts its own table"
    line = f"claim '{result.text}': {verdict} ({against}); ours: {_found(result.ordering, grade, result.how)}"
    return replace(result, verdict=verdict, line=line)


def _against_print(claim: Claim, printed: Printed) -> str:
    """Return where the numbers that a paper prints contradict a claim of it; "" if they do not, or are not there."""
    if claim.close:  # how near is close is for us to say, so numbers further apart would only deny our margin
        return ""
    against = []
    for metric in claim.metrics:
        numbers = {method: printed.get(method, {}).get(metric) for method in claim.methods}
        values = {method: None if value is None else np.array([value]) for method, value in numbers.items()}
        parts, needed, _ = _evidence(claim, metric, values, 0.0)
        contrary = [pair for pair, part in parts.items() if part.as_claimed is False]
        if len(parts) - len(contrary) < needed:
            shown = ", ".join(f"{a} {numbers[a]:g} and {b} {numbers[b]:g}" for a, b in contrary[:SPELLED_OUT])
            others = f"{len(contrary)} of {len(parts)} pairs the other way round"
            against.append(f"{metric} as printed: {others}, {shown}{_more(contrary)}")
    return "; ".join(against)


def _judge(claim: Claim, records: Sequence[RunRecord], splits: Sequence[str], grade: str) -> ClaimResult:
    """Judge one claim, of whichever form, in each of its metrics."""
    decisions, details = [], []
    share = share_of([record for record in records if record.done])
    for metric in claim.metrics:
        ours = {method: values_over_splits(records, method, metric, splits) for method in claim.methods}
        parts, needed, detail = _evidence(claim, metric, ours, share)
        decision = decide(list(parts.values()), needed, len(claim.metrics))
        decisions.append(decision)
        words = "" if decision.p is None else f"; {_SHOWN[decision.verdict]}, {say_p(decision.p)}"
        details.append(f"{detail}{support(list(parts.values()))}{words}")
    return combined(claim.named, decisions, details, len(splits), grade)


_SHOWN = {"holds": "shown", "fails": "the contrary shown", "undecided": "not shown"}


def combined(
    text: str, decisions: Sequence[Decision], details: Sequence[str], n_splits: int, grade: str
) -> ClaimResult:
    """Return the verdict on a claim that must hold in every decision; one failure is enough to fail."""
    verdicts = [decision.verdict for decision in decisions]
    ordering = next((worst for worst in ("fails", "undecided") if worst in verdicts), "holds")
    ps = [d.p for d in decisions if d.verdict == ordering and d.p is not None]
    p = (min if ordering == "fails" else max)(ps, default=None)
    test = _test_words(n_splits, any(decision.p is not None for decision in decisions))
    how = test if p is None else f"{test}, {say_p(p)}"
    if n_splits == 1:
        ordering = "undecided"
    return _named_verdict(ClaimResult(text, "", ordering, test, p, None, tuple(details), how, ""), grade)


def _named_verdict(result: ClaimResult, grade: str) -> ClaimResult:
    """Return the result with the verdict that what was found makes on data of a grade."""
    verdict = {"stand-in": "not comparable", "related": "other data"}.get(grade, result.ordering)
    line = f"claim '{result.text}': {_found(result.ordering, grade, result.how)}"
    return replace(result, verdict=verdict, line=line)


def _test_words(n_splits: int, tested: bool) -> str:
    """Return by what a claim was judged."""
    if tested:
        return f"corrected resampled t-test over {n_splits} splits, one-sided"
    if n_splits == 1:
        return "no test possible: one split"
    return "order only, no test possible: values are missing, tied or without spread"


Evidence = tuple[Mapping[tuple[str, str], PartEvidence], int, str]


def _evidence(claim: Claim, metric: str, ours: Values, share: float) -> Evidence:
    """Return the evidence on each pair of methods, how many pairs must be as claimed, and all of it in words."""
    sign = METRICS[metric].sign
    if claim.best is not None:
        parts = {(claim.best, m): better(ours[claim.best], ours[m], sign, share) for m in ours if m != claim.best}
        return parts, len(parts) - claim.places + 1, _ranked(metric, parts, ours, sign)
    if claim.close:
        parts = {(a, b): within(ours[a], ours[b], claim.within, share) for a, b in claim.close}
        margin = f"within {claim.within:g} of each other (a margin of ours)"
        return parts, len(parts), _in_words(metric, margin, parts, ours)
    pairs = claim.pairs or tuple(combinations(claim.order or (), 2))
    parts = {(a, b): better(ours[a], ours[b], sign, share) for a, b in pairs}
    if claim.order:
        return parts, len(parts), _ranked(metric, parts, ours, sign)
    return parts, len(parts), _in_words(metric, "in this order", parts, ours)


def _ranked(metric: str, found: Mapping[tuple[str, str], PartEvidence], ours: Values, sign: float) -> str:
    in_order = sum(part.as_claimed is True for part in found.values())
    return f"{metric}, best first: {_listed(ours, sign)}; {in_order} of {len(found)} pairs as claimed"


def _in_words(metric: str, how: str, found: Mapping[tuple[str, str], PartEvidence], ours: Values) -> str:
    others = [pair for pair, part in found.items() if not part.as_claimed]
    text = f"{metric}: {len(found) - len(others)} of {len(found)} pairs {how}"
    if not others:
        return text
    shown = ", ".join(f"{_named(a, ours)} and {_named(b, ours)}" for a, b in others[:SPELLED_OUT])
    return f"{text}; not {shown}{_more(others)}"


def _more(pairs: Sequence[tuple[str, str]]) -> str:
    return f" and {len(pairs) - SPELLED_OUT} more" if len(pairs) > SPELLED_OUT else ""


def support(parts: Sequence[PartEvidence]) -> str:
    """Return how many pairs are shown one by one, on how many splits they are as claimed, and the largest plain p."""
    n_splits = max((part.n_splits for part in parts), default=0)
    if n_splits <= 1:
        return ""
    shown = sum(part.p is not None and part.p <= ALPHA for part in parts)
    wins, trials = sum(part.wins for part in parts), sum(part.n_splits for part in parts)
    plain = [part.plain for part in parts if part.plain is not None]
    largest = f", largest uncorrected p {max(plain):.2g}" if plain else ""
    pairs = f"{shown} of {len(parts)} pairs shown one by one"
    return f"; {pairs}, as claimed on {wins} of {trials} splits of pairs{largest}"


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


def _found(ordering: str, grade: str, how: str) -> str:
    """Return in words what became of a claim on data of a grade."""
    if grade == "related":
        return f"on a related collection, where it is {_THERE[ordering]} ({how})"
    if grade == "stand-in":
        return f"on stand-in data, says nothing about the paper ({_STAND_IN[ordering]})"
    return f"{ordering} ({GRADES[grade]}; {how})"
