"""Sparse Bayesian compressed sensing against its model: whole Gaussians, mean-field loops and determinants."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.kernels import KERNELS
from mlrank.solvers import TrainingSet
from mlrank.solvers.sparse_bayes.compressed_sensing import SparseBayesianCS
from mlrank.solvers.sparse_bayes.model import relevance
from mlrank.solvers.sparse_bayes.queries import greedy, label_information, query_order
from tests.solvers.problems import random_problem


def some(n=40, d=6, k=5, K=3, seed=0):
    X, Y = random_problem(n, d, k, seed)
    Phi = np.random.default_rng(seed).standard_normal((K, k)) / np.sqrt(K)
    return X, Y, Phi


def posterior(m, v, Phi, D, label_v=None):
    """Return mean and variance of one row's labels from the whole precision matrix."""
    precision = np.diag(1 / D) + Phi.T @ Phi / v
    mean = np.linalg.solve(precision, Phi.T @ m / v)
    other = np.diag(1 / D) + Phi.T @ Phi / (v if label_v is None else label_v)
    return mean, np.diag(np.linalg.inv(other))


def labels_of(m, v, Phi, steps, label_v=None):
    """Return the means of one row's labels after so many iterations."""
    D = np.ones(Phi.shape[1])
    for _ in range(steps):
        mean, variance = posterior(m, v, Phi, D, label_v)
        D = (1e-6 + (variance + mean**2) / 2) / (1e-6 + 0.5)
    return mean


def test_golden_step():
    found = relevance(np.array([[1.0, 0.0]]), np.array([0.1]), np.array([[1.0, 1, 0], [0, 1, 1]]), 1e-6, 1)
    assert found.mean[0] == pytest.approx([0.615836, 0.322581, -0.293255], abs=1e-6)
    assert found.variance[0] == pytest.approx([0.384164, 0.354839, 0.384164], abs=1e-6)


@pytest.mark.parametrize("label_v", [None, 0.05])
@pytest.mark.parametrize("steps", [1, 2, 15])
def test_iterations_are_those_of_the_whole_precision(steps, label_v):
    rng = np.random.default_rng(0)
    Phi, m, v = rng.standard_normal((4, 7)), rng.standard_normal((5, 4)), 0.1 + rng.random(5)
    found = relevance(m, v, Phi, 0.0, steps, label_v=label_v)
    for i in range(5):
        assert found.mean[i] == pytest.approx(labels_of(m[i], v[i], Phi, steps, label_v), abs=1e-10)


def test_rows_stop_on_their_own_and_are_taken_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    Phi, m, v = rng.standard_normal((4, 7)), rng.standard_normal((30, 4)), 0.1 + rng.random(30)
    m[3] = 0.0
    whole = relevance(m, v, Phi, 1e-3, 500)
    one = [relevance(m[[i]], v[[i]], Phi, 1e-3, 500).mean[0] for i in range(30)]
    assert whole.mean == pytest.approx(np.array(one), abs=1e-9)
    assert not whole.mean[3].any()
    monkeypatch.setattr("mlrank.solvers.sparse_bayes.model.BLOCK", 7 * 16)
    assert relevance(m, v, Phi, 1e-3, 500).mean == pytest.approx(whole.mean, abs=1e-9)


def test_without_a_prior_labels_are_those_compressed():
    rng = np.random.default_rng(0)
    Phi, m = rng.standard_normal((4, 4)), rng.standard_normal((3, 4))
    found = relevance(m, np.full(3, 0.1), Phi, 1e-6, 1, free=np.full((3, 4), 1e9))
    assert found.mean @ Phi.T == pytest.approx(m, abs=1e-6)


def test_known_labels_are_held():
    rng = np.random.default_rng(0)
    Phi, m = rng.standard_normal((3, 5)), rng.standard_normal((1, 3))
    free = np.array([[1.0, 0, 1, 0, 1]])
    found = relevance(m, np.array([0.2]), Phi, 0.0, 9, free)
    assert found.mean[0, [0, 2, 4]] == pytest.approx(labels_of(m[0], 0.2, Phi[:, [0, 2, 4]], 9), abs=1e-10)
    assert not found.mean[0, [1, 3]].any()


