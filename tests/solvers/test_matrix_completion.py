"""Matrix completion against the printed iteration with full decompositions, and against optimality conditions."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.sparse import csr_array
from scipy.special import expit

from mlrank.solvers import TrainingSet
from mlrank.solvers.matrix_completion import Completion, CompletionPoint, MatrixCompletion, simplex_rows
from mlrank.solvers.matrix_completion.splitting import _Labels
from tests.solvers.problems import random_problem

GOLDEN_X = np.array([[1, 0], [0.8, 0.1], [0, 1], [0.1, 0.9]])
GOLDEN = TrainingSet(GOLDEN_X[[0, 2]], np.array([[True], [False]]), GOLDEN_X[[1, 3]])


def small(constraint="none", n=14, d=4, k=3):
    """Return (train, X of all rows, signs of all rows); five rows are unlabeled, some labels unknown."""
    X, Y = random_problem(n, d, k, seed=2)
    if constraint != "none":
        X = np.abs(X)
        X[X.sum(axis=1) == 0] = 1.0
    if constraint == "simplex":
        X = X / X.sum(axis=1, keepdims=True)
    known = np.random.default_rng(0).random(Y.shape) < 0.8
    labeled = n - 5
    signs = np.where(known, np.where(Y, 1.0, -1.0), 0.0)
    signs[labeled:] = 0.0
    return TrainingSet(X[:labeled], Y[:labeled], X[labeled:], known[:labeled]), X, signs


def losses(Z, b, X, signs, lam, gamma=1.0, features="ls"):
    """Return the smooth part of the objective from the definition, by loops."""
    n, k = signs.shape
    total, count = 0.0, np.count_nonzero(signs)
    e = 0.1 * X[X > 0].mean()
    for i in range(n):
        for j in range(k):
            if signs[i, j]:
                total += lam / count * np.log1p(np.exp(-gamma * signs[i, j] * (Z[i, j] + b[j]))) / gamma
        for j in range(X.shape[1]):
            z, x = Z[i, k + j], X[i, j]
            total += (0.5 * (z - x) ** 2 if features == "ls" else (z - x) ** 2 / (z + x + e)) / X.size
    return total


def nearest_in_simplex(A):
    """Return the projection of each row, by bisection on what is taken off."""
    low, high = A.min(axis=1) - 1.0, A.max(axis=1)
    for _ in range(60):
        middle = (low + high) / 2
        large = np.maximum(A - middle[:, None], 0).sum(axis=1) > 1
        low, high = np.where(large, middle, low), np.where(large, high, middle)
    return np.maximum(A - low[:, None], 0)


def printed(X, signs, lam, mu, gamma=1.0, features="ls", constraint="none", bias="ones", steps=6000):
    """Return (Z, b) of the fixed-point iteration without momentum, with whole decompositions, and a shorter step."""
    n, k = signs.shape
    d, count = X.shape[1], np.count_nonzero(signs)
    e = 0.1 * X[X > 0].mean()
    tau = min(3.8 * count / (lam * gamma), X.size if features == "ls" else X.size * e * 27 / 64)
    tau /= 2 if bias == "labels" else 1
    Z, b = np.zeros((n, k + d + (bias == "ones"))), np.zeros(k)
    for _ in range(steps):
        G = np.zeros_like(Z)
        G[:, :k] = -lam / count * signs / (1 + np.exp(gamma * signs * (Z[:, :k] + b)))
        u = Z[:, k : k + d] - X
        v = Z[:, k : k + d] + X + e
        G[:, k : k + d] = (u if features == "ls" else (2 * u * v - u**2) / v**2) / X.size
        U, s, Vt = np.linalg.svd(Z - tau * G, full_matrices=False)
        new = (U * np.maximum(s - tau * mu, 0)) @ Vt
        if bias == "ones":
            new[:, -1] = 1
        if constraint == "nonnegative":
            new[:, k : k + d] = np.maximum(new[:, k : k + d], 0)
        elif constraint == "simplex":
            new[:, k : k + d] = nearest_in_simplex(new[:, k : k + d])
        if bias == "labels":
            b = b - tau / n * G[:, :k].sum(axis=0)
        moved = np.linalg.norm(new - Z)
        Z = new
        if moved < 1e-9 * np.linalg.norm(Z) and bias != "labels":
            break
    return Z, b


@pytest.mark.parametrize(
    ("bias", "objective", "scores"),
    [
        ("none", 0.3419931, [2.58417, 0.67869, -2.5676, -0.73335]),
        ("ones", 0.4022389, [2.58213, 0.67158, -2.57, -0.73585]),
    ],
)
def test_golden_values(bias, objective, scores):
    model = MatrixCompletion(bias=bias, mu=0.05, tol=1e-8).fit(GOLDEN)
    assert model.info.converged
    assert model.info.objective == pytest.approx(objective, abs=5e-8)
    assert model.decision_function(GOLDEN_X)[:, 0] == pytest.approx(scores, abs=2e-5)


VARIANTS = [
    {},
    {"bias": "none"},
    {"lam": 5.0, "gamma": 3.0},
    {"constraint": "nonnegative"},
    {"constraint": "simplex"},
    {"constraint": "nonnegative", "features": "chi2", "lam": 0.3},
]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("settings", VARIANTS, ids=lambda settings: " ".join(map(str, settings.values())) or "plain")
def test_the_printed_iteration_ends_there_too(settings, sparse):
    train, X, signs = small(settings.get("constraint", "none"))
    if sparse:
        train = TrainingSet(csr_array(train.X), train.Y, csr_array(train.X_unlabeled), train.known)
    options = {"lam": 1.0, "mu": 0.02, **settings}
    model = MatrixCompletion(tol=1e-8, max_iter=20_000, **options).fit(train)
    Z, b = printed(X, signs, **options)
    assert model.info.converged
    assert model.decision_function(X) == pytest.approx(Z[:, :3], abs=1e-5)
    whole = losses(Z, b, X, signs, options["lam"], options.get("gamma", 1.0), options.get("features", "ls"))
    assert model.info.objective == pytest.approx(0.02 * np.linalg.norm(Z, "nuc") + whole, rel=1e-6)


def test_a_bias_for_each_label():
    train, X, signs = small()
    model = MatrixCompletion(bias="labels", mu=0.02, tol=1e-7, max_iter=20_000).fit(train)
    Z, b = printed(X, signs, 1.0, 0.02, bias="labels", steps=6000)
    assert model.decision_function(X) == pytest.approx(Z[:, :3] + b, abs=1e-4)
    plain = MatrixCompletion(bias="none", mu=0.02, tol=1e-7).fit(train)
    assert model.info.objective < plain.info.objective


def test_optimality_conditions():
    train, X, signs = small()
    solver = MatrixCompletion(bias="none", mu=0.02, tol=1e-9, max_iter=20_000)
    problem = solver._problem(train, X)
    point, _ = solver._complete(problem)
    gradient = approx_fprime(
        point.Z.ravel(), lambda z: losses(z.reshape(point.Z.shape), np.zeros(3), X, signs, 1.0), 1e-7
    ).reshape(point.Z.shape)
    U, s, Vt = np.linalg.svd(point.Z, full_matrices=False)
    r = int((s > 1e-6).sum())
    assert 0 < r < len(s)
    apart = -gradient / 0.02 - U[:, :r] @ Vt[:r]
    assert np.abs(U[:, :r].T @ apart).max() < 1e-4
    assert np.abs(apart @ Vt[:r].T).max() < 1e-4
    assert np.linalg.norm(apart, 2) < 1.0


@pytest.mark.parametrize("features", ["ls", "chi2"])
def test_gradient_is_that_of_the_loss(features):
    _, X, signs = small("nonnegative")
    problem = Completion(signs, X, 2.0, 1.5, features, "nonnegative", "labels")
    rng = np.random.default_rng(1)
    Z, b = np.abs(rng.standard_normal((len(X), 7))), rng.standard_normal(3)
    assert problem.loss(CompletionPoint(Z, b)) == pytest.approx(losses(Z, b, X, signs, 2.0, 1.5, features), rel=1e-12)
    found = problem.gradient(CompletionPoint(Z, b))
    by_z = approx_fprime(Z.ravel(), lambda z: losses(z.reshape(Z.shape), b, X, signs, 2.0, 1.5, features), 1e-7)
    by_b = approx_fprime(b, lambda c: losses(Z, c, X, signs, 2.0, 1.5, features), 1e-7)
    assert found.Z.ravel() == pytest.approx(by_z, abs=1e-6)
    assert found.bias == pytest.approx(by_b, abs=1e-6)


def test_without_weight_of_labels_features_are_shrunk_once():
    X, Y = random_problem(20, 5)
    model = MatrixCompletion(lam=1e-12, bias="none", mu=0.01, tol=1e-7).fit(TrainingSet(X, Y))
    s = np.linalg.svd(X, compute_uv=False)
    kept = np.minimum(s, 0.01 * X.size)
    assert model.info.objective == pytest.approx(0.01 * (s - kept).sum() + 0.5 * (kept**2).sum() / X.size, rel=1e-9)
    assert np.abs(model.scores).max() < 1e-6


def test_labels_of_a_matrix_of_rank_one_are_completed():
    side = np.where(np.random.default_rng(0).random(30) < 0.5, 1.0, -1.0)
    X, Y = np.outer(side, [1.0, -0.5, 2.0]), np.outer(side, [1.0, -1.0]) > 0
    X = X * np.linspace(0.5, 2.0, 30)[:, None]
    scores = MatrixCompletion(bias="none").fit(TrainingSet(X[:4], Y[:4], X[4:])).decision_function(X)
    assert np.array_equal(scores > 0, Y)


def test_a_row_without_known_labels_is_an_unlabeled_row():
    X, Y = random_problem(15, 4)
    known = np.ones_like(Y)
    known[10:] = False
    masked = MatrixCompletion(tol=1e-6).fit(TrainingSet(X, Y, known=known))
    apart = MatrixCompletion(tol=1e-6).fit(TrainingSet(X[:10], Y[:10], X[10:]))
    assert masked.info.notes == ("5 of 15 rows have no known label: they count as unlabeled",)
    assert replace(masked.info, notes=()) == apart.info
    assert np.array_equal(masked.decision_function(X), apart.decision_function(X))


def test_large_penalty_leaves_nothing():
    train, X, _ = small()
    model = MatrixCompletion(bias="none", mu=10.0).fit(train)
    assert model.info.converged
    assert not model.decision_function(X).any()


@pytest.mark.parametrize("constraint", ["none", "nonnegative"])
@pytest.mark.parametrize("most", [1, 3, 20])
def test_steps_are_counted_and_the_last_is_one_for_the_last_penalty(most, constraint):
    train, X, _ = small(constraint)
    solver = MatrixCompletion(max_iter=most, tol=1e-9, constraint=constraint)
    info = solver.fit(train).info
    assert info.n_iter == most
    assert np.isfinite(info.optimality)
    assert not info.converged
    assert len(solver._levels(solver._problem(train, X))) > 3
    # The residual told is that of the last penalty, mu, so more steps bring it down.
    assert info.optimality > replace(solver, max_iter=400).fit(train).info.optimality


@pytest.mark.parametrize("bias", ["ones", "none", "labels"])
def test_splitting_leads_near_the_fixed_point_whatever_the_labels_weigh(bias):
    """The papers' iteration takes about the square root of their weight, some 2000 steps here."""
    X, Y = random_problem(200, 20, 6)
    train = TrainingSet(X[:100], Y[:100], X[100:])
    for lam in (1.0, 100.0):
        info = MatrixCompletion(lam=lam, bias=bias).fit(train).info
        assert info.converged
        assert info.n_iter < 250


