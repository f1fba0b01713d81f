"""SLRM with the squared loss against fixtures, its definition and the conditions of optimality."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from mlrank.graphs import gaussian_graph, laplacian, self_tuning_graph
from mlrank.solvers import TrainingSet
from mlrank.solvers.slrm import problem as slrm_problem
from mlrank.solvers.slrm.slrm import SLRM
from mlrank.solvers.slrm.squared import Mixing, cut_at, solved_by_start
from tests.solvers.problems import SCENARIOS, load, random_problem
from tests.solvers.slrm_reference import dense_graph, minimum, objective, smoothness

TIGHT = {"tol": 1e-10, "max_iter": 20_000}


def semi_supervised(n=40, labeled=25, m=6, k=5, seed=0, known=None, sparse=False):
    X, Y = random_problem(n, m, k, seed)
    rows = csr_array(X) if sparse else X
    return TrainingSet(rows[:labeled], Y[:labeled], rows[labeled:], known)


def parts(train):
    """Return Xl, the coded labels and X'LX from the definitions."""
    Xl, rest = (np.asarray(X.toarray() if hasattr(X, "toarray") else X) for X in (train.X, train.X_unlabeled))
    X = np.vstack([Xl, rest])
    targets = np.where(train.Y, 1.0, -1.0)
    if train.known is not None:
        targets[~train.known] = 0.0
    return Xl, targets, smoothness(X, dense_graph(X))


def dual(Z, Xl, targets, M, gamma):
    rest = Xl.T @ targets - Z
    return 0.5 * (targets**2).sum() - 0.5 * np.trace(rest.T @ np.linalg.pinv(Xl.T @ Xl + gamma * M) @ rest)


# Products are many times slower than what they stand in for: dense rows go through them on small problems alone.
WAYS = [(name, sparse, "eigen") for name in SCENARIOS for sparse in (False, True)]
WAYS += [(name, True, "products") for name in SCENARIOS] + [("tiny", False, "products"), ("edge", False, "products")]


@pytest.mark.parametrize(("scenario", "sparse", "u_step"), WAYS)
def test_the_fixtures_are_met(scenario, sparse, u_step):
    known = load(scenario)
    X, Y, n = known["in_X"], known["in_Y"].astype(bool), int(known["in_nl"])
    rows = csr_array(X) if sparse else X
    lam, gamma = float(known["in_slrm_lam"]), float(known["in_slrm_gamma"])
    graph = {"n_neighbors": int(known["in_c_nn"]), "scale_neighbor": int(known["in_scale_k"])}
    solver = SLRM(lam, gamma, u_step=u_step, **graph, **TIGHT)
    train = TrainingSet(rows[:n], Y[:n], rows[n:])
    prepared = solver.prepare(train)
    assert np.allclose(prepared.graph.toarray(), known["slrm_A"], rtol=0, atol=1e-9)
    assert prepared.lambda_max == pytest.approx(float(known["slrm_lambda_max"]), rel=1e-9)
    model = solver.fit(train, prepared)
    assert model.info.converged
    assert model.info.objective == pytest.approx(float(known["slrm_obj9"]), rel=1e-9)
    assert np.allclose(model.coef, known["slrm_U"], rtol=0, atol=1e-4)
    assert np.allclose(model.decision_function(known["in_Xte"]), known["slrm_Fte"], rtol=0, atol=1e-3)
    assert model.rank == int(known["slrm_rank"]) == np.linalg.matrix_rank(model.coef, 1e-8)
    printed = SLRM(lam, gamma, u_step=u_step, objective=8, **graph, **TIGHT).fit(train)
    assert printed.info.objective == pytest.approx(float(known["slrm_eq8_obj"]), rel=1e-9)
    assert np.allclose(printed.coef, known["slrm_eq8_U"], rtol=0, atol=1e-4)
    missing = known["slrm_Ymiss"]
    gaps = TrainingSet(rows[:n], missing > 0, rows[n:], missing != 0)
    found = solver.fit(gaps)
    assert found.info.objective == pytest.approx(float(known["slrm_miss_obj9"]), rel=1e-9)
    assert np.allclose(found.coef, known["slrm_miss_U"], rtol=0, atol=1e-4)
    empty = int((missing == 0).all(axis=1).sum())
    assert found.info.notes == (f"{empty} of {n} rows have no known label: their targets are 0",) * (empty > 0)


