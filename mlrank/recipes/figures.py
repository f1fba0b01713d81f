"""The figures of papers: one experiment for each value on the x axis, and the curves that come of their runs."""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from statistics import fmean, stdev
from typing import Any, TypeAlias

from mlrank.plots import Curve, Level, Panel, PanelFigure
from mlrank.recipes.recipe import Recipe
from mlrank.recipes.recipe_parts import GRADES, USER, DataOption, FigureRecipe, grade_on
from mlrank.records import RunRecord
from mlrank.yamlfile import YamlMapping

__all__ = ["FLAT", "Runs", "figure_experiments", "paper_figure", "value_of"]

Runs: TypeAlias = Mapping[float | str, Sequence[RunRecord]]
# Stands for the experiment of the methods that the x axis does not change.
FLAT = "flat"


def figure_experiments(
    recipe: Recipe, name: str, option: DataOption, user_data: Any = None
) -> Iterator[tuple[float | str, YamlMapping]]:
    """Yield (value on the x axis or FLAT, experiment as the mapping that a YAML config would hold).

    Parameters
    ----------
    name : key of the recipe's figures
    option : the data to use, one of the figure's or the recipe's
    user_data : the entry of ``datasets`` for the option "user"
    """
    figure = recipe.figures[name]
    dataset = deepcopy(user_data) if option.dataset == USER else option.dataset
    origin = {"name": recipe.name, "part": "figure", "option": option.dataset}
    base = deepcopy(recipe.experiment) | {"datasets": [dataset], "recipe": origin}
    for key in ("split", "subset"):
        for source in (option, figure):
            if getattr(source, key) is not None:
                base[key] = deepcopy(getattr(source, key))
    for value in figure.values:
        experiment = deepcopy(base) | {"methods": deepcopy(figure.methods)}
        _set(experiment, figure.vary, value)
        yield value, {"name": f"{recipe.name}-{name}-{value:g}", **experiment}
    if figure.flat:
        yield FLAT, {"name": f"{recipe.name}-{name}-{FLAT}", **base, "methods": deepcopy(figure.flat)}


def _set(experiment: YamlMapping, where: str, value: float) -> None:
    part, key = where.split(".")
    targets = experiment["methods"].values() if part == "settings" else [experiment.setdefault(part, {})]
    for target in targets:
        target[key] = value


def paper_figure(recipe: Recipe, name: str, option: DataOption, runs: Runs) -> PanelFigure:
    """Return a figure of the paper drawn from our runs, with what its table says of the same methods.

    Parameters
    ----------
    runs : per value on the x axis, and under FLAT, the records of its experiment
    """
    figure = recipe.figures[name]
    even = figure.x.spacing == "even"
    positions = [float(place) if even else value / figure.x.divide for place, value in enumerate(figure.values)]
    panels = tuple(
        Panel(
            title,
            tuple(_curves(figure, methods, positions, runs)),
            tuple(_levels(recipe, figure, methods, positions, option)),
        )
        for title, methods in figure.panels.items()
    )
    first = next((record for records in runs.values() for record in records), None)
    dataset = option.dataset if first is None else first.dataset.name
    grade = grade_on(option, first is not None and first.dataset.stand_in)
    n_splits = len({record.split for records in runs.values() for record in records})
    notes = [f"ours on {dataset} ({GRADES[grade]}), {n_splits} partition{'s' if n_splits > 1 else ''}"]
    if n_splits > 1:
        notes[0] += ", bars: standard deviation over partitions"
    ticks = None
    if even:
        ticks = tuple((position, f"{value:g}") for position, value in zip(positions, figure.values, strict=True))
    label = figure.y.label
    return PanelFigure(
        figure.title, panels, figure.x.label, label, tuple(notes), ticks, figure.y.metric == "fit_seconds"
    )


def _curves(
    figure: FigureRecipe,
    methods: Sequence[str],
    positions: Sequence[float],
    runs: Mapping[float | str, Sequence[RunRecord]],
) -> Iterator[Curve]:
    for method in methods:
        keys = [FLAT] * len(positions) if method in figure.flat else list(figure.values)
        found = [_values(runs.get(key, ()), method, figure.y.metric) for key in keys]
        there = [(x, values) for x, values in zip(positions, found, strict=True) if values]
        spread = tuple(stdev(values) if len(values) > 1 else 0.0 for _, values in there)
        bars = spread if any(spread) and method not in figure.flat else None
        yield Curve(method, tuple(x for x, _ in there), tuple(fmean(values) for _, values in there), bars)


def _values(records: Sequence[RunRecord], method: str, metric: str) -> list[float]:
    done = [record for record in records if record.method == method and record.done]
    return [value for record in done if (value := value_of(record, metric)) is not None]


def value_of(record: RunRecord, metric: str) -> float | None:
    """Return what a figure shows of a run: a metric, its seconds or its objective; None where there is none."""
    if metric == "fit_seconds":
        return record.time.fit
    return record.fit.objective if metric == "objective" else record.value(metric)


def _levels(
    recipe: Recipe, figure: FigureRecipe, methods: Sequence[str], positions: Sequence[float], option: DataOption
) -> Iterator[Level]:
    """Yield the numbers of the paper's table for the methods shown; beside stand-in data they mean nothing."""
    if option.grade == "stand-in":
        return
    for method in methods:
        number = recipe.expected.get(method, {}).get(figure.y.metric)
        if number is None:
            continue
        label = f"{method}, paper's {recipe.table}"
        if figure.paper_at is not None:
            # Among values that stand evenly it has the place of its own.
            drawn = dict(zip(figure.values, positions, strict=True))
            yield Level(label, number, drawn.get(figure.paper_at, figure.paper_at / figure.x.divide), of=method)
        elif method in figure.flat:
            yield Level(label, number, of=method)
