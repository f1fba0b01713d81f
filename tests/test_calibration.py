"""Calibration: scores become probabilities as elsewhere, are stored as arrays, and reach files and estimators."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.isotonic import IsotonicRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from mlrank.calibration import CALIBRATIONS, fit_calibration
from mlrank.datasets import load_dataset
from mlrank.errors import UserError
from mlrank.experiment import run
from mlrank.models.file import load_model
from mlrank.models.parts import pack, restore
from mlrank.plots.reliability import reliability_figure
from mlrank.prediction import predict_file
from mlrank.search.crossfit import heldout_scores
from mlrank.sklearn import MultiLabelRanker
from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.tables import build_tables
from tests.experiment.small import small_config, small_data


def drawn(seed=0, n=120, k=3):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, k)) * [1.0, 50.0, 0.01] + [0.0, 300.0, -1.0]
    unit = (scores - scores.mean(axis=0)) / scores.std(axis=0)
    return scores, rng.random((n, k)) < expit(2 * unit - 0.5)


def platt(s, y):
    """Platt's objective, minimized over slope and intercept of unit scores by another method."""
    unit = (s - s.mean()) / s.std()
    target = np.where(y, (y.sum() + 1) / (y.sum() + 2), 1 / ((~y).sum() + 2))

    def loss(w):
        f = w[0] * unit + w[1]
        return np.sum(np.logaddexp(0, f) - target * f)

    best = minimize(loss, [0.0, 0.0], method="BFGS", options={"gtol": 1e-9}).x
    return best[0] / s.std(), best[1] - best[0] * s.mean() / s.std()


def test_the_sigmoid_is_platts():
    scores, Y = drawn()
    found = fit_calibration("sigmoid", scores, Y)
    for label in range(3):
        slope, intercept = platt(scores[:, label], Y[:, label])
        assert found.slope[label] == pytest.approx(slope, rel=1e-5)
        assert found.intercept[label] == pytest.approx(intercept, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e200])
def test_the_scale_of_scores_does_not_matter(scale):
    scores, Y = drawn()
    usual, scaled = fit_calibration("sigmoid", scores, Y), fit_calibration("sigmoid", scale * scores, Y)
    np.testing.assert_allclose(scaled(scale * scores), usual(scores), atol=1e-9)
    flat = fit_calibration("sigmoid", 1e-300 * scores, Y)(scores)
    assert (flat == flat[0]).all()


