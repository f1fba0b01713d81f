"""Solvers that take sparse labels: what they give is that of dense ones, in memory linear in what is stored."""

import tracemalloc
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from mlrank import room
from mlrank.certify import CERTIFIERS
from mlrank.certify.closed import certify_label_space
from mlrank.errors import UserError
from mlrank.linalg import eigen
from mlrank.linalg.eigen import largest_eigenpairs
from mlrank.models import Fit, Predictor
from mlrank.models.predictor import restored
from mlrank.scaling import SCALERS
from mlrank.solvers import SOLVERS, TrainingSet, logistic
from mlrank.solvers.models import top_scores
from mlrank.solvers.one_vs_rest import conjugate, rows
from mlrank.thresholds import THRESHOLDS
from tests.solvers.problems import random_problem


def problem(n=45, k=9, seed=3):
    """Return rows and labels, with a row without labels, a label of all rows, one of none, and equal rows."""
    X, Y = random_problem(n=n, k=k, seed=seed)
    Y[:, 4], Y[:, 5], Y[7] = True, False, False
    X[11:14] = X[10]
    return X, Y


def both(X, Y, key, **settings):
    solver = SOLVERS[key](**settings)
    return solver.fit(TrainingSet(X, Y)), solver.fit(TrainingSet(X, csr_array(Y)))


def large(n, k, d, labels_of_row, seed=0):
    """Return sparse rows and labels of which a dense matrix would take n * k bytes at least."""
    rng = np.random.default_rng(seed)
    X = csr_array(random_array((n, d), density=5 / d, format="csr", rng=rng))
    columns = np.sort(rng.integers(k, size=(n, labels_of_row)), axis=1)
    parts = (np.ones(n * labels_of_row, np.bool_), columns.ravel(), np.arange(0, n * labels_of_row + 1, labels_of_row))
    return X, csr_array(parts, shape=(n, k))


def large_with_main_directions(n, k):
    """Return the same with a few labels of a tenth of the rows each, whose directions are found in a few steps."""
    X, Y = large(n, k, 50, 1)
    some = csr_array(np.random.default_rng(1).random((n, 2)) < [0.1, 0.2])
    return X, csr_array(Y + csr_array((some.data, some.indices, some.indptr), shape=(n, k)))


@contextmanager
def peak_below(most):
    """Fail if the block holds more than `most` bytes at once."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("n_neighbors", [1, 4, 60])
def test_nearest_neighbors_give_the_same_bytes(form, n_neighbors):
    X, Y = problem()
    dense, sparse = both(form(X), Y, "knn", n_neighbors=n_neighbors)
    new = form(np.vstack([X[:6], X[20:30] + 0.1]))
    assert sparse.decision_function(new).tobytes() == dense.decision_function(new).tobytes()
    assert sparse.training_scores().tobytes() == dense.training_scores().tobytes()
    for k in (1, 3, 9, 20):
        expected, found = (top_scores(model, new, k, 9) for model in (dense, sparse))
        assert found.labels.tolist() == expected.labels.tolist()
        assert found.scores.tolist() == expected.scores.tolist()


def test_nearest_neighbors_without_any_label_score_nothing():
    X, Y = problem()
    for labels in (np.zeros_like(Y), csr_array(Y.shape, dtype=bool)):
        model = SOLVERS["knn"]().fit(TrainingSet(X, labels))
        assert not model.decision_function(X).any()
        assert top_scores(model, X[:2], 3, 9).labels.tolist() == [[0, 1, 2]] * 2


@pytest.mark.parametrize(("key", "settings"), [("knn", {}), ("plst", {}), ("hypergraph_spectral", {"n_components": 3})])
def test_models_of_sparse_labels_are_stored(key, settings):
    X, Y = problem()
    train = TrainingSet(X, csr_array(Y))
    model = SOLVERS[key](**settings).fit(train)
    cut = THRESHOLDS["zero"]().fit(model.decision_function(X), Y, X)
    fit = Fit.of(Predictor(SCALERS["none"]().fit(X), None, model, cut, False), X)
    again = restored(fit.parts, fit.arrays, fit.sparse)
    assert again.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    assert again.top_scores(X, 3, 9).labels.tolist() == top_scores(model, X, 3, 9).labels.tolist()


def test_nearest_neighbors_of_very_many_labels_take_little_memory():
    n, k = 20_000, 20_000
    X, Y = large(n, k, 50_000, 5)
    few = SOLVERS["knn"](n_neighbors=5).fit(TrainingSet(X[:50], Y[:50]))  # what libraries take is not counted
    top_scores(few, X[:10], 100, k)
    with peak_below(8 * n * k / 100):
        model = SOLVERS["knn"](n_neighbors=5).fit(TrainingSet(X, Y))
        found = top_scores(model, X[:10], 100, k)
    # Of a row itself and its own labels, whatever else is near.
    for row in range(10):
        own = Y.indices[Y.indptr[row] : Y.indptr[row + 1]]
        assert set(own) <= set(found.labels[row][found.scores[row] > 0])


def scatter(Y):
    """Return Yc'Yc of labels of +1 and -1."""
    S = np.where(Y, 1.0, -1.0)
    S -= S.mean(axis=0)
    return S.T @ S


