"""``mlrank reproduce``."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlrank.cli.completion import complete_recipe, recipe_names
from mlrank.cli.options import (
    Backend,
    DryRun,
    Jobs,
    Json,
    LabelFile,
    LogLevel,
    Quiet,
    Results,
    RetryFailed,
    Scheduler,
    TestFile,
    check_backend,
    worker_count,
)

if TYPE_CHECKING:
    from rich.console import Console

    from mlrank.config import ExperimentConfig
    from mlrank.recipes import Comparison, Recipe, TableOutcome
    from mlrank.recipes.run import FigurePlan, RecipeRequest, Runner, TablePlan, TableRun
    from mlrank.tables import FinishedExperiment

__all__ = ["reproduce"]

# Stands for every recipe.
ALL = "all"


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help=f"Recipe: {', '.join(recipe_names())}, or all.", autocompletion=complete_recipe
        ),
    ] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List the recipes.")] = False,
    grid: Annotated[str | None, typer.Option("--grid", help="Grid of the recipe: coarse (default) or paper.")] = None,
    table: Annotated[str | None, typer.Option("--table", help="Another table of the recipe, such as 3.")] = None,
    figures: Annotated[bool, typer.Option("--figures", help="Draw the paper's figures too.")] = False,
    readings: Annotated[
        bool,
        typer.Option(
            "--readings", help="Run every reading of what the paper leaves open, and say which gives its numbers."
        ),
    ] = False,
    questions: Annotated[
        str | None, typer.Option("--questions", metavar="A,B", help="Readings of these open questions alone.")
    ] = None,
    budget: Annotated[
        float | None, typer.Option("--budget", min=0, metavar="MINUTES", help="Leave out readings that take longer.")
    ] = None,
    data: Annotated[Path | None, typer.Option("--data", metavar="FILE", help="Use your own file.")] = None,
    test: TestFile = None,
    labels: LabelFile = None,
    fetch: Annotated[bool, typer.Option("--fetch", help="Fetch the best available data first.")] = False,
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
    """Run the experiment behind a table of a paper and compare its numbers with ours, with verdicts.

    The best available data are used: your files, then data sets of the catalogue, then generated stand-ins. The first
    lines name them and say how to get better ones. 'all' runs every recipe with its run times, related labels and
    figures, continues after a failure, and writes DIR/reference/SUMMARY.md: papers by verdict, a line for each table,
    and every claim with its verdict. 'all --readings' stays within a budget of 90 minutes unless another is given: a
    recipe whose readings take more than their part takes its quick grid, and as many readings as fit.

    Examples:

    * `mlrank reproduce --list`
    * `mlrank reproduce imageclef`
    * `mlrank reproduce imageclef --fetch`
    * `mlrank reproduce mediamill --grid paper --dry-run`
    * `mlrank reproduce imageclef --table 3`
    * `mlrank reproduce yeast --figures`
    * `mlrank reproduce corel5k --readings --dry-run`
    * `mlrank reproduce science --questions average_precision`
    * `mlrank reproduce all --jobs 2`
    * `mlrank reproduce all --readings --jobs 2 --dry-run`
    * `mlrank reproduce imageclef --data mine.arff --labels mine.xml`
    """
    from mlrank.cli.progress import run_with_progress
    from mlrank.errors import UserError
    from mlrank.recipes import load_recipe, recipes
    from mlrank.recipes.run import RecipeRequest, Runner

    if show_list:
        _list()
        return
    if name is None:
        raise UserError("which recipe? 'mlrank reproduce --list' shows them")
    if data is None and (test or labels):
        raise UserError("--test and --labels go with --data")
    if fetch and data:
        raise UserError("--fetch gets published data, --data names your own: give one of them")
    if name == ALL:
        given = {
            "--questions": questions,
            "--grid": grid,
            "--table": table,
            "--figures": figures,
            "--data": data,
            "--scheduler": scheduler,
        }
        for option in (option for option, value in given.items() if value):
            raise UserError(f"{option} is of one recipe, found together with '{ALL}'")
    reads = readings or questions is not None
    _check_readings(reads, table, figures, budget)
    check_backend(backend, scheduler)
    console = _console(as_json)

    def run(config: "ExperimentConfig", workers: int) -> "FinishedExperiment":
        return run_with_progress(
            config, results, workers, quiet, scheduler=scheduler, retry_failed=retry_failed, log_level=log_level
        )

    def show(line: str) -> None:
        console.print(line, highlight=False, markup=False)

    runner = Runner(run, worker_count(jobs), scheduler is not None, show)
    found = [load_recipe(one) for one in (recipes() if name == ALL else [name])]
    for recipe in found if fetch else ():
        _fetch(recipe, quiet)
    if name == ALL and reads:
        from mlrank.cli.readings import reproduce_all_readings

        raise typer.Exit(reproduce_all_readings(found, runner, results, budget, dry_run, as_json))
    if name == ALL:
        raise typer.Exit(_run_all(found, runner, results, dry_run, as_json))
    files = None if data is None else _files(data, test, labels)
    request = RecipeRequest(grid, table, figures, files)
    if reads:
        from mlrank.cli.readings import names_of_questions, reproduce_readings

        chosen = names_of_questions(questions)
        raise typer.Exit(reproduce_readings(found[0], request, runner, results, chosen, budget, dry_run, as_json))
    raise typer.Exit(_run(found[0], request, runner, results, dry_run, as_json))


def _check_readings(reads: bool, table: str | None, figures: bool, budget: float | None) -> None:
    from mlrank.errors import UserError

    if reads:
        given = {"--table": table, "--figures": figures}
        for option in (option for option, value in given.items() if value):
            raise UserError(f"readings are of the recipe's own table, found {option}")
    elif budget is not None:
        raise UserError("--budget goes with --readings")


def _console(as_json: bool) -> "Console":
    from mlrank.cli.terminal import new_console

    return new_console(stderr=as_json)


def _files(data: Path, test: Path | None, labels: Path | str | None) -> dict[str, str]:
    given = {"train": data, "test": test, "labels": labels}
    return {key: str(path) for key, path in given.items() if path is not None}


def _fetch(recipe: "Recipe", quiet: bool) -> None:
    from mlrank.cli.fetch import fetch_entries
    from mlrank.errors import UserError
    from mlrank.recipes.run import data_to_fetch

    entry = data_to_fetch(recipe)
    if entry and (failed := fetch_entries([entry], [], False, quiet)):
        raise UserError("; ".join(failed))


def _list() -> None:
    from mlrank.cli.grids import print_table
    from mlrank.recipes import load_recipe, recipes

    known = map(load_recipe, recipes())
    print_table(("name", "table", "paper"), [(recipe.name, recipe.table, recipe.paper) for recipe in known], "lll")


def _run(
    recipe: "Recipe", request: "RecipeRequest", runner: "Runner", results: Path, dry_run: bool, as_json: bool
) -> int:
    """Run a table of a recipe, print it, and return the exit code."""
    from mlrank.cli.forecast import show_forecast
    from mlrank.recipes.run import draw_figures, plan_table, run_table

    plan = plan_table(recipe, request, runner)
    if dry_run:
        show_forecast(plan.config, results, plan.jobs, as_json)
        return 0
    done = run_table(plan, runner)
    code = _show_related(done, as_json) if plan.related else _show_compared(done, as_json)
    if request.figures:
        draw_figures(plan, done.experiment.folder, runner)
    return code


def _show_compared(done: "TableRun", as_json: bool) -> int:
    from mlrank.cli.show import show_run

    code = show_run(done.experiment, as_json)
    if done.comparison and not as_json:
        _print_comparison(done.comparison)
    return code


def _print_comparison(comparison: "Comparison") -> None:
    from mlrank.cli.grids import print_as_wide, terminal_width
    from mlrank.recipes import comparison_to_rich

    print_as_wide(comparison_to_rich(comparison, terminal_width()))


def _show_related(done: "TableRun", as_json: bool) -> int:
    from mlrank.cli.grids import print_grids
    from mlrank.cli.show import show_failures
    from mlrank.records import dump_json

    if done.related_table is None:
        return show_failures(done.experiment.records)
    if as_json:
        print(dump_json(done.related), end="")
    else:
        print_grids([done.related_table], "rich")
    return show_failures(done.experiment.records)


def _run_all(recipes: list["Recipe"], runner: "Runner", results: Path, dry_run: bool, as_json: bool) -> int:
    """Run every table of the recipes; one that cannot be run does not stop the others.

    Returns
    -------
    int
        The exit code: 2 if a table could not be run or a fit failed.
    """
    from mlrank.cli.forecast import forecast_values, show_forecast
    from mlrank.recipes.run import attempt_all, run_planned, write_page
    from mlrank.records import dump_json

    forecasts: list[dict[str, object]] = []

    def forecast(plan: "TablePlan | FigurePlan") -> None:
        for config in plan.configs:
            if as_json:
                values = forecast_values(config, results, plan.jobs)
                forecasts.append({"recipe": plan.recipe.name, "table": plan.table, **values})
            else:
                show_forecast(config, results, plan.jobs, as_json)

    outcomes: list[TableOutcome] = []
    for outcome in attempt_all(recipes, runner, forecast if dry_run else partial(run_planned, runner=runner)):
        outcomes.append(outcome)
        if not dry_run:  # at once: what has ended is there to read, also after a stop
            write_page(outcome, results)
        if outcome.problem:
            problem = f"{outcome.table} of {outcome.recipe} was not run: {outcome.problem}"
            print(f"mlrank: {problem}", file=sys.stderr)
        if outcome.comparison and not as_json:
            _print_comparison(outcome.comparison)
    if not dry_run:
        _write_summary(outcomes, results, as_json)
    elif as_json:
        print(dump_json(forecasts), end="")
    return 2 if any(outcome.problem or outcome.n_failed for outcome in outcomes) else 0


def _write_summary(outcomes: list["TableOutcome"], results: Path, as_json: bool) -> None:
    from dataclasses import asdict, replace

    from mlrank.recipes.run import write_summary
    from mlrank.records import dump_json

    summary = write_summary(outcomes, results)
    if as_json:
        shown = [asdict(replace(one, image=None)) | {"records": len(one.records)} for one in outcomes]
        print(dump_json(shown), end="")
    _console(as_json).print(f"written to {summary}", highlight=False, markup=False, soft_wrap=True)
