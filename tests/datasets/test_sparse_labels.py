"""Labels of many entries are sparse from the file on: the same data as dense ones, and no array of all entries."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, issparse

from mlrank import labels, load_dataset
from mlrank.datasets import Dataset, cache, dataset_hash, subset
from mlrank.datasets.convert import convert
from mlrank.datasets.doctor import examine, page
from mlrank.datasets.loading import find_source, load_source
from mlrank.errors import UserError

TEXT = "3,0 1:1 2:2\n 1:3\n4 2:1\n0,4 1:1 2:2\n2 1:0.5\n"


@pytest.fixture
def sparse(monkeypatch):
    """Have labels of more than a few entries held sparse."""
    monkeypatch.setattr(labels, "MOST_DENSE", 4)


def both(monkeypatch, make):
    """Return what `make` returns with dense and with sparse labels."""
    dense = make()
    monkeypatch.setattr(labels, "MOST_DENSE", 4)
    found = make()
    monkeypatch.undo()
    assert issparse(found.Y)
    assert not issparse(dense.Y)
    assert np.array_equal(found.Y.toarray(), dense.Y)
    return dense, found


def test_a_data_set_holds_labels_dense_or_sparse_by_their_number(sparse):
    Y = np.eye(3, dtype=bool)
    names = ("a", "b", "c")
    for given in (Y, csr_array(Y)):
        data = Dataset("d", np.ones((3, 1)), given, None, names, ("x",), None, "")
        assert issparse(data.Y)
        assert (data.n_samples, data.n_labels, data.cardinality) == (3, 3, 1.0)
        small, _ = subset(data, top_labels=1, seed=0)
        assert not issparse(small.Y)
        assert small.Y.tolist() == [[True], [False], [False]]
    assert not issparse(replace(data, known=np.ones_like(Y)).Y)  # which entries are unknown is dense in any case


@pytest.mark.parametrize("head", ["", "5 3 5\n"])
def test_files_of_numbered_labels(tmp_path, monkeypatch, head):
    path = tmp_path / "a.txt"
    path.write_text(head + TEXT)
    dense, found = both(monkeypatch, lambda: load_dataset(path))
    assert (found.label_names, found.notes) == (dense.label_names, dense.notes)
    assert dataset_hash(found) != dataset_hash(dense)
    path.write_text(head + TEXT.replace("0,4", "4,4"))
    monkeypatch.setattr(labels, "MOST_DENSE", 4)
    with pytest.raises(UserError, match=f":{4 + bool(head)}:3: label 4 occurs twice in this row"):
        load_dataset(path)


@pytest.mark.parametrize("key", ["libsvm", "xmc", "npz", "mat", "clus"])
def test_what_is_written_sparse_is_read_again(tmp_path, sparse, key):
    (tmp_path / "a.svm").write_text(TEXT.replace("\n 1:3", "\n1 1:3"))
    data = load_dataset(tmp_path / "a.svm")
    options = convert(data, tmp_path / "b", key)
    again = load_dataset(options.pop("train"), **options)
    assert issparse(again.Y)
    assert np.array_equal(again.Y.toarray(), data.Y.toarray())
    with pytest.raises(UserError, match="5 x 5 label cells, nearly all 0, are too many for 'csv'"):
        convert(data, tmp_path / "c.csv", "csv")


def test_subsets_take_the_same_rows_and_labels(tmp_path, monkeypatch):
    (tmp_path / "a.svm").write_text(TEXT)
    for how in ({"rows": 4}, {"top_labels": 3}, {"min_positives": 2}, {"rows": 3, "top_labels": 4}):
        dense, found = both(monkeypatch, lambda how=how: subset(load_dataset(tmp_path / "a.svm"), **how, seed=3)[0])
        assert found.label_names == dense.label_names


def test_checkups_find_the_same(tmp_path, monkeypatch):
    (tmp_path / "a.svm").write_text(TEXT)
    (tmp_path / "b.svm").write_text("3 1:1 2:2\n0,3 1:7\n")
    place = find_source(tmp_path / "a.svm", test=tmp_path / "b.svm")
    dense, found = both(monkeypatch, lambda: load_source(place))
    checked = examine(found, place)
    expected = examine(dense, place)
    assert checked.findings == expected.findings
    assert {"leaks", "contradictions", "rows_without_labels", "labels_not_in_test"} <= {
        f.kind for f in checked.findings
    }
    assert {**checked.facts, "hash": ""} == {**expected.facts, "hash": ""}
    assert page(checked, found) == page(expected, dense).replace(expected.facts["hash"], checked.facts["hash"])


def test_a_feature_that_is_a_label_is_found_in_sparse_labels(monkeypatch):
    rng = np.random.default_rng(0)
    Y = rng.random((20, 3)) < 0.4
    X = np.column_stack([rng.random(20), ~Y[:, 1], Y[:, 2] * 3.0])
    place = find_source("yeast")

    def findings():
        data = Dataset("d", X, Y, None, ("a", "b", "c"), ("x", "no b", "c"), None, "")
        return [one.message for one in examine(data, place).findings if one.kind == "label_features"]

    assert findings() == ["2 features are a label or its opposite: 'no b', 'c'"]
    monkeypatch.setattr(labels, "MOST_DENSE", 4)
    assert findings() == ["2 features are a label or its opposite: 'no b', 'c'"]


def test_parsed_copies_hold_sparse_labels(tmp_path, monkeypatch, sparse):
    monkeypatch.setattr(cache, "LEAST_BYTES", 1)
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path / "cache")
    (tmp_path / "a.svm").write_text(TEXT)
    first = load_dataset(tmp_path / "a.svm")
    (copy,) = (tmp_path / "cache" / "parsed").iterdir()
    again = cache._load(copy)
    assert issparse(again.Y)
    assert np.array_equal(again.Y.toarray(), first.Y.toarray())
    assert dataset_hash(again) == dataset_hash(first)


def test_a_file_of_very_many_labels_is_read_in_memory_linear_in_its_entries(tmp_path):
    n, k = 4_000, 100_000
    rng = np.random.default_rng(0)
    marks, features = np.sort(rng.integers(0, k, (n, 3)), axis=1), rng.integers(0, 50, n)
    marks[:, 1] += 1 + (marks[:, 1] == marks[:, 0])
    marks[:, 2] = marks[:, 1] + 1
    marks %= k
    lines = [f"{','.join(map(str, row))} {j}:1" for row, j in zip(marks.tolist(), features.tolist(), strict=True)]
    (tmp_path / "a.xmc").write_text(f"{n} 50 {k}\n" + "\n".join(lines) + "\n")
    tracemalloc.start()
    try:
        data = load_dataset(tmp_path / "a.xmc")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    expected = csr_array((np.ones(3 * n, bool), (np.repeat(np.arange(n), 3), marks.ravel())), shape=(n, k))
    assert (data.Y != expected).nnz == 0
    # As bools the labels alone would take 400 MB.
    assert peak < 60e6


def test_tables_of_lists_and_frames_beside_sparse_labels(tmp_path, sparse):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "tags": [["b", "a"], [], ["c", "b"]]})
    expected = [[True, True, False], [False, False, False], [False, True, True]]
    found = load_dataset(frame, labels={"column": "tags"})
    assert issparse(found.Y)
    assert (found.label_names, found.Y.toarray().tolist()) == (("a", "b", "c"), expected)
    assert "1 row has an empty list, no label" in found.notes
    beside = load_dataset(frame[["x"]], labels=csr_array(np.array(expected)))
    assert beside.Y.toarray().tolist() == expected
    (tmp_path / "a.csv").write_text("x,tags\n1,b;a\n2,\n")
    (tmp_path / "b.csv").write_text("x,tags\n3,c;b\n")
    parts = load_dataset(tmp_path / "a.csv", test=tmp_path / "b.csv", labels={"column": "tags", "separator": ";"})
    assert parts.Y.toarray().tolist() == expected
    frame.loc[1, "tags"] = None
    unknown = load_dataset(frame, labels={"column": "tags"})
    assert not issparse(unknown.Y)
    assert unknown.known.tolist() == [[True] * 3, [False] * 3, [True] * 3]
