"""Published label lists, with features generated from the labels."""

import numpy as np
import pytest

from mlrank.datasets.catalogue.label_lists import read_lists
from mlrank.errors import UserError
from tests.datasets.writers import put

FEATURES = {"n_features": 5, "seed": 3}


def lists(folder, key, **files):
    paths = put(folder, **{name.replace(" ", "-") + "_txt": text for name, text in files.items()})
    return read_lists(key, dict(zip(files, paths, strict=True)), FEATURES)


def refused(folder, key, **files):
    with pytest.raises(UserError) as caught:
        lists(folder, key, **files)
    return str(caught.value).removeprefix(f"{folder}/")


def test_class_lists(tmp_path):
    files = {"train dog": "i1  1\ni2 -1\n", "train cat": "i1  0\ni2  1\n", "test dog": "i3 -1\n", "test cat": "i3 1\n"}
    data = lists(tmp_path, "class-lists", **files)
    assert data.label_names == ("dog", "cat")
    assert [rows.tolist() for rows in data.official] == [[0, 1], [2]]
    assert data.stand_in
    np.testing.assert_array_equal(data.Y, [[1, 0], [0, 1], [0, 1]])
    np.testing.assert_array_equal(data.known, [[1, 0], [1, 1], [1, 1]])
    other = {**files, "train cat": "i2  0\ni1  1\n"}
    assert refused(tmp_path, "class-lists", **other) == "train-cat.txt: lists other images than the first class does"
    other = {**files, "train cat": "i1  2\n"}
    assert refused(tmp_path, "class-lists", **other).startswith("train-cat.txt:1:1: expected an image and -1, 0 or 1")


def test_numbers_behind_names(tmp_path):
    data = lists(tmp_path, "label-numbers", train="a/b.jpg 0,3\nc.jpg \n", test="d.jpg 1\n")
    np.testing.assert_array_equal(data.Y, [[1, 0, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0]])
    assert data.known is None
    assert "train.txt:2:1: expected an image and label numbers" in refused(
        tmp_path, "label-numbers", train="a 0\nb 1, 2\n"
    )


def test_sparse_labels(tmp_path):
    data = lists(tmp_path, "xmc-labels", train="2 3\n0:1 2:1\n\n", test="1 3\n1:1\n")
    np.testing.assert_array_equal(data.Y, [[1, 0, 1], [0, 0, 0], [0, 1, 0]])
    assert "train.txt:1:1: the first line says 3 rows" in refused(tmp_path, "xmc-labels", train="3 3\n0:1\n")
    assert "train.txt:2:1: label 3, but" in refused(tmp_path, "xmc-labels", train="1 3\n3:1\n")
    assert "train.txt:2:1: expected label:1" in refused(tmp_path, "xmc-labels", train="1 3\n1:2\n")


def test_matrix_of_digits(tmp_path):
    data = lists(tmp_path, "label-matrix", train="0,1\n1,1\n", labels="sky\nsea\n")
    np.testing.assert_array_equal(data.Y, [[0, 1], [1, 1]])
    assert data.label_names == ("sky", "sea")
    assert "train.txt:2:1: expected 2 times 0 or 1" in refused(tmp_path, "label-matrix", train="0,1\n1\n")
    assert "3 label names for 2 labels" in refused(tmp_path, "label-matrix", train="0,1\n", labels="a\nb\nc\n")
    assert "holds no rows" in refused(tmp_path, "label-matrix", train="")


def test_generated_features_carry_the_labels(tmp_path):
    text = "".join(f"i {row % 2}\n" for row in range(200))
    data = lists(tmp_path, "label-numbers", train=text)
    np.testing.assert_array_equal(lists(tmp_path, "label-numbers", train=text).X, data.X)
    # With one label a row, the mean features of a label are its direction; noise falls as 1 / sqrt(100).
    directions = np.random.default_rng(3).standard_normal((2, 5))
    means = np.array([data.X[data.Y[:, label]].mean(axis=0) for label in range(2)])
    assert np.abs(means - directions).max() < 5 / np.sqrt(100)
