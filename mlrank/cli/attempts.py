"""Running a table of a recipe: choose the data, make the runs, set the paper's numbers beside ours, write it down."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rich.console import Console

    from mlrank.config import ExperimentConfig
    from mlrank.records import RunFolder
    from mlrank.reproduce import Comparison, DataOption, Recipe, TimesTable

__all__ = ["Asked", "Attempt", "attempt", "chosen_data", "planned", "run_asked"]


class Asked(NamedTuple):
    """How experiments of recipes are to be run."""

    results: Path
    jobs: int
    scheduler: str | None
    quiet: bool
    as_json: bool
    dry_run: bool
    retry_failed: bool
    log_level: str


class Attempt(NamedTuple):
    """A table of a recipe that is to be run.

    Parameters
    ----------
    recipe : Recipe
    option : the data to use
    times : its table of run times, or None: its own table
    config : the experiment
    jobs : worker processes
    """

    recipe: "Recipe"
    option: "DataOption"
    times: "TimesTable | None"
    config: "ExperimentConfig"
    jobs: int


def planned(
    recipe: "Recipe",
    times: "TimesTable | None",
    asked: Asked,
    console: "Console",
    grid: str | None = None,
    files: dict[str, str] | None = None,
) -> Attempt:
    """Return what is to be run, on the best data at hand, and tell which they are."""
    from mlrank.config import parse_config
    from mlrank.errors import UserError
    from mlrank.reproduce import experiment_mapping, times_mapping
    from mlrank.yamlfile import dump_yaml

    option = chosen_data(recipe, (times or recipe).table, console, files is not None)
    mapping: dict[str, Any] = (
        times_mapping(recipe, times, option, files)
        if times
        else experiment_mapping(recipe, option, grid or recipe.default_grid, files)
    )
    config = parse_config(dump_yaml(mapping), f"recipe {recipe.name}")
    if times and asked.scheduler:
        raise UserError("a table of times is measured on one machine: leave out --scheduler")
    # Two fits at a time would disturb each other's clock.
    return Attempt(recipe, option, times, config, 1 if times else asked.jobs)


def chosen_data(recipe: "Recipe", table: str, console: "Console", by_user: bool) -> "DataOption":
    """Return the best data at hand for a table of a recipe, the user's if there are any, and tell which they are."""
    from mlrank.datasets import is_available
    from mlrank.reproduce import banner, better_options, choose_data

    option = choose_data(recipe, is_available, by_user)
    for line in banner(recipe.model_copy(update={"table": table}), option, better_options(recipe, option)):
        console.print(line, highlight=False, markup=False)
    return option


def run_asked(config: "ExperimentConfig", asked: Asked, jobs: int) -> "RunFolder":
    """Make the runs of an experiment that are not there yet."""
    from mlrank.cli.progress import run_with_progress

    return run_with_progress(
        config,
        asked.results,
        jobs,
        asked.quiet,
        scheduler=asked.scheduler,
        retry_failed=asked.retry_failed,
        log_level=asked.log_level,
    )


def attempt(plan: Attempt, asked: Asked) -> "tuple[RunFolder, Comparison]":
    """Make the runs that are not there yet, and write the comparison into their folder."""
    from mlrank.reproduce import compare, compare_times, recipe_grids, render_comparison
    from mlrank.tables import FORMATS, environments_of, render_grids

    folder = run_asked(plan.config, asked, plan.jobs)
    runs = folder.runs()
    found = (
        compare_times(plan.recipe, plan.times, plan.option, runs)
        if plan.times
        else compare(plan.recipe, plan.option, runs)
    )
    for fmt in FORMATS:
        suffix = {"latex": "tex"}.get(fmt, fmt)
        folder.write_text(f"tables/comparison.{suffix}", render_comparison(found, fmt))
    grids = recipe_grids(plan.recipe, plan.times is not None, runs, environments_of(folder, runs))
    for fmt, suffix in (("md", "md"), ("latex", "tex")) if grids else ():
        folder.write_text(f"tables/paper.{suffix}", render_grids(grids, fmt))
    return folder, found
