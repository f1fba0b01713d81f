import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from mlrank.graphs import knn, neighbors


def brute_force(X, k):
    """Return indices and squared distances, summed feature by feature, sorted by distance and then index."""
    n = len(X)
    indices, squares = np.empty((n, k), dtype=int), np.empty((n, k))
    for i in range(n):
        square = np.zeros(n)
        for f in range(X.shape[1]):
            square += (X[i, f] - X[:, f]) ** 2
        square[i] = np.inf
        order = np.lexsort((np.arange(n), square))[:k]
        indices[i], squares[i] = order, square[order]
    return indices, squares


def drawn(kind, n=300, d=7):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, d))
    # Two far and tight groups: float32 cannot tell the rows of one apart.
    groups = 1e-5 * X + np.where(np.arange(n) % 2, 1.0, -1.0)[:, None]
    return {
        "normal": X,
        "whole numbers": np.round(X),
        "few values": np.round(X[:, :2]),
        "equal rows": np.repeat(X[:20], 15, axis=0),
        "all equal": np.ones((n, d)),
        "far from the origin": 1e-3 * X + 1e6,
        "groups": groups,
        "one far row": np.vstack([X, np.full((1, d), 1e7)]),
        "large": 1e140 * X,
        "small": 1e-140 * X,
        "zeros": np.where(rng.random(X.shape) < 0.7, 0.0, X),
        "constant feature": np.column_stack([X, np.full(n, 5.0)]),
        "one feature": X[:, :1],
        "four features": X[:, :4],
        "few rows of two features": X[:9, :2],
        "equal rows of two features": np.repeat(X[:20, :2], 15, axis=0),
        "equal rows here and there": np.where(np.arange(n)[:, None] % 3 == 0, -0.0 * X[:, :2], X[:, :2]),
        "all equal in two features": np.ones((n, 2)),
        "wide": rng.standard_normal((40, 300)),
    }[kind]


KINDS = [
    "normal",
    "whole numbers",
    "few values",
    "equal rows",
    "all equal",
    "far from the origin",
    "groups",
    "one far row",
    "large",
    "small",
    "zeros",
    "constant feature",
    "one feature",
    "four features",
    "few rows of two features",
    "equal rows of two features",
    "equal rows here and there",
    "all equal in two features",
    "wide",
]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_neighbors_are_those_of_brute_force(kind, sparse):
    X = drawn(kind)
    for k in (1, 5, min(30, len(X) - 1)):
        indices, squares = knn(csr_array(X) if sparse else X, k)
        expected, distances = brute_force(X, k)
        assert np.array_equal(indices, expected)
        assert np.array_equal(squares, distances)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n", [2, 3, 9])
def test_as_many_neighbors_as_there_are(n, sparse):
    X = np.random.default_rng(n).standard_normal((n, 2))
    indices, _ = knn(csr_array(X) if sparse else X, n - 1)
    assert np.array_equal(indices, brute_force(X, n - 1)[0])


def test_blocks_do_not_matter(monkeypatch):
    X = drawn("whole numbers")
    whole = knn(X, 5)
    monkeypatch.setattr(neighbors, "BLOCK_BYTES", 4 * 300 * 7)
    for one, other in zip(whole, knn(X, 5), strict=True):
        assert np.array_equal(one, other)


def test_few_features_give_the_same_with_and_without_a_tree(monkeypatch):
    X = np.round(np.random.default_rng(4).standard_normal((500, 4)), 1)
    by_tree = knn(X, 6)
    monkeypatch.setattr(neighbors, "TREE_FEATURES", 0)
    for one, other in zip(by_tree, knn(X, 6), strict=True):
        assert np.array_equal(one, other)


@settings(max_examples=60, deadline=None)
@given(
    arrays(np.float64, st.tuples(st.integers(4, 14), st.integers(1, 4)), elements=st.floats(-1e3, 1e3, width=32)),
    st.integers(1, 3),
    st.booleans(),
)
def test_small_problems(X, k, sparse):
    indices, squares = knn(csr_array(X) if sparse else X, k)
    expected, distances = brute_force(X, k)
    assert np.array_equal(indices, expected)
    assert np.array_equal(squares, distances)


@pytest.mark.parametrize("k", [0, -1, 5, 6])
def test_wrong_numbers_of_neighbors_are_refused(k):
    with pytest.raises(ValueError, match=f"n_neighbors must be from 1 to 4, one below the number of rows, found {k}"):
        knn(np.eye(5), k)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1e200])
@pytest.mark.parametrize("sparse", [False, True])
def test_entries_without_distance_are_refused(value, sparse):
    X = np.eye(5)
    X[2, 3] = value
    with pytest.raises(ValueError, match="X must have finite entries below 1e\\+150"):
        knn(csr_array(X) if sparse else X, 2)