@pytest.mark.parametrize("u_step", ["eigen", "products"])
@pytest.mark.parametrize(("lam", "gamma"), [(0.5, 1.0), (5.0, 0.1), (20.0, 0.0), (0.01, 10.0)])
def test_proximal_gradient_steps_find_the_same(lam, gamma, u_step):
    train = semi_supervised()
    Xl, targets, M = parts(train)
    known = np.ones(targets.shape, bool)
    V = minimum(Xl, targets, known, M, lam, gamma)
    model = SLRM(lam, gamma, u_step=u_step, **TIGHT).fit(train)
    best = objective(V, Xl, targets, known, M, lam, gamma)
    assert objective(model.coef.T, Xl, targets, known, M, lam, gamma) == pytest.approx(model.info.objective, rel=1e-12)
    assert model.info.objective == pytest.approx(best, rel=2e-10)
    assert np.allclose(model.coef.T, V, atol=2e-4)


@pytest.mark.parametrize("shape", [(40, 6, 5), (12, 30, 4), (60, 5, 12)])
def test_the_conditions_of_optimality_hold(shape):
    n, m, k = shape
    train = semi_supervised(n, n // 2, m, k, seed=1)
    Xl, targets, M = parts(train)
    lam, gamma = 2.0, 0.5
    model = SLRM(lam, gamma, tol=1e-14, max_iter=50_000).fit(train)
    V = model.coef.T
    S = (Xl.T @ (targets - Xl @ V) - gamma * M @ V) / lam
    left, values, right = np.linalg.svd(V, full_matrices=False)
    r = model.rank
    assert 0 < r
    assert np.allclose(values[r:], 0, atol=1e-12)
    rest = S - left[:, :r] @ right[:r]
    assert np.abs(left[:, :r].T @ rest).max() < 1e-5
    assert np.abs(rest @ right[:r].T).max() < 1e-5
    assert np.linalg.norm(rest, 2) < 1 + 1e-5


@given(st.integers(0, 200), st.sampled_from([0.03, 1.0, 8.0]), st.sampled_from([0.0, 0.3, 30.0]), st.integers(1, 12))
@settings(max_examples=25, deadline=None)
def test_the_certificate_holds_at_every_step(seed, lam, gamma, n_iter):
    train = semi_supervised(24, 14, 5, 4, seed)
    Xl, targets, M = parts(train)
    known = np.ones(targets.shape, bool)
    best = objective(minimum(Xl, targets, known, M, lam, gamma, steps=3000), Xl, targets, known, M, lam, gamma)
    info = SLRM(lam, gamma, tol=1e-12, max_iter=n_iter).fit(train).info
    assert info.objective >= best * (1 - 1e-9)
    assert info.objective * (1 - info.optimality) <= best * (1 + 1e-9)


def test_the_gap_is_that_of_a_feasible_dual_point():
    train = semi_supervised()
    Xl, targets, M = parts(train)
    lam, gamma = 3.0, 1.0
    model = SLRM(lam, gamma, tol=1e-6).fit(train)
    V = model.coef.T
    Z = Xl.T @ (targets - Xl @ V) - gamma * M @ V
    Z *= min(1.0, lam / np.linalg.norm(Z, 2))
    # Both bounds are of one problem: none exceeds the objective, and the solver's is within its gap.
    assert dual(Z, Xl, targets, M, gamma) <= model.info.objective
    assert 0 < model.info.optimality <= 1e-6
    assert model.info.objective - dual(Z, Xl, targets, M, gamma) < 1e-2 * model.info.objective


def test_the_rank_falls_with_lam_and_the_trace_ends_at_the_objective():
    train = semi_supervised(60, 40, 8, 7)
    solver = SLRM(gamma=0.1)
    models = solver.path(train, [0.1, 3.0, 10.0, 20.0])
    assert [model.rank for model in models] == sorted((model.rank for model in models), reverse=True)
    assert models[0].rank > models[-1].rank > 0
    for model in models:
        assert model.objectives[-1] == model.info.objective
        assert len(model.objectives) == model.info.n_iter


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
@pytest.mark.parametrize("which", [9, 8])
def test_from_lambda_max_on_all_weights_are_zero_and_below_they_are_not(loss, which):
    if loss != "squared" and which == 8:
        pytest.skip("eq. 8 has the squared loss")
    train = semi_supervised()
    Xl, targets, _ = parts(train)
    slope = {"squared": 1.0, "logistic": 0.5, "squared_hinge": 2.0}[loss]
    largest = slope * np.linalg.norm(Xl.T @ targets, 2) * (2.0 if which == 8 else 1.0)
    zero = SLRM(largest * (1 + 1e-12), loss=loss, objective=which).fit(train)
    assert not zero.coef.any()
    assert zero.rank == 0
    assert (zero.info.optimality, zero.info.converged, zero.info.n_iter) == (0.0, True, 1)
    assert f"lam {largest:g} is not below lambda_max {largest:.6g}: all weights are zero" in zero.info.notes
    at_zero = {"squared": 0.5, "logistic": np.log(2), "squared_hinge": 1.0}[loss] * targets.size
    assert zero.info.objective == pytest.approx(at_zero * (2 if which == 8 else 1))
    below = SLRM(largest * 0.99, loss=loss, objective=which, tol=1e-9).fit(train)
    assert below.coef.any()
    assert not below.info.notes


def test_without_gamma_unlabeled_rows_change_nothing_and_no_graph_is_made():
    train = semi_supervised()
    solver = SLRM(2.0, 0.0, **TIGHT)
    prepared = solver.prepare(train)
    prepared.make_graph = None
    alone = solver.fit(TrainingSet(train.X, train.Y))
    assert solver.fit(train, prepared).coef.tobytes() == alone.coef.tobytes()
    with_graph = SLRM(2.0, 1.0, **TIGHT)
    assert not np.allclose(with_graph.fit(train).coef, with_graph.fit(TrainingSet(train.X, train.Y)).coef, atol=1e-3)


@pytest.mark.parametrize("u_step", ["eigen", "products"])
def test_without_lam_it_is_a_system_of_equations(u_step):
    train = semi_supervised()
    Xl, targets, M = parts(train)
    model = SLRM(0.0, 0.7, u_step=u_step, tol=1e-9).fit(train)
    assert np.allclose(model.coef.T, np.linalg.solve(Xl.T @ Xl + 0.7 * M, Xl.T @ targets), atol=1e-7)
    assert model.info.converged
    known = np.ones(targets.shape, bool)
    assert model.info.objective == pytest.approx(objective(model.coef.T, Xl, targets, known, M, 0.0, 0.7))
    assert not SLRM(0.0, 0.7, u_step="products", tol=1e-9, max_iter=1).fit(train).info.converged


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_fewer_rows_than_features_are_solved_in_their_row_space(sparse, gamma):
    train = semi_supervised(14, 6, 30, 4, sparse=sparse)
    Xl, targets, M = parts(train)
    known = np.ones(targets.shape, bool)
    V = minimum(Xl, targets, known, M, 1.0, gamma)
    solver = SLRM(1.0, gamma, **TIGHT)
    prepared = solver.prepare(train)
    model = solver.fit(train, prepared)
    assert prepared.coordinates.rows.shape == (14, 14)
    assert model.info.objective == pytest.approx(objective(V, Xl, targets, known, M, 1.0, gamma), rel=1e-9)
    assert np.allclose(model.coef.T, V, atol=2e-4)
    again = solver.fit(train, prepared, init=model)
    assert np.allclose(again.coef, model.coef, atol=1e-5)
    assert again.info.n_iter < model.info.n_iter


def test_few_distinct_labels_are_solved_in_their_row_space():
    X, Y = random_problem(40, 6, 3)
    Y = np.hstack([Y, np.zeros((40, 4), bool), ~Y[:, :1], Y[:, :2]])
    train = TrainingSet(X[:20], Y[:20], X[20:])
    Xl, targets, M = parts(train)
    known = np.ones(targets.shape, bool)
    solver = SLRM(3.0, 0.5, **TIGHT)
    prepared = solver.prepare(train)
    assert prepared.loss.targets.shape == (20, 4)
    V = minimum(Xl, targets, known, M, 3.0, 0.5)
    model = solver.fit(train, prepared)
    assert model.coef.shape == (10, 6)
    assert np.allclose(model.coef.T, V, atol=2e-4)
    assert model.info.objective == pytest.approx(objective(V, Xl, targets, known, M, 3.0, 0.5), rel=1e-9)
    assert np.allclose(model.coef[3], model.coef[4], atol=1e-12)
    start = solver.fit(train, prepared, init=model)
    assert start.info.n_iter == 1


@pytest.mark.parametrize("changed", [{}, {"loss": "logistic"}, {"u_step": "products"}])
def test_a_path_gives_the_solutions_in_the_order_asked_for(changed):
    train = semi_supervised(60, 40, 12, 9, seed=3)
    solver = SLRM(gamma=0.01, tol=1e-7, **changed)
    lams = [3.0, 30.0, 1e6, 10.0, 3.0]
    models = solver.path(train, lams)
    alone = [replace(solver, lam=lam).fit(train) for lam in lams]
    for warm, cold in zip(models, alone, strict=True):
        assert warm.info.converged
        assert warm.info.objective == pytest.approx(cold.info.objective, rel=2e-7)
        assert np.allclose(warm.coef, cold.coef, atol=3e-3)
    assert not models[2].coef.any()
    assert models[0] is models[4]
    if not changed:
        assert all(warm.coef.tobytes() == cold.coef.tobytes() for warm, cold in zip(models, alone, strict=True))


@pytest.mark.parametrize("changed", [{"loss": "logistic"}, {"u_step": "products"}])
def test_a_path_takes_fewer_steps_than_fits_alone(changed):
    train = semi_supervised(60, 40, 12, 9, seed=5)
    solver = SLRM(gamma=0.01, tol=1e-7, **changed)
    lams = [30.0, 10.0, 3.0]
    alone = sum(replace(solver, lam=lam).fit(train).info.n_iter for lam in lams)
    assert sum(model.info.n_iter for model in solver.path(train, lams)) < alone


@pytest.mark.parametrize("lam", [0.5, 30.0, 1e6])
@pytest.mark.parametrize("sparse", [False, True])
def test_scores_are_those_of_the_weights_by_either_product(lam, sparse):
    train = semi_supervised(60, 40, 12, 9, seed=3)
    model = SLRM(lam, 0.1).fit(train)
    assert {0.5: 7 < model.rank, 30.0: 0 < model.rank < 5, 1e6: model.rank == 0}[lam]
    scores = model.decision_function(csr_array(train.X) if sparse else train.X)
    assert ("coef" in vars(model)) == (lam == 0.5)  # the weights are not multiplied out where factors cost less
    assert model.left.shape[1] == model.right.shape[1] >= model.rank == np.linalg.matrix_rank(model.coef)
    assert np.allclose(scores, train.X @ (model.right @ model.left.T).T + model.intercept, atol=1e-12)


def test_one_step_is_enough_where_the_start_is_the_solution():
    rows, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((30, 6)))
    train = TrainingSet(rows, random_problem(30, 6, 4)[1])
    left, values, right = np.linalg.svd(rows.T @ np.where(train.Y, 1.0, -1.0), full_matrices=False)
    for lam in (0.1, float(values[1])):
        model = SLRM(lam, 0.0, tol=1e-9).fit(train)
        assert model.info.n_iter == 1
        assert np.allclose(model.coef.T, (left * np.maximum(values - lam, 0)) @ right, atol=1e-10)


