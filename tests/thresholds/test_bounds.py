"""Bounds on the number of labels of a row, around any cut."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlrank.models.parts import pack, restore
from mlrank.thresholds import THRESHOLDS, LabelBounds
from mlrank.thresholds.cuts import counted_sets, label_sets, looks_at_truth


@dataclass(frozen=True)
class Given:
    """A cut that predicts given sets."""

    sets: np.ndarray

    def __call__(self, scores, X, Y=None):
        return self.sets


def by_hand(scores, chosen, least, most):
    """Return the labels of one row: the best of those chosen, then the best of the others, ties by index."""
    falling = sorted(range(len(scores)), key=lambda label: (-scores[label], label))
    inside, outside = [j for j in falling if chosen[j]], [j for j in falling if not chosen[j]]
    size = min(max(len(inside), least), len(scores) if most is None else most)
    return sorted([*inside, *outside][:size])


@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(0, 5), st.one_of(st.none(), st.integers(1, 6)))
def test_bounds_follow_the_order_of_the_scores(data, least, most):
    if most is not None and most < least:
        least, most = most, least
    row = st.tuples(*[st.sampled_from([-1.0, 0.0, 0.5, 2.0])] * 5)
    scores = np.array(data.draw(st.lists(row, min_size=1, max_size=4)))
    sets = np.array(data.draw(st.lists(st.tuples(*[st.booleans()] * 5), min_size=len(scores), max_size=len(scores))))
    found = counted_sets(LabelBounds(least, most).around(Given(sets.copy())), scores, None)
    expected = [by_hand(*pair, least, most) for pair in zip(scores, sets, strict=True)]
    assert [np.flatnonzero(row).tolist() for row in found.sets] == expected
    sizes = sets.sum(axis=1)
    assert found.n_filled == sum(size < least for size in sizes)
    assert found.n_shortened == (0 if most is None else sum(size > most for size in sizes))


def test_without_bounds_a_cut_is_itself():
    cut = THRESHOLDS["zero"]().fit(np.ones((2, 3)), np.ones((2, 3), bool), np.ones((2, 1)))
    assert LabelBounds().around(cut) is cut
    assert counted_sets(cut, np.ones((2, 3)), np.ones((2, 1)))[1:] == (0, 0)


@pytest.mark.parametrize("name", ["zero", "svr_midpoint", "class_mass", "oracle_size"])
def test_a_bounded_cut_is_stored_with_the_cut_inside(name):
    rng = np.random.default_rng(0)
    scores, Y, X = rng.normal(size=(20, 4)), rng.random((20, 4)) < 0.3, rng.normal(size=(20, 2))
    base = THRESHOLDS[name]().fit(scores, Y, X)
    cut = LabelBounds(1, 2).around(base)
    assert looks_at_truth(cut) is looks_at_truth(base) is (name == "oracle_size")
    assert cut.TOGETHER is getattr(base, "TOGETHER", False)
    packed, used = pack("cut", cut), set()
    again = restore("cut", packed.meta, {f"cut.{key}": value for key, value in packed.arrays.items()}, used)
    found, free = label_sets(again, scores, X, Y), label_sets(base, scores, X, Y)
    np.testing.assert_array_equal(found, label_sets(cut, scores, X, Y))
    np.testing.assert_array_equal(found.sum(axis=1), free.sum(axis=1).clip(1, 2))
    assert (found != free).any()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"min_labels": -1}, "min_labels must be a whole number of at least 0, found -1"),
        ({"min_labels": True}, "min_labels must be a whole number of at least 0, found True"),
        ({"max_labels": 0}, "max_labels must be a whole number of at least 1, found 0"),
        ({"max_labels": 1.5}, "max_labels must be a whole number of at least 1, found 1.5"),
        ({"min_labels": 3, "max_labels": 2}, "max_labels must be at least min_labels, found 2 and 3"),
    ],
)
def test_wrong_bounds_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        LabelBounds(**given)


def test_more_labels_than_there_are_cannot_be_the_least():
    LabelBounds(4, 9).check(4)
    with pytest.raises(ValueError, match="min_labels=5 needs that many labels, found 4"):
        LabelBounds(5).check(4)


def test_a_stored_bounded_cut_with_wrong_bounds_is_refused():
    cut = LabelBounds(1, 2).around(THRESHOLDS["top_k"]().fit(np.ones((2, 3)), np.ones((2, 3), bool), np.ones((2, 1))))
    for wrong in ({"min_labels": 3}, {"min_labels": "1"}, {"max_labels": 1.5}, {"min_labels": -1}):
        meta = pack("cut", cut).meta
        with pytest.raises(ValueError, match="no bounds on labels"):
            restore("cut", meta | {"values": meta["values"] | wrong}, {}, set())
