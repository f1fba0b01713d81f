import json
import math
import pickle
from dataclasses import FrozenInstanceError, fields
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from mlrank.thresholds import THRESHOLDS
from mlrank.thresholds.cuts import label_sets
from mlrank.thresholds.targets import ew, midpoint, min_error

FIXTURES = sorted((Path(__file__).parents[1] / "fixtures").glob("*.npz"))


def drawn(n_samples=40, n_features=5, n_labels=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features)) * (rng.random((n_samples, n_features)) < 0.6)
    scores = X @ rng.normal(size=(n_features, n_labels)) + 0.3 * rng.normal(size=(n_samples, n_labels))
    return scores, rng.random((n_samples, n_labels)) < 1 / (1 + np.exp(0.5 - scores)), X


def test_zero_is_strict():
    scores, Y = np.array([[0.0, -0.0, 1e-300, -1e-300]]), np.ones((1, 4), dtype=bool)
    cut = THRESHOLDS["zero"]().fit(scores, Y, np.zeros((1, 1)))
    assert cut(scores, np.zeros((1, 1))).tolist() == [[False, False, True, False]]


def test_a_constant_is_strict_and_the_natural_cut_is_the_constant_that_a_solver_names():
    scores, Y = np.array([[0.5, 0.25], [0.75, 0.3]]), np.ones((2, 2), dtype=bool)
    for strategy in (THRESHOLDS["constant"](value=0.5), THRESHOLDS["natural"]().at(0.5)):
        cut = strategy.fit(scores, Y, np.zeros((2, 1)))
        assert cut(scores, np.zeros((2, 1))).tolist() == [[False, False], [True, False]]
    with pytest.raises(ValueError, match="natural is the cut of a solver"):
        THRESHOLDS["natural"]().fit(scores, Y, np.zeros((2, 1)))


@pytest.mark.parametrize("seed", range(3))
def test_svr_min_error_is_the_regression_onto_the_targets_with_the_fewest_wrong_labels(seed):
    rng = np.random.default_rng(seed)
    scores, X = rng.standard_normal((30, 5)), rng.standard_normal((30, 4))
    Y = scores + rng.standard_normal(scores.shape) > 0.5
    settings = {"C": 2.0, "epsilon": 0.05, "tol": 1e-10}
    cut = THRESHOLDS["svr_min_error"](**settings).fit(scores, Y, X)
    same = THRESHOLDS["svr_midpoint"](target="min_error", **settings).fit(scores, Y, X)
    other = THRESHOLDS["svr_midpoint"](**settings).fit(scores, Y, X)
    assert np.array_equal(cut.coef, same.coef)
    assert not np.allclose(cut.coef, other.coef, atol=1e-3)


@pytest.mark.parametrize("name", ["svr_midpoint", "svr_min_error", "lstsq_scores"])
def test_rows_whose_known_labels_are_all_of_one_class_are_left_out(name):
    scores, Y, X = drawn()
    known = np.random.default_rng(1).random(Y.shape) < 0.9
    known[:7] = Y[:7]
    cut = THRESHOLDS[name]().fit(scores, Y, X, known)
    rest = THRESHOLDS[name]().fit(scores[7:], Y[7:], X[7:], known[7:])
    assert 0 < cut.n_used == rest.n_used
    for key, value in rest.arrays().items():
        assert np.array_equal(cut.arrays()[key], value)


@pytest.mark.parametrize(("name", "given"), [("per_label_f1", {"shrinkage": 0}), ("adaptive_f", {"alpha": 0.3})])
def test_the_threshold_of_each_label_is_that_of_its_known_rows(name, given):
    rng = np.random.default_rng(5)
    scores, Y = rng.integers(-4, 5, (60, 5)).astype(float), rng.random((60, 5)) < 0.4
    known = rng.random(Y.shape) < 0.5
    known[:, 4] = False
    cut = THRESHOLDS[name](**given).fit(scores, Y, np.zeros((60, 1)), known)
    for label in range(4):
        rows = known[:, label]
        alone = THRESHOLDS[name](**given).fit(
            scores[rows, label, None], Y[rows, label, None], np.zeros((rows.sum(), 1))
        )
        assert cut.thresholds[label] == alone.thresholds[0]
    assert cut.thresholds[4] == math.inf


