"""Running recipes: choose the data, make the runs, compare them with the paper's numbers, write files and figures."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from mlrank.config import ExperimentConfig, config_of
from mlrank.datasets import is_available, load_dataset
from mlrank.datasets.catalogue import Entry, read_catalogue
from mlrank.datasets.catalogue.fetch import fetchable
from mlrank.errors import UserError
from mlrank.models.file import load_model
from mlrank.plots import FORMATS as FIGURE_FORMATS
from mlrank.plots import render
from mlrank.recipes.compare import OWN_DATA, Comparison, compare
from mlrank.recipes.constants import Constants, constant_values
from mlrank.recipes.data import banner, better_options, choose_data, experiment_mapping
from mlrank.recipes.figure_claims import compare_figure
from mlrank.recipes.figures import FLAT, figure_experiments, paper_figure
from mlrank.recipes.layout import recipe_grids
from mlrank.recipes.page import comparison_page
from mlrank.recipes.recipe import DataOption, Recipe, TimesTable
from mlrank.recipes.recipe_parts import RelatedTable, is_called
from mlrank.recipes.recovery import stored_readings, with_readings
from mlrank.recipes.regions import plane_figure
from mlrank.recipes.related import Related, related_grid, related_mapping, related_of
from mlrank.recipes.render import render_comparison
from mlrank.recipes.summary import TableOutcome, render_summary
from mlrank.recipes.times import compare_times, times_mapping, times_of
from mlrank.records import RunFolder, RunRecord
from mlrank.records.atomic import make_folder, write_atomic
from mlrank.solvers.slrm import related_labels
from mlrank.tables import FORMATS, FinishedExperiment, Grid, render_grids

__all__ = [
    "FigurePlan",
    "FigureRun",
    "RecipeRequest",
    "Runner",
    "TablePlan",
    "TableRun",
    "attempt_all",
    "data_to_fetch",
    "draw_figures",
    "plan_figure",
    "plan_table",
    "run_figure",
    "run_planned",
    "run_table",
    "write_page",
    "write_summary",
]

# Below the folder of results; the one part of it that belongs into a repository.
REFERENCE = "reference"
SUFFIXES: Mapping[str, str] = {"latex": "tex"}


@dataclass(frozen=True)
class Runner:
    """How the experiments of recipes are run.

    Parameters
    ----------
    run : function of a configuration and a number of workers
        Makes the runs that are missing and returns the experiment.
    jobs : int
        Workers of experiments that measure no times.
    on_cluster : bool
        Whether fits are made on other machines; tables of times refuse that.
    show : function of a line
        Shows which data are used and what is drawn.
    """

    run: Callable[[ExperimentConfig, int], FinishedExperiment]
    jobs: int = 1
    on_cluster: bool = False
    show: Callable[[str], None] = lambda line: None


@dataclass(frozen=True)
class RecipeRequest:
    """What of a recipe is to be made, and from which data.

    Parameters
    ----------
    grid : name of one of the recipe's grids; None for its default
    table : another table of the recipe, by its name or number; None for its own
    figures : whether the recipe's figures are drawn too
    files : the user's own data as an entry of ``datasets``: train, test, labels; None for those of the recipe
    """

    grid: str | None = None
    table: str | None = None
    figures: bool = False
    files: Mapping[str, str] | None = None


@dataclass(frozen=True)
class TablePlan:
    """One table of a recipe that can be run: the data option, the experiment and its number of workers.

    It is the table of run times if `times` is given, of related labels if `related` is, and else the recipe's own.
    """

    recipe: Recipe
    option: DataOption
    config: ExperimentConfig
    jobs: int
    files: Mapping[str, str] | None = None
    times: TimesTable | None = None
    related: RelatedTable | None = None

    @property
    def table(self) -> str:
        """What the paper calls it."""
        return (self.times or self.related or self.recipe).table

    @property
    def configs(self) -> tuple[ExperimentConfig, ...]:
        """The experiments it needs."""
        return (self.config,)


@dataclass(frozen=True)
class FigurePlan:
    """One figure of a recipe that can be drawn: the data option, the experiments, and the number of workers.

    Parameters
    ----------
    series : tuple of (value on the x axis or FLAT, ExperimentConfig)
        Of a figure of the plane: the experiment of the recipe's table alone.
    """

    recipe: Recipe
    name: str
    option: DataOption
    series: tuple[tuple[float | str, ExperimentConfig], ...]
    jobs: int

    @property
    def title(self) -> str:
        """Its title in the recipe."""
        recipe = self.recipe
        return (recipe.figures[self.name] if self.name in recipe.figures else recipe.regions[self.name]).title

    @property
    def table(self) -> str:
        """What the paper calls it: its title up to the colon."""
        return self.title.partition(":")[0]

    @property
    def configs(self) -> tuple[ExperimentConfig, ...]:
        """The experiments it needs."""
        return tuple(config for _, config in self.series)


@dataclass(frozen=True)
class FigureRun:
    """A figure whose runs were made: what is drawn, and what came of its claims; none of a figure of the plane."""

    draw: Callable[[str], bytes]
    comparison: Comparison
    records: tuple[RunRecord, ...]


@dataclass(frozen=True)
class TableRun:
    """A table of a recipe that was run.

    Parameters
    ----------
    experiment : FinishedExperiment
    files : tuple of Path
        The files with the table.
    comparison : Comparison or None
        None for a table of related labels, or if its fit failed.
    related : mapping of label to (other label, cosine) pairs, or None
    related_table : Grid or None
        The table of related labels beside the paper's.
    """

    experiment: FinishedExperiment
    files: tuple[Path, ...]
    comparison: Comparison | None = None
    related: Related | None = None
    related_table: Grid | None = None


def data_to_fetch(recipe: Recipe) -> Entry | None:
    """Return the first data set of the recipe that can be fetched and checked; None if it or a better one is here."""
    entries = read_catalogue()
    for option in recipe.data:
        entry = entries.get(option.dataset)
        if entry is None:
            continue
        if is_available(entry.name):
            return None
        if fetchable(entry) is None and entry.pinned:
            return entry
    return None


def plan_table(recipe: Recipe, request: RecipeRequest, runner: Runner) -> TablePlan:
    """Return what is to be run on the best data at hand, and show which data these are.

    Raises
    ------
    UserError
        If parts of the request do not go together, the recipe has no such table or grid, or no data are at hand.
    """
    if request.table and request.grid:
        raise UserError(f"a grid belongs to the recipe's own table, found it together with table {request.table}")
    other = None if request.table is None or is_called(recipe.table, request.table) else request.table
    if other and request.figures:
        raise UserError(f"figures are drawn beside the recipe's own table, found them together with table {other}")
    related = related_of(recipe, other) if other else None
    times = times_of(recipe, other) if other and not related else None
    if request.figures and not (recipe.figures or recipe.regions):
        raise UserError(f"the recipe '{recipe.name}' has no figures")
    return _plan(recipe, request, runner, times, related)


def _plan(
    recipe: Recipe,
    request: RecipeRequest,
    runner: Runner,
    times: TimesTable | None = None,
    related: RelatedTable | None = None,
) -> TablePlan:
    option = choose_data(recipe, is_available, request.files is not None)
    table = (times or related or recipe).table
    for line in banner(recipe, table, option, better_options(recipe, option)):
        runner.show(line)
    if times:
        mapping = times_mapping(recipe, times, option, request.files)
    elif related:
        mapping = related_mapping(recipe, related, option, request.files)
    else:
        mapping = experiment_mapping(recipe, option, request.grid or recipe.default_grid, request.files)
    if times:
        _check_one_machine(runner)
    # Two fits at a time would disturb each other's clock.
    jobs = 1 if times else runner.jobs
    return TablePlan(recipe, option, _config(recipe, mapping), jobs, request.files, times, related)


def _config(recipe: Recipe, mapping: Mapping[str, object]) -> ExperimentConfig:
    return config_of(mapping, f"recipe {recipe.name}")


def _check_one_machine(runner: Runner) -> None:
    if runner.on_cluster:
        raise UserError("times are measured on one machine: leave out the scheduler")


def run_table(plan: TablePlan, runner: Runner) -> TableRun:
    """Make the runs that are missing, and write the table into their folder."""
    finished = runner.run(plan.config, plan.jobs)
    return _run_related(plan.related, plan, finished) if plan.related else _run_compared(plan, finished)


def _run_compared(plan: TablePlan, finished: FinishedExperiment) -> TableRun:
    runs = finished.records
    if plan.times:
        comparison = compare_times(plan.recipe, plan.times, plan.option, runs)
    else:
        comparison = compare(plan.recipe, plan.option, runs, _constants(plan))
    texts = {f"comparison.{SUFFIXES.get(fmt, fmt)}": render_comparison(comparison, fmt) for fmt in FORMATS}
    if grids := recipe_grids(plan.recipe, plan.times is not None, runs):
        texts |= {f"paper.{SUFFIXES.get(fmt, fmt)}": render_grids(grids, fmt) for fmt in ("md", "latex")}
    files = tuple(finished.folder.write_text(f"tables/{name}", text) for name, text in texts.items())
    return TableRun(finished, files, comparison)


def _constants(plan: TablePlan) -> Constants | None:
    """Return what predictors without features reach in the paper's measures, if the data are its own."""
    if plan.option.grade not in OWN_DATA:
        return None
    return constant_values(
        plan.config, dict.fromkeys(metric for found in plan.recipe.expected.values() for metric in found)
    )


