"""How the label-space methods grow with the data, and how long they take beside their formulas as printed.

One thread, seconds of processor time, best of several, all in one run. Data are generated. What is measured against is
each method's formula in plain numpy with matrices of n x n and full decompositions, brought to equal results.
"""

import numpy as np
import pytest
from scipy.optimize import linprog

from mlrank.datasets.generated.standin import generate
from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.ml_loc.codes import best_codes
from mlrank.solvers.sparse_bayes.model import relevance
from mlrank.solvers.sparse_bayes.queries import greedy
from tests.benchmarks.clock import best

pytestmark = pytest.mark.usefixtures("one_thread")


def made(n, d, k, cardinality=4.4, seed=1):
    shape = {"n_samples": n, "n_features": d, "n_labels": k, "cardinality": cardinality, "n_groups": 6}
    dataset = generate("made", kind="dense", seed=seed, **shape)
    return dataset.X / dataset.X.std(axis=0), dataset.Y


def growth(name, sizes, seconds):
    """Print seconds for each size, and return the exponent of the power that fits them best."""
    power = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    row = ", ".join(f"{size}: {one:.3f}" for size, one in zip(sizes, seconds, strict=True))
    print(f"  {name:34s} {row} s; power {power:.2f}")
    return power


def printed_scores(key, X, Y, b, lam, alpha=0.1):
    """Return scores of the training rows, by hat matrices of n x n."""
    Xc = X - X.mean(axis=0)
    ridge = Xc @ np.linalg.inv(Xc.T @ Xc + lam * np.eye(X.shape[1])) @ Xc.T
    if key == "faie":
        T = Y.astype(float)
        C = np.linalg.eigh(T @ T.T + alpha * ridge)[1][:, -b:]
        return 2 * (ridge @ (C - C.mean(axis=0)) + C.mean(axis=0)) @ (C.T @ T) - 1
    S = np.where(Y, 1.0, -1.0)
    Sc = S - S.mean(axis=0)
    V = np.linalg.svd(Sc)[2][:b].T if key == "plst" else np.linalg.eigh(Sc.T @ ridge @ Sc)[1][:, -b:]
    return ridge @ (Sc @ V) @ V.T + S.mean(axis=0)


@pytest.mark.parametrize(("key", "least"), [("plst", 10), ("cplst", 4), ("faie", 50)])
def test_label_space_beside_the_formulas(key, least):
    X, Y = made(2000, 200, 60)
    solver = SOLVERS[key](n_components=12, lam=1.0)
    train = TrainingSet(X, Y)
    ours, model = best(lambda: solver.fit(train), 5)
    printed, scores = best(lambda: printed_scores(key, X, Y, 12, 1.0), 1)
    print(f"\n  {key}, n = 2000, d = 200, k = 60, 12 components: printed {printed:.2f} s, ours {ours:.4f} s,", end="")
    print(f" {printed / ours:.0f} x")
    assert model.decision_function(X) == pytest.approx(scores, abs=1e-6)
    assert printed >= least * ours


@pytest.mark.parametrize("key", ["plst", "cplst", "faie"])
def test_label_space_grows_with_rows_as_the_data_do(key):
    print(f"\n  {key}:")
    X, Y = made(32_000, 100, 50)
    sizes = (4_000, 8_000, 16_000, 32_000)
    fits = [best(lambda n=n: SOLVERS[key](n_components=10).fit(TrainingSet(X[:n], Y[:n])), 5)[0] for n in sizes]
    assert growth("n, with d = 100, k = 50", sizes, fits) <= 1.2
    X, Y = made(2_000, 800, 50)
    widths = (100, 200, 400, 800)
    growth("d, with n = 2000, k = 50", widths, [
        best(lambda d=d: SOLVERS[key](n_components=10).fit(TrainingSet(X[:, :d], Y)))[0] for d in widths
    ])  # fmt: skip
    X, Y = made(4_000, 100, 400, cardinality=12)
    counts = (50, 100, 200, 400)
    growth("k, with n = 4000, d = 100", counts, [
        best(lambda k=k: SOLVERS[key](n_components=10).fit(TrainingSet(X, Y[:, :k])))[0] for k in counts
    ])  # fmt: skip


