"""What rows to be learned from must be."""

from pathlib import Path

import numpy as np
import pytest

from mlrank import solvers
from mlrank.solvers import TrainingSet

X, Y = np.ones((3, 2)), np.eye(3, 4, dtype=bool)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Y": Y.astype(int)}, r"Y must be a two-dimensional bool array, found int64 of shape \(3, 4\)"),
        ({"Y": Y[0]}, r"Y must be a two-dimensional bool array, found bool of shape \(4,\)"),
        ({"Y": Y[:2]}, "X has 3 rows, Y has 2"),
        ({"X": X[:0], "Y": Y[:0]}, r"nothing to learn from: X has shape \(0, 2\), Y has shape \(0, 4\)"),
        ({"X": X[:, :0]}, r"nothing to learn from: X has shape \(3, 0\)"),
        ({"known": Y[:, :3]}, r"known has shape \(3, 3\), Y has shape \(3, 4\)"),
        ({"X_unlabeled": np.ones((5, 3))}, "X_unlabeled has 3 features, X has 2"),
    ],
)
def test_rows_that_do_not_fit_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        TrainingSet(**{"X": X, "Y": Y, **change})


def test_a_label_that_is_not_known_is_not_relevant_and_nothing_can_be_written():
    train = TrainingSet(X, Y, known=~Y)
    assert not train.Y.any()
    for array in (train.X, train.Y, train.known):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1


def test_solvers_that_do_not_take_sparse_labels_read_dense_ones():
    """`train.Y` may be sparse: a solver reads it where its class says so, and `dense_Y` or `sparse_Y` otherwise."""
    folder, found = Path(solvers.__file__).parent, []
    for path in folder.rglob("*.py"):
        text = path.read_text("utf-8")
        found += [path.name] * ("train.Y" in text and "SPARSE_LABELS" not in text)
    assert found == []
