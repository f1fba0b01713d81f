"""The cutting planes of one label: the ROC-area oracle, the small quadratic program, the line search.

Points and planes are pairs of vectors: `coef`, and `image` with <w, w'> = coef'image'. Where weights are formed, both
are w; otherwise coef are coefficients of the rows and image = K coef are the scores.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from mlrank.arrays import BoolArray, FloatArray, IntArray
from mlrank.compiled import njit
from mlrank.solvers.base import relative_gap

__all__ = [
    "LabelSearch",
    "LabelSolution",
    "PrimalPoint",
    "Side",
    "swapped",
]

# A plane that has carried no weight for so many rounds is dropped, as the program does.
IDLE_ROUNDS = 50
# The new plane is taken at this part of the way from the best point to the lowest point of the model (Franc &
# Sonnenburg 2009, who propose 0.1): 2 to 20 times fewer planes than at the end of the way, as the program has it.
TOWARDS_MODEL = 0.1
# The quadratic program is solved to this part of the gap that is still open.
PROGRAM_PART = 0.1
PROGRAM_STEPS = 20_000
# Of the line search; a plane costs far more than a trial.
TRIALS = 6
# A curvature so far below 0, relative to the other terms, is no rounding of one that is not.
INDEFINITE = 1e-9
LINE_TOL = 0.01


class Side(NamedTuple):
    """Rows of one label: `positive` and `negative` row numbers."""

    positive: IntArray
    negative: IntArray


class LabelSolution(NamedTuple):
    """What was found for one label.

    Parameters
    ----------
    coef : of the best weights seen
    primal : their objective
    dual : the best lower bound
    dual_coef : coefficients of the weights at which it is reached
    n_planes : int
    """

    coef: FloatArray
    primal: float
    dual: float
    dual_coef: FloatArray
    n_planes: int


class PrimalPoint(NamedTuple):
    """A weight vector, and its scores of the training rows."""

    coef: FloatArray
    image: FloatArray
    scores: FloatArray

    def towards(self, other: "PrimalPoint", part: float) -> "PrimalPoint":
        """Return the point at `part` of the way to `other`; coefficients and image stay one array where they are."""
        coef = self.coef + part * (other.coef - self.coef)
        image = coef if self.image is self.coef else self.image + part * (other.image - self.image)
        if self.scores is self.image:
            return PrimalPoint(coef, image, image)
        return PrimalPoint(coef, image, self.scores + part * (other.scores - self.scores))


def swapped(scores: FloatArray, side: Side) -> tuple[FloatArray, float]:
    """Return the most violated swaps: (c, Delta) with loss(scores) = Delta - c'scores, in O(n log n).

    The pair (i, j) is swapped if s_i - s_j < 1; c_i counts the swaps of row i, plus for positive rows and minus for
    negative ones, and Delta all swaps, as parts of the number of pairs.
    """
    positive, negative = scores[side.positive] - 0.5, scores[side.negative] + 0.5
    # Both counts compare the same numbers, so that rounding cannot make them disagree on a pair.
    above = negative.size - np.searchsorted(np.sort(negative), positive, side="right")
    below = np.searchsorted(np.sort(positive), negative, side="left")
    n_pairs = float(positive.size * negative.size)
    c = np.zeros(scores.size)
    c[side.positive] = above / n_pairs
    c[side.negative] = -below / n_pairs
    return c, float(above.sum() / n_pairs)


@dataclass
class LabelSearch:
    """The search for the best weights of one label.

    Parameters
    ----------
    side : Side
    best : PrimalPoint
        Where to begin: w = 0.
    C : float
        Weight of the mean loss of pairs.
    tol : float
        Relative duality gap at which the search is over.
    line_search : bool
        Whether planes are taken near the best point, or at the lowest point of the model.
    """

    side: Side
    best: PrimalPoint
    C: float
    tol: float
    line_search: bool
    c: FloatArray = field(init=False)
    primal: float = field(init=False)
    dual: float = 0.0
    dual_coef: FloatArray = field(init=False)
    n_planes: int = 0
    step: float = 1.0
    # Whether the quadratic program has become too hard, as it does for rows of unlike scale.
    stuck: bool = False
    delta: float = field(init=False)
    coefs: FloatArray = field(init=False)
    images: FloatArray = field(init=False)
    gram: FloatArray = field(init=False)
    alpha: FloatArray = field(init=False)
    deltas: FloatArray = field(init=False)
    idle: IntArray = field(init=False)

    def __post_init__(self) -> None:
        self.c, self.delta = swapped(self.best.scores, self.side)
        self.primal = self.C * self.delta
        self.coefs = np.empty((0, self.best.coef.size))
        self.images = self.coefs if self.best.image is self.best.coef else np.empty((0, self.best.image.size))
        self.dual_coef = np.zeros(self.best.coef.size)
        self.gram, self.alpha, self.deltas = np.empty((0, 0)), np.empty(0), np.empty(0)
        self.idle = np.empty(0, dtype=np.int64)

    @property
    def optimality(self) -> float:
        """Relative duality gap."""
        return relative_gap(self.primal, self.dual)

    @property
    def solution(self) -> LabelSolution:
        """What was found so far, without the planes."""
        return LabelSolution(self.best.coef, self.primal, self.dual, self.dual_coef, self.n_planes)

    def add_plane(self, coef: FloatArray, image: FloatArray) -> None:
        """Add the plane at `c`, and minimize the model.

        Parameters
        ----------
        coef, image : of the plane's direction sum_i c_i phi(x_i)
        """
        self.n_planes += 1
        self._store(coef, image)
        gradient = self.deltas - self.gram @ self.alpha
        target = PROGRAM_PART * max(self.tol * self.primal, self.primal - self.dual)
        self.stuck = _maximize(self.gram, self.alpha, gradient, self.C, target, PROGRAM_STEPS) >= PROGRAM_STEPS
        dual = float(self.alpha @ self.deltas - 0.5 * self.alpha @ self.gram @ self.alpha)
        if dual > self.dual:
            self.dual, self.dual_coef = dual, self.alpha @ self.coefs
        self.idle = np.where(self.alpha > 0, 0, self.idle + 1)
        if (self.idle > IDLE_ROUNDS).any():
            self._keep(self.idle <= IDLE_ROUNDS)

    def model_minimum(self) -> tuple[FloatArray, FloatArray]:
        """Return coef and image of the lowest point of the model."""
        coef = self.alpha @ self.coefs
        return coef, coef if self.images is self.coefs else self.alpha @ self.images

    def go_on(self, lowest: PrimalPoint) -> None:
        """Move the best point, and choose where the next plane is taken."""
        if self.line_search:
            self._search_line(lowest)
            self.c, self.delta = swapped(self.best.towards(lowest, TOWARDS_MODEL).scores, self.side)
            return
        self.c, self.delta = swapped(lowest.scores, self.side)
        value = self._value(float(lowest.coef @ lowest.image), lowest.scores, self.c, self.delta)
        if value < self.primal:
            self.best, self.primal = lowest, value

    def _value(self, square: float, scores: FloatArray, c: FloatArray, delta: float) -> float:
        return float(0.5 * square + self.C * max(0.0, delta - float(c @ scores)))

    def _search_line(self, lowest: PrimalPoint) -> None:
        """Minimize the objective from the best point through the model's lowest one; its slope rises along the way."""
        origin, along = self.best, lowest.scores - self.best.scores
        cross = float(origin.coef @ (lowest.image - origin.image))
        bend = float((lowest.coef - origin.coef) @ (lowest.image - origin.image))
        start = float(origin.coef @ origin.image)
        if bend < -INDEFINITE * (abs(start) + abs(cross)):
            # The objective is convex, so the kernel's digits are lost: a line would lead anywhere.
            self.stuck = True
            return
        # Steps of one search are of about the size of the last one's.
        place, low, high = self.step, 0.0, np.inf
        found, at = self.primal, 0.0
        for _ in range(TRIALS):
            c, delta = swapped(origin.scores + place * along, self.side)
            square = start + 2 * place * cross + place**2 * bend
            value = self._value(square, origin.scores + place * along, c, delta)
            if value < found:
                found, at = value, place
            slope = cross + place * bend - self.C * float(c @ along)
            if slope < 0:
                low = place
            else:
                high = place
            if high - low <= LINE_TOL * high < np.inf:
                break
            place = 0.5 * (low + high) if high < np.inf else 2 * low
        if at > 0:
            self.best, self.primal, self.step = origin.towards(lowest, at), found, at

    def _store(self, coef: FloatArray, image: FloatArray) -> None:
        shared = self.images is self.coefs
        products = self.coefs @ image
        size = self.alpha.size
        gram = np.empty((size + 1, size + 1))
        gram[:size, :size], gram[size, :size], gram[:size, size] = self.gram, products, products
        gram[size, size] = coef @ image
        self.gram = gram
        self.coefs = np.vstack([self.coefs, coef])
        self.images = self.coefs if shared else np.vstack([self.images, image])
        self.alpha = np.append(self.alpha, 0.0)
        self.deltas = np.append(self.deltas, self.delta)
        self.idle = np.append(self.idle, 0)

    def _keep(self, chosen: BoolArray) -> None:
        shared = self.images is self.coefs
        self.coefs = self.coefs[chosen]
        self.images = self.coefs if shared else self.images[chosen]
        self.gram = np.ascontiguousarray(self.gram[np.ix_(chosen, chosen)])
        self.alpha, self.deltas, self.idle = self.alpha[chosen], self.deltas[chosen], self.idle[chosen]


