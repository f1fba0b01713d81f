"""Readers for files of whole arrays: NumPy's .npz and MATLAB's .mat (version 7 and before)."""

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from mlrank.arrays import BoolArray, Features, IntArray
from mlrank.datasets.files import shown
from mlrank.datasets.gaps import Filled, Gaps, nan_places
from mlrank.datasets.labels import read_labels, read_names
from mlrank.datasets.matfile import read_variables
from mlrank.datasets.parsed import Parsed, Source
from mlrank.errors import UserError, unknown_name

__all__ = ["VARIABLES", "names_of", "read_mat", "read_npz", "real_matrix"]

VARIABLES = ("X", "Y", "X_test", "Y_test")
_SPARSE = ("X_data", "X_indices", "X_indptr", "X_shape")
_NPZ = ("X", *_SPARSE, "Y", "known", "label_names", "feature_names", "train", "test")


def read_npz(source: Source) -> Parsed:
    """Read X (or X_data, X_indices, X_indptr, X_shape), Y and, where given, known, names and the rows train and test.

    Raises
    ------
    UserError
        If an array is missing, unknown, or not of the right kind.
    """
    path = _only(source)
    found = _load_npz(path)
    for name in found:
        if name not in _NPZ:
            raise UserError(unknown_name("array", name, _NPZ), path)
    X = _sparse(path, found) if "X" not in found else real_matrix(path, "X", found["X"])
    Y, known = _label_matrix(path, "Y", _wanted(path, found, "Y"))
    if "known" in found:
        mask, hidden = _label_matrix(path, "known", found["known"])
        if hidden is not None or known is not None:
            raise UserError("where known says which entries are known, both known and Y must hold 0 and 1", path)
        if mask.shape != Y.shape:
            raise UserError(f"known has shape {mask.shape}, Y has shape {Y.shape}", path)
        Y, known = Y & mask, mask
    official = _official(path, found, X.shape[0])
    return _parsed(source, [(X, Y, known)], found.get("label_names"), found.get("feature_names"), official)


def read_mat(source: Source) -> Parsed:
    """Read the variables that `source.variables` names as X, Y, X_test and Y_test; a name with ' is transposed.

    Labels are 0 and 1, or -1 and 1 with 0 for an unknown entry. label_names and feature_names are used where they are.

    Raises
    ------
    UserError
        If a variable is missing or not of the right kind, or rows of X and Y differ in number.
    """
    path = _only(source)
    found = read_variables(path)
    names = dict(source.variables or {name: name for name in VARIABLES if name in found})
    for role in names:
        if role not in VARIABLES:
            raise UserError(unknown_name("role of a variable", role, VARIABLES), path)
    if not {"X", "Y"} <= names.keys() or ("X_test" in names) != ("Y_test" in names):
        there = ", ".join(f"{name} {np.shape(value)}" for name, value in found.items() if _is_matrix(value)) or "none"
        example = 'variables: {X: data, Y: "target\'"}'
        raise UserError(
            f"say which variables hold X and Y, and X_test and Y_test, as in {example}. There are: {there}", path
        )
    parts = []
    for suffix in ("", "_test") if "X_test" in names else ("",):
        X = real_matrix(path, names["X" + suffix], _variable(path, found, names["X" + suffix]))
        Y, known = _label_matrix(path, names["Y" + suffix], _variable(path, found, names["Y" + suffix]))
        if X.shape[0] != Y.shape[0]:
            there = f"{names['X' + suffix]} has {X.shape[0]} rows, {names['Y' + suffix]} has {Y.shape[0]}"
            raise UserError(f"{there}; write a ' behind a variable's name to transpose it", path)
        parts.append((X, Y, known))
    return _parsed(source, parts, found.get("label_names"), found.get("feature_names"), None)


def _only(source: Source) -> Path:
    if len(source.parts) > 1:
        raise UserError("this format holds both parts in one file: leave out test", source.parts[1])
    return source.parts[0]


