import numpy as np
import pytest
from scipy.linalg import solve_sylvester
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from mlrank.graphs import GRAPHS, self_tuning_graph
from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.models import row_digests
from mlrank.solvers.propagation.systems import shifted_cg, sylvester
from mlrank.solvers.row_graph import RowGraph
from tests.solvers.problems import random_problem

HALF = 1 / np.log(2)  # the tau with which labels that never meet are joined by 1/2


def given_graph(A, n_train):
    """Return a graph on rows 0, 1, 2 .. of one feature."""
    A = np.asarray(A, dtype=float)
    rows = np.arange(len(A), dtype=float)[:, None]
    return rows, RowGraph(csr_array(A), row_digests(rows), n_train, ())


def scores_on(A, Y, **settings):
    """Return the scores of all rows of a graph whose first rows have the labels Y."""
    Y = np.array(Y, dtype=bool)
    rows, graph = given_graph(A, len(Y))
    train = TrainingSet(rows[: len(Y)], Y, rows[len(Y) :])
    return SOLVERS["smse"](tol=1e-13, **settings).fit(train, graph).decision_function(rows)


def parts(seed=0, n=60, n_train=35):
    X, Y = random_problem(n=n, seed=seed)
    return TrainingSet(X[:n_train], Y[:n_train], X[n_train:])


def laplacians(train, tau, n_neighbors=10):
    """Return dense L, H and their normalized forms from the definitions."""
    A = self_tuning_graph(np.vstack([train.X, train.X_unlabeled]), n_neighbors).toarray()
    columns = train.Y.T.astype(float)
    lengths = np.linalg.norm(columns, axis=1)
    B = np.exp(-(1 - columns @ columns.T / np.outer(lengths, lengths)) / tau)
    np.fill_diagonal(B, 0.0)
    L, H = (np.diag(M.sum(axis=1)) - M for M in (A, B))
    Ln, Hn = (M / np.sqrt(np.outer(np.diag(M), np.diag(M))) for M in (L, H))
    return L, H, Ln, Hn


def all_scores(solver, train):
    return solver.fit(train).decision_function(np.vstack([train.X, train.X_unlabeled]))


STAR = [[0, 0, 1], [0, 0, 1], [1, 1, 0]]


@pytest.mark.parametrize(("Y", "expected"), [([[1, 0], [0, 1]], [1 / 2, 1 / 2]), ([[1, 0], [1, 0]], [5 / 6, 1 / 6])])
def test_clamped_worked_by_hand(Y, expected):
    scores = scores_on(STAR, Y, variant="smse1", mu=1.0, nu=1.0, tau=HALF)
    assert np.allclose(scores[2], expected, atol=1e-12)
    assert np.array_equal(scores[:2], Y)


def test_smoothed_worked_by_hand():
    scores = scores_on(STAR, np.eye(2), variant="smse2", beta=1.0, gamma=1.0, tau=HALF)
    expected = [[11 / 24, 5 / 24], [5 / 24, 11 / 24], [np.sqrt(2) / 6, np.sqrt(2) / 6]]
    assert np.allclose(scores, expected, atol=1e-12)


@pytest.mark.parametrize("nu", [0.0, 0.3, 50.0])
def test_clamped_solves_the_sylvester_equation(nu):
    train = parts()
    L, H, _, _ = laplacians(train, 0.5)
    m = train.n_samples
    expected = solve_sylvester(2.0 * L[m:, m:], nu * H, -2.0 * L[m:, :m] @ train.Y)
    solver = SOLVERS["smse"](variant="smse1", mu=2.0, nu=nu, tau=0.5, tol=1e-13)
    scores = all_scores(solver, train)
    assert np.allclose(scores[m:], expected, atol=1e-11)
    assert np.array_equal(scores[:m], train.Y)
    F = np.vstack([train.Y, expected])
    objective = 2.0 * np.trace(F.T @ L @ F) + nu * np.trace(F @ H @ F.T)
    assert solver.fit(train).info.objective == pytest.approx(objective, rel=1e-10)


