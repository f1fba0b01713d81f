"""Matrices of labels: dense and sparse ones answer alike, and the best scores are those of a sort."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

from mlrank import labels, room
from mlrank.errors import UserError
from mlrank.labels import (
    as_labels,
    columns_of,
    dense_labels,
    label_counts,
    row_counts,
    sparse_labels,
    top_of,
    top_of_counted,
)
from mlrank.solvers import TrainingSet
from mlrank.solvers.models import top as top_module
from mlrank.solvers.models import top_scores


def random_labels(n=30, k=12, seed=0):
    Y = np.random.default_rng(seed).random((n, k)) < 0.2
    Y[3], Y[:, 5] = False, False
    return Y


def sorted_top(scores, k):
    """Return the best labels of each row by a sort of (score, label) pairs."""
    pairs = [sorted((-score, label) for label, score in enumerate(row))[:k] for row in scores.tolist()]
    return [[label for _, label in row] for row in pairs], [[-score for score, _ in row] for row in pairs]


def test_dense_and_sparse_labels_answer_alike():
    Y = random_labels()
    S = csr_array(Y)
    assert label_counts(S).tolist() == label_counts(Y).tolist() == [int(Y[:, j].sum()) for j in range(Y.shape[1])]
    assert row_counts(S).tolist() == row_counts(Y).tolist() == [int(row.sum()) for row in Y]
    assert labels.n_marks(S) == labels.n_marks(Y) == int(Y.sum())
    rows, columns = np.array([4, 4, 0, 29]), np.array([11, 2, 3])
    assert np.array_equal(labels.labels_of_rows(S, rows).toarray(), Y[rows])
    assert np.array_equal(labels.take_columns(S, columns).toarray(), Y[:, columns])
    assert np.array_equal(dense_labels(S), Y)
    by_column = columns_of(S)
    for j in range(Y.shape[1]):
        assert (
            by_column.indices[by_column.indptr[j] : by_column.indptr[j + 1]].tolist()
            == np.flatnonzero(Y[:, j]).tolist()
        )


def test_sparse_labels_get_one_form():
    entries = np.array([True, True, False, True]), (np.array([0, 0, 1, 2]), np.array([2, 2, 0, 1]))
    found = as_labels(coo_array(entries, shape=(3, 3)))
    assert isinstance(found, csr_array)
    assert (found.data.dtype, found.indices.dtype, found.indptr.dtype) == (np.bool_, np.int32, np.int32)
    assert (found.indices.tolist(), found.indptr.tolist(), found.data.tolist()) == ([2, 1], [0, 1, 1, 2], [True, True])
    assert as_labels(found) is found
    assert sparse_labels(found) is found
    for wrong in (np.eye(2), csr_array(np.eye(2)), np.ones(3, bool)):
        with pytest.raises(ValueError, match="two-dimensional bool"):
            as_labels(wrong)


def test_dense_labels_that_do_not_fit_are_refused_in_one_line(monkeypatch):
    Y = csr_array((np.ones(1, bool), [5], np.r_[0, np.ones(40_000, int)]), shape=(40_000, 50_000))
    monkeypatch.setattr(room, "available_memory", lambda: 1e9)
    expected = (
        "of 40000 rows and 50000 labels would take 2 GB of memory, of which 1 GB are available; keep fewer labels"
    )
    with pytest.raises(UserError, match=expected):
        dense_labels(Y)
    train = TrainingSet(csr_array((40_000, 3)), Y)
    with pytest.raises(UserError, match=f"dense labels, which this solver needs, {expected}"):
        _ = train.dense_Y


def test_a_training_set_holds_sparse_labels_as_they_are():
    Y = random_labels()
    X = np.arange(30.0)[:, None]
    dense, sparse = TrainingSet(X, Y), TrainingSet(X, csr_array(Y))
    assert isinstance(sparse.Y, csr_array)
    assert not sparse.Y.indices.flags.writeable
    assert (sparse.n_samples, sparse.n_labels) == Y.shape
    for train in (dense, sparse):
        assert np.array_equal(train.dense_Y, Y)
        assert np.array_equal(train.sparse_Y.toarray(), Y)
        assert not train.dense_Y.flags.writeable
        assert not train.sparse_Y.data.flags.writeable
        rows = np.array([7, 1, 2])
        assert np.array_equal(train.take(rows).dense_Y, Y[rows])
        hidden = train.hide_labels(rows)
        assert np.array_equal(hidden.dense_Y, np.delete(Y, rows, axis=0))
        assert hidden.X_unlabeled.tolist() == [
            [7],
            [1],
            [2],
        ]
    with pytest.raises(ValueError, match="unknown entries of sparse labels"):
        TrainingSet(X, csr_array(Y), known=np.ones_like(Y))


@pytest.mark.parametrize("k", [1, 3, 11, 12, 20])
def test_the_best_scores_are_those_of_a_sort(k):
    rng = np.random.default_rng(k)
    scores = rng.integers(-3, 4, (50, 12)).astype(float)  # nearly all of them tied
    scores[0], scores[1, 4] = 0.0, -np.inf
    found = top_of(scores, k)
    assert (found.labels.tolist(), found.scores.tolist()) == sorted_top(scores, k)
    assert found.labels.dtype == np.int32
    with pytest.raises(ValueError, match="1 NaN, the first in row 2, label 1"):
        top_of(np.where(np.arange(600).reshape(50, 12) == 25, np.nan, scores), k)


def test_any_model_gives_its_best_scores_in_blocks(monkeypatch):
    scores = np.random.default_rng(0).standard_normal((23, 9))
    asked = []

    class Plain:
        def decision_function(self, X):
            asked.append(len(X))
            return scores[X[:, 0].astype(int)]

    class Own(Plain):
        def top_scores(self, X, k):
            return np.zeros((len(X), k), np.int32), self.order * np.ones((len(X), 1), np.float32)

    monkeypatch.setattr(top_module, "BLOCK_SCORES", 45)
    X = np.arange(23.0)[:, None]
    found = top_scores(Plain(), X, 4, 9)
    assert (found.labels.tolist(), found.scores.tolist()) == sorted_top(scores, 4)
    assert asked == [5, 5, 5, 5, 3]
    Own.order = np.array([2.0, 1.0], np.float32)
    assert top_scores(Own(), X, 2, 9).scores[0].tolist() == [2.0, 1.0]
    Own.order = np.array([1.0, 2.0], np.float32)
    with pytest.raises(ValueError, match="do not rise"):
        top_scores(Own(), X, 2, 9)
    with pytest.raises(ValueError, match="returned labels"):
        top_scores(Own(), X, 3, 9)


@pytest.mark.parametrize("k", [1, 3, 11, 12, 20])
def test_the_best_of_stored_scores_are_those_of_all(k):
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 4, size=(30, 12)) * (rng.random((30, 12)) < 0.4) / 3.0
    scores[4] = 0.0
    stored = csr_array(scores)
    # Products of sparse matrices store a row in any order.
    for row in range(30):
        part = slice(stored.indptr[row], stored.indptr[row + 1])
        stored.indices[part], stored.data[part] = stored.indices[part][::-1].copy(), stored.data[part][::-1].copy()
    expected, found = top_of(scores, k), top_of_counted(stored, k)
    assert found.labels.dtype == np.int32
    assert found.labels.tolist() == expected.labels.tolist() == sorted_top(scores, k)[0]
    assert found.scores.tolist() == expected.scores.tolist()