def test_the_multiplier_to_start_from_has_no_singular_value_above_lam():
    problem = SLRM().prepare(semi_supervised(60, 40, 12, 9, seed=3))
    cross, turned = problem.cross, problem.parted.cross
    for lam in (1e-3, 5.0, problem.lambda_max * 2):
        left, values, right = np.linalg.svd(cross, full_matrices=False)
        kept = problem.parted.kept(lam)
        found = turned * kept @ problem.parted.basis.T
        assert np.allclose(found, (left * np.minimum(values, lam)) @ right, atol=1e-9)
        assert np.allclose(cut_at(lam, cross), (left * np.minimum(values, lam)) @ right, atol=1e-9)
        slack = problem.parted.slack(lam, kept)
        assert np.linalg.norm(found, 2) <= lam * (1 + slack)
        assert slack < 1e-9


@pytest.mark.parametrize(("lam", "gamma"), [(0.1, 30.0), (9.0, 300.0), (20.0, 300.0)])
def test_where_the_graph_is_heavy_the_start_is_the_solution(lam, gamma):
    train = semi_supervised(60, 40, 12, 9, seed=3)
    Xl, targets, M = parts(train)
    known = np.ones(targets.shape, bool)
    best = objective(minimum(Xl, targets, known, M, lam, gamma), Xl, targets, known, M, lam, gamma)
    solver = SLRM(lam, gamma, tol=1e-3)
    problem = solver.prepare(train)
    left, values, right = np.linalg.svd(Xl.T @ targets, full_matrices=False)
    V = np.linalg.solve(Xl.T @ Xl + gamma * M, (left * np.maximum(values - lam, 0.0)) @ right)
    model = solver.fit(train, problem)
    assert np.allclose(model.coef.T, V, rtol=1e-9, atol=1e-12)
    assert model.rank == (values > lam).sum() == np.linalg.matrix_rank(V)
    info = model.info
    assert info.objective == pytest.approx(objective(V, Xl, targets, known, M, lam, gamma), rel=1e-12)
    T = (left * np.minimum(values, lam)) @ right
    gap = lam * np.linalg.svd(V, compute_uv=False).sum() - np.vdot(T, V)
    assert info.optimality == pytest.approx(gap / info.objective, rel=1e-4)
    assert 1e-9 < info.optimality <= 1e-3
    assert info.objective * (1 - info.optimality) <= best * (1 + 1e-12) <= info.objective * (1 + 2e-12)
    system, square = problem.system(gamma), float((targets**2).sum())
    assert solved_by_start(system, problem.parted, square, lam, 1e-3) is not None
    assert solved_by_start(system, problem.parted, square, lam, info.optimality / 2) is None


