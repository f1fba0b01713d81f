"""MLR: fixtures, blocks, certificates and objectives from the definitions, one pass against the textbook, refusals."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from mlrank.arrays import as_features
from mlrank.kernels import KERNELS
from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.mlr import rows as mlr_rows
from mlrank.solvers.mlr.kernels import project
from mlrank.solvers.mlr.mlr import ascend
from mlrank.solvers.mlr.rows import NO_BOUNDS, GramRows, Labels, LinearRows, RankingProblem, label_mix
from tests.solvers.problems import SCENARIOS, load, random_problem

MLR = SOLVERS["mlr"]
KINDS = {"lin": "linear", "rbf": "rbf", "chi2": "chi2"}
FORMS = {"mlr13": {}, "mlr4": {"formulation": "exact"}, "mlrhalf": {"halve": True}}
NO_MIX = np.zeros((0, 0))


def stored_optima():
    for scenario in SCENARIOS:
        f = load(scenario)
        for form in FORMS:
            for kind in KINDS:
                if f"{form}_{kind}_value" in f or f"{form}_{kind}_value_K2" in f:
                    yield scenario, form, kind


def known_parts(F, Y, known=None):
    """Yield the scores and labels of each row that are known."""
    known = np.ones_like(Y) if known is None else known
    yield from ((f[k], y[k]) for f, y, k in zip(F, Y, known, strict=True))


def threshold_loss(F, Y, known=None):
    """Return the sum over rows of min_t sum_k max(0, 1 - y_k (f_k - t)); one of the kinks is a minimum."""
    total = 0.0
    for f, relevant in known_parts(F, Y, known):
        y = np.where(relevant, 1.0, -1.0)
        if abs(y.sum()) < len(y):
            total += min(np.maximum(0.0, 1 - y * (f - t)).sum() for t in f - y)
    return total


def pair_loss(F, Y, known=None):
    """Return the sum over rows and pairs (relevant p, irrelevant q) of max(0, 2 - (f_p - f_q))."""
    pairs = [(f[p], f[q]) for f, y in known_parts(F, Y, known) for p in np.flatnonzero(y) for q in np.flatnonzero(~y)]
    return sum(max(0.0, 2 - (high - low)) for high, low in pairs)


def block_by_bisection(s, y, kappa, C):
    """Return the beta of eq. 14 for scores s without the example's own part, by bisection on lambda (eq. 16)."""

    def beta(lam):
        return y * np.clip((1 + lam * y - y * s) / kappa, 0, C)

    low, high = -1e7, 1e7
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if beta(middle).sum() < 0 else (low, middle)
    return beta(high)


def solved(rows, Y, C, exact=False, tol=1e-9, mix=NO_MIX, single=False):
    return ascend(rows.sweeps(RankingProblem(Labels.of(Y, exact), C, mix), single), tol, 100_000, 0)


@pytest.mark.parametrize(("scenario", "form", "kind"), list(stored_optima()))
def test_reaches_the_independently_computed_optimum(scenario, form, kind):
    f = load(scenario)
    X, Y = f["in_X"], f["in_Y"].astype(bool)
    common = {"C": float(f["in_mlr_C"]), "kernel": KINDS[kind], "gamma": float(f["in_rbf_gamma"])}
    model = MLR(**common, **FORMS[form], tol=1e-9, max_iter=10**6).fit(TrainingSet(X, Y))
    best = float(f[f"{form}_{kind}_value" + ("_K2" if form == "mlrhalf" else "")])
    assert model.info.converged
    assert best * (1 - 1e-9) <= model.info.objective <= best * (1 + 2e-9)
    for rows, key in ((X, f"{form}_{kind}_F"), (f["in_Xte"], f"{form}_{kind}_Fte")):
        if key in f:
            assert np.abs(model.decision_function(rows) - f[key]).max() <= 1e-3 * max(1.0, np.abs(f[key]).max())