def _load_npz(path: Path) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            archive = np.load(file, allow_pickle=False)
            if isinstance(archive, np.ndarray):
                raise UserError("holds a single array, not an archive of named ones", path)
            with archive:
                return dict(archive)
    except FileNotFoundError as error:
        raise UserError("no such file", path) from error
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, OSError, ValueError, KeyError, MemoryError) as error:
        raise UserError(f"cannot be read as .npz: {_told(error)}", path) from error
    except UserError:
        raise
    except Exception as error:  # a damaged archive reaches many parts of the library
        raise UserError(f"cannot be read as .npz: {_told(error)}", path) from error


def _told(error: Exception) -> str:
    return " ".join(f"{type(error).__name__} {error}".split())[:160]


def _wanted(path: Path, found: Mapping[str, Any], name: str) -> Any:
    if name not in found:
        raise UserError(f"lacks the array {name}; it holds {', '.join(found) or 'none'}", path)
    return found[name]


def _variable(path: Path, found: Mapping[str, Any], name: str) -> Any:
    plain = name.removesuffix("'")
    if plain not in found:
        raise UserError(unknown_name("variable", plain, found), path)
    value = found[plain]
    if not _is_matrix(value):
        raise UserError(f"{plain} is no matrix of real numbers", path)
    return value.T if name.endswith("'") else value


def _is_matrix(value: Any) -> bool:
    return issparse(value) or (isinstance(value, np.ndarray) and value.dtype == np.float64)


def _sparse(path: Path, found: Mapping[str, Any]) -> csr_array:
    data, indices, indptr, shape = (_wanted(path, found, name) for name in _SPARSE)
    try:
        X = csr_array((data, indices, indptr), shape=tuple(int(size) for size in np.ravel(shape)))
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise UserError(f"X_data, X_indices, X_indptr and X_shape are no CSR matrix: {_told(error)}", path) from error
    return real_matrix(path, "X", X)


def real_matrix(path: Path, name: str, value: Any) -> Any:
    """Return float64 values, dense or sparse, NaN where they are missing.

    Raises
    ------
    UserError
        If it is no matrix of finite numbers, or empty.
    """
    if value.ndim != 2 or value.dtype.kind not in "biuf":
        raise UserError(f"{name} must be a matrix of numbers, found {value.dtype} of {value.ndim} dimensions", path)
    if 0 in value.shape:
        raise UserError(f"{name} is empty: its shape is {value.shape}", path)
    if issparse(value):
        _check_sparse(path, name, value)
    matrix: Any = csr_array(value, dtype=np.float64) if issparse(value) else np.ascontiguousarray(value, np.float64)
    if np.isinf(matrix.data if issparse(matrix) else matrix).any():
        raise UserError(f"{name} holds infinite numbers", path)
    if issparse(matrix):
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    return matrix


def _check_sparse(path: Path, name: str, value: Any) -> None:
    # A damaged file may hold indices beyond the matrix, and the library's conversions trust them.
    try:
        value.check_format(full_check=True)
    except (ValueError, TypeError, IndexError) as error:
        raise UserError(f"{name} is no valid sparse matrix: {_told(error)}", path) from error


def _label_matrix(path: Path, name: str, value: Any) -> tuple[BoolArray, BoolArray | None]:
    """Return Y and known from entries 0 and 1, or from -1, 1 and 0 for an unknown entry; NaN is unknown as well."""
    matrix = real_matrix(path, name, value)
    dense = matrix.toarray() if issparse(matrix) else matrix
    unknown = np.isnan(dense)
    values = np.unique(dense[~unknown])
    if not np.isin(values, (-1, 0, 1)).all():
        odd = values[~np.isin(values, (-1, 0, 1))][0]
        raise UserError(f"{name} must hold 0 and 1, or -1, 0 and 1; found {odd:g}", path)
    if -1 in values:
        unknown |= dense == 0
    return dense == 1, ~unknown if unknown.any() else None


