"""Hiding label entries, to see how a method does when some are missing."""

import numpy as np

from mlrank.arrays import BoolArray
from mlrank.errors import UserError

__all__ = ["hide_labels"]


def hide_labels(Y: BoolArray, ratio: float, seed: int) -> tuple[BoolArray, str]:
    """Choose which entries of a label matrix are hidden: a share of all, positive and negative alike.

    The protocol of the SLRM paper, section 4.3.3: every row keeps one of its positives, and every label one of its
    rows. Entries are drawn without replacement among those that need not be kept.

    Parameters
    ----------
    Y : (n_samples, n_labels) bool ndarray
        Of the training rows.
    ratio : float
        Share of all entries that is hidden, 0 <= ratio < 1.
    seed : int

    Returns
    -------
    known : (n_samples, n_labels) bool ndarray
        False where an entry is hidden.
    str
        What was done, with the seed.

    Raises
    ------
    UserError
        If the ratio is no such share, or larger than what need not be kept allows.
    """
    if not 0 <= ratio < 1:
        raise UserError(f"the ratio of missing labels must lie in [0, 1), found {ratio}")
    rng = np.random.default_rng(seed)
    free = np.flatnonzero(~_kept(Y, rng))
    n_hidden = round(ratio * Y.size)
    if n_hidden > free.size:
        most = free.size / Y.size
        raise UserError(
            f"the ratio of missing labels may be {most:.3f} at most if rows and labels keep one, found {ratio}"
        )
    known = np.ones(Y.size, np.bool_)
    known[rng.choice(free, n_hidden, replace=False)] = False
    positives = int((~known & Y.ravel()).sum())
    note = f"hid {n_hidden} of {Y.size} label entries of the training rows, {positives} of them positive (seed {seed})"
    return known.reshape(Y.shape), note


def _kept(Y: BoolArray, rng: np.random.Generator) -> BoolArray:
    """Draw one positive of every row that has one, and one row of every label that no row has kept."""
    # The largest of random numbers at the positives is a random one of them.
    draw = np.where(Y, rng.random(Y.shape), -1.0)
    kept = np.zeros(Y.shape, np.bool_)
    rows = np.flatnonzero(Y.any(axis=1))
    kept[rows, draw[rows].argmax(axis=1)] = True
    labels = np.flatnonzero(Y.any(axis=0) & ~kept.any(axis=0))
    kept[draw[:, labels].argmax(axis=0), labels] = True
    return kept