def test_sparse_labels_are_recovered():
    rng = np.random.default_rng(0)
    Phi = rng.standard_normal((30, 60)) / np.sqrt(30)
    y = np.zeros(60)
    y[[4, 17, 51]] = 1.0
    found = relevance((Phi @ y)[None], np.array([1e-3]), Phi, 1e-8, 2000).mean[0]
    assert np.array_equal(np.flatnonzero(found > 0.5), [4, 17, 51])
    assert np.abs(found - y).max() < 0.01


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shape", [(40, 6), (10, 30)])
def test_regression_is_the_mean_field_fixed_point(shape, sparse):
    X, Y, Phi = some(*shape)
    s2, c2 = 0.2, 0.3
    W = np.zeros((X.shape[1], 3))
    for _ in range(3000):
        Z = (X @ W / s2 + Y @ Phi.T / c2) / (1 / s2 + 1 / c2)
        W = np.linalg.solve(X.T @ X / s2 + np.eye(X.shape[1]), X.T @ Z / s2)
    train = TrainingSet(csr_array(X) if sparse else X, Y)
    model = SparseBayesianCS(n_components=3, s2=s2, c2=c2).fit(train)
    assert model.Phi == pytest.approx(Phi)
    assert model.coef == pytest.approx(W.T, abs=1e-9)
    assert model.info.objective == pytest.approx(np.sum((Y @ Phi.T - X @ W) ** 2) + 0.5 * np.sum(W**2), rel=1e-9)


@pytest.mark.parametrize("bias", ["none", "augmented"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "polynomial"])
@pytest.mark.parametrize("shape", [(25, 6), (10, 30)])
def test_latent_labels_and_their_covariance_are_those_of_the_whole_gaussian(shape, kernel, bias):
    X, Y, Phi = some(*shape)
    X_new = np.random.default_rng(5).standard_normal((4, X.shape[1]))
    rows = np.vstack([X, X_new])
    settings = {"kernel": kernel, "gamma": 0.1, "degree": 2, "bias": bias}
    G = KERNELS[kernel](rows, rows, 0.1, 2, 1.0) + (bias == "augmented") + 0.5 * np.eye(len(rows))
    n = len(X)
    across = np.linalg.solve(G[:n, :n], G[:n, n:])
    model = SparseBayesianCS(n_components=3, s2=0.2, c2=0.3, **settings).fit(TrainingSet(X, Y))
    m, v = model.latent(X_new)
    covariance = G[n:, n:] - G[n:, :n] @ across
    assert m == pytest.approx(across.T @ Y @ Phi.T, abs=1e-8)
    assert v == pytest.approx(np.diag(covariance), abs=1e-8)
    assert model.covariance(X_new) == pytest.approx(covariance, abs=1e-8)
    assert model.latent(csr_array(X_new))[1] == pytest.approx(v, abs=1e-8)


def test_one_row_is_scored_as_the_joint_gaussian_conditions_it():
    X, Y, Phi = some(12, 4, 5)
    x = np.random.default_rng(5).standard_normal((1, 4))
    rows = np.vstack([x, X])
    R = np.linalg.inv(rows @ rows.T + 0.5 * np.eye(13))
    precision = np.kron(R, Phi.T @ Phi)
    precision[np.arange(5), np.arange(5)] += 1.0
    mean = -np.linalg.solve(precision[:5, :5], precision[:5, 5:] @ Y.ravel())
    model = SparseBayesianCS(n_components=3, s2=0.2, c2=0.3, max_iter=1).fit(TrainingSet(X, Y))
    assert model.labels(x).mean[0] == pytest.approx(mean, abs=1e-10)
    assert model.decision_function(x)[0] == pytest.approx(2 * mean - 1, abs=1e-10)


def test_constant_variance():
    X, Y, Phi = some()
    model = SparseBayesianCS(n_components=3, s2=0.2, c2=0.3, variance="constant", tol=1e-12, max_iter=7)
    fitted = model.fit(TrainingSet(X, Y))
    expected = [labels_of(m, 0.5, Phi, 7, 0.3) for m in X[:5] @ fitted.coef.T]
    assert fitted.labels(X[:5]).mean == pytest.approx(np.array(expected), abs=1e-9)


