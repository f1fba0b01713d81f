"""CSV and Parquet tables."""

import numpy as np
import pandas as pd
import pytest

from mlrank import load_dataset
from mlrank.errors import UserError
from tests.datasets.writers import put

TABLE = 'x,"a, b",l,"say ""hi""",m\n1.5,2,0,3,1\n-1e-3,0,1,4,1\n'


def load(folder, table=TABLE, **more):
    (path,) = put(folder, t_csv=table)
    return load_dataset(path, **more)


def refused(folder, table=TABLE, **more):
    with pytest.raises(UserError) as caught:
        load(folder, table, **more)
    return str(caught.value).removeprefix(f"{folder}/")


def test_label_columns_by_name(tmp_path):
    data = load(tmp_path, label_columns=["m", "l"])
    assert data.label_names == ("m", "l")
    assert data.feature_names == ("x", "a, b", 'say "hi"')
    np.testing.assert_array_equal(data.X, [[1.5, 2, 3], [-1e-3, 0, 4]])
    np.testing.assert_array_equal(data.Y, [[1, 0], [1, 1]])


def test_label_columns_by_count_and_by_a_file_of_names(tmp_path):
    assert load(tmp_path, label_columns=-1).label_names == ("m",)
    (names,) = put(tmp_path, n_txt="l\nm\n")
    data = load(tmp_path, labels=names, test=put(tmp_path, u_csv='m,l,"a, b","say ""hi""",x\n1,0,5,6,7\n')[0])
    assert [rows.tolist() for rows in data.official] == [[0, 1], [2]]
    np.testing.assert_array_equal(data.X[2], [7, 5, 6])  # columns are found by name, not by place
    np.testing.assert_array_equal(data.Y[2], [0, 1])


def test_empty_cells_are_missing(tmp_path):
    table = "x,l,y\r\n1,,\r\n,1,4\r\n?,0, \r\n"
    data = load(tmp_path, table, label_columns=["l"], impute="mean")
    np.testing.assert_array_equal(data.X, [[1, 4], [1, 4], [1, 4]])
    np.testing.assert_array_equal(data.known, [[0], [1], [1]])
    assert refused(tmp_path, table, label_columns=["l"]).startswith("t.csv:2:4: the value of 'y' is missing")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("x,l\n1,2\n", "t.csv:2:3: 'l' takes 0 or 1, found '2'"),
        (
            "x,l\nred,1\n",
            "t.csv:2:1: column 'x' holds text, found 'red': say one_hot for categories",
        ),
        ("x,l\n1\n", "t.csv:2:2: the row ends after 1 of 2 values"),
        ("x,l\n1,1,1\n", "t.csv:2:4: the row has more than the 2 values"),
        ("x,l\n% 1,1\n", "t.csv:2:1: column 'x' holds text, found '% 1'"),
        ("x\n1\n", "t.csv:1:1: a first line of one column: columns are separated by commas"),
        ("x,x,l\n1,1,1\n", "t.csv:1: two columns are named 'x'"),
        ("x,,l\n1,1,1\n", "t.csv:1: column 2 has no name"),
        ('x,"l\n1,1\n', "t.csv:1:1: the header line is no CSV"),
        ("x,l\n", "t.csv: no rows after the header"),
        ("", "t.csv: holds no header line"),
        ("x,m\n1,1\n", "t.csv: unknown label column 'l'."),
        ("x,\udcff,l\n", "t.csv:1:3: not UTF-8 text"),
    ],
)
def test_mistakes(tmp_path, table, said):
    content = table.encode("utf-8", "surrogateescape")
    assert refused(tmp_path, content, label_columns=["l"]).startswith(said)


def test_labels_must_be_said_once(tmp_path):
    assert "does not say which columns are labels" in refused(tmp_path)
    (names,) = put(tmp_path, n_txt="l\n")
    assert "give either" in refused(tmp_path, labels=names, label_columns=["l"])
    assert "'zero_based' has no effect with format 'csv'" in refused(tmp_path, zero_based=True)


@pytest.fixture
def parquet(tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")

    def write(name="t", **columns):
        path = tmp_path / f"{name}.parquet"
        pd.DataFrame(columns).to_parquet(path)
        return path

    return write


def test_parquet(parquet):
    path = parquet(x=[1.5, 2.0], n=[3, 4], l=[True, False], m=[0, 1])
    data = load_dataset(path, label_columns=["m", "l"], test=parquet("u", m=[1], l=[True], n=[5], x=[6.0]))
    assert (data.label_names, data.feature_names) == (("m", "l"), ("x", "n"))
    np.testing.assert_array_equal(data.X, [[1.5, 3], [2, 4], [6, 5]])
    np.testing.assert_array_equal(data.Y, [[0, 1], [1, 0], [1, 1]])
    assert [rows.tolist() for rows in data.official] == [[0, 1], [2]]


def test_parquet_with_missing_cells(parquet):
    path = parquet(x=[1.0, None, 3.0], l=pd.array([True, None, False], dtype="boolean"))
    data = load_dataset(path, label_columns=["l"], impute="mean")
    np.testing.assert_array_equal(data.X, [[1], [2], [3]])
    np.testing.assert_array_equal(data.known, [[1], [0], [1]])
    with pytest.raises(UserError, match="row 2: the value of 'x' is missing: set impute"):
        load_dataset(path, label_columns=["l"])


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (
            {"x": ["a", "b"], "l": [0, 1]},
            "row 1: column 'x' holds text, found 'a': say one_hot for categories",
        ),
        ({"x": [1.0, np.inf], "l": [0, 1]}, "row 2: 'x' is infinite"),
        ({"x": [1, 2], "l": [0, 3]}, "row 2: 'l' takes 0 or 1, found '3'"),
        ({"x": [1, 2], "m": [0, 1]}, "unknown label column 'l'"),
        ({"x": [], "l": []}, "holds no rows"),
    ],
)
def test_mistakes_in_parquet(parquet, columns, said):
    with pytest.raises(UserError, match=said):
        load_dataset(parquet(**columns), label_columns=["l"])
