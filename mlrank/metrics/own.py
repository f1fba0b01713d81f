"""Metrics of the user's own, named by their import path "package.module:function".

Such a metric is a function ``(Y, predicted) -> number``, with a third parameter `known` if it takes data with unknown
labels, all arrays of shape (n_samples, n_labels), and two attributes: ``needs``, "scores" or "sets", says what
`predicted` is, ``higher_is_better``, True or False, which value is the better one::

    def missed(Y, Y_pred):
        return (Y & ~Y_pred).sum() / Y.sum()

    missed.needs, missed.higher_is_better = "sets", False

NaN says that the metric is undefined. Results folders hold what was declared, so that they are read without the code.
"""

import inspect
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from mlrank.arrays import BoolArray
from mlrank.imported import import_object, is_path
from mlrank.metrics.base import Metric, MetricValue

__all__ = ["Metrics", "Raw", "metric_from", "own_names"]

NEEDS = ("scores", "sets")


class Raw(NamedTuple):
    """Scores or label sets as they are, and which entries of the true labels are known; None: all."""

    predicted: Any
    known: BoolArray | None


class Metrics(dict[str, Metric]):
    """The metrics by name. Those of the user's own are found by theirs once they are loaded or described.

    They are not among the keys that are gone through: nothing computes or shows them unless they are named. Every
    process has its own: what it is to compute it loads, of what it only reads the description is enough.
    """

    def __init__(self, metrics: dict[str, Metric]) -> None:
        super().__init__(metrics)
        self._own: dict[str, Metric] = {}

    def __missing__(self, name: str) -> Metric:
        return self._own[name]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._own

    def load(self, names: Iterable[str]) -> None:
        """Import the functions of the user's own metrics among some names.

        Raises
        ------
        ValueError
            If one does not declare what it must; whatever its module raises.
        """
        for name in own_names(names):
            self._own[name] = metric_from(name, import_object(name))

    def describe(self, name: str, higher_is_better: bool, needs: str) -> None:
        """Take up a metric of the user's own from what is stored of it, unless it is loaded."""
        stored = Metric(partial(_not_imported, name), higher_is_better, needs, name)  # type: ignore[arg-type]
        known = self._own.get(name)
        if known is None or (known.function.func is _not_imported):  # type: ignore[attr-defined]
            self._own[name] = stored


def own_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the import paths among names of metrics.

    >>> own_names(["f1_macro", "mine:cost"])
    ('mine:cost',)
    """
    return tuple(name for name in dict.fromkeys(names) if is_path(name))


def metric_from(name: str, found: Any) -> Metric:
    """Return the metric that a user's function is.

    Raises
    ------
    ValueError
        If it is none, or does not declare what it needs and which value is better.
    """
    if not callable(found):
        raise ValueError(f"'{name}' is no metric: a metric is a function (Y, predicted) that returns a number")
    higher, needs = getattr(found, "higher_is_better", None), getattr(found, "needs", None)
    function = name.partition(":")[2]
    if not isinstance(higher, bool):
        raise ValueError(f"'{name}' must declare {function}.higher_is_better as True or False, found {higher!r}")
    if needs not in NEEDS:
        raise ValueError(f"'{name}' must declare {function}.needs as 'scores' or 'sets', found {needs!r}")
    about = " ".join((inspect.getdoc(found) or name).split())
    takes_unknown = "known" in inspect.signature(found).parameters
    return Metric(partial(_value, name, found), higher, needs, about, takes_unknown=takes_unknown)


def _value(name: str, function: Callable[..., Any], Y: BoolArray, raw: Raw) -> MetricValue:
    """Return the value of a user's function over all entries together."""
    given: tuple[Any, ...] = (Y, raw.predicted)
    if raw.known is not None:
        if "known" not in inspect.signature(function).parameters:
            raise ValueError(f"the metric '{name}' has no parameter 'known', and some labels are unknown")
        given = (*given, raw.known)
    found = function(*given)
    try:
        value = float(found)
    except (TypeError, ValueError):
        raise ValueError(f"the metric '{name}' must return a number, found {type(found).__name__}") from None
    return MetricValue(value, int(value == value), 1, "all")


def _not_imported(name: str, Y: BoolArray, raw: Raw) -> MetricValue:
    raise ValueError(f"the code of the metric '{name}' is not imported from a results folder")
