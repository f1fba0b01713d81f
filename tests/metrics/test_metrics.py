import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from metric_definitions import CURVES, LABELS, OVER_ROWS, POOLED, ROWS, reference

from mlrank.metrics import METRICS as ALL
from mlrank.metrics import evaluate as evaluate_all
from mlrank.metrics import measure, search_value
from mlrank.metrics.curves import auc_rank_curve
from mlrank.metrics.rankings import coverage, map_macro, ndcg_at, one_error, precision_at, ranking_loss
from mlrank.metrics.sets import f1_samples, recall_macro

# Those of probabilities have tests of their own: they change with the scores where their order does not. So have those
# that are weighted by what is known of training rows.
METRICS = {
    name: metric for name, metric in ALL.items() if metric.needs != "probabilities" and not name.startswith("ps")
}
SCORED = [name for name, metric in METRICS.items() if metric.needs == "scores"]
DECIDED = [name for name, metric in METRICS.items() if metric.needs == "sets"]


def evaluate(*given):
    return {name: value for name, value in evaluate_all(*given).items() if name in METRICS}


LABEL_SETS = np.array(list(product([False, True], repeat=3)))
ORDERINGS = np.array(list(product([0.0, 1.0, 2.0], repeat=3)))


def agrees(found, expected):
    value, n_defined, n_total = expected
    assert (found.n_defined, found.n_total) == (n_defined, n_total)
    assert found.value == pytest.approx(value, abs=1e-14, nan_ok=True)


def every(sets, others):
    pairs = list(product(sets, others))
    return np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])


def test_the_reference_covers_every_metric():
    assert {*ROWS, *LABELS, *POOLED, *CURVES} == set(METRICS)
    assert [METRICS[name].higher_is_better for name in METRICS].count(False) == 4


@pytest.mark.parametrize("name", METRICS)
def test_every_label_set_with_every_prediction_follows_the_definition(name):
    Y, predicted = every(LABEL_SETS, ORDERINGS if name in SCORED else LABEL_SETS)
    agrees(METRICS[name].function(Y, predicted), reference(name, Y, predicted))
    for row in range(len(Y)):
        one_row = Y[row : row + 1], predicted[row : row + 1]
        agrees(METRICS[name].function(*one_row), reference(name, *one_row))
        one_label = one_row[0].T.copy(), one_row[1].T.copy()
        agrees(METRICS[name].function(*one_label), reference(name, *one_label))


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 5), st.integers(1, 5))
def test_any_small_prediction_follows_the_definition(data, n_samples, n_labels):
    shape = (n_samples, n_labels)
    Y = data.draw(arrays(bool, shape))
    scores = data.draw(arrays(np.float64, shape, elements=st.sampled_from([-math.inf, -1.0, -0.0, 0.0, 0.5, math.inf])))
    Y_pred = data.draw(arrays(bool, shape))
    for name, found in evaluate(Y, scores, Y_pred).items():
        agrees(found, reference(name, Y, scores if name in SCORED else Y_pred))


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 5), st.integers(1, 5))
def test_unknown_entries_are_taken_out_of_their_rows_and_labels(data, n_samples, n_labels):
    shape = (n_samples, n_labels)
    Y, Y_pred, known = (data.draw(arrays(bool, shape)) for _ in range(3))
    scores = data.draw(arrays(np.float64, shape, elements=st.sampled_from([-math.inf, -1.0, 0.5, math.inf])))
    found = evaluate(Y, scores, Y_pred, known)
    for name in METRICS:
        predicted = scores if name in SCORED else Y_pred
        agrees(found[name], reference(name, Y, predicted, known))
        assert str(measure(name, Y, predicted, known)) == str(found[name])


def test_a_mask_of_another_shape_is_refused():
    Y, scores, Y_pred = drawn(4, 3)
    with pytest.raises(ValueError, match=r"known has shape \(3, 3\), Y has shape \(4, 3\)"):
        evaluate(Y, scores, Y_pred, np.ones((3, 3), bool))


def test_evaluate_returns_what_each_metric_returns():
    Y, scores, Y_pred = drawn(40, 6)
    assert list(evaluate_all(Y, scores, Y_pred)) == list(ALL)
    found = evaluate(Y, scores, Y_pred)
    for name, metric in METRICS.items():
        assert found[name] == metric.function(Y, scores if name in SCORED else Y_pred)
        by_rows = name in ROWS or name in OVER_ROWS
        assert found[name].unit == ("rows" if by_rows else "labels" if name in LABELS else "all")
        assert (type(found[name].value), type(found[name].n_defined), type(found[name].n_total)) == (float, int, int)