@pytest.mark.parametrize(("beta", "gamma"), [(1.0, 1.0), (30.0, 0.1), (0.2, 20.0), (0.0, 1.0), (1.0, 0.0)])
def test_smoothed_solves_the_sylvester_equation(beta, gamma):
    train = parts()
    _, _, Ln, Hn = laplacians(train, 2.0)
    Y0 = np.vstack([train.Y, np.zeros((25, 5))])
    expected = solve_sylvester(np.eye(60) + beta * Ln, gamma * Hn, Y0)
    solver = SOLVERS["smse"](beta=beta, gamma=gamma, tau=2.0, tol=1e-13)
    assert np.allclose(all_scores(solver, train), expected, atol=1e-11)
    info = solver.fit(train).info
    objective = ((expected - Y0) ** 2).sum()
    objective += beta * np.trace(expected.T @ Ln @ expected) + gamma * np.trace(expected @ Hn @ expected.T)
    assert info.objective == pytest.approx(objective, rel=1e-10)


@pytest.mark.parametrize("variant", ["smse1", "smse2"])
@pytest.mark.parametrize("tol", [1e-3, 1e-10])
def test_optimality_is_the_residual_of_the_equation(variant, tol):
    train = parts(seed=3)
    L, H, Ln, Hn = laplacians(train, 1.0)
    model = SOLVERS["smse"](variant=variant, gamma=1.0, tol=tol).fit(train)
    F = model.decision_function(np.vstack([train.X, train.X_unlabeled]))
    m = train.n_samples
    if variant == "smse1":
        A, C, B, F = L[m:, m:], H, -L[m:, :m] @ train.Y, F[m:]
    else:
        A, C, B = np.eye(len(F)) + Ln, Hn, np.vstack([train.Y, np.zeros((25, 5))])
    # Each eigenvector of the label graph in each part of the graph by itself.
    Q = np.linalg.eigh(C)[1]
    residual, right = (B - A @ F - F @ C) @ Q, B @ Q
    part = connected_components(csr_array(np.abs(A) > 0))[1]
    relative = [
        np.linalg.norm(residual[part == number], axis=0) / np.linalg.norm(right[part == number], axis=0)
        for number in np.unique(part)
        if right[part == number].any()
    ]
    # Of smse1 a little of the scores counts for the right-hand side as well.
    assert model.info.optimality == pytest.approx(np.max(relative), rel=5e-2, abs=1e-14)


def test_without_the_label_graph_scores_are_harmonic_and_between_the_labels():
    train = parts(seed=1)
    L = laplacians(train, 1.0)[0]
    scores = all_scores(SOLVERS["smse"](variant="smse1", nu=0.0, tol=1e-12), train)
    assert np.allclose((L @ scores)[train.n_samples :], 0.0, atol=1e-10)
    assert scores.min() >= -1e-12
    assert scores.max() <= 1 + 1e-12


def test_sums_over_labels_do_not_depend_on_the_label_graph():
    train = parts(seed=2)
    sums = [
        all_scores(SOLVERS["smse"](variant="smse1", nu=nu, tol=1e-12), train).sum(axis=1) for nu in (0.0, 1.0, 100.0)
    ]
    assert np.allclose(sums[0], sums[1], atol=1e-9)
    assert np.allclose(sums[0], sums[2], atol=1e-9)


@pytest.mark.parametrize("variant", ["smse1", "smse2"])
def test_signed_labels_are_twice_the_binary_ones_less_one_where_rows_have_labels(variant):
    train = parts(seed=4)
    Y0 = np.vstack([2.0 * train.Y - 1, np.zeros((25, 5))])
    L, H, Ln, Hn = laplacians(train, 1.0)
    m = train.n_samples
    scores = all_scores(SOLVERS["smse"](variant=variant, gamma=1.0, coding="signs", tol=1e-13), train)
    if variant == "smse2":
        assert np.allclose(scores, solve_sylvester(np.eye(60) + Ln, Hn, Y0), atol=1e-11)
    else:
        assert np.allclose(scores[m:], solve_sylvester(L[m:, m:], H, -L[m:, :m] @ Y0[:m]), atol=1e-11)
        assert np.array_equal(scores[:m], Y0[:m])


