"""What a fit is called: the key of a grid point on given rows, and which grid points give the same fits."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from mlrank.config import GridPoint, MethodConfig, SearchConfig
from mlrank.records import trial_key
from mlrank.search import Point
from mlrank.solvers import SOLVERS, Capabilities

__all__ = ["idle_settings", "point_of", "twins_of"]


def point_of(
    where: Mapping[str, Any],
    search: SearchConfig,
    method: MethodConfig,
    grid: GridPoint,
    fold: int | None,
    fraction: float = 1.0,
) -> Point:
    """Return a grid point as a fit.

    Parameters
    ----------
    where : what identifies the rows, and what is done with them whatever the method
    fold : None for the fit on the whole training part
    fraction : of the training rows of the fold
    """
    place = dict(where)
    if fold is not None:
        place |= {"fold": fold, "folds": search.folds, "stratified": search.stratified, "metric": search.metric}
    fit = place | {"solver": method.solver, "settings": grid.settings}
    if method.projection is not None:
        fit["projection"] = {"kind": method.projection} | grid.projection_settings
    bounds: dict[str, Any] = {} if search.time_limit is None else {"time_limit": search.time_limit}
    if fraction < 1.0:
        bounds["fraction"] = fraction
    threshold = {"kind": method.threshold, "scores": method.threshold_scores} | grid.threshold_settings
    seed = int(trial_key(**fit | _solved(method, grid))[:8], 16)
    key = trial_key(**fit, **bounds, threshold=threshold)
    return Point(grid.settings, grid.threshold_settings, key, seed, grid.projection_settings)


def twins_of(method: MethodConfig) -> tuple[int, ...]:
    """Return of each grid point the first one that gives the same fits: the only one of them to be fitted."""
    first: dict[str, int] = {}
    return tuple(first.setdefault(_canonical(method, point), place) for place, point in enumerate(method.grid()))


def idle_settings(method: MethodConfig) -> list[str]:
    """Return the settings that a configuration gives values to which change no fit: gamma of a linear kernel."""
    given: dict[str, set[str]] = {}
    plain: dict[str, set[str]] = {}
    for point in method.grid():
        solver = method.solver_class(**point.settings)
        plainest = _plainest(solver)
        for name in point.settings:
            value = getattr(solver, name)
            given.setdefault(name, set()).add(repr(value))
            plain.setdefault(name, set()).add(repr(getattr(plainest, name, value)))
    return [name for name, values in plain.items() if len(values) == 1 and values != given[name]]


def _canonical(method: MethodConfig, point: GridPoint) -> str:
    """Return a text that is the same for grid points whose settings differ only where they have no effect."""
    solver = _plainest(method.solver_class(**point.settings))
    return repr((solver, point.threshold_settings, point.projection_settings))


def _plainest(solver: Any) -> Any:
    """Return the solver with settings that have no effect at their defaults."""
    return solver.canonical() if Capabilities.of(solver).has_canonical else solver


def _solved(method: MethodConfig, point: GridPoint) -> dict[str, Any]:
    """Return what a point has in place of its solver and settings where it is the same as a point of another solver.

    Both then draw by the same seed, and their results agree to the last bit.
    """
    kind = type(_plainest(method.solver_class(**point.settings)))
    key = SOLVERS.key_of(kind)
    if kind is method.solver_class or key is None:
        return {}
    known = {setting.name for setting in fields(kind)}
    settings = {name: value for name, value in point.settings.items() if name in known}
    return {"solver": key, "settings": settings}
