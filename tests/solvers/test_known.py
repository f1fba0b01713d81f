"""Solvers that leave out unknown label entries, against problems in which these do not occur at all."""

import numpy as np
import pytest

from mlrank.solvers import SOLVERS, TrainingSet
from tests.solvers.problems import random_problem


def masked(seed=7, n=60):
    X, Y = random_problem(n=n, seed=seed)
    return X, Y, np.random.default_rng(seed).random(Y.shape) < 0.7


@pytest.mark.parametrize("settings", [{}, {"loss": "squared_hinge"}, {"kernel": "rbf", "gamma": 0.3}])
def test_each_binary_machine_is_that_of_its_known_rows(settings):
    X, Y, known = masked()
    known[:, 3] = False
    solver = SOLVERS["binary_svm"](C=0.7, tol=1e-8, **settings)
    scores = solver.fit(TrainingSet(X, Y, known=known)).decision_function(X)
    for label in range(3):
        rows = known[:, label]
        alone = solver.fit(TrainingSet(X[rows], Y[rows, label, None])).decision_function(X)
        assert np.allclose(scores[:, label], alone[:, 0], atol=1e-5)
    assert np.array_equal(scores[:, 3], -np.ones(len(X)))


@pytest.mark.parametrize(
    ("key", "settings"),
    [
        ("rank_svm", {}),
        ("rank_hlapsvm", {}),
        ("mlr", {"kernel": "linear"}),
        ("mlr", {"kernel": "linear", "formulation": "exact"}),
        ("mlr", {"kernel": "linear", "correlation": 0.4}),
        ("mlr", {"kernel": "linear", "halve": True}),
    ],
)
def test_a_label_that_is_never_known_is_as_if_it_were_not_there(key, settings):
    X, Y, known = masked()
    known[:, 2] = False
    rest = [0, 1, 3, 4]
    solver = SOLVERS[key](C=2.0, tol=1e-9, **settings)
    model = solver.fit(TrainingSet(X, Y, known=known))
    alone = solver.fit(TrainingSet(X, Y[:, rest], known=known[:, rest]))
    assert np.allclose(model.decision_function(X)[:, rest], alone.decision_function(X), atol=1e-4)
    assert np.allclose(model.coef[2], 0.0, atol=1e-12)


@pytest.mark.parametrize("C", [0.5, 8.0])
def test_rank_svm_minimizes_the_loss_over_known_pairs(C):
    X, Y, known = masked(n=30)
    tol = 1e-9
    model = SOLVERS["rank_svm"](C=C, tol=tol).fit(TrainingSet(X, Y, known=known))
    X1, W = np.column_stack([X, np.ones(len(X))]), np.column_stack([model.coef, model.intercept])

    def objective(W):
        total = 0.5 * (W**2).sum()
        for x, y, k in zip(X1, Y, known, strict=True):
            pairs = [(p, q) for p in np.flatnonzero(y & k) for q in np.flatnonzero(~y & k)]
            total += sum(C / len(pairs) * max(0.0, 1.0 - (W[p] - W[q]) @ x) for p, q in pairs)
        return total

    best = objective(W)
    assert model.info.objective == pytest.approx(best, rel=1e-9)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 0.1):
        for _ in range(20):
            assert objective(W + size * rng.standard_normal(W.shape)) >= best * (1 - tol)


@pytest.mark.parametrize("known", [[[True, False]], [[False, False]]])
@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("rank_svm", "no row has both a relevant and an irrelevant label"),
        ("mlr", "found 1 rows with all or none of the labels, of 2, that are known of each"),
    ],
)
def test_nothing_to_rank_among_known_labels_is_said(key, message, known):
    with pytest.raises(ValueError, match=message):
        SOLVERS[key]().fit(TrainingSet(np.ones((1, 2)), np.array([[True, False]]), known=np.array(known)))


def test_labels_are_false_where_they_are_unknown():
    Y, known = np.ones((2, 2), bool), np.array([[True, False], [False, True]])
    assert np.array_equal(TrainingSet(np.ones((2, 1)), Y, known=known).Y, known)


@pytest.mark.parametrize(
    ("key", "settings", "rows", "labels"),
    [
        ("slrm", {}, "their targets are 0", "their scores are 0"),
        ("slrm", {"missing": "mask"}, "they count as unlabeled", "their scores are 0"),
        ("faie", {}, "their targets are 0", "their scores are 0"),
        ("matrix_completion", {"max_iter": 5}, "they count as unlabeled", "their scores come of the rank alone"),
        ("bayes_cs", {"max_iter": 5}, "they are left out", "their scores come of other labels alone"),
    ],
)
def test_what_is_never_known_is_told(key, settings, rows, labels):
    X, Y, known = masked(n=30)
    known[:3], known[:, 1] = False, False
    model = SOLVERS[key](**settings).fit(TrainingSet(X[:20], Y[:20] & known[:20], X[20:], known[:20]))
    told = (f"3 of 20 rows have no known label: {rows}", f"1 of {Y.shape[1]} labels are known in no row: {labels}")
    assert model.info.notes[-2:] == told
    if labels == "their scores are 0":
        assert not model.decision_function(X)[:, 1].any()
