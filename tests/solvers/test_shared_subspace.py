"""Shared-subspace least squares against the paper's generalized eigenproblem, its limits, and every other subspace."""

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.sparse import csr_array

from mlrank.kernels import KERNELS
from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.shared_subspace import default_rank
from tests.solvers.problems import random_problem


def subspace(**settings):
    return SOLVERS["shared_subspace"](**settings)


def centered(X, Y):
    return X - X.mean(axis=0), Y - Y.mean(axis=0)


def given_subspace(X, Y, theta, alpha, beta):
    """Return (objective, U) at the best U for a given Theta (r, m), as the paper has them: V = Theta U."""
    n, m = X.shape
    M = X.T @ X / n + (alpha + beta) * np.eye(m) - alpha * theta.T @ theta
    U = np.linalg.solve(M, X.T @ Y / n)
    loss = ((X @ U - Y) ** 2).sum() / n
    return loss + alpha * ((U - theta.T @ theta @ U) ** 2).sum() + beta * (U**2).sum(), U


def printed(X, Y, alpha, beta, rank):
    """Solve the generalized eigenproblem of n_features rows, as printed, on centered X and Y."""
    n, m = X.shape
    inverse = np.linalg.inv(X.T @ X / n + (alpha + beta) * np.eye(m))
    S1 = np.eye(m) - alpha * inverse
    S2 = inverse @ X.T @ Y @ Y.T @ X @ inverse
    theta = np.linalg.qr(eigh(S2, S1)[1][:, m - rank :])[0].T
    return given_subspace(X, Y, theta, alpha, beta)


def ridge(X, Y, lam):
    return np.linalg.solve(X.T @ X / len(X) + lam * np.eye(X.shape[1]), X.T @ Y / len(X))


def coef_of(X, Y, **settings):
    return subspace(**settings).fit(TrainingSet(X, Y)).coef.T


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.5), (1e-3, 10.0), (100.0, 1e-3), (0.3, 0.01)])
@pytest.mark.parametrize("rank", [1, 2, 4])
@pytest.mark.parametrize("shape", [(40, 6), (15, 25)])
def test_it_solves_the_printed_eigenproblem(alpha, beta, rank, shape):
    X, Y = random_problem(*shape)
    model = subspace(alpha=alpha, beta=beta, rank=rank).fit(TrainingSet(X, Y))
    objective, U = printed(*centered(X, Y), alpha, beta, rank)
    assert np.allclose(model.coef.T, U, atol=1e-9 * max(1.0, np.abs(U).max()))
    assert model.info.objective == pytest.approx(objective, rel=1e-10)
    expected = (X - X.mean(axis=0)) @ U + Y.mean(axis=0)
    assert np.allclose(model.decision_function(X), expected, atol=1e-9 * max(1.0, np.abs(U).max()))


def test_by_hand():
    """Two features without correlation, each with a label of its own; the subspace has room for one of them.

    Mean squares of the features are 1/2 and 2, with the centered labels 1/4 and 1/2. With alpha = 1, beta = 1/2
    the weights are 1/4 / (1/2 + 1/2) or, outside, 1/4 / (1/2 + 3/2); for the second label 1/2 / 5/2 or 1/2 / 7/2. Being
    inside is worth 1/4 (1/4 - 1/8) = 1/32 to the first label and 1/2 (1/5 - 1/7) = 1/35 to the second.
    """
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
    Y = np.array([[1, 0], [0, 0], [0, 1], [0, 0]], dtype=bool)
    model = subspace(alpha=1.0, beta=0.5, rank=1).fit(TrainingSet(X, Y))
    assert np.allclose(model.coef, [[1 / 4, 0.0], [0.0, 1 / 7]], atol=1e-14)
    assert np.allclose(model.intercept, [1 / 4, 1 / 4], atol=1e-15)
    # Variances of the labels are 3/16 each.
    assert model.info.objective == pytest.approx(3 / 8 - 1 / 4 * 1 / 4 - 1 / 2 * 1 / 7, rel=1e-14)


def test_no_other_subspace_is_better():
    X, Y = random_problem(seed=1)
    Xc, Yc = centered(X, Y)
    best = subspace(alpha=2.0, beta=0.1, rank=2).fit(TrainingSet(X, Y)).info.objective
    rng = np.random.default_rng(0)
    for _ in range(300):
        theta = np.linalg.qr(rng.standard_normal((6, 2)))[0].T
        assert given_subspace(Xc, Yc, theta, 2.0, 0.1)[0] >= best * (1 - 1e-12)


