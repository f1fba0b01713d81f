"""Parts of a data set, on a small one whose counts can be read off."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.datasets import Dataset, subset
from mlrank.errors import UserError

# Positives: 1, 3, 2, 3, 0.
Y = np.array([[0, 1, 0, 1, 0], [0, 1, 1, 1, 0], [1, 0, 0, 0, 0], [0, 1, 1, 1, 0]], bool)
# Rows in which a feature is not zero: 2, 0, 4, 2.
X = np.array([[1, 0, 2, 0], [0, 0, 3, 4], [0, 0, 5, 6], [-7, 0, 8, 0]], float)


def dataset(sparse=False, known=None):
    split = (np.array([0, 1]), np.array([2, 3]))
    return Dataset("d", csr_array(X) if sparse else X, Y, known, tuple("abcde"), tuple("pqrs"), split, "made up")


def test_nothing_asked_changes_nothing():
    data = dataset()
    same, changes = subset(data, seed=0)
    assert same is data
    assert changes == []


def test_labels_with_enough_positives():
    data, changes = subset(dataset(), min_positives=2, seed=0)
    assert data.label_names == ("b", "c", "d")
    np.testing.assert_array_equal(data.Y, Y[:, [1, 2, 3]])
    assert changes == ["kept the 3 of 5 labels with 2 positives or more", "1 row has no label left"]
    assert data.official is not None


def test_most_frequent_labels_stay_in_order_and_ties_go_to_the_earlier():
    assert subset(dataset(), top_labels=1, seed=0)[0].label_names == ("b",)
    data, changes = subset(dataset(), top_labels=3, seed=0)
    assert data.label_names == ("b", "c", "d")
    assert changes == ["kept the 3 most frequent of 5 labels", "1 row has no label left"]
    data, changes = subset(dataset(), min_positives=1, top_labels=4, seed=0)
    assert changes == ["kept the 4 of 5 labels with 1 positives or more", "kept the 4 most frequent of 4 labels"]


@pytest.mark.parametrize("sparse", [False, True])
def test_features_by_document_frequency(sparse):
    data, changes = subset(dataset(sparse), top_features=2, seed=0)
    assert data.feature_names == ("p", "r")
    found = data.X.toarray() if sparse else data.X
    np.testing.assert_array_equal(found, X[:, [0, 2]])
    assert changes == ["kept the 2 of 4 features that are not zero in the most rows"]


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_are_drawn_by_the_seed_and_kept_in_order(sparse):
    drawn = set()
    for seed in range(40):
        data, changes = subset(dataset(sparse), rows=2, seed=seed)
        again, _ = subset(dataset(sparse), rows=2, seed=seed)
        np.testing.assert_array_equal(data.Y, again.Y)
        found = data.X.toarray() if sparse else data.X
        rows = [next(i for i in range(4) if (X[i] == row).all()) for row in found]
        assert rows == sorted(set(rows))
        np.testing.assert_array_equal(data.Y, Y[rows])
        assert data.official is None
        assert changes == [f"drew 2 of 4 rows (seed {seed}), dropped the official split"]
        drawn.add(tuple(rows))
    assert len(drawn) == 6  # every pair turns up


def test_labels_are_counted_in_the_rows_drawn():
    for seed in range(20):
        data, _ = subset(dataset(), rows=1, min_positives=1, seed=seed)
        assert data.Y.all()


def test_missing_entries_follow_their_labels():
    known = np.arange(20).reshape(4, 5) % 2 == 0
    data, _ = subset(dataset(known=known), top_labels=2, seed=0)
    np.testing.assert_array_equal(data.known, known[:, [1, 3]])
    data, _ = subset(dataset(known=known), rows=4, seed=0)
    np.testing.assert_array_equal(data.known, known)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"rows": 5}, "rows asks for 5 of the 4 rows of 'd'"),
        ({"rows": 0}, "rows must be 1 or more, found 0"),
        ({"top_labels": 6}, "top_labels asks for 6 of the 5 labels of 'd'"),
        ({"min_positives": 2, "top_labels": 4}, "top_labels asks for 4 of the 3 labels of 'd'"),
        ({"min_positives": 4}, "min_positives 4 leaves no label of 'd': the most frequent has 3"),
        ({"top_features": 5}, "top_features asks for 5 of the 4 features of 'd'"),
        ({"top_features": -1}, "top_features must be 1 or more, found -1"),
    ],
)
def test_what_cannot_be_done(asked, said):
    with pytest.raises(UserError) as caught:
        subset(dataset(), **asked, seed=0)
    assert str(caught.value) == said
