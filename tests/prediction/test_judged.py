"""A stored model judged on labelled data: on the right rows, columns and labels, or one line that says why not."""

from dataclasses import replace

import numpy as np
import pytest

from mlrank.datasets.convert import convert
from mlrank.errors import UserError
from mlrank.metrics import evaluate
from mlrank.models.file import load_model
from mlrank.prediction import judge
from tests.models.fits import stored
from tests.prediction.test_files import LABELS, NAMES, dataset, libsvm


@pytest.fixture
def model(tmp_path):
    stored(
        tmp_path / "a.model",
        threshold="svr_midpoint",
        header={"feature_names": list(NAMES), "label_names": list(LABELS)},
    )
    return load_model(tmp_path / "a.model")


def values(metrics):
    return [found.value for found in metrics.values()]


@pytest.mark.parametrize(
    ("key", "ending"), [("csv", ".csv"), ("meka", ".arff"), ("npz", ".npz"), ("parquet", ".parquet")]
)
def test_labels_are_found_by_their_names(tmp_path, model, key, ending):
    data = dataset()
    written = convert(data, tmp_path / f"d{ending}", key)
    judged = judge(model, written["train"], format=key if key == "meka" else None)
    expected = evaluate(data.Y, model.decision_function(data.X), model.predict(data.X))
    assert values(judged.metrics) == pytest.approx(values(expected), nan_ok=True)
    assert judged.n_rows == 40
    assert judged.title.endswith("fitted to small, official) on d, all 40 rows")


def test_columns_and_labels_in_another_order_and_further_ones(tmp_path, model):
    data = dataset()
    expected = evaluate(data.Y, model.decision_function(data.X), model.predict(data.X))
    columns, labels = [5, 3, 1, 0, 2, 4], [4, 2, 0, 1, 3]
    np.savez(
        tmp_path / "d.npz",
        X=np.hstack([data.X[:, columns], np.ones((40, 1))]),
        Y=np.hstack([data.Y[:, labels], data.Y[:, :1]]),
        feature_names=[*(NAMES[i] for i in columns), "more"],
        label_names=[*(LABELS[i] for i in labels), "other"],
    )
    judged = judge(model, tmp_path / "d.npz")
    assert values(judged.metrics) == pytest.approx(values(expected), nan_ok=True)
    assert judged.notes == (
        "1 further columns are no features of the model and left out: 'more'",
        "1 further labels of the data are none of the model and left out",
    )


def test_rows_of_a_subset_that_may_have_been_trained_on_are_told(tmp_path, model):
    written = convert(dataset(), tmp_path / "small.csv", "csv")["train"]
    drawn = replace(model, header=model.header.model_copy(update={"split": "r0f1"}))
    n_train = model.header.data.n_train
    # A data set without an official split may hold the rows that were another's training part.
    assert judge(model, written).notes[0].startswith(f"the model was fitted to {n_train} rows of a part or another")
    assert judge(drawn, written).notes == (
        f"the model was fitted to {n_train} rows of a part or another version of 'small', split r0f1: "
        "some of the rows judged here may be among them",
    )
    assert judge(drawn, written.rename(tmp_path / "other.csv")).notes == ()
    halves = replace(dataset(), official=(np.arange(20), np.arange(20, 40)))
    split = convert(halves, tmp_path / "small.npz", "npz")["train"]
    assert judge(model, split).notes == ()  # the test part of its own split


def test_unknown_entries_are_left_out(tmp_path, model):
    data = dataset()
    known = np.random.default_rng(0).random(data.Y.shape) < 0.7
    np.savez(tmp_path / "d.npz", X=data.X, Y=data.Y, known=known, feature_names=NAMES, label_names=LABELS)
    expected = evaluate(data.Y & known, model.decision_function(data.X), model.predict(data.X), known)
    assert values(judge(model, tmp_path / "d.npz").metrics) == pytest.approx(values(expected), nan_ok=True)


def test_the_test_part_is_judged_unless_another_is_asked_for(tmp_path, model):
    data = dataset()
    rows = {"train": np.arange(30), "test": np.arange(30, 40)}
    np.savez(tmp_path / "d.npz", X=data.X, Y=data.Y, feature_names=NAMES, label_names=LABELS, **rows)
    for part, chosen in ((None, rows["test"]), ("train", rows["train"]), ("all", np.arange(40))):
        judged = judge(model, tmp_path / "d.npz", part=part)
        X = data.X[chosen]
        expected = evaluate(data.Y[chosen], model.decision_function(X), model.predict(X))
        assert values(judged.metrics) == pytest.approx(values(expected), nan_ok=True)
        assert judged.n_rows == len(chosen)
        assert (
            f"{len(chosen)} {'training and test' if part == 'all' else 'training' if part else 'test'} rows"
            in judged.title
        )
    with pytest.raises(UserError, match=r"unknown part 'tset'\. Did you mean 'test'"):
        judge(model, tmp_path / "d.npz", part="tset")
    np.savez(tmp_path / "d.npz", X=data.X, Y=data.Y, feature_names=NAMES, label_names=LABELS)
    with pytest.raises(UserError, match="has no official split"):
        judge(model, tmp_path / "d.npz", part="test")


