"""MATLAB's MAT-files of level 5 (versions 5 to 7): matrices, sparse matrices, text and cells of text.

Written for files that may be damaged: every size is checked against what is there before it is used. The layout is
that of "MAT-File Format", The MathWorks: a header of 128 bytes, then data elements, each a tag (type, number of
bytes) and its content, padded to 8 bytes.
"""

import os
import zlib
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy.sparse import csc_array, issparse

from mlrank.arrays import Features
from mlrank.datasets.dataset import Dataset
from mlrank.datasets.formats.arrays import (
    arrays_dataset,
    is_matrix,
    label_matrix,
    match_columns,
    only_part,
    real_matrix,
    stacked_matrix,
    stream_matrix,
)
from mlrank.datasets.formats.base import Format, LoadOptions, Source, StreamRequest, WriteJob
from mlrank.datasets.formats.text import shown
from mlrank.errors import UserError, unknown_name
from mlrank.hardware import available_memory

__all__ = ["MAT", "VARIABLES", "read_variables"]

VARIABLES = ("X", "Y", "X_test", "Y_test")
_HEADER = 128
_MATRIX, _COMPRESSED = 14, 15
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_TEXT = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16"}
_CELL, _STRUCT_LIKE, _CHAR, _SPARSE = 1, (2, 3, 16, 17), 4, 5
_COMPLEX = 0x0800
# A compressed variable may not grow beyond this many bytes.
MOST_BYTES = 1 << 31
_PIECE = 1 << 16
MOST_DIMENSIONS, MOST_EXTENT = 32, 2**31 - 1
_NAMES = ("label_names", "feature_names")


def _read(source: Source) -> Dataset:
    """Read the variables that `source.variables` names as X, Y, X_test and Y_test; a name with ' is transposed.

    Labels are 0 and 1, or -1 and 1 with 0 for an unknown entry. label_names and feature_names are used where they are.

    Raises
    ------
    UserError
        If a variable is missing or not of the right kind, or rows of X and Y differ in number.
    """
    path = only_part(source)
    given = [name.removesuffix("'") for name in (source.variables or {}).values()]
    variables = read_variables(path, {*(given or VARIABLES), *_NAMES})
    names = dict(source.variables or {name: name for name in VARIABLES if name in variables})
    for role in names:
        if role not in VARIABLES:
            raise UserError(unknown_name("role of a variable", role, VARIABLES), path)
    if not {"X", "Y"} <= names.keys() or ("X_test" in names) != ("Y_test" in names):
        matrices = (entry for entry in variables.items() if is_matrix(entry[1]) or isinstance(entry[1], _Unread))
        there = ", ".join(f"{name} {value.shape}" for name, value in matrices)
        example = 'variables: {X: data, Y: "target\'"}'
        message = f"say which variables hold X and Y, and X_test and Y_test, as in {example}"
        raise UserError(f"{message}. There are: {there or 'none'}", path)
    features, labels = [], []
    for suffix in ("", "_test") if "X_test" in names else ("",):
        X, Y = (_named(path, variables, names[role + suffix]) for role in ("X", "Y"))
        labels.append(label_matrix(path, names["Y" + suffix], Y))
        if X.shape[0] != Y.shape[0]:
            there = f"{names['X' + suffix]} has {X.shape[0]} rows, {names['Y' + suffix]} has {Y.shape[0]}"
            raise UserError(f"{there}; write a ' behind a variable's name to transpose it", path)
        features.append((names["X" + suffix], X))
    X = stacked_matrix(path, features)
    return arrays_dataset(source, X, labels, *(_names(path, variables, name) for name in _NAMES))


def _names(path: Path, variables: dict[str, Any], name: str) -> Any:
    if name in variables and variables[name] is None:
        raise UserError(f"{name} must hold text", path)
    return variables.get(name)


def _named(path: Path, variables: dict[str, Any], name: str) -> Any:
    plain = name.removesuffix("'")
    if plain not in variables:
        raise UserError(unknown_name("variable", plain, variables), path)
    value = variables[plain]
    if not is_matrix(value):
        raise UserError(f"{plain} is no matrix of real numbers", path)
    return value.T if name.endswith("'") else value