class TestLimits:
    X, Y = random_problem(n=50, m=8, k=5, seed=2)
    Xc, Yc = centered(X, Y)

    @pytest.mark.parametrize("rank", [0, 2, 5])
    def test_without_alpha_it_is_ridge_regression(self, rank):
        found = coef_of(self.X, self.Y, alpha=0.0, beta=0.3, rank=rank)
        assert np.allclose(found, ridge(self.Xc, self.Yc, 0.3), atol=1e-13)

    def test_without_a_subspace_both_penalties_add_up(self):
        found = coef_of(self.X, self.Y, alpha=1.5, beta=0.3, rank=0)
        assert np.allclose(found, ridge(self.Xc, self.Yc, 1.8), atol=1e-13)

    @pytest.mark.parametrize("rank", [5, 7])
    @pytest.mark.parametrize("alpha", [1e-3, 1e9])
    def test_with_a_subspace_for_all_labels_alpha_has_no_effect(self, alpha, rank):
        model = subspace(alpha=alpha, beta=0.3, rank=rank).fit(TrainingSet(self.X, self.Y))
        assert np.allclose(model.coef.T, ridge(self.Xc, self.Yc, 0.3), atol=1e-12)
        assert model.info.notes == (
            f"a subspace of {rank} dimensions holds all 5 directions of the labels: alpha has no effect",
        )

    @pytest.mark.parametrize("rank", [1, 3])
    def test_infinite_alpha_leaves_the_rank_of_the_subspace(self, rank):
        values = np.linalg.svd(coef_of(self.X, self.Y, alpha=1e14, beta=0.3, rank=rank))[1]
        assert values[rank - 1] > 1e-2
        assert values[rank:].max() < 1e-12

    def test_the_objective_falls_with_the_rank(self):
        values = [subspace(rank=r).fit(TrainingSet(self.X, self.Y)).info.objective for r in range(6)]
        assert (np.diff(values) < 0).all()

    def test_no_penalty_is_least_squares_of_least_norm(self):
        X, Y = random_problem(n=12, m=30, seed=3)
        Xc, Yc = centered(X, Y)
        found = coef_of(X, Y, alpha=0.0, beta=0.0, rank=2)
        assert np.allclose(found, np.linalg.pinv(Xc) @ Yc, atol=1e-9)

    def test_without_beta_directions_outside_the_subspace_alone_are_penalized(self):
        objective, U = printed(*centered(self.X, self.Y), 0.7, 0.0, 2)
        model = subspace(alpha=0.7, beta=0.0, rank=2).fit(TrainingSet(self.X, self.Y))
        assert np.allclose(model.coef.T, U, atol=1e-10)
        assert model.info.objective == pytest.approx(objective, rel=1e-12)


def test_labels_that_depend_on_each_other_and_constant_ones():
    X, Y = random_problem(seed=4)
    Y = np.column_stack([Y[:, 0], Y[:, 0], ~Y[:, 0], np.ones(40, bool), np.zeros(40, bool)])
    model = subspace(alpha=3.0, beta=0.2, rank=1).fit(TrainingSet(X, Y))
    scores = model.decision_function(X)
    assert np.allclose(scores[:, 0], scores[:, 1], atol=1e-14)
    assert np.allclose(scores[:, 0] + scores[:, 2], 1.0, atol=1e-14)
    assert np.array_equal(scores[:, 3:], np.tile([1.0, 0.0], (40, 1)))
    assert "holds all 1 directions" in model.info.notes[0]
    assert np.allclose(model.coef.T[:, 0], ridge(*centered(X, Y), 0.2)[:, 0], atol=1e-13)
    only = subspace().fit(TrainingSet(X, Y[:, 3:]))
    assert np.array_equal(only.decision_function(X), np.tile([1.0, 0.0], (40, 1)))


@pytest.mark.parametrize("shape", [(40, 6), (15, 25)])
def test_sparse_rows_and_kernels_give_the_same_scores(shape):
    X, Y = random_problem(*shape)
    new = np.random.default_rng(1).standard_normal((9, shape[1]))
    settings = {"alpha": 0.7, "beta": 0.05, "rank": 2}
    linear = subspace(**settings).fit(TrainingSet(X, Y))
    sparse = subspace(**settings).fit(TrainingSet(csr_array(X), Y))
    assert np.allclose(sparse.coef, linear.coef, atol=1e-10)
    kernel = {"kernel": "polynomial", "degree": 1, "coef0": 5.0, "gamma": 1.0}
    curved = subspace(**settings, **kernel).fit(TrainingSet(X, Y))
    assert np.allclose(curved.decision_function(new), linear.decision_function(new), atol=1e-8)
    given = subspace(**settings, kernel="precomputed").fit(TrainingSet(X @ X.T, Y))
    assert np.allclose(given.decision_function(new @ X.T), linear.decision_function(new), atol=1e-8)


