"""Neighbors of rows in any order, from what was found once, are those found from the rows in that order."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.graphs import knn, knn_in_order, knn_with_ties

RNG = np.random.default_rng(5)
NORMAL = RNG.standard_normal((120, 7))
ROWS = {
    "normal": NORMAL,
    "whole numbers": np.round(NORMAL[:, :6]),
    "few columns": np.round(2 * NORMAL[:, :2]),
    "equal rows": np.repeat(NORMAL[:20], 6, axis=0),
    "few ones": (RNG.random((120, 9)) < 0.3).astype(float),
    "few rows": NORMAL[:5],
    "rows of zeros": NORMAL * (RNG.random((120, 1)) < 0.8),
}


def pairs_by_definition(X, k):
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    return set(zip(*np.nonzero(squares <= np.sort(squares)[:, k - 1 : k]), strict=True))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_neighbors", [1, 4])
@pytest.mark.parametrize("kind", ["whole numbers", "few columns", "few ones", "few rows", "rows of zeros"])
def test_the_pairs_are_those_up_to_the_last_neighbor(kind, n_neighbors, sparse):
    # Rounded, so that sums are exact in any order.
    X = np.round(8 * ROWS[kind]) / 8
    owners, places, squares = knn_with_ties(csr_array(X) if sparse else X, n_neighbors)
    pairs = list(zip(owners, places, strict=True))
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == pairs_by_definition(X, n_neighbors)
    assert np.array_equal(squares, ((X[owners] - X[places]) ** 2).sum(axis=1))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_neighbors", [1, 4])
@pytest.mark.parametrize("kind", list(ROWS))
def test_neighbors_in_another_order_are_found_to_the_bit(kind, n_neighbors, sparse):
    X = csr_array(ROWS[kind]) if sparse else ROWS[kind]
    order = np.random.default_rng(1).permutation(X.shape[0])
    # The rows in another order: row i is at place order[i] of it.
    other = X[np.argsort(order)]
    indices, squares = knn_in_order(knn_with_ties(X, n_neighbors), order, n_neighbors)
    wanted = knn(other, n_neighbors)
    assert np.array_equal(indices, wanted[0])
    assert np.array_equal(squares, wanted[1])


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_that_are_mostly_equal_have_too_many_pairs(sparse):
    X = np.ones((100, 3))
    assert [part.size for part in knn_with_ties(csr_array(X) if sparse else X, 2)] == [0, 0, 0]
