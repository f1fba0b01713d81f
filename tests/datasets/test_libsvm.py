"""Multi-label LIBSVM: rows without labels, bases decided once, widths, and where mistakes are reported."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mlrank import load_dataset
from mlrank.datasets.formats import text as text_files
from mlrank.errors import UserError
from tests.datasets.writers import libsvm_of, put, xml_of


def load(folder, train, test=None, names=None, **more):
    paths = put(folder, a_svm=train, **({"b_svm": test} if test is not None else {}))
    labels = put(folder, n_txt="\n".join(names) + "\n")[0] if names else None
    return load_dataset(paths[0], test=paths[1] if test is not None else None, labels=labels, **more)


def refused(folder, *args, **more):
    with pytest.raises(UserError) as caught:
        load(folder, *args, **more)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(folder) + "/", "")


def test_comments_blanks_label_order_and_a_row_without_labels(tmp_path):
    text = "# a comment\n1,0 2:2.5   10:-5.2 4:1.5\n2 5:1.0\t3:-3 # more\n 2:3.5 11:26\n1,2 9:27"
    data = load(tmp_path, text)
    expected = np.zeros((4, 11))
    expected[0, [1, 9, 3]] = 2.5, -5.2, 1.5
    expected[1, [4, 2]] = 1, -3
    expected[2, [1, 10]] = 3.5, 26
    expected[3, 8] = 27
    np.testing.assert_array_equal(data.X.toarray(), expected)
    np.testing.assert_array_equal(data.Y, [[1, 1, 0], [0, 0, 1], [0, 0, 0], [0, 1, 1]])
    assert data.X.has_canonical_format
    assert data.label_names == ("0", "1", "2")
    assert data.feature_names == tuple(str(number) for number in range(1, 12))
    assert data.description == "file a.svm (features counted from 1, labels from 0)"


def test_a_row_of_one_blank_has_neither_labels_nor_features(tmp_path):
    data = load(tmp_path, "1 1:1\n \n2 2:1\n\n\n")
    assert data.Y.tolist() == [[True, False], [False, False], [False, True]]
    assert data.X.toarray().tolist() == [[1, 0], [0, 0], [0, 1]]


def test_an_empty_line_between_rows_is_no_row_and_not_skipped(tmp_path):
    assert refused(tmp_path, "1 1:1\n\n2 2:1\n").startswith("a.svm:2:1: an empty line between rows")


@pytest.mark.parametrize(
    ("text", "zero_based", "feature_names", "label_names"),
    [
        ("0 0:1 2:1\n", None, "012", "0"),
        ("1 1:1 2:1\n", None, "12", "1"),
        ("0 1:1 2:1\n", None, "12", "0"),
        ("1 1:1 2:1\n", True, "012", "01"),
        ("1 1:1 2:1\n", False, "12", "1"),
        ("0 1:1 2:1\n", False, "12", "0"),
    ],
)
def test_the_base_comes_from_the_user_or_the_training_part(tmp_path, text, zero_based, feature_names, label_names):
    data = load(tmp_path, text, zero_based=zero_based)
    assert data.feature_names == tuple(feature_names)
    assert data.label_names == tuple(label_names)


def test_the_training_part_decides_the_base_for_both(tmp_path):
    data = load(tmp_path, "0 0:1 3:1\n", "0 1:7\n")
    assert data.X.toarray().tolist() == [[1, 0, 0, 1], [0, 7, 0, 0]]
    data = load(tmp_path, "1,2 1:1 3:1\n", "1 2:7\n")
    assert data.X.toarray().tolist() == [[1, 0, 1], [0, 7, 0]]
    assert data.Y.tolist() == [[True, True], [True, False]]


def test_parts_that_disagree_are_refused(tmp_path):
    assert refused(tmp_path, "1 1:1\n", "# x\n1 1:1 0:2\n") == (
        "b.svm:2:7: feature number 0, but features count from 1 in the training part; see zero_based"
    )
    assert refused(tmp_path, "1,2 1:1\n", "1 1:1\n2,0 1:1\n").startswith(
        "b.svm:2:3: label number 0, but labels count from 1"
    )
    assert refused(tmp_path, "0 1:1 2:1\n", " 1:1 2:2 3:1\n") == (
        "b.svm:1:10: feature number 3, but the training part ends at feature 2; "
        "a file of feature names can declare more"
    )
    assert refused(tmp_path, "0,1 1:1\n", "2 1:1\n") == (
        "b.svm:1:1: label number 2, but the training part ends at label 1; a file of label names can declare more"
    )
    assert refused(tmp_path, "0 0:1\n", zero_based=False).startswith("a.svm:1:3: feature number 0")


def test_a_narrower_test_part_keeps_the_training_width_and_says_so(tmp_path):
    data = load(tmp_path, "0,1,2 1:1 5:1\n", "0 2:1\n")
    assert data.X.shape == (2, 5)
    assert data.Y.shape == (2, 3)
    assert [rows.tolist() for rows in data.official] == [[0], [1]]
    assert data.description == (
        "files a.svm and b.svm (features counted from 1, labels from 0; "
        "b.svm ends at feature 2 and keeps the training part's width, up to 5)"
    )
    assert "b.svm has no feature and keeps" in load(tmp_path, "0 1:1\n", "0\n").description


def test_label_names_give_the_width_and_the_base(tmp_path):
    data = load(tmp_path, "0 1:1\n2 1:1\n", "3 1:2\n", names=["w", "x y", "ü", "z"])
    assert data.label_names == ("w", "x y", "ü", "z")
    assert data.Y.argmax(axis=1).tolist() == [0, 2, 3]
    assert load(tmp_path, "4 1:1\n2 1:1\n", names="wxyz").Y.argmax(axis=1).tolist() == [3, 1]
    assert load(tmp_path, "2 1:1\n", names="wxyz", zero_based=False).Y.argmax(axis=1).tolist() == [1]
    assert load(tmp_path, "2 1:1\n", names="wxyz", zero_based=True).Y.argmax(axis=1).tolist() == [2]
    assert refused(tmp_path, "2 1:1\n", names="wxyz").startswith(
        "a.svm: labels may count from 0 or from 1: 4 are named in n.txt"
    )
    assert refused(tmp_path, "0 1:1\n4,1 1:1\n", names="wxyz") == (
        "a.svm:2:1: label number 4, but n.txt names 4 labels: 0 to 3"
    )


def test_label_names_from_xml(tmp_path):
    data, labels = put(tmp_path, a_svm="1,0 1:1\n", n_xml=xml_of(["b", "a"]))
    assert load_dataset(data, labels=labels).label_names == ("b", "a")


@pytest.mark.parametrize(
    ("row", "column", "said"),
    [
        ("2, 5 1:1", 3, "a blank after a comma in the list of labels: write 2,5 instead of 2, 5"),
        ("2,,5 1:1", 3, "expected a label's number (whole, not negative), found ',5'"),
        ("2;5 1:1", 1, "expected a label's number (whole, not negative), found '2;5'"),
        ("1.0 1:1", 1, "found '1.0'"),
        ("-1 1:1", 1, "found '-1'"),
        ("+1 1:1", 1, "found '+1'"),
        ("a 1:1", 1, "found 'a'"),
        ("1:1 2:1", 1, "found the feature '1:1' where labels belong; a row without labels starts with a blank"),
        (" 1,2 1:1", 2, "found the label '1' after a blank"),
        ("1 2 3:1", 3, "expected index:value, found '2'"),
        ("1 3:1 4", 7, "expected index:value, found '4'"),
        ("1 qid:3 4:1", 3, "expected index:value, found 'qid:3'"),
        ("1 -3:1", 3, "expected index:value, found '-3:1'"),
        ("1 3:", 5, "expected a number after the colon, found ''"),
        ("1 3: 4:1", 5, "expected a number after the colon"),
        ("1 3:x", 5, "found 'x'"),
        ("1 3:nan", 5, "found 'nan'"),
        ("1 3:1,5", 5, "found '1,5'"),
        ("1 3:0x1", 5, "found '0x1'"),
        ("1 3:1e500", 5, "'1e500' is too large for a 64-bit number"),
        ("1 3000000000:1", 3, "'3000000000:1' is larger than"),
        ("4294967296 1:1", 1, "'4294967296' is larger than"),
        ("1 3:1 2:1 3:2", 11, "feature 3 occurs twice in this row"),
        ("1,2,1 3:1", 5, "label 1 occurs twice in this row"),
        ("7395 1836 159", 6, "expected index:value, found '1836'"),
    ],
)
def test_mistakes_in_a_row(tmp_path, row, column, said):
    assert refused(tmp_path, f"# head\n0 1:1\n{row}\n").startswith(f"a.svm:3:{column}: ")
    assert said in refused(tmp_path, f"# head\n0 1:1\n{row}\n")


def test_a_repeat_is_found_in_long_rows_and_behind_other_parts(tmp_path):
    pairs = [f"{j}:1" for j in range(100, 0, -1)]
    assert load(tmp_path, "0 " + " ".join(pairs)).X.nnz == 100
    text = "\n\n"
    said = refused(tmp_path, "0 " + " ".join(pairs) + "\n", "# c\n0 1:1\n0 " + " ".join([*pairs, "007:2"]) + text)
    assert said.startswith("b.svm:3:")
    assert said.endswith("feature 7 occurs twice in this row")


def test_a_stray_large_number_does_not_fill_the_memory(tmp_path):
    assert refused(tmp_path, "0 1:1\n0 2147483646:1\n") == (
        "a.svm:2:3: feature number 2147483646: more than 8388608 are not supported"
    )
    # Of labels the numbers that occur are read.
    data = load(tmp_path, "0,2000000000 1:1\n7 1:1\n")
    assert data.label_names == ("0", "7", "2000000000")
    assert data.Y.tolist() == [[True, False, True], [False, True, False]]
    assert data.notes[1] == "3 labels, the numbers that occur between 0 and 2000000000"


def test_nothing_to_read(tmp_path):
    assert refused(tmp_path, "") == "a.svm: holds no rows"
    assert refused(tmp_path, "# only\n\n") == "a.svm: holds no rows"
    assert refused(tmp_path, "0 1:1\n", "") == "b.svm: holds no rows"
    assert refused(tmp_path, " 1:1\n") == "a.svm: the training part has no label"
    assert refused(tmp_path, "1\n2\n") == "a.svm: the training part has no feature"


values = st.one_of(st.just(0.0), st.floats(allow_nan=False, allow_infinity=False), st.integers(-9, 9).map(float))


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.integers(1, 6), st.integers(1, 5), st.integers(1, 4), st.integers(0, 1), st.integers(1, 60))
def test_arrays_survive_writing_and_reading(tmp_path, monkeypatch, data, n, d, k, base, block_size):
    monkeypatch.setattr(text_files, "BLOCK_SIZE", block_size)
    X = data.draw(arrays(np.float64, (n, d), elements=values))
    Y = data.draw(arrays(np.bool_, (n, k)))
    X[0], Y[0] = 1.0, True  # the first row spans the width and the base
    order = data.draw(st.permutations(range(k)))
    read = load(tmp_path, libsvm_of(X, Y, base, 0, order))
    np.testing.assert_array_equal(read.X.toarray(), X)
    np.testing.assert_array_equal(read.Y, Y)
    assert read.feature_names[0] == str(base)


def test_positions_are_right_beyond_the_first_block(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "BLOCK_SIZE", 16)
    rows = ["0,1 1:1 2:2"] * 50
    rows[37] = "0,1 1:1 2:x"
    assert refused(tmp_path, "\n".join(rows)).startswith("a.svm:38:11: ")
    rows[37] = ""
    assert refused(tmp_path, "\n".join(rows)).startswith("a.svm:38:1: an empty line")
