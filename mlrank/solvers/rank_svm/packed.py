"""Rank-SVM of very many pairs: one bit for each pair that sits at a bound, and a number for each of the few others.

The loss of eq. 9 is a mean over all pairs of a row, so that at the optimum most variables sit at one of their bounds:
of 1000 labels, four pairs of five at the cap C/(|y_i||z_i|), nearly all others at 0, and less than one in a thousand
between. A list of violating labels with zeros elsewhere would be no shorter than all labels. So every pair has one
bit, whether it is at its cap, and only those between the bounds have a place and a value (`PackedDuals`).

Rows are visited in chunks. A chunk's variables are unpacked, all its scores found by one matrix product, the labels
that may move listed by them (`find_active`), those alone swept by the loops of `descend`, and the variables packed
again. Shrinking so looks at every pair in each pass, and the dual point is one of all pairs: the gap is that of the
whole problem. It is summed chunk by chunk, in the rounds by the rows that are swept and at the end by those that were
given.

Cost of a pass: a product of 2 n m k flops (m the nonzeros of a row if sparse), O(pairs) to unpack and to pack, and the
visits; of a certificate: two such products. Memory beside rows, labels and weights: a bit for each pair, 12 bytes for
each variable between its bounds, and some arrays of CHUNK_PAIRS numbers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from mlrank.arrays import BoolArray, FloatArray, IntArray
from mlrank.labels import LabelMatrix, dense_labels, labels_of_rows
from mlrank.linalg.sums import column_offsets, less_offsets, scores_of
from mlrank.solvers.rank_svm import kernels
from mlrank.solvers.rank_svm.certificate import GivenRows, bound_of
from mlrank.solvers.rank_svm.descent import Pairs, RankSolution, caps, pair_counts, round_length
from mlrank.solvers.rank_svm.rows import DenseSweeps, FlatRows
from mlrank.solvers.rank_svm.settings import RankSettings
from mlrank.solvers.rank_svm.sparse import SparseRows, SparseSweeps

__all__ = ["PackedDuals", "PackedPairs", "solve_packed"]

# The most pairs, and the most rows, that are unpacked at once.
CHUNK_PAIRS, CHUNK_ROWS = 1 << 20, 256
# How often the rows of a chunk are swept before it is packed.
VISITS = 2
# The most cells of a dual point that a model keeps.
DUAL_CELLS = 1 << 25


@dataclass(frozen=True)
class PackedPairs:
    """The label pairs of rows in chunks, listed only while a chunk is visited.

    Y : (n_samples, n_labels) bool ndarray or csr_array; known : of the same shape, or None
    size : (n_samples,) number of relevant times number of irrelevant labels
    chunks : the rows of each chunk, spread over all rows, which may be sorted
    """

    Y: LabelMatrix
    known: BoolArray | None
    size: IntArray
    chunks: tuple[slice, ...]

    @classmethod
    def of(cls, Y: LabelMatrix, known: BoolArray | None = None) -> "PackedPairs":
        """Count the pairs.

        Raises
        ------
        ValueError
            If no row has both a relevant and an irrelevant label.
        """
        size = pair_counts(Y, known)
        n_chunks = max(-(-len(size) // CHUNK_ROWS), min(-(-int(size.sum()) // CHUNK_PAIRS), len(size)))
        return cls(Y, known, size, tuple(slice(first, None, n_chunks) for first in range(n_chunks)))

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.Y.shape[1])

    def listed(self, rows: slice) -> Pairs:
        """List the pairs of a chunk."""
        numbers = np.arange(len(self.size))[rows]
        known = None if self.known is None else self.known[rows]
        return Pairs.listed(dense_labels(labels_of_rows(self.Y, numbers)), known)


class _Packed(NamedTuple):
    """Dual variables of a chunk: which are at their cap, eight a byte, and places and values of those between."""

    capped: npt.NDArray[np.uint8]
    places: npt.NDArray[np.int32]
    values: FloatArray


class PackedDuals:
    """The dual variables of all pairs, zeros at first."""

    def __init__(self, pairs: PackedPairs, upper: FloatArray) -> None:
        self.pairs, self.upper = pairs, upper
        nothing = np.zeros(0, np.int32), np.zeros(0)
        totals = [int(pairs.size[rows].sum()) for rows in pairs.chunks]
        self.chunks = [_Packed(np.zeros(-(-total // 8), np.uint8), *nothing) for total in totals]

    def caps(self, number: int) -> FloatArray:
        """Return the upper bound of each pair of a chunk."""
        rows = self.pairs.chunks[number]
        return np.repeat(self.upper[rows], self.pairs.size[rows])

    def unpack(self, number: int) -> tuple[FloatArray, FloatArray]:
        """Return the variables of a chunk, irrelevant-major within each row, and their caps."""
        packed, most = self.chunks[number], self.caps(number)
        alpha = np.unpackbits(packed.capped, count=len(most)) * most
        alpha[packed.places] = packed.values
        return alpha, most

    def pack(self, number: int, alpha: FloatArray, most: FloatArray) -> None:
        """Store the variables of a chunk."""
        capped = alpha == most
        places = np.flatnonzero((alpha > 0.0) & ~capped).astype(np.int32)
        self.chunks[number] = _Packed(np.packbits(capped), places, alpha[places])

    def sums(self) -> Iterator[tuple[slice, FloatArray, float]]:
        """Yield the rows of each chunk, the sums (n_rows, n_labels) of eq. 15 and that of all its variables."""
        for number, rows in enumerate(self.pairs.chunks):
            pairs, (alpha, _) = self.pairs.listed(rows), self.unpack(number)
            yield rows, kernels.dual_sums(alpha, pairs.lists, pairs.n_labels), float(alpha.sum())


def solve_packed(
    rows: FlatRows | SparseRows, given: GivenRows, pairs: PackedPairs, settings: RankSettings
) -> RankSolution:
    """Solve eq. 9 without a free bias to relative duality gap `tol`, or as far as `max_iter` passes go.

    The solution is judged by the rows that were given.
    """
    upper = caps(pairs.size, settings)
    rng, duals = np.random.default_rng(settings.seed), PackedDuals(pairs, upper)
    sweeps = DenseSweeps(rows, upper, pairs) if isinstance(rows, FlatRows) else SparseSweeps(rows, upper, pairs)
    n_iter = 0
    while True:
        primal, dual = _estimated(sweeps, duals)
        if primal - dual <= settings.tol * primal or n_iter >= settings.max_iter:
            return _judged(given, duals, *sweeps.weights(), n_iter)
        sweeps.start_round(primal - dual)
        for _ in range(min(round_length(n_iter, settings), settings.max_iter - n_iter)):
            for number in rng.permutation(len(pairs.chunks)):
                _visit(sweeps, duals, int(number), rng)
            sweeps.move_center()
            n_iter += 1
        sweeps.end_round()


def _visit(sweeps: Any, duals: PackedDuals, number: int, rng: np.random.Generator) -> None:
    """Visit the rows of a chunk, in random order, and of each the labels that may move."""
    rows = duals.pairs.chunks[number]
    pairs, (alpha, most) = duals.pairs.listed(rows), duals.unpack(number)
    active, upper = pairs.no_labels(), np.ascontiguousarray(duals.upper[rows])
    # Scores are those of now: what may move is what would, and pairs between their bounds.
    kernels.find_active(sweeps.step_scores(rows), np.zeros(len(upper)), upper, alpha, pairs.lists, active)
    for _ in range(VISITS):
        sweeps.visit(rows, alpha, pairs.lists, active, rng.permutation(np.flatnonzero(active[3])))
    duals.pack(number, alpha, most)


def _estimated(sweeps: Any, duals: PackedDuals) -> tuple[float, float]:
    """Return primal and dual objective of the rows that are swept."""
    sums, total = sweeps.no_sums(), 0.0
    for rows, beta, part in duals.sums():
        sweeps.add_sums(sums, beta, rows)
        total += part
    sweeps.settle(sums)
    loss = _loss(duals, sweeps.scores)
    squares = sweeps.squares()
    return 0.5 * squares[0] + loss, total - 0.5 * squares[1]


def _loss(duals: PackedDuals, scores: Callable[[slice], FloatArray]) -> float:
    """Return the loss of all pairs, by a function from rows to scores."""
    pairs, upper = duals.pairs, duals.upper
    return sum(float(upper[rows] @ kernels.hinge_sums(scores(rows), pairs.listed(rows).lists)) for rows in pairs.chunks)


def _judged(given: GivenRows, duals: PackedDuals, coef: FloatArray, intercept: FloatArray, n_iter: int) -> RankSolution:
    """Return the solution with its objectives on the given rows, and with beta where there is room for it."""
    X, offsets, shape = given.X, column_offsets(given.X), (len(duals.upper), duals.pairs.n_labels)
    loss = _loss(duals, lambda rows: scores_of(X[rows], coef, intercept, offsets))
    V, sums, total = np.zeros(coef.T.shape), np.zeros(shape[1]), 0.0
    kept = np.zeros(shape) if shape[0] * shape[1] <= DUAL_CELLS else None
    for rows, beta, part in duals.sums():
        part_of_X = less_offsets(X[rows], offsets)
        if issparse(part_of_X):
            kernels.add_adjoint((part_of_X.data, part_of_X.indices, part_of_X.indptr), beta, V)
        else:
            V += part_of_X.T @ beta
        sums, total = sums + beta.sum(axis=0), total + part
        if kept is not None:
            kept[rows] = beta
    if offsets is not None:
        V += np.multiply.outer(offsets, sums)
    bias = given.penalized_bias
    primal = 0.5 * float(np.vdot(coef, coef) + (intercept @ intercept if bias else 0.0)) + loss
    dual = bound_of(total, float(np.vdot(V, V) + (sums @ sums if bias else 0.0)))
    return RankSolution(coef, intercept, np.zeros(0), primal, dual, n_iter, kept)
