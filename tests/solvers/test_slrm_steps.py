"""How SLRM is solved where G is diagonal: by columns, in one direction, and with penalties that suit each direction."""

import numpy as np
import pytest
from scipy.linalg import hadamard

from mlrank.linalg import shrink_singular_values
from mlrank.solvers import TrainingSet
from mlrank.solvers.base import relative_gap
from mlrank.solvers.slrm import squared
from mlrank.solvers.slrm.admm import State, Stop
from mlrank.solvers.slrm.slrm import SLRM
from mlrank.solvers.slrm.squared import (
    _suited_step,
    lengths_of_columns,
    minimize_squared,
    solved_in_one_direction,
    start_of_columns,
)
from mlrank.solvers.slrm.systems import EigenSystem


class Features:
    """Coordinates that are the features."""

    rows = None

    def lift(self, V):
        return V


def made_system(lengths, seed=0, spread=3.0, p=12):
    """Return a system whose B has orthogonal columns of these lengths, the eigenvalues of G over so many decades."""
    rng = np.random.default_rng(seed)
    e = np.sort(10.0 ** rng.uniform(-spread / 2, spread / 2, p))
    directions = np.linalg.qr(rng.standard_normal((p, len(lengths))))[0]
    system = EigenSystem.of(Features(), np.diag(e), 1.0, directions * lengths)
    square = 1.0 + float((system.cross**2 / e[:, None]).sum())
    return system, square


def values_of(V):
    return np.linalg.svd(V, compute_uv=False)


def objective(V, system, square, lam):
    e = system.values[:, None]
    return square / 2 - (system.cross * V).sum() + (e * V**2).sum() / 2 + lam * values_of(V).sum()


def bound(Z, system, square):
    return square / 2 - ((system.cross - Z) ** 2 / system.values[:, None]).sum() / 2


def certified(V, system, square, lam):
    """Return the relative gap of V by the multiplier that goes with it, scaled to be feasible."""
    Z = system.cross - system.values[:, None] * V
    P = objective(V, system, square, lam)
    return (P - bound(Z * min(1.0, lam / values_of(Z)[0]), system, square)) / P


def test_the_length_of_a_column_makes_its_direction_a_unit_vector():
    system, _ = made_system([5.0, 0.3, 80.0])
    s = lengths_of_columns(system.values, system.cross, 0.2, 1e-12)
    q = system.cross / (system.values[:, None] * s + 0.2)
    assert (s > 0).all()
    assert np.allclose(np.linalg.norm(q, axis=0), 1.0, atol=1e-11)
    # The gradient of the column's own problem vanishes at s q.
    assert np.allclose(system.values[:, None] * s * q + 0.2 * q, system.cross, rtol=1e-12)


def test_a_start_has_the_multipliers_of_the_long_columns_and_the_short_ones_whole():
    system, _ = made_system([5.0, 0.1, 80.0, 0.2])
    over = np.array([0, 2])
    start = start_of_columns(system, over, 0.3)
    assert np.array_equal(start.T[:, [1, 3]], system.cross[:, [1, 3]])
    assert np.allclose(np.linalg.norm(start.T[:, over], axis=0), 0.3, rtol=2e-2)
    V = (system.cross - start.T) / system.values[:, None]
    suited = 0.3 / np.linalg.norm(V[:, over], axis=0)
    assert start.beta == pytest.approx(max(system.penalty, np.sqrt(suited.prod())), rel=5e-2)
    assert start.rank == 2


@pytest.mark.parametrize("seed", range(6))
def test_one_direction_is_the_solution_where_it_is_certified(seed):
    system, square = made_system([60.0, 0.4, 0.3, 0.2], seed, spread=1.0)
    found = solved_in_one_direction(system, 0, square, 1.0, 1e-9)
    V = found.left @ found.right.T
    assert found.rank == 1
    assert found.trace == (pytest.approx(objective(V, system, square, 1.0), rel=1e-12),)
    assert certified(V, system, square, 1.0) <= 1e-9
    stepped = minimize_squared(system, square, 1.0, Stop(1e-10, 5000), None)
    assert found.trace[0] == pytest.approx(stepped.trace[-1], rel=2e-9)