def _stream(request: StreamRequest) -> Iterator[Features]:
    """Yield the variable X of a MATLAB file, which is read whole.

    Raises
    ------
    UserError
        If X is missing or has other columns than those selected.
    """
    path = request.path
    variables = read_variables(path, {"X", "feature_names"})
    X = variables.get("X")
    if not is_matrix(X):
        raise UserError(f"has no matrix X; it holds {', '.join(variables) or 'nothing'}", path)
    request.notes.append("a MATLAB file is read whole, not block by block")
    matrix = real_matrix(path, "X", X)
    take = match_columns(request, _names(path, variables, "feature_names"), matrix.shape)
    starts = range(0, matrix.shape[0], request.rows)
    yield from stream_matrix(path, (matrix[start : start + request.rows] for start in starts), take)


def _write(job: WriteJob) -> LoadOptions:
    from scipy.io import savemat

    data = job.dataset
    variables: dict[str, Any] = {
        "label_names": np.array(data.label_names, object),
        "feature_names": np.array(data.feature_names, object),
    }
    for suffix, (_, rows) in zip(("", "_test"), job.parts(), strict=False):
        part = slice(rows.start, rows.stop)
        variables["X" + suffix] = csc_array(data.X[part]) if issparse(data.X) else data.X[part]
        Y = data.Y[part].astype(np.uint8)
        variables["Y" + suffix] = csc_array(Y) if issparse(Y) else Y
        if data.known is not None:
            variables["Y" + suffix] = np.where(data.known[part], data.Y[part], np.nan)
    savemat(job.train, variables, do_compression=True)
    return {"format": "mat"}


def read_variables(path: Path, names: Set[str] | None = None) -> dict[str, Any]:
    """Return the matrices, and arrays of text, of a MAT-file by name; what is of another class is given as None.

    Dense matrices have the types of numbers that they are stored with, and lie column by column. Of matrices other than
    those of `names`, if given, only the shape is read.

    Raises
    ------
    UserError
        If the file is no MAT-file of level 5, or damaged.
    """
    try:
        with open(path, "rb") as file:
            return _variables(path, file, os.fstat(file.fileno()).st_size, names)
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror or error}", path) from error


def _variables(path: Path, file: IO[bytes], size: int, names: Set[str] | None) -> dict[str, Any]:
    head = file.read(_HEADER)
    if head.startswith(b"\x89HDF\r\n\x1a\n") or head[:22] == b"MATLAB 7.3 MAT-file, P"[:22]:
        raise UserError("is MATLAB's version 7.3 (HDF5): save it with -v7", path)
    mark = head[126:128]
    if len(head) < _HEADER or mark not in (b"IM", b"MI"):
        raise UserError("is no MATLAB file of versions 5 to 7", path)
    order = "<" if mark == b"IM" else ">"
    variables: dict[str, Any] = {}
    try:
        for kind, piece in _file_elements(file, size - _HEADER, order):
            variable = None
            if kind == _COMPRESSED:
                variable = _unpacked_variable(piece, names)
            elif kind == _MATRIX:
                variable = _variable(piece, names)
            if variable and variable[0] in variables:
                raise _DamagedError(f"two variables have the name {shown(variable[0])}")
            if variable:
                variables[variable[0]] = variable[1]
    except (_DamagedError, zlib.error, StopIteration, UnicodeDecodeError, ValueError, MemoryError) as error:
        raise UserError(f"is damaged, or no MATLAB file: {error}", path) from error
    return variables


class _DamagedError(Exception):
    """What does not fit together, in words."""


@dataclass(frozen=True)
class _Piece:
    """Some bytes of the file and their byte order."""

    data: memoryview
    order: str

    def words(self, start: int, count: int) -> list[int]:
        """Return unsigned 32-bit words."""
        piece = self.data[start : start + 4 * count]
        if len(piece) < 4 * count:
            raise _DamagedError("it ends within a tag")
        return [int(word) for word in np.frombuffer(piece, self.order + "u4")]


