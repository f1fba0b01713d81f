"""Logistic regressions of single labels: the objective, and the bound of the dual point that is stored.

With costs c and z = s f the loss of a row is c log(1 + exp(-z)). For any alpha between 0 and c the bound is
D = sum c H(alpha / c) - |sum s alpha x|^2 / 2, H the entropy, where the sum of s alpha is 0 for a free bias, or its
square counts as those of weights do.
"""

from typing import Any

import numpy as np

from mlrank.certify.plain import LONG, LongArray, dual_of, rows_of
from mlrank.certify.proof import GAP, Proof, balanced_sides, gap_proof
from mlrank.solvers import TrainingSet

__all__ = ["certify_logistic"]

# Rounding of a dual variable beyond its cap, relative to the cap.
ROUNDED = 1e-9


def certify_logistic(solver: Any, model: Any, train: TrainingSet) -> Proof:
    """Regressions of single labels with a squared penalty, `mlrank.solvers.logistic`."""
    known = np.ones_like(train.dense_Y) if train.known is None else train.known
    positive, negative = train.dense_Y & known, ~train.dense_Y & known
    mixed = positive.any(axis=0) & negative.any(axis=0)
    positive, negative = positive & mixed, negative & mixed
    rows, b, augmented = rows_of(model, train.X), model.intercept.astype(LONG), solver.bias == "augmented"
    signs = positive.astype(LONG) - negative
    costs = LONG(solver.C) * (LONG(solver.positive_weight) * positive + negative)
    loss = (costs * np.logaddexp(LONG(0), -signs * (rows.outputs() + b))).sum()
    primal = np.diagonal(rows.inner())[mixed].sum() / 2 + loss
    if augmented:
        primal += (b[mixed] ** 2).sum() / 2
    zero = costs.sum() * np.log(LONG(2))
    beta = dual_of(model, train.dense_Y.shape)
    if beta is None:
        return gap_proof(primal, None, zero)
    alpha = np.maximum(signs * beta, 0)
    if (alpha > costs * (1 + LONG(ROUNDED))).any():
        broken = "the stored dual variables break their constraints: they prove nothing"
        return Proof(float(primal), float("inf"), GAP, broken, float(zero))
    if not augmented:
        up, down = balanced_sides(np.where(positive, alpha, 0), np.where(negative, alpha, 0))
        alpha = up + down
    squares = np.diagonal(rows.spanned(signs * alpha)).copy()
    if augmented:
        squares += (signs * alpha).sum(axis=0) ** 2
    bounds = _entropies(np.minimum(alpha, costs), costs).sum(axis=0) - squares / 2
    return gap_proof(primal, np.maximum(bounds, 0)[mixed].sum(), zero)


def _entropies(alpha: LongArray, costs: LongArray) -> LongArray:
    """Return c H(alpha / c), 0 where c is."""
    p = np.divide(alpha, costs, out=np.zeros_like(alpha), where=costs > 0)
    return -costs * (_times_log(p) + _times_log(1 - p))


def _times_log(p: LongArray) -> LongArray:
    return np.asarray(p * np.log(np.where(p > 0, p, 1)))
