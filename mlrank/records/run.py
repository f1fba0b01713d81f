"""What is stored of runs and of the trials of their searches, as typed records.

A run is one method on one split: its search, and the fit of the settings that the search chose. A trial is one grid
point on one fold. Both are stored as JSON; `from_json` checks every field.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from mlrank.metrics import MetricValue
from mlrank.solvers import FitInfo

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = [
    "FORMAT",
    "ComponentInfo",
    "DataInfo",
    "FitRecord",
    "MetricRecord",
    "ModelInfo",
    "RunRecord",
    "SearchInfo",
    "SearchTrial",
    "SetsInfo",
    "SoftwareInfo",
    "ThresholdInfo",
    "TimeInfo",
    "TrialRecord",
    "run_label",
]

FORMAT = 2
"""The one version of everything in a results folder; a folder of another version is refused in one line."""


@dataclass(frozen=True)
class DataInfo:
    """The data set of a run, after the subset was taken.

    `hash` is that of X, Y and the names; `changes` says what was changed on the way to the solver; `stand_in` whether
    features were generated in place of data that cannot be had.
    """

    name: str
    source: str
    hash: str
    n_samples: int
    n_train: int
    n_test: int
    n_features: int
    n_labels: int
    cardinality: float
    stand_in: bool = False
    changes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ComponentInfo:
    """A solver or projection by its key, with every setting."""

    kind: str
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class ThresholdInfo:
    """A threshold: its key, the scores that it was fitted to, its settings, and whether it looks at test labels."""

    kind: str
    scores: str = "train"
    settings: Mapping[str, object] = field(default_factory=dict)
    oracle: bool = False


@dataclass(frozen=True)
class SetsInfo:
    """What the threshold made of the test rows.

    Parameters
    ----------
    n_rows, n_labels : int
    n_filled, n_shortened : int
        Rows that its bounds gave more labels, and fewer.
    n_always : int
        Labels predicted on every row, though some row is known not to have them.
    n_never : int
        Labels predicted on no row, though some row has them.
    natural_cut : float or None
        The value of a natural cut.
    """

    n_rows: int
    n_labels: int
    n_filled: int = 0
    n_shortened: int = 0
    n_always: int = 0
    n_never: int = 0
    natural_cut: float | None = None


@dataclass(frozen=True)
class SearchInfo:
    """The search of a run.

    `n_undefined` is the number of trials in which the metric was undefined, for some term at least, because of what was
    predicted; such terms count as the worst value. `best` is the value of the point chosen, None without a search.
    """

    metric: str
    strategy: str = "grid"
    folds: int = 0
    n_trials: int = 0
    n_failed: int = 0
    n_not_converged: int = 0
    n_undefined: int = 0
    best: float | None = None


@dataclass(frozen=True)
class TimeInfo:
    """Seconds of the parts of a run or trial, peak memory in bytes, and the machine; None where not measured.

    `blocks` is how many blocks several workers shared the fit as, None for a whole one: `fit` is the sum of their
    seconds in whatever worker, and `peak_memory` that of the worker with the largest.
    """

    search: float | None = None
    fit: float | None = None
    threshold: float | None = None
    predict: float | None = None
    peak_memory: int | None = None
    machine: str | None = None
    blocks: int | None = None


@dataclass(frozen=True)
class FitRecord:
    """What a fit says of itself; see `mlrank.solvers.FitInfo`. None stands for NaN.

    `certificate` is what `optimality` is: "gap", "residual" or "backward error"; None for nothing, or not known.
    """

    n_iter: int
    objective: float | None
    optimality: float | None
    converged: bool
    notes: tuple[str, ...] = ()
    certificate: str | None = None

    @classmethod
    def of(cls, info: FitInfo, certificate: str | None = None) -> "FitRecord":
        """Return the record of a model's info."""
        objective, optimality = _number(float(info.objective)), _number(float(info.optimality))
        notes = tuple(map(str, info.notes))
        return cls(int(info.n_iter), objective, optimality, bool(info.converged), notes, certificate)


@dataclass(frozen=True)
class MetricRecord:
    """A value of a metric, None where undefined, and over how many terms of how many; see `MetricValue`."""

    value: float | None
    n_defined: int
    n_total: int
    unit: str

    @classmethod
    def of(cls, measured: MetricValue) -> "MetricRecord":
        """Return the record of a measured value."""
        return cls(_number(float(measured.value)), measured.n_defined, measured.n_total, measured.unit)


@dataclass(frozen=True)
class ModelInfo:
    """Whether the model was stored: `not_stored` is the reason why not."""

    not_stored: str | None = None


@dataclass(frozen=True)
class SoftwareInfo:
    """What a run was made with: versions, the BLAS libraries, threads of a fit, the commit of a checkout.

    `packages` are versions by the name of the distribution.
    """

    mlrank: str
    python: str
    packages: Mapping[str, str] = field(default_factory=dict)
    blas: tuple[str, ...] = ()
    threads: int = 1
    commit: str | None = None


