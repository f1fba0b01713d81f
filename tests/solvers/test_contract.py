"""What every solver must do, whatever it computes."""

import functools
from dataclasses import fields, replace

import numpy as np
import pytest

from mlrank.contract import CHECKS, NotApplicable, Subject
from mlrank.solvers import SOLVERS, Capabilities
from tests.solvers.problems import random_problem

KEYS = sorted(SOLVERS)
# What follows holds for any solver of the table; these are the exceptions.
# Nothing is minimized: there is no objective.
OVER_ESTIMATORS = ("label_powerset", "rakel", "classifier_chains", "calibrated_ranking")
NO_OBJECTIVE = {"bknn", "knn", "ml_knn", "iblr_ml", *OVER_ESTIMATORS}
TIGHT = {"hypergraph_spectral": {"svm_tol": 1e-9}}
# Settings with which one iteration is not enough; C = 1000 for the others.
HARD = {
    "hypergraph_spectral": {"backend": "iterative", "lam": 1e-3},
    "slrm": {"lam": 100.0},
    "smse": {"beta": 10.0},
    "ml_loc": {"lam1": 0.1, "lam2": 0.1},
}
# With which labels that are easy to tell are told: labels that are compressed are told for small variances alone.
FAITHFUL = {"bayes_cs": {"n_components": 5, "s2": 1e-4, "c2": 1e-4}}
# Settings of solvers whose default kernel is not defined for these rows.
DEFAULTS = {"mlr": {"kernel": "linear"}}
# Those over estimators have quick ones here, as logistic regression takes seconds on badly scaled rows.
DEFAULTS |= {key: {"estimator": "sklearn.tree:DecisionTreeClassifier"} for key in OVER_ESTIMATORS}
DEFAULTS["classifier_chains"]["n_chains"] = 2


def settings_of(key):
    return {field.name: field for field in fields(SOLVERS[key])}


def is_direct(key):
    """Whether one iteration is enough: closed forms have no tolerance, and with all labels known there is one more."""
    return "tol" not in settings_of(key) or key == "bayes_cs"


@functools.cache
def subject_of(key):
    """Return the solver under test; its checks share the fits of badly scaled problems."""
    return Subject(
        SOLVERS[key],
        settings=DEFAULTS.get(key, {}),
        tight=TIGHT.get(key, {}),
        faithful=FAITHFUL.get(key, {}),
        hard=None if is_direct(key) else HARD.get(key, {"C": 1e3} if "C" in settings_of(key) else {}),
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


def test_a_stored_model_is_told_by_arrays_and_json_values(key):
    X, Y = random_problem()
    model = fit(key, X, Y)
    if key in OVER_ESTIMATORS:
        with pytest.raises(ValueError, match="pickle"):
            model.arrays()
        return
    arrays, meta = model.arrays(), model.meta()
    if Capabilities.of(SOLVERS[key]).transductive:
        # Scores of the rows given, and by what these are found again.
        assert meta == {"model": "transductive", "n_train": len(X)}
        assert np.array_equal(arrays["scores"], model.decision_function(X))
        assert len(arrays["digests"]) == len(X)
        return
    if meta["model"] in {"balanced_neighbors", "neighbors", "counted_neighbors", "regressed_neighbors"}:
        known = {name: value for name, value in meta.items() if name != "model"}
        again = replace(model, **dict.fromkeys((*arrays, *known)))
        again = replace(again, **arrays, **known)
        assert again.decision_function(X).tobytes() == model.decision_function(X).tobytes()
        return
    if meta["model"] == "label_tree":
        known = {name: value for name, value in meta.items() if name != "model"}
        again = type(model)(**arrays, **known, info=model.info)
        assert again.decision_function(X).tobytes() == model.decision_function(X).tobytes()
        return
    if meta["model"] == "compressed":
        assert np.allclose(X @ arrays["coef"].T, model.latent(X)[0])
        return
    assert meta["model"] in {"linear", "kernel", "low_rank_factors"}
    coef = arrays["right"] @ arrays["left"].T if meta["model"] == "low_rank_factors" else arrays["coef"]
    assert np.allclose(X @ coef.T + arrays["intercept"], model.decision_function(X), atol=1e-12)


NUMBERS = [
    (key, name)
    for key in KEYS
    for name, field in settings_of(key).items()
    if type(field.default) in (int, float) and name != "seed"
]


@pytest.mark.parametrize(("key", "setting"), NUMBERS)
def test_numbers_out_of_range_are_refused(key, setting):
    """A polynomial kernel has all constants; those of others are not looked at."""
    beside = {"kernel": "polynomial"} if setting in {"degree", "coef0"} else {}
    for value in (-1.0, float("nan"), float("inf"), "1", None, True):
        with pytest.raises(ValueError, match=setting):
            SOLVERS[key](**beside, **{setting: value})