@pytest.mark.parametrize("printed", [False, True])
def test_stored_blocks_are_solved_exactly(printed):
    with np.load(Path(__file__).with_name("mlr_blocks.npz")) as b:
        for f, y, kappa, C, alpha in zip(
            *(b[key] for key in ("blk_f", "blk_s", "blk_kii", "blk_C")),
            b["blk_alpha_printed" if printed else "blk_alpha"],
            strict=True,
        ):
            used = np.isfinite(f)
            f, y, found = f[used] * (0.5 if printed else 1.0), y[used], np.empty(used.sum())
            project((y - f) / kappa, np.minimum(y * C, 0.0), np.maximum(y * C, 0.0), 0.0, found)
            assert found * y == pytest.approx(alpha[used], abs=1e-9 * max(1.0, C))
            # Ten sums of rounding errors; how large they are depends on the order in which the compiler adds.
            assert abs(found.sum()) <= 1e-13 * max(1.0, C)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 9), st.integers(0, 10**6), st.sampled_from([0.0, 0.5, 3.0, 100.0]), st.floats(-50, 50))
def test_a_block_is_the_solution_of_eq_14_from_any_start(K, seed, spread, start):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(K) < rng.integers(1, K), 1.0, -1.0)
    s, kappa, C = spread * rng.standard_normal(K), rng.uniform(0.1, 3.0), 10.0 ** rng.integers(-2, 3)
    found = np.empty(K)
    project((y - s) / kappa, np.minimum(y * C, 0.0), np.maximum(y * C, 0.0), start, found)
    assert found == pytest.approx(block_by_bisection(s, y, kappa, C), abs=1e-9 * max(1.0, C))
    assert abs(found.sum()) <= 1e-12 * max(1.0, C)


@pytest.mark.parametrize("exact", [False, True])
def test_losses_are_their_definitions(exact):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        Y = rng.random((30, 6)) < 0.4
        # Whole numbers make ties of kinks.
        F = rng.integers(-3, 4, Y.shape).astype(float) if seed % 2 else 2 * rng.standard_normal(Y.shape)
        for known in (None, rng.random(Y.shape) < 0.6):
            wanted = (pair_loss if exact else threshold_loss)(F, Y, known)
            assert Labels.of(Y, exact, known).loss(F) == pytest.approx(wanted, abs=1e-12)


def test_with_one_label_a_row_the_loss_is_crammer_and_singers_with_margin_2():
    rng = np.random.default_rng(0)
    F, label = rng.standard_normal((40, 5)), rng.integers(0, 5, 40)
    Y = np.arange(5) == label[:, None]
    own = F[Y]
    best = np.where(Y, -np.inf, F).max(axis=1)
    assert Labels.of(Y, False).loss(F) == pytest.approx(np.maximum(0, 2 - (own - best)).sum())


def rows_of(kind, X):
    if kind == "gram":
        return GramRows(X @ X.T)
    return LinearRows(as_features(csr_array(X)) if kind == "csr" else X, False)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("kind", ["gram", "dense", "csr"])
@pytest.mark.parametrize("passes", [3, 40])
def test_the_certificate_is_that_of_the_definitions(kind, exact, mixed, gaps, passes):
    """Of an unfinished ascent, the values are those of its own feasible dual variables and of its own scores."""
    X, Y = random_problem()
    known = np.random.default_rng(4).random(Y.shape) < 0.7 if gaps else np.ones_like(Y)
    K, C, no = X @ X.T, 0.7, ~Y & known
    Y = Y & known
    mix = label_mix(Y, 0.6 if mixed else 0.0)
    R = mix if mixed else np.eye(Y.shape[1])
    labels = Labels.of(Y, exact, known if gaps else None)
    done = ascend(rows_of(kind, X).sweeps(RankingProblem(labels, C, mix), False), 1e-15, passes, 0)
    beta, signs = done.sweeps.beta, np.where(Y, 1.0, -1.0)
    alpha = signs * beta
    assert alpha.min() >= -1e-12
    assert np.abs(beta.sum(axis=1)).max() <= 1e-12
    assert (alpha[~no.any(axis=1) | ~Y.any(axis=1)] == 0).all()
    assert (alpha[~known] == 0).all()
    most = C * np.where(Y, no.sum(axis=1)[:, None], Y.sum(axis=1)[:, None]) if exact else C
    assert (alpha <= most + 1e-12).all()
    assert done.dual == pytest.approx(alpha.sum() - 0.5 * np.sum(beta * (K @ beta @ R)), rel=1e-10)
    weights = done.sweeps.coefficients if kind != "gram" else X.T @ done.sweeps.coefficients
    F = X @ weights @ R
    loss = (pair_loss if exact else threshold_loss)(F, Y, known)
    assert done.primal == pytest.approx(0.5 * np.sum(weights * (weights @ R)) + C * loss, rel=1e-10)
    assert done.primal > done.dual


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("exact", [False, True])
def test_no_move_of_the_scores_improves_the_objective(exact, mixed, gaps):
    X, Y = random_problem(n=15)
    known = np.random.default_rng(4).random(Y.shape) < 0.7 if gaps else None
    Y = Y & known if gaps else Y
    K = KERNELS["rbf"](X, X, 0.3)
    form = "exact" if exact else "approximate"
    model = MLR(C=0.5, kernel="rbf", gamma=0.3, formulation=form, correlation=0.5 * mixed, tol=1e-11).fit(
        TrainingSet(X, Y, known=known)
    )
    F, inverse = model.decision_function(X), np.linalg.inv(K)
    R = label_mix(Y, 0.5) if mixed else np.eye(Y.shape[1])

    def objective(F):
        loss = (pair_loss if exact else threshold_loss)(F, Y, known)
        return 0.5 * np.trace(F.T @ inverse @ F @ np.linalg.inv(R)) + 0.5 * loss

    assert model.info.objective == pytest.approx(objective(F), rel=1e-8)
    rng = np.random.default_rng(0)
    for size in (1.0, 1e-1, 1e-2, 1e-3):
        for _ in range(50):
            assert objective(F + size * K @ rng.standard_normal(F.shape)) >= model.info.objective * (1 - 1e-10)


