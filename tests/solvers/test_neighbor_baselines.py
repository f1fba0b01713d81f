"""ML-kNN and IBLR-ML beside plain versions of their papers' formulas."""

from math import inf

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array

from mlrank.solvers import SOLVERS, TrainingSet
from tests.solvers.problems import random_problem

FORMS = pytest.mark.parametrize("form", [np.asarray, csr_array])


def problem():
    X, Y = random_problem(n=45, k=4, seed=3)
    Y[:, 1] = Y[:, 0] | (X[:, 1] > 1)
    return X[:30], Y[:30], X[30:]


def counts_by_hand(X, Y, rows, k, own=False):
    """Return how many of the k nearest rows of X carry each label, by sorting all distances."""
    found = []
    for i, row in enumerate(rows):
        squares = [inf if own and i == j else float(((row - other) ** 2).sum()) for j, other in enumerate(X)]
        nearest = sorted(range(len(X)), key=lambda j: (squares[j], j))[: min(k, len(X) - own)]
        found.append([sum(bool(Y[j, label]) for j in nearest) for label in range(Y.shape[1])])
    return np.array(found)


def ml_knn_by_hand(X, Y, rows, k, s, own=False):
    """Return the probabilities of Zhang and Zhou's steps (1) to (12), label by label."""
    near, scored = counts_by_hand(X, Y, X, k, own=True), counts_by_hand(X, Y, rows, k, own)
    found = np.empty((len(rows), Y.shape[1]))
    for label in range(Y.shape[1]):
        prior = (s + sum(Y[:, label])) / (2 * s + len(Y))
        c = [sum(1 for i in range(len(X)) if Y[i, label] and near[i, label] == j) for j in range(k + 1)]
        other = [sum(1 for i in range(len(X)) if not Y[i, label] and near[i, label] == j) for j in range(k + 1)]
        for i in range(len(rows)):
            j = scored[i, label]
            having = prior * (s + c[j]) / (s * (k + 1) + sum(c))
            lacking = (1 - prior) * (s + other[j]) / (s * (k + 1) + sum(other))
            found[i, label] = having / (having + lacking)
    return found


@FORMS
@pytest.mark.parametrize(("k", "s"), [(5, 1.0), (3, 0.25), (29, 1.0), (40, 2.0)])
def test_ml_knn_is_the_papers_formula_on_new_and_on_training_rows(form, k, s):
    X, Y, rows = problem()
    model = SOLVERS["ml_knn"](n_neighbors=k, s=s).fit(TrainingSet(form(X), Y))
    expected = ml_knn_by_hand(X, Y, rows, k, s)
    assert model.decision_function(form(rows)) == pytest.approx(expected - 0.5, abs=1e-12)
    own = ml_knn_by_hand(X, Y, X, k, s, own=True)
    assert model.training_scores() == pytest.approx(own - 0.5, abs=1e-12)


def test_ml_knn_of_labels_that_do_not_depend_on_the_rows_says_their_share():
    """Where all rows are equal every training row has the same neighbors but for itself: worked out by hand."""
    Y = np.array([[True], [False], [False], [False]])
    model = SOLVERS["ml_knn"](n_neighbors=3, s=1.0).fit(TrainingSet(np.zeros((4, 2)), Y))
    # The row with the label has 0 neighbors with it, the three others 1.
    # P(l) = 2/6; P(0 | l) = 2/5, P(1 | l) = 1/5; P(0 | not l) = 1/7, P(1 | not l) = 4/7.
    # Of a new row the three first are nearest: 1 of them carries the label.
    having, lacking = 2 / 6 * 1 / 5, 4 / 6 * 4 / 7
    assert model.decision_function(np.zeros((1, 2)))[0, 0] == pytest.approx(
        having / (having + lacking) - 0.5, abs=1e-15
    )
    having, lacking = 2 / 6 * 2 / 5, 4 / 6 * 1 / 7
    assert model.training_scores()[0, 0] == pytest.approx(having / (having + lacking) - 0.5, abs=1e-15)


def iblr_by_hand(counts, y, C):
    """Return weights and intercept of one label, by minimizing the penalized loss with another method."""
    signs = np.where(y, 1.0, -1.0)

    def loss(v):
        return 0.5 * v[:-1] @ v[:-1] + C * np.logaddexp(0, -signs * (counts @ v[:-1] + v[-1])).sum()

    def slope(v):
        pull = -C * signs / (1 + np.exp(signs * (counts @ v[:-1] + v[-1])))
        return np.append(v[:-1] + counts.T @ pull, pull.sum())

    return minimize(loss, np.zeros(counts.shape[1] + 1), jac=slope, method="BFGS", options={"gtol": 1e-9}).x


@FORMS
@pytest.mark.parametrize("C", [0.1, 2.0])
def test_iblr_regresses_each_label_on_the_labels_of_the_neighbors(form, C):
    X, Y, rows = problem()
    Y[:, 3] = False
    model = SOLVERS["iblr_ml"](n_neighbors=6, C=C).fit(TrainingSet(form(X), Y))
    near, scored = counts_by_hand(X, Y, X, 6, own=True), counts_by_hand(X, Y, rows, 6)
    for label in range(3):
        weights = iblr_by_hand(near, Y[:, label], C)
        expected = scored @ weights[:-1] + weights[-1]
        assert model.decision_function(form(rows))[:, label] == pytest.approx(expected, abs=1e-5)
        assert model.training_scores()[:, label] == pytest.approx(near @ weights[:-1] + weights[-1], abs=1e-5)
    assert set(model.decision_function(rows)[:, 3]) == {-10.0}
    assert model.info.converged


@pytest.mark.parametrize("key", ["ml_knn", "iblr_ml"])
def test_few_rows_are_noted_and_one_row_is_scored(key):
    X, Y, _ = problem()
    few = SOLVERS[key](n_neighbors=10).fit(TrainingSet(X[:8], Y[:8]))
    assert few.info.notes == ("8 rows, fewer than 11 neighbors",)
    alone = SOLVERS[key]().fit(TrainingSet(X[:1], Y[1:2]))
    assert (alone.decision_function(X[:1]) > 0).all()
    with pytest.raises(ValueError, match="n_neighbors must be a whole number"):
        SOLVERS[key](n_neighbors=2.5)
