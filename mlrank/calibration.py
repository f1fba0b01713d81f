"""Calibration: scores of each label turned into probabilities, by what held-out scores of the training rows say.

``sigmoid`` is Platt's p = 1 / (1 + exp(-(a s + b))), fitted by logistic regression to targets that are drawn in from 0
and 1, (P + 1) / (P + 2) for the P rows with the label and 1 / (N + 2) for the N without. ``isotonic`` is the rising
step function with the least squared error, linear between its steps; it needs more rows, and makes ties. A label that
no row is known of has probability 1/2.

References: J. Platt, "Probabilistic outputs for support vector machines", Advances in Large Margin Classifiers, 1999;
B. Zadrozny and C. Elkan, "Transforming classifier scores into accurate multiclass probability estimates", KDD 2002.
Cost: of each label a logistic regression with one feature, or one sort.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mlrank.arrays import BoolArray, FloatArray

__all__ = ["CALIBRATIONS", "CALIBRATORS", "IsotonicCalibration", "SigmoidCalibration", "fit_calibration"]

# The way to calibrate by its name in a configuration.
CALIBRATIONS = {
    "sigmoid": "A logistic function of each label's scores, with slope and intercept of its own.",
    "isotonic": "A rising function of each label's scores, linear between steps and constant beyond them.",
}
"""The ways to make probabilities of scores, each with what it fits."""
# The penalty of the regression is the inverse: next to none, on scores of unit variance.
WEAKEST_PENALTY = 1e20
# Scores that lie no further apart are one score: the slope between them would be no number.
LEAST_SPREAD = 1e-290


@dataclass(frozen=True)
class SigmoidCalibration:
    """Probabilities ``1 / (1 + exp(-(slope * scores + intercept)))``.

    Parameters
    ----------
    slope, intercept : (n_labels,) ndarray
    """

    slope: FloatArray
    intercept: FloatArray

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return probabilities (n_samples, n_labels)."""
        from scipy.special import expit

        _check_width(scores, len(self.slope))
        return np.asarray(expit(scores * self.slope + self.intercept))

    def arrays(self) -> Mapping[str, FloatArray]:
        """Return `slope` and `intercept`."""
        return {"slope": self.slope, "intercept": self.intercept}

    def meta(self) -> Mapping[str, object]:
        """Return the kind of calibration."""
        return {"calibration": "sigmoid"}


@dataclass(frozen=True)
class IsotonicCalibration:
    """Probabilities of each label by its own rising function, linear between steps and constant beyond them.

    Parameters
    ----------
    x, y : (n_steps,) ndarray
        Scores and probabilities of the steps, one label after another.
    starts : (n_labels + 1,) ndarray of int64
        Where the steps of each label begin and end.
    """

    x: FloatArray
    y: FloatArray
    starts: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        whole = self.starts.dtype == np.int64 and self.starts.ndim == 1 and self.starts.size > 1
        if not whole or self.x.shape != self.y.shape or self.starts[0] != 0 or self.starts[-1] != self.x.size:
            raise ValueError("the steps of an isotonic calibration do not fit together")
        if (np.diff(self.starts) < 1).any():
            raise ValueError("an isotonic calibration has a label without steps")

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return probabilities (n_samples, n_labels)."""
        _check_width(scores, len(self.starts) - 1)
        found = np.empty(scores.shape)
        for label, (start, end) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            found[:, label] = np.interp(scores[:, label], self.x[start:end], self.y[start:end])
        return found

    def arrays(self) -> Mapping[str, npt.NDArray[Any]]:
        """Return the steps."""
        return {"x": self.x, "y": self.y, "starts": self.starts}

    def meta(self) -> Mapping[str, object]:
        """Return the kind of calibration."""
        return {"calibration": "isotonic"}


# Fitted calibrations by what their ``meta()["calibration"]`` says.
CALIBRATORS: Mapping[str, type[Any]] = {"sigmoid": SigmoidCalibration, "isotonic": IsotonicCalibration}


def fit_calibration(kind: str, scores: FloatArray, Y: BoolArray, known: BoolArray | None = None) -> Any:
    """Fit a calibration to scores of rows that the model did not see.

    Parameters
    ----------
    kind : one of CALIBRATIONS
    scores, Y : (n_samples, n_labels)
    known : (n_samples, n_labels), False where an entry of `Y` is missing: such entries are left out
    """
    used = np.ones_like(Y) if known is None else known
    columns = [(s[rows], y[rows]) for s, y, rows in zip(scores.T, Y.T, used.T, strict=True)]
    if kind == "sigmoid":
        slope, intercept = np.array([_sigmoid(*column) for column in columns]).T
        return SigmoidCalibration(slope, intercept)
    steps = [_isotonic(*column) for column in columns]
    x, y = (np.concatenate(part) for part in zip(*steps, strict=True))
    return IsotonicCalibration(x, y, np.cumsum([0, *(len(part) for part, _ in steps)], dtype=np.int64))


def _sigmoid(scores: FloatArray, relevant: BoolArray) -> tuple[float, float]:
    n_relevant = int(relevant.sum())
    high, low = (n_relevant + 1.0) / (n_relevant + 2.0), 1.0 / (relevant.size - n_relevant + 2.0)
    if n_relevant in (0, relevant.size) or np.ptp(scores) < LEAST_SPREAD:
        if not relevant.size:
            return 0.0, 0.0
        from scipy.special import logit

        return 0.0, float(logit(np.where(relevant, high, low).mean()))
    from sklearn.linear_model import LogisticRegression

    # A row with a target between 0 and 1 is one of either class, with weights.
    target = np.where(relevant, high, low)
    largest = float(np.abs(scores).max())  # so that squares are numbers
    scores = scores / largest
    center, spread = float(scores.mean()), float(scores.std())
    unit = np.tile((scores - center) / spread, 2)[:, None]
    classes = np.repeat([1, 0], scores.size)
    machine = LogisticRegression(C=WEAKEST_PENALTY, solver="newton-cholesky", tol=1e-10, max_iter=200)
    machine.fit(unit, classes, np.concatenate([target, 1.0 - target]))
    slope = float(machine.coef_[0, 0]) / spread
    return slope / largest, float(machine.intercept_[0]) - slope * center


def _isotonic(scores: FloatArray, relevant: BoolArray) -> tuple[FloatArray, FloatArray]:
    if not relevant.size:
        return np.zeros(1), np.full(1, 0.5)
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression(y_min=0.0, y_max=1.0).fit(scores, relevant.astype(np.float64))
    return np.asarray(fitted.X_thresholds_, np.float64), np.asarray(fitted.y_thresholds_, np.float64)


def _check_width(scores: FloatArray, n_labels: int) -> None:
    if scores.shape[1] != n_labels:
        raise ValueError(f"the calibration was fitted to {n_labels} labels, scores has {scores.shape[1]}")