def test_a_constant_penalty_takes_the_printed_steps():
    train = semi_supervised(60, 40, 12, 9, seed=3)
    Xl, targets, M = parts(train)
    G, B, beta, lam = Xl.T @ Xl + 0.5 * M, Xl.T @ targets, 30.0, 4.0
    V = T = np.zeros_like(B)
    for n_iter in range(1, 6):
        U = np.linalg.solve(G + beta * np.eye(len(G)), B + beta * V - T)
        left, values, right = np.linalg.svd(U + T / beta, full_matrices=False)
        V = (left * np.maximum(values - lam / beta, 0)) @ right
        T = T + beta * (U - V)
        model = SLRM(lam, 0.5, beta=beta, tol=1e-12, max_iter=n_iter).fit(train)
        assert np.allclose(model.coef.T, V, atol=1e-9)


def test_fewer_rows_than_neighbors_are_told():
    train = semi_supervised(12, 8)
    told = "20 neighbors asked for, 11 other rows there: each row is joined to all"
    assert SLRM(n_neighbors=20).fit(train).info.notes == (told,)
    assert not SLRM(n_neighbors=20, gamma=0.0).fit(train).info.notes
    assert not SLRM(n_neighbors=11).fit(train).info.notes


def test_mixing_finds_where_a_linear_residual_vanishes():
    b = np.random.default_rng(0).standard_normal((3, 2))
    mixing, x = Mixing(), np.zeros((3, 2))
    # With one rate the residual is known from two points; the third is where it is zero.
    for _ in range(2):
        x = mixing.next(x, b - 0.1 * x)
    assert np.allclose(x, 10 * b, rtol=1e-12)