@pytest.mark.parametrize(("n", "d", "k"), [(43_907, 120, 101), (4_500, 499, 374)])
def test_label_space_at_the_sizes_of_the_paper(n, d, k):
    X, Y = made(n, d, k, cardinality=12 if k > 200 else 4.4)
    train = TrainingSet(X, Y)
    print(f"\n  n = {n}, d = {d}, k = {k}:", end="")
    for key in ("plst", "cplst", "faie"):
        one, _ = best(lambda key=key: SOLVERS[key](n_components=0.2).fit(train))
        prepared = SOLVERS[key]().prepare(train)
        six, _ = best(lambda key=key, prepared=prepared: [
            SOLVERS[key](n_components=part).fit(train, prepared) for part in (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
        ])  # fmt: skip
        print(f" {key} {one:.3f} s, six sizes more {six:.3f} s;", end="")
    print()


def printed_completion(X, signs, mu, tol, lam=1.0):
    """Return (labels, steps) of the fixed-point iteration with a full decomposition for each step, without momentum."""
    n, k = signs.shape
    count = np.count_nonzero(signs)
    tau = min(3.8 * count / lam, X.size)
    Z = np.hstack([signs, X, np.ones((n, 1))])
    U, s, Vt = np.linalg.svd(Z, full_matrices=False)
    Z, level, steps = s[0] * np.outer(U[:, 0], Vt[0]), s[0], 0
    while level > mu:
        level = max(0.25 * level, mu)
        while True:
            G = np.zeros_like(Z)
            G[:, :k] = -lam / count * signs / (1 + np.exp(signs * Z[:, :k]))
            G[:, k:-1] = (Z[:, k:-1] - X) / X.size
            U, s, Vt = np.linalg.svd(Z - tau * G, full_matrices=False)
            new = (U * np.maximum(s - tau * level, 0)) @ Vt
            new[:, -1] = 1
            residual = np.linalg.norm(new - Z) / tau / np.linalg.norm(G)
            Z, steps = new, steps + 1
            if residual <= (tol if level == mu else max(tol, 0.3)):
                break
    return Z[:, :k], steps


def test_completion_beside_the_printed_iteration():
    X, Y = made(591, 128, 23, cardinality=2.5)
    train = TrainingSet(X[:200], Y[:200], X[200:])
    signs = np.zeros(Y.shape)
    signs[:200] = np.where(Y[:200], 1.0, -1.0)
    ours, model = best(lambda: SOLVERS["matrix_completion"](tol=1e-4).fit(train), 2)
    printed, (labels, steps) = best(lambda: printed_completion(X, signs, 1e-4, 1e-4), 1)
    print(f"\n  n = 591, d = 128, k = 23: printed {printed:.2f} s, {steps} steps; ours {ours:.2f} s,", end="")
    print(
        f" {model.info.n_iter} steps: {printed / ours:.1f} x, {printed / steps * model.info.n_iter / ours:.1f} x a step"
    )
    assert model.scores == pytest.approx(labels, abs=2e-2 * np.abs(labels).max())
    assert printed >= 8 * ours


def test_a_step_of_completion_grows_with_rows_as_the_matrix_does():
    X, Y = made(8_000, 100, 40)
    sizes, seconds = (1_000, 2_000, 4_000, 8_000), []
    for n in sizes:
        train = TrainingSet(X[: n // 10], Y[: n // 10], X[n // 10 : n])
        spent, model = best(lambda train=train: SOLVERS["matrix_completion"](max_iter=20, tol=1e-9).fit(train), 2)
        seconds.append(spent / model.info.n_iter)
    print()
    assert growth("completion, a step, d = 100, k = 40", sizes, seconds) <= 1.25


def library_programs(f, V, s, q):
    k, m = V.shape
    values = []
    for i in range(len(f)):
        above = -np.hstack([s[i][:, None] * V, np.eye(k)])
        whole = np.concatenate([np.ones(m), np.zeros(k)])[None]
        cost = np.concatenate([q[i], np.ones(k)])
        found = linprog(cost, A_ub=above, b_ub=s[i] * f[i] - 1, A_eq=whole, b_eq=[1.0], method="highs")
        values.append(found.fun)
    return np.array(values)


@pytest.mark.parametrize(("k", "m"), [(23, 5), (100, 15), (374, 37)])
def test_codes_beside_a_library_of_linear_programs(k, m):
    rng = np.random.default_rng(0)
    f, V, q = rng.standard_normal((300, k)), rng.standard_normal((k, m)), 0.5 * rng.random((300, m))
    s = np.where(rng.random((300, k)) < 0.3, 1.0, -1.0)
    ours, found = best(lambda: best_codes(f, V, s, q), 2)
    theirs, values = best(lambda: library_programs(f[:40], V, s[:40], q[:40]), 1)
    ratio = theirs / 40 * 300 / ours
    print(f"\n  k = {k}, m = {m}, none in one group: HiGHS {theirs / 40 * 1e3:.2f} ms a row,", end="")
    print(f" ours {ours / 300 * 1e3:.3f} ms, {ratio:.1f} x")
    assert found.values[:40] == pytest.approx(values, rel=1e-6)
    assert ratio >= 2


def test_ml_loc_at_the_size_of_the_paper():
    X, Y = made(450, 499, 374, cardinality=12)
    for lam2 in (0.1, 100.0):
        spent, model = best(lambda lam2=lam2: SOLVERS["ml_loc"](lam2=lam2).fit(TrainingSet(X, Y)), 1)
        print(f"\n  n = 450, d = 499, k = 374, lam2 = {lam2:g}: {spent:.1f} s, {model.info.n_iter} turns", end="")
        assert model.info.optimality <= 1e-3
    print()


def printed_labels(m, v, Phi, steps):
    """Return the labels of one row, with the precision of all labels inverted in each step."""
    D, before = np.ones(Phi.shape[1]), np.zeros(Phi.shape[1])
    for _ in range(steps):
        covariance = np.linalg.inv(np.diag(1 / D) + Phi.T @ Phi / v)
        mean = covariance @ (Phi.T @ m) / v
        if np.linalg.norm(mean - before) <= 1e-6 * np.linalg.norm(mean):
            break
        D, before = (1e-6 + (np.diag(covariance) + mean**2) / 2) / (1e-6 + 0.5), mean
    return mean


@pytest.mark.parametrize(("k", "K"), [(23, 5), (101, 20), (374, 37)])
def test_labels_beside_whole_precisions(k, K):
    rng = np.random.default_rng(0)
    Phi = rng.standard_normal((K, k)) / np.sqrt(K)
    m = (rng.random((500, k)) < 3 / k) @ Phi.T + 0.1 * rng.standard_normal((500, K))
    v = 0.01 + 0.1 * rng.random(500)
    ours, found = best(lambda: relevance(m, v, Phi, 1e-6, 100), 1)
    few = 5 if k > 200 else 20
    printed, means = best(lambda: [printed_labels(m[i], v[i], Phi, 100) for i in range(few)], 1)
    ratio = printed / few * 500 / ours
    print(f"\n  k = {k}, K = {K}: printed {printed / few * 1e3:.1f} ms a row, ours {ours / 500 * 1e3:.2f} ms,", end="")
    print(f" {ratio:.0f} x")
    assert found.mean[:few] == pytest.approx(np.array(means), abs=1e-6)
    assert ratio >= 5


def printed_order(K, n_known, count):
    """Return the rows that the largest information takes out of the pool, with new inverses for each."""
    pool, order = list(range(n_known, len(K))), []
    R = np.linalg.inv(K)
    for _ in range(count):
        part = R[np.ix_(pool, pool)]
        score = np.diag(np.linalg.inv(part)) * np.diag(part)
        order.append(pool.pop(int(score.argmax())))
    return order


def test_greedy_choice_beside_new_inverses():
    X = np.random.default_rng(0).standard_normal((600, 20))
    K = X @ X.T + 0.1 * np.eye(600)
    covariance = K[100:, 100:] - K[100:, :100] @ np.linalg.solve(K[:100, :100], K[:100, 100:])
    ours, order = best(lambda: greedy(covariance, 50))
    printed, expected = best(lambda: printed_order(K, 100, 50), 1)
    print(f"\n  50 rows of a pool of 500: printed {printed:.2f} s, ours {ours:.4f} s, {printed / ours:.0f} x")
    assert (100 + order).tolist() == expected
    assert printed >= 10 * ours
    sizes = (250, 500, 1_000, 2_000)
    X = np.random.default_rng(0).standard_normal((2_000, 20))
    seconds = [best(lambda n=n: greedy(X[:n] @ X[:n].T + 0.1 * np.eye(n), n // 10), 2)[0] for n in sizes]
    growth("a tenth of the pool chosen", sizes, seconds)
