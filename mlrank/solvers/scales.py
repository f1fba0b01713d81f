"""What a fit that has not converged says about the scales of its features and rows."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import Features, FloatArray, as_dense
from mlrank.solvers.base import TrainingSet

__all__ = ["scale_notes"]

# A feature or row that is so many times larger than the others is worth a note.
APART = 1e3
# A kernel matrix whose rows, scaled to one length, are so many times larger in one direction than in all others; rows
# that are looked at.
LEANING, ROWS = 1e6, 256


def scale_notes(train: TrainingSet, converged: bool, power: int = 1) -> tuple[str, ...]:
    """Return why a fit may not have converged: the feature or row farthest from the scale of the others, and the cure.

    Parameters
    ----------
    train : TrainingSet
        Features are called by their names where it has them, or else by their numbers.
    converged : bool
        Of the fit; one that has converged needs no note.
    power : int
        The degree of a polynomial kernel, which scales are raised to.

    Returns
    -------
    tuple of str
        One note, or none where no feature or row is out of scale. O(n_samples n_features).

    Examples
    --------
    >>> train = TrainingSet(np.array([[1.0, 2e6, -2.0], [2.0, -1e6, 1.0]]), np.ones((2, 1), dtype=bool))
    >>> scale_notes(train, converged=False)
    ('feature 1 (counted from 0) is 1e+06 times as large as the others: scale: standard',)
    >>> years = np.array([[1e9, 1e9], [1e9 + 1, 1e9 + 2]])
    >>> scale_notes(TrainingSet(years, np.ones((2, 1), dtype=bool), feature_names=("year", "born")), converged=False)
    ("feature 'year' is 2e+09 times its standard deviation away from 0: scale: standard",)
    """
    if converged:
        return ()
    if train.pairwise:
        return _kernel_note(as_dense(train.X))
    apart = APART ** (1.0 / power)
    size = abs(train.X)
    features, rows = (_dense(size.max(axis=axis)) for axis in (0, 1))
    place, ratio = _farthest(features)
    if max(ratio, 1.0 / ratio) > apart:
        return (f"{_name(train, place)} is {ratio:.0e} times as large as the others: scale: standard",)
    away = _offsets(train.X)
    if away.max(initial=0.0) > apart:
        far = f"{away.max():.0e} times its standard deviation away from 0"
        return (f"{_name(train, int(away.argmax()))} is {far}: scale: standard",)
    place, ratio = _farthest(rows)
    if max(ratio, 1.0 / ratio) > apart:
        return (f"row {place} (counted from 0) is {ratio:.0e} times as large as the others: scale: l2, or check it",)
    return ()


def _name(train: TrainingSet, feature: int) -> str:
    if train.feature_names is None:
        return f"feature {feature} (counted from 0)"
    return f"feature {train.feature_names[feature]!r}"


def _kernel_note(K: FloatArray) -> tuple[str, ...]:
    length = np.sqrt(np.maximum(np.diag(K), 0.0))
    place, ratio = _farthest(length)
    if max(ratio, 1.0 / ratio) > APART:
        cure = "divide K by the square roots of its diagonal on both sides, or check the row"
        return (f"row {place} (counted from 0) of the kernel is {ratio:.0e} times as long as the others: {cure}",)
    used = np.flatnonzero(length > 0)[:ROWS]
    if used.size < 2:
        return ()
    largest = np.linalg.eigvalsh(K[np.ix_(used, used)] / length[used, None] / length[used])[-1]
    others = max(used.size - largest, used.size * np.finfo(np.float64).eps)
    if largest <= LEANING * others:
        return ()
    cure = "scale the features that K is made of (scale: standard), or center K on both sides"
    return (f"the kernel is {largest / others:.0e} times larger in one direction than in all others: {cure}",)


def _offsets(X: Features) -> FloatArray:
    """Return how many times its standard deviation the mean of each column is away from 0."""
    level = _dense(X.mean(axis=0))
    variance = _dense(X.multiply(X).mean(axis=0)) - level**2 if issparse(X) else ((X - level) ** 2).mean(axis=0)
    spread = np.sqrt(np.maximum(variance, 0.0))
    return np.divide(np.abs(level), spread, out=np.zeros_like(level), where=spread > 0)


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