def test_mixing_takes_the_plain_step_where_the_residual_grew():
    mixing = Mixing()
    mixing.next(np.zeros(2), np.ones(2))
    assert mixing.next(np.ones(2), np.full(2, 2.5)).tolist() == [3.5, 3.5]
    # From 3.5 on it is mixed again: the residual falls from 2.5 at 1 to 1 at 3.5, so it is 0 at 3.5 + 1 / 0.6.
    assert np.allclose(mixing.next(np.full(2, 3.5), np.ones(2)), 3.5 + 1 / 0.6)
    assert mixing.next(np.full(2, 3.5), np.ones(2)).tolist() == [4.5, 4.5]  # where nothing changed, there is no slope


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_start_is_explicit_and_nothing_else_is_remembered(loss):
    train = semi_supervised(60, 40, 12, 9, seed=3)
    solver = SLRM(0.5, 0.1, loss=loss)
    fresh = solver.fit(train)
    prepared = solver.prepare(train)
    SLRM(5.0, 0.1, loss=loss).path(train, [50.0, 5.0], prepared)
    SLRM(5.0, 10.0, loss=loss).fit(train, prepared)
    assert solver.fit(train, prepared).coef.tobytes() == fresh.coef.tobytes()
    warm = solver.fit(train, prepared, init=fresh)
    assert warm.info.n_iter == 1
    assert warm.info.converged