# Rows 0, 1 have labels and are joined to row 2; rows 3 and 4 are joined to each other alone, row 5 to none.
APART = np.zeros((6, 6))
APART[0, 2] = APART[2, 0] = APART[1, 2] = APART[2, 1] = APART[3, 4] = APART[4, 3] = 1.0


def test_parts_of_the_graph_without_labels_score_the_means_when_labels_are_fixed():
    Y = np.array([[1, 0], [1, 0]], dtype=bool)
    rows, graph = given_graph(APART, 2)
    model = SOLVERS["smse"](variant="smse1", tau=HALF, tol=1e-12).fit(TrainingSet(rows[:2], Y, rows[2:]), graph)
    scores = model.decision_function(rows)
    assert np.allclose(scores[2], [5 / 6, 1 / 6], atol=1e-12)
    assert scores[3:].tolist() == [[1.0, 0.0]] * 3
    assert model.info.converged
    assert model.info.notes == ("3 rows joined to no training row score the labels' means",)


def test_parts_of_the_graph_without_labels_score_zero_when_labels_are_targets():
    Y = np.array([[1, 0], [0, 1]], dtype=bool)
    rows, graph = given_graph(APART, 2)
    model = SOLVERS["smse"](tau=HALF, tol=1e-12).fit(TrainingSet(rows[:2], Y, rows[2:]), graph)
    assert model.decision_function(rows)[3:].tolist() == [[0.0, 0.0]] * 3
    assert model.info.notes == ("3 rows joined to no training row score 0",)


@pytest.mark.parametrize("variant", ["smse1", "smse2"])
def test_a_single_label_has_no_label_graph(variant):
    train = parts(seed=5)
    alone = TrainingSet(train.X, train.Y[:, :1], train.X_unlabeled)
    with_graph, without = (
        all_scores(SOLVERS["smse"](variant=variant, nu=weight, gamma=weight, tol=1e-12), alone) for weight in (7.0, 0.0)
    )
    assert np.allclose(with_graph, without, atol=1e-10)


def test_clamped_without_unlabeled_rows_returns_the_labels():
    X, Y = random_problem()
    model = SOLVERS["smse"](variant="smse1").fit(TrainingSet(X, Y))
    assert np.array_equal(model.decision_function(X), Y)
    assert (model.info.n_iter, model.info.optimality, model.info.converged) == (0, 0.0, True)


@pytest.mark.parametrize("variant", ["smse1", "smse2"])
def test_no_label_anywhere_gives_zeros(variant):
    train = parts()
    blank = TrainingSet(train.X, np.zeros_like(train.Y), train.X_unlabeled)
    model = SOLVERS["smse"](variant=variant).fit(blank)
    assert not model.decision_function(train.X_unlabeled).any()
    assert model.info.converged


@pytest.mark.parametrize("key", ["smse", "mcgf"])
def test_few_rows_are_all_joined_and_that_is_said(key):
    X, Y = random_problem(n=5)
    model = SOLVERS[key](n_neighbors=9).fit(TrainingSet(X[:3], Y[:3], X[3:]))
    assert model.info.notes[0] == "9 neighbors asked for, 4 other rows there: each row is joined to all"
    assert np.isfinite(model.decision_function(X)).all()
    alone = SOLVERS[key]().fit(TrainingSet(X[:1], Y[:1]))
    assert np.isfinite(alone.decision_function(X[:1])).all()


@pytest.mark.parametrize("key", ["smse", "mcgf"])
@pytest.mark.parametrize("sparse", [False, True])
def test_equal_rows_with_and_without_labels(key, sparse):
    X, Y = random_problem()
    rows = csr_array(X) if sparse else X
    model = SOLVERS[key]().fit(TrainingSet(rows, Y, rows))
    assert model.info.converged
    own, other = model.decision_function(rows[:20]), model.scores[40:60]
    assert np.array_equal(own, other)


