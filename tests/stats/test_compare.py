"""From records to comparisons: what is paired with what, what is left out and said, what the sentences claim."""

from dataclasses import replace

import numpy as np
import pytest

from mlrank.errors import UserError
from mlrank.metrics import measure
from mlrank.stats import (
    by_label,
    cautions_of_datasets,
    cautions_of_splits,
    compare_datasets,
    compare_labels,
    compare_splits,
    gather,
    say_datasets,
    say_labels,
    say_p,
    say_splits,
)
from tests.stats.records import arrays, names, record, table

DATASETS = [f"d{place}" for place in range(7)]


def spread(*means):
    """Scores of methods A, B, ... on seven data sets of two splits each."""
    rng = np.random.default_rng(1)
    noise = {name: rng.standard_normal(2) * 0.01 for name in DATASETS}
    return {
        "ABCDE"[place]: {name: [mean + 0.02 * row + noise[name][0] * place, mean] for row, name in enumerate(DATASETS)}
        for place, mean in enumerate(means)
    }


def test_values_are_paired_by_split_and_averaged_over_them():
    found, left_out = gather(table({"A": {"x": [0.1, 0.3]}, "B": {"x": [0.2, 0.6]}}), "f1_macro")
    assert left_out == []
    assert found[0].methods == ("A", "B")
    assert found[0].values.tolist() == [[0.1, 0.2], [0.3, 0.6]]
    assert found[0].splits == ("r0", "r1")
    assert found[0].test_share == 0.5


def test_splits_that_not_all_methods_share_are_left_out_and_said():
    found, _ = gather(table({"A": {"x": [0.1, 0.3, 0.5]}, "B": {"x": [0.2, None, 0.6]}}), "f1_macro")
    assert found[0].splits == ("r0", "r2")
    assert found[0].notes == ("x: only the 2 of 3 splits on which every method has f1_macro",)


def test_splits_of_one_name_with_other_rows_are_no_pair():
    records = [record("A", "x", "r0", 0.1), record("B", "x", "r0", 0.2, inputs={"rows": "other"})]
    with pytest.raises(UserError, match=r"no data set has f1_macro .*: x left out: the methods share no split"):
        gather(records, "f1_macro")


def test_datasets_without_every_method_are_left_out_and_said():
    scores = {"A": {"x": [0.1], "y": [0.2]}, "B": {"x": [0.3], "y": [None]}}
    found, left_out = gather(table(scores), "f1_macro")
    assert [repeats.dataset for repeats in found] == ["x"]
    assert left_out == ["y left out: no f1_macro of B"]


def test_versions_of_one_dataset_are_not_mixed():
    records = table({"A": {"x": [0.1]}, "B": {"x": [0.2]}})
    other = [replace(r, dataset=replace(r.dataset, hash="2222222222"), experiment="e2") for r in records]
    found, _ = gather([*records, *other], "f1_macro")
    assert [repeats.dataset for repeats in found] == ["x [hash-x]", "x [22222222]"]


def test_methods_of_one_name_in_two_experiments_are_told_apart():
    records = [record("A", "x", "r0", 0.1), record("A", "x", "r0", 0.2, experiment="other")]
    assert gather(records, "f1_macro")[0][0].methods == ("A (demo)", "A (other)")


def test_oracle_cuts_are_left_out_of_metrics_of_label_sets_alone():
    oracle = {"oracle": True}
    scores = {"A": {"x": [0.1]}, "B": {"x": [0.2]}}
    records = [*table(scores), record("O", "x", "r0", 0.9, threshold=oracle)]
    found, left_out = gather(records, "f1_macro")
    assert found[0].methods == ("A", "B")
    assert left_out[0].startswith("O left out: its threshold looks at the true labels")
    records = [*table(scores, "auc_macro"), record("O", "x", "r0", 0.9, "auc_macro", threshold=oracle)]
    assert gather(records, "auc_macro")[0][0].methods == ("A", "B", "O")


def test_different_numbers_of_labels_are_said():
    records = table({"A": {"x": [0.1]}, "B": {"x": [0.2]}})
    fewer = replace(records[1].metrics["f1_macro"], n_defined=2)
    records[1] = replace(records[1], metrics={"f1_macro": fewer})
    assert gather(records, "f1_macro")[0][0].notes == (
        "x: f1_macro is over different numbers of labels: 3 for A, 2 for B, of 3",
    )


def test_methods_can_be_chosen():
    records = table({name: {"x": [0.1]} for name in "ABC"})
    assert gather(records, "f1_macro", ["C", "A"])[0][0].methods == ("A", "C")
    with pytest.raises(UserError, match=r"unknown method 'D'\. Known: A, B, C"):
        gather(records, "f1_macro", ["D"])


