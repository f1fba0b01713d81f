"""Runs on data of very many labels, of which the best scores of each row are kept: the same numbers as from all scores.

The bound beyond which labels are held sparse is lowered, so that small data are such data.
"""

import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy.sparse import issparse

from mlrank import labels, room
from mlrank.config import parse_config
from mlrank.errors import UserError
from mlrank.experiment import run
from mlrank.experiment.run import plan_cells
from mlrank.metrics import METRICS
from mlrank.records.predictions import stored_predictions
from mlrank.solvers import FitInfo, LinearModel, TrainingSet
from mlrank.tables import build_tables
from tests.experiment.small import write_libsvm

CONFIG = """
name: many
datasets: [{{train: {folder}/a.svm, test: {folder}/b.svm}}]
split: {split}
methods:
  Means: {{solver: "tests.experiment.test_many_labels:SparseMeans", C: [1, 10]}}
  Bounded:
    solver: "tests.experiment.test_many_labels:SparseMeans"
    threshold: {{min_labels: 2, max_labels: 3}}
  Top: {{solver: "tests.experiment.test_many_labels:OwnBest", threshold: {{kind: top_k, k: 2}}}}
  Oracle: {{solver: rank_svm, threshold: oracle_size}}
search: {{folds: 2, metric: {metric}, stratified: false}}
metrics: [f1_macro, precision_at_3, psp_at_3, ranking_loss]
propensity: {{A: 0.5, B: 0.4}}
"""

PLAIN = "stratified: false, repeats: 2"


@dataclass(frozen=True)
class SparseMeans:
    """Weights are the mean rows of a label's positives, by products of sparse labels alone."""

    C: float = 1.0
    SPARSE_LABELS: ClassVar[bool] = True

    def fit(self, train: TrainingSet, prepared: object = None) -> LinearModel:
        marks = train.sparse_Y.astype(np.float64)
        counts = np.maximum(np.asarray(marks.sum(axis=0)).ravel(), 1.0)
        dense = train.X.toarray() if issparse(train.X) else train.X
        coef = np.round(np.asarray(marks.T @ dense) / counts[:, None], 1)  # scores are tied
        return self.model(coef, -0.1 * self.C * np.ones(train.n_labels))

    def model(self, coef, intercept) -> LinearModel:
        return LinearModel(coef, intercept, FitInfo(1, np.nan, 0.0, True))


class BestModel(LinearModel):
    def top_scores(self, X, k):
        return labels.top_of(self.decision_function(X), k)


@dataclass(frozen=True)
class OwnBest(SparseMeans):
    """As SparseMeans, with a model that finds its best scores itself."""

    def model(self, coef, intercept) -> BestModel:
        return BestModel(coef, intercept, FitInfo(1, np.nan, 0.0, True))


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((50, 4)), 1)
    Y = rng.random((50, 8)) < 0.3
    Y[:, :4] |= X > 0.8
    Y[3], Y[40] = False, False
    write_libsvm(tmp_path / "a.svm", X[:30], Y[:30])
    write_libsvm(tmp_path / "b.svm", X[30:], Y[30:])
    return tmp_path


def config_in(folder, text=CONFIG, split="{kind: official}", metric="f1_micro"):
    return parse_config(text.format(folder=folder, split=split, metric=metric), "many.yaml")


