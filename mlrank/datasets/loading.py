"""load_dataset: from a catalogue name or from files to a Dataset."""

from os import PathLike, fspath
from pathlib import Path

import numpy as np

from mlrank.datasets.catalogue import Entry, check_sizes, find_entry, is_known, locate, missing_message
from mlrank.datasets.files import file_stem
from mlrank.datasets.parsed import Parsed, Source
from mlrank.datasets.readers import format_of, reader_for
from mlrank.datasets.record import Dataset
from mlrank.datasets.standin import generate
from mlrank.errors import UserError

__all__ = ["load_dataset"]


def load_dataset(
    name_or_path: str | PathLike[str],
    *,
    labels: str | PathLike[str] | None = None,
    test: str | PathLike[str] | None = None,
    format: str | None = None,
    zero_based: bool | None = None,
    name: str | None = None,
) -> Dataset:
    """Load a data set by catalogue name or from files, through gzip, bzip2 and xz.

    Parameters
    ----------
    name_or_path : str or path
        A catalogue name, or the file of the training part (or of all rows). A str that is a catalogue name is
        taken as one; write ./NAME for a file of that name.
    labels : path, optional
        Mulan XML for ARFF; label names, one a line or as XML, for LIBSVM.
    test : path, optional
        The test part: its rows follow the training rows and both make up the official split.
    format : str, optional
        Key of READERS; told by the file's ending and header if left out.
    zero_based : bool, optional
        For formats that number features: whether they count from 0; decided by the training part if left out.
    name : str, optional
        What to call the data set; its catalogue name or the file's name if left out.

    Raises
    ------
    UserError
        If the name is unknown, the files are not here, or something in them cannot be understood.
    """
    if not _is_path(name_or_path):
        entry = find_entry(fspath(name_or_path))
        settings = {"labels": labels, "test": test, "format": format, "zero_based": zero_based}
        given = [setting for setting, value in settings.items() if value is not None]
        if given:
            raise UserError(f"'{name_or_path}' is a catalogue name; {', '.join(given)} can only be given with a file")
        return _from_catalogue(entry, name)
    parts = tuple(Path(part).expanduser() for part in (name_or_path, test) if part is not None)
    if len(parts) == 2 and parts[0].resolve() == parts[1].resolve():
        raise UserError("the test part is the training part's file", parts[1])
    source = Source(parts, Path(labels).expanduser() if labels is not None else None, zero_based)
    for path in (*parts, source.labels):
        _check_file(path)
    parsed = reader_for(format or format_of(parts[0], source.labels))(source)
    said = "file " if len(parts) == 1 else "files "
    return _dataset(parsed, name or file_stem(parts[0])[0], said + " and ".join(part.name for part in parts))


def _is_path(name_or_path: str | PathLike[str]) -> bool:
    if not isinstance(name_or_path, str):
        return True
    path = Path(name_or_path)
    if len(path.parts) > 1 or path.suffix or name_or_path.startswith("."):
        return True
    return path.exists() and not is_known(name_or_path)


def _from_catalogue(entry: Entry, name: str | None) -> Dataset:
    if entry.generate:
        return generate(name or entry.name, **entry.generate)
    location = locate(entry)
    if location is None:
        raise UserError(missing_message(entry))
    check_sizes(location)
    files = location.files
    parts = tuple(files[role] for role in ("train", "test") if role in files)
    parsed = reader_for(entry.format or "")(Source(parts, files.get("labels"), entry.zero_based))
    where = {"embedded": "embedded copy", "cache": "from the cache"}.get(location.where, f"from {location.where}")
    caveat = f", {entry.caveat}" if entry.caveat else ""
    return _dataset(parsed, name or entry.name, f"{entry.title}, {where}{caveat}")


def _dataset(parsed: Parsed, name: str, source: str) -> Dataset:
    notes = f" ({'; '.join(parsed.notes)})" if parsed.notes else ""
    official = None
    if len(parsed.sizes) == 2:
        n_train, n_samples = parsed.sizes[0], sum(parsed.sizes)
        official = (np.arange(n_train, dtype=np.int64), np.arange(n_train, n_samples, dtype=np.int64))
    return Dataset(name, parsed.X, parsed.Y, None, parsed.label_names, parsed.feature_names, official, source + notes)


def _check_file(path: Path | None) -> None:
    if path is not None and path.is_dir():
        raise UserError("is a folder; name a file in it", path)
