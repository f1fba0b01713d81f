"""Machines on sparse rows by dual coordinate descent, a block of labels side by side.

The bias is the weight of a constant feature, so each dual variable has a minimum of its own: of row i,
alpha = clip(alpha - (s f - 1 + alpha e) / (|x_i|^2 + 1 + e), 0, cap), with e = 1 / (2 c) and no cap for the squared
hinge, e = 0 and a cap of c for the hinge. A row's dual variables of all machines of a block move at once, so that a
nonzero of the rows meets their weights in one line of memory; single precision does for the passes, and certificates
are computed in double precision from the dual variables, whose weights X'beta are the machines' own.

Rows of length about 1 and a C that is not large take some ten passes. Where C times the largest square of a row is more
than `EASY`, passes crawl, and most rows of a label soon stay at a bound: machines are then solved one by one, each on
the rows that still move (section 3.2 of the reference). A label whose gap is not reached after `PASSES` passes, or as
many looks at rows as `LOOKS` passes have, is left to Newton's method where the rows are narrow, made dense for it, and
else to a library. On narrow rows, descent gets no longer than Newton's method takes about: it needs a hundredth of that
where C is small or moderate, and longer where C is large. Rows of a small side, below some 60, or 250 where passes
crawl, are all left to Newton's method, which has soon solved them.

Cost: a pass takes 4 nnz(X) k operations; a block holds 4 (n_features + n_samples) numbers for each of its machines.
Reference: Hsieh, Chang, Lin, Keerthi & Sundararajan, "A dual coordinate descent method for large-scale linear SVM",
ICML 2008.
"""

from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from mlrank.arrays import FloatArray, IntArray
from mlrank.linalg.sums import column_offsets, less_offsets
from mlrank.solvers.base import WHOLE, Block, TrainingSet
from mlrank.solvers.one_vs_rest.kernels import (
    SignArray,
    SingleArray,
    sparse_descent,
    sparse_judged,
    sparse_pass,
)
from mlrank.solvers.one_vs_rest.rows import (
    MARGIN,
    LabelMachines,
    MachineRows,
    Machines,
    dual_objectives,
    joined,
    objectives,
)
from mlrank.solvers.one_vs_rest.signs import LANES, BlockSigns

__all__ = ["SparseMachineRows", "suits_newton"]

# C times the largest square of a row, up to which passes do not crawl; the most passes, side by side and one by one.
EASY, PASSES, LOOKS = 8.0, 100, 200
# The smaller side, and the cells, of rows that are narrow: machines that descent does not solve on 2169 x 1836 rows of
# bibtex take Newton's method longer than a library. Where more of the cells than this part are stored, descent takes
# longer than Newton's method from moderate C on.
SIDE, DENSE_CELLS, STORED = 500, 2**22, 0.1
# Operations of Newton's method for a row and each entry of a system, a square of the smaller side, in terms of those of
# descent, which are no products of matrices; and those of a look at a row beside two for each of its nonzeros.
NEWTON, LOOK = 0.1, 20.0
# Newton's method solves all machines where it takes the time of fewer passes than these; those that crawl are more.
WORTH = 10, 100
# Ranges of the projected slopes to which machines are solved one by one, until the gap is small enough.
RANGES = (6e-2, 2e-2, 6e-3, 2e-3, 6e-4, 2e-4, 2e-5, 2e-6, 2e-7)
# A block is judged once a pass gains so much of the tolerance, relative to D, in no machine, and then every few passes.
ENOUGH, APART = 0.3, 3


def are_narrow(X: csr_array) -> bool:
    """Return whether rows may be made dense for Newton's method."""
    n, m = X.shape
    return bool(min(n, m) <= SIDE and n * m <= DENSE_CELLS)


def suits_newton(X: csr_array, free: bool) -> bool:
    """Return whether all machines on sparse rows are left to Newton's method."""
    return are_narrow(X) and bool(free or X.nnz > STORED * X.shape[0] * X.shape[1])