def test_scores_of_observed_labels_are_least_beside_a_square():
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 0.0, 1.0], (8, 3))
    labels = _Labels(Completion(signs, np.ones((8, 2)), 50.0, 2.0, "ls", "none", "none"))
    scale, weight = 50.0 / np.count_nonzero(signs), 1e-3
    for size in (1.0, 1e4, 1e-3):  # the second begins where the first has ended
        V = size * rng.standard_normal(signs.shape)
        found = labels.nearest(V, weight)
        assert np.array_equal(found[signs == 0], V[signs == 0])
        for u, v, sign in zip(found[signs != 0], V[signs != 0], signs[signs != 0], strict=True):
            # The derivative rises, so its sign on either side says where the minimum is.
            around = u + np.array([-1.0, 1.0]) * 1e-6 * max(1.0, abs(u))
            slopes = -scale * sign * expit(-2.0 * sign * around) + weight * (around - v)
            assert slopes[0] < 0 < slopes[1]


def test_simplex_rows_are_nearest():
    rng = np.random.default_rng(0)
    A = 2 * rng.standard_normal((20, 6))
    found = simplex_rows(A)
    assert found == pytest.approx(nearest_in_simplex(A), abs=1e-12)
    assert found.sum(axis=1) == pytest.approx(1.0)
    assert simplex_rows(np.array([[0.5] * 3, [2, 0, -1]])) == pytest.approx(np.array([[1 / 3] * 3, [1, 0, 0]]))


