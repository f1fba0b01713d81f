"""Rank-HLapSVM: fixtures, the certificate of eq. 10, its limits."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.hypergraph import hyperedge_weights
from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.rank_svm.rank_svm import solve
from mlrank.solvers.rank_svm.settings import RankSettings
from tests.solvers.problems import SCENARIOS, clique_laplacian, load, random_problem, rank_dual, rank_primal, with_bias

RankHLapSVM = SOLVERS["rank_hlapsvm"]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_reaches_the_independently_computed_optimum(scenario, sparse):
    f = load(scenario)
    X, Y = f["in_X"], f["in_Y"].astype(bool)
    settings = {"C": float(f["in_C"]), "lam": float(f["in_lam"]), "nu": float(f["in_nu"])}
    solver = RankHLapSVM(**settings, tol=1e-9, max_iter=10**6)
    model = solver.fit(TrainingSet(csr_array(X) if sparse else X, Y))
    W = np.column_stack([model.coef, model.intercept])
    best = float(f["hlap_obj"])
    assert model.info.converged
    assert best * (1 - 1e-9) <= model.info.objective <= best * (1 + 2e-9)
    assert np.abs(W - f["hlap_W"]).max() <= 1e-4 * max(1.0, np.abs(f["hlap_W"]).max())
    assert np.abs(model.decision_function(f["in_Xte"]) - f["hlap_Fte"]).max() <= 1e-3


def metric(X, Y, lam, nu):
    """Return I + lam X'LX with the bias appended, from the dense Laplacian."""
    rows = with_bias(X)
    L = clique_laplacian(Y, hyperedge_weights(X, Y, nu))
    return np.eye(rows.shape[1]) + lam * rows.T @ L @ rows


def test_certificate_is_that_of_eq_10():
    X, Y = random_problem()
    solver = RankHLapSVM(C=2.0, lam=0.7, nu=0.1, tol=1e-6)
    solution = solve(solver.prepare(TrainingSet(X, Y)), RankSettings.of(solver))
    M = metric(X, Y, 0.7, 0.1)
    dual, _ = rank_dual(solution.alpha, with_bias(X), Y, M)
    W = np.column_stack([solution.coef, solution.intercept])
    primal = rank_primal(W, with_bias(X), Y, 2.0, M)
    assert solution.dual == pytest.approx(dual, rel=1e-10)
    assert solution.primal == pytest.approx(primal, rel=1e-10)
    model = solver.fit(TrainingSet(X, Y))
    assert np.allclose(np.column_stack([model.coef, model.intercept]), W, atol=1e-9)
    assert model.info.optimality == pytest.approx((primal - dual) / primal, abs=1e-10)


def test_no_random_move_lowers_the_objective():
    X, Y = random_problem()
    model = RankHLapSVM(C=2.0, lam=0.7, nu=0.1, tol=1e-10).fit(TrainingSet(X, Y))
    W, M = np.column_stack([model.coef, model.intercept]), metric(X, Y, 0.7, 0.1)
    rng = np.random.default_rng(3)
    for size in (1e-3, 1e-2, 0.1, 1.0):
        for _ in range(10):
            moved = W + size * rng.standard_normal(W.shape)
            assert rank_primal(moved, with_bias(X), Y, 2.0, M) > model.info.objective * (1 - 1e-9)


@pytest.mark.parametrize("sparse", [False, True])
def test_without_penalty_it_is_rank_svm_to_the_bit(sparse):
    X, Y = random_problem()
    train = TrainingSet(csr_array(X) if sparse else X, Y)
    plain = SOLVERS["rank_svm"](C=2.0).fit(train)
    assert RankHLapSVM(C=2.0, lam=0.0, nu=3.0).fit(train).coef.tobytes() == plain.coef.tobytes()


def test_hyperedges_of_weight_zero_leave_rank_svm():
    X, Y = random_problem()
    faint = RankHLapSVM(C=2.0, lam=1.0, nu=1e4, tol=1e-10).fit(TrainingSet(X, Y))
    plain = SOLVERS["rank_svm"](C=2.0, tol=1e-10).fit(TrainingSet(X, Y))
    assert np.allclose(faint.coef, plain.coef, atol=1e-6)


def test_the_penalty_pulls_scores_of_rows_with_common_labels_together():
    X, Y = random_problem()
    L = clique_laplacian(Y, np.ones(Y.shape[1]))
    spread = []
    for lam in (0.0, 0.1, 1.0, 10.0):
        F = RankHLapSVM(C=2.0, lam=lam, tol=1e-8).fit(TrainingSet(X, Y)).decision_function(X)
        spread.append(np.trace(F.T @ L @ F))
    assert spread == sorted(spread, reverse=True)
    assert spread[3] < spread[0] / 10


@pytest.mark.parametrize("setting", ["lam", "nu"])
def test_negative_penalties_are_refused(setting):
    with pytest.raises(ValueError, match=f"{setting} must be a number, 0 or above, found -1"):
        RankHLapSVM(**{setting: -1})