@pytest.mark.parametrize("name", METRICS)
def test_definitions_say_what_is_undefined(name):
    assert "ndefined" in METRICS[name].definition or "Always defined" in METRICS[name].definition


def drawn(n_samples, n_labels, seed=0):
    rng = np.random.default_rng(seed)
    Y = rng.random((n_samples, n_labels)) < 0.35
    return Y, rng.integers(-3, 4, (n_samples, n_labels)) / 2, rng.random((n_samples, n_labels)) < 0.4


class TestByHand:
    def test_a_ranking_with_a_tie(self):
        Y = np.array([[True, False, True, False]])
        scores = np.array([[3.0, 2.0, 2.0, 1.0]])
        found = {name: METRICS[name].function(Y, scores).value for name in SCORED}
        assert found["auc_samples"] == pytest.approx(3.5 / 4)
        assert found["ranking_loss"] == pytest.approx(1 / 4)
        assert found["lrap"] == pytest.approx((1 + 2 / 3) / 2)
        assert found["coverage"] == 3.0
        assert found["one_error"] == 0.0
        assert found["precision_at_3"] == pytest.approx(2 / 3)
        assert found["precision_at_5"] == pytest.approx(2 / 5)
        tied = (1 / math.log2(3) + 1 / math.log2(4)) / 2
        assert found["ndcg_at_3"] == pytest.approx((1 + tied) / (1 + 1 / math.log2(3)))
        assert precision_at(Y, scores, 2).value == pytest.approx(1.5 / 2)

    def test_sets(self):
        Y = np.array([[True, True, False], [False, True, False]])
        Y_pred = np.array([[True, False, True], [False, True, False]])
        found = {name: METRICS[name].function(Y, Y_pred).value for name in DECIDED}
        assert found["f1_macro"] == pytest.approx((1 + 2 / 3 + 0) / 3)
        assert found["f1_micro"] == pytest.approx(4 / 6)
        assert found["f1_samples"] == pytest.approx((2 / 4 + 1) / 2)
        assert found["precision_macro"] == pytest.approx((1 + 1 + 0) / 3)
        assert found["recall_macro"] == pytest.approx((1 + 1 / 2) / 2)
        assert found["jaccard_samples"] == pytest.approx((1 / 3 + 1) / 2)
        assert (found["subset_accuracy"], found["hamming_loss"]) == (0.5, pytest.approx(2 / 6))

    def test_all_scores_equal(self):
        Y = np.array([[True, False, False, False], [True, True, False, False]])
        scores = np.zeros((2, 4))
        found = {name: METRICS[name].function(Y, scores).value for name in SCORED}
        for name in ("auc_macro", "auc_micro", "auc_samples"):
            assert found[name] == 0.5
        assert (found["ranking_loss"], found["coverage"]) == (1.0, 4.0)
        assert found["one_error"] == pytest.approx((3 / 4 + 2 / 4) / 2)
        assert found["lrap"] == pytest.approx((1 / 4 + 2 / 4) / 2)
        assert found["precision_at_3"] == pytest.approx((1 / 4 + 2 / 4) / 2)


BEST = {name: 1.0 if metric.higher_is_better else 0.0 for name, metric in METRICS.items()}


def test_a_perfect_prediction_has_the_best_values_even_with_empty_rows_and_labels():
    Y = np.array([[True, False, False, True], [False, False, True, True], [False] * 4, [True, False, True, True]])
    found = evaluate(Y, Y * 2.0 - 1.0, Y)
    best = BEST | {"coverage": 7 / 3, "precision_at_3": 7 / 9, "precision_at_5": 7 / 15}
    # Rows with 2 relevant labels are out of them where the one with 3 is not: no curve of k reaches 1.
    best |= {"auc_rank_curve": 107 / 126, "auc_rank_curve_multi": 68 / 70, "auc_rank_curve_mean": 53 / 54}
    for name, value in found.items():
        if name.endswith("_single"):
            assert math.isnan(value.value)
            assert value.n_defined == 0
        else:
            assert value.value == pytest.approx(best[name], abs=1e-15), name
    assert (found["f1_macro"].n_defined, found["f1_macro"].n_total) == (3, 4)
    assert (found["auc_macro"].n_defined, found["f1_samples"].n_defined, found["lrap"].n_defined) == (3, 3, 3)


