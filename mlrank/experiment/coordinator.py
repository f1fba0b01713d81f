"""The coordinator of a running experiment: hands out the fits that are still to be made, and stores their results."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mlrank.experiment.cell import Cell, Outcome
from mlrank.experiment.record import about_model, describe, summary
from mlrank.metrics import METRICS
from mlrank.models import Fit
from mlrank.models.file import model_bytes
from mlrank.records import RunFolder, WorkLocks
from mlrank.search import Point, Pool, Result, Task, execute

__all__ = ["Coordinator", "Event", "Notify"]

Event = Mapping[str, Any]
Notify = Callable[[Event], None]

# What a refit says of a run, beside its time and changes.
RUN_FIELDS = ("status", "error", "info", "metrics", "model")
# How long to wait before looking again whether another process has made the fits that it claims.
WAIT_SECONDS = 0.5


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
        found, self.offset = folder.journal.read_from(0)
        self.journal = {key: record for key, record in found.items() if not (retry_failed and record["error"])}
        self.best: dict[str, float] = {}
        self.filed: set[str] = set()

    def finished(self, cell: Cell) -> bool:
        """Whether the run of a cell is stored, and not to be made again because something in it failed."""
        data = cell.data.dataset.name
        record = self.folder.find_run(data, cell.split.name, cell.method.name)
        if record is None or record.get("key") != cell.key:
            return False
        return not (self.retry and (record["status"] == "failed" or record["search"]["n_failed"]))

    def n_done(self, cell: Cell) -> int:
        """Return the number of trials that the journal has of those a cell has asked for so far."""
        outcome = cell.outcome(self.journal)
        return len(outcome.asked) - len(outcome.missing)

    def search(self, todo: Sequence[Cell]) -> None:
        """Make the trials of cells, stage after stage, until each has chosen."""
        while True:
            missing = [(number, cell.outcome(self.journal).missing) for number, cell in enumerate(todo)]
            tasks = [task for number, trials in missing for task in todo[number].tasks(trials, number)]
            if not tasks:
                return
            before = len(self.journal)
            for task, results in execute(tasks, self.pool, self._admit_trials):
                self._file_trials(todo[task.number], task, results)
            self._refresh()
            if len(self.journal) == before:  # all that is missing is claimed by others
                time.sleep(WAIT_SECONDS)

    def _admit_trials(self, task: Task) -> Task:
        wanted = [point for point in task.points if point.key not in self.journal and self.claims.take(point.key)]
        # Looked up once more after claiming: whoever held the claim filed the trial before giving it up.
        self._refresh()
        for point in wanted:
            if point.key in self.journal:
                self.claims.release(point.key)
        return task.of([point for point in wanted if point.key not in self.journal])

    def _refresh(self) -> None:
        found, self.offset = self.folder.journal.read_from(self.offset)
        self.journal |= found

    def _file_trials(self, cell: Cell, task: Task, results: Sequence[Result]) -> None:
        self.folder.journal.append(*(result.record for result in results))
        for point, result in zip(task.points, results, strict=True):
            self.journal[point.key] = result.record
            self.claims.release(point.key)
            self.notify({"kind": "trial", **cell.names, "record": result.record, "settings": point.settings})
            self._tell_best(cell, point)

    def _tell_best(self, cell: Cell, point: Point) -> None:
        """Announce a point whose last fold came in and whose mean beats those before."""
        value = cell.mean_of(point, self.journal)
        if value is None:
            return
        metric = cell.config.search.metric
        sign = 1.0 if METRICS[metric].higher_is_better else -1.0
        if cell.label not in self.best or sign * value > sign * self.best[cell.label]:
            self.best[cell.label] = value
            settings = point.all_settings
            self.notify({"kind": "best", **cell.names, "metric": metric, "value": value, "settings": settings})

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
                self._file_refit(todo[task.number], *results[0])
            left = {number: cell for number, cell in left.items() if not self._filed(cell)}
            if left:
                time.sleep(WAIT_SECONDS)

    def _filed(self, cell: Cell) -> bool:
        return cell.key in self.filed or self.finished(cell)

    def _admit_refit(self, cell: Cell, task: Task) -> Task:
        return task if self._admit_run(cell) else task.of([])

    def _admit_run(self, cell: Cell) -> bool:
        if self._filed(cell) or not self.claims.take(cell.key):
            return False
        if self.finished(cell):  # by another process, between the look and the claim
            self.claims.release(cell.key)
            return False
        return True

    def _file_refit(
        self, cell: Cell, found: dict[str, Any], arrays: Mapping[str, Any], model: Fit | None = None
    ) -> None:
        outcome = cell.outcome(self.journal)
        record = self._described(cell, outcome)
        changes = [*record["dataset"]["changes"], *found["changes"]]
        merged = {"dataset": record["dataset"] | {"changes": changes}, "time": record["time"] | found["time"]}
        record |= {name: found[name] for name in RUN_FIELDS} | merged
        self._store(cell, record, arrays, None if model is None else model_bytes(model, about_model(cell, record)))

    def _file_failed_search(self, cell: Cell) -> None:
        outcome = cell.outcome(self.journal)
        errors = [self.journal[cell.trial(*trial).key]["error"] for trial in outcome.asked]
        undefined = f"{cell.config.search.metric} was undefined for every grid point in every fold"
        error = next(filter(None, errors), undefined)
        failure: dict[str, Any] = {"status": "failed", "error": error, "info": None, "metrics": {}, "model": None}
        self._store(cell, self._described(cell, outcome) | failure, {})

    def _described(self, cell: Cell, outcome: Outcome) -> dict[str, Any]:
        records = [self.journal[cell.trial(*trial).key] for trial in outcome.asked]
        seconds = float(sum(sum(record.get("time", {}).values()) for record in records))
        found = summary(cell, outcome, self.journal)
        return describe(cell, outcome.chosen) | {"search": found, "time": {"search": seconds}}

    def _store(self, cell: Cell, record: dict[str, Any], arrays: Mapping[str, Any], model: bytes | None = None) -> None:
        self.folder.write_run(record, arrays, model)
        self.filed.add(cell.key)
        self.claims.release(cell.key)
        self.notify({"kind": "run", **cell.names, "record": record})
