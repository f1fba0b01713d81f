"""Primal and dual objective of Rank-SVM and Rank-HLapSVM on the rows, or the kernel matrix, that were given.

Passes sweep rows that are rotated, whitened by a penalty, or rebuilt from a kernel matrix of which small eigenvalues
are left out. What they converge to is judged here, by the problem itself: with weights W, intercepts b and dual
variables alpha that meet their constraints (beta as in eq. 15, V = beta'X)::

    P = 1/2 (|W|^2 + |b|^2) + lam/2 trace(F'LF) + C sum_i 1/(|y_i||z_i|) sum_pairs max(0, 1 - (f_p - f_q)(x_i))
    D = sum alpha - 1/2 trace(V (I + lam X'LX)^-1 V') - 1/2 |sum_i beta_i|^2

The terms in b are of a penalized bias alone. Where lam > 0, approximate weights Y of the dual point give a lower bound
whatever they are: v'M^-1 v <= 2 v'y - y'My + |v - My|^2, as no eigenvalue of M is below 1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlrank.arrays import BoolArray, Features, FloatArray
from mlrank.hypergraph import vertex_degree
from mlrank.kernels.exact import ACCURACY, expansion_error, expansion_square, long_expansion
from mlrank.linalg.sums import adjoint_of, column_offsets, scores_of
from mlrank.solvers.rank_svm import kernels

__all__ = ["GivenRows", "RankPenalty", "bound_of"]


def bound_of(total: float, square: float) -> float:
    """Return the dual value of the best part of a dual point with this sum of variables and this squared norm."""
    if not np.isfinite(square):
        return 0.0
    # Any part of a dual point is one too.
    part = min(1.0, total / square) if square > 0 else 1.0
    return max(part * total - 0.5 * part**2 * square, 0.0)


@dataclass(frozen=True)
class RankPenalty:
    """The hypergraph penalty: `lam`, labels and hyperedge weights."""

    lam: float
    Y: BoolArray
    weights: FloatArray

    def laplacian(self, F: FloatArray) -> FloatArray:
        """Return L F for F (n_samples, ..); L maps constants to 0, so most of a column is brought near 0 first."""
        F, H = F - np.median(F, axis=0), self.Y.astype(np.float64)
        return vertex_degree(self.Y, self.weights)[:, None] * F - H @ (self.weights[:, None] * (H.T @ F))


@dataclass(frozen=True)
class GivenRows:
    """The rows of a problem as they were given.

    Parameters
    ----------
    X : the rows of features, or the kernel matrix if `gram`
    gram : whether weights are coefficients of the training rows
    exact : () -> the kernel matrix in long doubles, or None where that takes too long; asked where rounding shows
    penalized_bias : whether intercepts count, and are sums of dual variables
    penalty : of Rank-HLapSVM
    """

    X: Features
    gram: bool
    penalized_bias: bool
    penalty: RankPenalty | None = None
    exact: Callable[[], Any] = lambda: None

    def primal(self, coef: FloatArray, intercept: FloatArray, upper: FloatArray, lists: Any) -> float:
        """Return P at weights (n_labels, n_features) or coefficients (n_labels, n_samples)."""
        if not self.gram:
            scores = scores_of(self.X, coef, intercept, column_offsets(self.X))
            return self._value(scores, float(np.vdot(coef, coef)), intercept, upper, lists)
        plain = np.asarray(self.X @ coef.T)
        value = self._value(plain + intercept, float(np.vdot(plain, coef.T)), intercept, upper, lists)
        n_pairs = np.diff(lists[0]) * np.diff(lists[2])
        # A score counts in the norm and in the pairs of its row.
        weight = float(np.abs(coef).sum()) + 2.0 * float(upper @ n_pairs)
        if expansion_error(self.X, coef.T) * weight <= ACCURACY * value:
            return value
        K = self.exact()
        if K is None:
            return value
        plain = long_expansion(K, coef.T)
        scores, square = (plain + intercept).astype(np.float64), float((plain * coef.T).sum())
        return self._value(scores, square, intercept, upper, lists)

    def _value(self, scores: FloatArray, square: float, intercept: FloatArray, upper: FloatArray, lists: Any) -> float:
        if self.penalized_bias:
            square += float(intercept @ intercept)
        if self.penalty is not None:
            square += self.penalty.lam * float(np.vdot(scores, self.penalty.laplacian(scores)))
        return 0.5 * square + float(upper @ kernels.hinge_sums(np.ascontiguousarray(scores), lists))

    def dual(self, beta: FloatArray, total: float, weights: FloatArray | None) -> float:
        """Return a lower bound of the optimum, at least that of some part of the dual point.

        Parameters
        ----------
        beta : (n_samples, n_labels), of dual variables that meet their constraints
        total : their sum
        weights : those that belong to the dual point; only used with a penalty
        """
        penalized = self.penalty is not None and weights is not None
        square = self._penalized(beta, weights) if penalized else self._norm(beta, total)
        if self.penalized_bias:
            sums = beta.sum(axis=0)
            square += float(sums @ sums)
        return bound_of(total, square)

    def _norm(self, beta: FloatArray, total: float) -> float:
        if self.gram:
            return expansion_square(self.X, beta, total, self.exact)
        V = adjoint_of(self.X, beta)
        return float(np.vdot(V, V))

    def _penalized(self, beta: FloatArray, weights: FloatArray | None) -> float:
        """Return an upper bound of v'M^-1 v, summed over labels."""
        assert self.penalty is not None
        assert weights is not None
        Y = weights.T
        plain = np.asarray(self.X @ Y)
        pull = self.penalty.laplacian(plain)
        if self.gram:  # Y are coefficients: M acts on them as I + lam L K, under the metric K
            rest = beta - Y - self.penalty.lam * pull
            forced, own, left = np.vdot(beta, plain), np.vdot(Y, plain), np.vdot(rest, self.X @ rest)
        else:
            V = adjoint_of(self.X, beta)
            rest = V - Y - self.penalty.lam * adjoint_of(self.X, pull)
            forced, own, left = np.vdot(V, Y), np.vdot(Y, Y), np.vdot(rest, rest)
        own += self.penalty.lam * np.vdot(plain, pull)
        return float(2.0 * forced - own + left)
