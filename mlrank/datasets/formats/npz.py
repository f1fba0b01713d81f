"""NumPy's .npz: X, or the parts of a sparse X, with Y and what belongs to them, as named arrays.

X may also be the only array of a .npy file, with the labels in a file of their own.
"""

import math
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from mlrank.arrays import Features, IntArray
from mlrank.datasets.dataset import Dataset
from mlrank.datasets.formats.arrays import (
    arrays_dataset,
    error_text,
    label_matrix,
    match_columns,
    only_part,
    real_matrix,
    stacked_matrix,
    stream_matrix,
)
from mlrank.datasets.formats.base import Format, LoadOptions, Source, StreamRequest, WriteJob
from mlrank.datasets.formats.frames import labels_elsewhere
from mlrank.datasets.formats.frames.labels import LabelsRead
from mlrank.datasets.formats.room import check_columns
from mlrank.datasets.formats.text import file_stem, shown
from mlrank.errors import UserError, os_errors, unknown_name
from mlrank.labels import dense_labels
from mlrank.room import check_room

__all__ = ["NPZ"]

_SPARSE = ("X_data", "X_indices", "X_indptr", "X_shape")
_SPARSE_LABELS = ("Y_indices", "Y_indptr", "Y_shape")
_ARRAYS = ("X", *_SPARSE, "Y", *_SPARSE_LABELS, "known", "label_names", "feature_names", "train", "test")
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
# Bytes that are unpacked at a time.
_PIECE = 1 << 18


def _read(source: Source) -> Dataset:
    """Read X, Y and, where given, known, names and the rows train and test.

    In place of X there may be the parts of a sparse matrix, X_data, X_indices, X_indptr and X_shape; in place of Y the
    places of its ones, Y_indices, Y_indptr and Y_shape.

    Raises
    ------
    UserError
        If an array is missing, unknown, or not of the right kind.
    """
    if _is_single(source.parts[0]):
        return _read_single(source)
    path = only_part(source)
    labels = _labels(source)
    with _opened(path) as archive:
        for name in archive.members:
            if name not in _ARRAYS:
                raise UserError(unknown_name("array", name, _ARRAYS), path)
        X = real_matrix(path, "X", archive.read("X") if "X" in archive.members else _sparse_matrix(archive))
        if labels is not None:
            if "Y" in archive.members or "Y_indices" in archive.members:
                raise UserError("holds Y, and labels names another file of them: give one of the two", path)
            return _with_labels(source, X, labels, archive.get("feature_names"), _official(archive, X.shape[0]))
        sparse = "Y" not in archive.members and "Y_indices" in archive.members
        Y, known = label_matrix(path, "Y", _sparse_labels(archive) if sparse else archive.read("Y"))
        if "known" in archive.members:
            mask, hidden = label_matrix(path, "known", archive.read("known"))
            if hidden is not None or known is not None:
                raise UserError("where known says which entries are known, both known and Y must hold 0 and 1", path)
            if mask.shape != Y.shape:
                raise UserError(f"known has shape {mask.shape}, Y has shape {Y.shape}", path)
            Y, known = dense_labels(Y) & mask, mask
        official = _official(archive, X.shape[0])
        names = archive.get("label_names"), archive.get("feature_names")
    return arrays_dataset(source, X, [(Y, known)], *names, official)


def _is_single(path: Path) -> bool:
    """Return whether a file holds one array alone."""
    if file_stem(path)[1] != ".npy":
        return False
    with os_errors("read the file", path), open(path, "rb") as file:
        if file.read(6) == b"\x93NUMPY":
            return True
    raise UserError("cannot be read as .npy: it does not begin as such a file does", path)


