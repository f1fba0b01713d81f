"""A bound for SVM-perf from weights alone, for models that hold no dual variables.

The loss of a label is at least each of its tangent planes a'w + b, so that for shares s of planes, which sum to one::

    min_w  1/2 |w|^2 + loss(w)  >=  sum_j s_j b_j - 1/2 |sum_j s_j a_j|^2

Planes are sought in double precision, at weights that the planes so far make the best, from those of the model on. What
they are made of are counts of pairs, one for each row, whose bound is then computed in long doubles.
"""

from typing import Any, NamedTuple

import numpy as np

from mlrank.arrays import BoolArray, Features, FloatArray
from mlrank.certify.plain import LONG, LongArray

__all__ = ["PairShares", "pair_shares"]

MOST_PLANES = 200
# Planes without a share for so many steps are forgotten.
IDLE = 20
# The sum of shares is held to one by this weight beside what is minimized.
HELD = 1e3


class PairShares(NamedTuple):
    """What pairs of a label weigh: sums for each row, positive for positive rows, and their sum over all pairs."""

    sums: LongArray
    total: Any


def pair_shares(
    X: Features, positive: BoolArray, negative: BoolArray, cap: float, weights: FloatArray, enough: float
) -> PairShares:
    """Return shares of pairs, each up to `cap`, whose bound is `enough`, or the best of MOST_PLANES planes.

    Parameters
    ----------
    X : (n_samples, n_features)
    positive, negative : (n_samples,)
    cap : float
        C for each pair.
    weights : (n_features,)
    enough : float
    """
    up, down = np.flatnonzero(positive), np.flatnonzero(negative)
    counts: list[FloatArray] = []
    slopes, offsets, idle = np.zeros((0, X.shape[1])), np.zeros(0), np.zeros(0, int)
    w, shares = weights, np.zeros(0)
    best: tuple[float, FloatArray] = (0.0, np.zeros(X.shape[0]))
    for _ in range(MOST_PLANES):
        count = _violations(np.asarray(X @ w).ravel(), up, down)
        counts.append(count)
        slopes = np.vstack([slopes, -cap * np.asarray(X.T @ count).ravel()])
        offsets, idle = np.append(offsets, cap * count[up].sum()), np.append(idle, 0)
        shares = _best_shares(slopes, offsets)
        w = -(shares @ slopes)
        bound = float(shares @ offsets - 0.5 * w @ w)
        if bound > best[0]:
            best = bound, shares @ np.array(counts)
        if bound >= enough:
            break
        idle = np.where(shares > 0, 0, idle + 1)
        kept = idle <= IDLE
        slopes, offsets, idle = slopes[kept], offsets[kept], idle[kept]
        counts = [count for count, keep in zip(counts, kept, strict=True) if keep]
    sums = LONG(cap) * best[1].astype(LONG)
    # Both sides count the same pairs, but for rounding.
    above, below = sums[up].sum(), -sums[down].sum()
    least = min(above, below)
    if least > 0:
        sums[up] *= least / above
        sums[down] *= least / below
    return PairShares(sums, least)


def _violations(scores: FloatArray, up: Any, down: Any) -> FloatArray:
    """Return for each row in how many pairs within a margin of 1 it is, negative for negative rows."""
    count = np.zeros(len(scores))
    above, below = np.sort(scores[up]), np.sort(scores[down])
    count[up] = len(below) - np.searchsorted(below, scores[up] - 1.0, side="right")
    count[down] = -np.searchsorted(above, scores[down] + 1.0, side="left")
    return count


def _best_shares(slopes: FloatArray, offsets: FloatArray) -> FloatArray:
    """Return shares, of at least 0 and with sum 1, of about the largest bound."""
    from scipy.optimize import nnls

    gram = slopes @ slopes.T
    size = float(np.trace(gram)) / len(gram) or 1.0
    # |Lx - y|^2 / 2 is x'Gx / 2 - b'x and a constant, where G = L'L and b = L'y; b may be moved by a constant.
    values, vectors = np.linalg.eigh(gram / size)
    root = np.sqrt(np.maximum(values, 1e-12 * max(values[-1], 1e-300)))
    L = root[:, None] * vectors.T
    y = (vectors.T @ ((offsets - offsets.mean()) / size)) / root
    held = HELD * max(1.0, float(np.linalg.norm(y)))
    try:
        shares = nnls(np.vstack([L, np.full(len(gram), held)]), np.append(y, held))[0]
    except RuntimeError:  # too many of its steps
        shares = np.zeros(len(gram))
    if not shares.sum() > 0:
        shares[-1] = 1.0
    return np.asarray(shares / shares.sum())
