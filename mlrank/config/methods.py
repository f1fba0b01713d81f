"""The `methods` block: projections, solvers, thresholds and their grids, checked against what will be constructed."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import partial
from typing import Any

from mlrank.config.axes import Where, check_points, read_axes
from mlrank.config.grid import Axes, MethodConfig, n_points
from mlrank.config.names import (
    check_file_name,
    foreign_class,
    projection_class,
    show,
    solver_class,
    threshold_class,
)
from mlrank.config.report import Report

__all__ = ["MAX_GRID", "read_methods"]

MAX_GRID = 100_000
# What may stand in a method beside the settings of its solver.
BESIDE = ("solver", "project", "threshold")


def read_methods(given: Any, report: Report) -> dict[str, MethodConfig]:
    """Return the methods of a config in the order written; what is wrong with them goes to `report`.

    Parameters
    ----------
    given : the plain value of the key ``methods``
    report : Report
    """
    if not isinstance(given, dict) or not given:
        found = "none" if given in ({}, None) else show(given)
        report(f"'methods' must name one method or more, as 'NAME: {{solver: KEY}}' lines; found {found}", "methods")
        return {}
    methods: dict[str, MethodConfig] = {}
    lowered: dict[str, str] = {}
    for name, block in given.items():
        _check_name(name, lowered, report)
        method = _read_method(name, block, report)
        if method is not None:
            methods[name] = method
    return methods


def _check_name(name: str, lowered: dict[str, str], report: Report) -> None:
    try:
        check_file_name("a method's name", name)
    except ValueError as error:
        report(str(error), "methods", name, key=True)
    twin = lowered.setdefault(name.lower(), name)
    if twin != name:
        report(
            f"the methods '{twin}' and '{name}' differ only in case, as some file systems do not",
            "methods",
            name,
            key=True,
        )


def _read_method(name: str, block: Any, report: Report) -> MethodConfig | None:
    where: Where = ("methods", name)
    if not isinstance(block, dict):
        report(f"method '{name}' must be a mapping such as {{solver: rank_svm, C: 1}}, found {show(block)}", *where)
        return None
    before = len(report.problems)
    find = partial(foreign_class, settings=block) if report.stored else solver_class
    solver = _named("solver", "solver", block, find, where, report)
    threshold = _read_threshold(block.get("threshold", "zero"), (*where, "threshold"), report)
    projection = _read_projection(block.get("project"), (*where, "project"), report)
    settings = {key: value for key, value in block.items() if key not in BESIDE}
    axes = read_axes(solver, str(block.get("solver")), settings, BESIDE, where, report)
    if solver is None or threshold is None or len(report.problems) > before:
        return None
    size = n_points(projection[1], axes, threshold[2])
    if size > MAX_GRID:
        report(f"the grid of method '{name}' has {size} points, at most {MAX_GRID} are allowed", *where, key=True)
        return None
    for tried, its_axes in ((solver, axes), (threshold_class(threshold[0]), threshold[2]), projection):
        check_points(tried, its_axes, where, report)
    return MethodConfig(name, block["solver"], solver, axes, *threshold, *projection)


def _read_projection(given: Any, where: Where, report: Report) -> tuple[type[Any] | None, Axes]:
    """Return the class of the projection before the solver and its axes; None where there is none."""
    if given is None:
        return None, ()
    block = given if isinstance(given, dict) else {"kind": given}
    found = _named("projection", "kind", block, projection_class, where, report)
    settings = {key: value for key, value in block.items() if key != "kind"}
    return found, read_axes(found, str(block.get("kind")), settings, ("kind",), where, report)


def _read_threshold(given: Any, where: Where, report: Report) -> tuple[str, str, Axes] | None:
    if isinstance(given, (list, tuple)):
        report("a method has one threshold; write one method for each", *where)
        return None
    block = given if isinstance(given, dict) else {"kind": given}
    found = _named("threshold", "kind", block, threshold_class, where, report)
    scores = block.get("scores", getattr(found, "FIT_ON", "train"))
    if scores not in ("train", "heldout"):
        report(f"the scores of a threshold must be 'train' or 'heldout', found {show(scores)}", *where, "scores")
    settings = {key: value for key, value in block.items() if key not in ("kind", "scores")}
    axes = read_axes(found, str(block.get("kind")), settings, ("kind", "scores"), where, report)
    return None if found is None else (block["kind"], scores, axes)


def _named(
    what: str, key: str, block: Mapping[str, Any], find: Callable[[str], type[Any]], where: Where, report: Report
) -> type[Any] | None:
    """Return the class that ``block[key]`` names."""
    if key not in block:
        near = get_close_matches(key, block, n=1, cutoff=0.6)
        hint = f" Did you mean '{key}' by '{near[0]}'?" if near else ""
        report(f"the key '{key}' is missing here.{hint}", *where)
    elif not isinstance(block[key], str):
        report(f"the {what} must be one name, found {show(block[key])}", *where, key)
    else:
        try:
            return find(block[key])
        except ValueError as error:
            report(str(error), *where, key)
    return None
