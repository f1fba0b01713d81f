"""Every catalogue entry whose files are in MLRANK_DATA has the published shape and cardinality."""

import os
from pathlib import Path

import numpy as np
import pytest

from mlrank import load_dataset
from mlrank.datasets import read_catalogue
from mlrank.datasets.catalogue import locate

NAMES = [name for name, entry in read_catalogue().items() if entry.files]

pytestmark = pytest.mark.skipif(
    "MLRANK_DATA" not in os.environ, reason="set MLRANK_DATA to the folder of the data files to check them"
)


@pytest.mark.parametrize("name", NAMES)
def test_published_shape_and_cardinality(name):
    entry = read_catalogue()[name]
    location = locate(entry)
    if location is None or location.where != "MLRANK_DATA":
        pytest.skip(f"the files of {name} are not in MLRANK_DATA")
    data = load_dataset(name)
    assert data.X.shape[0] == entry.n_train + entry.n_test
    assert entry.n_features in (None, data.n_features)
    assert data.Y.shape == (entry.n_train + entry.n_test, entry.n_labels)
    # Published to three digits, not always rounded the same way.
    assert entry.cardinality is None or data.cardinality == pytest.approx(entry.cardinality, abs=1e-3)
    assert data.stand_in == bool(entry.features)
    if entry.n_test:
        assert [len(rows) for rows in data.official] == [entry.n_train, entry.n_test]
    else:
        assert data.official is None


def test_both_published_forms_of_yeast_and_the_embedded_copy_are_the_same(monkeypatch):
    folder = Path(os.environ["MLRANK_DATA"]) / "yeast"
    if not (folder / "yeast_train.svm").is_file() or not (folder / "yeast-train.arff").is_file():
        pytest.skip("the files of yeast are not in MLRANK_DATA")
    mulan = load_dataset("yeast")
    libsvm = load_dataset(folder / "yeast_train.svm", test=folder / "yeast_test.svm")
    monkeypatch.delenv("MLRANK_DATA")
    embedded = load_dataset("yeast")
    assert "MLRANK_DATA" in mulan.description
    assert "embedded" in embedded.description
    np.testing.assert_array_equal(embedded.X, mulan.X)
    np.testing.assert_array_equal(embedded.Y, mulan.Y)
    assert embedded.label_names == mulan.label_names
    np.testing.assert_array_equal(libsvm.X.toarray(), mulan.X)
    order = [mulan.label_names.index(f"Class{int(number) + 1}") for number in libsvm.label_names]
    np.testing.assert_array_equal(libsvm.Y, mulan.Y[:, order])
