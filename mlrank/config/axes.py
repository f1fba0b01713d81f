"""The values to try of each setting of a class, checked against its fields and by constructing it."""

import dataclasses
import types
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from mlrank.config.findings import Findings
from mlrank.config.grid import Axes, expand_range, looks_like_range, points
from mlrank.config.names import show
from mlrank.errors import UserError, unknown_name

__all__ = ["Where", "check_points", "read_axes"]

MAX_SUSPECTS = 8

Where = tuple[str | int, ...]
Placed = tuple[Any, Where]


def read_axes(
    cls: type[Any] | None,
    what: str,
    given: dict[str, object],
    beside: tuple[str, ...],
    where: Where,
    findings: Findings,
    places: Mapping[str, Where] | None = None,
) -> Axes:
    """Return the axes of the settings `given` to `cls`; `beside` are the other keys that may stand there.

    `places` are those of settings that do not stand under their own names at `where`.
    """
    if cls is None:
        return ()
    at = {key: (places or {}).get(key, (*where, key)) for key in given}
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init}
    hints = _hints(cls)
    axes: dict[str, list[Placed]] = {}
    for key, value in given.items():
        if key in fields:
            axes[key] = list(_values(key, value, hints.get(key, Any), at[key], findings))
        else:
            findings(unknown_name(f"setting of {what}", key, [*fields, *beside]), *at[key], key=True)
    absent = [name for name, field in fields.items() if name not in given and _has_no_default(field)]
    for name in absent:
        findings(f"{what} needs a value for '{name}'", *where)
    if not absent:
        needed = {name for name, field in fields.items() if _has_no_default(field)}
        _check_values(cls, {key: values for key, values in axes.items() if values}, needed, findings)
    return tuple((key, tuple(value for value, _ in values)) for key, values in axes.items())


def _has_no_default(field: "dataclasses.Field[Any]") -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _hints(cls: type[Any]) -> dict[str, object]:
    try:
        return get_type_hints(cls)
    except NameError:  # a solver of the user's, annotated with names that only a type checker sees
        return {}


def _values(key: str, value: Any, hint: Any, where: Where, findings: Findings) -> Iterator[Placed]:
    """Yield the values of one axis that are of the type that `hint` wants."""
    if isinstance(value, list) and not value:
        findings(f"the grid of '{key}' is empty; give one value or more", *where)
    items = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
    if isinstance(value, str) and looks_like_range(value) and _fits(1, hint):
        try:
            items = [(None, power) for power in expand_range(value)]
        except ValueError as error:
            findings(str(error), *where)
            return
    seen: set[tuple[bool, str]] = set()
    for i, item in items:
        place = where if i is None else (*where, i)
        if not _fits(item, hint) or isinstance(item, (list, dict)):
            findings(f"{key} must be {_words(hint)}, found {show(item)}{_advice(item)}", *place)
            continue
        item = float(item) if type(item) is int and not _fits(item, hint, exactly=True) else item
        identity = (isinstance(item, bool), repr(item + 0.0 if type(item) in (int, float) else item))
        if identity in seen:
            findings(f"the value {show(item)} of '{key}' is listed twice", *place)
        else:
            seen.add(identity)
            yield item, place


def _advice(item: Any) -> str:
    if isinstance(item, str) and looks_like_range(item):
        return "; a range stands by itself, not in a list"
    if isinstance(item, float) and item.is_integer():
        return f"; write {int(item)}"
    return ""


def _options(hint: Any) -> list[Any]:
    """Return the alternatives of a type: its union members, with literals as values in a tuple."""
    if get_origin(hint) in (Union, types.UnionType):
        return [option for member in get_args(hint) for option in _options(member)]
    return [get_args(hint)] if get_origin(hint) is Literal else [hint]


def _fits(value: Any, hint: Any, exactly: bool = False) -> bool:
    """Return whether a value is of the type `hint`; unless `exactly`, a whole number may stand for any number."""
    for option in _options(hint):
        if isinstance(option, tuple):
            fits = any(type(value) is type(known) and value == known for known in option)
        elif option in (None, type(None), bool, int, str):
            fits = type(value) is (type(None) if option is None else option)
        elif option is float:
            fits = type(value) in ((float,) if exactly else (int, float))
        else:
            fits = not isinstance(value, (list, dict))
        if fits:
            return True
    return False


def _words(hint: Any) -> str:
    plain = {float: "a number", int: "a whole number", bool: "true or false", str: "a word", type(None): "null"}
    words: list[str] = []
    for option in _options(hint):
        words += [show(known) for known in option] if isinstance(option, tuple) else [plain.get(option, "one value")]
    return " or ".join(words)


def _failure(cls: type[Any], settings: dict[str, object]) -> str | None:
    try:
        cls(**settings)
    except Exception as error:  # a solver of the user's may refuse its settings in any way
        message = str(error) if isinstance(error, (ValueError, UserError)) else f"{type(error).__name__}: {error}"
        return " ".join(message.split()) or type(error).__name__
    return None


def _check_values(cls: type[Any], axes: dict[str, list[Placed]], needed: set[str], findings: Findings) -> None:
    """Construct `cls` for every value of every axis, and report the values that it refuses.

    A value that `cls` refuses by itself may only want another setting beside it. So it is to blame if `cls` still
    refuses it beside the first values of the other axes, whichever of the suspicious ones among them are left out.
    A setting of an estimator inside, ``estimator__C``, goes with that estimator.
    """
    first = {key: values[0][0] for key, values in axes.items()}

    def needs(key: str) -> dict[str, object]:
        return {name: value for name, value in first.items() if name in needed or key.startswith(f"{name}__")}

    suspects = [key for key in first if _failure(cls, needs(key) | {key: first[key]})][:MAX_SUSPECTS]
    for key, values in axes.items():
        others = [other for other in suspects if other not in (key, *needs(key))]
        for value, place in values:
            alone = _failure(cls, needs(key) | {key: value})
            if alone is not None and all(
                _failure(cls, {k: v for k, v in first.items() if k not in left_out} | {key: value}) is not None
                for size in range(len(others) + 1)
                for left_out in combinations(others, size)
            ):
                findings(alone, *place)


def check_points(cls: type[Any] | None, axes: Axes, where: Where, findings: Findings) -> None:
    """Report the first combination of values that `cls` refuses though it takes each value."""
    if cls is None:
        return
    for point in points(axes):
        refused = _failure(cls, point)
        if refused is not None:
            combination = ", ".join(f"{key}={show(value)}" for key, value in point.items())
            findings(f"these settings do not go together: {combination}: {refused}", *where, key=True)
            return