def test_an_empty_prediction():
    Y = np.array([[True, False], [True, True], [False, False]])
    found = evaluate(Y, np.zeros((3, 2)), np.zeros((3, 2), dtype=bool))
    assert math.isnan(found["precision_macro"].value)
    assert (found["precision_macro"].n_defined, found["precision_micro"].n_defined) == (0, 0)
    for name in ("f1_macro", "f1_micro", "f1_samples", "recall_macro", "recall_micro", "jaccard_samples"):
        assert found[name].value == 0.0
    assert found["f1_samples"][1:3] == (2, 3)
    assert (found["subset_accuracy"].value, found["hamming_loss"].value) == (pytest.approx(1 / 3), 0.5)


def test_labels_and_rows_of_one_class_are_counted_out():
    Y = np.array([[False, True, True], [False, True, False]])
    scores = np.array([[0.3, 0.2, 0.1], [0.1, 0.2, 0.3]])
    found = evaluate(Y, scores, Y)
    assert found["auc_macro"][:3] == (0.0, 1, 3)
    assert found["map_macro"][:3] == (pytest.approx((1 + 1 / 2) / 2), 2, 3)
    assert found["auc_samples"][:3] == (pytest.approx((0 + 1 / 2) / 2), 2, 2)
    nothing = np.zeros((2, 3), dtype=bool)
    for name, value in evaluate(nothing, scores, nothing).items():
        if name in ("subset_accuracy", "hamming_loss"):
            assert value.value == BEST[name]
        else:
            assert math.isnan(value.value), name
            # No row has one relevant label, or several.
            n_total = 0 if name.endswith(("_single", "_multi")) else len_of(value.unit)
            assert (value.n_defined, value.n_total) == (0, n_total), name
    everything = evaluate(~nothing, scores, ~nothing)
    assert everything["auc_macro"].n_defined == everything["ranking_loss"].n_defined == 0
    assert everything["lrap"].value == everything["map_macro"].value == 1.0
    assert everything["coverage"].value == 3.0


def len_of(unit):
    return {"rows": 2, "labels": 3, "all": 1}[unit]


def test_other_rules_for_what_is_undefined():
    Y = np.array([[True, False], [False, False]])
    scores = np.array([[1.0, 1.0], [0.0, 1.0]])
    assert f1_samples(Y, Y)[:3] == (1.0, 1, 2)
    assert f1_samples(Y, Y, empty=0.0)[:3] == (0.5, 2, 2)
    assert recall_macro(Y, Y, empty=0.0)[:3] == (0.5, 2, 2)
    assert map_macro(Y, scores, empty=0.0)[:3] == (0.5, 2, 2)
    assert one_error(Y, scores)[:3] == (0.5, 1, 2)
    assert one_error(Y, scores, empty=1.0)[:3] == (0.75, 2, 2)
    assert ndcg_at(Y, scores, 1, empty=1.0)[:3] == (0.75, 2, 2)
    assert coverage(Y, scores, first=0)[:3] == (1.0, 1, 2)
    assert coverage(Y, scores, empty=0.0)[:3] == (1.0, 2, 2)
    assert ranking_loss(Y, scores, tie=0.5).value == 0.5