def _official(path: Path, found: Mapping[str, Any], n_samples: int) -> tuple[IntArray, IntArray] | None:
    if ("train" in found) != ("test" in found):
        raise UserError("train and test go together", path)
    if "train" not in found:
        return None
    rows = [found[name] for name in ("train", "test")]
    if any(part.ndim != 1 or part.dtype.kind not in "iu" for part in rows):
        raise UserError("train and test must be lists of row numbers", path)
    if not np.array_equal(np.sort(np.concatenate(rows)), np.arange(n_samples)) or not all(part.size for part in rows):
        raise UserError(f"train and test must hold each of the rows 0 to {n_samples - 1} once", path)
    return rows[0].astype(np.int64), rows[1].astype(np.int64)


def _parsed(
    source: Source,
    parts: list[tuple[Any, BoolArray, BoolArray | None]],
    label_names: Any,
    feature_names: Any,
    official: tuple[IntArray, IntArray] | None,
) -> Parsed:
    path = source.parts[0]
    for what, widths in (
        ("features", {X.shape[1] for X, _, _ in parts}),
        ("labels", {Y.shape[1] for _, Y, _ in parts}),
    ):
        if len(widths) > 1:
            raise UserError(f"the parts have different numbers of {what}: {', '.join(map(str, sorted(widths)))}", path)
    X, Y = _below(part[0] for part in parts), np.vstack([part[1] for part in parts])
    if X.shape[0] != Y.shape[0]:
        raise UserError(f"X has {X.shape[0]} rows, Y has {Y.shape[0]}", path)
    masks = [np.ones(part[1].shape, np.bool_) if part[2] is None else part[2] for part in parts]
    known = np.vstack(masks) if any(part[2] is not None for part in parts) else None
    labels = read_labels(source.labels).names if source.labels else names_of(path, "label", label_names)
    features = (
        read_names(source.features, "feature").names if source.features else names_of(path, "feature", feature_names)
    )
    labels = labels or tuple(map(str, range(Y.shape[1])))
    features = features or tuple(map(str, range(X.shape[1])))
    for what, names, width in (("label", labels, Y.shape[1]), ("feature", features, X.shape[1])):
        if len(names) != width:
            raise UserError(f"{len(names)} {what} names for {width} {what}s", path)
    sizes = tuple(part[0].shape[0] for part in parts)
    X, fill, notes = _filled(source, X, sizes[0], features, official)
    return Parsed(X, Y, labels, features, sizes, tuple(notes), known, official, fill)


def _below(parts: Any) -> Features:
    matrices = list(parts)
    if len(matrices) == 1:
        return matrices[0]
    return csr_array(vstack(matrices)) if any(map(issparse, matrices)) else np.vstack(matrices)


def names_of(path: Path, what: str, found: Any) -> tuple[str, ...]:
    """Return names from an array of text, or from MATLAB's cells or rows of text."""
    if found is None:
        return ()
    items = np.ravel(found).tolist()
    if not all(isinstance(item, str) for item in items):
        raise UserError(f"{what}_names must hold text", path)
    names = tuple(str(item) for item in items)
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise UserError(f"{what} {shown(twice)} is named twice", path)
    return names


def _filled(
    source: Source, X: Features, n_train: int, names: tuple[str, ...], official: tuple[IntArray, IntArray] | None
) -> Filled:
    rows, columns = nan_places(X)
    if rows.size and source.impute is None:
        message = f"row {rows[0] + 1}: the value of {shown(names[columns[0]])} is missing (NaN)"
        raise UserError(f"{message}: set impute to mean, median or zero to have it filled", source.parts[0])
    if official is not None and source.impute in ("mean", "median"):
        if rows.size:
            raise UserError("only impute: zero is possible where train and test are row numbers", source.parts[0])
        return Filled(X, None, [])
    if rows.size:
        np.nan_to_num(X.data if issparse(X) else X, copy=False)
    gaps, none = Gaps(), np.zeros(0, np.int64)
    gaps.add_cells((rows, columns), (none, none))
    return gaps.fill(X, source.impute, n_train, names)
