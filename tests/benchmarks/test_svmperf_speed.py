"""How SVM-perf and shared-subspace least squares grow, and how they stand beside multi-label ranking on one matrix.

One thread, one run, seconds of processor time, best of several. All iterative methods stop at a certified relative gap
of 1e-3; shared-subspace least squares is exact.

SVM-perf tried, planes to a relative gap of 1e-3 (n = 1000, chi2 kernel, 5 labels, 5 % of them flipped; C in percent):

    C                                     1     10    100
    planes at the model's minimum        26    240    985
    line search, 0.1 of the way (kept)   20     91    625
    line search, 0.3 of the way          24    107    770
    line search, 0.03 of the way         20    104    790

* the small program solved to a tenth of tol in every round: as many planes, up to 8 times as many steps in it
* 3 trials on the line: 4 times as many planes at C = 100; 4, 6, 8 and 12 are alike once a search begins with the last
  one's step

The smallest C of the comparison with multi-label ranking, 0.1 percent, brings no pair to its margin: the first plane is
the solution, one product with the matrix for all labels, and multi-label ranking takes 1.4 times as long.
"""

import numpy as np
import pytest

from mlrank.datasets import generate
from mlrank.kernels.rows import KernelRows
from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.ridge import gram_space
from mlrank.solvers.shared_subspace import Decomposed
from tests.benchmarks.clock import best

pytestmark = pytest.mark.usefixtures("one_thread")

TOL = 1e-3


def histograms(n, k, seed=0):
    """Return rows that sum to 1, with 5000 bins of which one in twenty is filled, and labels."""
    data = generate("h", n_samples=n, n_features=5000, n_labels=k, cardinality=1.4, n_groups=3, kind="words", seed=seed)
    X = data.X.copy()
    X.data /= np.repeat(X.sum(axis=1), np.diff(X.indptr))
    return X, data.Y


def dense(n, m, k, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, m)) / np.sqrt(m)
    return X, X @ rng.standard_normal((m, k)) + 0.5 * rng.standard_normal((n, k)) > 0.8


def growth(title, sizes, measure, wanted):
    """Print the seconds for each size and the exponent fitted to them; refuse one above what is wanted."""
    print(f"\n{title}")
    seconds = []
    for size in sizes:
        found, note = measure(size)
        seconds.append(found)
        print(f"  {size:7d} {found:9.4f} s  {note}")
    exponent = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    print(f"  exponent {exponent:.2f}, at most {wanted:g} wanted")
    assert exponent <= wanted


def planes(info):
    return f"{info.n_iter} planes, gap {info.optimality:.1e}"


def perf_fit(train, prepared=None, repeats=3, **settings):
    solver = SOLVERS["svm_perf"](tol=TOL, **settings)
    solver.fit(TrainingSet(train.X[:20], train.Y[:20]))
    seconds, model = best(lambda: solver.fit(train, prepared), repeats)
    assert model.info.converged
    return seconds, planes(model.info)


def test_svm_perf_on_weights_grows_with_the_rows():
    growth(
        "svm_perf, linear kernel, 100 features, 10 labels, C = 1: seconds against rows",
        (1000, 2000, 4000, 8000, 16000),
        lambda n: perf_fit(TrainingSet(*dense(n, 100, 10)), C=1.0),
        1.25,
    )


def test_svm_perf_on_weights_grows_with_the_labels():
    growth(
        "svm_perf, linear kernel, 4000 rows, 100 features, C = 1: seconds against labels",
        (4, 8, 16, 32, 64),
        lambda k: perf_fit(TrainingSet(*dense(4000, 100, k)), C=1.0),
        1.2,
    )


def test_svm_perf_on_a_kernel_matrix_grows_with_its_entries():
    def measure(n):
        train = TrainingSet(*dense(n, 40, 10))
        solver = SOLVERS["svm_perf"](kernel="rbf", gamma=1.0)
        prepared = solver.prepare(train)
        prepared.gram(1.0)
        return perf_fit(train, prepared, kernel="rbf", gamma=1.0, C=1.0)

    growth(
        "svm_perf, rbf kernel of shared distances, 10 labels, C = 1: seconds against rows",
        (600, 1200, 2400, 4800),
        measure,
        2.3,
    )


def test_planes_near_the_best_point_are_fewer_than_at_the_models_minimum():
    train = TrainingSet(*dense(1500, 40, 5))
    print("\nsvm_perf, linear kernel, 1500 rows, 5 labels: planes by line search, and at the minimum of the model")
    for C, wanted in ((1.0, 1.0), (100.0, 2.0)):
        counts = {}
        for way in ("line_search", "model"):
            solver = SOLVERS["svm_perf"](C=C, planes=way)
            seconds, model = best(lambda solver=solver: solver.fit(train), 1)
            counts[way] = model.info.n_iter
            print(f"  C = {C:<6g}{way:<12}{seconds:8.3f} s  {planes(model.info)}")
        assert counts["model"] >= wanted * counts["line_search"]


