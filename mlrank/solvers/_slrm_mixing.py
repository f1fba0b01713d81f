"""Anderson mixing: the next point of an iteration from its last ones, by least squares."""

import numpy as np

from mlrank.arrays import FloatArray

__all__ = ["Mixing"]

# Differences of so many steps are mixed. More gains nothing where a step costs a decomposition.
DEPTH = 3
# Relative to their mean square, what keeps the weights of differences small that hardly differ.
RIDGE = 1e-8
# A residual that grows by more than this factor ends the mixing of what went before.
GROWTH = 2.0


class Mixing:
    """Speeds up x -> x + r(x), the steps of a method that converges by itself.

    The residual r is taken to be linear between the last points: the combination of them at which it would be least is
    where the next step is made from.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget all points: the iteration has changed."""
        self.moves: list[FloatArray] = []
        self.changes: list[FloatArray] = []
        self.last: tuple[FloatArray, FloatArray] | None = None

    def next(self, x: FloatArray, residual: FloatArray) -> FloatArray:
        """Return the point after `x`."""
        if self.last is not None:
            self._keep(x - self.last[0], residual, self.last[1])
        self.last = (x, residual)
        found: FloatArray = x + residual
        if self.changes:
            gram = np.array([[np.vdot(a, b) for b in self.changes] for a in self.changes])
            gram += RIDGE * np.trace(gram) * np.eye(len(gram)) + np.finfo(np.float64).tiny
            weights = np.linalg.lstsq(gram, [np.vdot(change, residual) for change in self.changes])[0]
            for weight, move in zip(weights, self.moves, strict=True):
                found -= weight * move
        return found

    def _keep(self, step: FloatArray, residual: FloatArray, before: FloatArray) -> None:
        if np.linalg.norm(residual) > GROWTH * np.linalg.norm(before):
            self.clear()
            return
        change = residual - before
        self.moves = [*self.moves[1 - DEPTH :], step + change]
        self.changes = [*self.changes[1 - DEPTH :], change]
