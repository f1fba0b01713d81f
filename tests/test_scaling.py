import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse

from mlrank.arrays import read_only
from mlrank.scaling import SCALERS

DENSE = np.array([[1.0, 5.0, 0.0, -2.0], [3.0, 5.0, 0.0, 0.0], [5.0, 5.0, 0.0, 4.0]])
NEW = np.array([[7.0, 6.0, 1.0, -4.0]])


def random_matrix(seed: int, n_samples: int = 7, n_features: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_samples, n_features)) * (rng.random((n_samples, n_features)) < 0.6)


def test_names():
    assert set(SCALERS) == {"none", "standard", "minmax", "l2", "l1", "log_tfidf"}


def test_none_returns_the_same_object():
    scaling = SCALERS["none"]().fit(DENSE)
    assert scaling(NEW) is NEW
    assert (scaling.n_constant, scaling.note) == (0, "")


def test_standard_by_hand():
    scaling = SCALERS["standard"]().fit(DENSE)
    # Column 0: mean 3, variance 8/3. Columns 1 and 2 are constant. Column 3: mean 2/3, variance 56/9.
    expected = [[4 / np.sqrt(8 / 3), 1.0, 1.0, (-4 - 2 / 3) / np.sqrt(56 / 9)]]
    np.testing.assert_allclose(scaling(NEW), expected, rtol=1e-14)
    assert (scaling.n_constant, scaling.note) == (2, "")


def test_minmax_by_hand():
    scaling = SCALERS["minmax"]().fit(DENSE)
    np.testing.assert_allclose(scaling(NEW), [[1.5, 1.0, 1.0, -2 / 6]], rtol=1e-14)
    np.testing.assert_array_equal(scaling(DENSE)[:, 1:3], 0)
    assert (scaling.n_constant, scaling.note) == (2, "")


def test_sparse_by_hand():
    standard = SCALERS["standard"]().fit(csr_array(DENSE))
    np.testing.assert_allclose(
        standard(csr_array(NEW)).toarray(), [[7 / np.sqrt(8 / 3), 6.0, 1.0, -4 / np.sqrt(56 / 9)]], rtol=1e-14
    )
    assert (standard.n_constant, standard.note) == (2, "sparse features: divided, not centred")
    minmax = SCALERS["minmax"]().fit(csr_array(DENSE))
    np.testing.assert_allclose(minmax(csr_array(NEW)).toarray(), [[7 / 5, 6.0, 1.0, -1.0]], rtol=1e-14)
    assert (minmax.n_constant, minmax.note) == (2, "sparse features: divided by the largest absolute value")


def test_log_tfidf_by_hand():
    train = np.array([[1.0, 0, 3, 2], [0, 0, 1, 1], [0, 0, 0, 4], [2, 0, 0, 1]])
    new = np.array([[1.0, 0, 1, 0], [0, 0, 0, 0], [-1, 3, 0, 7]])
    # Of four rows terms 0 and 2 are in two, term 1 in none, term 3 in all.
    some, none = np.log(5 / 3) + 1, np.log(5) + 1
    first = np.array([1.0, 0, 1, 0]) / np.sqrt(2)
    third = np.array([-np.log(2) * some, np.log(4) * none, 0, np.log(8)])
    expected = [first, np.zeros(4), third / np.sqrt((third**2).sum())]
    for kind in (np.asarray, csr_array):
        scaled = SCALERS["log_tfidf"]().fit(kind(train))(kind(new))
        assert issparse(scaled) == (kind is csr_array)
        dense = scaled.toarray() if issparse(scaled) else scaled
        np.testing.assert_allclose(dense, expected, rtol=1e-14)


def test_rows_by_hand():
    X = np.array([[3.0, -4.0], [0.0, 0.0], [0.0, 2.0]])
    for kind in (np.asarray, csr_array):
        l2, l1 = SCALERS["l2"]().fit(kind(X)), SCALERS["l1"]().fit(kind(X))
        dense = [out.toarray() if issparse(out) else out for out in (l2(kind(X)), l1(kind(X)))]
        np.testing.assert_allclose(dense[0], [[0.6, -0.8], [0, 0], [0, 1]], rtol=1e-15)
        np.testing.assert_allclose(dense[1], [[3 / 7, -4 / 7], [0, 0], [0, 1]], rtol=1e-15)
        assert l1.n_constant == l2.n_constant == 0


def test_rows_of_extreme_numbers_keep_their_direction():
    X = np.array([[3e200, 4e200], [3e-200, 4e-200]])
    np.testing.assert_allclose(SCALERS["l2"]().fit(X)(X), [[0.6, 0.8]] * 2, rtol=1e-15)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_slow_reference(seed):
    train, new = random_matrix(seed), random_matrix(seed + 1)
    sparse = SCALERS["standard"]().fit(csr_array(train))(csr_array(new)).toarray()
    centred = SCALERS["standard"]().fit(train)(new)
    for j in range(train.shape[1]):
        column = list(train[:, j])
        mean = sum(column) / len(column)
        deviation = (sum((value - mean) ** 2 for value in column) / len(column)) ** 0.5 or 1.0
        np.testing.assert_allclose(sparse[:, j], new[:, j] / deviation, rtol=1e-12)
        np.testing.assert_allclose(centred[:, j], (new[:, j] - mean) / deviation, rtol=1e-12, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(sorted(SCALERS)))
def test_sparse_stays_sparse_with_the_same_pattern(seed, name):
    X = read_only(csr_array(random_matrix(seed)))
    scaled = SCALERS[name]().fit(X)(X)
    assert issparse(scaled)
    assert scaled.indices.dtype == np.int32
    np.testing.assert_array_equal(scaled.indices, X.indices)
    np.testing.assert_array_equal(scaled.indptr, X.indptr)
    np.testing.assert_array_equal(np.sign(scaled.data), np.sign(X.data))


@pytest.mark.parametrize("name", sorted(SCALERS))
def test_only_the_training_part_counts_and_nothing_is_written(name):
    train, new = read_only(random_matrix(0)), read_only(random_matrix(1))
    scaling = SCALERS[name]().fit(train)
    whole, first = scaling(new), scaling(new[:1])
    np.testing.assert_array_equal(first, whole[:1])
    np.testing.assert_array_equal(new, random_matrix(1))


def test_standard_of_large_offsets_does_not_cancel():
    train = csr_array(np.array([[1e9], [1e9 + 1], [1e9 + 2]]))
    scaled = SCALERS["standard"]().fit(train)(train).toarray()
    np.testing.assert_allclose(np.diff(scaled[:, 0]), 1 / np.sqrt(2 / 3), rtol=1e-6)


def test_wrong_use_is_refused():
    scaling = SCALERS["standard"]().fit(DENSE)
    with pytest.raises(ValueError, match="fitted to 4 features, found 3"):
        scaling(DENSE[:, :3])
    with pytest.raises(ValueError, match="dense and sparse do not mix"):
        scaling(csr_array(DENSE))
