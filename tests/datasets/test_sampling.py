"""Hidden label entries: as many as asked, never a row's last positive or a label's last row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mlrank.datasets.sampling import hide_labels
from mlrank.errors import UserError


@settings(deadline=None, max_examples=60)
@given(arrays(bool, st.tuples(st.integers(1, 12), st.integers(1, 8))), st.floats(0, 0.9), st.integers(0, 99))
def test_what_must_be_kept_is_kept(Y, ratio, seed):
    try:
        known, said = hide_labels(Y, ratio, seed)
    except UserError:
        # Never refused where even keeping an entry for each row and for each label leaves room.
        assert round(ratio * Y.size) > Y.size - sum(Y.shape)
        return
    assert (~known).sum() == round(ratio * Y.size)
    np.testing.assert_array_equal((Y & known).any(axis=1), Y.any(axis=1))
    np.testing.assert_array_equal((Y & known).any(axis=0), Y.any(axis=0))
    assert f"hid {(~known).sum()} of {Y.size} label entries" in said
    assert f"{(~known & Y).sum()} of them positive (seed {seed})" in said


def test_seeds_decide_and_entries_are_hidden_evenly():
    Y = np.random.default_rng(0).random((60, 10)) < 0.4
    np.testing.assert_array_equal(hide_labels(Y, 0.3, 1)[0], hide_labels(Y, 0.3, 1)[0])
    assert (hide_labels(Y, 0.3, 1)[0] != hide_labels(Y, 0.3, 2)[0]).any()
    share = np.mean([~hide_labels(Y, 0.3, seed)[0] for seed in range(400)], axis=0)
    # Negatives are all free and equally likely: each lies within 5 standard deviations of their mean.
    negatives = share[~Y]
    assert np.abs(negatives - negatives.mean()).max() < 5 * np.sqrt(0.25 / 400)
    # A positive is kept by its row as often as the row's others.
    row = int(np.flatnonzero(Y.sum(axis=1) == 4)[0])
    positives = share[row, Y[row]]
    assert np.abs(positives - positives.mean()).max() < 5 * np.sqrt(0.25 / 400)


@pytest.mark.parametrize("ratio", [-0.1, 1.0, 2])
def test_ratios_that_are_none(ratio):
    with pytest.raises(UserError, match=r"must lie in \[0, 1\)"):
        hide_labels(np.ones((2, 2), bool), ratio, 0)


def test_too_much():
    with pytest.raises(UserError, match=r"may be 0\.500 at most"):
        hide_labels(np.eye(2, dtype=bool), 0.75, 0)
