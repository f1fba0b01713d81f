"""Iterative stratification: the same rows as the library's, whatever the ties."""

import numpy as np
import pytest
from iterstrat.ml_stratifiers import IterativeStratification

from mlrank.stratification import deal


@pytest.mark.parametrize("seed", range(12))
def test_deals_as_the_library_does(seed):
    rng = np.random.default_rng(seed)
    n_samples, n_labels, n_parts = rng.integers(5, 150), rng.integers(1, 12), rng.integers(2, 7)
    Y = rng.random((n_samples, n_labels)) < rng.uniform(0.02, 0.6, n_labels)
    Y = np.column_stack([Y, ~Y.any(axis=1)])
    ratios = np.full(n_parts, 1 / n_parts) if seed % 2 else rng.dirichlet(np.ones(n_parts))
    ours, theirs = np.random.default_rng(seed), np.random.default_rng(seed)
    np.testing.assert_array_equal(deal(Y, ratios, ours), IterativeStratification(Y, ratios.copy(), theirs))
    assert ours.random() == theirs.random()  # as many draws


def test_a_label_is_dealt_out_evenly():
    Y = np.ones((12, 1), dtype=bool)
    part = deal(Y, np.full(3, 1 / 3), np.random.default_rng(0))
    assert np.bincount(part).tolist() == [4, 4, 4]
