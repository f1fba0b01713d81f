"""Scores turned into log-odds, so that those of different labels can be compared."""

import numpy as np

from mlrank.arrays import BoolArray, FloatArray

__all__ = ["log_odds"]

STEPS = 100
SLOPE_TOL = 1e-10


def log_odds(scores: FloatArray, positive: BoolArray) -> tuple[float, float]:
    """Return (a, b) such that a s + b are the log-odds of being positive.

    They minimise the logistic loss of the scores (n_samples,) against targets drawn in from 1 and 0 to (P + 1)/(P + 2)
    and 1/(N + 2), which keeps them finite where the scores separate the classes (Platt, "Probabilistic outputs for
    support vector machines", 1999), by Newton's method with halved steps.
    """
    n_positive = int(positive.sum())
    n_negative = positive.size - n_positive
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    # In units of the spread of the scores, both unknowns are of about size 1.
    centre, spread = float(scores.mean()), float(scores.std()) or 1.0
    features = np.column_stack([(scores - centre) / spread, np.ones(scores.size)])
    point = np.array([0.0, np.log((n_positive + 1) / (n_negative + 1))])
    loss = _loss(features @ point, target)
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-(features @ point)))
        slope = features.T @ (chance - target)
        if np.abs(slope).max() <= SLOPE_TOL * scores.size:
            break
        bend = (features.T * (chance * (1 - chance))) @ features + 1e-12 * np.eye(2)
        step = np.linalg.solve(bend, slope)
        part = 1.0
        while (found := _loss(features @ (point - part * step), target)) > loss and part > 1e-10:
            part /= 2
        point, loss = point - part * step, min(found, loss)
    return float(point[0] / spread), float(point[1] - point[0] * centre / spread)


def _loss(odds: FloatArray, target: FloatArray) -> float:
    return float(np.sum(np.logaddexp(0.0, odds) - target * odds))