def test_numbered_files_narrower_than_the_model_and_wider_ones(tmp_path):
    header = {"feature_names": [str(i) for i in range(1, 7)], "label_names": [str(i) for i in range(1, 6)]}
    stored(tmp_path / "a.model", sparse=True, header=header)
    model = load_model(tmp_path / "a.model")
    X = np.array([[2.0, 0, 0, 1, 0, 0], [0, 1, 0, 0, 0, 0]])
    Y = np.array([[True, False, True, False, False], [False, True, False, False, False]])
    expected = evaluate(Y, model.decision_function(X), model.predict(X))
    one = libsvm(tmp_path / "one.svm", ["1,3 1:2 4:1", "2 2:1"])
    assert values(judge(model, one).metrics) == pytest.approx(values(expected), nan_ok=True)
    zero = libsvm(tmp_path / "zero.svm", ["1,3 0:2 3:1", "2 1:1"])
    with pytest.raises(UserError, match=r"feature number 0, but the features of the model have the numbers 1 to 6"):
        judge(model, zero)
    wide = libsvm(tmp_path / "wide.svm", ["1,3 1:2 4:1 7:1", "2 2:1"])
    with pytest.raises(UserError, match="feature number 7"):
        judge(model, wide)


def test_labels_that_are_not_there_are_told(tmp_path, model):
    data = dataset()
    np.savez(tmp_path / "d.npz", X=data.X, Y=data.Y[:, :3], feature_names=NAMES, label_names=LABELS[:3])
    with pytest.raises(UserError, match="'d' lacks 2 of the 5 labels of the model: 'fast', 'slow'"):
        judge(model, tmp_path / "d.npz")


def test_an_oracle_is_not_shown_unknown_labels(tmp_path):
    header = {"feature_names": list(NAMES), "label_names": list(LABELS)}
    stored(tmp_path / "a.model", threshold="oracle_size", header=header)
    model, data = load_model(tmp_path / "a.model"), dataset()
    known = np.random.default_rng(3).random(data.Y.shape) < 0.6
    masked = replace(data, Y=data.Y & known, known=known)
    source = convert(masked, tmp_path / "d.npz", "npz")["train"]
    scores = model.decision_function(data.X)
    truth, ranked = data.Y & known, np.where(known, scores, -np.inf)
    order = np.argsort(np.argsort(-ranked, axis=1, kind="stable"), axis=1)
    expected = evaluate(truth, scores, order < truth.sum(axis=1, keepdims=True), known)
    assert values(judge(model, source).metrics) == pytest.approx(values(expected), nan_ok=True)


def test_an_oracle_is_shown_the_true_labels(tmp_path):
    header = {"feature_names": list(NAMES), "label_names": list(LABELS)}
    stored(tmp_path / "a.model", threshold="oracle_size", header=header)
    model, data = load_model(tmp_path / "a.model"), dataset()
    np.savez(tmp_path / "d.npz", X=data.X, Y=data.Y, feature_names=NAMES, label_names=LABELS)
    expected = evaluate(data.Y, *model.predictor.predict(data.X, data.Y))
    assert values(judge(model, tmp_path / "d.npz").metrics) == pytest.approx(values(expected), nan_ok=True)


@pytest.mark.parametrize("how", [None, "mean", "zero"])
def test_missing_features_are_refused_or_filled_as_asked_and_told(tmp_path, model, how):
    data = dataset()
    X = data.X.copy()
    X[3, 1] = X[7, 1] = np.nan
    names = {"feature_names": list(NAMES), "label_names": list(LABELS)}
    np.savez(tmp_path / "d.npz", X=X, Y=data.Y, **names)
    if how is None:
        with pytest.raises(UserError, match=r"the value of '.*' is missing .*set impute to mean, median or zero"):
            judge(model, tmp_path / "d.npz")
        return
    judged = judge(model, tmp_path / "d.npz", impute=how)
    X[[3, 7], 1] = np.nanmean(X[:, 1]) if how == "mean" else 0.0
    expected = evaluate(data.Y, model.decision_function(X), model.predict(X))
    assert values(judged.metrics) == pytest.approx(values(expected), nan_ok=True)
    by = "the mean" if how == "mean" else "0"
    assert judged.notes == (f"read from file d.npz (2 missing cells in 1 columns filled with {by})",)
