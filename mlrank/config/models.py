"""The parts of an experiment, as frozen objects that refuse what they do not know."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, model_validator
from pydantic_core import PydanticCustomError

from mlrank.config.grid import MethodConfig
from mlrank.config.held import HeldData
from mlrank.config.names import (
    check_file_name,
    impute_names,
    metric_name,
    one_of,
    scale_names,
    show,
    split_kinds,
    variable_roles,
)
from mlrank.config.places import Places
from mlrank.errors import UserError
from mlrank.yamlfile import Positions, YamlMapping

__all__ = [
    "DatasetConfig",
    "ExperimentConfig",
    "OwnMetricConfig",
    "RecipeConfig",
    "SearchConfig",
    "SplitConfig",
    "SubsetConfig",
]

_FROZEN = ConfigDict(frozen=True, extra="forbid", strict=True)

# What tables show unless the config says otherwise; every run stores all metrics.
TABLE_METRICS = ("f1_macro", "f1_micro", "auc_macro", "ranking_loss")

# The settings of each kind of split; any other one that is given would have no effect, so it is refused.
_SPLIT_USES = {
    "official": (),
    "holdout": ("train", "test", "stratified", "repeats"),
    "kfold": ("folds", "stratified", "repeats"),
    "per_class": ("parts", "repeats"),
    "strata": ("single", "multiple", "repeats"),
    "predefined": (),
}


MAX_SPLITS = 10_000

# What is done with unknown label entries for a solver that cannot leave them out.
UNKNOWN_LABELS = ("refuse", "absent")
RECIPE_PARTS = ("table", "times", "related", "figure")
SEARCH_STRATEGIES = ("grid", "staged", "halving", "random")

# Where inside a block, and what is wrong there.
Problem = tuple[tuple[str | int, ...], str]


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _size(value: Any) -> Any:
    if value is None or (type(value) is int and value >= 1) or (type(value) is float and 0 < value < 1):
        return value
    raise ValueError(f"a size must be a number of rows (1 or more) or a fraction between 0 and 1, found {show(value)}")


def _label_columns(value: Any) -> Any:
    names = (value,) if isinstance(value, str) else _as_tuple(value)
    if type(names) is int and names != 0:
        return names
    if isinstance(names, tuple) and names and all(isinstance(name, str) for name in names):
        return names
    expected = "n for the first n columns, -n for the last n, or a list of names in quotes, such as 'y_*'"
    raise ValueError(f"'label_columns' must be {expected}; found {show(value)}")


def _column_names(value: Any) -> Any:
    names = (value,) if isinstance(value, str) else _as_tuple(value)
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
        one_of("role of a variable", variable_roles)(role)
    return value


def _raise_all(found: list[Problem]) -> None:
    if found:
        raise PydanticCustomError("block", "{problems}", {"problems": found})


def _repeated(key: str, what: str, values: tuple[Any, ...]) -> list[Problem]:
    return [
        ((key, i), f"the {what} {show(value)} is listed twice") for i, value in enumerate(values) if value in values[:i]
    ]


def _is_bare(name: str | None) -> bool:
    """Return whether a name is that of a data set rather than a path."""
    return name is None or (Path(name).name == name and not Path(name).suffix)


Count = Annotated[int, Field(ge=1)]
Size = Annotated[int | float | None, BeforeValidator(_size)]
MetricName = Annotated[str, BeforeValidator(metric_name)]
Text = Annotated[str, Field(min_length=1)]


class DatasetConfig(BaseModel):
    """A data set: a catalogue name or path, or the files to train and to test on; see `mlrank.load_dataset`.

    `name` beside `train` is what to call it, and so it is beside `in_memory`, for data that a program holds.
    """

    model_config = _FROZEN

    name: Text | None = None
    in_memory: bool = False
    train: Text | None = None
    test: Text | None = None
    labels: Annotated[Any, BeforeValidator(_labels)] = None
    format: Text | None = None
    zero_based: bool | None = None
    features: Text | None = None
    label_columns: Annotated[Any, BeforeValidator(_label_columns)] = None
    ignore_columns: Annotated[Any, BeforeValidator(_column_names)] = None
    id_column: Text | None = None
    group_column: Text | None = None
    fold_column: Text | None = None
    text_columns: Annotated[Any, BeforeValidator(_text_columns)] = None
    one_hot: Annotated[Any, BeforeValidator(_one_hot)] = None
    positive: Annotated[Any, BeforeValidator(_words)] = None
    header: bool | None = None
    separator: Text | None = None
    decimal: Text | None = None
    thousands: Text | None = None
    variables: Annotated[dict[str, str] | None, BeforeValidator(_variables)] = None
    impute: Annotated[str | None, BeforeValidator(one_of("way to impute", impute_names))] = None

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
            _raise_all([(("weight_column",), message)])
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
        _raise_all(found)
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

    def resolved(self) -> str | YamlMapping:
        """Return the YAML value that reads back as an equal data set."""
        given = {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in self.model_dump(exclude_none=True, exclude_defaults=True).items()
        }
        return str(self.name) if set(given) == {"name"} else given


class SplitConfig(BaseModel):
    """How rows are divided into training and test parts; see `mlrank.splits.make_splits`.

    `missing_labels` is the share of the label entries of the training rows that is hidden.
    """

    model_config = _FROZEN

    kind: Annotated[str, BeforeValidator(one_of("kind of split", split_kinds))]
    train: Size = None
    test: Size = None
    folds: Annotated[int, Field(ge=2)] = 5
    stratified: bool = True
    parts: Annotated[int, Field(ge=2, lt=10**9)] = 10
    single: Annotated[int, Field(ge=0)] | None = None
    multiple: Annotated[int, Field(ge=0)] | None = None
    repeats: Count = 1
    missing_labels: Annotated[float, Field(ge=0, lt=1, strict=False)] = 0.0

    @model_validator(mode="after")
    def _settings_fit_kind(self) -> "SplitConfig":
        found: list[Problem] = []
        for key, field in type(self).model_fields.items():
            if key not in ("kind", "missing_labels", *_SPLIT_USES[self.kind]) and getattr(self, key) != field.default:
                uses = ", ".join(_SPLIT_USES[self.kind]) or "no further key"
                found.append(((key,), f"'{key}' has no effect with kind '{self.kind}', which uses {uses}"))
        n_splits = self.repeats * (self.folds if self.kind == "kfold" else 1)
        if n_splits > MAX_SPLITS:
            message = f"the data would be split {n_splits} times, at most {MAX_SPLITS} are allowed"
            found.append((("repeats" if self.repeats > 1 else "folds",), message))
        if self.kind == "strata":
            absent = [key for key in ("single", "multiple") if getattr(self, key) is None]
            found += [((), f"kind 'strata' needs '{key}': a number of rows") for key in absent]
        if self.kind == "holdout":
            absent = [key for key in ("train", "test") if getattr(self, key) is None]
            found += [((), f"kind 'holdout' needs '{key}': a number or fraction of rows") for key in absent]
            fractions = [size for size in (self.train, self.test) if isinstance(size, float)]
            if sum(fractions) > 1 + 1e-9:
                found.append((("test",), f"train and test make up {sum(fractions):g} of the rows, at most 1 is there"))
        _raise_all(found)
        return self

    def resolved(self) -> YamlMapping:
        """Return the YAML value that reads back as an equal split."""
        hidden = {"missing_labels": self.missing_labels} if self.missing_labels else {}
        return {"kind": self.kind, **{key: getattr(self, key) for key in _SPLIT_USES[self.kind]}, **hidden}


class SubsetConfig(BaseModel):
    """The part of a data set that is used: so many rows, labels and features; None uses all."""

    model_config = _FROZEN

    rows: Count | None = None
    top_labels: Count | None = None
    min_positives: Count | None = None
    top_features: Count | None = None


class SearchConfig(BaseModel):
    """How grid points are compared: cross-validation on the training part.

    `max_fits` bounds the fits of one method on one split, `time_limit` the seconds of one fit.
    """

    model_config = _FROZEN

    folds: Annotated[int, Field(ge=2)] = 5
    stratified: bool = True
    metric: MetricName = "f1_micro"
    strategy: Annotated[str, BeforeValidator(one_of("strategy", lambda: SEARCH_STRATEGIES))] = "grid"
    max_fits: Count | None = None
    time_limit: Annotated[float, Field(gt=0, strict=False)] | None = None

    @model_validator(mode="after")
    def _bounded(self) -> "SearchConfig":
        found: list[Problem] = []
        if self.strategy == "random" and self.max_fits is None:
            found.append(((), "strategy 'random' needs 'max_fits': how many fits it may make"))
        if self.max_fits is not None and self.max_fits < self.folds:
            found.append((("max_fits",), f"'max_fits' must allow one point, {self.folds} fits; found {self.max_fits}"))
        _raise_all(found)
        return self


class RecipeConfig(BaseModel):
    """The recipe that an experiment comes from; it changes no result.

    `part` is what of the recipe it makes, `grid` a name of its grids, and `option` the data set of its list.
    """

    model_config = _FROZEN

    name: Text
    part: Annotated[str, BeforeValidator(one_of("part of a recipe", lambda: RECIPE_PARTS))] = "table"
    grid: Text | None = None
    option: Text | None = None


class OwnMetricConfig(BaseModel):
    """What the code of a metric of the user's own declares; written into results folders, which are read without it."""

    model_config = _FROZEN

    higher_is_better: bool
    needs: Literal["scores", "sets"]


