"""Grid points as fits: their keys and seeds, and which of them give the same fits."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, NamedTuple

from mlrank.config import GridPoint, MethodConfig
from mlrank.imported import is_path
from mlrank.metrics import METRICS
from mlrank.records.identity import FitInputs, FitSettings, TrialPlace, defaults_of, seed_of, trial_key
from mlrank.records.sources import source_hashes
from mlrank.search import Point
from mlrank.solvers import SOLVERS, Capabilities

__all__ = ["GridFit", "equivalent_points", "idle_settings", "method_inputs"]


def method_inputs(method: MethodConfig) -> tuple[dict[str, object], dict[str, str]]:
    """Return what the fits of a method depend on beside what is written: defaults and sources; see FitInputs."""
    own = ":" in method.solver
    parts: dict[str, tuple[type[Any], Any]] = {}
    if ":" not in method.threshold:
        parts["threshold"] = (method.threshold_class, method.threshold_axes)
    if not own:  # the defaults of a class of the user's own stand in its source
        parts["solver"] = (method.solver_class, method.axes)
    if method.projection_class is not None:
        parts["projection"] = (method.projection_class, method.projection_axes)
    defaults = {
        f"{part}.{name}": value
        for part, (kind, axes) in parts.items()
        for name, value in defaults_of(kind, dict(axes)).items()
    }
    return defaults, _sources(method)


def _sources(method: MethodConfig) -> dict[str, str]:
    """Return the hashes of the code that a method names: of its solver, estimators inside, and its threshold."""
    places = [place for place in (method.solver, method.threshold) if ":" in place]
    # A class that stands for one of a results folder does not say whether it takes estimators.
    if ":" in method.solver or getattr(method.solver_class, "TAKES_ESTIMATORS", False):
        given = dict(method.axes)
        default = getattr(method.solver_class, "estimator", None)
        values = [value for values in given.values() for value in values] + [default] * ("estimator" not in given)
        places += [value for value in values if is_path(value)]
    return {name: value for place in places for name, value in source_hashes(place).items()}


class GridFit(NamedTuple):
    """A grid point as what keys and seeds are made of, the same for all folds.

    Parameters
    ----------
    grid : GridPoint
    settings : FitSettings
    alike : FitSettings or None
        Another solver that gives the same model: both draw by one seed, and agree to the last bit.
    uncut : bool
        Whether trials depend on no threshold; methods that differ in it alone then share them.
    """

    grid: GridPoint
    settings: FitSettings
    alike: FitSettings | None
    uncut: bool

    @classmethod
    def of(cls, method: MethodConfig, grid: GridPoint, metric: str) -> "GridFit":
        """Return a grid point of a method whose search compares `metric`."""
        settings = FitSettings(
            method.solver,
            grid.settings,
            method.threshold,
            method.threshold_scores,
            grid.threshold_settings,
            method.projection,
            grid.projection_settings,
        )
        same = _same_model(method, grid)
        alike = None if same is None else replace(settings, solver=same[0], settings=same[1])
        return cls(grid, settings, alike, _is_uncut(method, metric))

    def point(self, inputs: FitInputs, place: TrialPlace | None) -> Point:
        """Return the fit in a fold; with no place, the one on the whole training part."""
        seed = seed_of(inputs, self.settings, place, self.alike)
        settings = self.settings
        if self.uncut and place is not None:
            inputs, settings = inputs.without_threshold, settings.without_threshold
        key = trial_key(inputs, settings, place)
        return Point(self.grid.settings, self.grid.threshold_settings, key, seed, self.grid.projection_settings)


def _is_uncut(method: MethodConfig, metric: str) -> bool:
    """Return whether trials depend on no threshold: scores alone are compared, and no threshold is searched."""
    needs_cut = METRICS[metric].needs == "sets" or method.calibrate is not None
    searched = any(len(values) > 1 for _, values in method.threshold_axes)
    # The files of a threshold of the user's own are hashed together with the solver's.
    return not (needs_cut or searched or is_path(method.threshold))


def equivalent_points(method: MethodConfig) -> tuple[int, ...]:
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


def _same_model(method: MethodConfig, point: GridPoint) -> tuple[str, Mapping[str, object]] | None:
    """Return the other solver and its settings that give the same model as a point; None where there is none."""
    kind = type(_plainest(method.solver_class(**point.settings)))
    key = SOLVERS.key_of(kind)
    if kind is method.solver_class or key is None:
        return None
    known = {setting.name for setting in fields(kind)}
    return key, {name: value for name, value in point.settings.items() if name in known}
