"""The label hypergraph against dense definitions and fixtures."""

from itertools import permutations

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.hypergraph import hyperedge_weights, intra_class_distance, laplacian_gram, vertex_degree
from tests.solvers.problems import SCENARIOS, clique_laplacian, load, random_problem


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_fixtures(scenario, sparse):
    f = load(scenario)
    Y = f["in_Y"].astype(bool)
    X = csr_array(f["in_X"]) if sparse else f["in_X"]
    assert intra_class_distance(X, Y) == pytest.approx(f["hyp_dbar"], rel=1e-9, abs=1e-12)
    weights = hyperedge_weights(X, Y, float(f["in_nu"]))
    assert weights == pytest.approx(f["hyp_w"], rel=1e-9, abs=1e-15)
    assert laplacian_gram(X, Y, weights) == pytest.approx(f["hyp_XtLX"][:-1, :-1], rel=1e-9, abs=1e-9)
    L = f["hyp_L"]
    assert vertex_degree(Y, weights) == pytest.approx(np.diag(L) + (Y @ weights), abs=1e-9)


def test_intra_class_distance_is_the_mean_over_ordered_pairs():
    X, Y = random_problem(n=12)
    for label, distance in enumerate(intra_class_distance(X, Y)):
        rows = X[Y[:, label]]
        pairs = [((u - v) ** 2).sum() for u, v in permutations(rows, 2)]
        assert distance == pytest.approx(np.mean(pairs) if pairs else 0.0, rel=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_identical_rows_far_from_the_origin_are_no_distance_apart(sparse):
    X = np.tile(np.linspace(1e5, 1e6, 7), (5, 1))
    distance = intra_class_distance(csr_array(X) if sparse else X, np.ones((5, 2), dtype=bool))
    assert (distance >= 0).all()
    assert distance == pytest.approx(np.zeros(2), abs=1e-3)  # of squared norms near 3e12


def test_laplacian_gram_is_the_dense_product_and_blind_to_shifts():
    X, Y = random_problem()
    weights = np.linspace(0.1, 1.0, Y.shape[1])
    L = clique_laplacian(Y, weights)
    assert laplacian_gram(X, Y, weights) == pytest.approx(X.T @ L @ X, abs=1e-10)
    assert laplacian_gram(X + 3.0, Y, weights) == pytest.approx(X.T @ L @ X, abs=1e-9)