class TestCurvesOfRanks:
    def test_by_hand(self):
        """Rows with 1 and 2 of 3 labels: (false, true) counts are (0, 0), (1, 1), (2, 2), (3, 3) for k = 0..3."""
        Y = np.array([[True, False, False], [False, True, True]])
        scores = np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]])
        found = {name: METRICS[name].function(Y, scores).value for name in CURVES}
        assert found["auc_rank_curve"] == pytest.approx(1 / 2)
        assert (found["auc_rank_curve_single"], found["auc_rank_curve_multi"]) == (1.0, 0.0)
        assert (found["auc_samples_single"], found["auc_samples_multi"]) == (1.0, 0.0)
        # Mean rates are (0, 0), (1/2, 1/2), (3/4, 3/4), (1, 1).
        assert found["auc_rank_curve_mean"] == pytest.approx(1 / 2)

    @settings(max_examples=60, deadline=None)
    @given(st.data(), st.integers(1, 5), st.integers(2, 5))
    def test_all_readings_agree_where_rows_have_equally_many_labels(self, data, n_samples, n_labels):
        n_relevant = data.draw(st.integers(1, n_labels - 1))
        Y = np.array([data.draw(st.permutations(np.arange(n_labels) < n_relevant)) for _ in range(n_samples)])
        scores = data.draw(arrays(np.float64, Y.shape, elements=st.sampled_from([0.0, 1.0, 2.0])))
        by_row = METRICS["auc_samples"].function(Y, scores).value
        for name in ("auc_rank_curve", "auc_rank_curve_mean"):
            assert METRICS[name].function(Y, scores).value == pytest.approx(by_row, abs=1e-14)

    def test_what_is_undefined_takes_the_value_given(self):
        nothing = np.zeros((2, 3), dtype=bool)
        assert auc_rank_curve(nothing, np.zeros((2, 3)), empty=0.5)[:3] == (0.5, 1, 1)
        assert math.isnan(auc_rank_curve(~nothing, np.zeros((2, 3))).value)

    def test_ties_by_index_are_those_of_falling_scores(self):
        Y, scores, _ = drawn(20, 5, seed=4)
        nudged = scores - np.arange(5) * 1e-6
        assert auc_rank_curve(Y, scores, ties="index").value == auc_rank_curve(Y, nudged).value
        down = scores - np.arange(20)[:, None] * 1e-6
        assert map_macro(Y, scores, ties="index").value == map_macro(Y, down).value


class TestInvariance:
    Y, scores, Y_pred = drawn(30, 6, seed=2)

    def test_only_the_order_of_scores_counts(self):
        expected = evaluate(self.Y, self.scores, self.Y_pred)
        assert evaluate(self.Y, np.exp(3 * self.scores) - 7, self.Y_pred) == expected

    def test_rows_may_be_rescaled_alone_for_row_metrics_and_labels_for_label_metrics(self):
        shift = np.arange(30)[:, None] * 10.0
        for name in SCORED:
            moved = shift if name in ROWS or name in CURVES else np.arange(6) * 10.0 if name in LABELS else 0.0
            assert METRICS[name].function(self.Y, self.scores + moved) == METRICS[name].function(self.Y, self.scores)

    def test_permuted_rows_and_labels_change_nothing(self):
        rng = np.random.default_rng(3)
        order = np.ix_(rng.permutation(30), rng.permutation(6))
        expected = evaluate(self.Y, self.scores, self.Y_pred)
        for name, value in evaluate(self.Y[order], self.scores[order], self.Y_pred[order]).items():
            assert value.value == pytest.approx(expected[name].value, abs=1e-14)
            assert value[1:] == expected[name][1:]

    def test_inputs_are_left_alone(self):
        given = [part.copy() for part in (self.Y, self.scores, self.Y_pred)]
        for part in given:
            part.flags.writeable = False
        assert evaluate(*given) == evaluate(self.Y, self.scores, self.Y_pred)


@pytest.mark.parametrize(
    ("Y", "scores", "Y_pred", "message"),
    [
        (np.ones((2, 3), bool), np.ones((2, 2)), np.ones((2, 3), bool), r"scores has shape \(2, 2\)"),
        (np.ones((2, 3), bool), np.ones((2, 3)), np.ones((3, 3), bool), r"Y_pred has shape \(3, 3\)"),
        (np.ones((2, 3)), np.ones((2, 3)), np.ones((2, 3), bool), "Y must be a two-dimensional bool"),
        (np.ones((2, 3), bool), np.ones((2, 3)), np.ones((2, 3)), "Y_pred must be a bool"),
        (np.ones((0, 3), bool), np.ones((0, 3)), np.ones((0, 3), bool), "nothing to measure"),
        (np.ones((1, 2), bool), np.array([[0, np.nan]]), np.ones((1, 2), bool), "1 NaN, the first in row 0, label 1"),
    ],
)
def test_wrong_input_is_refused(Y, scores, Y_pred, message):
    with pytest.raises(ValueError, match=message):
        evaluate(Y, scores, Y_pred)


def test_depth_below_one_is_refused():
    with pytest.raises(ValueError, match="k must be at least 1, found 0"):
        precision_at(np.ones((1, 2), bool), np.ones((1, 2)), 0)


UNDEFINED_BY_PREDICTIONS = [name for name, metric in METRICS.items() if metric.worst is not None]


