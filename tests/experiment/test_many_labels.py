"""Runs on data of very many labels, of which the best scores of each row are kept: the same numbers as from all scores.

The bound beyond which labels are held sparse is lowered, so that small data are such data.
"""

import sys
import tracemalloc
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from typer.testing import CliRunner

from mlrank import labels, room
from mlrank.api import Results
from mlrank.cli import app
from mlrank.config import parse_config
from mlrank.errors import UserError
from mlrank.experiment import run
from mlrank.experiment.run import plan_cells
from mlrank.metrics import METRICS
from mlrank.models.file import load_model
from mlrank.prediction import judge
from mlrank.records.predictions import stored_predictions
from mlrank.search import Chain, Point, Task, TaskData
from mlrank.search.fits import work
from mlrank.solvers import FitInfo, LinearModel, TrainingSet
from mlrank.tables import build_tables
from mlrank.thresholds import THRESHOLDS
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
  Near: {{solver: knn, n_neighbors: [2, 3]}}
search: {{folds: 2, metric: {metric}, stratified: false}}
metrics: [f1_macro, precision_at_3, psp_at_3, ranking_loss]
propensity: {{A: 0.5, B: 0.4}}
"""

ONLY_BEST = "very many labels: label sets and metrics are those of the best 100 scores of each row"
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


def assert_near(found, expected):
    """Compare metrics: sums over tied scores may differ in the last digit."""
    for name, one in found.items():
        other = expected[name]
        assert one.value == pytest.approx(other.value, rel=1e-12, nan_ok=True)
        assert (one.n_defined, one.n_total, one.unit) == (other.n_defined, other.n_total, other.unit)


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
    assert len(records) == 5 * (2 if "holdout" in split else 1)
    for one, other in records:
        assert one.error is other.error is None
        assert (one.n_best, other.n_best) == (None, 8)
        assert set(other.metrics) == {name for name, metric in METRICS.items() if metric.of_best}
        assert_near(other.metrics, one.metrics)
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
        found = best.evaluate()
        assert found.keys() == other.metrics.keys()
        assert_near(found, stored_predictions(arrays, 8).evaluate())
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
        plan_cells(config_in(folder, CONFIG.replace("solver: rank_svm", "solver: rank_hlapsvm")))
    message = str(caught.value)
    needed = "dense labels, which rank_hlapsvm needs, of 30 training rows would take"
    assert f"'a' has 50 rows and 8 labels: {needed}" in message
    assert "subset (top_labels, min_positives) takes fewer labels, or take a solver of sparse labels" in message


def test_stored_models_are_judged_by_the_best_scores(folder, monkeypatch):
    config = config_in(folder)
    done = run(config, folder / "dense")
    model = load_model(done.model_path("a", "official", "Bounded"))
    expected = judge(model, folder / "b.svm")
    # Numbers of labels that the data lack count as labels without rows, further ones are left out.
    (folder / "c.svm").write_text(
        (folder / "b.svm").read_text().replace("7,", "").replace(",7 ", " ").replace("0,", "")
    )
    fewer = judge(model, folder / "c.svm", zero_based=False)
    monkeypatch.setattr(labels, "MOST_DENSE", 4)
    for data, dense, options in (("b.svm", expected, {}), ("c.svm", fewer, {"zero_based": False})):
        found = judge(model, folder / data, **options)
        assert found.metrics == {name: dense.metrics[name] for name in found.metrics}
        assert "precision_at_5" in found.metrics
        assert "lrap" not in found.metrics
        assert found.notes == (*dense.notes, ONLY_BEST)
    record = done.find_run("a", "official", "Bounded")
    assert expected.metrics["psp_at_5"].value == record.value("psp_at_5")


def invoke(*words):
    result = CliRunner().invoke(app, list(words), env={"COLUMNS": "200"})
    if isinstance(result.exception, UserError):
        raise result.exception
    return " ".join(result.output.split())


def test_commands_take_such_runs(folder, monkeypatch):
    monkeypatch.setattr(labels, "MOST_DENSE", 4)
    where = run(config_in(folder), folder / "r").path
    told = "very many labels: the best 8 scores of each row are kept"
    assert told in invoke("evaluate", str(where), "-m", "precision_at_3")
    assert told in invoke("table", str(where), "--format", "md")
    shown = invoke("compare", str(where), "--metric", "precision_at_3")
    assert "a has very many labels, which are not compared one by one" in shown
    model = str(where / "runs" / "a" / "official" / "Bounded.model")
    assert "psp_at_3" in invoke("evaluate", model, "--data", str(folder / "b.svm"))
    with pytest.raises(UserError, match="lrap needs all scores, which are too many for these labels; there"):
        invoke("evaluate", model, "--data", str(folder / "b.svm"), "-m", "lrap")
    path = where / "runs" / "a" / "official" / "Means.npz"
    with np.load(path) as stored:
        arrays = dict(stored)
    arrays["chosen"] = ~arrays["chosen"]
    np.savez(path, **arrays)
    with pytest.raises(UserError, match="the stored record says"):
        invoke("evaluate", str(where))


def test_what_would_need_all_scores_of_a_run_says_so(folder, monkeypatch):
    monkeypatch.setattr(labels, "MOST_DENSE", 4)
    results = Results.open(run(config_in(folder), folder / "r").path)
    with pytest.raises(UserError, match="a table of all labels needs all scores, and this run of very many labels"):
        results.scores("Means")


def test_memory_grows_with_what_is_stored(tmp_path, monkeypatch):
    """With rows times labels it would be 320 MB of scores and 40 MB of marks."""
    n, k = 2000, 20_000
    rng = np.random.default_rng(0)
    rows, marks = np.repeat(np.arange(n), 3), rng.integers(0, k, (n, 3)).ravel()
    Y = labels.as_labels(csr_array((np.ones(3 * n, bool), (rows, marks)), shape=(n, k)))
    X = rng.standard_normal((n, 5))
    monkeypatch.setattr(labels, "MOST_DENSE", 1 << 20)
    monkeypatch.setattr("mlrank.solvers.models.top.BLOCK_SCORES", 1 << 18)
    task = Task(
        Chain(SparseMeans, THRESHOLDS["top_k"], "train", "none"),
        (Point({}, {"k": 5}, "key", 0),),
        np.arange(0, n, 2),
        np.arange(1, n, 2),
        "f1_micro",
        refit=True,
    )
    task_data = TaskData(X, Y)
    tracemalloc.start()
    try:
        (found,) = work(task, task_data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.error is None
    assert found.arrays["scores"].shape == (1000, 100)
    assert peak < 30e6
