"""Machines on sparse rows, labels side by side: steps from the definition, and what Newton's method finds."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.certify import CERTIFIERS
from mlrank.kernels.rows import KernelRows
from mlrank.solvers import SOLVERS, TrainingSet, binary_svm
from mlrank.solvers.base import Block
from mlrank.solvers.one_vs_rest import MachineRows, SparseMachineRows, sparse
from mlrank.solvers.one_vs_rest.kernels import sparse_descent, sparse_judged, sparse_pass
from tests.solvers.problems import random_problem

BinarySVM = SOLVERS["binary_svm"]
LOSSES = [{"loss": "squared_hinge"}, {"bias": "augmented"}]


@pytest.fixture(autouse=True)
def no_dense_rows(monkeypatch):
    """Leave no sparse rows to Newton's method."""
    monkeypatch.setattr(sparse, "DENSE_CELLS", 0)


def problem():
    X, Y = random_problem(n=60)
    X = X * (np.random.default_rng(0).random(X.shape) < 0.5)
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9), Y


@pytest.mark.parametrize("squared", [False, True])
def test_machines_are_judged_by_the_definitions(squared):
    X, Y = problem()
    rng = np.random.default_rng(3)
    S = rng.integers(-1, 2, Y.shape).astype(np.int8)
    costs = np.array([0.6, 1.7])
    c = np.where(S > 0, costs[1], np.where(S < 0, costs[0], 0.0))
    beta = S * c * rng.random(Y.shape) * (rng.random(Y.shape) < 0.5)
    beta[:5] = 0.0
    rows = TrainingSet(csr_array(X), Y).X
    W, sums = np.zeros((X.shape[1], Y.shape[1])), np.zeros((4, Y.shape[1]))
    sparse_judged(rows.data, rows.indices, rows.indptr, S, costs, squared, beta, W, sums)
    assert W == pytest.approx(X.T @ beta, rel=1e-12)
    slack = np.maximum(0.0, 1.0 - S * (X @ W + beta.sum(axis=0)))
    penalty = beta**2 / np.where(c > 0, 2 * c, 1.0) if squared else np.zeros_like(beta)
    assert sums == pytest.approx(
        np.stack([part.sum(axis=0) for part in (beta, np.abs(beta), penalty, c * slack ** (1 + squared))]), rel=1e-12
    )


@pytest.mark.parametrize("squared", [False, True])
def test_a_pass_minimizes_over_one_dual_variable_after_the_other(squared):
    X, Y = problem()
    rng = np.random.default_rng(2)
    S = rng.integers(-1, 2, Y.shape).astype(np.int8)
    costs, order = np.array([0.6, 1.7]), rng.permutation(len(X))
    A = np.column_stack([X, np.ones(len(X))])
    c = np.where(S > 0, costs[1], np.where(S < 0, costs[0], 0.0))

    def dual(alpha, label):
        v = A.T @ (S[:, label] * alpha)
        lean = (alpha**2 / np.where(c[:, label] > 0, 4 * c[:, label], 1.0)).sum() if squared else 0.0
        return alpha.sum() - 0.5 * v @ v - lean

    alpha = np.zeros(Y.shape)
    for i in order:
        for label in np.flatnonzero(S[i]):
            score = A[i] @ (A.T @ (S[:, label] * alpha[:, label]))
            own = 0.5 / c[i, label] if squared else 0.0
            fall = S[i, label] * score - 1 + alpha[i, label] * own
            most = np.inf if squared else c[i, label]
            alpha[i, label] = np.clip(alpha[i, label] - fall / (A[i] @ A[i] + own), 0, most)
    # Read-only as in fits, for which the pass then is compiled already.
    rows, single = TrainingSet(csr_array(X), Y).X, np.float32
    beta, W = np.zeros(Y.shape, single), np.zeros((X.shape[1] + 1, Y.shape[1]), single)
    gains, squares = np.zeros(Y.shape[1]), (A**2).sum(axis=1).astype(single)
    arrays = (rows.data.astype(single), rows.indices, rows.indptr)
    sparse_pass(*arrays, order, squares, S, costs, squared, beta, W, np.empty(Y.shape[1], single), gains)
    assert beta == pytest.approx(S * alpha, abs=1e-5)
    assert W == pytest.approx(A.T @ (S * alpha), abs=1e-5)
    # A step that a cap cuts short gains more than its square.
    assert all(gains[k] <= dual(alpha[:, k], k) * (1 + 1e-5) for k in range(Y.shape[1]))
    if squared:
        assert gains == pytest.approx([dual(alpha[:, k], k) for k in range(Y.shape[1])], rel=0.5)


