"""Recipes: one YAML file per table of a paper, read into frozen objects and checked as a whole."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mlrank.errors import UserError, unknown_name
from mlrank.metrics import METRICS
from mlrank.resources import shipped
from mlrank.yamlfile import FileErrors, Positions, load_yaml

__all__ = ["GRADES", "USER", "Claim", "DataOption", "Recipe", "load_recipe", "recipes"]

# What a comparison with the paper is worth, from best to worst.
GRADES: Mapping[str, str] = {
    "exact": "same data and split",
    "same-source": "same source, new sample",
    "related": "related collection",
    "stand-in": "stand-in data",
}
# The option that stands for files named by the user.
USER = "user"

_FROZEN = ConfigDict(frozen=True, extra="forbid")


class DataOption(BaseModel):
    """One data set on which a table can be attempted.

    Parameters
    ----------
    dataset : catalogue name, or "user" for files that the user names
    grade : key of GRADES
    note : how the data differ from the paper's
    how_to : how to get them
    subset, split : replace those of the recipe's experiment
    """

    model_config = _FROZEN

    dataset: str
    grade: Literal["exact", "same-source", "related", "stand-in"]
    note: str
    how_to: str
    subset: dict[str, Any] | None = None
    split: dict[str, Any] | None = None


class Claim(BaseModel):
    """A statement of the paper: in each of `metrics`, the methods in `order` come out from best to worst."""

    model_config = _FROZEN

    text: str
    metrics: tuple[str, ...] = Field(min_length=1)
    order: tuple[str, ...] = Field(min_length=2)


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
    expected : the paper's numbers per method and metric
    claims : what the paper concludes from them
    """

    model_config = _FROZEN

    name: str
    title: str
    paper: str
    table: str
    protocol: tuple[str, ...] = ()
    data: tuple[DataOption, ...] = Field(min_length=1)
    experiment: dict[str, Any]
    grids: dict[str, dict[str, dict[str, Any]]] = Field(min_length=1)
    default_grid: str = "coarse"
    expected: dict[str, dict[str, float]] = Field(min_length=1)
    claims: tuple[Claim, ...] = ()


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
    data, positions = load_yaml((folder or _shipped()) / f"{name}.yaml")
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
}


def _explain(problem: Any, positions: Positions) -> UserError:
    where = tuple(problem["loc"])
    if problem["type"] == "extra_forbidden":
        known = _FIELDS[str(where[0])] if len(where) > 1 else Recipe.model_fields
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
    if recipe.default_grid not in recipe.grids:
        yield unknown_name("grid", recipe.default_grid, recipe.grids), ("default_grid",)
    datasets = [option.dataset for option in recipe.data]
    for place, dataset in enumerate(datasets):
        if dataset in datasets[:place]:
            yield f"the data option '{dataset}' is listed twice", ("data", place, "dataset")
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
    for grid, by_method in recipe.grids.items():
        for method in by_method:
            yield "method", method, methods, ("grids", grid, method)
    for method, by_metric in recipe.expected.items():
        yield "method", method, methods, ("expected", method)
        for metric in by_metric:
            yield "metric", metric, METRICS, ("expected", method, metric)
    for place, claim in enumerate(recipe.claims):
        for at, method in enumerate(claim.order):
            yield "method", method, methods, ("claims", place, "order", at)
        for at, metric in enumerate(claim.metrics):
            yield "metric", metric, METRICS, ("claims", place, "metrics", at)
