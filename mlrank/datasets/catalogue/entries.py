"""The data sets known by name: where their files come from and where they lie on this machine."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from mlrank.datasets.cache import cache_folder
from mlrank.errors import UserError, unknown_name
from mlrank.resources import shipped

__all__ = [
    "Entry",
    "Form",
    "Location",
    "PinnedFile",
    "check_sizes",
    "find_entry",
    "is_available",
    "is_known",
    "locate",
    "missing_message",
    "read_catalogue",
]

# "train", "test" and "labels"; sets of label lists have further ones, such as "test dog".
Role = str


class PinnedFile(BaseModel):
    """A file with its size and hash; `path` is relative to the data folder, `url` None where it has no address.

    A file without a hash is unpinned: nobody can tell whether what an address sends is what was published.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    bytes: int | None = None
    sha256: str | None = Field(None, pattern="^[0-9a-f]{64}$")
    url: str | None = None
    mirrors: tuple[str, ...] = ()


class Form(BaseModel):
    """Files of a data set in one format, with what the reader needs to know about them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: str | None = None
    files: Mapping[Role, PinnedFile] = {}
    zero_based: bool | None = None
    variables: Mapping[str, str] | None = None


class Entry(BaseModel):
    """A catalogue entry.

    Parameters
    ----------
    name, title : str
    aliases : tuple of str
    format : str
        Key of FORMATS; None for stand-ins.
    files : mapping from "train", "test", "labels" to PinnedFile
    embedded : mapping of the same kind
        Files that ship with mlrank, relative to its datasets folder.
    zero_based : bool or None
        Whether numbered features count from 0.
    made_from : tuple of PinnedFile
        The published files from which `files` were converted, if they were.
    also : tuple of Form
        Other files that hold the same data.
    archive : PinnedFile or None
        The archive that holds `files`; unpacked, they lie in a folder of its name.
    by_hand : tuple of str
        Addresses of archives with the same data that must be unpacked by hand.
    further : tuple of PinnedFile
        Other files published with the set, which loading it does not need.
    features : mapping
        Arguments of the generator of features, for sets of which only the labels can be had.
    generate : mapping
        Arguments of the generator, for stand-ins; "generator" names another than the usual one.
    n_train, n_test, n_features, n_labels : int
        As loaded: a nominal feature counts once for each of its values; None where it is not known before.
    n_attributes : int or None
        The published number of features where it differs from `n_features`.
    cardinality : float
        Mean number of labels per row, to three digits; None where it is not published.
    split, citation, note : str
    caveat : str
        What every table made from the set must say about it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    aliases: tuple[str, ...] = ()
    format: str | None = None
    files: Mapping[Role, PinnedFile] = {}
    embedded: Mapping[Role, PinnedFile] = {}
    made_from: tuple[PinnedFile, ...] = ()
    also: tuple[Form, ...] = ()
    archive: PinnedFile | None = None
    by_hand: tuple[str, ...] = ()
    further: tuple[PinnedFile, ...] = ()
    features: Mapping[str, object] = {}
    zero_based: bool | None = None
    generate: Mapping[str, object] = {}
    n_train: int
    n_test: int
    n_features: int | None
    n_labels: int
    n_attributes: int | None = None
    cardinality: float | None
    split: Literal["official", "none"]
    citation: str
    note: str = ""
    caveat: str = ""

    @property
    def forms(self) -> tuple[Form, ...]:
        """The forms in which the data can be had, the first one first."""
        return (Form(format=self.format, files=self.files, zero_based=self.zero_based), *self.also)

    @property
    def pinned(self) -> bool:
        """Whether there is a hash for every file."""
        files = (*self.files.values(), *((self.archive,) if self.archive else ()))
        return all(file.sha256 for file in files)


@dataclass(frozen=True)
class Location:
    """Where an entry would be read from.

    Parameters
    ----------
    where : "MLRANK_DATA", "cache", "embedded" or "stand-in"
    files : mapping from role to Path
    form : Form
        What the files hold.
    """

    where: str
    files: Mapping[Role, Path]
    form: Form


def read_catalogue() -> dict[str, Entry]:
    """Return all entries by name, in the file's order."""
    import yaml

    # The loader written in C, where PyYAML has it, reads the file in 5 ms instead of 40.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    content = yaml.load((shipped("datasets") / "catalogue.yaml").read_bytes(), loader)
    return {name: Entry(name=name, **fields) for name, fields in content.items()}


def is_known(name: str) -> bool:
    """Return whether an entry has this name or alias."""
    return name in _by_name(read_catalogue())


def find_entry(name: str) -> Entry:
    """Return the entry with this name or alias.

    Raises
    ------
    UserError
        If there is none; the nearest name is suggested.
    """
    known = _by_name(read_catalogue())
    if name not in known:
        raise UserError(unknown_name("data set", name, known, "mlrank datasets list"))
    return known[name]


def locate(entry: Entry) -> Location | None:
    """Find the entry's files: in MLRANK_DATA, in the user's cache, embedded; never in the network.

    Raises
    ------
    UserError
        If MLRANK_DATA is no folder.
    """
    if entry.generate:
        return Location("stand-in", {}, Form())
    for where, folder, forms in _places(entry):
        for form in forms:
            paths = {role: folder / file.path for role, file in form.files.items()}
            if paths and all(path.is_file() for path in paths.values()):
                return Location(where, paths, form)
    return None


def is_available(name: str) -> bool:
    """Whether a catalogue data set could be loaded from here.

    Raises
    ------
    UserError
        If there is no entry of this name, or MLRANK_DATA is no folder.
    """
    return locate(find_entry(name)) is not None


def check_sizes(location: Location) -> None:
    """Refuse files that cannot be the catalogue's, because they have another size.

    Raises
    ------
    UserError
        At the first one.
    """
    for role, path in location.files.items():
        size, expected = path.stat().st_size, location.form.files[role].bytes
        if expected is not None and size != expected:
            message = f"holds {size} bytes, the catalogue's file has {expected}: not the same file; get it again"
            raise UserError(message, path)


def missing_message(entry: Entry) -> str:
    """Say in one line how to get the files of an entry that is not on this machine."""
    files = " ".join(file.path for file in entry.files.values())
    folder = f"set MLRANK_DATA to a folder that holds {files}"
    if entry.archive or any(all(file.url for file in form.files.values()) for form in entry.forms):
        return f"data set '{entry.name}' is not on this machine: run 'mlrank datasets fetch {entry.name}', or {folder}"
    return f"data set '{entry.name}' is not on this machine and has no address of its own: {folder}"


def _by_name(entries: Mapping[str, Entry]) -> dict[str, Entry]:
    return {name: entry for entry in entries.values() for name in (entry.name, *entry.aliases)}


def _places(entry: Entry) -> list[tuple[str, Path, tuple[Form, ...]]]:
    embedded = Form(format=entry.format, files=entry.embedded, zero_based=entry.zero_based)
    places = [("cache", cache_folder(), entry.forms), ("embedded", shipped("datasets"), (embedded,))]
    if chosen := os.environ.get("MLRANK_DATA"):
        folder = Path(chosen).expanduser()
        if not folder.is_dir():
            raise UserError("MLRANK_DATA names no folder", chosen)
        places.insert(0, ("MLRANK_DATA", folder, entry.forms))
    return places
