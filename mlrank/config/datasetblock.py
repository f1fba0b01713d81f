"""The `datasets` block: a data set by its name, its files, or in memory, with the options for reading it."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, PrivateAttr, model_validator

from mlrank.config.held import HeldData
from mlrank.config.keys import FROZEN, Count, Problem, Text, Values, as_tuple, key, raise_all
from mlrank.config.names import OneOf, impute_names, show, variable_roles
from mlrank.errors import UserError
from mlrank.yamlfile import YamlMapping

__all__ = ["DatasetConfig", "SubsetConfig"]


def _label_columns(value: Any) -> Any:
    names = (value,) if isinstance(value, str) else as_tuple(value)
    if type(names) is int and names != 0:
        return names
    if isinstance(names, tuple) and names and all(isinstance(name, str) for name in names):
        return names
    expected = "n for the first n columns, -n for the last n, or a list of names in quotes, such as 'y_*'"
    raise ValueError(f"'label_columns' must be {expected}; found {show(value)}")


def _column_names(value: Any) -> Any:
    names = (value,) if isinstance(value, str) else as_tuple(value)
    if isinstance(names, tuple) and names and all(isinstance(name, str) and name for name in names):
        return names
    raise ValueError(f"must be the name of a column or a list of names in quotes, found {show(value)}")


def _one_hot(value: Any) -> Any:
    return value if value is True else _column_names(value)


def _words(value: Any) -> Any:
    """Return words as text: YAML takes some of them for booleans and numbers."""
    items = value if isinstance(value, (list, tuple)) else [value]
    if not items or not all(isinstance(item, (str, int, float)) for item in items):
        raise ValueError(f"'positive' must be a word or a list of words, found {show(value)}")
    return tuple(str(item).lower() if isinstance(item, bool) else str(item) for item in items)


def _labels(value: Any) -> Any:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, (list, tuple)) and len(value) == 2 and all(isinstance(path, str) for path in value):
        return tuple(value)
    if isinstance(value, dict):
        from mlrank.datasets.loading import source_options

        try:
            source_options({"labels": value})
        except UserError as error:
            raise ValueError(error.message) from error
        return {"column": value["column"], **{key: value[key] for key in ("separator", "names") if key in value}}
    expected = "a path, two paths (of the training and the test part), or {column: NAME, separator: ';'}"
    raise ValueError(f"'labels' must be {expected}, found {show(value)}")


def _text_columns(value: Any) -> Any:
    from mlrank.datasets.loading import text_settings

    columns = value if isinstance(value, dict) else dict.fromkeys(_column_names(value))
    if not all(settings is None or isinstance(settings, dict) for settings in columns.values()):
        raise ValueError("'text_columns' must be names, or a mapping such as {body: {max_features: 20000}}")
    try:
        text_settings(columns)
    except UserError as error:
        raise ValueError(error.message) from error
    return {name: dict(settings or {}) for name, settings in columns.items()}


def _variables(value: Any) -> Any:
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value.values()):
        raise ValueError(f"'variables' must be a mapping such as {{X: data, Y: target}}, found {show(value)}")
    for role in value:
        OneOf("role of a variable", variable_roles)(role)
    return value


class SubsetConfig(BaseModel):
    """The part of a data set that is used: so many rows, labels and features; None uses all."""

    model_config = FROZEN

    rows: Count | None = key(None, "So many rows, drawn by the seed; the official split is dropped.", 1000)
    top_labels: Count | None = key(None, "So many labels: the most frequent ones.", 10)
    min_positives: Count | None = key(None, "Labels that at least so many rows have.", 20)
    top_features: Count | None = key(None, "So many features: those that are not zero in the most rows.", 5000)


class DatasetConfig(BaseModel):
    """A data set: a catalogue name or path, or the files to train and to test on; see `mlrank.load_dataset`.

    `name` beside `train` is what to call it, and so it is beside `in_memory`, for data that a program holds.
    """

    model_config = FROZEN

    name: Text | None = key(None, "Catalogue name, or path; beside `train`, what to call the data set.", "yeast")
    in_memory: bool = key(
        False, "Whether a program holds the data; written into results folders, never by hand.", False
    )
    train: Text | None = key(None, "File or folder of the training part, or of all rows.", "a.svm")
    test: Text | None = key(None, "File of the test part; training and test rows then are the official split.", "b.svm")
    labels: Annotated[
        Any,
        Values("path | [path, path] | {column: NAME, separator: TEXT}"),
        BeforeValidator(_labels),
    ] = key(
        None,
        "File with the names of the labels; a table of labels, a row for each row (one for each part); or the column "
        "that lists the labels of each row.",
        {"column": "tags", "separator": ";"},
    )
    format: Text | None = key(None, "Format of the files; by their ending and first lines if left out.", "csv")
    zero_based: bool | None = key(
        None, "Whether numbers of features count from 0; as the training part tells if left out.", True
    )
    features: Text | None = key(None, "File with the names of features that are numbered, one a line.", "features.txt")
    label_columns: Annotated[Any, Values("names | n | -n"), BeforeValidator(_label_columns)] = key(
        None, "Label columns of a table: names (`y_*` names several), the first n, or the last n as -n.", -6
    )
    ignore_columns: Annotated[Any, Values("names"), BeforeValidator(_column_names)] = key(
        None, "Columns that are neither features nor labels.", ["note", "tmp_*"]
    )
    id_column: Text | None = key(None, "Column with the names of the rows; they stand in predictions.", "name")
    group_column: Text | None = key(None, "Column whose equal values stay together in every split and fold.", "patient")
    fold_column: Text | None = key(None, "Column with folds of your own, for `split: {kind: predefined}`.", "fold")
    text_columns: Annotated[Any, Values("names | {NAME: settings}"), BeforeValidator(_text_columns)] = key(
        None,
        "Columns of text, which become TF-IDF features, fitted to the training part of each split.",
        {"body": {"max_features": 20000, "ngrams": [1, 2]}},
    )
    one_hot: Annotated[Any, Values("names | true"), BeforeValidator(_one_hot)] = key(
        None,
        "Columns of categories, each value of which becomes a feature of 0 and 1; true: all columns of text.",
        ["city"],
    )
    positive: Annotated[Any, Values("word | list of words"), BeforeValidator(_words)] = key(
        None, "Words that mean that a row has a label, where they are not among the usual ones.", ["ja", "wahr"]
    )
    header: bool | None = key(None, "Whether the first line names the columns; as the text tells if left out.", False)
    separator: Text | None = key(None, "What stands between cells; as the text tells if left out.", ";")
    decimal: Text | None = key(None, "What stands before fractions; as the text tells if left out.", ",")
    thousands: Text | None = key(None, "What stands between thousands; as the text tells if left out.", ".")
    variables: Annotated[
        dict[str, str] | None, Values("{X: NAME, Y: NAME, X_test: NAME, Y_test: NAME}"), BeforeValidator(_variables)
    ] = key(None, "Variables of a MATLAB file; a name with ' behind it is transposed.", {"X": "data", "Y": "target'"})
    impute: Annotated[str | None, BeforeValidator(OneOf("way to impute", impute_names))] = key(
        None, "What missing values of features are filled with; refused if left out.", "median"
    )
    subset: Annotated[SubsetConfig | None, Values("mapping")] = key(
        None, "The part of this data set that is used, in place of the experiment's `subset`.", {"rows": 3000}
    )

    _held: HeldData | None = PrivateAttr(None)

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        if not isinstance(value, (str, dict, DatasetConfig)):
            raise ValueError(f"a data set is a name or path in quotes, or {{train: PATH}}; found {show(value)}")
        if isinstance(value, dict) and "weight_column" in value:
            message = (
                "no solver takes weights of rows: leave 'weight_column' out, and name the column in 'ignore_columns'"
            )
            raise_all([(("weight_column",), message)])
        return {"name": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_source(self) -> "DatasetConfig":
        found: list[Problem] = []
        if self.in_memory and self.train is not None:
            found.append((("train",), "a data set in memory has no path"))
        if self.name is None and self.train is None and not self.in_memory:
            found.append(((), "a data set has 'name', a catalogue name or path, or 'train', a path; found neither"))
        if self.test is not None and self.train is None and not self.in_memory:
            found.append((("test",), "'test' needs 'train' beside it; a path by itself is the data set's name"))
        raise_all(found)
        return self

    @property
    def held(self) -> HeldData | None:
        """The data in memory; None where they are not, or no longer."""
        return self._held

    def beside(self, folder: Path) -> "DatasetConfig":
        """Return the data set with its relative paths as seen from a folder, where such files are."""

        def moved(path: Any) -> Any:
            if isinstance(path, tuple):
                return tuple(map(moved, path))
            there = isinstance(path, str) and not Path(path).is_absolute() and (folder / path).exists()
            return str(folder / path) if there else path

        keys = ("train", "test", "labels", "features", *(() if self.train or _is_bare(self.name) else ("name",)))
        return self.model_copy(update={key: moved(getattr(self, key)) for key in keys})

    def is_called(self, name: str) -> bool:
        """Return whether runs may call the data set so: by its name, or as its file is called."""
        own = self.name or self.train
        return own is not None and name in (own, (path := Path(own)).name, path.stem, path.name.partition(".")[0])

    def resolved(self) -> str | YamlMapping:
        """Return the YAML value that reads back as an equal data set."""
        given = {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in self.model_dump(exclude_none=True, exclude_defaults=True).items()
        }
        return str(self.name) if set(given) == {"name"} else given


def _is_bare(name: str | None) -> bool:
    """Return whether a name is that of a data set rather than a path."""
    return name is None or (Path(name).name == name and not Path(name).suffix)
