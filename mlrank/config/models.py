"""The parts of an experiment, as frozen objects that refuse what they do not know."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, model_validator

from mlrank.config.datasetblock import DatasetConfig, SubsetConfig
from mlrank.config.grid import MethodConfig
from mlrank.config.held import HeldData
from mlrank.config.keys import FROZEN, Count, Problem, Text, Values, as_tuple, key, raise_all
from mlrank.config.names import (
    OneOf,
    check_file_name,
    metric_name,
    scale_names,
    show,
    split_kinds,
)
from mlrank.config.places import Places
from mlrank.yamlfile import Positions, YamlMapping

__all__ = [
    "DatasetConfig",
    "ExperimentConfig",
    "OwnMetricConfig",
    "PropensityConfig",
    "RecipeConfig",
    "SearchConfig",
    "SplitConfig",
    "SubsetConfig",
    "keys_of_split",
]

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
UNKNOWN_LABELS = {
    "refuse": "The experiment does not start, and a message names the solver.",
    "absent": "The solver takes unknown entries for labels that the rows lack.",
}
RECIPE_PARTS = ("table", "times", "related", "figure", "readings")
SEARCH_STRATEGIES = {
    "grid": "Every grid point, on all folds.",
    "staged": "One axis after another, the others at their best so far.",
    "halving": "All grid points on few rows, then the best third on three times as many, up to all rows.",
    "random": "Grid points drawn by the seed, as many as `max_fits` allows.",
}


def _size(value: Any) -> Any:
    if value is None or (type(value) is int and value >= 1) or (type(value) is float and 0 < value < 1):
        return value
    raise ValueError(f"a size must be a number of rows (1 or more) or a fraction between 0 and 1, found {show(value)}")


def _repeated(key: str, what: str, values: tuple[Any, ...]) -> list[Problem]:
    return [
        ((key, i), f"the {what} {show(value)} is listed twice") for i, value in enumerate(values) if value in values[:i]
    ]


def keys_of_split(kind: str) -> tuple[str, ...]:
    """Return the keys that a kind of split uses beside `kind` and `missing_labels`."""
    return _SPLIT_USES[kind]


Size = Annotated[int | float | None, BeforeValidator(_size)]
MetricName = Annotated[str, BeforeValidator(metric_name)]


class SplitConfig(BaseModel):
    """How rows are divided into training and test parts; see `mlrank.splits.make_splits`.

    `missing_labels` is the share of the label entries of the training rows that is hidden.
    """

    model_config = FROZEN

    kind: Annotated[str, BeforeValidator(OneOf("kind of split", split_kinds))] = key(
        ..., "How rows are divided; each kind is explained below.", "kfold"
    )
    train: Annotated[Size, Values("number of rows | fraction of rows")] = key(
        None, "`holdout`: rows to train on; required there.", 0.7
    )
    test: Annotated[Size, Values("number of rows | fraction of rows")] = key(
        None, "`holdout`: rows to test on; required there. Rows beyond both are left out.", 0.3
    )
    folds: Annotated[int, Field(ge=2)] = key(5, "`kfold`: number of folds, each of which is tested on once.", 10)
    stratified: bool = key(
        True,
        "`holdout`, `kfold`: whether parts have about equal shares of each label (iterative stratification).",
        False,
    )
    parts: Annotated[int, Values("whole number, 2 or more"), Field(ge=2, lt=10**9)] = key(
        10, "`per_class`: the rows of each label are divided into so many parts, one of which is trained on.", 10
    )
    single: Annotated[int, Field(ge=0)] | None = key(
        None, "`strata`: training rows with one label; required there.", 500
    )
    multiple: Annotated[int, Field(ge=0)] | None = key(
        None, "`strata`: training rows with several labels; required there.", 500
    )
    repeats: Count = key(1, "How often rows are drawn anew, each time from a seed of its own.", 10)
    missing_labels: Annotated[float, Field(ge=0, lt=1, strict=False)] = key(
        0.0, "Share of the label entries of the training rows that is hidden, with any kind of split.", 0.3
    )

    @model_validator(mode="after")
    def _settings_fit_kind(self) -> "SplitConfig":
        found: list[Problem] = []
        for name, field in type(self).model_fields.items():
            if name not in ("kind", "missing_labels", *_SPLIT_USES[self.kind]) and getattr(self, name) != field.default:
                uses = ", ".join(_SPLIT_USES[self.kind]) or "no further key"
                found.append(((name,), f"'{name}' has no effect with kind '{self.kind}', which uses {uses}"))
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
        raise_all(found)
        return self

    def resolved(self) -> YamlMapping:
        """Return the YAML value that reads back as an equal split."""
        hidden = {"missing_labels": self.missing_labels} if self.missing_labels else {}
        return {"kind": self.kind, **{key: getattr(self, key) for key in _SPLIT_USES[self.kind]}, **hidden}


class PropensityConfig(BaseModel):
    """The constants of the propensities of labels; see `mlrank.metrics.propensity`."""

    model_config = FROZEN

    A: Annotated[float, Field(gt=0, strict=False)] = key(
        0.55, "How fast the propensity rises with the training rows of a label; 0.5 for Wikipedia, 0.6 for Amazon.", 0.5
    )
    B: Annotated[float, Field(gt=0, strict=False)] = key(
        1.5, "What is added to the training rows of a label; 0.4 for Wikipedia, 2.6 for Amazon.", 0.4
    )

    @property
    def chosen(self) -> tuple[float, float] | None:
        """A and B; None for those that stand where nothing is written."""
        return None if self == PropensityConfig() else (self.A, self.B)


class SearchConfig(BaseModel):
    """How grid points are compared: cross-validation on the training part.

    `max_fits` bounds the fits of one method on one split, `time_limit` the seconds of one fit.
    """

    model_config = FROZEN

    folds: Annotated[int, Field(ge=2)] = key(5, "Folds of the training part that grid points are compared on.", 3)
    stratified: bool = key(True, "Whether folds have about equal shares of each label.", False)
    metric: Annotated[MetricName, Values("metric")] = key(
        "f1_micro", "What the best grid point is best in; a metric, or `module:function` of your own.", "f1_macro"
    )
    strategy: Annotated[str, BeforeValidator(OneOf("strategy", lambda: SEARCH_STRATEGIES))] = key(
        "grid", "Which grid points are tried; each strategy is explained below.", "staged"
    )
    max_fits: Count | None = key(None, "Most fits of one method on one split; `random` needs it.", 200)
    time_limit: Annotated[float, Field(gt=0, strict=False)] | None = key(
        None,
        "Seconds that one fit may take; one that takes longer is a failed fit, "
        "and its grid point is not tried in the other folds of its search.",
        600,
    )

    @model_validator(mode="after")
    def _bounded(self) -> "SearchConfig":
        found: list[Problem] = []
        if self.strategy == "random" and self.max_fits is None:
            found.append(((), "strategy 'random' needs 'max_fits': how many fits it may make"))
        if self.max_fits is not None and self.max_fits < self.folds:
            found.append((("max_fits",), f"'max_fits' must allow one point, {self.folds} fits; found {self.max_fits}"))
        raise_all(found)
        return self


class RecipeConfig(BaseModel):
    """The recipe that an experiment comes from; it changes no result.

    `part` is what of the recipe it makes, `grid` a name of its grids, and `option` the data set of its list.
    """

    model_config = FROZEN

    name: Text = key(..., "Name of the recipe.", "imageclef")
    part: Annotated[str, BeforeValidator(OneOf("part of a recipe", lambda: RECIPE_PARTS))] = key(
        "table", "What of the recipe the experiment makes.", "times"
    )
    grid: Text | None = key(None, "Name of one of its grids.", "paper")
    option: Text | None = key(None, "The data set of its list.", "imageclef2007")


class OwnMetricConfig(BaseModel):
    """What the code of a metric of the user's own declares; written into results folders, which are read without it."""

    model_config = FROZEN

    higher_is_better: bool
    needs: Literal["scores", "sets"]


