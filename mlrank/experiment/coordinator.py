"""The coordinator of a running experiment: hands out the fits that are still to be made, and stores their results."""

import time
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest

from mlrank.experiment.cell import Cell, Trial
from mlrank.experiment.events import BestEvent, Notify, RunEvent, RunName, TrialEvent
from mlrank.experiment.record import about_model, run_record
from mlrank.metrics import METRICS
from mlrank.models.file import model_content
from mlrank.processes import signals_held
from mlrank.records import RunFolder, RunRecord, TrialRecord, WorkLocks, software_info
from mlrank.search import Point, Pool, Refit, Result, Task, execute

__all__ = ["Coordinator"]

# How long to wait before looking again whether another process has made the fits that it claims.
WAIT_SECONDS = 0.5
# What the error of a trial says that was not made, as the same point took too long in another fold.
NOT_TRIED = " in another fold of the search: not tried in this one"


class Coordinator:
    """Makes and files the fits of cells.

    Parameters
    ----------
    folder : RunFolder
    claims : WorkLocks
        Of this process on the folder.
    pool : Pool
        Has the data of the cells loaded whenever `search` or `refit` is called.
    notify : function of an Event
    retry_failed : bool
        Whether fits that failed before are made again.
    """

    def __init__(self, folder: RunFolder, claims: WorkLocks, pool: Pool, notify: Notify, retry_failed: bool) -> None:
        self.folder, self.claims, self.pool, self.notify, self.retry = folder, claims, pool, notify, retry_failed
        stored, self.offset = folder.journal.read_from(0)
        self.journal = {key: trial for key, trial in stored.items() if not (retry_failed and trial.error)}
        self.best: dict[str, float] = {}
        # By name, as methods of equal settings have equal keys, and each its run.
        self.filed: set[RunName] = set()

    def finished(self, cell: Cell) -> bool:
        """Whether the run of a cell is stored, and not to be made again because something in it failed."""
        record = self.folder.find_run(*cell.name)
        if record is None or record.key != cell.key:
            return False
        return not (self.retry and (not record.done or record.search.n_failed))

    def left(self, todo: Sequence[Cell]) -> Iterator[int]:
        """Yield how many fits each cell of a data set still needs, but for trials that one before it makes."""
        made: set[str] = set()
        for cell in todo:
            outcome = cell.outcome(self.journal)
            keys = {cell.point_of(trial).key for trial in outcome.missing}
            yield 1 if keys <= made else 1 + cell.n_trials - (len(outcome.asked) - len(outcome.missing))
            made |= keys

    def search(self, todo: Sequence[Cell]) -> None:
        """Make the trials of cells, stage after stage, until each has chosen."""
        while True:
            missing = [(number, cell.outcome(self.journal).missing) for number, cell in enumerate(todo)]
            of_cells = [list(todo[number].tasks(trials, number)) for number, trials in _once(todo, missing)]
            tasks = list(chain.from_iterable(of_cells))
            if not tasks:
                return
            if todo[0].config.search.time_limit is not None:
                tasks = _fold_by_fold(of_cells)
            before = len(self.journal)
            for task, results in execute(tasks, self.pool, lambda task: self._admit_trials(todo[task.number], task)):
                self._file_trials(todo[task.number], task, results)
            self._refresh()
            if len(self.journal) == before:  # all that is missing is claimed by others
                time.sleep(WAIT_SECONDS)

    def _admit_trials(self, cell: Cell, task: Task) -> Task:
        taken = set(self.claims.take_all(point.key for point in task.points if point.key not in self.journal))
        # Looked up once more after claiming: whoever held the claim filed the trial before giving it up.
        self._refresh()
        for key in taken & self.journal.keys():
            self.claims.release(key)
        taken -= self.journal.keys()
        mine = task.of([point for point in task.points if point.key in taken])
        return mine if task.time_limit is None else self._within_limit(cell, mine)

    def _within_limit(self, cell: Cell, task: Task) -> Task:
        """File the points that took too long in another fold as failed; return the others.

        A point that failed in one fold is out: its other folds would take the same time, and change nothing.
        """
        over = {point.key: error for point in task.points if (error := cell.over_limit(point, self.journal))}
        if over:
            failed = [TrialRecord(key, error=error.removesuffix(NOT_TRIED) + NOT_TRIED) for key, error in over.items()]
            self._file_trials(cell, task.of([point for point in task.points if point.key in over]), failed)
        return task.of([point for point in task.points if point.key not in over])

    def _refresh(self) -> None:
        added, self.offset = self.folder.journal.read_from(self.offset)
        self.journal |= added

    def _file_trials(self, cell: Cell, task: Task, results: Sequence[Result]) -> None:
        trials = [result for result in results if isinstance(result, TrialRecord)]
        with signals_held():  # what is in the journal is counted too: an interrupt says how many fits are kept
            self.folder.journal.append(*trials)
            for point, trial in zip(task.points, trials, strict=True):
                self.journal[point.key] = trial
                self.claims.release(point.key)
                self.notify(TrialEvent(cell.name, trial, point.settings))
                self._announce_best(cell, point)

    def _announce_best(self, cell: Cell, point: Point) -> None:
        """Announce a point whose last fold came in and whose mean beats those before."""
        value = cell.mean_of(point, self.journal)
        if value is None:
            return
        metric = cell.config.search.metric
        sign = METRICS[metric].sign
        if cell.label not in self.best or sign * value > sign * self.best[cell.label]:
            self.best[cell.label] = value
            self.notify(BestEvent(cell.name, metric, value, point.all_settings))

    def refit(self, todo: Sequence[Cell]) -> None:
        """Fit what each cell has chosen, and store the runs."""
        left = dict(enumerate(todo))
        while left:
            tasks = []
            for number, cell in left.items():
                outcome = cell.outcome(self.journal)
                if outcome.chosen is not None:
                    tasks.append(cell.refit_task(outcome.chosen, number))
                elif self._admit_run(cell):
                    self._file_failed_search(cell)
            for task, results in execute(tasks, self.pool, lambda task: self._admit_refit(todo[task.number], task)):
                self._file_refit(todo[task.number], results[0])
            left = {number: cell for number, cell in left.items() if not self._filed(cell)}
            if left:
                time.sleep(WAIT_SECONDS)

    def _filed(self, cell: Cell) -> bool:
        return cell.name in self.filed or self.finished(cell)

    def _admit_refit(self, cell: Cell, task: Task) -> Task:
        return task if self._admit_run(cell) else task.of([])

    def _admit_run(self, cell: Cell) -> bool:
        if self._filed(cell) or not self.claims.take(cell.key):
            return False
        if self.finished(cell):  # by another process, between the look and the claim
            self.claims.release(cell.key)
            return False
        return True

    def _file_refit(self, cell: Cell, refit: Result) -> None:
        if not isinstance(refit, Refit):
            raise TypeError(f"a refit task returns a Refit, found {type(refit).__name__}")
        record = run_record(cell, cell.outcome(self.journal), self.journal, refit)
        self._store(cell, record, refit)

    def _file_failed_search(self, cell: Cell) -> None:
        outcome = cell.outcome(self.journal)
        errors = [error for trial in outcome.asked if (error := self.journal[cell.point_of(trial).key].error)]
        # Of a fit that was made, rather than of one that was not tried.
        errors.sort(key=lambda error: error.endswith(NOT_TRIED))
        undefined = f"{cell.config.search.metric} was undefined for every grid point in every fold"
        failure = Refit(software_info(), error=next(iter(errors), undefined))
        self._store(cell, run_record(cell, outcome, self.journal, failure), failure)

    def _store(self, cell: Cell, record: RunRecord, refit: Refit) -> None:
        model = None if refit.fit is None else model_content(refit.fit, about_model(cell, record, refit))
        self.folder.write_run(record, refit.arrays, model)
        self.filed.add(cell.name)
        self.claims.release(cell.key)
        self.notify(RunEvent(cell.name, record))


def _fold_by_fold(of_cells: Sequence[Sequence[Task]]) -> list[Task]:
    """Return the tasks of cells, the first of each cell before the second of any: what fails in one fold is then known.

    Cells of a data set have their tasks in the order of folds.
    """
    return [task for tasks in zip_longest(*of_cells) for task in tasks if task is not None]


def _once(cells: Sequence[Cell], missing: Sequence[tuple[int, Sequence[Trial]]]) -> Iterator[tuple[int, list[Trial]]]:
    """Yield the trials that cells miss, each with the first cell that misses it."""
    given: set[str] = set()
    for number, trials in missing:
        keys = [cells[number].point_of(trial).key for trial in trials]
        yield number, [trial for trial, key in zip(trials, keys, strict=True) if key not in given]
        given.update(keys)