def test_duplicate_rows_with_opposite_labels():
    X, Y = random_problem(10, 4)
    train = TrainingSet(np.vstack([X, X]), np.vstack([Y, ~Y]), X)
    model = MatrixCompletion().fit(train)
    assert model.info.converged
    assert np.isfinite(model.decision_function(X)).all()


def test_wrong_input_is_told():
    X, Y = random_problem(10, 4)
    with pytest.raises(ValueError, match="no label of any row is known"):
        MatrixCompletion().fit(TrainingSet(X, Y, known=np.zeros_like(Y)))
    with pytest.raises(ValueError, match="constraint 'nonnegative' needs features of at least 0, found -"):
        MatrixCompletion(constraint="nonnegative").fit(TrainingSet(X, Y))
    with pytest.raises(ValueError, match=r"needs rows that sum to one \(scale: l1\), found row 1 with sum 2"):
        MatrixCompletion(constraint="simplex").fit(
            TrainingSet(np.vstack([[0, 1, 0, 0], [2, 0, 0, 0], np.eye(8, 4)]), Y)
        )
    with pytest.raises(ValueError, match="features 'chi2' goes with constraint 'nonnegative' or 'simplex'"):
        MatrixCompletion(features="chi2")
    with pytest.raises(ValueError, match=r"constraint must be one of .*, found 'simplx'. Did you mean 'simplex'"):
        MatrixCompletion(constraint="simplx")
