"""Compiled loops called in pieces, between which a time limit can arrive: as many calls as it takes, the same bytes."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank import arrays
from mlrank.arrays import in_pieces
from mlrank.graphs import neighbors
from mlrank.kernels import chi2
from mlrank.linalg import CenteredRows
from mlrank.linalg import _product_kernels as products
from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.mlr import rows as mlr
from mlrank.solvers.rank_svm import rows as dense
from mlrank.solvers.rank_svm import sparse


def test_pieces_are_all_items_in_order(monkeypatch):
    monkeypatch.setattr(arrays, "PIECE", 100.0)
    assert list(in_pieces(7, 30.0)) == [slice(0, 3), slice(3, 6), slice(6, 7)]
    assert list(in_pieces(3, 1e9)) == [slice(0, 1), slice(1, 2), slice(2, 3)]
    assert list(in_pieces(7, 0.0)) == [slice(0, 7)]
    assert list(in_pieces(0, 5.0)) == []


def problem(sparse):
    rng = np.random.default_rng(4)
    shape, share = ((150, 600), 0.02) if sparse else ((150, 12), 0.4)
    X = rng.random(shape) * (rng.random(shape) < share)
    Y = X @ rng.standard_normal((shape[1], 4)) + 0.3 * rng.standard_normal((150, 4)) > 0.1
    return (csr_array(X) if sparse else X), Y


def scores(name, **settings):
    def fit(X, Y):
        return SOLVERS[name](**settings).fit(TrainingSet(X, Y)).decision_function(X)

    return fit


def centered(X, Y):
    rows = CenteredRows(X)
    parts = rows.gram(True), rows.gram(False), rows.times(np.ones((X.shape[1], 3)))
    return np.concatenate([part.ravel() for part in parts])


CASES = {
    "rank_svm": (scores("rank_svm", max_iter=5), False, (dense.kernels, "sweep_dense")),
    "rank_svm, sparse": (scores("rank_svm", max_iter=5), True, (sparse.kernels, "sweep_csr")),
    "mlr": (scores("mlr", kernel="linear", max_iter=5), False, (mlr, "sweep_dense")),
    "mlr, sparse": (scores("mlr", kernel="linear", max_iter=5), True, (mlr, "sweep_csr")),
    "mlr, rbf": (scores("mlr", kernel="rbf", max_iter=5), False, (mlr, "sweep_gram")),
    "neighbors": (lambda X, Y: neighbors.knn(X, 5)[1], False, (neighbors, "dense_block")),
    "neighbors, sparse": (lambda X, Y: neighbors.knn(X, 5)[1], True, (neighbors, "sparse_rows")),
    "chi2": (lambda X, Y: chi2.chi2_distances(X + 0.1, X + 0.1), False, (chi2.loops, "sweep")),
    "chi2, few bins": (lambda X, Y: chi2.chi2_distances(X, X), True, (chi2.loops, "match")),
    "products": (centered, True, (products, "centered_product")),
    "inner products": (centered, True, (products, "symmetric_product")),
}


@pytest.mark.parametrize("case", CASES)
def test_many_pieces_give_the_bytes_of_one(monkeypatch, case):
    compute, sparse, (module, name) = CASES[case]
    X, Y = problem(sparse)
    loop, calls = getattr(module, name), []

    def counted(*given):
        calls.append(name)
        return loop(*given)

    monkeypatch.setattr(module, name, counted)
    monkeypatch.setattr("numba.get_num_threads", lambda: 1)
    whole = compute(X, Y)
    n_calls = len(calls)
    monkeypatch.setattr(arrays, "PIECE", 1.0)
    assert compute(X, Y).tobytes() == whole.tobytes()
    assert len(calls) - n_calls > n_calls
