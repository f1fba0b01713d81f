"""What a running experiment reports."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

from mlrank.records import RunRecord, TrialRecord, run_label

__all__ = ["BestEvent", "Event", "MissingFits", "Notify", "PlanEvent", "RunEvent", "RunName", "TrialEvent", "log_line"]


class RunName(NamedTuple):
    """What no other run of an experiment shares."""

    dataset: str
    split: str
    method: str

    @property
    def label(self) -> str:
        """What messages call the run."""
        return run_label(*self)


@dataclass(frozen=True)
class MissingFits:
    """How many fits of a run are still to be made, the last on the whole training part, and what they take.

    `work` holds the operations of a fit of the search and of the last one, by the cost model of the solver: what
    fits take compares as these do. Where nothing is known of them, all are 1.
    """

    run: RunName
    fits: int
    work: tuple[float, float] = (1.0, 1.0)


@dataclass(frozen=True)
class PlanEvent:
    """What is to be done, known before the first fit.

    Parameters
    ----------
    total, done : int
        Number of fits.
    missing : those of each run that is not done
    jobs, jobs_requested : int or None
        Workers that fit into memory, and that were asked for; None where they are not of this machine.
    idle : mapping of method to names of settings
        Settings that a configuration gives values to which change nothing.
    notes : tuple of str
        Old names that the configuration uses.
    """

    total: int
    done: int
    missing: tuple[MissingFits, ...] = ()
    jobs: int | None = None
    jobs_requested: int | None = None
    idle: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrialEvent:
    """A fit of a search, with the settings of its solver."""

    run: RunName
    record: TrialRecord
    settings: Mapping[str, object]


@dataclass(frozen=True)
class BestEvent:
    """A grid point whose mean over the folds is better than those before."""

    run: RunName
    metric: str
    value: float
    settings: Mapping[str, object]


@dataclass(frozen=True)
class RunEvent:
    """A run that was stored."""

    run: RunName
    record: RunRecord


Event = PlanEvent | TrialEvent | BestEvent | RunEvent
Notify = Callable[[Event], None]


def log_line(event: Event) -> dict[str, object]:
    """Return an event as JSON values, without what the results folder has anyway."""
    match event:
        case PlanEvent():
            missing = [{**entry.run._asdict(), "fits": entry.fits} for entry in event.missing]
            return {"kind": "plan", **asdict(event), "missing": missing}
        case TrialEvent():
            record: dict[str, object] = event.record.to_json()
            kept: tuple[str, ...] = ("key", "value", "error", "time")
            more = {"kind": "trial", "settings": event.settings}
        case BestEvent():
            shown = {"metric": event.metric, "value": event.value, "settings": event.settings}
            return {"kind": "best", **event.run._asdict(), **shown}
        case RunEvent():
            record = event.record.to_json()
            kept, more = ("key", "error", "status", "time", "metrics"), {"kind": "run"}
    return {**more, **event.run._asdict(), "record": {name: record[name] for name in kept}}
