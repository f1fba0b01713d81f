"""Rank-SVM with packed pairs: the certificate is of all pairs, the optimum the same, and no array has n * k numbers."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.certify.margins import certify_rank
from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.rank_svm import packed, settings
from mlrank.solvers.rank_svm.packed import PackedDuals, PackedPairs
from mlrank.solvers.rank_svm.settings import RankSettings
from tests.solvers.problems import caps, fit_and_peak, pairs_of, random_problem, rank_primal, two_labels_a_row

RankSVM = SOLVERS["rank_svm"]


@pytest.fixture
def packs(monkeypatch):
    """Pack all pairs, in chunks of a few rows."""
    monkeypatch.setattr(settings, "PACKED_FROM", 0)
    monkeypatch.setattr(packed, "CHUNK_ROWS", 7)


def fitted_both(monkeypatch, solver, train):
    models = []
    for least in (10**9, 0):
        monkeypatch.setattr(settings, "PACKED_FROM", least)
        models.append(solver.fit(train))
    return models


@pytest.mark.parametrize("bias", ["augmented", "none"])
@pytest.mark.parametrize("C", [0.02, 3.0])
@pytest.mark.parametrize(("rows", "labels"), [(np.asarray, csr_array), (csr_array, np.asarray)])
def test_certificate_recomputed_from_the_definitions(packs, monkeypatch, rows, labels, C, bias):
    X, Y = random_problem()
    solver, train = RankSVM(C=C, bias=bias, tol=1e-6), TrainingSet(rows(X), labels(Y))
    plain, model = fitted_both(monkeypatch, solver, train)
    assert isinstance(solver.prepare(train).pairs, PackedPairs)
    with_one = np.column_stack([X, np.full(len(X), float(bias == "augmented"))])
    primal = rank_primal(np.column_stack([model.coef, model.intercept]), with_one, Y, C)
    beta = dense(model)
    dual = beta[beta > 0].sum() - 0.5 * ((beta.T @ with_one) ** 2).sum()
    assert model.info.objective == pytest.approx(primal, rel=1e-12)
    assert model.info.optimality == pytest.approx((primal - dual) / primal, abs=1e-12)
    assert model.info.converged
    assert model.info.optimality <= 1e-6
    assert model.info.objective == pytest.approx(plain.info.objective, rel=2e-6)
    # That there are pair variables between 0 and the cap with these sums is certified by what knows no solver.
    proof = certify_rank(solver, model, train)
    assert proof.certificate == pytest.approx(model.info.optimality, abs=1e-9)


def dense(model):
    beta = model.dual_point.beta
    return beta.toarray() if isinstance(beta, csr_array) else beta


def test_columns_far_from_zero_lose_no_digits(packs):
    X, Y = random_problem()
    X[:, 0] += 500.0
    for rows in (X, csr_array(X)):
        solver, train = RankSVM(C=1.0, tol=1e-2), TrainingSet(rows, Y)
        model = solver.fit(train)
        assert model.info.converged
        proof = certify_rank(solver, model, train)
        assert model.info.objective == pytest.approx(proof.objective, rel=1e-9)
        assert model.info.optimality == pytest.approx(proof.certificate, abs=1e-9)


def test_unknown_labels_are_in_no_pair(packs, monkeypatch):
    X, Y = random_problem()
    known = np.random.default_rng(1).random(Y.shape) > 0.2
    plain, model = fitted_both(monkeypatch, RankSVM(C=2.0, tol=1e-7), TrainingSet(X, Y, known=known))
    assert model.info.optimality <= 1e-7
    assert model.info.objective == pytest.approx(plain.info.objective, rel=2e-7)


def test_packed_variables_are_unpacked_as_they_were_and_cost_a_bit_at_their_bounds(packs):
    _, Y = random_problem()
    pairs, upper = PackedPairs.of(csr_array(Y)), caps(Y, 3.0)
    duals, rng, kept = PackedDuals(pairs, upper), np.random.default_rng(0), {}
    assert len(pairs.chunks) > 1
    for number, rows in enumerate(pairs.chunks):
        _, most = duals.unpack(number)
        assert most.tolist() == np.repeat(upper[rows], pairs.size[rows]).tolist()
        kept[number] = most * rng.choice([0.0, 1.0, 0.3, 1 - 1e-12], len(most), p=[0.5, 0.4, 0.05, 0.05])
        duals.pack(number, kept[number], most)
    for (number, alpha), packed_chunk in zip(kept.items(), duals.chunks, strict=True):
        assert duals.unpack(number)[0].tolist() == alpha.tolist()
        between = int(((alpha > 0) & (alpha < duals.caps(number))).sum())
        assert sum(part.nbytes for part in packed_chunk) == -(-len(alpha) // 8) + 12 * between
    seen = []
    for number, (rows, beta, total) in enumerate(duals.sums()):
        expected = np.zeros(Y[rows].shape)
        for value, (i, q, p) in zip(kept[number], pairs_of(Y[rows]), strict=True):
            expected[i, p] += value
            expected[i, q] -= value
        assert np.allclose(beta, expected, atol=1e-14)
        assert total == pytest.approx(kept[number].sum())
        seen += list(np.arange(len(Y))[rows])
    assert sorted(seen) == list(range(len(Y)))


def test_giving_up_is_reported_with_the_gap_of_all_pairs(packs):
    X, Y = random_problem()
    train, solver = TrainingSet(X, Y), RankSVM(C=100.0, max_iter=1)
    model = solver.fit(train)
    assert model.info.n_iter == 1
    assert not model.info.converged
    assert model.info.optimality == pytest.approx(certify_rank(solver, model, train).certificate, abs=1e-9)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_no_array_holds_a_number_for_each_row_and_label(monkeypatch, form):
    n, k, d = 1200, 400, 10
    monkeypatch.setattr(settings, "PACKED_FROM", 10**5)
    monkeypatch.setattr(packed, "CHUNK_ROWS", 20)
    monkeypatch.setattr(packed, "DUAL_CELLS", 10**5)
    rng = np.random.default_rng(0)
    X = form(rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.2))
    _, Y = two_labels_a_row(n, k, rng)
    model, peak = fit_and_peak(RankSVM(max_iter=2), X, Y)
    # The pairs alone have 8 * n * (2 k - 4) bytes as numbers; a bit each of them, and some chunks.
    assert peak < 4 * n * k
    assert model.dual_point is None
    assert 0 < model.info.optimality < 1


@pytest.mark.parametrize(
    "changed",
    [
        {"bias": "free"},
        {"kernel": "rbf"},
        {"algorithm": "frank_wolfe"},
        {"order": "cyclic"},
        {"stop": "step"},
    ],
)
def test_other_settings_keep_numbers(packs, changed):
    train = TrainingSet(*random_problem())
    assert not isinstance(RankSVM(**changed).prepare(train).pairs, PackedPairs)
    assert not RankSettings.of(RankSVM(**changed)).packs(10**12)
    assert RankSettings.of(RankSVM()).packs(1)


def test_few_pairs_keep_numbers():
    assert not isinstance(RankSVM().prepare(TrainingSet(*random_problem())).pairs, PackedPairs)
    assert not RankSettings.of(RankSVM()).packs(settings.PACKED_FROM)


def test_nothing_to_rank_is_refused(packs):
    with pytest.raises(ValueError, match="no row has both a relevant and an irrelevant label"):
        RankSVM().fit(TrainingSet(np.eye(4), csr_array(np.ones((4, 3), bool))))