def movable(sweeps):
    return np.flatnonzero(sweeps.problem.labels.mixed)


def textbook_pass(K, Y, C, order, beta, exact, z, known):
    """Visit each example of `order` once: eq. 14 by bisection, or (4) pair by pair, of the labels that are known."""
    beta, signs = beta.copy(), np.where(Y, 1.0, -1.0)
    for i in order:
        k = known[i]
        if not exact:
            s = K[i] @ beta - K[i, i] * beta[i]
            beta[i, k] = block_by_bisection(s[k], signs[i, k], K[i, i], C)
            continue
        for p in np.flatnonzero(Y[i] & k):
            for q in np.flatnonzero(~Y[i] & k):
                F = K[i] @ beta
                new = np.clip(z[i, p, q] - (F[p] - F[q] - 2) / (2 * K[i, i]), 0, C)
                beta[i, p] += new - z[i, p, q]
                beta[i, q] -= new - z[i, p, q]
                z[i, p, q] = new
    return beta


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("kind", ["gram", "dense", "csr"])
def test_passes_are_those_of_the_textbook(kind, exact, gaps, monkeypatch):
    """With no direction cut down and each batch visited once, in single batches and in several."""
    monkeypatch.setattr(mlr_rows, "VISITS", 1)
    monkeypatch.setattr(mlr_rows, "BATCH", 7)
    X, Y = random_problem()
    rows = GramRows(X @ X.T, NO_BOUNDS) if kind == "gram" else LinearRows(rows_of(kind, X).X, False, 1.0, NO_BOUNDS)
    known = np.random.default_rng(4).random(Y.shape) < 0.7 if gaps else np.ones_like(Y)
    sweeps = rows.sweeps(RankingProblem(Labels.of(Y, exact, known), 0.3, NO_MIX), False)
    rng, beta, z = np.random.default_rng(1), np.zeros(Y.shape), np.zeros((len(Y), Y.shape[1], Y.shape[1]))
    for _ in range(3):
        order = rng.permutation(movable(sweeps))
        beta = textbook_pass(X @ X.T, Y, 0.3, order, beta, exact, z, known)
        sweeps.sweep(order)
        assert sweeps.beta == pytest.approx(beta, abs=1e-9)


def test_visiting_a_batch_again_is_visiting_its_examples_in_turn(monkeypatch):
    monkeypatch.setattr(mlr_rows, "BATCH", 7)
    X, Y = random_problem()
    sweeps = GramRows(X @ X.T, NO_BOUNDS).sweeps(RankingProblem(Labels.of(Y, False), 0.3, NO_MIX), False)
    order = np.random.default_rng(1).permutation(movable(sweeps))
    sweeps.sweep(order)
    batches = [order[i : i + 7] for i in range(0, len(order), 7)]
    again = np.concatenate([np.tile(batch, mlr_rows.VISITS) for batch in batches])
    wanted = textbook_pass(X @ X.T, Y, 0.3, again, np.zeros(Y.shape), False, None, np.ones_like(Y))
    assert sweeps.beta == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("single", [False, True])
