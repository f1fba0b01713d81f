"""ML-LOC against its definition: J by loops, codes by a library's linear programs, machines of one label each."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

from mlrank.solvers import LinearModel, TrainingSet
from mlrank.solvers.binary_svm import BinarySVM
from mlrank.solvers.ml_loc.codes import _interior, best_codes
from mlrank.solvers.ml_loc.ml_loc import (
    MLLOC,
    _better_codes,
    _prototypes,
    _square_distances,
    column_spread,
    label_groups,
)
from tests.solvers.problems import random_problem


def program(f, V, s, q):
    """Return value and code of one row's linear program, by a library."""
    k, m = V.shape
    cost = np.concatenate([q, np.ones(k)])
    above = -np.hstack([s[:, None] * V, np.eye(k)])
    whole = np.concatenate([np.ones(m), np.zeros(k)])[None]
    found = linprog(cost, A_ub=above, b_ub=s * f - 1, A_eq=whole, b_eq=[1.0], method="highs")
    return found.fun, found.x[:m]


def random_programs(n, k, m, seed=0):
    rng = np.random.default_rng(seed)
    signs = np.where(rng.random((n, k)) < 0.4, 1.0, -1.0)
    return rng.standard_normal((n, k)), rng.standard_normal((k, m)), signs, 0.5 * rng.random((n, m))


def objective(W, V, b, C, P, X, Y, lam1, lam2, low=-1.0):
    """Return J from the definition."""
    total = lam1 * (np.sum(W**2) + np.sum(V**2))
    for i in range(len(X)):
        for j in range(Y.shape[1]):
            margin = (W[j] @ X[i] + V[j] @ C[i] + b[j]) * (1 if Y[i, j] else -1)
            total += max(0.0, 1.0 - margin)
        for g in range(C.shape[1]):
            total += lam2 * C[i, g] * np.sum((np.where(Y[i], 1.0, low) - P[g]) ** 2)
    return total


def parts_of(machines):
    arrays = machines.base.arrays()
    return arrays["coef"], machines.V, arrays["intercept"]


@pytest.mark.parametrize(
    ("V", "code", "value"), [([[2.0, 0], [0, 2]], [1.0, 0.0], 1.1), ([[2.0, 0], [0, -2]], [0.5, 0.5], 0.2)]
)
def test_golden_programs(V, code, value):
    found = best_codes(np.zeros((1, 2)), np.array(V), np.array([[1.0, -1.0]]), np.array([[0.1, 0.3]]))
    assert found.C[0] == pytest.approx(code, abs=1e-6)
    assert found.values[0] == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize(("k", "m"), [(1, 2), (5, 3), (12, 20), (6, 1)])
def test_programs_are_solved_and_certified(k, m):
    f, V, s, q = random_programs(60, k, m)
    found = best_codes(f, V, s, q)
    values = np.array([program(f[i], V, s[i], q[i])[0] for i in range(60)])
    assert found.values == pytest.approx(values, abs=1e-7)
    assert (found.bounds <= values + 1e-9).all()
    assert (found.values >= values - 1e-9).all()
    assert found.C.min() >= 0
    assert found.C.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    losses = np.maximum(1 - s * (f + found.C @ V.T), 0).sum(axis=1) + (found.C * q).sum(axis=1)
    assert losses == pytest.approx(found.values, abs=1e-12)


def test_rows_of_one_group_need_no_iterations_and_agree_with_those():
    f, V, s, q = random_programs(60, 5, 3)
    found = best_codes(f, V, s, q)
    whole = found.C.max(axis=1) == 1
    assert 10 < whole.sum() < 50
    inside = _interior(1 - s * f, s[:, :, None] * V, q)
    assert inside.values == pytest.approx(found.values, abs=1e-7)


def test_order_of_labels_and_groups_does_not_matter():
    f, V, s, q = random_programs(40, 4, 5)
    labels, groups = np.array([2, 0, 3, 1]), np.array([4, 1, 0, 3, 2])
    turned = best_codes(f[:, labels], V[labels][:, groups], s[:, labels], q[:, groups])
    assert turned.C == pytest.approx(best_codes(f, V, s, q).C[:, groups], abs=1e-5)


def test_many_rows_are_taken_in_blocks(monkeypatch):
    f, V, s, q = random_programs(50, 5, 3)
    plain = best_codes(f, V, s, q)
    monkeypatch.setattr("mlrank.solvers.ml_loc.codes.BLOCK", 7 * 15)
    blocks = best_codes(f, V, s, q)
    assert blocks.C == pytest.approx(plain.C, abs=1e-7)
    assert blocks.values == pytest.approx(plain.values, abs=1e-7)


