"""The rows of .npz, Parquet and MATLAB files block by block, their columns as wanted."""

import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from mlrank.arrays import IntArray
from mlrank.datasets.arrayfiles import names_of, real_matrix
from mlrank.datasets.files import shown
from mlrank.datasets.matfile import read_variables
from mlrank.datasets.wanted import Wanted
from mlrank.errors import UserError
from mlrank.stored import DAMAGED

__all__ = ["mat_rows", "npz_rows", "parquet_rows"]

_UNREADABLE: tuple[type[Exception], ...] = (*DAMAGED, MemoryError)
_SPARSE = ("X_data", "X_indices", "X_indptr", "X_shape")
_READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


class _Member(NamedTuple):
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


def npz_rows(path: Path, wanted: Wanted, rows: int, notes: list[str]) -> Iterator[Any]:
    """Yield X, or X_data with X_indices, X_indptr and X_shape, of an .npz file; its other arrays are passed over.

    Raises
    ------
    UserError
        If X is missing, damaged, or has other columns than those wanted.
    """
    try:
        with zipfile.ZipFile(path) as archive, ExitStack() as stack:
            there = {name.removesuffix(".npy") for name in archive.namelist()}
            names = _text(archive, "feature_names") if "feature_names" in there else None
            if "X" in there:
                X = _open(archive, stack, "X")
                take = _columns(path, wanted, names, X.shape, notes)
                yield from _dense(path, X, rows, take)
            elif set(_SPARSE) <= there:
                yield from _sparse(path, archive, stack, wanted, names, rows, notes)
            else:
                raise UserError(f"holds neither X nor {', '.join(_SPARSE)}", path)
    except FileNotFoundError as error:
        raise UserError("no such file", path) from error
    except _UNREADABLE as error:
        told = " ".join(f"{type(error).__name__} {error}".split())[:160]
        raise UserError(f"cannot be read as .npz: {told}", path) from error


def _open(archive: zipfile.ZipFile, stack: ExitStack, name: str) -> _Member:
    file = stack.enter_context(archive.open(f"{name}.npy"))
    version = np.lib.format.read_magic(file)
    if version not in _READERS:
        raise ValueError(f"{name} is of version {version} of the npy format")
    shape, by_column, dtype = _READERS[version](file)
    if dtype.kind not in "biuf":
        raise ValueError(f"{name} holds {dtype}, not numbers")
    return _Member(file, shape, by_column, dtype)


def _text(archive: zipfile.ZipFile, name: str) -> Any:
    with archive.open(f"{name}.npy") as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _columns(path: Path, wanted: Wanted, names: Any, shape: tuple[int, ...], notes: list[str]) -> IntArray | None:
    """Return the places of the features among the columns; None where they are the columns as they stand."""
    if len(shape) != 2:
        raise UserError(f"X must be a matrix, found {len(shape)} dimensions", path)
    if names is None:
        if shape[1] != len(wanted.features):
            message = f"X has {shape[1]} columns without names, {wanted.who} takes {len(wanted.features)} features"
            raise UserError(message, path)
        return None
    found = names_of(path, "feature", names)
    if len(found) != shape[1]:
        raise UserError(f"{len(found)} feature names for {shape[1]} features", path)
    take, said = wanted.match(found, path)
    notes += said
    return None if np.array_equal(take, np.arange(shape[1])) else take


def _dense(path: Path, X: _Member, rows: int, take: IntArray | None) -> Iterator[Any]:
    n, width = X.shape
    if X.by_column:
        # Rows lie scattered over the file, so all of it is read.
        whole = X.read(n * width).reshape((width, n)).T
        yield from _taken(path, (whole[start : start + rows] for start in range(0, n, rows)), take)
        return
    counts = (min(rows, n - start) for start in range(0, n, rows))
    yield from _taken(path, (X.read(count * width).reshape(count, width) for count in counts), take)


def _taken(path: Path, blocks: Iterator[Any], take: IntArray | None) -> Iterator[Any]:
    empty = True
    for block in blocks:
        empty = False
        X = real_matrix(path, "X", block)
        yield X if take is None else X[:, take]
    if empty:
        raise UserError("holds no rows", path)


def _sparse(
    path: Path,
    archive: zipfile.ZipFile,
    stack: ExitStack,
    wanted: Wanted,
    names: Any,
    rows: int,
    notes: list[str],
) -> Iterator[Any]:
    data, indices, indptr_of, shape_of = (_open(archive, stack, name) for name in _SPARSE)
    shape = tuple(int(extent) for extent in shape_of.read(int(np.prod(shape_of.shape))))
    take = _columns(path, wanted, names, shape, notes)
    indptr = indptr_of.read(int(np.prod(indptr_of.shape))).astype(np.int64)
    if len(indptr) != shape[0] + 1 or indptr[0] != 0 or (np.diff(indptr) < 0).any():
        raise UserError("X_indptr is not that of a CSR matrix", path)

    def blocks() -> Iterator[Any]:
        start = 0
        while start < shape[0]:
            # Sparse rows are many before they are large: as many as hold so many entries.
            most = indptr[start] + max(rows, 1) * max(len(wanted.features) // 8, 1)
            stop = min(
                max(start + 1, int(np.searchsorted(indptr, most, side="right")) - 1), start + (1 << 20), shape[0]
            )
            part = indptr[start : stop + 1] - indptr[start]
            count = int(part[-1])
            # Copied, for what puts the columns in order writes to them.
            entries = (data.read(count).copy(), indices.read(count).copy())
            yield csr_array((*entries, part), shape=(stop - start, shape[1]))
            start = stop

    yield from _taken(path, blocks(), take)


def parquet_rows(path: Path, wanted: Wanted, rows: int, notes: list[str]) -> Iterator[Any]:
    """Yield the columns wanted of a Parquet file.

    Raises
    ------
    UserError
        If pyarrow is not installed, a column is missing or holds something else than numbers.
    """
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise UserError("Parquet needs the package pyarrow: install mlrank[parquet]", path) from error
    features, empty = list(wanted.features), True
    try:
        with ParquetFile(path) as file:
            notes += wanted.match(list(file.schema_arrow.names), path)[1]
            for batch in file.iter_batches(batch_size=rows, columns=features):
                table = batch.to_pandas()[features]
                for name, dtype in table.dtypes.items():
                    if dtype.kind not in "biuf":
                        raise UserError(f"column {shown(str(name))} holds {dtype}, not numbers", path)
                empty = False
                yield table.to_numpy(np.float64, na_value=np.nan)
    except UserError:
        raise
    except FileNotFoundError as error:
        raise UserError("no such file", path) from error
    except Exception as error:  # what a damaged file makes the library raise is not documented
        raise UserError(f"cannot be read as Parquet: {' '.join(str(error).split())[:200]}", path) from error
    if empty:
        raise UserError("holds no rows", path)


def mat_rows(path: Path, wanted: Wanted, rows: int, notes: list[str]) -> Iterator[Any]:
    """Yield the variable X of a MATLAB file, which is read whole.

    Raises
    ------
    UserError
        If X is missing or has other columns than those wanted.
    """
    found = read_variables(path)
    X = found.get("X")
    if not (issparse(X) or (isinstance(X, np.ndarray) and X.dtype == np.float64)):
        raise UserError(f"has no matrix X; it holds {', '.join(found) or 'nothing'}", path)
    notes.append("a MATLAB file is read whole, not block by block")
    matrix = real_matrix(path, "X", X)
    take = _columns(path, wanted, found.get("feature_names"), matrix.shape, notes)
    yield from _taken(path, (matrix[start : start + rows] for start in range(0, matrix.shape[0], rows)), take)
