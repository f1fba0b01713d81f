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
from mlrank.datasets.columns import ListColumn, TextColumn
from mlrank.datasets.dataset import Dataset
from mlrank.datasets.formats import Source, format_of
from mlrank.datasets.formats.base import LoadOptions
from mlrank.datasets.formats.text import file_stem, shown
from mlrank.datasets.generated.gaussians import gaussian_classes
from mlrank.datasets.generated.standin import generate
from mlrank.datasets.openml import openml_number, openml_table
from mlrank.errors import UserError, check_regular, memory_errors, unknown_name

__all__ = ["DataSource", "find_source", "load_dataset", "load_source", "source_options", "text_settings"]


def load_dataset(
    name_or_path: Any,
    *,
    labels: Any = None,
    test: Any = None,
    format: str | None = None,
    zero_based: bool | None = None,
    features: str | PathLike[str] | None = None,
    label_columns: int | str | Sequence[str] | None = None,
    ignore_columns: str | Sequence[str] | None = None,
    id_column: str | None = None,
    group_column: str | None = None,
    fold_column: str | None = None,
    text_columns: str | Sequence[str] | Mapping[str, Mapping[str, Any] | None] | None = None,
    one_hot: bool | str | Sequence[str] | None = None,
    positive: str | Sequence[str] | None = None,
    header: bool | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    variables: Mapping[str, str] | None = None,
    impute: str | None = None,
    name: str | None = None,
) -> Dataset:
    """Load a data set by catalogue name, from files (through gzip, bzip2, xz and zip), or from a frame in memory.

    Parameters
    ----------
    name_or_path : str, path, or data in memory
        A catalogue name, `openml:NUMBER` of a data set that was fetched, or the file of the training part (or of all
        rows). A str that is a catalogue name is
        taken as one; write ./NAME for a file of that name. Data in memory: a pandas DataFrame, an Arrow table, a
        NumPy array or SciPy sparse matrix (with `labels`), or a Bunch of scikit-learn.
    labels : path, pair of paths, mapping, or array, optional
        Mulan XML for ARFF; label names, one a line or as XML, for other formats (in tables: the label columns). Or a
        table of labels (.csv, .tsv, .parquet, .npy, .npz) with a row for each row, one file for each part. Or
        ``{"column": "tags", "separator": "|"}``: the column of a table that lists the labels of each row.
    test : path, or data in memory, optional
        The test part: its rows follow the training rows and both make up the official split.
    format : str, optional
        Key of FORMATS; by the file's ending and header if left out.
    zero_based : bool, optional
        For formats that number features: whether they count from 0; decided by the training part if left out.
    features : path, optional
        Feature names, one a line, for formats that number features.
    label_columns : int, str or sequence of str, optional
        For tables and MEKA files: the label columns; n for the first n, -n for the last n; "y_*" names several.
    ignore_columns : str or sequence of str, optional
        For tables: columns that are neither features nor labels; "x_*" names several.
    id_column, group_column, fold_column : str, optional
        For tables: the columns that name the rows, that group them (no group is on both sides of a split or fold), and
        that divide them into folds.
    text_columns : str, sequence of str, or mapping, optional
        For tables: columns of text, whose terms are counted and weighted by TF-IDF as in the training part of each
        split; a mapping has settings: ``{"body": {"max_features": 20000, "ngrams": [1, 2]}}``.
    one_hot : True, str or sequence of str, optional
        For tables: columns of categories, each value of which becomes a feature of 0 and 1; True: all columns of text.
    positive : str or sequence of str, optional
        For tables: words that mean that a row has a label, where they are not among the usual (yes, true, 1, ...).
    header : bool, optional
        For separated text: whether the first line names the columns.
    separator, decimal, thousands : str, optional
        For separated text: what stands between cells, before fractions and between thousands; as the text tells if
        left out.
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
    options: LoadOptions = {
        "labels": labels,
        "test": test,
        "format": format,
        "zero_based": zero_based,
        "features": features,
        "label_columns": label_columns,
        "ignore_columns": ignore_columns,
        "id_column": id_column,
        "group_column": group_column,
        "fold_column": fold_column,
        "text_columns": text_columns,
        "one_hot": one_hot,
        "positive": positive,
        "header": header,
        "separator": separator,
        "decimal": decimal,
        "thousands": thousands,
        "variables": variables,
        "impute": impute,
    }
    if not isinstance(name_or_path, (str, PathLike)):
        from mlrank.datasets.memory import dataset_in_memory

        return dataset_in_memory(name_or_path, name, options)
    return load_source(find_source(name_or_path, **options), name)


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
    if isinstance(name_or_path, str) and (number := openml_number(name_or_path)) is not None:
        return _of_openml(number, test, format, options)
    if not _is_path(name_or_path):
        settings = {"labels": options.get("labels"), "test": test, "format": format, **options}
        given = [setting for setting, value in settings.items() if value is not None]
        if given:
            raise UserError(f"'{name_or_path}' is a catalogue name; {', '.join(given)} can only be given with a file")
        return _in_catalogue(find_entry(fspath(name_or_path)))
    parts = tuple(Path(part).expanduser() for part in (name_or_path, test) if part is not None)
    if len(parts) == 2 and parts[0].resolve() == parts[1].resolve():
        raise UserError("the test part is the training part's file", parts[1])
    source = Source(parts, **source_options(options))
    for path in (*parts, *source.label_files, source.features):
        _check_file(path)
    origin = "file " if len(parts) == 1 else "files "
    origin += " and ".join(part.name for part in parts)
    return DataSource(format or format_of(parts[0], source), source, file_stem(parts[0])[0], origin)


def source_options(options: LoadOptions) -> LoadOptions:
    """Return the arguments of `load_dataset` as those of `Source`: paths, tuples of names, settings of columns.

    Raises
    ------
    UserError
        If one is not of a form that can be understood.
    """
    found = dict(options)
    if found.get("features") is not None:
        found["features"] = Path(found["features"]).expanduser()
    found["labels"] = _labels(options.get("labels"))
    columns = options.get("label_columns")
    found["label_columns"] = columns if isinstance(columns, int) else _names(columns)
    for key in ("ignore_columns", "positive"):
        found[key] = _names(options.get(key))
    if not isinstance(options.get("one_hot"), bool):
        found["one_hot"] = _names(options.get("one_hot"))
    elif options.get("one_hot") is False:
        found["one_hot"] = None
    found["text_columns"] = text_settings(options.get("text_columns"))
    return found


def _names(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    return (value,) if isinstance(value, str) else tuple(map(str, value))


def _labels(value: Any) -> Any:
    if value is None or isinstance(value, ListColumn):
        return value
    if isinstance(value, Mapping):
        unknown = sorted(set(value) - {"column", "separator", "names"})
        if unknown or not isinstance(value.get("column"), str):
            wrong = unknown_name("key of labels", unknown[0], ("column", "separator", "names")) if unknown else ""
            raise UserError(wrong or "labels as a mapping needs 'column', the column that lists them")
        return ListColumn(value["column"], value.get("separator"), _names(value.get("names")))
    if isinstance(value, (tuple, list)):
        return tuple(Path(path).expanduser() for path in value)
    return Path(value).expanduser()


def text_settings(value: Any) -> tuple[TextColumn, ...] | None:
    """Return columns of text from a name, names, or a mapping from names to settings.

    Raises
    ------
    UserError
        If a setting is unknown or has no such value.
    """
    if value is None:
        return None
    given = value if isinstance(value, Mapping) else dict.fromkeys(_names(value) or ())
    found = []
    for column, settings in given.items():
        for key, setting in (settings or {}).items():
            known = ("max_features", "ngrams", "lowercase", "min_rows")
            if key not in known:
                raise UserError(unknown_name("setting of a text column", key, known), setting="text_columns")
            whole = type(setting) is int and setting >= 1
            pair = isinstance(setting, (list, tuple)) and len(setting) == 2 and all(type(n) is int for n in setting)
            fits = {"ngrams": pair and 1 <= setting[0] <= setting[1] <= 9 if pair else False}
            fits |= {"lowercase": isinstance(setting, bool), "max_features": whole, "min_rows": whole}
            if not fits[key]:
                expected = {"ngrams": "two numbers such as [1, 2]", "lowercase": "true or false"}.get(key, "1 or more")
                message = f"{key} of the text column {shown(str(column))} must be {expected}, found {setting!r}"
                raise UserError(message, setting="text_columns")
        plain = dict(settings or {})
        if "ngrams" in plain:
            plain["ngrams"] = tuple(plain["ngrams"])
        found.append(TextColumn(str(column), **plain))
    return tuple(found)


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


def _of_openml(number: int, test: Any, format: str | None, options: LoadOptions) -> DataSource:
    if test is not None or format is not None:
        raise UserError(f"'openml:{number}' is one table; test and format can only be given with a file")
    table = openml_table(number)
    given = {key: value for key, value in options.items() if value is not None}
    if given.keys().isdisjoint(("labels", "label_columns")):
        given["label_columns"] = table.labels
    given.setdefault("one_hot", True)
    source = Source((table.path,), **source_options(given))
    return DataSource("csv", source, f"openml-{number}", f"OpenML {number} ({table.title}), from the cache")


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
    if path is not None and not path.is_dir():
        check_regular(path)