def test_scores_that_are_kept_up_are_those_of_the_certificate(single):
    X, Y = random_problem(n=150)
    sweeps = GramRows(KERNELS["rbf"](X, X, 0.1)).sweeps(
        RankingProblem(Labels.of(Y, False), 1.0, label_mix(Y, 0.3)), single
    )
    for seed in range(4):
        sweeps.sweep(np.random.default_rng(seed).permutation(movable(sweeps)))
        sweeps.tops.adapt(1.0)
        assert sweeps.estimate() == pytest.approx(sweeps.certify(), rel=1e-5 if single else 1e-11)
    F = sweeps.F.copy()
    sweeps.refresh(single)
    assert sweeps.F == pytest.approx(F, abs=1e-5 if single else 1e-11)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("single", [False, True])
def test_scores_of_part_of_the_examples_are_kept_up_as_those_of_all(single, exact):
    X, Y = random_problem(n=150)
    K, mix = KERNELS["rbf"](X, X, 0.1), label_mix(Y, 0.3)
    sweeps = GramRows(K).sweeps(RankingProblem(Labels.of(Y, exact), 1.0, mix), single)
    sweeps.sweep(movable(sweeps)[::3])
    sweeps.estimate()
    kept = np.flatnonzero(sweeps.beta.any(axis=1) | (np.arange(150) % 3 > 1))
    sweeps._narrow(kept)
    sweeps._narrow(np.flatnonzero(kept % 9 > 0))
    part = kept[kept % 9 > 0]
    sweeps.beta[np.setdiff1d(np.arange(150), part)] = 0.0
    assert np.array_equal(sweeps.examples, part)
    before = sweeps.estimate()[0], sweeps.scores.copy(), sweeps.beta.copy(), sweeps.tops.omega.copy()
    sweeps.sweep(np.intersect1d(part, movable(sweeps))[::-1])
    sweeps.estimate()
    U = sweeps.rows.found.U
    rest = (K - U @ U.T)[part] @ (sweeps.beta - before[2]) + U[part] @ (sweeps.tops.omega - before[3])
    assert sweeps.scores - before[1] == pytest.approx(rest @ mix, abs=1e-5 if single else 1e-11)


def test_directions_are_orthonormal_and_leave_a_positive_rest():
    X, _ = random_problem(n=300, m=40)
    for K in (X @ X.T, KERNELS["rbf"](X, X, 0.01)):
        rows = GramRows(K)
        A, S, U = rows.found.A, rows.found.sample, rows.found.U
        assert A.T @ K[np.ix_(S, S)] @ A == pytest.approx(np.eye(A.shape[1]), abs=1e-9)
        assert U == pytest.approx(K[:, S] @ A, abs=1e-9)
        assert np.linalg.eigvalsh(rows.double).min() >= -1e-9 * np.trace(K)
        assert rows.single == pytest.approx(K - U @ U.T, abs=1e-5)
    linear, gram = LinearRows(X, False), GramRows(X @ X.T, (32, 1.0))
    assert linear.weights.T @ linear.weights == pytest.approx(np.eye(32), abs=1e-9)
    assert linear.found.U == pytest.approx(X @ linear.weights, abs=1e-9)
    assert linear.found.moment == pytest.approx(gram.found.moment)


def svm_optimum(K, Y, caps):
    """Return the optimum of eq. 7, machine by machine, by coordinate ascent."""
    signs, total = np.where(Y, 1.0, -1.0), 0.0
    for k in range(Y.shape[1]):
        Q, alpha = K * np.outer(signs[:, k], signs[:, k]), np.zeros(len(K))
        for _ in range(500):
            for i in range(len(K)):
                alpha[i] = np.clip(alpha[i] + (1 - Q[i] @ alpha) / Q[i, i], 0, caps[i, k])
        total += alpha.sum() - 0.5 * alpha @ Q @ alpha
    return total


@pytest.mark.parametrize("seed", range(4))
def test_eq_13_bounds_eq_4_which_bounds_eq_7(seed):
    X, Y = random_problem(n=14, seed=seed)
    K, C = KERNELS["rbf"](X, X, 0.3), 0.4
    approximate, exact = (solved(GramRows(K), Y, C, form) for form in (False, True))
    caps = C * np.where(Y, (~Y).sum(axis=1)[:, None], Y.sum(axis=1)[:, None])
    caps[Y.all(axis=1) | ~Y.any(axis=1)] = 0.0
    assert approximate.dual <= exact.primal
    assert exact.dual <= svm_optimum(K, Y, caps) * (1 + 1e-6)


