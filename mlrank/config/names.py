"""What the names in a config may be, and how a found value is shown in a message.

The tables of names are imported on use: they pull in the solvers, which a command that only prints help must not.
"""

import dataclasses
import re
import sys
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mlrank.errors import UserError, unknown_name

__all__ = [
    "OneOf",
    "calibration_names",
    "check_file_name",
    "check_own_metric",
    "estimator_parameters",
    "foreign_class",
    "foreign_threshold",
    "impute_names",
    "label_bounds",
    "metric_name",
    "metric_names",
    "named_solver",
    "projection_class",
    "scale_names",
    "show",
    "solver_class",
    "split_kinds",
    "takes_estimators",
    "threshold_class",
    "variable_roles",
]

_FILE_NAME = re.compile(r"\w[\w +=,()@%&#~.-]*")


def show(value: Any) -> str:
    """Return a value as its YAML would look, on one line and not long.

    >>> show(None), show(True), show("a\\nb"), show([1, 2]), show([])
    ('null', 'true', "'a\\\\nb'", 'a list', 'an empty list')
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, (list, tuple)):
        return "a list" if value else "an empty list"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _one_line(text: str) -> str:
    return show(text)[1:-1] if len(text) > 60 or not text.isprintable() else text


def check_file_name(what: str, name: str) -> str:
    """Return `name` if it can name a file on every system, or raise a ValueError that says what may."""
    if _FILE_NAME.fullmatch(name) and name[-1] not in " ." and len(name.encode()) <= 200:
        return name
    raise ValueError(
        f"{what} names files, so it must begin with a letter or digit, hold only letters, digits, blanks and "
        f"_+=,()@%&#~.-, not end in a blank or dot and take at most 200 bytes; found {show(name)}"
    )


@dataclasses.dataclass(frozen=True)
class OneOf:
    """A check that a value is one of `names`, whose ValueError suggests the nearest."""

    what: str
    names: Callable[[], Iterable[str]]

    def __call__(self, value: Any) -> Any:
        """Return the value, or raise ValueError."""
        known = list(self.names())
        if not isinstance(value, str):
            raise ValueError(f"the {self.what} must be one of {', '.join(sorted(known))}; found {show(value)}")
        if value not in known:
            raise ValueError(unknown_name(self.what, _one_line(value), known))
        return value


def split_kinds() -> tuple[str, ...]:
    """Return the kinds of split."""
    from mlrank.splits import SPLIT_KINDS

    return tuple(SPLIT_KINDS)


def impute_names() -> tuple[str, ...]:
    """Return the ways to fill missing features."""
    from mlrank.datasets.formats.missing import IMPUTE

    return tuple(IMPUTE)


def variable_roles() -> tuple[str, ...]:
    """Return what the variables of a MATLAB file can hold."""
    from mlrank.datasets.formats.mat import VARIABLES

    return VARIABLES


def scale_names() -> tuple[str, ...]:
    """Return the names of the scalers."""
    from mlrank.scaling import SCALERS

    return tuple(SCALERS)


def metric_names() -> tuple[str, ...]:
    """Return the names of the metrics."""
    from mlrank.metrics import METRICS

    return tuple(METRICS)


def threshold_class(name: str) -> type[Any]:
    """Return the threshold strategy of that name, or raise ValueError."""
    from mlrank.thresholds import THRESHOLDS

    if ":" not in name:
        return THRESHOLDS[OneOf("threshold", lambda: THRESHOLDS)(name)]
    found: type[Any] = _member(*_checked_path(name), _is_solver, "threshold")
    if not _is_solver(found):
        raise ValueError(
            f"{show(name)} is no threshold: a threshold is a frozen dataclass with fit(scores, Y, X, known)"
        )
    return found


def foreign_threshold(name: str, settings: Iterable[str]) -> type[Any]:
    """Return the threshold of a key of THRESHOLDS; for an import path, one that stands for it; see `foreign_class`."""
    if ":" not in name:
        return threshold_class(name)
    given = [setting for setting in settings if setting.isidentifier()]
    _, class_name = _checked_path(name)
    return dataclasses.make_dataclass(class_name, [(setting, Any, None) for setting in given], frozen=True)


def metric_name(value: Any) -> Any:
    """Return the name of a metric, or an import path that may be one; raise ValueError for another."""
    if isinstance(value, str) and ":" in value:
        _checked_path(value)
        return value
    return OneOf("metric", metric_names)(value)


def check_own_metric(path: str) -> None:
    """Import a metric of the user's own; raise a ValueError of one line if it is none."""
    from mlrank.metrics import METRICS, metric_from

    metric_from(path, _member(*_checked_path(path), lambda value: hasattr(value, "higher_is_better"), "metric"))
    METRICS.load([path])


