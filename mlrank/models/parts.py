"""Fitted objects taken apart into JSON values and arrays of numbers, and put together again."""

from collections.abc import Mapping
from dataclasses import MISSING, Field, asdict, dataclass, fields
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse

from mlrank.arrays import read_only
from mlrank.calibration import CALIBRATORS
from mlrank.scaling import SCALINGS
from mlrank.solvers import FitInfo
from mlrank.solvers.models import DUALS, MODELS, PROJECTED
from mlrank.stored import check_storable, plain
from mlrank.thresholds.cuts import CUTS

__all__ = ["PARTS", "Packed", "pack", "restore"]

# The parts of a predictor by role, with the kinds there are; ``meta()`` names a part's kind under its role. A model may
# itself hold a model or a projection.
PARTS: Mapping[str, Mapping[str, type[Any]]] = {
    "scaling": SCALINGS,
    "projection": PROJECTED,
    "model": MODELS,
    "calibration": CALIBRATORS,
    "cut": CUTS,
}
# Beside them, the parts that a model alone may hold.
_ROLES: Mapping[str, Mapping[str, type[Any]]] = {**PARTS, "dual": DUALS}
# Arrays that may hold infinite numbers: a label may be predicted never, or always.
_INFINITE = {"thresholds"}
# Arrays that are matrices of labels: where they are sparse, their values are bool.
_LABELS = {"Y_train"}


@dataclass(frozen=True)
class Packed:
    """A fitted object as values that JSON holds, and arrays by name."""

    meta: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]


def pack(role: str, part: Any) -> Packed:
    """Take a fitted object apart.

    Parameters
    ----------
    role : key of PARTS, or "dual"
    part : with ``arrays()`` and ``meta()``

    Raises
    ------
    ValueError
        If its kind is unknown, or something that its class needs is neither an array nor a value.
    """
    if not (hasattr(part, "arrays") and hasattr(part, "meta")):
        raise ValueError(f"{type(part).__name__} has no arrays() and meta() to be stored by")
    given, held = dict(part.meta()), dict(part.arrays())
    kind = str(given.get(role))
    if kind not in _ROLES[role]:
        raise ValueError(f"{type(part).__name__} is of the kind {kind!r}, which cannot be opened again")
    meta: dict[str, Any] = {"role": role, "kind": kind, "values": {}, "sparse": {}, "arrays": [], "parts": {}}
    packed = Packed(meta, {})
    for field in fields(_ROLES[role][kind]):
        name = field.name
        if name == "info":
            meta["info"] = asdict(part.info)
        elif name in held:
            _add_array(packed, name, held[name])
        elif name in given:
            meta["values"][name] = plain(given[name])
        elif inner := _role(getattr(part, name, None)):
            _add_part(packed, name, pack(inner, getattr(part, name)))
        elif _required(field):
            raise ValueError(f"{type(part).__name__} gives no {name!r} to be stored by")
    return packed


def _required(field: "Field[Any]") -> bool:
    without_default = field.default is MISSING and field.default_factory is MISSING
    return without_default and type(None) not in get_args(field.type)


def _role(value: Any) -> str | None:
    """Return the role of a part; None for what is none."""
    meta = value.meta() if hasattr(value, "arrays") and hasattr(value, "meta") else {}
    return next((role for role in _ROLES if role in meta), None)


def _add_part(packed: Packed, name: str, inner: Packed) -> None:
    packed.meta["parts"][name] = inner.meta
    packed.arrays.update({f"{name}.{array}": value for array, value in inner.arrays.items()})


def _add_array(packed: Packed, name: str, value: Any) -> None:
    if issparse(value):
        rows = csr_array(value)
        packed.meta["sparse"][name] = list(rows.shape)
        packed.arrays.update({f"{name}.{part}": getattr(rows, part) for part in ("data", "indices", "indptr")})
    else:
        packed.meta["arrays"].append(name)
        packed.arrays[name] = np.asarray(value)
    for part, array in packed.arrays.items():
        check_storable(part, array)


def restore(role: str, meta: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], used: set[str]) -> Any:
    """Put a fitted object together again; the arrays that it takes are added to `used`.

    Raises
    ------
    ValueError, KeyError, TypeError
        If `meta` and `arrays` are not what `pack` made.
    """
    return _restore(role, meta, arrays, used, f"{role}.")


def _restore(
    role: str, meta: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], used: set[str], prefix: str
) -> Any:
    cls = _ROLES[role][meta["kind"]]
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in meta["values"].items()}
    for name in meta["arrays"]:
        values[name] = _finite(name, arrays[prefix + name])
        used.add(prefix + name)
    for name, shape in meta["sparse"].items():
        keys = [f"{prefix}{name}.{part}" for part in ("data", "indices", "indptr")]
        values[name] = _rows(name, [arrays[key] for key in keys], shape)
        used.update(keys)
    for name, inner in meta["parts"].items():
        values[name] = _restore(inner["role"], inner, arrays, used, f"{prefix}{name}.")
    known = {field.name: field for field in fields(cls)}
    if unknown := values.keys() - known.keys():
        raise ValueError(f"{meta['kind']} has no {min(unknown)!r}")
    if "info" in known:
        values["info"] = _info(meta["info"])
    for name in known.keys() - values.keys():
        if _required(known[name]):
            raise ValueError(f"{name!r} is missing")
        if known[name].default is MISSING:
            values[name] = None
    return cls(**values)


def _info(meta: Mapping[str, Any]) -> FitInfo:
    numbers = {name: np.nan if meta[name] is None else float(meta[name]) for name in ("objective", "optimality")}
    n_iter, notes = _whole(meta["n_iter"]), tuple(map(str, meta["notes"]))
    return FitInfo(n_iter=n_iter, converged=bool(meta["converged"]), notes=notes, **numbers)


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise ValueError(f"expected a whole number, found {value!r}")
    return value


def _finite(name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    fine = ~np.isnan(array) if name in _INFINITE else np.isfinite(array)
    if not fine.all():
        raise ValueError(f"{name} holds numbers that are not finite")
    return array


def _rows(name: str, parts: list[npt.NDArray[Any]], shape: Any) -> Any:
    n_rows, n_columns = (_whole(extent) for extent in shape)
    dtype = np.bool_ if name in _LABELS else np.float64
    if parts[1].dtype != np.int32 or parts[2].dtype != np.int32 or parts[0].dtype != dtype:
        raise ValueError(f"{name} has parts of other types")
    rows = csr_array((_finite(name, parts[0]), parts[1], parts[2]), shape=(n_rows, n_columns))
    # Compiled products trust the indices.
    rows.check_format(full_check=True)
    if not rows.has_canonical_format:
        raise ValueError(f"{name} has columns out of order")
    return read_only(rows)