def _run_related(table: RelatedTable, plan: TablePlan, finished: FinishedExperiment) -> TableRun:
    (record,) = finished.records
    folder = finished.folder
    if not record.done:
        return TableRun(finished, ())
    stored = load_model(folder.model_path(record.dataset.name, record.split, record.method))
    related = related_labels(stored.predictor.model, stored.label_names, table.n_related)
    grid = related_grid(table, plan.option, record, related)
    written = folder.write_text("tables/related.md", render_grids([grid], "md"))
    return TableRun(finished, (written,), related=related, related_table=grid)


def draw_figures(plan: TablePlan, folder: RunFolder, runner: Runner) -> list[Path]:
    """Run what the recipe's figures need, write them below the folder of its table, and return their files.

    A figure whose data are not at hand is shown as not drawn.
    """
    files = []
    for name, figure in plan.recipe.figures.items():
        runner.show(figure.title)
        try:
            planned = plan_figure(plan.recipe, name, runner, plan.option, plan.files)
        except _NoData as error:
            runner.show(f"not drawn: {error}")
            continue
        drawn = run_figure(planned, runner)
        files += _write_figure(folder, name, {fmt: drawn.draw(fmt) for fmt in FIGURE_FORMATS}, runner)
        for claim in drawn.comparison.claims:
            runner.show(f"  {claim.line}")
    for name, regions in plan.recipe.regions.items():
        runner.show(regions.title)
        draw = _plane(plan.recipe, name, plan.option, folder)
        files += _write_figure(folder, name, {fmt: draw(fmt) for fmt in FIGURE_FORMATS}, runner)
    return files


