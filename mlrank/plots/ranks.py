"""The critical-difference diagram of a comparison."""

from mlrank.errors import UserError
from mlrank.plots.critical import CriticalFigure
from mlrank.stats import OverDatasets

__all__ = ["critical_figure"]


def critical_figure(found: OverDatasets) -> CriticalFigure:
    """Return the diagram of mean ranks.

    Raises
    ------
    UserError
        If the comparison has no critical difference: two methods alone, or all tied.
    """
    if found.critical_difference is None:
        why = "two methods have none" if len(found.methods) == 2 else "all methods are tied on every data set"
        raise UserError(f"no critical-difference diagram of {found.metric}: {why}")
    differ = tuple(test.method for test in found.against_control if test.p_holm <= found.alpha)
    notes = [f"Bars join methods that Nemenyi's test at level {found.alpha:g} does not tell apart; rank 1 is best."]
    if differ:
        notes.append(f"≠: differs from the control {found.control} by the z-test on mean ranks with Holm.")
    return CriticalFigure(
        title=f"Mean ranks in {found.metric} over {len(found.datasets)} data sets",
        methods=found.methods,
        mean_ranks=tuple(map(float, found.mean_ranks)),
        difference=found.critical_difference,
        groups=found.groups,
        control=found.control,
        differ=differ,
        notes=tuple(notes),
    )