def test_both_are_those_of_scikit_learn():
    """On one label, with the folds that cross-fit, a calibrated classifier there has the same probabilities."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(90, 3)), rng.random(90) < 0.4
    machine = make_pipeline(StandardScaler(), LinearSVC(C=0.1))
    folds = [(np.arange(90) % 3 != part, np.arange(90) % 3 == part) for part in range(3)]
    folds = [tuple(map(np.flatnonzero, fold)) for fold in folds]
    heldout, own = np.empty(90), machine.fit(X, y).decision_function(X)
    for kept, held in folds:
        heldout[held] = machine.fit(X[kept], y[kept]).decision_function(X[held])
    for kind in CALIBRATIONS:
        there = CalibratedClassifierCV(machine, method=kind, cv=folds, ensemble=False).fit(X, y)
        found = fit_calibration(kind, heldout[:, None], y[:, None])(own[:, None])[:, 0]
        np.testing.assert_allclose(found, there.predict_proba(X)[:, 1], atol=1e-6)


def test_isotonic_is_that_of_each_label():
    scores, Y = drawn(seed=2)
    scores[:, 0] = scores[:, 0].round(1)  # ties
    found = fit_calibration("isotonic", scores, Y)
    new = drawn(seed=3)[0]
    for label in range(3):
        other = IsotonicRegression(out_of_bounds="clip").fit(scores[:, label], Y[:, label].astype(float))
        np.testing.assert_allclose(found(new)[:, label], other.predict(new[:, label]), atol=1e-12)


@pytest.mark.parametrize("kind", CALIBRATIONS)
def test_unknown_entries_are_left_out_and_labels_of_one_class_are_constant(kind):
    scores, Y = drawn(seed=4, k=3)
    Y[:, 2] = False
    known = np.random.default_rng(0).random(Y.shape) < 0.7
    known[:, 1] = False
    found = fit_calibration(kind, scores, Y & known, known)(scores)
    rows = known[:, 0]
    alone = fit_calibration(kind, scores[rows, :1], Y[rows, :1])(scores[:, :1])
    np.testing.assert_array_equal(found[:, 0], alone[:, 0])
    assert found[:, 1].tolist() == [0.5] * len(scores)
    nobody = 1 / (known[:, 2].sum() + 2) if kind == "sigmoid" else 0.0
    np.testing.assert_allclose(found[:, 2], nobody, atol=1e-12)


@pytest.mark.parametrize("kind", CALIBRATIONS)
def test_a_calibration_is_stored_as_arrays(kind):
    scores, Y = drawn()
    found = fit_calibration(kind, scores, Y)
    packed = pack("calibration", found)
    again = restore("calibration", packed.meta, {f"calibration.{k}": v for k, v in packed.arrays.items()}, set())
    np.testing.assert_array_equal(again(scores), found(scores))
    with pytest.raises(ValueError, match="fitted to 3 labels, scores has 2"):
        found(scores[:, :2])


@pytest.mark.parametrize("starts", [[0, 1], [0, 2, 2, 3], [1, 2, 3], [0, 1, 4]])
def test_steps_that_do_not_fit_together_are_refused(starts):
    packed = pack("calibration", fit_calibration("isotonic", *drawn()))
    three = {"calibration.x": np.zeros(3), "calibration.y": np.zeros(3), "calibration.starts": np.array(starts)}
    with pytest.raises(ValueError, match="calibration"):
        restore("calibration", packed.meta, three, set())


CONFIG = """
name: calibrated
datasets: [{{train: {train}, test: {test}}}]
split: {split}
scale: {scale}
methods:
  Margins: {{solver: binary_svm}}
  Sigmoid: {{solver: binary_svm, calibrate: sigmoid}}
  Isotonic: {{solver: binary_svm, calibrate: isotonic, threshold: per_label_f1}}
  kNN: {{solver: knn, n_neighbors: 4}}
metrics: [brier, log_loss]
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calibrated")
    return folder, run(small_config(folder, scale="none", text=CONFIG), folder / "r", jobs=1)


def test_a_run_has_the_probabilities_of_its_heldout_scores(finished):
    _, folder = finished
    runs = {record.method: (record, folder.run_arrays(record)) for record in folder.runs()}
    margins, probabilities = (runs[name][1]["scores"] for name in ("Margins", "Sigmoid"))
    assert margins.min() < 0 < 1 < margins.max()
    X, Y = small_data()
    model = SOLVERS["binary_svm"]().fit(TrainingSet(X[:60], Y[:60]))
    np.testing.assert_allclose(model.decision_function(X[60:]), margins, atol=1e-6)
    # A sigmoid of each label: its logit is linear in the margin, and no longer that of the training rows.
    for label in range(4):
        logits = np.log(probabilities[:, label] / (1 - probabilities[:, label]))
        slope, intercept = np.polyfit(margins[:, label], logits, 1)
        np.testing.assert_allclose(slope * margins[:, label] + intercept, logits, atol=1e-8)
        assert slope > 0
    seen = fit_calibration("sigmoid", model.decision_function(X[:60]), Y[:60])(margins)
    assert np.abs(seen - probabilities).max() > 1e-3
    np.testing.assert_array_equal(runs["Sigmoid"][1]["Y_pred"], probabilities > 0.5)
    record = runs["Sigmoid"][0]
    assert (record.calibration, record.threshold.kind, record.sets.natural_cut) == ("sigmoid", "natural", 0.5)
    truth = runs["Sigmoid"][1]["Y_true"]
    assert record.value("brier") == pytest.approx(((probabilities - truth) ** 2).mean())


def test_a_table_says_which_scores_are_probabilities(finished):
    _, folder = finished
    (table,) = build_tables(folder.runs(), ["brier"])
    notes = "\n".join(table.notes)
    assert "scores calibrated by sigmoid, fitted to heldout scores, for Sigmoid" in notes
    assert "brier undefined for Margins, whose scores are no probabilities" in notes
    assert [row.cells[0].value is None for row in table.rows] == [True, False, False, False]