@pytest.mark.parametrize(
    ("scores", "metric", "message"),
    [
        ({"A": {"x": [0.1]}}, "f1_macro", "needs two methods with values, found 1"),
        ({"A": {"x": [0.1]}, "B": {"x": [None]}}, "f1_macro", "found 1 .B left out: no f1_macro in any run"),
        ({"A": {"x": [0.1]}, "B": {"y": [0.1]}}, "f1_macro", "x left out: no f1_macro of B; y left out"),
        ({"A": {"x": [0.1]}, "B": {"x": [0.1]}}, "f1_makro", "unknown metric 'f1_makro'"),
    ],
)
def test_what_cannot_be_compared_is_an_error(scores, metric, message):
    with pytest.raises(UserError, match=message):
        gather(table(scores), metric)


def compared(scores, metric="f1_macro", **options):
    return compare_datasets(gather(table(scores, metric), metric)[0], **options)


def test_the_control_is_the_best_unless_it_is_named():
    scores = spread(0.5, 0.7, 0.6)
    for metric, best in (("f1_macro", "B"), ("hamming_loss", "A")):
        found = compared(scores, metric)
        assert (found.control, found.control_was_named) == (best, False)
        assert found.mean_ranks[found.methods.index(best)] == 1.0
    found = compared(scores, control="C")
    assert [test.method for test in found.against_control] == ["A", "B"]
    # Mean ranks 3, 1, 2; standard error sqrt(3 * 4 / (6 * 7)).
    assert [test.z for test in found.against_control] == pytest.approx([3.5**0.5, -(3.5**0.5)])
    assert any("control C (named beforehand)" in line for line in say_datasets(found))
    with pytest.raises(UserError, match="unknown control 'Z'"):
        compared(scores, control="Z")


def test_differences_are_turned_so_that_above_zero_the_first_is_better():
    scores = spread(0.5, 0.7, 0.6)
    up, down = compared(scores).pairs[0], compared(scores, "ranking_loss").pairs[0]
    assert (up.first, up.second, up.wilcoxon.losses, down.wilcoxon.wins) == ("A", "B", 7, 7)
    assert up.difference.estimate == pytest.approx(-down.difference.estimate)
    assert up.difference.estimate < 0
    assert (up.beliefs.second, down.beliefs.first) == (up.beliefs.second, up.beliefs.second)
    assert up.beliefs.second > 0.9


def test_pairs_of_the_control_alone_are_corrected_over_these():
    scores = spread(0.5, 0.7, 0.6)
    every, found = compared(scores, control="C"), compared(scores, control="C", against_control=True)
    assert [(pair.first, pair.second) for pair in found.pairs] == [("A", "C"), ("B", "C")]
    assert [pair.p_holm for pair in found.pairs] == [2 * 2 / 2**7] * 2
    alike = {(pair.first, pair.second): pair for pair in every.pairs}
    for pair in found.pairs:
        same = alike[pair.first, pair.second]
        assert (pair.wilcoxon, pair.difference, pair.p_nemenyi) == (same.wilcoxon, same.difference, same.p_nemenyi)


def test_pairs_are_corrected_together():
    found = compared(spread(0.5, 0.7, 0.6))
    assert [pair.wilcoxon.p for pair in found.pairs] == [2 / 2**7] * 3
    assert [pair.p_holm for pair in found.pairs] == pytest.approx([3 * 2 / 2**7] * 3)
    assert found.pairs[0].p_nemenyi < 0.01


def test_sentences_say_test_numbers_and_direction():
    lines = list(say_datasets(compared(spread(0.5, 0.7, 0.6))))
    assert lines[0] == (
        "Over 7 data sets the 3 methods differ in f1_macro (Friedman chi2(2) = 14.00, p < 0.001; "
        "Iman-Davenport F(2, 12) = inf, p < 0.001; exact p < 0.001)."
    )
    assert lines[1] == "Mean ranks (1 = best): B 1.00, C 2.00, A 3.00."
    assert "1.25 or more apart (critical difference); not significantly different are B and C; C and A." in lines[2]
    assert lines[3].startswith("Against the control B (the best mean rank, so chosen by the same data)")
    assert lines[4].startswith(
        "B is better than A: B is ahead on 7 of 7 data sets, A on 0 (Wilcoxon signed-rank, p = 0.016"
    )
    assert "typical advantage of B 0.2" in lines[4]
    assert (
        "B better 1.00, practically equal 0.00, A better 0.00 (Bayesian signed-rank test, prior weight 0.5" in lines[4]
    )


