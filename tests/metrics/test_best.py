"""Metrics of sparse label sets and of the best scores of each row: against plain loops, and against all scores."""

import math
from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.labels import TopScores, as_labels, top_of
from mlrank.metrics import METRICS, evaluate, measure, propensities, search_value
from mlrank.metrics import rankings as rankings_module
from mlrank.metrics.rankings import BestRankings, marked

OF_BEST = [name for name, metric in METRICS.items() if metric.of_best]
AT = [f"{kind}_at_{k}" for kind in ("precision", "ndcg", "psp", "psndcg") for k in (1, 3, 5)]


def problem(n=40, k=9, seed=0, step=2):
    """Return labels, scores with many ties, label sets and propensities."""
    rng = np.random.default_rng(seed)
    Y = rng.random((n, k)) < 0.3
    Y[0], Y[1], Y[:, 4] = False, True, False
    scores = np.round(rng.standard_normal((n, k)) * step) / step
    return Y, scores, scores > 0.4, rng.uniform(0.05, 1.0, k)


def looped(kind, k, Y, scores, p):
    """Return a metric at k by its definition: over every order of the labels that the scores allow."""
    gain = 1 / p if kind.startswith("ps") else np.ones(len(p))
    discount = [1 / math.log2(place + 2) if "ndcg" in kind else 1.0 for place in range(k)]
    sums, bests, means = 0.0, 0.0, []
    for relevant, row in zip(Y, scores, strict=True):
        reached = []
        for order in permutations(range(len(row))):
            if all(row[a] >= row[b] for a, b in pairwise(order)):
                reached.append(sum(d * gain[j] for d, j in zip(discount, order, strict=False) if relevant[j]))
        own = sorted((gain[j] for j in np.flatnonzero(relevant)), reverse=True)
        best = sum(d * g for d, g in zip(discount, own, strict=False))
        found = sum(reached) / len(reached)
        sums, bests = sums + found, bests + best
        if relevant.any():
            means.append(found / k if kind == "precision" else found / best)
    return sums / bests if kind.startswith("ps") else sum(means) / len(means)


@pytest.mark.parametrize("name", AT)
def test_metrics_at_k_follow_their_definitions_over_all_orders_of_ties(name):
    Y, scores, _, p = problem(n=8, k=6, seed=1)
    kind, k = name.split("_at_")
    expected = looped(kind, int(k), Y, scores, p)
    assert measure(name, Y, scores, propensities=p).value == pytest.approx(expected, abs=1e-13)
    best = measure(name, csr_array(Y), top_of(scores, 6), propensities=p)
    assert best.value == pytest.approx(expected, abs=1e-13)
    assert (best.n_defined, best.n_total, best.unit) == (int(Y.any(axis=1).sum()), 8, "rows")


def test_the_best_order_reaches_1_and_unknown_propensities_are_undefined():
    Y, _, _, p = problem()
    for name in ("psp_at_3", "psndcg_at_5"):
        assert measure(name, Y, np.where(Y, 1 / p, 0.0), propensities=p).value == pytest.approx(1.0, abs=1e-15)
        value = measure(name, Y, np.where(Y, 1 / p, 0.0))
        assert math.isnan(value.value)
        assert value[1:] == (0, 40, "rows")


def test_propensities_are_those_of_the_paper():
    counts, n = np.array([0, 3, 500]), 2000
    C = (math.log(n) - 1) * (0.4 + 1) ** 0.5
    expected = [1 / (1 + C * math.exp(-0.5 * math.log(count + 0.4))) for count in counts]
    assert propensities(counts, n, 0.5, 0.4) == pytest.approx(expected, rel=1e-14)
    assert propensities(np.array([1, 2]), 2).tolist() == [1.0, 1.0]


def test_the_best_of_all_labels_give_every_number_of_all_scores():
    """Down to the last bit: the same terms in the same order."""
    for seed in range(5):
        Y, scores, sets, p = problem(seed=seed, step=1 + seed)
        expected = evaluate(Y, scores, sets, propensities=p)
        found = evaluate(csr_array(Y), top_of(scores, 9), as_labels(csr_array(sets)), propensities=p)
        assert list(found) == OF_BEST
        assert found == {name: expected[name] for name in OF_BEST}
        for name in OF_BEST:
            predicted = as_labels(csr_array(sets)) if METRICS[name].needs == "sets" else top_of(scores, 9)
            value = search_value(name, csr_array(Y), predicted, propensities=p)
            assert value == search_value(name, Y, sets if METRICS[name].needs == "sets" else scores, propensities=p)


def test_all_that_is_published_at_k_needs_no_more_than_the_best_scores():
    assert {*AT, "one_error", "f1_macro", "f1_micro", "f1_samples", "recall_micro", "hamming_loss"} <= set(OF_BEST)
    assert {"auc_macro", "lrap", "coverage", "ranking_loss", "brier"}.isdisjoint(OF_BEST)
    Y, scores, _, _ = problem()
    with pytest.raises(ValueError, match="lrap needs all scores"):
        measure("lrap", csr_array(Y), top_of(scores, 9))


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_what_is_not_among_the_best_counts_as_behind_them(monkeypatch, block):
    monkeypatch.setattr(rankings_module, "BLOCK_CELLS", block)
    Y, scores, _, p = problem(k=12, step=10**9)
    assert all(len(set(row)) == 12 for row in scores.tolist())
    for name in AT:
        k = int(name[-1])
        found = measure(name, csr_array(Y), top_of(scores, max(k, 2)), propensities=p)
        assert found == measure(name, Y, scores, propensities=p)
    short = top_of(scores, 2)
    found = BestRankings(csr_array(Y), short).by_row
    full = [sorted(range(12), key=lambda j: -row[j])[:2] for row in scores]
    hits = [[(i, place) for place, j in enumerate(row) if Y[i, j]] for i, row in enumerate(full)]
    expected = [pair for row in hits for pair in reversed(row)]
    assert list(zip(found.lists.tolist(), found.above.tolist(), strict=True)) == expected
    assert found.items.tolist() == [full[i][place] for i, place in expected]
    assert found.n_relevant.tolist() == Y.sum(axis=1).tolist()


def test_places_without_a_label_count_nothing():
    Y = csr_array(np.array([[True, False, True], [False, True, False]]))
    best = TopScores(np.array([[2, -1], [0, 1]], np.int32), np.array([[1.0, -np.inf], [3.0, 3.0]]))
    assert measure("precision_at_1", Y, best).value == pytest.approx((1 + 1 / 2) / 2)
    assert measure("precision_at_3", Y, best).value == pytest.approx((1 / 3 + 1 / 3) / 2)


@pytest.mark.parametrize("scratch", [1, 30, 1 << 20])
def test_marks_are_looked_up_in_blocks_of_rows(monkeypatch, scratch):
    monkeypatch.setattr(rankings_module, "SCRATCH", scratch)
    Y, scores, _, _ = problem(k=11)
    labels = top_of(scores, 4).labels.copy()
    labels[::3, 3] = -1
    expected = [[label >= 0 and Y[i, label] for label in row] for i, row in enumerate(labels.tolist())]
    assert marked(csr_array(Y), labels).tolist() == expected


def test_dense_and_sparse_sets_are_not_mixed():
    Y, _, sets, _ = problem()
    with pytest.raises(ValueError, match="both be dense or both be sparse"):
        measure("f1_macro", csr_array(Y), sets)
    with pytest.raises(ValueError, match="are of 3 rows"):
        BestRankings(csr_array(Y), top_of(np.ones((3, 9)), 2))
