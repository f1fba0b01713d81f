"""What every solver must do, whatever it computes."""

from dataclasses import fields, replace

import numpy as np
import pytest

from mlrank.contract import CHECKS, NotApplicable, Subject
from mlrank.solvers import SOLVERS, TrainingSet
from tests.solvers.problems import random_problem

KEYS = sorted(SOLVERS)
# Where a solver's settings have other names: the one that weighs the loss, those that go with a small tol, and those
# with which one iteration is not enough.
WEIGHT = {
    "hypergraph_spectral": "svm_C",
    "slrm": "lam",
    "plst": "n_components",
    "cplst": "n_components",
    "faie": "n_components",
    "ml_loc": "lam1",
    "matrix_completion": "lam",
    "bayes_cs": "s2",
    "shared_subspace": "alpha",
    "smse": "tau",
    "mcgf": "b",
    "bknn": "width",
    "knn": "n_neighbors",
}
# Where that weight may be 0.
ZERO_ALLOWED = {"shared_subspace", "slrm"}
# Where the solver finds it by itself if it is None.
NONE_ALLOWED = {"bknn"}
# Nothing is minimized: there is no objective.
NO_OBJECTIVE = {"bknn", "knn"}
TIGHT = {"hypergraph_spectral": {"svm_tol": 1e-9}}
HARD = {
    "hypergraph_spectral": {"backend": "iterative", "lam": 1e-3},
    "slrm": {"lam": 100.0},
    "smse": {"beta": 10.0},
    "mcgf": {},
    "ml_loc": {"lam1": 1e-3, "lam2": 1e-3},
    "matrix_completion": {},
}
# With which labels that are easy to tell are told: labels that are compressed are told for small variances alone.
FAITHFUL = {"bayes_cs": {"n_components": 5, "s2": 1e-4, "c2": 1e-4}}
# Settings of solvers whose default kernel is not defined for these rows.
DEFAULTS = {"mlr": {"kernel": "linear"}}
# Closed forms have no tolerance and never give up.
CLOSED = {key for key in KEYS if "tol" not in {field.name for field in fields(SOLVERS[key])}}
# With all labels known it is one as well.
DIRECT = CLOSED | {"bayes_cs"}


# Those that draw for each place of a label.
BY_PLACE = {"bayes_cs"}


def subject_of(key):
    return Subject(
        SOLVERS[key],
        settings=DEFAULTS.get(key, {}),
        tight=TIGHT.get(key, {}),
        faithful=FAITHFUL.get(key, {}),
        hard=None if key in DIRECT else HARD.get(key, {"C": 1e3}),
        label_order=key not in BY_PLACE,
        objective=key not in NO_OBJECTIVE,
    )


@pytest.fixture(params=KEYS)
def key(request):
    return request.param


def fit(key, X, Y, **settings):
    return subject_of(key).fit(X, Y, **settings)


@pytest.mark.parametrize("check", CHECKS)
def test_check(key, check):
    try:
        CHECKS[check](subject_of(key))
    except NotApplicable as reason:
        pytest.skip(str(reason))


def test_a_preparation_serves_every_weight_of_the_loss(key):
    if not hasattr(SOLVERS[key], "prepare"):
        pytest.skip("it has nothing to prepare")
    X, Y = random_problem()
    train = TrainingSet(X, Y)
    weight = WEIGHT.get(key, "C")
    prepared = subject_of(key).made(**{weight: 2.0}).prepare(train)
    for C in (0.5, 4.0):
        solver = subject_of(key).made(**{weight: C})
        shared = solver.fit(train, prepared).decision_function(X)
        assert shared.tobytes() == solver.fit(train).decision_function(X).tobytes()


def test_a_stored_model_is_told_by_arrays_and_json_values(key):
    X, Y = random_problem()
    model = fit(key, X, Y)
    arrays, meta = model.arrays(), model.meta()
    if SOLVERS[key].TRANSDUCTIVE:
        # Scores of the rows given, and by what these are found again.
        assert meta == {"model": "transductive", "n_train": len(X)}
        assert np.array_equal(arrays["scores"], model.decision_function(X))
        assert len(arrays["digests"]) == len(X)
        return
    if meta["model"] in {"balanced_neighbors", "neighbors"}:
        known = {name: value for name, value in meta.items() if name != "model"}
        again = replace(model, **dict.fromkeys((*arrays, *known)))
        again = replace(again, **arrays, **known)
        assert again.decision_function(X).tobytes() == model.decision_function(X).tobytes()
        return
    if meta["model"] == "compressed":
        assert np.allclose(X @ arrays["coef"].T, model.latent(X)[0])
        return
    assert meta["model"] in {"linear", "kernel", "low_rank_factors"}
    coef = arrays["right"] @ arrays["left"].T if meta["model"] == "low_rank_factors" else arrays["coef"]
    assert np.allclose(X @ coef.T + arrays["intercept"], model.decision_function(X), atol=1e-12)


@pytest.mark.parametrize("setting", ["C", "tol", "max_iter"])
@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), "1", None, True])
def test_settings_out_of_range_are_refused(key, setting, value):
    if key in CLOSED and setting != "C":
        pytest.skip("a closed form has no tolerance and no iterations")
    setting = WEIGHT.get(key, "C") if setting == "C" else setting
    if key in ZERO_ALLOWED and setting == WEIGHT[key] and value == 0:
        assert getattr(SOLVERS[key](**{setting: value}), setting) == 0
        return
    if key in NONE_ALLOWED and value is None:
        assert getattr(SOLVERS[key](), setting) is None
        return
    with pytest.raises(ValueError, match=f"{setting} must be a number( above 0|, 0 or above)"):
        SOLVERS[key](**{setting: value})
