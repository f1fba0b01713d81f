from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.svm import SVR

from mlrank.thresholds import svr
from mlrank.thresholds.svr import best_bias, linear_svr

FIXTURES = sorted((Path(__file__).parents[1] / "fixtures").glob("*.npz"))


def primal(X, h, coef, intercept, C, epsilon):
    errors = np.abs(h - X @ coef - intercept) - epsilon
    return 0.5 * coef @ coef + C * sum(max(0.0, error) for error in errors)


def drawn(n_samples, n_features, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features)) * (rng.random((n_samples, n_features)) < 0.5)
    return X, X @ rng.normal(size=n_features) + rng.normal(size=n_samples)


def certified(path, method):
    data = np.load(path)
    h = data[f"{method}_h_printed"]
    used = ~np.isnan(h)
    return (
        data["in_X"][used],
        h[used],
        float(data["in_svr_C"]),
        float(data["in_svr_eps"]),
        float(data[f"{method}_svr_obj"]),
    )


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
@pytest.mark.parametrize("method", ["rank", "hlap"])
@pytest.mark.parametrize("route", ["dense", "sparse", "decomposition"])
def test_certified_optimum(path, method, route, monkeypatch):
    X, h, C, epsilon, optimum = certified(path, method)
    if route == "decomposition":
        monkeypatch.setattr(svr, "LARGEST_FACTOR", 0)
    fit = linear_svr(csr_array(X) if route == "sparse" else X, h, C, epsilon, 1e-8)
    found = primal(X, h, fit.coef, fit.intercept, C, epsilon)
    assert fit.objective == pytest.approx(found, rel=1e-12)
    # LIBSVM stops where its own rule tells it to, short of so small a gap.
    assert optimum * (1 - 1e-9) <= found <= optimum * (1 + (1e-4 if route == "decomposition" else 1e-6))
    # The gap bounds what is missing to the optimum.
    assert found - optimum <= fit.optimality * found + 1e-12 * optimum


@pytest.mark.parametrize("shape", [(60, 5), (20, 40), (2, 3), (30, 1)])
@pytest.mark.parametrize("settings", [(1.0, 0.1), (100.0, 0.0), (1e-3, 0.5)])
def test_it_agrees_with_libsvm(shape, settings):
    X, h = drawn(*shape)
    C, epsilon = settings
    fit = linear_svr(X, h, C, epsilon, 1e-10)
    theirs = SVR(kernel="linear", C=C, epsilon=epsilon, tol=1e-9).fit(X, h)
    best = primal(X, h, theirs.coef_[0], theirs.intercept_[0], C, epsilon)
    found = primal(X, h, fit.coef, fit.intercept, C, epsilon)
    assert best * (1 - 1e-4) <= found <= best * (1 + 1e-9)
    np.testing.assert_allclose(fit.coef, theirs.coef_[0], atol=1e-3 * max(1, np.abs(fit.coef).max()))
    assert fit.optimality <= 1e-8


def test_the_scale_of_the_features_does_not_matter():
    X, h = drawn(300, 20, seed=1)
    for scale, shift in ((30.0, 0.0), (1e4, 100.0), (1e-4, 0.0), (np.logspace(-3, 3, 20), 0.0)):
        assert linear_svr(scale * X + shift, h, 1.0, 0.1, 1e-9).optimality <= 1e-9


def test_equal_features_shifted_or_scaled_with_C():
    X, h = drawn(80, 6, seed=2)
    fit = linear_svr(X, h, 1.0, 0.1, 1e-11)
    shifted = linear_svr(X + 5.0, h + 3.0, 1.0, 0.1, 1e-11)
    np.testing.assert_allclose(shifted.coef, fit.coef, atol=1e-6)
    assert shifted.intercept == pytest.approx(fit.intercept + 3.0 - 5.0 * fit.coef.sum(), abs=1e-5)
    scaled = linear_svr(4.0 * X, h, 1.0 / 16.0, 0.1, 1e-11)
    np.testing.assert_allclose(4.0 * scaled.coef, fit.coef, atol=1e-6)


def test_no_move_improves_the_optimum():
    X, h = drawn(50, 4, seed=3)
    fit = linear_svr(X, h, 2.0, 0.1, 1e-11)
    rng = np.random.default_rng(4)
    for size in (1e-3, 1e-2, 1.0):
        for _ in range(50):
            moved = primal(X, h, fit.coef + size * rng.normal(size=4), fit.intercept + size * rng.normal(), 2.0, 0.1)
            assert moved >= fit.objective * (1 - 1e-10)


def test_by_hand():
    # Two points, w = slope: 1/2 w^2 + C * 2 * max(0, 1 - w/1 ...): the residuals are +-(h - w) around b.
    X, h = np.array([[-1.0], [1.0]]), np.array([-2.0, 2.0])
    # C = 1/4: 1/2 w^2 + 1/2 (2 - w - 1/2) is least at w = 1/2; C = 10: the tube is reached at w = 3/2.
    for C, slope in ((0.25, 0.5), (10.0, 1.5)):
        fit = linear_svr(X, h, C, 0.5, 1e-12)
        assert fit.coef == pytest.approx([slope], abs=1e-5)
        assert fit.intercept == pytest.approx(0.0, abs=1e-6)


def test_targets_within_the_tube_need_no_features():
    X, _ = drawn(5, 2)
    fit = linear_svr(X, np.array([1.0, 1.1, 1.2, 1.15, 1.05]), 1.0, 0.1, 1e-8)
    assert fit.coef.tolist() == [0.0, 0.0]
    assert fit.intercept == pytest.approx(1.1)
    assert (fit.objective, fit.optimality) == (0.0, 0.0)


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("n", [1, 2, 7, 10])
def test_best_bias_minimises_the_errors(epsilon, n):
    residual = np.random.default_rng(n).normal(size=n)

    def errors(b):
        return float(np.maximum(np.abs(residual - b) - epsilon, 0.0).sum())

    grid = np.linspace(-4, 4, 4001)
    assert errors(best_bias(residual, epsilon)) <= min(map(errors, grid)) + 1e-12


def test_a_gap_out_of_reach_is_reported():
    X, h = drawn(40, 5, seed=5)
    fit = linear_svr(X, h, 1.0, 0.1, 1e-30)
    assert 1e-30 < abs(fit.optimality) < 1e-10 or fit.optimality <= 0.0


@pytest.mark.parametrize("factoriser", [svr._by_features, svr._by_samples])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_a_newton_step_solves_its_equations(factoriser, form):
    X, g = drawn(12, 4, seed=6)
    rng = np.random.default_rng(7)
    theta, drift, total = rng.uniform(0.1, 3.0, 12), rng.normal(size=4), 0.7
    dcoef, dbias = factoriser(form(X))(theta)(g, drift, total)
    dbeta = theta * (g - X @ dcoef - dbias)
    np.testing.assert_allclose(dcoef, X.T @ dbeta - drift, atol=1e-12)
    assert dbeta.sum() == pytest.approx(total, abs=1e-12)
