"""The threshold that would have been right for each row, given its scores and its true labels."""

from collections.abc import Callable

import numpy as np

from mlrank.arrays import BoolArray, FloatArray, IntArray

__all__ = ["TARGETS", "between", "ew", "midpoint", "min_error"]

MARGIN = 0.1


def between(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the midpoints; `low` where rounding puts them on `high`, so that `high` exceeds it and `low` does not."""
    middle = low / 2 + high / 2
    return np.where((middle >= high) & (low < high), low, middle)


def midpoint(scores: FloatArray, Y: BoolArray) -> FloatArray:
    """Return of each row the middle between its lowest relevant and its highest irrelevant score.

    NaN for a row without relevant or without irrelevant labels. The target of the Rank-HLapSVM paper, section 3.4.
    """
    lowest = np.where(Y, scores, np.inf).min(axis=1)
    highest = np.where(Y, -np.inf, scores).max(axis=1)
    return np.where(_mixed(Y), between(highest, lowest), np.nan)


def min_error(scores: FloatArray, Y: BoolArray) -> FloatArray:
    """Return of each row the threshold with the fewest wrong labels, the lowest of equally good ones.

    Candidates are the middles between neighbouring distinct scores, the lowest score less 0.1 and the highest plus 0.1.
    NaN for a row without relevant or without irrelevant labels. The target of Elisseeff and Weston, NIPS 2001, in the
    form that their method is commonly programmed in.
    """
    candidates, errors = _cuts(scores, Y)
    return _chosen(candidates, errors.argmin(axis=1), Y)


def ew(scores: FloatArray, Y: BoolArray) -> FloatArray:
    """Return of each row the middle between two scores with the fewest wrong labels, the highest of equally good ones.

    Some score lies on either side, as for `midpoint`; only if all scores of a row are equal is the choice that of
    `min_error` (highest). NaN for a row without relevant or without irrelevant labels. The other reading of Elisseeff
    and Weston's target.
    """
    candidates, errors = _cuts(scores, Y)
    errors[:, [0, -1]] += 2 * Y.shape[1] + 1
    return _chosen(candidates, Y.shape[1] - errors[:, ::-1].argmin(axis=1), Y)


def _cuts(scores: FloatArray, Y: BoolArray) -> tuple[FloatArray, IntArray]:
    """Return the candidates (n_samples, n_labels + 1) by rising value, and their wrong labels up to a constant per row.

    That number lies within +- n_labels; a cut between equal scores, which is none, has 4 n_labels + 2.
    """
    order = np.argsort(scores, axis=1)
    rising, relevant = np.take_along_axis(scores, order, axis=1), np.take_along_axis(Y, order, axis=1)
    low, high = rising[:, :-1], rising[:, 1:]
    candidates = np.hstack([rising[:, :1] - MARGIN, between(low, high), rising[:, -1:] + MARGIN])
    # Each further label cut off is one more wrong label if it is relevant and one fewer if it is not.
    errors = np.pad(np.cumsum(np.where(relevant, 1, -1), axis=1), ((0, 0), (1, 0)))
    errors[:, 1:-1][low == high] = 4 * Y.shape[1] + 2
    return candidates, errors


def _chosen(candidates: FloatArray, places: IntArray, Y: BoolArray) -> FloatArray:
    return np.where(_mixed(Y), np.take_along_axis(candidates, places[:, None], axis=1)[:, 0], np.nan)


def _mixed(Y: BoolArray) -> BoolArray:
    return np.asarray(Y.any(axis=1) & ~Y.all(axis=1))


TARGETS: dict[str, Callable[[FloatArray, BoolArray], FloatArray]] = {
    "midpoint": midpoint,
    "min_error": min_error,
    "ew": ew,
}
