"""What every solver must do, whatever it computes."""

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.solvers import SOLVERS, Model, TrainingSet
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
    "miml": "s2",
    "shared_subspace": "alpha",
    "smse": "tau",
    "mcgf": "b",
    "bknn": "sigma",
    "knn": "n_neighbors",
}
# Where that weight may be 0.
ZERO_ALLOWED = {"shared_subspace", "slrm"}
# Where the solver finds it by itself if it is None.
NONE_ALLOWED = {"bknn"}
# Nothing is minimised: there is no objective.
NO_OBJECTIVE = {"bknn", "knn"}
TIGHT = {"hypergraph_spectral": {"svm_tol": 1e-9}}
HARD = {
    "hypergraph_spectral": {"backend": "iterative", "lam": 1e-3},
    "slrm": {"lam": 1e-2},
    "smse": {"beta": 10.0},
    "mcgf": {},
    "ml_loc": {"lam1": 1e-3, "lam2": 1e-3},
    "matrix_completion": {},
}
# With which labels that are easy to tell are told: labels that are compressed are told for small variances alone.
FAITHFUL = {"miml": {"n_components": 5, "s2": 1e-4, "c2": 1e-4}}
# Settings of solvers whose default kernel is not defined for these rows.
DEFAULTS = {"mlr": {"kernel": "linear"}}
# Closed forms have no tolerance and never give up.
CLOSED = {key for key in KEYS if "tol" not in {field.name for field in fields(SOLVERS[key])}}
# With all labels known it is one as well.
DIRECT = CLOSED | {"miml"}


@pytest.fixture(params=KEYS)
def key(request):
    return request.param


def fit(key, X, Y, **settings):
    tight = TIGHT.get(key, {}) if settings.get("tol") == 1e-9 else {}
    if key in CLOSED:
        settings.pop("tol", None)
    return made(key, **settings, **tight).fit(TrainingSet(X, Y))


def made(key, **settings):
    return SOLVERS[key](**DEFAULTS.get(key, {}), **settings)


@pytest.mark.parametrize("sparse", [False, True])
def test_scores_are_finite_and_of_the_right_shape(key, sparse):
    X, Y = random_problem()
    model = fit(key, csr_array(X) if sparse else X, Y)
    assert isinstance(model, Model)
    scores = model.decision_function(X[:7])
    assert scores.shape == (7, Y.shape[1])
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("sparse", [False, True])
def test_input_is_left_as_it_was(key, sparse):
    X, Y = random_problem()
    given = csr_array(X) if sparse else X.copy()
    labels = Y.copy()
    fit(key, given, labels)
    assert np.array_equal(given.toarray() if sparse else given, X)
    assert np.array_equal(labels, Y)


def test_dense_and_sparse_rows_give_the_same_scores(key):
    X, Y = random_problem()
    dense = fit(key, X, Y, tol=1e-9)
    sparse = fit(key, csr_array(X), Y, tol=1e-9)
    assert np.allclose(dense.decision_function(X), sparse.decision_function(csr_array(X)), atol=1e-5)


def test_equal_fits_give_equal_bytes(key):
    X, Y = random_problem()
    first, second = fit(key, X, Y).decision_function(X), fit(key, X, Y).decision_function(X)
    assert first.tobytes() == second.tobytes()


def test_settings_models_and_training_sets_pickle(key):
    X, Y = random_problem()
    solver, train = pickle.loads(pickle.dumps((made(key), TrainingSet(X, Y))))
    model = pickle.loads(pickle.dumps(solver.fit(train)))
    assert model.decision_function(X).tobytes() == fit(key, X, Y).decision_function(X).tobytes()


def test_labels_in_another_order_give_scores_in_that_order(key):
    if key == "miml":
        pytest.skip("its random matrix has a column for each place of a label")
    X, Y = random_problem()
    order = np.random.default_rng(1).permutation(Y.shape[1])
    plain = fit(key, X, Y, tol=1e-9).decision_function(X)
    assert np.allclose(fit(key, X, Y[:, order], tol=1e-9).decision_function(X), plain[:, order], atol=1e-4)


