"""Every finished run of an experiment has its model beside it, for any number of workers with the same bytes."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.config import parse_config
from mlrank.datasets import load_dataset
from mlrank.experiment import run
from mlrank.models.file import load_model
from mlrank.records.run import ModelInfo
from mlrank.solvers.base import FitInfo
from tests.experiment.small import small_config, small_data, write_libsvm

CONFIG = """
name: stored
datasets: [{{train: {train}, test: {test}}}]
split: {{kind: official}}
scale: {scale}
subset: {{top_features: 4}}
methods:
  Rank-SVM: {{solver: rank_svm, C: [0.1, 1], threshold: svr_midpoint}}
  Kernel: {{solver: binary_svm, kernel: rbf, gamma: 0.1, threshold: per_label_f1}}
  Projected: {{solver: rank_svm, project: {{kind: blda, n_components: 2}}}}
  Green: {{solver: mcgf}}
  Green, projected: {{solver: mcgf, project: blda}}
  Own: {{solver: "tests.models.test_stored_runs:Foreign"}}
search: {{folds: 2}}
"""


class Memory:
    """A model of no kind that can be stored."""

    def __init__(self, train):
        self.share, self.info = train.Y.mean(axis=0), FitInfo(1, 0.0, 0.0, True)

    def decision_function(self, X):
        return np.tile(self.share, (X.shape[0], 1))


@dataclass(frozen=True)
class Foreign:
    """A solver whose models cannot be stored."""

    def fit(self, train, prepared=None):
        return Memory(train)


@pytest.fixture(params=["none", "standard"])
def finished(request, tmp_path):
    X, Y = small_data()
    train, test = tmp_path / "part-train.svm", tmp_path / "part-test.svm"
    write_libsvm(train, X[:60], Y[:60])
    write_libsvm(test, X[60:], Y[60:])
    config = parse_config(CONFIG.format(train=train, test=test, scale=request.param), "stored.yaml")
    return config, load_dataset(train, test=test), run(config, tmp_path / "r", jobs=1)


def test_a_stored_model_gives_the_scores_and_label_sets_of_its_run(finished):
    config, data, folder = finished
    for record in folder.runs():
        arrays = folder.run_arrays(record)
        path = folder.path / "runs" / record.dataset.name / "official" / f"{_file(record.method)}.model"
        if record.method == "Own":
            assert record.model == ModelInfo("Memory has no arrays() and meta() to be stored by")
            assert not path.exists()
            continue
        assert record.model == ModelInfo()
        model = load_model(path)
        places = [data.feature_names.index(name) for name in model.feature_names]
        assert len(places) == 4
        X = csr_array(data.X[60:][:, places])
        assert model.decision_function(X).tobytes() == arrays["scores"].tobytes()
        assert np.array_equal(model.predict(X), arrays["Y_pred"])
        assert model.label_names == data.label_names
        assert model.header.solver.settings == record.settings
        assert model.header.data.hash == record.dataset.hash
        assert model.header.config == config.resolved()


def _file(method):
    return method.replace(",", "%2C")


def test_a_failed_run_leaves_no_model_of_an_earlier_one(tmp_path):
    text = (
        "name: f\ndatasets: [{{train: {train}, test: {test}}}]\nsplit: {split}\nscale: {scale}\n"
        'methods:\n  M: {{solver: "tests.experiment.small:Means", shift: SHIFT}}\n'
    )
    folder = run(small_config(tmp_path, text=text.replace("SHIFT", "0")), tmp_path / "r")
    assert len(list(folder.path.rglob("*.model"))) == 1
    folder = run(small_config(tmp_path, text=text.replace("SHIFT", "2")), tmp_path / "r")
    (record,) = folder.runs()
    assert (record.status, record.model) == ("failed", None)
    assert list(folder.path.rglob("*.model")) == []