class ExperimentConfig(BaseModel):
    """A whole experiment, checked as far as it can be without the data.

    `display_names` are what tables for readers call methods, metrics and data sets.
    """

    model_config = ConfigDict(**_FROZEN, arbitrary_types_allowed=True)

    name: Annotated[str, AfterValidator(lambda name: check_file_name("the experiment's name", name))]
    datasets: Annotated[tuple[DatasetConfig, ...], BeforeValidator(_as_tuple), Field(min_length=1)]
    split: SplitConfig
    subset: SubsetConfig = SubsetConfig()
    scale: Annotated[str, BeforeValidator(one_of("scale", scale_names))] = "none"
    unknown_labels: Annotated[str, BeforeValidator(one_of("way to take unknown labels", lambda: UNKNOWN_LABELS))] = (
        "refuse"
    )
    methods: dict[str, MethodConfig]
    search: SearchConfig = SearchConfig()
    metrics: Annotated[tuple[MetricName, ...], BeforeValidator(_as_tuple), Field(min_length=1)] = TABLE_METRICS
    seed: Annotated[int, Field(ge=0)] = 0
    display_names: dict[Text, Text] = {}
    recipe: RecipeConfig | None = None
    own_metrics: dict[str, OwnMetricConfig] = {}
    _places: Places = PrivateAttr(Places())

    def holding(self, held: Sequence[HeldData | None]) -> "ExperimentConfig":
        """Give the data sets their data in memory, one for each or None, and return self."""
        for dataset, data in zip(self.datasets, held, strict=True):
            dataset._held = data
        return self

    @property
    def places(self) -> Places:
        """Where the values stand in the file that they were read from."""
        return self._places

    def read_from(self, positions: Positions, path: Path) -> "ExperimentConfig":
        """Return the configuration of a file: paths are as seen from it, and it notes where the values stand."""
        found = self
        if path.parent != Path():
            datasets = tuple(dataset.beside(path.parent) for dataset in self.datasets)
            found = self.model_copy(update={"datasets": datasets})
        found._places = Places(positions)
        return found

    @model_validator(mode="after")
    def _nothing_twice(self) -> "ExperimentConfig":
        written = tuple(dataset.resolved() for dataset in self.datasets)
        _raise_all(_repeated("datasets", "data set", written) + _repeated("metrics", "metric", self.metrics))
        return self

    @model_validator(mode="after")
    def _kernels_stay_whole(self) -> "ExperimentConfig":
        pairwise = {name: method for name, method in self.methods.items() if method.pairwise}
        found: list[Problem] = []
        for name, method in pairwise.items():
            if len(method.kernels) > 1:
                message = "a precomputed kernel is other data than features; write one method for each"
                found.append((("methods", name, "kernel"), message))
            if method.projection_class is not None:
                message = "a projection needs features, and a precomputed kernel has none"
                found.append((("methods", name, "project"), message))
        if pairwise and self.scale != "none":
            message = f"the precomputed kernel of method '{next(iter(pairwise))}' must not be scaled: write 'none'"
            found.append((("scale",), message))
        for key in ("rows", "top_features") if pairwise else ():
            if getattr(self.subset, key) is not None:
                hint = "; a split of kind 'holdout' can leave rows out" if key == "rows" else ""
                message = f"'{key}' would leave a precomputed kernel without a column for each row{hint}"
                found.append((("subset", key), message))
        _raise_all(found)
        return self

    def resolved(self) -> YamlMapping:
        """Return plain values, nothing left out, that load again as an equal config.

        Write them with `mlrank.yamlfile.dump_yaml`: the order of keys is the order of methods and axes.
        """
        own = {name: declared.model_dump() for name, declared in self.own_metrics.items()}
        recipe = {} if self.recipe is None else {"recipe": self.recipe.model_dump(exclude_none=True)}
        return {
            "name": self.name,
            "datasets": [dataset.resolved() for dataset in self.datasets],
            "split": self.split.resolved(),
            "subset": self.subset.model_dump(exclude_none=True),
            "scale": self.scale,
            "unknown_labels": self.unknown_labels,
            "methods": {name: method.resolved() for name, method in self.methods.items()},
            "search": self.search.model_dump(exclude_none=True),
            "metrics": list(self.metrics),
            "seed": self.seed,
            **({"display_names": self.display_names} if self.display_names else {}),
            **recipe,
            **({"own_metrics": own} if own else {}),
        }
