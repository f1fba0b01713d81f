"""What a result depends on: the one list from which the keys of trials and runs, and the seeds of fits, are made.

A trial or run is made again when its key changes. Every field of a configuration changes the keys, or stands below
with the reason why it cannot change a result. Seeds are another matter: they must stay what they are, so that results
keep their bytes, and are made of what was written in the configuration alone, in the spelling that it had at first.
"""

import dataclasses
import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from mlrank import __version__

__all__ = [
    "CHANGES_NOTHING",
    "CHANGES_NO_TRIAL",
    "HASHED",
    "FitInputs",
    "FitSettings",
    "TrialPlace",
    "defaults_of",
    "drawn_seed",
    "key_of",
    "rows_hash",
    "run_key",
    "seed_of",
    "trial_key",
]

# Fields of a configuration that change no key, and why they cannot change a result.
CHANGES_NOTHING: Mapping[str, str] = {
    "name": "names the results folder",
    "metrics": "chooses what tables show; a run holds every metric, and its inputs have those of the user's own",
    "own_metrics": "says what the code of metrics declares, which is hashed",
    "methods.threshold_class": "is what the threshold's key stands for",
    "recipe": "says where the experiment comes from",
    "display_names": "says what tables call things",
    "unknown_labels": "refuses data or takes them; what a fit sees does not depend on it",
    "methods.name": "names the run; results with equal keys are equal",
    "methods.notes": "says which old names the configuration uses",
    "methods.solver_class": "is what the solver's key stands for",
}
# Those that choose data and rows: keys have the hashes of what comes of them.
HASHED: Mapping[str, str] = {
    "datasets": "the data that are read are hashed, not where they come from",
    "subset": "the data that are left are hashed",
    "split": "the rows are hashed",
}
# Those that change the key of a run alone: they decide which trials are made, and no result of one.
CHANGES_NO_TRIAL: Mapping[str, str] = {
    "search.strategy": "chooses among trials",
    "search.max_fits": "bounds the number of trials",
}


@dataclass(frozen=True)
class FitInputs:
    """What all fits of a method on a split depend on, beside their settings.

    Parameters
    ----------
    data : str
        Hash of X, Y and the mask of known labels.
    rows : str
        Hash of the rows of the split.
    folds : str or None
        Hash of the rows of the folds; None where nothing is searched.
    scale : str
    seed : int
        That of the experiment.
    missing_labels : float or None
        Share of the label entries that are hidden; `known` is then the hash of the mask.
    time_limit : float or None
        Seconds after which a fit fails.
    calibrate : str or None
        How scores are made probabilities.
    propensity : (A, B) or None
        The constants of propensity-scored metrics; None for the usual ones.
    version : str
        Of mlrank.
    defaults : mapping
        Settings that are not written and their values, after the name of their part and a dot: "solver.tol".
    sources : mapping
        Hashes of the files of a class of the user's own; see `mlrank.records.sources`.
    """

    data: str
    rows: str
    scale: str
    seed: int
    folds: str | None = None
    known: str | None = None
    missing_labels: float | None = None
    time_limit: float | None = None
    calibrate: str | None = None
    propensity: tuple[float, float] | None = None
    version: str = __version__
    defaults: Mapping[str, object] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        """A hash of all inputs."""
        return key_of(**self.by_name())

    @cached_property
    def without_threshold(self) -> "FitInputs":
        """The same inputs, but for the defaults of the threshold."""
        kept = {name: value for name, value in self.defaults.items() if not name.startswith("threshold.")}
        return dataclasses.replace(self, defaults=kept)

    @cached_property
    def drawing(self) -> dict[str, str]:
        """JSON of what the seed of a fit depends on, by name."""
        names = ["data", "rows", "scale", "seed"] + ["missing_labels"] * (self.missing_labels is not None)
        return {name: _text(getattr(self, name)) for name in names}

    def by_name(self) -> dict[str, object]:
        """Return the inputs as a run stores them; what is None is left out."""
        alone = {name: getattr(self, name) for name in _ALONE}
        return {
            **{name: value for name, value in alone.items() if value is not None},
            **{f"default.{name}": value for name, value in self.defaults.items()},
            **{f"source.{name}": value for name, value in self.sources.items()},
        }

    @classmethod
    def from_names(cls, inputs: Mapping[str, object]) -> "FitInputs":
        """Return what `by_name` gave, whatever else a run stores beside it."""
        alone: dict[str, Any] = {name: inputs[name] for name in _ALONE if name in inputs}
        sources = {name: str(value) for name, value in _below("source", inputs).items()}
        return cls(**alone, defaults=_below("default", inputs), sources=sources)


_ALONE = tuple(entry.name for entry in dataclasses.fields(FitInputs) if entry.name not in ("defaults", "sources"))


def _below(part: str, inputs: Mapping[str, object]) -> dict[str, object]:
    return {name.removeprefix(f"{part}."): value for name, value in inputs.items() if name.startswith(f"{part}.")}