class _NoData(UserError):
    """The data of a figure are not at hand."""


def plan_figure(
    recipe: Recipe, name: str, runner: Runner, option: DataOption, files: Mapping[str, str] | None = None
) -> FigurePlan:
    """Return what is to be run for a figure.

    Parameters
    ----------
    option : the data of the recipe's table, used where the figure has none of its own

    Raises
    ------
    UserError
        If the figure's own data are not at hand, or it is of times and fits are made on other machines.
    """
    figure = recipe.figures.get(name)
    if figure is None:  # of the plane
        return FigurePlan(recipe, name, option, ((FLAT, _table_config(recipe, option, files)),), runner.jobs)
    if figure.data:
        try:
            option = choose_data(recipe, is_available, False, figure.data)
        except UserError as error:
            raise _NoData(str(error)) from error
    timed = figure.y.metric == "fit_seconds"
    if timed:
        _check_one_machine(runner)
    series = [(value, _config(recipe, mapping)) for value, mapping in figure_experiments(recipe, name, option, files)]
    return FigurePlan(recipe, name, option, tuple(series), 1 if timed else runner.jobs)


def _table_config(recipe: Recipe, option: DataOption, files: Mapping[str, str] | None) -> ExperimentConfig:
    return _config(recipe, experiment_mapping(recipe, option, recipe.default_grid, files))


def run_figure(plan: FigurePlan, runner: Runner) -> FigureRun:
    """Make the runs of a figure that are missing, and judge what the paper says of it."""
    finished = {value: runner.run(config, plan.jobs) for value, config in plan.series}
    runs = {value: done.records for value, done in finished.items()}
    records = tuple(record for found in runs.values() for record in found)
    comparison = compare_figure(plan.recipe, plan.name, plan.option, runs)
    if plan.name in plan.recipe.regions:
        return FigureRun(_plane(plan.recipe, plan.name, plan.option, finished[FLAT].folder), comparison, records)
    drawn = paper_figure(plan.recipe, plan.name, plan.option, runs)
    return FigureRun(lambda fmt: render(drawn, fmt), comparison, records)


def _plane(recipe: Recipe, name: str, option: DataOption, folder: RunFolder) -> Callable[[str], bytes]:
    """Return a figure of the plane from the runs of the recipe's table, as a function of the format."""
    dataset = load_dataset(option.dataset)
    arrays = {record.method: folder.run_arrays(record) for record in folder.runs() if record.done}
    scores = {method: (found["rows"], found["scores"]) for method, found in arrays.items()}
    drawn = plane_figure(recipe, name, option, dataset, scores)
    return lambda fmt: render(drawn, fmt)


