"""Solvers that take sparse labels: what they give is that of dense ones, in memory linear in what is stored."""

import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from mlrank.models import Fit, Predictor
from mlrank.models.predictor import restored
from mlrank.scaling import SCALERS
from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.models import top_scores
from mlrank.thresholds import THRESHOLDS
from tests.solvers.problems import random_problem


def problem(n=45, k=9, seed=3):
    """Return rows and labels, with a row without labels, a label of all rows, one of none, and equal rows."""
    X, Y = random_problem(n=n, k=k, seed=seed)
    Y[:, 4], Y[:, 5], Y[7] = True, False, False
    X[11:14] = X[10]
    return X, Y


def both(X, Y, key, **settings):
    solver = SOLVERS[key](**settings)
    return solver.fit(TrainingSet(X, Y)), solver.fit(TrainingSet(X, csr_array(Y)))


def large(n, k, d, labels_of_row, seed=0):
    """Return sparse rows and labels of which a dense matrix would take n * k bytes at least."""
    rng = np.random.default_rng(seed)
    X = csr_array(random_array((n, d), density=5 / d, format="csr", rng=rng))
    columns = np.sort(rng.integers(k, size=(n, labels_of_row)), axis=1)
    parts = (np.ones(n * labels_of_row, np.bool_), columns.ravel(), np.arange(0, n * labels_of_row + 1, labels_of_row))
    return X, csr_array(parts, shape=(n, k))


@contextmanager
def peak_below(most):
    """Fail if the block holds more than `most` bytes at once."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("n_neighbors", [1, 4, 60])
def test_nearest_neighbors_give_the_same_bytes(form, n_neighbors):
    X, Y = problem()
    dense, sparse = both(form(X), Y, "knn", n_neighbors=n_neighbors)
    new = form(np.vstack([X[:6], X[20:30] + 0.1]))
    assert sparse.decision_function(new).tobytes() == dense.decision_function(new).tobytes()
    assert sparse.training_scores().tobytes() == dense.training_scores().tobytes()
    for k in (1, 3, 9, 20):
        expected, found = (top_scores(model, new, k, 9) for model in (dense, sparse))
        assert found.labels.tolist() == expected.labels.tolist()
        assert found.scores.tolist() == expected.scores.tolist()


def test_nearest_neighbors_without_any_label_score_nothing():
    X, Y = problem()
    for labels in (np.zeros_like(Y), csr_array(Y.shape, dtype=bool)):
        model = SOLVERS["knn"]().fit(TrainingSet(X, labels))
        assert not model.decision_function(X).any()
        assert top_scores(model, X[:2], 3, 9).labels.tolist() == [[0, 1, 2]] * 2


@pytest.mark.parametrize("key", ["knn"])
def test_models_of_sparse_labels_are_stored(key):
    X, Y = problem()
    train = TrainingSet(X, csr_array(Y))
    model = SOLVERS[key]().fit(train)
    cut = THRESHOLDS["zero"]().fit(model.decision_function(X), Y, X)
    fit = Fit.of(Predictor(SCALERS["none"]().fit(X), None, model, cut, False), train, X)
    again = restored(fit.parts, fit.arrays, fit.sparse)
    assert again.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    assert again.top_scores(X, 3, 9).labels.tolist() == top_scores(model, X, 3, 9).labels.tolist()


def test_nearest_neighbors_of_very_many_labels_take_little_memory():
    n, k = 20_000, 20_000
    X, Y = large(n, k, 50_000, 5)
    with peak_below(8 * n * k / 100):
        model = SOLVERS["knn"](n_neighbors=5).fit(TrainingSet(X, Y))
        found = top_scores(model, X[:10], 100, k)
    # Of a row itself and its own labels, whatever else is near.
    for row in range(10):
        own = Y.indices[Y.indptr[row] : Y.indptr[row + 1]]
        assert set(own) <= set(found.labels[row][found.scores[row] > 0])
