"""``mlrank reproduce all``: every recipe, and what they came to on one page."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from mlrank.cli.attempts import Asked, attempt, planned

if TYPE_CHECKING:
    from rich.console import Console

    from mlrank.reproduce import Outcome, Recipe, TimesTable

__all__ = ["reproduce_all"]

# Below the folder of results; the one part of it that belongs into a repository.
REFERENCE = "reference"


def reproduce_all(recipes: Sequence["Recipe"], asked: Asked) -> int:
    """Run every table of the recipes, one after the other; one that fails does not stop the others.

    Returns
    -------
    int
        The exit code: 2 if a table could not be run or a fit failed.
    """
    from rich.console import Console

    from mlrank.records import dump_json

    console = Console(stderr=asked.as_json)
    outcomes: list[Outcome] = []
    forecasts: list[dict[str, Any]] = []
    for recipe in recipes:
        for times in (None, recipe.times) if recipe.times else (None,):
            outcomes.append(_outcome(recipe, times, asked, console, forecasts))
            problem = outcomes[-1].problem
            if problem:
                print(f"mlrank: {outcomes[-1].table} of {recipe.name} was not run: {problem}", file=sys.stderr)
    if not asked.dry_run:
        _write(outcomes, asked, console)
    elif asked.as_json:
        print(dump_json(forecasts), end="")
    return 2 if any(outcome.problem or outcome.n_failed for outcome in outcomes) else 0


def _outcome(
    recipe: "Recipe",
    times: "TimesTable | None",
    asked: Asked,
    console: "Console",
    forecasts: list[dict[str, Any]],
) -> "Outcome":
    """Run a table of a recipe; where only a forecast is asked for, show it, or add its JSON values to `forecasts`."""
    from mlrank.cli.forecast import forecast_values, show_forecast
    from mlrank.cli.grids import print_as_wide
    from mlrank.reproduce import Outcome, comparison_to_rich

    name, table = (f"{recipe.name}-times", times.table) if times else (recipe.name, recipe.table)
    head = (recipe.name, recipe.paper, table, f"{name}.md")
    try:
        plan = planned(recipe, times, asked, console)
        if asked.dry_run and asked.as_json:
            values = forecast_values(plan.config, asked.results, plan.jobs)
            forecasts.append({"recipe": recipe.name, "table": table, **values})
            return Outcome(*head)
        if asked.dry_run:
            show_forecast(plan.config, asked.results, plan.jobs, as_json=False)
            return Outcome(*head)
        folder, comparison = attempt(plan, asked)
    except typer.Exit:  # an interrupt stops all
        raise
    except Exception as error:  # whatever stops one table, the others are wanted
        return Outcome(*head, problem=" ".join(str(error).split()) or type(error).__name__)
    if not asked.as_json:
        print_as_wide(comparison_to_rich(comparison))
    return Outcome(*head, comparison, folder.runs())


def _write(outcomes: Sequence["Outcome"], asked: Asked, console: "Console") -> None:
    """Write the summary and the tables that it names, and tell where; print it as JSON where that was asked for."""
    from dataclasses import asdict

    from mlrank.records import dump_json
    from mlrank.records.atomic import make_folder, write_atomic
    from mlrank.reproduce import render_comparison, render_summary

    folder = asked.results / REFERENCE
    make_folder(folder)
    for outcome in outcomes:
        if outcome.comparison:
            write_atomic(folder / outcome.page, render_comparison(outcome.comparison, "md").encode())
    write_atomic(folder / "SUMMARY.md", render_summary(outcomes).encode())
    if asked.as_json:
        shown = [asdict(outcome) | {"records": len(outcome.records)} for outcome in outcomes]
        print(dump_json(shown), end="")
    console.print(f"written to {folder / 'SUMMARY.md'}", highlight=False, markup=False, soft_wrap=True)
