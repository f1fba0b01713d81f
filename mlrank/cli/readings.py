"""``mlrank reproduce NAME --readings``: every reading of what a paper leaves open, and which gives its numbers."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlrank.config import ExperimentConfig
    from mlrank.recipes.all_readings import PricedReadings
    from mlrank.recipes.readings import ReadingsPlan
    from mlrank.recipes.recipe import Recipe
    from mlrank.recipes.run import RecipeRequest, Runner
    from mlrank.recipes.run_readings import ReadingsRun
    from mlrank.search import PilotFits

__all__ = ["names_of_questions", "reproduce_all_readings", "reproduce_readings"]

# Minutes that the readings of all recipes may take together where no budget is given.
ALL_MINUTES = 90.0


def names_of_questions(given: str | None) -> list[str] | None:
    """Return the questions of ``--questions a,b``; None for all."""
    return None if given is None else [name.strip() for name in given.split(",") if name.strip()]


class _Forecasts:
    """Forecasts of experiments, each made once; those of readings share pilot fits."""

    def __init__(self, results: Path, jobs: int) -> None:
        self.results, self.jobs = results, jobs
        self.pilots: dict[str, PilotFits] = {}
        # Of each experiment its seconds, its fits, and how many of them are left.
        self.found: dict[str, tuple[float | None, int, int]] = {}

    def seconds(self, config: "ExperimentConfig") -> float | None:
        """Return what an experiment is going to take; None if not known."""
        from mlrank.cli.forecast import forecast_values

        if config.name not in self.found:
            values = forecast_values(config, self.results, self.jobs, self.pilots)
            n_fits, n_left = (sum(cell[name] for cell in values["cells"]) for name in ("n_fits", "n_left"))
            self.found[config.name] = values["seconds"], n_fits, n_left
        return self.found[config.name][0]

    def fits(self, config: "ExperimentConfig") -> tuple[int, int]:
        """Return how many fits a forecast experiment has, and how many of them are left."""
        return self.found[config.name][1:]


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
    from mlrank.recipes.all_readings import PricedReadings, priced, within_budget
    from mlrank.recipes.run_readings import run_readings, to_run
    from mlrank.records import dump_json

    forecasts = _Forecasts(results, runner.jobs)
    plan = to_run(recipe, request, runner, questions)
    found = PricedReadings(plan, {})
    if dry_run or budget is not None:
        found = priced(plan, forecasts.seconds)
    if budget is not None:
        found = within_budget(found, 60 * budget)
    if dry_run:
        _show_plan(found, forecasts, runner, as_json)
        return 0
    done = run_readings(found.plan, runner, results, found.left_out)
    if as_json:
        print(dump_json(done.report.model_dump()), end="")
    else:
        _print_readings(done)
    for path in done.files:
        runner.show(f"written to {path}")
    return _failures(done, runner)


def _print_readings(done: "ReadingsRun") -> None:
    from mlrank.cli.grids import print_grids
    from mlrank.recipes.readings_page import readings_grid

    print_grids([readings_grid(done.report)], "rich")


def _failures(done: "ReadingsRun", runner: "Runner") -> int:
    if done.n_failed:
        runner.show(f"{done.n_failed} runs failed: 'mlrank status' of their folders says why")
    return 2 if done.n_failed else 0


def _show_plan(found: "PricedReadings", forecasts: _Forecasts, runner: "Runner", as_json: bool) -> None:
    """Print which experiments the readings need, with the fits that are left and their time."""
    from mlrank.cli.forecast import duration
    from mlrank.cli.grids import print_table
    from mlrank.records import dump_json

    plan = found.plan
    if as_json:
        experiments = {plan.configs[at].name: forecasts.found[plan.configs[at].name] for at in plan.used}
        print(dump_json({"readings": _choices(plan), "experiments": experiments}), end="")
        return
    rows = []
    for at in plan.used:
        config = plan.configs[at]
        n_fits, n_left = forecasts.fits(config)
        rows.append((config.name, ", ".join(config.methods), str(n_fits), str(n_left), duration(found.costs[at])))
    print_table(("experiment", "methods", "fits", "left", "time"), rows, "llrrr")
    free = [name for name, question in plan.recipe.readings.items() if not question.costs_fits]
    if free:
        runner.show(f"questions that cost no fit, their answers come from the same runs: {', '.join(free)}")
    left_out = f", and {found.left_out} more that the budget leaves out" if found.left_out else ""
    many = f"{_number(len(plan.readings), 'reading')} from {_number(len(plan.used), 'experiment')}"
    runner.show(f"{many}: about {duration(found.seconds)}{left_out}")


def _number(n: int, what: str) -> str:
    return f"{n} {what}{'s' if n != 1 else ''}"


def _choices(plan: "ReadingsPlan") -> list[dict[str, str]]:
    return [dict(reading.choices) for reading in plan.readings]


def reproduce_all_readings(
    recipes: Sequence["Recipe"], runner: "Runner", results: Path, budget: float | None, dry_run: bool, as_json: bool
) -> int:
    """Run the readings of all recipes that name some, within one budget; one that cannot be run stops no other.

    Parameters
    ----------
    budget : minutes; None for 90

    Returns
    -------
    int
        The exit code: 2 if readings could not be run or a fit failed.
    """
    from mlrank.recipes.all_readings import PricedReadings, priced, shared_out
    from mlrank.recipes.readings import ReadingsPlan, plan_readings
    from mlrank.recipes.run import RecipeRequest
    from mlrank.recipes.run_readings import run_readings, to_run
    from mlrank.records import dump_json

    forecasts = _Forecasts(results, runner.jobs)
    minutes = ALL_MINUTES if budget is None else budget
    codes: list[int] = []
    whole: list[PricedReadings] = []
    for recipe in (recipe for recipe in recipes if recipe.readings):
        try:
            whole.append(priced(to_run(recipe, RecipeRequest(), runner, None), forecasts.seconds))
        except Exception as error:  # the others are still to be run
            codes.append(_not_run(recipe.name, error))

    def quick(plan: ReadingsPlan) -> PricedReadings | None:
        grid = plan.recipe.quick_grid
        return priced(plan_readings(plan.recipe, plan.option, grid=grid), forecasts.seconds) if grid else None

    chosen = shared_out(whole, quick, 60 * minutes)
    if as_json and dry_run:
        print(dump_json([_as_json(found) for found in chosen]), end="")
    else:
        _show_all(chosen, forecasts, runner, minutes, as_json)
    if dry_run:
        return max(codes, default=0)
    reports = []
    for found in chosen:
        try:
            done = run_readings(found.plan, runner, results, found.left_out)
        except Exception as error:  # the others are still to be run
            codes.append(_not_run(found.plan.recipe.name, error))
            continue
        reports.append(done.report.model_dump())
        if not as_json:
            _print_readings(done)
        codes.append(_failures(done, runner))
    if as_json:
        print(dump_json(reports), end="")
    return max(codes, default=0)


def _not_run(name: str, error: Exception) -> int:
    reason = " ".join(str(error).split()) or type(error).__name__
    print(f"mlrank: readings of {name} were not run: {reason}", file=sys.stderr)
    return 2


def _as_json(found: "PricedReadings") -> dict[str, object]:
    plan = found.plan
    return {
        "recipe": plan.recipe.name,
        "grid": plan.grid,
        "readings": _choices(plan),
        "left_out": found.left_out,
        "experiments": {plan.configs[at].name: found.costs[at] for at in plan.used},
        "seconds": found.seconds,
    }


def _show_all(
    chosen: Sequence["PricedReadings"], forecasts: _Forecasts, runner: "Runner", minutes: float, as_json: bool
) -> None:
    """Print which grid each recipe takes, how many of its readings are run, and what they and all together take."""
    from mlrank.cli.forecast import duration
    from mlrank.cli.grids import print_table

    rows = []
    for found in chosen:
        plan = found.plan
        n_left = sum(forecasts.fits(plan.configs[at])[1] for at in plan.used)
        shown = f"{len(plan.readings)}" + (f" of {len(plan.readings) + found.left_out}" if found.left_out else "")
        rows.append((plan.recipe.name, plan.grid, shown, str(len(plan.used)), str(n_left), duration(found.seconds)))
    if not as_json:
        print_table(("recipe", "grid", "readings", "experiments", "fits left", "time"), rows, "llrrrr")
    times = [found.seconds for found in chosen]
    total = None if None in times else sum(time for time in times if time is not None)
    workers = _number(runner.jobs, "worker")
    n_readings = sum(len(found.plan.readings) for found in chosen)
    within = "" if total is not None and total <= 60 * minutes else ", which is more than the budget"
    runner.show(
        f"{n_readings} readings of {len(chosen)} recipes: about {duration(total)} with {workers}, of a budget of "
        f"{minutes:g} minutes{within}"
    )