def regression_error(X, model, Y, lam):
    """Return how far fitted scores are from those of ridge regression onto the model's directions, relative to each."""
    V, S, Xc = model.right, np.where(Y, 1.0, -1.0), X - X.mean(axis=0)
    Z = (S - S.mean(axis=0)) @ V
    best = Xc @ np.linalg.solve(Xc.T @ Xc + lam * np.eye(X.shape[1]), Xc.T @ Z)
    return (np.linalg.norm(Xc @ model.left - best, axis=0) / np.linalg.norm(Z, axis=0)).max()


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize(("b", "lam"), [(1, 0.5), (3, 0.0), (9, 2.0), (0.4, "auto")])
def test_label_directions_of_few_labels_are_those_of_dense_ones(form, b, lam):
    X, Y = problem()
    dense, sparse = both(form(X), Y, "plst", n_components=b, lam=lam)
    assert sparse.info.objective == pytest.approx(dense.info.objective, rel=1e-12)
    assert sparse.info.notes == dense.info.notes
    assert sparse.info.converged
    assert sparse.decision_function(X) == pytest.approx(dense.decision_function(X), abs=1e-9)


def many_labels():
    X, _ = problem(n=400)
    rng = np.random.default_rng(5)
    shared = rng.standard_normal((400, 8)) @ rng.standard_normal((8, 300)) + rng.standard_normal((400, 300))
    Y = shared > 4.5
    Y[:, 7], Y[:, 8], Y[:, 9] = True, False, Y[:, 10]
    return X, Y


def test_label_directions_of_many_labels_are_found_by_products(monkeypatch):
    X, Y = many_labels()
    monkeypatch.setattr(eigen, "FEW", 100)
    monkeypatch.setattr(eigen, "largest", None)
    model = SOLVERS["plst"](n_components=6, lam=0.5).fit(TrainingSet(X, csr_array(Y)))
    monkeypatch.undo()
    dense = SOLVERS["plst"](n_components=6, lam=0.5).fit(TrainingSet(X, Y))
    M, V = scatter(Y), model.right
    best = np.linalg.eigvalsh(M)[::-1][:6]
    assert model.info.objective == pytest.approx(best.sum(), rel=1e-12)
    assert V.T @ V == pytest.approx(np.eye(6), abs=1e-12)
    assert not V[7:9].any()
    residual = np.linalg.norm(M @ V - V * np.diag(V.T @ M @ V), axis=0).max() / best[0]
    assert max(100 * residual, regression_error(X, model, Y, 0.5)) <= model.info.optimality * 1.01 + 1e-12 <= 1e-6
    assert model.info.converged
    assert model.decision_function(X) == pytest.approx(dense.decision_function(X), abs=1e-6)


def test_label_directions_are_certified_apart_from_the_solver():
    X, Y = problem()
    solver, train = SOLVERS["plst"](n_components=3, lam=0.5), TrainingSet(X, csr_array(Y))
    model = solver.fit(train)
    proof = certify_label_space(solver, model, train)
    assert proof.objective == pytest.approx(model.info.objective, rel=1e-12)
    assert proof.certificate <= 1e-9
    wrong = replace(model, left=model.left * 1.01)
    assert certify_label_space(solver, wrong, train).certificate > 1e-3


def test_label_directions_that_were_not_reached_say_so(monkeypatch):
    X, Y = many_labels()
    monkeypatch.setattr(eigen, "FEW", 100)
    monkeypatch.setattr(eigen, "STEPS", 2)
    model = SOLVERS["plst"](n_components=6, lam=0.5).fit(TrainingSet(X, csr_array(Y)))
    M, V = scatter(Y), model.right
    values = np.diag(V.T @ M @ V)
    residual = np.linalg.norm(M @ V - V * values, axis=0).max() / values.max()
    assert not model.info.converged
    assert model.info.optimality == pytest.approx(100 * residual, rel=1e-6)
    assert model.info.objective == pytest.approx(values.sum())


def test_label_directions_of_labels_that_do_not_differ():
    X, Y = problem()
    Y[:] = [True, False, True, False, False, False, False, False, True]
    dense, sparse = both(X, Y, "plst", n_components=2)
    assert (sparse.info.objective, sparse.info.optimality, sparse.info.converged) == (0.0, 0.0, True)
    assert sparse.decision_function(X).tolist() == dense.decision_function(X).tolist()


def test_label_directions_with_a_kernel_are_those_of_dense_labels():
    X, Y = problem()
    dense, sparse = both(X, Y, "plst", n_components=3, kernel="polynomial")
    assert sparse.decision_function(X).tobytes() == dense.decision_function(X).tobytes()


