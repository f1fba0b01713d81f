"""Files that are either whole or absent: deterministic JSON and npz, written beside and renamed."""

import errno
import fcntl
import io
import json
import math
import os
import re
import uuid
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mlrank.errors import UserError

__all__ = ["dump_json", "locked", "make_folder", "npz_bytes", "os_errors", "plain", "safe_name", "write_atomic"]

_UNSAFE = re.compile(r"[^A-Za-z0-9._+ -]")
_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)


def safe_name(name: str) -> str:
    """Return `name` as a file name: every character outside ``[A-Za-z0-9._+ -]`` percent-encoded.

    A first or last dot or blank is encoded too: no name is hidden, trimmed or means a parent folder.
    Different names give different file names.

    Raises
    ------
    ValueError
        If `name` is empty.

    >>> safe_name("a/b"), safe_name("Rank-SVM +1"), safe_name("..")
    ('a%2Fb', 'Rank-SVM +1', '%2E%2E')
    """
    if not name:
        raise ValueError("an empty name cannot be a file name")
    encoded = _UNSAFE.sub(lambda hit: _percent(hit.group()), name)
    if encoded[0] in ". ":
        encoded = _percent(encoded[0]) + encoded[1:]
    if encoded[-1] in ". ":
        encoded = encoded[:-1] + _percent(encoded[-1])
    return encoded


def _percent(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass"))


def plain(value: Any) -> Any:
    """Return `value` as JSON values; numpy becomes numbers and lists, NaN and infinities become null.

    Raises
    ------
    ValueError
        For a value that JSON cannot hold, or a key that is not a string.
    """
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Mapping):
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


def npz_bytes(arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Return `arrays` as an npz file whose bytes depend on names and values alone, not on clock or order."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(arrays):
            entry = zipfile.ZipInfo(f"{name}.npy", _ZIP_EPOCH)
            entry.compress_type, entry.create_system, entry.external_attr = (
                zipfile.ZIP_DEFLATED,
                3,
                0o644 << 16,
            )
            with archive.open(entry, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(arrays[name]), allow_pickle=False)
    return buffer.getvalue()


@contextmanager
def os_errors(doing: str, path: Path) -> Iterator[None]:
    """Turn an OSError inside the block into a UserError that names the path and the reason."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        if error.errno == errno.ENOTDIR or (error.errno == errno.EEXIST and not path.is_dir()):
            reason = "a file stands where a folder is needed"
        raise UserError(f"cannot {doing}: {reason}", path) from error


@contextmanager
def locked(descriptor: int) -> Iterator[None]:
    """Hold the lock of an open file or folder, which the system gives to one process at a time and frees at its end."""
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def make_folder(path: Path) -> None:
    """Make a folder and its parents; one that exists is fine.

    Raises
    ------
    UserError
        If the path is taken by a file or may not be written.
    """
    with os_errors("make the folder", path):
        path.mkdir(parents=True, exist_ok=True)


def write_atomic(path: Path, content: bytes) -> None:
    """Write a file beside `path`, flush it to the disk and rename it, so that `path` is never half written.

    Raises
    ------
    UserError
        If the system refuses; `path` is then as it was and nothing is left beside it.
    """
    make_folder(path.parent)
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    with os_errors("write the file", path):
        try:
            # Not tempfile: its files are readable by their owner alone, whatever the umask says.
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as handle:
                handle.write(content)
                handle.flush()
                os.fsync(handle.fileno())
            os.replace(part, path)
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise
