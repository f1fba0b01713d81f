"""Stratified parts against the published algorithm in plain Python, and against counts from their definition."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from mlrank import arrays, stratification
from mlrank.splits import make_splits
from mlrank.stratification import stratified_parts


def labels_of(n_samples, n_labels, seed, density=0.1):
    rng = np.random.default_rng(seed)
    # Labels from rare to frequent, some of them together.
    Y = rng.random((n_samples, n_labels)) < density * np.linspace(0.1, 2, n_labels)
    Y[:, 1::3] |= Y[:, ::3][:, : Y[:, 1::3].shape[1]] & (rng.random((n_samples, 1)) < 0.7)
    return Y


def plain_parts(Y, sizes, seed):
    """Algorithm 1 of Sechidis et al. 2011 as printed, ties at random; rows without labels fill up."""
    rng = np.random.default_rng(seed)
    n_samples = len(Y)
    room = sizes.astype(float)
    lacking = np.outer(sizes / n_samples, Y.sum(axis=0))
    part, free = np.full(n_samples, -1), np.ones(n_samples, bool)
    while (Y & free[:, None]).any():
        left = (Y & free[:, None]).sum(axis=0)
        label = rng.choice(np.flatnonzero(left == left[left > 0].min()))
        for row in np.flatnonzero(Y[:, label] & free):
            most = np.flatnonzero(lacking[:, label] == lacking[:, label].max())
            most = most[room[most] == room[most].max()]
            part[row] = rng.choice(most)
            free[row] = False
            room[part[row]] -= 1
            lacking[part[row], Y[row]] -= 1
    for row in np.flatnonzero(free):
        part[row] = room.argmax()
        room[part[row]] -= 1
    return part


def share_error(Y, part, n_parts):
    """Mean over parts and labels of how far a label's share of a part is from its share of all rows."""
    shares = [Y[part == p].mean(axis=0) - Y.mean(axis=0) for p in range(n_parts)]
    return float(np.abs(shares).mean())


def handed_out(Y, sizes, seed):
    """Return the parts before any repair, and the balance of rows and labels that repairs work on."""
    seen = []

    class Watched(stratification._Balance):
        def marks(self):
            return csr_array((np.ones(self.rows.items.size, bool), self.rows.items, self.rows.ptr)).toarray()

        def move_to_sizes(self):
            seen.append((self.part.copy(), self))
            super().move_to_sizes()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stratification, "_Balance", Watched)
        part = stratified_parts(Y, sizes, np.random.default_rng(seed))
    return part, *seen[0]


@pytest.mark.parametrize(
    ("n_samples", "n_labels", "density", "sizes"),
    [(300, 20, 0.1, [60] * 5), (200, 8, 0.4, [100, 60, 40]), (400, 80, 0.03, [80] * 5)],
)
def test_shares_are_as_even_as_those_of_the_published_algorithm(n_samples, n_labels, density, sizes):
    sizes = np.array(sizes)
    ours, first, plain, same = [], [], [], []
    for seed in range(5):
        Y = labels_of(n_samples, n_labels, seed, density)
        part, drawn, balance = handed_out(Y, sizes, seed)
        assert np.bincount(part).tolist() == sizes.tolist()
        first.append(share_error(balance.marks(), drawn, sizes.size))
        ours.append(share_error(Y, part, sizes.size))
        plain.append(share_error(Y, plain_parts(Y, sizes, seed), sizes.size))
        with_empty = np.column_stack([Y, ~Y.any(axis=1)])
        same.append(share_error(with_empty, plain_parts(with_empty, sizes, seed), sizes.size))
    assert np.mean(first) <= 1.15 * np.mean(same)
    assert np.mean(ours) <= 1.02 * np.mean(plain)


def test_labels_that_exclude_each_other_are_dealt_out_exactly():
    Y = np.eye(6, dtype=bool)[np.repeat(np.arange(6), [10, 20, 5, 35, 15, 15])]
    for seed in range(5):
        part = stratified_parts(Y, np.full(5, 20), np.random.default_rng(seed))
        assert all(Y[part == p].sum(axis=0).tolist() == [2, 4, 1, 7, 3, 3] for p in range(5))


def test_the_rarest_label_is_handed_out_first():
    # Whoever came before it would claim some of its rows.
    for seed in range(8):
        Y = labels_of(120, 9, seed, 0.3)
        Y[:, 4] = False
        Y[seed : seed + 6, 4] = True  # six rows, all with other labels as well
        Y[:, Y.sum(axis=0) <= 6] &= Y[:, [4]]
        Y[seed : seed + 6, 8] = True
        _, drawn, balance = handed_out(Y, np.full(3, 40), seed)
        rows = balance.labels.items[balance.labels.ptr[4] : balance.labels.ptr[5]]
        assert np.bincount(drawn[rows], minlength=3).tolist() == [2, 2, 2]


def test_what_repairs_believe_of_the_parts_is_so():
    for seed, density in enumerate([0.05, 0.2, 0.5]):
        Y = labels_of(90, 12, seed, density)
        sizes = np.array([40, 30, 20])
        part, drawn, balance = handed_out(Y, sizes, seed)
        counts = np.zeros((13, 3))
        for row, labels in enumerate(np.split(balance.rows.items, balance.rows.ptr[1:-1])):
            for label in labels:
                counts[label, balance.part[row]] += 1
        expected = counts - np.outer(counts.sum(axis=1), sizes / 90)
        np.testing.assert_allclose(balance.excess, expected, atol=1e-9)
        assert (drawn != balance.part).any()
        assert np.bincount(part).tolist() == sizes.tolist()


def test_no_swap_of_the_last_pass_made_the_shares_less_even(monkeypatch):
    Y = labels_of(150, 10, 3, 0.4)
    sizes = np.full(3, 50)

    def unevenness(passes):
        monkeypatch.setattr(stratification, "PASSES", passes)
        part = stratified_parts(Y, sizes, np.random.default_rng(0))
        counts = np.array([Y[part == p].sum(axis=0) for p in range(3)])
        return float((((counts - Y.sum(axis=0) / 3) ** 2) / Y.sum(axis=0)).sum())

    found = [unevenness(passes) for passes in range(4)]
    assert found == sorted(found, reverse=True)
    assert found[0] > 2 * found[-1]


@pytest.mark.parametrize("kind", ["kfold", "holdout", "per_class", "strata"])
@pytest.mark.parametrize("with_groups", [False, True])
def test_sparse_labels_are_split_as_dense_ones(kind, with_groups):
    Y = labels_of(80, 7, 1, 0.3)
    groups = np.arange(80) // 3 if with_groups and kind in ("kfold", "holdout") else None
    settings = {"holdout": {"train": 40, "test": 30}, "strata": {"single": 5, "multiple": 5}}.get(kind, {})
    stored = csr_array(Y)
    expected = make_splits(Y, None, 4, kind=kind, groups=groups, **settings)
    for ours, theirs in zip(make_splits(stored, None, 4, kind=kind, groups=groups, **settings), expected, strict=True):
        np.testing.assert_array_equal(ours.train, theirs.train)
        np.testing.assert_array_equal(ours.test, theirs.test)


def test_pieces_do_not_matter(monkeypatch):
    Y, sizes = labels_of(100, 10, 0), np.full(4, 25)
    whole = stratified_parts(Y, sizes, np.random.default_rng(1))
    monkeypatch.setattr(arrays, "PIECE", 1000.0)
    np.testing.assert_array_equal(stratified_parts(Y, sizes, np.random.default_rng(1)), whole)
