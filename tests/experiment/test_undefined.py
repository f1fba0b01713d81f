"""A point whose predictions leave the search's metric undefined in some folds is not chosen for the others' sake."""

from pathlib import Path

import numpy as np
import pytest

from mlrank.config import parse_config
from mlrank.experiment import plan_cells, run, stored_trials
from mlrank.metrics import search_value
from mlrank.records import TrialRecord
from mlrank.solvers import SOLVERS, TrainingSet
from tests.experiment.small import small_config
from tests.experiment.test_parts import gap_config, with_gaps

# Small C predicts nothing in most folds, and what it predicts in the others is right.
CASE = Path(__file__).parent / "cases" / "undefined_folds.csv"
C = (0.07, 0.08, 0.09, 0.1, 0.11, 1.0, 8.0)
# Of folds in which that is so, and by which the values of the metrics tell the points apart.
SEED = 10


def config_of(strategy, metric="precision_micro"):
    bound = ", max_fits: 35" if strategy == "random" else ""
    return parse_config(
        f"name: undefined\ndatasets: [{{train: {CASE}, label_columns: -6}}]\n"
        "split: {kind: holdout, train: 60, test: 30}\n"
        f"methods:\n  SVM: {{solver: binary_svm, C: {list(C)}}}\n"
        f"search: {{folds: 5, metric: {metric}, strategy: {strategy}{bound}}}\n"
        f"seed: {SEED}\n",
        "undefined",
    )


def precision_by_hand(cell, value):
    """Precision of all cells of each fold, 0 where nothing is predicted; and the number of such folds."""
    X, Y = cell.data.dataset.X, cell.data.dataset.Y
    found = []
    for train, test in cell.folds:
        model = SOLVERS["binary_svm"](C=value).fit(TrainingSet(X[train], Y[train]))
        predicted = model.decision_function(X[test]) > 0
        found.append((predicted & Y[test]).sum() / predicted.sum() if predicted.any() else np.nan)
    return np.nan_to_num(found), int(np.isnan(found).sum())


@pytest.mark.parametrize("strategy", ["grid", "staged", "halving", "random"])
def test_no_strategy_chooses_what_is_right_in_the_one_fold_where_it_is_defined(tmp_path, strategy):
    config = config_of(strategy)
    ((_, (cell,)),) = plan_cells(config)
    folder = run(config, tmp_path)
    (record,) = folder.runs()
    by_hand = {value: precision_by_hand(cell, value) for value in C}
    means = {value: folds.mean() for value, (folds, _) in by_hand.items()}
    assert any(
        folds[folds > 0].mean() > max(means.values()) for folds, n in by_hand.values() if 0 < n < 5 and folds.any()
    )
    assert record.searched["C"] in (1.0, 8.0)
    trials = stored_trials(folder)
    for trial in trials:
        folds, _ = by_hand[trial.settings["C"]]
        assert trial.record.value == pytest.approx(folds[trial.fold], abs=1e-12)
        assert (trial.record.n_undefined == 1) == (folds[trial.fold] == 0.0)
    assert record.search.best == pytest.approx(means[record.searched["C"]], abs=1e-12)
    if strategy != "halving":  # it leaves small C out on few rows
        assert record.searched["C"] == max(means, key=means.get)
        assert record.search.n_undefined == sum(n for _, n in by_hand.values()) > 4


@pytest.mark.parametrize("metric", ["precision_macro", "f1_macro", "f1_samples", "jaccard_samples", "recall_macro"])
def test_labels_and_rows_within_a_mean_are_the_same_for_every_point(tmp_path, metric):
    config = config_of("grid", metric)
    folder = run(config, tmp_path)
    (record,) = folder.runs()
    assert record.searched["C"] == 8.0
    assert (record.search.n_undefined > 0) == (metric not in ("recall_macro", "f1_macro"))


def test_a_point_that_failed_in_a_fold_is_out_and_one_that_is_missing_has_no_mean(tmp_path):
    ((_, (cell, _)),) = plan_cells(small_config(tmp_path))
    values = {(0, 0): 0.9, (0, 1): 0.9, (1, 0): 0.5, (1, 1): 0.5, (1, 2): 0.5, (2, 0): 0.1, (2, 1): 0.1, (2, 2): 0.1}
    journal = {cell.trial(*at).key: TrialRecord(cell.trial(*at).key, value) for at, value in values.items()}
    last = cell.trial(0, 2)
    assert cell.mean_of(last, journal) is None
    journal[last.key] = TrialRecord(last.key, error="it failed")
    assert cell.mean_of(last, journal) is None
    outcome = cell.outcome(journal)
    assert (outcome.chosen, outcome.value) == (1, 0.5)
    # What no prediction defines in a fold has no value for any point, and the other folds count.
    journal |= {cell.trial(i, 2).key: TrialRecord(cell.trial(i, 2).key) for i in range(3)}
    assert (cell.outcome(journal).chosen, cell.mean_of(cell.trial(0, 0), journal)) == (0, pytest.approx(0.9))


@pytest.mark.parametrize("metric", ["precision_macro", "hamming_loss", "auc_macro"])
def test_the_value_of_a_search_is_over_known_entries_alone(tmp_path, metric):
    X, Y, known = with_gaps(tmp_path)
    values = (0.001, 0.1, 1.0)
    method, search = f"{{solver: binary_svm, C: {list(values)}}}", f"search: {{folds: 3, metric: {metric}}}\n"
    config = gap_config(tmp_path, method, search)
    ((_, (cell,)),) = plan_cells(config)
    folder = run(config, tmp_path / "r")
    trials = {(trial.settings["C"], trial.fold): trial.record for trial in stored_trials(folder)}
    blind = 0
    for fold, (train, test) in enumerate(cell.folds):
        for value in values:
            model = SOLVERS["binary_svm"](C=value).fit(TrainingSet(X[train], Y[train], known=known[train]))
            predicted = model.decision_function(X[test])
            predicted = predicted if metric == "auc_macro" else predicted > 0
            expected = search_value(metric, Y[test], predicted, known[test])
            blind += expected.value == pytest.approx(search_value(metric, Y[test], predicted).value, abs=1e-9)
            assert trials[value, fold].value == pytest.approx(expected.value, abs=1e-12)
            assert trials[value, fold].n_undefined == expected.n_undefined
    assert blind < len(trials) - 2