def test_missing_labels_agree_with_their_prediction():
    X, Y, Phi = some(30, 4, 5)
    known = np.random.default_rng(1).random(Y.shape) < 0.7
    known[:5] = True
    solver = SparseBayesianCS(n_components=3, s2=0.2, c2=0.3, tol=1e-9, max_iter=500)
    model = solver.fit(TrainingSet(X, Y, known=known))
    assert model.info.converged
    assert model.info.n_iter > 1
    # From the weights alone: expected labels of each row, and the regression on them.
    expected = np.where(known, Y, 0.0)
    for i in np.flatnonzero(~known.all(axis=1)):
        free = ~known[i]
        m = model.coef @ X[i] - Phi[:, ~free] @ Y[i, ~free]
        expected[i, free] = labels_of(m, 0.5, Phi[:, free], 500)
    W = np.linalg.solve(X.T @ X + 0.5 * np.eye(4), X.T @ expected @ Phi.T)
    assert model.coef == pytest.approx(W.T, abs=1e-6)


def test_what_stops_early_tells_how_far_it_is():
    X, Y, _ = some(30, 4, 5)
    known = np.random.default_rng(1).random(Y.shape) < 0.7
    info = SparseBayesianCS(tol=1e-9, max_iter=2).fit(TrainingSet(X, Y, known=known)).info
    assert (info.n_iter, info.converged) == (2, False)
    assert info.optimality > 1e-9


def test_rows_without_a_known_label_are_left_out():
    X, Y, _ = some()
    known = np.ones_like(Y)
    known[7:20] = False
    apart = SparseBayesianCS().fit(TrainingSet(np.delete(X, range(7, 20), 0), np.delete(Y, range(7, 20), 0)))
    assert np.array_equal(SparseBayesianCS().fit(TrainingSet(X, Y, known=known)).coef, apart.coef)
    with pytest.raises(ValueError, match="no label of any row is known"):
        SparseBayesianCS().fit(TrainingSet(X, Y, known=np.zeros_like(Y)))


def information(R, x, U):
    """Return log[(R_UU^-1)_xx (R_UU)_xx] for the rows U of all."""
    part = R[np.ix_(U, U)]
    i = list(U).index(x)
    return np.log(np.linalg.inv(part)[i, i] * part[i, i])


def test_greedy_choice_is_that_of_the_definition():
    X, Y, _ = some(30, 6)
    known, pool = list(range(8)), list(range(8, 30))
    R = np.linalg.inv(X @ X.T + 0.002 * np.eye(30))
    model = SparseBayesianCS().fit(TrainingSet(X[:8], Y[:8]))
    assert min(information(R, x, pool) for x in pool) >= 0
    expected, left = [], pool.copy()
    for _ in range(10):
        best = max(left, key=lambda x: information(R, x, left))
        expected.append(best)
        left.remove(best)
    assert (8 + greedy(model.covariance(X[pool]), 10)).tolist() == expected
    assert query_order(lambda rows: model, X, np.array(known), 10, "gp_mi", 0).tolist() == expected


def test_information_between_labels_is_that_of_all_labels_of_the_pool():
    X, Y, Phi = some(12, 4, 5)
    R = np.linalg.inv(X @ X.T + 0.002 * np.eye(12))
    pool = range(6, 12)
    D = 0.1 + np.random.default_rng(2).random((6, 5))
    precision = np.kron(R[np.ix_(pool, pool)], Phi.T @ Phi) + np.diag(1 / D.ravel())
    covariance = np.linalg.inv(precision)
    blocks = [slice(5 * i, 5 * i + 5) for i in range(6)]
    expected = [0.5 * (np.linalg.slogdet(covariance[b, b])[1] + np.linalg.slogdet(precision[b, b])[1]) for b in blocks]
    model = SparseBayesianCS(n_components=3).fit(TrainingSet(X[:6], Y[:6]))
    found = label_information(model.covariance(X[pool]), Phi, D)
    assert found == pytest.approx(expected, abs=1e-6)
    assert min(expected) > 0


