"""Logistic regressions: their gaps from the definition, known solutions, those of scikit-learn, parts by themselves."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from mlrank.solvers import SOLVERS, TrainingSet, logistic
from mlrank.solvers.base import Block
from mlrank.solvers.one_vs_rest import LogisticRows, MachineRows, conjugate
from mlrank.solvers.one_vs_rest.conjugate import sparse_curvature
from mlrank.solvers.one_vs_rest.logistic import entropies, log_losses
from tests.solvers.problems import random_problem

Logistic = SOLVERS["logistic"]
RNG = np.random.default_rng(5)


@pytest.fixture(params=["factor", "sparse", "wide"])
def given(request, monkeypatch):
    """Return what makes rows that go each way: by a factor, and sparse or dense by conjugate gradients."""
    if request.param != "factor":
        monkeypatch.setattr(logistic, "SIDE", 0)
    return csr_array if request.param == "sparse" else np.asarray


def problem(known=False):
    X, Y = random_problem(n=60)
    mask = np.random.default_rng(1).random(Y.shape) < 0.8 if known else None
    return X, Y, mask


def values(model, X, Y, known, solver):
    """Return P and D of every label by their definitions; D of what is in the dual point, whose sums must fit."""
    known = np.ones_like(Y) if known is None else known
    point = model.dual_point.beta
    beta = point.toarray() if hasattr(point, "toarray") else point
    P, D = [], []
    for k, (w, b) in enumerate(zip(model.coef, model.intercept, strict=True)):
        rows = known[:, k]
        s = np.where(Y[rows, k], 1.0, -1.0)
        c = np.where(s > 0, solver.C * solver.positive_weight, solver.C)
        loss = sum(ci * np.log(1 + np.exp(-si * (xi @ w + b))) for ci, si, xi in zip(c, s, X[rows], strict=True))
        P.append(0.5 * w @ w + (0.0 if solver.free else 0.5 * b * b) + loss)
        alpha = s * beta[rows, k]
        assert (beta[~rows, k] == 0).all()
        assert ((alpha >= 0) & (alpha <= c * (1 + 1e-12))).all()
        p = np.clip(alpha / c, 1e-300, 1 - 1e-16)
        v, total = X[rows].T @ beta[rows, k], beta[rows, k].sum()
        if solver.free:
            assert total == pytest.approx(0, abs=1e-10 * alpha.sum())
        own = 0.0 if solver.free else 0.5 * total**2
        D.append(-(c * (p * np.log(p) + (1 - p) * np.log(1 - p))).sum() - 0.5 * v @ v - own)
    return np.array(P), np.array(D)


@pytest.mark.parametrize("bias", ["free", "augmented"])
@pytest.mark.parametrize("C", [0.02, 5.0, 2e3])
def test_gaps_are_those_of_the_definition(given, bias, C):
    X, Y, known = problem(known=True)
    solver = Logistic(C=C, bias=bias, positive_weight=1.7)
    model = solver.fit(TrainingSet(given(X), Y, known=known))
    P, D = values(model, X, Y & known, known, solver)
    assert model.info.converged
    assert model.info.objective == pytest.approx(P.sum(), rel=1e-12)
    assert model.info.optimality == pytest.approx((P.sum() - D.sum()) / P.sum(), abs=1e-12)
    assert (P - D <= 1e-3 * P).all()


@pytest.mark.parametrize(("C", "weight"), [(0.05, 1.0), (20.0, 3.0)])
def test_weights_are_those_of_scikit_learn(given, C, weight):
    X, Y, known = problem(known=True)
    model = Logistic(C=C, positive_weight=weight, tol=1e-10).fit(TrainingSet(given(X), Y, known=known))
    for k, (w, b) in enumerate(zip(model.coef, model.intercept, strict=True)):
        rows = known[:, k]
        other = LogisticRegression(C=C, class_weight={True: weight}, tol=1e-12, max_iter=10**5, solver="newton-cg")
        other.fit(X[rows], Y[rows, k])
        assert w == pytest.approx(other.coef_[0], abs=1e-5 * (1 + np.abs(w).max()))
        assert b == pytest.approx(other.intercept_[0], abs=1e-5 * (1 + abs(b)))


@pytest.mark.parametrize("bias", ["free", "augmented"])
def test_the_gradient_is_zero(given, bias):
    X, Y, _ = problem()
    model = Logistic(C=3.0, bias=bias, tol=1e-12).fit(TrainingSet(given(X), Y))
    S = np.where(Y, 1.0, -1.0)
    beta = 3.0 * S / (1 + np.exp(S * (X @ model.coef.T + model.intercept)))
    assert model.coef.T == pytest.approx(X.T @ beta, abs=1e-5)
    assert beta.sum(axis=0) == pytest.approx(0.0 if bias == "free" else model.intercept, abs=1e-5)


def test_features_of_zero_leave_the_log_odds(given):
    Y = np.arange(10)[:, None] < np.array([1, 5, 8])
    model = Logistic(positive_weight=2.0, tol=1e-12).fit(TrainingSet(given(np.zeros((10, 3))), Y))
    assert model.intercept == pytest.approx(np.log([2 / 9, 10 / 5, 16 / 2]), abs=1e-9)
    assert (model.coef == 0).all()


def test_one_feature_of_two_rows_has_a_solution_by_hand(given):
    """Rows 1 and -1 with opposite labels: w = 2 C / (1 + exp(w)), and no bias."""
    X, Y = np.array([[1.0], [-1.0]]), np.array([[True], [False]])
    w = 0.75
    C = w * (1 + np.exp(w)) / 2
    model = Logistic(C=C, tol=1e-12).fit(TrainingSet(given(X), Y))
    assert (model.coef[0, 0], model.intercept[0]) == pytest.approx((w, 0.0), abs=1e-7)
    assert model.info.objective == pytest.approx(w * w / 2 + 2 * C * np.log1p(np.exp(-w)), rel=1e-12)


def test_labels_of_all_rows_none_or_unknown_have_constant_scores(given):
    X, Y, _ = problem()
    Y[:, 0], Y[:, 1] = True, False
    known = np.ones_like(Y)
    known[:, 2], known[30:, 0] = False, False
    model = Logistic().fit(TrainingSet(given(X), Y, known=known))
    assert (model.coef[:3] == 0).all()
    assert model.intercept[:3] == pytest.approx(np.log([30.5 / 0.5, 0.5 / 60.5, 0.5 / 60.5]))
    whole = Logistic().fit(TrainingSet(given(X), Y[:, :2]))
    assert whole.info.objective == whole.info.optimality == 0.0


@pytest.mark.parametrize("bias", ["free", "augmented"])
def test_a_large_search_is_the_same_from_any_stage(given, bias):
    X, Y, _ = problem()
    train = TrainingSet(given(X), Y)
    solver = Logistic(bias=bias)
    shared = solver.prepare(train)
    for C in (0.1, 4096.0, 20.0):
        one = Logistic(C=C, bias=bias)
        assert one.fit(train, shared).coef.tobytes() == one.fit(train).coef.tobytes()
    stages = shared._groups[0].stages if isinstance(shared, MachineRows) else shared._stages[0]
    assert len(stages) > 2


def test_blocks_of_labels_change_nothing_but_rounding(monkeypatch):
    X, Y, _ = problem()
    train = TrainingSet(csr_array(X), csr_array(Y))
    whole = LogisticRows(train, True, 1.0).fit(4.0, 1e-10, 200).machines
    monkeypatch.setattr(conjugate, "LANES", 2)
    monkeypatch.setattr(TrainingSet, "dense_Y", property(lambda train: pytest.fail("dense labels")))
    parted = LogisticRows(train, True, 1.0).fit(4.0, 1e-10, 200).machines
    assert parted.W == pytest.approx(whole.W, abs=1e-5)
    assert parted.primal == pytest.approx(whole.primal, rel=1e-9)


def test_too_few_steps_are_told(given):
    X, Y, _ = problem()
    train = TrainingSet(given(X), Y)
    info, best = (Logistic(C=1e3, max_iter=steps, tol=1e-6).fit(train).info for steps in (1, 200))
    assert not info.converged
    assert info.n_iter <= Y.shape[1]
    # The bound that it has is one.
    assert info.objective * (1 - info.optimality) <= best.objective <= info.objective


def test_losses_slopes_and_entropies_are_the_definitions():
    S = RNG.integers(-1, 2, (30, 3)).astype(np.int8)
    F, costs = 4 * RNG.standard_normal(S.shape), np.array([0.7, 2.1])
    beta, slopes, loss = np.empty(S.shape), np.empty(S.shape), np.empty(3)
    log_losses(F, S, costs, beta, slopes, loss)
    c = np.where(S > 0, costs[1], np.where(S < 0, costs[0], 0.0))
    p = 1 / (1 + np.exp(S * F))
    assert loss == pytest.approx((c * np.log(1 + np.exp(-S * F))).sum(axis=0), rel=1e-13)
    assert beta == pytest.approx(S * c * p, rel=1e-12)
    assert slopes == pytest.approx(c * p * (1 - p), rel=1e-12)
    # What the loss and its conjugate have in common: c H(alpha / c) = loss + alpha z.
    both = c * np.log(1 + np.exp(-S * F)) + c * p * S * F
    assert entropies(np.abs(beta), c) == pytest.approx(both, abs=1e-13)
    assert (entropies(c, c) == 0).all()


def test_products_with_systems_are_the_definitions():
    X = RNG.standard_normal((20, 7)) * (RNG.random((20, 7)) < 0.4)
    rows, single = TrainingSet(csr_array(X), np.ones((20, 1), bool)).X, np.float32
    A, slopes, D = np.column_stack([X, np.ones(20)]), RNG.random((20, 3)), RNG.standard_normal((8, 3))
    out = np.zeros(D.shape, single)
    arrays = (rows.data.astype(single), rows.indices, rows.indptr, slopes.astype(single), D.astype(single))
    sparse_curvature(*arrays, np.empty(3, single), out)
    expected = np.column_stack([A.T @ (h * (A @ d)) for h, d in zip(slopes.T, D.T, strict=True)])
    assert out == pytest.approx(expected, abs=1e-5)


def test_rows_go_where_their_systems_are_cheap(monkeypatch):
    X, Y, _ = problem()
    assert type(Logistic().prepare(TrainingSet(csr_array(X), Y))) is MachineRows
    monkeypatch.setattr(logistic, "DENSE_CELLS", X.size - 1)
    assert type(Logistic().prepare(TrainingSet(csr_array(X), Y))) is LogisticRows
    assert type(Logistic().prepare(TrainingSet(X, Y))) is MachineRows


def test_a_bias_of_no_kind_is_refused():
    with pytest.raises(ValueError, match="bias must be one of free, augmented, found 'auto'"):
        Logistic(bias="auto")


@pytest.mark.parametrize("C", [0.5, 500.0])
def test_blocks_of_labels_give_the_bytes_of_a_whole_fit(given, monkeypatch, C):
    """On rows of each kind, of which the contract tries one."""
    monkeypatch.setattr(conjugate, "LANES", 2)
    monkeypatch.setattr("mlrank.solvers.one_vs_rest.rows.CELLS", 1)
    monkeypatch.setattr("mlrank.solvers.one_vs_rest.rows.LEAST", 2)
    X, Y = random_problem(n=60, k=7)
    Y[:, 2], Y[:, 4] = True, False
    train, solver = TrainingSet(given(X), Y), Logistic(C=C)
    whole = solver.fit(train)
    for count in (2, 3, 5):  # of the five blocks two have nothing to solve
        parts = [solver.fit_block(train, Block(number, count)) for number in range(count)]
        assert sum(len(part.labels) for part in parts) == 5
        joined = solver.join(train, parts)
        assert joined.info == whole.info
        for one, other in ((joined.coef, whole.coef), (joined.intercept, whole.intercept)):
            assert one.tobytes() == other.tobytes()
        assert joined.dual_point.beta.tobytes() == whole.dual_point.beta.tobytes()
