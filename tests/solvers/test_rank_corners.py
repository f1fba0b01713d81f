"""Rank-SVM in corners whose answer another problem gives: repeated rows, constant features, extreme C, kernels."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.flattening import PARTS, STAGE, WATCH, search
from mlrank.solvers.rank_svm import descent
from mlrank.solvers.rank_svm.sparse import SparseRows
from tests.solvers.problems import random_problem, rank_primal, with_bias

RankSVM, RankHLapSVM = SOLVERS["rank_svm"], SOLVERS["rank_hlapsvm"]
FORMS = {"dense": np.asarray, "sparse": csr_array}


def thin_problem():
    """Return a problem whose rows hold few enough nonzeros to be swept sparse, one row none at all."""
    X, Y = random_problem(n=60, m=30)
    X = np.where(np.random.default_rng(4).random(X.shape) < 0.15, X, 0.0)
    X[7] = 0.0
    return X, Y


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("settings", [{}, {"bias": "free"}, {"kernel": "rbf", "gamma": 0.3}])
def test_repeated_rows_are_rows_of_twice_the_weight(form, settings):
    X, Y = thin_problem()
    once = RankSVM(C=2.0, tol=1e-7, **settings).fit(TrainingSet(FORMS[form](X), Y))
    twice = RankSVM(C=1.0, tol=1e-7, **settings).fit(TrainingSet(FORMS[form](np.vstack([X, X])), np.vstack([Y, Y])))
    assert once.info.converged
    assert twice.info.converged
    assert twice.info.objective == pytest.approx(once.info.objective, rel=2e-7)
    scores, again = (model.decision_function(FORMS[form](X)) for model in (once, twice))
    assert np.allclose(*(F - F.mean(axis=1, keepdims=True) for F in (scores, again)), atol=2e-2)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("lam", [0.0, 0.7])
def test_a_constant_feature_is_a_penalized_bias(form, lam):
    """Also under the hypergraph penalty, which constants do not feel."""
    X, Y = thin_problem()
    settings = {"C": 2.0, "lam": lam, "nu": 0.1, "tol": 1e-10}
    bias = RankHLapSVM(**settings).fit(TrainingSet(FORMS[form](X), Y))
    feature = RankHLapSVM(bias="none", **settings).fit(TrainingSet(FORMS[form](with_bias(X)), Y))
    assert not feature.intercept.any()
    assert np.allclose(feature.coef, np.column_stack([bias.coef, bias.intercept]), atol=1e-4)
    assert feature.info.objective == pytest.approx(bias.info.objective, rel=1e-8)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("solver", [RankSVM, RankHLapSVM])
def test_a_feature_of_zeros_has_no_weight(form, solver):
    X, Y = thin_problem()
    wider = np.insert(X, 3, 0.0, axis=1)
    plain = solver(C=2.0, tol=1e-10).fit(TrainingSet(FORMS[form](X), Y))
    model = solver(C=2.0, tol=1e-10).fit(TrainingSet(FORMS[form](wider), Y))
    assert np.abs(model.coef[:, 3]).max() <= 1e-9
    assert np.allclose(np.delete(model.coef, 3, axis=1), plain.coef, atol=1e-4)


def test_sparse_rows_give_the_answer_of_dense_ones():
    X, Y = thin_problem()
    assert isinstance(RankSVM().prepare(TrainingSet(csr_array(X), Y)).rows, SparseRows)
    for C in (1e-2, 1.0, 30.0):
        dense, sparse = (RankSVM(C=C, tol=1e-10).fit(TrainingSet(form(X), Y)) for form in FORMS.values())
        assert np.allclose(dense.coef, sparse.coef, atol=1e-4)
        W = np.column_stack([sparse.coef, sparse.intercept])
        assert sparse.info.objective == pytest.approx(rank_primal(W, with_bias(X), Y, C), rel=1e-12)


def test_more_pairs_than_memory_holds_are_refused_with_their_number(monkeypatch):
    X, Y = random_problem()
    size = int((Y.sum(axis=1) * (~Y).sum(axis=1)).sum())
    monkeypatch.setattr(descent, "PAIRS_LIMIT", size)
    RankSVM(max_iter=1).fit(TrainingSet(X, Y))
    monkeypatch.setattr(descent, "PAIRS_LIMIT", size - 1)
    with pytest.raises(ValueError, match=rf"{size} label pairs need \d+ GiB; at most {size - 1} are supported"):
        RankSVM(max_iter=1).fit(TrainingSet(X, Y))


@pytest.mark.parametrize("C", [1e4, 1e5, 1e6])
@pytest.mark.parametrize("kind", ["without bias", "unscaled"])
def test_large_C_where_labels_cannot_be_separated(kind, C):
    """Six features for forty rows: theta is at its top while the gap goes up and down, and must be searched."""
    X, Y = random_problem()
    if kind == "unscaled":
        X = X * 10.0 ** np.random.default_rng(0).uniform(-2, 2, X.shape[1])
    bias = "none" if kind == "without bias" else "augmented"
    model = RankSVM(C=C, bias=bias).fit(TrainingSet(X, Y))
    assert model.info.converged
    W = np.column_stack([model.coef, model.intercept])
    assert model.info.objective == pytest.approx(rank_primal(W, with_bias(X), Y, C), rel=1e-9)


def test_theta_is_searched_where_the_gap_does_not_halve():
    found = search(0.0, 10.0)
    next(found)
    assert [found.send(0.98**number) for number in range(4 * WATCH)] == [None] * 4 * WATCH
    asked = [found.send(0.01) for _ in range(2 * WATCH)]
    assert asked[0] is None
    assert asked[-1] is not None
    # What is asked next is where passes go: the gap falls at one part of the largest moment alone.
    found, gap, theta, tried = search(0.0, 10.0), 1.0, None, []
    next(found)
    for _ in range(2 * WATCH + (len(PARTS) + 3) * STAGE):
        gap *= 0.95 if theta == 10.0 * PARTS[3] else 1.0
        theta = found.send(gap)
        tried.append(theta)
    assert tried[: 2 * WATCH - 1] == [None] * (2 * WATCH - 1)
    assert tried[2 * WATCH - 1 :: STAGE][: len(PARTS)] == [10.0 * part for part in PARTS]
    assert set(tried[-3 * STAGE :]) == {10.0 * PARTS[3]}


def test_no_theta_below_the_least_moment_is_tried():
    found = search(2.0, 10.0)
    next(found)
    tried = {found.send(1.0) for _ in range(2 * WATCH + 12 * STAGE)}
    assert tried == {None, 2.0}
