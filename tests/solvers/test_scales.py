"""Notes of fits that have not converged: which feature or row is out of scale, and the cure."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank.search.task_data import TaskData, TaskRows
from mlrank.search.tasks import Chain, Point, Task
from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.scales import scale_notes
from mlrank.thresholds import THRESHOLDS

NAMES = ("height", "weight", "age", "year", "price")


def rows(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, 5))
    return X, X @ rng.standard_normal((5, 3)) + rng.standard_normal((20, 3)) > 0.3


def note(X, names=None, **changes):
    return scale_notes(TrainingSet(X, rows()[1], feature_names=names, **changes), converged=False)


def test_notes_name_what_is_far_from_the_scale_of_the_others():
    X = rows()[0]
    assert note(X) == note(csr_array(X)) == ()
    times = np.where(np.arange(5) == 3, 1e6, 1.0)
    largest = np.abs(times * X).max(axis=0)
    ratio = f"{largest[3] / np.median(largest):.0e}"
    assert note(times * X) == (f"feature 3 (counted from 0) is {ratio} times as large as the others: scale: standard",)
    assert note(times * X, NAMES) == (f"feature 'year' is {ratio} times as large as the others: scale: standard",)
    years = csr_array(X + 1e6 * (np.arange(5) == 0))
    assert note(years)[0].startswith("feature 0 (counted from 0) is")
    assert note(years, NAMES)[0].startswith("feature 'height' is")
    both = note(X + 1e6, NAMES)[0]
    assert "times its standard deviation away from 0: scale: standard" in both
    small = np.where(np.arange(20)[:, None] == 7, 1e-6, 1.0) * X
    assert note(small, NAMES)[0].startswith("row 7 (counted from 0) is")
    assert scale_notes(TrainingSet(times * X, rows()[1]), converged=True) == ()


def test_a_note_on_a_kernel_matrix_is_of_its_rows():
    X = rows()[0]
    X[4] *= 1e5
    (text,) = note(X @ X.T, pairwise=True)
    assert text.startswith("row 4 (counted from 0) of the kernel is")
    assert "feature" not in text
    lengths = np.linalg.norm(X, axis=1)
    assert note(X @ X.T / lengths / lengths[:, None], pairwise=True) == ()


def test_a_kernel_matrix_of_one_huge_feature_is_told_by_its_directions():
    X = rows()[0]
    X[:, 1] *= 1e5
    (text,) = note(X @ X.T, pairwise=True)
    # Beside the feature, which is a direction of its own, others are what they are of each row's length.
    others = (np.delete(X, 1, axis=1) ** 2).sum(axis=1) @ (X[:, 1] ** -2.0)
    assert f"is {20 / others:.0e} times larger in one direction" in text
    assert text.endswith("scale the features that K is made of (scale: standard), or center K on both sides")


def test_a_polynomial_kernel_raises_scales_to_its_degree():
    X, Y = rows()
    X[:, 1] *= 30.0
    train = TrainingSet(X, Y)
    assert scale_notes(train, converged=False) == scale_notes(train, converged=True, power=3) == ()
    (text,) = scale_notes(train, converged=False, power=3)
    assert text.startswith("feature 1 (counted from 0) is")


# Settings with which a fit stops long before it has converged.
EARLY = {
    "rank_svm": {"max_iter": 1, "tol": 1e-9},
    "rank_hlapsvm": {"max_iter": 1, "tol": 1e-9},
    "binary_svm": {"max_iter": 1, "tol": 1e-9},
    "mlr": {"max_iter": 1, "tol": 1e-9, "kernel": "linear"},
    "svm_perf": {"max_iter": 1, "tol": 1e-9},
    "slrm": {"max_iter": 1, "tol": 1e-9},
    "matrix_completion": {"max_iter": 1, "tol": 1e-9},
    "ml_loc": {"max_iter": 1, "tol": 1e-9, "scale": False, "n_groups": 2, "lam2": 0.01},
    "smse": {"max_iter": 1, "tol": 1e-9},
    "mcgf": {"max_iter": 1, "tol": 1e-9},
}


@pytest.mark.parametrize("key", EARLY)
def test_a_fit_that_has_not_converged_names_the_feature_and_the_cure(key):
    X, Y = rows(1)
    X[:, 3] *= 1e5
    model = SOLVERS[key](**EARLY[key]).fit(TrainingSet(X, Y, feature_names=NAMES))
    assert not model.info.converged
    assert [text for text in model.info.notes if "'year'" in text and text.endswith("scale: standard")]


def test_folds_and_tasks_keep_the_names():
    X, Y = rows()
    train = TrainingSet(X, Y, feature_names=NAMES)
    assert train.take(np.arange(4)).feature_names == NAMES
    assert train.hide_labels(np.arange(4)).feature_names == NAMES
    with pytest.raises(ValueError, match="2 feature names for 5 features"):
        TrainingSet(X, Y, feature_names=NAMES[:2])
    everything = np.arange(20)
    chain = Chain(SOLVERS["rank_svm"], THRESHOLDS["zero"], "train", "none")
    task = Task(chain, (Point({}, {}, "key", 0),), everything[:15], everything[15:], "f1_micro")
    assert TaskRows.of(task, TaskData(X, Y, feature_names=NAMES)).train.feature_names == NAMES