def test_an_oracle_alone_is_shown_the_truth_and_ranks_what_it_cannot_know_last():
    scores, Y, X = drawn(seed=6)
    known = np.random.default_rng(6).random(Y.shape) < 0.7
    oracle = THRESHOLDS["oracle_size"]().fit(scores, Y, X)
    found = label_sets(oracle, scores, X, Y & known, known)
    for row in range(len(Y)):
        places = np.flatnonzero(known[row])
        best = places[np.argsort(-scores[row, places], kind="stable")[: (Y & known)[row].sum()]]
        assert np.array_equal(np.flatnonzero(found[row]), np.sort(best))

    def nosy(scores, X, *truth):
        assert not truth
        return scores > 0

    assert np.array_equal(label_sets(nosy, scores, X, Y, known), scores > 0)


class TestClassMass:
    def test_each_label_gets_its_share_of_the_rows_the_best_first(self):
        Y = np.array([[1, 0, 1], [0, 0, 1], [1, 0, 1], [0, 0, 1]], dtype=bool)
        cut = THRESHOLDS["class_mass"]().fit(np.zeros((4, 3)), Y, np.zeros((4, 1)))
        scores = np.array([[0.1, 9.0, -5.0], [0.3, 9.0, -5.0], [0.3, 9.0, -5.0], [0.3, 9.0, -5.0], [0.2, 9.0, -5.0]])
        # Half of five rows is 2.5, rounded to 2; of three equal scores the first two are taken.
        expected = np.array([[0, 0, 1], [1, 0, 1], [1, 0, 1], [0, 0, 1], [0, 0, 1]], dtype=bool)
        assert np.array_equal(cut(scores, np.zeros((5, 1))), expected)

    def test_shares_are_those_of_the_known_rows(self):
        Y = np.array([[1, 1], [1, 1], [0, 0], [0, 0]], dtype=bool)
        known = np.array([[1, 0], [1, 0], [1, 0], [0, 0]], dtype=bool)
        cut = THRESHOLDS["class_mass"]().fit(np.zeros((4, 2)), Y, np.zeros((4, 1)), known)
        assert cut.shares == pytest.approx([2 / 3, 0.0])


class TestSVRMidpoint:
    def test_it_is_the_regression_of_the_targets_on_the_features(self):
        scores, Y, X = drawn()
        cut = THRESHOLDS["svr_midpoint"](C=2.0, epsilon=0.05).fit(scores, Y, X)
        h = midpoint(scores, Y)
        used = ~np.isnan(h)
        assert 0 < np.count_nonzero(used) < len(Y)
        assert (cut.n_used, cut.converged) == (np.count_nonzero(used), True)

        def objective(coef, intercept):
            errors = np.abs(h[used] - X[used] @ coef - intercept) - 0.05
            return 0.5 * coef @ coef + 2.0 * np.maximum(errors, 0).sum()

        best = objective(cut.coef, cut.intercept)
        rng = np.random.default_rng(1)
        for size in (1e-3, 1e-1):
            for _ in range(50):
                moved = objective(cut.coef + size * rng.normal(size=5), cut.intercept + size * rng.normal())
                assert moved >= best * (1 - 1e-8)
        expected = scores > (X @ cut.coef + cut.intercept)[:, None]
        assert 0 < np.count_nonzero(expected) < expected.size
        np.testing.assert_array_equal(cut(scores, X), expected)

    def test_sparse_features_equal_dense_ones(self):
        for n_features in (5, 80):
            scores, Y, X = drawn(n_features=n_features)
            dense, sparse = (THRESHOLDS["svr_midpoint"](tol=1e-10).fit(scores, Y, part) for part in (X, csr_array(X)))
            np.testing.assert_allclose(sparse.coef, dense.coef, atol=1e-5)
            assert sparse.intercept == pytest.approx(dense.intercept, abs=1e-5)
            np.testing.assert_array_equal(sparse(scores, csr_array(X)), dense(scores, X))

    def test_the_other_target(self):
        scores, Y, X = drawn(seed=2)
        lone = THRESHOLDS["svr_midpoint"](C=1e4, epsilon=0.0, target="min_error")
        rows = np.flatnonzero(~np.isnan(midpoint(scores, Y)))[:4]
        # Fewer rows than features + 1 and a large C: the targets are met.
        cut = lone.fit(scores[rows], Y[rows], X[rows])
        np.testing.assert_allclose(X[rows] @ cut.coef + cut.intercept, min_error(scores, Y)[rows], atol=1e-4)

    @pytest.mark.parametrize("X", [np.ones((3, 2)), csr_array(np.ones((3, 2)))])
    def test_rows_without_target_give_threshold_zero(self, X):
        scores, Y = np.array([[1.0, -1.0]] * 3), np.array([[True, True], [False, False], [True, True]])
        cut = THRESHOLDS["svr_midpoint"]().fit(scores, Y, X)
        assert (cut.n_used, cut.intercept, cut.coef.tolist(), cut.converged) == (0, 0.0, [0.0, 0.0], True)
        assert cut(scores, X).tolist() == [[True, False]] * 3


