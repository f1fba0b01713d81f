"""The Python interface: results shown in notebooks with every name escaped."""

import re

import numpy as np
import pytest
from scipy.sparse import csr_array

import mlrank
from mlrank.api import Metrics, Results, evaluate, run, save_model
from mlrank.config import parse_config
from mlrank.errors import UserError
from mlrank.metrics import METRICS
from mlrank.models.file import load_model
from mlrank.prediction import judge
from mlrank.scaling import SCALERS
from mlrank.solvers import PROJECTIONS, SOLVERS, TrainingSet
from mlrank.stats import say_splits
from mlrank.thresholds import THRESHOLDS
from tests.experiment.small import small_config, small_data, write_libsvm
from tests.experiment.test_run import FEW


def test_names_of_the_package_are_found_on_first_use():
    assert set(mlrank.__all__) <= set(dir(mlrank))
    for name in mlrank.__all__:
        assert getattr(mlrank, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'novelty'"):
        _ = mlrank.novelty


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebook")
    config = small_config(folder, split="{kind: kfold, folds: 2}")
    return run(config, folder / "r")


def test_the_three_ways_to_give_an_experiment_are_one(tmp_path):
    X, Y = small_data()
    write_libsvm(tmp_path / "a.svm", X[:60], Y[:60])
    write_libsvm(tmp_path / "b.svm", X[60:], Y[60:])
    text = FEW.format(train=tmp_path / "a.svm", test=tmp_path / "b.svm", split="{kind: official}", scale="none")
    (tmp_path / "c.yaml").write_text(text)
    config = parse_config(text, "c.yaml")
    found = [
        run(given, tmp_path / str(place))
        for place, given in enumerate((config, config.resolved(), tmp_path / "c.yaml"))
    ]
    values = [[record.value("f1_micro") for record in results.records] for results in found]
    assert values[0] == values[1] == values[2]
    assert found[0].metrics == config.metrics
    with pytest.raises(UserError, match=r"^experiment: unknown key 'methds'. Did you mean 'methods'"):
        run({**config.resolved(), "methds": {}}, tmp_path)


def test_a_model_is_asked_for_by_what_there_is_more_than_one_of(results):
    again = Results.open(results.folder.path)
    assert again == results
    X, _ = small_data()
    model = results.model("Rank-HLapSVM", split="r0f1")
    assert model.header.split == "r0f1"
    assert model.decision_function(X).shape == (90, 4)
    for asked, message in (
        (("Rank-HLapSVM",), "say of which split: r0f0, r0f1"),
        (("Rank-SVM", None, "r0f0"), "unknown method 'Rank-SVM'. Did you mean"),
        (("Binary-SVM", None, "r9"), "unknown split 'r9'"),
        (("Binary-SVM", "yeast", "r0f0"), "unknown dataset 'yeast'"),
    ):
        with pytest.raises(UserError, match=re.escape(message)):
            results.model(*asked)


def test_tables_are_shown_as_html(results):
    page = results._repr_html_()
    assert page.count("<table>") == 1
    for word in ("Binary-SVM", "Rank-HLapSVM", "f1_macro", "<caption>small: part-train"):
        assert word in page
    assert repr(results).startswith("**small: part-train")
    notes = results.tables()[0].notes
    assert repr(results).rstrip().endswith(f"- {len(notes)} notes on these numbers: tables()\\[0\\].notes")
    assert notes[0] not in repr(results)
    assert [table.metrics for table in results.tables("lrap")] == [("lrap",)]


def test_every_name_is_escaped_in_html(tmp_path):
    X, Y = small_data()
    evil = tmp_path / "a<img src=x onerror=alert(1)>&.svm"
    write_libsvm(evil, X[:60], Y[:60])
    config = small_config(tmp_path).resolved()
    config["datasets"] = [str(evil)]
    config["split"] = {"kind": "kfold", "folds": 2}
    page = run(config, tmp_path / "r")._repr_html_()
    assert "<img" not in page
    assert "a&lt;img src=x onerror=alert(1)&gt;&amp;" in page
    tags = set(re.findall(r"<(/?\w+)", page))
    assert tags <= {f"{end}{tag}" for end in ("", "/") for tag in TAGS}


TAGS = ("table", "caption", "thead", "tbody", "tr", "th", "td", "ul", "li", "strong", "u", "p")


def test_metrics_are_shown_with_what_they_were_averaged_over():
    rng = np.random.default_rng(0)
    Y, scores = rng.random((20, 3)) < 0.5, rng.standard_normal((20, 3))
    Y[:, 2] = False
    found = evaluate(Y, scores, scores > 0)
    assert list(found) == list(METRICS)
    assert "auc_macro = " in repr(found)
    assert "(over 2 of 3 labels)" in repr(found)
    page = found._repr_html_()
    assert page.count("<tr>") == len(METRICS) + 1
    assert f"{found['auc_macro'].value:.4f}" in page
    none = evaluate(np.zeros((2, 3), bool), scores[:2], scores[:2] > 0)
    assert np.isnan(none["auc_macro"].value)
    assert "auc_macro = - (over 0 of 3 labels)" in repr(none)


def test_a_name_in_metrics_is_escaped():
    found = evaluate(np.eye(2, dtype=bool), np.eye(2), np.eye(2, dtype=bool))["lrap"]
    assert "<b>" not in Metrics({"<b>": found})._repr_html_()


def test_failed_and_unfinished_runs_have_no_model(tmp_path):
    config = small_config(tmp_path).resolved()
    config["methods"] = {"Means": {"solver": "tests.experiment.small:Means", "shift": 2}}
    results = run(config, tmp_path / "r")
    with pytest.raises(UserError, match="the run of 'Means' failed"):
        results.model("Means")
    assert "failed" in results._repr_html_()
    empty = Results(results.folder.create(tmp_path / "r", "none"), ("f1_micro",))
    assert "no run is finished" in empty._repr_html_()


@pytest.mark.parametrize("key", ["rank_svm", "knn", "smse"])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_model_of_ones_own_is_kept_and_opened_again(tmp_path, key, sparse):
    X, Y = small_data()
    X = csr_array(X) if sparse else X
    solver = SOLVERS[key]()
    train = TrainingSet(X[:60], Y[:60], X[60:] if solver.TRANSDUCTIVE else None)
    model = solver.fit(train)
    cut = THRESHOLDS["svr_midpoint"]().fit(model.decision_function(train.X), train.Y, train.X)
    save_model(tmp_path / "a.model", model, train, cut=cut, solver=solver)
    found = load_model(tmp_path / "a.model")
    scores = model.decision_function(X[60:])
    np.testing.assert_allclose(found.decision_function(X[60:]), scores, rtol=0, atol=1e-12)
    assert np.array_equal(found.predict(X[60:]), cut(scores, X[60:]))
    assert found.header.solver.kind == found.header.method == key
    assert found.feature_names == ("1", "2", "3", "4", "5")
    assert found.label_names == ("0", "1", "2", "3")


def test_a_model_behind_scaling_and_projection_takes_rows_as_they_come(tmp_path):
    X, Y = small_data()
    train = TrainingSet(X[:60], Y[:60])
    scaling = SCALERS["standard"]().fit(train.X)
    scaled = TrainingSet(scaling(train.X), train.Y)
    projection = PROJECTIONS["blda"]().fit(scaled)
    model = SOLVERS["rank_svm"]().fit(TrainingSet(projection.transform(scaled.X), train.Y))
    save_model(tmp_path / "a.model", model, train, scaling=scaling, projection=projection)
    expected = model.decision_function(projection.transform(scaling(X[60:])))
    found = load_model(tmp_path / "a.model")
    np.testing.assert_allclose(found.decision_function(X[60:]), expected, rtol=0, atol=1e-12)
    assert np.array_equal(found.predict(X[60:]), expected > 0)


def test_the_data_set_names_what_a_model_of_ones_own_was_fitted_to(tmp_path, monkeypatch):
    data = mlrank.load_dataset("yeast")
    rows = data.official[0][:200]
    train = TrainingSet(data.X[rows], data.Y[rows])
    path = tmp_path / "a.model"
    save_model(path, SOLVERS["rank_svm"]().fit(train), train, dataset=data)
    found = load_model(path)
    assert (found.label_names, found.feature_names) == (data.label_names, data.feature_names)
    judged = judge(found, "yeast")
    assert judged.title == "linear (linear, fitted to yeast) on yeast, 917 test rows of the official split"
    assert judged.notes == ("the model was fitted to rows of these data: 200",)
    with pytest.raises(ValueError, match="has 103 features and 14 labels, the training set 3 and 14"):
        save_model(path, None, TrainingSet(train.X[:, :3], train.Y), dataset=data)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"object has no arrays\(\) and meta\(\)"):
        save_model(path, object(), train)
    with pytest.raises(UserError, match="a file stands where a folder is needed"):
        save_model(path / "b.model", SOLVERS["knn"]().fit(train), train)
    assert path.read_bytes() == before


