"""Estimators of scikit-learn's interface from their import path and settings, also those of estimators inside.

Settings of an estimator inside another have both names, as in scikit-learn: ``estimator__C``. An estimator itself is
its import path. The parts of a list are numbered: ``steps__0`` is the first step of a pipeline, ``steps__1__C`` a
setting of the second; they get the names that scikit-learn's ``make_pipeline`` gives. Every fit has one thread, and an
estimator that draws has the seed of the solver unless a configuration says otherwise.
"""

import inspect
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from typing import Any

from mlrank.errors import unknown_name
from mlrank.imported import import_object, is_path

__all__ = [
    "LEFT_OUT",
    "LISTS",
    "THREADS",
    "construct",
    "is_part",
    "parameters",
    "recorded_warnings",
    "settings_inside",
    "warned",
]

# Settings that mlrank gives itself: every fit has one thread.
THREADS = ("n_jobs", "thread_count", "nthread")
# Parameters that take a list of named estimators.
LISTS = ("steps", "estimators", "transformer_list")


class Left(Enum):
    """The value of a nested setting that is not given, which no configuration can write."""

    OUT = "left out"


LEFT_OUT = Left.OUT


@contextmanager
def recorded_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Give the list that warnings of the block go to, each as often as it is given; see `warned`."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def warned(caught: Sequence[warnings.WarningMessage]) -> tuple[bool, tuple[str, ...]]:
    """Return whether no warning says that a fit has not converged, and the warnings as notes, each once."""
    converged = not any(type(one.message).__name__ == "ConvergenceWarning" for one in caught)
    return converged, tuple(dict.fromkeys(" ".join(str(one.message).split()) for one in caught))


def is_part(value: object) -> bool:
    """Return whether a class is that of an estimator of any kind, such as one that transforms rows."""
    return isinstance(value, type) and all(
        callable(getattr(value, name, None)) for name in ("get_params", "set_params")
    )


def settings_inside(names: Iterable[str]) -> list[str]:
    """Return the names that are settings of an estimator inside another, in order."""
    return sorted({name for name in names if "__" in name and name.isidentifier()})


def parameters(kind: type[Any]) -> dict[str, Any]:
    """Return the parameters of an estimator's class with their defaults; of what has none, `inspect.Parameter.empty`.

    A class that hands some on (``**kwargs``) is asked for them by ``get_params``.
    """
    signature = inspect.signature(kind).parameters.values()
    named = {one.name: one.default for one in signature if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)}
    if any(one.kind is one.VAR_KEYWORD for one in signature):
        try:
            named = {**kind().get_params(deep=False), **named}
        except TypeError:  # it cannot be made without settings, so it cannot be asked
            return named
    return named


def construct(place: str, settings: Mapping[str, Any], seed: int, check: bool = False) -> Any:
    """Return a new estimator.

    Parameters
    ----------
    place : "package.module:ClassName"
    settings : those of the estimator and of estimators inside, by the names of this module
    seed : for each ``random_state`` inside that is None
    check : whether to let estimators check their values now, as scikit-learn's do in ``fit``

    Raises
    ------
    ValueError
        If a setting is unknown, or a value is refused.
    """
    made = _constructed(place, settings, check)
    drawn = {name: seed for name, value in made.get_params().items() if _is_seed(name) and value is None}
    return made.set_params(**drawn) if drawn else made


def _is_seed(name: str) -> bool:
    return name.rpartition("__")[2] == "random_state"


def _constructed(place: str, settings: Mapping[str, Any], check: bool) -> Any:
    kind = import_object(place)
    known = parameters(kind)
    own = {name: value for name, value in settings.items() if "__" not in name}
    inside: dict[str, dict[str, Any]] = {}
    for name, value in settings.items():
        head, _, rest = name.partition("__")
        if rest and value is not LEFT_OUT:
            inside.setdefault(head, {})[rest] = value
    for name in own:
        if name not in known:
            raise ValueError(unknown_name(f"setting of {place}", name, set(known).difference(THREADS)))
    later: dict[str, Any] = {}
    for head, its in inside.items():
        if all(name.partition("__")[0].isdigit() for name in its):
            own[head] = _listed(its, check)
        elif is_path(own.get(head)):
            own[head] = _constructed(own[head], its, check)
        else:  # a default of the estimator's own, or a part by its name
            later |= {f"{head}__{name}": value for name, value in its.items()}
    # What is a word by default stays one: XGBoost has objectives such as "binary:logistic".
    paths = {name for name, value in own.items() if is_path(value) and not isinstance(known[name], str)}
    own |= {name: _constructed(own[name], {}, check) for name in paths}
    # None is one thread in scikit-learn, which warns where it has retired the parameter, and all cores elsewhere.
    ours = kind.__module__.partition(".")[0] == "sklearn"
    own |= {name: 1 for name in THREADS if name in known and not (ours and known[name] is None)}
    made = kind(**own)
    if later:
        made.set_params(**later)
    validate = getattr(made, "_validate_params", None) if check else None
    if callable(validate):
        validate()
    return made


def _listed(its: Mapping[str, Any], check: bool) -> list[tuple[str, Any]]:
    """Return the parts of a list with their names."""
    numbers = sorted({int(name.partition("__")[0]) for name in its})
    parts = []
    for number in numbers:
        place = its.get(str(number))
        if not isinstance(place, str) or not is_path(place):
            raise ValueError(f"part {number} must be 'package.module:ClassName', found {place!r}")
        prefix = f"{number}__"
        below = {name.removeprefix(prefix): value for name, value in its.items() if name.startswith(prefix)}
        parts.append(_constructed(place, below, check))
    names = [type(part).__name__.lower() for part in parts]
    many, seen = Counter(names), Counter[str]()
    for i, name in enumerate(names):
        seen[name] += 1
        names[i] = f"{name}-{seen[name]}" if many[name] > 1 else name
    return list(zip(names, parts, strict=True))
