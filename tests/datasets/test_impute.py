"""Missing cells: filled by what the training part says, and labels that are unknown."""

import numpy as np
import pytest
from scipy.sparse import issparse

from mlrank import load_dataset
from mlrank.errors import UserError
from tests.datasets.writers import put, xml_of

HEAD = "@attribute x numeric\n@attribute c {p,q,r}\n@attribute b {0,1}\n@attribute l {0,1}\n@attribute m {0,1}\n@data\n"
TRAIN = "4,p,1,0,1\n?,q,?,1,0\n2,?,0,?,1\n9,q,0,1,1\n"
TEST = "?,r,1,0,?\n100,?,?,0,0\n"


def load(folder, train=TRAIN, test=TEST, head=HEAD, **more):
    paths = put(folder, a_arff=head + train, b_arff=head + test, n_xml=xml_of(["l", "m"]))
    return load_dataset(paths[0], test=paths[1], labels=paths[2], **more)


MEAN = {"x": 5, "p": 1 / 3, "q": 2 / 3, "r": 0, "b": 1 / 3}
MEDIAN = {"x": 4, "p": 0, "q": 1, "r": 0, "b": 0}
ZERO = dict.fromkeys("xpqrb", 0)


@pytest.mark.parametrize(("how", "fill"), [("mean", MEAN), ("median", MEDIAN), ("zero", ZERO)])
def test_cells_are_filled_by_the_training_part(tmp_path, how, fill):
    x, p, q, r, b = fill.values()
    data = load(tmp_path, impute=how)
    expected = [[4, 1, 0, 0, 1], [x, 0, 1, 0, b], [2, p, q, r, 0], [9, 0, 1, 0, 0], [x, 0, 0, 1, 1], [100, p, q, r, b]]
    np.testing.assert_allclose(data.X, expected, rtol=1e-15)
    by = "0" if how == "zero" else f"the {how} of the training part"
    assert f"(10 missing cells in 5 columns filled with {by}; " in data.description


def test_missing_labels_are_unknown(tmp_path):
    data = load(tmp_path, impute="zero")
    known = np.ones((6, 2), bool)
    known[2, 0] = known[4, 1] = False
    np.testing.assert_array_equal(data.known, known)
    np.testing.assert_array_equal(data.Y, [[0, 1], [1, 0], [0, 1], [1, 1], [0, 0], [0, 0]])


def test_missing_labels_need_no_setting_and_missing_features_do(tmp_path):
    data = load(tmp_path, "1,p,0,?,1\n", "1,p,0,1,0\n")
    np.testing.assert_array_equal(data.known, [[False, True], [True, True]])
    with pytest.raises(
        UserError, match=r"a\.arff:8:1: the value of 'x' is missing: set impute to mean, median or zero"
    ):
        load(tmp_path)
    with pytest.raises(UserError, match=r"unknown way to impute 'meen'\. Did you mean 'mean'\?"):
        load(tmp_path, impute="meen")


@pytest.mark.parametrize("how", ["mean", "median", "zero"])
def test_sparse_rows_are_filled_as_dense_ones(tmp_path, how):
    sparse = "{0 4,2 1,4 1}\n{0 ?,1 q,2 ?,3 1}\n{0 2,1 ?,3 ?,4 1}\n{0 9,1 q,3 1,4 1}\n"
    test = "{0 ?,1 r,2 1,4 ?}\n{0 100,1 ?,2 ?}\n"
    dense = load(tmp_path, impute=how)
    data = load(tmp_path, sparse, test, impute=how)
    assert issparse(data.X)
    np.testing.assert_array_equal(data.X.toarray(), dense.X)
    np.testing.assert_array_equal(data.Y, dense.Y)
    np.testing.assert_array_equal(data.known, dense.known)


def test_a_column_without_any_value_has_no_mean(tmp_path):
    with pytest.raises(UserError, match=r"feature 'x' is missing in every row of the training part, so it has no mean"):
        load(tmp_path, "?,p,0,0,1\n", "3,p,0,0,1\n", impute="mean")
    assert load(tmp_path, "?,p,0,0,1\n", "3,p,0,0,1\n", impute="zero").X[0, 0] == 0


def test_a_mean_of_large_numbers_does_not_overflow(tmp_path):
    data = load(tmp_path, "1e308,p,0,0,1\n1e308,p,0,0,1\n?,p,0,0,1\n", "1,p,0,0,1\n", impute="mean")
    assert data.X[2, 0] == 1e308


def test_a_row_of_unknown_classes(tmp_path):
    (path,) = put(tmp_path, d_arff="@attribute a real\n@attribute c hierarchical 1/2,3\n@data\n1,1@3\n2,?\n")
    data = load_dataset(path)
    np.testing.assert_array_equal(data.known, [[1, 1, 1], [0, 0, 0]])
    np.testing.assert_array_equal(data.Y, [[1, 0, 1], [0, 0, 0]])


def test_an_unknown_class_is_known_where_a_class_below_it_is_marked(tmp_path):
    head = "@attribute x numeric\n@attribute top {0,1}\n@attribute sub {0,1}\n@data\n"
    xml = '<labels><label name="top"><label name="sub"/></label></labels>'
    path, names = put(tmp_path, d_arff=head + "1,?,1\n2,?,0\n", n_xml=xml)
    data = load_dataset(path, labels=names)
    np.testing.assert_array_equal(data.Y, [[1, 1], [0, 0]])
    np.testing.assert_array_equal(data.known, [[1, 1], [0, 1]])
