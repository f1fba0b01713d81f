"""Experiments on tables: text, groups, folds and ids on their way through splits, fits, models and predictions."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from mlrank import load_dataset, run
from mlrank.config import config_of
from mlrank.datasets.columns import term_blocks
from mlrank.errors import UserError
from mlrank.experiment import plan
from mlrank.experiment.cell import cells
from mlrank.models.file import load_model
from mlrank.prediction import judge, predict_file
from mlrank.scaling import fit_scaling
from mlrank.search.crossfit import heldout_scores
from mlrank.solvers import TrainingSet
from mlrank.splits import kfold, make_splits

WORDS = ["rain", "sun", "wind", "snow", "hail", "fog", "storm", "cloud", "frost", "heat"]
LABELS = ["wet", "cold"]


def documents(n=40, seed=0):
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, rng.integers(3, 9))) for _ in range(n)]
    frame = pd.DataFrame({"body": texts, "size": rng.normal(size=n)})
    frame["wet"] = frame["body"].str.contains("rain|snow|hail").astype(int)
    frame["cold"] = frame["body"].str.contains("snow|frost").astype(int)
    frame["name"] = [f"d{i}" for i in range(n)]
    frame["who"] = rng.integers(0, 8, n)
    return frame


def experiment(data, **more):
    methods = {"Ridge": {"solver": "rank_svm", "C": 1.0}}
    return {"name": "e", "datasets": [data], "split": {"kind": "kfold", "folds": 2}, "methods": methods, **more}


@pytest.mark.parametrize("settings", [{}, {"max_features": 5}, {"ngrams": [1, 2], "max_features": 9}, {"min_rows": 4}])
def test_terms_are_weighted_as_a_vectoriser_of_the_training_part_does(settings):
    # Frequencies that differ, so that no tie decides which terms are used.
    frame = documents()
    data = load_dataset(
        frame, label_columns=LABELS, ignore_columns=["name", "who", "size"], text_columns={"body": settings}
    )
    train, test = np.arange(25), np.arange(25, 40)
    scaling = fit_scaling("none", data.X[train], term_blocks(data.feature_names, data.text))
    found = scaling(data.X).toarray()
    plain = {"min_df": settings.get("min_rows", 1), "ngram_range": tuple(settings.get("ngrams", (1, 1)))}
    vectoriser = TfidfVectorizer(max_features=settings.get("max_features"), **plain)
    vectoriser.fit(frame["body"].iloc[train])
    names = [f"body~{term}" for term in vectoriser.get_feature_names_out()]
    places = [data.feature_names.index(name) for name in names]
    for rows in (train, test):
        expected = vectoriser.transform(frame["body"].iloc[rows]).toarray()
        if len(set(counts_of(frame, train, names))) == len(names) or "max_features" not in settings:
            np.testing.assert_allclose(found[rows][:, places], expected, rtol=0, atol=1e-15)
    others = np.setdiff1d(np.arange(data.n_features), places)
    assert not found[:, others].any() or "max_features" in settings
    assert (found != 0).any(axis=0).sum() <= settings.get("max_features", data.n_features)


def counts_of(frame, rows, names):
    texts = " ".join(frame["body"].iloc[rows])
    return [texts.count(name.removeprefix("body~")) for name in names]


def test_texts_and_other_features_through_a_run_a_model_and_predictions(tmp_path):
    frame = documents()
    frame.to_csv(tmp_path / "d.csv", index=False)
    given = {"train": str(tmp_path / "d.csv"), "name": "mine", "label_columns": LABELS, "id_column": "name"}
    given |= {"ignore_columns": ["who"], "text_columns": {"body": {"max_features": 8}}}
    results = run(experiment(given), tmp_path / "r")
    record = next(record for record in results.records if record.split == "r0f0")
    assert record.done, record.error
    assert record.dataset.name == "mine"
    assert any(change.startswith("TF-IDF of 8 terms") for change in record.dataset.changes)
    names = results.folder.names(record)
    rows = results.folder.run_arrays(record)["rows"]
    assert [names.rows[row] for row in rows] == frame["name"].iloc[rows].tolist()
    model = load_model(results.folder.model_path("mine", "r0f0", "Ridge"))
    scores = results.folder.run_arrays(record)["scores"]
    # Columns in another order, with others between them, and rows in the order of the split.
    shuffled = frame[["cold", "size", "who", "body"]].assign(more="x")
    np.testing.assert_allclose(model.decision_function(shuffled)[rows], scores, rtol=0, atol=1e-12)
    assert model.predict(shuffled).shape == (40, 2)
    predict_file(model, tmp_path / "d.csv", tmp_path / "s.json", scores=True, id_column="name")
    found = json.loads((tmp_path / "s.json").read_text())
    assert [row["id"] for row in found] == frame["name"].tolist()
    assert [row["scores"]["wet"] for row in found] == pytest.approx(model.decision_function(frame)[:, 0].tolist())
    for ending in ("csv", "parquet"):
        predict_file(model, tmp_path / "d.csv", tmp_path / f"s.{ending}", id_column="name")
    sets = model.predict(frame).astype(int).tolist()
    assert pd.read_csv(tmp_path / "s.csv").to_numpy().tolist() == [
        [name, *row] for name, row in zip(frame["name"], sets, strict=True)
    ]
    assert pd.read_parquet(tmp_path / "s.parquet")[LABELS].astype(int).to_numpy().tolist() == sets
    judged = judge(model, tmp_path / "d.csv")
    assert judged.n_rows == 40
    with pytest.raises(UserError, match="lacks 1 of the"):
        model.decision_function(frame.drop(columns="size"))


def test_no_group_is_on_both_sides():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 30, 300)
    Y = rng.random((300, 4)) < [0.5, 0.3, 0.1, 0.05]
    for stratified in (True, False):
        pairs = kfold(Y, 5, 0, stratified, groups)
        assert sorted(np.concatenate([test for _, test in pairs]).tolist()) == list(range(300))
        for train, test in pairs:
            assert not set(groups[train]) & set(groups[test])
            assert 40 <= test.size <= 80
        split = make_splits(Y, None, 0, kind="holdout", train=0.7, test=0.3, stratified=stratified, groups=groups)[0]
        assert not set(groups[split.train]) & set(groups[split.test])
        assert split.train.size + split.test.size == 300
    shares = [abs(Y[test].mean(axis=0) - Y.mean(axis=0)).max() for _, test in kfold(Y, 5, 0, True, groups)]
    plain = [abs(Y[test].mean(axis=0) - Y.mean(axis=0)).max() for _, test in kfold(Y, 5, 0, False, groups)]
    assert np.mean(shares) < np.mean(plain)
    official = (np.arange(200), np.arange(200, 300))
    with pytest.raises(UserError, match="30 groups are on both sides of the split 'official'"):
        make_splits(Y, official, 0, kind="official", groups=groups)
    with pytest.raises(UserError, match="kind 'strata' draws rows one by one"):
        make_splits(Y, None, 0, kind="strata", single=1, multiple=1, groups=groups)
    with pytest.raises(UserError, match="5 parts need 5 groups or more, the data has 2"):
        kfold(Y, 5, 0, True, groups % 2)


def test_groups_and_folds_reach_the_splits_and_the_search(tmp_path):
    frame = documents().assign(part=[i % 4 for i in range(40)])
    frame.drop(columns="body").to_csv(tmp_path / "d.csv", index=False)
    given = {"train": str(tmp_path / "d.csv"), "label_columns": LABELS, "ignore_columns": ["name"]}
    grouped = run(experiment(given | {"group_column": "who", "ignore_columns": ["name", "part"]}), tmp_path / "a")
    for record in grouped.records:
        test = set(grouped.folder.run_arrays(record)["rows"].tolist())
        assert not set(frame["who"].iloc[sorted(test)]) & set(frame["who"].iloc[sorted(set(range(40)) - test)])
    own = experiment(given | {"fold_column": "part"}, split={"kind": "predefined"})
    found = run(own, tmp_path / "b")
    rows = [found.folder.run_arrays(record)["rows"].tolist() for record in found.records]
    assert rows == [[i for i in range(40) if i % 4 == fold] for fold in range(4)]
    with pytest.raises(UserError, match="kind 'predefined' needs a fold_column"):
        run(experiment(given, split={"kind": "predefined"}), tmp_path / "c")


def test_paths_are_as_seen_from_the_configuration(tmp_path):
    (tmp_path / "sub").mkdir()
    documents().drop(columns=["body", "name", "who"]).to_csv(tmp_path / "sub" / "d.csv", index=False)
    (tmp_path / "sub" / "e.yaml").write_text(
        "name: e\ndatasets: [{train: d.csv, label_columns: [wet, cold], name: weather}]\n"
        "split: {kind: kfold, folds: 2}\nmethods: {Ridge: {solver: rank_svm, C: 1.0}}\n"
    )
    (record, _) = run(tmp_path / "sub" / "e.yaml", tmp_path / "r").records
    assert (record.dataset.name, record.done) == ("weather", True)


def test_data_in_memory_in_a_configuration(tmp_path):
    frame = documents().drop(columns=["body", "name", "who"]).assign(more=np.arange(40.0) % 7)
    labels = frame[LABELS].to_numpy()
    forms = {
        "frame": {"frame": frame, "label_columns": LABELS, "name": "mine"},
        "arrays": {"frame": frame[["size", "more"]].to_numpy(), "labels": labels, "name": "mine"},
        "bunch": {"data": frame[["size", "more"]], "target": frame[LABELS]},
    }
    found = {key: run(experiment(form), tmp_path / key) for key, form in forms.items()}
    scores = [results.folder.run_arrays(results.records[0])["scores"] for results in found.values()]
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])
    assert [results.records[0].dataset.name for results in found.values()] == ["mine", "mine", "data"]
    written = (tmp_path / "frame" / "e" / "config.yaml").read_text()
    assert "in_memory: true" in written
    with pytest.raises(UserError, match="the data of 'mine' were in memory"):
        run(tmp_path / "frame" / "e" / "config.yaml", tmp_path / "again")
    later = run(experiment(forms["frame"]), tmp_path / "frame")  # nothing is fitted again
    assert later.records == found["frame"].records


def numbers_alone(n=60, seed=1):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.normal(size=n) for name in ("a", "b", "c")})
    frame["l"], frame["m"] = (frame["a"] > 0).astype(int), (frame["b"] > frame["c"]).astype(int)
    return frame.assign(name=[f"r{i}" for i in range(n)], who=np.arange(n) // 3)


def test_predictions_of_numbers_in_another_order_and_in_many_blocks(tmp_path, monkeypatch):
    frame = numbers_alone()
    given = {"frame": frame, "label_columns": ["l", "m"], "id_column": "name", "ignore_columns": ["who"]}
    results = run(experiment(given), tmp_path / "r")
    model = load_model(results.folder.model_path("data", "r0f0", "Ridge"))
    expected = model.decision_function(frame[["a", "b", "c"]].to_numpy())
    np.testing.assert_array_equal(model.decision_function(frame[["c", "name", "a", "b"]]), expected)
    frame[["c", "name", "b", "a"]].to_csv(tmp_path / "d.csv", index=False)
    monkeypatch.setattr("mlrank.prediction.files.BLOCK_CELLS", 21)  # seven rows at a time
    predict_file(model, tmp_path / "d.csv", tmp_path / "s.csv", scores=True, id_column="name")
    found = pd.read_csv(tmp_path / "s.csv", index_col="name")
    assert found.index.tolist() == frame["name"].tolist()
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=0, atol=1e-12)


def test_groups_stay_together_in_the_search_and_where_scores_are_held_out():
    frame = numbers_alone().drop(columns="name")
    config = config_of(
        experiment({"frame": frame, "label_columns": ["l", "m"], "group_column": "who"}, search={"folds": 4})
        | {"methods": {"Ridge": {"solver": "rank_svm", "C": [0.1, 1.0]}}},
        "e",
    )
    (data,) = plan(config)
    groups = data.dataset.groups
    for cell in cells(config, data):
        assert len(cell.folds) == 4
        for train, test in cell.folds:
            assert not set(groups[train]) & set(groups[test])
    X, Y = frame[["a", "b", "c"]].to_numpy(), frame[["l", "m"]].to_numpy(bool)
    seen = []

    def score(part, rows):
        seen.append({tuple(row) for row in np.asarray(rows)})
        return np.zeros((len(rows), 2))

    heldout_scores(TrainingSet(X, Y), 0, score, groups)
    for group in np.unique(groups):
        rows = {tuple(row) for row in X[groups == group]}
        assert sum(rows <= held for held in seen) == 1