@pytest.mark.parametrize("method", ["Sigmoid", "Isotonic", "kNN"])
def test_a_stored_model_predicts_probabilities(finished, method):
    folder, results = finished
    record = next(record for record in results.runs() if record.method == method)
    model = load_model(results.model_path(record.dataset.name, record.split, method))
    arrays = results.run_arrays(record)
    np.testing.assert_array_equal(model.predict(load_dataset(folder / "part-test.svm").X), arrays["Y_pred"])
    predict_file(model, folder / "part-test.svm", folder / f"{method}.npz", proba=True)
    np.testing.assert_array_equal(np.load(folder / f"{method}.npz")["scores"], arrays["scores"])


def test_margins_are_no_probabilities(finished):
    folder, results = finished
    record = next(record for record in results.runs() if record.method == "Margins")
    model = load_model(results.model_path(record.dataset.name, record.split, "Margins"))
    with pytest.raises(UserError, match="the scores of this model are no probabilities; train it with 'calibrate"):
        predict_file(model, folder / "part-test.svm", folder / "m.csv", proba=True)


def test_reliability_is_drawn_of_methods_with_probabilities(finished):
    _, results = finished
    records = results.runs()
    name = records[0].dataset.name
    figure = reliability_figure(records, results.run_arrays, name)
    assert [panel.title for panel in figure.panels] == ["Sigmoid", "Isotonic", "kNN"]
    assert "Without probabilities: Margins." in figure.notes
    arrays = results.run_arrays(next(record for record in records if record.method == "kNN"))
    p, y = arrays["scores"].ravel(), arrays["Y_true"].ravel()
    # Shares of four neighbors have five values, each a bin of its own.
    expected = [(value, y[p == value].mean()) for value in np.unique(p)]
    curve = figure.panels[2].curves[0]
    np.testing.assert_allclose(list(zip(curve.x, curve.y, strict=True)), expected)
    margins = [record for record in records if record.method == "Margins"]
    with pytest.raises(UserError, match="no method has probabilities"):
        reliability_figure(margins, results.run_arrays, name)


def test_a_search_by_probabilities_fails_in_one_line_where_there_are_none(tmp_path):
    text = CONFIG.split("  Sigmoid")[0].replace("binary_svm", "binary_svm, C: [1, 2]")
    text += "search: {{folds: 2, metric: brier}}\n"
    (record,) = run(small_config(tmp_path, scale="none", text=text), tmp_path / "r", jobs=1).runs()
    trial = next(iter(run(small_config(tmp_path, scale="none", text=text), tmp_path / "r").journal.read().values()))
    assert record.search.n_failed == record.search.n_trials == 4
    assert "brier needs probabilities, found scores from" in trial.reason
    assert "'calibrate: sigmoid' makes some" in trial.reason


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("calibrate: sigmoid", "calibrate: sigmoidal", "unknown way to calibrate 'sigmoidal'. Did you mean 'sigmoid'"),
        ("solver: binary_svm, calibrate: sigmoid", "solver: smse, calibrate: sigmoid", "this solver scores no others"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(tmp_path, old, new, message):
    with pytest.raises(UserError, match=message):
        small_config(tmp_path, text=CONFIG.replace(old, new))


@pytest.mark.parametrize("kind", CALIBRATIONS)
def test_the_estimator_has_probabilities(kind):
    X, Y = small_data()
    ranker = MultiLabelRanker("binary_svm", calibrate=kind).fit(X, Y)
    solver, train = SOLVERS["binary_svm"](), TrainingSet(X, Y)
    heldout = heldout_scores(train, 0, lambda part, rows: solver.fit(part).decision_function(rows))
    expected = fit_calibration(kind, heldout, Y)(solver.fit(train).decision_function(X))
    np.testing.assert_array_equal(ranker.predict_proba(X), expected)
    np.testing.assert_array_equal(ranker.predict(X), expected > 0.5)


def test_an_estimator_of_margins_has_none_and_neighbors_have_shares():
    X, Y = small_data()
    assert not hasattr(MultiLabelRanker("binary_svm").fit(X, Y), "predict_proba")
    shares = MultiLabelRanker(SOLVERS["knn"](n_neighbors=2)).fit(X, Y).predict_proba(X)
    assert set(np.unique(shares)) == {0.0, 0.5, 1.0}
    with pytest.raises(ValueError, match="calibrate must be 'sigmoid', 'isotonic' or None, found 'platt'"):
        MultiLabelRanker("binary_svm", calibrate="platt").fit(X, Y)
