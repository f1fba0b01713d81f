"""Paired tests: Demsar's example, tables of critical values, enumeration of all signs, and values by hand."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, rankdata, ttest_1samp, wilcoxon

from mlrank.stats.bayes import bayes_signed_rank, bayes_t
from mlrank.stats.paired import hodges_lehmann, mcnemar, resampled_t, signed_rank

# AUC of C4.5 and C4.5+m on 14 data sets: Demsar (2006), Table 2.
PLAIN = np.array([763, 599, 954, 628, 882, 936, 661, 583, 775, 1000, 940, 619, 972, 957]) / 1000
TUNED = np.array([768, 591, 971, 661, 888, 931, 668, 583, 838, 1000, 962, 666, 981, 978]) / 1000


def test_demsar_rank_sums():
    found = signed_rank(TUNED - PLAIN)
    assert (found.plus, found.minus) == (93, 12)
    assert (found.wins, found.ties, found.losses) == (10, 2, 2)
    assert found.effect == pytest.approx(81 / 105)
    assert found.p < 0.05  # the critical value for 14 data sets is 21


def enumerate_signs(differences):
    """The two-sided p-value over all signs of the differences that are not 0."""
    ranks = rankdata(np.abs(differences))[differences != 0]
    seen = ranks[differences[differences != 0] > 0].sum()
    middle = ranks.sum() / 2
    sums = np.array([ranks[np.array(signs, bool)].sum() for signs in product([0, 1], repeat=ranks.size)])
    return np.mean(np.abs(sums - middle) >= abs(seen - middle) - 1e-9)


@settings(deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_small_samples_are_counted_out_with_ties_and_zeros(values):
    differences = np.array(values, float)
    found = signed_rank(differences)
    if not differences.any():
        assert found is None
    else:
        assert found.exact
        assert found.p == pytest.approx(min(1.0, enumerate_signs(differences)))
        assert found.plus + found.minus == pytest.approx(len(values) * (len(values) + 1) / 2)


@pytest.mark.parametrize("n", [5, 12, 30, 50])
def test_without_ties_it_is_scipys_exact_test(n):
    differences = np.random.default_rng(n).standard_normal(n) + 0.3
    expected = wilcoxon(differences, method="exact")
    found = signed_rank(differences)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert min(found.plus, found.minus) == expected.statistic


def test_many_differences_are_taken_as_normal():
    differences = np.random.default_rng(0).integers(-20, 24, 150).astype(float)
    differences = differences[differences != 0]
    found = signed_rank(differences)
    expected = wilcoxon(differences, correction=False, method="approx")
    assert not found.exact
    assert found.p == pytest.approx(expected.pvalue, rel=1e-6)


# The largest rank sum that is significant at 0.05, two-sided: published tables of Wilcoxon's test.
TABLE = {6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 11: 10, 12: 13, 13: 17, 14: 21, 15: 25, 16: 29, 20: 52, 25: 89}


@pytest.mark.parametrize(("n", "critical"), TABLE.items())
def test_the_interval_belongs_to_the_table_of_critical_values(n, critical):
    differences = np.random.default_rng(n).standard_normal(n)
    means = sorted((differences[i] + differences[j]) / 2 for i in range(n) for j in range(i, n))
    found = hodges_lehmann(differences)
    assert found.estimate == pytest.approx(np.median(means))
    assert (found.low, found.high) == pytest.approx((means[critical], means[-1 - critical]))


def test_few_differences_have_no_interval():
    found = hodges_lehmann(np.arange(5.0))
    assert (found.estimate, found.low, found.high) == (2.0, None, None)
    assert hodges_lehmann(np.arange(5.0), level=0.9).low == 0.0  # 2 / 32 is below 0.1


def test_resampled_t_by_hand():
    found = resampled_t(np.array([1.0, 2, 3, 4]), 0.5)
    # mean 2.5, variance 5/3, standard error sqrt((1/4 + 1/2) * 5/3); t(3) at 0.975 is 3.182446
    assert found.mean == 2.5
    assert found.t == pytest.approx(2.5 / 1.25**0.5)
    assert (found.low, found.high) == pytest.approx((2.5 - 3.182446 * 1.25**0.5, 2.5 + 3.182446 * 1.25**0.5), abs=1e-5)
    assert found.df == 3


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 20))
def test_without_overlap_it_is_the_usual_t_test(seed, n):
    differences = np.random.default_rng(seed).standard_normal(n)
    expected = ttest_1samp(differences, 0)
    found = resampled_t(differences, 0.0)
    assert (found.t, found.p) == pytest.approx((expected.statistic, expected.pvalue))
    interval = expected.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))


@pytest.mark.parametrize("values", [[0.3], [0.2, 0.2, 0.2], [0.1 + 0.2, 0.3]])
def test_no_spread_no_t_test(values):
    assert resampled_t(np.array(values), 0.25) is None
    assert bayes_t(np.array(values[:1]), 0.25, 0.01) is None


def test_mcnemar_counts_the_rows_that_differ():
    first = np.array([1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0], bool)
    second = np.array([0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0], bool)
    only, other, p = mcnemar(first, second)
    assert (only, other) == (1, 7)
    assert p == pytest.approx(2 * (1 + 8) / 2**8)
    assert mcnemar(second, first)[2] == p
    assert mcnemar(first, first) == (0, 0, 1.0)
    assert mcnemar(np.array([1, 0], bool), np.array([0, 1], bool))[2] == 1.0
    assert 2 * binom.cdf(1, 8, 0.5) == pytest.approx(p)


# With one difference d the weight w of the prior at 0 has P(w < x) = sqrt(x), and the winner depends on w alone.
@pytest.mark.parametrize(
    ("d", "expected"),
    [
        (0.5, (0, 0.5**0.25)),  # above twice the region: the first is ahead if w^2 < 1/2
        (0.15, (0, (1 - 0.5**0.5) ** 0.5)),  # between: only the pair of d with itself counts, if (1 - w)^2 > 1/2
        (0.05, (0, 0)),  # inside: always equal
        (-0.5, (0.5**0.25, 0)),
    ],
)
def test_bayesian_signed_rank_of_one_difference(d, expected):
    found = bayes_signed_rank(np.array([d]), rope=0.1)
    assert (found.second, found.first) == pytest.approx(expected, abs=0.012)
    assert sum(found) == pytest.approx(1.0)


def test_bayesian_signed_rank_is_symmetric_and_repeatable():
    d = np.array([0.3, 0.1, -0.05, 0.2, 0.02, 0.4])
    found, turned = bayes_signed_rank(d, 0.01), bayes_signed_rank(-d, 0.01)
    assert (found.first, found.equal, found.second) == (turned.second, turned.equal, turned.first)
    assert found == bayes_signed_rank(d, 0.01)
    assert found.first > 0.9


def test_bayesian_t_is_the_share_of_the_posterior():
    d = np.array([0.01, 0.03, 0.02, 0.05, -0.01])
    found = bayes_t(d, 0.25, 0.01)
    scale = ((1 / 5 + 0.25) * d.var(ddof=1)) ** 0.5
    draws = d.mean() + scale * np.random.default_rng(0).standard_t(4, 400_000)
    shares = (np.mean(draws < -0.01), np.mean(np.abs(draws) <= 0.01), np.mean(draws > 0.01))
    assert tuple(found) == pytest.approx(shares, abs=0.004)


def test_bayesian_t_agrees_with_the_corrected_t_test_without_a_region():
    d = np.array([0.01, 0.03, 0.02, 0.05, -0.01])
    assert 2 * bayes_t(d, 0.25, 0.0).second == pytest.approx(resampled_t(d, 0.25).p)
