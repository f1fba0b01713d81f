"""Machines fitted together: their parts from the definitions, and the solutions of libraries."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.svm import SVC, LinearSVC

from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.one_vs_rest import newton, rows
from mlrank.solvers.one_vs_rest.kernels import line_search, smoothed
from mlrank.solvers.one_vs_rest.rows import MachineRows
from tests.solvers.problems import random_problem

BinarySVM = SOLVERS["binary_svm"]
# loss, free
LOSSES = [("hinge", True), ("hinge", False), ("squared_hinge", False)]
RNG = np.random.default_rng(3)


def smooth(F, S, A0, costs, kappa, squared):
    """Return the smoothed loss of each machine, max_alpha sum alpha r - (alpha - a0)^2 / (2 h), and its alpha."""
    c = np.where(S > 0, costs[1], np.where(S < 0, costs[0], 0.0))
    r = 1 - S * F
    if squared:
        return (c * np.maximum(r, 0) ** 2).sum(axis=1), 2 * c * np.maximum(r, 0)
    h = np.where(c > 0, c, 1.0) * kappa[:, None]
    alpha = np.clip(A0 + c * kappa[:, None] * r, 0, c)
    return (alpha * r - (alpha - A0) ** 2 / (2 * h)).sum(axis=1), alpha


def machines(n=30):
    S = RNG.integers(-1, 2, (3, n)).astype(np.int8)
    costs, kappa = np.array([0.7, 2.1]), np.array([1.0, 3.0, 8.0])
    A0 = RNG.random(S.shape) * np.where(S > 0, costs[1], np.where(S < 0, costs[0], 0.0))
    return RNG.standard_normal(S.shape), S, A0, costs, kappa


@pytest.mark.parametrize("squared", [False, True])
def test_sums_of_the_smoothed_loss_are_the_definitions(squared):
    F, S, A0, costs, kappa = machines()
    active = np.array([2, 0])
    beta, inside, sums = np.empty((2, 30)), np.empty((2, 30), dtype=np.bool_), np.empty((2, 4))
    smoothed(active, F, S, A0, costs, kappa, squared, beta, inside, sums)
    c = np.where(S > 0, costs[1], np.where(S < 0, costs[0], 0.0))[active]
    r, alpha = (1 - S * F)[active], smooth(F, S, A0, costs, kappa, squared)[1][active]
    assert np.allclose(beta, S[active] * alpha, atol=1e-14)
    within = (alpha > 0) & ((alpha < c) | squared)
    assert (inside == within).all()
    slopes = 2 * c if squared else c * kappa[active][:, None]
    loss = (c * np.maximum(r, 0) ** (2 if squared else 1)).sum(axis=1)
    expected = [loss, alpha.sum(axis=1), (alpha * r).sum(axis=1), (slopes * within).sum(axis=1)]
    assert np.allclose(sums, np.array(expected).T, rtol=1e-12)


@pytest.mark.parametrize("squared", [False, True])
def test_steps_end_at_the_least_smoothed_objective_on_the_line(squared):
    F, S, A0, costs, kappa = machines()
    active, D = np.array([2, 0]), RNG.standard_normal((2, 30))
    first, second, found = -RNG.random(2), 1.0 + RNG.random(2), np.empty(2)

    def value(place, t):
        G = F.copy()
        G[active[place]] += t * D[place]
        loss = smooth(G, S, A0, costs, kappa, squared)[0][active[place]]
        return loss + first[place] * t + 0.5 * second[place] * t * t

    # Downhill, as all directions are.
    for place in range(2):
        if value(place, 1e-6) > value(place, 0.0):
            D[place] *= -1
    line_search(active, F, D, S, A0, costs, kappa, squared, first, second, found)
    for place in range(2):
        least = minimize_scalar(lambda t, place=place: value(place, t), bounds=(0, 20), method="bounded")
        assert value(place, found[place]) <= least.fun + 1e-12 * abs(least.fun)
        assert found[place] == pytest.approx(least.x, abs=1e-4)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("n_inside", [3, 20])
def test_directions_solve_newtons_system_with_its_bias(n_inside, free):
    X, J = RNG.standard_normal((40, 6)), np.arange(5, 5 + n_inside)
    slopes, g = RNG.random(n_inside) + 0.1, RNG.standard_normal(7)
    A = np.column_stack([X[J], np.ones(n_inside)])
    H = np.diag([1.0] * 6 + [0.0 if free else 1.0]) + A.T @ (slopes[:, None] * A)
    d_w, d_b = newton.direction(X, J, slopes, g[:6], g[6], free)
    assert np.append(d_w, d_b) == pytest.approx(np.linalg.solve(H, -g), rel=1e-9)


def defined(model, X, Y, known, solver):
    """Return the objective of a model with a bias of the solver's kind, from the definition."""
    signs, total = np.where(Y, 1.0, -1.0) * known, 0.0
    for w, b, s in zip(model.coef, model.intercept, signs.T, strict=True):
        cost = np.where(s > 0, solver.C * solver.positive_weight, solver.C) * (s != 0)
        slack = np.maximum(0, 1 - s * (X @ w + b))
        total += 0.5 * (w @ w + (0 if solver.free else b * b)) + cost @ slack ** (2 if solver.squared else 1)
    return total