def test_with_the_c_of_eq_2_problem_4_is_eq_2():
    """The objective is four times that of eq. 2, which counts each pair twice, and the scores are twice its own."""
    X, Y = random_problem()
    model = MLR(C=0.1, kernel="linear", formulation="exact", C_convention="eq2", tol=1e-10).fit(TrainingSet(X, Y))
    F, W = model.decision_function(X) / 2, model.coef / 2
    signs = np.where(Y, 1.0, -1.0)
    loss = sum(
        max(0.0, 1 - (y[k] - y[m]) / 2 * (f[k] - f[m]))
        for f, y in zip(F, signs, strict=True)
        for k in range(len(f))
        for m in range(len(f))
        if y[k] != y[m]
    )
    assert model.info.objective == pytest.approx(4 * (0.5 * np.sum(W * W) + 0.1 * loss), rel=1e-9)
    plain = MLR(C=0.4, kernel="linear", formulation="exact", tol=1e-10).fit(TrainingSet(X, Y))
    assert plain.info == model.info


@pytest.mark.parametrize("bias", ["none", "augmented"])
@pytest.mark.parametrize("settings", [{}, {"formulation": "exact"}, {"halve": True}, {"correlation": 0.4}])
def test_the_linear_kernel_precomputed_is_the_linear_form(settings, bias):
    X, Y = random_problem()
    new = np.random.default_rng(8).standard_normal((9, 6))
    common = {"C": 0.5, "bias": bias, "tol": 1e-10, **settings}
    linear = MLR(kernel="linear", **common).fit(TrainingSet(X, Y))
    sparse = MLR(kernel="linear", **common).fit(TrainingSet(csr_array(X), Y))
    gram = MLR(kernel="precomputed", **common).fit(TrainingSet(X @ X.T, Y))
    assert gram.info.objective == pytest.approx(linear.info.objective, rel=1e-9)
    assert gram.decision_function(new @ X.T) == pytest.approx(linear.decision_function(new), abs=1e-4)
    assert sparse.decision_function(csr_array(new)) == pytest.approx(linear.decision_function(new), abs=1e-4)
    assert (linear.intercept != 0).all() == (bias == "augmented")
    ones = MLR(kernel="linear", **common | {"bias": "none"}).fit(TrainingSet(np.hstack([X, np.ones((40, 1))]), Y))
    if bias == "augmented":
        assert np.column_stack([linear.coef, linear.intercept]) == pytest.approx(ones.coef, abs=1e-4)


def test_the_linear_kernel_forms_no_matrix_of_examples():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 4))
    Y = X @ rng.standard_normal((4, 3)) > 0.3
    train = TrainingSet(X, Y)
    MLR(kernel="linear").fit(TrainingSet(X[:50], Y[:50]))
    tracemalloc.start()
    model = MLR(kernel="linear", C=0.01).fit(train)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.info.converged
    # The matrix would take 3.2 GB.
    assert peak < 50e6


def test_as_printed_eq_15_holds_and_the_notes_tell_what_is_left_of_eq_13():
    f = load("hist")
    X, Y, C = f["in_X"], f["in_Y"].astype(bool), float(f["in_mlr_C"])
    K, signs = f["mlr_chi2_K"], np.where(f["in_Y"] > 0, 1.0, -1.0)
    solver = MLR(C=C, halve=True, gamma=float(f["in_rbf_gamma"]), tol=1e-10)
    model = solver.fit(TrainingSet(X, Y))
    beta = np.zeros(Y.shape)
    beta[model.shared[1]] = model.dual.T
    assert signs * beta == pytest.approx(f["mlrhalf_chi2_alpha"], abs=1e-4 * C)
    for i in range(len(Y)):
        printed = 0.5 * (K[i] @ beta - K[i, i] * beta[i])
        if 0 < Y[i].sum() < Y.shape[1]:
            assert beta[i] == pytest.approx(block_by_bisection(printed, signs[i], K[i, i], C), abs=1e-3)
    F = K @ beta
    half = 0.5 * np.sum(F * beta)
    primal, dual = half + C * threshold_loss(F, Y), np.abs(beta).sum() - half
    (note,) = model.info.notes
    assert f"does not apply to eq. 13 itself, whose relative gap is {(primal - dual) / primal:.2g}" in note
    assert (primal - dual) / primal > 0.1
    assert MLR(C=C, gamma=float(f["in_rbf_gamma"])).fit(TrainingSet(X, Y)).info.notes == ()


