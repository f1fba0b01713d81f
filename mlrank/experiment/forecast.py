"""What an experiment is going to take: every fit with its time and memory."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mlrank.config import ExperimentConfig
from mlrank.experiment.cell import Cell
from mlrank.experiment.run import plan_cells
from mlrank.records import RunFolder, RunRecord
from mlrank.search import Estimate, Pilot, PilotFits

__all__ = ["CellForecast", "forecast"]

# Points of a grid that are fitted on few rows, as the time of a fit depends on them.
POINTS = 4


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
    pilots: dict[str, PilotFits] | None = None,
    notify: Callable[[str], None] = lambda label: None,
    stored: Iterable[RunRecord] = (),
) -> list[CellForecast]:
    """Return a forecast for every cell; methods with fits left are fitted on few rows of each data set.

    Nothing is written.

    Parameters
    ----------
    pilots : pilot fits of like experiments, which stand for this one's where nothing but the scaling of rows, the
        drawing of splits or the threshold differs; this one's are added
    notify : gets the name of each cell when it is next
    stored : runs that count as those of the results folder where that has none

    Raises
    ------
    UserError
        If the configuration does not fit the data.
    """
    folder = RunFolder.of(results_dir, config.name)
    made = {record.names: record for record in stored}
    forecasts = _Forecasts(folder, made, {} if pilots is None else pilots)
    return [fits for _, mine in plan_cells(config) for fits in forecasts.of_data(mine, notify)]


class _Forecasts:
    """Makes forecasts, by the trials and runs that are stored and by pilot fits.

    Parameters
    ----------
    folder : RunFolder
    made : runs that count as those of the folder where that has none, by their names
    known : pilot fits, by what is fitted
    """

    def __init__(
        self, folder: RunFolder, made: Mapping[tuple[str, str, str], RunRecord], known: dict[str, PilotFits]
    ) -> None:
        self.folder, self.made, self.known = folder, made, known
        self.journal = folder.journal.read()

    def of_data(self, mine: Sequence[Cell], notify: Callable[[str], None]) -> Iterator[CellForecast]:
        """Yield the forecasts of the cells of one data set."""
        pilots: dict[str, Pilot] = {}
        for cell in mine:
            notify(cell.label)
            name = cell.method.name
            pilot = pilots[name] = pilots.get(name) or _pilot(cell)
            found = self.folder.find_run(*cell.name) or self.made.get(cell.name)
            if found is not None and found.key == cell.key:
                yield self._of_made(cell, pilot, found)
                continue
            what = _what_is_fitted(cell, pilot)
            if what in self.known:
                pilot.fits = self.known[what]
            self.known[what] = pilot.fits
            yield self._of_cell(cell, pilot)

    def _of_made(self, cell: Cell, pilot: Pilot, run: RunRecord) -> CellForecast:
        """Return the forecast of a cell whose run is stored: nothing is left of it."""
        fits, measured = self._fits(cell)
        search, n_trials = measured, run.search.n_trials
        if search is None and n_trials and run.time.search is not None:
            search = run.time.search / n_trials
        memory = pilot.memory(cell.split.train.size)
        parts = (run.time.fit, run.time.threshold, run.time.predict)
        refit = Estimate(sum(part or 0.0 for part in parts), memory)
        return _forecast(cell, fits, 0, Estimate(search or 0.0, memory), refit, search is not None)

    def _of_cell(self, cell: Cell, pilot: Pilot) -> CellForecast:
        fits, measured = self._fits(cell)
        n_rows = cell.split.train.size
        n_fold = round(n_rows * (1 - 1 / (len(cell.folds) or cell.config.search.folds)))
        search = pilot.estimate(n_fold, n_rows - n_fold, trial=True)
        if measured is not None:
            search = replace(search, seconds=measured)
        refit = pilot.estimate(n_rows, cell.split.test.size)
        n_left = cell.n_fits - sum(fit.done for fit in fits)
        return _forecast(cell, fits, n_left, search, refit, measured is not None)

    def _fits(self, cell: Cell) -> tuple[tuple[ForecastFit, ...], float | None]:
        """Return the fits that the search of a cell asks for first, and the mean seconds of those that are done."""
        outcome = cell.outcome(self.journal)
        shown = () if cell.shares else dict.fromkeys((*outcome.asked, *outcome.missing))
        asked = [(trial, cell.point_of(trial)) for trial in shown]
        fits = (ForecastFit(trial.fold, point.all_settings, point.key in self.journal) for trial, point in asked)
        trials = [self.journal[point.key] for _, point in asked if point.key in self.journal]
        times = [trial.seconds for trial in trials if trial.time.fit is not None]
        return tuple(fits), sum(times) / len(times) if times else None


def _forecast(
    cell: Cell, fits: tuple[ForecastFit, ...], n_left: int, search: Estimate, refit: Estimate, measured: bool
) -> CellForecast:
    of = f"{cell.name.dataset} / {cell.name.method}"
    return CellForecast(cell.label, of, fits, cell.n_fits, n_left, search, refit, measured)


def _pilot(cell: Cell) -> Pilot:
    """Return the pilot of a method, with the fit in the middle of its grid, and others if the grid has some."""
    middle = (len(cell.grid) - 1) // 2
    others = [cell.refit(place) for place in _spread(len(cell.grid)) if place != middle]
    return Pilot(cell.refit_task(middle, 0), cell.data.task_data, others)


def _spread(n_points: int) -> list[int]:
    """Return places of at most `POINTS` points of a grid, its ends among them."""
    return sorted(set(np.linspace(0, n_points - 1, min(POINTS, n_points)).round().astype(int).tolist()))


def _what_is_fitted(cell: Cell, pilot: Pilot) -> str:
    """Return a text that is the same for pilots that take the same: like data, rows, solver, settings and metrics."""
    task, data, chain = pilot.task, pilot.task_data, pilot.task.chain
    n_unlabeled = None if task.unlabeled is None else task.unlabeled.size
    shapes = (cell.data.dataset.name, data.X.shape, data.Y.shape, task.train.size, n_unlabeled)
    points = [(point.settings, point.projection_settings) for point in (*task.points, *pilot.points)]
    return repr((shapes, chain.solver, chain.projection, points, task.metric, task.own_metrics))
