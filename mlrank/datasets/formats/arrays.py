"""Matrices of numbers, as files of whole arrays hold them, checked and put together as a data set.

Nothing is copied that is float64 in rows already; what is not is converted once, into its final place.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from mlrank.arrays import BoolArray, Features, IntArray
from mlrank.datasets.dataset import Dataset
from mlrank.datasets.formats.base import Source, StreamRequest, as_dataset
from mlrank.datasets.formats.missing import FilledFeatures, MissingValues, nan_places
from mlrank.datasets.formats.names import read_labels, read_names, repeated
from mlrank.datasets.formats.room import NAME_BYTES, check_columns
from mlrank.datasets.formats.text import shown
from mlrank.errors import UserError
from mlrank.labels import LabelMatrix, as_labels, stacked_labels
from mlrank.room import check_room

__all__ = [
    "arrays_dataset",
    "check_whole_number",
    "error_text",
    "is_matrix",
    "label_matrix",
    "match_columns",
    "names_of",
    "only_part",
    "real_matrix",
    "stacked_matrix",
    "stream_matrix",
]

# Beyond this, floating-point numbers leave whole ones out.
MOST_WHOLE = 1 << 53
# Characters of what a library says, which may quote the file.
MOST_QUOTED = 160


def only_part(source: Source) -> Path:
    """Return the only file of a source; refuse a second one."""
    if len(source.parts) > 1:
        raise UserError("this format holds both parts in one file: leave out test", source.parts[1])
    return source.parts[0]


def is_matrix(value: Any) -> bool:
    """Return whether a value is an array or a sparse matrix of real numbers."""
    return issparse(value) or (isinstance(value, np.ndarray) and value.dtype.kind in "biuf")


def real_matrix(path: Path, name: str, value: Any) -> Features:
    """Return float64 values, dense or sparse, NaN where they are missing.

    Raises
    ------
    UserError
        If it is no matrix of finite numbers, or empty.
    """
    return stacked_matrix(path, [(name, value)])


def label_matrix(path: Path, name: str, value: Any) -> tuple[LabelMatrix, BoolArray | None]:
    """Return Y and known from entries 0 and 1, or from -1, 1 and 0 for an unknown entry; NaN is unknown as well.

    A sparse matrix that stores 0 and 1 alone gives a sparse Y.
    """
    _check_matrix(path, name, value)
    check_columns(value.shape[1], "label", path)
    if issparse(value):
        marks = csr_array(value)
        if not marks.has_canonical_format:
            marks = marks.copy()
            marks.sum_duplicates()
        if ((marks.data == 0) | (marks.data == 1)).all():
            return as_labels(csr_array((marks.data == 1, marks.indices, marks.indptr), shape=marks.shape)), None
    # Besides a copy where there is one, masks of all entries.
    check_room(value.shape[0] * value.shape[1] * (12 if issparse(value) else 4), f"{name} {value.shape}", path)
    dense = csr_array(value, dtype=np.float64).toarray() if issparse(value) else value
    unknown = np.isnan(dense) if dense.dtype.kind == "f" else np.zeros(dense.shape, np.bool_)
    positive, negative = dense == 1, dense == -1
    wrong = ~(positive | negative | unknown | (dense == 0))
    if wrong.any():
        if dense.dtype.kind == "f" and np.isinf(dense[wrong]).any():
            raise UserError(f"{name} holds infinite numbers", path)
        raise UserError(f"{name} must hold 0 and 1, or -1, 0 and 1; found {float(dense[wrong].min()):g}", path)
    if negative.any():
        unknown |= dense == 0
    return np.ascontiguousarray(positive), np.ascontiguousarray(~unknown) if unknown.any() else None


def arrays_dataset(
    source: Source,
    X: Features,
    labels: Sequence[tuple[LabelMatrix, BoolArray | None]],
    label_names: Any,
    feature_names: Any,
    official: tuple[IntArray, IntArray] | None = None,
) -> Dataset:
    """Return the matrices of a file as a data set.

    Parameters
    ----------
    X : (n_samples, n_features) float64 ndarray or csr_array
        Of all parts, as `stacked_matrix` returns it.
    labels : sequence of (Y, known)
        Of each part.
    label_names, feature_names : array of text or None
        Used where the user names none.

    Raises
    ------
    UserError
        If numbers of rows, columns and names do not fit.
    """
    path = source.parts[0]
    if len({Y.shape[1] for Y, _ in labels}) > 1:
        raise UserError(_different("labels", {Y.shape[1] for Y, _ in labels}), path)
    Y, known = labels[0] if len(labels) == 1 else _labels_below(labels)
    if X.shape[0] != Y.shape[0]:
        raise UserError(f"X has {X.shape[0]} rows, Y has {Y.shape[0]}", path)
    names = read_labels(source.name_file).names if source.name_file else names_of(path, "label", label_names)
    named = (
        read_names(source.features, "feature").names if source.features else names_of(path, "feature", feature_names)
    )
    names, named = names or tuple(map(str, range(Y.shape[1]))), named or tuple(map(str, range(X.shape[1])))
    for what, given, width in (("label", names, Y.shape[1]), ("feature", named, X.shape[1])):
        if len(given) != width:
            raise UserError(f"{len(given)} {what} names for {width} {what}s", path)
    sizes = [part.shape[0] for part, _ in labels]
    X, fill, notes = _filled(source, X, sizes[0], named, official)
    return as_dataset(source, X, Y, names, named, sizes, notes=notes, known=known, official=official, fill=fill)


def names_of(path: Path, what: str, values: Any) -> tuple[str, ...]:
    """Return names from an array of text, or from MATLAB's cells or rows of text."""
    if values is None:
        return ()
    items = np.ravel(values).tolist()
    if not all(isinstance(item, str) for item in items):
        raise UserError(f"{what}_names must hold text", path)
    names = tuple(str(item) for item in items)
    if (nul := next((name for name in names if "\0" in name), None)) is not None:
        raise UserError(f"the name {shown(nul)} holds a NUL character", path)
    if (twice := repeated(names)) is not None:
        raise UserError(f"{what} {shown(twice)} is named twice", path)
    return names


