"""Clus' hierarchical ARFF."""

import numpy as np
import pytest

from mlrank import load_dataset
from mlrank.errors import UserError
from tests.datasets.writers import WEATHER, put, xml_of

HEAD = "@RELATION r\r\n@ATTRIBUTE a NUMERIC\r\n@ATTRIBUTE class hierarchical 2/1/3,4,9/1/a,2,9/1\r\n@DATA\r\n"
NAMES = ("2", "2/1", "2/1/3", "4", "9", "9/1", "9/1/a")


def refused(folder, content, **more):
    with pytest.raises(UserError) as caught:
        load_dataset(*put(folder, data_arff=content), **more)
    return str(caught.value).replace(str(folder) + "/", "")


def test_every_class_and_its_ancestors_are_labels_and_paths_mark_both(tmp_path):
    rows = "1,2@2/1@2/1/3\r\n2,4@9/1/a\r\n3,2/1\r\n4,9\r\n"
    data = load_dataset(*put(tmp_path, data_arff=HEAD + rows))
    assert data.label_names == NAMES
    assert data.feature_names == ("a",)
    marked = [[NAMES[label] for label in np.flatnonzero(row)] for row in data.Y]
    assert marked == [["2", "2/1", "2/1/3"], ["4", "9", "9/1", "9/1/a"], ["2", "2/1"], ["9"]]
    np.testing.assert_array_equal(data.X, [[1], [2], [3], [4]])
    assert data.description == "file data.arff"


def test_two_parts_with_classes_declared_in_another_order(tmp_path):
    other = "@attribute class hierarchical 9/1/a,4,2/1/3\n@attribute a numeric\n@data\n9/1/a,5\n2,6\n"
    train, test = put(tmp_path, a_arff=HEAD + "1,4\r\n", b_arff=other)
    data = load_dataset(train, test=test)
    np.testing.assert_array_equal(
        data.Y.astype(int), [[0, 0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1], [1, 0, 0, 0, 0, 0, 0]]
    )
    np.testing.assert_array_equal(data.X, [[1], [5], [6]])


def test_sparse_rows(tmp_path):
    data = load_dataset(*put(tmp_path, data_arff=HEAD + "{0 3, 1 4@2}\r\n{1 9/1}\r\n"))
    np.testing.assert_array_equal(data.X.toarray(), [[3], [0]])
    np.testing.assert_array_equal(data.Y.astype(int), [[1, 0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1, 0]])
    assert refused(tmp_path, HEAD + "{1 4}\n{0 3}\n") == (
        "data.arff:6:1: the row has no value for 'class', the hierarchical attribute"
    )


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("2@7", "data.arff:5:3: '2@7' names a class that 'class' does not declare"),
        ("2@", "data.arff:5:3: '2@' names a class"),
        ("2/1/", "data.arff:5:3: '2/1/' names a class"),
        ("", "data.arff:5:3: '' names a class"),
    ],
)
def test_mistakes_in_the_class_cell(tmp_path, cell, said):
    assert refused(tmp_path, f"{HEAD}1,{cell}\r\n").startswith(said)


def test_mistakes_in_the_declaration(tmp_path):
    assert "data.arff:1:26: attribute 'c': class '' is not a path" in refused(
        tmp_path, "@attribute c hierarchical\n@data\n1\n"
    )
    assert "class '2//3' is not a path" in refused(tmp_path, HEAD.replace("2/1/3", "2//3"))
    second = HEAD.replace("@DATA", "@attribute more hierarchical 5\r\n@DATA") + "1,2,5\n"
    assert "data.arff:4:12: a second hierarchical attribute; 'class' is one already" in refused(tmp_path, second)
    assert "no attribute of type hierarchical" in refused(tmp_path, WEATHER, format="clus")


def test_a_label_file_is_refused(tmp_path):
    data, labels = put(tmp_path, data_arff=HEAD + "1,2\n", names_xml=xml_of(["class"]))
    with pytest.raises(UserError, match="leave out the label file"):
        load_dataset(data, labels=labels, format="clus")
    with pytest.raises(UserError, match="must have the values 0,1"):
        load_dataset(data, labels=labels)
