"""Tests on ranks: Demsar's worked example, tables of critical values, and slow references from the definitions."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import friedmanchisquare, norm

from mlrank.stats.ranks import critical_difference, friedman, groups, holm, nemenyi, ranks_of, z_tests

# Ranks of C4.5, C4.5+m, C4.5+cf, C4.5+m+cf by AUC on 14 data sets: Demsar (2006), Table 6.
DEMSAR = np.array(
    [
        [4, 3, 2, 1],
        [1, 2, 3, 4],
        [4, 1, 2, 3],
        [4, 1, 3, 2],
        [4, 2, 3, 1],
        [1, 2.5, 4, 2.5],
        [3, 2, 4, 1],
        [2.5, 2.5, 4, 1],
        [4, 3, 2, 1],
        [2.5, 2.5, 2.5, 2.5],
        [4, 2.5, 1, 2.5],
        [3, 2, 4, 1],
        [4, 1, 2, 3],
        [3, 1, 4, 2],
    ]
)
MEAN_RANKS = DEMSAR.mean(axis=0)


def test_demsar_mean_ranks_and_friedman():
    assert np.round(MEAN_RANKS, 3).tolist() == [3.143, 2.0, 2.893, 1.964]
    found = friedman(DEMSAR, correct_ties=False)
    assert (round(found.chi2, 2), round(found.f, 2)) == (9.28, 3.69)
    assert (found.df, found.f_df) == (3, (3, 39))
    assert found.f_p < 0.05  # the critical value of F(3, 39) at 0.05 is 2.85


def test_demsar_critical_differences():
    assert round(critical_difference(14, 4, 0.05), 2) == 1.25
    assert round(critical_difference(14, 4, 0.10), 2) == 1.12


def test_demsar_control_against_the_others():
    # Table 7 of the paper, C4.5 as control: z and p of C4.5+m+cf, C4.5+m, C4.5+cf.
    z, p = z_tests(MEAN_RANKS, 0, 14)
    assert np.round(-z[[3, 1, 2]], 3).tolist() == pytest.approx([2.416, 2.342, 0.512], abs=2e-3)
    assert np.round(p[[3, 1, 2]], 3).tolist() == pytest.approx([0.016, 0.019, 0.607], abs=2e-3)
    assert [value <= 0.05 for value in holm(p[[3, 1, 2]])] == [True, True, False]


@pytest.mark.parametrize(
    ("k", "q"),
    [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (7, 2.949), (8, 3.031), (9, 3.102), (10, 3.164)],
)
def test_critical_values_of_nemenyi(k, q):
    # Demsar (2006), Table 5a.
    n = 20
    assert critical_difference(n, k) / np.sqrt(k * (k + 1) / (6 * n)) == pytest.approx(q, abs=1.1e-3)


def range_tail(q, k):
    """P(the range of k standard normal variables exceeds q), from its integral."""
    below, _ = quad(lambda z: norm.pdf(z) * (norm.cdf(z) - norm.cdf(z - q)) ** (k - 1), -9, 9 + q, limit=300)
    return 1 - k * below


def test_nemenyi_p_values_from_the_integral():
    p = nemenyi(MEAN_RANKS, 14)
    error = np.sqrt(4 * 5 / (6 * 14))
    for i, j in combinations(range(4), 2):
        q = abs(MEAN_RANKS[i] - MEAN_RANKS[j]) / error * np.sqrt(2)
        assert p[i, j] == pytest.approx(range_tail(q, 4), abs=1e-6)
    assert np.diag(p).tolist() == pytest.approx([1.0] * 4)
    assert (p == p.T).all()


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 6), st.integers(4, 12))
def test_friedman_is_scipys_also_with_ties(seed, k, n):
    scores = np.random.default_rng(seed).integers(0, 5, (n, k)).astype(float)
    ranks = ranks_of(scores, True)
    if not np.ptp(ranks, axis=1).any():
        assert friedman(ranks) is None
        return
    found, expected = friedman(ranks), friedmanchisquare(*scores.T)
    assert found.chi2 == pytest.approx(expected.statistic)
    assert found.p == pytest.approx(expected.pvalue)


def test_without_ties_the_correction_changes_nothing():
    ranks = np.array([[1.0, 2, 3], [2, 1, 3], [1, 3, 2]])
    assert friedman(ranks).chi2 == pytest.approx(friedman(ranks, correct_ties=False).chi2)
    # By hand: rank sums 4, 6, 8 against 6 each; 12 / (3 * 3 * 4) * (4 + 0 + 4).
    assert friedman(ranks).chi2 == pytest.approx(8 / 3)


def test_perfect_agreement_has_an_infinite_f():
    found = friedman(np.tile([1.0, 2, 3], (5, 1)))
    assert (found.chi2, found.f, found.f_p) == (10.0, np.inf, 0.0)


def test_ranks_follow_the_direction_and_share_ties():
    scores = np.array([[0.3, 0.1 + 0.2, 0.5]])  # 0.1 + 0.2 differs from 0.3 in the last bit
    assert ranks_of(scores, True).tolist() == [[2.5, 2.5, 1]]
    assert ranks_of(scores, False).tolist() == [[1.5, 1.5, 3]]


def test_all_tied_is_no_test():
    assert friedman(np.full((4, 3), 2.0)) is None


@settings(deadline=None)
@given(st.lists(st.floats(1, 6), min_size=2, max_size=7), st.floats(0.1, 5))
def test_groups_are_the_largest_sets_without_a_difference(ranks, difference):
    ranks = np.array(ranks)
    together = []
    for size in range(ranks.size, 1, -1):
        for members in combinations(range(ranks.size), size):
            chosen = ranks[list(members)]
            if chosen.max() - chosen.min() < difference and not any(set(members) <= set(other) for other in together):
                together.append(members)
    found = groups(ranks, difference)
    assert {frozenset(group) for group in found} == {frozenset(group) for group in together}
    assert len(found) == len(set(found))
    for group in found:
        assert sorted(group, key=lambda place: ranks[place]) == list(group)


def test_holm_by_hand():
    # Sorted 0.005, 0.01, 0.03, 0.04: times 4, 3, 2, 1 and never falling.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []
