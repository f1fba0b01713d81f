"""How far the passes over Rank-SVM rows flatten their spectrum: the bound theta of `FlatRows`, round by round.

Mostly theta follows how the gap divides between the proximal step and its distance to the center. At large C that can
fail, with theta at its top and a gap that falls no more, though it falls at some other theta; then these are tried in
turn, for longer each time, and the best is kept while it pays.
"""

from collections.abc import Generator

import numpy as np

from mlrank.arrays import FloatArray

__all__ = ["LONE", "Flattening", "search"]

# Part of the gap that the distance to the proximal center may make up, as a ratio to the step's own gap.
BALANCE = 0.3
# A gap this many times that of zero weights in one of the first rounds shows a theta that is far too small.
RUNAWAY = 30.0
# Where the mean of the other moments is below this part of the leading one, passes start without flattening: mostly a
# penalty has taken all but the bias, and the problem is easy.
LONE = 1e-5
# The most that a round may leave of the gap for them to go on so.
FAST = 0.6
# What each round leaves of the floor that a growing gap has put under theta.
DECAY = 0.5
# After this many setbacks the floor falls more slowly with each further one, so that they cannot go on for ever.
PATIENCE = 8
# Rounds within which the least gap must halve; else theta is searched.
WATCH = 50
# The parts of the largest moment that are tried, for so many rounds the first time.
PARTS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
STAGE = 30
# The most that the best of them may leave of the gap in as many rounds to be kept.
PAYS = 0.7


class Flattening:
    """The bound `theta` on the moments, moved by how the gap divides between the step and its distance."""

    def __init__(self, theta: float, lowest: float, highest: float) -> None:
        self.theta, self.lowest, self.highest = theta, lowest, highest
        self.floor, self.setbacks, self.last_gap, self.rounds = 0.0, 0, np.inf, 0
        self.first_gap = np.inf
        # Passes that start without flattening go on so while they are fast.
        self.plain = theta >= highest
        self.search = search(lowest, highest)
        next(self.search)

    def choose(self, gap: float, outer: float, repair: float) -> None:
        """Adapt theta, or search it where that has failed; `repair` is the part of the `gap` that theta is not for."""
        self.adapt(gap - repair, outer)
        self.theta = self.search.send(gap) or self.theta

    def adapt(self, gap: float, outer: float) -> None:
        """Move theta by the absolute `gap` and the part `outer` of it that is distance to the center."""
        self.rounds += 1
        self.first_gap = gap if self.rounds == 1 else self.first_gap
        inner = max(gap - outer, 1e-12 * gap)
        self.plain = self.plain and gap < FAST * self.last_gap
        if self.rounds <= 3 and gap > RUNAWAY * self.first_gap:
            self.theta = min(self.theta * max(outer / (BALANCE * inner), 1.0) ** 0.5, self.highest)
        # What a repair leaves of the gap may be rounding below 0.
        elif self.rounds > 3 and gap > 0 and not self.plain:
            proposed = self.theta * float(np.clip((outer / (BALANCE * inner)) ** 0.25, 1 / 3, 3))
            if gap > 1.5 * self.last_gap:
                proposed = self.floor = max(proposed, 4 * self.theta)
                self.setbacks += 1
            elif gap < self.last_gap:
                self.floor *= DECAY ** min(1.0, PATIENCE / max(self.setbacks, 1))
            self.theta = min(max(proposed, self.floor, self.lowest), self.highest)
        self.last_gap = gap

    def kept(self, moment: FloatArray) -> FloatArray:
        """Return the part of each moment that is left, 1 / (1 + h)."""
        kept: FloatArray = np.minimum(1.0, self.theta / np.maximum(moment, self.theta))
        return kept


def search(lowest: float, highest: float) -> Generator[float | None, float, None]:
    """Yield theta for each next round, None where it may be adapted; is sent the gap that the last round led to."""
    least, before = np.inf, np.inf
    while least <= 0.5 * before or before == np.inf:
        before = least
        for _ in range(WATCH):
            least = min(least, (yield None))
    gap, length = least, STAGE
    while True:
        left = {}
        for theta in [max(part * highest, lowest) for part in PARTS]:
            start, least = gap, gap
            for _ in range(length):
                gap = yield theta
                least = min(least, gap)
            left[theta] = least / start
        best, start, least = min(left, key=lambda theta: left[theta]), np.inf, 0.0
        while least <= PAYS * start:
            start, least = gap, gap
            for _ in range(length):
                gap = yield best
                least = min(least, gap)
        length += length // 2
