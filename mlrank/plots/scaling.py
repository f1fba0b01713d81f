"""Run time against the size of the data on logarithmic axes, with the exponents that were measured."""

import math
from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from mlrank.errors import UserError
from mlrank.plots.panels import Curve, Panel, PanelFigure
from mlrank.plots.runs import SIZES, by_size, done_runs, origin
from mlrank.records.run import RunRecord

__all__ = ["Exponent", "fit_exponent", "scaling_figure"]

# With fewer no exponent is printed.
FEWEST_SIZES = 4
_AXES = {"n_train": "training rows n", "n_features": "features d", "n_labels": "labels k"}
_SYMBOLS = {"n_train": "n", "n_features": "d", "n_labels": "k"}


class Exponent(NamedTuple):
    """The slope of log time over log size: value, standard error (None for two points), and the factor before it."""

    value: float
    error: float | None
    factor: float


def fit_exponent(x: Sequence[float], y: Sequence[float]) -> Exponent:
    """Return the exponent b of y = a x^b by least squares on logarithms, all numbers above 0, x at two values or more.

    >>> fit_exponent([1, 10, 100], [2, 200, 20000]).value
    2.0
    """
    u, v = np.log(np.asarray(x, float)), np.log(np.asarray(y, float))
    centred = u - u.mean()
    slope = float(centred @ v) / float(centred @ centred)
    intercept = float(v.mean() - slope * u.mean())
    error = None
    if u.size > 2:
        left = v - intercept - slope * u
        error = math.sqrt(float(left @ left) / (u.size - 2) / float(centred @ centred))
    return Exponent(round(slope, 12), error, math.exp(intercept))


def scaling_figure(records: Sequence[RunRecord]) -> PanelFigure:
    """Return the seconds of a fit against rows, features and labels, each where the other two stay the same.

    Raises
    ------
    UserError
        If none of them varies while the others stay.
    """
    done = [record for record in done_runs(records) if _seconds(record) > 0]
    panels = []
    for size, label in _AXES.items():
        curves = tuple(_curves(done, size))
        if curves:
            panels.append(Panel(f"against {label}", curves, x_label=label))
    if not panels:
        raise UserError(
            "no run time against size: in no two runs of a method do rows, features or labels differ while the other "
            "two stay; give results of experiments with different 'train', 'top_features' or 'top_labels'"
        )
    title = "Seconds of a fit, medians over the splits"
    return PanelFigure(title, tuple(panels), "", "seconds", tuple(_notes(done)), log_y=True, log_x=True)


def _seconds(record: RunRecord) -> float:
    return record.time.fit or 0.0


def _notes(done: Sequence[RunRecord]) -> Iterator[str]:
    yield f"Exponents by least squares on logarithms, with their standard errors, from {FEWEST_SIZES} sizes or more."
    machines = sorted({record.time.machine or "unknown machine" for record in done})
    if len(machines) > 1:
        yield f"Warning: times come from different machines ({'; '.join(machines)})."
    else:
        yield f"Machine: {machines[0]}, one thread for each fit."
    early = dict.fromkeys(record.method for record in done if not record.fit.converged)
    if early:
        yield f"Some fits stopped before their tolerance, so took less than they would have: {', '.join(early)}."
    yield origin(done)


def _curves(done: Sequence[RunRecord], size: str) -> Iterator[Curve]:
    """Yield the points of each method and set of other sizes with two sizes or more, and the line fitted to them."""
    for method in dict.fromkeys(record.method for record in done):
        groups = {}
        for others, group in _alike([record for record in done if record.method == method], size):
            points = {x: median(map(_seconds, found)) for x, found in by_size(group, size).items()}
            if len(points) > 1:
                groups[others] = points
        for others, points in groups.items():
            name = f"{method} ({others})" if len(groups) > 1 else method
            x, y = tuple(points), tuple(points.values())
            if len(x) < FEWEST_SIZES:  # a slope of so few says nothing of how it grows
                yield Curve(name, x, y)
                continue
            found = fit_exponent(x, y)
            yield Curve(f"{name}: {_SYMBOLS[size]}^{found.value:.2f} ± {found.error:.2f}", x, y, kind="points")
            ends = (x[0], x[-1])
            yield Curve("", ends, tuple(found.factor * end**found.value for end in ends), kind="fit")


def _alike(records: Sequence[RunRecord], size: str) -> Iterator[tuple[str, list[RunRecord]]]:
    """Yield runs whose other two sizes are the same, and what these are."""
    first, second = (other for other in SIZES if other != size)
    for one, group in by_size(records, first).items():
        for two, found in by_size(group, second).items():
            yield f"{_SYMBOLS[first]}={one:.0f}, {_SYMBOLS[second]}={two:.0f}", found
