"""Dense features are not copied on their way from the data set to the solver, but for the rows of the fold."""

import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.labels import as_labels
from mlrank.search import Chain, Point, Task, TaskData, fits
from mlrank.search.fits import work
from mlrank.search.shared_memory import SharedData
from mlrank.solvers import LinearModel
from mlrank.solvers.base import FitInfo
from mlrank.thresholds import THRESHOLDS


@dataclass(frozen=True)
class Idle:
    """Looks at nothing."""

    C: float = 1.0

    def fit(self, train, prepared=None):
        return LinearModel(
            np.zeros((train.n_labels, train.n_features)), np.ones(train.n_labels), FitInfo(1, 0, 0, True)
        )


# The rows of the fold, and once more where they are scaled.
@pytest.mark.parametrize(("scale", "copies"), [("none", 1), ("standard", 2), ("minmax", 2)])
def test_a_dense_x_is_copied_once_beyond_the_rows_of_a_fold_where_it_is_scaled(scale, copies, monkeypatch):
    monkeypatch.setattr(fits, "SLICE_SECONDS", 60.0)
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((3000, 400)), rng.random((3000, 2)) < 0.5
    points = tuple(Point({"C": float(i)}, {}, f"{i}", 0) for i in range(3))
    task = Task(Chain(Idle, THRESHOLDS["zero"], "train", scale), points, np.arange(2000), np.arange(2000, 3000), "lrap")
    data = TaskData(X, Y)
    work(task, data)  # what is loaded at first is no copy
    tracemalloc.start()
    try:
        results = work(task, data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [result.error for result in results] == [None] * 3
    assert peak < (copies + 0.15) * X.nbytes


class Unasked(LinearModel):
    """Cannot tell scores of its training rows."""

    def training_scores(self):
        raise RuntimeError("training rows were scored")


@dataclass(frozen=True)
class Secretive(Idle):
    """As Idle, with a model that is not to be asked for scores of its training rows."""

    def fit(self, train, prepared=None):
        found = super().fit(train)
        return Unasked(found.coef, found.intercept, found.info)


@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize(
    ("threshold", "settings", "asks"),
    [
        *[("zero", {}, False), ("natural", {}, False), ("constant", {}, False), ("top_k", {"k": 1}, False)],
        *[("oracle_size", {}, False), ("per_label_f1", {}, True), ("svr_midpoint", {}, True)],
    ],
)
def test_training_rows_are_scored_for_cuts_that_are_fitted(threshold, settings, asks, refit):
    rng = np.random.default_rng(0)
    data = TaskData(rng.standard_normal((30, 4)), rng.random((30, 2)) < 0.5)
    chain, point = Chain(Secretive, THRESHOLDS[threshold], "train", "none"), Point({}, settings, "a", 0)
    (result,) = work(Task(chain, (point,), np.arange(20), np.arange(20, 30), "f1_micro", refit=refit), data)
    assert ("training rows were scored" in (result.error or "")) == asks
    assert (result.error is None) == (not asks)


def test_sparse_labels_are_mapped_as_they_are(tmp_path):
    Y = as_labels(csr_array(np.array([[True, False, True], [False, False, False], [False, True, True]])))
    for X in (np.eye(3), csr_array(np.eye(3))):
        mapped = SharedData.write(tmp_path, TaskData(X, Y)).open()
        assert isinstance(mapped.Y, csr_array)
        assert mapped.Y.dtype == np.bool_
        assert mapped.Y.toarray().tolist() == Y.toarray().tolist()
        assert not mapped.Y.indices.flags.writeable
        assert as_labels(mapped.Y) is mapped.Y
