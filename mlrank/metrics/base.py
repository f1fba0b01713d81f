"""What a metric is: a function, its direction, what it needs, and its definition in words."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from mlrank.arrays import BoolArray

__all__ = ["Metric", "MetricValue"]


class MetricValue(NamedTuple):
    """A value and what it was averaged over.

    value : float, NaN if nothing was defined
    n_defined, n_total : int, how many terms entered the average, and of how many
    unit : "labels", "rows" or "all" (pooled)
    """

    value: float
    n_defined: int
    n_total: int
    unit: str


@dataclass(frozen=True)
class Metric:
    """A metric; ``function(Y, predicted)`` takes bool (n_samples, n_labels) and scores or sets of that shape.

    What needs probabilities takes scores, and is undefined where they are none.
    `worst` is the worst value of a term, where predictions can leave terms undefined that others define. It is None
    where the true labels alone decide which terms are defined. `takes_unknown` says whether entries can be left out,
    `of_best` whether it takes the best scores of each row in place of all: a `BestRankings`, or sparse label sets.
    """

    function: Callable[[BoolArray, Any], MetricValue]
    higher_is_better: bool
    needs: Literal["scores", "sets", "probabilities"]
    definition: str
    worst: float | None = None
    takes_unknown: bool = True
    of_best: bool = False

    @property
    def sign(self) -> float:
        """1 if higher is better, else -1: with it, higher is better for every metric."""
        return 1.0 if self.higher_is_better else -1.0