def test_rows_in_another_order_give_the_same_model(key):
    X, Y = random_problem()
    order = np.random.default_rng(2).permutation(len(X))
    plain = fit(key, X, Y, tol=1e-9).decision_function(X)
    assert np.allclose(fit(key, X[order], Y[order], tol=1e-9).decision_function(X), plain, atol=1e-4)


def test_labels_that_all_or_no_rows_carry_and_constant_features(key):
    X, Y = random_problem()
    X[:, 2], X[:, 3] = 0.0, 7.0
    Y[:, 0], Y[:, 1] = True, False
    model = fit(key, X, Y, **FAITHFUL.get(key, {}))
    scores = model.decision_function(X)
    assert model.info.converged
    assert np.isfinite(scores).all()
    assert scores[:, 0].min() > scores[:, 1].max()


def test_duplicate_rows_with_opposite_labels(key):
    X, Y = random_problem()
    doubled = fit(key, np.vstack([X, X]), np.vstack([Y, ~Y]))
    assert doubled.info.converged
    assert np.isfinite(doubled.decision_function(X)).all()


@pytest.mark.parametrize("tol", [1e-2, 1e-6])
def test_converged_means_that_the_certificate_is_below_the_tolerance(key, tol):
    X, Y = random_problem()
    info = fit(key, X, Y, tol=tol).info
    assert info.converged
    assert -1e-12 <= info.optimality <= tol
    assert info.n_iter > 0
    assert np.isnan(info.objective) if key in NO_OBJECTIVE else np.isfinite(info.objective)


def test_giving_up_is_reported(key):
    if key in DIRECT:
        pytest.skip("a closed form never gives up")
    X, Y = random_problem(n=200, m=20, k=8)
    hard = HARD.get(key, {"C": 1e3})
    info = fit(key, X, Y, **hard, max_iter=1, tol=1e-6).info
    assert not info.converged
    assert info.optimality > 1e-6


def test_a_shared_preparation_gives_the_same_model(key):
    if not hasattr(SOLVERS[key], "prepare"):
        pytest.skip("it has nothing to prepare")
    X, Y = random_problem()
    train = TrainingSet(X, Y)
    weight = WEIGHT.get(key, "C")
    prepared = made(key, **{weight: 2.0}).prepare(train)
    for C in (0.5, 4.0):
        solver = made(key, **{weight: C})
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
    assert meta["model"] in {"linear", "kernel", "low_rank"}
    assert np.allclose(X @ arrays["coef"].T + arrays["intercept"], model.decision_function(X), atol=1e-12)


def test_hidden_labels_decide_nothing(key):
    if not getattr(SOLVERS[key], "USES_KNOWN", False):
        pytest.skip("it cannot leave out unknown labels, and is not given any")
    X, Y = random_problem(seed=4)
    known = np.random.default_rng(5).random(Y.shape) < 0.8
    known[0] = False
    fits = [made(key).fit(TrainingSet(X, labels, known=known)) for labels in (Y & known, Y | ~known)]
    scores = [model.decision_function(X) for model in fits]
    assert scores[0].tobytes() == scores[1].tobytes()
    assert not np.allclose(scores[0], made(key).fit(TrainingSet(X, Y & known)).decision_function(X), atol=1e-3)


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


def test_estimates_of_cost_grow_with_the_rows(key):
    solver = SOLVERS[key]()
    if not hasattr(solver, "cost"):
        pytest.skip("it gives no estimate")
    costs = np.array([solver.cost(n, 50, 10) for n in (50, 500, 5000)])
    assert costs.shape == (3, 2)
    assert (costs > 0).all()
    assert (costs[1:] > costs[:-1])[:, 0].all()
    assert (costs[1:] >= costs[:-1])[:, 1].all()
