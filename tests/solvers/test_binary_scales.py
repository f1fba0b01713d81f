"""Binary-SVM on features and rows of unlike scale: certificates are of the rows that were given."""

import numpy as np
import pytest
from scipy.optimize import linprog

from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.label_machine import LabelRows, balanced, solve_inside, solve_squared
from tests.solvers.problems import random_problem

BinarySVM = SOLVERS["binary_svm"]


def rows_of(X, y, C=2.0):
    return LabelRows(X, False, lambda: None, np.where(y, 1.0, -1.0), C)


def test_objectives_are_the_definitions_and_any_dual_point_is_a_bound():
    X, Y = random_problem()
    rng, sign = np.random.default_rng(0), np.where(Y[:, 0], 1.0, -1.0)
    rows, best = rows_of(X, Y[:, 0]), BinarySVM(C=2.0, tol=1e-9).fit(TrainingSet(X, Y[:, :1])).info.objective
    w, b = rng.standard_normal(X.shape[1]), 0.3
    slack = np.maximum(0.0, 1.0 - sign * (X @ w + b))
    for _ in range(20):
        beta = balanced(sign * 2.0 * rng.random(len(X)) ** 4)
        assert abs(beta.sum()) < 1e-13
        assert (sign * beta >= 0).all()
        assert (sign * beta <= 2.0).all()
        primal, dual = rows.hinge(w, b, beta)
        assert primal == pytest.approx(0.5 * w @ w + 2.0 * slack.sum(), rel=1e-12)
        assert 0.0 <= dual <= best
    primal, dual = rows.squared_hinge(w, b)
    assert primal == pytest.approx(0.5 * (w @ w + b * b) + 2.0 * (slack @ slack), rel=1e-12)
    squared = BinarySVM(C=2.0, loss="squared_hinge", tol=1e-9).fit(TrainingSet(X, Y[:, :1])).info.objective
    assert 0.0 <= dual <= squared


@pytest.mark.parametrize("wide", [False, True])
def test_the_other_methods_find_the_solution_of_the_libraries(wide):
    X, Y = random_problem(n=10, m=25) if wide else random_problem()
    rows = rows_of(X, Y[:, 0])
    weights, intercept, beta, _ = solve_inside(rows, 1e-9, 200)
    model = BinarySVM(C=2.0, tol=1e-9).fit(TrainingSet(X, Y[:, :1]))
    primal, dual = rows.hinge(weights, intercept, beta)
    assert primal == pytest.approx(model.info.objective, rel=1e-8)
    assert dual == pytest.approx(primal, rel=1e-8)
    w, b, _ = solve_squared(rows, 1e-9, 100)
    model = BinarySVM(C=2.0, loss="squared_hinge", tol=1e-9).fit(TrainingSet(X, Y[:, :1]))
    assert np.append(w, b) == pytest.approx(np.append(model.coef[0], model.intercept), abs=1e-6)


@pytest.mark.parametrize("ratio", [1e4, 1e6, 1e8])
def test_a_huge_column_that_separates_costs_next_to_nothing(ratio):
    X, Y = random_problem()
    X[:, 0] = ratio * (np.where(Y[:, 0], 1.0, -1.0) + 0.1 * X[:, 0])
    for loss in ("hinge", "squared_hinge"):
        info = BinarySVM(C=1.0, loss=loss).fit(TrainingSet(X, Y[:, :1])).info
        assert info.converged
        assert info.objective <= 1.0 / (0.5 * ratio) ** 2


@pytest.mark.parametrize("offset", [1e4, 1e6, 1e8])
def test_an_offset_of_all_features_changes_nothing_for_a_free_bias(offset):
    X, Y = random_problem()
    shifted = X + offset
    X = shifted - offset
    plain, moved = (BinarySVM(tol=1e-6).fit(TrainingSet(rows, Y)) for rows in (X, shifted))
    assert moved.info.converged
    assert moved.info.objective == pytest.approx(plain.info.objective, rel=3e-6)


def test_the_hinge_loss_is_that_of_a_linear_program_where_weights_cost_nothing():
    """With all columns huge, the penalty is nothing beside the loss, and the problem a linear program."""
    X, Y = random_problem(n=60)
    sign, n, m = np.where(Y[:, 1], 1.0, -1.0), *X.shape
    A = np.hstack([-sign[:, None] * np.column_stack([X, np.ones(n)]), -np.eye(n)])
    bounds = [(None, None)] * (m + 1) + [(0, None)] * n
    least = linprog(np.append(np.zeros(m + 1), np.ones(n)), A, -np.ones(n), bounds=bounds).fun
    info = BinarySVM(tol=1e-6).fit(TrainingSet(1e6 * X, Y[:, [1]])).info
    assert info.converged
    assert info.objective == pytest.approx(least, rel=2e-6, abs=1e-6)