@pytest.mark.parametrize("settings", LOSSES)
def test_machines_are_those_of_newtons_method(settings):
    X, Y = problem()
    known = np.random.default_rng(1).random(Y.shape) < 0.8
    solver = BinarySVM(C=2.0, positive_weight=1.5, tol=1e-5, **settings)
    found = solver.fit(TrainingSet(csr_array(X), Y, known=known))
    exact = solver.fit(TrainingSet(X, Y, known=known))
    assert found.info.converged
    assert found.info.objective == pytest.approx(exact.info.objective, rel=1e-5)
    assert found.coef == pytest.approx(exact.coef, abs=0.03)
    proof = CERTIFIERS["binary_svm"](solver, found, TrainingSet(csr_array(X), Y, known=known))
    assert proof.certificate == pytest.approx(found.info.optimality, abs=1e-9)


@pytest.mark.parametrize("settings", LOSSES)
def test_sparse_labels_are_never_made_dense(settings, monkeypatch):
    X, Y = problem()
    Y[:, 0], Y[:, 1] = True, False
    monkeypatch.setattr(sparse, "LANES", 2)
    dense = BinarySVM(**settings).fit(TrainingSet(csr_array(X), Y))
    monkeypatch.setattr(TrainingSet, "dense_Y", property(lambda train: pytest.fail("dense labels")))
    found = BinarySVM(**settings).fit(TrainingSet(csr_array(X), csr_array(Y)))
    assert found.coef.tobytes() == dense.coef.tobytes()
    assert (found.intercept[0], found.intercept[1]) == (1.0, -1.0)
    assert (found.dual_point.beta != dense.dual_point.beta).nnz == 0


@pytest.mark.parametrize("settings", LOSSES)
def test_labels_whose_gap_is_not_reached_are_solved_alone(settings, monkeypatch):
    X, Y = problem()
    plain = BinarySVM(C=4.0, **settings).fit(TrainingSet(X, Y))
    monkeypatch.setattr(sparse, "PASSES", 3)
    solver, train = BinarySVM(C=4.0, **settings), TrainingSet(csr_array(X), Y)
    short = sparse.SparseMachineRows(train, solver.loss, 1.0).fit(4.0, 1e-3, 10**6).machines
    reached = short.primal - short.dual <= 1e-3 * short.primal
    assert not reached.all()
    found = solver.fit(train)
    assert found.info.converged
    assert found.info.objective == pytest.approx(plain.info.objective, rel=2e-3)
    assert CERTIFIERS["binary_svm"](solver, found, train).certificate <= 1e-3


def long_rows(n=80, m=12):
    """Return counts, as of words: squares of rows from 1 to some hundreds."""
    rng = np.random.default_rng(4)
    X = rng.poisson(0.8, (n, m)) * rng.integers(0, 3, (n, m)).astype(float)
    return X, X @ rng.standard_normal((m, 4)) + rng.standard_normal((n, 4)) > 2.0


