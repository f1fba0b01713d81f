"""Rows are found again by their values, whatever their form and order."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.errors import UserError
from mlrank.solvers import FitInfo, TrainingSet
from mlrank.solvers.models import TransductiveModel, all_rows, row_digests

INFO = FitInfo(1, 0.0, 0.0, True)


def model_of(X, unlabeled):
    train = TrainingSet(X, np.zeros((X.shape[0], 1), dtype=bool), unlabeled)
    rows = all_rows(train)
    scores = np.arange(rows.shape[0], dtype=float)[:, None]
    return TransductiveModel(row_digests(rows), X.shape[0], scores, INFO)


def numbers(model, X):
    return model.decision_function(X)[:, 0].tolist()


def problem():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (5, 4)).astype(float)
    X[0], X[1] = 0.0, [0.0, 1.0, 0.0, 2.0]
    X[2:] += 5 * np.arange(1, 4)[:, None]
    return X, X[::-1] + 100.0


@pytest.mark.parametrize("stored", [np.array, csr_array])
@pytest.mark.parametrize("asked", [np.array, csr_array])
def test_rows_are_found_in_any_order_and_form(stored, asked):
    X, unlabeled = problem()
    model = model_of(stored(X), stored(unlabeled))
    assert numbers(model, asked(np.vstack([unlabeled, X])[[9, 0, 5, 5]])) == [4.0, 5.0, 0.0, 0.0]
    assert numbers(pickle.loads(pickle.dumps(model)), asked(X)) == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_of_equal_rows_the_unlabeled_one_is_meant_unless_all_training_rows_are_asked_for():
    X = np.array([[1.0], [2.0], [1.0]])
    model = model_of(X, np.array([[1.0], [3.0], [1.0]]))
    assert numbers(model, X) == [0.0, 1.0, 2.0]
    assert numbers(model, np.array([[1.0], [3.0], [1.0]])) == [3.0, 4.0, 5.0]
    assert numbers(model, np.array([[2.0], [1.0]])) == [1.0, 3.0]


def test_values_at_other_columns_and_explicit_zeros_are_told_apart_and_not():
    model = model_of(np.array([[1.0, 0.0], [0.0, 1.0]]), None)
    stored_zero = csr_array((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert numbers(model, stored_zero) == [1.0]
    assert numbers(model, np.array([[1.0, -0.0]])) == [0.0]


def test_a_row_that_was_not_given_is_named():
    X, unlabeled = problem()
    with pytest.raises(UserError, match=r"row 1 was neither a training row nor an unlabeled one.*5 training.*5 unlab"):
        model_of(X, unlabeled).decision_function(np.vstack([X[:1], X[:1] + 0.5]))
