"""XMC text: a first line "n d k", then LIBSVM lines that count from 0."""

import numpy as np
import pytest

from mlrank import load_dataset
from mlrank.errors import UserError
from tests.datasets.writers import put

TRAIN = "3 5 4\n0,2 0:1 3:2.5\n 4:1\n3,1 1:-1\n"


def load(folder, train=TRAIN, test=None, **more):
    names = put(folder, a_txt=train, b_txt=test or "")
    return load_dataset(names[0], test=names[1] if test else None, format="xmc", **more)


def refused(folder, train, test=None, **more):
    with pytest.raises(UserError) as caught:
        load(folder, train, test, **more)
    return str(caught.value).removeprefix(f"{folder}/")


def test_numbers_count_from_0_and_the_first_line_gives_the_shape(tmp_path):
    data = load(tmp_path, TRAIN.replace("3 5 4", " 3\t6 5 \r"))
    np.testing.assert_array_equal(data.X.toarray(), [[1, 0, 0, 2.5, 0, 0], [0, 0, 0, 0, 1, 0], [0, -1, 0, 0, 0, 0]])
    np.testing.assert_array_equal(data.Y, [[1, 0, 1, 0, 0], [0, 0, 0, 0, 0], [0, 1, 0, 1, 0]])
    assert data.label_names == tuple("01234")
    assert data.feature_names == tuple("012345")
    assert data.description == "file a.txt"


def test_two_parts_and_names(tmp_path):
    labels, features = put(tmp_path, l_txt="w\nx\ny\nz\n", f_txt="a\nb\nc\nd\ne\n")
    data = load(tmp_path, test="1 5 4\n1 2:9\n", labels=labels, features=features)
    assert [rows.tolist() for rows in data.official] == [[0, 1, 2], [3]]
    assert (data.label_names, data.feature_names) == (("w", "x", "y", "z"), ("a", "b", "c", "d", "e"))
    assert data.X[3, 2] == 9


@pytest.mark.parametrize(
    ("train", "test", "said"),
    [
        ("7395 5 4\n0 1:1\n", None, "a.txt:1:1: the first line says 7395 rows, the file has 1"),
        ("0,1 1:1\n", None, "a.txt:1:1: expected the first line of an XMC file: numbers of rows, features and labels"),
        ("", None, "a.txt: holds no rows"),
        ("1 5 4\n", None, "a.txt: holds no rows"),
        ("1 0 4\n0 1:1\n", None, "a.txt:1:1: 0 features: possible are 1 to"),
        ("1 5 99999999\n0 1:1\n", None, "a.txt:1:1: 99999999 labels: possible are 1 to"),
        ("1 5 4\n0 1:1 5:1\n", None, "a.txt:2:7: feature number 5, but the first line says 5 features: 0 to 4"),
        ("2 5 4\n0 1:1\n2,4 1:1\n", None, "a.txt:3:3: label number 4, but the first line says 4 labels: 0 to 3"),
        (
            TRAIN,
            "1 6 4\n0 1:1\n",
            "b.txt:1:1: a.txt has 5 features and 4 labels; the first line here says other numbers",
        ),
        (TRAIN, "2 5 4\n0 1:1\n0 1:1 1:2\n", "b.txt:3:7: feature 1 occurs twice in this row"),
        ("2 5 4\n0 1:1\n\n0 1:2\n", None, "a.txt:3:1: an empty line between rows"),
    ],
)
def test_mistakes(tmp_path, train, test, said):
    assert refused(tmp_path, train, test).startswith(said)


def test_names_of_another_number(tmp_path):
    (names,) = put(tmp_path, n_txt="x\ny\n")
    assert refused(tmp_path, TRAIN, labels=names) == "n.txt: names 2 labels, a.txt has 4"
    assert refused(tmp_path, TRAIN, features=names) == "n.txt: names 2 features, a.txt has 5"
    assert "always count from 0" in refused(tmp_path, TRAIN, zero_based=True)


def test_feature_names_give_libsvm_files_their_width(tmp_path):
    path, names = put(tmp_path, a_svm="0,1 1:1 2:2\n", f_txt="p\nq\nr\n")
    data = load_dataset(path, features=names, zero_based=False)
    assert data.feature_names == ("p", "q", "r")
    np.testing.assert_array_equal(data.X.toarray(), [[1, 2, 0]])
    with pytest.raises(UserError, match=r"features may count from 0 or from 1: 3 are named in f\.txt"):
        load_dataset(path, features=names)
    path.write_text("0,1 1:1 4:2\n")
    with pytest.raises(UserError, match=r"a\.svm:1:9: feature number 4, but f\.txt names 3 features: 1 to 3"):
        load_dataset(path, features=names)
    names.write_text("p\np\n")
    with pytest.raises(UserError, match=r"f\.txt:2:1: feature 'p' is named twice"):
        load_dataset(path, features=names)
