"""Files that are either whole or absent: written beside and renamed."""

import hashlib
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from mlrank.errors import os_errors
from mlrank.processes import has_ended, process_name
from mlrank.stored import ArchiveContent, dump_json, npz_bytes, plain

__all__ = [
    "dump_json",
    "make_folder",
    "npz_bytes",
    "os_errors",
    "plain",
    "safe_name",
    "sweep_parts",
    "whole_file",
    "write_archive",
    "write_atomic",
]

# Endings, and what a file is called until it is whole, need some of the 255 bytes that most systems allow.
MOST_NAME = 200
LEFT_SECONDS = 3600.0
_UNSAFE = re.compile(r"[^A-Za-z0-9._+ -]")


def safe_name(name: str) -> str:
    """Return `name` as a file name: every character outside ``[A-Za-z0-9._+ -]`` percent-encoded.

    A first or last dot or blank is encoded too: no name is hidden, trimmed or means a parent folder. Of what is then
    longer than most systems allow, the end is replaced by a hash. Different names give different file names.

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
    if len(encoded) > MOST_NAME:
        # A tilde is encoded above, so no short name looks like this.
        digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
        encoded = f"{encoded[: MOST_NAME - len(digest) - 1]}~{digest}"
    return encoded


def _percent(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass"))


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
    with whole_file(path) as handle:
        handle.write(content)


def write_archive(path: Path, content: ArchiveContent) -> None:
    """Write an archive as `write_atomic` does, its arrays piece by piece."""
    with whole_file(path) as handle:
        content.write(handle)


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Give a file beside `path`, which takes its place when the block ends, flushed to the disk; see `write_atomic`."""
    make_folder(path.parent)
    part = path.with_name(f"{path.name}.{process_name()}.{uuid.uuid4().hex[:8]}.part")
    with os_errors("write the file", path):
        try:
            # Not tempfile: its files are readable by their owner alone, whatever the umask says.
            with open(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666), "w+b") as handle:
                yield handle
                handle.flush()
                os.fsync(handle.fileno())
            os.replace(part, path)
        except BaseException:
            with suppress(OSError):
                part.unlink()
            raise


def sweep_parts(folder: Path, now: float) -> None:
    """Remove the files below `folder` that a process left half written when it ended.

    Whether a process of another machine has ended is not seen from here: what it writes is taken for left behind
    LEFT_SECONDS after the last byte, by the clock of the file system.

    Parameters
    ----------
    folder : Path
    now : float
        The time of a file that was written just now.

    Raises
    ------
    UserError
        If the system refuses.
    """
    with os_errors("tidy up", folder):
        for inside, _, names in os.walk(folder):
            for part in (Path(inside, name) for name in names if name.endswith(".part")):
                with suppress(FileNotFoundError):  # it is whole by now, or another process was here first
                    ended = has_ended(part.name.split(".")[-3]) if part.name.count(".") > 2 else None
                    if now - part.stat().st_mtime > LEFT_SECONDS if ended is None else ended:
                        part.unlink()
