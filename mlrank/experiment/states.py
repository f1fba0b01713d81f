"""In which state the runs of an experiment are, and why one would be made again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mlrank.config import ExperimentConfig
from mlrank.experiment.cell import Cell
from mlrank.experiment.run import plan_cells
from mlrank.records import RunFolder, TrialRecord, held_keys, software_info
from mlrank.records.run import SoftwareInfo

__all__ = ["Change", "RunState", "changes", "run_states"]


@dataclass(frozen=True)
class RunState:
    """A run: how far its search is, the last line of each error, and what software of then differs from that of now.

    `state` is "done" or "failed" as stored; "stale" if what is stored depends on something that has changed since;
    "running" if a process is at it; else "planned".
    """

    dataset: str
    split: str
    method: str
    state: str
    n_done: int
    n_trials: int
    errors: tuple[str, ...]
    other_software: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """Something a stored run depends on: its name, and its value then and now (None: was or is not there)."""

    name: str
    then: Any
    now: Any


def run_states(config: ExperimentConfig, folder: RunFolder) -> list[RunState]:
    """Return the state of every run of an experiment, in its order.

    Raises
    ------
    UserError
        If the data are not at hand: what is stored may not belong to them.
    """
    journal, at_work, now = folder.journal.read(), held_keys(folder.path / "claims"), software_info()
    return [_state(cell, folder, journal, at_work, now) for _, mine in plan_cells(config) for cell in mine]


def _state(
    cell: Cell, folder: RunFolder, journal: Mapping[str, TrialRecord], at_work: set[str], now: SoftwareInfo
) -> RunState:
    record = folder.find_run(*cell.name)
    outcome = cell.outcome(journal)
    keys = [cell.point_of(trial).key for trial in outcome.asked]
    trials = [journal[key] for key in keys if key in journal]
    errors = [trial.reason for trial in trials if trial.error]
    if record is not None and record.key == cell.key:
        state = str(record.status)
        errors += [record.reason] if record.error and not errors else []
    elif cell.key in at_work or at_work.intersection(keys):
        state = "running"
    else:
        state = "planned" if record is None else "stale"
    other = () if record is None else _other_software(record.software, now)
    return RunState(*cell.name, state, len(trials), cell.n_trials, tuple(errors), other)


def _other_software(then: SoftwareInfo, now: SoftwareInfo) -> tuple[str, ...]:
    """Return what has another version now; the threads are not those of a fit now."""
    pairs: list[tuple[str, str | None, str | None]]
    pairs = [("mlrank", then.mlrank, now.mlrank), ("Python", then.python, now.python)]
    pairs += [(name, then.packages.get(name), now.packages.get(name)) for name in {**then.packages, **now.packages}]
    pairs += [("BLAS", ", ".join(then.blas), ", ".join(now.blas))]
    pairs += [("commit", (then.commit or "")[:12], (now.commit or "")[:12])]
    return tuple(f"{name} {_shown(old)} (now {_shown(new)})" for name, old, new in pairs if old != new)


def _shown(version: str | None) -> str:
    return version[:40] if version else "none"


def changes(config: ExperimentConfig, folder: RunFolder, method: str | None) -> dict[str, list[Change] | None]:
    """Return what has changed since each run of a method, or of all, was stored; None where there is no run.

    Raises
    ------
    UserError
        If the data are not at hand.
    """
    changed: dict[str, list[Change] | None] = {}
    for _, mine in plan_cells(config):
        for cell in mine:
            if method in (None, cell.method.name):
                record = folder.find_run(*cell.name)
                changed[cell.label] = None if record is None else _compare(record.inputs, cell.inputs)
    return changed


def _compare(then: Mapping[str, object], now: Mapping[str, object]) -> list[Change]:
    names = dict.fromkeys((*now, *then))
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in now.items()}
    pairs = ((name, then.get(name), plain.get(name)) for name in names)
    changed = [Change(*pair) for pair in pairs if pair[1] != pair[2]]
    # Which rows are in which fold, and which entries are hidden, follows from the others.
    return [change for change in changed if change.name not in ("folds", "known")] or changed
