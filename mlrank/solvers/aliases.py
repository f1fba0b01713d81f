"""Old names of solvers, settings and values: what a configuration may still say, and what it means.

Earlier versions had several names for one thing. Configurations are read in the old spelling as well; solvers know the
new names alone. Seeds of random fits are derived from the old spelling, so that they stay what they were.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

__all__ = ["Spelling", "new_key", "new_spelling", "old_spelling"]

V = TypeVar("V")


@dataclass(frozen=True)
class _Renamed:
    """What was renamed of one solver.

    Parameters
    ----------
    settings : mapping
        Old names of settings to new ones.
    values : mapping
        Of a setting, by its new name: old values to new ones.
    """

    settings: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


_KEYS = {"miml": "bayes_cs"}
_GRAPH_CODING = {"binary": "zero_one", "signed": "signs"}
_RENAMED = {
    "slrm": _Renamed({"sigma": "width"}, {"coding": {"01": "zero_one"}, "width": {"self-tuning": "self_tuning"}}),
    "bknn": _Renamed({"b": "n_neighbors", "sigma": "width", "sigma_power": "width_power"}),
    "smse": _Renamed(values={"coding": _GRAPH_CODING}),
    "mcgf": _Renamed(values={"coding": _GRAPH_CODING}),
    "ml_loc": _Renamed({"label_coding": "coding"}),
    "cplst": _Renamed(values={"hat_bias": {"centre": "center"}}),
    "faie": _Renamed(values={"hat_bias": {"centre": "center"}}),
    "hypergraph_spectral": _Renamed(values={"bias": {"centred": "centered"}}),
}


class Spelling(NamedTuple):
    """A solver with settings, in one spelling.

    Parameters
    ----------
    key : str
    settings : dict
    notes : tuple of str
        What was renamed, a line each.
    """

    key: str
    settings: dict[str, object]
    notes: tuple[str, ...] = ()


def new_key(key: str) -> str:
    """Return the key of a solver that is given by its key, old or new, or by an import path.

    >>> new_key("miml"), new_key("slrm"), new_key("mine:Solver")
    ('bayes_cs', 'slrm', 'mine:Solver')
    """
    return _KEYS.get(key, key)


def new_spelling(key: str, settings: Mapping[str, object]) -> Spelling:
    """Return a solver and its settings by their new names; a list of values is a grid.

    Raises
    ------
    ValueError
        If a setting is given by its old and by its new name.

    Examples
    --------
    >>> new_spelling("bknn", {"b": [5, 10]})
    Spelling(key='bknn', settings={'n_neighbors': [5, 10]}, notes=("bknn: 'b' is now called 'n_neighbors'",))
    """
    new, notes = new_key(key), []
    if new != key:
        notes.append(f"the solver {key!r} is now called {new!r}")
    renamed = _RENAMED.get(new, _Renamed())
    written: dict[str, object] = {}
    for name, value in settings.items():
        now = renamed.settings.get(name, name)
        if now != name:
            if now in settings:
                raise ValueError(f"{name!r} is the old name of {now!r}: give one of them")
            notes.append(f"{new}: {name!r} is now called {now!r}")
        values = renamed.values.get(now, {})
        written[now], old = _translated(value, values)
        notes += [f"{new}: {now} {one!r} is now called {values[one]!r}" for one in old]
    return Spelling(new, written, tuple(notes))


def old_spelling(key: str, settings: Mapping[str, object]) -> Spelling:
    """Return a solver and its settings by their old names, from which seeds are derived.

    >>> old_spelling("ml_loc", {"coding": "signs", "n_groups": 5})
    Spelling(key='ml_loc', settings={'label_coding': 'signs', 'n_groups': 5}, notes=())
    """
    renamed = _RENAMED.get(key, _Renamed())
    names = {new: old for old, new in renamed.settings.items()}
    written: dict[str, object] = {}
    for name, value in settings.items():
        back = {new: old for old, new in renamed.values.get(name, {}).items()}
        written[names.get(name, name)] = _translated(value, back)[0]
    return Spelling({new: old for old, new in _KEYS.items()}.get(key, key), written)


def _translated(value: object, values: Mapping[str, str]) -> tuple[object, tuple[str, ...]]:
    """Return a value, or a grid of them, by other names, and the names that were replaced."""
    if isinstance(value, (list, tuple)):
        found = tuple(one for one in value if isinstance(one, str) and one in values)
        new = [values.get(one, one) if isinstance(one, str) else one for one in value]
        return (new if isinstance(value, list) else tuple(new)), found
    if isinstance(value, str) and value in values:
        return values[value], (value,)
    return value, ()
