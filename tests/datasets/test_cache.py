"""Parsed copies: the same arrays again, found by content, and never trusted when damaged."""

import numpy as np
import pytest

from mlrank import load_dataset
from mlrank.datasets import cache, dataset_hash
from mlrank.errors import UserError
from tests.datasets.writers import put, xml_of

HEAD = "@attribute x numeric\n@attribute c {p,'q r'}\n@attribute l {0,1}\n@attribute m {0,1}\n@data\n"
DENSE, SPARSE = HEAD + "1.5,p,0,?\n2,'q r',1,1\n", HEAD + "{0 3,1 'q r',2 ?}\n{}\n"


@pytest.fixture(autouse=True)
def small_files_have_copies(monkeypatch, tmp_path):
    monkeypatch.setattr(cache, "LEAST_BYTES", 0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def readings(monkeypatch):
    """Count how often files are really read."""
    calls = []

    def counting(key, source):
        calls.append(key)
        return read(key, source)

    read = cache.read
    monkeypatch.setattr(cache, "read", counting)
    return calls


def copies(tmp_path):
    return sorted((tmp_path / "cache" / "mlrank" / "parsed").iterdir())


@pytest.mark.parametrize("content", [DENSE, SPARSE])
def test_a_copy_is_the_same_data(tmp_path, readings, content):
    train, test, names = put(tmp_path, a_arff=content, b_arff=content, n_xml=xml_of(["m", "l"]))
    first = load_dataset(train, test=test, labels=names)
    again = load_dataset(train, test=test, labels=names)
    assert readings == ["mulan"]
    assert dataset_hash(again) == dataset_hash(first)
    assert type(again.X) is type(first.X)
    np.testing.assert_array_equal(again.known, first.known)
    assert (again.label_names, again.feature_names, again.description) == (
        first.label_names,
        first.feature_names,
        first.description,
    )
    assert len(copies(tmp_path)) == 1


def test_npz_keeps_its_split(tmp_path, readings):
    np.savez(tmp_path / "d.npz", X=np.eye(3), Y=np.eye(3), train=[2, 0], test=[1])
    load_dataset(tmp_path / "d.npz")
    assert [rows.tolist() for rows in load_dataset(tmp_path / "d.npz").official] == [[2, 0], [1]]
    assert readings == ["npz"]


def test_other_bytes_or_other_settings_are_read_anew(tmp_path, readings):
    path, names = put(tmp_path, a_arff=DENSE, n_xml=xml_of(["m", "l"]))
    load_dataset(path, labels=names)
    path.write_text(DENSE.replace("1.5", "1.6"))
    assert load_dataset(path, labels=names).X[0, 0] == 1.6
    load_dataset(path, labels=names, impute="zero")
    names.write_text(xml_of(["l", "m"]))
    assert load_dataset(path, labels=names).label_names == ("l", "m")
    assert len(readings) == 4
    path.write_text(DENSE)
    names.write_text(xml_of(["m", "l"]))
    load_dataset(path, labels=names)
    assert len(readings) == 4  # the first copy again: content decides, not time


def test_a_damaged_copy_is_made_again(tmp_path, readings):
    path, names = put(tmp_path, a_arff=DENSE, n_xml=xml_of(["m", "l"]))
    first = load_dataset(path, labels=names)
    (copy,) = copies(tmp_path)
    whole = copy.read_bytes()
    packed = bytearray(whole)
    packed[whole.index(b"PK\x01\x02") + 10] = 99  # a packing that nobody knows
    for broken in (b"", whole[:-30], whole.replace(b"\x40", b"\x41"), b"nonsense", bytes(packed)):
        copy.write_bytes(broken)
        assert dataset_hash(load_dataset(path, labels=names)) == dataset_hash(first)
        assert copy.read_bytes() == whole
    assert len(readings) == 6


def test_without_a_place_for_copies_files_are_read(tmp_path, monkeypatch, readings):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    path, names = put(tmp_path, a_arff=DENSE, n_xml=xml_of(["m", "l"]))
    for _ in range(2):
        assert load_dataset(path, labels=names).n_samples == 2
    assert len(readings) == 2


def test_mistakes_are_not_kept(tmp_path):
    path, names = put(tmp_path, a_arff=DENSE + "x", n_xml=xml_of(["m", "l"]))
    for _ in range(2):
        with pytest.raises(UserError, match=r"a\.arff:8:1"):
            load_dataset(path, labels=names)


def test_the_oldest_copies_go_when_there_is_too_much(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "MOST_BYTES", 1)
    path, names = put(tmp_path, a_arff=DENSE, n_xml=xml_of(["m", "l"]))
    load_dataset(path, labels=names)
    (first,) = copies(tmp_path)
    load_dataset(path, labels=names, impute="zero")
    (second,) = copies(tmp_path)
    assert first != second
