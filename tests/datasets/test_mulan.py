"""Mulan ARFF + XML: what each spelling means, and where each mistake is reported."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import issparse

from mlrank import load_dataset
from mlrank.datasets.formats import text as text_files
from mlrank.errors import UserError
from tests.datasets.writers import WEATHER, WEATHER_XML, arff_of, put, xml_of


def load(folder, arff, names, **more):
    path, labels = put(folder, data_arff=arff, data_xml=names if isinstance(names, str) else xml_of(names))
    return load_dataset(path, labels=labels, **more)


def refused(folder, arff, names=("l",), file="data.arff"):
    """Return what is said about a file, as (line, column, message)."""
    with pytest.raises(UserError) as caught:
        load(folder, arff, names)
    error = caught.value
    assert "\n" not in str(error)
    assert error.path == folder / file
    return error.line, error.column, error.message


def test_features_labels_names_and_order(tmp_path):
    data = load(tmp_path, WEATHER, WEATHER_XML)
    one_hot = ("outlook=sunny", "outlook=overcast", "outlook=rainy")
    assert data.feature_names == (*one_hot, "temperature", "windy=TRUE", "windy=FALSE")
    assert data.label_names == ("stay", "play")  # the XML's order, not the attributes'
    np.testing.assert_array_equal(data.X, [[1, 0, 0, 85, 0, 1], [0, 1, 0, 64.5, 1, 0], [0, 0, 1, -0.7, 0, 1]])
    np.testing.assert_array_equal(data.Y, [[True, False], [False, True], [True, True]])
    assert data.official is None
    assert data.name == "data"
    assert data.description == "file data.arff"
    assert not data.stand_in


def test_train_and_test_part_give_the_official_split(tmp_path):
    train, test, labels = put(tmp_path, a_arff=WEATHER, b_arff=WEATHER + "rainy,1,TRUE,0,0\n", w_xml=WEATHER_XML)
    data = load_dataset(train, test=test, labels=labels, name="weather")
    assert data.name == "weather"
    assert [rows.tolist() for rows in data.official] == [[0, 1, 2], [3, 4, 5, 6]]
    np.testing.assert_array_equal(data.X[:3], data.X[3:6])
    np.testing.assert_array_equal(data.X[6], [0, 0, 1, 1, 1, 0])
    assert not data.Y[6].any()


def test_spelling_of_the_header_does_not_matter(tmp_path):
    odd = (
        "% a comment\r\n\r\n@RELATION 'a b: -C 9'\r\n@Attribute\toutlook\t{ sunny , 'overcast',\"rainy\" }  \r\n"
        "@ATTRIBUTE temperature   INTEGER % degrees\r\n  @attribute 'windy' {TRUE, FALSE}\r\n"
        '@attribute "play" {1, 0}\r\n@attribute stay numeric\r\n%\r\n@DATA\r\n%x\r\n'
        "sunny,85,FALSE,0,1\r\n\r\n  'overcast' ,\t64.5 , \"TRUE\",'1',0\r\nrainy\t-7e-1\tFALSE\t1\t1 % last"
    )
    plain = load(tmp_path, WEATHER, WEATHER_XML)
    data = load(tmp_path, odd, WEATHER_XML)
    assert (data.feature_names, data.label_names) == (plain.feature_names, plain.label_names)
    np.testing.assert_array_equal(data.X, plain.X)
    np.testing.assert_array_equal(data.Y, plain.Y)


def test_names_with_quotes_blanks_and_signs(tmp_path):
    names = ["Swainson's Thrush", 'the "quoted"', "C(-C)(=O)", "-", "01/01/03", "back\\slash", "tab\there", "ünïcode"]
    spelled = [r"'Swainson\'s Thrush'", "'the \"quoted\"'", "C(-C)(=O)", "-", "01/01/03", r"'back\\slash'"]
    spelled += [r"'tab\there'", "ünïcode"]
    head = "\n".join(f"@attribute {name} {{0,1}}" for name in ["x", *spelled])
    xml_names = [name.replace("\t", "&#9;") for name in reversed(names)]
    xml = xml_of(xml_names).replace("&amp;#9;", "&#9;")
    data = load(tmp_path, f"{head}\n@data\n1,1,0,0,0,0,0,0,1\n", xml)
    assert data.label_names == tuple(reversed(names))
    np.testing.assert_array_equal(data.Y, [[True, False, False, False, False, False, False, True]])


def test_nominal_values_that_look_like_numbers_are_not_ordered(tmp_path):
    arff = "@attribute location {2,10,1}\n@attribute l {0,1}\n@attribute x numeric\n@data\n1,0,5\n10,1,6\n"
    data = load(tmp_path, arff, ["l"])
    assert data.feature_names == ("location=2", "location=10", "location=1", "x")
    np.testing.assert_array_equal(data.X, [[0, 0, 1, 5], [0, 1, 0, 6]])


def test_the_relation_name_does_not_decide_which_attributes_are_labels(tmp_path):
    arff = "@relation 'x: -C 2'\n@attribute a numeric\n@attribute b numeric\n@attribute l {0,1}\n@data\n3,4,1\n"
    data = load(tmp_path, arff, ["l"])
    assert data.feature_names == ("a", "b")
    np.testing.assert_array_equal(data.Y, [[True]])


SPARSE_HEAD = (
    "@attribute a numeric\n@attribute l {0,1}\n@attribute b {0,1}\n@attribute m {0,1}\n@attribute c real\n@data\n"
)


def test_sparse_rows(tmp_path):
    data = load(tmp_path, SPARSE_HEAD + "{0 2.5,1 1}\n{}\n{ 4 -1 , 3 1 }\n{2 1,0 0}\n{ }\n", ["m", "l"])
    assert issparse(data.X)
    np.testing.assert_array_equal(data.X.toarray(), [[2.5, 0, 0], [0, 0, 0], [0, 0, -1], [0, 1, 0], [0, 0, 0]])
    np.testing.assert_array_equal(data.Y, [[0, 1], [0, 0], [1, 0], [0, 0], [0, 0]])
    assert data.X.nnz == 3  # a zero that is written is not stored
    assert data.feature_names == ("a", "b", "c")


def test_all_zero_last_column_and_row_keep_their_place(tmp_path):
    data = load(tmp_path, SPARSE_HEAD + "{0 1}\n{}\n", ["l", "m"])
    assert data.X.shape == (2, 3)
    assert data.Y.shape == (2, 2)


def test_what_a_sparse_row_leaves_out_has_the_first_declared_value(tmp_path):
    head = "@attribute c {red,green,blue}\n@attribute b {1,0}\n@attribute l {1,0}\n@attribute m {0,1}\n@data\n"
    data = load(tmp_path, head + "{}\n{0 green,1 0,2 0,3 1}\n{0 blue,1 1}\n{0 red}\n", ["l", "m"])
    np.testing.assert_array_equal(data.X.toarray(), [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 1]])
    np.testing.assert_array_equal(data.Y, [[1, 0], [0, 1], [1, 0], [1, 0]])


def test_each_part_is_read_by_its_own_header(tmp_path):
    first = "@attribute a numeric\n@attribute c {x,y}\n@attribute l {0,1}\n@attribute m {0,1}\n@data\n"
    second = "@attribute m {1,0}\n@attribute l {0,1}\n@attribute c {y,x}\n@attribute a numeric\n@data\n"
    train, test, labels = put(
        tmp_path, a_arff=first + "{0 1,1 y}\n", b_arff=second + "{3 1}\n{0 0,2 x}\n", n_xml=xml_of("lm")
    )
    data = load_dataset(train, test=test, labels=labels)
    np.testing.assert_array_equal(data.X.toarray(), [[1, 0, 1], [1, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(data.Y, [[0, 0], [0, 1], [0, 0]])


def test_nested_labels_are_flattened_and_mark_their_ancestors(tmp_path):
    xml = '<labels><label name="1"><label name="1/a"><label name="1/a/b"/></label></label><label name="2"/></labels>'
    head = "@attribute x real\n" + "".join(f"@attribute {n} {{0,1}}\n" for n in ("1", "1/a", "1/a/b", "2")) + "@data\n"
    data = load(tmp_path, head + "1,0,0,1,0\n2,0,1,0,1\n3,0,0,0,1\n4,1,1,1,0\n", xml)
    assert data.label_names == ("1", "1/a", "1/a/b", "2")
    np.testing.assert_array_equal(data.Y, [[1, 1, 1, 0], [1, 1, 0, 1], [0, 0, 0, 1], [1, 1, 1, 0]])
    assert data.description == "file data.arff (3 ancestor labels marked)"


HEAD = "@attribute x numeric\n@attribute c {p,q r}\n@attribute l {0,1}\n@data\n"


@pytest.mark.parametrize(
    ("row", "column", "said"),
    [
        ("1,p", 4, "ends after 2 of 3 values"),
        ("1,p,0,0", 6, "more than the 3 values"),
        ("one,p,0", 1, "'x' is numeric, found 'one'"),
        ("1_0,p,0", 1, "'x' is numeric, found '1_0'"),
        ("0x1,p,0", 1, "'x' is numeric, found '0x1'"),
        ("nan,p,0", 1, "'x' is numeric, found 'nan'"),
        ("1e,p,0", 1, "'x' is numeric, found '1e'"),
        ("-,p,0", 1, "'x' is numeric, found '-'"),
        ("'1,p,0", 1, "'x' is numeric"),
        ("1,p,0,{2}", 7, "the row has the weight '{2}', and no solver takes weights of rows"),
        ("1e999,p,0", 1, "'1e999' is too large"),
        (" , p,0", 2, "'x' is numeric, found"),
        ("?,p,0", 1, "is missing: set impute"),
        ("1, ? ,0", 4, "is missing: set impute"),
        ("1,P,0", 3, "unknown value of attribute 'c' 'P'. Did you mean 'p'?"),
        ("1,'p,0", 3, "quote is opened and not closed"),
        ("1,'p\\',0", 3, "quote is opened and not closed"),
        ("1,'p'q,0", 6, "expected a comma"),
        ("1,p,2", 5, "'l' takes 0 or 1, found '2'"),
        ("1,p,'1", 5, "'l' takes 0 or 1"),
        ("1 2,p,0", 3, "expected a comma"),
        ("{0 1}", 1, "braces"),
        ("1,q r,1 {5}", 9, "expected a comma"),
    ],
)
def test_mistakes_in_dense_rows(tmp_path, row, column, said):
    line, found, message = refused(tmp_path, f"{HEAD}1,q r,0\n\n% note\n{row}\n2,p,1\n")
    assert (line, found) == (8, column)
    assert said in message


@pytest.mark.parametrize(
    ("row", "column", "said"),
    [
        ("{0 1", 5, "closing brace is missing"),
        ("{0 1,", 6, "closing brace is missing"),
        ("{0 1} x", 7, "after the closing brace: 'x'"),
        ("{0 1}, {3}", 8, "the row has the weight '{3}', and no solver takes weights of rows"),
        ("{0 1} {3}", 7, "after the closing brace"),
        ("{3 1}", 2, "attribute number '3' is beyond the last, 2"),
        ("{99999999999999999999 1}", 2, "beyond the last"),
        ("{0 1,0 2}", 6, "'0' ('x') occurs twice"),
        ("{0 1,2 1,2 0}", 10, "'2' ('l') occurs twice"),
        ("{-1 1}", 2, "expected an attribute's number"),
        ("{x 1}", 2, "expected an attribute's number"),
        ("{0:1}", 2, "expected an attribute's number"),
        ("{0 1,}", 6, "expected an attribute's number"),
        ("{0 ?}", 4, "is missing: set impute"),
        ("{1 z}", 4, "unknown value of attribute 'c'"),
        ("{2 7}", 4, "takes 0 or 1"),
        ("{0 1 2}", 6, "expected a comma"),
        ("1,p,0", 1, "expected a sparse row"),
    ],
)
def test_mistakes_in_sparse_rows(tmp_path, row, column, said):
    line, found, message = refused(tmp_path, f"{HEAD}{{0 1}}\n{row}\n{{}}\n")
    assert (line, found) == (6, column)
    assert said in message


@pytest.mark.parametrize(
    ("header", "line", "column", "said"),
    [
        ("@attribute x numeric\n@attribute 'x' numeric\n", 2, 12, "'x' is declared twice, first in line 1"),
        ("@attribute x\n", 1, 13, "expected the type numeric"),
        ("@attribute x string\n", 1, 12, "type string, which holds no numbers"),
        ("@attribute x date 'yyyy'\n", 1, 12, "type date"),
        ("@attribute x complex\n", 1, 14, "found 'complex'"),
        ("@attribute x numeric y\n", 1, 21, "unexpected text after the type"),
        ("@attribute 'x numeric\n", 1, 12, "expected an attribute name"),
        ("@attribute x {a,b\n", 1, 17, "expected a value"),
        ("@attribute x {a,,b}\n", 1, 17, "expected a value"),
        ("@attribute x {}\n", 1, 15, "expected a value"),
        ("@attribute x {a, 'b}\n", 1, 17, "expected a value"),
        ("@attribute x {a,a}\n", 1, 17, "lists the value 'a' twice"),
        ("@atribute x numeric\n", 1, 1, "'@atribute'. Did you mean '@attribute'?"),
        ("x,y,z\n", 1, 1, "expected @attribute or @data, found 'x,y,z'"),
        ("@data\n", 1, 1, "@data before any @attribute"),
        ("@attribute \xe9 numeric\n", 1, 12, "not UTF-8"),
    ],
)
def test_mistakes_in_the_header(tmp_path, header, line, column, said):
    content = header.encode("latin-1") + b"@attribute l {0,1}\n@data\n1,1\n"
    assert refused(tmp_path, content)[:2] == (line, column)
    assert said in refused(tmp_path, content)[2]


def test_an_end_before_data_or_rows(tmp_path):
    assert "no @data line" in refused(tmp_path, "@attribute x numeric\n")[2]
    assert "no @data line" in refused(tmp_path, b"")[2]
    assert "no rows after the header" in refused(tmp_path, HEAD + "% nothing\n\n")[2]


def test_labels_that_do_not_fit_the_attributes(tmp_path):
    line, column, message = refused(tmp_path, HEAD + "1,p,0\n", ["l", "X"], "data.xml")
    assert (line, column) == (4, 3)
    assert message == "unknown label 'X'. Did you mean 'x'?: no attribute of data.arff has that name"
    line, column, message = refused(tmp_path, HEAD + "1,p,0\n", ["c"])
    assert (line, column) == (2, 12)
    assert "label 'c' must have the values 0,1, found 'p,q r'" in message
    assert "no feature is left" in refused(tmp_path, "@attribute l {0,1}\n@data\n1\n")[2]


def test_a_numeric_label_must_be_0_or_1(tmp_path):
    head = "@attribute x numeric\n@attribute l numeric\n@data\n"
    np.testing.assert_array_equal(load(tmp_path, head + "3,1\n3,0\n", ["l"]).Y, [[True], [False]])
    line, column, message = refused(tmp_path, head + "3,0.5\n")
    assert (line, column) == (4, 3)
    assert "'l' takes 0 or 1, found '0.5'" in message


def test_labels_are_needed_and_a_file_beside_is_suggested(tmp_path):
    path, other = put(tmp_path, data_arff=WEATHER, names_xml=WEATHER_XML)
    needed, attributes = "name the Mulan XML file that does as labels", "or the attributes in label_columns"
    with pytest.raises(UserError, match=rf"{needed}, perhaps names\.xml, {attributes}$"):
        load_dataset(path)
    other.unlink()
    with pytest.raises(UserError, match=rf"{needed}, {attributes}$"):
        load_dataset(path)


def test_zero_based_is_not_ignored(tmp_path):
    path, labels = put(tmp_path, data_arff=WEATHER, names_xml=WEATHER_XML)
    with pytest.raises(UserError, match="zero_based"):
        load_dataset(path, labels=labels, zero_based=True)


@pytest.mark.parametrize(
    ("test_part", "said"),
    [
        (WEATHER.replace("real", "{0,1}"), "b.arff:4:12: attribute 'temperature' is nominal, but numeric in a.arff"),
        (
            WEATHER.replace("rainy}", "rainy, foggy}"),
            "b.arff:3:12: attribute 'outlook' has the value 'foggy', which a.arff",
        ),
        (WEATHER.replace("e windy", "e windi"), "b.arff:5:12: attribute 'windi' is not in a.arff"),
        (WEATHER.replace("@attribute windy {TRUE, FALSE}\n", ""), "b.arff: attribute 'windy', declared at a.arff:5"),
        (WEATHER[: WEATHER.index("sunny,85")], "b.arff: no rows after the header"),
        (WEATHER.replace("sunny,85,FALSE,0,1", "{1 3}"), "b.arff:10:1: a sparse row in braces"),
    ],
)
def test_parts_that_do_not_fit_each_other(tmp_path, test_part, said):
    train, test, labels = put(tmp_path, a_arff=WEATHER, b_arff=test_part, w_xml=WEATHER_XML)
    with pytest.raises(UserError) as caught:
        load_dataset(train, test=test, labels=labels)
    assert said in str(caught.value)


def test_fewer_declared_values_in_the_test_part_are_no_mistake(tmp_path):
    test_part = WEATHER.replace("overcast, rainy}", "rainy}").replace("overcast,", "sunny,")
    train, test, labels = put(tmp_path, a_arff=WEATHER, b_arff=test_part, w_xml=WEATHER_XML)
    np.testing.assert_array_equal(load_dataset(train, test=test, labels=labels).X[4, :3], [1, 0, 0])


values = st.one_of(st.just(0.0), st.floats(allow_nan=False, allow_infinity=False), st.integers(-9, 9).map(float))


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.integers(1, 6), st.integers(1, 5), st.integers(1, 4), st.booleans(), st.integers(1, 60))
def test_arrays_survive_writing_and_reading(tmp_path, monkeypatch, data, n, d, k, sparse, block_size):
    """Exact, however the columns are mixed and wherever blocks of the file happen to end."""
    monkeypatch.setattr(text_files, "BLOCK_SIZE", block_size)
    X = data.draw(arrays(np.float64, (n, d), elements=values))
    Y = data.draw(arrays(np.bool_, (n, k)))
    order = data.draw(st.permutations(range(d + k)))
    names = data.draw(st.permutations(range(k)))
    arff = arff_of(X, Y, order, sparse)
    read = load(tmp_path, arff, [f"l{label}" for label in names])
    columns = [int(name[1:]) for name in read.feature_names]
    assert sorted(columns) == list(range(d))
    assert issparse(read.X) == sparse
    dense = read.X.toarray() if sparse else read.X
    np.testing.assert_array_equal(dense, X[:, columns])
    np.testing.assert_array_equal(read.Y, Y[:, list(names)])


@pytest.mark.parametrize("sparse", [False, True])
def test_positions_are_right_beyond_the_first_block(tmp_path, monkeypatch, sparse):
    monkeypatch.setattr(text_files, "BLOCK_SIZE", 16)
    rows = ["{0 1,2 1}" if sparse else "1,p,1"] * 50
    rows[37] = "{0 1,2 x}" if sparse else "1,p,x"
    line, column, _ = refused(tmp_path, HEAD + "\n".join(rows))
    assert (line, column) == (4 + 38, 8 if sparse else 5)


BINARY = "{0,1}"


@pytest.mark.parametrize(
    ("kinds", "labels", "told"),
    [
        ("n n b b b", "de", ["c"]),
        ("n n b b b", "cde", []),
        ("b b n n", "a", ["b"]),
        ("b b b b", "cd", []),  # features may be binary too, and nothing tells where they end
        ("n b n b", "d", []),
        ("b n b b", "cd", []),
        ("b n n b b", "ae", ["d"]),
        ("n n b b b", "a", []),  # a label that is numeric
    ],
)
def test_attributes_among_the_labels_that_the_xml_does_not_name_are_told(tmp_path, kinds, labels, told):
    names = "abcdefgh"[: len(kinds.split())]
    declared = (
        f"@attribute {name} {BINARY if kind == 'b' else 'numeric'}\n"
        for name, kind in zip(names, kinds.split(), strict=True)
    )
    arff = f"@relation r\n{''.join(declared)}@data\n{','.join('0' * len(names))}\n{','.join('1' * len(names))}\n"
    data = load(tmp_path, arff, list(labels))
    assert data.label_names == tuple(labels)
    if told:
        listed = ", ".join(f"'{name}'" for name in told)
        said = f"among the labels stand features with the values 0,1 that data.xml does not name: {listed}"
        assert data.description == f"file data.arff ({said})"
    else:
        assert data.description == "file data.arff"
