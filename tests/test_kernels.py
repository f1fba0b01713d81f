"""Kernels against their definitions, sparse against dense, many threads against one; what is no kernel is refused."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import additive_chi2_kernel, polynomial_kernel, rbf_kernel

from mlrank.arrays import as_features, read_only
from mlrank.kernels import KERNELS, Kernel, chi2
from mlrank.kernels.chi2 import chi2_distances, chi2_similarities
from mlrank.kernels.exact import expansion_square, long_expansion, long_kernel
from mlrank.kernels.rows import KernelRows, check_gram
from mlrank.solvers import SOLVERS
from mlrank.solvers.base import FitInfo
from mlrank.solvers.models import KernelModel

SPARSE = [(False, False), (True, True), (True, False), (False, True)]


def histograms(n, d, share, seed):
    """Return non-negative rows (n, d) with the given share of nonzeros, among them an empty one."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(0.7, size=(n, d)) * (rng.random((n, d)) < share)
    X[n // 2] = 0.0
    return X


def distance(x, z):
    """Return the chi-squared distance of two rows, from the definition."""
    return sum((a - b) ** 2 / (a + b) for a, b in zip(x, z, strict=True) if a + b > 0)


def similarity(x, z):
    return sum(2 * a * b / (a + b) for a, b in zip(x, z, strict=True) if a + b > 0)


@pytest.fixture(params=["lists", "sweeps"])
def way(request, monkeypatch):
    """Take one of the two ways for all rows, however many zeros they have."""
    monkeypatch.setattr(chi2, "LIST_UP_TO", 1.0 if request.param == "lists" else -1.0)


@pytest.mark.parametrize("share", [0.1, 0.6, 1.0])
@pytest.mark.parametrize("sparse", SPARSE)
def test_chi2_is_its_definition(way, sparse, share):
    X, Z = histograms(13, 9, share, 0), histograms(11, 9, share, 1)
    rows = [as_features(csr_array(one)) if s else one for one, s in zip((X, Z), sparse, strict=True)]
    wanted = np.array([[distance(x, z) for z in Z] for x in X])
    assert chi2_distances(*rows) == pytest.approx(wanted, abs=1e-13)
    assert KERNELS["chi2"](*rows, 0.3) == pytest.approx(np.exp(-0.3 * wanted), rel=1e-12)
    wanted = np.array([[similarity(x, z) for z in Z] for x in X])
    assert chi2_similarities(*rows) == pytest.approx(wanted, abs=1e-13)
    assert KERNELS["additive_chi2"](*rows, 0.3) == pytest.approx(wanted, abs=1e-13)


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_with_themselves_are_the_same_to_the_last_bit(way, sparse):
    X = histograms(150, 40, 0.4, 2)
    rows = as_features(csr_array(X)) if sparse else X
    D = chi2_distances(rows, rows)
    assert np.array_equal(D, D.T)
    assert np.array_equal(D, chi2_distances(rows, rows.copy()))
    assert np.diag(D) == pytest.approx(np.zeros(150), abs=1e-13)
    assert D == pytest.approx(-additive_chi2_kernel(X), abs=1e-12)


def test_many_rows_and_bins_agree_with_scikit_learn(way):
    """More bins than a tile of the cache holds rows of, more rows than a thread takes at a time."""
    X, Z = histograms(70, 70_000, 0.02, 3), histograms(5, 70_000, 0.02, 4)
    assert chi2_distances(X, Z) == pytest.approx(-additive_chi2_kernel(X, Z), rel=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_hand_checked_distances(sparse):
    X, Z = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]), np.array([[0.25, 0.25, 0.5], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    rows = [as_features(csr_array(one)) if sparse else one for one in (X, Z)]
    assert chi2_distances(*rows) == pytest.approx(np.array([[2 / 3, 2.0, 1.0], [1.0, 1.0, 0.0]]), abs=1e-15)
    assert KERNELS["chi2"](*rows, 2.0)[1, 2] == 1.0


def test_stored_zeros_are_no_common_bins():
    stored = csr_array((np.array([0.0, 1.0, 0.0]), np.array([0, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    assert np.array_equal(chi2_distances(stored, stored), [[0.0, 1.0], [1.0, 0.0]])
    assert stored.nnz == 3


@settings(max_examples=40, deadline=None)
@given(arrays(np.float64, (5, 4), elements=st.floats(0, 1e6, allow_subnormal=False)), st.floats(1e-3, 10))
def test_chi2_kernels_are_positive_semidefinite(X, gamma):
    scale = max(X.max(), 1e-300)
    for kernel in (KERNELS["chi2"](X / scale, X / scale, gamma), KERNELS["additive_chi2"](X / scale, X / scale)):
        assert np.array_equal(kernel, kernel.T)
        assert np.linalg.eigvalsh(kernel).min() >= -1e-13 * max(kernel.max(), 1e-300) * len(X)


@pytest.mark.parametrize("same", [True, False])
def test_any_number_of_threads_gives_the_same_bytes(way, same, monkeypatch):
    X = as_features(csr_array(histograms(300, 50, 0.3, 5)))
    Z, pools, found = X if same else X.copy(), [], set()

    def counted(n):
        pools.append(n)
        return ThreadPoolExecutor(n)

    monkeypatch.setattr(chi2, "ThreadPoolExecutor", counted)
    for threads in (1, 2, 3, 9):
        monkeypatch.setattr(numba, "get_num_threads", lambda n=threads: n)
        found.add(chi2_distances(X, Z).tobytes())
    assert len(found) == 1
    # 300 rows are five chunks; one thread needs no pool.
    assert set(pools) == {2, 3, 5}


def test_threads_of_one_process_do_not_disturb_each_other(monkeypatch):
    monkeypatch.setattr(numba, "get_num_threads", lambda: 2)
    problems = [histograms(200, 40, 0.4, seed) for seed in range(4)]
    wanted, found = [chi2_distances(X, X) for X in problems], [None] * 4

    def work(i):
        found[i] = chi2_distances(problems[i], problems[i])

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("bad", [-0.5, np.nan])
def test_what_is_no_histogram_is_refused_with_its_place(sparse, bad):
    X, Z = np.eye(3), np.eye(3)
    Z[1, 2], Z[2, 0] = bad, bad
    rows, others = (as_features(csr_array(one)) if sparse else one for one in (X, Z))
    wanted = rf"needs features of at least 0, found {bad:g} in row 1, feature 2 \(both counted from 0\)"
    for pair in ((rows, others), (others, rows), (others, others)):
        with pytest.raises(ValueError, match=wanted):
            chi2_distances(*pair)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_features", [2, 9])
def test_rows_of_another_width_are_refused(sparse, n_features):
    made = csr_array if sparse else np.asarray
    with pytest.raises(ValueError, match=f"rows of as many features, found {n_features} and 5"):
        chi2_distances(made(np.ones((3, n_features))), made(np.ones((4, 5))))


def test_the_other_kernels_are_their_formulas():
    X, Z = histograms(4, 3, 1.0, 0), histograms(5, 3, 1.0, 1)
    assert np.allclose(KERNELS["linear"](X, Z), X @ Z.T)
    assert np.allclose(KERNELS["rbf"](X, Z, 0.3), rbf_kernel(X, Z, gamma=0.3))
    assert np.allclose(KERNELS["polynomial"](X, Z, 0.3, 4, 0.7), polynomial_kernel(X, Z, 4, 0.3, 0.7))


def test_the_fixture_of_an_independent_program():
    with np.load(Path(__file__).parent / "fixtures" / "hist.npz") as f:
        K = KERNELS["chi2"](f["in_X"], f["in_X"], float(f["in_rbf_gamma"]))
        assert np.allclose(K, f["mlr_chi2_K"], rtol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel_rows_give_the_kernel_for_any_gamma(kernel):
    X, Z, picked = histograms(12, 5, 0.8, 0), histograms(7, 5, 0.8, 1), np.array([1, 4, 11])
    rows = KernelRows(X, kernel, 2, 0.7)
    for gamma in (0.3, 2.0, 0.3):
        assert np.allclose(rows.gram(gamma), KERNELS[kernel](X, X, gamma, 2, 0.7), rtol=1e-12)
        assert np.allclose(rows.against(Z, gamma, picked), KERNELS[kernel](Z, X[picked], gamma, 2, 0.7), rtol=1e-12)
        assert np.array_equal(rows.against(X, gamma, picked), rows.gram(gamma)[:, picked])
    with pytest.raises(ValueError, match="read-only"):
        rows.gram(1.0)[0, 0] = 2.0


def test_kernel_rows_keep_the_bases_of_the_training_rows_and_of_the_last_others(monkeypatch):
    X, Z, calls = histograms(12, 5, 0.8, 0), histograms(7, 5, 0.8, 1), []
    every = np.arange(12)
    monkeypatch.setattr(
        "mlrank.kernels.chi2._half_similarities", lambda A, B: calls.append(A) or np.zeros((len(A), 12))
    )
    rows = KernelRows(X, "chi2")
    for _ in range(2):
        rows.gram(0.5)
        rows.against(Z, 0.5, every)
        rows.against(X, 0.5, every)
    assert [A is X for A in calls] == [True, False]
    rows.against(Z.copy(), 0.5, every)
    rows.against(Z, 0.5, every)
    assert len(calls) == 4
    rows.forget()
    rows.gram(0.5)
    rows.gram(0.5)
    assert len(calls) == 6


def test_a_precomputed_kernel_is_taken_as_it_is():
    X, Z = histograms(12, 5, 0.8, 0), histograms(7, 5, 0.8, 1)
    rows = KernelRows(as_features(csr_array(X @ X.T)), "precomputed")
    assert np.array_equal(rows.gram(3.0), X @ X.T)
    assert np.array_equal(rows.against(Z @ X.T, 3.0, np.array([2, 3])), (Z @ X.T)[:, 2:4])
    with pytest.raises(ValueError, match="need one value for each of the 12 training rows, found 5"):
        rows.against(Z, 3.0, np.array([2, 3]))


def test_what_is_no_kernel_matrix_is_refused():
    X = histograms(12, 5, 0.8, 0)
    K = X @ X.T
    check_gram(read_only(K))
    check_gram(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="symmetric matrix of the training rows, found 12 rows of 5 values"):
        check_gram(X)
    K[2, 3] += 1.0
    with pytest.raises(ValueError, match=r"symmetric .*, found \S+ and \S+ for rows 2 and 3 \(counted from 0\)"):
        check_gram(K)
    K[2, 3] -= 1.0
    K[np.diag_indices(12)] -= 0.25
    with pytest.raises(ValueError, match=r"must be positive semidefinite, found an eigenvalue of -0\.\d+$"):
        check_gram(K)
    K[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"symmetric matrix of the training rows, found \S+ and nan for rows 2 and 3"):
        check_gram(K)


@pytest.mark.parametrize("key", [key for key in SOLVERS if hasattr(SOLVERS[key], "kernel")])
def test_a_polynomial_that_is_no_kernel_is_refused(key):
    """(x'z - 1)^2 and (x'z)^2.5, which is no number below 0, have no rows of which they are inner products."""
    X = np.random.default_rng(0).normal(size=(12, 3))
    assert np.linalg.eigvalsh(KERNELS["polynomial"](X, X, degree=2, coef0=-1.0))[0] < -1
    solver = SOLVERS[key]
    with pytest.raises(ValueError, match=r"^coef0 must be a number, 0 or above, found -1\.0$"):
        solver(kernel="polynomial", degree=2, coef0=-1.0)
    with pytest.raises(ValueError, match=r"^degree must be a whole number, found 2\.5$"):
        solver(kernel="polynomial", degree=2.5)
    assert solver(kernel="rbf", coef0=-1.0, degree=2.5).coef0 == -1.0
    with pytest.raises(ValueError, match=r"^kernel must be one of linear, .*, found 'rfb'\. Did you mean 'rbf'\?$"):
        solver(kernel="rfb")


@pytest.mark.parametrize("kernel", ["chi2", "precomputed"])
def test_a_model_goes_without_what_it_shares(kernel):
    X, Z = histograms(12, 5, 0.8, 0), histograms(7, 5, 0.8, 1)
    if kernel == "precomputed":
        Z, X = Z @ X.T, X @ X.T
    dual = np.zeros((3, 12))
    dual[:, [1, 4, 5]] = np.arange(9.0).reshape(3, 3)
    model = KernelModel.of(KernelRows(X, kernel), dual, np.ones(3), 0.5, FitInfo(1, 0.0, 0.0, True))
    stored = pickle.loads(pickle.dumps(model))
    assert stored.shared is None
    assert len(stored.X_train) == 3
    K = Z if kernel == "precomputed" else KERNELS[kernel](Z, X, 0.5)
    for either in (model, stored):
        assert np.allclose(either.decision_function(Z), K @ dual.T + 1.0, rtol=1e-12)


@pytest.mark.parametrize("key", ["mlr", "binary_svm", "svm_perf", "shared_subspace"])
@pytest.mark.parametrize("kernel", [*KERNELS, "precomputed"])
@pytest.mark.parametrize("constant", [{"gamma": 0.3}, {"degree": 2}, {"coef0": 0.5}])
def test_grid_points_are_one_where_the_kernel_is(key, kernel, constant):
    X = np.random.default_rng(0).random((6, 3))
    plain = SOLVERS[key](kernel=kernel)
    other = replace(plain, **constant)
    alike = kernel == "precomputed" or np.array_equal(KERNELS[kernel](X, X), KERNELS[kernel](X, X, **constant))
    assert (other.canonical() == plain.canonical()) == alike
    assert replace(other, **{name: getattr(plain, name) for name in constant}).canonical() == plain


@pytest.mark.parametrize("kind", ["rbf", "chi2"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("offset", [1e5, 1e7, 1.7e9])
def test_distances_of_rows_far_from_the_origin_keep_their_digits(kind, sparse, offset):
    rng = np.random.default_rng(0)
    X, Z = offset + np.abs(rng.standard_normal((30, 3))), offset + np.abs(rng.standard_normal((7, 3)))
    X[3] = X[4] = Z[1]
    long_X, long_Z = X.astype(np.longdouble)[:, None], Z.astype(np.longdouble)[None]
    parts = (long_X - long_Z) ** 2
    expected = (parts if kind == "rbf" else parts / (long_X + long_Z)).sum(axis=2).astype(np.float64)
    gamma = 1.0 if kind == "rbf" else offset
    rows = [csr_array(one) if sparse else one for one in (X, Z)]
    values = KERNELS[kind](*rows, gamma)
    assert np.abs(values - np.exp(-gamma * expected)).max() <= 1e-9
    alone = np.vstack([KERNELS[kind](rows[0][[row]], rows[1], gamma) for row in range(30)])
    assert np.abs(values - alone).max() <= 1e-9
    assert KERNELS[kind](rows[0], rows[0], gamma)[3, 4] == 1.0


def test_near_rows_beside_a_far_one_keep_their_distance():
    X = np.random.default_rng(0).standard_normal((20, 4))
    expected = KERNELS["rbf"](X, X)
    X = np.vstack([X, 1e9 * X[0]])
    assert KERNELS["rbf"](X, X)[:20, :20] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", sorted(KERNELS))
def test_kernels_in_long_doubles_are_the_kernels(kind):
    X = np.abs(np.random.default_rng(0).standard_normal((9, 4)))
    kernel = Kernel(kind, gamma=0.7, degree=3, coef0=0.5)
    assert np.asarray(long_kernel(kernel, X), np.float64) == pytest.approx(kernel(X, X), rel=1e-12)
    coef = np.random.default_rng(1).standard_normal((9, 2))
    assert np.asarray(long_expansion(kernel(X, X), coef), np.float64) == pytest.approx(kernel(X, X) @ coef, rel=1e-12)


@pytest.mark.parametrize("below", [2.0**-52, 3 * 2.0**-52])
def test_a_matrix_that_rounding_left_indefinite_bounds_no_less_than_its_semidefinite_neighbor(below):
    n, size = 10, 2.0**40
    K = np.eye(n)
    K[0, 1] = K[1, 0] = 1.0 + below  # its least eigenvalue is -below
    K *= size
    beta = np.zeros(n)
    beta[:2] = 1.0, -1.0
    square = expansion_square(K, beta, 2.0, lambda: K)
    # beta'K beta is -2 size below; that of K + size below I is 0, and what remains is the search for the eigenvalue.
    assert 0.0 <= square <= 0.3 * 2.0 * size * below
    # Rows of unlike size have rounding errors of their own size: the large one, whose weight is small, adds little.
    K[2, 2], beta[2] = 1e20, 1e-10
    assert expansion_square(K, beta, 2.0, lambda: K) == pytest.approx(1.0 + square, abs=0.01)


def test_mixed_labels_weigh_the_products_of_their_weights():
    rng = np.random.default_rng(0)
    X, beta = rng.standard_normal((6, 3)), rng.standard_normal((6, 2))
    mix = np.array([[1.0, 0.3], [0.3, 1.0]])
    expected = float(sum(mix[j, k] * beta[:, j] @ X @ X.T @ beta[:, k] for j in range(2) for k in range(2)))
    assert expansion_square(X @ X.T, beta, 1e9, lambda: None, mix) == pytest.approx(expected, rel=1e-12)
    long = (X.astype(np.longdouble) @ X.T) * 1e12  # where rounding shows
    square = expansion_square(long.astype(float), beta, 1.0, lambda: long, mix)
    assert square == pytest.approx(1e12 * expected, rel=1e-12)
