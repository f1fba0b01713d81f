"""What thresholds make of test rows: natural cuts and bounds in a run, its record, its table and its stored model."""

import numpy as np
import pytest

from mlrank.datasets import load_dataset
from mlrank.errors import UserError
from mlrank.experiment import run
from mlrank.experiment.run import plan_cells
from mlrank.models.file import load_model
from mlrank.prediction import judge, predict_file
from mlrank.records.run import SetsInfo
from mlrank.search.judging import sets_info
from mlrank.solvers import TrainingSet
from mlrank.tables import build_tables
from mlrank.thresholds.cuts import CountedSets
from tests.experiment.small import small_config

CONFIG = """
name: sets
datasets: [{{train: {train}, test: {test}}}]
split: {split}
scale: {scale}
methods:
  kNN: {{solver: knn, n_neighbors: 4}}
  Bounded: {{solver: knn, n_neighbors: 4, threshold: {{min_labels: 1, max_labels: [2, 3]}}}}
  Always: {{solver: knn, n_neighbors: 4, threshold: {{kind: constant, value: -1, max_labels: 3}}}}
  All: {{solver: knn, n_neighbors: 4, threshold: {{kind: constant, value: -1}}}}
search: {{folds: 2}}
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    return folder, run(small_config(folder, text=CONFIG), folder / "r", jobs=1)


def test_the_default_of_neighbors_is_one_half_and_bounds_go_by_the_scores(finished):
    _, folder = finished
    arrays = {record.method: folder.run_arrays(record) for record in folder.runs()}
    records = {record.method: record for record in folder.runs()}
    scores, Y = arrays["kNN"]["scores"], arrays["kNN"]["Y_true"]
    free = scores > 0.5
    np.testing.assert_array_equal(arrays["kNN"]["Y_pred"], free)
    assert (records["kNN"].threshold.kind, records["kNN"].sets.natural_cut) == ("natural", 0.5)
    most = records["Bounded"].threshold.settings["max_labels"]
    assert records["Bounded"].searched == {"threshold.max_labels": most}
    sizes = free.sum(axis=1)
    found = arrays["Bounded"]["Y_pred"].sum(axis=1)
    np.testing.assert_array_equal(found, sizes.clip(1, most))
    sets = records["Bounded"].sets
    assert (sets.n_rows, sets.n_labels, sets.n_filled, sets.n_shortened) == (30, 4, sum(sizes < 1), sum(sizes > most))
    assert sets.n_filled > 0
    assert (records["Always"].sets.n_filled, records["Always"].sets.n_shortened) == (0, 30)
    for method, record in records.items():
        always = arrays[method]["Y_pred"].all(axis=0) & ~Y.all(axis=0)
        never = ~arrays[method]["Y_pred"].any(axis=0) & Y.any(axis=0)
        assert (record.sets.n_always, record.sets.n_never) == (always.sum(), never.sum())
    assert records["All"].sets.n_always == 4


def test_a_table_says_so(finished):
    _, folder = finished
    records = folder.runs()
    (table,) = build_tables(records, ["f1_micro"])
    notes = "\n".join(table.notes)
    bounded = next(record for record in records if record.method == "Bounded")
    most, filled = bounded.threshold.settings["max_labels"], bounded.sets.n_filled
    assert f"natural 0.5 for kNN; natural 0.5, 1 to {most} labels a row for Bounded; " in notes
    assert "constant -1, 0 to 3 labels a row for Always; constant -1 for All" in notes
    assert (
        f"order of scores: Bounded {filled} filled up and {bounded.sets.n_shortened} shortened, of 30; "
        "Always 0 filled up and 30 shortened, of 30"
    ) in notes
    assert "labels wrongly predicted for all rows alike, or for none: " in notes
    assert "All 4 for all and 0 for none, of 4" in notes


def test_a_stored_model_keeps_its_bounds_and_counts_what_they_change(finished):
    folder, results = finished
    record = next(record for record in results.runs() if record.method == "Bounded")
    model = load_model(results.model_path(record.dataset.name, record.split, "Bounded"))
    data = load_dataset(folder / "part-test.svm")
    np.testing.assert_array_equal(model.predict(data.X), results.run_arrays(record)["Y_pred"])
    filled, shortened = record.sets.n_filled, record.sets.n_shortened
    note = f"by the bounds of the threshold {filled} label sets were filled up and {shortened} shortened"
    done = predict_file(model, folder / "part-test.svm", folder / "out.csv")
    assert note in done.notes
    assert note in judge(model, folder / "part-test.svm").notes


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{kind: zero, min_labels: 5}", "min_labels=5 needs that many labels, found 4"),
        ("{min_labels: 3, max_labels: 2}", "max_labels must be at least min_labels, found 2 and 3"),
        ("{min_labels: -1}", "min_labels must be a whole number of at least 0, found -1"),
        ("{kind: zero, min_label: 1}", "Did you mean 'min_labels'"),
        ("{kind: constant, value: high}", "value must be a number, found 'high'"),
    ],
)
def test_wrong_bounds_are_refused_before_the_first_fit(tmp_path, written, message):
    text = CONFIG.replace("{{min_labels: 1, max_labels: [2, 3]}}", written.replace("{", "{{").replace("}", "}}"))
    with pytest.raises(UserError, match=message):
        plan_cells(small_config(tmp_path, text=text))


def test_a_label_that_all_rows_have_is_rightly_predicted_for_all():
    """Only what is known counts: the third label is on every known row, the fourth on none."""
    Y = np.array([[1, 0, 1, 0], [1, 1, 0, 1], [1, 0, 1, 0]], bool)
    known = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [1, 1, 1, 1]], bool)
    every, none = np.array([[1, 1, 1, 0]] * 3, bool), np.array([[0, 0, 0, 0]] * 3, bool)
    train = TrainingSet(np.ones((3, 1)), Y, known=known)
    assert sets_info(train, CountedSets(every, 2, 1)) == SetsInfo(3, 4, 2, 1, n_always=1, n_never=0)
    assert sets_info(train, CountedSets(none)) == SetsInfo(3, 4, n_always=0, n_never=3)
    whole = TrainingSet(np.ones((3, 1)), Y)
    assert sets_info(whole, CountedSets(every)) == SetsInfo(3, 4, n_always=2, n_never=1)
