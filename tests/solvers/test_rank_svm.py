"""Rank-SVM: certificate, fixtures, known answers, and the compiled sweep against the textbook update."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC

from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.rank_svm import kernels
from mlrank.solvers.rank_svm.certificate import GivenRows
from mlrank.solvers.rank_svm.descent import Pairs
from mlrank.solvers.rank_svm.rank_svm import Prepared, solve
from mlrank.solvers.rank_svm.rows import DenseSweeps, FlatRows
from mlrank.solvers.rank_svm.settings import RankSettings
from mlrank.solvers.rank_svm.sparse import SparseRows, SparseSweeps
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
    pairs = Pairs.of(Y)
    rows = SparseRows.of(csr_array(X), bias) if sparse else FlatRows.of(X, bias)
    given = GivenRows(csr_array(X) if sparse else X, False, bias > 0)
    solution = solve(Prepared(pairs, rows, given), RankSettings.of(RankSVM(C=C, tol=1e-5)))
    plain = np.hstack([X, bias * np.ones((len(X), 1))])
    upper = np.array([caps(Y, C)[i] for i, _, _ in pairs_of(Y)])
    assert (solution.alpha >= 0).all()
    assert (solution.alpha <= upper).all()
    W = np.column_stack([solution.coef, solution.intercept])
    assert bias or not solution.intercept.any()
    primal, dual = rank_primal(W, plain, Y, C), rank_dual(solution.alpha, plain, Y)[0]
    assert solution.primal == pytest.approx(primal, rel=1e-12)
    assert solution.dual == pytest.approx(dual, rel=1e-12)
    assert solution.optimality == pytest.approx((primal - dual) / primal, abs=1e-12)
    assert solution.optimality <= 1e-5


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
    """With v = w_1 - w_2 the objective is half of the binary one with C doubled, bias penalized."""
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
    C, pairs, rows = 3.0, Pairs.of(Y), with_bias(X)
    alpha, active = np.zeros(int(pairs.size.sum())), pairs.no_labels()
    slow_alpha, slow_W = alpha.copy(), np.zeros((k, rows.shape[1]))
    kernels.find_active(np.zeros((n, k)), np.full(n, np.inf), caps(Y, C), alpha, pairs.lists, active)
    norms, packed = (rows**2).sum(axis=1), csr_array(X)
    dense, columns, intercept = np.zeros((k, rows.shape[1])), np.zeros((X.shape[1], k)), np.zeros(k)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(np.flatnonzero(pairs.size))
        shared = caps(Y, C), alpha, pairs.lists, active, order
        if sparse:
            parts = (packed.data, packed.indices, packed.indptr)
            kernels.sweep_csr(parts, np.zeros((n, 0)), norms, columns, np.zeros((k, 0)), intercept, 1.0, *shared)
        else:
            kernels.sweep_dense(rows, norms, dense, *shared)
        textbook_pass(rows, Y, C, slow_W, slow_alpha, order)
        assert np.allclose(alpha, slow_alpha, atol=1e-12)
        assert np.allclose(np.column_stack([columns.T, intercept]) if sparse else dense, slow_W, atol=1e-12)


def test_labels_stay_out_only_where_all_their_pairs_are_far_from_moving():
    """A pair is in where it is free, or its gradient within the slack of the side on which it would leave its bound."""
    Y = random_problem()[1]
    rng, pairs, upper = np.random.default_rng(0), Pairs.of(Y), caps(Y, 3.0)
    scores, slack = 2 * rng.standard_normal(Y.shape), rng.choice([0.0, 0.3, np.inf], len(Y), p=[0.5, 0.4, 0.1])
    share = np.clip(rng.standard_normal(int(pairs.size.sum())), 0, 1)
    alpha, active = share * np.repeat(upper, pairs.size), pairs.no_labels()
    kernels.find_active(scores, slack, upper, alpha, pairs.lists, active)
    wanted = [(set(), set()) for _ in Y]
    for part, (i, q, p) in zip(share, pairs_of(Y), strict=True):
        gradient = scores[i, p] - scores[i, q] - 1
        if 0 < part < 1 or (gradient < slack[i] if part == 0 else gradient > -slack[i]):
            wanted[i][0].add(p)
            wanted[i][1].add(q)
    for i, truth in enumerate(Y):
        for side, labels in enumerate((np.flatnonzero(truth), np.flatnonzero(~truth))):
            first = pairs.lists[2 * side][i]
            found = active[2 * side][first : first + active[2 * side + 1][i]]
            assert list(labels[found]) == sorted(wanted[i][side])
    assert 0 < sum(len(high) + len(low) for high, low in wanted) < Y.size


@pytest.mark.parametrize("sparse", [False, True])
def test_a_pass_over_flattened_rows_is_a_pass_of_the_proximal_step(sparse):
    """Every update must minimize the dual of the step (the problem plus 1/2 sum h (W - V)^2), seen from plain rows."""
    X, Y = random_problem()
    C, pairs = 3.0, Pairs.of(Y)
    upper, plain = caps(Y, C), with_bias(X)
    alpha, active = np.zeros(int(pairs.size.sum())), pairs.no_labels()
    if sparse:
        rows = SparseRows.of(csr_array(X), 1.0)
        sweeps = SparseSweeps(rows, upper, pairs)
        U = np.linalg.svd(rows.basis)[0]  # completed to an orthonormal basis
        U[:, : rows.basis.shape[1]] = rows.basis
        moment = np.append(rows.moment, np.zeros(U.shape[1] - len(rows.moment)))
    else:
        rows = FlatRows.of(X, 1.0)
        sweeps, U, moment = DenseSweeps(rows, upper, pairs), rows.basis, rows.moment
    assert np.allclose(U.T @ U, np.eye(X.shape[1] + 1), atol=1e-10)
    Z = plain @ U
    sweeps.certify(alpha)
    theta = sweeps.flattening.theta = float(np.median(rows.moment))
    kernels.find_active(np.zeros(Y.shape), np.full(len(Y), np.inf), upper, alpha, pairs.lists, active)
    order = np.random.default_rng(0).permutation(np.flatnonzero(pairs.size))
    h = np.maximum(moment / theta - 1, 0)
    assert h.max() > 0.5
    center, slow_alpha = np.zeros((Y.shape[1], len(h))), alpha.copy()
    sweeps.start_round(1.0)
    for _ in range(3):
        # In rows z / (1 + h) and an offset of the scores, the step is a problem with regularizer (1 + h) w^2.
        beta = beta_of(slow_alpha, Y)
        weights = (beta.T @ Z + h * center) / (1 + h)
        assert np.allclose(sweeps.step_scores(slice(None)), Z @ weights.T, atol=1e-12)
        sweeps.sweep(alpha, active, order)
        step_pass(Z, 1 / (1 + h), Y, C, weights, slow_alpha, order)
        center = weights
        assert np.allclose(alpha, slow_alpha, atol=1e-12)
    sweeps.end_round()
    _, primal, dual = sweeps.certify(alpha)
    assert dual == pytest.approx(rank_dual(alpha, plain, Y)[0], rel=1e-12)
    W = np.column_stack(sweeps.weights())
    assert primal == pytest.approx(rank_primal(W, plain, Y, C), rel=1e-12)


def test_a_lone_leading_moment_is_flattened_only_once_plain_passes_are_slow():
    X, Y = random_problem()
    rows = FlatRows.of(np.column_stack([X / 1e4, np.ones(len(X))]), 1.0)
    plain = DenseSweeps(rows, caps(Y, 3.0), Pairs.of(Y)).flattening
    assert plain.theta == rows.moment.max()
    for halvings in range(6):
        plain.adapt(0.5**halvings, 0.0)
        assert plain.theta == rows.moment.max()
    plain.adapt(0.4 * 0.5**5 / 0.5, 0.0)
    assert plain.theta < rows.moment.max()
    assert DenseSweeps(FlatRows.of(X, 1.0), caps(Y, 3.0), Pairs.of(Y)).flattening.theta < rows.moment.max()


def beta_of(alpha, Y):
    beta = np.zeros(Y.shape)
    for value, (i, q, p) in zip(alpha, pairs_of(Y), strict=True):
        beta[i, p] += value
        beta[i, q] -= value
    return beta


def step_pass(Z, inverse, Y, C, W, alpha, order):
    """One pass over rows Z with the diagonal metric 1 / inverse, pair by pair; W and alpha change in place."""
    upper = caps(Y, C)
    at = {}
    for number, (i, q, p) in enumerate(pairs_of(Y)):
        at.setdefault(i, []).append((number, q, p))
    for i in order:
        for number, q, p in at.get(i, ()):
            G = (W[p] - W[q]) @ Z[i] - 1
            new = min(max(alpha[number] - G / (2 * Z[i] @ (inverse * Z[i])), 0.0), upper[i])
            W[p] += (new - alpha[number]) * inverse * Z[i]
            W[q] -= (new - alpha[number]) * inverse * Z[i]
            alpha[number] = new


@pytest.mark.parametrize("shape", [(40, 6), (12, 30)])
def test_rotated_rows_keep_inner_products_and_have_the_stated_moments(shape):
    X = np.random.default_rng(0).standard_normal(shape) + 3.0
    rows = FlatRows.of(X, 1.0)
    plain = with_bias(X)
    assert np.allclose(rows.Z @ rows.Z.T, plain @ plain.T, atol=1e-10)
    assert np.allclose(rows.Z.T @ rows.Z / len(X), np.diag(rows.moment), atol=1e-10)
    omega = np.random.default_rng(1).standard_normal((3, len(rows.moment)))
    coef, intercept = rows.weights(omega)
    assert np.allclose(X @ coef.T + intercept, rows.Z @ omega.T, atol=1e-10)


@pytest.mark.parametrize("kind", ["unscaled", "shifted", "separable"])
def test_hard_problems_converge_to_a_tight_gap(kind):
    rng = np.random.default_rng(7)
    X, Y = random_problem(n=150, m=30, k=6)
    if kind == "unscaled":
        X = X * 10.0 ** rng.uniform(-2, 2, X.shape[1])
    if kind == "shifted":
        X = X + 10.0
    if kind == "separable":
        X = np.hstack([X, np.eye(150)])
    model = RankSVM(C=100.0, tol=1e-7, max_iter=50_000).fit(TrainingSet(X, Y))
    assert model.info.converged
    W = np.column_stack([model.coef, model.intercept])
    assert model.info.objective == pytest.approx(rank_primal(W, with_bias(X), Y, 100.0), rel=1e-9)


def test_full_sparse_rows_are_swept_dense():
    X, Y = random_problem()
    full, thin = csr_array(np.abs(X) + 1), csr_array(np.eye(len(X)))
    assert isinstance(RankSVM().prepare(TrainingSet(full, Y)).rows, FlatRows)
    assert not isinstance(RankSVM().prepare(TrainingSet(thin, Y)).rows, FlatRows)


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
    assert np.allclose(full.coef, ranked.coef, atol=5e-5)


@pytest.mark.parametrize("Y", [np.ones((4, 1), bool), np.zeros((4, 3), bool), np.ones((4, 3), bool)])
def test_nothing_to_rank_is_refused(Y):
    with pytest.raises(ValueError, match="no row has both a relevant and an irrelevant label"):
        RankSVM().fit(TrainingSet(np.eye(4), Y))


def test_an_unknown_bias_is_refused():
    with pytest.raises(ValueError, match=r"bias must be one of augmented, free, none, found 'maybe'"):
        RankSVM(bias="maybe")
