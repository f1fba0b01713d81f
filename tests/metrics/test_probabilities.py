"""Metrics of probabilities against scikit-learn, label by label, and against plain loops."""

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as log_loss_there

from mlrank.metrics import METRICS, measure, search_value
from mlrank.metrics.probabilities import reliability

NAMES = ("brier", "log_loss", "expected_calibration_error")


def drawn(seed, known=False):
    rng = np.random.default_rng(seed)
    p = rng.random((30, 4)).round(1 if seed == 0 else 3)  # with 0, 1 and all ends of bins
    return rng.random((30, 4)) < p, p, rng.random((30, 4)) < 0.7 if known else None


def slow_ece(y, p):
    """The definition, bin by bin: of a bin the upper end counts, of the first the lower one too."""
    total = 0.0
    for number in range(10):
        low, high = number / 10, (number + 1) / 10
        inside = [j for j in range(len(p)) if (low < p[j] <= high) or (number == 0 and p[j] == 0)]
        if inside:
            total += abs(sum(p[j] for j in inside) - sum(y[j] for j in inside))
    return total / len(p)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_values_are_those_of_other_code(seed, known):
    Y, p, mask = drawn(seed, known)
    chosen = np.ones_like(Y) if mask is None else mask
    y, q = Y[chosen].astype(int), p[chosen]
    value = {name: measure(name, Y, p, mask) for name in NAMES}
    assert all(found[1:] == (1, 1, "all") for found in value.values())
    assert value["brier"].value == pytest.approx(brier_score_loss(y, q), abs=1e-14)
    assert value["log_loss"].value == pytest.approx(log_loss_there(y, q), rel=1e-12)
    assert value["expected_calibration_error"].value == pytest.approx(slow_ece(y, q), abs=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_known_cases(name):
    Y = np.array([[True, False], [False, False]])
    assert measure(name, Y, Y.astype(float)).value == pytest.approx(0.0, abs=1e-15)
    half = measure(name, Y, np.full((2, 2), 0.5)).value
    assert half == pytest.approx({"brier": 0.25, "log_loss": np.log(2)}.get(name, 0.25))
    assert not METRICS[name].higher_is_better
    wrong = measure(name, Y, 1.0 - Y).value
    assert wrong == pytest.approx({"log_loss": -np.log(np.finfo(float).eps)}.get(name, 1.0))


def test_a_calibrated_forecast_has_no_calibration_error_however_vague():
    p = np.repeat([0.2, 0.6], 50)[:, None]
    y = np.concatenate([np.arange(50) < 10, np.arange(50) < 30])[:, None]
    assert measure("expected_calibration_error", y, p).value == pytest.approx(0.0, abs=1e-15)
    assert measure("brier", y, p).value == pytest.approx(0.5 * (0.2 * 0.8 + 0.6 * 0.4))
    place, mean, frequency, count = reliability(p.ravel(), y.ravel().astype(float))
    assert (place.tolist(), mean.round(12).tolist(), count.tolist()) == ([1.0, 5.0], [0.2, 0.6], [50.0, 50.0])
    np.testing.assert_allclose(frequency, [0.2, 0.6])


@pytest.mark.parametrize("name", NAMES)
def test_scores_that_are_no_probabilities_leave_them_undefined(name):
    Y, p, mask = drawn(3, known=True)
    for odd in (1.0 + 1e-9, -1e-9):
        outside = p.copy()
        outside[mask.nonzero()[0][0], mask.nonzero()[1][0]] = odd
        found = measure(name, Y, outside, mask)
        assert np.isnan(found.value)
        assert found[1:] == (0, 1, "all")
        with pytest.raises(ValueError, match=f"{name} needs probabilities, found scores from"):
            search_value(name, Y, outside, mask)
    elsewhere = np.where(mask, p, 7.0)  # where nothing is known, nothing is asked
    assert measure(name, Y, elsewhere, mask) == measure(name, Y, p, mask)
    assert search_value(name, Y, p, mask) == (measure(name, Y, p, mask).value, 0)
