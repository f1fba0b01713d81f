"""Missing features are filled where a model is used as where it was fitted."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from mlrank.config import parse_config
from mlrank.errors import UserError
from mlrank.experiment import run
from mlrank.metrics import evaluate
from mlrank.models.file import load_model
from mlrank.prediction import judge, predict_file
from tests.experiment.small import small_data
from tests.models.fits import stored
from tests.models.test_hostile import changed_header, refusal
from tests.prediction.test_files import LABELS, NAMES, dataset, read_npz, small_blocks  # noqa: F401  a fixture

FILL = (0.5, 1.5, 2.0, 0.0, 3.25, 0.125)
HOLES = ([0, 0, 3, 7, 39], [1, 4, 0, 0, 5])
CONFIG = """
name: holes
datasets: [{{train: {folder}/train.csv, test: {folder}/test.csv, label_columns: 4, impute: {how}}}]
split: {{kind: official}}
scale: standard
subset: {{top_features: 4}}
methods:
  SVM: {{solver: binary_svm}}
"""


@pytest.fixture
def model(tmp_path):
    header = {"feature_names": list(NAMES), "label_names": list(LABELS), "fill": FILL}
    stored(tmp_path / "a.model", header=header)
    return load_model(tmp_path / "a.model")


@pytest.fixture
def holes():
    """Return rows of which some cells are missing, and the same rows filled by hand."""
    X = np.array(dataset().X)
    X[HOLES] = np.nan
    filled = X.copy()
    filled[HOLES] = np.array(FILL)[HOLES[1]]
    return X, filled


def write(folder, key, X, Y):
    path = folder / f"d.{key}"
    order = [3, 1, 0, 2, 5, 4]
    if key in ("csv", "parquet"):
        table = pd.DataFrame(X, columns=list(NAMES)).iloc[:, order]
        table = table.assign(more=np.where(np.arange(40) == 2, np.nan, 1.0), **dict(zip(LABELS, Y.T * 1, strict=True)))
        table.to_csv(path, index=False) if key == "csv" else table.to_parquet(path)
    elif key == "npz":
        np.savez(path, X=X[:, order], Y=Y, feature_names=[NAMES[i] for i in order], label_names=LABELS)
    elif key == "sparse.npz":
        rows = csr_array(X)
        parts = {f"X_{part}": getattr(rows, part) for part in ("data", "indices", "indptr", "shape")}
        np.savez(path, **parts, Y=Y, feature_names=NAMES, label_names=LABELS)
    else:
        head = "".join(f"@attribute '{name}' numeric\n" for name in NAMES)
        head += "".join(f"@attribute {name} {{0,1}}\n" for name in LABELS)
        cells = [[*map(repr, x.tolist()), *map(str, y * 1)] for x, y in zip(X, Y, strict=True)]
        rows = "\n".join(",".join(row).replace("nan", "?") for row in cells)
        path.write_text(f"@relation 'd: -C -5'\n{head}@data\n{rows}\n")
    return path


FORMATS = ["csv", "parquet", "npz", "sparse.npz", "arff"]


@pytest.mark.parametrize("key", FORMATS)
def test_predictions_fill_missing_cells_and_say_how_many(tmp_path, model, holes, small_blocks, key):  # noqa: F811
    X, filled = holes
    done = predict_file(model, write(tmp_path, key, X, dataset().Y), tmp_path / "s.npz", scores=True)
    found = read_npz(tmp_path / "s.npz")["scores"]
    np.testing.assert_allclose(found, model.decision_function(filled), rtol=0, atol=1e-12)
    assert done.notes[-1] == "5 missing cells filled with the values that the model was fitted with"


@pytest.mark.parametrize("key", FORMATS)
def test_judging_fills_missing_cells_and_says_how_many(tmp_path, model, holes, key):
    X, filled = holes
    Y = dataset().Y
    judged = judge(model, write(tmp_path, key, X, Y))
    expected = evaluate(Y, model.decision_function(filled), model.predict(filled))
    values = [found.value for found in judged.metrics.values()]
    assert values == pytest.approx([found.value for found in expected.values()], nan_ok=True)
    assert "missing cells in 4 columns filled with the values that the model was fitted with" in judged.notes[0]


def test_what_the_user_says_goes_first(tmp_path, model, holes):
    X, filled = holes
    filled[HOLES] = 0
    judged = judge(model, write(tmp_path, "npz", X, dataset().Y), impute="zero")
    expected = evaluate(dataset().Y, model.decision_function(filled), model.predict(filled))
    assert judged.metrics["lrap"].value == pytest.approx(expected["lrap"].value)


def test_infinite_features_are_refused_still(tmp_path, model):
    np.savez(tmp_path / "x.npz", X=np.full((2, 6), np.inf))
    with pytest.raises(UserError, match="infinite"):
        predict_file(model, tmp_path / "x.npz", tmp_path / "o.csv")
    assert not (tmp_path / "o.csv").exists()


def tables(folder):
    """Write a training and a test table; cells are missing in the training part alone, or in the test part alone."""
    X, Y = small_data()
    X[[0, 5, 9], [0, 0, 1]] = np.nan
    X[[70, 80], [2, 0]] = np.nan
    table = pd.DataFrame(X, columns=list("abcde")).join(pd.DataFrame(Y * 1, columns=list("pqrs")))
    table = table[[*"pqrs", *"abcde"]]
    table[:60].to_csv(folder / "train.csv", index=False)
    table[60:].to_csv(folder / "test.csv", index=False)
    return X


@pytest.mark.parametrize(("how", "statistic"), [("mean", np.nanmean), ("median", np.nanmedian), ("zero", None)])
def test_a_run_stores_what_it_filled_with_and_is_judged_alike(tmp_path, how, statistic):
    X = tables(tmp_path)
    config = parse_config(CONFIG.format(folder=tmp_path, how=how), "c.yaml")
    folder = run(config, tmp_path / "r", jobs=1)
    (record,) = folder.runs()
    model = load_model(next((tmp_path / "r").rglob("*.model")))
    kept = ["abcde".index(name) for name in model.feature_names]
    expected = np.zeros(4) if statistic is None else statistic(X[:60, kept], axis=0)
    np.testing.assert_allclose(model.fill, expected, rtol=1e-14)
    judged = judge(model, tmp_path / "test.csv")
    for name, found in record.metrics.items():
        value = np.nan if found.value is None else found.value
        assert judged.metrics[name].value == pytest.approx(value, rel=1e-12, nan_ok=True), name


def test_fill_values_that_do_not_fit_are_refused(tmp_path, model):
    path = tmp_path / "a.model"
    for value, reason in (
        ([1.0] * 5, "fill has 5 values for 6 features"),
        ([1.0] * 5 + [float("nan")], "NaN is no JSON number"),
        (["a"] * 6, "header.json: fill"),
        (7, "header.json: fill"),
    ):
        changed_header(path, lambda header, value=value: header.update(fill=value))
        assert reason in refusal(path)


def test_a_model_without_values_has_a_header_without_them(tmp_path):
    stored(tmp_path / "b.model")
    assert load_model(tmp_path / "b.model").fill is None
    with zipfile.ZipFile(tmp_path / "b.model") as packed:
        assert "fill" not in json.loads(packed.read("header.json"))
