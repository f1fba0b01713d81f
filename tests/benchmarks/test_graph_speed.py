"""How long neighbour graphs take beside the matrix product they contain, and SMSE and MCGF beside dense solvers.

One thread, seconds of processor time, least of several, all in one run. Rows are made: ten hidden dimensions with noise
in all features; labels are half-spaces of the hidden ones.
"""

import resource
import tracemalloc

import numpy as np
import pytest
from scipy.linalg import solve_sylvester
from sklearn.neighbors import NearestNeighbors

from mlrank.graphs import knn, laplacian, self_tuning_graph
from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.propagation.systems import dense_laplacian, label_cosines
from tests.benchmarks.clock import best

pytestmark = pytest.mark.usefixtures("one_thread")

MEDIAMILL = (43907, 120)
TOL = 1e-8


def made(n, d, k=1, seed=0):
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((n, 10))
    X = hidden @ rng.standard_normal((10, d)) + 0.3 * rng.standard_normal((n, d))
    score = hidden @ rng.standard_normal((10, k)) + 0.5 * rng.standard_normal((n, k))
    return X, score > np.quantile(score, 0.95, axis=0)


def exponent(sizes, seconds):
    return np.polyfit(np.log(sizes), np.log(seconds), 1)[0]


def product_alone(X):
    """Multiply all rows with all rows in float32, by blocks of 64 MB as the graph does, and keep nothing."""
    A = X.astype(np.float32)
    size = int(64e6 / (4 * len(A)))
    block = np.empty((size, len(A)), dtype=np.float32)
    for begin in range(0, len(A), size):
        part = A[begin : begin + size]
        np.matmul(part, A.T, out=block[: len(part)])


@pytest.mark.parametrize("d", [120, 210])
def test_exact_graph_beside_the_product_it_contains(d):
    self_tuning_graph(made(500, d)[0], 5)
    sizes, times = (5000, 10000, 20000, MEDIAMILL[0]), []
    print(f"\n  d = {d}, 5 neighbours, scale by the 7th: graph, product in float32, ratio")
    for n in sizes:
        X = made(n, d)[0]
        product, _ = best(lambda X=X: product_alone(X), 2)
        graph, A = best(lambda X=X: self_tuning_graph(X, 5), 2)
        times.append(graph)
        print(f"  n = {n:6d}: {graph:7.2f} s {product:7.2f} s {graph / product:6.2f}   {A.nnz} edges")
    print(f"  grows as n^{exponent(sizes, times):.2f}")
    assert graph <= 3 * product


def test_neighbors_beside_scikit_learn():
    X = made(20000, 120)[0]
    ours, (indices, _) = best(lambda: knn(X, 10), 2)
    theirs, found = best(
        lambda: NearestNeighbors(n_neighbors=10, algorithm="brute").fit(X).kneighbors(return_distance=False), 1
    )
    print(f"\n  n = 20000, d = 120: ours {ours:.2f} s, scikit-learn brute force {theirs:.2f} s: {theirs / ours:.1f} x")
    assert np.array_equal(indices, found)
    assert ours < theirs


def split(n, d, k, labeled):
    X, Y = made(n, d, k)
    n_train = int(labeled * n)
    return TrainingSet(X[:n_train], Y[:n_train], X[n_train:])


@pytest.mark.parametrize("variant", ["smse1", "smse2"])
def test_smse_beside_the_dense_sylvester_solver_and_beyond_it(variant):
    solver = SOLVERS["smse"](variant=variant, gamma=1.0, tol=TOL)
    train = split(2000, 120, 50, 0.2)
    rows = solver.prepare(train)
    ours, model = best(lambda: solver.fit(train, rows), 2)
    left, right, given = _equation(train, rows.A, variant)
    dense, F = best(lambda: solve_sylvester(left, right, given), 1)
    print(f"\n  {variant}, n = 2000, k = 50, residual {model.info.optimality:.0e}:", end="")
    print(f" {ours:.3f} s, solve_sylvester {dense:.1f} s: {dense / ours:.0f} x, the graph left out of both")
    assert np.abs(model.scores[len(model.scores) - len(F) :] - F).max() <= 1e-6 * np.abs(F).max()
    assert dense >= 10 * ours
    sizes, times = (2000, 5000, 10000, 20000), []
    for n in sizes:
        train = split(n, 120, 50, 0.2)
        building, rows = best(lambda train=train: solver.prepare(train), 1)
        fitting, model = best(lambda train=train, rows=rows: solver.fit(train, rows), 2)
        times.append(fitting)
        assert model.info.converged
        print(f"  n = {n:6d}: graph {building:6.2f} s, fit {fitting:6.2f} s, {model.info.n_iter} iterations")
    print(f"  the fit grows as n^{exponent(sizes, times):.2f}")


def _equation(train, A, variant):
    """Return the dense matrices of the Sylvester equation for the last rows, or all."""
    affinity = np.exp(label_cosines(train.Y) - 1)
    np.fill_diagonal(affinity, 0.0)
    H = dense_laplacian(affinity, normalized=variant == "smse2")
    m, Y = train.n_samples, train.Y.astype(float)
    if variant == "smse1":
        L = laplacian(A).toarray()
        return L[m:, m:], H, -L[m:, :m] @ Y
    L = laplacian(A, "normalized").toarray()
    return np.eye(len(L)) + L, H, np.vstack([Y, np.zeros((len(L) - m, Y.shape[1]))])


@pytest.mark.parametrize("variant", ["product", "sylvester", "similarity"])
def test_mcgf_at_forty_thousand_rows(variant):
    solver = SOLVERS["mcgf"](variant=variant, tol=TOL)
    sizes, times = (5000, 10000, 20000, 40000), []
    print(f"\n  {variant}, d = 120, k = 101, relative residual {TOL:g}")
    for n in sizes:
        train = split(n, 120, 101, 0.8)
        building, prepared = best(lambda train=train: solver.prepare(train), 1)
        fitting, model = best(
            lambda train=train, prepared=prepared: solver.fit(train, type(prepared)(prepared.rows)), 1
        )
        times.append(fitting)
        assert model.info.converged
        print(f"  n = {n:6d}: graph {building:6.2f} s, fit {fitting:6.2f} s, {model.info.n_iter} iterations")
    print(f"  the fit grows as n^{exponent(sizes, times):.2f}")
    tracemalloc.start()
    solver.fit(train)
    peak = tracemalloc.get_traced_memory()[1] / 2**30
    tracemalloc.stop()
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"  n = 40000: {peak:.2f} GiB in arrays at most, {resident:.2f} GiB resident at most so far")
    assert building + fitting < 120
    assert peak < 4
    assert resident < 4
