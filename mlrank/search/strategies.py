"""Which grid points a search tries: functions that ask for points stage by stage and end with the best one.

A strategy is a generator: it yields stages, is sent the value of each point of the stage, and returns the index of the
point it chooses, or None where no point has a value. It depends on nothing but what it is sent, so a search that was
cut is taken up by asking it again and answering from the journal.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from types import MappingProxyType

import numpy as np

__all__ = ["STRATEGIES", "Plan", "Stage", "count_fits"]

HALVING_FACTOR = 3
# The first stage of halving has a 27th of the rows or more.
MAX_RUNGS = 3


@dataclass(frozen=True)
class Stage:
    """Grid points to be compared, on a fraction of the training rows of each fold."""

    points: tuple[int, ...]
    fraction: float = 1.0


@dataclass(frozen=True)
class Plan:
    """What a strategy must know.

    Parameters
    ----------
    sizes : number of values of each axis, first axis slowest
    max_points : most points that `draw` and `staged` may try, None for no bound
    sign : 1.0 where larger values are better, -1.0 where smaller ones are
    seed : int
    """

    sizes: tuple[int, ...]
    max_points: int | None
    sign: float
    seed: int

    @property
    def n_points(self) -> int:
        """Number of grid points."""
        return prod(self.sizes)

    def best(self, points: Sequence[int], values: Sequence[float | None]) -> int | None:
        """Return the point with the best value, the first of equals; None where none has a value."""
        ranked = self.ranked(points, values)
        return ranked[0] if ranked else None

    def ranked(self, points: Sequence[int], values: Sequence[float | None]) -> list[int]:
        """Return the points that have a value, best first, equals in their order."""
        found = [(-self.sign * value, point) for point, value in zip(points, values, strict=True) if value is not None]
        return [point for _, point in sorted(found)]


Search = Generator[Stage, Sequence[float | None], int | None]


def grid(plan: Plan) -> Search:
    """Try every point."""
    points = tuple(range(plan.n_points))
    return plan.best(points, (yield Stage(points)))


def draw(plan: Plan) -> Search:
    """Try points drawn without repetition, as many as are allowed."""
    count = min(plan.max_points or plan.n_points, plan.n_points)
    drawn = np.random.default_rng(plan.seed).choice(plan.n_points, size=count, replace=False)
    points = tuple(sorted(int(point) for point in drawn))
    return plan.best(points, (yield Stage(points)))


def staged(plan: Plan) -> Search:
    """Try one axis after another, in the order written; the others stay at their best, at first at their middle value.

    An axis that would exceed the bound on points stays where it is.
    """
    place = [(size - 1) // 2 for size in plan.sizes]
    tried: set[int] = set()
    best: int | None = None
    for axis, size in enumerate(plan.sizes):
        line = [(*place[:axis], value, *place[axis + 1 :]) for value in range(size)]
        points = tuple(int(np.ravel_multi_index(at, plan.sizes)) for at in line)
        if size < 2 or (plan.max_points is not None and len(tried.union(points)) > plan.max_points):
            continue
        tried.update(points)
        best = plan.best(points, (yield Stage(points)))
        if best is None:
            return None
        place = [int(value) for value in np.unravel_index(best, plan.sizes)]
    if not tried:
        middle = (int(np.ravel_multi_index(tuple(place), plan.sizes)),)
        best = plan.best(middle, (yield Stage(middle)))
    return best


def halving(plan: Plan) -> Search:
    """Try every point on few rows, the best third of them on three times as many, and so on up to all rows."""
    points = tuple(range(plan.n_points))
    for rung in range(_rungs(plan.n_points), 0, -1):
        values = yield Stage(points, HALVING_FACTOR**-rung)
        ranked = plan.ranked(points, values)
        points = tuple(sorted(ranked[: -(-len(points) // HALVING_FACTOR)]))
        if not points:
            return None
    return plan.best(points, (yield Stage(points)))


def _rungs(n_points: int) -> int:
    """Return the number of stages before the last: while a third of the points is one or more."""
    rungs = 0
    while rungs < MAX_RUNGS and n_points >= HALVING_FACTOR ** (rungs + 1):
        rungs += 1
    return rungs


STRATEGIES: Mapping[str, Callable[[Plan], Search]] = MappingProxyType(
    {"grid": grid, "staged": staged, "halving": halving, "random": draw}
)


def count_fits(strategy: str, plan: Plan) -> int:
    """Return how many (point, fraction) pairs a strategy asks for, which does not depend on the values."""
    search, asked = STRATEGIES[strategy](plan), set[tuple[int, float]]()
    values: Sequence[float | None] | None = None
    while True:
        try:
            stage = next(search) if values is None else search.send(values)
        except StopIteration:
            return len(asked)
        asked.update((point, stage.fraction) for point in stage.points)
        values = [0.0] * len(stage.points)
