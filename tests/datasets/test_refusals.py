"""Files that something is wrong with: one line that says what, whichever way they are read."""

import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat
from scipy.sparse import csc_array, csr_array

from mlrank import load_dataset
from mlrank.datasets import Dataset, convert
from mlrank.datasets.formats.mat import read_variables
from mlrank.datasets.formats.selection import Selection
from mlrank.datasets.stream import RowStream
from mlrank.errors import UserError

X = np.array([[1.5, 0, -2], [0, 0, 3], [4, 5, 0]])
Y = np.array([[1, 0], [0, 0], [1, 1]])
SELECTION = Selection(("a", "b"), ("l",), "the model")


def one_line(told):
    assert "\n" not in str(told.value)
    return told.value.message


def refused(path, **more):
    with pytest.raises(UserError) as told:
        load_dataset(path, **more)
    return one_line(told)


def not_streamed(path):
    with pytest.raises(UserError) as told:
        list(RowStream(path, SELECTION))
    return one_line(told)


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"X": X, "Y": 2 * Y - 1, "known": Y - (Y == 0)}, None),
        ({"X": X, "Y": Y - np.eye(3, 2), "known": Y}, "both known and Y must hold 0 and 1"),
        ({"X": X, "Y": Y, "train": [0.0, 1.0], "test": [2.0]}, "train and test must be lists of row numbers"),
        (
            {"X_data": X[0], "X_indices": [0], "X_indptr": [0], "X_shape": [3, 3], "Y": Y},
            "X_data, X_indices, X_indptr and X_shape are no CSR matrix",
        ),
    ],
)
def test_arrays_that_do_not_fit_together(tmp_path, arrays, said):
    np.savez(tmp_path / "d.npz", **arrays)
    if said is None:
        np.testing.assert_array_equal(load_dataset(tmp_path / "d.npz").Y, Y)
    else:
        assert said in refused(tmp_path / "d.npz")


def test_files_that_are_no_archive_of_arrays(tmp_path):
    path = tmp_path / "d.npz"
    with open(path, "wb") as file:
        np.save(file, X)
    assert refused(path) == "holds a single array, not an archive of named ones"
    np.savez(path, X=X, Y=Y)
    # A way of packing that nobody knows, in every entry.
    content = bytearray(path.read_bytes())
    for mark, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        at = content.find(mark)
        while at >= 0:
            content[at + offset] = 99
            at = content.find(mark, at + 1)
    path.write_bytes(content)
    assert refused(path).startswith("cannot be read as .npz: ")


def test_parts_of_different_widths(tmp_path):
    savemat(tmp_path / "d.mat", {"X": X, "Y": Y, "X_test": X[:, :2], "Y_test": Y})
    assert refused(tmp_path / "d.mat") == "the parts have different numbers of features: 2, 3"


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_of_a_file_with_its_own_split_are_filled_with_zeros_alone(tmp_path, sparse):
    holes = np.where(X == 5, np.nan, X)
    rows = csr_array(holes)
    parts = {f"X_{part}": getattr(rows, part) for part in ("data", "indices", "indptr", "shape")} if sparse else {}
    arrays = parts or {"X": holes}
    np.savez(tmp_path / "d.npz", **arrays, Y=Y, train=[0, 1], test=[2])
    assert "only impute: zero is possible" in refused(tmp_path / "d.npz", impute="mean")
    data = load_dataset(tmp_path / "d.npz", impute="zero")
    filled = data.X.toarray() if sparse else data.X
    np.testing.assert_array_equal(filled, np.where(X == 5, 0, X))
    np.testing.assert_array_equal(data.fill, np.zeros(3))
    np.savez(tmp_path / "whole.npz", X=X, Y=Y, train=[0, 1], test=[2])
    assert load_dataset(tmp_path / "whole.npz", impute="mean").fill is None


def test_a_mat_file_with_any_byte_changed_or_cut_short_is_read_or_refused_in_a_line(tmp_path):
    names = np.array(["first", "second"], dtype=object)
    path, refusals, lines = tmp_path / "d.mat", set(), []
    savemat(path, {"X": csc_array(X), "Y": Y, "n": names, "t": "text"})
    content = path.read_bytes()
    for at in range(128, len(content), 2):
        for value in {0, 255 - at % 5} - {content[at]}:
            path.write_bytes(content[:at] + bytes([value]) + content[at + 1 :])
            try:
                read_variables(path)
            except UserError as error:
                lines.append(str(error))
                refusals.add(error.message.split(": ")[-1][:20])
    for size in range(128, len(content), 40):
        path.write_bytes(content[:size])
        try:
            read_variables(path)
        except UserError as error:
            refusals.add(error.message.split(": ")[-1][:20])
    assert len(refusals) > 8
    assert not any("\n" in line for line in lines)


