"""MLR with dual variables held sparse: certificates from the definitions, the same optimum, no array of n * k."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.mlr import mlr, packed
from mlrank.solvers.mlr.packed import PackedLabels, PackedSweeps
from mlrank.solvers.mlr.rows import LinearRows
from tests.solvers.problems import fit_and_peak, random_problem, two_labels_a_row
from tests.solvers.test_mlr import threshold_loss

MLR = SOLVERS["mlr"]


@pytest.fixture
def packs(monkeypatch):
    """Hold all dual variables sparse, in chunks of a few rows."""
    monkeypatch.setattr(mlr, "MANY_CELLS", 0)
    monkeypatch.setattr(mlr, "CHUNK_CELLS", 0)
    monkeypatch.setattr(packed, "CHUNK_CELLS", 30)


def problem():
    """Rows of which one has all labels, one none, and one no features."""
    X, Y = random_problem()
    X[2] = 0.0
    Y[3], Y[5] = True, False
    return X, Y


def fitted_both(monkeypatch, solver, train):
    monkeypatch.setattr(mlr, "MANY_CELLS", 10**9)
    monkeypatch.setattr(mlr, "CHUNK_CELLS", 10**9)
    plain = solver.fit(train)
    monkeypatch.setattr(mlr, "MANY_CELLS", 0)
    monkeypatch.setattr(mlr, "CHUNK_CELLS", 0)
    kept = []
    total = PackedSweeps.total
    monkeypatch.setattr(PackedSweeps, "total", lambda self: kept.append(self.beta()) or total(self))
    model = solver.fit(train)
    assert kept  # no other way was taken
    return plain, model, kept[-1]


@pytest.mark.parametrize("bias", ["augmented", "none"])
@pytest.mark.parametrize("C", [0.02, 1.0])
@pytest.mark.parametrize(("rows", "labels"), [(np.asarray, csr_array), (csr_array, np.asarray)])
def test_certificate_recomputed_from_the_definitions(packs, monkeypatch, rows, labels, C, bias):
    X, Y = problem()
    solver, train = MLR(C=C, kernel="linear", bias=bias, tol=1e-5), TrainingSet(rows(X), labels(Y))
    plain, model, beta = fitted_both(monkeypatch, solver, train)
    with_one = np.column_stack([X, np.full(len(X), float(bias == "augmented"))])
    weights = np.column_stack([model.coef, model.intercept])
    primal = 0.5 * (weights**2).sum() + C * threshold_loss(with_one @ weights.T, Y)
    y = np.where(Y, 1.0, -1.0)
    assert (y * beta >= 0).all()
    assert (y * beta <= C * (1 + 1e-12)).all()
    assert np.abs(beta.sum(axis=1)).max() <= 1e-12 * C
    dual = np.abs(beta).sum() - 0.5 * ((beta.T @ with_one) ** 2).sum()
    assert model.info.objective == pytest.approx(primal, rel=1e-12)
    assert model.info.optimality == pytest.approx((primal - dual) / primal, abs=1e-12)
    assert model.info.converged
    assert model.info.objective == pytest.approx(plain.info.objective, rel=2e-5)


def test_columns_far_from_zero_lose_no_digits(packs):
    X, Y = random_problem()
    X[:, 0] += 500.0
    for rows in (X, csr_array(X)):
        model = MLR(C=0.1, kernel="linear", tol=1e-2).fit(TrainingSet(rows, Y))
        long = X.astype(np.longdouble) @ model.coef.T.astype(np.longdouble)
        primal = 0.5 * (model.coef**2).sum() + 0.1 * threshold_loss(long.astype(np.float64), Y)
        assert model.info.objective == pytest.approx(primal, rel=1e-12)


def test_unknown_labels_take_no_part(packs, monkeypatch):
    X, Y = problem()
    known = np.random.default_rng(1).random(Y.shape) > 0.2
    solver = MLR(C=0.3, kernel="linear", tol=1e-6)
    plain, model, beta = fitted_both(monkeypatch, solver, TrainingSet(X, Y, known=known))
    assert not beta[~known].any()
    assert model.info.converged
    assert model.info.objective == pytest.approx(plain.info.objective, rel=2e-6)


def test_examples_of_a_chunk_are_visited_together_and_each_once():
    X, Y = random_problem()
    sweeps = PackedSweeps(LinearRows(X, False), PackedLabels(Y), 1.0)
    sweeps.labels.chunks = tuple(slice(first, None, 4) for first in range(4))
    order = np.random.default_rng(0).permutation(len(X))[:-3]
    visits = list(sweeps._by_chunk(order))
    found = [np.arange(len(X))[sweeps.labels.chunks[number]][places] for number, places in visits]
    assert sorted(np.concatenate(found).tolist()) == sorted(order.tolist())
    assert [number for number, _ in visits] == list(dict.fromkeys((order % 4).tolist()))
    for (number, _), rows in zip(visits, found, strict=True):
        assert rows.tolist() == order[order % 4 == number].tolist()


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_no_array_holds_a_number_for_each_row_and_label(monkeypatch, form):
    n, k = 4000, 400
    monkeypatch.setattr(mlr, "MANY_CELLS", 10**5)
    monkeypatch.setattr(mlr, "CHUNK_CELLS", 10**5)
    monkeypatch.setattr(packed, "CHUNK_CELLS", 10**4)
    columns, Y = two_labels_a_row(n, k, np.random.default_rng(0))
    # The features tell ten labels from the others, most of which so have no variable.
    X = form((columns[:, :, None] // 10 == np.arange(k // 10)).any(axis=1) * 5.0)
    model, peak = fit_and_peak(MLR(kernel="linear", max_iter=2), X, Y)
    assert peak < 4 * n * k
    assert model.dual_point is None
    assert 0 < model.info.optimality < 1


@pytest.mark.parametrize(
    "changed", [{"kernel": "rbf"}, {"formulation": "exact"}, {"correlation": 0.5}, {"halve": True}]
)
def test_other_settings_keep_numbers(packs, monkeypatch, changed):
    monkeypatch.setattr(PackedLabels, "__init__", None)
    MLR(**{"kernel": "linear", "max_iter": 1, **changed}).fit(TrainingSet(*problem()))


def test_nothing_to_rank_is_refused(packs):
    with pytest.raises(ValueError, match="found 4 rows with all or none of 3 labels"):
        MLR(kernel="linear").fit(TrainingSet(np.eye(4), csr_array(np.ones((4, 3), bool))))
