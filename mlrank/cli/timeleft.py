"""How long the fits that are missing will take, by those that are done."""

import math
import time
from collections import Counter
from collections.abc import Callable, Hashable
from statistics import fmean
from threading import Lock

__all__ = ["TimeLeft"]

# Seconds before the first forecast, between two of them, and over which they are averaged.
FIRST_SECONDS = 2.0
LOOK_SECONDS = 1.0
MEMORY_SECONDS = 3.0
# At most this part of the fits of a kind may be slow because a worker had to load and compile what they need.
LOADING_PART = 4


class TimeLeft:
    """A forecast, as text: "about 0:02:10 left"; nothing while it is too early for one, and when all is done.

    The work that is missing takes as long as the work done has taken by the clock, whatever came on top of the fits and
    however many workers there are. Work is the time of the fits. Those of a kind, such as a method on a data set, take
    alike; a kind of which none is done yet is taken for the mean of all. Text is made by one thread while fits are
    counted by another.
    """

    def __init__(self, jobs: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.jobs, self.clock, self.lock = jobs, clock, Lock()
        self.started = self.counted = self.looked = clock()
        self.forecast: float | None = None
        self.left: Counter[Hashable] = Counter()
        self.seconds: dict[Hashable, list[float]] = {}

    def expect(self, kind: Hashable, fits: int) -> None:
        """Count fits that are to be made; the clock runs from here."""
        with self.lock:
            self.left[kind] += fits
            self.started = self.clock()

    def count(self, kind: Hashable, seconds: float | None) -> None:
        """Count a fit that is done; `seconds` is None if it has no time."""
        with self.lock:
            self.left[kind] -= 1
            self.counted = self.clock()
            if seconds is not None:
                self.seconds.setdefault(kind, []).append(seconds)

    def __str__(self) -> str:
        with self.lock:
            now = self.clock()
            if self.seconds and now - self.started >= FIRST_SECONDS:
                self._look(now)
            if self.forecast is None or not any(fits > 0 for fits in self.left.values()):
                return ""
            seconds = max(1, round(self.forecast))
        return f"about {seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02} left"

    def _look(self, now: float) -> None:
        """Forecast anew, if it is time to; a new forecast counts the more, the longer ago the last one was."""
        if self.forecast is None:
            self.forecast, self.looked = self._expected(), now
        elif now - self.looked >= LOOK_SECONDS:
            passed, self.looked = now - self.looked, now
            kept = math.exp(-passed / MEMORY_SECONDS)
            self.forecast = kept * (self.forecast - passed) + (1 - kept) * self._expected()

    def _expected(self) -> float:
        means = {kind: self._mean(found) for kind, found in self.seconds.items()}
        done = sum(mean * len(self.seconds[kind]) for kind, mean in means.items())
        overall = done / sum(map(len, self.seconds.values()))
        missing = sum(means.get(kind, overall) * fits for kind, fits in self.left.items() if fits > 0)
        return (self.counted - self.started) * missing / done if done > 0 else 0.0

    def _mean(self, found: list[float]) -> float:
        """Return a mean for which the slowest fits took as long as the next: each worker's first one loads code."""
        slow = min(self.jobs, len(found) // LOADING_PART)
        limit = sorted(found)[-1 - slow]
        return fmean(min(seconds, limit) for seconds in found)
