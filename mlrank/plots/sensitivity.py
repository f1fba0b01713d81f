"""How much a search's metric depends on the settings: a curve for each axis, a map for each pair of axes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean, stdev
from typing import TypeAlias

from mlrank.errors import UserError
from mlrank.plots.heat import HeatFigure, HeatPanel
from mlrank.plots.panels import Curve, Panel, PanelFigure
from mlrank.records.run import RunRecord, SearchTrial

__all__ = ["heat_figures", "sensitivity_figure"]

# A setting as a key of a table: a list, which is no key, is its text.
Value: TypeAlias = int | float | str | bool | None
Chosen: TypeAlias = Mapping[str, object]
_MOST_MAPS = 6


def sensitivity_figure(trials: Sequence[SearchTrial], records: Sequence[RunRecord]) -> PanelFigure:
    """Return the search's metric along each axis, the other settings as chosen, a panel for each method and axis.

    Parameters
    ----------
    trials : as `mlrank.experiment.stored_trials` returns them, of one data set
    records : the runs that chose by them

    Raises
    ------
    UserError
        If no method has an axis with two values that were tried.
    """
    panels = []
    for method in dict.fromkeys(trial.method for trial in trials):
        mine = _usable(trials, method)
        chosen = _chosen(records, method)
        for axis in chosen:
            found = _along(mine, chosen, axis)
            if len(found) > 1:
                panels.append(_panel(method, axis, found, chosen))
    if not panels:
        raise UserError("no sensitivity to settings: no search has tried two values of a setting")
    metric, dataset = trials[0].metric, trials[0].dataset
    notes = (
        "Means over the folds of the search, bars: standard deviation over the folds; other settings as chosen.",
        "Values are spaced evenly. The star is at the value that was chosen most often over the splits.",
    )
    return PanelFigure(f"{metric} on {dataset} along each setting", tuple(panels), "", metric, notes, same_y=False)


def heat_figures(trials: Sequence[SearchTrial], records: Sequence[RunRecord]) -> dict[str, HeatFigure]:
    """Return for each method with two axes or more a map of the search's metric for each pair of them.

    The parameters are those of `sensitivity_figure`; a pair is left out where fewer than two values of both were tried.
    """
    figures = {}
    for method in dict.fromkeys(trial.method for trial in trials):
        mine, chosen = _usable(trials, method), _chosen(records, method)
        panels = [panel for pair in combinations(chosen, 2) if (panel := _map(mine, chosen, *pair))]
        if panels:
            more = f" The first {_MOST_MAPS} of {len(panels)} pairs are shown." if len(panels) > _MOST_MAPS else ""
            notes = (f"Means over the folds of the search; other settings as chosen; framed: the choice.{more}",)
            title = f"{trials[0].metric} of {method} on {trials[0].dataset}"
            figures[method] = HeatFigure(title, tuple(panels[:_MOST_MAPS]), trials[0].metric, notes=notes)
    return figures


def _usable(trials: Sequence[SearchTrial], method: str) -> list[SearchTrial]:
    return [trial for trial in trials if trial.method == method and trial.record.value is not None]


def _chosen(records: Sequence[RunRecord], method: str) -> Chosen:
    """Return the values chosen most often together by the runs of a method, by axis; nothing without a search."""
    found = [record.searched for record in records if record.method == method and record.searched]
    if not found:
        return {}
    common = Counter(_point(settings) for settings in found).most_common(1)[0][0]
    return dict(next(settings for settings in found if _point(settings) == common))


def _point(settings: Chosen) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, repr(value)) for name, value in settings.items()))


def _along(trials: Sequence[SearchTrial], chosen: Chosen, *axes: str) -> dict[tuple[Value, ...], list[float]]:
    """Return the values of the trials that differ from the choice in some axes alone, by the settings of these."""
    fixed = _point({name: value for name, value in chosen.items() if name not in axes})
    found: dict[tuple[str, ...], tuple[tuple[object, ...], list[float]]] = {}
    for trial in trials:
        settings, value = trial.settings, trial.record.value
        others = _point({name: value for name, value in settings.items() if name not in axes})
        if value is not None and others == fixed:
            at = tuple(settings[axis] for axis in axes)
            found.setdefault(tuple(map(repr, at)), (at, []))[1].append(value)
    # Settings may be lists, which are no keys: the text tells them apart, the value is kept beside it.
    return {tuple(_key(value) for value in at): values for at, values in found.values()}


def _key(value: object) -> Value:
    return value if isinstance(value, (int, float, str, bool)) or value is None else str(value)


def _panel(method: str, axis: str, found: Mapping[tuple[Value, ...], Sequence[float]], chosen: Chosen) -> Panel:
    values = [key[0] for key in found]
    order = _ordered(values)
    means = tuple(fmean(found[(value,)]) for value in order)
    spread = tuple(stdev(found[(value,)]) if len(found[(value,)]) > 1 else 0.0 for value in order)
    # Evenly spaced, whatever the values: grids are powers, often with 0 before them.
    x = tuple(map(float, range(len(order))))
    best = _key(chosen[axis])
    stars = tuple((x[at], means[at]) for at, value in enumerate(order) if value == best)
    ticks = tuple((x[at], _text(value)) for at, value in enumerate(order))
    curve = Curve(f"{method}, {axis}", x, means, spread if any(spread) else None)
    return Panel(f"{method}: {axis}", (curve,), x_label=axis, ticks=ticks, stars=stars, legend=False)


def _map(trials: Sequence[SearchTrial], chosen: Chosen, down: str, across: str) -> HeatPanel | None:
    found = _along(trials, chosen, down, across)
    rows, columns = (_ordered([key[place] for key in found]) for place in (0, 1))
    if len(rows) < 2 or len(columns) < 2:
        return None
    values = tuple(
        tuple(fmean(found[row, column]) if (row, column) in found else float("nan") for column in columns)
        for row in rows
    )
    best = (_key(chosen[down]), _key(chosen[across]))
    marked = ((rows.index(best[0]), columns.index(best[1])),) if best in found else ()
    names = tuple(map(_text, columns)), tuple(map(_text, rows))
    return HeatPanel(f"{down} and {across}", across, down, *names, values, marked)


def _ordered(values: Sequence[Value]) -> list[Value]:
    """Return the distinct values: numbers sorted, others in the order of the trials."""
    distinct = list(dict.fromkeys(values))
    numbers = [value for value in distinct if isinstance(value, (int, float)) and not isinstance(value, bool)]
    return [*sorted(numbers)] if len(numbers) == len(distinct) else distinct


def _text(value: Value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "none" if value is None else str(value)