@pytest.mark.parametrize(
    ("split", "metric"),
    [
        ("{kind: official}", "psp_at_1"),
        ("{kind: holdout, train: 30, test: 15, stratified: false, repeats: 2}", "f1_macro"),
    ],
)
def test_every_number_is_that_of_all_scores(folder, monkeypatch, split, metric):
    config = config_in(folder, split=split, metric=metric)
    # Folds are drawn by a hash of the data, which differs where they are held in another way.
    monkeypatch.setattr("mlrank.experiment.data.dataset_hash", lambda dataset: "same")
    dense = run(config, folder / "dense")
    monkeypatch.setattr(labels, "MOST_DENSE", 4)
    sparse = run(config, folder / "sparse")
    records = list(zip(dense.runs(), sparse.runs(), strict=True))
    assert len(records) == 4 * (2 if "holdout" in split else 1)
    for one, other in records:
        assert one.error is other.error is None
        assert (one.n_best, other.n_best) == (None, 8)
        assert set(other.metrics) == {name for name, metric in METRICS.items() if metric.of_best}
        assert other.metrics == {name: one.metrics[name] for name in other.metrics}
        assert other.value("psp_at_3") is not None
        assert (other.sets, other.searched, other.search.best) == (one.sets, one.searched, one.search.best)
        arrays, best = dense.run_arrays(one), stored_predictions(sparse.run_arrays(other), 8)
        order = np.argsort(-arrays["scores"], axis=1, kind="stable")
        assert best.scores.labels.tolist() == order.tolist()
        assert best.scores.scores.tolist() == np.take_along_axis(arrays["scores"], order, axis=1).tolist()
        assert np.array_equal(best.Y_pred.toarray(), arrays["Y_pred"])
        assert np.array_equal(best.Y.toarray(), arrays["Y_true"])
        assert best.rows.tolist() == arrays["rows"].tolist()
        counts = np.round((best.propensities**-1 - 1) ** -2)  # A = 0.5
        assert best.propensities.tolist() == arrays["propensities"].tolist()
        assert len(counts) == 8
        assert best.evaluate() == {
            name: value for name, value in stored_predictions(arrays, 8).evaluate().items() if name in other.metrics
        }
    (table,) = build_tables(sparse.runs(), config.metrics)
    notes = "\n".join(table.notes)
    assert "very many labels: the best 8 scores of each row are kept, label sets are chosen among them" in notes
    assert "not computed, as all scores would be needed: ranking_loss" in notes
    assert "not stored" not in notes
    assert "very many labels" not in "\n".join(build_tables(dense.runs(), config.metrics)[0].notes)


def test_fewer_scores_than_labels_are_kept_where_there_are_more(folder, monkeypatch):
    dense = run(config_in(folder), folder / "dense")
    monkeypatch.setattr(labels, "MOST_DENSE", 4)
    monkeypatch.setattr("mlrank.search.judging.MOST_BEST", 5)
    monkeypatch.setattr(sys.modules["mlrank.experiment.run"], "MOST_BEST", 5)
    sparse = run(config_in(folder), folder / "sparse")
    for one, other in zip(dense.runs(), sparse.runs(), strict=True):
        assert other.n_best == 5
        stored = sparse.run_arrays(other)
        assert stored["scores"].shape == stored["labels"].shape == stored["chosen"].shape == (20, 5)
        # Ties across the fifth place alone could tell them apart.
        assert other.value("precision_at_1") == one.value("precision_at_1")
        full = dense.run_arrays(one)
        within = np.zeros((20, 8), bool)
        np.put_along_axis(within, np.argsort(-full["scores"], axis=1, kind="stable")[:, :5], True, axis=1)
        assert np.array_equal(stored_predictions(stored, 8).Y_pred.toarray(), full["Y_pred"] & within)


REFUSED = [
    ("threshold: oracle_size", "threshold: svr_midpoint", "the threshold 'svr_midpoint' is fitted to all scores"),
    ("k: 2", "k: 6", "6 labels a row are asked for, of the 5 best that are kept"),
    ("threshold: oracle_size", "calibrate: sigmoid", "a calibration is fitted to all scores"),
    (
        "metric: {metric}",
        "metric: lrap",
        "lrap needs all scores, and the 5 best of a row are kept; use one of f1_macro",
    ),
    ("{split}", "{{kind: official, missing_labels: 0.1}}", "too many entries to hide some of them"),
]


@pytest.mark.parametrize(("before", "after", "message"), REFUSED)
def test_what_needs_all_scores_is_refused_before_the_first_fit(folder, monkeypatch, before, after, message):
    monkeypatch.setattr(labels, "MOST_DENSE", 4)
    monkeypatch.setattr(sys.modules["mlrank.experiment.run"], "MOST_BEST", 5)
    text = CONFIG.replace(before, after)
    assert text != CONFIG
    with pytest.raises(UserError) as caught:
        plan_cells(config_in(folder, text))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_solver_of_dense_labels_is_refused_where_they_do_not_fit(folder, monkeypatch):
    monkeypatch.setattr(labels, "MOST_DENSE", 4)
    monkeypatch.setattr(room, "LEAST_CHECKED", 1)
    monkeypatch.setattr(room, "available_memory", lambda: 200.0)
    monkeypatch.setattr("mlrank.datasets.formats.libsvm.rows.check_room", lambda *given: None)
    monkeypatch.setattr("mlrank.datasets.formats.growth.check_room", lambda *given: None)
    with pytest.raises(UserError) as caught:
        plan_cells(config_in(folder))
    message = str(caught.value)
    assert "'a' has 50 rows and 8 labels: dense labels, which rank_svm needs, of 30 training rows would take" in message
    assert "subset (top_labels, min_positives) takes fewer labels, or take a solver of sparse labels" in message
