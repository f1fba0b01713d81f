"""The threshold that would have been right for each row, given its scores and its true labels.

Labels that are not known count neither as relevant nor as irrelevant, as if the row had no such label.
"""

from collections.abc import Callable

import numpy as np

from mlrank.arrays import BoolArray, FloatArray, IntArray

__all__ = ["TARGETS", "between", "ew", "midpoint", "min_error", "without_unknown"]

MARGIN = 0.1


def between(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the midpoints; `low` where rounding puts them on `high`, so that `high` exceeds it and `low` does not."""
    middle = low / 2 + high / 2
    return np.where((middle >= high) & (low < high), low, middle)


def without_unknown(scores: FloatArray, known: BoolArray | None, axis: int) -> FloatArray:
    """Return the scores with those of unknown entries moved onto the highest known one of their row or column.

    They then stand at no place of their own: a cut between two distinct scores is one between known entries.
    """
    if known is None:
        return scores
    highest = np.where(known, scores, -np.inf).max(axis=axis, keepdims=True)
    return np.where(known, scores, np.where(np.isfinite(highest), highest, 0.0))


def midpoint(scores: FloatArray, Y: BoolArray, known: BoolArray | None = None) -> FloatArray:
    """Return of each row the middle between its lowest relevant and its highest irrelevant score.

    NaN for a row without relevant or without irrelevant labels. The target of the Rank-HLapSVM paper, section 3.4.
    """
    relevant, irrelevant = _classes(Y, known)
    lowest = np.where(relevant, scores, np.inf).min(axis=1)
    highest = np.where(irrelevant, scores, -np.inf).max(axis=1)
    target = np.full(len(scores), np.nan)
    mixed = _mixed(relevant, irrelevant)
    target[mixed] = between(highest[mixed], lowest[mixed])
    return target


def min_error(scores: FloatArray, Y: BoolArray, known: BoolArray | None = None) -> FloatArray:
    """Return of each row the threshold with the fewest wrong labels, the lowest of equally good ones.

    Candidates are the middles between neighbouring distinct scores, the lowest score less 0.1 and the highest plus 0.1.
    NaN for a row without relevant or without irrelevant labels. The target of Elisseeff and Weston, NIPS 2001, in the
    form that their method is commonly programmed in.
    """
    candidates, errors = _cuts(scores, Y, known)
    return _chosen(candidates, errors.argmin(axis=1), Y, known)


def ew(scores: FloatArray, Y: BoolArray, known: BoolArray | None = None) -> FloatArray:
    """Return of each row the middle between two scores with the fewest wrong labels, the highest of equally good ones.

    Some score lies on either side, as for `midpoint`; only if all scores of a row are equal is the choice that of
    `min_error` (highest). NaN for a row without relevant or without irrelevant labels. The other reading of Elisseeff
    and Weston's target.
    """
    candidates, errors = _cuts(scores, Y, known)
    errors[:, [0, -1]] += 2 * Y.shape[1] + 1
    return _chosen(candidates, Y.shape[1] - errors[:, ::-1].argmin(axis=1), Y, known)


def _cuts(scores: FloatArray, Y: BoolArray, known: BoolArray | None) -> tuple[FloatArray, IntArray]:
    """Return the candidates (n_samples, n_labels + 1) by rising value, and their wrong labels up to a constant per row.

    That number lies within +- n_labels; a cut between equal scores, which is none, has 4 n_labels + 2.
    """
    scores = without_unknown(scores, known, axis=1)
    order = np.argsort(scores, axis=1)
    relevant, irrelevant = _classes(Y, known)
    rising = np.take_along_axis(scores, order, axis=1)
    change = np.take_along_axis(relevant.astype(np.int64) - irrelevant, order, axis=1)
    low, high = rising[:, :-1], rising[:, 1:]
    candidates = np.hstack([rising[:, :1] - MARGIN, between(low, high), rising[:, -1:] + MARGIN])
    # Each further label cut off is one more wrong label if it is relevant and one fewer if it is not.
    errors = np.pad(np.cumsum(change, axis=1), ((0, 0), (1, 0)))
    errors[:, 1:-1][low == high] = 4 * Y.shape[1] + 2
    return candidates, errors


def _chosen(candidates: FloatArray, places: IntArray, Y: BoolArray, known: BoolArray | None) -> FloatArray:
    chosen = np.take_along_axis(candidates, places[:, None], axis=1)[:, 0]
    return np.where(_mixed(*_classes(Y, known)), chosen, np.nan)


def _classes(Y: BoolArray, known: BoolArray | None) -> tuple[BoolArray, BoolArray]:
    """Return which entries are relevant, and which irrelevant."""
    return (Y, ~Y) if known is None else (Y & known, ~Y & known)


def _mixed(relevant: BoolArray, irrelevant: BoolArray) -> BoolArray:
    return np.asarray(relevant.any(axis=1) & irrelevant.any(axis=1))


TARGETS: dict[str, Callable[[FloatArray, BoolArray, BoolArray | None], FloatArray]] = {
    "midpoint": midpoint,
    "min_error": min_error,
    "ew": ew,
}
