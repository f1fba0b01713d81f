"""Files of whole arrays: .npz and .mat."""

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csc_array, csr_array, issparse

from mlrank import load_dataset
from mlrank.errors import UserError

X = np.array([[1.5, 0, -2], [0, 0, 3], [4, 5, 0]])
Y = np.array([[1, 0], [0, 0], [1, 1]])


def npz(folder, **arrays):
    np.savez(folder / "d.npz", **arrays)
    return folder / "d.npz"


def mat(folder, **variables):
    savemat(folder / "d.mat", variables)
    return folder / "d.mat"


def refused(path, **more):
    with pytest.raises(UserError) as caught:
        load_dataset(path, **more)
    return caught.value.message


def test_npz(tmp_path):
    names = {"label_names": ["l", "ü,m"], "feature_names": ["a", "b", "c"]}
    rows = {"train": [2, 0], "test": [1]}
    data = load_dataset(npz(tmp_path, X=X, Y=Y.astype(bool), known=[[1, 1], [1, 0], [1, 1]], **names, **rows))
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.Y, Y)
    np.testing.assert_array_equal(data.known, [[1, 1], [1, 0], [1, 1]])
    assert (data.label_names, data.feature_names) == (("l", "ü,m"), ("a", "b", "c"))
    assert [part.tolist() for part in data.official] == [[2, 0], [1]]


def test_sparse_npz(tmp_path):
    S = csr_array(X)
    parts = {"X_data": S.data, "X_indices": S.indices, "X_indptr": S.indptr, "X_shape": S.shape}
    data = load_dataset(npz(tmp_path, Y=Y, **parts))
    assert issparse(data.X)
    np.testing.assert_array_equal(data.X.toarray(), X)
    assert data.label_names == ("0", "1")
    assert data.official is None
    parts["X_indices"] = parts["X_indices"] + 9
    assert "X is no valid sparse matrix" in refused(npz(tmp_path, Y=Y, **parts))


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"X": X}, "lacks the array Y; it holds X"),
        ({"Y": Y}, "lacks the array X_data"),
        ({"X": X, "Y": Y, "Z": Y}, "unknown array 'Z'."),
        ({"X": X, "Y": Y[:2]}, "X has 3 rows, Y has 2"),
        ({"X": X, "Y": Y + 1}, "Y must hold 0 and 1, or -1, 0 and 1; found 2"),
        ({"X": X[0], "Y": Y}, "X must be a matrix of numbers, found float64 of 1 dimensions"),
        ({"X": X.astype(complex), "Y": Y}, "X must be a matrix of numbers"),
        ({"X": X.astype(str), "Y": Y}, "X must be a matrix of numbers"),
        ({"X": np.where(X == 5, np.inf, X), "Y": Y}, "X holds infinite numbers"),
        ({"X": X, "Y": Y, "train": [0, 1], "test": [1, 2]}, "must hold each of the rows 0 to 2 once"),
        ({"X": X, "Y": Y, "train": [0, 1, 2]}, "train and test go together"),
        ({"X": X, "Y": Y, "label_names": ["a"]}, "1 label names for 2 labels"),
        ({"X": X, "Y": Y, "label_names": ["a", "a"]}, "label 'a' is named twice"),
        ({"X": X, "Y": Y, "label_names": [1, 2]}, "label_names must hold text"),
        ({"X": X, "Y": Y, "known": Y[:2]}, "known has shape (2, 2), Y has shape (3, 2)"),
        ({"X": X, "Y": np.array([["a"]], dtype=object)}, "cannot be read as .npz"),
        ({"X": np.zeros((3, 0)), "Y": Y}, "X is empty"),
    ],
)
def test_mistakes_in_npz(tmp_path, arrays, said):
    assert said in refused(npz(tmp_path, **arrays))


def test_missing_cells_of_npz(tmp_path):
    holes = X.copy()
    holes[0, 0] = np.nan
    assert "row 1: the value of '0' is missing (NaN)" in refused(npz(tmp_path, X=holes, Y=Y))
    np.testing.assert_array_equal(load_dataset(npz(tmp_path, X=holes, Y=Y), impute="mean").X[:, 0], [2, 0, 4])


def test_mat_with_the_plain_names(tmp_path):
    cells = np.array(["first", "ünd"], dtype=object)
    data = load_dataset(mat(tmp_path, X=csc_array(X), Y=Y, X_test=X[:1], Y_test=Y[:1], label_names=cells))
    assert issparse(data.X)
    np.testing.assert_array_equal(data.X.toarray(), np.vstack([X, X[:1]]))
    np.testing.assert_array_equal(data.Y, np.vstack([Y, Y[:1]]))
    assert data.label_names == ("first", "ünd")
    assert [part.tolist() for part in data.official] == [[0, 1, 2], [3]]


def test_mat_with_named_variables_and_signed_labels(tmp_path):
    signed = np.array([[1, -1, 1], [-1, 0, 1]])  # labels in rows, as much MATLAB code has them
    path = mat(tmp_path, data=X, target=signed, other=5)
    data = load_dataset(path, variables={"X": "data", "Y": "target'"})
    np.testing.assert_array_equal(data.Y, [[1, 0], [0, 0], [1, 1]])
    np.testing.assert_array_equal(data.known, [[1, 1], [1, 0], [1, 1]])
    message = refused(path, variables={"X": "data", "Y": "target"})
    assert message == "data has 3 rows, target has 2; write a ' behind a variable's name to transpose it"
    assert "There are: data (3, 3), target (2, 3), other (1, 1)" in refused(path)
    assert "unknown variable 'date'. Did you mean 'data'?" in refused(path, variables={"X": "date", "Y": "target"})
    assert "unknown role of a variable 'x'" in refused(path, variables={"x": "data", "Y": "target"})
    assert "X_test" in refused(path, variables={"X": "data", "Y": "target'", "X_test": "data"})


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_numbers_of_every_type(tmp_path, dtype, compress):
    values = np.array([[1, 0, 2], [100, 3, 4]], dtype)
    savemat(tmp_path / "d.mat", {"X": values, "Y": Y[:2].astype(bool)}, do_compression=compress)
    data = load_dataset(tmp_path / "d.mat")
    np.testing.assert_array_equal(data.X, values)
    np.testing.assert_array_equal(data.Y, Y[:2])


def test_names_in_a_matrix_of_characters_and_other_classes(tmp_path):
    more = {"label_names": np.array(["l", "mm"]), "s": {"a": 1}, "z": np.array([[1j]]), "t": np.zeros((2, 2, 2))}
    path = mat(tmp_path, X=X, Y=Y, **more)
    assert load_dataset(path).label_names == ("l", "mm")
    assert refused(path, variables={"X": "s", "Y": "Y"}) == "s is no matrix of real numbers"
    assert refused(path, variables={"X": "z", "Y": "Y"}) == "z is no matrix of real numbers"


def test_what_is_no_mat_file(tmp_path):
    path = tmp_path / "d.mat"
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    assert refused(path) == "is MATLAB's version 7.3 (HDF5): save it with -v7"
    path.write_bytes(b"nothing")
    assert refused(path) == "is no MATLAB file of versions 5 to 7"
    path.unlink()
    assert refused(path) == "cannot be read: No such file or directory"
    assert "leave out test" in refused(npz(tmp_path, X=X, Y=Y), test=mat(tmp_path, X=X, Y=Y))
