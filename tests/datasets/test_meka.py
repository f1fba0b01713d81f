"""MEKA's ARFF, in which the relation's name says which attributes are labels."""

import numpy as np
import pytest

from mlrank import load_dataset
from mlrank.errors import UserError
from tests.datasets.writers import put, xml_of

BODY = "@attribute a {0,1}\n@attribute 'b c' {0,1}\n@attribute x numeric\n@attribute y {f,t}\n"
ROWS = "@data\n1,0,2.5,t\n0,1,-1,f\n"


def load(folder, relation, body=BODY, rows=ROWS, **more):
    (path,) = put(folder, d_arff=f"@relation {relation}\n{body}{rows}")
    return load_dataset(path, **more)


def test_the_first_attributes_are_labels(tmp_path):
    data = load(tmp_path, "'thyroid: -C 2'")
    assert data.label_names == ("a", "b c")
    assert data.feature_names == ("x", "y=f", "y=t")
    np.testing.assert_array_equal(data.Y, [[1, 0], [0, 1]])
    np.testing.assert_array_equal(data.X, [[2.5, 0, 1], [-1, 1, 0]])


def test_the_last_attributes_are_labels(tmp_path):
    body = "@attribute x numeric\n@attribute l {0,1}\n@attribute m {1,0}\n"
    data = load(tmp_path, "'Music: -C -2'", body, "@data\n7,0,1\n8,1,1\n")
    assert data.label_names == ("l", "m")
    np.testing.assert_array_equal(data.Y, [[0, 1], [1, 1]])
    np.testing.assert_array_equal(data.X, [[7], [8]])


def test_label_columns_go_before_the_relation(tmp_path):
    data = load(tmp_path, "'x: -C 1'", label_columns=("b c", "a"))
    assert data.label_names == ("b c", "a")
    np.testing.assert_array_equal(data.Y, [[0, 1], [1, 0]])


def test_a_filter_that_came_after_makes_the_count_worthless(tmp_path):
    relation = "'LangLog: -C 2-weka.filters.unsupervised.attribute.Reorder-R3-last,first-2'"
    with pytest.raises(
        UserError, match=r"says -C 2 and names later filters, which may have moved the labels: give the"
    ):
        load(tmp_path, relation)
    (names,) = put(tmp_path, n_xml=xml_of(["b c"]))
    data = load(tmp_path, relation, labels=names)  # the XML is right, whatever the relation says
    assert data.label_names == ("b c",)
    assert data.feature_names == ("a", "x", "y=f", "y=t")


@pytest.mark.parametrize(
    ("relation", "more", "said"),
    [
        ("'x: -C 4'", {}, "4 says that 4 of 4 columns are labels; possible are 1 to 3"),
        ("'x: -C -9'", {}, "-9 says that 9 of 4 columns"),
        ("'x: -C 0'", {}, "0 says that 0 of 4 columns"),
        ("'x: -C 3'", {}, "label 'x' must have"),
        ("'x: -C 2'", {"label_columns": ["bc"]}, "unknown label column 'bc'. Did you mean 'b c'?"),
        ("'x: -C 2'", {"label_columns": ["a", "a"]}, "the label column 'a' is named twice"),
        ("x", {"format": "meka"}, "has no -C n"),
        ("'x: -C 2'", {"zero_based": True}, "zero_based is for formats that number their features"),
    ],
)
def test_mistakes(tmp_path, relation, more, said):
    if said.startswith("label 'x'"):
        data = load(tmp_path, relation, rows="@data\n1,0,1,t\n")  # a numeric label is a label while it holds 0 and 1
        assert data.n_labels == 3
        return
    with pytest.raises(UserError) as caught:
        load(tmp_path, relation, **more)
    assert said in str(caught.value)


def test_labels_of_several_values_are_refused(tmp_path):
    body = "@attribute class {A,B,NEG}\n@attribute x numeric\n"
    with pytest.raises(UserError) as caught:
        load(tmp_path, "'t: -C 1'", body, "@data\nA,1\n")
    assert str(caught.value).endswith(
        "d.arff:2:12: label 'class' must have the values 0,1, found 'A,B,NEG'; "
        "labels of several values are not supported"
    )


def test_a_split_in_the_relation_is_told(tmp_path):
    assert load(tmp_path, "'x: -C 2 -split-number 1'").description.endswith(
        "(the relation's -split-number 1 is not applied)"
    )
