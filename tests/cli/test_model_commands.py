"""Predicting and judging with stored models, as a user types it."""

import json

import numpy as np
import pytest

from tests.cli.test_commands import mlrank  # noqa: F401  a fixture
from tests.experiment.small import small_data, write_libsvm

MODEL = "results/small/runs/train/official/Rank-HLapSVM.model"


@pytest.mark.usefixtures("trained")
def test_a_trained_model_predicts_and_is_judged(mlrank, tmp_path):  # noqa: F811
    assert mlrank("predict", MODEL, "test.svm", "--out", "p.npz") == (0, "30 rows written to p.npz\n", "")
    with np.load("results/small/runs/train/official/Rank-HLapSVM.npz") as run, np.load("p.npz") as found:
        assert np.array_equal(found["Y_pred"], run["Y_pred"])
    assert mlrank("predict", MODEL, "test.svm", "--out", "p.npz")[0] == 1
    assert mlrank("predict", MODEL, "test.svm", "-o", "p.npz", "--force", "-q", "--top", "2") == (0, "", "")
    code, out, err = mlrank("evaluate", MODEL, "--data", "test.svm", "--json")
    assert (code, err) == (0, "")
    (stored,) = [
        record
        for record in json.loads(mlrank("evaluate", "results/small", "--json")[1])
        if record["method"] == "Rank-HLapSVM"
    ]
    metrics = {name: found["value"] for name, found in json.loads(out)["metrics"].items()}
    assert metrics == {name: found["value"] for name, found in stored["metrics"].items()}
    code, out, err = mlrank("evaluate", MODEL, "--data", "test.svm", "-m", "f1_macro", "-m", "auc_micro")
    assert (code, err) == (0, "")
    assert "f1_macro ↑" in out
    assert "4 of 4 labels" in out
    assert "lrap" not in out


@pytest.mark.usefixtures("trained")
def test_mistakes_are_one_line(mlrank, tmp_path):  # noqa: F811
    X, Y = small_data(m=7)
    write_libsvm(tmp_path / "wide.svm", X, Y)
    (tmp_path / "bad.model").write_bytes(b"nothing")
    for words, reason in (
        (("predict", MODEL, "wide.svm", "--out", "o.csv"), "feature number 6, but the features of the model"),
        (("predict", MODEL, "test.svm", "--out", "o.doc"), "the name does not say which format to write"),
        (("predict", MODEL, "test.svm", "--out", "no/such/o.csv", "--top", "9"), "1 to 4 of them"),
        (("predict", "bad.model", "test.svm", "--out", "o.csv"), "bad.model: damaged or no such archive"),
        (("predict", "absent.model", "test.svm", "--out", "o.csv"), "absent.model: cannot read the file"),
        (("predict", "results/small", "test.svm", "--out", "o.csv"), "results/small: is a folder"),
        (("evaluate", MODEL), "name them with --data"),
        (("evaluate", "absent.model", "--data", "test.svm"), "there is no such model file"),
        (("evaluate", "results/small", "--data", "test.svm"), "are for a .model file"),
        (("evaluate", MODEL, "--data", "test.svm", "-m", "f1"), "unknown metric 'f1'"),
    ):
        code, out, err = mlrank(*words)
        assert (code, out) == (1, ""), words
        assert err.count("\n") == 1
        assert reason in err
        assert not list(tmp_path.glob("o.*"))
