"""Multi-label ranking and SVM-perf on features of unlike scale, and their other methods against the usual ones."""

import numpy as np
import pytest

from mlrank.linalg.interior import interior_point
from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.mlr.interior import GivenExamples, solve_inside
from mlrank.solvers.mlr.rows import Labels, RankingProblem, label_mix
from mlrank.solvers.svm_perf.interior import RocTerms
from mlrank.solvers.svm_perf.planes import Side
from tests.solvers.problems import random_problem


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_the_interior_point_of_multi_label_ranking_is_its_optimum(exact, wide, correlation):
    X, Y = random_problem(n=10, m=25) if wide else random_problem()
    problem = RankingProblem(Labels.of(Y, exact), 0.7, label_mix(Y, correlation))
    given = GivenExamples(X, False, lambda: None, problem)
    coefficients, beta, _ = solve_inside(given, 1e-9)
    primal, dual = given.values(coefficients, beta)
    formulation = "exact" if exact else "approximate"
    solver = SOLVERS["mlr"](C=0.7, kernel="linear", formulation=formulation, correlation=correlation, tol=1e-8)
    assert primal == pytest.approx(solver.fit(TrainingSet(X, Y)).info.objective, rel=3e-8)
    assert dual == pytest.approx(primal, rel=3e-9)
    assert np.abs(beta.sum(axis=1)).max() < 1e-12


def test_mixed_labels_rank_by_a_column_of_a_million():
    X, Y = random_problem()
    X[:, 0] *= 1e6
    model = SOLVERS["mlr"](kernel="linear", correlation=0.5).fit(TrainingSet(X, Y))
    assert model.info.converged
    # The penalty of weights W = V R is trace(V R V') = trace(W R^-1 W').
    R, W = label_mix(Y, 0.5), model.coef.T
    F, signs = X @ W, np.where(Y, 1.0, -1.0)
    losses = [min(np.maximum(0.0, y * (t - f + y)).sum() for t in f - y) for f, y in zip(F, signs, strict=True)]
    mixed = Y.any(axis=1) & ~Y.all(axis=1)
    objective = 0.5 * np.trace(W @ np.linalg.solve(R, W.T)) + np.sum(losses, where=mixed)
    assert model.info.objective == pytest.approx(objective, rel=1e-9)


@pytest.mark.parametrize("key", ["mlr", "svm_perf"])
@pytest.mark.parametrize("ratio", [1e4, 1e6])
def test_a_huge_column_costs_next_to_nothing(key, ratio):
    X, Y = random_problem()
    X[:, 0] = ratio * np.where(Y[:, 0], 1.0, -1.0)
    Y = Y[:, :1] if key == "svm_perf" else np.column_stack([Y[:, 0], ~Y[:, 0]])
    info = SOLVERS[key](kernel="linear").fit(TrainingSet(X, Y)).info
    assert info.converged
    assert info.objective <= 2.0 / ratio**2


def test_the_interior_point_of_svm_perf_is_its_optimum():
    X, Y = random_problem()
    side = Side(np.flatnonzero(Y[:, 0]), np.flatnonzero(~Y[:, 0]))
    point = interior_point(RocTerms(X, side, 3.0), 1e-8, 40)
    info = SOLVERS["svm_perf"](C=3.0, C_convention="unit", tol=1e-8).fit(TrainingSet(X, Y[:, :1])).info
    scores = X @ point.weights
    loss = np.maximum(0.0, 1.0 - (scores[side.positive][:, None] - scores[side.negative])).mean()
    assert point.gap <= 1e-8
    assert 0.5 * point.weights @ point.weights + 3.0 * loss == pytest.approx(info.objective, rel=3e-8)