def _read_single(source: Source) -> Dataset:
    """Read features from files of one array each, and labels from others."""
    labels = _labels(source)
    if labels is None:
        message = "an array of features alone: set labels to the file of the labels, such as Y.npy or labels.csv"
        raise UserError(message, source.parts[0])
    parts = [(path.name, _array(path)) for path in source.parts]
    X = stacked_matrix(source.parts[0], parts)
    for path, (_, part), (Y, _) in zip(source.parts, parts, labels.parts, strict=True):
        if part.shape[0] != Y.shape[0]:
            raise UserError(f"has {part.shape[0]} rows, its labels {Y.shape[0]}", path)
    return _with_labels(source, X, labels, None, None)


def _labels(source: Source) -> LabelsRead | None:
    """Return the labels of a file of their own; None if there is none."""
    return labels_elsewhere(source) if source.labels is not None else None


def _with_labels(
    source: Source, X: Features, labels: LabelsRead, names: Any, official: tuple[IntArray, IntArray] | None
) -> Dataset:
    bare = replace(source, labels=None)
    data = arrays_dataset(bare, X, labels.parts, np.array(labels.names), names, official)
    return replace(data, notes=(*labels.notes, *data.notes))


def _array(path: Path) -> Any:
    """Return the array of a .npy file, which stays on the disk until it is looked at."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # what a damaged file makes the library raise is not documented
        raise UserError(f"cannot be read as .npy: {error_text(error)}", path) from error
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise UserError(f"X must be a matrix of numbers, found {array.dtype} of shape {array.shape}", path)
    return array


class _NpzMember(NamedTuple):
    """An array of an .npz file whose entries are still to be read."""

    file: IO[bytes]
    shape: tuple[int, ...]
    by_column: bool
    dtype: Any

    def read(self, count: int) -> Any:
        """Return the next entries, flat."""
        content = np.empty(count * self.dtype.itemsize, np.uint8)
        view, at = content.data, 0
        while at < len(content):
            piece = self.file.read(min(_PIECE, len(content) - at))
            if not piece:
                raise EOFError("an array ends too soon")
            view[at : at + len(piece)] = piece
            at += len(piece)
        return content.view(self.dtype)

    def read_all(self) -> Any:
        """Return the whole array."""
        array = self.read(math.prod(self.shape)).reshape(self.shape, order="F" if self.by_column else "C")
        # Behind the last byte the sum over all is checked.
        self.file.read(1)
        return array


class _Archive:
    """The arrays of an .npz file by name, each read when it is asked for."""

    def __init__(self, path: Path, file: zipfile.ZipFile, stack: ExitStack) -> None:
        self.path, self.file, self.stack = path, file, stack
        self.members: dict[str, zipfile.ZipInfo] = {}
        for member in file.infolist():
            name = member.filename.removesuffix(".npy")
            if name in self.members:
                raise UserError(f"holds two arrays of the name {shown(name)}", path)
            self.members[name] = member

    def open(self, name: str) -> _NpzMember:
        """Open an array; what it says of itself must fit its size, and the memory that there is."""
        if name not in self.members:
            there = ", ".join(map(str, islice(self.members, len(_ARRAYS)))) or "none"
            raise UserError(f"lacks the array {name}; it holds {there}", self.path)
        member = self.members[name]
        file = self.stack.enter_context(self.file.open(member))
        version = np.lib.format.read_magic(file)
        if version not in _HEADERS:
            raise ValueError(f"{name} is of version {version} of the npy format")
        shape, by_column, dtype = _HEADERS[version](file)
        if dtype.hasobject or dtype.itemsize == 0:
            raise ValueError(f"{name} holds {dtype}, not numbers or text")
        size = math.prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or size != member.file_size - file.tell():
            raise ValueError(f"{name} has the shape {shape}, which does not fit its size")
        return _NpzMember(file, shape, by_column, dtype)

    def read(self, name: str) -> Any:
        """Return an array."""
        member = self.open(name)
        check_room(math.prod(member.shape) * member.dtype.itemsize, f"{name} of shape {member.shape}", self.path)
        return member.read_all()

    def get(self, name: str) -> Any:
        """Return an array, or None if there is none of the name."""
        return self.read(name) if name in self.members else None


@contextmanager
def _opened(path: Path) -> Iterator[_Archive]:
    """Open a file; whatever goes wrong with it in the block becomes a UserError."""
    try:
        with open(path, "rb") as file, ExitStack() as stack:
            if file.read(6) == b"\x93NUMPY":
                raise UserError("holds a single array, not an archive of named ones", path)
            yield _Archive(path, stack.enter_context(zipfile.ZipFile(file)), stack)
    except FileNotFoundError as error:
        raise UserError("no such file", path) from error
    except UserError:
        raise
    except Exception as error:  # a damaged archive reaches many parts of the library
        raise UserError(f"cannot be read as .npz: {error_text(error)}", path) from error


def _official(archive: _Archive, n_samples: int) -> tuple[IntArray, IntArray] | None:
    path = archive.path
    if ("train" in archive.members) != ("test" in archive.members):
        raise UserError("train and test go together", path)
    if "train" not in archive.members:
        return None
    rows = [archive.read(name) for name in ("train", "test")]
    if any(part.ndim != 1 or part.dtype.kind not in "iu" for part in rows):
        raise UserError("train and test must be lists of row numbers", path)
    if not np.array_equal(np.sort(np.concatenate(rows)), np.arange(n_samples)) or not all(part.size for part in rows):
        raise UserError(f"train and test must hold each of the rows 0 to {n_samples - 1} once", path)
    return rows[0].astype(np.int64), rows[1].astype(np.int64)


def _sparse_matrix(archive: _Archive) -> csr_array:
    data, indices, indptr, shape = (archive.read(name) for name in _SPARSE)
    n_rows, n_columns = _sparse_shape(archive.path, (indices, indptr), shape)
    check_room(16.0 * n_rows, f"X of {n_rows} rows", archive.path)
    try:
        return csr_array((data, indices, indptr), shape=(n_rows, n_columns))
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise UserError(
            f"X_data, X_indices, X_indptr and X_shape are no CSR matrix: {error_text(error)}", archive.path
        ) from error


def _sparse_labels(archive: _Archive) -> csr_array:
    indices, indptr, shape = (archive.read(name) for name in _SPARSE_LABELS)
    n_rows, n_columns = _sparse_shape(archive.path, (indices, indptr), shape, "label")
    check_room(16.0 * n_rows, f"Y of {n_rows} rows", archive.path)
    try:
        return csr_array((np.ones(len(indices), np.bool_), indices, indptr), shape=(n_rows, n_columns))
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        message = f"{', '.join(_SPARSE_LABELS)} are no CSR matrix: {error_text(error)}"
        raise UserError(message, archive.path) from error


def _sparse_shape(path: Path, numbers: tuple[Any, Any], shape: Any, what: str = "feature") -> tuple[int, int]:
    """Return the shape of a sparse X or Y; it, indices and starts of rows must be whole numbers."""
    names = _SPARSE[1:] if what == "feature" else _SPARSE_LABELS
    for name, part in zip(names, (*numbers, shape), strict=True):
        if part.dtype.kind not in "iu":
            raise UserError(f"{name} must hold whole numbers, found {part.dtype}", path)
    if shape.shape != (2,) or shape.min() < 0:
        found = shown(str(shape.tolist()))
        raise UserError(f"{names[-1]} must hold the numbers of rows and columns, found {found}", path)
    n_rows, n_columns = map(int, shape)
    check_columns(n_columns, what, path)
    return n_rows, n_columns


def _stream(request: StreamRequest) -> Iterator[Features]:
    """Yield X, or X_data with X_indices, X_indptr and X_shape, of an .npz file; its other arrays are ignored.

    Raises
    ------
    UserError
        If X is missing, damaged, or has other columns than those selected.
    """
    path = request.path
    if _is_single(path):
        array = _array(path)
        take = match_columns(request, None, array.shape)
        blocks = (array[start : start + request.rows] for start in range(0, len(array), request.rows))
        yield from stream_matrix(path, blocks, take)
        return
    with _opened(path) as archive:
        names = archive.get("feature_names")
        if "X" in archive.members:
            X = _numbers(archive.open("X"))
            take = match_columns(request, names, X.shape)
            check_room(X.dtype.itemsize * X.shape[1] * min(request.rows, X.shape[0]), f"rows of {X.shape}", path)
            yield from stream_matrix(path, _dense_blocks(path, X, request.rows), take)
        elif set(_SPARSE) <= archive.members.keys():
            yield from _stream_sparse(request, archive, names)
        else:
            raise UserError(f"holds neither X nor {', '.join(_SPARSE)}", path)


def _numbers(member: _NpzMember) -> _NpzMember:
    if member.dtype.kind not in "biuf":
        raise ValueError(f"an array holds {member.dtype}, not numbers")
    return member


def _dense_blocks(path: Path, X: _NpzMember, rows: int) -> Iterator[Any]:
    n, width = X.shape
    if X.by_column:
        # Rows lie scattered over the file, so all of it is read.
        check_room(n * width * X.dtype.itemsize, f"X of shape {X.shape}", path)
        whole = X.read(n * width).reshape((width, n)).T
        yield from (whole[start : start + rows] for start in range(0, n, rows))
        return
    for start in range(0, n, rows):
        count = min(rows, n - start)
        yield X.read(count * width).reshape(count, width)


def _stream_sparse(request: StreamRequest, archive: _Archive, names: Any) -> Iterator[Features]:
    path = request.path
    data, indices = (_numbers(archive.open(name)) for name in _SPARSE[:2])
    indptr, extents = (archive.read(name) for name in _SPARSE[2:])
    shape = _sparse_shape(path, (indices, indptr), extents)
    take = match_columns(request, names, shape)
    indptr = indptr.astype(np.int64)
    if indptr.shape != (shape[0] + 1,) or indptr[0] != 0 or (np.diff(indptr) < 0).any():
        raise UserError("X_indptr is not that of a CSR matrix", path)

    def blocks() -> Iterator[Any]:
        start = 0
        # Sparse rows are many before they are large: as many as hold so many entries.
        room = request.rows * max(len(request.selection.features) // 8, 1)
        while start < shape[0]:
            stop = max(start + 1, int(np.searchsorted(indptr, indptr[start] + room, side="right")) - 1)
            stop = min(stop, start + (1 << 20), shape[0])
            part = indptr[start : stop + 1] - indptr[start]
            count = int(part[-1])
            entries = (data.read(count), indices.read(count))
            yield csr_array((*entries, part), shape=(stop - start, shape[1]))
            start = stop

    yield from stream_matrix(path, blocks(), take)


def _write(job: WriteJob) -> LoadOptions:
    data = job.dataset
    arrays: dict[str, Any] = {"Y": data.Y}
    if issparse(data.Y):
        arrays = {"Y_indices": data.Y.indices, "Y_indptr": data.Y.indptr, "Y_shape": data.Y.shape}
    if issparse(data.X):
        parts = {"data": data.X.data, "indices": data.X.indices, "indptr": data.X.indptr, "shape": data.X.shape}
        arrays |= {f"X_{name}": part for name, part in parts.items()}
    else:
        arrays["X"] = data.X
    if data.known is not None:
        arrays["known"] = data.known
    if data.official is not None:
        arrays |= {"train": data.official[0], "test": data.official[1]}
    arrays |= {"label_names": np.array(data.label_names), "feature_names": np.array(data.feature_names)}
    with open(job.train, "wb") as file:
        np.savez_compressed(file, **arrays)
    return {"format": "npz"}


NPZ = Format(
    key="npz",
    endings=(".npz", ".npy"),
    options=("labels", "features", "impute"),
    read=_read,
    stream=_stream,
    write=_write,
    written=".npz",
)
