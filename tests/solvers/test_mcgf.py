from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import solve_sylvester
from scipy.sparse import csr_array

from mlrank.graphs import self_tuning_graph
from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.propagation.mcgf import Propagation, _of_each_part
from mlrank.solvers.propagation.systems import GraphSolution
from tests.solvers.problems import random_problem
from tests.solvers.test_smse import APART, given_graph


def parts(seed=0, n=60, n_train=35):
    X, Y = random_problem(n=n, seed=seed)
    return TrainingSet(X[:n_train], Y[:n_train], X[n_train:])


def targets(train):
    return np.vstack([2.0 * train.Y - 1, np.zeros((len(train.X_unlabeled), train.n_labels))])


def cosines(Y):
    columns = Y.T.astype(float)
    lengths = np.linalg.norm(columns, axis=1)
    return columns @ columns.T / np.outer(lengths, lengths)


def laplacian_of(A):
    return np.diag(A.sum(axis=1)) - A


def laplacian(train):
    return laplacian_of(self_tuning_graph(np.vstack([train.X, train.X_unlabeled]), 10).toarray())


def all_scores(solver, train):
    return solver.fit(train).decision_function(np.vstack([train.X, train.X_unlabeled]))


def test_the_path_of_three_rows():
    rows, graph = given_graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]], 2)
    train = TrainingSet(rows[:2], np.eye(2, dtype=bool), rows[2:])
    model = SOLVERS["mcgf"](a=0.0, coding="zero_one", tol=1e-13).fit(train, Propagation(graph))
    G = np.array([[5, -1, -4], [-1, 2, -1], [-4, -1, 5]]) / 9
    assert np.allclose(model.decision_function(rows), G[:, :2], atol=1e-12)