def _unpacked(data: memoryview) -> bytearray:
    # Piece by piece: at once, the library would hold the content twice.
    worker, content = zlib.decompressobj(), bytearray()
    most = min(MOST_BYTES, available_memory() or MOST_BYTES)
    for start in range(0, len(data), _PIECE):
        content += worker.decompress(data[start : start + _PIECE])
        if worker.eof or len(content) > most:
            break
    if not worker.eof or len(content) > most:
        raise _DamagedError("a compressed variable is cut short or larger than 2 GB, or than the memory")
    return content


def _file_elements(file: IO[bytes], size: int, order: str) -> Iterator[tuple[int, _Piece]]:
    """Yield the type and the content of each element of the file, of which `size` bytes are left."""
    while size > 0:
        tag = _Piece(memoryview(file.read(8)), order)
        kind, length = tag.words(0, 2)
        size -= 8
        if kind >> 16:  # a small element
            yield from _elements(tag)
            continue
        if length > size:
            raise _DamagedError("it ends within a variable")
        yield kind, _Piece(memoryview(file.read(length)), order)
        padding = 0 if kind == _COMPRESSED else -length % 8
        file.seek(padding, os.SEEK_CUR)
        size -= length + padding


def _elements(piece: _Piece) -> Iterator[tuple[int, _Piece]]:
    """Yield the type and the content of each element."""
    at, size = 0, len(piece.data)
    while at < size:
        kind, length = piece.words(at, 2)
        start, padded = at + 8, 8
        if kind >> 16:
            # A small element: type and length share the first word, up to four bytes follow.
            kind, length = kind & 0xFFFF, kind >> 16
            start, padded = at + 4, 4
            if length > 4:
                raise _DamagedError("a small element of more than 4 bytes")
        if start + length > size:
            raise _DamagedError("it ends within a variable")
        yield kind, _Piece(piece.data[start : start + length], piece.order)
        at = start + (length if kind == _COMPRESSED else -(-length // padded) * padded)


@dataclass(frozen=True)
class _Unread:
    """A matrix of numbers that is left out."""

    shape: tuple[int, ...]


def _unpacked_variable(packed: _Piece, names: Set[str] | None) -> tuple[str, Any] | None:
    """Return the name and the value of a compressed element; None if it is no matrix element."""
    # The head says whether the rest is to be unpacked.
    head = _Piece(memoryview(zlib.decompressobj().decompress(packed.data[:_PIECE], _PIECE)), packed.order)
    if head.words(0, 1)[0] == _MATRIX and names is not None:
        found = _variable(_Piece(head.data[8:], head.order), frozenset())
        if found[0] not in names:
            return found
    kind, piece = next(_elements(_Piece(memoryview(_unpacked(packed.data)), packed.order)))
    return _variable(piece, names) if kind == _MATRIX else None


def _variable(piece: _Piece, names: Set[str] | None = None) -> tuple[str, Any]:
    """Return the name and the value of a matrix element; only its shape if it has none of the names."""
    elements = _elements(piece)
    flags = _next(elements)[1].words(0, 1)[0]
    extents = _whole(*_next(elements))
    name = bytes(_next(elements)[1].data).decode("latin-1")
    if len(extents) < 2 or len(extents) > MOST_DIMENSIONS or extents.min() < 0 or extents.max() > MOST_EXTENT:
        raise _DamagedError(f"variable {shown(name)} has the shape {shown(str(extents.tolist()))}")
    shape = tuple(extents.tolist())
    kind = flags & 0xFF
    if flags & _COMPLEX or kind in _STRUCT_LIKE or len(shape) > 2:
        return name, None
    if names is not None and name not in names:
        return name, None if kind in (_CELL, _CHAR) else _Unread(shape)
    if kind == _CELL:
        return name, _cells(elements, shape)
    if kind == _CHAR:
        return name, _text(*_next(elements), shape)
    if kind == _SPARSE:
        return name, _sparse(elements, shape)
    return name, _filled(_numbers(*_next(elements)), shape)


def _next(elements: Iterator[tuple[int, _Piece]]) -> tuple[int, _Piece]:
    element = next(elements, None)
    if element is None:
        raise _DamagedError("a variable lacks a part")
    return element


def _numbers(kind: int, piece: _Piece) -> Any:
    if kind not in _NUMBERS:
        raise _DamagedError(f"numbers of the unknown type {kind}")
    dtype = np.dtype(piece.order + _NUMBERS[kind])
    if len(piece.data) % dtype.itemsize:
        raise _DamagedError("a number is cut short")
    return np.frombuffer(piece.data, dtype)


def _whole(kind: int, piece: _Piece) -> Any:
    """Return sizes or indices, which must be whole numbers."""
    numbers = _numbers(kind, piece)
    if numbers.dtype.kind not in "iu":
        raise _DamagedError(f"sizes or indices are of the type {numbers.dtype}")
    return numbers


def _filled(values: Any, shape: tuple[int, ...]) -> Any:
    if values.size != shape[0] * shape[1]:
        raise _DamagedError(f"{values.size} numbers for the shape {shape}")
    return values.reshape(shape, order="F")


def _sparse(elements: Iterator[tuple[int, _Piece]], shape: tuple[int, ...]) -> Any:
    rows, starts, values = _whole(*_next(elements)), _whole(*_next(elements)), _numbers(*_next(elements))
    starts = starts.astype(np.int64)
    if starts.size != shape[1] + 1 or starts[0] != 0 or (np.diff(starts) < 0).any():
        raise _DamagedError("the columns of a sparse matrix do not fit its shape")
    # MATLAB may keep room for more entries than there are.
    n_entries = int(starts[-1])
    if min(rows.size, values.size) < n_entries:
        raise _DamagedError(f"a sparse matrix lacks some of its {n_entries} entries")
    rows = rows[:n_entries].astype(np.int64)
    if rows.size and not (0 <= rows.min() and rows.max() < shape[0]):
        raise _DamagedError("a sparse matrix has an entry beyond its last row")
    # Whole numbers of 64 bits stay so: whether they are floating-point numbers as well is checked later.
    dtype = values.dtype.newbyteorder("=") if values.dtype.itemsize == 8 else np.float64
    return csc_array((values[:n_entries].astype(dtype), rows, starts), shape=shape)


def _cells(elements: Iterator[tuple[int, _Piece]], shape: tuple[int, ...]) -> Any:
    """Return the texts of a cell array; None if it holds anything else."""
    texts: list[str] = []
    for kind, piece in elements:
        # Cells within cells are no texts, however deep.
        value = _variable(piece)[1] if kind == _MATRIX and _class_of(piece) == _CHAR else None
        if not (isinstance(value, np.ndarray) and value.dtype.kind == "U" and value.size <= 1):
            return None
        texts.append(str(value[0]) if value.size else "")
    if len(texts) != shape[0] * shape[1]:
        raise _DamagedError(f"{len(texts)} cells for the shape {shape}")
    return np.array(texts, object)


def _class_of(piece: _Piece) -> int:
    return _next(_elements(piece))[1].words(0, 1)[0] & 0xFF


def _text(kind: int, piece: _Piece, shape: tuple[int, ...]) -> Any:
    """Return the rows of a matrix of characters; None for what can be no names."""
    if kind not in _TEXT:
        raise _DamagedError(f"text of the unknown type {kind}")
    coding = _TEXT[kind] + ("" if _TEXT[kind] != "utf-16" else "-le" if piece.order == "<" else "-be")
    letters = bytes(piece.data).decode(coding)
    if "\0" in letters:
        return None
    if shape[0] <= 1:
        return np.array([letters] if shape[0] else [], np.str_)
    if len(letters) != shape[0] * shape[1]:
        raise _DamagedError(f"{len(letters)} characters for the shape {shape}")
    # Rows of nothing are no names, and a few bytes can claim billions of them.
    return np.array([letters[row :: shape[0]].rstrip() for row in range(shape[0])], np.str_) if letters else None


MAT = Format(
    key="mat",
    endings=(".mat",),
    options=("labels", "features", "variables", "impute"),
    read=_read,
    stream=_stream,
    write=_write,
    written=".mat",
)