class TestLstsqScores:
    @pytest.mark.parametrize(("target", "function"), [("min_error", min_error), ("midpoint", midpoint), ("ew", ew)])
    def test_it_is_the_shortest_least_squares_solution(self, target, function):
        scores, Y, X = drawn(seed=3)
        scores -= scores.mean(axis=1, keepdims=True)
        cut = THRESHOLDS["lstsq_scores"](target=target).fit(scores, Y, X)
        h = function(scores, Y)
        used = ~np.isnan(h)
        design = np.hstack([scores[used], np.ones((np.count_nonzero(used), 1))])
        expected = np.linalg.pinv(design, rcond=1e-9) @ h[used]
        np.testing.assert_allclose([*cut.coef, cut.intercept], expected, atol=1e-9)
        assert cut.n_used == np.count_nonzero(used)
        # The scores of a row sum to 0, so the shortest solution is orthogonal to (1, .., 1, 0).
        assert cut.coef.sum() == pytest.approx(0.0, abs=1e-9)
        np.testing.assert_array_equal(cut(scores, X), scores > (scores @ expected[:-1] + expected[-1])[:, None])

    @pytest.mark.parametrize("scale", [1e-10, 1e-5, 1e7, 1e12])
    @pytest.mark.parametrize("dependent", [False, True])
    def test_it_is_the_shortest_solution_at_any_scale(self, scale, dependent):
        scores, Y, X = drawn(seed=3)
        scores = (scores - scores.mean(axis=1, keepdims=True)) if dependent else scores
        cut = THRESHOLDS["lstsq_scores"]("midpoint").fit(scale * scores, Y, X)
        h = midpoint(scale * scores, Y)
        used = ~np.isnan(h)
        S, centered = scores[used] - scores[used].mean(axis=0), (h[used] - h[used].mean()) / scale
        coef = np.linalg.pinv(S, rcond=1e-9) @ centered
        least = np.linalg.norm(S @ coef - centered)
        found = np.linalg.norm((scale * scores[used] @ cut.coef + cut.intercept - h[used]) / scale)
        assert found <= least * (1 + 1e-9) + 1e-12
        if dependent:  # of all that are as good, the one whose weights sum to 0 is the shortest
            assert cut.coef.sum() == pytest.approx(0.0, abs=1e-9)
            np.testing.assert_allclose(cut.coef, coef, atol=1e-9)

    def test_noise_in_dependent_scores_does_not_matter(self):
        scores, Y, X = drawn(seed=3)
        scores -= scores.mean(axis=1, keepdims=True)
        noisy = scores + 1e-13 * np.random.default_rng(7).normal(size=scores.shape)
        clean, rough = (THRESHOLDS["lstsq_scores"]("midpoint").fit(part, Y, X) for part in (scores, noisy))
        np.testing.assert_allclose(rough.coef, clean.coef, atol=1e-9)

    def test_min_error_is_the_default(self):
        assert THRESHOLDS["lstsq_scores"]() == THRESHOLDS["lstsq_scores"](target="min_error")
        assert THRESHOLDS["svr_midpoint"]() == THRESHOLDS["svr_midpoint"](C=1.0, epsilon=0.1, target="midpoint")

    def test_rows_without_target_give_threshold_zero(self):
        scores, Y = np.array([[1.0, -1.0]] * 2), np.array([[True, True], [False, False]])
        cut = THRESHOLDS["lstsq_scores"]().fit(scores, Y, np.ones((2, 1)))
        assert (cut.n_used, cut.intercept, cut.coef.tolist()) == (0, 0.0, [0.0, 0.0])
        assert cut(scores, np.ones((2, 1))).tolist() == [[True, False]] * 2