@pytest.mark.parametrize(("loss", "free"), LOSSES)
@pytest.mark.parametrize("C", [0.05, 30.0])
def test_weights_are_those_of_the_libraries_on_the_known_rows(loss, free, C):
    X, Y = random_problem()
    known = np.random.default_rng(1).random(Y.shape) < 0.8
    bias = "free" if free else "augmented"
    solver = BinarySVM(C=C, loss=loss, bias=bias, positive_weight=2.5, tol=1e-9)
    model = solver.fit(TrainingSet(X, Y, known=known))
    assert model.info.converged
    assert model.info.objective == pytest.approx(defined(model, X, Y & known, known, solver), rel=1e-12)
    if C > 1 and not (free or solver.squared):
        return  # LIBLINEAR does not get there
    for label, (w, b) in enumerate(zip(model.coef, model.intercept, strict=True)):
        rows = known[:, label]
        if free:
            machine = SVC(C=C, kernel="linear", tol=1e-9, class_weight={1: 2.5})
        else:
            dual = not solver.squared
            machine = LinearSVC(C=C, loss=loss, tol=1e-10, class_weight={1: 2.5}, max_iter=10**6, dual=dual)
        machine.fit(X[rows], Y[rows, label])
        assert w == pytest.approx(machine.coef_[0], abs=1e-3 * (1 + np.abs(w).max()))
        assert b == pytest.approx(machine.intercept_[0], abs=2e-3 * (1 + abs(b)))


@pytest.mark.parametrize(("loss", "free"), LOSSES)
def test_bounds_are_below_the_optimum_and_blocks_change_nothing(loss, free, monkeypatch):
    X, Y = random_problem()
    train = TrainingSet(X, Y)
    rough, exact = (MachineRows(train, loss, free, 1.5).fit(4.0, tol, 10**6).machines for tol in (0.3, 1e-10))
    assert (rough.dual <= exact.primal * (1 + 1e-12)).all()
    assert (exact.primal <= rough.primal * (1 + 1e-10)).all()
    assert (exact.primal - exact.dual <= 1e-10 * exact.primal).all()
    monkeypatch.setattr(rows, "CELLS", 1)
    monkeypatch.setattr(rows, "LEAST", 2)
    parted = MachineRows(train, loss, free, 1.5)
    assert len(parted._groups) > 1
    found = parted.fit(4.0, 1e-10, 10**6).machines
    assert found.W == pytest.approx(exact.W, abs=1e-4)
    assert found.primal == pytest.approx(exact.primal, rel=1e-9)


