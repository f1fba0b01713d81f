"""Rank-SVM: certificate, fixtures, known answers, and the compiled sweep against the textbook update."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC

from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers import _rank_svm_kernels as kernels
from mlrank.solvers.rank_svm import Pairs, solve, squared_norms
from tests.solvers.problems import SCENARIOS, caps, load, pairs_of, random_problem, rank_dual, rank_primal, with_bias

RankSVM = SOLVERS["rank_svm"]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_reaches_the_independently_computed_optimum(scenario, sparse):
    f = load(scenario)
    X, Y = f["in_X"], f["in_Y"].astype(bool)
    model = RankSVM(C=float(f["in_C"]), tol=1e-9, max_iter=10**6).fit(TrainingSet(csr_array(X) if sparse else X, Y))
    W = np.column_stack([model.coef, model.intercept])
    best = float(f["rank_obj"])
    assert model.info.converged
    assert best * (1 - 1e-9) <= model.info.objective <= best * (1 + 2e-9)
    assert np.abs(W - f["rank_W"]).max() <= 1e-4 * max(1.0, np.abs(f["rank_W"]).max())
    assert np.abs(model.decision_function(f["in_Xte"]) - f["rank_Fte"]).max() <= 1e-3


@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_certificate_recomputed_from_the_definitions(bias, sparse):
    X, Y = random_problem()
    C = 3.0
    solution = solve(csr_array(X) if sparse else X, Pairs.of(Y), C, bias, 1e-5, 10**5, 0)
    rows = np.hstack([X, bias * np.ones((len(X), 1))])
    upper = np.array([caps(Y, C)[i] for i, _, _ in pairs_of(Y)])
    assert (solution.alpha >= 0).all()
    assert (solution.alpha <= upper).all()
    dual, W = rank_dual(solution.alpha, rows, Y)
    primal = rank_primal(W, rows, Y, C)
    assert np.allclose(W, np.column_stack([solution.W, solution.intercept]), atol=1e-12)
    assert solution.primal == pytest.approx(primal, rel=1e-12)
    assert solution.dual == pytest.approx(dual, rel=1e-12)
    assert solution.gap == pytest.approx((primal - dual) / primal, abs=1e-12)
    assert solution.gap <= 1e-5


@pytest.mark.parametrize(("C", "w", "objective"), [(0.1, 0.2, 0.16), (1.0, 0.5, 0.25)])
def test_two_opposite_rows(C, w, objective):
    model = RankSVM(C=C, tol=1e-12).fit(TrainingSet(np.array([[1.0], [-1.0]]), np.eye(2, dtype=bool)))
    assert model.coef.ravel() == pytest.approx([w, -w], abs=1e-9)
    assert model.intercept == pytest.approx([0, 0], abs=1e-9)
    assert model.info.objective == pytest.approx(objective, abs=1e-9)


def test_three_rows_whose_answer_is_known_in_ninths():
    X = np.array([[1.0, 0], [0, 1], [-1, -1]])
    Y = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]], dtype=bool)
    model = RankSVM(C=1.0, tol=1e-12).fit(TrainingSet(X, Y))
    W = np.column_stack([model.coef, model.intercept])
    assert 9 * W == pytest.approx(np.array([[4, -2, -1], [1, 4, 2], [-5, -2, -1]]), abs=1e-5)
    assert model.info.objective == pytest.approx(4 / 9, abs=1e-9)


def test_two_exclusive_labels_are_a_binary_svm():
    """With v = w_1 - w_2 the objective is half of the binary one with C doubled, bias penalised."""
    X, Y = random_problem()
    sign = Y[:, 0]
    model = RankSVM(C=0.5, tol=1e-10).fit(TrainingSet(X, np.column_stack([sign, ~sign])))
    binary = LinearSVC(C=1.0, loss="hinge", tol=1e-10, max_iter=10**6, random_state=0).fit(X, sign)
    assert model.coef[0] - model.coef[1] == pytest.approx(binary.coef_[0], abs=1e-5)
    assert model.intercept[0] - model.intercept[1] == pytest.approx(binary.intercept_[0], abs=1e-5)


def textbook_pass(X, Y, C, W, alpha, order):
    """One pass of Algorithm 1, pair by pair, rows in `order`: W (k, m) and alpha change in place."""
    upper = caps(Y, C)
    at = {}
    for number, (i, q, p) in enumerate(pairs_of(Y)):
        at.setdefault(i, []).append((number, q, p))
    for i in order:
        for number, q, p in at.get(i, ()):
            G = (W[p] - W[q]) @ X[i] - 1
            new = min(max(alpha[number] - G / (2 * X[i] @ X[i]), 0.0), upper[i])
            W[p] += (new - alpha[number]) * X[i]
            W[q] -= (new - alpha[number]) * X[i]
            alpha[number] = new


@pytest.mark.parametrize("sparse", [False, True])
def test_compiled_sweeps_are_the_textbook_updates(sparse):
    X, Y = random_problem()
    n, k = Y.shape
    C, pairs = 3.0, Pairs.of(Y)
    alpha, W, intercept = np.zeros(int(pairs.size.sum())), np.zeros((k, X.shape[1])), np.zeros(k)
    slow_alpha, slow_W = alpha.copy(), np.zeros((k, X.shape[1] + 1))
    relevant_ptr, relevant, irrelevant_ptr, irrelevant, _ = pairs.lists
    active = (np.zeros_like(relevant), np.zeros(n, np.int64), np.zeros_like(irrelevant), np.zeros(n, np.int64))
    kernels.find_active(np.zeros((n, k)), np.full(n, np.inf), caps(Y, C), alpha, pairs.lists, active)
    rows, sweep, working = X, kernels.sweep_dense, W
    if sparse:
        packed = csr_array(X)
        rows, sweep, working = (packed.data, packed.indices, packed.indptr), kernels.sweep_csr, W.T.copy()
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(np.flatnonzero(pairs.size))
        norms = squared_norms(X) + 1.0
        sweep(rows, norms, working, intercept, 1.0, caps(Y, C), alpha, pairs.lists, active, order)
        textbook_pass(with_bias(X), Y, C, slow_W, slow_alpha, order)
        assert np.allclose(alpha, slow_alpha, atol=1e-12)
        assert np.allclose(working.T if sparse else working, slow_W[:, :-1], atol=1e-12)
        assert np.allclose(intercept, slow_W[:, -1], atol=1e-12)


def test_no_random_move_lowers_the_objective():
    X, Y = random_problem()
    model = RankSVM(C=2.0, tol=1e-10).fit(TrainingSet(X, Y))
    W = np.column_stack([model.coef, model.intercept])
    rng = np.random.default_rng(3)
    for size in (1e-3, 1e-2, 0.1, 1.0):
        for _ in range(10):
            moved = W + size * rng.standard_normal(W.shape)
            assert rank_primal(moved, with_bias(X), Y, 2.0) > model.info.objective * (1 - 1e-9)


@pytest.mark.parametrize("C", [1e-6, 1e6])
def test_extreme_C(C):
    X, Y = random_problem()
    info = RankSVM(C=C, max_iter=10**5).fit(TrainingSet(X, Y)).info
    assert info.converged
    assert info.optimality <= 1e-3


def test_without_bias_a_row_of_zeros_costs_its_whole_loss():
    X, Y = random_problem()
    X[5] = 0.0
    model = RankSVM(C=2.0, bias="none", tol=1e-9).fit(TrainingSet(X, Y))
    assert model.info.converged
    assert not model.intercept.any()
    assert model.info.objective == pytest.approx(rank_primal(model.coef, X, Y, 2.0), rel=1e-12)


def test_rows_without_pairs_do_not_change_the_answer():
    X, Y = random_problem()
    full = RankSVM(C=2.0, tol=1e-10).fit(TrainingSet(X, Y))
    ranked = RankSVM(C=2.0, tol=1e-10).fit(TrainingSet(X[2:], Y[2:]))
    assert np.allclose(full.coef, ranked.coef, atol=1e-6)


@pytest.mark.parametrize("Y", [np.ones((4, 1), bool), np.zeros((4, 3), bool), np.ones((4, 3), bool)])
def test_nothing_to_rank_is_refused(Y):
    with pytest.raises(ValueError, match="no row has both a relevant and an irrelevant label"):
        RankSVM().fit(TrainingSet(np.eye(4), Y))


def test_an_unknown_bias_is_refused():
    with pytest.raises(ValueError, match="bias must be one of augmented, none, found 'maybe'"):
        RankSVM(bias="maybe")
