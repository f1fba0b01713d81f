"""Rank-SVM on rows and features of unlike scale: certificates are of the rows that were given."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mlrank.linalg.interior import interior_point
from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.rank_svm import kernels
from mlrank.solvers.rank_svm.certificate import GivenRows, RankPenalty
from mlrank.solvers.rank_svm.descent import Pairs, caps
from mlrank.solvers.rank_svm.interior import PairTerms
from mlrank.solvers.rank_svm.rank_svm import RankSVM
from mlrank.solvers.rank_svm.rows import FlatRows, gram_rows
from mlrank.solvers.rank_svm.settings import RankSettings
from tests.solvers.problems import clique_laplacian, random_problem, rank_dual, rank_primal, with_bias


def odd_problem(n=40, d=4, k=3):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, d))
    Y = (X @ rng.standard_normal((d, k)) + rng.standard_normal((n, k))) > 0.2
    return X, Y


def test_no_feasible_point_is_below_the_bound_with_one_huge_row():
    X, Y = odd_problem()
    X[0] *= 300
    info = RankSVM(kernel="polynomial").fit(TrainingSet(X, Y)).info
    other = RankSVM(kernel="polynomial", tol=1e-6).fit(TrainingSet(X[1:], Y[1:]))
    Z, B, F = other.X_train, other.dual.T, other.decision_function(X)
    K = (Z @ Z.T + 1) ** 3 + 1.0
    value = 0.5 * np.sum(B * (K @ B)) + sum(
        np.maximum(0, 1 - (f[y][:, None] - f[~y])).mean() for f, y in zip(F, Y, strict=True) if y.any() and not y.all()
    )
    assert info.converged
    assert info.objective * (1 - info.optimality) <= value


@pytest.mark.parametrize("bias", ["augmented", "free", "none"])
@pytest.mark.parametrize("ratio", [1e4, 1e6, 1e8])
def test_a_column_on_another_scale_is_a_feature_without_penalty(bias, ratio):
    X, Y = odd_problem()
    X[:, 1] *= ratio
    model = RankSVM(bias=bias, tol=1e-4).fit(TrainingSet(X, Y))
    assert model.info.converged
    # The column so large that its weight costs nothing: fitted with all weights but one penalized.
    plain, scaled = X / np.where(np.arange(4) == 1, ratio, 1.0), RankSVM(bias=bias, tol=1e-4)
    best = _least(plain, Y, bias, np.array([1.0, ratio**-2, 1.0, 1.0]))
    assert model.info.objective == pytest.approx(best, rel=3e-3)
    assert scaled.fit(TrainingSet(plain, Y)).info.objective > model.info.objective


def _least(X, Y, bias, penalty):
    """Return the least objective with these penalties, by smoothed hinges ever less smooth."""
    k, d = Y.shape[1], X.shape[1]
    rows = [(i, p, q) for i, y in enumerate(Y) for p in np.flatnonzero(y) for q in np.flatnonzero(~y)]
    i, p, q = (np.array(one) for one in zip(*rows, strict=True))
    cap = 1.0 / (Y.sum(axis=1) * (~Y).sum(axis=1))[i]
    weights = np.append(penalty, {"augmented": 1.0, "free": 0.0, "none": 0.0}[bias])
    Z = np.column_stack([X, np.full(len(X), bias != "none")])

    def value(w, smooth):
        W = w.reshape(k, d + 1)
        F = Z @ W.T
        slack = 1 - (F[i, p] - F[i, q])
        loss = np.where(slack > smooth, slack - smooth / 2, np.maximum(slack, 0.0) ** 2 / (2 * smooth))
        slope = cap * np.clip(slack / smooth, 0.0, 1.0)
        G = np.zeros_like(F)
        np.add.at(G, (i, p), -slope)
        np.add.at(G, (i, q), slope)
        return 0.5 * np.sum(weights * W * W) + cap @ loss, (weights * W + G.T @ Z).ravel()

    w = np.zeros(k * (d + 1))
    for smooth in (1.0, 0.1, 1e-2, 1e-3):
        w = minimize(value, w, (smooth,), jac=True, method="L-BFGS-B", options={"maxiter": 3000, "maxfun": 9000}).x
    return value(w, 1e-12)[0]


@pytest.mark.parametrize("free", [False, True])
def test_the_interior_point_is_the_optimum(free):
    X, Y = random_problem()
    pairs, solver = Pairs.of(Y), RankSVM(C=2.0, bias="free" if free else "augmented", tol=1e-8)
    rows, upper = FlatRows.of(X, 0.0 if free else 1.0, free), caps(pairs.size, RankSettings.of(solver))
    terms = PairTerms(rows, pairs, upper)
    point = interior_point(terms, 1e-8, 60)
    assert point.gap <= 1e-8
    assert point.n_iter < 40
    assert ((point.dual >= 0) & (point.dual <= terms.cost)).all()
    objective = solver.fit(TrainingSet(X, Y)).info.objective
    coef, intercept = rows.weights(point.weights)
    given = GivenRows(X, False, not free)
    assert given.primal(coef, intercept, upper, pairs.lists) == pytest.approx(objective, rel=3e-8)


def test_a_factor_keeps_the_small_rows_of_a_kernel_matrix():
    X, _ = odd_problem()
    X[0] *= 300
    K = (X @ X.T + 1) ** 3
    Z = gram_rows(K.copy(), 0.0, False).Z
    size = np.sqrt(np.diag(K))
    assert np.abs((Z @ Z.T - K) / np.outer(size, size)).max() < 1e-13


def test_certificates_are_of_the_given_rows_and_the_penalty():
    X, Y = random_problem()
    solver = SOLVERS["rank_hlapsvm"](lam=0.3, nu=0.1)
    prepared, pairs = solver.prepare(TrainingSet(X, Y)), Pairs.of(Y)
    weights = prepared.given.penalty.weights
    M = np.eye(X.shape[1] + 1)
    M[:-1, :-1] += 0.3 * X.T @ clique_laplacian(Y, weights) @ X
    rng = np.random.default_rng(0)
    W, alpha = rng.standard_normal((Y.shape[1], X.shape[1] + 1)), rng.random(int(pairs.size.sum()))
    upper = caps(pairs.size, RankSettings.of(solver))
    given = GivenRows(X, False, True, RankPenalty(0.3, Y, weights))
    primal = given.primal(W[:, :-1], W[:, -1], upper, pairs.lists)
    assert primal == pytest.approx(rank_primal(W, with_bias(X), Y, 1.0, M), rel=1e-12)

    alpha *= 1e-3  # so small that all of it is the best part
    exact, V = rank_dual(alpha, with_bias(X), Y, M)
    beta = kernels.dual_sums(alpha, pairs.lists, Y.shape[1])
    assert given.dual(beta, alpha.sum(), V[:, :-1]) == pytest.approx(exact, rel=1e-12)
    # Whatever the weights are that go with it, the bound is below.
    for noise in (1e-3, 1e-1, 10.0):
        assert given.dual(beta, alpha.sum(), V[:, :-1] + noise * rng.standard_normal(V[:, :-1].shape)) < exact


def test_a_model_without_support_rows_is_constant():
    X, Y = odd_problem()
    Y[:] = [True, False, False]
    model = RankSVM(kernel="rbf", bias="free").fit(TrainingSet(X, Y))
    scores = model.decision_function(X[:3])
    assert model.info.converged
    assert (scores == model.intercept).all()
    assert (scores[:, 0] > scores[:, 1:].T).all()
    assert RankSVM(bias="free").fit(TrainingSet(0.0 * X + 7.0, Y)).info.converged
    assert RankSVM(kernel="polynomial", bias="free").fit(TrainingSet(0.0 * X, Y)).info.converged


def test_an_objective_of_next_to_nothing_is_not_zero():
    rng = np.random.default_rng(6)
    n, d, k = 24, 6, 3
    X = rng.standard_normal((n, d))
    Y = X @ rng.standard_normal((d, k)) / 2.4 + 0.7 * rng.standard_normal((n, k)) > 0.3
    Y[0] = np.arange(k) == 0
    X[:, 1] *= 1e4
    model = RankSVM(kernel="polynomial").fit(TrainingSet(X, Y))
    Z, B = (part.astype(np.longdouble) for part in (X, model.dual))
    support = model.X_train.astype(np.longdouble)
    K = (support @ support.T + 1) ** 3 + 1
    F = ((Z @ support.T + 1) ** 3 + 1) @ B.T
    hinges = sum(
        np.maximum(0, 1 - (f[y][:, None] - f[~y])).mean() for f, y in zip(F, Y, strict=True) if y.any() and not y.all()
    )
    value = float((B * (B @ K)).sum() / 2 + hinges)
    assert 0 < value < 1e-12
    assert model.info.objective == pytest.approx(value, rel=1e-6)
    assert model.info.optimality > 0
