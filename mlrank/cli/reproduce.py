"""``mlrank reproduce``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlrank.cli.attempts import Asked, attempt, planned
from mlrank.cli.completion import complete_recipe
from mlrank.cli.options import (
    Backend,
    DryRun,
    Jobs,
    Json,
    LogLevel,
    Quiet,
    Results,
    RetryFailed,
    Scheduler,
    check_backend,
    worker_count,
)

if TYPE_CHECKING:
    from mlrank.reproduce import Recipe

__all__ = ["reproduce"]


# Stands for every recipe.
ALL = "all"


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Recipe, such as imageclef, or all.", autocompletion=complete_recipe),
    ] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List the recipes.")] = False,
    grid: Annotated[str | None, typer.Option("--grid", help="Grid of the recipe: coarse (default) or paper.")] = None,
    table: Annotated[str | None, typer.Option("--table", help="Another table of the recipe, such as 3.")] = None,
    figures: Annotated[bool, typer.Option("--figures", help="Draw the paper's figures from our runs too.")] = False,
    data: Annotated[Path | None, typer.Option("--data", metavar="FILE", help="Your own file instead.")] = None,
    test: Annotated[Path | None, typer.Option("--test", metavar="FILE", help="Test part beside --data.")] = None,
    labels: Annotated[Path | None, typer.Option("--labels", metavar="FILE", help="Label file beside --data.")] = None,
    fetch: Annotated[bool, typer.Option("--fetch", help="Fetch the best data that can be had first.")] = False,
    retry_failed: RetryFailed = False,
    dry_run: DryRun = False,
    log_level: LogLevel = "info",
    results: Results = Path("results"),
    jobs: Jobs = 0,
    backend: Backend = None,
    scheduler: Scheduler = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run the experiment behind a table of a paper, and set the paper's numbers beside ours, with verdicts.

    The best data at hand are used: files you name, then the catalogue's, then generated stand-ins. The first lines say
    which, and how to get better ones. 'all' runs every recipe, tables of run times too, goes on if one fails, and
    writes DIR/reference/SUMMARY.md: one line for each table of each paper, and every claim with its verdict.

    Examples:

    * `mlrank reproduce --list`
    * `mlrank reproduce imageclef`
    * `mlrank reproduce imageclef --fetch`
    * `mlrank reproduce mediamill --grid paper --dry-run`
    * `mlrank reproduce imageclef --table 3`
    * `mlrank reproduce yeast --figures`
    * `mlrank reproduce all --jobs 2`
    * `mlrank reproduce imageclef --data mine.arff --labels mine.xml`
    """
    from mlrank.errors import UserError
    from mlrank.reproduce import load_recipe

    if show_list:
        _list()
        return
    if name is None:
        raise UserError("which recipe? 'mlrank reproduce --list' shows them")
    if data is None and (test or labels):
        raise UserError("--test and --labels go with --data")
    if table and grid:
        raise UserError("--grid is of the recipe's own table, found it together with --table")
    files = None if data is None else _files(data, test, labels)
    if fetch and data:
        raise UserError("--fetch gets published data, --data names your own: give one of them")
    check_backend(backend, scheduler)
    asked = Asked(results, worker_count(jobs), scheduler, quiet, as_json, dry_run, retry_failed, log_level)
    if name == ALL:
        given = {"--grid": grid, "--table": table, "--figures": figures, "--data": data, "--scheduler": scheduler}
        alone = [option for option, value in given.items() if value]
        raise typer.Exit(_run_all(alone, fetch, asked))
    recipe = load_recipe(name)
    if fetch:
        _fetch(recipe, quiet)
    raise typer.Exit(_run(recipe, grid, table, figures, files, asked))


def _run_all(given: list[str], fetch: bool, asked: Asked) -> int:
    from mlrank.cli.reproduce_all import reproduce_all
    from mlrank.errors import UserError
    from mlrank.reproduce import load_recipe, recipes

    if given:
        raise UserError(f"{given[0]} is of one recipe, found together with '{ALL}'")
    found = [load_recipe(name) for name in recipes()]
    for recipe in found if fetch else ():
        _fetch(recipe, asked.quiet)
    return reproduce_all(found, asked)


def _files(data: Path, test: Path | None, labels: Path | None) -> dict[str, str]:
    given = {"train": data, "test": test, "labels": labels}
    return {key: str(path) for key, path in given.items() if path is not None}


def _fetch(recipe: "Recipe", quiet: bool) -> None:
    """Fetch the first data set of the recipe's list that can be had and checked, unless it or a better one is here."""
    from mlrank.cli.fetch import fetch_entries
    from mlrank.datasets import is_available
    from mlrank.datasets.catalogue import read_catalogue
    from mlrank.datasets.fetch import fetchable
    from mlrank.errors import UserError

    entries = read_catalogue()
    for option in recipe.data:
        entry = entries.get(option.dataset)
        if entry is None:
            continue
        if is_available(entry.name):
            return
        if fetchable(entry) is None and entry.pinned:
            if failed := fetch_entries([entry], [], False, quiet):
                raise UserError("; ".join(failed))
            return


def _list() -> None:
    from rich.table import Table

    from mlrank.cli.grids import print_as_wide
    from mlrank.reproduce import load_recipe, recipes

    table = Table("name", "table", "paper")
    for name in recipes():
        recipe = load_recipe(name)
        table.add_row(name, recipe.table, recipe.paper)
    print_as_wide(table)


def _run(
    recipe: "Recipe",
    grid: str | None,
    table: str | None,
    figures: bool,
    files: dict[str, str] | None,
    asked: Asked,
) -> int:
    from rich.console import Console

    from mlrank.cli.figures import draw_figures
    from mlrank.cli.forecast import show_forecast
    from mlrank.cli.grids import print_as_wide
    from mlrank.cli.related import show_related
    from mlrank.cli.show import show_run
    from mlrank.errors import UserError
    from mlrank.reproduce import comparison_to_rich, is_called, related_of, times_of

    console = Console(stderr=asked.as_json)
    other = None if table is None or is_called(recipe.table, table) else table
    if other and figures:
        raise UserError(f"--figures are drawn beside the recipe's own table, found them together with --table {table}")
    related = related_of(recipe, other) if other else None
    if related:
        return show_related(recipe, related, asked, console, files)
    times = times_of(recipe, other) if other else None
    plan = planned(recipe, times, asked, console, grid, files)
    if asked.dry_run:
        show_forecast(plan.config, asked.results, plan.jobs, asked.as_json)
        return 0
    folder, comparison = attempt(plan, asked)
    code = show_run(folder, plan.config.metrics, asked.as_json)
    if not asked.as_json:
        print_as_wide(comparison_to_rich(comparison))
    if figures:
        draw_figures(recipe, plan.option, files, folder, asked.results, asked.jobs, asked.quiet, console)
    return code