@pytest.mark.parametrize("ones", [False, True])
@pytest.mark.parametrize("squared", [False, True])
def test_a_descent_reaches_what_optimality_asks_of_every_row(squared, ones):
    X, Y = long_rows()
    X = np.minimum(X, 1.0) if ones else X
    signs = np.where(Y[:, 0], 1, -1).astype(np.int8)
    signs[::7] = 0
    A, costs = np.column_stack([X, np.ones(len(X))]), np.array([0.6, 1.7])
    rows = TrainingSet(csr_array(X), Y).X
    arrays = rows.data.astype(np.float32), rows.indices, rows.indptr
    beta, w, squares = np.zeros(len(X)), np.zeros(A.shape[1]), (A**2).sum(axis=1)
    looks, primal, dual = sparse_descent(*arrays, ones, squares, signs, costs, squared, beta, w, 1e-9, 10**7)
    if ones:  # not read, and the same to the last bit
        plain = np.zeros(A.shape[1])
        sparse_descent(*arrays, False, squares, signs, costs, squared, np.zeros(len(X)), plain, 1e-9, 10**7)
        assert w.tobytes() == plain.tobytes()
    assert looks < 10**7
    assert w == pytest.approx(A.T @ beta, abs=1e-9)
    cost = np.where(signs > 0, costs[1], costs[0])
    alpha, slack = signs * beta, 1.0 - signs * (A @ w)
    assert (beta[signs == 0] == 0).all()
    here = signs != 0
    loss = (cost * np.maximum(slack, 0.0) ** (2 if squared else 1))[here].sum()
    assert primal == pytest.approx(0.5 * w @ w + loss, rel=1e-12)
    lean = (alpha**2 / (4 * cost))[here].sum() if squared else 0.0
    assert dual == pytest.approx(alpha.sum() - 0.5 * w @ w - lean, rel=1e-12)
    assert dual == pytest.approx(primal, rel=1e-7)
    if squared:
        assert alpha[here] == pytest.approx((2 * cost * np.maximum(slack, 0.0))[here], abs=1e-7)
    else:
        assert ((alpha >= 0) & (alpha <= cost))[here].all()
        assert alpha[here & (slack < -1e-6)] == pytest.approx(0.0, abs=1e-12)
        assert alpha[here & (slack > 1e-6)] == pytest.approx(cost[here & (slack > 1e-6)])


@pytest.mark.parametrize("settings", LOSSES)
def test_long_rows_are_solved_one_by_one_without_a_library(settings, monkeypatch):
    X, Y = long_rows()
    solver, train = BinarySVM(C=2.0, positive_weight=1.5, tol=1e-4, **settings), TrainingSet(csr_array(X), Y)
    exact = solver.fit(TrainingSet(X, Y))
    monkeypatch.setattr(sparse, "sparse_pass", lambda *_: pytest.fail("side by side"))
    monkeypatch.setattr(binary_svm, "Libraries", lambda *_: pytest.fail("a library"))
    monkeypatch.setattr(sparse, "LOOKS", 10**5)
    found = solver.fit(train)
    assert found.info.converged
    assert found.info.objective == pytest.approx(exact.info.objective, rel=1e-4)
    assert CERTIFIERS["binary_svm"](solver, found, train).certificate == pytest.approx(found.info.optimality, abs=1e-9)


def test_rows_of_nothing_but_ones_are_known(monkeypatch):
    X, Y = long_rows()
    found, descent = [], sparse.sparse_descent
    monkeypatch.setattr(sparse, "sparse_descent", lambda *given: (found.append(given[3]), descent(*given))[1])
    for rows in (np.minimum(X, 1.0), X, 0.5 * np.minimum(X, 1.0)):
        found.clear()
        SparseMachineRows(TrainingSet(csr_array(rows), Y), "squared_hinge", 1.0).fit(50.0, 1e-2, 10**6)
        assert {*found} == {rows.max() == 1.0}


def test_blocks_of_long_rows_take_about_equally_long():
    # A machine takes the longer, the more rows the rarer side of its label has: every second label has twice as many.
    rarer = np.array([20, 10, 18, 9, 16, 8, 14, 7, 12, 6] * 2)
    Y = np.arange(60)[:, None] < np.concatenate([rarer[:10], 60 - rarer[10:]])
    rows = SparseMachineRows(TrainingSet(csr_array(np.ones((60, 1))), Y), "squared_hinge", 1.0)
    found = [np.concatenate(rows._groups(Block(number, 2), alone=True)) for number in range(2)]
    assert sorted(np.concatenate(found)) == list(range(20))
    assert all((np.diff(labels) > 0).all() for labels in found)
    first, second = (int(rarer[labels].sum()) for labels in found)
    assert abs(first - second) <= 10  # by turns 160 and 80


