"""Old names of solvers, settings and values: what they mean, and that they change no result."""

from dataclasses import fields

import pytest

from mlrank.config import parse_config
from mlrank.errors import UserError
from mlrank.explain import explain
from mlrank.records.identity import FitInputs, FitSettings, drawn_seed, seed_of
from mlrank.sklearn import MultiLabelRanker
from mlrank.solvers import SOLVERS
from mlrank.solvers.aliases import new_key, new_spelling, old_spelling

# The key and settings as they were, and as they are.
RENAMED = [
    ("miml", {"s2": 0.1}, "bayes_cs", {"s2": 0.1}),
    ("slrm", {"sigma": 2.0, "coding": "01"}, "slrm", {"width": 2.0, "coding": "zero_one"}),
    ("slrm", {"sigma": "self-tuning"}, "slrm", {"width": "self_tuning"}),
    ("bknn", {"b": 3, "sigma": 2.0, "sigma_power": 2}, "bknn", {"n_neighbors": 3, "width": 2.0, "width_power": 2}),
    ("smse", {"coding": "binary"}, "smse", {"coding": "zero_one"}),
    ("mcgf", {"coding": "signed", "b": 2.0}, "mcgf", {"coding": "signs", "b": 2.0}),
    ("ml_loc", {"label_coding": "zero_one"}, "ml_loc", {"coding": "zero_one"}),
    ("cplst", {"hat_bias": "centre"}, "cplst", {"hat_bias": "center"}),
    ("faie", {"hat_bias": "centre", "coding": "zero_one"}, "faie", {"hat_bias": "center", "coding": "zero_one"}),
    ("hypergraph_spectral", {"bias": "centred"}, "hypergraph_spectral", {"bias": "centered"}),
]


def config_of(key, settings):
    given = "".join(f", {name}: {value!r}" for name, value in settings.items())
    head = "name: e\ndatasets: [toy]\nsplit: {kind: kfold, folds: 2}\nsearch: {metric: f1_macro, folds: 2}\n"
    return parse_config(f"{head}methods:\n  M: {{solver: {key}{given}}}\n", "e.yaml")


@pytest.mark.parametrize(("old_key", "old", "key", "new"), RENAMED)
def test_each_spelling_is_the_other(old_key, old, key, new):
    assert new_spelling(old_key, old)[:2] == (key, new)
    assert old_spelling(key, new)[:2] == (old_key, old)
    assert new_spelling(key, new) == (key, new, ())
    SOLVERS[key](**new)


@pytest.mark.parametrize(("old_key", "old", "key", "new"), RENAMED)
def test_a_configuration_in_old_words_is_that_in_new_ones_with_notes(old_key, old, key, new):
    before, now = config_of(old_key, old), config_of(key, new)
    assert before.methods == now.methods
    assert now.methods["M"].notes == ()
    assert len(before.methods["M"].notes) == (old_key != key) + sum(
        (name not in new) + (value not in new.values()) for name, value in old.items()
    )


@pytest.mark.parametrize(("old_key", "old", "key", "new"), RENAMED)
def test_grids_are_renamed_value_by_value(old_key, old, key, new):
    grids = {name: [value] for name, value in old.items()}
    assert new_spelling(old_key, grids).settings == {name: [value] for name, value in new.items()}


@pytest.mark.parametrize(("old_key", "old", "key", "new"), RENAMED)
def test_seeds_are_those_of_the_old_names(old_key, old, key, new):
    inputs = FitInputs("data", "rows", "none", 0)
    drawn = drawn_seed(data="data", rows="rows", scale="none", seed=0, solver=old_key, settings=old)
    assert seed_of(inputs, FitSettings(key, new, "zero", "train", {}), None) == drawn


def test_a_name_given_twice_is_refused():
    with pytest.raises(UserError, match="'b' is the old name of 'n_neighbors': give one of them"):
        config_of("bknn", {"b": 3, "n_neighbors": 3})


def test_nothing_else_is_renamed():
    assert new_spelling("mine:Solver", {"b": 1, "coding": "01"}) == ("mine:Solver", {"b": 1, "coding": "01"}, ())
    for key in SOLVERS:
        defaults = {one.name: one.default for one in fields(SOLVERS[key])}
        assert new_spelling(key, defaults) == (key, defaults, ())


def test_solvers_are_found_by_their_old_key():
    assert new_key("miml") == "bayes_cs"
    assert [topic.name for topic in explain("miml")] == ["bayes_cs"]
    assert isinstance(MultiLabelRanker("miml")._part("solver"), SOLVERS["bayes_cs"])
