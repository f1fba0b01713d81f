"""Files right in outline and wrong in detail: a whole data set, the same when streamed, or one short printable line."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import issparse

from mlrank import load_dataset
from mlrank.datasets.formats.selection import Selection
from mlrank.datasets.stream import RowStream
from mlrank.errors import UserError
from tests.fuzz import spellings
from tests.fuzz.limits import FUZZ, limited

IMPUTE = st.sampled_from([None, None, "mean", "median", "zero"])
COLUMNS = st.sampled_from([-1, 1, -2, ("l",), ("l", "m"), ("a", "a")])


def outcome(work):
    """Return what a function returns, or the line with which it refuses."""
    with limited(), warnings.catch_warnings():
        # What the libraries say about a damaged file before they refuse it.
        warnings.simplefilter("ignore")
        try:
            return work(), None
        except UserError as error:
            line = str(error)
    assert line.isprintable()
    assert len(line) <= 2300
    return None, line


def check(path, **options):
    """Load a file; where that is possible, what is loaded is whole, and its features are streamed alike."""
    data, refused = outcome(lambda: load_dataset(path, **options))
    if refused:
        return
    values = data.X.data if issparse(data.X) else data.X
    assert np.isfinite(values).all()
    assert data.Y.shape == (data.X.shape[0], len(data.label_names))
    assert 0 not in data.Y.shape
    assert len(set(data.label_names)) == len(data.label_names)
    assert len(set(data.feature_names)) == len(data.feature_names)
    assert not any("\0" in name for name in data.label_names + data.feature_names)
    if options.get("impute"):
        return
    selection = Selection(data.feature_names, data.label_names, "the model")
    zero_based = options.get("zero_based")
    form = options.get("format")
    blocks, refused = outcome(lambda: list(RowStream(path, selection, form, zero_based)))
    if refused:
        return
    streamed = np.vstack([block.toarray() if issparse(block) else block for block in blocks])
    part = streamed[: data.n_samples]
    np.testing.assert_array_equal(part, data.X.toarray() if issparse(data.X) else data.X)


@pytest.mark.parametrize(("ending", "separator"), [("csv", ","), ("tsv", "\t")])
@FUZZ
@given(st.data())
def test_tables(tmp_path, ending, separator, data):
    path = tmp_path / f"d.{ending}"
    path.write_bytes(data.draw(spellings.tables(separator)))
    check(path, label_columns=data.draw(COLUMNS), impute=data.draw(IMPUTE))


@FUZZ
@given(spellings.arff(), st.sampled_from([{}, {"label_columns": -1}, {"label_columns": ("l",)}]), IMPUTE)
def test_arff(tmp_path, content, options, impute):
    path = tmp_path / "d.arff"
    path.write_bytes(content)
    check(path, impute=impute, **options)


@FUZZ
@given(spellings.libsvm(), st.sampled_from([None, True, False]))
def test_libsvm(tmp_path, content, zero_based):
    path = tmp_path / "d.svm"
    path.write_bytes(content)
    check(path, zero_based=zero_based)


@FUZZ
@given(spellings.libsvm(header=True))
def test_xmc(tmp_path, content):
    path = tmp_path / "d.xmc"
    path.write_bytes(content)
    check(path)


@FUZZ
@given(st.data())
def test_npz(tmp_path, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = data.draw(spellings.archives(tmp_path / "d.npz"))
    check(path, impute=data.draw(IMPUTE))


@FUZZ
@given(spellings.mats(), IMPUTE, st.sampled_from([None, {"X": "X", "Y": "Y'"}, {"X": "Z", "Y": "Y"}]))
def test_mat(tmp_path, content, impute, variables):
    path = tmp_path / "d.mat"
    path.write_bytes(content)
    check(path, impute=impute, variables=variables)


@FUZZ
@given(spellings.parquets(), COLUMNS, IMPUTE)
def test_parquet(tmp_path, content, columns, impute):
    path = tmp_path / "d.parquet"
    path.write_bytes(content)
    check(path, label_columns=columns, impute=impute)
