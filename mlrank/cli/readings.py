"""``mlrank reproduce NAME --readings``: every reading of what a paper leaves open, and which gives its numbers."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlrank.recipes.readings import ReadingsPlan
    from mlrank.recipes.recipe import Recipe
    from mlrank.recipes.run import RecipeRequest, Runner

__all__ = ["names_of_questions", "reproduce_readings"]


def names_of_questions(given: str | None) -> list[str] | None:
    """Return the questions of ``--questions a,b``; None for all."""
    return None if given is None else [name.strip() for name in given.split(",") if name.strip()]


def reproduce_readings(
    recipe: "Recipe",
    request: "RecipeRequest",
    runner: "Runner",
    results: Path,
    questions: Sequence[str] | None,
    budget: float | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Run the readings of a recipe, print what they recover, and return the exit code: 2 if a fit failed.

    Parameters
    ----------
    budget : minutes
    """
    from mlrank.cli.forecast import experiment_seconds
    from mlrank.cli.grids import print_as_wide
    from mlrank.recipes.readings_page import readings_grid
    from mlrank.recipes.run_readings import run_readings, to_run
    from mlrank.records import dump_json
    from mlrank.tables import to_rich

    plan = to_run(recipe, request, runner, questions)
    if dry_run:
        _show_plan(plan, runner, results, as_json)
        return 0
    limit = None if budget is None else 60 * budget
    done = run_readings(plan, runner, results, limit, lambda config: experiment_seconds(config, results, runner.jobs))
    if as_json:
        print(dump_json(done.report.model_dump()), end="")
    else:
        print_as_wide(to_rich(readings_grid(done.report)))
    for path in done.files:
        runner.show(f"written to {path}")
    if done.n_failed:
        runner.show(f"{done.n_failed} runs failed: 'mlrank status' of their folders says why")
    return 2 if done.n_failed else 0


def _show_plan(plan: "ReadingsPlan", runner: "Runner", results: Path, as_json: bool) -> None:
    """Print which experiments the readings need, with the fits that are left and their time."""
    from rich.table import Table

    from mlrank.cli.forecast import duration, forecast_values
    from mlrank.cli.grids import print_as_wide
    from mlrank.records import dump_json

    found = {plan.configs[at].name: forecast_values(plan.configs[at], results, runner.jobs) for at in plan.used}
    if as_json:
        names = [dict(reading.choices) for reading in plan.readings]
        print(dump_json({"readings": names, "experiments": found}), end="")
        return
    table = Table("experiment", "methods", "fits", "left", "time")
    times: list[float | None] = []
    for at in plan.used:
        config, values = plan.configs[at], found[plan.configs[at].name]
        n_fits, n_left = (sum(cell[key] for cell in values["cells"]) for key in ("n_fits", "n_left"))
        times.append(values["seconds"])
        table.add_row(config.name, ", ".join(config.methods), str(n_fits), str(n_left), duration(times[-1]))
    print_as_wide(table)
    total = None if None in times else sum(time for time in times if time is not None)
    free = [name for name, question in plan.recipe.readings.items() if not question.costs_fits]
    if free:
        runner.show(f"questions that cost no fit, their answers come from the same runs: {', '.join(free)}")
    runner.show(f"{len(plan.readings)} readings from {len(plan.used)} experiments: about {duration(total)}")