def test_without_a_difference_none_is_claimed():
    cycle = {name: [0.5 + 0.01 * ((row + place) % 3) for row in range(7)] for place, name in enumerate("ABC")}
    scores = {name: {d: [value] for d, value in zip(DATASETS, values, strict=True)} for name, values in cycle.items()}
    lines = list(say_datasets(compared(scores)))
    assert "are not shown to differ" in lines[0]
    assert "no two methods do" in lines[2]
    assert all("is not shown to be better than" in line for line in lines[4:])


def test_two_datasets_that_agree_show_no_more_than_their_orders_can():
    values = {name: 0.5 + 0.1 * place for place, name in enumerate("ABC")}
    lines = list(say_datasets(compared({name: {d: [value] for d in DATASETS[:2]} for name, value in values.items()})))
    # Both rank A, B and C alike: one order in 3! = 6, whatever F says.
    assert lines[0].startswith("Over 2 data sets the 3 methods are not shown to differ in f1_macro")
    assert lines[0].endswith("Iman-Davenport F(2, 2) = inf, p < 0.001; exact p = 0.17).")


def test_all_equal_scores_are_said_and_not_tested():
    found = compared({name: {d: [0.5] for d in DATASETS} for name in "ABC"})
    assert list(say_datasets(found)) == [
        "All methods have the same f1_macro on every data set: there is nothing to test."
    ]
    assert found.friedman is None
    assert found.pairs[0].wilcoxon is None


def test_two_methods_have_no_tests_on_ranks():
    found = compared(spread(0.5, 0.7))
    assert (found.friedman, found.critical_difference, found.against_control) == (None, None, ())
    assert "two methods: the tests on ranks of three and more are left out" in list(cautions_of_datasets(found))
    assert "after Holm" not in list(say_datasets(found))[-1]


def test_few_datasets_are_cautioned_of():
    few = {name: {d: found[d] for d in DATASETS[:4]} for name, found in spread(0.5, 0.7, 0.6).items()}
    cautions = list(cautions_of_datasets(compared(few)))
    assert "4 data sets: Wilcoxon's p cannot be below 0.12, whatever the scores" in cautions
    assert (
        "4 data sets: the p-values of the tests on ranks, the exact one apart, are rough with fewer than 10" in cautions
    )


def test_one_dataset_is_no_comparison_over_datasets():
    with pytest.raises(ValueError, match="needs two"):
        compared({"A": {"x": [0.1]}, "B": {"x": [0.2]}})


def over_splits(scores, metric="f1_macro", **options):
    ((repeats,), _) = gather(table({m: {"x": values} for m, values in scores.items()}, metric), metric)
    return compare_splits(repeats, **options)


def test_a_single_split_has_no_test():
    found = over_splits({"A": [0.5], "B": [0.7]})
    assert (found.pairs[0].t, found.pairs[0].wilcoxon, found.pairs[0].beliefs) == (None, None, None)
    assert list(say_splits(found)) == [
        "On x, f1_macro (1 split): B 0.7000, A 0.5000.",
        "One split (r0) shows no spread over training sets: no test of f1_macro is possible.",
    ]


def test_splits_are_tested_with_the_share_of_test_rows():
    found = over_splits({"A": [0.50, 0.52, 0.51, 0.55], "B": [0.58, 0.59, 0.63, 0.64]}, "hamming_loss")
    (pair,) = found.pairs
    d = np.array([0.08, 0.07, 0.12, 0.09])
    assert pair.mean == pytest.approx(d.mean())
    assert pair.t.t == pytest.approx(d.mean() / np.sqrt((1 / 4 + 30 / 60) * d.var(ddof=1)))
    assert found.control == "A"  # a loss: smaller is better
    line = list(say_splits(found))[1]
    assert line.startswith("A is better than B: mean advantage of A 0.09 (95% interval ")
    assert "corrected resampled t(3) = " in line
    assert next(cautions_of_splits(found)).startswith("splits share training rows: the t-test counts 0.5 test rows")


def test_differences_that_are_all_the_same_are_no_test():
    lines = list(say_splits(over_splits({"A": [0.5, 0.6], "B": [0.6, 0.7]})))
    assert lines[1] == "B is 0.1 ahead of A on every split: without spread there is no test."
    lines = list(say_splits(over_splits({"A": [0.5, 0.6], "B": [0.5, 0.6]})))
    assert lines[1] == "A and B have the same f1_macro on every split."


def test_levels_of_intervals_follow_alpha():
    scores = {"A": [0.50, 0.52, 0.51, 0.55], "B": [0.58, 0.59, 0.63, 0.64]}
    wide, narrow = over_splits(scores, alpha=0.01).pairs[0].t, over_splits(scores, alpha=0.2).pairs[0].t
    assert (wide.level, narrow.level) == (0.99, 0.8)
    assert wide.low < narrow.low < narrow.high < wide.high


