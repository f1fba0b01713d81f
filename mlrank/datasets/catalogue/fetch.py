"""Getting the files of catalogue entries; what is here and right is never asked for again."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from mlrank.datasets.cache import cache_folder
from mlrank.datasets.catalogue import Entry, PinnedFile
from mlrank.datasets.catalogue.download import download, file_hash
from mlrank.datasets.catalogue.unpack import unpack
from mlrank.errors import UserError, os_errors

__all__ = ["addresses", "fetch", "fetchable", "files_to_fetch"]

# Name of a file, bytes that are here, its size or None.
Progress = Callable[[str, int, int | None], None]


def fetchable(entry: Entry) -> str | None:
    """Return None if the entry has files to fetch, else why it has none."""
    if entry.generate:
        return "generated: there is nothing to fetch"
    if not files_to_fetch(entry):
        return "its files have no address: " + (entry.note or "see 'mlrank datasets info'")
    return None


def files_to_fetch(entry: Entry) -> tuple[PinnedFile, ...]:
    """Return the files to fetch: those of the first form that has an address for each, or the archive."""
    if entry.archive is not None:
        return (entry.archive,)
    for form in entry.forms:
        files = tuple(form.files.values())
        if files and all(file.url for file in files):
            return files
    return ()


def addresses(file: PinnedFile, mirrors: Sequence[str] = ()) -> list[str]:
    """Return where to look for a file, in order: the catalogue's addresses, then the mirrors, which hold its path."""
    own = [file.url] if file.url else []
    return [*own, *file.mirrors, *(f"{mirror.rstrip('/')}/{file.path}" for mirror in mirrors)]


def fetch(
    entry: Entry,
    *,
    mirrors: Sequence[str] = (),
    unpinned: bool = False,
    folder: Path | None = None,
    progress: Progress = lambda name, here, size: None,
) -> list[str]:
    """Bring the files of an entry into the cache, and return messages about it.

    Parameters
    ----------
    entry : Entry
    mirrors : sequence of str
        Further addresses, under which the catalogue's paths lie.
    unpinned : bool
        Whether to take files for which the catalogue has no hash.
    folder : Path, optional
        Where to; the user's cache if left out.
    progress : function of a file's name, the bytes that are here and its size

    Raises
    ------
    UserError
        If there is nothing to fetch, a file cannot be had or is wrong, or has no hash and `unpinned` is not given.
    """
    reason = fetchable(entry)
    if reason:
        raise UserError(f"'{entry.name}': {reason}")
    files = files_to_fetch(entry)
    if not unpinned and any(file.sha256 is None for file in files):
        raise UserError(
            f"'{entry.name}' is unpinned: the catalogue has no hash to check it by. Give --unpinned to take it"
        )
    base = folder or cache_folder()
    messages = []
    for file in files:
        target = base / file.path
        messages += _fetch_file(file, target, addresses(file, mirrors), progress)
    if entry.archive is not None:
        messages += _open_archive(entry, base)
    return messages


def _fetch_file(file: PinnedFile, target: Path, where: list[str], progress: Progress) -> list[str]:
    if target.is_file():
        if file.sha256 is None:
            return [f"{target} is here, sha256 {_recorded_hash(target)} (unpinned)"]
        digest = file_hash(target)
        if digest == file.sha256:
            return [f"{target} is here"]
        aside = target.with_name(f"{target.name}.wrong-{digest[:8]}")
        os.replace(target, aside)
        messages = [f"{target} was another file (sha256 {digest}), kept as {aside}"]
    else:
        messages = []
    download(file, where, target, lambda here, size: progress(file.path, here, size))
    return [*messages, f"{target} fetched" + ("" if file.sha256 else f", sha256 {_recorded_hash(target)} (unpinned)")]


def _recorded_hash(target: Path) -> str:
    """Return the hash of an unpinned file, which is recorded beside it when it is first seen and is to stay.

    Raises
    ------
    UserError
        If the file is another one than at first.
    """
    record, digest = target.with_name(f"{target.name}.sha256"), file_hash(target)
    with os_errors("record the hash", record):
        if not record.exists():
            record.write_text(f"{digest}\n", "ascii")
        first = record.read_text("ascii", "replace").strip()
    if first != digest:
        raise UserError(
            f"is another file than was fetched first: sha256 {digest}, and {first} in {record.name}", target
        )
    return digest


def _open_archive(entry: Entry, base: Path) -> list[str]:
    if entry.archive is None:
        raise ValueError("the entry has no archive")
    archive = base / entry.archive.path
    # The files lie in a folder beside the archive that has its name.
    target = archive.with_suffix("")
    if all((base / file.path).is_file() for file in entry.files.values()):
        return []
    unpack(archive, target)
    missing = [file.path for file in entry.files.values() if not (base / file.path).is_file()]
    if missing:
        there = ", ".join(sorted(str(path.relative_to(base)) for path in target.rglob("*") if path.is_file())[:10])
        raise UserError(f"lacks {', '.join(missing)}; it holds {there}", archive)
    return [f"unpacked to {target}"]