def f1(Y, predicted):
    hits = sum(1 for y, p in zip(Y, predicted, strict=True) if y and p)
    return 2 * hits / max(1, sum(Y) + sum(predicted))


class TestPerLabelF1:
    @settings(max_examples=80, deadline=None)
    @given(st.data(), st.integers(1, 7))
    def test_brute_force(self, data, n):
        scores = data.draw(arrays(np.float64, (n, 2), elements=st.sampled_from([-1.0, 0.0, 0.5, 2.0, 3.0])))
        Y = data.draw(arrays(bool, (n, 2)))
        cut = THRESHOLDS["per_label_f1"](shrinkage=0).fit(scores, Y, np.zeros((n, 1)))
        for label in range(2):
            f, y = scores[:, label], Y[:, label]
            distinct = sorted(set(f.tolist()))
            middles = [(a + b) / 2 for a, b in pairwise(distinct)]
            best = max([-math.inf, *middles, math.inf], key=lambda h: (f1(y, f > h), h))
            assert cut.thresholds[label] == best

    @pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
    @pytest.mark.parametrize("kind", ["loo", "self"])
    def test_certified(self, path, kind):
        data = np.load(path)
        scores, Y = data[f"bknn_{kind}_f"], data["in_Y"] == 1
        cut = THRESHOLDS["per_label_f1"](shrinkage=0).fit(scores, Y, np.zeros((len(Y), 1)))
        np.testing.assert_allclose(cut.thresholds, data[f"bknn_{kind}_h"], atol=1e-9)
        reached = [f1(y, p) for y, p in zip(Y.T, cut(scores, None).T, strict=True)]
        np.testing.assert_allclose(reached, data[f"bknn_{kind}_bestF1"], atol=1e-12)

    def test_a_label_never_and_a_label_always_relevant(self):
        scores = np.array([[1.0, 1.0], [2.0, -5.0]])
        cut = THRESHOLDS["per_label_f1"](shrinkage=0).fit(scores, np.array([[False, True]] * 2), np.zeros((2, 1)))
        assert cut.thresholds.tolist() == [math.inf, -math.inf]
        assert cut(np.array([[1e9, -1e9]]), np.zeros((1, 1))).tolist() == [[False, True]]

    @settings(max_examples=60, deadline=None)
    @given(st.data(), st.integers(2, 6), st.sampled_from([0.5, 2.0, 50.0]))
    def test_with_positives_of_all_labels_by_brute_force(self, data, n, shrinkage):
        scores = data.draw(arrays(np.float64, (n, 3), elements=st.sampled_from([-1.0, 0.0, 0.5, 2.0, 3.0])))
        Y, known = data.draw(arrays(bool, (n, 3))), data.draw(arrays(bool, (n, 3)))
        cut = THRESHOLDS["per_label_f1"](shrinkage=shrinkage).fit(scores, Y & known, np.zeros((n, 1)), known)
        entries = [(scores[i, j], Y[i, j], j) for i in range(n) for j in range(3) if known[i, j]]
        n_relevant = sum(y for _, y, _ in entries)

        def candidates(label):
            distinct = sorted({s for s, _, j in entries if label in (j, None)})
            return [-math.inf, *((a + b) / 2 for a, b in pairwise(distinct)), math.inf]

        def judged(label, h):
            """F1 of counts in which every entry of all labels has a weight, more for those of this label."""
            weights = [(s, y, (j == label) + shrinkage / n_relevant) for s, y, j in entries]
            hits = sum(w for s, y, w in weights if y and s > h)
            return 2 * hits / (sum(w for s, _, w in weights if s > h) + sum(w for _, y, w in weights if y))

        for label in range(3):
            if not any(y and j == label for _, y, j in entries):
                assert cut.thresholds[label] == math.inf
                continue
            pooled = {h: f1([y for _, y, _ in entries], [s > h for s, _, _ in entries]) for h in candidates(None)}
            common = max(h for h, value in pooled.items() if value == max(pooled.values()))
            reached = {h: judged(label, h) for h in (*candidates(label), common)}
            assert cut.thresholds[label] in {h for h, v in reached.items() if v > max(reached.values()) - 1e-12}

    def test_a_rare_label_without_scores_is_not_given_to_every_row(self):
        """Two of 50 rows have the second label, and all score 0: alone its best F1 is that of every row."""
        rng = np.random.default_rng(0)
        Y = np.zeros((50, 2), bool)
        Y[:25, 0], Y[:2, 1] = True, True
        scores = np.column_stack([Y[:, 0] * 0.8 + 0.1 * rng.random(50), np.zeros(50)])
        alone = THRESHOLDS["per_label_f1"](shrinkage=0).fit(scores, Y, np.zeros((50, 1)))
        assert alone(scores, None).all(axis=0).tolist() == [False, True]
        cut = THRESHOLDS["per_label_f1"]().fit(scores, Y, np.zeros((50, 1)))
        assert not cut(scores, None)[:, 1].any()
        np.testing.assert_array_equal(cut(scores, None)[:, 0], Y[:, 0])

    def test_much_shrinkage_is_one_cut_for_all_labels_and_little_is_none(self):
        rng = np.random.default_rng(1)
        Y = rng.random((80, 4)) < [0.5, 0.3, 0.2, 0.1]
        scores = Y + rng.normal(size=Y.shape)
        much, little, none = (
            THRESHOLDS["per_label_f1"](shrinkage=m).fit(scores, Y, np.zeros((80, 1))).thresholds for m in (1e9, 1e-9, 0)
        )
        common = THRESHOLDS["per_label_f1"](shrinkage=0).fit(
            scores.reshape(-1, 1), Y.reshape(-1, 1), np.zeros((320, 1))
        )
        assert much.tolist() == [common.thresholds[0]] * 4
        np.testing.assert_array_equal(little, none)
        assert len(set(none.tolist())) == 4


