"""What exists for the paper's sake: Frank-Wolfe, the printed order and stop rule, other readings of constants."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.hypergraph import euclidean_distance
from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.rank_svm.rank_svm import solve
from mlrank.solvers.rank_svm.settings import RankSettings
from tests.solvers.problems import SCENARIOS, caps, load, pairs_of, random_problem, rank_dual, rank_primal, with_bias
from tests.solvers.test_rank_svm import textbook_pass

RankSVM, RankHLapSVM = SOLVERS["rank_svm"], SOLVERS["rank_hlapsvm"]


@pytest.mark.parametrize("sparse", [False, True])
def test_frank_wolfe_certificate_recomputed(sparse):
    X, Y = random_problem()
    solver = RankSVM(C=3.0, algorithm="frank_wolfe", tol=1e-2)
    solution = solve(solver.prepare(TrainingSet(csr_array(X) if sparse else X, Y)), RankSettings.of(solver))
    upper = np.array([caps(Y, 3.0)[i] for i, _, _ in pairs_of(Y)])
    assert (solution.alpha >= 0).all()
    assert (solution.alpha <= upper).all()
    W = np.column_stack([solution.coef, solution.intercept])
    assert solution.primal == pytest.approx(rank_primal(W, with_bias(X), Y, 3.0), rel=1e-11)
    assert solution.dual == pytest.approx(rank_dual(solution.alpha, with_bias(X), Y)[0], rel=1e-11)
    assert solution.optimality <= 1e-2


@pytest.mark.parametrize(("C", "w", "objective"), [(0.1, 0.2, 0.16), (1.0, 0.5, 0.25)])
def test_frank_wolfe_solves_two_opposite_rows_in_one_step(C, w, objective):
    train = TrainingSet(np.array([[1.0], [-1.0]]), np.eye(2, dtype=bool))
    model = RankSVM(C=C, tol=1e-12, algorithm="frank_wolfe").fit(train)
    assert model.info.n_iter == 1
    assert model.coef.ravel() == pytest.approx([w, -w])
    assert model.info.objective == pytest.approx(objective)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_frank_wolfe_bounds_hold_the_optimum(scenario):
    f = load(scenario)
    X, Y = f["in_X"], f["in_Y"].astype(bool)
    info = RankSVM(C=float(f["in_C"]), algorithm="frank_wolfe", max_iter=200).fit(TrainingSet(X, Y)).info
    best = float(f["rank_obj"])
    assert info.objective * (1 - info.optimality) <= best * (1 + 1e-9)
    assert best <= info.objective * (1 + 1e-9)
    settings = {"lam": float(f["in_lam"]), "nu": float(f["in_nu"]), "C": float(f["in_C"])}
    info = RankHLapSVM(algorithm="frank_wolfe", max_iter=200, **settings).fit(TrainingSet(X, Y)).info
    best = float(f["hlap_obj"])
    assert info.objective * (1 - info.optimality) <= best * (1 + 1e-9) <= info.objective * (1 + 2e-9)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_printed_order_is_algorithm_1_to_the_update(sparse):
    X, Y = random_problem()
    X = X + 1.0  # so that flattening would show
    train = TrainingSet(csr_array(X) if sparse else X, Y)
    solver = RankSVM(C=3.0, order="cyclic", max_iter=7, tol=1e-12)
    solution = solve(solver.prepare(train), RankSettings.of(solver))
    rows, alpha = with_bias(X), np.zeros(len(list(pairs_of(Y))))
    W = np.zeros((Y.shape[1], rows.shape[1]))
    for _ in range(7):
        textbook_pass(rows, Y, 3.0, W, alpha, range(len(Y)))
    assert np.allclose(solution.alpha, alpha, atol=1e-10)
    assert np.allclose(np.column_stack([solution.coef, solution.intercept]), W, atol=1e-10)


def test_the_printed_stop_rule_stops_at_the_first_short_pass():
    X, Y = random_problem()
    alphas = []
    for max_iter in range(1, 40):
        solver = RankSVM(C=3.0, order="cyclic", max_iter=max_iter, tol=1e-12)
        alphas.append(solve(solver.prepare(TrainingSet(X, Y)), RankSettings.of(solver)).alpha)
    steps = [np.linalg.norm(b - a) for a, b in zip([0 * alphas[0], *alphas], alphas, strict=False)]
    eps = 0.05
    first = next(number for number, step in enumerate(steps, 1) if step < eps)
    assert 2 < first < 39
    model = RankSVM(C=3.0, order="cyclic", stop="step", eps=eps).fit(TrainingSet(X, Y))
    assert model.info.n_iter == first
    assert model.info.converged == (model.info.optimality <= 1e-3)


def test_the_printed_stop_rule_depends_on_the_unit_of_the_features():
    """Features times 300 make steps of alpha tiny, so that the rule stops far from the optimum."""
    X, Y = random_problem()
    info = RankSVM(C=8.0, stop="step", eps=1e-2).fit(TrainingSet(300 * X, Y)).info
    assert not info.converged
    assert info.optimality > 0.1


def test_a_mean_of_losses():
    X, Y = random_problem()
    mean = RankSVM(C=80.0, C_scale="mean", tol=1e-9).fit(TrainingSet(X, Y))
    plain = RankSVM(C=80.0 / len(X), tol=1e-9).fit(TrainingSet(X, Y))
    assert np.array_equal(mean.coef, plain.coef)


@pytest.mark.parametrize("sparse", [False, True])
def test_unsquared_distances(sparse):
    X, Y = random_problem()
    Y[:, 4] = False
    Y[5, 4] = True
    rows = csr_array(X) if sparse else X
    brute = np.zeros(5)
    for label in range(4):
        mine = X[Y[:, label]]
        brute[label] = sum(np.linalg.norm(u - v) for u in mine for v in mine) / (len(mine) * (len(mine) - 1))
    assert euclidean_distance(rows, Y) == pytest.approx(brute, abs=1e-6)
    euclid = RankHLapSVM(C=2.0, nu=0.2, tol=1e-8, distance="euclid").fit(TrainingSet(rows, Y))
    squared = RankHLapSVM(C=2.0, nu=0.2, tol=1e-8).fit(TrainingSet(rows, Y))
    assert np.abs(euclid.coef - squared.coef).max() > 1e-3


def test_weights_that_vanish_are_told():
    X, Y = random_problem()
    info = RankHLapSVM(nu=100.0).fit(TrainingSet(X, Y)).info
    assert len(info.notes) == 1
    assert "every hyperedge weight is below 1e-12 (nu = 100, smallest mean squared distance" in info.notes[0]
    assert RankHLapSVM(nu=1.0).fit(TrainingSet(X, Y)).info.notes == ()
    assert RankHLapSVM(nu=100.0, lam=0.0).fit(TrainingSet(X, Y)).info.notes == ()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"algorithm": "newton"}, "algorithm must be one of .*, found 'newton'"),
        ({"order": "random"}, "order must be one of .*, found 'random'"),
        ({"stop": "steps"}, "stop must be one of .*, found 'steps'. Did you mean 'step'"),
        ({"C_scale": "n"}, "C_scale must be one of .*, found 'n'"),
        ({"kernel": "rfb"}, "kernel must be one of .*, found 'rfb'. Did you mean 'rbf'"),
        ({"algorithm": "frank_wolfe", "order": "cyclic"}, "order 'cyclic' is of algorithm 'dcd' alone"),
        ({"algorithm": "frank_wolfe", "stop": "step"}, "stop 'step' is of algorithm 'dcd' alone"),
        ({"gamma": 0.0}, "gamma must be a number above 0"),
    ],
)
@pytest.mark.parametrize("solver", [RankSVM, RankHLapSVM])
def test_settings_that_do_not_exist_are_refused(solver, settings, message):
    with pytest.raises(ValueError, match=message):
        solver(**settings)


def test_distances_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="distance must be one of squared, euclid, found 'cosine'"):
        RankHLapSVM(distance="cosine")
    with pytest.raises(ValueError, match="distance 'euclid' needs rows of features, found kernel 'precomputed'"):
        RankHLapSVM(distance="euclid", kernel="precomputed")
