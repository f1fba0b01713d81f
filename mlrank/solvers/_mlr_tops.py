"""The few directions in which the rows have most of their second moment, swept with that moment cut down.

Ascent over examples crawls where a few directions carry most of the second moment, as the constant one does of kernels
with small gamma. As in `_rank_svm_rows`, each pass then solves a proximal step: in orthonormal directions e_j of
feature space, f is pulled towards its last position by h_j / 2 (<f, e_j> - centre_j)^2, which multiplies the moments of
these directions by gain_j = 1 / (1 + h_j). The directions are the leading eigenvectors among a sample of the rows: any
orthonormal ones would do.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from mlrank.arrays import FloatArray, IntArray
from mlrank.solvers._rank_svm_flattening import Flattening

__all__ = ["Directions", "Tops", "directions", "sample_of"]

# Rows among which directions are sought, and the least eigenvalue of one, relative to the largest.
SAMPLE = 256
LEAST = 1e-10


@dataclass(frozen=True)
class Directions:
    """Orthonormal directions e_j = sum_s A[s, j] phi(x_s) over sampled rows.

    sample : (m,), numbers of the rows; A : (m, r)
    U : (n, r), inner products of all rows with the directions; moment : (r,), their mean squares, descending
    floor : moments are not cut below it
    """

    sample: IntArray
    A: FloatArray
    U: FloatArray
    moment: FloatArray
    floor: float


def sample_of(n: int) -> IntArray:
    """Return the numbers of the rows among which directions are sought; the same for equal n."""
    return np.sort(np.random.default_rng(0).permutation(n)[:SAMPLE])


def directions(sample: IntArray, gram: FloatArray, project: Any, total: float, rank: int, bounds: Any) -> Directions:
    """Find directions.

    gram : (m, m), inner products of the sampled rows; project : A -> U
    total : mean of K_ii, the sum of all moments; rank : most directions there can be
    bounds : how many directions to find at most, and the floor in units of the mean moment of all others
    """
    most, height = bounds
    m = len(sample)
    count = min(most, m // 4)
    A = np.zeros((m, 0))
    if count > 0:
        values, vectors = eigh(gram, subset_by_index=[m - count, m - 1])
        kept = values > max(LEAST * values[-1], 0.0)
        A = vectors[:, kept] / np.sqrt(values[kept])
    U = project(A)
    moment, turn = np.linalg.eigh(U.T @ U / len(U))
    turn, moment = turn[:, ::-1], np.maximum(moment[::-1], 0.0)
    others = max(total - float(moment.sum()), 0.0) / max(rank - len(moment), 1)
    return Directions(sample, A @ turn, np.ascontiguousarray(U @ turn), moment, height * others)


class Tops:
    """State of the directions during a fit: coordinates, proximal centre, gain.

    p : (r, K), coordinates of the weights that the dual variables give; omega : (r, K), those that the scores have
    """

    def __init__(self, found: Directions, n_labels: int, mix: FloatArray) -> None:
        shape = (len(found.moment), n_labels)
        self.found, self.mix = found, mix
        self.p, self.omega, self.centre = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.gain = np.ones(shape[0])
        self.flattening: Flattening | None = None
        if shape[0] > 0 and found.moment[0] > 0:
            highest = float(found.moment[0])
            lowest = min(max(found.floor, 1e-12 * highest), highest)
            self.flattening = Flattening(max(lowest, float(found.moment[-1])), lowest, highest)
            self.gain = self.flattening.kept(found.moment)

    def arguments(self) -> tuple[FloatArray, ...]:
        """Move the centre to where the scores are; return what a sweep needs."""
        self.centre = self.omega
        return self.found.U, self.gain, self.p, (1.0 - self.gain)[:, None] * self.centre

    def settle(self) -> None:
        """Read where a sweep has left the scores."""
        self.omega = self.gain[:, None] * self.p + (1.0 - self.gain)[:, None] * self.centre

    def adapt(self, gap: float) -> None:
        """Choose how far moments are cut by the absolute `gap`."""
        if self.flattening is not None:
            self.flattening.adapt(gap, 0.5 * self.square(self.p - self.omega))
            self.gain = self.flattening.kept(self.found.moment)

    def square(self, weights: FloatArray) -> float:
        """Return the squared norm of weights (r, K) before mixing."""
        return float(np.vdot(weights, weights @ self.mix if self.mix.size else weights))