def labelled(flips, n_splits, metric="f1_macro"):
    """Compare methods by their arrays: of each, the share of cells predicted wrongly."""
    records = table({name: {"x": [0.5] * n_splits} for name in flips}, metric)
    stored = {
        (name, f"r{split}"): arrays(100 * place + split, n=200, flip=flip)
        for place, (name, flip) in enumerate(flips.items())
        for split in range(n_splits)
    }
    ((repeats,), _) = gather(records, metric)
    return repeats, lambda found: stored[found.method, found.split]


def test_one_split_is_tested_by_the_rows_that_differ():
    repeats, read = labelled({"A": 0.05, "B": 0.4}, 1)
    (found,) = compare_labels(repeats, read, names, "A")
    assert (found.test, found.metric, found.n_better, found.n_worse) == ("mcnemar", "accuracy", 3, 0)
    a, b = read(repeats.records[0]["A"]), read(repeats.records[0]["B"])
    right = [part["Y_pred"] == part["Y_true"] for part in (a, b)]
    assert [test.difference for test in found.labels] == pytest.approx(right[0].mean(axis=0) - right[1].mean(axis=0))
    assert [test.n_positive for test in found.labels] == a["Y_true"].sum(axis=0).tolist()
    (turned,) = compare_labels(repeats, read, names, "B")
    assert (turned.n_better, turned.n_worse) == (0, 3)
    assert "better on 3 of 3 labels, worse on 0, no difference shown on 0 (McNemar" in next(say_labels(found, 0.05))


def test_unknown_entries_count_for_no_label():
    repeats, read = labelled({"A": 0.1, "B": 0.3}, 1)
    known = np.ones((200, 3), bool)
    known[50:, 0] = False

    def masked(found):
        return {**read(found), "known": known}

    (found,) = compare_labels(repeats, masked, names, "A")
    a, b = (read(repeats.records[0][name]) for name in "AB")
    head = [(part["Y_pred"] == part["Y_true"])[:50, 0].mean() for part in (a, b)]
    assert found.labels[0].difference == pytest.approx(head[0] - head[1])
    assert found.labels[0].n_positive == a["Y_true"][:50, 0].sum()


def test_several_splits_are_tested_by_the_metric_of_the_label():
    repeats, read = labelled({"A": 0.05, "B": 0.4}, 4)
    (found,) = compare_labels(repeats, read, names, "A")
    assert (found.test, found.metric) == ("t", "f1_macro")
    f1 = {
        name: np.array([by_label(read(run[name]), "f1_macro") for run in repeats.records]).mean(axis=0) for name in "AB"
    }
    assert [test.difference for test in found.labels] == pytest.approx(f1["A"] - f1["B"])
    p = sorted(test.p for test in found.labels)
    assert sorted(test.p_holm for test in found.labels)[0] == pytest.approx(min(1.0, 3 * p[0]))


def test_a_ranking_metric_is_tested_by_the_areas_of_the_labels():
    repeats, read = labelled({"A": 0.05, "B": 0.4}, 3, "ranking_loss")
    assert compare_labels(repeats, read, names, "A")[0].metric == "auc_macro"


def test_labels_that_cannot_be_tested_are_counted():
    repeats, read = labelled({"A": 0.05, "B": 0.4}, 3)

    def without_first(found):
        stored = read(found)
        return {
            **stored,
            "Y_true": stored["Y_true"] & [False, True, True],
            "Y_pred": stored["Y_pred"] & [False, True, True],
        }

    (found,) = compare_labels(repeats, without_first, names, "A")
    assert [test.p is None for test in found.labels] == [True, False, False]
    assert found.labels[0].difference is None
    assert "1 cannot be tested" in next(say_labels(found, 0.05))


def test_arrays_of_other_rows_are_refused():
    repeats, read = labelled({"A": 0.05, "B": 0.4}, 1)
    with pytest.raises(UserError, match="the runs of A and B are on different test rows"):
        compare_labels(
            repeats, lambda found: {**read(found), "rows": np.arange(200) + (found.method == "B")}, names, "A"
        )


def test_a_labels_own_metric_averages_to_the_macro_metric():
    stored = arrays(0)
    for metric in ("f1_macro", "auc_macro", "recall_macro", "map_macro"):
        predicted = stored["scores"] if metric in ("auc_macro", "map_macro") else stored["Y_pred"]
        assert np.nanmean(by_label(stored, metric)) == pytest.approx(measure(metric, stored["Y_true"], predicted).value)


@pytest.mark.parametrize(("p", "said"), [(0.0009, "p < 0.001"), (0.001, "p = 0.001"), (0.0456, "p = 0.046")])
def test_p_values_in_words(p, said):
    assert say_p(p) == said
