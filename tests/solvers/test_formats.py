"""Sparse rows in any form that scipy has: the same results to the byte as with the csr_array of the compiled loops."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix

from mlrank.graphs import GRAPHS, knn, knn_with_ties
from mlrank.hypergraph import euclidean_distance, intra_class_distance, laplacian_gram
from mlrank.kernels import KERNELS
from mlrank.kernels.chi2 import chi2_distances, chi2_similarities
from mlrank.kernels.rows import KernelRows
from mlrank.linalg import CenteredRows, without_constants
from mlrank.scaling import SCALERS
from mlrank.solvers import PROJECTIONS, SOLVERS, Capabilities, TrainingSet
from mlrank.thresholds import THRESHOLDS
from tests.solvers.problems import random_problem


def wide_indices(X):
    rows = csr_array(X)
    return csr_array((rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)), shape=rows.shape)


def unsorted(X):
    rows = csr_array(X)
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)])
    return csr_array((rows.data[order], rows.indices[order], rows.indptr), shape=rows.shape)


FORMS = {
    "csr_matrix": csr_matrix,
    "64-bit indices": wide_indices,
    "unsorted": unsorted,
    "csc_array": csc_array,
    "coo_array": coo_array,
}
X, Y = random_problem()
X = np.abs(X)
NEW = X[::-1] + 0.0
KERNEL_CASES = [(key, kernel) for key in SOLVERS if hasattr(SOLVERS[key], "kernel") for kernel in ("rbf", "chi2")]
CASES = [*((key, None) for key in SOLVERS), *KERNEL_CASES]


@pytest.fixture(params=FORMS)
def form(request):
    return FORMS[request.param]


def same(found, expected):
    assert type(found) is type(expected)
    if isinstance(expected, csr_array):
        return same(found.toarray(), expected.toarray())
    if isinstance(expected, tuple):
        return all(same(one, other) for one, other in zip(found, expected, strict=True))
    return found.dtype == expected.dtype and found.shape == expected.shape and found.tobytes() == expected.tobytes()


def scores_of(key, kernel, form):
    solver = SOLVERS[key](**({"kernel": kernel} if kernel else {"kernel": "linear"} if key == "mlr" else {}))
    unlabeled = form(NEW) if Capabilities.of(solver).uses_unlabeled else None
    model = solver.fit(TrainingSet(form(X), Y, unlabeled))
    return model.decision_function(form(NEW))


@pytest.mark.parametrize("form", [csr_matrix, wide_indices])
@pytest.mark.parametrize(("key", "kernel"), CASES)
def test_solvers(key, kernel, form):
    assert same(scores_of(key, kernel, form), scores_of(key, kernel, csr_array))


@pytest.mark.parametrize("form", [csr_matrix, wide_indices])
@pytest.mark.parametrize("key", PROJECTIONS)
def test_projections(key, form):
    found, expected = (
        PROJECTIONS[key]().fit(TrainingSet(make(X), Y)).transform(make(NEW)) for make in (form, csr_array)
    )
    assert same(found, expected)


@pytest.mark.parametrize("part", [0.2, 1.0])  # by lists of the rows of each bin, or dense
def test_a_row_has_no_distance_to_itself(part, form):
    rows = X * (np.random.default_rng(0).random(X.shape) < part)
    assert np.allclose(np.diag(chi2_distances(form(rows), form(rows))), 0.0, atol=1e-14)
    assert same(chi2_distances(form(rows), form(NEW)), chi2_distances(csr_array(rows), csr_array(NEW)))


@pytest.mark.parametrize(
    "function",
    [
        chi2_distances,
        chi2_similarities,
        *(lambda A, B, kernel=kernel: kernel(A, B, 0.5) for kernel in KERNELS.values()),
        *(lambda A, B, key=key: KernelRows(A, key).against(B, 0.5, np.arange(3)) for key in KERNELS),
        *(lambda A, B, key=key: KernelRows(A, key).gram(0.5) for key in KERNELS),
        lambda A, B: knn(A, 3),
        lambda A, B: knn_with_ties(A, 3),
        *(lambda A, B, graph=graph: graph(A, 3) for graph in GRAPHS.values()),
        lambda A, B: intra_class_distance(A, Y),
        lambda A, B: euclidean_distance(A, Y),
        lambda A, B: laplacian_gram(A, Y, np.ones(Y.shape[1])),
        lambda A, B: CenteredRows(A).gram(dual=True),
        lambda A, B: CenteredRows(A).gram(dual=False),
        lambda A, B: CenteredRows(A).times(np.ones((A.shape[1], 2))),
        lambda A, B: CenteredRows(A).transpose_times(np.ones((A.shape[0], 2))),
        lambda A, B: without_constants(A),
        *(lambda A, B, scaler=scaler: scaler().fit(A)(B) for scaler in SCALERS.values()),
    ],
)
def test_functions_of_features(function, form):
    assert same(function(form(X), form(NEW)), function(csr_array(X), csr_array(NEW)))


@pytest.mark.parametrize("key", [key for key in THRESHOLDS if key != "natural"])  # a solver gives it its value
def test_thresholds(key, form):
    scores = np.random.default_rng(0).standard_normal(Y.shape) + Y
    found, expected = (THRESHOLDS[key]().fit(scores, Y, make(X))(scores, make(NEW), Y) for make in (form, csr_array))
    assert same(found, expected)
