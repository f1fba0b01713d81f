"""Logistic regressions on sparse or wide rows: Newton steps whose systems conjugate gradients solve, labels in blocks.

Machines of a block lie side by side, so that a nonzero of the rows meets the weights of all of them in one line of
memory. Systems are preconditioned by their diagonals and solved in single precision, roughly far from the solution, and
so that what is left is below the tolerance near it; weights, scores and certificates are in double precision.

A large C is reached by stages as in rows.py, each of which starts where the one before has ended.

Cost: a product with a system takes 4 nnz(X) operations a machine, a step 5 to 50 of them; a block holds 6 numbers for
each of its machines and rows. Reference: Lin, Weng & Keerthi, JMLR 9, 2008.
"""

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import Features, FloatArray, IntArray, read_only
from mlrank.compiled import njit
from mlrank.linalg.sums import column_offsets, less_offsets
from mlrank.solvers.base import WHOLE, Block, TrainingSet
from mlrank.solvers.one_vs_rest.kernels import SignArray, SingleArray
from mlrank.solvers.one_vs_rest.logistic import NewtonSteps
from mlrank.solvers.one_vs_rest.newton import STEPS
from mlrank.solvers.one_vs_rest.rows import KEPT, LOOSE, MARGIN, RATIO, LabelMachines, Machines, objectives
from mlrank.solvers.one_vs_rest.signs import LANES, BlockSigns

__all__ = ["LogisticRows"]

# What is left of a system, relative to its right side, and of the tolerance that it must not exceed.
ROUGH, FINE = 0.1, 0.1
PRODUCTS = 250


@njit(cache=True)
def sparse_curvature(  # pragma: no cover
    data: SingleArray,
    indices: IntArray,
    indptr: IntArray,
    slopes: SingleArray,
    D: SingleArray,
    row: SingleArray,
    out: SingleArray,
) -> None:
    """Add A' diag(slopes) A D to `out`, of each machine, where A is the rows with the constant feature last."""
    n_lanes, last = D.shape[1], D.shape[0] - 1
    for i in range(len(indptr) - 1):
        low, high = indptr[i], indptr[i + 1]
        bias = D[last]
        for j in range(n_lanes):
            row[j] = bias[j]
        for p in range(low, high):
            x, d = data[p], D[indices[p]]
            for j in range(n_lanes):
                row[j] += x * d[j]
        own, bias = slopes[i], out[last]
        for j in range(n_lanes):
            row[j] *= own[j]
            bias[j] += row[j]
        for p in range(low, high):
            x, d = data[p], out[indices[p]]
            for j in range(n_lanes):
                d[j] += x * row[j]


class _ConjugateRows:
    """Rows, whose systems conjugate gradients solve."""

    def __init__(self, X: Features) -> None:
        self.X, self._single = X, read_only(X.astype(np.float32))
        self._squares = X.multiply(X) if issparse(X) else X * X

    def scores(self, V: FloatArray) -> FloatArray:
        found: FloatArray = np.asarray(self.X @ V[:-1])
        found += V[-1]
        return found

    def adjoint(self, beta: FloatArray) -> FloatArray:
        return np.vstack([np.asarray(self.X.T @ beta), beta.sum(axis=0)])

    def _curvature(self, slopes: SingleArray, D: SingleArray) -> SingleArray:
        """Return A' diag(slopes) A D for each machine."""
        X = self._single
        if issparse(X):
            out = np.zeros_like(D)
            sparse_curvature(X.data, X.indices, X.indptr, slopes, D, np.empty(D.shape[1], np.float32), out)
            return out
        row = slopes * (X @ D[:-1] + D[-1])
        return np.vstack([X.T @ row, row.sum(axis=0)])

    def directions(self, slopes: FloatArray, gradient: FloatArray, free: bool, enough: FloatArray) -> FloatArray:
        held = np.ones((len(gradient), 1), dtype=np.float32)
        held[-1] = 0.0 if free else 1.0
        diagonal = np.vstack([np.asarray(self._squares.T @ slopes), slopes.sum(axis=0)]) + held
        inverse = (1.0 / np.maximum(diagonal, 1e-300)).astype(np.float32)
        single = slopes.astype(np.float32)
        # Single precision has no room for squares of what is far from 1.
        size = np.sqrt((gradient**2).sum(axis=0))
        size = np.where(size > 0, size, 1.0)
        rest = (-gradient / size).astype(np.float32)
        enough = FINE * enough
        most = np.minimum(np.maximum(ROUGH**2, enough / size**2), 1.0)
        # What a free bias leaves counts as it is, see NewtonSteps.
        most_bias = enough / size if free else np.inf
        D, step = np.zeros_like(rest), inverse * rest
        product = (rest * step).sum(axis=0)
        for _ in range(PRODUCTS):
            bent = held * step + self._curvature(single, step)
            bend = (step * bent).sum(axis=0)
            going = ((rest * rest).sum(axis=0) > most) | (np.abs(rest[-1]) > most_bias)
            going &= (bend > 0) & (product > 0)
            if not going.any():
                break
            t = np.where(going, product / np.where(going, bend, 1.0), 0.0).astype(np.float32)
            D += t * step
            rest -= t * bent
            near = inverse * rest
            after = (rest * near).sum(axis=0)
            step = near + np.where(going, after / np.where(going, product, 1.0), 0.0).astype(np.float32) * step
            product = after
        return D.astype(np.float64) * size


