import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.graphs import GRAPHS, cosine_graph, gaussian_graph, self_tuning_graph
from tests.solvers.problems import SCENARIOS, load

KEYS = sorted(GRAPHS)


def printed(X, n_neighbors, scale_neighbor, symmetrize="max"):
    """Return the dense self-tuning graph, entry by entry."""
    n = len(X)
    square = np.array([[((x - z) ** 2).sum() for z in X] for x in X])
    np.fill_diagonal(square, np.inf)
    order = np.argsort(square, axis=1, kind="stable")
    A, chosen = np.zeros((n, n)), np.zeros((n, n), dtype=bool)
    for i in range(n):
        chosen[i, order[i, :n_neighbors]] = True
    near = min(scale_neighbor, n - 1) - 1
    scale = np.array([np.sqrt(square[i, order[i, near]]) for i in range(n)])
    keep = chosen | chosen.T if symmetrize == "max" else chosen & chosen.T
    for i, j in zip(*np.nonzero(keep), strict=True):
        A[i, j] = np.exp(-square[i, j] / (scale[i] * scale[j]))
    return A


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_graph_of_the_fixtures(scenario, sparse):
    stored = load(scenario)
    X = np.asarray(stored["in_X"], dtype=float)
    A = self_tuning_graph(csr_array(X) if sparse else X, int(stored["in_c_nn"]), int(stored["in_scale_k"]))
    assert np.allclose(A.toarray(), stored["slrm_A"], rtol=0, atol=1e-12)


def test_four_points_on_a_line():
    A = self_tuning_graph(np.array([[0.0], [1.0], [3.0], [7.0]]), 1, 2).toarray()
    expected = np.zeros((4, 4))
    expected[0, 1], expected[1, 2], expected[2, 3] = np.exp(-1 / 6), np.exp(-4 / 6), np.exp(-16 / 18)
    assert np.allclose(A, expected + expected.T, atol=1e-12)


@pytest.mark.parametrize("symmetrize", ["max", "mutual"])
def test_the_definition_written_out(symmetrize):
    X = np.random.default_rng(5).standard_normal((40, 3))
    for n_neighbors, scale_neighbor in ((3, 7), (9, 2), (50, 50)):
        A = self_tuning_graph(X, n_neighbors, scale_neighbor, symmetrize)
        assert np.allclose(A.toarray(), printed(X, n_neighbors, scale_neighbor, symmetrize), atol=1e-13)


def test_the_scale_of_features_does_not_matter():
    X = np.random.default_rng(6).standard_normal((50, 4))
    plain = self_tuning_graph(X, 5).toarray()
    for factor in (1e-100, 3.0, 1e100):
        assert np.allclose(self_tuning_graph(factor * X, 5).toarray(), plain, rtol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("symmetrize", ["max", "mutual"])
@pytest.mark.parametrize("key", KEYS)
def test_adjacency_is_symmetric_with_zero_diagonal(key, symmetrize, sparse):
    X = np.random.default_rng(7).standard_normal((60, 5))
    X[10:20] = X[0]
    A = GRAPHS[key](csr_array(X) if sparse else X, 4, symmetrize=symmetrize)
    dense = A.toarray()
    assert np.array_equal(dense, dense.T)
    assert not dense.diagonal().any()
    assert A.data.min() > 0
    assert A.has_canonical_format
    assert A.indices.dtype == np.int32


def test_equal_rows_take_the_least_distance_above_zero():
    # Rows 0 to 3 are equal, so that the second neighbor of each is at distance 0; the next row is at distance 2.
    X = np.array([[0.0], [0.0], [0.0], [0.0], [2.0], [5.0]])
    A = self_tuning_graph(X, 5, 2).toarray()
    assert A[0, 1] == 1.0
    assert A[0, 4] == pytest.approx(np.exp(-4 / (2 * 2)))
    assert A[4, 5] == pytest.approx(np.exp(-9 / (2 * 5)))
    assert np.array_equal(self_tuning_graph(csr_array(X), 5, 2).toarray(), A)


@pytest.mark.parametrize("sparse", [False, True])
def test_all_rows_equal(sparse):
    X = np.ones((6, 3))
    A = self_tuning_graph(csr_array(X) if sparse else X, 2).toarray()
    # Ties go to the lowest indices: every row chooses rows 0 and 1, these choose each other and row 2.
    assert set(map(tuple, np.argwhere(np.triu(A)))) == {(0, j) for j in range(1, 6)} | {(1, j) for j in range(2, 6)}
    assert set(A[A > 0]) == {1.0}


def test_gaussian_weights():
    X = np.array([[0.0], [1.0], [3.0], [7.0]])
    # Chosen: 0-1, 1-0, 2-1, 3-2 at squared distances 1, 1, 4, 16, with mean 5.5.
    by_mean, given = gaussian_graph(X, 1).toarray(), gaussian_graph(X, 1, width=2.0).toarray()
    for A, width in ((by_mean, 5.5), (given, 2.0)):
        expected = np.zeros((4, 4))
        expected[0, 1], expected[1, 2], expected[2, 3] = np.exp(-1 / width), np.exp(-4 / width), np.exp(-16 / width)
        assert np.allclose(A, expected + expected.T, rtol=1e-14)


@pytest.mark.parametrize("sparse", [False, True])
def test_cosine_weights_and_rows_without_direction(sparse):
    X = np.array([[2.0, 0.0], [0.0, 0.0], [0.0, 1e-9], [1e3, 1e3], [-1.0, 0.0]])
    A = cosine_graph(csr_array(X) if sparse else X, 4, tau=0.5).toarray()
    half = np.sqrt(0.5)
    cosines = {(0, 2): 0.0, (0, 3): half, (0, 4): -1.0, (2, 3): half, (2, 4): 0.0, (3, 4): -half}
    expected = np.zeros((5, 5))
    for (i, j), cosine in cosines.items():
        expected[i, j] = expected[j, i] = np.exp(-(1 - cosine) / 0.5)
    assert np.allclose(A, expected, rtol=1e-12)


@pytest.mark.parametrize("key", KEYS)
def test_a_single_row_and_more_neighbors_than_rows(key):
    assert GRAPHS[key](np.ones((1, 2)), 3).toarray().tolist() == [[0.0]]
    X = np.random.default_rng(8).standard_normal((5, 2))
    assert np.array_equal(GRAPHS[key](X, 4).toarray(), GRAPHS[key](X, 50).toarray())


def test_edges_too_weak_for_a_number_are_none():
    A = gaussian_graph(np.array([[0.0], [1.0], [1e3], [1e3 + 1]]), 2, width=1.0)
    assert A.nnz == 4


@pytest.mark.parametrize(
    ("function", "settings", "message"),
    [
        (self_tuning_graph, {"n_neighbors": 0}, "n_neighbors must be at least 1, found 0"),
        (self_tuning_graph, {"n_neighbors": 2, "scale_neighbor": 0}, "scale_neighbor must be at least 1, found 0"),
        (self_tuning_graph, {"n_neighbors": 2, "symmetrize": "min"}, "symmetrize must be one of max, mutual, found"),
        (gaussian_graph, {"n_neighbors": 2, "width": 0.0}, "width must be a number above 0, found 0.0"),
        (cosine_graph, {"n_neighbors": 2, "tau": -1.0}, "tau must be a number above 0, found -1.0"),
    ],
)
def test_settings_out_of_range_are_refused(function, settings, message):
    with pytest.raises(ValueError, match=message):
        function(np.eye(4), **settings)
