"""The `methods` block: projections, solvers, thresholds and their grids, checked against what will be constructed."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from functools import partial
from typing import Any

from mlrank.config.axes import Where, check_points, read_axes
from mlrank.config.findings import Findings
from mlrank.config.grid import Axes, MethodConfig, n_points
from mlrank.config.keys import Key
from mlrank.config.names import (
    OneOf,
    calibration_names,
    check_file_name,
    estimator_parameters,
    foreign_class,
    foreign_threshold,
    label_bounds,
    projection_class,
    show,
    solver_class,
    takes_estimators,
    threshold_class,
)
from mlrank.config.nested import flattened
from mlrank.yamlfile import YamlMapping

__all__ = ["IN_METHODS", "IN_PROJECTIONS", "IN_THRESHOLDS", "MAX_GRID", "read_methods"]

MAX_GRID = 100_000
# What may stand in a method beside the settings of its solver.
IN_METHODS = (
    Key(
        "solver",
        "name of a solver or preset | module:Class",
        "required",
        "What is fitted: a solver of mlrank or of your own, or an estimator of scikit-learn's interface.",
        "rank_svm",
    ),
    Key(
        "project",
        "name | mapping",
        "-",
        "What rows go through before the solver, fitted to the training part.",
        {"kind": "blda", "n_components": [5, 10]},
    ),
    Key(
        "calibrate",
        "sigmoid | isotonic",
        "-",
        "Makes probabilities of scores, by scores from three fits that each leave out a third of the rows.",
        "sigmoid",
    ),
    Key(
        "threshold",
        "name | module:Class | mapping",
        "the solver's natural cut",
        "What makes label sets of scores.",
        {"kind": "svr_midpoint", "min_labels": 1},
    ),
)
BESIDE = tuple(key.name for key in IN_METHODS)
# What may stand in a threshold and in a projection beside their settings.
IN_THRESHOLDS = (
    Key("kind", "name | module:Class", "the solver's natural cut", "The threshold.", "svr_midpoint"),
    Key(
        "scores",
        "train | heldout",
        "as suits the threshold",
        "What it is fitted to: scores of the training rows, or of three fits that each leave out a third of them.",
        "heldout",
    ),
    Key("min_labels", "whole number", "0", "Labels that each row gets at least, the best scored ones.", 1),
    Key("max_labels", "whole number", "-", "Labels that each row gets at most.", 5),
)
IN_PROJECTIONS = (Key("kind", "name", "required", "The projection.", "blda"),)


def read_methods(given: Any, findings: Findings) -> dict[str, MethodConfig]:
    """Return the methods of a config in the order written; what is wrong with them goes to `findings`.

    Parameters
    ----------
    given : the plain value of the key ``methods``
    findings : Findings
    """
    if not isinstance(given, dict) or not given:
        found = "none" if given in ({}, None) else show(given)
        findings(f"'methods' must name one method or more, as 'NAME: {{solver: KEY}}' lines; found {found}", "methods")
        return {}
    methods: dict[str, MethodConfig] = {}
    lowered: dict[str, str] = {}
    for name, block in given.items():
        _check_name(name, lowered, findings)
        method = _read_method(name, block, findings)
        if method is not None:
            methods[name] = method
    return methods


def _check_name(name: str, lowered: dict[str, str], findings: Findings) -> None:
    try:
        check_file_name("a method's name", name)
    except ValueError as error:
        findings(str(error), "methods", name, key=True)
    other = lowered.setdefault(name.lower(), name)
    if other != name:
        findings(
            f"the methods '{other}' and '{name}' differ only in case, as some file systems do not",
            "methods",
            name,
            key=True,
        )


def _read_method(name: str, block: Any, findings: Findings) -> MethodConfig | None:
    where: Where = ("methods", name)
    if not isinstance(block, dict):
        findings(f"method '{name}' must be a mapping such as {{solver: rank_svm, C: 1}}, found {show(block)}", *where)
        return None
    before = len(findings.problems)
    block, notes = _in_new_words(block, where, findings)
    block, places = _without_mappings(block, where, findings)
    if len(findings.problems) > before:  # what is left out would be missed below
        return None
    find = partial(foreign_class if findings.stored else solver_class, settings=block)
    solver = _named("solver", "solver", block, find, where, findings)
    calibrate = _read_calibration(block.get("calibrate"), solver, (*where, "calibrate"), findings)
    default = _default_threshold(solver, calibrate)
    threshold = _read_threshold(block.get("threshold", {}), default, (*where, "threshold"), findings)
    projection = _read_projection(block.get("project"), (*where, "project"), findings)
    settings = {key: value for key, value in block.items() if key not in BESIDE}
    axes = read_axes(solver, str(block.get("solver")), settings, BESIDE, where, findings, places)
    if solver is None or threshold is None or len(findings.problems) > before:
        return None
    (*_, threshold_axes), kind = threshold
    size = n_points(projection[1], axes, threshold_axes)
    if size > MAX_GRID:
        findings(f"the grid of method '{name}' has {size} points, at most {MAX_GRID} are allowed", *where, key=True)
        return None
    own, bounds = _parted(threshold_axes)
    parts = ((solver, axes), (kind, own), (label_bounds(), bounds), projection)
    for tried, its_axes in parts:
        check_points(tried, its_axes, where, findings)
    written, threshold_class = threshold
    return MethodConfig(name, block["solver"], solver, axes, *written, *projection, notes, threshold_class, calibrate)


def _in_new_words(
    block: dict[str, object], where: Where, findings: Findings
) -> tuple[dict[str, object], tuple[str, ...]]:
    """Return a method whose solver and settings have their new names, and a note for each that was renamed."""
    from mlrank.solvers.aliases import new_spelling

    key = block.get("solver")
    if not isinstance(key, str):
        return block, ()
    beside = {name: block[name] for name in BESIDE if name in block}
    try:
        written = new_spelling(key, {name: value for name, value in block.items() if name not in BESIDE})
    except ValueError as error:
        findings(str(error), *where, key=True)
        return block, ()
    return {**beside, "solver": written.key, **written.settings}, written.notes


def _without_mappings(
    block: dict[str, object], where: Where, findings: Findings
) -> tuple[dict[str, object], Mapping[str, Where]]:
    """Return a method with an import path for a preset and settings for estimators inside, and where these stand."""
    from mlrank.solvers.construct import LISTS
    from mlrank.solvers.presets import PRESETS

    key = block.get("solver")
    preset = PRESETS.get(key) if isinstance(key, str) else None
    key = preset.place if preset else key
    if not isinstance(key, str) or not takes_estimators(key, findings.stored):
        return block, {}
    beside = {name: block[name] for name in BESIDE if name in block} | {"solver": key}
    settings = {name: value for name, value in block.items() if name not in BESIDE}
    known = partial(estimator_parameters, stored=findings.stored)
    flat, places = flattened(settings, LISTS, known, where, findings)
    return {**beside, **(preset.merged(flat) if preset else flat)}, places


def _read_projection(given: Any, where: Where, findings: Findings) -> tuple[type[Any] | None, Axes]:
    """Return the class of the projection before the solver and its axes; None where there is none."""
    if given is None:
        return None, ()
    block = given if isinstance(given, dict) else {"kind": given}
    found = _named("projection", "kind", block, projection_class, where, findings)
    settings = {key: value for key, value in block.items() if key != "kind"}
    return found, read_axes(found, str(block.get("kind")), settings, ("kind",), where, findings)


def _read_calibration(given: Any, solver: type[Any] | None, where: Where, findings: Findings) -> str | None:
    """Return the way in which scores are made probabilities; None where they are not."""
    from mlrank.solvers import Capabilities

    if given is None:
        return None
    try:
        kind = str(OneOf("way to calibrate", calibration_names)(given))
    except ValueError as error:
        findings(str(error), *where)
        return None
    if solver is not None and Capabilities.of(solver).transductive:
        findings("calibration needs scores of rows that a fit has not seen, and this solver scores no others", *where)
    return kind


def _read_threshold(
    given: Any, default: str, where: Where, findings: Findings
) -> tuple[tuple[str, str, Axes], type[Any]] | None:
    """Return key, scores and axes of a threshold, and its class; where none is named, that of the solver's default."""
    if isinstance(given, (list, tuple)):
        findings("a method has one threshold; write one method for each", *where)
        return None
    bounds = [field.name for field in fields(label_bounds())]
    if isinstance(given, dict) and set(given) <= set(bounds):
        given = {"kind": default, **given}
    block = given if isinstance(given, dict) else {"kind": given}
    find = partial(foreign_threshold, settings=block) if findings.stored else threshold_class
    found = _named("threshold", "kind", block, find, where, findings)
    scores = block.get("scores", getattr(found, "FIT_ON", "train"))
    if scores not in ("train", "heldout"):
        findings(f"the scores of a threshold must be 'train' or 'heldout', found {show(scores)}", *where, "scores")
    settings = {key: value for key, value in block.items() if key not in ("kind", "scores", *bounds)}
    axes = read_axes(found, str(block.get("kind")), settings, ("kind", "scores", *bounds), where, findings)
    limits = {key: value for key, value in block.items() if key in bounds}
    both = dict((*axes, *read_axes(label_bounds(), "a threshold", limits, (), where, findings)))
    if found is None:
        return None
    return (block["kind"], scores, tuple((key, both[key]) for key in block if key in both)), found