def test_more_features_than_rows_and_an_offset_are_no_obstacle():
    X, Y = random_problem(n=20, m=45)
    for solver in (BinarySVM(tol=1e-8), BinarySVM(tol=1e-8, loss="squared_hinge")):
        wide = solver.fit(TrainingSet(X, Y))
        # The same rows in fewer features, by an SVD.
        left, values, _ = np.linalg.svd(X, full_matrices=False)
        narrow = solver.fit(TrainingSet(left * values, Y))
        assert wide.info.objective == pytest.approx(narrow.info.objective, rel=1e-7)
        assert wide.info.converged
    far = BinarySVM(tol=1e-8).fit(TrainingSet(X + 4096.0, Y))
    assert far.info.objective == pytest.approx(BinarySVM(tol=1e-8).fit(TrainingSet(X, Y)).info.objective, rel=1e-7)


@pytest.mark.parametrize(("loss", "free"), LOSSES)
def test_a_large_search_is_the_same_from_any_stage(loss, free):
    X, Y = random_problem()
    shared = MachineRows(TrainingSet(X, Y), loss, free, 1.0)
    for C in (0.1, 4096.0, 20.0, 1e5):
        alone = MachineRows(TrainingSet(X, Y), loss, free, 1.0).fit(C, 1e-3, 10**6).machines
        found = shared.fit(C, 1e-3, 10**6).machines
        assert found.W.tobytes() == alone.W.tobytes()
    assert len(shared._groups[0].stages) > 3


@pytest.mark.parametrize(("loss", "free"), LOSSES)
def test_what_newton_does_not_reach_others_do(loss, free, monkeypatch):
    X, Y = random_problem()
    solver = BinarySVM(C=30.0, loss=loss, bias="free" if free else "augmented")
    plain = solver.fit(TrainingSet(X, Y))
    monkeypatch.setattr(rows, "STEPS", 1)
    hurried = solver.fit(TrainingSet(X, Y))
    assert MachineRows(TrainingSet(X, Y), loss, free, 1.0).fit(30.0, 1e-3, 10**6).machines.n_iter.max() == 1
    assert hurried.info.converged
    assert hurried.info.objective == pytest.approx(plain.info.objective, rel=2e-3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bias": "free", "loss": "squared_hinge"}, "loss 'squared_hinge' has no free bias"),
        ({"bias": "augmented", "kernel": "rbf"}, "bias 'augmented' is linear only, found kernel 'rbf'"),
        ({"backend": "liblinear"}, "backend 'liblinear' does not have the loss 'hinge'"),
        ({"backend": "libsvm", "loss": "squared_hinge"}, "backend 'libsvm' does not have the loss 'squared_hinge'"),
        ({"backend": "libsvm", "bias": "augmented"}, "backend 'libsvm' has a free bias alone"),
        ({"backend": "cuda"}, "backend must be one of compiled, libsvm, liblinear, found 'cuda'"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        BinarySVM(**settings)


def test_a_bias_by_name_is_the_same_solver():
    assert BinarySVM(bias="free").canonical() == BinarySVM().canonical()
    assert BinarySVM(loss="squared_hinge", bias="augmented").canonical() == BinarySVM(loss="squared_hinge").canonical()
    assert BinarySVM(bias="augmented").canonical() != BinarySVM().canonical()


@pytest.mark.parametrize("C", [1e-3, 1.0])
def test_a_small_C_starts_as_ever_after_a_large_one(C):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 6))
    train = TrainingSet(X, X @ rng.standard_normal((6, 3)) + rng.standard_normal((40, 3)) > 0.5)
    used, fresh = (MachineRows(train, "hinge", True, 1.0) for _ in range(2))
    used.fit(1e4, 1e-3, 1000)
    found, expected = used.fit(C, 1e-3, 1000).machines, fresh.fit(C, 1e-3, 1000).machines
    assert (found.W.tobytes(), found.n_iter.tolist()) == (expected.W.tobytes(), expected.n_iter.tolist())
