"""Singular value thresholding against a full decomposition and its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlrank.linalg import largest_singular_value, shrink_singular_values, singular_values_below
from tests.solvers.problems import SCENARIOS, load


def by_decomposition(A, threshold):
    left, values, right = np.linalg.svd(A, full_matrices=False)
    return (left * np.maximum(values - threshold, 0.0)) @ right


def some_matrix(p, k, values, seed=0):
    rng = np.random.default_rng(seed)
    left, right = np.linalg.qr(rng.standard_normal((p, p)))[0], np.linalg.qr(rng.standard_normal((k, k)))[0]
    return (left[:, : len(values)] * values) @ right[: len(values)]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_fixtures_are_met(scenario):
    known = load(scenario)
    found = shrink_singular_values(known["svt_in"], float(known["svt_tau"]))
    assert np.allclose(found.matrix, known["svt_out"], rtol=0, atol=1e-9)
    left = np.linalg.svd(known["svt_in"])[1] - float(known["svt_tau"])
    assert np.allclose(np.sort(found.values), np.sort(left[left > 0]), atol=1e-9)


@given(st.integers(1, 9), st.integers(1, 9), st.floats(1e-3, 10), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_it_is_the_decomposition_with_lower_values(p, k, threshold, seed):
    A = np.random.default_rng(seed).standard_normal((p, k))
    found = shrink_singular_values(A, threshold)
    assert np.allclose(found.matrix, by_decomposition(A, threshold), atol=1e-10)
    assert np.allclose(found.right.T @ found.right, np.eye(len(found.values)), atol=1e-9)
    assert np.allclose(np.linalg.norm(found.left, axis=0), found.values, atol=1e-10)
    assert largest_singular_value(A - found.matrix) <= threshold * (1 + found.slack) * (1 + 1e-12)


@pytest.mark.parametrize("rank", [None, 0, 3, 40])
def test_a_wrong_guess_of_the_rank_changes_nothing(rank):
    A = some_matrix(60, 40, np.array([9.0, 5.0, 2.0, 0.5, 0.1]))
    found = shrink_singular_values(A, 1.0, rank=rank)
    assert np.allclose(np.sort(found.values), [1.0, 4.0, 8.0])
    assert np.allclose(found.matrix, by_decomposition(A, 1.0), atol=1e-10)


@pytest.mark.parametrize("shape", [(30, 20), (20, 30)])
def test_values_that_squares_cannot_tell_apart_are_told_apart(shape):
    # 1e-9 of the largest: in the Gram matrix below its rounding.
    A = some_matrix(*shape, np.array([1.0, 3e-9, 0.9e-9]))
    found = shrink_singular_values(A, 1e-9, accuracy=1e-6)
    assert np.allclose(np.sort(found.values), [2e-9, 1.0], rtol=1e-6)
    assert found.slack <= 1e-4


def test_what_the_accuracy_allows_is_what_the_slack_bounds():
    A = some_matrix(30, 20, np.array([1.0, 1.001e-5, 0.999e-5]))
    rough = shrink_singular_values(A, 1e-5, accuracy=1.0)
    assert 1e-6 < rough.slack <= 1.0
    assert np.linalg.norm(A - rough.matrix, 2) <= 1e-5 * (1 + rough.slack)


def test_nothing_is_left_above_the_largest_value():
    A = some_matrix(6, 4, np.array([2.0, 1.0]))
    found = shrink_singular_values(A, 2.5)
    assert not found.matrix.any()
    assert found.values.size == 0
    assert largest_singular_value(np.zeros((3, 2))) == 0.0


def test_it_moves_no_two_matrices_apart():
    rng = np.random.default_rng(3)
    for _ in range(20):
        A, B = rng.standard_normal((2, 7, 5))
        moved = shrink_singular_values(A, 0.8).matrix - shrink_singular_values(B, 0.8).matrix
        assert np.linalg.norm(moved) <= np.linalg.norm(A - B) * (1 + 1e-12)


@pytest.mark.parametrize("shape", [(30, 20), (20, 30)])
def test_no_singular_value_is_above_from_the_largest_on(shape):
    A = some_matrix(*shape, np.array([7.0, 6.0, 1e-3]))
    assert singular_values_below(A, 7.0 * (1 + 1e-9))
    assert not singular_values_below(A, 7.0 * (1 - 1e-9))


@pytest.mark.parametrize("turned", [False, True])
def test_a_value_that_is_the_threshold_is_not_kept_at_zero(turned):
    columns = np.random.default_rng(0).uniform(1, 10, (200, 2, 1))
    squares = [(A.T @ A).item() for A in columns]
    ties = [A for A, square in zip(columns, squares, strict=True) if square > np.sqrt(square) ** 2]
    assert len(ties) > 20  # above the threshold by their squares alone
    for A in ties:
        found = shrink_singular_values(A.T if turned else A, float(np.sqrt((A.T @ A).item())))
        assert found.values.size == found.left.size == found.right.size == 0
