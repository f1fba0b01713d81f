"""Metrics under the rules of other packages: scikit-learn itself, and plain loops over what the other two do."""

import math
import warnings

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given, settings
from hypothesis import strategies as st

from mlrank.explain import PACKAGES, rules_of, value_under
from mlrank.metrics import METRICS, measure


def drawn(seed, n=7, k=5):
    """Label sets and scores with ties, empty and full rows, and labels of one class or never predicted."""
    rng = np.random.default_rng(seed)
    Y, P = rng.random((n, k)) < 0.35, rng.random((n, k)) < 0.3
    S = rng.integers(-2, 3, (n, k)) / 2
    Y[0], Y[1], P[2] = False, True, False
    if seed % 2:
        Y[:, 0] = P[:, 0] = False
    if seed % 3 == 0:
        P[0] = False
    return Y, P, S


def value(package, metric, Y, P, S, known=None):
    predicted = S if METRICS[metric].needs == "scores" else P
    return value_under(rules_of(metric)[package], metric, Y, predicted, known)


def theirs(metric, Y, P, S):
    """What scikit-learn says itself."""
    part, _, how = metric.partition("_")
    if part in ("f1", "precision", "recall"):
        return getattr(sk, f"{part}_score")(Y, P, average=how, zero_division=0)
    if part == "ndcg":
        return sk.ndcg_score(Y, S, k=int(metric[-1]))
    if part == "auc":
        return sk.roc_auc_score(Y, S, average=how)
    return {
        "jaccard_samples": lambda: sk.jaccard_score(Y, P, average="samples", zero_division=0),
        "subset_accuracy": lambda: sk.accuracy_score(Y, P),
        "hamming_loss": lambda: sk.hamming_loss(Y, P),
        "map_macro": lambda: sk.average_precision_score(Y, S, average="macro"),
        "lrap": lambda: sk.label_ranking_average_precision_score(Y, S),
        "ranking_loss": lambda: sk.label_ranking_loss(Y, S),
        "coverage": lambda: sk.coverage_error(Y, S),
    }[metric]()


IN_SKLEARN = [
    *(f"{part}_{how}" for part in ("f1", "precision", "recall") for how in ("macro", "micro")),
    *("f1_samples", "jaccard_samples", "subset_accuracy", "hamming_loss", "map_macro", "lrap", "ranking_loss"),
    *("coverage", "ndcg_at_1", "ndcg_at_3", "ndcg_at_5", "auc_macro", "auc_micro", "auc_samples"),
]