def test_long_rows_whose_descent_takes_too_long_are_left_to_the_library(monkeypatch):
    X, Y = long_rows()
    monkeypatch.setattr(sparse, "LOOKS", 2)
    rows = sparse.SparseMachineRows(TrainingSet(csr_array(X), Y), "squared_hinge", 1.0)
    short = rows.fit(100.0, 1e-3, 10**6).machines
    assert (short.primal - short.dual > 1e-3 * short.primal).any()
    found = BinarySVM(C=100.0, loss="squared_hinge").fit(TrainingSet(csr_array(X), Y))
    exact = BinarySVM(C=100.0, loss="squared_hinge").fit(TrainingSet(X, Y))
    assert found.info.converged
    assert found.info.objective == pytest.approx(exact.info.objective, rel=2e-3)


@pytest.mark.parametrize(
    ("free", "stored", "kind"), [(True, 1.0, MachineRows), (False, 0.3, MachineRows), (False, 1.0, SparseMachineRows)]
)
@pytest.mark.parametrize("side", [3, 4])
def test_narrow_rows_are_made_dense_for_a_free_bias_or_many_nonzeros(monkeypatch, free, stored, kind, side):
    monkeypatch.setattr(sparse, "DENSE_CELLS", 1000)
    monkeypatch.setattr(sparse, "SIDE", side)
    monkeypatch.setattr(sparse, "STORED", stored)
    X, Y = problem()
    X, solver = csr_array(X[:, :4]), BinarySVM(loss="hinge" if free else "squared_hinge")
    assert 0.3 < X.nnz / (60 * 4) < 1
    wide = KernelRows if free else SparseMachineRows
    assert type(solver.prepare(TrainingSet(X, Y))) is (kind if side == 4 else wide)
    assert type(solver.prepare(TrainingSet(X.toarray(), Y))) is MachineRows


@pytest.mark.parametrize("settings", LOSSES)
@pytest.mark.parametrize("C", [0.05, 100.0])
@pytest.mark.parametrize("wrap", [np.asarray, csr_array])
def test_newtons_method_solves_what_descent_leaves_of_narrow_rows(monkeypatch, settings, C, wrap):
    X, Y = long_rows()
    exact = BinarySVM(C=C, tol=1e-6, **settings).fit(TrainingSet(X, Y))
    solver, train = BinarySVM(C=C, tol=1e-5, **settings), TrainingSet(csr_array(X), wrap(Y))
    monkeypatch.setattr(sparse, "DENSE_CELLS", X.size)
    monkeypatch.setattr(sparse, "STORED", 1.0)
    monkeypatch.setattr(sparse, "WORTH", (0, 0))
    monkeypatch.setattr(binary_svm, "Libraries", lambda *_: pytest.fail("a library"))
    with monkeypatch.context() as early:
        early.setattr(SparseMachineRows, "_finished", lambda self, labels, found, *_: found)
        left = SparseMachineRows(train, solver.loss, 1.0).fit(C, solver.tol, 10**6).machines
    short = left.primal - left.dual > solver.tol * left.primal
    assert short.any()
    prepared = solver.prepare(train)
    found = solver.fit(train, prepared)
    assert found.info.converged
    assert found.info.n_iter > left.n_iter.sum()
    assert found.info.objective == pytest.approx(exact.info.objective, rel=2e-5)
    assert CERTIFIERS["binary_svm"](solver, found, train).certificate == pytest.approx(found.info.optimality, abs=1e-9)
    # Neither what was solved before nor the other labels of a block make a difference.
    blocks = [solver.fit_block(train, Block(number, 3), prepared if number else None) for number in range(3)]
    again = solver.join(train, blocks)
    assert (again.coef.tobytes(), again.intercept.tobytes()) == (found.coef.tobytes(), found.intercept.tobytes())
    assert (again.dual_point.beta != found.dual_point.beta).sum() == 0
    assert (again.info.objective, again.info.optimality) == (found.info.objective, found.info.optimality)