def _default_threshold(solver: type[Any] | None, calibrate: str | None) -> str:
    """Return the threshold of a method that names none: the natural cut of its solver, which often is zero."""
    from mlrank.solvers import Capabilities

    margins = calibrate is None and (solver is None or Capabilities.of(solver).natural_cut == 0)
    return "zero" if margins else "natural"


def _parted(axes: Axes) -> tuple[Axes, Axes]:
    """Return the axes of a threshold's own settings, and those of its bounds on labels."""
    names = {field.name for field in fields(label_bounds())}
    return tuple(axis for axis in axes if axis[0] not in names), tuple(axis for axis in axes if axis[0] in names)


def _named(
    what: str, key: str, block: YamlMapping, find: Callable[[str], type[Any]], where: Where, findings: Findings
) -> type[Any] | None:
    """Return the class that ``block[key]`` names."""
    if key not in block:
        near = get_close_matches(key, block, n=1, cutoff=0.6)
        hint = f" Did you mean '{key}' by '{near[0]}'?" if near else ""
        findings(f"the key '{key}' is missing here.{hint}", *where)
    elif not isinstance(block[key], str):
        findings(f"the {what} must be one name, found {show(block[key])}", *where, key)
    else:
        try:
            return find(block[key])
        except ValueError as error:
            findings(str(error), *where, key)
    return None