def test_a_compressed_mat_file_cut_short(tmp_path):
    savemat(tmp_path / "d.mat", {"X": np.arange(400.0).reshape(20, 20)}, do_compression=True)
    content = bytearray((tmp_path / "d.mat").read_bytes())
    length = int.from_bytes(content[132:136], "little") - 60
    content[132:136] = length.to_bytes(4, "little")
    (tmp_path / "d.mat").write_bytes(content[: 136 + length])
    with pytest.raises(UserError, match="a compressed variable is cut short or larger than 2 GB"):
        read_variables(tmp_path / "d.mat")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (pd.DataFrame({"a": [], "l": []}), "holds no rows"),
        (pd.DataFrame({"a": ["x"], "l": [1]}), "column 'a' holds "),
        (pd.DataFrame({"a": [1.0], "l": [2]}), "row 1: 'l' takes 0 or 1, found '2'"),
    ],
)
def test_parquet_tables_that_hold_something_else(tmp_path, table, said):
    table.to_parquet(tmp_path / "d.parquet")
    assert said in refused(tmp_path / "d.parquet", label_columns=["l"])


def test_parquet_files_that_cannot_be_read(tmp_path, monkeypatch):
    path = tmp_path / "d.parquet"
    assert "no such file" in not_streamed(path)
    path.write_bytes(b"PAR1 nothing")
    assert refused(path, label_columns=["l"]).startswith("cannot be read as Parquet: ")
    assert not_streamed(path).startswith("cannot be read as Parquet: ")
    pd.DataFrame({"a": [], "b": []}).to_parquet(path)
    assert not_streamed(path) == "holds no rows"
    pd.DataFrame({"a": ["x"], "b": [1.0]}).to_parquet(path)
    assert not_streamed(path).startswith("row 1: column 'a' holds text")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert not_streamed(path) == "Parquet needs the package pyarrow: install mlrank[parquet]"


def test_arrays_that_cannot_be_streamed(tmp_path):
    path = tmp_path / "d.npz"
    np.savez(path, X=X, feature_names=["a", "b"])
    assert not_streamed(path) == "2 feature names for 3 features"
    np.savez(path, X=X[:0, :2])
    assert not_streamed(path) == "holds no rows"
    savemat(tmp_path / "d.mat", {"Z": X})
    assert not_streamed(tmp_path / "d.mat") == "has no matrix X; it holds Z"
    with pytest.raises(UserError, match="is a folder without"):
        RowStream(tmp_path, SELECTION)


def made(**changes):
    rows = (np.array([0, 1]), np.array([2]))
    plain = Dataset("d", X, Y.astype(bool), None, ("l", "m"), ("a", "b", "c"), rows, "made")
    return replace(plain, **changes)


def test_a_data_set_is_shown_in_one_line():
    shape = "3 rows, 3 features (dense), 2 labels"
    assert repr(made()) == f"<Dataset d: {shape}, official split of 2 and 1 rows>"
    known = np.array([[True, False], [True, True], [False, True]])
    assert repr(made(official=None, known=known)) == f"<Dataset d: {shape}, 2 label entries unknown>"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"Y": Y}, "Y must be a bool array of 3 rows, found int64 of shape"),
        ({"label_names": ("l",)}, "1 label names for 2 labels"),
        ({"feature_names": ("a",)}, "1 feature names for 3 features"),
        ({"known": np.ones((2, 2), bool)}, "known has shape"),
        ({"fill": np.ones(2)}, "fill has shape"),
        ({"official": (np.array([0]), np.array([2]))}, "the official split must hold every row exactly once"),
    ],
)
def test_parts_of_a_data_set_that_do_not_fit(changes, said):
    with pytest.raises(ValueError, match=said):
        made(**changes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ""),
        ({"label_names": ("l", "n")}, "the labels have other names"),
        ({"feature_names": ("a", "c", "b")}, "the features have other names"),
        ({"Y": ~Y.astype(bool)}, "the labels mark other rows"),
        ({"known": np.zeros((3, 2), bool)}, "other label entries are unknown"),
        ({"X": X + 1}, "the features have other values"),
        ({"official": None}, "the split is another"),
        ({"official": (np.array([0, 2]), np.array([1]))}, "the split is another"),
    ],
)
def test_a_file_written_is_compared_with_what_is_read_again(changes, said):
    difference = convert._difference(made(**changes), made())
    assert difference.startswith("read again, ") == bool(said)
    assert said in difference
