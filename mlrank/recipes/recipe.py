"""Recipes: one YAML file per table of a paper, read into frozen objects and checked as a whole."""

import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from mlrank.errors import UserError, unknown_name
from mlrank.metrics import METRICS
from mlrank.recipes.papertable import PaperLayout
from mlrank.recipes.reading_parts import DERIVED, Choice, Question
from mlrank.recipes.recipe_parts import (
    FROZEN,
    GRADES,
    NOT_METRICS,
    USER,
    Claim,
    DataOption,
    Effort,
    FigureClaim,
    FigureRecipe,
    RegionsRecipe,
    RelatedTable,
    Sizes,
    TimesTable,
    XAxis,
    YAxis,
)
from mlrank.resources import shipped
from mlrank.yamlfile import FileErrors, Positions, YamlMapping, load_yaml

__all__ = [
    "GRADES",
    "USER",
    "Claim",
    "DataOption",
    "Effort",
    "FigureRecipe",
    "Recipe",
    "RegionsRecipe",
    "TimesTable",
    "load_recipe",
    "recipes",
]


class Recipe(BaseModel):
    """One table of a paper.

    Parameters
    ----------
    name, title : str
    paper : citation
    table : what the paper calls it, such as "Table 1"
    protocol : what was decided where the paper is silent, one line each
    data : the options, from best to worst
    experiment : an experiment mapping without name and datasets
    grids : per grid name and method, settings that are added to the method
    default_grid : str
    quick_grid : name of the grid that readings are tried in where the default one takes too long; None for none
    effort : per grid name, what it changes of the experiment's split, search and subset
    expected : the paper's numbers per method and metric, null where it gives none
    spread : their standard deviations, where the paper gives them; in its layout ours then are shown too
    layout : how the paper prints them
    sizes : what the paper counts of its data
    claims : what the paper concludes from them
    times : another table of the paper, of run times
    related : another table of the paper, of related labels
    figures, regions : the paper's figures, by name
    readings : what the paper leaves open, by name, with the choices that a reader has
    """

    model_config = FROZEN

    name: str
    title: str
    paper: str
    table: str
    protocol: tuple[str, ...] = ()
    data: tuple[DataOption, ...] = Field(min_length=1)
    experiment: YamlMapping
    grids: dict[str, dict[str, YamlMapping]] = Field(min_length=1)
    default_grid: str = "coarse"
    quick_grid: str | None = None
    effort: dict[str, Effort] = {}
    expected: dict[str, dict[str, float | None]] = Field(min_length=1)
    spread: dict[str, dict[str, float]] = {}
    layout: PaperLayout | None = None
    sizes: Sizes | None = None
    claims: tuple[Claim, ...] = ()
    times: TimesTable | None = None
    related: RelatedTable | None = None
    figures: dict[str, FigureRecipe] = {}
    regions: dict[str, RegionsRecipe] = {}
    readings: dict[str, Question] = {}


def recipes(folder: Path | None = None) -> list[str]:
    """Return the names of the shipped recipes (or of those in `folder`), sorted."""
    return sorted(path.stem for path in (folder or _shipped()).glob("*.yaml"))


def load_recipe(name: str, folder: Path | None = None) -> Recipe:
    """Read a recipe by name.

    Raises
    ------
    UserError
        If there is none of this name, or its file is wrong: every problem with line and column.
    """
    known = recipes(folder)
    if name not in known:  # a name with a path in it is never known
        raise UserError(unknown_name("recipe", name, known))
    return _shipped_recipe(name) if folder is None else _read(folder, name)


@functools.cache
def _shipped_recipe(name: str) -> Recipe:
    return _read(_shipped(), name)


def _read(folder: Path, name: str) -> Recipe:
    data, positions = load_yaml(folder / f"{name}.yaml")
    try:
        recipe = Recipe.model_validate(data)
    except ValidationError as error:
        raise FileErrors([_explain(problem, positions) for problem in error.errors()]) from None
    problems = [positions.error(message, *where) for message, where in _inconsistencies(recipe, name)]
    if problems:
        raise FileErrors(problems)
    return recipe


def _shipped() -> Path:
    return shipped("configs") / "reproduce"


_FIELDS: Mapping[str, Iterable[str]] = {
    "data": DataOption.model_fields,
    "claims": Claim.model_fields,
    "effort": Effort.model_fields,
    "times": TimesTable.model_fields,
    "related": RelatedTable.model_fields,
    "figures": {**FigureRecipe.model_fields, **FigureClaim.model_fields},
    "regions": RegionsRecipe.model_fields,
    "layout": PaperLayout.model_fields,
    "sizes": Sizes.model_fields,
    "readings": Question.model_fields,
    "choices": Choice.model_fields,
    "x": XAxis.model_fields,
    "y": YAxis.model_fields,
}


def _explain(problem: Any, positions: Positions) -> UserError:
    where = tuple(problem["loc"])
    if problem["type"] == "extra_forbidden":
        known = next((_FIELDS[key] for key in map(str, reversed(where[:-1])) if key in _FIELDS), Recipe.model_fields)
        return positions.error(unknown_name("key of a recipe", where[-1], known), *where, key=True)
    if problem["type"] == "missing":
        return positions.error(f"the key '{where[-1]}' is missing", *where)
    message = f"{problem['msg'][0].lower()}{problem['msg'][1:]}, found {problem['input']!r}"
    return positions.error(message, *where)


Problem = tuple[str, tuple[str | int, ...]]


