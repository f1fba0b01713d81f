"""The reference of configurations: no key without meaning and example, and every example is a valid configuration."""

import pytest
import yaml

from mlrank.config import config_of
from mlrank.config.methods import BESIDE
from mlrank.config.models import (
    DatasetConfig,
    ExperimentConfig,
    PropensityConfig,
    SearchConfig,
    SplitConfig,
    SubsetConfig,
)
from mlrank.config.reference import BLOCKS, as_yaml, blocks, choices
from mlrank.errors import UserError

KEYS = [(block, key) for block, keys in blocks().items() for key in keys]
# What must stand beside a key for it to have an effect.
BESIDE_KEY = {
    "train": {"kind": "holdout", "test": 0.3},
    "test": {"kind": "holdout", "train": 0.7},
    "folds": {"kind": "kfold"},
    "stratified": {"kind": "kfold"},
    "parts": {"kind": "per_class"},
    "single": {"kind": "strata", "multiple": 1},
    "multiple": {"kind": "strata", "single": 1},
    "repeats": {"kind": "kfold"},
}


def experiment(block, given):
    """Return an experiment whose block is given, or has what is given beside what it needs."""
    method = {"solver": "knn"}
    parts = {
        "experiment": {},
        "datasets": {"datasets": [{"train": "a.svm", **given}]},
        "split": {"split": {"kind": "official", **BESIDE_KEY.get(next(iter(given), ""), {}), **given}},
        "subset": {"subset": given},
        "search": {"search": given},
        "propensity": {"propensity": given},
        "methods": {"methods": {"M": method | given}},
        "threshold": {"methods": {"M": {"threshold": {"kind": "zero", **given}, **method}}},
        "project": {"methods": {"M": {"project": {"kind": "blda", **given}, **method}}},
    }
    base = {"name": "n", "datasets": ["yeast"], "split": {"kind": "official"}, "methods": {"M": method}}
    return base | (given if block == "experiment" else parts[block])


def test_the_blocks_are_all_that_a_file_may_have():
    by_model = {
        "experiment": {*ExperimentConfig.model_fields, "baselines"} - {"recipe", "own_metrics"},
        "datasets": {*DatasetConfig.model_fields} - {"in_memory"},
        "split": {*SplitConfig.model_fields},
        "subset": {*SubsetConfig.model_fields},
        "search": {*SearchConfig.model_fields},
        "propensity": {*PropensityConfig.model_fields},
        "methods": {*BESIDE},
        "threshold": {"kind", "scores", "min_labels", "max_labels"},
        "project": {"kind"},
    }
    assert {block: {key.name for key in keys} for block, keys in blocks().items()} == by_model
    assert set(BLOCKS) == set(by_model)


@pytest.mark.parametrize(("block", "key"), KEYS, ids=[f"{block}-{key.name}" for block, key in KEYS])
def test_each_key_has_a_meaning_and_an_example_that_is_valid(block, key):
    assert key.meaning.endswith(".")
    assert key.values
    assert key.example is not None
    assert yaml.safe_load(as_yaml(key.name, key.example)) == {key.name: key.example}
    config_of(experiment(block, {key.name: key.example}), "example")


@pytest.mark.parametrize(("block", "key"), KEYS, ids=[f"{block}-{key.name}" for block, key in KEYS])
def test_each_default_is_what_leaving_the_key_out_means(block, key):
    if key.default == "required":
        given = experiment(block, {})
        where = {"methods": lambda e: e["methods"]["M"], "split": lambda e: e["split"]}.get(block, lambda e: e)(given)
        if block != "project":
            del where[key.name]
        else:
            del given["methods"]["M"]["project"]["kind"]
        with pytest.raises(UserError, match=f"the key '{key.name}' is missing"):
            config_of(given, "example")
    elif block in ("split", "search", "subset", "experiment") and key.default not in ("-", "as below"):
        value = yaml.safe_load(key.default)
        beside = (
            {"max_fits": 99} if key.name == "strategy" else BESIDE_KEY.get(key.name, {}) if block == "split" else {}
        )
        written = config_of(experiment(block, {**beside, key.name: value}), "example")
        left_out = config_of(experiment(block, beside), "example")
        assert written.resolved() == left_out.resolved()


def test_named_values_are_those_that_are_accepted():
    places = {
        "split": lambda name: experiment("split", {"kind": name, **NEEDED.get(name, {})}),
        "scale": lambda name: experiment("experiment", {"scale": name}),
        "impute": lambda name: experiment("datasets", {"impute": name}),
        "unknown_labels": lambda name: experiment("experiment", {"unknown_labels": name}),
        "calibrate": lambda name: experiment("methods", {"calibrate": name}),
        "search": lambda name: experiment("search", {"strategy": name, "max_fits": 99}),
    }
    assert set(choices()) == set(places)
    for key, values in choices().items():
        for name, meaning in values.items():
            assert meaning.endswith(".")
            config_of(places[key](name), "example")
        with pytest.raises(UserError):
            config_of(places[key]("no such value"), "example")


NEEDED = {"holdout": {"train": 0.5, "test": 0.5}, "strata": {"single": 1, "multiple": 1}}
