"""How long the fits that are missing will take, by those that are done."""

import math
import time
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from statistics import fmean, geometric_mean
from threading import Lock

__all__ = ["TimeLeft"]

# Seconds before the first forecast, between two of them, and over which they are averaged.
FIRST_SECONDS = 2.0
LOOK_SECONDS = 1.0
MEMORY_SECONDS = 3.0
# At most this part of the fits of a kind may be slow because a worker had to load what they need. Their seconds are
# without compiling.
LOADING_PART = 4
# What is left of a fit that has run longer than expected, as a part of its time so far.
OVERDUE_PART = 0.1


class TimeLeft:
    """A forecast, as text: "about 0:02:10 left"; nothing while it is too early for one, and when all is done.

    A worker is at a fit for the seconds of the fit and for what comes on top of it by the clock. Fits of a kind, such
    as a method on a data set, take alike. A kind of which none is done yet takes as long as others of its group, such
    as the method on other data, for each operation that a cost model counts, or else the geometric mean of what others
    take for it. What comes on top does not grow with that. The first fits of a kind, one for each worker, do not count
    for it: most of what came on top of them was to load and compile code, which happens once. Text is made by one
    thread while fits are counted by another.
    """

    def __init__(self, jobs: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.jobs, self.clock, self.lock = jobs, clock, Lock()
        self.started = self.counted = self.looked = clock()
        self.forecast: float | None = None
        self.left: Counter[Hashable] = Counter()
        self.seconds: dict[Hashable, list[float]] = {}
        # What came on top of them, but for the first fits of a kind; and all that workers took, by the clock.
        self.on_top: dict[Hashable, list[float]] = {}
        self.spent = 0.0
        self.work: dict[Hashable, float] = {}
        self.groups: dict[Hashable, Hashable] = {}
        # When what the workers are at was begun, as far as the fits that are done tell.
        self.begun: list[float] = []

    def expect(self, kind: Hashable, fits: int, work: float = 1.0, group: Hashable = None) -> None:
        """Count fits that are to be made, each of so much work by a cost model; the clock runs from here."""
        with self.lock:
            self.left[kind] += fits
            self.work[kind], self.groups[kind] = work, group
            self.started = self.clock()
            self.begun = [self.started] * self.jobs

    def count(self, kind: Hashable, seconds: float | None) -> None:
        """Count a fit that is done; `seconds` is None if it has no time."""
        with self.lock:
            self.left[kind] -= 1
            self.counted = self.clock()
            begun = self.counted - (seconds or 0.0)
            if self.begun:  # its worker begins another one, if one is left; it was free before, if there is such a one
                begun = min(self.begun, key=lambda at: (at > begun, abs(begun - at)))
                self.begun.remove(begun)
            if seconds is not None:
                on_top = max(0.0, self.counted - begun - seconds)
                self.spent += seconds + on_top
                found = self.seconds.setdefault(kind, [])
                if len(found) >= self.jobs:
                    self.on_top.setdefault(kind, []).append(on_top)
                found.append(seconds)
            if sum(fits for fits in self.left.values() if fits > 0) > len(self.begun):
                self.begun.append(self.counted)

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
            self.forecast, self.looked = self._expected(now), now
        elif now - self.looked >= LOOK_SECONDS:
            passed, self.looked = now - self.looked, now
            kept = math.exp(-passed / MEMORY_SECONDS)
            self.forecast = kept * max(0.0, self.forecast - passed) + (1 - kept) * self._expected(now)

    def _expected(self, now: float) -> float:
        known = {kind: self._mean(found) for kind, found in self.seconds.items()}
        if not any(known.values()):
            return 0.0
        workers = max(1, self.jobs)
        # Fits that are counted late, several at once, seem to have taken more than there was.
        scale = min(1.0, workers * (self.counted - self.started) / self.spent)
        on_top = {kind: self._mean(found) for kind, found in self.on_top.items()}
        usual = fmean(on_top.values()) if on_top else 0.0
        takes = {
            kind: scale * (self._takes(kind, known) + on_top.get(kind, usual))
            for kind, fits in self.left.items()
            if fits > 0
        }
        missing = sorted((takes[kind] for kind in takes for _ in range(self.left[kind])), reverse=True)
        # The longest have run the longest. One that takes longer than expected is near its end all the same.
        running = [
            (take, max(take - (now - begun), OVERDUE_PART * (now - begun)))
            for take, begun in zip(missing, sorted(self.begun), strict=False)
        ]
        together = (sum(missing) - sum(take - left for take, left in running)) / workers
        return max(together, *(left for _, left in running), 0.0)

    def _takes(self, kind: Hashable, known: Mapping[Hashable, float]) -> float:
        """Return the seconds of a fit: as of its kind, or as the cost model says by those of its group, or by all."""
        if kind in known:
            return known[kind]
        alike = [other for other in known if self.groups[other] == self.groups[kind] is not None]
        if not alike:  # cost models of methods are wrong by factors: no slow method counts for all that is to come
            return self.work[kind] * geometric_mean(max(known[other], 1e-9) / self.work[other] for other in known)
        seconds = sum(known[other] * len(self.seconds[other]) for other in alike)
        return self.work[kind] * seconds / sum(self.work[other] * len(self.seconds[other]) for other in alike)

    def _mean(self, found: list[float]) -> float:
        """Return a mean for which the slowest fits took as long as the next: each worker's first one loads code."""
        slow = min(self.jobs, len(found) // LOADING_PART)
        limit = sorted(found)[-1 - slow]
        return fmean(min(seconds, limit) for seconds in found)
