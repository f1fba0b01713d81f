"""load_dataset: from a catalogue name or from files to a Dataset."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from os.path import exists
from pathlib import Path
from typing import Any

from mlrank.datasets.cache import read_cached
from mlrank.datasets.catalogue import Entry, check_sizes, find_entry, is_known, locate, missing_message
from mlrank.datasets.catalogue.label_lists import LABEL_LISTS, read_lists
from mlrank.datasets.dataset import Dataset
from mlrank.datasets.formats import Source, format_of
from mlrank.datasets.formats.text import file_stem
from mlrank.datasets.generated.gaussians import gaussian_classes
from mlrank.datasets.generated.standin import generate
from mlrank.errors import UserError, check_regular, memory_errors

__all__ = ["DataSource", "find_source", "load_dataset", "load_source"]


def load_dataset(
    name_or_path: str | PathLike[str],
    *,
    labels: str | PathLike[str] | None = None,
    test: str | PathLike[str] | None = None,
    format: str | None = None,
    zero_based: bool | None = None,
    features: str | PathLike[str] | None = None,
    label_columns: int | Sequence[str] | None = None,
    variables: Mapping[str, str] | None = None,
    impute: str | None = None,
    name: str | None = None,
) -> Dataset:
    """Load a data set by catalogue name or from files, through gzip, bzip2 and xz.

    Parameters
    ----------
    name_or_path : str or path
        A catalogue name, or the file of the training part (or of all rows). A str that is a catalogue name is
        taken as one; write ./NAME for a file of that name.
    labels : path, optional
        Mulan XML for ARFF; label names, one a line or as XML, for other formats (in tables: the label columns).
    test : path, optional
        The test part: its rows follow the training rows and both make up the official split.
    format : str, optional
        Key of FORMATS; by the file's ending and header if left out.
    zero_based : bool, optional
        For formats that number features: whether they count from 0; decided by the training part if left out.
    features : path, optional
        Feature names, one a line, for formats that number features.
    label_columns : int or sequence of str, optional
        For tables and MEKA files: the label columns; n for the first n, -n for the last n.
    variables : mapping, optional
        For MATLAB files: which variables hold "X", "Y", "X_test" and "Y_test"; a name with ' behind it is transposed.
    impute : "mean", "median" or "zero", optional
        Fill missing values of features, by what the training part says; refused if left out. A missing label is an
        unknown entry.
    name : str, optional
        What to call the data set; its catalogue name or the file's name if left out.

    Raises
    ------
    UserError
        If the name is unknown, the files are not here, or something in them cannot be understood.
    """
    place = find_source(
        name_or_path,
        labels=labels,
        test=test,
        format=format,
        zero_based=zero_based,
        features=features,
        label_columns=label_columns,
        variables=variables,
        impute=impute,
    )
    return load_source(place, name)


@dataclass(frozen=True)
class DataSource:
    """Where a data set would be read from, and what to call it.

    `key` is its format, None for a stand-in; `origin` says in words where the data come from; `lists` are the files, by
    role, of a set that is label lists alone.
    """

    key: str | None
    source: Source
    name: str
    origin: str
    entry: Entry | None = None
    lists: Mapping[str, Path] = field(default_factory=dict)


def find_source(
    name_or_path: str | PathLike[str], *, test: Any = None, format: str | None = None, **options: Any
) -> DataSource:
    """Find the files of a data set; the arguments are those of `load_dataset`.

    Raises
    ------
    UserError
        If the name is unknown or the files are not here.
    """
    if not _is_path(name_or_path):
        settings = {"labels": options.get("labels"), "test": test, "format": format, **options}
        given = [setting for setting, value in settings.items() if value is not None]
        if given:
            raise UserError(f"'{name_or_path}' is a catalogue name; {', '.join(given)} can only be given with a file")
        return _in_catalogue(find_entry(fspath(name_or_path)))
    parts = tuple(Path(part).expanduser() for part in (name_or_path, test) if part is not None)
    if len(parts) == 2 and parts[0].resolve() == parts[1].resolve():
        raise UserError("the test part is the training part's file", parts[1])
    for role in ("labels", "features"):
        if options.get(role) is not None:
            options[role] = Path(options[role]).expanduser()
    if isinstance(columns := options.get("label_columns"), Sequence):
        options["label_columns"] = (columns,) if isinstance(columns, str) else tuple(columns)
    source = Source(parts, **options)
    for path in (*parts, source.labels, source.features):
        _check_file(path)
    origin = "file " if len(parts) == 1 else "files "
    origin += " and ".join(part.name for part in parts)
    return DataSource(format or format_of(parts[0], source), source, file_stem(parts[0])[0], origin)


def load_source(place: DataSource, name: str | None = None) -> Dataset:
    """Load what `find_source` returned.

    Raises
    ------
    UserError
        If something in the files cannot be understood.
    """
    name = name or place.name
    if place.key is None:
        return _generated(name, place.entry.generate if place.entry else {})
    with memory_errors(place.source.parts[0]):
        return _load(place, place.key, name)


def _load(place: DataSource, key: str, name: str) -> Dataset:
    if place.entry and place.lists:
        dataset = read_lists(key, place.lists, place.entry.features)
        origin = f"stand-in data: the labels are those of {place.origin}; the features are generated from them"
        return replace(dataset, name=name, source=origin)
    return replace(read_cached(key, place.source), name=name, source=place.origin)


GENERATORS: Mapping[str, Callable[..., Dataset]] = {"rows": generate, "plane": gaussian_classes}


def _generated(name: str, arguments: Mapping[str, object]) -> Dataset:
    generator = GENERATORS[str(arguments.get("generator", "rows"))]
    return generator(name, **{key: value for key, value in arguments.items() if key != "generator"})


def _is_path(name_or_path: str | PathLike[str]) -> bool:
    if not isinstance(name_or_path, str):
        return True
    path = Path(name_or_path)
    if len(path.parts) > 1 or path.suffix or name_or_path.startswith("."):
        return True
    # Not Path.exists, which fails for names that no file can have.
    return exists(path) and not is_known(name_or_path)


def _in_catalogue(entry: Entry) -> DataSource:
    if entry.generate:
        return DataSource(None, Source(()), entry.name, "", entry)
    location = locate(entry)
    if location is None:
        raise UserError(missing_message(entry))
    check_sizes(location)
    files = location.files
    form, parts = location.form, tuple(files[role] for role in ("train", "test") if role in files)
    where = {"embedded": "embedded copy", "cache": "from the cache"}.get(location.where, f"from {location.where}")
    caveat = f", {entry.caveat}" if entry.caveat else ""
    origin = f"{entry.title}, {where}{caveat}{'' if entry.pinned else ', unpinned'}"
    if form.format in LABEL_LISTS:
        return DataSource(form.format, Source(tuple(files.values())), entry.name, origin, entry, files)
    source = Source(parts, files.get("labels"), form.zero_based, variables=form.variables)
    return DataSource(form.format, source, entry.name, origin, entry)


def _check_file(path: Path | None) -> None:
    if path is not None:
        check_regular(path)
