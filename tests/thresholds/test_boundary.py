"""The adaptive boundary against its definition, candidate by candidate."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlrank.thresholds import THRESHOLDS


def boundary(scores, relevant, known=None):
    given = None if known is None else np.array(known)[:, None]
    Y = np.array(relevant, dtype=bool)[:, None]
    column = np.array(scores, dtype=float)[:, None]
    return THRESHOLDS["adaptive_boundary"]().fit(column, Y, column, given).thresholds[0]


def cost(h, scores, relevant):
    """Return the sum of both error rates times P N, as a whole number."""
    scores, relevant = np.array(scores), np.array(relevant, dtype=bool)
    missed, taken = (scores[relevant] <= h).sum(), (scores[~relevant] > h).sum()
    return missed * (~relevant).sum() + taken * relevant.sum()


def test_worked_by_hand():
    scores, relevant = [0.9, 0.4, 0.5, 0.1, 0.0], [1, 1, 0, 0, 0]
    assert boundary(scores, relevant) == 0.25
    assert cost(0.25, scores, relevant) / 6 == pytest.approx(1 / 3)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(-4, 4), st.booleans()), min_size=1, max_size=12))
def test_the_smallest_of_the_best_candidates(pairs):
    scores, relevant = [float(score) for score, _ in pairs], [truth for _, truth in pairs]
    distinct = sorted(set(scores))
    middles = [(low + high) / 2 for low, high in pairwise(distinct)]
    candidates = [-np.inf, *middles, np.inf]
    if not any(relevant):
        assert boundary(scores, relevant) == np.inf
    elif all(relevant):
        assert boundary(scores, relevant) == -np.inf
    else:
        costs = [cost(h, scores, relevant) for h in candidates]
        assert boundary(scores, relevant) == candidates[int(np.argmin(costs))]


def test_the_best_of_equally_good_is_the_smallest_also_for_counts_whose_shares_are_rounded():
    # Both middles cost 1/3 + 1/3 or 2/3 in shares that are not numbers of the machine.
    scores = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert boundary(scores, [1, 0, 0, 1, 0, 1]) == 3.5
    assert cost(3.5, scores, [1, 0, 0, 1, 0, 1]) == cost(5.5, scores, [1, 0, 0, 1, 0, 1]) == 6


def test_only_known_entries_count():
    scores, relevant = [0.9, 0.4, 0.5, 0.1, 0.0], [1, 1, 0, 0, 0]
    assert boundary([*scores, 0.3, 0.95], [*relevant, 1, 0], [True] * 5 + [False] * 2) == 0.25
    assert boundary([0.1, 0.2], [0, 1], [False, True]) == -np.inf


def test_each_label_has_its_own():
    rng = np.random.default_rng(0)
    scores, Y = rng.standard_normal((30, 4)), rng.random((30, 4)) < 0.4
    together = THRESHOLDS["adaptive_boundary"]().fit(scores, Y, scores).thresholds
    assert together.tolist() == [boundary(scores[:, j], Y[:, j]) for j in range(4)]