class LogisticRows:
    """Sparse or wide rows for logistic regressions of all labels.

    Dual variables are not kept where labels are held sparse.

    Parameters
    ----------
    train : TrainingSet
    free, positive_weight : of the problem, see `LinearProblem`
    """

    loss = "logistic"

    def __init__(self, train: TrainingSet, free: bool, positive_weight: float) -> None:
        self.given, self.free, self.positive_weight = train.X, free, positive_weight
        self.offsets = column_offsets(train.X)
        self.near = less_offsets(train.X, self.offsets)
        self._rows, self._signs, self._many = _ConjugateRows(train.X), BlockSigns(train), train.has_sparse_labels
        self.mixed = self._signs.mixed
        square = float((train.X * train.X).sum()) / train.n_samples
        self.first = RATIO ** float(np.round(np.log(max(square, 1e-300)) / -np.log(RATIO)))
        self._stages: list[list[FloatArray]] = [[] for _ in range(0, len(self.mixed), LANES)]

    def fit(self, C: float, tol: float, max_iter: int, block: Block = WHOLE) -> LabelMachines:
        """Return machines for the labels of a block."""
        groups = block.of(self._parts())
        parts = [self._fit(number, labels, C, tol, max_iter) for number, labels in groups]
        return LabelMachines.of([labels for _, labels in groups], parts, self.given.shape)

    def _parts(self) -> list[tuple[int, IntArray]]:
        """Return the labels whose machines lie side by side, numbered."""
        places = range(0, len(self.mixed), LANES)
        return [(number, self.mixed[at : at + LANES]) for number, at in enumerate(places)]

    def _fit(self, number: int, labels: IntArray, C: float, tol: float, max_iter: int) -> Machines:
        S = self._signs.of(labels)
        stages, level, place = self._stages[number], self.first, 0
        V = self._origin(S)
        kept = KEPT // max(1, 8 * V.shape[0] * len(self.mixed))
        while level * RATIO <= C and max_iter >= STEPS:
            if place < len(stages):
                V = stages[place]
            else:
                V = self._steps(S, level, LOOSE, V, STEPS).V
                if len(stages) < kept:
                    stages.append(V)
            place, level = place + 1, level * RATIO
        steps = self._steps(S, C, MARGIN * tol, V, min(max_iter, STEPS))
        W, b, beta = np.ascontiguousarray(steps.V[:-1].T), steps.V[-1].copy(), np.ascontiguousarray(steps.beta.T)
        primal, dual = objectives(self, np.ascontiguousarray(S.T), C, W, b, beta)
        return Machines(W, b, primal, dual, steps.steps, None if self._many else beta)

    def _origin(self, S: SignArray) -> FloatArray:
        """Return weights of zero, with the bias that these have at best."""
        above, below = self.positive_weight * (S > 0).sum(axis=0), (S < 0).sum(axis=0)
        V = np.zeros((self.given.shape[1] + 1, S.shape[1]))
        V[-1] = np.log(above / below)
        return V

    def _steps(self, S: SignArray, C: float, tol: float, V: FloatArray, most: int) -> NewtonSteps:
        steps = NewtonSteps(self._rows, S, np.array([C, C * self.positive_weight]), self.free, tol, V)
        steps.run(most)
        return steps