@pytest.mark.parametrize(("lam2", "coding"), [(0.0, "signs"), (0.05, "signs"), (0.05, "zero_one"), (1.0, "signs")])
def test_no_half_step_raises_the_objective(lam2, coding):
    X, Y = random_problem(30, 4, 5)
    solver = MLLOC(n_groups=3, lam1=0.1, lam2=lam2, coding=coding, scale=False, tol=1e-8)
    begun = solver.prepare(TrainingSet(X, Y))
    C, low = begun.groups.C, -1.0 if coding == "signs" else 0.0
    labels = np.where(Y, 1.0, low)
    P = _prototypes(C, labels, np.zeros((3, 5)))
    seen = []
    for _ in range(4):
        machines = solver._machines(begun, C, Y)
        seen.append(objective(*parts_of(machines), C, P, X, Y, 0.1, lam2, low))
        assert machines.objective + lam2 * (C * _square_distances(labels, P)).sum() == pytest.approx(seen[-1])
        C, _ = _better_codes(machines, C, Y, lam2 * _square_distances(labels, P))
        assert C.min() >= 0
        assert C.sum(axis=1) == pytest.approx(1.0)
        seen.append(objective(*parts_of(machines), C, P, X, Y, 0.1, lam2, low))
        P = _prototypes(C, labels, P)
        seen.append(objective(*parts_of(machines), C, P, X, Y, 0.1, lam2, low))
    assert (np.diff(seen) <= 1e-6 * np.array(seen[1:])).all()
    # The first codes are one group each, so small penalties leave something to gain.
    assert seen[-1] < seen[0] * 0.99 or lam2 == 1.0


def test_certificate_bounds_what_each_block_could_bring():
    X, Y = random_problem(30, 4, 5)
    solver = MLLOC(n_groups=3, lam1=0.1, lam2=0.02, scale=False, tol=1e-9, max_iter=3)
    begun = solver.prepare(TrainingSet(X, Y))
    machines, C, info = solver._alternate(Y, begun)
    labels = np.where(Y, 1.0, -1.0)
    P = _prototypes(C, labels, np.zeros((3, 5)))
    W, V, b = parts_of(machines)
    J = objective(W, V, b, C, P, X, Y, 0.1, 0.02)
    assert info.objective == pytest.approx(J)
    assert not info.converged
    assert info.n_iter == 3
    penalty = 0.02 * _square_distances(labels, P)
    best = sum(program(X[i] @ W.T + b, V, labels[i], penalty[i])[0] for i in range(30))
    assert info.optimality * J == pytest.approx(J - 0.1 * (np.sum(W**2) + np.sum(V**2)) - best, abs=1e-6)


def test_converged_is_certified():
    X, Y = random_problem(30, 4, 5)
    info = MLLOC(n_groups=3, lam1=0.1, lam2=0.02, tol=1e-3, max_iter=200).fit(TrainingSet(X, Y)).info
    assert info.converged
    assert info.optimality <= 1e-3
    assert info.n_iter > 2


def test_large_penalty_keeps_codes_at_the_nearest_prototypes():
    X, Y = random_problem(40, 4, 5)
    solver = MLLOC(n_groups=4, lam2=1e4)
    _, C, info = solver._alternate(Y, solver.prepare(TrainingSet(X, Y)))
    labels = np.where(Y, 1.0, -1.0)
    P = _prototypes(C, labels, np.zeros((4, 5)))
    distances = ((labels[:, None] - P) ** 2).sum(axis=2)
    assert np.array_equal(np.unique(C), [0.0, 1.0])
    assert (distances[C == 1] <= distances.min(axis=1) + 1e-12).all()
    assert info.converged


@pytest.mark.parametrize("sparse", [False, True])
def test_one_group_is_independent_machines(sparse):
    X, Y = random_problem()
    model = MLLOC(n_groups=1, lam1=0.25, tol=1e-8).fit(TrainingSet(csr_array(X) if sparse else X, Y))
    plain = BinarySVM(C=2.0, tol=1e-8).fit(TrainingSet(X / X.std(axis=0), Y))
    assert isinstance(model, LinearModel)
    assert model.decision_function(X) == pytest.approx(plain.decision_function(X / X.std(axis=0)), abs=1e-4)


@pytest.mark.parametrize("scale", [False, True])
def test_scores_are_machines_of_predicted_codes(scale):
    X, Y = random_problem()
    solver = MLLOC(n_groups=3, lam2=0.05, scale=scale, code_lam=0.3)
    begun = solver.prepare(TrainingSet(X, Y))
    machines, C, _ = solver._alternate(Y, begun)
    Xs = (X - X.mean(axis=0)) / X.std(axis=0)
    G = np.linalg.solve(Xs.T @ Xs + 0.3 * len(X) * np.eye(6), Xs.T @ (C - C.mean(axis=0)))
    codes = Xs @ G + C.mean(axis=0)
    W, V, b = parts_of(machines)
    plain = (X / X.std(axis=0) if scale else X) @ W.T + b
    assert solver.fit(TrainingSet(X, Y)).decision_function(X) == pytest.approx(plain + codes @ V.T, abs=1e-9)
    cut = np.clip(codes, 0, 1)
    cut /= cut.sum(axis=1, keepdims=True)
    projected = MLLOC(n_groups=3, lam2=0.05, scale=scale, code_lam=0.3, project_codes=True).fit(TrainingSet(X, Y))
    assert projected.decision_function(X) == pytest.approx(plain + cut @ V.T, abs=1e-9)
    assert projected.meta()["model"] == "ml_loc"