@pytest.mark.parametrize("settings", LOSSES)
def test_newtons_method_solves_all_machines_where_descent_crawls_and_has_few_passes(monkeypatch, settings):
    X, Y = long_rows()
    monkeypatch.setattr(sparse, "DENSE_CELLS", X.size)
    monkeypatch.setattr(sparse, "STORED", 1.0)
    # A row costs NEWTON * 12^2 operations, and a look at it 20 and two for each of its nonzeros: a hundred passes.
    monkeypatch.setattr(sparse, "NEWTON", 100.5 * (20 + 2 * np.count_nonzero(X) / 80) / 12**2)
    descents = []
    for name in ("_descend", "_fit"):
        plain = getattr(SparseMachineRows, name)
        monkeypatch.setattr(
            SparseMachineRows, name, lambda *args, name=name, plain=plain: descents.append(name) or plain(*args)
        )
    loss, train = BinarySVM(**settings).loss, TrainingSet(csr_array(X), Y)
    for worth in (101, 100):
        monkeypatch.setattr(sparse, "WORTH", (100, worth))
        crawling = SparseMachineRows(train, loss, 1.0).fit(100.0, 1e-5, 10**6)
        assert set(descents) == (set() if worth == 101 else {"_descend"})
        if worth == 101:
            newton = MachineRows(train, loss, False, 1.0).fit(100.0, 1e-5, 10**6)
            assert crawling.machines.W.tobytes() == newton.machines.W.tobytes()
            easy = SparseMachineRows(train, loss, 1.0)
            easy.fit(1e-3, 1e-5, 10**6)
            assert set(descents) == {"_fit"}
            descents.clear()
            monkeypatch.setattr(sparse, "WORTH", (101, worth))
            easy.fit(1e-3, 1e-5, 10**6)
            assert not descents


@pytest.mark.parametrize("settings", LOSSES)
def test_newtons_method_has_half_of_the_iterations_and_their_number_is_kept(monkeypatch, settings):
    X, Y = long_rows()
    train = TrainingSet(csr_array(X), Y[:, :1])
    monkeypatch.setattr(sparse, "DENSE_CELLS", X.size)
    monkeypatch.setattr(sparse, "STORED", 1.0)
    monkeypatch.setattr(sparse, "NEWTON", 1e9)
    solver = BinarySVM(C=100.0, tol=1e-5, max_iter=100, **settings)
    found = solver.fit(train)
    assert found.info.converged
    assert 50 < found.info.n_iter <= 100
    # Three passes, and three steps: not six.
    assert SparseMachineRows(train, solver.loss, 1.0).fit(100.0, 1e-12, 6).machines.n_iter.tolist() == [6]


def test_descent_on_narrow_rows_gets_no_longer_than_newtons_method(monkeypatch):
    X, Y = long_rows()
    X = csr_array(X)
    monkeypatch.setattr(sparse, "DENSE_CELLS", X.shape[0] * X.shape[1])
    monkeypatch.setattr(SparseMachineRows, "_finished", lambda self, labels, found, *_: found)
    monkeypatch.setattr(sparse, "NEWTON", 2.0)
    monkeypatch.setattr(sparse, "WORTH", (0, 0))
    passes = int(2 * 12**2 / (20 + 2 * X.nnz / 80))
    rows = SparseMachineRows(TrainingSet(X, Y), "squared_hinge", 1.0)
    for C, most in ((1e6, passes), (1e6, 3), (1e-3, passes), (1e-3, 3)):
        # The other half of the iterations is left to Newton's method.
        found = rows.fit(C, 1e-12, 2 * most if most < passes else 10**6).machines.n_iter.max()
        assert found in (most, most + 1)  # the last pass over rows that still move ends when it ends