def subspace_fit(train, **settings):
    solver = SOLVERS["shared_subspace"](alpha=0.1, beta=0.01, **settings)
    solver.fit(TrainingSet(train.X[:20], train.Y[:20]))
    return best(lambda: solver.fit(train), 3)[0], ""


def test_shared_subspace_grows_with_the_rows_or_with_the_cube_of_a_kernel_matrix():
    growth(
        "shared_subspace, linear kernel, 200 features, 20 labels: seconds against rows",
        (2000, 4000, 8000, 16000),
        lambda n: subspace_fit(TrainingSet(*dense(n, 200, 20))),
        1.2,
    )
    growth(
        "shared_subspace, rbf kernel, 20 labels: seconds against rows",
        (400, 800, 1600, 3200),
        lambda n: subspace_fit(TrainingSet(*dense(n, 40, 20)), kernel="rbf", gamma=1.0),
        3.2,
    )


def test_a_grid_of_shared_subspaces_costs_little_more_than_one():
    train = TrainingSet(*dense(3000, 300, 30))
    grid = [SOLVERS["shared_subspace"](alpha=a, beta=b) for a in (0.01, 1.0, 100.0) for b in (0.01, 1.0, 100.0)]
    one = best(lambda: grid[0].fit(train), 3)[0]

    def all_of_them():
        prepared = grid[0].prepare(train)
        for solver in grid:
            solver.fit(train, prepared)

    nine = best(all_of_them, 3)[0]
    print("\nshared_subspace, 3000 x 300, 30 labels")
    print(f"  one fit {one:.3f} s, a grid of nine {nine:.3f} s, {nine / one:.1f} x")
    # Each certificate takes two products with the rows that were given, and so more than half of a prepared fit: 2.7
    # times without them.
    assert nine < 5.5 * one


PENALTIES = (0.1, 1.0, 10.0, 100.0)


def on_one_matrix(key, train, gamma, beside=None):
    """Return and print the seconds for each C, beside those of another solver."""
    prepared, found = SOLVERS[key](kernel="chi2", gamma=gamma).prepare(train), {}
    for C in PENALTIES:
        solver = SOLVERS[key](kernel="chi2", gamma=gamma, C=C, tol=TOL)
        solver.fit(TrainingSet(train.X[:20], train.Y[:20]))
        # The first fit makes the matrix that the others find.
        solver.fit(train, prepared)
        found[C], model = best(lambda solver=solver: solver.fit(train, prepared), 3)
        info, ratio = model.info, found[C] / (beside or found)[C]
        row = f"  {key:<16} C = {C:<6g}{found[C]:8.3f} s {ratio:7.2f} x mlr  {info.n_iter} iterations"
        print(f"{row}, gap {info.optimality:.1e}")
        assert info.converged
    return found


def test_multi_label_ranking_beside_both_on_one_kernel_matrix():
    """At n = 2400, K = 10: everything after the kernel matrix, to a relative gap of 1e-3."""
    train, gamma = TrainingSet(*histograms(2400, 10)), 1.0
    print("\none chi2 kernel matrix, n = 2400, K = 10: seconds after it, relative gap 1e-3 (shared_subspace: exact)")
    mlr = on_one_matrix("mlr", train, gamma)
    perf = on_one_matrix("svm_perf", train, gamma, mlr)
    solver = SOLVERS["shared_subspace"](kernel="chi2", gamma=gamma, alpha=0.1, beta=0.001)
    rows = KernelRows(train.X, "chi2")
    K = rows.gram(gamma)
    subspace = best(lambda: solver.fit(train, Decomposed(gram_space(train.X, K), rows)), 2)[0]
    print(f"  shared_subspace {subspace:21.3f} s {subspace / max(mlr.values()):7.2f} x the slowest mlr")
    ratios = np.array([perf[C] / mlr[C] for C in PENALTIES])
    lost = ", ".join(f"C = {C:g}" for C, ratio in zip(PENALTIES, ratios, strict=True) if ratio < 1) or "none"
    mean = float(np.exp(np.log(ratios).mean()))
    print(f"  mlr is {mean:.1f} times as fast as svm_perf in the geometric mean over C; it is slower at: {lost}")
    assert mean > 1
    assert subspace > max(mlr.values())
