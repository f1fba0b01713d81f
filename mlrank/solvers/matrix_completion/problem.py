"""The problem of matrix completion: its smooth part, and the step of the papers, whose fixed point is looked for."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from mlrank.arrays import FloatArray
from mlrank.linalg.shrink import shrink_singular_values

__all__ = ["CONSTRAINTS", "FEATURE_LOSSES", "Completion", "CompletionPoint", "Step", "simplex_rows"]

FEATURE_LOSSES = ("ls", "chi2")
CONSTRAINTS = ("none", "nonnegative", "simplex")
# The paper's step for labels, of the 4 that the largest curvature of the logistic loss allows.
LABEL_STEP = 3.8
# Of the mean positive feature: e, which bounds the curvature of the chi2 loss at empty bins.
CHI2_FLOOR = 0.1
# That curvature times e: it is 2 (2x + e)^2 / (z + x + e)^3, for x and z of at least 0 largest at z = 0 and x = e / 2.
CHI2_CURVATURE = 64.0 / 27.0


class CompletionPoint(NamedTuple):
    """A matrix Z = [labels, features, ones], (n_rows, n_columns), and the biases of the labels."""

    Z: FloatArray
    bias: FloatArray


class Step(NamedTuple):
    """Where a step led, with what rank; its length in units of the gradient; and the length of the gradient."""

    point: CompletionPoint
    rank: int
    move: float
    slope: float


@dataclass(frozen=True)
class Completion:
    """The smooth part of the problem, and its steps.

    Parameters
    ----------
    signs : (n_rows, n_labels) ndarray
        +1 and -1, and 0 where a label is not observed.
    X : (n_rows, n_features) ndarray
    lam, gamma : float
    features : one of FEATURE_LOSSES
    constraint : one of CONSTRAINTS
    bias : {"ones", "labels", "none"}
    """

    signs: FloatArray
    X: FloatArray
    lam: float
    gamma: float
    features: str
    constraint: str
    bias: str

    @cached_property
    def observed(self) -> FloatArray:
        """Return [labels, features, ones] with zeros where nothing is observed."""
        blocks = [self.signs, self.X]
        if self.bias == "ones":
            blocks.append(np.ones((len(self.X), 1)))
        return np.hstack(blocks)

    @cached_property
    def n_observed(self) -> int:
        """Number of observed labels."""
        return int(np.count_nonzero(self.signs))

    @cached_property
    def floor(self) -> float:
        """What is added to the denominator of the chi2 loss."""
        positive = self.X[self.X > 0]
        return CHI2_FLOOR * float(positive.mean()) if positive.size else 1.0

    @cached_property
    def tau(self) -> float:
        """The step: 1 over the largest curvature of the two losses, half of it where the biases move as well."""
        labels = LABEL_STEP * self.n_observed / (self.lam * self.gamma)
        features = self.X.size * (1.0 if self.features == "ls" else self.floor / CHI2_CURVATURE)
        return min(labels, features) / (2.0 if self.bias == "labels" else 1.0)

    @property
    def bias_step(self) -> float:
        """The step of a bias, which takes part in every row, so its curvature is so many times that of an entry."""
        return self.tau / len(self.X)

    def loss(self, point: CompletionPoint) -> float:
        """Return the smooth part of the objective."""
        k, d = self.signs.shape[1], self.X.shape[1]
        margins = (self.gamma * self.signs * (point.Z[:, :k] + point.bias))[self.signs != 0]
        labels = float(np.logaddexp(0.0, -margins).sum()) / self.gamma
        apart = point.Z[:, k : k + d] - self.X
        if self.features == "ls":
            features = 0.5 * float(np.vdot(apart, apart))
        else:
            features = float((apart**2 / (apart + 2.0 * self.X + self.floor)).sum())
        return self.lam / self.n_observed * labels + features / self.X.size

    def gradient(self, point: CompletionPoint) -> CompletionPoint:
        """Return the gradient of `loss`."""
        k, d = self.signs.shape[1], self.X.shape[1]
        G = np.zeros_like(point.Z)
        slopes = expit(-self.gamma * self.signs * (point.Z[:, :k] + point.bias))
        G[:, :k] = -self.lam / self.n_observed * self.signs * slopes
        apart = point.Z[:, k : k + d] - self.X
        if self.features == "chi2":
            whole = apart + 2.0 * self.X + self.floor
            apart = apart * (2.0 * whole - apart) / whole**2
        G[:, k : k + d] = apart / self.X.size
        return CompletionPoint(G, G[:, :k].sum(axis=0) if self.bias == "labels" else np.zeros(k))

    def step(self, begin: CompletionPoint, level: float, rank: int) -> Step:
        """Go down the gradient, shrink singular values by tau * level, then project; about `rank` of them stay."""
        slope = self.gradient(begin)
        # No accuracy is asked of the thresholding: what it lacks shows in the length of the next step.
        shrunk = shrink_singular_values(begin.Z - self.tau * slope.Z, self.tau * level, np.inf, rank)
        end = self.projected(CompletionPoint(shrunk.matrix, begin.bias - self.bias_step * slope.bias))
        moves = (end.Z - begin.Z) / self.tau, (end.bias - begin.bias) / self.bias_step
        return Step(end, len(shrunk.values), _length(*moves), _length(*slope))

    def projected(self, point: CompletionPoint) -> CompletionPoint:
        """Set the column of ones and project the features onto their set, in place."""
        Z, k, d = point.Z, self.signs.shape[1], self.X.shape[1]
        if self.bias == "ones":
            Z[:, -1] = 1.0
        if self.constraint == "nonnegative":
            np.maximum(Z[:, k : k + d], 0.0, out=Z[:, k : k + d])
        elif self.constraint == "simplex":
            Z[:, k : k + d] = simplex_rows(Z[:, k : k + d])
        return point


def _length(*parts: FloatArray) -> float:
    return float(np.sqrt(sum(float(np.vdot(part, part)) for part in parts)))


def simplex_rows(A: FloatArray) -> FloatArray:
    """Return the nearest point of the probability simplex to each row of `A`.

    >>> simplex_rows(np.array([[0.5, 0.5, 0.5], [2.0, 0.0, -1.0]])).round(3).tolist()
    [[0.333, 0.333, 0.333], [1.0, 0.0, 0.0]]
    """
    falling = -np.sort(-A, axis=1)
    excess = np.cumsum(falling, axis=1) - 1.0
    kept = (falling * np.arange(1, A.shape[1] + 1) > excess).sum(axis=1)
    taken = excess[np.arange(len(A)), kept - 1] / kept
    nearest: FloatArray = np.maximum(A - taken[:, None], 0.0)
    return nearest
