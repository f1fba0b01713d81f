"""Archives, unpacked inside a folder of their own or not at all."""

import lzma
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from mlrank.datasets.formats.text import shown
from mlrank.errors import UserError

__all__ = ["unpack"]

# What an archive may hold, unpacked.
MOST_BYTES = 1 << 33
MOST_MEMBERS = 10_000
_DAMAGED = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
)


@dataclass(frozen=True)
class _Member:
    """A file of an archive; `kind` is "file", "folder" or "other" (a link, a device)."""

    name: str
    size: int
    kind: str
    handle: Any


def unpack(archive: Path, target: Path) -> None:
    """Unpack a zip or tar archive to the new folder `target`, which appears when all is there.

    Raises
    ------
    UserError
        If the archive is damaged, holds a link or a name that leads out of the folder, or more than is allowed.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(dir=target.parent, prefix=f"{target.name}.", suffix=".part"))
    try:
        _unpack(archive, beside)
        if target.exists():
            shutil.rmtree(target)
        beside.rename(target)
    except _DAMAGED as error:
        raise UserError(f"cannot be unpacked: {error}", archive) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _unpack(archive: Path, folder: Path) -> None:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            _extract(archive, folder, _of_zip(packed), packed.open)
    elif tarfile.is_tarfile(archive):
        with tarfile.open(archive) as bundle:
            _extract(archive, folder, _of_tar(bundle), bundle.extractfile)
    else:
        raise UserError("is no zip or tar archive: unpack it by hand", archive)


def _of_zip(packed: zipfile.ZipFile) -> Iterator[_Member]:
    for info in packed.infolist():
        mode = stat.S_IFMT(info.external_attr >> 16)
        kind = "folder" if info.is_dir() else "file" if mode in (0, stat.S_IFREG) else "other"
        # The raw name: the library cleans some of what is to be refused here.
        yield _Member(info.orig_filename, info.file_size, kind, info)


def _of_tar(bundle: tarfile.TarFile) -> Iterator[_Member]:
    for info in bundle:
        kind = "folder" if info.isdir() else "file" if info.isreg() else "other"
        yield _Member(info.name, info.size, kind, info)


def _extract(archive: Path, folder: Path, members: Iterator[_Member], opened: Any) -> None:
    left, count = MOST_BYTES, 0
    for member in members:
        count += 1
        if count > MOST_MEMBERS:
            raise UserError(f"holds more than {MOST_MEMBERS} files", archive)
        path = folder / _safe(archive, member)
        if member.kind == "folder":
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        with opened(member.handle) as source, open(path, "xb") as file:
            left -= _copy(archive, source, file, left)


def _safe(archive: Path, member: _Member) -> PurePosixPath:
    name = PurePosixPath(member.name)
    odd = "\\" in member.name or ":" in member.name or "\0" in member.name
    if name.is_absolute() or ".." in name.parts or odd or not name.parts:
        raise UserError(f"holds the name {shown(member.name)}, which leads out of its folder", archive)
    if member.kind == "other":
        raise UserError(f"holds {shown(member.name)}, which is a link or device", archive)
    return name


def _copy(archive: Path, source: IO[bytes], file: IO[bytes], left: int) -> int:
    # What is written counts, not what the archive declares.
    written = 0
    while piece := source.read(1 << 20):
        written += len(piece)
        if written > left:
            raise UserError(f"unpacks to more than {MOST_BYTES} bytes", archive)
        file.write(piece)
    return written
