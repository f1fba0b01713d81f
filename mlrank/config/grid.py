"""Grids: what the values of a setting stand for, and the methods that are made of settings."""

import re
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

__all__ = ["Axes", "GridPoint", "MethodConfig", "expand_range", "looks_like_range"]

Axes = tuple[tuple[str, tuple[Any, ...]], ...]

_POWER = r"([0-9]+(?:\.[0-9]+)?)\^([-+]?[0-9]{1,4})"
_RANGE = re.compile(rf"\s*{_POWER}\s*\.\.\s*{_POWER}\s*(?:by\s+([-+]?[0-9]{{1,4}})\s*)?", re.ASCII)


@dataclass(frozen=True)
class GridPoint:
    """One combination of settings of a solver, of its threshold and of the projection before it."""

    settings: dict[str, object]
    threshold_settings: dict[str, object]
    projection_settings: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class MethodConfig:
    """A solver and a threshold, with every value to try of every setting that was given.

    Parameters
    ----------
    name : str
        What tables call the method.
    solver : str
        Key of SOLVERS, or "package.module:ClassName".
    solver_class : type
    axes : tuple of (setting, tuple of values)
        In the order written; a fixed setting has one value.
    threshold : str
        Key of THRESHOLDS, or "package.module:ClassName".
    threshold_scores : "train" or "heldout"
        The scores that the threshold is fitted to.
    threshold_axes : like `axes`
    projection_class : type or None
        What the rows go through before the solver, a value of PROJECTIONS.
    projection_axes : like `axes`
    notes : tuple of str
        Which old names the configuration uses.
    threshold_class : type
    calibrate : "sigmoid", "isotonic" or None
        How scores are made probabilities.
    """

    name: str
    solver: str
    solver_class: type[Any]
    axes: Axes = ()
    threshold: str = "zero"
    threshold_scores: str = "train"
    threshold_axes: Axes = ()
    projection_class: type[Any] | None = None
    projection_axes: Axes = ()
    notes: tuple[str, ...] = field(default=(), compare=False)
    threshold_class: Any = field(default=None, compare=False)
    calibrate: str | None = None

    @property
    def projection(self) -> str | None:
        """Key of the projection; None if there is none."""
        from mlrank.solvers import PROJECTIONS

        return None if self.projection_class is None else PROJECTIONS.key_of(self.projection_class)

    @property
    def pairwise(self) -> bool:
        """Whether the solver takes rows of a kernel matrix in place of features, at some grid point at least."""
        return "precomputed" in self.kernels

    @property
    def kernels(self) -> tuple[Any, ...]:
        """The kernels of the solver over the grid; none if it has no such setting."""
        from mlrank.solvers import Capabilities

        default = Capabilities.of(self.solver_class).kernel
        return dict(self.axes).get("kernel", () if default is None else (default,))

    @property
    def all_axes(self) -> Axes:
        """The axes in the order of the grid, the slowest first: of the projection, the solver and the threshold."""
        return (*self.projection_axes, *self.axes, *self.threshold_axes)

    def grid(self) -> list[GridPoint]:
        """Return every grid point; the first of `all_axes` varies slowest."""
        parts = product(points(self.projection_axes), points(self.axes), points(self.threshold_axes))
        return [GridPoint(settings, threshold, projection) for projection, settings, threshold in parts]

    def resolved(self) -> dict[str, object]:
        """Return the YAML value that reads back as an equal method."""
        threshold = {"kind": self.threshold, "scores": self.threshold_scores, **_written(self.threshold_axes)}
        before = {"project": {"kind": self.projection, **_written(self.projection_axes)}} if self.projection else {}
        calibrate = {} if self.calibrate is None else {"calibrate": self.calibrate}
        return {"solver": self.solver, **_written(self.axes), **before, **calibrate, "threshold": threshold}


def points(axes: Axes) -> list[dict[str, object]]:
    """Return the combinations of the axes' values, first axis slowest.

    >>> points((("C", (1, 2)), ("nu", (0, 8))))
    [{'C': 1, 'nu': 0}, {'C': 1, 'nu': 8}, {'C': 2, 'nu': 0}, {'C': 2, 'nu': 8}]
    """
    names = [name for name, _ in axes]
    return [dict(zip(names, values, strict=True)) for values in product(*(values for _, values in axes))]


def n_points(*axes: Axes) -> int:
    """Return the number of combinations without forming them."""
    return prod(len(values) for part in axes for _, values in part)


def looks_like_range(text: str) -> bool:
    """Whether a text means a range of powers, well formed or not.

    >>> [looks_like_range(text) for text in ("2^-6..2^13", "2^a..2^b", "linear")]
    [True, True, False]
    """
    return "^" in text


def expand_range(text: str) -> tuple[int | float, ...]:
    """Return the powers that a range stands for, each rounded once from its exact value.

    >>> expand_range("2^-1..2^2"), expand_range("10^0..10^4 by 2")
    ((0.5, 1.0, 2.0, 4.0), (1, 100, 10000))

    Raises
    ------
    ValueError
        If it is no range, or an empty or unreachable one.
    """
    match = _RANGE.fullmatch(text)
    if match is None:
        raise ValueError(f"not a range: found {text[:60]!r}; ranges look like '2^-6..2^13' or '10^-3..10^3 by 2'")
    base, low, last_base, high, step = match.groups()
    first, last, by = int(low), int(high), int(step or 1)
    if base != last_base:
        raise ValueError(f"a range has one base, found {base} and {last_base}")
    if Fraction(base) <= 0 or Fraction(base) == 1:
        raise ValueError(f"the base of a range must be above 0 and not 1, found {base}")
    if by < 1:
        raise ValueError(f"the step of a range must be 1 or more, found {by}")
    if first > last:
        raise ValueError(f"the range runs downwards; write '{base}^{last}..{base}^{first}'")
    if (last - first) % by:
        reached = last - (last - first) % by
        raise ValueError(
            f"steps of {by} from {base}^{first} miss {base}^{last}; the last they reach is {base}^{reached}"
        )
    return _powers(base, range(first, last + 1, by))


def _powers(base: str, exponents: range) -> tuple[int | float, ...]:
    exact = [Fraction(base) ** exponent for exponent in exponents]
    try:
        rounded = [float(power) for power in exact]
    except OverflowError:
        rounded = [0.0]
    if 0.0 in rounded:
        raise ValueError(f"a power of {base} in this range is too large or too small for a float")
    if all(power.denominator == 1 and power < 2**63 for power in exact):
        return tuple(int(power) for power in exact)
    return tuple(rounded)


def _written(axes: Axes) -> dict[str, object]:
    return {name: values[0] if len(values) == 1 else list(values) for name, values in axes}
