"""Rank-SVM with a bias that is not penalized: certificates, a general QP solver, repair of the dual variables."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.svm import SVC

from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.rank_svm.descent import Pairs
from mlrank.solvers.rank_svm.rank_svm import solve
from mlrank.solvers.rank_svm.rows import meet_constraints
from mlrank.solvers.rank_svm.settings import RankSettings
from tests.solvers.problems import SCENARIOS, caps, load, pairs_of, random_problem, rank_dual, rank_primal

RankSVM, RankHLapSVM = SOLVERS["rank_svm"], SOLVERS["rank_hlapsvm"]


def loss_of(F, Y, C):
    """Return the loss of eq. 9 at scores F, from the definition."""
    return sum(caps(Y, C)[i] * max(0.0, 1 - (F[i, p] - F[i, q])) for i, q, p in pairs_of(Y))


def sums_of(alpha, Y):
    total = np.zeros(Y.shape[1])
    for value, (_, q, p) in zip(alpha, pairs_of(Y), strict=True):
        total[p] += value
        total[q] -= value
    return total


@pytest.mark.parametrize("algorithm", ["dcd", "frank_wolfe"])
@pytest.mark.parametrize("sparse", [False, True])
def test_certificate_recomputed_from_the_definitions(sparse, algorithm):
    X, Y = random_problem(n=25)
    C, tol = 3.0, 1e-6 if algorithm == "dcd" else 0.05
    train = TrainingSet(csr_array(X + 2) if sparse else X + 2, Y)
    solver = RankSVM(C=C, bias="free", tol=tol, algorithm=algorithm)
    solution = solve(solver.prepare(train), RankSettings.of(solver))
    assert solution.optimality <= tol
    upper = np.array([caps(Y, C)[i] for i, _, _ in pairs_of(Y)])
    assert (solution.alpha >= 0).all()
    assert (solution.alpha <= upper).all()
    assert np.abs(sums_of(solution.alpha, Y)).max() <= 1e-11 * solution.alpha.sum()
    primal = 0.5 * np.sum(solution.coef**2) + loss_of((X + 2) @ solution.coef.T + solution.intercept, Y, C)
    assert solution.primal == pytest.approx(primal, rel=1e-12)
    assert solution.dual == pytest.approx(rank_dual(solution.alpha, X + 2, Y)[0], rel=1e-12)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_optimum_lies_between_the_penalized_one_and_its_own_dual(scenario):
    """Dropping a penalty cannot raise the minimum, and adding that of this bias bounds the penalized one."""
    f = load(scenario)
    X, Y, C = f["in_X"], f["in_Y"].astype(bool), float(f["in_C"])
    model = RankSVM(C=C, bias="free", tol=1e-6, max_iter=10**5).fit(TrainingSet(X, Y))
    assert model.info.converged
    best = model.info.objective * (1 - model.info.optimality)
    b = model.intercept - model.intercept.mean()
    assert best <= f["rank_obj"] <= model.info.objective + 0.5 * b @ b + 1e-9


def test_three_rows_whose_optimum_is_known():
    X = np.array([[1.0, 0], [0, 1], [-1, -1]])
    Y = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]], dtype=bool)
    found = RankSVM(C=1.0, bias="free", tol=1e-9).fit(TrainingSet(X, Y)).info.objective
    # The dual as a quadratic program in five variables with three equality constraints, by a general optimizer.
    count = len(list(pairs_of(Y)))
    upper = [caps(Y, 1.0)[i] for i, _, _ in pairs_of(Y)]
    best = minimize(
        lambda alpha: -rank_dual(alpha, X, Y)[0],
        np.zeros(count),
        bounds=[(0, u) for u in upper],
        constraints={"type": "eq", "fun": lambda alpha: sums_of(alpha, Y)[:-1]},
        method="SLSQP",
        options={"ftol": 1e-12},
    )
    assert found == pytest.approx(-best.fun, abs=1e-6)
    assert found == pytest.approx(0.39285, abs=1e-5)


def test_two_exclusive_labels_are_a_binary_svm_with_a_free_bias():
    X, Y = random_problem()
    sign = Y[:, 0]
    model = RankSVM(C=0.5, bias="free", tol=1e-9).fit(TrainingSet(X, np.column_stack([sign, ~sign])))
    binary = SVC(C=1.0, kernel="linear", tol=1e-9).fit(X, sign)
    assert model.coef[0] - model.coef[1] == pytest.approx(binary.coef_[0], abs=1e-4)
    assert model.intercept[0] - model.intercept[1] == pytest.approx(binary.intercept_[0], abs=1e-4)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("lam", [0.0, 0.7])
def test_moved_features_change_the_bias_alone(lam, kernel):
    X, Y = random_problem()
    settings = {"C": 2.0, "lam": lam, "bias": "free", "tol": 1e-9, "kernel": kernel, "gamma": 0.2}
    plain = RankHLapSVM(**settings).fit(TrainingSet(X, Y)).decision_function(X)
    moved = RankHLapSVM(**settings).fit(TrainingSet(X + 5, Y)).decision_function(X + 5)
    plain, moved = (scores - scores.mean(axis=1, keepdims=True) for scores in (plain, moved))
    assert np.allclose(plain, moved, atol=1e-4)


def test_dense_equals_sparse_equals_precomputed():
    X, Y = random_problem()
    settings = {"C": 2.0, "bias": "free", "tol": 1e-11}
    dense = RankSVM(**settings).fit(TrainingSet(X, Y)).decision_function(X)
    sparse = RankSVM(**settings).fit(TrainingSet(csr_array(X), Y)).decision_function(X)
    kernel = RankSVM(kernel="precomputed", **settings).fit(TrainingSet(X @ X.T, Y)).decision_function(X @ X.T)
    for other in (sparse, kernel):
        assert np.allclose(
            dense - dense.mean(axis=1, keepdims=True), other - other.mean(axis=1, keepdims=True), atol=1e-4
        )


@pytest.mark.parametrize("C", [1e-6, 1e6])
def test_extreme_C(C):
    X, Y = random_problem()
    info = RankSVM(C=C, bias="free", max_iter=10**5).fit(TrainingSet(X, Y)).info
    assert info.converged


@pytest.mark.parametrize("at_bounds", [False, True])
def test_repair_meets_the_constraints_within_the_bounds(at_bounds):
    _, Y = random_problem()
    pairs, upper = Pairs.of(Y), caps(Y, 3.0)
    each = np.array([upper[i] for i, _, _ in pairs_of(Y)])
    rng = np.random.default_rng(0)
    alpha = each * (rng.random(len(each)) < 0.5 if at_bounds else rng.random(len(each)))
    assert np.abs(sums_of(alpha, Y)).max() > 0.1
    repaired = meet_constraints(alpha, upper, pairs)
    assert np.abs(sums_of(repaired, Y)).max() <= 1e-11
    assert repaired.sum() > 0.5 * alpha.sum()
    assert (repaired >= 0).all()
    assert (repaired <= each).all()


def test_a_label_that_never_loses_leaves_nothing_but_zeros():
    """Every pair has label 0 as the relevant one, so sum_i beta_i0 = 0 allows alpha = 0 alone."""
    Y = np.array([[True, False, False]] * 4)
    alpha = np.full(8, 0.1)
    assert not meet_constraints(alpha, caps(Y, 1.0), Pairs.of(Y)).any()
    info = RankSVM(bias="free").fit(TrainingSet(np.eye(4), Y)).info
    assert info.objective == pytest.approx(0, abs=1e-9)


def test_the_printed_order_has_a_penalized_bias():
    with pytest.raises(ValueError, match="whose bias is penalized; found bias 'free'"):
        RankSVM(order="cyclic", bias="free")


def test_penalized_objective_is_unaffected_by_the_names():
    X, Y = random_problem()
    model = RankSVM(C=2.0, bias="none", tol=1e-8).fit(TrainingSet(csr_array(X), Y))
    assert model.info.objective == pytest.approx(rank_primal(model.coef, X, Y, 2.0), rel=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_intercepts_that_rank_all_pairs_have_the_objective_zero(kernel):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((24, 6)), np.zeros((24, 3), dtype=bool)
    Y[:, 0], Y[6, 2] = True, True
    model = RankSVM(kernel=kernel, bias="free").fit(TrainingSet(X, Y))
    assert (model.info.objective, model.info.optimality, model.info.converged) == (0.0, 0.0, True)
    F = model.decision_function(X)
    assert (F[:, 0] - F[:, 1] >= 1).all()
    assert F[6, 2] - F[6, 1] >= 1
