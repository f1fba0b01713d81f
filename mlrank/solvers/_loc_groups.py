"""What ML-LOC begins with: rows of equal spread, and groups of label sets."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import diags_array, issparse

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray, as_features

__all__ = ["Groups", "column_spread", "divided", "label_groups"]

RESTARTS = 10
MOST_ROUNDS = 300
# Digits of a square distance between label sets: label sets are often equally far, and rounding is not to choose.
DIGITS = 9


class Groups(NamedTuple):
    """The codes to begin with, (n_samples, n_groups) of 0 and 1, and what a reader must know of them."""

    C: FloatArray
    notes: tuple[str, ...]


def column_spread(X: Features) -> FloatArray:
    """Return the standard deviation of each column, 1 where it is constant."""
    if issparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        # Stored values around their mean, and the others, which are zeros.
        apart = np.bincount(X.indices, (X.data - mean[X.indices]) ** 2, minlength=X.shape[1])
        zeros = X.shape[0] - np.bincount(X.indices, minlength=X.shape[1])
        spread = np.sqrt((apart + zeros * mean**2) / X.shape[0])
    else:
        mean, spread = np.abs(X).mean(axis=0), np.asarray(X.std(axis=0))
    # Of a constant column nothing is left but rounding.
    constant = spread <= 1e-12 * np.abs(mean)
    return np.where(constant, 1.0, spread)


def divided(X: Features, by: FloatArray) -> Features:
    """Return `X` with each column divided by a number."""
    return as_features(X @ diags_array(1.0 / by)) if issparse(X) else X / by


def label_groups(X: Features, Y: BoolArray, wanted: int, seed: int) -> Groups:
    """Group the label sets by k-means (k-means++, best of ten), equal ones together.

    Label sets are ordered by the features of their rows before random numbers are drawn, and of equally near centres
    the first counts, so that neither the order of the rows nor that of the labels decides about groups.
    """
    distinct, number, count = np.unique(Y, axis=0, return_inverse=True, return_counts=True)
    number = number.ravel()
    totals = np.bincount(number, weights=np.asarray(X.sum(axis=1)).ravel()) / count
    order = np.argsort(totals, kind="stable")
    n_groups = min(wanted, len(distinct))
    group = np.empty(len(distinct), dtype=np.int64)
    group[order] = _k_means(np.where(distinct[order], 1.0, -1.0), count[order].astype(np.float64), n_groups, seed)
    C = np.zeros((len(Y), n_groups))
    C[np.arange(len(Y)), group[number]] = 1.0
    told = f"{wanted} groups asked for, {n_groups} used: there are no more different label sets"
    return Groups(C, (told,) if n_groups < wanted else ())


def _k_means(points: FloatArray, weights: FloatArray, n_groups: int, seed: int) -> IntArray:
    """Return the group of each point, of the best of several runs of Lloyd's method."""
    rng = np.random.default_rng(seed)
    best, least = np.zeros(len(points), dtype=np.int64), np.inf
    for _ in range(RESTARTS):
        group, spent = _lloyd(points, weights, _first_centres(points, weights, n_groups, rng))
        if spent < least:
            best, least = group, spent
    return best


def _first_centres(points: FloatArray, weights: FloatArray, n_groups: int, rng: np.random.Generator) -> FloatArray:
    """Draw points, each with a chance that grows with its square distance from those drawn before (k-means++)."""
    chosen: list[int] = []
    apart = np.ones(len(points))
    for _ in range(n_groups):
        reach = np.cumsum(weights * apart)
        chosen.append(int(np.searchsorted(reach, rng.random() * reach[-1], side="right")))
        nearest = _square_distances(points, points[chosen[-1:]])[:, 0]
        apart = nearest if len(chosen) == 1 else np.minimum(apart, nearest)
    return points[chosen]


def _lloyd(points: FloatArray, weights: FloatArray, centres: FloatArray) -> tuple[IntArray, float]:
    """Return the groups that means of groups are nearest to, and the sum of square distances, rounded."""
    group = np.full(len(points), -1)
    for _ in range(MOST_ROUNDS):
        distances = _square_distances(points, centres)
        nearest = distances.argmin(axis=1)
        if np.array_equal(nearest, group):
            break
        group = nearest
        members = np.zeros_like(distances)
        members[np.arange(len(points)), group] = weights
        size = members.sum(axis=0)[:, None]
        centres = np.where(size > 0, members.T @ points / np.where(size > 0, size, 1.0), centres)
    spent = float((weights * distances[np.arange(len(points)), group]).sum())
    return group, round(spent, DIGITS - 3)


def _square_distances(points: FloatArray, centres: FloatArray) -> FloatArray:
    apart = (points**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2.0 * points @ centres.T
    rounded: FloatArray = np.maximum(np.round(apart, DIGITS), 0.0)
    return rounded