@dataclass(frozen=True)
class RunRecord:
    """One method on one split of one data set.

    Parameters
    ----------
    experiment, split, method : str
        Names of the configuration and of the split.
    dataset : DataInfo
    solver : str
        Key of SOLVERS, or "package.module:ClassName".
    settings : mapping
        Every setting of the solver as it was constructed.
    searched : mapping
        The settings that the search chose among several values; those of projection and threshold after
        "project." and "threshold.".
    status : "done" or "failed"
    error : str or None
        The traceback of a failed run.
    info : FitRecord or None
    metrics : mapping of name to MetricRecord
    sets : SetsInfo or None
        None also for a record of an older version.
    calibration : str or None
        How scores were made probabilities: "sigmoid" or "isotonic".
    n_best : int or None
        How many of the best scores of a row are stored and judged, where there are very many labels; None: all scores.
    key : str
        Identifies everything that the run depends on, which `inputs` has by name; see `mlrank.records.identity`.
    """

    experiment: str
    dataset: DataInfo
    split: str
    method: str
    solver: str
    settings: Mapping[str, object]
    threshold: ThresholdInfo
    search: SearchInfo
    software: SoftwareInfo
    key: str
    inputs: Mapping[str, object]
    status: Literal["done", "failed"]
    searched: Mapping[str, object] = field(default_factory=dict)
    projection: ComponentInfo | None = None
    transductive: bool = False
    error: str | None = None
    info: FitRecord | None = None
    metrics: Mapping[str, MetricRecord] = field(default_factory=dict)
    time: TimeInfo = TimeInfo()
    model: ModelInfo | None = None
    sets: SetsInfo | None = None
    calibration: str | None = None
    n_best: int | None = None

    @property
    def names(self) -> tuple[str, str, str]:
        """The data set, the split and the method, which no other run of the experiment shares."""
        return self.dataset.name, self.split, self.method

    @property
    def rows(self) -> str | None:
        """A hash of the rows that were trained and tested on; None where the inputs have none."""
        rows = self.inputs.get("rows")
        return None if rows is None else str(rows)

    @property
    def label(self) -> str:
        """What messages call the run."""
        return run_label(*self.names)

    @property
    def done(self) -> bool:
        """Whether the run has a model and metrics."""
        return self.status == "done"

    @property
    def n_failed(self) -> int:
        """How many fits failed, of the search and of what it chose."""
        return self.search.n_failed + (not self.done)

    @property
    def reason(self) -> str:
        """The last line of the error of a failed run."""
        return _last_line(self.error)

    @property
    def fit(self) -> FitRecord:
        """What the fit says of itself.

        Raises
        ------
        ValueError
            If the run failed, and so has none.
        """
        if self.info is None:
            raise ValueError(f"the run {self.label} failed")
        return self.info

    def value(self, metric: str) -> float | None:
        """Return the value of a metric; None where it is undefined, or was not computed."""
        measured = self.metrics.get(metric)
        return None if measured is None else measured.value

    def to_json(self) -> dict[str, object]:
        """Return the record as JSON values."""
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, values: Mapping[str, object]) -> "RunRecord":
        """Return the record that JSON values hold.

        Raises
        ------
        ValueError
            If a field is missing, unknown or of another type; the message names the first.
        """
        return _checked(cls, values)


@dataclass(frozen=True)
class TrialRecord:
    """One grid point on one fold: the value of the search's metric, or the error.

    `value` is None where the metric is undefined whatever is predicted. `n_undefined` is the number of its terms that
    this fit's predictions left undefined; they count as the worst value.
    """

    key: str
    value: float | None = None
    error: str | None = None
    converged: bool | None = None
    optimality: float | None = None
    n_iter: int | None = None
    n_undefined: int = 0
    time: TimeInfo = TimeInfo()

    @property
    def reason(self) -> str:
        """The last line of the error of a failed trial."""
        return _last_line(self.error)

    @property
    def seconds(self) -> float:
        """Seconds of the fit and of its threshold."""
        return (self.time.fit or 0.0) + (self.time.threshold or 0.0)

    def to_json(self) -> dict[str, object]:
        """Return the record as JSON values."""
        time = {"fit": self.time.fit, "threshold": self.time.threshold}
        return {entry: getattr(self, entry) for entry in _TRIAL_FIELDS} | {"time": time}

    @classmethod
    def from_json(cls, values: Mapping[str, object]) -> "TrialRecord":
        """Return the record that JSON values hold; see `RunRecord.from_json`."""
        return _checked(cls, values)


_TRIAL_FIELDS = tuple(entry.name for entry in fields(TrialRecord) if entry.name != "time")


@dataclass(frozen=True)
class SearchTrial:
    """A trial with what it stands for.

    `settings` are those that were searched, of projection and threshold after "project." and "threshold."; `metric` is
    that of the search.
    """

    dataset: str
    split: str
    method: str
    fold: int
    settings: Mapping[str, object]
    metric: str
    record: TrialRecord


def run_label(dataset: str, split: str, method: str) -> str:
    """Return what messages call a run.

    >>> run_label("scene", "r0f1", "Rank-SVM")
    'scene / r0f1 / Rank-SVM'
    """
    return f"{dataset} / {split} / {method}"


def _last_line(error: str | None) -> str:
    """Return the last line of a traceback, the class of the error without its modules.

    >>> _last_line("Traceback:\\nmine.limits.TooLong: the fit took longer"), _last_line("a.b: c"), _last_line(None)
    ('TooLong: the fit took longer', 'a.b: c', 'no message')
    """
    last = ((error or "").strip().splitlines() or ["no message"])[-1].strip()
    return re.sub(r"^(?:\w+\.)+(?=[A-Z]\w*: )", "", last)


def _number(value: float) -> float | None:
    return value if value - value == 0 else None


_Stored = TypeVar("_Stored", RunRecord, TrialRecord)


@cache
def _adapter(name: str) -> "TypeAdapter[Any]":
    # Workers make records and read none: pydantic alone takes longer to load than many a fit.
    from pydantic import TypeAdapter

    return TypeAdapter(globals()[name])


def _checked(kind: type[_Stored], values: Mapping[str, object]) -> _Stored:
    from pydantic import ValidationError

    known = {entry.name for entry in fields(kind)}
    extra = next((name for name in values if name not in known and name != "format"), None)
    if extra is not None:
        raise ValueError(f"unknown field '{extra}'")
    try:
        checked: _Stored = _adapter(kind.__name__).validate_python(
            {name: values[name] for name in values if name in known}
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    return checked
