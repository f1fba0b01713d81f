"""Converting: nothing is lost between any two formats, and what would be is refused."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse
from typer.testing import CliRunner

from mlrank import load_dataset
from mlrank.cli.datasets import app
from mlrank.config import parse_config
from mlrank.datasets import Dataset, dataset_hash
from mlrank.datasets.convert import convert, without
from mlrank.datasets.formats import FORMATS, format_to_write
from mlrank.errors import UserError

NAMED = [key for key in FORMATS if key != "clus"]
SPLIT = (np.arange(3), np.arange(3, 5))
# Paths that are closed upwards, as Clus' classes are.
LABELS = ("1", "1/2", "it's", 'ü, "x"\\')


def make(sparse=False, known=False, official=SPLIT, labels=LABELS, features=("a=b", "x y", "{1", "q\t%"), clus=False):
    X = np.array([[1.5, 0, -2e-300, 0], [0, 0, 0, 0], [0.1, 1e22, 0, 3], [0, 5, 0, 0], [-0.25, 0, 0, 1 / 3]])
    Y = np.array([[1, 1, 0, 0], [0, 0, 0, 0], [1, 0, 1, 1], [0, 0, 0, 1], [1, 0, 0, 0]], bool)
    if clus:
        Y[1] = [0, 0, 1, 0]
    mask = None
    if known:
        mask = np.ones(Y.shape, bool)
        mask[1, 2] = mask[4, 1] = False
    return Dataset("d'ata", csr_array(X) if sparse else X, Y, mask, labels, features, official, "made here")


def again(written):
    given = dict(written)
    return load_dataset(given.pop("train"), **given)


def assert_same(data, expected):
    np.testing.assert_array_equal(
        data.X.toarray() if issparse(data.X) else data.X, expected.X.toarray() if issparse(expected.X) else expected.X
    )
    np.testing.assert_array_equal(data.Y, expected.Y)
    assert (data.known is None) == (expected.known is None)
    if data.known is not None:
        np.testing.assert_array_equal(data.known, expected.known)
    assert (data.label_names, data.feature_names) == (expected.label_names, expected.feature_names)
    assert (data.official is None) == (expected.official is None)
    if data.official is not None:
        for mine, other in zip(data.official, expected.official, strict=True):
            np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("official", [SPLIT, None])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("key", NAMED)
def test_nothing_is_lost(tmp_path, key, sparse, official):
    if key == "parquet":
        pytest.importorskip("pyarrow")
    data = make(sparse, official=official)
    found = again(convert(data, tmp_path / f"d{FORMATS[key].written}", key))
    assert_same(found, data)
    if key in ("mulan", "meka", "npz", "mat"):
        # These keep the storage too, so that stored results stay valid.
        assert dataset_hash(found) == dataset_hash(data)


@pytest.mark.parametrize("sparse", [False, True])
def test_clus_keeps_a_hierarchy(tmp_path, sparse):
    data = make(sparse, labels=("1", "1/2", "3", "it's"), clus=True)
    assert_same(again(convert(data, tmp_path / "d.arff", "clus")), data)


def test_chain_through_all_formats(tmp_path):
    pytest.importorskip("pyarrow")
    data = found = make()
    for place, key in enumerate([*NAMED, *reversed(NAMED)]):
        found = again(convert(found, tmp_path / f"d{place}{FORMATS[key].written}", key))
    assert_same(found, data)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("key", ["mulan", "meka", "csv", "parquet", "npz", "mat"])
def test_unknown_entries_are_kept(tmp_path, key, sparse):
    if key == "parquet":
        pytest.importorskip("pyarrow")
    data = make(sparse, known=True)
    assert_same(again(convert(data, tmp_path / f"d{FORMATS[key].written}", key)), data)


MIXED = (np.array([4, 0, 2]), np.array([1, 3]))


@pytest.mark.parametrize(
    ("key", "data", "said"),
    [
        ("libsvm", make(known=True), "2 label entries are unknown, which the format 'libsvm' cannot hold"),
        ("xmc", make(known=True), "2 label entries are unknown"),
        ("clus", make(known=True), "2 label entries are unknown"),
        ("clus", make(), "row 2 has no label"),
        ("clus", make(clus=True, labels=("1", "1/2", "a,b", "c")), "cannot be held by the format 'clus'"),
        ("clus", make(clus=True, labels=("1/2", "1", "a", "c")), "cannot be held by the format 'clus'"),
        ("mulan", make(official=MIXED), "the rows of the official split are mixed"),
        ("csv", make(official=MIXED), "the rows of the official split are mixed"),
        (
            "mulan",
            make(features=("1", "b", "c", "d")),
            "cannot be held by the format 'mulan': attribute '1' is declared",
        ),
        ("csv", make(features=("1", "b", "c", "d")), "two columns are named '1'"),
        ("csv", make(features=("a\nb", "b", "c", "d")), "does not fit into a header line"),
        ("libsvm", make(features=(" a", "b", "c", "d")), "the name ' a' does not fit on a line of its own"),
        ("xmc", make(labels=("a", "b", "c", "")), "the name '' does not fit on a line of its own"),
        ("libsvm", make(labels=("a", "b", "c", "c")), "label 'c' is named twice"),
        ("mulan", make(labels=("a", "b", "c", "\x01")), "cannot be held by the format 'mulan'"),
        ("npz", make(labels=("a", "b", "c", "d\0")), "cannot be held by the format 'npz'"),
        ("mulan", make(labels=("a", "b", "c", "\udc80")), "a name is no valid text"),
    ],
)
def test_what_a_format_cannot_hold_is_refused_and_leaves_nothing(tmp_path, key, data, said):
    with pytest.raises(UserError) as caught:
        convert(data, tmp_path / f"d{FORMATS[key].written}", key)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_npz_holds_a_mixed_split(tmp_path):
    data = make(official=MIXED)
    assert_same(again(convert(data, tmp_path / "d.npz", "npz")), data)


def test_files_that_are_there_are_kept(tmp_path):
    (tmp_path / "d.xml").write_text("mine")
    with pytest.raises(UserError, match=r"d\.xml: is there already; give --force"):
        convert(make(), tmp_path / "d.arff", "mulan")
    assert [path.name for path in tmp_path.iterdir()] == ["d.xml"]
    convert(make(), tmp_path / "d.arff", "mulan", replace_files=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d-test.arff", "d.arff", "d.xml"]
    with pytest.raises(UserError, match="no such folder"):
        convert(make(), tmp_path / "x" / "d.arff", "mulan")


def test_format_by_ending(tmp_path):
    assert format_to_write(tmp_path / "a.arff", None).key == "mulan"
    assert format_to_write(tmp_path / "a.arff", "meka").key == "meka"
    assert format_to_write(tmp_path / "a.txt", None).key == "xmc"
    with pytest.raises(UserError, match="does not say which format to write"):
        format_to_write(tmp_path / "a.svm.gz", None)
    with pytest.raises(UserError, match=r"unknown data format 'mulam'\. Did you mean 'mulan'"):
        format_to_write(tmp_path / "a.arff", "mulam")


def test_the_command_prints_how_to_read_it(tmp_path, monkeypatch):
    monkeypatch.delenv("MLRANK_DATA", raising=False)
    result = CliRunner().invoke(app, ["convert", "yeast", str(tmp_path / "y.svm")], catch_exceptions=False)
    assert result.exit_code == 0
    rest = "split: {kind: official}\nmethods: {A: {solver: binary_svm}}\nname: y\n"
    (entry,) = parse_config(result.output + rest, "c.yaml").datasets
    found = load_dataset(entry.train, **entry.model_dump(exclude={"name", "train"}, exclude_defaults=True))
    assert_same(found, load_dataset("yeast"))


NAMES = st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=4), min_size=4, max_size=4, unique=True)


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(NAMES, NAMES, st.sampled_from([key for key in NAMED if key != "parquet"]), st.booleans())
def test_any_names_are_kept_or_refused(tmp_path, labels, features, key, sparse):
    data = replace(make(sparse), label_names=tuple(labels), feature_names=tuple(features))
    try:
        written = convert(data, tmp_path / f"d{FORMATS[key].written}", key, replace_files=True)
    except UserError:
        return
    assert_same(again(written), data)


def test_what_rows_are_called_may_be_dropped(tmp_path):
    (tmp_path / "d.csv").write_text("name,who,a,l\nx,1,2,1\ny,1,3,0\nz,2,4,1\n")
    data = load_dataset(tmp_path / "d.csv", label_columns="l", id_column="name", group_column="who")
    with pytest.raises(UserError, match=r"the ids of its rows have no place in it; .* or drop them: --drop ids"):
        convert(data, tmp_path / "d.svm", "libsvm")
    options = convert(without(data, ["ids", "groups"]), tmp_path / "d.arff", "mulan")
    again = load_dataset(options.pop("train"), **options)
    assert (again.X.tolist(), again.Y.tolist(), again.ids) == (data.X.tolist(), data.Y.tolist(), None)
    assert (data.ids, data.groups.tolist()) == (("x", "y", "z"), [0, 0, 1])
    with pytest.raises(UserError, match="has no folds of its rows to be dropped"):
        without(data, ["folds"])
    with pytest.raises(UserError, match="Did you mean 'ids'"):
        without(data, ["id"])