@njit(cache=True)
def _maximize(
    gram: FloatArray, alpha: FloatArray, gradient: FloatArray, C: float, target: float, max_steps: int
) -> int:
    """Maximise alpha'delta - alpha'gram alpha/2 over alpha >= 0, sum alpha <= C, until its duality gap is `target`.

    Weight is moved between two planes at a time, or between a plane and what is left of C (number -1). The receiver has
    the largest gradient, the giver the largest gain.
    """
    size = alpha.size
    slack = max(0.0, C - alpha.sum())
    for step in range(max_steps):
        to, most, gap = -1, 0.0, 0.0
        for t in range(size):
            gap -= alpha[t] * gradient[t]
            if gradient[t] > most:
                to, most = t, gradient[t]
        if gap + C * most <= target:
            return step
        own = gram[to, to] if to >= 0 else 0.0
        giver, best, curve = -2, 0.0, 1.0
        if to >= 0 and slack > 0:
            giver, curve = -1, max(own, 1e-300)
            best = most * most / curve
        for t in range(size):
            if alpha[t] > 0 and gradient[t] < most:
                bend = gram[t, t] + (own - 2 * gram[to, t] if to >= 0 else 0.0)
                bend = max(bend, 1e-300)
                gain = (most - gradient[t]) ** 2 / bend
                if gain > best:
                    giver, best, curve = t, gain, bend
        if giver == -2:
            return step
        there, given = (slack, 0.0) if giver == -1 else (alpha[giver], gradient[giver])
        move = min(there, (most - given) / curve)
        if giver == -1:
            slack -= move
        else:
            alpha[giver] -= move
            for t in range(size):
                gradient[t] += move * gram[giver, t]
        if to == -1:
            slack += move
        else:
            alpha[to] += move
            for t in range(size):
                gradient[t] -= move * gram[to, t]
    return max_steps
