"""A point near the fixed point of matrix completion without a constraint, by splitting the problem in two.

A fixed point Z = [Z_Y, Z_X, 1] of the papers' step is the minimum of a convex problem, in which the column of ones is
one more feature, measured with the curvature 1 / tau::

    min_V  mu |V|_* + l(V),   l(V) = labels(V_Y) + |V_X - X|^2 / (2 O_X) + |v - 1|^2 / (2 tau),   V = [Z_Y, Z_X, v]

(write down the optimality of D(Z - tau grad) = V). Steps down the gradient go as slowly as the largest curvature of l
is above the others, the square root of lam. Splitting (Douglas and Rachford; the alternating direction method of
multipliers) asks for the exact minimum of either part beside a square instead: shrinking for the norm, and for l,
entry by entry, a division for features and Newton steps for labels. The weight of the square is a tenth of the
curvature of features, which most of the entries have.

Cost: a step is one singular value thresholding, as the papers' is, and some 10 operations on each observed label.
References: Eckstein and Bertsekas, "On the Douglas-Rachford splitting method and the proximal point algorithm for
maximal monotone operators", Mathematical Programming 55 (1992).
"""

import numpy as np
from scipy.special import expit

from mlrank.arrays import FloatArray
from mlrank.linalg.shrink import shrink_singular_values
from mlrank.solvers.matrix_completion.problem import Completion, CompletionPoint

__all__ = ["near_fixed_point"]

# The weight of the square, in units of the curvature of features, and how far a step goes beyond its end.
WEIGHT, RELAXATION = 0.1, 1.7
# Steps between two looks at the residual, and what it must fall to for more of them to be made.
ROUND, FALLING = 10, 0.7
# Most Newton steps for the scores of labels, and the relative move at which they end.
NEWTON, NEAR = 100, 1e-9
# The longest step of a bias, in units of 1 / gamma, and the least curvature it is divided by.
FAR, LEAST = 2.0, 1e-300


def near_fixed_point(problem: Completion, mu: float, goal: float, most: int) -> tuple[CompletionPoint, int]:
    """Return a point near the fixed point, with `mu` the weight of the norm, and the number of steps to it.

    Steps, at most `most`, end at a residual of `goal`, or once ten of them no longer bring it down by a third.
    """
    labels, k = _Labels(problem), problem.signs.shape[1]
    weight = WEIGHT / problem.X.size
    # The features and the ones, and the curvature of their squares.
    seen = problem.observed[:, k:]
    curvature = np.full(seen.shape[1], 1.0 / problem.X.size)
    curvature[problem.X.shape[1] :] = 1.0 / problem.tau
    U = np.hstack([np.zeros_like(problem.signs), seen])
    point, dual, rank, last, n_steps = CompletionPoint(U, labels.bias), np.zeros_like(U), min(U.shape), np.inf, 0
    while n_steps + ROUND + 1 <= most:
        for _ in range(ROUND):
            shrunk = shrink_singular_values(U - dual, mu / weight, np.inf, rank)
            Z, rank = shrunk.matrix, len(shrunk.values)
            V = RELAXATION * Z + (1.0 - RELAXATION) * U + dual
            U = np.hstack(
                [labels.nearest(V[:, :k], weight), (curvature * seen + weight * V[:, k:]) / (curvature + weight)]
            )
            dual = V - U
        step = problem.step(problem.projected(CompletionPoint(Z, labels.bias)), mu, rank)
        point, residual, n_steps = step.point, step.move / step.slope, n_steps + ROUND + 1
        if residual <= goal or residual > FALLING * last:
            break
        last = residual
    return point, n_steps


class _Labels:
    """The loss of labels; the last scores at which it was least beside a square, and biases."""

    def __init__(self, problem: Completion) -> None:
        self._problem, self._seen = problem, problem.signs != 0
        self._signs = problem.signs[self._seen]
        self._scale = problem.lam / problem.n_observed
        self._last = np.zeros(len(self._signs))
        self.bias = np.zeros(problem.signs.shape[1])

    def nearest(self, V: FloatArray, weight: float) -> FloatArray:
        """Return argmin_U labels(U + b) + weight / 2 |U - V|^2, and move the biases b a Newton step on."""
        U = V.copy()
        offsets = np.broadcast_to(self.bias, V.shape)[self._seen]
        U[self._seen] = self._last = self._least(V[self._seen], offsets, weight)
        if self._problem.bias == "labels":
            pull, bend = np.zeros_like(V), np.zeros_like(V)
            pull[self._seen], bend[self._seen] = self._slopes(self._last + offsets)
            across = (bend * weight / (weight + bend)).sum(axis=0)
            move = -pull.sum(axis=0) / np.maximum(across, LEAST)
            self.bias = self.bias + np.clip(move, -FAR / self._problem.gamma, FAR / self._problem.gamma)
        return U

    def _least(self, V: FloatArray, offsets: FloatArray, weight: float) -> FloatArray:
        """Return the scores of observed labels: Newton steps, or bisections where these lead too far."""
        # The loss pulls by at most `_scale` towards the sign.
        end = V + self._signs * (self._scale / weight)
        low, high = np.minimum(V, end), np.maximum(V, end)
        U = np.clip(self._last, low, high)
        for _ in range(NEWTON):
            pull, bend = self._slopes(U + offsets)
            rest = pull + weight * (U - V)
            low, high = np.where(rest < 0, U, low), np.where(rest > 0, U, high)
            new = U - rest / (weight + bend)
            new = np.where((new >= low) & (new <= high), new, (low + high) / 2)
            done, U = float(np.abs(new - U).max()) <= NEAR * (1.0 + float(np.abs(U).max())), new
            if done:
                break
        return U

    def _slopes(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the first and second derivatives of the loss of observed labels."""
        gamma = self._problem.gamma
        wrong = expit(-gamma * self._signs * scores)
        return -self._scale * self._signs * wrong, self._scale * gamma * wrong * (1.0 - wrong)
