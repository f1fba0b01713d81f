from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlrank.errors import UserError
from mlrank.splits import Split, holdout_sizes, kfold, make_splits


def random_labels(n_samples: int, n_labels: int, seed: int, density: float = 0.2) -> np.ndarray:
    return np.random.default_rng(seed).random((n_samples, n_labels)) < density


labels = st.builds(
    random_labels, st.integers(4, 40), st.integers(1, 6), st.integers(0, 10_000), st.sampled_from([0.0, 0.1, 0.5, 1.0])
)


def imbalance(Y: np.ndarray, parts: list[np.ndarray]) -> float:
    """Sum over parts and labels of ((positives - share) / positives of the label)**2, from its definition."""
    total = 0.0
    for rows in parts:
        for label in range(Y.shape[1]):
            positives = Y[:, label].sum()
            if positives:
                share = positives * len(rows) / len(Y)
                total += ((Y[rows, label].sum() - share) / positives) ** 2
    return total


def lacking(Y: np.ndarray, parts: list[np.ndarray]) -> list[tuple[int, int]]:
    """Return (part, label) where the part has none of a label of which one or more is its share."""
    return [
        (p, label)
        for p, rows in enumerate(parts)
        for label in range(Y.shape[1])
        if not Y[rows, label].any() and Y[:, label].sum() * len(rows) / len(Y) >= 1 - 1e-9
    ]


@settings(max_examples=60, deadline=None)
@given(labels, st.integers(2, 4), st.integers(0, 2**63), st.booleans())
def test_folds_are_a_partition_of_equal_sizes(Y, folds, seed, stratified):
    pairs = kfold(Y, folds, seed, stratified)
    assert sorted(np.concatenate([test for _, test in pairs])) == list(range(len(Y)))
    sizes = [len(test) for _, test in pairs]
    assert max(sizes) - min(sizes) <= 1
    for train, test in pairs:
        assert train.dtype == test.dtype == np.int64
        assert sorted([*train, *test]) == list(range(len(Y)))
        assert (np.diff(train) > 0).all()
        assert (np.diff(test) > 0).all()


@settings(max_examples=60, deadline=None)
@given(labels, st.data(), st.booleans())
def test_holdout_has_exactly_the_sizes_asked_for(Y, data, stratified):
    n_train = data.draw(st.integers(1, len(Y) - 1))
    n_test = data.draw(st.integers(1, len(Y) - n_train))
    (split,) = make_splits(Y, None, 3, kind="holdout", train=n_train, test=n_test, stratified=stratified)
    assert (len(split.train), len(split.test)) == (n_train, n_test)
    assert len({*split.train, *split.test}) == n_train + n_test


def test_train_and_test_are_not_swapped():
    Y = random_labels(20, 3, 0)
    for stratified in (False, True):
        for train, test in kfold(Y, 10, 0, stratified):
            assert (len(train), len(test)) == (18, 2)
        (split,) = make_splits(Y, None, 0, kind="holdout", train=15, test=5, stratified=stratified)
        assert (len(split.train), len(split.test)) == (15, 5)
    official = (np.arange(3, 20), np.arange(3))
    (split,) = make_splits(Y, official, 0, kind="official")
    assert list(split.train) == list(range(3, 20))
    assert list(split.test) == [0, 1, 2]


@pytest.mark.parametrize("seed", range(40))
def test_label_with_two_positives_lies_on_both_sides(seed):
    # Two rows hold the rare label, and each of them also holds rarer ones that are placed first.
    Y = random_labels(30, 8, seed)
    Y[:, :4] = False
    Y[[4, 9], 0] = True
    Y[4, 1] = Y[9, 2] = Y[20, 3] = True
    for train, test in kfold(Y, 2, seed, True):
        assert Y[train, 0].sum() == Y[test, 0].sum() == 1
    (split,) = make_splits(Y, None, seed, kind="holdout", train=15, test=15)
    assert Y[split.train, 0].sum() == Y[split.test, 0].sum() == 1


@pytest.mark.parametrize("seed", range(20))
def test_every_fold_has_every_label_that_can_be_in_every_fold(seed):
    Y = random_labels(60, 5, seed, density=0.12)
    Y[:5] |= np.eye(5, dtype=bool)
    Y[5:10] |= np.eye(5, dtype=bool)
    Y[10:15] |= np.eye(5, dtype=bool)
    pairs = kfold(Y, 3, seed, True)
    assert all(Y[test].any(axis=0).all() for _, test in pairs)


@pytest.mark.parametrize("seed", range(30))
def test_no_swap_of_two_rows_helps_a_label_that_a_part_lacks(seed):
    Y = random_labels(16, 7, seed, density=0.15)
    parts = [test for _, test in kfold(Y, 2, seed, True)]
    before = imbalance(Y, parts)
    for target, label in lacking(Y, parts):
        mine, other = parts[target], parts[1 - target]
        for i, j in ((i, j) for i in other if Y[i, label] for j in mine):
            swapped = [np.append(mine[mine != j], i), np.append(other[other != i], j)]
            assert imbalance(Y, swapped) >= before - 1e-9


def test_unsatisfiable_rare_labels_end_without_looping():
    # Three labels over three rows, each pair of rows sharing one: two folds cannot part all of them.
    Y = np.zeros((8, 3), dtype=bool)
    for label, rows in enumerate(combinations(range(3), 2)):
        Y[list(rows), label] = True
    parts = [test for _, test in kfold(Y, 2, 0, True)]
    assert len(lacking(Y, parts)) == 1