def test_single_precision_never_decides():
    """Kernels that are almost constant, and a large C, leave nothing of the scores in single precision."""
    X, Y = random_problem(n=60)
    for gamma, C in ((1e-7, 1e4), (0.3, 1e6)):
        info = MLR(C=C, kernel="rbf", gamma=gamma, tol=1e-3).fit(TrainingSet(X, Y)).info
        close = MLR(C=C, kernel="rbf", gamma=gamma, tol=1e-6).fit(TrainingSet(X, Y)).info
        assert info.converged
        assert close.objective * (1 - 1e-6) <= info.objective <= close.objective * (1 + 1e-3)


def test_a_failed_certificate_is_followed_by_better_scores_and_then_by_double_precision(monkeypatch):
    X, Y = random_problem()
    seen = []
    refresh, estimate = mlr_rows.GramSweeps.refresh, mlr_rows.GramSweeps.estimate
    monkeypatch.setattr(mlr_rows.GramSweeps, "estimate", lambda self: (estimate(self)[0],) * 2)
    monkeypatch.setattr(
        mlr_rows.GramSweeps, "refresh", lambda self, single: seen.append(single) or refresh(self, single)
    )
    done = solved(GramRows(X @ X.T), Y, 1.0, tol=1e-6, single=True)
    assert done.optimality <= 1e-6
    assert seen[0]
    assert not any(seen[1:])
    assert done.sweeps.F.dtype == np.float64


@pytest.mark.parametrize("single", [False, True])
def test_examples_that_were_dropped_too_early_come_back(single, monkeypatch):
    """Two thirds of the examples are taken for settled in the first round, whatever their scores."""
    X, Y = random_problem(n=200)
    K, calls = KERNELS["rbf"](X, X, 0.3), []
    choose, narrow = mlr_rows.Activity.choose, mlr_rows.GramSweeps._narrow
    monkeypatch.setattr(
        mlr_rows.GramSweeps, "_narrow", lambda self, kept: calls.append(len(kept)) or narrow(self, kept)
    )
    monkeypatch.setattr(mlr_rows.Activity, "choose", lambda *given: choose(*given)[:: 1 if calls else 3])
    done = solved(GramRows(K), Y, 5.0, tol=1e-8, single=single)
    assert calls
    assert calls[0] <= 67
    assert done.optimality <= 1e-8
    assert done.sweeps.whole or len(done.sweeps.examples) > 67
    monkeypatch.undo()
    assert done.dual == pytest.approx(solved(GramRows(K), Y, 5.0).dual, rel=1e-7)


def test_more_correlation_brings_scores_of_related_labels_closer():
    X, Y = random_problem(n=120, k=4)
    Y[:, 1] = Y[:, 0] ^ (np.random.default_rng(1).random(120) < 0.25)
    distances = []
    for correlation in (0.0, 0.5, 0.9):
        F = MLR(C=0.1, kernel="linear", correlation=correlation, tol=1e-8).fit(TrainingSet(X, Y)).decision_function(X)
        distances.append(np.linalg.norm(F[:, 0] - F[:, 1]) / np.linalg.norm(F[:, :2]))
    assert distances == sorted(distances, reverse=True)
    assert label_mix(Y, 0.0).size == 0
    H = Y.astype(float) / np.linalg.norm(Y, axis=0)
    assert label_mix(Y, 0.25) == pytest.approx(0.75 * np.eye(4) + 0.25 * H.T @ H)
    Y[:, 2] = False
    assert label_mix(Y, 0.25)[2] == pytest.approx(np.eye(4)[2])