def weighted_f(Y, predicted, alpha):
    hits = sum(1 for y, p in zip(Y, predicted, strict=True) if y and p)
    if not hits:
        return 0.0
    precision, recall = hits / sum(predicted), hits / sum(Y)
    return 1 / (alpha / precision + (1 - alpha) / recall)


class TestAdaptiveF:
    @settings(max_examples=80, deadline=None)
    @given(st.data(), st.integers(1, 9), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]))
    def test_brute_force(self, data, n, alpha):
        scores = data.draw(arrays(np.float64, (n, 2), elements=st.sampled_from([-1.0, 0.0, 0.5, 2.0, 3.0])))
        Y = data.draw(arrays(bool, (n, 2)))
        cut = THRESHOLDS["adaptive_f"](alpha=alpha).fit(scores, Y, np.zeros((n, 1)))
        for label in range(2):
            f, y = scores[:, label], Y[:, label]
            middles = [(a + b) / 2 for a, b in pairwise(sorted(set(f.tolist())))]
            reached = {h: weighted_f(y, f > h, alpha) for h in [-math.inf, *middles, math.inf]}
            best = max(reached.values())
            # of equally good ones, up to rounding, the largest
            assert cut.thresholds[label] == max(h for h, value in reached.items() if value > best - 1e-12)

    def test_precision_and_recall_are_its_ends(self):
        # scores from the best down: relevant, not, relevant
        scores, Y = np.array([[3.0], [2.0], [1.0]]), np.array([[True], [False], [True]])
        found = [THRESHOLDS["adaptive_f"](alpha=a).fit(scores, Y, scores).thresholds[0] for a in (1.0, 0.5, 0.0)]
        assert found == [2.5, -math.inf, -math.inf]

    @pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
    def test_certified_on_training_scores(self, path):
        data = np.load(path)
        Y = data["in_Y"] == 1
        cut = THRESHOLDS["adaptive_f"]().fit(data["bknn_loo_f"], Y, np.zeros((len(Y), 1)))
        np.testing.assert_allclose(cut.thresholds, data["bknn_loo_h"], atol=1e-9)
        np.testing.assert_array_equal(cut(data["bknn_fte"], None), data["bknn_pred_te"] == 1)