def _write_figure(folder: RunFolder, name: str, images: Mapping[str, bytes], runner: Runner) -> list[Path]:
    files = {fmt: folder.path / "figures" / f"{name}.{fmt}" for fmt in images}
    for fmt, image in images.items():
        write_atomic(files[fmt], image)
    runner.show(f"  {files['png']}")
    return list(files.values())


Attempt = Callable[[TablePlan | FigurePlan], TableRun | FigureRun | None]


def run_planned(plan: TablePlan | FigurePlan, runner: Runner) -> TableRun | FigureRun:
    """Make the runs of a table or figure that are missing; see `run_table` and `run_figure`."""
    return run_figure(plan, runner) if isinstance(plan, FigurePlan) else run_table(plan, runner)


def attempt_all(recipes: Sequence[Recipe], runner: Runner, attempt: Attempt) -> Iterator[TableOutcome]:
    """Yield what becomes of each table and figure, in the order of the recipes; one that cannot be run stops no other.

    Parameters
    ----------
    attempt : function of a plan, such as `run_planned`; None is returned where nothing is run
    """
    for recipe in recipes:
        yield _attempt(recipe, recipe.name, recipe.table, partial(_plan, recipe, RecipeRequest(), runner), attempt)
        if (times := recipe.times) is not None:
            planned = partial(_plan, recipe, RecipeRequest(), runner, times=times)
            yield _attempt(recipe, f"{recipe.name}-times", times.table, planned, attempt)
        if (related := recipe.related) is not None:
            planned = partial(_plan, recipe, RecipeRequest(), runner, related=related)
            yield _attempt(recipe, f"{recipe.name}-related", related.table, planned, attempt)
        titles = {name: figure.title for name, figure in recipe.figures.items()}
        titles |= {name: regions.title for name, regions in recipe.regions.items()}
        for name, title in titles.items():
            drawn = partial(_figure_on_the_best_data, recipe, name, runner)
            yield _attempt(recipe, f"{recipe.name}-{name}", title.partition(":")[0], drawn, attempt)


def _figure_on_the_best_data(recipe: Recipe, name: str, runner: Runner) -> FigurePlan:
    plan = plan_figure(recipe, name, runner, choose_data(recipe, is_available, False))
    runner.show(f"{recipe.name}: {plan.title}")
    return plan


def _attempt(
    recipe: Recipe, page: str, table: str, planned: Callable[[], TablePlan | FigurePlan], attempt: Attempt
) -> TableOutcome:
    head = (recipe.name, recipe.paper, table, f"{page}.md")
    try:
        done = attempt(planned())
        if isinstance(done, FigureRun):
            return TableOutcome(*head, done.comparison, done.records, image=done.draw("svg"))
    except Exception as error:  # the others are still to be run
        return TableOutcome(*head, problem=" ".join(str(error).split()) or type(error).__name__)
    if done is None:
        return TableOutcome(*head)
    return TableOutcome(*head, done.comparison, done.experiment.records, grid=done.related_table)


def write_page(outcome: TableOutcome, results: Path) -> list[Path]:
    """Write the page of a table or figure, and its picture, below the folder of results; return the files.

    Nothing is written, and an older page stays, where the table could not be run.
    """
    folder = results / REFERENCE
    outcome = _with_readings(outcome, folder)
    contents: dict[str, bytes] = {}
    if outcome.image is not None:
        contents[outcome.image_name] = outcome.image
    if outcome.comparison is not None:
        image = outcome.image_name if outcome.image is not None else None
        contents[outcome.page] = comparison_page(outcome.comparison, image).encode()
    elif outcome.grid is not None:
        contents[outcome.page] = render_grids([outcome.grid], "md").encode()
    make_folder(folder)
    for name, content in contents.items():
        write_atomic(folder / name, content)
    return [folder / name for name in contents]


def write_summary(outcomes: Sequence[TableOutcome], results: Path) -> Path:
    """Write SUMMARY.md, which names the pages of `write_page`, below the folder of results; return its path."""
    folder = results / REFERENCE
    make_folder(folder)
    path = folder / "SUMMARY.md"
    write_atomic(path, render_summary([_with_readings(outcome, folder) for outcome in outcomes]).encode())
    return path


def _with_readings(outcome: TableOutcome, folder: Path) -> TableOutcome:
    """Return the outcome with the readings that were stored of its table, whose claims then may depend on them."""
    read = stored_readings(folder, outcome.recipe)
    if read is None or outcome.comparison is None or read.table != outcome.table:
        return outcome
    return replace(outcome, comparison=with_readings(outcome.comparison, read), readings=read)
