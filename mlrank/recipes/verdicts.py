"""The rules by which our numbers and the papers' are set against each other."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.recipes.evidence import ALPHA
from mlrank.stats import resampled_t, say_p

__all__ = ["CELL_VERDICTS", "CLAIM_VERDICTS", "NEAR", "NEAR_SHARE", "CellVerdict", "judge_cell", "printed_decimals"]

# No further apart than this, nor than this share of the paper's number.
NEAR, NEAR_SHARE = 0.02, 0.1

_NEAR = f"at most {NEAR:g} and at most {NEAR_SHARE:.0%} of the paper's number apart"
_EQUAL = (
    "the paper's number lies within our 95% interval over the splits (corrected resampled t), or is ours when rounded "
    "to the digits that the paper prints"
)

CELL_VERDICTS: Mapping[str, str] = {
    "matches": f"Our number and the paper's agree: {_EQUAL}; and the two are near: {_NEAR}. Never given for stand-in "
    "data or of a related collection.",
    "close": f"One of the two conditions of 'matches' is met: near ({_NEAR}), or within our interval, which is then "
    "wide. On a related collection also where both are. On one split there is no interval.",
    "differs": "Our number is neither near the paper's nor is the paper's within our interval.",
    "not comparable": "No verdict: stand-in data, no number in the paper, no number of ours on every split, or "
    "seconds, which are those of another machine.",
}

_BY = "corrected resampled t-test (Nadeau & Bengio), one-sided, over the splits"
CLAIM_VERDICTS: Mapping[str, str] = {
    "holds": f"What a claim says is shown in each of its metrics at {ALPHA:g}, by the {_BY}: all pairs of methods, so "
    "the largest p-value counts (of a claim on the best k, the k-th largest, times k). On one split no test is "
    "possible: the order of the values decides, and the verdict says so.",
    "fails": f"The contrary of a part of the claim is shown at {ALPHA:g} by the {_BY}: the smallest p-value, times the "
    "number of pairs and of metrics (of a claim on the best k, the k-th smallest, times the pairs less k - 1 and the "
    "metrics). On one split the order of the values decides, and the verdict says so.",
    "undecided": "Neither the claim nor its contrary is shown, or values are tied or missing.",
}


class CellVerdict(NamedTuple):
    """A verdict of CELL_VERDICTS and the reason for it."""

    verdict: str
    reason: str


def printed_decimals(numbers: Iterable[float | None]) -> int:
    """Return how many decimals a paper prints: the most that any of its numbers has.

    Zeros at the end are lost where numbers are read, so neither a number alone nor a column of few tells: .2 may be
    printed as .200, and in one decimal .25 would be the same. The most of all is the strictest reading.

    >>> printed_decimals([0.646, 0.6496, None])
    4
    """
    return max((len(repr(number).partition(".")[2]) for number in numbers if number is not None), default=0)


def judge_cell(
    values: FloatArray | None, paper: float | None, grade: str, decimals: int, test_share: float
) -> CellVerdict:
    """Return what our values over the splits say of the paper's number.

    Parameters
    ----------
    values : (n_splits,) or None
        None unless every split has one.
    grade : key of GRADES
    decimals : how many the paper prints
    test_share : test rows for each training row
    """
    if grade == "stand-in":
        return CellVerdict("not comparable", "stand-in data: nothing in them is the paper's")
    if paper is None:
        return CellVerdict("not comparable", "the paper gives no number")
    if values is None:
        return CellVerdict("not comparable", "no number of ours on every split")
    difference = float(values.mean()) - paper
    near = abs(difference) <= min(NEAR, NEAR_SHARE * abs(paper))
    rounded = bool(np.isclose(round(float(values.mean()), decimals), paper, rtol=0, atol=1e-12))
    inside, where = _interval(values, paper, test_share)
    agrees = inside or rounded
    size = f"{abs(difference):.{decimals}f} {'above' if difference > 0 else 'below'} the paper's"
    if rounded:
        size = f"the paper's number in the {decimals} decimals it prints"
    reason = f"{size}; {where}"
    if not (near or agrees):
        return CellVerdict("differs", reason)
    if near and agrees and grade != "related":
        return CellVerdict("matches", reason)
    if near and agrees:
        return CellVerdict("close", f"{reason}; of a related collection, so no match")
    return CellVerdict("close", reason)


def _interval(values: FloatArray, paper: float, test_share: float) -> tuple[bool, str]:
    """Return whether the paper's number is within our interval, and that in words."""
    if values.size == 1:
        return False, "one split gives no interval"
    test = resampled_t(values - paper, test_share)
    if test is None:
        return False, f"the same on {values.size} splits, so no interval"
    inside = test.low <= 0.0 <= test.high
    ends = f"{test.low + paper:.4f} to {test.high + paper:.4f}"
    where = "within" if inside else "outside"
    return inside, f"paper's {where} our 95% interval {ends} over {values.size} splits ({say_p(test.p)})"