def test_decompositions_that_are_not_kept_are_made_again(monkeypatch):
    train = semi_supervised()
    solver = SLRM()
    prepared = solver.prepare(train)
    first = solver.fit(train, prepared)
    monkeypatch.setattr(slrm_problem, "KEPT_BYTES", 0)
    for gamma in (0.1, 10.0, 1.0):
        SLRM(gamma=gamma).fit(train, prepared)
    assert list(prepared.systems) == [1.0]
    assert solver.fit(train, prepared).coef.tobytes() == first.coef.tobytes()


def test_a_label_that_is_never_known_and_a_row_without_known_labels():
    known = np.ones((25, 5), bool)
    known[:, 2] = False
    known[4:7] = False
    for missing, taken in (("zero", "their targets are 0"), ("mask", "they count as unlabeled")):
        train = semi_supervised(known=known)
        model = SLRM(2.0, 0.5, missing=missing, tol=1e-8).fit(train)
        assert model.info.converged
        assert model.info.notes == (
            f"3 of 25 rows have no known label: {taken}",
            "1 of 5 labels are known in no row: their scores are 0",
        )
        assert not model.decision_function(train.X)[:, 2].any()
        assert np.abs(model.coef[[0, 1, 3, 4]]).max() > 0.1
    plain = np.delete(np.arange(25), [4, 5, 6])
    X = np.vstack([train.X, train.X_unlabeled])
    order = np.concatenate([plain, [4, 5, 6], np.arange(25, 40)])
    fewer = TrainingSet(X[plain], train.Y[plain], X[order[22:]], known[plain])
    assert np.allclose(SLRM(2.0, 0.5, missing="mask", tol=1e-10).fit(fewer).coef, model.coef, atol=1e-3)
    none = TrainingSet(train.X, train.Y, None, np.zeros((25, 5), bool))
    assert not SLRM(2.0).fit(none).decision_function(train.X).any()


def test_duplicate_rows_and_a_single_row():
    X, Y = random_problem(20)
    doubled = TrainingSet(np.vstack([X] * 10), np.vstack([Y] * 10), np.vstack([X] * 2))
    model = SLRM(1.0, 1.0, tol=1e-9).fit(doubled)
    assert model.info.converged
    assert np.isfinite(model.coef).all()
    # Equal rows at distance zero are all neighbors of each other: L = 0 on what the features tell apart.
    assert np.allclose(model.coef, SLRM(1.0, 0.0, tol=1e-9).fit(doubled).coef, atol=1e-4)
    one = SLRM(0.1).fit(TrainingSet(X[:1] + 1.0, Y[1:2]))
    assert one.info.converged
    assert one.decision_function(X[:1] + 1.0).min() > 0.5


def test_the_graph_is_that_of_all_rows_as_the_settings_say():
    train = semi_supervised()
    X = np.vstack([train.X, train.X_unlabeled])
    made = SLRM(n_neighbors=3, scale_neighbor=4, symmetrize="mutual").prepare(train).graph
    assert (made != self_tuning_graph(X, 3, 4, "mutual")).nnz == 0
    fixed = SLRM(width=2.5).prepare(train).graph
    assert (fixed != gaussian_graph(X, 5, 2.5)).nnz == 0


@pytest.mark.parametrize(("beta", "u_step"), [(0.5, "eigen"), (20.0, "products")])
def test_a_constant_penalty_leads_to_the_same(beta, u_step):
    train = semi_supervised()
    adaptive = SLRM(2.0, 0.5, u_step=u_step, **TIGHT).fit(train)
    constant = SLRM(2.0, 0.5, beta=beta, u_step=u_step, **TIGHT).fit(train)
    assert constant.info.converged
    assert np.allclose(constant.coef, adaptive.coef, atol=1e-4)


@pytest.mark.parametrize("sparse", [False, True])
def test_centering_is_that_of_rows_and_labels(sparse):
    train = semi_supervised(sparse=sparse)
    Xl, targets, M = parts(train)
    centered, level = Xl - Xl.mean(axis=0), targets.mean(axis=0)
    known = np.ones(targets.shape, bool)
    V = minimum(centered, targets - level, known, M, 2.0, 0.5)
    for u_step in ("eigen", "products"):
        model = SLRM(2.0, 0.5, center=True, u_step=u_step, **TIGHT).fit(train)
        assert np.allclose(model.coef.T, V, atol=2e-4)
        scores = model.decision_function(train.X)
        assert np.allclose(scores, centered @ model.coef.T + level, atol=1e-10)


