"""What an experiment is going to take: every fit with its time and memory."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mlrank.config import ExperimentConfig
from mlrank.experiment.cell import Cell
from mlrank.experiment.run import plan_cells
from mlrank.records import RunFolder, TrialRecord
from mlrank.search import Estimate, Pilot

__all__ = ["CellForecast", "forecast"]


@dataclass(frozen=True)
class ForecastFit:
    """A fit of a search: its fold, its settings, and whether it is done."""

    fold: int
    settings: Mapping[str, object]
    done: bool


@dataclass(frozen=True)
class CellForecast:
    """The fits of one method on one split.

    Parameters
    ----------
    cell : str
        Data set, split and method.
    of : str
        Data set and method, which the splits of one share.
    fits : tuple of ForecastFit
        The fits that the search asks for first.
    n_fits, n_left : int
        Number of fits of the whole search and the refit, and of those still to be made.
    search, refit : Estimate
        Of one fit of the search, and of the fit on the whole training part.
    measured : bool
        Whether the time of the search's fits comes from finished ones.
    """

    cell: str
    of: str
    fits: tuple[ForecastFit, ...]
    n_fits: int
    n_left: int
    search: Estimate
    refit: Estimate
    measured: bool

    @property
    def seconds(self) -> float | None:
        """Time of all fits still to be made, one after the other."""
        if self.n_left == 0:
            return 0.0
        if self.search.seconds is None or self.refit.seconds is None:
            return None
        return (self.n_left - 1) * self.search.seconds + self.refit.seconds

    @property
    def bytes(self) -> float:
        """Memory of the largest fit."""
        return max(self.search.bytes, self.refit.bytes)


def forecast(
    config: ExperimentConfig,
    results_dir: Path | str,
    pilots: dict[str, Pilot] | None = None,
    notify: Callable[[str], None] = lambda label: None,
) -> list[CellForecast]:
    """Return a forecast for every cell; a method is fitted once on few rows of each data set, nothing is written.

    Parameters
    ----------
    pilots : those of like experiments, whose fits stand for this one's where nothing but the scaling of rows or the
        drawing of splits differs; this one's are added
    notify : gets the name of each cell when it is next

    Raises
    ------
    UserError
        If the configuration does not fit the data.
    """
    folder = RunFolder.of(results_dir, config.name)
    journal = folder.journal.read()
    known = {} if pilots is None else pilots
    return [fits for _, mine in plan_cells(config) for fits in _of_data(mine, folder, journal, known, notify)]


def _of_data(
    mine: Sequence[Cell],
    folder: RunFolder,
    journal: Mapping[str, TrialRecord],
    known: dict[str, Pilot],
    notify: Callable[[str], None],
) -> Iterator[CellForecast]:
    pilots: dict[str, Pilot] = {}
    for cell in mine:
        notify(cell.label)
        name = cell.method.name
        if name not in pilots:
            pilot = Pilot(cell.refit_task((len(cell.grid) - 1) // 2, 0), cell.data.task_data)
            pilots[name] = known.setdefault(_what_is_fitted(cell, pilot), pilot)
        record = folder.find_run(*cell.name)
        is_fitted = record is not None and record.key == cell.key
        yield _of_cell(cell, pilots[name], journal, is_fitted)


def _what_is_fitted(cell: Cell, pilot: Pilot) -> str:
    """Return a text that is the same for pilots whose fits take the same: like data, rows, method and settings."""
    task, data = pilot.task, pilot.task_data
    others = None if task.unlabeled is None else task.unlabeled.size
    shapes = (cell.data.dataset.name, data.X.shape, data.Y.shape, task.train.size, others)
    return repr((shapes, replace(task.chain, scale="none"), task.points[0].all_settings))


def _of_cell(cell: Cell, pilot: Pilot, journal: Mapping[str, TrialRecord], is_fitted: bool) -> CellForecast:
    outcome = cell.outcome(journal)
    shown = () if cell.shares else dict.fromkeys((*outcome.asked, *outcome.missing))
    asked = [(trial, cell.point_of(trial)) for trial in shown]
    fits = [ForecastFit(trial.fold, point.all_settings, point.key in journal) for trial, point in asked]
    trials = [journal[point.key] for _, point in asked if point.key in journal]
    times = [trial.seconds for trial in trials if trial.time.fit is not None]
    n_rows = round(cell.split.train.size * (1 - 1 / (len(cell.folds) or cell.config.search.folds)))
    search = pilot.estimate(n_rows, trial=True)
    if times:
        search = Estimate(sum(times) / len(times), search.bytes)
    n_fits = cell.n_fits
    n_done = sum(fit.done for fit in fits) + is_fitted
    refit = pilot.estimate(cell.split.train.size)
    of = f"{cell.name.dataset} / {cell.name.method}"
    return CellForecast(cell.label, of, tuple(fits), n_fits, n_fits - n_done, search, refit, bool(times))
