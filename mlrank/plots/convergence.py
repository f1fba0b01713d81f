"""How a certificate and an objective fall with iterations and time, from fits that were stopped at different limits."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from mlrank.errors import UserError
from mlrank.plots.panels import Curve, Panel, PanelFigure
from mlrank.plots.runs import origin
from mlrank.records.run import FitRecord, RunRecord, SearchTrial, TrialRecord

__all__ = ["convergence_figure"]

# The settings that say when a fit stops.
LIMITS = ("max_iter", "tol")
# Names and values of settings.
Settings = tuple[tuple[str, str], ...]


class _FitPoint(NamedTuple):
    """One fit of a curve: which settings it shares with the others, its limits, and how far it came."""

    curve: str
    others: Settings
    limit: Settings
    n_iter: int | None
    seconds: float | None
    optimality: float | None
    objective: float | None


def convergence_figure(trials: Sequence[SearchTrial], records: Sequence[RunRecord]) -> PanelFigure:
    """Return the certificate, and the objective of runs, against iterations and seconds.

    Each point is the median over the fits that have the same limits, and says what it takes to reach its certificate:
    a fit that took longer than one that came further is no point. A curve needs fits at two limits.

    Parameters
    ----------
    trials : as `mlrank.experiment.stored_trials` returns them
    records : runs; of several experiments that differ in a limit, or of one

    Raises
    ------
    UserError
        If no method was fitted with two limits.
    """
    done = [record for record in records if record.done]
    fits = [*_of_trials(trials, done), *_of_runs(done)]
    panels = []
    for name, x_label in (("n_iter", "iterations"), ("seconds", "seconds")):
        for value, y_label in (("optimality", "certificate"), ("objective", "objective")):
            curves = tuple(_curves(fits, name, value))
            if curves:
                log = value == "optimality"
                panels.append(Panel(f"{y_label} against {x_label}", curves, (), x_label, y_label, True, log_y=log))
    if not panels:
        raise UserError(
            "no convergence to draw: no method was fitted with two limits; "
            "give 'tol' or 'max_iter' as a list in the configuration, or results of experiments that differ in them"
        )
    notes = [
        "A point is what it takes to reach its certificate, by fits of their own, stopped at other limits (tol or "
        "max_iter); medians over folds and splits. Compiling is not counted.",
        "The unit of an iteration is the solver's own, so curves of different solvers are compared by seconds.",
    ]
    zeros = sum(fit.optimality == 0 for fit in fits)
    if zeros:
        notes.append(f"{zeros} fits with a certificate of exactly 0 have no place on a logarithmic axis.")
    notes.append(origin(done))
    return PanelFigure("Convergence", tuple(panels), "", "", tuple(notes), same_y=False)


def _of_trials(trials: Sequence[SearchTrial], done: Sequence[RunRecord]) -> Iterator[_FitPoint]:
    """Yield the fits of searches over a limit, the other settings as they were chosen most often."""
    for method in dict.fromkeys(trial.method for trial in trials):
        searched = [record.searched for record in done if record.method == method and record.searched]
        others = [_others(settings) for settings in searched if set(LIMITS) & set(settings)]
        if not others:
            continue
        common = Counter(others).most_common(1)[0][0]
        for trial in trials:
            if trial.method == method and not trial.record.error and _others(trial.settings) == common:
                seconds = trial.record.time.fit
                yield _point(f"{method} on {trial.dataset} (folds)", trial.settings, trial.record, seconds, None)


def _of_runs(done: Sequence[RunRecord]) -> Iterator[_FitPoint]:
    for record in done:
        curve = f"{record.method} on {record.dataset.name}"
        yield _point(curve, record.settings, record.fit, record.time.fit, record.fit.objective)


def _point(
    curve: str,
    settings: Mapping[str, object],
    info: FitRecord | TrialRecord,
    seconds: float | None,
    objective: float | None,
) -> _FitPoint:
    return _FitPoint(curve, _others(settings), _limit(settings), info.n_iter, seconds, info.optimality, objective)


def _others(settings: Mapping[str, object]) -> Settings:
    """Return the settings that must be the same along a curve; the seed follows from the others."""
    return tuple(sorted((name, repr(value)) for name, value in settings.items() if name not in (*LIMITS, "seed")))


def _limit(settings: Mapping[str, object]) -> Settings:
    return tuple((name, repr(settings[name])) for name in LIMITS if name in settings)


def _curves(fits: Sequence[_FitPoint], x: str, y: str) -> Iterator[Curve]:
    groups: dict[tuple[str, Settings], dict[Settings, list[tuple[float, float, float]]]] = {}
    for fit in fits:
        at, value = getattr(fit, x), getattr(fit, y)
        if value is not None and at and (y == "objective" or value > 0):
            limits = groups.setdefault((fit.curve, fit.others), {})
            reached = math.nan if fit.optimality is None else float(fit.optimality)
            limits.setdefault(fit.limit, []).append((float(at), float(value), reached))
    drawn = {key: limits for key, limits in groups.items() if len(limits) > 1}
    for (name, others), limits in drawn.items():
        alike = [other for curve, other in drawn if curve == name]
        points = _reached([_Reached(*map(median, zip(*group, strict=True))) for group in limits.values()])
        yield Curve(name + _own_settings(others, alike), tuple(p.x for p in points), tuple(p.y for p in points))


def _reached(points: Sequence["_Reached"]) -> list["_Reached"]:
    """Return what it takes to reach each certificate: the least at which a fit had it or a smaller one.

    A looser limit may have taken longer by chance; what a tighter one reached in less was reached then. So no curve
    runs backwards. Without certificates the points are as they are, in order.
    """
    order = sorted(points, key=lambda point: (point.x, point.certificate))
    best, kept = math.inf, []
    for point in order:
        if not point.certificate >= best:  # also one that is not known
            kept.append(point)
            best = min(best, point.certificate) if point.certificate == point.certificate else best
    return kept


class _Reached(NamedTuple):
    """A point of a curve: iterations or seconds, what was reached, and the certificate."""

    x: float
    y: float
    certificate: float


def _own_settings(others: Settings, alike: Sequence[Settings]) -> str:
    """Return the settings that distinguish a curve from those of the same name."""
    own = [f"{name}={value}" for name, value in others if any((name, value) not in other for other in alike)]
    return f", {', '.join(own)}" if own else ""