def test_results_as_frames(tmp_path):
    results = run(small_config(tmp_path), tmp_path / "r")
    tidy = results.to_pandas("f1_micro", "hamming_loss")
    found = results.summary("f1_micro", "hamming_loss")
    assert list(found.columns) == [(m, part) for m in ("f1_micro", "hamming_loss") for part in ("mean", "std", "n")]
    for (dataset, method), row in found.iterrows():
        values = tidy[(tidy["dataset"] == dataset) & (tidy["method"] == method) & (tidy["metric"] == "f1_micro")][
            "value"
        ]
        assert row["f1_micro", "mean"] == pytest.approx(values.mean())
        assert row["f1_micro", "n"] == len(values)
    record = results.records[0]
    where = (record.method, record.dataset.name, record.split)
    arrays, names = results.folder.run_arrays(record), results.folder.names(record)
    predictions, scores = results.predictions(*where), results.scores(*where)
    np.testing.assert_array_equal(predictions.to_numpy(), arrays["Y_pred"])
    np.testing.assert_array_equal(scores.to_numpy(), arrays["scores"])
    assert tuple(scores.columns) == names.labels
    assert scores.index.tolist() == arrays["rows"].tolist()
    text = results.latex("f1_micro", label="tab:x", notes=False, columns=["f1_micro"], titles={"f1_micro": "F"})
    assert r"\label{tab:x}" in text
    assert r"method & F $\uparrow$ \\" in text
    compared = results.compare("f1_micro")
    assert repr(results.compare()) == "\n".join(say_splits(results.compare(results.metrics[0])))
    assert set(compared.methods) == {record.method for record in results.records}
    assert repr(results.model(*where)).startswith(f"<StoredModel {record.method} (")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lable": "tab:x"}, "unknown option of a table 'lable'. Did you mean 'label'"),
        ({"decimals": -1}, "decimals must be a whole number from 0 to 16, found -1"),
        ({"decimals": 2.5}, "decimals must be a whole number from 0 to 16, found 2.5"),
        ({"methods": "Rank"}, r"methods must be a list of names, found 'Rank'; one name is \['Rank'\]"),
        ({"columns": "fit"}, "columns must be a list of names, found 'fit'"),
    ],
)
def test_options_of_a_table_that_are_none_are_refused(results, options, message):
    with pytest.raises(UserError, match=message):
        results.latex("f1_micro", **options)


def test_results_as_a_printed_table_and_on_axes_of_ones_own(results):
    from matplotlib.figure import Figure

    table = results.table("f1_micro", decimals=2)
    assert table.index.names == ["dataset", "method"]
    mean = results.summary("f1_micro")[("f1_micro", "mean")].tolist()
    assert [text.split()[0] for text in table["f1_micro ↑"]] == [f"{value:.2f}" for value in mean]
    ax = Figure().subplots()
    assert results.plot.labels("f1_macro", ax=ax) == [ax]
    assert len(ax.lines) == len({record.method for record in results.records})
    assert ax.get_ylabel() == "f1 of the label"
    assert "critical" in dir(results.plot)
    with pytest.raises(AttributeError, match=r"unknown kind of figure 'label'\. Did you mean 'labels'"):
        _ = results.plot.label
    assert repr(results.plot).startswith("<figures: convergence, cooccurrence, ")
    with pytest.raises(ValueError, match="'ax' must be an Axes of matplotlib, or a list of them, found 3"):
        results.plot.labels(ax=3)
    with pytest.raises(ValueError, match="the figure has 1 panel: 'ax' must be one axes, found 2"):
        results.plot.labels(ax=[ax, ax])
