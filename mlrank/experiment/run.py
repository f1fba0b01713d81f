"""Running an experiment: which fits are still to be made, making them, and storing what they give."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from math import prod
from pathlib import Path
from typing import Any

from scipy.sparse import issparse

from mlrank.config import ExperimentConfig
from mlrank.config.grid import points
from mlrank.errors import UserError, unknown_name
from mlrank.experiment.cell import Cell, cells
from mlrank.experiment.coordinator import Coordinator
from mlrank.experiment.data import SplitDataset, plan
from mlrank.experiment.events import Event, MissingFits, Notify, PlanEvent, RunEvent, TrialEvent, log_line
from mlrank.experiment.kernels import check_kernels
from mlrank.experiment.points import idle_settings, method_inputs
from mlrank.hardware import available_memory
from mlrank.labels import MOST_BEST
from mlrank.metrics import METRICS, own_names
from mlrank.records import DataNames, RunFolder, WorkLocks, safe_name
from mlrank.room import check_room
from mlrank.search import Pilot, Pool, growing_pool, local_pool, pools_ahead, workers_that_fit
from mlrank.solvers import SOLVERS, Capabilities
from mlrank.tables import FinishedExperiment, write_tables
from mlrank.thresholds import THRESHOLDS, LabelBounds, is_fitted
from mlrank.thresholds.bounds import BOUNDS

__all__ = ["plan_cells", "run", "run_experiment"]

LOG_LEVELS = ("debug", "info", "error")
# A search of no more fits, each short, has ended before workers have started.
FEW_FITS = 30
Planned = tuple[SplitDataset, list[Cell]]


def run(
    config: ExperimentConfig,
    results_dir: Path | str,
    jobs: int | AbstractContextManager[Pool] = 1,
    notify: Notify = lambda event: None,
    *,
    retry_failed: bool = False,
    log_level: str = "info",
) -> RunFolder:
    """Run what of an experiment is not done yet, and return its folder; see `run_experiment`."""
    finished = run_experiment(config, results_dir, jobs, notify, retry_failed=retry_failed, log_level=log_level)
    return finished.folder


def run_experiment(
    config: ExperimentConfig,
    results_dir: Path | str,
    jobs: int | AbstractContextManager[Pool] = 1,
    notify: Notify = lambda event: None,
    *,
    retry_failed: bool = False,
    log_level: str = "info",
    by_method: bool = False,
    only: Collection[str] | None = None,
) -> FinishedExperiment:
    """Run what of an experiment is not done yet, and write its folder with tables.

    Several processes may run the same experiment on one results folder: they share its fits.

    Parameters
    ----------
    jobs : int, or a context manager of a pool
        Worker processes on this machine, or where to run instead; results do not depend on it.
    notify : function of an Event
        A PlanEvent, then a TrialEvent or RunEvent for each fit, and a BestEvent whenever a grid point is better than
        those before; see `mlrank.experiment.events`.
    retry_failed : bool
        Whether failed fits are made again.
    log_level : {"debug", "info", "error"}
        What log.jsonl gets: every event, all but single trials, or failures alone.
    by_method : bool
        Whether all runs of a method on a data set are made before the next method begins, so that an interrupted
        experiment has whole methods; else all searches on a data set come before its runs, and more workers keep busy.
    only : keys of runs
        Those to make; None: all.

    Raises
    ------
    UserError
        If the configuration does not fit the data, or results cannot be written, or the results folder is one of
        another version. What is finished stays.
    """
    RunFolder.of(results_dir, config.name)  # one of another format is known before the data are read
    with _pools(config, results_dir, jobs) as pool_of:
        planned = plan_cells(config)
        if only is not None:
            planned = [(data, [cell for cell in mine if cell.key in only]) for data, mine in planned]
        folder = RunFolder.create(results_dir, config.name)
        notify = _logging(folder, log_level, notify)
        requested = jobs if isinstance(jobs, int) else None
        fitting = 0
        if requested is not None:
            fitting = workers_that_fit(requested, _largest_fit(planned), available_memory())
        with WorkLocks(folder.path / "claims") as claims, pool_of(fitting) as workers:
            folder.sweep()
            _write_plan(folder, config, planned)
            coordinator = Coordinator(folder, claims, workers, notify, retry_failed)
            todo = [(data, [cell for cell in mine if not coordinator.finished(cell)]) for data, mine in planned]
            notify(_plan_event(config, planned, todo, coordinator, fitting or None, requested))
            for data, mine in todo:
                if mine:
                    workers.load(data.task_data)
                    for together in _by_method(mine) if by_method else [mine]:
                        coordinator.search(together)
                        coordinator.refit(together)
            return write_tables(folder, config.metrics)


def _by_method(mine: Sequence[Cell]) -> Iterator[list[Cell]]:
    for name in dict.fromkeys(cell.method.name for cell in mine):
        yield [cell for cell in mine if cell.method.name == name]


def _write_plan(folder: RunFolder, config: ExperimentConfig, planned: Sequence[Planned]) -> None:
    """Write what the folder says of an experiment before its first fit."""
    folder.write_config(config.resolved())
    folder.write_planned(cell.key for _, mine in planned for cell in mine)
    folder.write_environment()
    for data, _ in planned:
        dataset = data.dataset
        names = DataNames(dataset.label_names, dataset.feature_names, dataset.ids)
        folder.write_names(dataset.name, data.hash, names)


def _pools(
    config: ExperimentConfig, results_dir: Path | str, jobs: int | AbstractContextManager[Pool]
) -> AbstractContextManager[Callable[[int], AbstractContextManager[Pool]]]:
    """Return what makes the pool of a size; where nothing is done yet, worker processes start while fits are planned.

    They take about as long to load what they need as reading the data and drawing folds does. A few fits begin in this
    process.
    """
    if not isinstance(jobs, int):
        return nullcontext(lambda size: jobs)
    fitting = workers_that_fit(jobs, 0.0, available_memory())
    if fitting == 1 or (Path(results_dir) / safe_name(config.name) / "runs").exists():
        return nullcontext(local_pool)
    if _begins_here(config):
        return nullcontext(growing_pool)
    return pools_ahead(
        fitting, [one for method in config.methods.values() for one in (method.solver_class, method.threshold_class)]
    )


def _begins_here(config: ExperimentConfig) -> bool:
    """Whether there are few fits, and none may be ended with its process: one over a limit, or one of foreign code."""
    methods = config.methods.values()
    points_of = [prod(len(values) for _, values in method.all_axes) for method in methods]
    fits = sum(1 if n_points == 1 else 1 + n_points * config.search.folds for n_points in points_of)
    if fits * len(config.datasets) > FEW_FITS or config.search.time_limit is not None:
        return False
    foreign = own_names((*config.metrics, config.search.metric))
    return not foreign and not any(":" in method.solver or method_inputs(method)[1] for method in methods)


def _logging(folder: RunFolder, level: str, notify: Notify) -> Notify:
    """Return `notify`, but events are written to the log first."""
    if level not in LOG_LEVELS:
        raise UserError(unknown_name("log level", level, LOG_LEVELS))

    def logged(event: Event) -> None:
        failed = isinstance(event, TrialEvent | RunEvent) and event.record.error is not None
        importance = "error" if failed else "debug" if isinstance(event, TrialEvent) else "info"
        if LOG_LEVELS.index(importance) >= LOG_LEVELS.index(level):
            folder.log({"level": importance, **log_line(event)})
        notify(event)

    return logged


def plan_cells(config: ExperimentConfig) -> list[Planned]:
    """Return the data sets, each with its cells.

    Raises
    ------
    UserError
        If the configuration does not fit the data or its own bound on fits.
    """
    planned = [(item, list(cells(config, item))) for item in plan(config)]
    for place, (item, _) in enumerate(planned):
        with config.places.errors_at("datasets", place):
            _check_unknown(config, item)
        check_kernels(config, item.dataset)
        _check_thresholds(config, item)
        if issparse(item.dataset.Y):
            _check_very_many_labels(config, item)
    most = config.search.max_fits
    with config.places.errors_at("search", "max_fits"):
        for cell in (cell for _, mine in planned for cell in mine):
            if most is not None and cell.n_trials > most:
                raise UserError(
                    f"the search of method '{cell.method.name}' by strategy '{config.search.strategy}' needs "
                    f"{cell.n_trials} fits, max_fits allows {most}; raise it or use strategy 'random' or 'staged'"
                )
    return planned


def _check_unknown(config: ExperimentConfig, data: SplitDataset) -> None:
    """Refuse unknown labels if a solver cannot leave them out, unless the configuration says what they count as."""
    if data.task_data.known is None:
        return
    for name in own_names((*config.metrics, config.search.metric)):
        if not METRICS[name].takes_unknown:
            raise UserError(
                f"'{data.dataset.name}' has unknown label entries, which the metric '{name}' cannot leave out: "
                "it has no parameter 'known'"
            )
    if config.unknown_labels != "refuse":
        return
    blind = [method for method in config.methods.values() if not Capabilities.of(method.solver_class).uses_known]
    if blind:
        named = ", ".join(f"'{method.name}' ({method.solver})" for method in blind)
        heeding = ", ".join(key for key, solver in SOLVERS.items() if Capabilities.of(solver).uses_known)
        raise UserError(
            f"'{data.dataset.name}' has unknown label entries, which {named} cannot leave out; "
            f"set 'unknown_labels: absent' to have them taken as absent there, or use one of: {heeding}"
        )


def _check_thresholds(config: ExperimentConfig, data: SplitDataset) -> None:
    """Refuse thresholds that do not fit the number of labels."""
    for method in config.methods.values():
        kind: Any = method.threshold_class
        with config.places.errors_at("methods", method.name, "threshold"):
            for settings in points(method.threshold_axes):
                own, bounds = LabelBounds.split(settings)
                try:
                    for one in (kind(**own), bounds):
                        if hasattr(one, "check"):
                            one.check(data.dataset.n_labels)
                except ValueError as error:
                    raise UserError(f"'{data.dataset.name}', method '{method.name}': {error}") from error


def _check_very_many_labels(config: ExperimentConfig, data: SplitDataset) -> None:
    """Refuse what needs an array of all rows and labels, where labels are held sparse."""
    dataset, places = data.dataset, config.places
    about = f"'{dataset.name}' has {dataset.n_samples} rows and {dataset.n_labels} labels: "
    hint = "subset (top_labels, min_positives) takes fewer labels"
    largest = max(split.train.size for split in data.splits)
    for method in config.methods.values():
        kind: Any = method.threshold_class
        if method.calibrate is not None:
            with places.errors_at("methods", method.name, "calibrate", about=about):
                raise UserError(f"a calibration is fitted to all scores, which are too many; {hint}")
        with places.errors_at("methods", method.name, "threshold", about=about):
            if is_fitted(kind):
                able = ", ".join(key for key, one in THRESHOLDS.items() if hasattr(one, "unfitted"))
                message = f"the threshold '{method.threshold}' is fitted to all scores, which are too many"
                raise UserError(f"{message}; use natural, {able}, or {hint}")
            for settings in points(method.threshold_axes):
                counts: list[Any] = [settings.get(name) or 0 for name in ("k", *BOUNDS)]
                if (asked := max(counts)) > MOST_BEST:
                    raise UserError(f"{asked} labels a row are asked for, of the {MOST_BEST} best that are kept")
        if not Capabilities.of(method.solver_class).sparse_labels:
            with places.errors_at("methods", method.name, about=about):
                what = f"dense labels, which {method.solver} needs, of {largest} training rows"
                able = ", ".join(key for key, one in SOLVERS.items() if Capabilities.of(one).sparse_labels)
                takes = f"or take a solver of sparse labels{able and f': {able}'}"
                check_room(float(largest) * dataset.n_labels, what, hint=f"{hint}, {takes}")
    searched = any(len(values) > 1 for method in config.methods.values() for _, values in method.all_axes)
    for name, where in [(one, ("metrics",)) for one in own_names(config.metrics)] + [
        (config.search.metric, ("search", "metric")) for _ in range(searched)
    ]:
        if not METRICS[name].of_best:
            with places.errors_at(*where, about=about):
                able = ", ".join(key for key, one in METRICS.items() if one.of_best)
                message = f"{name} needs all scores, and the {MOST_BEST} best of a row are kept"
                raise UserError(f"{message}; use one of {able}")


def _plan_event(
    config: ExperimentConfig,
    planned: Sequence[Planned],
    todo: Sequence[Planned],
    coordinator: Coordinator,
    jobs: int | None,
    requested: int | None,
) -> PlanEvent:
    total = sum(cell.n_fits for _, mine in planned for cell in mine)
    missing = []
    for _, mine in todo:
        for cell, left, work in zip(mine, coordinator.left(mine), _work(mine), strict=True):
            missing.append(MissingFits(cell.name, left, work))
            # The run that it shares its trials with is stored without them, as those of the benchmark's pieces are.
            total += left - 1 if cell.shares else 0
    idle = {name: tuple(settings) for name, method in config.methods.items() if (settings := idle_settings(method))}
    notes = tuple(dict.fromkeys(note for method in config.methods.values() for note in method.notes))
    return PlanEvent(total, total - sum(entry.fits for entry in missing), tuple(missing), jobs, requested, idle, notes)


def _work(mine: Sequence[Cell]) -> Iterator[tuple[float, float]]:
    """Yield the operations of a fit of the search and of the last fit of each cell of a data set."""
    pilots: dict[str, Pilot] = {}
    for cell in mine:
        name, n_rows = cell.method.name, cell.split.train.size
        if name not in pilots:
            pilots[name] = Pilot(cell.refit_task((len(cell.grid) - 1) // 2, 0), cell.data.task_data)
        folds = len(cell.folds) or cell.config.search.folds
        yield pilots[name].work(round(n_rows * (1 - 1 / folds)), trial=True), pilots[name].work(n_rows)


def _largest_fit(planned: Sequence[Planned]) -> float:
    """Return the bytes that the largest fit takes."""
    found = [0.0]
    for data, mine in planned:
        for cell in {cell.method.name: cell for cell in mine}.values():
            pilot = Pilot(cell.refit_task(0, 0), data.task_data)
            found.append(pilot.memory(cell.split.train.size))
    return max(found)
