"""The reference of configurations, from the models that read them: blocks of keys, and what named values mean."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin

import yaml
from pydantic import BaseModel, BeforeValidator
from pydantic.fields import FieldInfo

from mlrank.config.baselines import BASELINES, KEY
from mlrank.config.keys import Key, Values
from mlrank.config.methods import IN_METHODS, IN_PROJECTIONS, IN_THRESHOLDS
from mlrank.config.models import (
    SEARCH_STRATEGIES,
    UNKNOWN_LABELS,
    DatasetConfig,
    ExperimentConfig,
    PropensityConfig,
    SearchConfig,
    SplitConfig,
    SubsetConfig,
    keys_of_split,
)
from mlrank.config.names import OneOf

__all__ = ["BLOCKS", "as_yaml", "blocks", "choices", "keys_of_split"]

BLOCKS: Mapping[str, str] = {
    "experiment": "The top level of a file.",
    "datasets": "A data set that is no bare name or path; `mlrank.load_dataset` takes the same options.",
    "split": "How rows are divided into training and test parts.",
    "subset": "The part of each data set that is used.",
    "methods": "What stands in a method beside the settings of its solver, each of which may be a list: a grid axis.",
    "threshold": "A threshold that is no bare name; the threshold's own settings stand beside these keys.",
    "project": "A projection that is no bare name; the projection's own settings stand beside the key.",
    "search": "How grid points are compared, on the training part alone.",
    "propensity": "The constants of the metrics `psp_at_k` and `psndcg_at_k`, which count rare labels more.",
}
"""The blocks of a configuration, each with what it is."""

_MODELS: Mapping[str, type[BaseModel]] = {
    "experiment": ExperimentConfig,
    "datasets": DatasetConfig,
    "split": SplitConfig,
    "subset": SubsetConfig,
    "search": SearchConfig,
    "propensity": PropensityConfig,
}
# Written by the program alone, into results folders.
_NOT_BY_HAND = ("in_memory", "recipe", "own_metrics")
_BOUNDS = {"ge": "{} or more", "gt": "above {}", "lt": "below {}"}
_PLAIN = {int: "whole number", float: "number", bool: "true or false", str: "text", type(None): ""}


@cache
def blocks() -> Mapping[str, tuple[Key, ...]]:
    """Return the keys that a person writes, by block, in the order of declaration."""
    by_hand = {"methods": IN_METHODS, "threshold": IN_THRESHOLDS, "project": IN_PROJECTIONS}
    found = {block: by_hand[block] if block in by_hand else _keys(_MODELS[block]) for block in BLOCKS}
    baselines = Key(KEY, " | ".join(BASELINES), "-", "Adds the methods that reviewers ask for.", "standard")
    experiment = found["experiment"]
    place = [key.name for key in experiment].index("methods") + 1
    return {**found, "experiment": (*experiment[:place], baselines, *experiment[place:])}


def choices() -> Mapping[str, Mapping[str, str]]:
    """Return what each named value of a key means, by the key: "kind" of a split, "scale", "strategy" and others."""
    from mlrank.calibration import CALIBRATIONS
    from mlrank.datasets.formats.missing import IMPUTE
    from mlrank.scaling import SCALERS
    from mlrank.splits import SPLIT_KINDS

    return {
        "split": SPLIT_KINDS,
        "scale": {name: _summary(scaler) for name, scaler in SCALERS.items()},
        "impute": IMPUTE,
        "unknown_labels": UNKNOWN_LABELS,
        "calibrate": CALIBRATIONS,
        "search": SEARCH_STRATEGIES,
    }


def as_yaml(name: str, value: Any) -> str:
    """Return a key with its value on one line, as a file has them.

    >>> as_yaml("split", {"kind": "kfold", "folds": 10}), as_yaml("label_columns", ["y_*"])
    ('split: {kind: kfold, folds: 10}', "label_columns: ['y_*']")
    """
    text = yaml.safe_dump({name: value}, default_flow_style=True, sort_keys=False, width=1000, allow_unicode=True)
    return text.strip()[1:-1]


def _summary(found: type[Any]) -> str:
    return (found.__doc__ or "").strip().partition("\n")[0]


def _keys(model: type[BaseModel]) -> tuple[Key, ...]:
    return tuple(
        Key(name, _values(field), _default(field), field.description or "", next(iter(field.examples or ()), None))
        for name, field in model.model_fields.items()
        if name not in _NOT_BY_HAND
    )


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default is None or field.default == {}:
        return "-"
    if isinstance(field.default, BaseModel):
        return "as below"
    return json.dumps(field.default).strip('"')


def _values(field: FieldInfo) -> str:
    return _words(field.annotation, field.metadata)


def _words(annotation: Any, metadata: Any) -> str:
    """Return what a type with constraints takes."""
    for item in metadata:
        if isinstance(item, Values):
            return item.words
        if isinstance(item, BeforeValidator) and isinstance(item.func, OneOf):
            return " | ".join(item.func.names())
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _words(arguments[0], [part for item in arguments[1:] for part in getattr(item, "metadata", [item])])
    if origin is Literal:
        return " | ".join(map(str, arguments))
    if arguments:
        return " or ".join(filter(None, (_words(argument, metadata) for argument in arguments)))
    return ", ".join([_PLAIN[annotation], *filter(None, map(_bound, metadata))])


def _bound(item: Any) -> str:
    parts = ((getattr(item, name, None), text) for name, text in _BOUNDS.items())
    return "".join(text.format(value) for value, text in parts if value is not None)
