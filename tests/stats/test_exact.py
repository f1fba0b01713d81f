"""The exact distribution of Friedman's statistic, beside tables and all orders counted one by one."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlrank.stats.exact import exact_friedman_p
from mlrank.stats.ranks import friedman, ranks_of


def test_values_of_friedmans_own_tables():
    # k = 3, n = 4: chi-square 6.5 has p = 0.042; k = 4, n = 3: 7.4 has p = 0.033; k = 3, n = 3: 6 has p = 0.028.
    three = np.array([[1.0, 2, 3], [1, 2, 3], [1, 2, 3], [1, 3, 2]])
    assert (friedman(three).chi2, round(exact_friedman_p(three), 3)) == (6.5, 0.042)
    four = np.array([[1.0, 2, 3, 4], [1, 2, 3, 4], [2, 1, 4, 3]])
    assert friedman(four).chi2 == pytest.approx(7.4)
    assert round(exact_friedman_p(four), 3) == 0.033
    assert exact_friedman_p(np.tile([1.0, 2, 3], (3, 1))) == pytest.approx(1 / 36)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 4), st.integers(2, 3))
def test_it_is_the_share_of_all_orders_also_with_ties(seed, k, n):
    ranks = ranks_of(np.random.default_rng(seed).integers(0, 3, (n, k)).astype(float), True)
    spread = [np.square(np.sum(rows, axis=0) - n * (k + 1) / 2).sum() for rows in product(*map(permutations, ranks))]
    found = np.square(ranks.sum(axis=0) - n * (k + 1) / 2).sum()
    assert exact_friedman_p(ranks) == pytest.approx(np.mean(np.array(spread) >= found - 1e-9))


def test_it_is_left_out_where_it_is_long_work():
    assert exact_friedman_p(np.tile(np.arange(1.0, 11), (3, 1))) is None
    assert exact_friedman_p(np.random.default_rng(0).permuted(np.tile(np.arange(1.0, 8), (9, 1)), axis=1)) is None
