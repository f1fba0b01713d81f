import math
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

from mlrank.thresholds.targets import between, ew, midpoint, min_error

FIXTURES = sorted((Path(__file__).parents[1] / "fixtures").glob("*.npz"))


def wrong_labels(row, relevant, threshold):
    return sum(1 for f, y in zip(row, relevant, strict=True) if (f > threshold) != y)


class TestTargets:
    def test_by_hand(self):
        scores = np.array([[2.0, 0.5, -1.0], [2.0, 1.0, 0.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
        Y = np.array([[1, 0, 0], [1, 0, 1], [0, 0, 0], [1, 1, 1]], dtype=bool)
        np.testing.assert_array_equal(midpoint(scores, Y), [1.25, 0.5, np.nan, np.nan])
        np.testing.assert_array_equal(min_error(scores, Y), [1.25, -0.1, np.nan, np.nan])
        np.testing.assert_array_equal(ew(scores, Y), [1.25, 1.5, np.nan, np.nan])

    @pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
    @pytest.mark.parametrize("method", ["rank", "hlap"])
    def test_certified(self, path, method):
        data = np.load(path)
        scores, Y = data[f"{method}_F"], data["in_Y"] == 1
        np.testing.assert_allclose(midpoint(scores, Y), data[f"{method}_h_printed"], atol=1e-12)
        np.testing.assert_allclose(ew(scores, Y), data[f"{method}_h_ew"], atol=1e-12)

    def test_every_order_of_three_scores_with_every_label_set(self):
        for values, relevant in product(product([0.0, 1.0, 3.0], repeat=3), product([False, True], repeat=3)):
            scores, Y = np.array([values]), np.array([relevant])
            if len(set(relevant)) == 1:
                assert math.isnan(midpoint(scores, Y)[0])
                assert math.isnan(min_error(scores, Y)[0])
                assert math.isnan(ew(scores, Y)[0])
                continue
            lowest = min(f for f, y in zip(values, relevant, strict=True) if y)
            highest = max(f for f, y in zip(values, relevant, strict=True) if not y)
            assert midpoint(scores, Y)[0] == (lowest + highest) / 2
            distinct = sorted(set(values))
            middles = [(a + b) / 2 for a, b in pairwise(distinct)]
            candidates = [distinct[0] - 0.1, *middles, distinct[-1] + 0.1]
            assert min_error(scores, Y)[0] == min(candidates, key=lambda h: (wrong_labels(values, relevant, h), h))
            inner = middles or candidates
            assert ew(scores, Y)[0] == min(inner, key=lambda h: (wrong_labels(values, relevant, h), -h))

    @pytest.mark.parametrize("target", [midpoint, min_error, ew])
    def test_unknown_labels_are_as_if_they_were_not_there(self, target):
        rng = np.random.default_rng(3)
        scores, Y = rng.integers(-3, 4, (200, 6)).astype(float), rng.random((200, 6)) < 0.5
        known = rng.random((200, 6)) < 0.6
        alone = [target(s[None, k], y[None, k])[0] for s, y, k in zip(scores, Y, known, strict=True) if k.any()]
        np.testing.assert_array_equal(target(scores, Y, known)[known.any(axis=1)], alone)
        assert np.isnan(target(scores, Y, known)[~known.any(axis=1)]).all()

    def test_neighbouring_numbers_are_still_parted(self):
        low = np.array([1.0, 1.0 + 2**-52, -1.0])
        high = np.nextafter(low, np.inf)
        assert np.all((between(low, high) < high) & (between(low, high) >= low))
        assert between(np.array([1.7e308]), np.array([1.7e308])) == 1.7e308