def test_stratified_parts_keep_the_share_of_each_label():
    Y = random_labels(1000, 10, 5, density=0.15)
    for _, test in kfold(Y, 5, 1, True):
        assert np.abs(Y[test].sum(axis=0) - Y.sum(axis=0) / 5).max() < 2
    (split,) = make_splits(Y, None, 1, kind="holdout", train=500, test=250)
    assert np.abs(Y[split.train].sum(axis=0) - Y.sum(axis=0) / 2).max() < 2
    assert np.abs(Y[split.test].sum(axis=0) - Y.sum(axis=0) / 4).max() < 2


@pytest.mark.parametrize("seed", range(10))
def test_rows_without_labels_are_spread_evenly(seed):
    Y = random_labels(100, 4, 2)
    Y[:40] = False
    Y[40:] |= np.eye(4, dtype=bool)[np.arange(60) % 4]
    empty = [int((~Y[test].any(axis=1)).sum()) for _, test in kfold(Y, 4, seed, True)]
    assert sum(empty) == 40
    assert all(8 <= count <= 12 for count in empty)


def test_same_seed_same_splits_and_repeats_differ():
    Y = random_labels(50, 4, 1)
    for kwargs in (
        {"kind": "holdout", "train": 0.5, "test": 0.4},
        {"kind": "kfold", "folds": 3},
        {"kind": "kfold", "folds": 3, "stratified": False},
    ):
        first = make_splits(Y, None, 7, repeats=3, **kwargs)
        again = make_splits(Y, None, 7, repeats=3, **kwargs)
        other = make_splits(Y, None, 8, repeats=3, **kwargs)
        tests = [tuple(split.test) for split in first]
        assert tests == [tuple(split.test) for split in again]
        assert set(tests).isdisjoint(tuple(split.test) for split in other)
        assert len(set(tests)) == len(tests)
        assert [s.name for s in first][:2] == (["r0", "r1"] if kwargs["kind"] == "holdout" else ["r0f0", "r0f1"])
        # More repeats only add to the fewer ones.
        assert [tuple(split.test) for split in make_splits(Y, None, 7, repeats=1, **kwargs)] == tests[: len(tests) // 3]


def test_input_is_not_written_to():
    Y = random_labels(30, 3, 0)
    Y.flags.writeable = False
    kfold(Y, 3, 0, True)
    kfold(Y, 3, 0, False)


@pytest.mark.parametrize(
    ("n_samples", "train", "test", "sizes"),
    [
        (2417, 1500, 917, (1500, 917)),
        (2417, 2000, 0.1, (2000, 242)),
        (11, 0.5, 0.5, (6, 5)),
        (10, 0.25, 0.25, (3, 3)),
        (3, 0.7, 0.3, (2, 1)),
        (7, 0.1, 0.9, (1, 6)),
    ],
)
def test_sizes(n_samples, train, test, sizes):
    assert holdout_sizes(n_samples, train, test) == sizes


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"kind": "holdout", "train": 2000, "test": 1500}, "holdout wants 2000 + 1500 rows, the data has 24"),
        (
            {"kind": "holdout", "train": 20},
            "holdout needs both train and test: numbers of rows, or fractions of all rows",
        ),
        ({"kind": "holdout", "train": 20, "test": 0.01}, "holdout would leave 20 train and 0 test rows of 24"),
        (
            {"kind": "holdout", "train": 20, "test": 1.0},
            "a fraction of the rows must lie between 0 and 1, found 1.0; counts are whole numbers",
        ),
        ({"kind": "holdout", "train": 0, "test": 3}, "a part needs 1 row or more, found 0"),
        ({"kind": "kfold", "folds": 25}, "25 folds need 25 rows or more, the data has 24"),
        ({"kind": "kfold", "folds": 1}, "k-fold needs 2 folds or more, found 1"),
        ({"kind": "official"}, "the data set comes without an official split; use kind 'holdout' or 'kfold'"),
        (
            {"kind": "kfolds"},
            "unknown kind of split 'kfolds'. Did you mean 'kfold'? "
            "Known: holdout, kfold, official, per_class, predefined, strata.",
        ),
    ],
)
def test_what_cannot_be_split_is_told(kwargs, message):
    with pytest.raises(UserError) as caught:
        make_splits(random_labels(24, 3, 0), None, 0, **kwargs)
    assert str(caught.value) == message


def test_official_split_is_one_and_whole():
    Y = random_labels(6, 2, 0)
    with pytest.raises(UserError, match="cannot be repeated 2 times"):
        make_splits(Y, (np.arange(3), np.arange(3, 6)), 0, kind="official", repeats=2)
    with pytest.raises(ValueError, match="exactly once"):
        make_splits(Y, (np.arange(3), np.arange(2, 6)), 0, kind="official")
    with pytest.raises(ValueError, match="exactly once"):
        make_splits(Y, (np.arange(3), np.arange(3, 5)), 0, kind="official")


@pytest.mark.parametrize(
    ("train", "test", "message"),
    [([0, 1], [1, 2], "occurs twice"), ([0, 0], [1], "occurs twice"), ([0, 1], [], "0 test rows")],
)
def test_overlap_is_detected(train, test, message):
    with pytest.raises(ValueError, match=message):
        Split("r0", np.array(train, dtype=np.int64), np.array(test, dtype=np.int64))
