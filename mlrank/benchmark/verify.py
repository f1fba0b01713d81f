"""Published runs made again: which of their numbers come out the same, to the last digit or within a tolerance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlrank.records import RunRecord

__all__ = ["TOLERANCE", "Verified", "drawn", "other_kernels", "verified"]

# Solvers that stop at a tolerance, and sums in another order, move metrics by less than this.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Verified:
    """A published run beside the one made again.

    Parameters
    ----------
    label : str
        Data set, split and method.
    same_settings : bool
        Whether the search chose the same settings.
    largest : float
        The largest difference in any metric; inf where one has a value and the other none.
    reason : str
        Why there is nothing to compare; empty where there is.
    """

    label: str
    same_settings: bool
    largest: float
    reason: str = ""

    @property
    def is_equal(self) -> bool:
        """Whether all metrics agree to the last digit."""
        return not self.reason and self.largest == 0.0

    @property
    def is_close(self) -> bool:
        """Whether all metrics agree within TOLERANCE."""
        return not self.reason and self.largest <= TOLERANCE


def drawn(records: Sequence[RunRecord], number: int, seed: int) -> list[RunRecord]:
    """Return so many of the runs that have results, or all there are, in their order."""
    done = [record for record in records if record.done]
    places = np.random.default_rng(seed).choice(len(done), min(number, len(done)), replace=False)
    return [done[place] for place in sorted(places)]


def verified(published: RunRecord, again: RunRecord | None) -> Verified:
    """Return how a run that was made again compares with the published one.

    Parameters
    ----------
    published : RunRecord
    again : RunRecord or None
        None where no run of the same key was planned: data, configuration or version are others now.
    """
    if again is None:
        return Verified(published.label, False, np.inf, f"no run of today has its key {published.key}")
    if not again.done:
        return Verified(published.label, False, np.inf, f"failed: {again.reason}")
    same = dict(published.searched) == dict(again.searched)
    names = {*published.metrics, *again.metrics}
    return Verified(published.label, same, max(_apart(published.value(name), again.value(name)) for name in names))


def other_kernels(published: Sequence[RunRecord], again: Sequence[RunRecord]) -> str:
    """Return a note where the linear algebra of published runs is not that of those made again; else nothing.

    Other kernels, for other processors, add in another order: what stops at a tolerance stops elsewhere, and a cut or
    a choice between two settings may turn on the last digit.
    """
    then, now = ({name for record in records for name in record.software.blas} for records in (published, again))
    if not now or then == now:
        return ""
    names = {name.split()[-1] for name in then if name.startswith("openblas")}
    hint = f"; OPENBLAS_CORETYPE={names.pop()} takes the former" if len(names) == 1 else ""
    return f"published with {', '.join(sorted(then))}, made again with {', '.join(sorted(now))}: sums differ{hint}"


def _apart(one: float | None, other: float | None) -> float:
    if one is None or other is None:
        return 0.0 if one is other else np.inf
    return abs(one - other)