def calibration_names() -> tuple[str, ...]:
    """Return the ways to make probabilities of scores."""
    from mlrank.calibration import CALIBRATIONS

    return tuple(CALIBRATIONS)


def label_bounds() -> type[Any]:
    """Return the settings that any threshold takes beside its own."""
    from mlrank.thresholds.bounds import LabelBounds

    return LabelBounds


def projection_class(name: str) -> type[Any]:
    """Return the projection of that name, or raise ValueError."""
    from mlrank.solvers import PROJECTIONS

    found: type[Any] = PROJECTIONS[OneOf("projection", lambda: PROJECTIONS)(name)]
    return found


def solver_class(name: str, settings: Iterable[str] = ()) -> type[Any]:
    """Return the solver of a key of SOLVERS or PRESETS or of an import path "package.module:ClassName".

    The path may be that of an estimator of scikit-learn's interface; see `mlrank.solvers.estimators`, which `settings`
    are for.
    """
    from mlrank.solvers import SOLVERS
    from mlrank.solvers.aliases import new_key
    from mlrank.solvers.presets import PRESETS

    name = PRESETS[name].place if name in PRESETS else new_key(name)
    if ":" in name:
        return _imported(name, settings)
    if name not in SOLVERS:
        known = [*SOLVERS, *PRESETS]
        hint = "" if get_close_matches(name, known, n=1, cutoff=0.5) else _IMPORT_HINT
        raise ValueError(unknown_name("solver", _one_line(name), known) + hint)
    solver = SOLVERS[name]
    if getattr(solver, "TAKES_ESTIMATORS", False):
        from mlrank.solvers.estimators import with_settings_inside

        return with_settings_inside(solver, settings)
    return solver


def takes_estimators(name: str, stored: bool) -> bool:
    """Return whether a solver of that name may have estimators among its settings; if `stored`, nothing is imported."""
    if stored and ":" in name:
        return True
    try:
        return bool(getattr(solver_class(name), "TAKES_ESTIMATORS", False))
    except ValueError:
        return False


def estimator_parameters(path: str, stored: bool) -> list[str] | None:
    """Return the names of the parameters of an estimator; None if `stored`, as it is then not imported.

    Raises
    ------
    ValueError
        If the path is that of no estimator.
    """
    from mlrank.solvers.construct import THREADS, is_part, parameters

    module_name, class_name = _checked_path(path)
    if stored:
        return None
    found = _member(module_name, class_name, is_part)
    if not is_part(found):
        raise ValueError(f"{show(path)} is no estimator: it has no methods get_params and set_params")
    return [name for name in parameters(found) if name not in THREADS]


def named_solver(name: str, settings: Iterable[str] = ()) -> type[Any]:
    """Return the solver that a user names, of settings by these names; see `solver_class`.

    Raises
    ------
    UserError
        If there is none of that name.
    """
    try:
        return solver_class(name, settings)
    except ValueError as error:
        raise UserError(str(error)) from error