@pytest.mark.parametrize("key", ["smse", "mcgf"])
@pytest.mark.parametrize("graph", sorted(GRAPHS))
def test_every_graph_is_the_one_of_that_name(key, graph):
    train = parts(seed=6)
    rows = np.vstack([train.X, train.X_unlabeled])
    width = {} if graph == "self_tuning" else {"width": 0.7}
    named = {"gaussian": {"width": 0.7}, "cosine": {"tau": 0.7}}.get(graph, {})
    prepared = RowGraph(GRAPHS[graph](rows, 4, symmetrize="mutual", **named), row_digests(rows), 35, ())
    solver = SOLVERS[key](graph=graph, n_neighbors=4, symmetrize="mutual", **width)
    from mlrank.solvers.propagation.mcgf import Propagation

    given = prepared if key == "smse" else Propagation(prepared)
    assert solver.fit(train).scores.tobytes() == solver.fit(train, given).scores.tobytes()


@pytest.mark.parametrize("key", ["smse", "mcgf"])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"variant": "smse3"}, "variant must be one of"),
        ({"coding": "ternary"}, "coding must be one of"),
        ({"graph": "complete"}, "graph must be one of self_tuning, gaussian, cosine, found 'complete'"),
        ({"symmetrize": "mean"}, "symmetrize must be one of max, mutual, found 'mean'"),
        ({"n_neighbors": 0}, "n_neighbors must be a whole number of at least 1, found 0"),
        ({"scale_neighbor": 2.5}, "scale_neighbor must be a whole number of at least 1, found 2.5"),
        ({"width": 2.0}, "width goes with graph 'gaussian' or 'cosine'"),
        ({"graph": "cosine", "width": 0.0}, "width must be a number above 0"),
    ],
)
def test_settings_out_of_range_are_refused(key, settings, message):
    with pytest.raises(ValueError, match=message):
        SOLVERS[key](**settings)


@pytest.mark.parametrize("name", ["nu", "beta", "gamma"])
def test_weights_below_zero_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} must be a number, 0 or above, found -1"):
        SOLVERS["smse"](**{name: -1})


def spd(n, seed):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((n, n))
    return M @ M.T + 0.1 * np.eye(n), rng.standard_normal((n, 7))


def test_columns_with_shifts_of_their_own():
    A, B = spd(30, 0)
    B[:, 2] = 0.0
    shifts = np.array([0.0, 1.0, 5.0, 1e3, 0.0, 1e-3, 20.0])
    X, n_iter = shifted_cg(lambda V: A @ V, np.diag(A).copy(), B, shifts, 1e-12, 500)
    expected = np.array([np.linalg.solve(A + s * np.eye(30), b) for s, b in zip(shifts, B.T, strict=True)]).T
    assert np.allclose(X, expected, rtol=1e-8, atol=1e-8)
    assert n_iter < 500


def test_a_residual_that_rounding_has_let_drift_is_solved_for_again():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((60, 60)))[0]
    A = (Q * np.logspace(0, 8, 60)) @ Q.T
    A, B, zero = (A + A.T) / 2, rng.standard_normal((60, 3)), np.zeros((3, 3))

    def residual(F):
        return np.linalg.norm(B - A @ F) / np.linalg.norm(B)

    # Conjugate gradients stop at what they take for the tolerance, and are not there.
    once, spent = shifted_cg(lambda V: A @ V, np.diag(A).copy(), B, np.zeros(3), 2e-9, 20_000)
    assert spent < 20_000
    assert residual(once) > 2e-9
    found = sylvester(lambda V: A @ V, np.diag(A).copy(), zero, B, 2e-9, 20_000)
    assert residual(found.F) <= 2e-9
    assert found.optimality == pytest.approx(residual(found.F), rel=1e-3)


def test_what_cannot_be_reached_is_told():
    A, B = spd(40, 1)
    found = sylvester(lambda V: A @ V, np.diag(A).copy(), np.zeros((7, 7)), B, 1e-30, 10_000)
    assert 0 < found.optimality < 1e-10
    assert found.n_iter <= 10_000
    few = sylvester(lambda V: A @ V, np.diag(A).copy(), np.zeros((7, 7)), B, 1e-10, 3)
    assert few.n_iter == 3
    assert few.optimality == pytest.approx(np.linalg.norm(B - A @ few.F) / np.linalg.norm(B))
    assert few.optimality > 1e-3
