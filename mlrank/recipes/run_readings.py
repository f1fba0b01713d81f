"""Running the readings of a recipe, and writing what they recover."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mlrank.datasets import is_available
from mlrank.plots.specification import render_specification
from mlrank.recipes.compare import Comparison
from mlrank.recipes.data import banner, better_options, choose_data
from mlrank.recipes.readings import ReadingsPlan, plan_readings
from mlrank.recipes.readings_page import readings_page, specification_figure
from mlrank.recipes.readings_summary import PAGE, all_stored_readings, readings_summary
from mlrank.recipes.recipe import Recipe, recipes
from mlrank.recipes.recovery import ReadingsReport, judge_readings
from mlrank.recipes.run import REFERENCE, RecipeRequest, Runner
from mlrank.records.atomic import dump_json, make_folder, write_atomic

__all__ = ["ReadingsRun", "run_readings", "to_run"]


@dataclass(frozen=True)
class ReadingsRun:
    """The readings of a recipe that were run.

    Parameters
    ----------
    report : ReadingsReport
    comparisons : tuple of Comparison
        The paper's table beside ours under each reading.
    files : tuple of Path
        The stored report, its page, the figure if there is one, and the page of all recipes' readings.
    n_failed : int
        Runs that failed.
    """

    report: ReadingsReport
    comparisons: tuple[Comparison, ...]
    files: tuple[Path, ...]
    n_failed: int


def to_run(recipe: Recipe, request: RecipeRequest, runner: Runner, questions: Sequence[str] | None) -> ReadingsPlan:
    """Return the plan of a recipe's readings on the best data at hand, and show which data these are.

    Raises
    ------
    UserError
        If the recipe has no such question, a choice makes an experiment that cannot be, or no data are at hand.
    """
    option = choose_data(recipe, is_available, request.files is not None)
    for line in banner(recipe, recipe.table, option, better_options(recipe, option)):
        runner.show(line)
    return plan_readings(recipe, option, questions, request.files, request.grid)


def run_readings(plan: ReadingsPlan, runner: Runner, results: Path, left_out: int = 0) -> ReadingsRun:
    """Make the fits that are missing, judge every reading, and write the report, its page and its figure.

    The files are ``DIR/reference/NAME-readings.json``, ``.md`` and ``.svg``, and ``readings.md`` of all recipes.

    Parameters
    ----------
    left_out : how many readings a budget left out of the plan
    """
    runs = {}
    for place in plan.used:
        config = plan.configs[place]
        runner.show(f"{config.name}: {', '.join(config.methods)}")
        runs[place] = runner.run(config, runner.jobs).records
    report, comparisons = judge_readings(plan, runs, left_out)
    files = _write(report, comparisons[report.best], results / REFERENCE)
    n_failed = sum(not record.done for records in runs.values() for record in records)
    return ReadingsRun(report, tuple(comparisons), files, n_failed)


def _write(report: ReadingsReport, under_best: Comparison, folder: Path) -> tuple[Path, ...]:
    make_folder(folder)
    name = f"{report.recipe}-readings"
    figure = specification_figure(report)
    contents = {f"{name}.json": dump_json(report.model_dump()).encode()}
    if figure is not None:
        contents[f"{name}.svg"] = render_specification(figure, "svg")
    page = readings_page(report, under_best, f"{name}.svg" if figure else None)
    contents[f"{name}.md"] = page.encode()
    for file, content in contents.items():
        write_atomic(folder / file, content)
    write_atomic(folder / PAGE, readings_summary(all_stored_readings(folder), recipes()).encode())
    return tuple(folder / file for file in (*contents, PAGE))
