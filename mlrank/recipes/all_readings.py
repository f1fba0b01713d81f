"""The readings of all recipes within one budget of time: which grid each recipe takes, and which of its readings.

The budget is shared: the cheapest recipe comes first, and each may take an equal part of what is left, so what the
cheap ones leave goes to the dear ones. A recipe whose readings in its default grid are dearer than its part takes its
quick grid, and there as many readings as fit.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mlrank.config import ExperimentConfig
from mlrank.recipes.readings import ReadingsPlan

__all__ = ["PricedReadings", "priced", "shared_out", "within_budget"]

# What an experiment is going to take, in seconds; None if not known.
Seconds = Callable[[ExperimentConfig], float | None]


@dataclass(frozen=True)
class PricedReadings:
    """Readings of a recipe with what they are going to take.

    Parameters
    ----------
    plan : ReadingsPlan
    costs : seconds of each experiment, by its place in the plan; None where not known
    left_out : how many readings of the same grid a budget left out
    """

    plan: ReadingsPlan
    costs: Mapping[int, float | None]
    left_out: int = 0

    @property
    def seconds(self) -> float | None:
        """What all experiments that some reading needs take together; None if that of one is not known."""
        costs = [self.costs[at] for at in self.plan.used]
        return None if None in costs else math.fsum(cost for cost in costs if cost is not None)


def priced(plan: ReadingsPlan, seconds: Seconds) -> PricedReadings:
    """Return the readings of a plan with what they are going to take."""
    return PricedReadings(plan, {at: seconds(plan.configs[at]) for at in plan.used})


def within_budget(found: PricedReadings, budget: float) -> PricedReadings:
    """Return the readings that a budget of seconds allows, the recipe as it stands always; see ReadingsPlan.within."""
    plan = found.plan.within(found.costs, budget)
    return PricedReadings(plan, found.costs, len(found.plan.readings) - len(plan.readings))


def shared_out(
    whole: Sequence[PricedReadings], quick: Callable[[ReadingsPlan], PricedReadings | None], budget: float
) -> list[PricedReadings]:
    """Return what of each recipe's readings is run so that all together stay within a budget, in the order given.

    They go beyond it only where the recipes as they stand already do, in the cheaper of their two grids.

    Parameters
    ----------
    whole : all readings of each recipe in its default grid
    quick : the readings of a recipe in its quick grid, None if it has none; asked for where the default is too dear
    budget : seconds
    """
    by_cost = sorted(range(len(whole)), key=lambda at: (_cost(whole[at]), at))
    chosen: dict[int, PricedReadings] = {}
    left = budget
    for place, at in enumerate(by_cost):
        part = max(0.0, left) / (len(by_cost) - place)
        found = whole[at]
        if _cost(found) > part:
            found = within_budget(quick(found.plan) or found, part)
        chosen[at] = found
        left -= found.seconds or 0.0
    return [chosen[at] for at in range(len(whole))]


def _cost(found: PricedReadings) -> float:
    return math.inf if found.seconds is None else found.seconds
