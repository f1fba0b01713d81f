"""Running an experiment: which fits are still to be made, making them, and storing what they give."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mlrank.config import ExperimentConfig
from mlrank.experiment.cell import Cell, cells
from mlrank.experiment.data import Data, plan
from mlrank.results import RunFolder
from mlrank.search import Task, execute, groups, refit, search
from mlrank.tables import write_tables

__all__ = ["Event", "run"]

Event = Mapping[str, Any]
Notify = Callable[[Event], None]


def run(config: ExperimentConfig, results_dir: Path | str, jobs: int, notify: Notify = lambda event: None) -> RunFolder:
    """Run what of an experiment is not done yet, and write its folder with tables.

    Parameters
    ----------
    jobs : int
        Worker processes; results do not depend on it.
    notify : function of an event, a mapping with "kind"
        "plan" (total, done: numbers of fits), then "trial" and "run", one for each fit, with its record.

    Raises
    ------
    UserError
        If the configuration does not fit the data, or results cannot be written. What is finished stays.
    """
    data = plan(config)
    folder = RunFolder.create(results_dir, config.name)
    folder.write_config(config.resolved())
    folder.write_environment()
    everything = [list(cells(config, item)) for item in data]
    todo = [[cell for cell in mine if not _finished(folder, cell)] for mine in everything]
    journal = folder.journal.read()
    _announce(everything, todo, journal, notify)
    for item, mine in zip(data, todo, strict=True):
        _search(folder, item, mine, journal, jobs, notify)
        _refit(folder, item, mine, journal, jobs, notify)
    write_tables(folder, folder.runs(), config.metrics)
    return folder


def _finished(folder: RunFolder, cell: Cell) -> bool:
    record = folder.find_run(cell.data.dataset.name, cell.split.name, cell.method.name)
    return record is not None and record.get("key") == cell.key and record["status"] == "done"


def _announce(
    everything: Sequence[Sequence[Cell]], todo: Sequence[Sequence[Cell]], journal: Mapping[str, Any], notify: Notify
) -> None:
    total = sum(1 + sum(map(len, cell.trials)) for mine in everything for cell in mine)
    missing = [point for mine in todo for cell in mine for points in cell.trials for point in points]
    missing_trials = sum(point.key not in journal for point in missing)
    notify({"kind": "plan", "total": total, "done": total - missing_trials - sum(map(len, todo))})


def _search(
    folder: RunFolder, data: Data, todo: Sequence[Cell], journal: dict[str, Any], jobs: int, notify: Notify
) -> None:
    tasks: list[Task] = []
    for cell in todo:
        for fold, points in enumerate(cell.trials):
            missing = [point for point in points if point.key not in journal]
            train, test = cell.folds[fold]
            metric = cell.config.search.metric
            tasks += [Task(cell.chain, group, train, test, metric) for group in groups(cell.chain, missing)]
    for records in execute(search, tasks, (data.dataset.X, data.dataset.Y), jobs):
        for record in records:
            folder.journal.append(record)
            journal[record["key"]] = record
            notify({"kind": "trial", "record": record})


def _refit(
    folder: RunFolder, data: Data, todo: Sequence[Cell], journal: Mapping[str, Any], jobs: int, notify: Notify
) -> None:
    chosen: dict[int, tuple[Cell, dict[str, Any]]] = {}
    tasks: list[Task] = []
    for cell in todo:
        summary, index = cell.choose(journal)
        record = cell.describe(index) | {"search": summary, "time": {"search": _search_seconds(cell, journal)}}
        if index is None:
            failure: dict[str, Any] = {
                "status": "failed",
                "error": _first_error(cell, journal),
                "info": None,
                "metrics": {},
            }
            _store(folder, record | failure, {}, notify)
            continue
        chosen[len(tasks)] = (cell, record)
        point = cell.refits[index]
        tasks.append(
            Task(cell.chain, (point,), cell.split.train, cell.split.test, cell.config.search.metric, len(tasks))
        )
    for number, found, arrays in execute(refit, tasks, (data.dataset.X, data.dataset.Y), jobs):
        _, record = chosen[number]
        changes = [*record["dataset"]["changes"], *found.pop("changes")]
        merged = {"dataset": record["dataset"] | {"changes": changes}, "time": record["time"] | found.pop("time")}
        _store(folder, record | found | merged, arrays, notify)


def _store(folder: RunFolder, record: dict[str, Any], arrays: Mapping[str, Any], notify: Notify) -> None:
    folder.write_run(record, arrays)
    folder.log({"event": "run", **{name: record[name] for name in ("split", "method", "status")}})
    notify({"kind": "run", "record": record})


def _search_seconds(cell: Cell, journal: Mapping[str, Any]) -> float:
    records = [journal[point.key] for points in cell.trials for point in points]
    return float(sum(sum(record.get("time", {}).values()) for record in records))


def _first_error(cell: Cell, journal: Mapping[str, Any]) -> str:
    records = [journal[point.key] for points in cell.trials for point in points]
    undefined = f"{cell.config.search.metric} was undefined for every grid point in every fold"
    return next((record["error"] for record in records if record["error"]), undefined)
