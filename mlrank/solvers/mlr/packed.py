"""Multi-label ranking of very many labels: dual variables that are zero, nearly all of them, are not stored.

At the optimum of eq. 13 a label has a variable only if its margin is at most 1 from the threshold of its example: of a
thousand labels, some fifty to eighty. Examples are visited in chunks: of a chunk the variables are unpacked, the blocks
solved exactly by the loops of all other fits, in random order, and the variables packed again. No label is left out of
a visit or of a certificate, which are summed chunk by chunk: the gap is that of the whole problem.

Cost of a pass: 2 n m K flops for the scores (m the nonzeros of a row if sparse) and O(n K) to unpack and to pack; of a
certificate: the scores, and a product of the rows with the stored variables. Memory beside rows, labels and weights:
12 bytes for each variable that is not zero, and some arrays of CHUNK_CELLS numbers.
"""

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array, issparse

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray, read_only
from mlrank.labels import LabelMatrix, dense_labels, labels_of_rows, row_counts
from mlrank.linalg.sums import column_offsets, less_offsets, scores_of
from mlrank.solvers.mlr.interior import judged
from mlrank.solvers.mlr.kernels import add_products, sweep_csr, sweep_dense
from mlrank.solvers.mlr.labels import Labels, check_mixed
from mlrank.solvers.mlr.rows import LinearRows, Tops

__all__ = ["CHUNK_CELLS", "PackedLabels", "PackedSweeps", "judged_packed"]

# The most cells of rows by labels that are unpacked at once.
CHUNK_CELLS = 1 << 20
# Labels are not mixed.
NO_MIX = np.zeros((0, 0))