def match_columns(request: StreamRequest, names: Any, shape: tuple[int, ...]) -> IntArray | None:
    """Return the places of the selected features among the columns; None where they are the columns as they stand."""
    path, selection = request.path, request.selection
    if len(shape) != 2:
        raise UserError(f"X must be a matrix, found {len(shape)} dimensions", path)
    if names is None:
        if shape[1] != len(selection.features):
            owner, expected = selection.owner, len(selection.features)
            raise UserError(f"X has {shape[1]} columns without names, {owner} takes {expected} features", path)
        return None
    columns = names_of(path, "feature", names)
    if len(columns) != shape[1]:
        raise UserError(f"{len(columns)} feature names for {shape[1]} features", path)
    take, notes = selection.match(columns, path)
    request.notes.extend(notes)
    return None if np.array_equal(take, np.arange(shape[1])) else take


def stream_matrix(path: Path, blocks: Iterator[Any], take: IntArray | None) -> Iterator[Features]:
    """Yield blocks of rows as float64 matrices of the selected columns; refuse a file without rows."""
    empty = True
    for block in blocks:
        empty = False
        X = real_matrix(path, "X", block)
        yield X if take is None else X[:, take]
    if empty:
        raise UserError("holds no rows", path)


def error_text(error: Exception) -> str:
    """Return what a library says about a damaged file, in one line."""
    return " ".join(f"{type(error).__name__} {str(error)[:MOST_QUOTED]}".split())[:MOST_QUOTED]


def _check_matrix(path: Path, name: str, value: Any) -> None:
    if value.ndim != 2 or value.dtype.kind not in "biuf":
        raise UserError(f"{name} must be a matrix of numbers, found {value.dtype} of {value.ndim} dimensions", path)
    if 0 in value.shape:
        raise UserError(f"{name} is empty: its shape is {value.shape}", path)
    if value.dtype.itemsize > 8:
        raise UserError(f"{name} holds {value.dtype}: numbers of more than 64 bits are not supported", path)
    if issparse(value):
        # A damaged file may hold indices beyond the matrix, and the library's conversions trust them.
        try:
            value.check_format(full_check=True)
        except (ValueError, TypeError, IndexError) as error:
            raise UserError(f"{name} is no valid sparse matrix: {error_text(error)}", path) from error
        if value.format != "csr":  # few columns may stand for rows without end
            check_room(8.0 * value.shape[0] + 16.0 * value.nnz, f"{name} {value.shape}", path)


