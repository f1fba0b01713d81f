"""NumPy's .npz: X, or the parts of a sparse X, with Y and what belongs to them, as named arrays."""

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
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
    stream_matrix,
)
from mlrank.datasets.formats.base import Format, LoadOptions, Source, StreamRequest, WriteJob
from mlrank.errors import UserError, unknown_name
from mlrank.stored import DAMAGED

__all__ = ["NPZ"]

_SPARSE = ("X_data", "X_indices", "X_indptr", "X_shape")
_ARRAYS = ("X", *_SPARSE, "Y", "known", "label_names", "feature_names", "train", "test")
_UNREADABLE: tuple[type[Exception], ...] = (*DAMAGED, MemoryError)
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def _read(source: Source) -> Dataset:
    """Read X (or X_data, X_indices, X_indptr, X_shape), Y and, where given, known, names and the rows train and test.

    Raises
    ------
    UserError
        If an array is missing, unknown, or not of the right kind.
    """
    path = only_part(source)
    arrays = _load(path)
    for name in arrays:
        if name not in _ARRAYS:
            raise UserError(unknown_name("array", name, _ARRAYS), path)
    X = real_matrix(path, "X", arrays["X"] if "X" in arrays else _sparse_matrix(path, arrays))
    Y, known = label_matrix(path, "Y", _array(path, arrays, "Y"))
    if "known" in arrays:
        mask, hidden = label_matrix(path, "known", arrays["known"])
        if hidden is not None or known is not None:
            raise UserError("where known says which entries are known, both known and Y must hold 0 and 1", path)
        if mask.shape != Y.shape:
            raise UserError(f"known has shape {mask.shape}, Y has shape {Y.shape}", path)
        Y, known = Y & mask, mask
    official = _official(path, arrays, X.shape[0])
    names = arrays.get("label_names"), arrays.get("feature_names")
    return arrays_dataset(source, X, [(Y, known)], *names, official)


def _array(path: Path, arrays: Mapping[str, Any], name: str) -> Any:
    if name not in arrays:
        raise UserError(f"lacks the array {name}; it holds {', '.join(arrays) or 'none'}", path)
    return arrays[name]


def _load(path: Path) -> dict[str, Any]:
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
        raise UserError(f"cannot be read as .npz: {error_text(error)}", path) from error
    except UserError:
        raise
    except Exception as error:  # a damaged archive reaches many parts of the library
        raise UserError(f"cannot be read as .npz: {error_text(error)}", path) from error


def _official(path: Path, arrays: Mapping[str, Any], n_samples: int) -> tuple[IntArray, IntArray] | None:
    if ("train" in arrays) != ("test" in arrays):
        raise UserError("train and test go together", path)
    if "train" not in arrays:
        return None
    rows = [arrays[name] for name in ("train", "test")]
    if any(part.ndim != 1 or part.dtype.kind not in "iu" for part in rows):
        raise UserError("train and test must be lists of row numbers", path)
    if not np.array_equal(np.sort(np.concatenate(rows)), np.arange(n_samples)) or not all(part.size for part in rows):
        raise UserError(f"train and test must hold each of the rows 0 to {n_samples - 1} once", path)
    return rows[0].astype(np.int64), rows[1].astype(np.int64)


def _sparse_matrix(path: Path, arrays: Mapping[str, Any]) -> csr_array:
    data, indices, indptr, shape = (_array(path, arrays, name) for name in _SPARSE)
    try:
        return csr_array((data, indices, indptr), shape=tuple(int(size) for size in np.ravel(shape)))
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise UserError(
            f"X_data, X_indices, X_indptr and X_shape are no CSR matrix: {error_text(error)}", path
        ) from error


class _NpzMember(NamedTuple):
    """An array of an .npz file whose entries are still to be read."""

    file: IO[bytes]
    shape: tuple[int, ...]
    by_column: bool
    dtype: Any

    def read(self, count: int) -> Any:
        """Return the next entries, flat."""
        content = self.file.read(count * self.dtype.itemsize)
        if len(content) != count * self.dtype.itemsize:
            raise EOFError("an array ends too soon")
        return np.frombuffer(content, self.dtype)


def _stream(request: StreamRequest) -> Iterator[Features]:
    """Yield X, or X_data with X_indices, X_indptr and X_shape, of an .npz file; its other arrays are ignored.

    Raises
    ------
    UserError
        If X is missing, damaged, or has other columns than those selected.
    """
    path = request.path
    try:
        with zipfile.ZipFile(path) as archive, ExitStack() as stack:
            there = {name.removesuffix(".npy") for name in archive.namelist()}
            names = _text(archive, "feature_names") if "feature_names" in there else None
            if "X" in there:
                X = _open(archive, stack, "X")
                yield from stream_matrix(path, _dense_blocks(X, request.rows), match_columns(request, names, X.shape))
            elif set(_SPARSE) <= there:
                yield from _stream_sparse(request, archive, stack, names)
            else:
                raise UserError(f"holds neither X nor {', '.join(_SPARSE)}", path)
    except FileNotFoundError as error:
        raise UserError("no such file", path) from error
    except _UNREADABLE as error:
        raise UserError(f"cannot be read as .npz: {error_text(error)}", path) from error


def _open(archive: zipfile.ZipFile, stack: ExitStack, name: str) -> _NpzMember:
    file = stack.enter_context(archive.open(f"{name}.npy"))
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"{name} is of version {version} of the npy format")
    shape, by_column, dtype = _HEADERS[version](file)
    if dtype.kind not in "biuf":
        raise ValueError(f"{name} holds {dtype}, not numbers")
    return _NpzMember(file, shape, by_column, dtype)


def _text(archive: zipfile.ZipFile, name: str) -> Any:
    with archive.open(f"{name}.npy") as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _dense_blocks(X: _NpzMember, rows: int) -> Iterator[Any]:
    n, width = X.shape
    if X.by_column:
        # Rows lie scattered over the file, so all of it is read.
        whole = X.read(n * width).reshape((width, n)).T
        yield from (whole[start : start + rows] for start in range(0, n, rows))
        return
    for start in range(0, n, rows):
        count = min(rows, n - start)
        yield X.read(count * width).reshape(count, width)


def _stream_sparse(
    request: StreamRequest, archive: zipfile.ZipFile, stack: ExitStack, names: Any
) -> Iterator[Features]:
    path = request.path
    data, indices, indptr_of, shape_of = (_open(archive, stack, name) for name in _SPARSE)
    shape = tuple(int(extent) for extent in shape_of.read(int(np.prod(shape_of.shape))))
    take = match_columns(request, names, shape)
    indptr = indptr_of.read(int(np.prod(indptr_of.shape))).astype(np.int64)
    if len(indptr) != shape[0] + 1 or indptr[0] != 0 or (np.diff(indptr) < 0).any():
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
            # Copied, for what puts the columns in order writes to them.
            entries = (data.read(count).copy(), indices.read(count).copy())
            yield csr_array((*entries, part), shape=(stop - start, shape[1]))
            start = stop

    yield from stream_matrix(path, blocks(), take)


def _write(job: WriteJob) -> LoadOptions:
    data = job.dataset
    arrays: dict[str, Any] = {"Y": data.Y}
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
    endings=(".npz",),
    options=("labels", "features", "impute"),
    read=_read,
    stream=_stream,
    write=_write,
    written=".npz",
)