def _inconsistencies(recipe: Recipe, name: str) -> Iterator[Problem]:
    """Yield what is wrong between the parts of a recipe, each with its place in the file."""
    if recipe.name != name:
        yield f"the recipe is called '{recipe.name}' but its file '{name}.yaml'", ("name",)
    for key in {"name", "datasets"} & set(recipe.experiment):
        yield f"'{key}' is set by the recipe, not by its experiment", ("experiment", key)
    for key, grid in (("default_grid", recipe.default_grid), ("quick_grid", recipe.quick_grid)):
        if grid is not None and grid not in recipe.grids:
            yield unknown_name("grid", grid, recipe.grids), (key,)
    datasets = [option.dataset for option in recipe.data]
    for place, dataset in enumerate(datasets):
        if dataset in datasets[:place]:
            yield f"the data option '{dataset}' is listed twice", ("data", place, "dataset")
    for place, claim in enumerate(recipe.claims):
        given = [key for key in ("order", "pairs", "close", "best") if getattr(claim, key)]
        if len(given) != 1:
            found = " and ".join(given) or "none of them"
            yield f"a claim has one of 'order', 'pairs', 'close' and 'best', found {found}", ("claims", place)
        if (claim.best is not None) != bool(claim.among):
            yield "'best' and 'among' go together", ("claims", place)
    for name, figure in recipe.figures.items():
        for place, stated in enumerate(figure.claims):
            if stated.by is not None and stated.by not in figure.values:
                values = ", ".join(f"{value:g}" for value in figure.values)
                yield (
                    f"'by' is one of the values {values}, found {stated.by:g}",
                    ("figures", name, "claims", place, "by"),
                )
    methods = recipe.experiment.get("methods")
    if not isinstance(methods, dict):
        yield "the experiment needs a mapping 'methods'", ("experiment",)
        return
    for what, found, known, where in _mentions(recipe, methods):
        if found not in known:
            yield unknown_name(what, found, known), where


def _mentions(
    recipe: Recipe, methods: Iterable[str]
) -> Iterator[tuple[str, str, Iterable[str], tuple[str | int, ...]]]:
    """Yield every mention of a method or metric: what it is, its name, the known names, its place."""
    for grid in recipe.effort:
        yield "grid", grid, recipe.grids, ("effort", grid)
    for grid, by_method in recipe.grids.items():
        for method in by_method:
            yield "method", method, methods, ("grids", grid, method)
    for method, by_metric in recipe.expected.items():
        yield "method", method, methods, ("expected", method)
        for metric in by_metric:
            yield "metric", metric, METRICS, ("expected", method, metric)
    for method, spreads in recipe.spread.items():
        yield "method with an expected number", method, recipe.expected, ("spread", method)
        for metric in spreads:
            known = recipe.expected.get(method, ())
            yield "metric with an expected number", metric, known, ("spread", method, metric)
    yield from _printed(recipe, methods)
    for name, regions in recipe.regions.items():
        for title, drawn_method in regions.panels.items():
            if drawn_method is not None:
                yield "method", drawn_method, methods, ("regions", name, "panels", title)
    for name, figure in recipe.figures.items():
        if figure.y.metric not in NOT_METRICS:
            yield "metric", figure.y.metric, METRICS, ("figures", name, "y", "metric")
        drawn = {**figure.methods, **figure.flat}
        for title, shown in figure.panels.items():
            for at, method in enumerate(shown):
                yield "method of the figure", method, drawn, ("figures", name, "panels", title, at)
        for at, stated in enumerate(figure.claims):
            for method in stated.methods:
                yield "method of the figure", method, drawn, ("figures", name, "claims", at)
    for place, claim in enumerate(recipe.claims):
        for at, method in enumerate(claim.order or ()):
            yield "method", method, methods, ("claims", place, "order", at)
        if claim.best is not None:
            yield "method", claim.best, methods, ("claims", place, "best")
        for at, method in enumerate(claim.among):
            yield "method", method, methods, ("claims", place, "among", at)
        for key, pairs in (("pairs", claim.pairs), ("close", claim.close)):
            for at, pair in enumerate(pairs or ()):
                for end, method in enumerate(pair):
                    yield "method", method, methods, ("claims", place, key, at, end)
        for at, metric in enumerate(claim.metrics):
            yield "metric", metric, METRICS, ("claims", place, "metrics", at)
    printed = {metric for by_metric in recipe.expected.values() for metric in by_metric}
    known_to_readings = {"method": methods, "metric of the paper's table": printed, "measure": [*METRICS, *DERIVED]}
    for name, question in recipe.readings.items():
        for what, found, where in question.mentions():
            yield what, found, known_to_readings[what], ("readings", name, *where)
    if recipe.times is not None:
        for method in recipe.times.expected:
            yield "method", method, recipe.times.methods, ("times", "expected", method)
        for method in recipe.times.spread:
            yield "method with an expected number", method, recipe.times.expected, ("times", "spread", method)
        for place, fast in enumerate(recipe.times.claims):
            for at, method in enumerate(fast.faster_first):
                yield "method", method, recipe.times.methods, ("times", "claims", place, "faster_first", at)


def _printed(recipe: Recipe, methods: Iterable[str]) -> Iterator[tuple[str, str, Iterable[str], tuple[str | int, ...]]]:
    """Yield the mentions in the layouts."""
    timed = recipe.times.methods if recipe.times else {}
    known: dict[tuple[str, ...], tuple[PaperLayout | None, Iterable[str]]] = {("layout",): (recipe.layout, methods)}
    if recipe.layout is not None:
        known["layout", "times"] = (recipe.layout.times, timed)
    for where, (layout, named) in known.items():
        for method in layout.methods if layout else ():
            yield "method", method, named, (*where, "methods", method)
        for metric in layout.metrics if layout else ():
            yield "metric", metric, [*METRICS, "fit_seconds"], (*where, "metrics", metric)