def foreign_class(name: str, settings: Iterable[str]) -> type[Any]:
    """Return the solver of a key of SOLVERS; for an import path, one that stands for it and is never fitted.

    What a results folder says must not make its reader run code, so nothing is imported.
    """
    given = [setting for setting in settings if setting.isidentifier()]
    namespace: dict[str, object] = {"fit": _never_fitted}
    if ":" in name:
        _, class_name = _checked_path(name)
        fields: list[tuple[str, Any, Any]] = [(setting, Any, None) for setting in given]
        return dataclasses.make_dataclass(class_name, fields, namespace={**namespace, "USES_KNOWN": True}, frozen=True)
    found = solver_class(name)
    if not getattr(found, "TAKES_ESTIMATORS", False):
        return found
    # Its estimator is not imported, so its settings are not tried; its defaults are part of what results depend on.
    inside = [(setting, Any, None) for setting in given if setting.startswith("estimator__")]
    namespace["__post_init__"] = _unchecked
    return dataclasses.make_dataclass(found.__name__, inside, bases=(found,), namespace=namespace, frozen=True)


def _unchecked(self: Any) -> None:
    return None


def _never_fitted(self: Any, train: Any, prepared: Any = None) -> Any:
    raise ValueError(f"{type(self).__name__} stands for a solver of a results folder, which is not imported")


_IMPORT_HINT = " A solver of your own is named 'package.module:ClassName'."


def _imported(path: str, settings: Iterable[str]) -> type[Any]:
    from mlrank.solvers.estimators import estimator_solver, is_estimator

    found = _member(*_checked_path(path), lambda value: _is_solver(value) or is_estimator(value))
    if _is_solver(found):
        return found  # type: ignore[no-any-return]
    if not is_estimator(found):
        message = "a solver is a frozen dataclass with a method fit(train), or an estimator of scikit-learn's interface"
        raise ValueError(f"{show(path)} is not a solver: {message}")
    return estimator_solver(path, settings)


def _member(module_name: str, class_name: str, fits: Callable[[Any], bool], what: str = "solver") -> Any:
    """Return a member of a module, or raise a ValueError with the nearest name among the members that would do."""
    found = getattr(_module(module_name), class_name, None)
    if found is None:
        known = [name for name, value in vars(sys.modules[module_name]).items() if fits(value)]
        kind = "function" if what == "metric" else "class"
        raise ValueError(unknown_name(f"{kind} of module {module_name}", class_name, known or [f"(no {what} there)"]))
    return found


def _checked_path(path: str) -> tuple[str, str]:
    """Return the module and the class that an import path names."""
    module_name, _, class_name = path.partition(":")
    if not all(part.isidentifier() for part in (*module_name.split("."), class_name)):
        raise ValueError(f"{show(path)} is not of the form 'package.module:ClassName'")
    return module_name, class_name


def _module(name: str) -> Any:
    _look_here(name.partition(".")[0])
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(error.name + ".")):
            message = f"no module named '{error.name}': it is looked for in the current folder and on PYTHONPATH"
            raise ValueError(message) from None
        raise ValueError(f"module '{name}' cannot be imported: {_described(error)}") from None
    except Exception as error:  # the user's module may fail in any way
        raise ValueError(f"module '{name}' cannot be imported: {_described(error)}") from error


def _look_here(name: str) -> None:
    """Have Python look in the current folder too if a module of this name is there and nowhere else.

    Workers get the path with their first task. The folder comes last, and not for other names, so that nothing in it is
    taken for a library.
    """
    here = Path.cwd()
    is_here = (here / f"{name}.py").is_file() or (here / name).is_dir()
    if is_here and str(here) not in sys.path and name not in sys.modules and find_spec(name) is None:
        sys.path.append(str(here))


def _described(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def _is_solver(value: Any) -> bool:
    if not (isinstance(value, type) and dataclasses.is_dataclass(value) and callable(getattr(value, "fit", None))):
        return False
    return bool(value.__dataclass_params__.frozen)  # type: ignore[attr-defined]