def stacked_matrix(path: Path, parts: Sequence[tuple[str, Any]]) -> Features:
    """Return named matrices one below the other as float64, each entry copied once at most.

    Raises
    ------
    UserError
        If one is no matrix of finite numbers, or empty, or the numbers of columns differ.
    """
    for name, value in parts:
        _check_matrix(path, name, value)
        check_columns(value.shape[1], "feature", path)
        _check_whole(path, name, value)
    matrices = [value for _, value in parts]
    widths = {value.shape[1] for value in matrices}
    if len(widths) > 1:
        raise UserError(_different("features", widths), path)
    _check_copies(path, matrices)
    X: Any
    if any(map(issparse, matrices)):
        converted = [csr_array(value, dtype=np.float64) for value in matrices]
        X = converted[0] if len(converted) == 1 else csr_array(vstack(converted))
    elif len(matrices) == 1:
        X = np.ascontiguousarray(matrices[0], np.float64)
    else:
        X = np.concatenate(matrices, out=np.empty((sum(map(len, matrices)), *widths)), casting="unsafe")
    stop = 0
    for name, value in parts:
        start, stop = stop, stop + value.shape[0]
        part = X.data[X.indptr[start] : X.indptr[stop]] if issparse(X) else X[start:stop]
        if np.isinf(part).any():
            raise UserError(f"{name} holds infinite numbers", path)
    if issparse(X):
        X.sum_duplicates()
        X.eliminate_zeros()
    return X


def _check_whole(path: Path, name: str, value: Any) -> None:
    """Refuse whole numbers that are no 64-bit floating-point numbers; they would be rounded."""
    numbers = value.data if issparse(value) else value
    if numbers.dtype.kind not in "iu" or numbers.dtype.itemsize < 8 or numbers.size == 0:
        return
    for number in (int(numbers.min()), int(numbers.max())):
        check_whole_number(path, name, number)


def check_whole_number(path: Path, what: str, number: int) -> None:
    """Refuse a whole number that is no 64-bit floating-point number."""
    if abs(number) > MOST_WHOLE:
        raise UserError(f"{what} holds the whole number {number}: beyond 2^53 they would be rounded", path)


def _check_copies(path: Path, matrices: Sequence[Any]) -> None:
    """Refuse matrices whose copy as float64 in rows would not fit into memory."""
    n_bytes = 0
    for value in matrices:
        if issparse(value):
            n_bytes += 16 * value.nnz + 8 * value.shape[0]
        elif value.dtype != np.float64 or not value.flags.c_contiguous or len(matrices) > 1:
            n_bytes += 8 * value.size
    names = NAME_BYTES * matrices[0].shape[1]
    check_room(n_bytes + names, f"X of {sum(value.shape[0] for value in matrices)} rows", path)


def _different(what: str, widths: set[int]) -> str:
    return f"the parts have different numbers of {what}: {', '.join(map(str, sorted(widths)))}"


def _labels_below(labels: Sequence[tuple[LabelMatrix, BoolArray | None]]) -> tuple[LabelMatrix, BoolArray | None]:
    Y = stacked_labels([part for part, _ in labels])
    if all(known is None for _, known in labels):
        return Y, None
    return Y, np.vstack([np.ones(part.shape, np.bool_) if known is None else known for part, known in labels])


def _filled(
    source: Source, X: Features, n_train: int, names: tuple[str, ...], official: tuple[IntArray, IntArray] | None
) -> FilledFeatures:
    rows, columns = nan_places(X)
    if rows.size and source.impute is None:
        message = f"row {rows[0] + 1}: the value of {shown(names[columns[0]])} is missing (NaN)"
        raise UserError(f"{message}: set impute to mean, median or zero to have it filled", source.parts[0])
    if official is not None and source.impute in ("mean", "median"):
        if rows.size:
            raise UserError("only impute: zero is possible where train and test are row numbers", source.parts[0])
        return FilledFeatures(X, None, [])
    if rows.size:
        X = X.copy() if issparse(X) or not X.flags.writeable else X
        np.nan_to_num(X.data if issparse(X) else X, copy=False)
    missing, none = MissingValues(), np.zeros(0, np.int64)
    missing.add_cells((rows, columns), (none, none))
    return missing.fill(X, source.impute, n_train, names)