@pytest.mark.parametrize("lam2", [0.05, 10.0])
def test_a_kernel_that_is_linear_gives_the_linear_machines(lam2):
    X, Y = random_problem()
    train, settings = TrainingSet(X, Y), {"n_groups": 3, "lam2": lam2, "tol": 1e-7, "max_iter": 2}
    plain = MLLOC(**settings).fit(train)
    kernel = MLLOC(kernel="polynomial", degree=1, coef0=0.0, **settings).fit(train)
    assert kernel.decision_function(X) == pytest.approx(plain.decision_function(X), abs=2e-3)
    assert kernel.info.objective == pytest.approx(plain.info.objective, rel=1e-5)


def test_distances_of_labels_of_zero_and_one_are_a_quarter():
    X, Y = random_problem()
    signs = MLLOC(n_groups=3, lam2=0.1).fit(TrainingSet(X, Y))
    binary = MLLOC(n_groups=3, lam2=0.4, coding="zero_one").fit(TrainingSet(X, Y))
    assert binary.coef == pytest.approx(signs.coef, abs=1e-6)


def test_groups_hold_equal_label_sets_and_do_not_depend_on_order():
    X, Y = random_problem(60, 4, 5)
    C = label_groups(X, Y, 4, 0).C
    same = (Y[:, None] == Y).all(axis=2)
    assert ((C @ C.T)[same] == 1).all()
    rng = np.random.default_rng(0)
    rows, labels = rng.permutation(60), rng.permutation(5)
    turned = label_groups(X[rows], Y[rows][:, labels], 4, 0).C
    assert np.array_equal(turned @ turned.T, (C @ C.T)[np.ix_(rows, rows)])


def test_two_groups_are_the_best_of_all():
    X, Y = random_problem(40, 4, 3)
    signs = np.where(Y, 1.0, -1.0)
    distinct, number = np.unique(signs, axis=0, return_inverse=True)

    def spent(group):
        parts = [signs[group == g] for g in set(group)]
        return sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts)

    all_groups = itertools.product(range(2), repeat=len(distinct))
    least = min(spent(np.array(groups)[number.ravel()]) for groups in all_groups)
    assert spent(label_groups(X, Y, 2, 0).C.argmax(axis=1)) == pytest.approx(least)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_row_is_in_the_group_of_the_nearest_mean(seed):
    X, Y = random_problem(80, 4, 5)
    C = label_groups(X, Y, 4, seed).C
    labels = np.where(Y, 1.0, -1.0)
    means = C.T @ labels / C.sum(axis=0)[:, None]
    distances = ((labels[:, None] - means) ** 2).sum(axis=2)
    assert (C.sum(axis=0) > 0).all()
    assert (distances[C == 1] <= distances.min(axis=1) + 1e-8).all()


def test_more_groups_than_label_sets_are_told():
    X, Y = random_problem(12, 3, 2)
    model = MLLOC(n_groups=9).fit(TrainingSet(X, Y))
    assert model.info.notes == ("9 groups asked for, 4 used: there are no more different label sets",)


def test_labels_without_two_classes_are_constant():
    X, Y = random_problem()
    Y[:, 0], Y[:, 3] = False, True
    scores = MLLOC(n_groups=3, lam2=0.01).fit(TrainingSet(X, Y)).decision_function(X)
    assert (scores[:, 0] == -1).all()
    assert (scores[:, 3] == 1).all()
    alone = MLLOC(n_groups=3).fit(TrainingSet(X, np.tile([True, False], (40, 1))))
    assert np.array_equal(alone.decision_function(X), np.tile([1.0, -1.0], (40, 1)))


@pytest.mark.parametrize("shape", [(4, 9), (6, 3)])
def test_few_or_equal_rows(shape):
    X, Y = random_problem(*shape)
    X[2] = X[3]
    for kernel in ("linear", "rbf"):
        model = MLLOC(n_groups=3, lam2=0.1, kernel=kernel).fit(TrainingSet(np.vstack([X, X]), np.vstack([Y, ~Y])))
        assert np.isfinite(model.decision_function(X)).all()


def test_spread_of_columns():
    X, _ = random_problem()
    X[:, 1], X[:, 2] = 7.3, 0.0
    expected = X.std(axis=0)
    expected[1:3] = 1.0
    for rows in (X, csr_array(X)):
        assert column_spread(rows) == pytest.approx(expected, rel=1e-12)


def test_wrong_settings_are_told():
    for settings, message in (
        ({"n_groups": 2.5}, "n_groups must be a whole number or a part"),
        ({"lam1": 0}, "lam1 must be a number above 0"),
        ({"lam2": -1}, "lam2 must be a number, 0 or above"),
        ({"coding": "sign"}, r"coding must be one of signs, zero_one, found 'sign'. Did you mean 'signs'"),
    ):
        with pytest.raises(ValueError, match=message):
            MLLOC(**settings)