def test_labels_of_one_and_zero():
    train = semi_supervised()
    Xl, targets, M = parts(train)
    known = np.ones(targets.shape, bool)
    V = minimum(Xl, (targets + 1) / 2, known, M, 2.0, 0.5)
    assert np.allclose(SLRM(2.0, 0.5, coding="zero_one", **TIGHT).fit(train).coef.T, V, atol=2e-4)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"loss": "hinge"}, "loss must be one of squared, logistic, squared_hinge, found 'hinge'"),
        ({"missing": "drop"}, "missing must be one of zero, mask"),
        ({"coding": "11"}, "coding must be one of signs, zero_one"),
        ({"symmetrize": "min"}, "symmetrize must be one of max, mutual"),
        ({"u_step": "cg"}, "u_step must be one of auto, eigen, products"),
        ({"objective": 10}, "objective must be one of 9, 8, found 10"),
        ({"gamma": -1.0}, "gamma must be a number, 0 or above"),
        ({"n_neighbors": 0}, "n_neighbors must be a number above 0"),
        ({"n_neighbors": 2.5}, r"n_neighbors must be a whole number, found 2.5"),
        ({"scale_neighbor": 7.0}, r"scale_neighbor must be a whole number, found 7.0"),
        ({"width": 0.0}, "width must be a number above 0"),
        ({"beta": "fast"}, "beta must be a number above 0, found 'fast'"),
        ({"lam": 0.0, "missing": "mask"}, "lam 0 goes with loss 'squared' and missing 'zero' alone"),
        ({"lam": 0.0, "loss": "logistic"}, "lam 0 goes with loss 'squared' and missing 'zero' alone"),
        ({"loss": "logistic", "objective": 8}, "objective 8 goes with loss 'squared', found loss 'logistic'"),
        ({"loss": "logistic", "center": True}, "center True goes with loss 'squared'"),
        ({"missing": "mask", "coding": "zero_one"}, "coding 'zero_one' goes with missing 'zero', found missing 'mask'"),
    ],
)
def test_settings_that_mean_nothing_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        SLRM(**wrong)


def test_a_start_of_another_shape_is_refused():
    train = semi_supervised()
    other = SLRM().fit(TrainingSet(train.X[:, :3], train.Y))
    with pytest.raises(ValueError, match=r"init has weights of shape \(5, 3\), the training set needs \(5, 6\)"):
        SLRM().fit(train, init=other)


@pytest.mark.parametrize("gamma", [0.0, 1.0])
@pytest.mark.parametrize("ratio", [2e7, 1e10])
def test_a_huge_column_hides_no_other(gamma, ratio):
    """A Unix time among features of one: what the others alone can reach is no better than the bound."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 10))
    Y = (X[:, 1:] @ rng.standard_normal((9, 3)) / 3 + 0.3 * rng.standard_normal((120, 3))) > 0.3
    X[:, 0] *= ratio
    model = SLRM(gamma=gamma).fit(TrainingSet(X, Y))
    S, W = np.where(Y, 1.0, -1.0), model.coef.T
    L = laplacian(self_tuning_graph(X, 5)).toarray()

    def value(W):
        F = X @ W
        return 0.5 * ((F - S) ** 2).sum() + np.linalg.svd(W)[1].sum() + gamma / 2 * np.vdot(F, L @ F)

    assert model.info.converged
    assert value(W) == pytest.approx(model.info.objective, rel=1e-6)
    # Without the huge column: a feasible point, which the solution is at least as good as.
    V = np.linalg.lstsq(X[:, 1:].T @ (np.eye(120) + gamma * L) @ X[:, 1:] + np.eye(9), X[:, 1:].T @ S, rcond=None)[0]
    assert value(np.vstack([np.zeros((1, 3)), V])) >= model.info.objective * (1 - model.info.optimality)
    for column in range(10):
        for factor in (0.99, 1.01):
            moved = W.copy()
            moved[column] *= factor
            assert value(moved) >= model.info.objective * (1 - model.info.optimality)
