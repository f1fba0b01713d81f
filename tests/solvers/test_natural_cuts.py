"""The natural cut of each solver lies between the scores of labels that are absent and of those that are present."""

from dataclasses import replace

import numpy as np
import pytest

from mlrank.solvers import SOLVERS, Capabilities, TrainingSet

INTERPOLATING = [
    ("knn", {"n_neighbors": 1}, 0.5),
    ("shared_subspace", {"alpha": 0.0, "beta": 1e-9}, 0.5),
    ("plst", {"n_components": 4, "lam": 1e-9}, 0.0),
    ("cplst", {"n_components": 4, "lam": 1e-9}, 0.0),
    ("faie", {"n_components": 4, "lam": 1e-9, "coding": "zero_one"}, 0.5),
    ("faie", {"n_components": 4, "lam": 1e-9, "coding": "signs"}, 0.0),
    ("hypergraph_spectral", {"head": "svm", "svm_C": 1e3}, 0.0),
    ("hypergraph_spectral", {"head": "ridge"}, 0.5),
    ("hypergraph_spectral", {"head": "knn", "n_neighbors": 1}, 0.5),
    ("slrm", {"lam": 1e-9, "gamma": 1e-9, "center": True}, 0.0),
    ("slrm", {"lam": 1e-9, "gamma": 1e-9, "center": True, "coding": "zero_one"}, 0.5),
    ("binary_svm", {"C": 1e3}, 0.0),
]


def separable():
    rng = np.random.default_rng(3)
    Y = rng.random((12, 4)) < 0.4
    return np.eye(12) + 0.01 * rng.normal(size=(12, 12)), Y


@pytest.mark.parametrize(("key", "settings", "value"), INTERPOLATING)
def test_a_model_that_can_learn_its_rows_by_heart_gives_them_their_labels(key, settings, value):
    X, Y = separable()
    train = TrainingSet(X, Y)
    solver = SOLVERS[key](**settings)
    assert Capabilities.cut_of(solver, train) == value
    scores = solver.fit(train).decision_function(X)
    np.testing.assert_array_equal(scores > value, Y)
    # The cut stands in the middle, so that half the way to the other code is not enough.
    assert np.abs(scores - value).min() > 0.1


@pytest.mark.parametrize(("coding", "value"), [("zero_one", 0.5), ("signs", 0.0)])
def test_propagated_labels_are_cut_alike_in_either_coding(coding, value):
    """With constraints and one graph, scores are averages of codes, so they move with the code."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 3)), rng.random((30, 2)) < 0.5
    train = TrainingSet(X, Y, rng.normal(size=(9, 3)))
    solver = SOLVERS["smse"](variant="smse1", nu=0.0, coding=coding, n_neighbors=4)
    assert Capabilities.cut_of(solver, train) == value
    scores = solver.fit(train).decision_function(train.X_unlabeled)
    other = SOLVERS["smse"](variant="smse1", nu=0.0, n_neighbors=4).fit(train).decision_function(train.X_unlabeled)
    np.testing.assert_array_equal(scores > value, other > 0.5)
    assert 0 < np.count_nonzero(scores > value) < scores.size


def test_faie_codes_labels_by_signs_where_some_are_missing():
    X, Y = separable()
    known = np.ones_like(Y)
    known[0, 0] = False
    assert Capabilities.cut_of(SOLVERS["faie"](), TrainingSet(X, Y, known=known)) == 0.0
    assert Capabilities.cut_of(SOLVERS["faie"](), TrainingSet(X, Y)) == 0.5


def test_the_cut_of_mcgf_depends_on_its_variant():
    train = TrainingSet(*separable())
    cuts = {
        (variant, coding): Capabilities.cut_of(SOLVERS["mcgf"](variant=variant, coding=coding), train)
        for variant in ("product", "sylvester")
        for coding in ("signs", "zero_one")
    }
    assert {key for key, value in cuts.items() if value} == {("sylvester", "zero_one")}


def test_a_class_says_its_cut_or_that_it_depends():
    cuts = {key: Capabilities.of(solver).natural_cut for key, solver in SOLVERS.items()}
    depends = {"faie", "hypergraph_spectral", "slrm", "smse", "mcgf"}
    assert {key for key, value in cuts.items() if value is None} >= depends
    assert {cuts[key] for key in ("rank_svm", "mlr", "svm_perf", "bknn", "bayes_cs", "ml_loc")} == {0.0}


@pytest.mark.parametrize(("leaf", "levels"), [(1, 3), (2, 2), (4, 1)])
@pytest.mark.parametrize(("scores", "unit"), [("hinge", 1.0), ("logistic", np.log(2.0))])
def test_a_tree_is_cut_where_all_machines_on_the_way_are_undecided(leaf, levels, scores, unit):
    """Rows without a label are below no node, and say nothing."""
    X, Y = separable()
    X, Y = X[Y.any(axis=1)], Y[Y.any(axis=1)]
    solver, train = SOLVERS["label_tree"](C=1e3, branching=2, leaf=leaf, scores=scores), TrainingSet(X, Y)
    cut = Capabilities.cut_of(solver, train)
    assert cut == -levels * unit
    model = solver.fit(train)
    found = model.decision_function(X)
    assert (found[Y] > cut).all()
    undecided = replace(model, weights=0 * model.weights, bias=0 * model.bias).decision_function(X)
    np.testing.assert_allclose(undecided, cut, rtol=1e-12)
    if scores == "hinge":  # a machine that is sure that a label is absent outweighs three that are undecided
        np.testing.assert_array_equal(found > cut, Y)
