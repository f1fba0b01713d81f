"""What a fit that has not converged says about the scales of its features and rows."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import Features, FloatArray

__all__ = ["scale_notes"]

# A feature or row that is so many times larger than the others is worth a note.
APART = 1e3


def scale_notes(X: Features) -> tuple[str, ...]:
    """Return a note that names the feature, or the row, that is the farthest from the scale of the others, if any is.

    >>> scale_notes(np.array([[1.0, 2e6, -2.0], [2.0, -1e6, 1.0]]))
    ('feature 1 (counted from 0) is 1e+06 times as large as the others: scale: standard',)
    >>> scale_notes(np.array([[1e9, 1e9], [1e9 + 1, 1e9 + 2]]))
    ('feature 0 (counted from 0) is 2e+09 times its standard deviation away from 0: scale: standard',)
    """
    size = abs(X)
    features, rows = (_dense(size.max(axis=axis)) for axis in (0, 1))
    place, ratio = _farthest(features)
    if max(ratio, 1.0 / ratio) > APART:
        return (f"feature {place} (counted from 0) is {ratio:.0e} times as large as the others: scale: standard",)
    level = _dense(X.mean(axis=0))
    spread = (
        _dense(((X - level) ** 2).mean(axis=0)) if not issparse(X) else _dense((X.multiply(X)).mean(axis=0)) - level**2
    )
    spread = np.sqrt(np.maximum(spread, 0.0))
    away = np.divide(np.abs(level), spread, out=np.zeros_like(level), where=spread > 0)
    if away.max(initial=0.0) > APART:
        far = f"{away.max():.0e} times its standard deviation away from 0"
        return (f"feature {int(away.argmax())} (counted from 0) is {far}: scale: standard",)
    place, ratio = _farthest(rows)
    if max(ratio, 1.0 / ratio) > APART:
        return (f"row {place} (counted from 0) is {ratio:.0e} times as large as the others: scale: l2, or check it",)
    return ()


def _dense(values: Any) -> FloatArray:
    return np.asarray(values.toarray() if issparse(values) else values, dtype=np.float64).ravel()


def _farthest(sizes: FloatArray) -> tuple[int, float]:
    """Return which of the sizes above zero is the farthest from the middle one, and its ratio to it."""
    used = np.flatnonzero(sizes > 0)
    if used.size < 2:
        return 0, 1.0
    ratios = sizes[used] / float(np.median(sizes[used]))
    place = int(np.abs(np.log(ratios)).argmax())
    return int(used[place]), float(ratios[place])
