"""The certificate of ridge regression, from the definition, and regression where Gram matrices have lost the digits."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank import SOLVERS, TrainingSet
from mlrank.kernels import Kernel
from mlrank.linalg import CenteredRows
from mlrank.linalg.graded import graded_rows, graded_svd
from mlrank.solvers.ridge import TOL, kernel_space, linear_space


def problem(n=40, d=6, k=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal((n, k)), rng


@pytest.mark.parametrize("shape", [(40, 6), (8, 20)])
@pytest.mark.parametrize("form", [np.array, csr_array])
def test_the_error_is_the_root_of_what_the_objective_is_too_large_by(shape, form):
    X, Z, rng = problem(*shape)
    Xc, Zc, lam = X - X.mean(axis=0), Z - Z.mean(axis=0), 0.7
    best = np.linalg.solve(Xc.T @ Xc + lam * np.eye(shape[1]), Xc.T @ Zc)
    W = best + 0.1 * Xc.T @ rng.standard_normal((shape[0], 3))
    space = linear_space(CenteredRows(form(X)))
    energy, _ = space.energies(Xc.T @ (Zc - Xc @ W) - lam * W, lam)
    objective = ((Zc - Xc @ W) ** 2).sum(axis=0) + lam * (W**2).sum(axis=0)
    least = ((Zc - Xc @ best) ** 2).sum(axis=0) + lam * (best**2).sum(axis=0)
    assert energy == pytest.approx(objective - least, rel=1e-8)


def test_rows_that_are_not_centered_count_what_their_scores_round_to():
    X, _, _ = problem()
    Z, X = X[:, :3] - X[:, 3:], X + 1e10
    space = linear_space(CenteredRows(X, np.zeros(6)), centered=False)
    assert space.graded is not None
    space = space.graded
    ridge = space.certified(space.coef(space.parts(Z), 1e-3), Z, 1e-3)
    exact = X.astype(np.longdouble) @ ridge.coef.T
    off = np.linalg.norm((X @ ridge.coef.T - exact).astype(float), axis=0) / np.linalg.norm(Z, axis=0)
    assert ridge.error >= off.max() > 1e-7


def test_weights_that_are_off_are_refined():
    X, Z, rng = problem()
    Xc, Zc, lam = X - X.mean(axis=0), Z - Z.mean(axis=0), 0.7
    space = linear_space(CenteredRows(X))
    ridge = space.certified(rng.standard_normal((3, 6)), Z, lam)
    best = np.linalg.solve(Xc.T @ Xc + lam * np.eye(6), Xc.T @ Zc)
    assert ridge.coef.T == pytest.approx(best, rel=1e-9)
    assert ridge.error <= 1e-9
    assert ridge.objective == pytest.approx(((Zc - Xc @ best) ** 2).sum() + lam * (best**2).sum())


def test_one_wrong_target_is_not_hidden_by_longer_ones():
    X, Z, _ = problem()
    Z[:, 2] *= 1e-9
    space = linear_space(CenteredRows(X))
    right = space.coef(space.parts(Z), 0.7)
    wrong = right.copy()
    wrong[2] = 0.0
    lengths = np.linalg.norm(Z - Z.mean(axis=0), axis=0)
    assert space._measured_rows(right, Z - Z.mean(axis=0), lengths, 0.7).ridge.error <= 1e-9
    assert space._measured_rows(wrong, Z - Z.mean(axis=0), lengths, 0.7).ridge.error > 1e-3


@pytest.mark.parametrize("ratio", [1e6, 3e6, 1e8, 1e10])
@pytest.mark.parametrize("key", ["plst", "cplst"])
def test_a_huge_column_leaves_the_others_their_part(key, ratio):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 50))
    Y = (X[:, 1:] @ rng.standard_normal((49, 4)) / 3 + 0.3 * rng.standard_normal((200, 4))) > 0.3
    X[:, 0] *= ratio
    Xc, S = X - X.mean(axis=0), np.where(Y, 1.0, -1.0)
    D = np.linalg.norm(Xc, axis=0)
    rows, targets = np.vstack([Xc / D, np.diag(1 / D)]), np.vstack([S - S.mean(axis=0), np.zeros((50, 4))])
    expected = Xc @ (np.linalg.lstsq(rows, targets, rcond=None)[0] / D[:, None]) + S.mean(axis=0)
    for rows in (X, csr_array(X)):
        model = SOLVERS[key](n_components=4, lam=1.0).fit(TrainingSet(rows, Y))
        assert model.info.converged
        assert np.abs(model.decision_function(X) - expected).max() <= 1e-8


@pytest.mark.parametrize("key", ["plst", "cplst", "faie", "shared_subspace"])
def test_a_nearly_constant_kernel_is_centered_on_both_sides(key):
    X, Z, rng = problem(60, 3)
    X *= 0.02
    Y = Z > 0
    settings = {"lam": "auto", "n_components": 3} if key != "shared_subspace" else {"beta": 1e-6, "alpha": 0.0}
    model = SOLVERS[key](kernel="rbf", **settings).fit(TrainingSet(X, Y))
    new = 0.02 * rng.standard_normal((40, 3))
    K, Kt = Kernel("rbf")(X, X), Kernel("rbf")(new, X)
    J = np.eye(60) - 1 / 60
    Kc = J @ K @ J
    lam = 60e-6 if key == "shared_subspace" else 1e-6 * np.trace(Kc) / 60
    coded = Y.astype(float) if key == "shared_subspace" else np.where(Y, 1.0, -1.0)
    A = J @ np.linalg.solve(Kc + lam * np.eye(60), coded - coded.mean(axis=0))
    scores = model.decision_function(new)
    if key == "faie":  # not all of the labels' space is in the code
        assert np.abs(scores).max() <= 1e3
        return
    assert scores == pytest.approx((Kt - K.mean(axis=0)) @ A + coded.mean(axis=0), abs=1e-4)
    assert np.abs(model.dual.sum(axis=1)).max() <= 1e-6 * np.abs(model.dual).max()


def test_what_cannot_be_solved_says_so_with_a_finite_bound():
    X, Z, _ = problem(24, 6)
    X[:, 1] *= 1e6
    model = SOLVERS["plst"](kernel="polynomial", lam=1.0).fit(TrainingSet(X, Z > 0))
    assert not model.info.converged
    assert TOL < model.info.optimality <= 1.0
    assert "feature 1 (counted from 0) is" in model.info.notes[-1]
    assert "scale: standard" in model.info.notes[-1]


def test_graded_rows_and_columns_keep_their_singular_values():
    rng = np.random.default_rng(0)
    Q, P = np.linalg.qr(rng.standard_normal((9, 5)))[0], np.linalg.qr(rng.standard_normal((5, 5)))[0]
    values = 10.0 ** np.arange(8, -12, -4)
    A = (Q * values) @ np.eye(5)
    U, found, V = graded_svd(A)
    assert found == pytest.approx(values, rel=1e-12)
    assert graded_svd(np.ascontiguousarray(A.T))[1] == pytest.approx(values, rel=1e-12)
    assert (U * found) @ V.T == pytest.approx(A, rel=1e-12, abs=1e-25)
    twice = np.hstack([A, A[:, :1]]) @ np.diag([1, 1, 1, 1, 1, 1e-3])
    assert len(graded_svd(twice)[1]) == 5
    assert P.shape == (5, 5)
    assert graded_svd(np.zeros((3, 2)))[1].size == 0


def test_graded_rows_of_a_kernel_keep_small_entries():
    rng = np.random.default_rng(0)
    B = rng.standard_normal((20, 4))
    B[0] *= 300
    K = (B @ B.T + 1) ** 3
    root = np.sqrt(np.diag(K))
    L = graded_rows(K)
    assert np.abs((L @ L.T - K) / np.outer(root, root)).max() <= 1e-14


def test_a_kernel_matrix_with_a_huge_row():
    rng = np.random.default_rng(0)
    B = rng.standard_normal((20, 4))
    B[0] *= 1e3
    space = kernel_space(B, Kernel("polynomial"), centered=False)
    Z = rng.standard_normal((20, 2))
    graded = space.graded
    K, lam = (B @ B.T + 1) ** 3, 1e3
    ridge = graded.certified(graded.coef(graded.parts(Z), lam), Z, lam)
    assert np.abs(K @ ridge.coef.T + lam * ridge.coef.T - Z).max() <= 1e-6


def test_features_that_sparse_rows_have_everywhere_are_centered_like_dense_ones():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4))
    X[:, 0] += 1.7e9
    X[rng.random((30, 4)) < 0.3] = 0.0
    X[:, 0] = 1.7e9 + rng.standard_normal(30)
    dense, sparse = CenteredRows(X), CenteredRows(csr_array(X))
    assert sparse.gram(dual=False) == pytest.approx(dense.gram(dual=False), rel=1e-9, abs=1e-9)
    assert sparse.gram(dual=True) == pytest.approx(dense.gram(dual=True), abs=1e-5)  # the mean is rounded
    assert sparse.dense() == pytest.approx(dense.dense(), abs=1e-6)
    assert sparse.lengths == pytest.approx(dense.lengths, rel=1e-6)
    assert sparse.mean == pytest.approx(dense.mean, rel=1e-15)
