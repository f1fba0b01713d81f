"""SVM-perf with the ROC-area loss against definitions over all pairs, LIBLINEAR on pairs, and cases by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog, minimize
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC

from mlrank.kernels import KERNELS
from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.svm_perf import planes
from mlrank.solvers.svm_perf.planes import LabelSearch, Side, swapped
from mlrank.solvers.svm_perf.svm_perf import Products, log_odds, search_labels
from tests.solvers.problems import random_problem


def machine(**settings):
    return SOLVERS["svm_perf"](**{"C_convention": "unit", "tol": 1e-7} | settings)


def side_of(relevant):
    return Side(np.flatnonzero(relevant), np.flatnonzero(~relevant))


def pair_loss(scores, relevant):
    """Return the mean over pairs of the hinge loss, pair by pair."""
    terms = [max(0.0, 1 - (a - b)) for a in scores[relevant] for b in scores[~relevant]]
    return float(np.mean(terms))


def primal(w, X, relevant, C):
    return 0.5 * float(w @ w) + C * pair_loss(X @ w, relevant)


def one_label(n=30, m=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, m))
    return X, (X @ rng.standard_normal(m) + rng.standard_normal(n)) > 0.5


def searched(X, relevant, C, products=None, tol=1e-7, line_search=True, max_planes=5000):
    products = products or Products(X, X @ X.T, by_weights=False)
    search = LabelSearch(side_of(relevant), products.start, C, tol, line_search)
    search_labels([search], products, max_planes)
    return search


class TestOracle:
    @settings(max_examples=200, deadline=None)
    @given(st.data(), st.integers(2, 9))
    def test_it_finds_the_loss_of_all_pairs_with_many_ties(self, data, n):
        scores = data.draw(arrays(np.float64, n, elements=st.sampled_from([-1.0, -0.5, 0.0, 0.25, 0.5, 1.0])))
        relevant = data.draw(arrays(bool, n))
        relevant[0], relevant[1] = True, False
        c, delta = swapped(scores, side_of(relevant))
        assert delta - c @ scores == pytest.approx(pair_loss(scores, relevant), abs=1e-12)
        assert c.sum() == pytest.approx(0.0, abs=1e-12)
        other = data.draw(arrays(np.float64, n, elements=st.floats(-2, 2)))
        assert delta - c @ other <= pair_loss(other, relevant) + 1e-12
        again = swapped(scores + 8.0, side_of(relevant))
        assert np.array_equal(c, again[0])
        assert delta == again[1]

    def test_by_hand(self):
        x, relevant = np.array([2.0, 0.0, 1.0, -1.0]), np.array([True, True, False, False])
        c, delta = swapped(0 * x, side_of(relevant))
        assert (c.tolist(), delta) == ([0.5, 0.5, -0.5, -0.5], 1.0)
        c, delta = swapped(x, side_of(relevant))
        assert (c.tolist(), delta) == ([0.0, 0.25, -0.25, 0.0], 0.25)

    def test_rounding_never_lets_the_two_sides_disagree(self):
        rng = np.random.default_rng(0)
        for _ in range(200):
            scores = rng.integers(0, 4, 12) * 0.1 + rng.integers(0, 3, 12)
            c, _ = swapped(scores, side_of(np.arange(12) < 5))
            assert abs(c.sum()) < 1e-15


@pytest.mark.parametrize(("C", "w", "objective"), [(0.5, 1 / 3, 7 / 18), (2.0, 0.5, 1.375)])
def test_by_hand(C, w, objective):
    X, Y = np.array([[2.0], [0.0], [1.0], [-1.0]]), np.array([[True], [True], [False], [False]])
    model = machine(C=C, tol=1e-12).fit(TrainingSet(X, Y))
    assert model.coef[0, 0] == pytest.approx(w, abs=1e-6)
    assert model.info.objective == pytest.approx(objective, abs=1e-9)
    assert machine(C=C / 100, C_convention="perf", tol=1e-12).fit(TrainingSet(X, Y)).info == model.info


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("line_search", [True, False])
def test_the_optimum_is_that_of_liblinear_on_all_pairs(C, line_search):
    X, relevant = one_label()
    pairs = np.array([a - b for a in X[relevant] for b in X[~relevant]])
    sign = np.where(np.arange(len(pairs)) % 2, 1.0, -1.0)
    svc = LinearSVC(C=C / len(pairs), loss="hinge", fit_intercept=False, tol=1e-9, max_iter=2_000_000, random_state=0)
    w = svc.fit(pairs * sign[:, None], sign).coef_[0]
    best = primal(w, X, relevant, C)
    search = searched(X, relevant, C, line_search=line_search)
    assert search.optimality <= 1e-7
    assert search.dual <= best * (1 + 1e-9)
    assert search.primal == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("C", [0.3, 30.0])
def test_the_certificate_follows_from_the_definitions(seed, C):
    """The primal over all pairs; the dual of pair weights within their bounds, found by linear programming."""
    X, relevant = one_label(n=18, seed=seed)
    K = KERNELS["rbf"](X, X, 0.4)
    found = searched(X, relevant, C, Products(X, K, by_weights=False), tol=1e-5).solution
    value = 0.5 * found.coef @ K @ found.coef + C * pair_loss(K @ found.coef, relevant)
    assert found.primal == pytest.approx(value, rel=1e-12)
    n_positive, n_negative = relevant.sum(), (~relevant).sum()
    rows = np.kron(np.eye(n_positive), np.ones(n_negative))
    columns = np.kron(np.ones(n_positive), np.eye(n_negative))
    # dual_coef of a positive row is the sum of its pairs' weights, of a negative row minus that sum.
    answer = linprog(
        np.zeros(n_positive * n_negative),
        A_eq=np.vstack([rows, columns]),
        b_eq=np.concatenate([found.dual_coef[relevant], -found.dual_coef[~relevant]]),
        bounds=(0, C / (n_positive * n_negative) * (1 + 1e-9)),
    )
    assert answer.status == 0
    bound = found.dual_coef[relevant].sum() - 0.5 * found.dual_coef @ K @ found.dual_coef
    assert found.dual == pytest.approx(bound, rel=1e-9)
    assert 0 <= found.primal - found.dual <= 1e-5 * found.primal


def test_the_objective_is_the_sum_over_labels_and_no_move_improves_it():
    X, Y = random_problem(seed=3)
    model = machine(C=5.0).fit(TrainingSet(X, Y))
    labels = [label for label in range(5) if Y[:, label].any() and not Y[:, label].all()]
    values = [primal(model.coef[label], X, Y[:, label], 5.0) for label in labels]
    assert model.info.objective == pytest.approx(sum(values), rel=1e-12)
    rng = np.random.default_rng(0)
    for label, value in zip(labels, values, strict=True):
        for size in (1e-4, 1e-2, 1.0):
            for _ in range(10):
                moved = model.coef[label] + size * rng.standard_normal(X.shape[1])
                assert primal(moved, X, Y[:, label], 5.0) >= value * (1 - 1e-7)


def test_weights_products_and_the_gram_matrix_give_the_same_machine():
    X, relevant = one_label(n=40, m=5, seed=1)
    for rows in (X, csr_array(X)):
        by_weights = searched(X, relevant, 20.0, Products(rows, None, by_weights=True))
        by_products = searched(X, relevant, 20.0, Products(rows, None, by_weights=False))
        by_gram = searched(X, relevant, 20.0)
        w = by_weights.best.coef
        assert np.allclose(w, X.T @ by_products.best.coef, atol=1e-3)
        assert np.allclose(w, X.T @ by_gram.best.coef, atol=1e-3)
        assert by_weights.primal == pytest.approx(by_gram.primal, rel=1e-7)
        assert by_products.primal == pytest.approx(by_gram.primal, rel=1e-7)


@pytest.mark.parametrize(("n", "m", "form"), [(30, 5, "weights"), (10, 40, "gram"), (30, 60, "gram")])
def test_dense_rows_are_kept_as_costs_least(n, m, form):
    X, Y = random_problem(n=n, m=m)
    products = machine().prepare(TrainingSet(X, Y))
    assert products.by_weights == (form == "weights")
    assert (products.gram is None) == (form == "weights")


def test_wide_sparse_rows_are_kept_as_products():
    sparse = np.zeros((30, 200))
    sparse[np.arange(30), np.arange(30)] = 1.0
    products = machine().prepare(TrainingSet(csr_array(sparse), random_problem(n=30)[1]))
    assert (products.gram, products.by_weights) == (None, False)


def test_a_linear_kernel_matrix_gives_the_linear_machine():
    X, Y = random_problem(seed=2)
    new = np.random.default_rng(9).standard_normal((7, X.shape[1]))
    linear = machine(C=3.0).fit(TrainingSet(X, Y)).decision_function(new)
    given = machine(C=3.0, kernel="precomputed").fit(TrainingSet(X @ X.T, Y))
    assert np.allclose(given.decision_function(new @ X.T), linear, atol=2e-3)
    polynomial = machine(C=3.0, kernel="polynomial", degree=1, coef0=0.0, gamma=1.0).fit(TrainingSet(X, Y))
    assert np.allclose(polynomial.decision_function(new), linear, atol=2e-3)


def test_many_labels_are_found_as_one_by_one():
    X, Y = random_problem(n=30, m=4, k=40, seed=5)
    together = machine(C=2.0).fit(TrainingSet(X, Y))
    alone = [machine(C=2.0).fit(TrainingSet(X, Y[:, label, None])) for label in range(40)]
    assert np.allclose(together.coef, np.vstack([model.coef for model in alone]), atol=1e-3)
    assert together.info.objective == pytest.approx(sum(model.info.objective for model in alone), rel=1e-7)
    assert together.info.n_iter == pytest.approx(sum(model.info.n_iter for model in alone), rel=0.2)


def test_dropping_idle_planes_changes_nothing(monkeypatch):
    X, relevant = one_label(n=60, m=8, seed=2)
    kept = searched(X, relevant, 1000.0)
    monkeypatch.setattr(planes, "IDLE_ROUNDS", 3)
    dropped = searched(X, relevant, 1000.0)
    assert dropped.alpha.size < dropped.n_planes
    assert dropped.primal == pytest.approx(kept.primal, rel=2e-7)


def test_the_line_search_needs_fewer_planes():
    X, relevant = one_label(n=80, m=10, seed=4)
    near, far = (searched(X, relevant, 1000.0, tol=1e-3, line_search=way) for way in (True, False))
    assert 2 * near.n_planes < far.n_planes
    assert near.primal == pytest.approx(far.primal, rel=1e-3)


@pytest.mark.parametrize("C", [3.0, 100.0])
def test_the_line_search_comes_near_the_least_value_on_the_line(C):
    X, relevant = one_label(n=40, m=6, seed=5)
    products = Products(X, X @ X.T, by_weights=False)
    search = LabelSearch(side_of(relevant), products.start, C, 1e-9, True)
    for _ in range(6):
        coefs, images = products.directions(search.c[:, None])
        search.add_plane(coefs[0], images[0])
        (lowest,) = products.points([search.model_minimum()])
        start, way = search.best.coef, lowest.coef - search.best.coef
        search.go_on(lowest)
        along = [primal(X.T @ (start + part * way), X, relevant, C) for part in np.linspace(0, 2, 201)]
        assert search.primal <= min(along) + 0.05 * (along[0] - min(along)) + 1e-5 * along[0]
        assert search.primal == pytest.approx(primal(X.T @ search.best.coef, X, relevant, C), rel=1e-12)


def test_the_number_of_planes_is_limited_and_the_gap_told():
    X, Y = random_problem()
    info = machine(C=1000.0, max_iter=3).fit(TrainingSet(X, Y)).info
    assert info.n_iter == 3 * 5
    assert not info.converged
    assert info.optimality > 1e-7


def test_labels_without_pairs_are_constant_and_count_for_nothing():
    X, Y = random_problem()
    Y[:, 0], Y[:, 1] = True, False
    known = np.ones_like(Y)
    known[:, 2] = False
    model = machine().fit(TrainingSet(X, Y, known=known))
    assert model.decision_function(X[:2])[:, :3].tolist() == [[1.0, -1.0, -1.0]] * 2
    rest = machine().fit(TrainingSet(X, Y[:, 3:]))
    assert model.info.objective == pytest.approx(rest.info.objective, rel=1e-7)
    nothing = machine().fit(TrainingSet(X, np.ones((40, 2), bool)))
    assert nothing.info.converged
    assert nothing.info.objective == nothing.info.n_iter == 0


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_unknown_rows_are_in_no_pair(kernel):
    X, Y = random_problem(n=60, seed=7)
    known = np.random.default_rng(7).random(Y.shape) < 0.7
    solver = machine(C=2.0, kernel=kernel, gamma=0.3)
    scores = solver.fit(TrainingSet(X, Y, known=known)).decision_function(X)
    for label in range(5):
        rows = known[:, label]
        alone = solver.fit(TrainingSet(X[rows], Y[rows, label, None])).decision_function(X)
        assert np.allclose(scores[:, label], alone[:, 0], atol=1e-3)


class TestLogOdds:
    def test_they_minimize_the_logistic_loss_of_drawn_in_targets(self):
        rng = np.random.default_rng(1)
        positive = rng.random(50) < 0.3
        scores = 40.0 + 3.0 * (positive + rng.standard_normal(50))
        n_positive, n_negative = positive.sum(), (~positive).sum()
        target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))

        def loss(point):
            chance = 1 / (1 + np.exp(-(point[0] * (scores - 41.0) + point[1])))
            return -np.sum(target * np.log(chance) + (1 - target) * np.log(1 - chance))

        found = minimize(loss, [0.0, 0.0], method="BFGS", options={"gtol": 1e-9}).x
        a, b = log_odds(scores, positive)
        assert a == pytest.approx(found[0], abs=1e-5)
        assert b == pytest.approx(found[1] - 41.0 * found[0], abs=1e-3)

    def test_separated_scores_and_equal_scores_stay_finite(self):
        positive = np.arange(10) < 3
        a, b = log_odds(np.where(positive, 1.0, -1.0), positive)
        # Two points and two unknowns: the targets are met, 4/5 and 1/9.
        assert a + b == pytest.approx(np.log(4), abs=1e-6)
        assert b - a == pytest.approx(np.log(1 / 8), abs=1e-6)
        a, b = log_odds(np.zeros(10), positive)
        assert b == pytest.approx(np.log(np.mean([0.8] * 3 + [1 / 9] * 7) / (1 - np.mean([0.8] * 3 + [1 / 9] * 7))))

    def test_a_machine_whose_scores_are_calibrated_ranks_rows_as_before(self):
        X, Y = random_problem(seed=6)
        plain, scaled = (machine(C=5.0, calibrate=way).fit(TrainingSet(X, Y)) for way in (False, True))
        for label in range(5):
            a, b = log_odds(plain.decision_function(X)[:, label], Y[:, label])
            assert a > 0
            expected = a * plain.decision_function(X)[:, label] + b
            assert np.allclose(scaled.decision_function(X)[:, label], expected, atol=1e-9)
        assert scaled.info == plain.info


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kernel": "chi"}, "kernel must be one of linear, .*, precomputed, found 'chi'"),
        ({"planes": "line"}, "planes must be one of .*, found 'line'"),
        ({"C_convention": "percent"}, "C_convention must be one of .*, found 'percent'"),
        ({"gamma": 0.0}, "gamma must be a number above 0"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        machine(**wrong)


def test_a_precomputed_kernel_must_be_one():
    X, Y = random_problem()
    with pytest.raises(ValueError, match="must be a symmetric matrix"):
        machine(kernel="precomputed").fit(TrainingSet(X, Y))
    with pytest.raises(ValueError, match="must be positive semidefinite"):
        machine(kernel="precomputed").fit(TrainingSet(-X @ X.T, Y))
