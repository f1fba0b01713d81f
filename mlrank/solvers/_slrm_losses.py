"""Losses of SLRM as functions of the outputs F (n_samples, n_labels), with gradients and conjugates.

Labels are coded +1 and -1, and 0 where they are missing: a missing entry has no loss. `curvature` bounds the second
derivative, so the loss lies below a parabola with it that touches at any F.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import entr, expit

from mlrank.arrays import BoolArray, FloatArray

__all__ = ["LOSSES", "Logistic", "Loss", "Squared", "SquaredHinge"]


@dataclass(frozen=True)
class Squared:
    """Half the squared distance to the targets, over the known entries (None: all)."""

    targets: FloatArray
    known: BoolArray | None = None
    curvature = 1.0

    def value(self, F: FloatArray) -> float:
        """Return the sum of the losses."""
        rest = self.gradient(F)
        return 0.5 * float(np.vdot(rest, rest))

    def gradient(self, F: FloatArray) -> FloatArray:
        """Return the derivative at each entry."""
        rest = F - self.targets
        return rest if self.known is None else np.where(self.known, rest, 0.0)

    def conjugate(self, A: FloatArray) -> float:
        """Return the sum of sup_f a f - loss(f); `A` is zero at missing entries."""
        return 0.5 * float(np.vdot(A, A)) + float(np.vdot(A, self.targets))


@dataclass(frozen=True)
class Logistic:
    """log(1 + exp(-y f))."""

    targets: FloatArray
    known: BoolArray | None = None
    curvature = 0.25

    def value(self, F: FloatArray) -> float:
        """Return the sum of the losses."""
        return float(np.logaddexp(0.0, -self.targets * F).sum(where=self.targets != 0))

    def gradient(self, F: FloatArray) -> FloatArray:
        """Return the derivative at each entry."""
        return np.asarray(-self.targets * expit(-self.targets * F))

    def conjugate(self, A: FloatArray) -> float:
        """Return the sum of sup_f a f - loss(f), for -y a in [0, 1]."""
        share = -self.targets * A
        return -float((entr(share) + entr(1.0 - share)).sum(where=self.targets != 0))


@dataclass(frozen=True)
class SquaredHinge:
    """max(0, 1 - y f)^2."""

    targets: FloatArray
    known: BoolArray | None = None
    curvature = 2.0

    def value(self, F: FloatArray) -> float:
        """Return the sum of the losses."""
        short = self._short(F)
        return float(np.vdot(short, short))

    def gradient(self, F: FloatArray) -> FloatArray:
        """Return the derivative at each entry."""
        return -2.0 * self.targets * self._short(F)

    def conjugate(self, A: FloatArray) -> float:
        """Return the sum of sup_f a f - loss(f), for -y a >= 0."""
        return float(np.vdot(self.targets, A)) + 0.25 * float(np.vdot(A, A))

    def _short(self, F: FloatArray) -> FloatArray:
        return np.where(self.targets != 0, np.maximum(0.0, 1.0 - self.targets * F), 0.0)


Loss = Squared | Logistic | SquaredHinge
LOSSES: dict[str, Callable[..., Loss]] = {"squared": Squared, "logistic": Logistic, "squared_hinge": SquaredHinge}
