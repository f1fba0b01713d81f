import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.graphs import component_of, degrees, laplacian, laplacian_product, self_tuning_graph


def graph(n=40, seed=0):
    return self_tuning_graph(np.random.default_rng(seed).standard_normal((n, 3)), 4)


def test_laplacians_from_their_definitions():
    A = graph()
    dense = A.toarray()
    D = dense.sum(axis=1)
    assert np.allclose(degrees(A), D, rtol=1e-14)
    L = np.diag(D) - dense
    assert np.allclose(laplacian(A).toarray(), L, atol=1e-14)
    assert np.allclose(laplacian(A, "normalized").toarray(), L / np.sqrt(np.outer(D, D)), atol=1e-14)


@pytest.mark.parametrize("kind", ["combinatorial", "normalized"])
def test_laplacians_are_positive_semidefinite_with_the_constant_in_the_null_space(kind):
    A = graph()
    L = laplacian(A, kind).toarray()
    zero = np.ones(len(L)) if kind == "combinatorial" else np.sqrt(degrees(A))
    assert np.allclose(L @ zero, 0.0, atol=1e-13)
    assert np.linalg.eigvalsh(L)[0] > -1e-13


@pytest.mark.parametrize("kind", ["combinatorial", "normalized"])
def test_rows_without_edges_are_zero(kind):
    A = csr_array(np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    L = laplacian(A, kind).toarray()
    assert L[2].tolist() == [0.0, 0.0, 0.0]
    assert L[0].tolist() == ([2.0, -2.0, 0.0] if kind == "combinatorial" else pytest.approx([1.0, -1.0, 0.0]))


@pytest.mark.parametrize("sparse", [False, True])
def test_product_with_features(sparse):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 6))
    A = graph()
    D = A.toarray()
    expected = sum(D[i, j] * np.outer(X[i] - X[j], X[i] - X[j]) for i in range(40) for j in range(i))
    found = laplacian_product(A, csr_array(X) if sparse else X)
    assert np.allclose(found, expected, atol=1e-12)
    assert np.array_equal(found, found.T)


def test_product_far_from_the_origin_keeps_its_digits():
    X = np.random.default_rng(1).standard_normal((40, 6))
    shifted = X + 1e8
    plain = laplacian_product(graph(), shifted - 1e8)
    assert np.allclose(laplacian_product(graph(), shifted), plain, rtol=1e-6)


def test_connected_parts():
    A = csr_array(np.array([[0, 0, 1.0, 0], [0, 0, 0, 0], [1.0, 0, 0, 0], [0, 0, 0, 0]]))
    number, part = component_of(A)
    assert number == 3
    assert part[0] == part[2]
    assert len(set(part.tolist())) == 3


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="kind must be one of combinatorial, normalized, found 'random'"):
        laplacian(graph(), "random")