@pytest.mark.parametrize("selection", ["gp_mi", "full_mi", "variance", "random"])
def test_all_rows_chosen_is_passive_and_a_curve_is_a_fit_for_each_budget(selection):
    X, Y, _ = some(24, 4, 4)
    train = TrainingSet(X, Y)
    active = {"protocol": "active_in_train", "selection": selection, "n_components": 2, "max_iter": 20}
    curve = SparseBayesianCS(**active).curve(train, (0.2, 0.6, 1.0))
    assert [count for count, _ in curve] == [10, 14, 24]
    passive = SparseBayesianCS(n_components=2, max_iter=20).fit(train)
    assert np.array_equal(curve[-1][1].coef, passive.coef)
    assert np.array_equal(SparseBayesianCS(**active).fit(train).coef, passive.coef)
    assert np.array_equal(SparseBayesianCS(**active, budget=0.6).fit(train).coef, curve[1][1].coef)


def test_a_large_pool_is_sampled_and_emptied(monkeypatch):
    X, Y, _ = some(40, 4, 4)
    monkeypatch.setitem(query_order.__globals__["POOL"], "gp_mi", 6)
    model = SparseBayesianCS(n_components=2)
    order = query_order(lambda rows: model.fit(TrainingSet(X[rows], Y[rows])), X, np.arange(10), 30, "gp_mi", 0)
    assert sorted(order) == list(range(10, 40))


def test_variance_asks_for_the_row_of_largest_variance():
    X, Y, _ = some(30, 4, 4)
    model = SparseBayesianCS(n_components=2).fit(TrainingSet(X[:10], Y[:10]))
    order = query_order(lambda rows: model, X, np.arange(10), 1, "variance", 0)
    assert order[0] == 10 + model.labels(X[10:]).variance.sum(axis=1).argmax()


@pytest.mark.parametrize("selection", ["gp_mi", "variance"])
def test_labels_of_unlabeled_rows_are_asked_for_once_and_told(selection):
    X, Y, _ = some(30, 4, 4)
    known = np.ones_like(Y[:12])
    known[3] = False
    train = TrainingSet(X[:12], Y[:12], X[12:], known)
    asked = []

    def ask(rows):
        asked.extend(rows.tolist())
        return Y[12 + rows]

    model, order = SparseBayesianCS(selection=selection, n_components=2).active_extra(train, 5, ask)
    assert sorted(asked) == sorted(order.tolist())
    assert len(set(asked)) == 5
    rows = np.concatenate([np.delete(np.arange(12), 3), 12 + np.sort(order)])
    assert model.coef == pytest.approx(SparseBayesianCS(n_components=2).fit(TrainingSet(X[rows], Y[rows])).coef)
    assert model.info.notes == ("labels of 5 unlabeled rows were asked for: leave these out of every comparison",)
    with pytest.raises(ValueError, match="at most the 18 unlabeled rows, found 19"):
        SparseBayesianCS().active_extra(train, 19, ask)


def test_equal_rows_and_labels_without_rows():
    X, Y, _ = some()
    Y[:, 0], Y[:, 1] = True, False
    for selection in ("gp_mi", "full_mi"):
        solver = SparseBayesianCS(protocol="active_in_train", budget=0.3, selection=selection)
        model = solver.fit(TrainingSet(np.vstack([X, X]), np.vstack([Y, ~Y])))
        assert np.isfinite(model.decision_function(X)).all()


def test_wrong_settings_are_told():
    for settings, message in (
        ({"budget": 1.5}, "budget is a part of the rows, at most 1, found 1.5"),
        ({"budget": 0.5}, "budget goes with protocol 'active_in_train'"),
        ({"selection": "mi"}, r"selection must be one of .*, found 'mi'"),
        ({"s2": 0}, "s2 must be a number above 0"),
        ({"n_components": 1.0}, "whole number or a part of the labels below 1"),
    ):
        with pytest.raises(ValueError, match=message):
            SparseBayesianCS(**settings)