class PackedLabels:
    """Which labels each example has, read off chunk by chunk; `mixed` (n,) as of `Labels`.

    Parameters
    ----------
    Y : (n_samples, n_labels) bool ndarray or csr_array
    known : of the same shape, or None

    Raises
    ------
    ValueError
        If no example has both a relevant and an irrelevant label.
    """

    def __init__(self, Y: LabelMatrix, known: BoolArray | None = None) -> None:
        self.Y, self.known, self.shape = Y, known, Y.shape
        n_known = Y.shape[1] if known is None else known.sum(axis=1)
        n_relevant = row_counts(Y)
        self.mixed: BoolArray = (n_relevant > 0) & (n_relevant < n_known)
        check_mixed(self.mixed, Y.shape[1], known is not None)
        n_chunks = -(-Y.shape[0] // max(1, CHUNK_CELLS // Y.shape[1]))
        # Spread over all rows, which may be sorted.
        self.chunks = tuple(slice(first, None, n_chunks) for first in range(n_chunks))

    def listed(self, rows: slice) -> Labels:
        """Return those of a chunk."""
        numbers = np.arange(self.shape[0])[rows]
        known = None if self.known is None else self.known[rows]
        return Labels.unordered(dense_labels(labels_of_rows(self.Y, numbers)), known)


class PackedSweeps:
    """State of the sweeps over features, as `LinearSweeps`; `duals` : of each chunk, y alpha as a csr_array."""

    single, whole = False, True
    # An estimate costs about as much as a pass.
    estimates = 4

    def __init__(self, rows: LinearRows, labels: PackedLabels, C: float) -> None:
        n, k = labels.shape
        self.rows, self.labels, self.C = rows, labels, C
        self.free = rows.diagonal > 0
        self.duals = [csr_array((len(range(n)[part]), k)) for part in labels.chunks]
        for number, part in enumerate(labels.chunks):
            if (labels.mixed[part] & ~self.free[part]).any():
                self.duals[number] = csr_array(labels.listed(part).start(C, self.free[part])[5])
        self.tops = Tops(rows.found, k, NO_MIX)
        shape = rows.X.shape[1], k
        self.W = np.zeros(shape if issparse(rows.X) else shape[::-1])
        self.shift, self.margin, self.moved = np.zeros(n), np.full(n, np.inf), np.full(n, np.inf)

    def beta(self) -> FloatArray:
        """Return y alpha of all examples, (n, K), where there is room for it."""
        beta = np.empty(self.labels.shape)
        for part, stored in zip(self.labels.chunks, self.duals, strict=True):
            beta[part] = stored.toarray()
        return beta

    def total(self) -> float:
        """Return the sum of alpha."""
        return float(sum(np.abs(stored.data).sum() for stored in self.duals))

    def adjoint(self, X: Features) -> FloatArray:
        """Return X'beta, (n_features, K), chunk by chunk."""
        V = np.zeros((X.shape[1], self.labels.shape[1]))
        for part, stored in zip(self.labels.chunks, self.duals, strict=True):
            if issparse(X):
                rows = X[part]
                parts = ((one.data, one.indices, one.indptr) for one in (rows, stored))
                add_products(*parts, V)
            else:
                V += (stored.T @ X[part]).T
        return V

    def choose(self) -> IntArray:
        """Return the examples that may move, by the last estimate: as `find_active`, by how their margins moved."""
        used = np.empty(len(self.shift), dtype=bool)
        for part, stored in zip(self.labels.chunks, self.duals, strict=True):
            used[part] = np.diff(stored.indptr) > 0
        return np.flatnonzero(self.labels.mixed & self.free & (used | ~(self.margin >= 2.0 + 2.0 * self.moved)))

    def sweep(self, order: IntArray) -> None:
        """Visit the examples in the given order, those of a chunk together."""
        rows, tops = self.rows, self.tops.arguments()
        curvature = rows.curvature(self.tops.gain)
        for number, visits in self._by_chunk(order):
            part, labels = self.labels.chunks[number], self.labels.listed(self.labels.chunks[number])
            block = list(labels.start(self.C, np.ones(len(labels.mixed), dtype=bool)))
            block[5], block[6] = self.duals[number].toarray(), self.shift[part].copy()
            X = read_only(rows.X[part] if issparse(rows.X) else np.ascontiguousarray(rows.X[part]))
            given = (X.data, X.indices, X.indptr) if issparse(X) else X
            shared = (1.0, rows.diagonal[part].copy(), (np.ascontiguousarray(tops[0][part]), *tops[1:]), self.W)
            sweep = sweep_csr if issparse(X) else sweep_dense
            sweep(given, curvature[part].copy(), *shared, tuple(block), self.C, NO_MIX, visits)
            self.duals[number], self.shift[part] = csr_array(block[5]), block[6]
        self.tops.settle()

    def _by_chunk(self, order: IntArray) -> Iterator[tuple[int, IntArray]]:
        """Yield each chunk with the places in it to visit, in the order in which the chunks come first."""
        n_chunks = len(self.labels.chunks)
        number = order % n_chunks
        together = np.argsort(number, kind="stable")
        parts = np.split(together, np.searchsorted(number[together], np.arange(1, n_chunks)))
        for part in sorted((part for part in parts if part.size), key=lambda part: int(part[0])):
            yield int(number[part[0]]), order[part] // n_chunks

    def estimate(self) -> tuple[float, float]:
        """Return primal and dual objective: from scratch, since it takes the same products."""
        return self.certify()

    def certify(self) -> tuple[float, float]:
        """Return primal and dual objective from scratch."""
        rows, weights = self.rows, self.adjoint(self.rows.X)
        self.coefficients = weights + rows.weights @ (self.tops.omega - self.tops.p)
        loss = 0.0
        for part in self.labels.chunks:
            labels, scores = self.labels.listed(part), np.asarray(rows.X[part] @ self.coefficients)
            loss += labels.loss(scores)
            high = np.where(labels.signs < 0, scores, -np.inf).max(axis=1)
            margin = np.where(labels.signs > 0, scores, np.inf).min(axis=1) - high
            margin[~labels.mixed] = 0.0
            self.moved[part], self.margin[part] = np.abs(margin - self.margin[part]), margin
        self.W[:] = weights if issparse(rows.X) else weights.T
        primal = 0.5 * float(np.vdot(self.coefficients, self.coefficients)) + self.C * loss
        return primal, self.total() - 0.5 * float(np.vdot(weights, weights))

    def refresh(self, single: bool) -> None:
        """Do nothing: the weights were computed from scratch with the certificate."""


def judged_packed(sweeps: PackedSweeps) -> tuple[float, float]:
    """Return primal objective and bound of where sweeps ended; sums are those of `GivenExamples`."""
    X, coef = sweeps.rows.X, sweeps.coefficients
    offsets, nothing, loss = column_offsets(X), np.zeros(coef.shape[1]), 0.0
    for part in sweeps.labels.chunks:
        loss += sweeps.labels.listed(part).loss(scores_of(X[part], coef.T, nothing, offsets))
    V = sweeps.adjoint(less_offsets(X, offsets))
    if offsets is not None:
        V += np.multiply.outer(offsets, sum(np.asarray(stored.sum(axis=0)).ravel() for stored in sweeps.duals))
    primal = 0.5 * float(np.vdot(coef, coef)) + sweeps.C * loss
    return judged(primal, sweeps.total(), float(np.vdot(V, V)))
