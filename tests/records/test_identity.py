"""Keys tell apart all that differs, whatever the order, and seeds stay what they are."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlrank.records.identity import FitInputs, FitSettings, TrialPlace, defaults_of, key_of, seed_of, trial_key
from mlrank.solvers import PROJECTIONS, SOLVERS
from mlrank.thresholds import THRESHOLDS

INPUTS = FitInputs("d", "r", "none", 3, "f", "k", 0.1, 2.0, "0.1", {"solver.tol": 1e-3}, {"mine.py": "00"})
POINT = FitSettings("rank_svm", {"C": 1.0}, "top_k", "train", {"k": 2}, "blda", {"n_components": 2})
PLACE = TrialPlace(0, 3, True, "f1_micro")


def other(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, dict):
        return value | {"new": "1"}
    return f"{value}x" if isinstance(value, str) else value + 0.5


def changed_alone(whole):
    """Yield an object with another value of each of its fields."""
    if isinstance(whole, TrialPlace):
        yield from (whole._replace(**{name: other(getattr(whole, name))}) for name in whole._fields)
    else:
        for entry in dataclasses.fields(whole):
            yield dataclasses.replace(whole, **{entry.name: other(getattr(whole, entry.name))})


def test_each_part_of_a_trial_changes_its_key():
    variants = [(INPUTS, POINT, PLACE), (INPUTS, POINT, None)]
    variants += [(inputs, POINT, PLACE) for inputs in changed_alone(INPUTS)]
    variants += [(INPUTS, point, PLACE) for point in changed_alone(POINT)]
    variants += [(INPUTS, POINT, place) for place in changed_alone(PLACE)]
    assert len({trial_key(*parts) for parts in variants}) == len(variants) == 2 + 12 + 8 + 5


def test_each_input_changes_what_a_run_stores_and_comes_back_from_it():
    variants = [INPUTS, *changed_alone(INPUTS)]
    assert len({key_of(**inputs.by_name()) for inputs in variants}) == len(variants)
    plain = FitInputs("d", "r", "none", 3)
    for inputs in (*variants, plain):
        stored = json.loads(json.dumps(inputs.by_name())) | {"method.C": 1, "search.metric": "lrap"}
        assert FitInputs.from_names(stored) == inputs
    assert not {"folds", "known", "missing_labels", "time_limit"} & set(plain.by_name())


@pytest.mark.parametrize("table", [SOLVERS, THRESHOLDS, PROJECTIONS], ids=["solvers", "thresholds", "projections"])
def test_every_setting_is_in_the_defaults_where_it_is_not_written(table):
    for kind in table.values():
        names = [entry.name for entry in dataclasses.fields(kind)]
        assert list(defaults_of(kind, ())) == names
        for name in names:
            assert set(defaults_of(kind, [name])) == set(names) - {name}
        for name, value in defaults_of(kind, ()).items():
            entry = {field.name: field for field in dataclasses.fields(kind)}[name]
            if entry.default is not dataclasses.MISSING:
                assert value == entry.default or value == list(entry.default)


def test_seeds_are_what_they_were_before_keys_had_more_parts():
    """The formula as it was, written out: by it, stored results have their bytes."""
    parts = {"data": "d", "rows": "r", "scale": "none", "seed": 3, "missing_labels": 0.1}
    parts |= {"fold": 0, "folds": 3, "stratified": True, "metric": "f1_micro"}
    parts |= {"solver": "rank_svm", "settings": {"C": 1.0}, "projection": {"kind": "blda", "n_components": 2}}
    assert seed_of(INPUTS, POINT, PLACE) == int(key_of(**parts)[:8], 16)
    refit = {name: value for name, value in parts.items() if name not in PLACE._fields}
    assert seed_of(INPUTS, POINT, None) == int(key_of(**refit)[:8], 16)
    alike = refit | {"solver": "knn", "settings": {"k": 2}}
    other = dataclasses.replace(POINT, solver="knn", settings={"k": 2})
    assert seed_of(INPUTS, POINT, None, other) == int(key_of(**alike)[:8], 16)
    same = [dataclasses.replace(INPUTS, version="9"), dataclasses.replace(INPUTS, defaults={}, sources={})]
    assert {seed_of(inputs, POINT, PLACE) for inputs in (INPUTS, *same)} == {seed_of(INPUTS, POINT, PLACE)}


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def reversed_mappings(value):
    if isinstance(value, dict):
        return {key: reversed_mappings(value[key]) for key in reversed(list(value))}
    return [reversed_mappings(item) for item in value] if isinstance(value, list) else value


@given(values)
def test_keys_do_not_depend_on_the_order_of_mappings(value):
    key = key_of(a=value, b=1)
    assert key_of(b=1, a=reversed_mappings(value)) == key
    assert len(key) == 24
    assert int(key, 16) >= 0


def test_keys_tell_apart_what_differs():
    base = {"dataset": "x", "fold": 1, "settings": {"C": 1.0, "lam": 4.0}}
    others = [
        {**base, "dataset": "y"},
        {**base, "fold": 2},
        {**base, "settings": {"C": 4.0, "lam": 1.0}},
        {**base, "settings": {"C": 1.0000000000000002, "lam": 4.0}},
        {**base, "settings": [["C", 1.0], ["lam", 4.0]]},
        {**base, "extra": None},
    ]
    assert len({key_of(**parts) for parts in [base, *others]}) == 7


def test_a_key_is_the_documented_hash():
    import hashlib

    text = json.dumps({"C": 0.1, "name": "é"}, sort_keys=True, separators=(",", ":"))
    assert key_of(name="é", C=np.float64(0.1)) == hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


@pytest.mark.parametrize("value", [float("nan"), [np.float64("nan")], {"x": float("nan")}])
def test_nan_cannot_be_part_of_a_key(value):
    with pytest.raises(ValueError, match="NaN"):
        key_of(value=value)


@pytest.mark.parametrize("value", [object(), {1: 2}, {"x"}])
def test_other_values_cannot_be_part_of_a_key(value):
    with pytest.raises(ValueError, match="key"):
        key_of(value=value)
