"""Centered rows, bases and block conjugate gradients against dense numpy."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse import random as random_sparse

from mlrank.linalg import (
    BlockLanczos,
    CenteredRows,
    GramOperator,
    SymmetricOperator,
    block_cg,
    center_columns,
    orthonormal_columns,
    range_basis,
)
from mlrank.linalg._overlaps import Overlaps
from mlrank.linalg.bases import subtract_product


def some_rows(n=30, m=12, shift=2.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, m)) + shift
    X[rng.random((n, m)) < 0.5] = 0.0
    return X


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("mean", [None, "zero", "other"])
def test_centered_rows_are_the_dense_difference(sparse, mean):
    X = some_rows()
    mean = {None: None, "zero": np.zeros(12), "other": np.linspace(-1, 1, 12)}[mean]
    dense = X - (X.mean(axis=0) if mean is None else mean)
    rows = CenteredRows(csr_array(X) if sparse else X, mean)
    rng = np.random.default_rng(1)
    V, U = rng.standard_normal((12, 3)), rng.standard_normal((30, 3))
    assert rows.times(V) == pytest.approx(dense @ V, abs=1e-12)
    assert rows.transpose_times(U) == pytest.approx(dense.T @ U, abs=1e-12)
    assert rows.gram(dual=True) == pytest.approx(dense @ dense.T, abs=1e-11)
    assert rows.gram(dual=False) == pytest.approx(dense.T @ dense, abs=1e-11)


@pytest.mark.parametrize("sparse", [False, True])
def test_constant_columns_are_zero_without_rounding_noise(sparse):
    X = np.full((7, 3), 0.1)
    X[:, 1] = [0, 0, 1, 1, 0, 0, 3]
    given = csr_array(X) if sparse else X
    rows = CenteredRows(given)
    gram = rows.gram(dual=False)
    assert not gram[0].any()
    assert not gram[2].any()
    assert gram[1, 1] > 0
    assert np.array_equal(given.toarray() if sparse else given, X)


def test_sparse_rows_stay_sparse():
    X = csr_array(random_sparse(50, 40, 0.1, rng=np.random.default_rng(0)))
    assert CenteredRows(X).rows is X


@pytest.mark.parametrize("rank", [0, 1, 3, 5])
@pytest.mark.parametrize("shape", [(20, 5), (4, 5)])
def test_range_basis_has_the_rank_and_spans_the_range(rank, shape):
    rng = np.random.default_rng(3)
    A = rng.standard_normal((shape[0], rank)) @ rng.standard_normal((rank, shape[1]))
    basis, values = range_basis(A)
    rank = min(rank, *shape)
    assert basis.shape == (shape[0], rank)
    assert basis.T @ basis == pytest.approx(np.eye(rank), abs=1e-12)
    assert basis @ (basis.T @ A) == pytest.approx(A, abs=1e-10)
    assert values == pytest.approx(np.linalg.svd(A)[1][:rank], abs=1e-10)
    full, _ = range_basis(A, full=True)
    assert full.T @ full == pytest.approx(np.eye(min(shape)), abs=1e-12)


@pytest.mark.parametrize("columns", ["independent", "nearly dependent", "dependent", "zero"])
def test_orthonormal_columns_whatever_the_rank(columns):
    rng = np.random.default_rng(4)
    A = rng.standard_normal((25, 4))
    A[:, 3] = {
        "independent": A[:, 3],
        "nearly dependent": A[:, 0] + 1e-9 * A[:, 3],
        "dependent": A[:, 0],
        "zero": np.zeros(25),
    }[columns]
    Q, R = orthonormal_columns(A)
    assert Q.T @ Q == pytest.approx(np.eye(4), abs=1e-13)
    assert Q @ R == pytest.approx(A, abs=1e-13)


def operators(G):
    return [GramOperator(lambda V: G @ V, lambda U: G.T @ U), SymmetricOperator(G.T @ G)]


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("energy", [False, True])
@pytest.mark.parametrize("shift", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("tol", [1e-9, 0.3])
def test_block_lanczos_solves_every_shift_and_tells_the_true_residual(which, energy, shift, tol):
    G = some_rows(40, 30)
    A = G.T @ G
    B = np.random.default_rng(5).standard_normal((30, 3))
    basis = BlockLanczos(operators(G)[which], *orthonormal_columns(B), energy=energy)
    found = basis.solve(shift, tol, most=10)
    X = basis.combine(found.weights)
    R = B - A @ X - shift * X
    told = basis.energy_of(found.tail, found.n_blocks)
    truth, scale = (R.T @ A @ R, B.T @ A @ B) if energy else (R.T @ R, B.T @ B)
    assert told == pytest.approx(truth, rel=1e-6, abs=1e-12)
    assert found.residual <= tol
    assert found.residual == pytest.approx(np.sqrt(np.trace(truth) / np.trace(scale)), rel=1e-6, abs=1e-10)
    if tol < 1e-6:
        assert pytest.approx(np.linalg.solve(A + shift * np.eye(30), B), abs=1e-6) == X


def test_block_lanczos_gives_a_shift_the_same_whatever_was_solved_before():
    G = some_rows(40, 30)
    B = np.random.default_rng(6).standard_normal((30, 2))
    alone = BlockLanczos(operators(G)[0], *orthonormal_columns(B))
    after = BlockLanczos(operators(G)[0], *orthonormal_columns(B))
    after.solve(1e-4, 1e-10, 15)
    first, second = alone.solve(5.0, 1e-4, 15), after.solve(5.0, 1e-4, 15)
    assert first.n_blocks < 15
    assert alone.combine(first.weights).tobytes() == after.combine(second.weights).tobytes()


def test_block_lanczos_multiplies_once_for_all_shifts():
    G = some_rows(60, 50)
    products = []
    operator = GramOperator(lambda V: products.append(1) or G @ V, lambda U: G.T @ U)
    basis = BlockLanczos(operator, *orthonormal_columns(np.random.default_rng(7).standard_normal((50, 3))))
    hardest = basis.solve(0.1, 1e-6, 20)
    for shift in (0.1, 0.3, 1.0, 3.0, 10.0, 100.0):
        assert basis.solve(shift, 1e-6, 20).n_blocks <= hardest.n_blocks
    assert len(products) == hardest.n_blocks


def test_block_lanczos_says_when_the_blocks_do_not_suffice():
    G = some_rows(60, 50)
    basis = BlockLanczos(operators(G)[0], *orthonormal_columns(np.random.default_rng(8).standard_normal((50, 3))))
    assert basis.solve(1e-6, 1e-12, 3) is None


def test_block_lanczos_gives_up_as_soon_as_too_many_blocks_are_foretold():
    G, rng = heavy_tailed()
    products = []
    operator = GramOperator(lambda V: products.append(1) or G @ V, lambda U: G.T @ U)
    basis = BlockLanczos(operator, *orthonormal_columns(rng.standard_normal((300, 4))))
    needed = basis.solve(1.0, 1e-6, 70).n_blocks
    assert basis.solve(1.0, 1e-6, 70, worth=2 * needed).n_blocks == needed
    products.clear()
    hard = BlockLanczos(operator, *orthonormal_columns(rng.standard_normal((300, 4))))
    assert hard.solve(1.0, 1e-6, 70, worth=needed / 2) is None
    assert len(products) < needed / 2


def test_no_right_hand_side_that_is_not_zero():
    G = some_rows(40, 30)
    for energy in (False, True):
        basis = BlockLanczos(operators(G)[0], np.zeros((30, 0)), np.zeros((0, 3)), energy)
        found = basis.solve(1.0, 1e-10, 30)
        assert np.array_equal(basis.combine(found.weights), np.zeros((30, 3)))
        assert not basis.energy_of(found.tail, found.n_blocks).any()


def test_a_basis_that_fills_the_space_is_exact_and_stays_orthonormal():
    rng = np.random.default_rng(9)
    G = rng.standard_normal((9, 9)) * 10.0 ** np.linspace(0, -3, 9)
    A, B = G.T @ G, rng.standard_normal((9, 3))
    basis = BlockLanczos(operators(G)[0], *orthonormal_columns(B))
    found = basis.solve(1e-6, 1e-10, 9)
    assert found.n_blocks <= 4
    X = basis.combine(found.weights)
    assert pytest.approx(B, abs=1e-8) == A @ X + 1e-6 * X
    used = np.hstack(basis.blocks[: found.n_blocks])
    assert used.T @ used == pytest.approx(np.eye(9), abs=1e-11)


def heavy_tailed(n=300):
    """Return G with singular values that fall off slowly behind a few large ones: the first converge at once."""
    rng = np.random.default_rng(13)
    Q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    return (Q * np.concatenate([[30.0, 20.0, 15.0], 5.0 / (1 + np.arange(n - 3)) ** 0.25])) @ Q.T, rng


def test_overlaps_of_blocks_are_foretold_from_the_coefficients():
    G, rng = heavy_tailed()
    A, p = G.T @ G, 4
    blocks, diagonal, below = [np.linalg.qr(rng.standard_normal((300, p)))[0]], [], []
    overlaps, size = Overlaps(p), np.linalg.norm(A, 2)
    told, truth = [], []
    for j in range(6):  # plain block Lanczos: nothing is cleaned
        Q = blocks[j]
        diagonal.append(Q.T @ A @ Q)
        rest = A @ Q - Q @ diagonal[j] - (blocks[j - 1] @ below[j - 1].T if j else 0.0)
        following, R = orthonormal_columns(rest)
        found = overlaps.foretell(diagonal[j], R, size)
        overlaps.accept(diagonal[j], R, found)
        blocks.append(following)
        below.append(R)
        told.append([np.abs(part).max() for part in found])
        truth.append([np.abs(block.T @ following).max() for block in blocks[: j + 1]])
    assert max(truth[-1]) > 1e-6
    for estimates, values in zip(told, truth, strict=True):
        for estimate, value in zip(estimates, values, strict=True):
            assert value <= 1e-12 or value / 30 <= estimate <= 30 * value


@pytest.mark.parametrize("energy", [False, True])
def test_blocks_that_drift_are_cleaned_and_residuals_stay_exact(energy):
    G, rng = heavy_tailed()
    A, B = G.T @ G, rng.standard_normal((300, 4))
    basis = BlockLanczos(operators(G)[0], *orthonormal_columns(B), energy=energy)
    found = basis.solve(0.05, 1e-9, 70)
    X = basis.combine(found.weights)
    R = B - A @ X - 0.05 * X
    square, scale = (R.T @ A @ R, B.T @ A @ B) if energy else (R.T @ R, B.T @ B)
    assert np.sqrt(np.trace(square) / np.trace(scale)) == pytest.approx(found.residual, rel=0.05)
    used = np.hstack(basis.blocks[: found.n_blocks])
    assert used.T @ used == pytest.approx(np.eye(used.shape[1]), abs=1e-7)
    # Cleaning every block of all earlier ones would be so many.
    every = found.n_blocks * (found.n_blocks - 1) / 2
    assert found.n_blocks < len(basis.taken) < 0.6 * every
    # As many steps as a basis that is orthonormal to rounding needs.
    Q, steps = np.linalg.qr(B)[0], 1
    while True:
        Y = Q @ np.linalg.solve(Q.T @ A @ Q + 0.05 * np.eye(Q.shape[1]), Q.T @ B)
        R = B - A @ Y - 0.05 * Y
        if np.sqrt(np.trace(R.T @ A @ R if energy else R.T @ R) / np.trace(scale)) <= 1e-9:
            break
        Q, steps = np.linalg.qr(np.hstack([Q, A @ Q[:, -4:]]))[0], steps + 1
    assert found.n_blocks == steps


def test_subtracting_a_product_in_place():
    rng = np.random.default_rng(14)
    V, A, B = rng.standard_normal((9, 4)), rng.standard_normal((9, 3)), rng.standard_normal((3, 4))
    expected = V - A @ B
    subtract_product(V, A, B)
    assert pytest.approx(expected, abs=1e-14) == V
    subtract_product(V, A[:, :0], B[:0])
    assert pytest.approx(expected, abs=1e-14) == V


def test_dependent_right_hand_sides_do_no_harm():
    G = some_rows(40, 30)
    b = np.random.default_rng(10).standard_normal((30, 2))
    B = np.hstack([b, b[:, :1], np.zeros((30, 1))])
    exact = np.linalg.solve(G.T @ G + np.eye(30), B)
    start, _ = range_basis(B)
    assert start.shape == (30, 2)
    basis = BlockLanczos(operators(G)[0], start, start.T @ B)
    found = basis.solve(1.0, 1e-10, 30)
    assert basis.combine(found.weights) == pytest.approx(exact, abs=1e-8)
    assert block_cg(operators(G)[0], B, 1.0, 1e-10, 100)[0] == pytest.approx(exact, abs=1e-8)


@pytest.mark.parametrize("which", [0, 1])
def test_block_cg_solves_and_tells_its_residual(which):
    G = some_rows(40, 30)
    A, B = G.T @ G, np.random.default_rng(11).standard_normal((30, 3))
    X, R, n_iter = block_cg(operators(G)[which], B, 0.5, 1e-9, 200)
    assert 1 < n_iter < 200
    assert pytest.approx(B - A @ X - 0.5 * X, abs=1e-9) == R
    assert np.linalg.norm(R) <= 1e-9 * np.linalg.norm(B)
    X, R, n_iter = block_cg(operators(G)[which], B, 0.5, 1e-9, 2)
    assert n_iter == 2
    assert pytest.approx(B - A @ X - 0.5 * X, abs=1e-10) == R


def test_block_cg_without_shift_finds_the_solution_of_least_norm():
    G = some_rows(8, 20)
    A = G.T @ G
    B = A @ np.random.default_rng(12).standard_normal((20, 2))
    X, _, _ = block_cg(operators(G)[0], B, 0.0, 1e-11, 100)
    assert pytest.approx(np.linalg.pinv(A) @ B, abs=1e-7) == X


def test_center_columns():
    A = some_rows()
    assert center_columns(A).mean(axis=0) == pytest.approx(np.zeros(12), abs=1e-15)
    assert center_columns(A) - A == pytest.approx(np.tile(-A.mean(axis=0), (30, 1)))