class SparseMachineRows:
    """Sparse rows for machines of all labels, whose bias is the weight of a constant feature.

    Parameters
    ----------
    train : TrainingSet, with sparse rows
    loss : "hinge" or "squared_hinge"
    positive_weight : of the problem
    """

    free = False

    def __init__(self, train: TrainingSet, loss: str, positive_weight: float) -> None:
        self.given, self.loss, self.positive_weight, self._train = train.X, loss, positive_weight, train
        self.squared = loss == "squared_hinge"
        self.offsets = column_offsets(train.X)
        self.near = less_offsets(train.X, self.offsets)
        self.squares = np.asarray((train.X * train.X).sum(axis=1)).ravel()
        self._data = train.X.data.astype(np.float32)
        self._ones = bool((self._data == 1.0).all())
        self._labels = BlockSigns(train)
        self.mixed = self._labels.mixed
        (n, m), self.narrow = train.X.shape, are_narrow(train.X)
        # No more passes than Newton's method takes time for.
        self._passes = max(1, int(NEWTON * min(n, m) ** 2 / (LOOK + 2 * train.X.nnz / n)))

    def fit(self, C: float, tol: float, max_iter: int, block: Block = WHOLE) -> LabelMachines:
        """Return machines for the labels of a block; dual variables are sparse where descent has made them."""
        crawling = C * max(1.0, self.positive_weight) * float(self.squares.max()) > EASY
        if self.narrow and self._passes < WORTH[crawling]:
            return self._dense.fit(C, tol, max_iter, block)
        solve, most = (self._descend, LOOKS) if crawling else (self._fit, PASSES)
        # Newton's method has half of the iterations at least.
        most = min(-(-max_iter // 2), most, self._passes) if self.narrow else min(max_iter, most)
        groups = self._groups(block, crawling)
        parts = [self._finished(labels, solve(labels, C, tol, most), C, tol, max_iter) for labels in groups]
        return LabelMachines.of(groups, parts, self.given.shape)

    @cached_property
    def _dense(self) -> MachineRows:
        """The rows for Newton's method."""
        return MachineRows(self._train, self.loss, self.free, self.positive_weight)

    def _finished(self, labels: IntArray, found: Machines, C: float, tol: float, max_iter: int) -> Machines:
        """Return machines with those solved by Newton's method whose gap was not reached, if the rows are narrow."""
        short = np.flatnonzero((found.primal - found.dual > tol * found.primal) & (found.n_iter < max_iter))
        if not self.narrow or not short.size:
            return found
        left = max_iter - found.n_iter
        one_by_one = [self._dense.fit_one(int(labels[place]), C, tol, int(left[place])) for place in short]
        solved = joined(one_by_one, self.given.shape)
        for name in ("W", "b", "primal", "dual"):
            getattr(found, name)[short] = getattr(solved, name)
        found.n_iter[short] += solved.n_iter
        return found._replace(beta=found.replaced(short.tolist(), np.asarray(solved.beta)))

    def _groups(self, block: Block, alone: bool) -> list[IntArray]:
        """Return the labels of a block in groups, each to be judged at once.

        Where machines are solved alone, labels are dealt one by one: the more rows the rarer side has, the longer it
        takes. Those side by side are the same for any number of blocks.
        """
        if alone:
            rising = np.argsort(self._labels.rarer[self.mixed], kind="stable")
            return _grouped(np.sort(block.of(self.mixed[rising])))
        groups: list[IntArray] = block.of(_grouped(self.mixed))
        return groups

    def _fit(self, labels: IntArray, C: float, tol: float, passes: int) -> Machines:
        S, (n, m) = self._labels.of(labels), self.given.shape
        costs, rng = np.array([C, C * self.positive_weight]), np.random.default_rng(0)
        beta, W = np.zeros(S.shape, dtype=np.float32), np.zeros((m + 1, len(labels)), dtype=np.float32)
        move, reached, wait = np.empty(len(labels), dtype=np.float32), np.zeros(len(labels)), 0
        squares = (self.squares + 1.0).astype(np.float32)
        rows, signs = (self._data, self.given.indices, self.given.indptr), np.ascontiguousarray(S)
        for number in range(1, passes + 1):
            gains = np.zeros(len(labels))
            sparse_pass(*rows, rng.permutation(n), squares, signs, costs, self.squared, beta, W, move, gains)
            reached, wait = reached + gains, wait - 1
            if number < passes and (wait > 0 or (gains > ENOUGH * tol * reached).any()):
                continue
            found, wait = self._judged(S, C, beta, number), APART
            if number == passes or (found.primal - found.dual <= tol * found.primal).all():
                return _stored(found)
        return _stored(self._judged(S, C, beta, 0))

    def _descend(self, labels: IntArray, C: float, tol: float, passes: int) -> Machines:
        """Solve machines one by one."""
        S, (n, m) = self._labels.of(labels), self.given.shape
        costs, squares = np.array([C, C * self.positive_weight]), self.squares + 1.0
        rows = self._data, self.given.indices, self.given.indptr, self._ones
        beta, looks = np.zeros((len(labels), n)), np.zeros(len(labels), dtype=int)
        for place, own in enumerate(beta):
            signs, w = np.ascontiguousarray(S[:, place]), np.zeros(m + 1)
            for width in RANGES:
                left = passes * n - int(looks[place])
                more, primal, dual = sparse_descent(*rows, squares, signs, costs, self.squared, own, w, width, left)
                looks[place] += more
                if primal - dual <= MARGIN * tol * primal or looks[place] >= passes * n:
                    break
        return _stored(self._judged(S, C, beta.T, -(-looks // n)))

    def _bounds(self, C: float) -> tuple[float, float]:
        """Return the least and the largest dual variable with its sign."""
        return (-np.inf, np.inf) if self.squared else (-C, C * self.positive_weight)

    def _judged(self, S: SignArray, C: float, beta: SingleArray | FloatArray, n_iter: int | IntArray) -> Machines:
        """Return the machines of dual variables, with P and D in double precision, their arrays as they come."""
        # Single precision may round a bound up.
        alpha = np.clip(np.ascontiguousarray(beta, dtype=np.float64), *self._bounds(C))
        if self.offsets is None:
            return self._judged_at_once(S, C, alpha, n_iter)
        dual = np.ascontiguousarray(alpha.T)
        sums = dual.sum(axis=1)
        W = np.asarray(self.near.T @ dual.T).T + np.multiply.outer(sums, self.offsets)
        primal, bound = objectives(self, np.ascontiguousarray(S.T), C, W, sums, dual, W)
        return Machines(W, sums, primal, bound, np.full(len(S.T), n_iter), dual)

    def _judged_at_once(self, S: SignArray, C: float, alpha: FloatArray, n_iter: int | IntArray) -> Machines:
        """Judge machines whose rows need no offsets, side by side."""
        rows = self.given.data, self.given.indices, self.given.indptr
        found, sums = np.zeros((self.given.shape[1], S.shape[1])), np.zeros((4, S.shape[1]))
        costs = np.array([C, C * self.positive_weight])
        sparse_judged(*rows, np.ascontiguousarray(S), costs, self.squared, alpha, found, sums)
        # A machine's weights together: sums over them then do not depend on how many machines there are.
        W = np.ascontiguousarray(found.T)
        bias, total, penalty, loss = sums
        norm = np.einsum("ij,ij->i", W, W) + bias * bias
        primal = 0.5 * norm + loss
        dual = dual_objectives(self.squared, total, norm + penalty, primal)
        return Machines(W, bias, primal, dual, np.full(S.shape[1], n_iter), alpha.T)


def _grouped(labels: IntArray) -> list[IntArray]:
    return [labels[first : first + LANES] for first in range(0, len(labels), LANES)]


def _stored(found: Machines) -> Machines:
    """Return machines as they are joined with others: a machine's weights together, the dual variables sparse."""
    assert found.beta is not None
    return found._replace(W=np.ascontiguousarray(found.W), beta=csr_array(csr_array(found.beta.T).T))