def test_one_direction_is_not_taken_for_a_solution_of_a_higher_rank():
    refused = 0
    for seed in range(40):
        system, square = made_system([60.0, 0.99, 0.98], seed, spread=1.0)
        stepped = minimize_squared(system, square, 1.0, Stop(1e-10, 5000), start_of_columns(system, np.array([0]), 1.0))
        found = solved_in_one_direction(system, 0, square, 1.0, 1e-9)
        assert (found is None) == (values_of(stepped.left)[1] > 1e-6 if stepped.right is None else stepped.rank > 1)
        refused += found is None
    assert 5 < refused < 35
    assert solved_in_one_direction(system, 0, square, 61.0, 1e-9) is None


def made_state(A, lam, beta):
    state = State(np.zeros_like(A), np.zeros_like(A), beta, min(A.shape))
    shrunk = state.shrink(A, lam, 1e-12)
    return state, shrunk


def test_a_step_from_the_solution_goes_nowhere():
    system, square = made_system([9.0, 4.0, 2.0, 0.5], 3)
    found = minimize_squared(system, square, 0.5, Stop(1e-14, 5000), start_of_columns(system, np.arange(3), 0.5))
    V = found.left if found.right is None else found.left @ found.right.T
    T = system.cross - system.values[:, None] * V
    state, shrunk = made_state(V + T / 2.0, 0.5, 2.0)
    step = _suited_step(state, system.values[:, None], system.cross, 0.5, shrunk)
    assert np.linalg.norm(step) < 1e-5 * np.linalg.norm(V)


def test_across_the_left_vectors_a_step_is_that_of_newton():
    # With one label the slope is exact for changes at right angles to V where e is below the penalty.
    system, _ = made_system([9.0], 1)
    e, B, lam, beta = system.values[:, None], system.cross, 0.5, 2.0 * system.values[-1]
    s = lengths_of_columns(system.values, B, lam, 1e-13)
    V = s * B / (e * s + lam)
    T = B - e * V
    across = np.random.default_rng(0).standard_normal(V.shape)
    across -= V * (V * across).sum() / (V * V).sum()
    rest = []
    for size in (1e-3, 1e-4):
        A = V + T / beta + size * across
        state, shrunk = made_state(A, lam, beta)
        after = A + _suited_step(state, e, B, lam, shrunk)
        rest.append(np.linalg.norm(after - (V + T / beta)))
    assert rest[0] < 0.05 * 1e-3 * np.linalg.norm(across)
    assert rest[1] < rest[0] / 50  # of second order


@pytest.mark.parametrize("suited", [0, 1, 3])
@pytest.mark.parametrize("adapted", [2, 500])
def test_plain_steps_take_over_and_find_the_same(suited, adapted, monkeypatch):
    system, square = made_system([9.0, 4.0, 2.0, 0.5, 0.2], 5, spread=2.0)
    start = start_of_columns(system, np.arange(3), 0.5)
    best = minimize_squared(system, square, 0.5, Stop(1e-12, 5000), start).trace[-1]
    monkeypatch.setattr(squared, "SUITED_STEPS", suited)
    monkeypatch.setattr(squared, "ADAPTED_STEPS", adapted)
    found = minimize_squared(system, square, 0.5, Stop(1e-8, 5000), start)
    assert found.optimality <= 1e-8
    assert found.n_iter > suited
    assert found.trace[-1] == pytest.approx(best, rel=2e-8)


def test_a_penalty_under_which_rounding_shows_is_lowered():
    system, square = made_system([9.0, 4.0, 2.0], 2, spread=2.0)
    lam = 1e-6
    start = start_of_columns(system, np.arange(3), lam)._replace(beta=1e7)
    found = minimize_squared(system, square, lam, Stop(1e-13, 20), start)
    assert found.optimality <= 1e-13