def test_ties_go_to_lower_label_indices_among_many_labels():
    scores = np.random.default_rng(6).integers(0, 3, (30, 200)).astype(np.float64)
    cut = THRESHOLDS["top_k"](k=90).fit(scores, np.ones(scores.shape, bool), np.zeros((30, 1)))
    for row, found in zip(scores, cut(scores, None), strict=True):
        assert np.flatnonzero(found).tolist() == sorted(sorted(range(200), key=lambda j: (-row[j], j))[:90])


def test_top_k_prefers_lower_label_indices():
    scores = np.array([[1.0, 3.0, 3.0, 3.0], [0.0, 0.0, 0.0, 1.0]])
    X = np.zeros((2, 1))
    cut = THRESHOLDS["top_k"](k=2).fit(scores, np.ones((2, 4), bool), X)
    assert cut(scores, X).astype(int).tolist() == [[0, 1, 1, 0], [1, 0, 0, 1]]
    whole = THRESHOLDS["top_k"](k=4).fit(scores, np.ones((2, 4), bool), X)
    assert whole(scores, X).all()


def test_oracle_size_predicts_as_many_as_there_are():
    scores = np.array([[1.0, 3.0, 2.0], [0.0, 0.0, 0.0], [1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    Y = np.array([[1, 0, 1], [0, 0, 1], [0, 0, 0], [1, 1, 1]], dtype=bool)
    X = np.zeros((4, 1))
    cut = THRESHOLDS["oracle_size"]().fit(scores, Y, X)
    assert cut(scores, X, Y).astype(int).tolist() == [[0, 1, 1], [1, 0, 0], [0, 0, 0], [1, 1, 1]]
    with pytest.raises(ValueError, match="oracle_size needs the true labels"):
        cut(scores, X)


CHOSEN = {"top_k": {"k": 2}}


# natural is the constant that a solver names.
@pytest.mark.parametrize("name", [name for name in THRESHOLDS if name != "natural"])
class TestEveryStrategy:
    def test_it_says_what_it_looks_at(self, name):
        strategy = THRESHOLDS[name]
        assert strategy.ORACLE is (name == "oracle_size")
        assert strategy.FIT_ON == ("heldout" if name == "per_label_f1" else "train")
        settings = [field.name for field in fields(strategy)]
        assert "ORACLE" not in settings
        assert "FIT_ON" not in settings

    def test_it_is_frozen_comparable_and_pickles(self, name):
        strategy = THRESHOLDS[name](**CHOSEN.get(name, {}))
        assert pickle.loads(pickle.dumps(strategy)) == strategy
        with pytest.raises((FrozenInstanceError, TypeError)):
            strategy.C = 1.0

    def test_read_only_inputs_repeat_and_survive_saving(self, name):
        scores, Y, X = drawn(seed=4)
        before = [part.copy() for part in (scores, Y, X)]
        for part in (scores, Y, X):
            part.flags.writeable = False
        strategy = THRESHOLDS[name](**CHOSEN.get(name, {}))
        first, second = strategy.fit(scores, Y, X), strategy.fit(scores, Y, X)
        truth = Y if strategy.ORACLE else None
        found = first(scores, X, truth)
        assert (found.dtype, found.shape) == (np.bool_, Y.shape)
        np.testing.assert_array_equal(found, second(scores, X, truth))
        for part, was in zip((scores, Y, X), before, strict=True):
            np.testing.assert_array_equal(part, was)
        meta = json.loads(json.dumps(first.meta()))
        kind = meta.pop("cut")
        again = type(first)(**meta, **first.arrays())
        np.testing.assert_array_equal(found, again(scores, X, truth))
        assert kind == type(first).__name__.removesuffix("Cut").lower()

    def test_only_the_rows_own_truth_decides(self, name):
        """A cut decides row by row, unless it says otherwise: the other rows of the call do not matter."""
        scores, Y, X = drawn(seed=5)
        strategy = THRESHOLDS[name](**CHOSEN.get(name, {}))
        cut = strategy.fit(scores, Y, X)
        rows = np.array([7, 3, 11])
        truth = (Y, Y[rows]) if strategy.ORACLE else (None, None)
        whole, alone = cut(scores, X, truth[0])[rows], cut(scores[rows], X[rows], truth[1])
        assert np.array_equal(whole, alone) is not getattr(cut, "TOGETHER", False)

    def test_wrong_input_is_refused(self, name):
        scores, Y, X = drawn()
        strategy = THRESHOLDS[name](**CHOSEN.get(name, {}))
        holed = scores.copy()
        holed[3, 2] = np.nan
        with pytest.raises(ValueError, match="1 entries that are not finite, the first in row 3, label 2"):
            strategy.fit(holed, Y, X)
        with pytest.raises(ValueError, match=r"found bool of shape \(40, 3\)"):
            strategy.fit(scores, Y[:, :3], X)
        with pytest.raises(ValueError, match="found int64 of shape"):
            strategy.fit(scores, Y.astype(np.int64), X)
        with pytest.raises(ValueError, match="X has 39 rows, scores has 40"):
            strategy.fit(scores, Y, X[1:])
        with pytest.raises(ValueError, match="not finite"):
            strategy.fit(scores, Y, X)(holed, X, Y)


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("svr_midpoint", {"C": 0.0}, "C must be a number above 0, found 0.0"),
        ("svr_min_error", {"C": 0.0}, "C must be a number above 0, found 0.0"),
        ("svr_midpoint", {"C": math.inf}, "C must be a number above 0, found inf"),
        ("svr_midpoint", {"C": "1"}, "C must be a number above 0, found '1'"),
        ("svr_midpoint", {"C": True}, "C must be a number above 0, found True"),
        ("svr_midpoint", {"epsilon": -0.1}, "epsilon must be a number of at least 0, found -0.1"),
        ("svr_midpoint", {"tol": 0}, "tol must be a number above 0, found 0"),
        ("svr_midpoint", {"target": "midpiont"}, "target must be one of .*, found 'midpiont'. Did you mean 'midpoint'"),
        ("lstsq_scores", {"target": "ranks"}, "target must be one of .*, found 'ranks'"),
        ("per_label_f1", {"shrinkage": -1}, "shrinkage must be a number of at least 0, found -1"),
        ("adaptive_f", {"alpha": 1.5}, "alpha must be a number of at most 1, found 1.5"),
        ("adaptive_f", {"alpha": -0.5}, "alpha must be a number of at least 0, found -0.5"),
        ("constant", {"value": math.nan}, "value must be a number, found nan"),
        ("top_k", {"k": 0}, "k must be a whole number of at least 1, found 0"),
        ("top_k", {"k": 1.5}, "k must be a whole number of at least 1, found 1.5"),
        ("top_k", {"k": True}, "k must be a whole number of at least 1, found True"),
    ],
)
def test_wrong_settings_are_refused(name, wrong, message):
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        THRESHOLDS[name](**wrong)


def test_cuts_of_another_width_are_refused():
    scores, Y, X = drawn()
    for name in ("zero", "lstsq_scores", "per_label_f1"):
        with pytest.raises(ValueError, match="fitted to 4 labels, scores has 3"):
            THRESHOLDS[name]().fit(scores, Y, X)(scores[:, :3], X)
    with pytest.raises(ValueError, match="k=5 needs that many labels, found 4"):
        THRESHOLDS["top_k"](k=5).fit(scores, Y, X)