class ExperimentConfig(BaseModel):
    """A whole experiment, checked as far as it can be without the data.

    `display_names` are what tables for readers call methods, metrics and data sets.
    """

    model_config = ConfigDict(**FROZEN, arbitrary_types_allowed=True)

    name: Annotated[str, AfterValidator(lambda name: check_file_name("the experiment's name", name))] = key(
        ..., "What the results folder is called.", "my-yeast"
    )
    datasets: Annotated[
        tuple[DatasetConfig, ...],
        Values("list of names, paths or data sets"),
        BeforeValidator(as_tuple),
        Field(min_length=1),
    ] = key(..., "The data sets, each by a catalogue name, a path, or the keys below.", ["yeast", {"train": "a.svm"}])
    split: Annotated[SplitConfig, Values("mapping")] = key(
        ..., "How rows are divided into training and test parts.", {"kind": "kfold", "folds": 10}
    )
    subset: Annotated[SubsetConfig, Values("mapping")] = key(
        SubsetConfig(), "The part of each data set that is used; all of it if left out.", {"top_labels": 10}
    )
    scale: Annotated[str, BeforeValidator(OneOf("scale", scale_names))] = key(
        "none", "How features are scaled, fitted to the training part; each way is explained below.", "standard"
    )
    unknown_labels: Annotated[str, BeforeValidator(OneOf("way to take unknown labels", lambda: UNKNOWN_LABELS))] = key(
        "refuse", "What is done with unknown label entries for a solver that cannot leave them out.", "absent"
    )
    methods: Annotated[dict[str, MethodConfig], Values("mapping")] = key(
        ...,
        "What is compared: a solver with its settings and what stands beside them, by the name in tables.",
        {"Rank-SVM": {"solver": "rank_svm", "C": [0.1, 1, 10]}},
    )
    search: Annotated[SearchConfig, Values("mapping")] = key(
        SearchConfig(), "How grid points are compared, on the training part alone.", {"folds": 3, "metric": "f1_macro"}
    )
    metrics: Annotated[
        tuple[MetricName, ...], Values("list of metrics"), BeforeValidator(as_tuple), Field(min_length=1)
    ] = key(TABLE_METRICS, "The metrics of tables; every run stores all of them.", ["f1_macro", "ranking_loss"])
    propensity: Annotated[PropensityConfig, Values("mapping")] = key(
        PropensityConfig(), "The constants of the metrics psp_at_k and psndcg_at_k.", {"A": 0.5, "B": 0.4}
    )
    seed: Annotated[int, Field(ge=0)] = key(0, "What every draw of the experiment is derived from.", 1)
    display_names: Annotated[dict[Text, Text], Values("{NAME: TEXT}")] = key(
        {}, "What tables for readers call methods, metrics and data sets.", {"f1_macro": "Macro-F1"}
    )
    recipe: Annotated[RecipeConfig | None, Values("mapping")] = key(
        None, "The recipe that the experiment comes from; written by `mlrank reproduce`.", {"name": "imageclef"}
    )
    own_metrics: Annotated[dict[str, OwnMetricConfig], Values("mapping")] = key(
        {}, "What metrics of your own declare; written into results folders.", None
    )
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
        raise_all(_repeated("datasets", "data set", written) + _repeated("metrics", "metric", self.metrics))
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
        parts: list[tuple[tuple[str | int, ...], SubsetConfig]] = [(("subset",), self.subset)]
        parts += [(("datasets", i, "subset"), one.subset) for i, one in enumerate(self.datasets) if one.subset]
        for place, part in parts if pairwise else ():
            for name in ("rows", "top_features"):
                if getattr(part, name) is not None:
                    hint = "; a split of kind 'holdout' can leave rows out" if name == "rows" else ""
                    message = f"'{name}' would leave a precomputed kernel without a column for each row{hint}"
                    found.append(((*place, name), message))
        raise_all(found)
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
            **({"propensity": self.propensity.model_dump()} if self.propensity.chosen else {}),
            "seed": self.seed,
            **({"display_names": self.display_names} if self.display_names else {}),
            **recipe,
            **({"own_metrics": own} if own else {}),
        }
