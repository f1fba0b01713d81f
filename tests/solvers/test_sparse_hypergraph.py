"""Hypergraph spectral learning by some directions of the labels, dense and sparse, against eigenproblems in numpy."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles
from scipy.sparse import csr_array

from mlrank import room
from mlrank.errors import UserError
from mlrank.hypergraph import expansion_factor
from mlrank.linalg import eigen
from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.hypergraph.targets import sparse_target
from tests.solvers.problems import random_problem
from tests.solvers.test_sparse_labels import both, large, large_with_main_directions, many_labels, peak_below, problem

KEY = "hypergraph_spectral"


def centered_factor(Y, expansion):
    """Return P H0, with H0 from its definition."""
    H = Y.astype(float)
    size = np.maximum(H.sum(axis=0), 1)
    degree = {"clique": (H @ H.T).sum(axis=1), "star": H @ (1 / size), "zhou": H.sum(axis=1)}[expansion]
    edge = {"clique": np.ones(H.shape[1]), "star": 1 / size, "zhou": 1 / np.sqrt(size)}[expansion]
    root = np.divide(1.0, np.sqrt(degree), out=np.zeros(len(H)), where=degree > 0)
    factor = root[:, None] * H * edge
    return factor - factor.mean(axis=0)


@pytest.mark.parametrize("expansion", ["clique", "star", "zhou"])
def test_some_directions_solve_the_problem_of_the_nearest_similarity(expansion):
    X, Y = random_problem(n=45, k=9, seed=3)
    solver = SOLVERS[KEY](n_components=4, lam=0.3, expansion=expansion)
    found = solver.fit_projection(TrainingSet(X, Y))
    U, values, _ = np.linalg.svd(centered_factor(Y, expansion), full_matrices=False)
    nearest = (U[:, :4] * values[:4] ** 2) @ U[:, :4].T
    Xc = X - X.mean(axis=0)
    metric = Xc.T @ Xc + 0.3 * np.eye(X.shape[1])
    best, W = eigh(Xc.T @ nearest @ Xc, metric)
    assert found.eigenvalues == pytest.approx(best[::-1][:4], rel=1e-10)
    assert found.info.objective == pytest.approx(best[::-1][:4].sum(), rel=1e-10)
    assert found.coef.T @ metric @ found.coef == pytest.approx(np.eye(4), abs=1e-10)
    assert np.sin(subspace_angles(found.coef, W[:, ::-1][:, :4])).max() < 1e-8
    lstsq = replace(solver, method="lstsq").fit_projection(TrainingSet(X, Y))
    W = np.linalg.solve(metric, Xc.T @ U[:, :4])
    assert np.sin(subspace_angles(lstsq.coef, W)).max() < 1e-8
    assert lstsq.info.objective == pytest.approx(4 - np.vdot(Xc.T @ U[:, :4], W), rel=1e-10)


def test_all_directions_are_those_that_are_kept_without_a_number():
    X, Y = problem()
    every, asked = (SOLVERS[KEY](n_components=some).fit(TrainingSet(X, Y)) for some in (None, 9))
    assert asked.decision_function(X).tobytes() == every.decision_function(X).tobytes()


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("expansion", ["clique", "star", "zhou"])
@pytest.mark.parametrize(
    "settings",
    [
        {"head": "svm", "svm_tol": 1e-9},
        {"algorithm": "printed", "scale": "unit"},
        {"method": "lstsq", "center_H0": False},
        {"method": "lstsq", "bias": "augment", "n_components": 0.3},
        {"lam": 0.0, "backend": "iterative", "tol": 1e-9},
    ],
)
def test_directions_of_sparse_labels_are_those_of_dense_ones(form, expansion, settings):
    X, Y = problem()
    settings = {"n_components": 4, "head": "ridge", **settings}
    dense, sparse = both(form(X), Y, KEY, expansion=expansion, **settings)
    assert sparse.info.converged
    assert sparse.info.notes == dense.info.notes
    assert sparse.info.objective == pytest.approx(dense.info.objective, rel=1e-10)
    assert sparse.decision_function(X) == pytest.approx(dense.decision_function(X), abs=1e-7)
    assert (sparse.meta()["model"], dense.meta()["model"]) == ("low_rank_factors", "linear")


@pytest.mark.parametrize(
    "settings",
    [{"kernel": "polynomial"}, {"head": "knn"}, {"weights": "distance"}, {"expansion": "cca", "n_components": None}],
)
def test_what_needs_dense_labels_makes_them(settings):
    X, Y = problem()
    dense, sparse = both(X, Y, KEY, **{"n_components": 4, **settings})
    assert sparse.decision_function(X).tobytes() == dense.decision_function(X).tobytes()


def test_dense_labels_beyond_memory_are_refused_in_one_line(monkeypatch):
    X, Y = large(20_000, 5000, 40, 3)
    monkeypatch.setattr(room, "available_memory", lambda: 1e7)
    for settings in ({}, {"n_components": 4, "weights": "distance"}):
        message = "dense labels, which these settings need, of 20000 rows .* a number of n_components with"
        with pytest.raises(UserError, match=message) as caught:
            SOLVERS[KEY](**settings).fit(TrainingSet(X, Y))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("settings", [{"expansion": "cca"}, {"method": "lstsq", "fill": "k"}])
def test_directions_that_are_all_alike_are_not_chosen_from(settings):
    with pytest.raises(ValueError, match="n_components goes with no expansion 'cca' or fill 'k', found 3"):
        SOLVERS[KEY](n_components=3, **settings)


@pytest.mark.parametrize("value", [0, -2, 1.5, "4"])
def test_numbers_of_directions_are_checked(value):
    with pytest.raises(ValueError, match="n_components must be"):
        SOLVERS[KEY](n_components=value)


def residual(factor, found):
    rest = factor @ (factor.T @ found.basis) - found.basis * found.values**2
    return np.linalg.norm(rest, axis=0).max() / found.values[0] ** 2


@pytest.mark.parametrize("expansion", ["clique", "star", "zhou"])
def test_directions_of_many_labels_are_found_by_products(expansion, monkeypatch):
    _, Y = many_labels()
    monkeypatch.setattr(eigen, "FEW", 100)
    monkeypatch.setattr(eigen, "largest", None)
    found = sparse_target(csr_array(Y), expansion, np.ones(Y.shape[1]), True, 6)
    factor = centered_factor(Y, expansion)
    assert found.values == pytest.approx(np.linalg.svd(factor, compute_uv=False)[:6], rel=1e-10)
    assert found.basis.T @ found.basis == pytest.approx(np.eye(6), abs=1e-12)
    assert residual(factor, found) <= found.error * 1.01 + 1e-14 <= 1e-7


def test_directions_that_were_not_reached_say_so(monkeypatch):
    X, Y = many_labels()
    monkeypatch.setattr(eigen, "FEW", 100)
    monkeypatch.setattr(eigen, "STEPS", 2)
    train = TrainingSet(X, csr_array(Y))
    found = sparse_target(train.sparse_Y, "clique", np.ones(Y.shape[1]), True, 6)
    info = SOLVERS[KEY](n_components=6, head="ridge").fit(train).info
    assert not info.converged
    assert info.optimality == found.error == pytest.approx(residual(centered_factor(Y, "clique"), found), rel=1e-6)
    assert info.optimality > 1e-4


def test_labels_that_do_not_differ_have_no_direction():
    X, Y = problem()
    Y[:] = [True, False, True, False, False, False, False, False, True]
    dense, sparse = both(X, Y, KEY, n_components=2, head="ridge")
    assert (sparse.info.optimality, sparse.info.converged, sparse.rank) == (0.0, True, 0)
    assert sparse.decision_function(X).tolist() == dense.decision_function(X).tolist() == (Y * 1.0).tolist()


def test_very_many_labels_take_little_memory():
    n, k = 20_000, 20_000
    X, Y = large_with_main_directions(n, k)
    solver = SOLVERS[KEY](n_components=2, head="ridge", expansion="zhou")
    solver.fit(TrainingSet(X[:2000], Y[:2000]))  # what libraries take is not counted
    with peak_below(8 * n * k / 100):
        model = solver.fit(TrainingSet(X, Y))
    assert model.info.converged
    # The factor's definition, label by label.
    root = 1 / np.sqrt(np.asarray(Y.sum(axis=1)))
    factor = expansion_factor(Y, "zhou", np.ones(k))
    sizes = np.asarray(Y.sum(axis=0))
    for label in (0, 1, 77):
        column = np.asarray(factor[:, [label]].toarray()).ravel()
        assert column == pytest.approx(root * np.asarray(Y[:, [label]].toarray()).ravel() / np.sqrt(sizes[label]))


def test_too_many_directions_are_refused_in_one_line(monkeypatch):
    X, Y = large(3000, 5000, 40, 3)
    monkeypatch.setattr(room, "available_memory", lambda: 1e8)
    with pytest.raises(
        UserError, match=r"all directions of 5000 labels would take .* a smaller n_components"
    ) as caught:
        SOLVERS[KEY](n_components=0.5).fit(TrainingSet(X, Y))
    assert "\n" not in str(caught.value)
