"""Values as bytes that depend on the values alone: JSON, and arrays in zip files that are read again with suspicion."""

import io
import json
import math
import re
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from mlrank.errors import UserError, os_errors
from mlrank.hardware import available_memory

__all__ = [
    "DAMAGED",
    "Archive",
    "ArchiveContent",
    "check_storable",
    "check_unpacked_size",
    "dump_json",
    "npz_bytes",
    "numbered",
    "plain",
    "read_archive",
    "short_names",
    "zip_entry",
]

Arrays = Mapping[str, npt.NDArray[Any]]

# What reading a damaged .npz file raises, wherever the damage is.
DAMAGED: tuple[type[Exception], ...] = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error),
    *(OSError, ValueError, KeyError, EOFError, RuntimeError),
)
_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)
_MEMBER = re.compile(r"[A-Za-z0-9_]+(\.[A-Za-z0-9_]+)*\.(npy|json)")
_MOST_MEMBERS = 10_000
# Large arrays are packed at zlib's fastest level: most scores are hardly smaller at its usual one (those of few values,
# as shares of neighbors, by a third), for three times the time. They are not packed at all, at thirty times the speed,
# if a sample of their bytes is not made smaller by a part that counts, as that of most scores is not.
_LARGE, _FASTEST, _SAMPLE, _COUNTS = 1 << 20, 1, 1 << 18, 0.125
# Bytes that are read at once: beside the arrays themselves, memory holds no more of a file.
_PIECE = 1 << 20
# Kinds of numbers that are stored; all else (objects, records, text) is refused.
_DTYPES = {"<f8": np.float64, "|b1": np.bool_, "<i8": np.int64, "<i4": np.int32, "|u1": np.uint8, "<f4": np.float32}


def plain(value: Any) -> Any:
    """Return `value` as JSON values; numpy becomes numbers and lists, NaN and infinities become null.

    Raises
    ------
    ValueError
        For a value that JSON cannot hold, or a key that is not a string.
    """
    if value is None or type(value) in (bool, int, str):  # most values by far
        return value
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, dict | Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ValueError(f"a key in JSON must be a string, found {key!r}")
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    raise ValueError(f"cannot write {value!r} ({type(value).__name__}) as JSON")


def dump_json(value: Any, *, indent: int | None = 1) -> str:
    """Return deterministic JSON: sorted keys, floats by repr, NaN and infinities as null, a last newline."""
    return json.dumps(plain(value), sort_keys=True, indent=indent, allow_nan=False) + "\n"


def numbered(names: Sequence[str]) -> int | None:
    """Return the first number where names are consecutive numbers, as those of LIBSVM files are; else None.

    >>> numbered(("1", "2", "3")), numbered(("1", "3")), numbered(("a",))
    (1, None, None)
    """
    first = names[0]
    if not (first.isascii() and first.isdigit() and str(int(first[:10])) == first):
        return None
    start = int(first)
    return start if all(name == str(start + place) for place, name in enumerate(names)) else None


def short_names(names: Sequence[str]) -> list[str] | dict[str, int]:
    """Return names as JSON values, consecutive numbers by their first and their count.

    >>> short_names(("5", "6", "7")), short_names(("a", "b"))
    ({'from': 5, 'count': 3}, ['a', 'b'])
    """
    first = numbered(names)
    return list(names) if first is None else {"from": first, "count": len(names)}


def check_unpacked_size(archive: IO[bytes]) -> None:
    """Raise ValueError if the members of a zip file, of any origin, take more bytes than memory has once unpacked.

    Their headers may claim what they like: reading a member ends at the size that the archive gives for it.
    """
    with zipfile.ZipFile(archive) as members:
        size = sum(member.file_size for member in members.infolist())
    archive.seek(0)
    memory = available_memory()
    if memory is not None and size > memory:
        raise ValueError(f"{size} bytes when unpacked, {memory:.0f} are free")