@pytest.mark.parametrize("form", ["approximate", "exact"])
@pytest.mark.parametrize("kernel", ["additive_chi2", "chi2", "linear"])
def test_rows_of_zeros_are_defined(kernel, form):
    """With K_ii = 0 their scores are 0 whatever happens, which the certificate takes into account."""
    X, Y = random_problem()
    X = np.abs(X)
    X[[5, 9, 11]] = 0.0
    model = MLR(kernel=kernel, formulation=form, tol=1e-8).fit(TrainingSet(X, Y))
    assert model.info.converged
    F = model.decision_function(X)
    assert (F[5] == 0).all() == (kernel != "chi2")
    kept = np.delete(np.arange(40), [5, 9, 11])
    if kernel != "chi2":
        alone = MLR(kernel=kernel, formulation=form, tol=1e-8).fit(TrainingSet(X[kept], Y[kept]))
        assert alone.decision_function(X) == pytest.approx(F, abs=1e-3)
        loss = (
            pair_loss(F[[5, 9, 11]], Y[[5, 9, 11]]) if form == "exact" else threshold_loss(F[[5, 9, 11]], Y[[5, 9, 11]])
        )
        assert model.info.objective == pytest.approx(alone.info.objective + loss, rel=1e-6)


def test_rows_with_all_or_no_labels_change_nothing():
    X, Y = random_problem()
    mixed = Y.any(axis=1) & ~Y.all(axis=1)
    assert 0 < (~mixed).sum()
    for kernel in ("linear", "rbf"):
        whole = MLR(kernel=kernel, tol=1e-10).fit(TrainingSet(X, Y)).decision_function(X)
        part = MLR(kernel=kernel, tol=1e-10).fit(TrainingSet(X[mixed], Y[mixed])).decision_function(X)
        assert whole == pytest.approx(part, abs=1e-4)


def test_gammas_share_distances_and_the_scores_are_the_same_to_the_last_bit(monkeypatch):
    X, Y = random_problem()
    train, new, calls = TrainingSet(np.abs(X), Y), np.abs(X[:9] + 0.1), []
    base = KERNELS["chi2"].base
    monkeypatch.setitem(
        KERNELS, "chi2", KERNELS["chi2"].__class__(lambda A, B: calls.append(A) or base(A, B), KERNELS["chi2"].finish)
    )
    grid = [MLR(C=C, gamma=gamma) for C in (0.5, 4.0) for gamma in (0.1, 2.0)]
    prepared = grid[0].prepare(train)
    scores = []
    for solver in grid:
        model = solver.fit(train, prepared)
        scores.append([model.decision_function(rows).tobytes() for rows in (train.X, new)])
    assert [rows is train.X for rows in calls] == [True, False]
    for solver, wanted in zip(grid, scores, strict=True):
        model = solver.fit(train)
        assert [model.decision_function(rows).tobytes() for rows in (train.X, new)] == wanted


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_problems_without_a_pair_are_refused(kernel):
    X, Y = random_problem()
    for labels, found in (
        (Y[:, :1], "40 rows with all or none of 1 labels"),
        (np.ones_like(Y), "40 rows with all or none of 5"),
    ):
        with pytest.raises(
            ValueError, match=f"ranking needs a row with a relevant and an irrelevant label, found {found}"
        ):
            MLR(kernel=kernel).fit(TrainingSet(X, labels))


def test_rows_that_have_no_kernel_are_refused():
    X, Y = random_problem()
    with pytest.raises(ValueError, match="the chi2 kernel needs features of at least 0, found -"):
        MLR().fit(TrainingSet(X, Y))
    with pytest.raises(
        ValueError, match="a precomputed kernel must be a symmetric matrix of the training rows, found 40 rows"
    ):
        MLR(kernel="precomputed").fit(TrainingSet(X, Y))
    with pytest.raises(ValueError, match="must be positive semidefinite"):
        MLR(kernel="precomputed").fit(TrainingSet(-X @ X.T, Y))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": "chi"}, "kernel must be one of .*, found 'chi'. Did you mean 'chi2'"),
        ({"formulation": "exakt"}, "formulation must be one of .*, found 'exakt'. Did you mean 'exact'"),
        ({"bias": "free"}, "bias must be one of none, augmented, found 'free'"),
        ({"C_convention": "eq3"}, "C_convention must be one of eq4, eq2, found 'eq3'"),
        ({"correlation": 1.0}, "correlation must be below 1, found 1"),
        ({"correlation": -0.1}, "correlation must be a number, 0 or above, found -0.1"),
        ({"halve": 1}, "halve must be true or false, found 1"),
        ({"halve": True, "formulation": "exact"}, "halve is of eq. 14 to 16 as printed, .* found formulation 'exact'"),
        ({"halve": True, "correlation": 0.5}, "halve is of eq. 14 to 16 as printed, .* found correlation 0.5"),
    ],
)
def test_settings_that_do_not_exist_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        MLR(**settings)