def test_label_directions_beyond_memory_are_refused_in_one_line(monkeypatch):
    X, Y = large(3000, 5000, 40, 3)
    monkeypatch.setattr(room, "available_memory", lambda: 1e8)
    with pytest.raises(UserError, match=r"all directions of \d+ labels would take .* a smaller n_components") as caught:
        SOLVERS["plst"](n_components=0.5).fit(TrainingSet(X, Y))
    assert "\n" not in str(caught.value)
    wide = csr_array((np.ones(3000), np.arange(3000), np.arange(3001)), shape=(3000, 5000))
    with pytest.raises(UserError, match="the decomposition of 3000 rows and 5000 features would take"):
        SOLVERS["plst"](n_components=5).fit(TrainingSet(wide, Y))


def test_label_directions_of_very_many_labels_take_little_memory():
    n, k = 20_000, 20_000
    X, Y = large_with_main_directions(n, k)
    with peak_below(8 * n * k / 100):
        model = SOLVERS["plst"](n_components=2).fit(TrainingSet(X, Y))
    assert model.info.converged
    assert (np.abs(model.right[:2]) > 0.1).any(axis=1).all()


@pytest.mark.parametrize("kind", ["spread", "repeated", "short of rank", "nothing"])
def test_largest_eigenpairs(kind):
    rng, size, count = np.random.default_rng(0), 300, 12
    A = rng.standard_normal((400, size)) * 0.997 ** np.arange(size)
    if kind == "repeated":
        A = np.diag(np.repeat([3.0, 2.0, 1.0], 100))
    elif kind == "short of rank":
        A = rng.standard_normal((400, 5)) @ rng.standard_normal((5, size))
    elif kind == "nothing":
        A = np.zeros((400, size))
    M = A.T @ A
    values, V = largest_eigenpairs(lambda U: M @ U, size, count, 1e-10)
    best = np.linalg.eigvalsh(M)[::-1][:count]
    assert values == pytest.approx(best, abs=1e-12 * best[0] + 1e-300)
    assert V.T @ V == pytest.approx(np.eye(count), abs=1e-12)
    assert np.linalg.norm(M @ V - V * values, axis=0).max() <= 2e-10 * best[0]
    again = largest_eigenpairs(lambda U: M @ U, size, count, 1e-10)[1]
    assert again.tobytes() == V.tobytes()


def test_no_vector_of_an_eigenvalue_is_missed_that_is_repeated_more_often_than_a_block_is_wide():
    # As that of label groups which no row shares; a few tens of them were found before the others seemed the next.
    spectrum = np.concatenate([np.ones(100), np.linspace(0.3, 0.01, 500)])
    values, _ = largest_eigenpairs(lambda U: spectrum[:, None] * U, 600, 50, 1e-9)
    assert values == pytest.approx(np.ones(50), abs=1e-9)


MACHINES = [
    ("binary_svm", {}),
    ("binary_svm", {"loss": "squared_hinge"}),
    ("logistic", {"C": 0.1}),
    ("logistic", {"C": 0.1, "bias": "augmented"}),
]


@pytest.mark.parametrize(("key", "settings"), MACHINES)
def test_machines_of_sparse_labels_are_those_of_dense_ones(key, settings):
    X, Y = problem()
    dense, sparse = both(X, Y, key, **settings)
    assert sparse.coef.tobytes() == dense.coef.tobytes()
    assert sparse.intercept.tobytes() == dense.intercept.tobytes()
    assert sparse.info == dense.info
    # A number for each row and label would be too many: the objective alone can be certified.
    assert sparse.dual_point is None
    proof = CERTIFIERS[key](SOLVERS[key](**settings), sparse, TrainingSet(X, csr_array(Y)))
    assert proof.objective == pytest.approx(sparse.info.objective, rel=1e-9)


@pytest.mark.parametrize(
    ("form", "key"), [(np.asarray, "binary_svm"), (np.asarray, "logistic"), (csr_array, "logistic")]
)
def test_machines_of_many_labels_make_no_array_of_rows_by_labels(form, key, monkeypatch):
    # Sixteen machines at a time: what they hold at once is little beside all labels.
    for name, value in (("CELLS", 1), ("LEAST", 16), ("KEPT", 0)):
        monkeypatch.setattr(rows, name, value)
    monkeypatch.setattr(conjugate, "LANES", 16)
    monkeypatch.setattr(logistic, "DENSE_CELLS", 0)
    n, k = 300, 1200
    X = np.random.default_rng(2).standard_normal((n, 3))
    Y = large(n, k, 100, 20)[1]
    solver = SOLVERS[key](C=0.1, tol=0.5)
    solver.fit(TrainingSet(form(X), Y[:, :20]))  # compiled before anything is counted
    monkeypatch.setattr(TrainingSet, "dense_Y", property(lambda train: pytest.fail("labels were made dense")))
    train = TrainingSet(form(X), Y)
    # Dual variables of all labels would take twice that.
    with peak_below(4 * n * k):
        solver.fit(train)