@pytest.mark.parametrize("metric", IN_SKLEARN)
@pytest.mark.parametrize("seed", range(6))
def test_scikit_learn_says_the_same(metric, seed):
    Y, P, S = drawn(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of what is undefined
        expected = theirs(metric, Y, P, S)
    assert value("scikit-learn", metric, Y, P, S) == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_what_scikit_learn_has_is_what_has_a_value():
    assert {m for m in METRICS if rules_of(m)["scikit-learn"].arguments is not None} == set(IN_SKLEARN)


@given(st.integers(0, 10**5))
@settings(deadline=None, max_examples=40)
def test_our_rule_is_the_definition(seed):
    Y, P, S = drawn(seed)
    for metric in METRICS:
        predicted = S if METRICS[metric].needs == "scores" else P
        assert value("mlrank", metric, Y, P, S) == pytest.approx(measure(metric, Y, predicted).value, nan_ok=True)


def counts(truth, predicted):
    return (truth & predicted).sum(), (~truth & predicted).sum(), (truth & ~predicted).sum()


def mulan_terms(tp, fp, fn):
    """F1, precision and recall as Mulan has them."""
    if tp + fp + fn == 0:
        return 1.0, 1.0, 1.0
    return 2 * tp / (2 * tp + fp + fn), tp / (tp + fp) if tp + fp else 0.0, tp / (tp + fn) if tp + fn else 0.0


@pytest.mark.parametrize("seed", range(6))
def test_mulan_label_sets(seed):
    Y, P, S = drawn(seed)
    labels = np.mean([mulan_terms(*counts(Y[:, j], P[:, j])) for j in range(Y.shape[1])], axis=0)
    pooled = mulan_terms(*counts(Y, P))
    rows = np.mean([mulan_terms(*counts(y, p))[0] for y, p in zip(Y, P, strict=True)])
    for part, macro, micro in zip(("f1", "precision", "recall"), labels, pooled, strict=True):
        assert value("Mulan", f"{part}_macro", Y, P, S) == pytest.approx(macro)
        assert value("Mulan", f"{part}_micro", Y, P, S) == pytest.approx(micro)
    assert value("Mulan", "f1_samples", Y, P, S) == pytest.approx(rows)


def test_mulan_pooled_over_nothing():
    Y = np.zeros((3, 2), bool)
    for part in ("f1", "precision", "recall"):
        assert value("Mulan", f"{part}_micro", Y, Y, Y * 1.0) == 1.0
    assert value("Mulan", "precision_micro", ~Y, Y, Y * 1.0) == 0.0
    assert value("Mulan", "recall_micro", Y, ~Y, Y * 1.0) == 0.0


def mulan_ranks(scores):
    """Rank 1 for the best; of equal scores the later column is the better: an ascending stable sort, read backwards."""
    ranks = np.empty(scores.size, int)
    ranks[np.argsort(scores, kind="stable")] = np.arange(scores.size, 0, -1)
    return ranks


@pytest.mark.parametrize("seed", range(6))
def test_mulan_rankings(seed):
    Y, P, S = drawn(seed)
    losses, depths, errors, precisions = [], [], [], []
    for y, s in zip(Y, S, strict=True):
        ranks = mulan_ranks(s)
        pairs = [(ranks[k] > ranks[j]) for k in np.flatnonzero(y) for j in np.flatnonzero(~y)]
        losses.append(np.mean(pairs) if pairs else 0.0)
        depths.append(max((ranks[k] - 1 for k in np.flatnonzero(y)), default=0))
        errors.append(not y[ranks == 1][0])
        if y.any():
            precisions.append(np.mean([(ranks[y] <= ranks[k]).sum() / ranks[k] for k in np.flatnonzero(y)]))
    for metric, terms in (("ranking_loss", losses), ("coverage", depths), ("one_error", errors), ("lrap", precisions)):
        assert value("Mulan", metric, Y, P, S) == pytest.approx(np.mean(terms)), metric


@pytest.mark.parametrize("seed", range(6))
def test_meka(seed):
    Y, P, S = drawn(seed)
    f1 = [2 * tp / (2 * tp + fp + fn) if tp else 0.0 for tp, fp, fn in (counts(Y[:, j], P[:, j]) for j in range(5))]
    assert value("MEKA", "f1_macro", Y, P, S) == pytest.approx(np.mean(f1))
    rows = [2 * tp / (2 * tp + fp + fn) if tp else 0.0 for tp, fp, fn in map(counts, Y, P)]
    assert value("MEKA", "f1_samples", Y, P, S) == pytest.approx(np.mean(rows))
    unions = [(y & p).sum() / (y | p).sum() if (y | p).any() else 1.0 for y, p in zip(Y, P, strict=True)]
    assert value("MEKA", "jaccard_samples", Y, P, S) == pytest.approx(np.mean(unions))
    assert value("MEKA", "one_error", Y, P, S) == pytest.approx(
        np.mean([not y[s.argmax()] for y, s in zip(Y, S, strict=True)])
    )


@pytest.mark.parametrize("package", ["Mulan", "MEKA"])
def test_one_label_of_one_class_makes_wekas_macro_area_undefined(package):
    Y, P, S = drawn(2)
    assert value(package, "auc_macro", Y, P, S) == pytest.approx(measure("auc_macro", Y, S).value)
    Y[:, 3] = True
    assert math.isnan(value(package, "auc_macro", Y, P, S))
    assert not math.isnan(value("mlrank", "auc_macro", Y, P, S))


def test_unknown_entries_are_left_out_before_any_rule():
    Y, P, S = drawn(4)
    known = np.ones(Y.shape, bool)
    known[:, 4] = False
    for metric in ("f1_micro", "precision_micro", "hamming_loss"):
        for package in ("mlrank", "scikit-learn", "Mulan"):
            expected = value(package, metric, Y[:, :4], P[:, :4], S[:, :4])
            assert value(package, metric, Y, P, S, known) == pytest.approx(expected), (metric, package)


def test_every_metric_has_a_rule_of_each_package_in_words():
    for metric in METRICS:
        rules = rules_of(metric)
        assert tuple(rules) == PACKAGES
        assert all(rule.words for rule in rules.values())


def test_what_has_no_value_has_none():
    Y, P, S = drawn(1)
    assert value("MEKA", "coverage", Y, P, S) is None
    assert value("scikit-learn", "one_error", Y, P, S) is None
