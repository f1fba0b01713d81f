"""The rules by which our numbers and the papers' are set against each other."""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.recipes.evidence import ALPHA
from mlrank.stats import say_p

__all__ = ["CELL_VERDICTS", "CLAIM_VERDICTS", "NEAR", "NEAR_SHARE", "CellVerdict", "judge_cell", "printed_decimals"]

# No further apart than this, nor than this share of the paper's number.
NEAR, NEAR_SHARE = 0.02, 0.1

_NEAR = f"at most {NEAR:g} and at most {NEAR_SHARE:.0%} of the paper's number apart"
_EQUAL = (
    "new partitions of the same data could give the paper's mean (a 95% interval for the difference of two means, over "
    "our splits and as many of the paper's, whose spread is taken to be ours where it prints none), or the paper's "
    "number is ours when rounded to the digits that it prints"
)

CELL_VERDICTS: Mapping[str, str] = {
    "matches": f"Our number and the paper's agree: {_EQUAL}; and the two are near: {_NEAR}. Never given for stand-in "
    "data or of a related collection.",
    "close": f"Near ({_NEAR}), but not in agreement as 'matches' asks for; or in agreement on a related collection. On "
    "one split there is no interval, so nothing but the rounded number can agree.",
    "differs": "Our number is not near the paper's, however wide our interval is.",
    "not attainable as named": "On every split of the paper's own data a predictor that sees no features (no label, "
    "every label, the most frequent one, or labels in the order of their frequency; with true sizes where the methods "
    "have them) is better than all numbers that the paper prints in this measure: whatever they are, they are hardly "
    "what they are called. A number that is below alone is a note, as a method may be that bad.",
    "not comparable": "No verdict: stand-in data, no number in the paper, no number of ours on every split, or "
    "seconds, which are those of another machine.",
}

_BY = "corrected resampled t-test (Nadeau & Bengio), one-sided, over the splits"
_ON_TOP = (
    "Holm's correction over all claims of the table comes on top. Where a difference is the same on each of several "
    "splits there is nothing to test, and its sign counts."
)
CLAIM_VERDICTS: Mapping[str, str] = {
    "holds": f"What a claim says is shown in each of its metrics at {ALPHA:g}, by the {_BY}: all pairs of methods, so "
    f"the largest p-value counts (of a claim on the best k, the k-th largest, times k). {_ON_TOP}",
    "fails": f"The contrary of a part of the claim is shown at {ALPHA:g} by the {_BY}: the smallest p-value, times the "
    "number of pairs and of metrics (of a claim on the best k, the k-th smallest, times the pairs less k - 1 and the "
    f"metrics). {_ON_TOP}",
    "undecided": "Neither the claim nor its contrary is shown, or values are tied or missing, or there is one split, "
    "of which the order alone says little.",
    "other data": "The claim was judged on a related collection: what is found there, in the line of the claim, is "
    "about that collection and not about the paper's.",
    "depends on the reading": "The recipe's own reading of what the paper leaves open and another one decide a claim "
    "differently: one of them holds where the other fails, or decides what the recipe leaves undecided. Being "
    "undecided is not deciding otherwise, and 5% of the readings may decide by luck. The choices that the readings on "
    "each side share are named, and the grid in which the readings were run, which may be quicker than the table's.",
    "contradicts its own table": "The numbers that the paper prints have a part of the claim the other way round, "
    "whatever ours are. Claims that methods are close are left out: their margins are ours, not the paper's.",
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
    values: FloatArray | None, paper: float | None, grade: str, decimals: int, spread: float | None = None
) -> CellVerdict:
    """Return what our values over the splits say of the paper's number.

    Parameters
    ----------
    values : (n_splits,) or None
        None unless every split has one.
    grade : key of GRADES
    decimals : how many the paper prints
    spread : standard deviation over the paper's splits, where it prints one
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
    inside, where = _interval(values, paper, spread)
    size = f"{abs(difference):.{decimals}f} {'above' if difference > 0 else 'below'} the paper's"
    if rounded:
        size = f"the paper's number in the {decimals} decimals it prints"
    reason = f"{size}; {where}"
    if not near:
        return CellVerdict("differs", reason)
    if not (inside or rounded):
        return CellVerdict("close", reason)
    if grade == "related":
        return CellVerdict("close", f"{reason}; of a related collection, so no match")
    return CellVerdict("matches", reason)


def _interval(values: FloatArray, paper: float, spread: float | None) -> tuple[bool, str]:
    """Return whether new partitions of the data could give the paper's mean, and that in words.

    Both means are over as many splits, drawn anew from the same rows, so the variance of their difference is the sum
    of the two variances of a mean. One variance estimated for both has the degrees of freedom of one sample.
    """
    from scipy.stats import t as student_t

    n = values.size
    if n == 1:
        return False, "one split gives no interval"
    variance = float(values.var(ddof=1))
    if np.ptp(values) == 0 and not spread:
        return False, f"the same on {n} splits, so no interval"
    theirs, freedom = (variance, n - 1) if spread is None else (spread**2, 2 * (n - 1))
    mean = float(values.mean())
    error = math.sqrt((variance + theirs) / n)
    p = float(2 * student_t.sf(abs(mean - paper) / error, freedom))
    reach = float(student_t.ppf(0.975, freedom)) * error
    inside = abs(mean - paper) <= reach
    side = "within" if inside else "outside"
    how = "our spread for both" if spread is None else "our spread and its own"
    ends = f"{mean - reach:.4f} to {mean + reach:.4f}"
    return inside, f"paper's {side} the 95% interval {ends} of a mean over {n} new splits by {how} ({say_p(p)})"
