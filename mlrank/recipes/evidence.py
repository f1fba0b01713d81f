"""What runs say of a claim's parts: differences over the splits, tested where there are several."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.stats import resampled_t

__all__ = ["ALPHA", "Decision", "PartEvidence", "better", "decide", "partial_conjunction", "within"]

ALPHA = 0.05
TIE = 1e-12


class PartEvidence(NamedTuple):
    """What was found of one part of a claim.

    Parameters
    ----------
    as_claimed : bool or None
        By the means alone; None where they are tied or missing.
    p, contrary : float or None
        One-sided p-values against chance, that it is as claimed and that it is the other way round; None where no test
        is possible: values are missing, there is one split, or differences do not vary.
    plain : float or None
        The p-value of the same test without the correction for training rows that splits share.
    wins, n_splits : int
        On how many splits it is as claimed, and how many there are.
    """

    as_claimed: bool | None
    p: float | None = None
    contrary: float | None = None
    plain: float | None = None
    wins: int = 0
    n_splits: int = 0


class Decision(NamedTuple):
    """The verdict on several parts, and its p-value; None where the order alone decided."""

    verdict: str
    p: float | None


def better(better: FloatArray | None, worse: FloatArray | None, sign: float, test_share: float) -> PartEvidence:
    """Return whether the first method is better than the second.

    Parameters
    ----------
    better, worse : (n_splits,) or None
        Values on the same splits; None where one is missing.
    sign : 1 if larger is better, -1 if smaller
    test_share : test rows for each training row, of the corrected resampled t-test
    """
    if better is None or worse is None:
        return PartEvidence(None)
    d = sign * (better - worse)
    mean = float(d.mean())
    as_claimed = None if abs(mean) <= TIE else mean > 0
    wins, found = int(np.count_nonzero(d > TIE)), _above(d, test_share)
    if found is None:
        return PartEvidence(as_claimed, wins=wins, n_splits=d.size)
    p, plain = found
    return PartEvidence(as_claimed, p, 1.0 - p, plain, wins, d.size)


def within(one: FloatArray | None, other: FloatArray | None, most: float, test_share: float) -> PartEvidence:
    """Return whether two methods are no further apart than `most`, by two one-sided tests."""
    if one is None or other is None:
        return PartEvidence(None)
    d = one - other
    as_claimed = abs(float(d.mean())) <= most + TIE
    wins = int(np.count_nonzero(np.abs(d) <= most + TIE))
    above, below = _above(d + most, test_share), _above(most - d, test_share)
    if above is None or below is None:
        return PartEvidence(as_claimed, wins=wins, n_splits=d.size)
    p, plain = map(max, above, below)
    contrary = min(1.0, 2.0 * min(1.0 - above[0], 1.0 - below[0]))
    return PartEvidence(as_claimed, p, contrary, plain, wins, d.size)


def _above(d: FloatArray, test_share: float) -> tuple[float, float] | None:
    """Return one-sided p-values that the mean is above 0, corrected and plain; None where no test is possible."""
    corrected, plain = resampled_t(d, test_share), resampled_t(d, 0.0)
    if corrected is None or plain is None:
        return None
    p, other = (test.p / 2 if test.t > 0 else 1.0 - test.p / 2 for test in (corrected, plain))
    return p, other


def partial_conjunction(ps: Sequence[float], needed: int) -> float:
    """Return the p-value that at least `needed` of the parts are true (Benjamini & Heller 2008, after Bonferroni).

    The largest p where all are needed, Bonferroni's where one is enough.

    >>> partial_conjunction([0.01, 0.03], 2), partial_conjunction([0.01, 0.03], 1)
    (0.03, 0.02)
    """
    if needed > len(ps):
        return 1.0
    return min(1.0, (len(ps) - needed + 1) * float(np.sort(ps)[needed - 1]))


def decide(found: Sequence[PartEvidence], needed: int, n_metrics: int = 1) -> Decision:
    """Return whether at least `needed` parts are as claimed: "holds", "fails" or "undecided".

    Parts that cannot be tested are judged by the means alone.

    Parameters
    ----------
    n_metrics : in how many metrics a claim may fail: the p-value of a failure is multiplied by it
    """
    spare = len(found) - needed + 1
    untested = [part.as_claimed for part in found if part.p is None]
    ps = [part.p for part in found if part.p is not None]
    contraries = [part.contrary for part in found if part.contrary is not None]
    required, against = needed - untested.count(True), spare - untested.count(False)
    if against <= 0:
        return Decision("fails", None)
    if required <= 0:
        return Decision("holds", None)
    fails = min(1.0, n_metrics * partial_conjunction(contraries, against))
    if fails <= ALPHA:
        return Decision("fails", fails)
    if required > len(ps):  # something is missing or tied: no p-value can speak for it
        return Decision("undecided", None)
    holds = partial_conjunction(ps, required)
    return Decision("holds" if holds <= ALPHA else "undecided", holds)