def test_the_chi2_kernel_is_that_of_its_feature_space():
    rng = np.random.default_rng(5)
    X = rng.random((20, 6)) * (rng.random((20, 6)) < 0.6)
    Y = rng.random((20, 5)) < 0.4
    new = rng.random((4, 6))
    values, vectors = np.linalg.eigh(KERNELS["chi2"](X, X, 0.5))
    features = vectors * np.sqrt(values)
    new_features = KERNELS["chi2"](new, X, 0.5) @ vectors / np.sqrt(values)
    settings = {"alpha": 0.7, "beta": 0.05, "rank": 2}
    model = subspace(kernel="chi2", gamma=0.5, **settings).fit(TrainingSet(X, Y))
    expected = subspace(**settings).fit(TrainingSet(features, Y)).decision_function(new_features)
    assert np.allclose(model.decision_function(new), expected, atol=1e-9)


def test_one_decomposition_serves_every_alpha_beta_and_rank():
    X, Y = random_problem(n=30, m=50)
    train = TrainingSet(X, Y)
    prepared = subspace().prepare(train)
    for alpha, beta, rank in [(0.0, 1.0, 0), (10.0, 1e-3, 2), (1.0, 0.0, "auto")]:
        solver = subspace(alpha=alpha, beta=beta, rank=rank)
        shared, alone = solver.fit(train, prepared), solver.fit(train)
        assert shared.coef.tobytes() == alone.coef.tobytes()


@pytest.mark.parametrize(("n_labels", "rank"), [(1, 0), (2, 1), (5, 4), (6, 5), (10, 5), (11, 10), (20, 15)])
def test_the_default_rank(n_labels, rank):
    assert default_rank(n_labels) == rank
    X, Y = random_problem(n=60, m=30, k=n_labels, seed=6)
    plain = subspace().fit(TrainingSet(X, Y))
    assert np.array_equal(plain.coef, subspace(rank=rank).fit(TrainingSet(X, Y)).coef)


@pytest.mark.parametrize("wrong", [-1, 2.0, True, "all", None])
def test_a_rank_is_a_whole_number(wrong):
    with pytest.raises(ValueError, match="rank must be 'auto' or a whole number, 0 or above"):
        subspace(rank=wrong)


@pytest.mark.parametrize("setting", ["alpha", "beta"])
def test_penalties_are_not_negative(setting):
    with pytest.raises(ValueError, match=f"{setting} must be a number, 0 or above"):
        subspace(**{setting: -0.1})


def test_a_kernel_whose_rounding_hides_the_rows_certifies_nothing():
    X, Y = random_problem()
    X[:, 0] = 1e10  # (x'y + 1)^3 is 1e60 in every entry
    solver = subspace(kernel="polynomial")
    lost = solver.fit(TrainingSet(X, Y)).info
    assert (lost.converged, lost.optimality) == (False, pytest.approx(1.0))
    same = solver.fit(TrainingSet(np.ones_like(X), Y)).info
    assert same.converged


def test_scores_that_are_rounding_of_a_kernel_give_way_to_weights_of_zero():
    X, Y = random_problem()
    X[:, 0] *= 1e6  # weights of 1 / (n beta) times kernel values of 1e36
    model = subspace(kernel="polynomial").fit(TrainingSet(X, Y))
    assert (model.info.converged, model.info.optimality) == (False, pytest.approx(1.0))
    assert not model.dual.any()
    assert model.info.objective == pytest.approx(float(Y.var(axis=0).sum()), rel=1e-12)


def test_the_objective_of_a_kernel_that_rounds_is_that_of_the_model():
    X, Y = random_problem(n=24)
    X += 100.0
    model = subspace(kernel="polynomial").fit(TrainingSet(X, Y))
    K = (X.astype(np.longdouble) @ X.T + 1) ** 3
    assert 1e-6 < model.info.optimality < 1.0  # not converged: entries are 1e15, weights of 1 / 24
    F = K @ model.dual.T + model.intercept
    gram = model.dual @ K @ model.dual.T
    outside = np.linalg.eigvalsh(gram.astype(float))[: -default_rank(Y.shape[1])].sum()
    expected = ((F - Y) ** 2).sum() / 24 + outside + np.trace(gram)
    assert model.info.objective == pytest.approx(float(expected), rel=1e-6)