def npz_bytes(arrays: Arrays) -> bytes:
    """Return `arrays` as an npz file whose bytes depend on names and values alone, not on clock or order."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in sorted(arrays):
            content = b"".join(_npy(name, np.ascontiguousarray(arrays[name])))
            packing, level = _packing(content)
            archive.writestr(zip_entry(f"{name}.npy", packing), content, compresslevel=level)
    return buffer.getvalue()


def _packing(content: bytes) -> tuple[int, int | None]:
    """Return how bytes are packed, and at which level; a part from the middle says whether large ones are at all."""
    if len(content) < _LARGE:
        return zipfile.ZIP_DEFLATED, None
    sample = content[len(content) // 2 :][:_SAMPLE]
    if len(zlib.compress(sample, _FASTEST)) > (1.0 - _COUNTS) * len(sample):
        return zipfile.ZIP_STORED, None
    return zipfile.ZIP_DEFLATED, _FASTEST


@dataclass(frozen=True)
class ArchiveContent:
    """A zip file of texts, by file name, and of arrays as npy files, for `read_archive`.

    Nothing in it is compressed: so it never unpacks to more than its own size, and reads at the speed of the disk.

    Parameters
    ----------
    texts : dict of str
    arrays : dict of ndarray

    Raises
    ------
    ValueError
        For an array of a kind that `read_archive` refuses, or a name that cannot be that of a member.
    """

    texts: Mapping[str, str]
    arrays: Arrays

    def __post_init__(self) -> None:
        for name, array in self.arrays.items():
            check_storable(name, array)
        for name in (*self.texts, *(f"{name}.npy" for name in self.arrays)):
            if not _MEMBER.fullmatch(name):
                raise ValueError(f"{name!r} cannot be the name of a stored member")

    def write(self, file: IO[bytes]) -> None:
        """Write it to a file, piece by piece: arrays that are stored as they lie in memory are not copied."""
        with zipfile.ZipFile(file, "w") as archive:
            for name in sorted(self.texts):
                archive.writestr(zip_entry(name), self.texts[name].encode())
            for name in sorted(self.arrays):
                with archive.open(zip_entry(f"{name}.npy"), "w", force_zip64=True) as member:
                    for part in _npy(name, self.arrays[name]):
                        member.write(part)


def check_storable(name: str, array: npt.NDArray[Any]) -> None:
    """Raise ValueError unless an array is of a kind that `read_archive` takes."""
    if _stored_dtype(array) not in _DTYPES:
        raise ValueError(f"the array {name} of dtype {array.dtype} cannot be stored")


def _stored_dtype(array: npt.NDArray[Any]) -> str:
    return array.dtype.newbyteorder("<").str


def _npy(name: str, array: npt.NDArray[Any]) -> tuple[bytes, memoryview]:
    """Return an array as the header and the numbers of an npy file; they are those in memory, and not copied."""
    if array.dtype.hasobject:
        raise ValueError(f"the array {name} of objects cannot be stored")
    little = np.require(array, _stored_dtype(array))
    header, about = io.BytesIO(), np.lib.format.header_data_from_array_1_0(little)
    np.lib.format.write_array_header_1_0(header, about)
    # Columns that lie one behind the other stay so: the order of a matrix decides how products are rounded.
    return header.getvalue(), little.ravel("F" if about["fortran_order"] else "C").view(np.uint8).data


def zip_entry(name: str, packing: int = zipfile.ZIP_STORED) -> zipfile.ZipInfo:
    """Return the entry of a zip file for `name`, without a clock in it."""
    entry = zipfile.ZipInfo(name, _ZIP_EPOCH)
    entry.compress_type, entry.create_system, entry.external_attr = packing, 3, 0o644 << 16
    return entry


class Archive(dict[str, Any]):
    """What `read_archive` found: JSON values by file name ("header.json"), arrays by their names without ending."""


def read_archive(path: Path) -> Archive:
    """Read what `ArchiveContent` wrote, whoever made this one.

    Nothing is unpacked to the disk, no object is revived, and no more memory is used than the file is long.

    Raises
    ------
    UserError
        If the file is missing, damaged, or holds anything but JSON and uncompressed arrays of numbers.
    """
    with os_errors("read the file", path):
        size = path.stat().st_size
        with open(path, "rb") as file:
            try:
                return _read_members(file, size)
            except _RefusedError as refused:
                raise UserError(str(refused), path) from refused
            except OSError:
                raise
            except Exception as error:  # a damaged archive reaches many parts of the library
                raise UserError(f"damaged or no such archive: {_one_line(error)}", path) from error


class _RefusedError(Exception):
    """Something in an archive is not as `ArchiveContent` would have written it."""


def _read_members(file: IO[bytes], size: int) -> Archive:
    found = Archive()
    with zipfile.ZipFile(file) as packed:
        members = packed.infolist()
        if len(members) > _MOST_MEMBERS:
            raise _RefusedError(f"holds {len(members)} members, more than {_MOST_MEMBERS}")
        # Together they cannot be larger than the file, unless some share their bytes.
        if sum(member.file_size for member in members) > size:
            raise _RefusedError("its members are declared to be larger than the file")
        for member in members:
            name = _checked_name(member, found)
            if name.endswith(".json"):
                found[name] = _json(packed.read(member), name)
            else:
                with packed.open(member) as stream:
                    found[name] = _array(stream, member.file_size, name)
    return found


def _checked_name(member: zipfile.ZipInfo, found: Archive) -> str:
    raw = member.orig_filename
    shown = ascii(raw[:60])
    if not _MEMBER.fullmatch(raw):
        raise _RefusedError(f"holds a member of the name {shown}, which is none of this format")
    if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
        raise _RefusedError(f"the member {shown} is compressed, which this format never is")
    name = raw.removesuffix(".npy")
    if name in found:
        raise _RefusedError(f"holds the member {shown} twice")
    return name


def _json(content: bytes, name: str) -> Any:
    try:
        return json.loads(content, parse_constant=_no_constant, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:
        raise _RefusedError(f"damaged: {name} is no JSON ({_one_line(error)})") from error


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is no JSON number")


def _array(stream: IO[bytes], size: int, name: str) -> npt.NDArray[Any]:
    """Read an array of `size` bytes with its header, into the memory where it stays."""
    try:
        if np.lib.format.read_magic(stream) != (1, 0):
            raise ValueError("another version of the npy format")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
        if dtype.str not in _DTYPES:
            raise ValueError(f"entries of type {dtype.str}")
        if any(extent < 0 for extent in shape) or math.prod(shape) * dtype.itemsize != size - stream.tell():
            raise ValueError("a shape that does not fit its size")
        content = np.empty(math.prod(shape) * dtype.itemsize, np.uint8)
        for start in range(0, content.size, _PIECE):
            piece = stream.read(min(_PIECE, content.size - start))
            content[start : start + len(piece)] = np.frombuffer(piece, np.uint8)
            if len(piece) < min(_PIECE, content.size - start):
                raise ValueError("fewer bytes than it should")
        # The last read finds the end, and with it whether the sum over all bytes is that of the archive.
        stream.read(1)
        flat: npt.NDArray[Any] = content.view(dtype).astype(_DTYPES[dtype.str], copy=False)
        array = flat.reshape(shape, order="F" if fortran else "C")
        array.flags.writeable = False
    except zipfile.BadZipFile:
        raise
    except Exception as error:  # the library's reader of headers is a parser, which fails in many ways
        raise _RefusedError(f"damaged: the array {name} has {_one_line(error)}") from error
    if dtype == np.bool_ and (content > 1).any():
        raise _RefusedError(f"damaged: the array {name} has truth values other than 0 and 1")
    return array


def _one_line(error: Exception) -> str:
    return " ".join(f"{error}".split())[:120] or type(error).__name__