def plain_search_value(name, Y, Y_pred, known):
    """The mean over the terms that some prediction defines, term by term; and how many this one leaves undefined."""
    n, k = Y.shape
    of_label = [[(i, j) for i in range(n)] for j in range(k)]
    of_row = [[(i, j) for j in range(k)] for i in range(n)]
    terms = {"macro": of_label, "samples": of_row, "micro": [[cell for row in of_row for cell in row]]}
    values, undefined = [], 0
    for cells in terms[name.rpartition("_")[2]]:
        pairs = [(Y[cell], Y_pred[cell]) for cell in cells if known[cell]]
        if not pairs:
            continue
        hits, predicted, relevant = (sum(map(f, pairs)) for f in (all, lambda p: p[1], lambda p: p[0]))
        part, whole = {
            "f1": (2 * hits, predicted + relevant),
            "precision": (hits, predicted),
            "jaccard": (hits, predicted + relevant - hits),
        }[name.partition("_")[0]]
        undefined += whole == 0
        values.append(part / whole if whole else 0.0)
    return (sum(values) / len(values), undefined) if values else (None, 0)


def matrices(n, k):
    return [np.array(cells).reshape(n, k) for cells in product([False, True], repeat=n * k)]


# The matrices of two rows and two columns of which none is another one with its rows or columns swapped.
UP_TO_ORDER = [matrices(2, 2)[number] for number in (0b0000, 0b0001, 0b0011, 0b0101, 0b0110, 0b0111, 0b1111)]


def test_predictions_decide_what_is_defined_of_these_metrics_alone():
    """Of the others the number of defined terms is the same whatever is predicted."""
    for name, metric in METRICS.items():
        predictions = matrices(2, 2) if name in DECIDED else [m.astype(float) for m in matrices(2, 2)]
        varies = any(len({metric.function(Y, p).n_defined for p in predictions}) > 1 for Y in UP_TO_ORDER)
        assert varies == (metric.worst is not None)


@pytest.mark.parametrize("name", UNDEFINED_BY_PREDICTIONS)
def test_values_of_a_search_are_over_the_same_terms_whatever_is_predicted(name):
    for Y, Y_pred, known in product(matrices(2, 2), matrices(2, 2), UP_TO_ORDER):
        value, n_undefined = search_value(name, Y, Y_pred, known)
        expected, undefined = plain_search_value(name, Y, Y_pred, known)
        assert (value is None) == (expected is None)
        assert value is None or abs(value - expected) <= 1e-15  # pytest.approx takes longer than all else here
        assert n_undefined == undefined
        measured = measure(name, Y, Y_pred, known)
        if not n_undefined and measured.n_defined:
            assert value == measured.value
        if known.all():
            assert search_value(name, Y, Y_pred) == (value, n_undefined)


@pytest.mark.parametrize("name", UNDEFINED_BY_PREDICTIONS)
@pytest.mark.parametrize("shape", [(2, 2), (1, 3), (3, 1)])
def test_to_leave_a_term_undefined_never_beats_any_prediction_of_it(name, shape):
    sign = 1.0 if METRICS[name].higher_is_better else -1.0
    for Y, Y_pred in product(matrices(*shape), repeat=2):
        found = search_value(name, Y, Y_pred)
        if not found.n_undefined:
            continue
        # Nothing is predicted in the undefined terms: a prediction that keeps the rest completes them.
        for other in matrices(*shape):
            completed = search_value(name, Y, other)
            keeps = {"macro": 0, "samples": 1}.get(name.rpartition("_")[2])
            if keeps is not None:
                touched = (other != Y_pred).any(axis=keeps)
                empty = ~(Y_pred if name.startswith("precision") else Y_pred | Y).any(axis=keeps)
                if (touched & ~empty).any():
                    continue
            if completed.n_undefined < found.n_undefined:
                assert sign * found.value <= sign * completed.value


@pytest.mark.parametrize("name", [name for name in METRICS if METRICS[name].worst is None])
def test_other_metrics_are_searched_by_their_value(name):
    rng = np.random.default_rng(3)
    for _ in range(20):
        Y, known = rng.random((3, 3)) < 0.4, rng.random((3, 3)) < 0.7
        predicted = rng.random((3, 3)) < 0.5 if name in DECIDED else rng.integers(0, 3, (3, 3)).astype(float)
        value = measure(name, Y, predicted, known).value
        assert search_value(name, Y, predicted, known) == (None if math.isnan(value) else value, 0)
