"""Mixing: the next point of an iteration from its last two, by least squares (Anderson's method of depth one)."""

import numpy as np

from mlrank.arrays import FloatArray

__all__ = ["Mixing"]

# Where the residual has grown by more than this factor, the step is plain.
GROWTH = 2.0


class Mixing:
    """Speeds up x -> x + r(x), the steps of a method that converges by itself.

    The residual r is taken to be linear between the last two points: the combination of them at which it would be least
    is where the next step is made from. More points gain nothing where a step costs a decomposition.
    """

    def __init__(self) -> None:
        self.last: tuple[FloatArray, FloatArray] | None = None

    def next(self, x: FloatArray, residual: FloatArray) -> FloatArray:
        """Return the point after `x`."""
        found: FloatArray = x + residual
        if self.last is not None:
            before, then = self.last
            change = residual - then
            square = float(np.vdot(change, change))
            if square > 0 and np.linalg.norm(residual) <= GROWTH * np.linalg.norm(then):
                weight = float(np.vdot(change, residual)) / square
                found -= weight * (x - before + change)
        self.last = (x, residual)
        return found