@pytest.mark.parametrize("a", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_product_is_the_pseudo_inverse_times_correlations(a, seed):
    train = parts(seed)
    corr = cosines(train.Y)
    np.fill_diagonal(corr, 0.0)
    L, Y0 = laplacian(train), targets(train)
    base = np.linalg.pinv(L, hermitian=True) @ Y0
    solver = SOLVERS["mcgf"](a=a, tol=1e-13)
    assert np.allclose(all_scores(solver, train), base @ (np.eye(5) + a * corr), atol=1e-9)
    objective = np.trace(base.T @ L @ base) - 2 * np.trace(base.T @ Y0)
    assert solver.fit(train).info.objective == pytest.approx(objective, rel=1e-10)


@pytest.mark.parametrize(("b", "rho"), [(1.0, 0.0), (1.0, 0.5), (0.2, 0.95), (5.0, 0.9)])
def test_sylvester_solves_its_equation(b, rho):
    train = parts(2)
    L, Y0, corr = laplacian(train), targets(train), cosines(train.Y)
    a = rho * b / np.linalg.eigvalsh(corr)[-1]
    expected = solve_sylvester(L + b * np.eye(60), -a * corr, b * Y0)
    solver = SOLVERS["mcgf"](variant="sylvester", b=b, rho=rho, tol=1e-13)
    assert np.allclose(all_scores(solver, train), expected, atol=1e-9)
    if rho == 0:
        assert np.allclose(expected, np.linalg.solve(L + b * np.eye(60), b * Y0), atol=1e-12)
    objective = b * ((expected - Y0) ** 2).sum() + np.trace(expected.T @ L @ expected)
    objective -= a * np.trace(expected @ corr @ expected.T)
    assert solver.fit(train).info.objective == pytest.approx(objective, rel=1e-9)


def test_with_a_vanishing_weight_of_labels_sylvester_becomes_the_green_function():
    train = parts(3)
    product = all_scores(SOLVERS["mcgf"](a=0.0, tol=1e-13), train)
    small = all_scores(SOLVERS["mcgf"](variant="sylvester", b=1e-6, rho=0.0, tol=1e-13), train)
    # (L + b I)^-1 b Y0 is the mean of Y0 plus b G Y0 up to b^2.
    assert np.allclose((small - small.mean(axis=0)) / 1e-6, product, atol=1e-4)


@pytest.mark.parametrize(("g", "a"), [(0.5, 0.0), (3.0, 0.4), (0.0, 0.1)])
def test_similarity_is_the_product_on_a_graph_with_edges_between_like_rows(g, a):
    train = parts(4)
    corr = cosines(train.Y)
    A = self_tuning_graph(np.vstack([train.X, train.X_unlabeled]), 10).toarray()
    Y = train.Y.astype(float)
    for i in range(35):
        for j in range(35):
            if i != j and Y[i].any() and Y[j].any():
                A[i, j] += g * (Y[i] @ corr @ Y[j]) / (np.linalg.norm(Y[i]) * np.linalg.norm(Y[j]))
    np.fill_diagonal(corr, 0.0)
    expected = np.linalg.pinv(laplacian_of(A), hermitian=True) @ targets(train) @ (np.eye(5) + a * corr)
    solver = SOLVERS["mcgf"](variant="similarity", g=g, a=a, tol=1e-13)
    assert np.allclose(all_scores(solver, train), expected, atol=1e-9)


@pytest.mark.parametrize("variant", ["product", "sylvester", "similarity"])
@pytest.mark.parametrize("tol", [1e-3, 1e-10])
def test_optimality_is_the_residual_of_the_system(variant, tol):
    train = parts(5)
    L, Y0 = laplacian(train), targets(train)
    model = SOLVERS["mcgf"](variant=variant, rho=0.0, g=0.0, a=0.0, tol=tol).fit(train)
    F = model.decision_function(np.vstack([train.X, train.X_unlabeled]))
    B = Y0 if variant == "sylvester" else Y0 - Y0.mean(axis=0)
    residual = (L + np.eye(60) * (variant == "sylvester")) @ F - B
    # One part, so that each label counts by itself, for "sylvester" in the eigenvectors of the cosines.
    turn = np.linalg.eigh(0.0 * cosines(train.Y))[1]
    lengths, own = (np.linalg.norm(V @ turn, axis=0) for V in (residual, B))
    if variant == "product":  # a part's scores count among what its differences are relative to
        own += 1e-4 * np.linalg.norm(np.diag(L)[:, None] * F, axis=0)
    assert model.info.optimality == pytest.approx((lengths / own).max(), rel=1e-2, abs=1e-15)
    assert model.info.optimality <= tol


def test_means_are_taken_over_each_connected_part():
    # Rows 0 and 1 have labels, rows 3, 4 and 5 are out of their reach.
    rows, graph = given_graph(APART, 2)
    train = TrainingSet(rows[:2], np.eye(2, dtype=bool), rows[2:])
    model = SOLVERS["mcgf"](a=0.0, tol=1e-13).fit(train, Propagation(graph))
    Y0 = np.zeros((6, 2))
    Y0[:2] = [[1, -1], [-1, 1]]
    scores = model.decision_function(rows)
    assert np.allclose(scores, np.linalg.pinv(laplacian_of(APART), hermitian=True) @ Y0, atol=1e-12)
    assert scores[3:].tolist() == [[0.0, 0.0]] * 3
    assert model.info.notes == ("3 rows joined to no training row score 0",)


def test_like_rows_join_parts_of_the_graph():
    # Two pairs of rows that only the labels of rows 0 and 1 join, by way of row 2, which carries both; row 5 is alone.
    A = np.zeros((6, 6))
    A[0, 3] = A[3, 0] = A[1, 4] = A[4, 1] = 1.0
    Y = np.array([[1, 0], [0, 1], [1, 1]], dtype=bool)
    rows, graph = given_graph(A, 3)
    model = SOLVERS["mcgf"](variant="similarity", a=0.0, g=1.0, tol=1e-13).fit(
        TrainingSet(rows[:3], Y, rows[3:]), Propagation(graph)
    )
    # Corr = [[1, .5], [.5, 1]]: rows of one label are alike by .5, each is like row 2 by 1.5 / sqrt(2).
    A[0, 1] = A[1, 0] = 0.5
    A[0, 2] = A[2, 0] = A[1, 2] = A[2, 1] = 1.5 / np.sqrt(2)
    Y0 = np.zeros((6, 2))
    Y0[:3] = 2.0 * Y - 1
    expected = np.linalg.pinv(laplacian_of(A), hermitian=True) @ Y0
    assert np.allclose(model.decision_function(rows), expected, atol=1e-12)


@pytest.mark.parametrize("coding", ["signs", "zero_one"])
@pytest.mark.parametrize("variant", ["product", "sylvester", "similarity"])
def test_labels_of_one_class_have_constant_scores_beyond_the_others(variant, coding):
    train = parts(6)
    Y = train.Y.copy()
    Y[:, 1], Y[:, 3] = True, False
    solver = SOLVERS["mcgf"](variant=variant, coding=coding, a=2.0, g=0.5, tol=1e-12)
    found = solver.fit(TrainingSet(train.X, Y, train.X_unlabeled))
    rest = solver.fit(TrainingSet(train.X, Y[:, [0, 2, 4]], train.X_unlabeled))
    most = max(1.0, np.abs(found.scores[:, [0, 2, 4]]).max())
    assert set(found.scores[:, 1]) == {most}
    assert set(found.scores[:, 3]) == {-most}
    assert np.allclose(found.scores[:, [0, 2, 4]], rest.scores, atol=1e-9)
    assert found.info.notes == ("2 labels of all or no training rows have constant scores",)


@pytest.mark.parametrize("variant", ["product", "sylvester", "similarity"])
def test_one_preparation_serves_every_setting_with_the_same_bytes(variant):
    train = parts(7)
    prepared = SOLVERS["mcgf"]().prepare(train)
    for settings in (
        {"a": 0.0},
        {"a": 1.0},
        {"b": 3.0},
        {"rho": 0.1},
        {"g": 2.0},
        {"coding": "zero_one"},
        {"tol": 1e-3},
    ):
        solver = SOLVERS["mcgf"](variant=variant, **settings)
        shared, alone = solver.fit(train, prepared), solver.fit(train)
        assert shared.scores.tobytes() == alone.scores.tobytes()
        assert shared.info == alone.info


def test_weights_out_of_range_are_refused():
    for name in ("a", "rho", "g"):
        with pytest.raises(ValueError, match=f"{name} must be a number, 0 or above, found -0.5"):
            SOLVERS["mcgf"](**{name: -0.5})
    with pytest.raises(ValueError, match=r"rho must be at most 0.95, so that the problem is bounded, found 0.99"):
        SOLVERS["mcgf"](rho=0.99)


def grounded(L, B):
    """Return the solution of L F = B, whose columns sum to 0, with a last row of 0: elimination in fractions."""
    rows = [[Fraction(value) for value in (*line, *right)] for line, right in zip(L[:-1, :-1], B[:-1], strict=True)]
    n = len(rows)
    for i in range(n):
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for j in range(n):
            if j != i:
                rows[j] = [a - rows[j][i] * b for a, b in zip(rows[j], rows[i], strict=True)]
    return np.array([[float(value) for value in line[n:]] for line in rows] + [[0.0] * B.shape[1]])


@pytest.mark.parametrize("variant", ["product", "similarity"])
def test_parts_that_next_to_nothing_joins_have_the_levels_that_flow_between_them_gives(variant):
    # Two triangles of rows; one carries the first label twice, and an edge of 1e-7 takes the rest over.
    A = np.kron(np.eye(2), 1.0 - np.eye(3))
    A[0, 3] = A[3, 0] = 1e-7
    order = [0, 1, 3, 2, 4, 5]
    A = A[np.ix_(order, order)]
    Y = np.array([[1, 0], [1, 0], [0, 1]], dtype=bool)
    rows, graph = given_graph(A, 3)
    settings = {"a": 0.0, "g": 1e-300 if variant == "similarity" else 0.0}
    model = SOLVERS["mcgf"](variant=variant, **settings).fit(TrainingSet(rows[:3], Y, rows[3:]), Propagation(graph))
    Y0 = np.zeros((6, 2))
    Y0[:3] = np.where(Y, 1.0, -1.0)
    B = Y0 - Y0.mean(axis=0)
    L = -A + np.diag([float(sum(map(Fraction, line))) for line in A])
    expected = grounded(L, B)
    scores = model.decision_function(rows)
    apart = np.abs((scores - scores[-1]) - expected).max() / np.abs(expected).max()
    assert apart <= 1e-6 if model.info.converged else variant == "similarity"


def test_a_large_part_does_not_hide_the_residual_of_a_small_one():
    # Twenty rows in a ring with labels of their own, and two rows whose scores are those of no label.
    ring = np.roll(np.eye(20), 1, axis=1)
    A = np.zeros((22, 22))
    A[:20, :20], A[20, 21], A[21, 20] = ring + ring.T, 1.0, 1.0
    L = csr_array(laplacian_of(A))
    B = np.zeros((22, 1))
    B[:20:2], B[1:20:2], B[20], B[21] = 1e6, -1e6, 1.0, -1.0
    F = np.linalg.pinv(L.toarray(), hermitian=True) @ B
    F[20:] = 0.0
    part = np.repeat([0, 1], [20, 2])
    wrong = GraphSolution(F, 1, 1e-7)
    judged = _of_each_part(wrong, L.__matmul__, L.diagonal(), B, part, 1e-6, 0)
    assert judged.optimality == pytest.approx(1.0)
    mended = _of_each_part(wrong, L.__matmul__, L.diagonal(), B, part, 1e-6, 1000)
    assert mended.optimality <= 1e-6
    assert mended.F[20:] == pytest.approx(np.array([[0.5], [-0.5]]), rel=1e-6)
