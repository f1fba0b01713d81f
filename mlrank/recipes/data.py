"""Which data a recipe runs on, and the experiment that comes of it."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

from mlrank.errors import UserError, unknown_name
from mlrank.recipes.recipe import GRADES, USER, DataOption, Recipe
from mlrank.yamlfile import YamlMapping

__all__ = ["banner", "better_options", "choose_data", "experiment_mapping"]


def choose_data(
    recipe: Recipe, available: Callable[[str], bool], user_files: bool, options: Sequence[DataOption] = ()
) -> DataOption:
    """Return the first option that can be used.

    Parameters
    ----------
    options : DataOption, optional
        Instead of the recipe's.
    available : whether a catalogue data set is there
    user_files : whether the user named files; they then come first, wherever the recipe lists them

    Raises
    ------
    UserError
        If none can be used, or the user named files for a recipe that takes none.
    """
    if user_files:
        named = [option for option in options or recipe.data if option.dataset == USER]
        if not named:
            raise UserError(f"the recipe '{recipe.name}' takes no files of your own")
        return named[0]
    for option in options or recipe.data:
        if option.dataset != USER and available(option.dataset):
            return option
    ways = "; or ".join(option.how_to for option in options or recipe.data)
    raise UserError(f"no data for the recipe '{recipe.name}': {ways}")


def better_options(recipe: Recipe, option: DataOption) -> list[DataOption]:
    """Return the options that the recipe lists before `option`."""
    return list(recipe.data[: recipe.data.index(option)])


def banner(recipe: Recipe, table: str, option: DataOption, missing_options: Sequence[DataOption]) -> list[str]:
    """Return the lines to print first: which table, which data, how to get better ones."""
    lines = [
        f"{recipe.name}: {table} of {recipe.paper}",
        f"data: {_called(option)} ({GRADES[option.grade]}): {option.note}",
    ]
    if option.grade == "stand-in":
        lines.append("on stand-in data the numbers below say nothing about the paper")
    better = [f"better data: {_called(other)} ({GRADES[other.grade]}): {other.how_to}" for other in missing_options]
    return lines + better


def _called(option: DataOption) -> str:
    return "your files" if option.dataset == USER else option.dataset


def experiment_mapping(recipe: Recipe, option: DataOption, grid: str, user_data: Any = None) -> YamlMapping:
    """Return the experiment as the mapping that a YAML config would hold.

    The experiment is named after the recipe; after the grid too unless it is the default one, so that results of
    different grids stay apart.

    Parameters
    ----------
    grid : name of one of the recipe's grids
    user_data : the entry of ``datasets`` for the option "user": a path or a mapping of train, test, labels...

    Raises
    ------
    UserError
        If there is no such grid.
    ValueError
        If `user_data` is absent for the option "user" or given for another.
    """
    if grid not in recipe.grids:
        raise UserError(unknown_name(f"grid of the recipe '{recipe.name}'", grid, recipe.grids))
    if (option.dataset == USER) != (user_data is not None):
        raise ValueError(f"user_data belongs to the option '{USER}' alone, found {user_data!r} for '{option.dataset}'")
    experiment = deepcopy(recipe.experiment)
    for method, settings in recipe.grids[grid].items():
        experiment["methods"][method].update(deepcopy(settings))
    overrides = {key: deepcopy(getattr(option, key)) for key in ("subset", "split") if getattr(option, key) is not None}
    name = recipe.name if grid == recipe.default_grid else f"{recipe.name}-{grid}"
    dataset = deepcopy(user_data) if option.dataset == USER else option.dataset
    origin = {"name": recipe.name, "part": "table", "grid": grid, "option": option.dataset}
    mapping = {"name": name, "datasets": [dataset], **experiment, **overrides, "recipe": origin}
    if grid in recipe.effort:
        for part, changes in recipe.effort[grid].model_dump(exclude_defaults=True).items():
            mapping[part] = {**mapping.get(part, {}), **changes}
    return mapping