@pytest.mark.parametrize(("U", "before", "change"), [
    # The residuals of U - V and of V - before, relative: 9 to 1, 1 to 9, 4 to 1, 100 to 1, and one of them zero.
    (10.0, 0.0, 3.0), (2.0, -8.0, 1 / 3), (5.0, 0.0, 1.0), (101.0, 0.0, 4.0), (2.0, 1.0, 4.0), (1.0, 0.0, 0.25),
])  # fmt: skip
def test_the_penalty_moves_by_the_root_of_what_residuals_differ_by(U, before, change):
    V = np.array([[1.0]])
    U = np.array([[U]])
    # T makes the relative residuals as large as the differences themselves.
    state = State(V, np.array([[max(U[0, 0], 1.0)]]), 1.0, 1)
    changed = state.adapt(U, np.array([[before]]))
    assert state.beta == pytest.approx(change)
    assert changed == (change != 1.0)


def test_thresholding_gives_what_a_step_needs():
    A = np.random.default_rng(0).standard_normal((4, 7))
    shrunk = shrink_singular_values(A, 0.3)
    left, values, right = np.linalg.svd(A, full_matrices=False)
    over = values > 0.3
    assert np.allclose(A @ shrunk.right, shrunk.left * (1 + 0.3 / shrunk.values))
    assert np.allclose(shrunk.right @ shrunk.right.T, right[over].T @ right[over])
    assert np.allclose(np.sort(shrunk.values), np.sort(values[over] - 0.3))
    assert left.shape == (4, 4)


def tied(lam, gamma):
    """Return a fit to rows and labels whose Xl'Y has three singular values of 2, 4 and 6 times a unit."""
    weights = [9, 4, 1]
    X = np.repeat(np.eye(3), weights, axis=0)
    Y = np.repeat(hadamard(4)[:3] > 0, weights, axis=0)
    return SLRM(lam=lam, gamma=gamma).fit(TrainingSet(X, Y))


@pytest.mark.parametrize("lam", [2.0, 8.0, 18.0])
@pytest.mark.parametrize("below", [0.0, 1e-14, 1e-12, 1e-8, 1e-4])
def test_lam_at_a_singular_value_is_solved_like_any_other(lam, below):
    with np.errstate(all="raise"):
        model = tied(lam * (1 - below), 0.1)
    assert model.info.converged
    assert np.isfinite(model.coef).all()
    assert model.info.n_iter <= 10


def test_many_digits_take_few_steps():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((400, 150)), rng.random((400, 80)) < 0.3
    problem = SLRM().prepare(TrainingSet(X, Y))
    info = SLRM(0.1 * problem.lambda_max, 0.0, tol=1e-12, max_iter=20).fit(TrainingSet(X, Y), problem).info
    assert info.optimality <= 1e-12


def test_a_start_from_another_lam_saves_steps():
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((80, 30)) * 10.0 ** rng.uniform(-2, 1, 30), rng.random((80, 12)) < 0.3
    train = TrainingSet(X, Y)
    cold = warm = 0
    for lam in (0.3, 3.0, 30.0):
        cold += SLRM(lam, 0.01, tol=1e-6).fit(train).info.n_iter
        warm += SLRM(lam, 0.01, tol=1e-6).fit(train, init=SLRM(1.05 * lam, 0.01, tol=1e-8).fit(train)).info.n_iter
    assert warm <= cold


def test_what_is_no_number_has_no_gap_of_zero():
    assert np.isnan(relative_gap(np.nan, 1.0))
    assert relative_gap(0.0, 0.0) == 0.0
    assert relative_gap(4.0, 3.0) == 0.25
    # Rounding below 0 is no optimum.
    assert relative_gap(-1e-20, 0.0) == 1.0