@dataclass(frozen=True)
class FitSettings:
    """A grid point: solver, projection and threshold by their keys, with the settings that are written."""

    solver: str
    settings: Mapping[str, object]
    threshold: str
    threshold_scores: str
    threshold_settings: Mapping[str, object]
    projection: str | None = None
    projection_settings: Mapping[str, object] = field(default_factory=dict)

    @cached_property
    def texts(self) -> dict[str, str]:
        """JSON of each field by its name, made once for all folds."""
        return {entry.name: _text(getattr(self, entry.name)) for entry in dataclasses.fields(self)}

    @cached_property
    def drawing(self) -> dict[str, str]:
        """JSON of what the seed of a fit depends on, by its first names: all but the threshold."""
        parts: dict[str, object] = dict(zip(("solver", "settings"), self._in_first_spelling, strict=True))
        if self.projection is not None:
            parts["projection"] = {"kind": self.projection, **self.projection_settings}
        return {name: _text(part) for name, part in parts.items()}

    @cached_property
    def without_threshold(self) -> "FitSettings":
        """The same grid point with no threshold."""
        return dataclasses.replace(self, threshold="", threshold_scores="", threshold_settings={})

    @property
    def _in_first_spelling(self) -> tuple[str, Mapping[str, object]]:
        """The solver and its settings by the names that they had at first: seeds outlive names."""
        from mlrank.solvers.aliases import old_spelling  # the solvers take a second to load, which readers need not

        written = old_spelling(self.solver, self.settings)
        return written.key, written.settings


class TrialPlace(NamedTuple):
    """Where a trial belongs: a fold of so many, the search's metric, and the fraction of the training rows."""

    fold: int
    folds: int
    stratified: bool
    metric: str
    fraction: float = 1.0


def trial_key(inputs: FitInputs, point: FitSettings, place: TrialPlace | None) -> str:
    """Return the key of a grid point in a fold; with no place, that of its fit on the whole training part."""
    where = "{}" if place is None else _joined(_texts_of(*place))
    return _digest(_joined({"inputs": _text(inputs.digest), "point": _joined(point.texts), "place": where}))


def run_key(inputs: Mapping[str, object]) -> str:
    """Return the key of a run from everything that it depends on, by name."""
    return key_of(**inputs)


def seed_of(inputs: FitInputs, point: FitSettings, place: TrialPlace | None, alike: FitSettings | None = None) -> int:
    """Return the seed of a fit, whatever its threshold.

    Parameters
    ----------
    alike : FitSettings or None
        Those of another solver that gives the same model, and by whose seed it draws.
    """
    parts = inputs.drawing | (alike or point).drawing
    if place is not None:
        of_place = _texts_of(*place)
        parts |= {name: of_place[name] for name in ("fold", "folds", "stratified", "metric")}
    return int(_digest(_joined(parts))[:8], 16)


def drawn_seed(**parts: Any) -> int:
    """Return a seed below 2**32 that depends on `parts` alone."""
    return int(key_of(**parts)[:8], 16)


def defaults_of(kind: type[Any], written: Collection[str]) -> dict[str, object]:
    """Return the settings of a dataclass that are not written, with their values."""
    left = [entry for entry in dataclasses.fields(kind) if entry.init and entry.name not in written]
    return {entry.name: _default(entry) for entry in left}


def _default(entry: "dataclasses.Field[Any]") -> Any:
    if entry.default is not dataclasses.MISSING:
        value = entry.default
    elif entry.default_factory is not dataclasses.MISSING:
        value = entry.default_factory()
    else:
        value = None
    try:
        return _canonical(value)
    except ValueError:  # of no kind that a configuration could write
        return repr(value)


def rows_hash(*parts: np.ndarray[Any, Any]) -> str:
    """Return a hash of arrays of row numbers, or of masks."""
    return hashlib.blake2b(b"|".join(part.tobytes() for part in parts), digest_size=12).hexdigest()


def key_of(**parts: Any) -> str:
    """Return 24 hexadecimal digits that identify `parts`, whatever their order or that of mappings inside.

    Raises
    ------
    ValueError
        For NaN, which is not equal to itself, and for values that JSON cannot hold.

    >>> key_of(a=1, b={"x": 2.0, "y": 3}) == key_of(b={"y": 3, "x": 2.0}, a=1)
    True
    """
    return _digest(_text(parts))


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def _text(value: Any) -> str:
    return json.dumps(_canonical(value), sort_keys=True, separators=(",", ":"))


def _joined(texts: Mapping[str, str]) -> str:
    """Return the JSON of a mapping from that of its values; names are plain letters and underscores."""
    return "{" + ",".join(f'"{name}":{texts[name]}' for name in sorted(texts)) + "}"


@lru_cache(maxsize=1024, typed=True)  # 1 and 1.0 are equal, and their texts are not
def _texts_of(*place: object) -> dict[str, str]:
    return {name: _text(value) for name, value in zip(TrialPlace._fields, place, strict=True)}


def _canonical(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if value != value:
            raise ValueError("NaN cannot be part of a key")
        return value
    if isinstance(value, dict | Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ValueError(f"a key must be a string, found {key!r}")
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(item) for item in value]
    if hasattr(value, "tolist"):  # numpy scalars and arrays
        return _canonical(value.tolist())
    raise ValueError(f"{value!r} ({type(value).__name__}) cannot be part of a key")
