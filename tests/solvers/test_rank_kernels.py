"""Kernel form of Rank-SVM and Rank-HLapSVM (eq. 27): fixtures, agreement with the linear form, refusals."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from mlrank.hypergraph import hyperedge_weights
from mlrank.kernels import KERNELS
from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.rank_svm.rows import gram_rows, kernel_distance
from tests.solvers.problems import SCENARIOS, clique_laplacian, load, random_problem

RankSVM, RankHLapSVM = SOLVERS["rank_svm"], SOLVERS["rank_hlapsvm"]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_reaches_the_independently_computed_optimum(scenario):
    f = load(scenario)
    X, Y = f["in_X"], f["in_Y"].astype(bool)
    settings = {"C": float(f["in_C"]), "lam": float(f["in_lam"]), "nu": float(f["in_nu"])}
    solver = RankHLapSVM(kernel="rbf", gamma=float(f["in_rbf_gamma"]), tol=1e-9, max_iter=10**6, **settings)
    model = solver.fit(TrainingSet(X, Y))
    best = float(f["hlapk_obj"])
    assert model.info.converged
    assert best * (1 - 1e-9) <= model.info.objective <= best * (1 + 2e-9)
    assert np.abs(model.decision_function(X) - f["hlapk_F"]).max() <= 1e-3 * max(1.0, np.abs(f["hlapk_F"]).max())
    assert np.abs(model.decision_function(f["in_Xte"]) - f["hlapk_Fte"]).max() <= 1e-3


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_rows_have_the_inner_products_of_eq_27(scenario):
    f = load(scenario)
    X, Y = f["in_X"], f["in_Y"].astype(bool)
    K = rbf_kernel(X, gamma=float(f["in_rbf_gamma"]))
    penalty = (float(f["in_lam"]), Y, hyperedge_weights(X, Y, float(f["in_nu"])))
    rows = gram_rows(K, 1.0, False, penalty)
    assert np.allclose(rows.Z @ rows.Z.T, f["hlapk_A"], atol=1e-9)


@pytest.mark.parametrize("shape", [(40, 6), (12, 30)])
@pytest.mark.parametrize("bias", ["augmented", "free", "none"])
def test_the_linear_kernel_precomputed_is_the_linear_form(shape, bias):
    X, Y = random_problem(*shape)
    new = np.random.default_rng(8).standard_normal((9, shape[1]))
    settings = {"C": 2.0, "bias": bias, "tol": 1e-9}
    plain = RankSVM(**settings).fit(TrainingSet(X, Y))
    kernel = RankSVM(kernel="precomputed", **settings).fit(TrainingSet(X @ X.T, Y))
    difference = kernel.decision_function(new @ X.T) - plain.decision_function(new)
    assert np.allclose(difference - difference.mean(axis=1, keepdims=True), 0, atol=1e-4)
    assert kernel.info.objective == pytest.approx(plain.info.objective, rel=1e-8)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("bias", ["augmented", "free"])
def test_more_features_than_rows_give_the_answer_of_the_whitened_form(monkeypatch, bias, sparse):
    """Zeros appended to the features change nothing but the form of the computation."""
    X, Y = random_problem()
    wide = np.hstack([X, np.zeros((len(X), 50))])
    settings = {"C": 2.0, "lam": 0.7, "nu": 0.1, "bias": bias, "tol": 1e-10}
    narrow = RankHLapSVM(**settings).fit(TrainingSet(X, Y))
    model = RankHLapSVM(**settings).fit(TrainingSet(csr_array(wide) if sparse else wide, Y))
    assert model.coef.shape == (Y.shape[1], wide.shape[1])
    # The objective is strongly convex: a point with relative gap tol is no farther from the optimum than this.
    apart = np.sqrt(2 * settings["tol"] * narrow.info.objective)
    assert np.linalg.norm(model.coef[:, : X.shape[1]] - narrow.coef) < 2 * apart
    assert np.allclose(model.intercept - model.intercept.mean(), narrow.intercept - narrow.intercept.mean(), atol=1e-3)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_by_name_is_the_kernel_precomputed(kernel, sparse):
    X, Y = random_problem()
    X, constants = np.abs(X), {"gamma": 0.3, "degree": 2, "coef0": 0.5}
    K = KERNELS[kernel](X, X, *constants.values())
    rows = csr_array(X) if sparse else X
    named = RankSVM(C=2.0, kernel=kernel, tol=1e-9, **constants).fit(TrainingSet(rows, Y))
    given = RankSVM(C=2.0, kernel="precomputed", tol=1e-9).fit(TrainingSet(K, Y))
    assert np.allclose(named.decision_function(rows), given.decision_function(K), atol=1e-4)


def test_kernels_are_their_formulas():
    rng = np.random.default_rng(0)
    X, Z = np.abs(rng.standard_normal((4, 3))), np.abs(rng.standard_normal((5, 3)))
    X[0, 0] = Z[0, 0] = 0.0
    assert np.allclose(KERNELS["rbf"](X, Z, 0.3), rbf_kernel(X, Z, gamma=0.3))
    assert np.allclose(KERNELS["polynomial"](X, Z, 0.3, 4, 0.7), polynomial_kernel(X, Z, 4, 0.3, 0.7))
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            terms = [(a - b) ** 2 / (a + b) for a, b in zip(x, z, strict=True) if a + b > 0]
            assert KERNELS["chi2"](X, Z, 0.3)[i, j] == pytest.approx(np.exp(-0.3 * sum(terms)))
    f = load("hist")
    assert np.allclose(KERNELS["chi2"](f["in_X"], f["in_X"], float(f["in_rbf_gamma"])), f["mlr_chi2_K"], rtol=1e-9)


def test_negative_features_have_no_chi2_kernel():
    X, Y = random_problem()
    with pytest.raises(ValueError, match="the chi2 kernel needs features of at least 0, found -"):
        RankSVM(kernel="chi2").fit(TrainingSet(X, Y))


def test_distances_in_the_space_of_the_linear_kernel_are_those_of_the_rows():
    X, Y = random_problem()
    brute = []
    for label in Y.T:
        rows = X[label]
        d = len(rows)
        brute.append(sum(np.sum((u - v) ** 2) for u in rows for v in rows) / (d * (d - 1)))
    assert kernel_distance(X @ X.T, Y) == pytest.approx(brute)
    plain = RankHLapSVM(C=2.0, nu=0.1, tol=1e-9).fit(TrainingSet(X, Y)).decision_function(X)
    kernel = RankHLapSVM(C=2.0, nu=0.1, tol=1e-9, kernel="precomputed").fit(TrainingSet(X @ X.T, Y))
    assert np.allclose(kernel.decision_function(X @ X.T), plain, atol=1e-4)


def test_the_penalty_is_that_of_the_laplacian():
    """At the optimum, more penalty means less spread of the scores over hyperedges."""
    X, Y = random_problem()
    L = clique_laplacian(Y, np.ones(Y.shape[1]))
    spread = []
    for lam in (0.0, 0.1, 1.0, 10.0):
        model = RankHLapSVM(C=2.0, lam=lam, kernel="rbf", gamma=0.3, tol=1e-8).fit(TrainingSet(X, Y))
        F = model.decision_function(X)
        spread.append(np.trace(F.T @ L @ F))
    assert spread == sorted(spread, reverse=True)


def test_a_kernel_matrix_that_is_none_is_refused():
    X, Y = random_problem()
    for K in (X, np.triu(np.ones((len(X), len(X))))):
        with pytest.raises(ValueError, match="a precomputed kernel must be a symmetric matrix of the training rows"):
            RankSVM(kernel="precomputed").fit(TrainingSet(K, Y))
    for solver in (RankSVM, RankHLapSVM):
        with pytest.raises(ValueError, match="a precomputed kernel must be positive semidefinite, found an eigenvalue"):
            solver(kernel="precomputed").fit(TrainingSet(X @ X.T - np.eye(40), Y))


def test_a_stored_model_knows_how_wide_the_rows_of_its_kernel_are():
    X, Y = random_problem()
    model = pickle.loads(pickle.dumps(RankSVM(kernel="precomputed").fit(TrainingSet(X @ X.T, Y))))
    with pytest.raises(ValueError, match="one value for each of the 40 training rows, found 6"):
        model.decision_function(X)


def test_what_does_not_fit_is_refused_with_its_size():
    """Sparse rows without entries, whose matrices would take more than memory has."""

    def fit(n, m, key="rank_hlapsvm", **settings):
        Y = np.zeros((n, 2), dtype=bool)
        Y[:, 0] = True
        return SOLVERS[key](**settings).fit(TrainingSet(csr_array((n, m)), Y))

    with pytest.raises(ValueError, match=r"kernel 'rbf' needs a matrix of 20000 x 20000 cells, 3.0 GiB; at most 1.7"):
        fit(20_000, 3, "rank_svm", kernel="rbf")
    with pytest.raises(ValueError, match="lam above 0 with more features than rows needs a matrix of 20000 x 20000"):
        fit(20_000, 30_000)
    with pytest.raises(ValueError, match=r"lam above 0 needs a matrix of 300000 x 1000 cells, 2.2 GiB"):
        fit(300_000, 1000)
