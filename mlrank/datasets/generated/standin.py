"""Generated data to stand in for sets that cannot be shipped: label correlation carries signal, nothing else is real.

Labels fall into groups. Row i has a standard normal factor z[i, g] for each group, raised in the one group that the row
is mainly about, and e[i, l] for each label. Label l has the latent score

    t[i, l] = r * z[i, g(l)] + sqrt(1 - r^2) * e[i, l],        r = group_correlation,

and its positives are the rows with the highest scores, as many as a power law of label frequencies gives it; a row
that would be left without a label gets the one it comes nearest to. The constant of the power law is found by
bisection so that the labels add up to the cardinality asked for. Features are noisy linear images of z and e (dense),
or Poisson counts whose log rates are (counts): a label's direction is largely its group's, so a method that shares
across correlated labels has more rows to estimate it from.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array, vstack

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray, as_features
from mlrank.datasets.dataset import Dataset

__all__ = ["features_like", "generate"]

# How much a row's main group is raised, in standard deviations of z.
MAIN_GROUP_RAISE = 1.5
# Weight of the labels' own factors in the features, against 1 for the groups'.
OWN_WEIGHT = 0.5
# Mean number of counts in a row of a histogram.
COUNTS_PER_ROW = 150.0
ROWS_AT_ONCE = 1000
# How far the cardinality may be from what is asked, as a part of it.
TOLERANCE = 0.02


@dataclass(frozen=True)
class _Factors:
    """The latent factors: group of each label, z (n_samples, n_groups), e (n_samples, n_labels)."""

    groups: IntArray
    z: FloatArray
    e: FloatArray


def generate(
    name: str,
    *,
    n_samples: int,
    n_features: int,
    n_labels: int,
    cardinality: float,
    n_groups: int,
    group_correlation: float = 0.7,
    kind: Literal["dense", "counts", "words"] = "dense",
    noise: float = 1.0,
    power: float = 0.8,
    least_positives: int = 5,
    n_train: int | None = None,
    stands_for: str = "",
    seed: int,
) -> Dataset:
    """Generate stand-in data; equal arguments give equal bytes.

    Parameters
    ----------
    name : str
    n_samples, n_features, n_labels : int
    cardinality : float
        Mean number of labels per row; met to one label in all where the frequencies allow it, else to 2 %.
    n_groups : int
        Number of groups of labels that occur together.
    group_correlation : float
        Correlation r of the module's equation, 0 <= r < 1.
    kind : "dense", "counts" or "words"
        Real features (ndarray), or histograms of whole numbers (csr_array); "words" are twice as many counts, spread as
        evenly however large the noise is.
    noise : float
        Standard deviation of the noise in the features, where their signal has 1.
    power : float
        Frequencies fall as rank ** -power.
    least_positives : int
        Least number of positive rows of a label.
    n_train : int, optional
        Size of the training part of an official split.
    stands_for : str
        What the data stand in for, to be named in the title of every table.
    seed : int

    Raises
    ------
    ValueError
        If no data can have these properties.
    """
    _check(n_samples, n_labels, cardinality, n_groups, group_correlation, least_positives, n_train)
    rng = np.random.default_rng(seed)
    factors = _draw_factors(rng, n_samples, n_labels, n_groups)
    scores = group_correlation * factors.z[:, factors.groups] + np.sqrt(1 - group_correlation**2) * factors.e
    Y = _label_sets(scores, cardinality, power, least_positives)
    X = _MAKERS[kind](rng, factors, n_features, noise)
    rows = np.arange(n_samples, dtype=np.int64)
    return Dataset(
        name,
        X,
        Y,
        None,
        tuple(f"label {label} of group {group}" for label, group in enumerate(factors.groups)),
        tuple(f"feature {feature}" for feature in range(n_features)),
        None if n_train is None else (rows[:n_train], rows[n_train:]),
        f"stand-in data{' for ' * bool(stands_for)}{stands_for}, generated (seed {seed})",
        stand_in=True,
    )


def features_like(
    Y: BoolArray,
    *,
    n_features: int,
    noise: float = 1.0,
    seed: int,
    kind: Literal["dense", "counts"] = "dense",
    counts_per_row: float = COUNTS_PER_ROW,
) -> Features:
    """Generate features for given labels: noisy linear images of them, so that a method can learn what is known.

    Parameters
    ----------
    Y : (n_samples, n_labels) bool ndarray
    n_features : int
    noise : float
        Standard deviation of the noise, where the labels' signal has about 1.
    seed : int
    kind : "dense" or "counts"
        Real features (ndarray); or histograms (csr_array) whose log rates are these, brought to variance 1, plus how
        common each bin is.
    counts_per_row : float
        Mean number of counts in a row of a histogram.
    """
    rng = np.random.default_rng(seed)
    directions = rng.standard_normal((Y.shape[1], n_features)) / np.sqrt(max(1.0, float(Y.sum() / len(Y))))
    labels = csr_array(Y).astype(np.float64)
    if kind == "counts":
        return _histograms(rng, labels, directions, noise, counts_per_row)
    # Rounded, because the last bits of a matrix product differ between machines.
    signal = labels @ directions
    return np.round(signal + noise * rng.standard_normal(signal.shape), 6)


def _check(
    n_samples: int,
    n_labels: int,
    cardinality: float,
    n_groups: int,
    group_correlation: float,
    least_positives: int,
    n_train: int | None,
) -> None:
    if not 0 <= group_correlation < 1:
        raise ValueError(f"group_correlation must lie in [0, 1), found {group_correlation}")
    if not 1 <= n_groups <= n_labels:
        raise ValueError(f"n_groups must lie in 1..{n_labels}, found {n_groups}")
    least = max(1.0, least_positives * n_labels / n_samples)
    if not least <= cardinality <= n_labels / 2:
        raise ValueError(f"cardinality must lie in {least:.3g}..{n_labels / 2:.3g}, found {cardinality}")
    if n_train is not None and not 0 < n_train < n_samples:
        raise ValueError(f"n_train must lie in 1..{n_samples - 1}, found {n_train}")


def _draw_factors(rng: np.random.Generator, n_samples: int, n_labels: int, n_groups: int) -> _Factors:
    # Label l has frequency rank l, and groups take turns: each has frequent and rare labels.
    groups = np.arange(n_labels, dtype=np.int64) % n_groups
    z = rng.standard_normal((n_samples, n_groups))
    z[np.arange(n_samples), rng.integers(n_groups, size=n_samples)] += MAIN_GROUP_RAISE
    return _Factors(groups, z, rng.standard_normal((n_samples, n_labels)))


def _label_sets(scores: FloatArray, cardinality: float, power: float, least: int) -> BoolArray:
    """Give each label its share of the highest scores, scaled so that the mean row has `cardinality` labels."""
    n_samples, n_labels = scores.shape
    order = np.argsort(-scores, axis=0, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(n_samples)[:, None], axis=0)
    shares = np.arange(1, n_labels + 1) ** -power
    low, high = 0.0, float(n_samples) * n_labels
    # The number of labels never falls as the constant grows: a positive more fills at most one empty row.
    for _ in range(80):
        middle = (low + high) / 2
        Y = _with_shares(ranks, np.clip(np.round(middle * shares), least, n_samples // 2))
        low, high = (middle, high) if Y.sum() < cardinality * n_samples else (low, middle)
    reached = Y.sum() / n_samples
    if abs(reached - cardinality) > TOLERANCE * cardinality:
        raise ValueError(f"cardinality must lie above {reached:.3g} with these label frequencies, found {cardinality}")
    return Y


def _with_shares(ranks: Any, positives: Any) -> BoolArray:
    Y = ranks < positives
    empty = np.flatnonzero(~Y.any(axis=1))
    Y[empty, np.argmin(ranks[empty] / positives, axis=1)] = True
    return np.asarray(Y, np.bool_)


def _signal(rng: np.random.Generator, factors: _Factors, n_features: int) -> FloatArray:
    """Return linear images of the factors with standard deviation near 1."""
    z, e = factors.z, factors.e
    of_groups = rng.standard_normal((z.shape[1], n_features)) / np.sqrt(z.shape[1])
    of_labels = rng.standard_normal((e.shape[1], n_features)) / np.sqrt(e.shape[1])
    return np.asarray((z @ of_groups + OWN_WEIGHT * (e @ of_labels)) / np.sqrt(1 + OWN_WEIGHT**2))


def _dense(rng: np.random.Generator, factors: _Factors, n_features: int, noise: float) -> Features:
    X = _signal(rng, factors, n_features)
    X += noise * rng.standard_normal(X.shape)
    # Rounded, because the last bits of a matrix product differ between machines.
    return np.round(X, 6)


def _counts(rng: np.random.Generator, factors: _Factors, n_features: int, noise: float) -> Features:
    logs = _signal(rng, factors, n_features) + noise * rng.standard_normal((len(factors.z), n_features))
    # Some bins are common and some rare in every row, as in histograms of words.
    return as_features(_poisson(rng, logs + rng.standard_normal(n_features), COUNTS_PER_ROW))


def _poisson(rng: np.random.Generator, logs: FloatArray, counts: float) -> csr_array:
    rates = np.exp(np.round(logs, 6))
    rates *= counts / rates.sum(axis=1, keepdims=True)
    return csr_array(rng.poisson(np.round(rates, 6)).astype(np.float64))


def _words(rng: np.random.Generator, factors: _Factors, n_features: int, noise: float) -> Features:
    of_groups = rng.standard_normal((factors.z.shape[1], n_features)) / np.sqrt(factors.z.shape[1])
    of_labels = rng.standard_normal((factors.e.shape[1], n_features)) / np.sqrt(factors.e.shape[1])
    directions = np.vstack([of_groups, OWN_WEIGHT * of_labels]) / np.sqrt(1 + OWN_WEIGHT**2)
    return _histograms(rng, np.hstack([factors.z, factors.e]), directions, noise, 2 * COUNTS_PER_ROW)


def _histograms(
    rng: np.random.Generator, factors: Features, directions: FloatArray, noise: float, counts: float
) -> Features:
    """Return histograms whose log rates are the factors' images with noise, of variance 1, plus how common a bin is."""
    common = rng.standard_normal(directions.shape[1])
    parts = []
    # Some rows at a time, since most of what is drawn is thrown away.
    for first in range(0, factors.shape[0], ROWS_AT_ONCE):
        signal = factors[first : first + ROWS_AT_ONCE] @ directions
        logs = (signal + noise * rng.standard_normal(signal.shape)) / np.sqrt(1 + noise**2)
        parts.append(_poisson(rng, logs + common, counts))
    return as_features(vstack(parts, format="csr"))


_MAKERS = {"dense": _dense, "counts": _counts, "words": _words}
