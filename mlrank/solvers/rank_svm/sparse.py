"""Sparse rows, swept as they are but for the few directions that carry most of their second moment.

The proximal step of `FlatRows` in the leading eigenvectors U (m + 1, r) of the second moment of [X, bias]::

    min_W  1/2 |W|^2 + loss + 1/2 sum_j h_j ((W - V) u_j)^2

Its weights are W = G - E U', where G = beta'[X, bias] stays as sparse to update as without the step, and the excess
E (k, r) follows from the moves alone: an update of beta_i adds move * (1 - kept) * (U'x_i) to it, kept = 1 / (1 + h),
and a move of the center V to W multiplies it by 1 - kept. A visit so costs r operations for each label beside the
nonzeros. The gap is the step's own gap plus 1/2 |E|^2.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack
from scipy.sparse.linalg import svds

from mlrank.arrays import Features, FloatArray, IntArray, in_pieces, read_only
from mlrank.solvers.flattening import Flattening
from mlrank.solvers.rank_svm import kernels
from mlrank.solvers.rank_svm.rows import EVERY, meet_constraints

__all__ = [
    "SparseRows",
    "SparseSweeps",
]

# Leading directions that are flattened.
DIRECTIONS = 32


@dataclass(frozen=True)
class SparseRows:
    """CSR rows with a constant feature and their leading directions.

    X : csr_array (n_samples, n_features); bias : value of the constant feature, 0 for a free bias
    free : whether the bias is free; norms : (n_samples,), squared, of [x, bias]
    basis : (n_features + 1, r), leading eigenvectors of the second moment of [X, bias]
    tops : (n_samples, r), [X, bias] times basis; moment : (r,), mean squares of its columns, ascending
    """

    X: Features
    bias: float
    free: bool
    norms: FloatArray
    basis: FloatArray
    tops: FloatArray
    moment: FloatArray

    @classmethod
    def of(cls, X: Features, bias: float, free: bool = False) -> "SparseRows":
        """Find the leading directions: O((nonzeros + (n + m) r) r) flops for r of them."""
        rows = csr_array(hstack([X, np.full((X.shape[0], 1), bias)]))
        norms = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        rank = min(DIRECTIONS, min(X.shape) - 1)
        basis = np.zeros((rows.shape[1], 0))
        # Rows of large norm have small dual variables: they count by their norm, not by its square.
        weights = np.sqrt(norms.mean() / np.maximum(norms, 1e-12 * norms.mean())) if norms.any() else norms
        if rank > 0 and norms.any():
            weighted = csr_array(rows * np.sqrt(weights)[:, None])
            basis = svds(weighted, k=rank, return_singular_vectors="vh", random_state=0)[2].T
        tops = np.ascontiguousarray(rows @ basis)
        moment = (weights[:, None] * tops**2).sum(axis=0) * (norms.mean() / max(float(weights @ norms), 1e-300))
        return cls(read_only(X), bias, free, norms, basis, tops, moment)

    def penalized_rows(self) -> Features:
        """Return X, with a column for a penalized bias."""
        if not self.bias:
            return self.X
        return csr_array(hstack([self.X, np.full((self.X.shape[0], 1), self.bias)]))

    def weights(self, omega: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (coef, intercept) of weights (n_labels, n_features), and one for the bias if there is one, last."""
        if not (self.bias or self.free):
            return np.ascontiguousarray(omega), np.zeros(len(omega))
        return np.ascontiguousarray(omega[:, :-1]), omega[:, -1] * (1.0 if self.free else self.bias)


class SparseSweeps:
    """State of the passes over SparseRows: weights, what the flattening takes off them, its strength."""

    def __init__(self, rows: SparseRows, upper: FloatArray, pairs: Any, flat: bool = True) -> None:
        self.rows, self.upper, self.pairs = rows, upper, pairs
        self.flat = flat and len(rows.moment) > 0
        self.excess = np.zeros((pairs.n_labels, len(rows.moment)))
        lowest, highest = float(rows.moment.min(initial=0.0)), float(rows.moment.max(initial=0.0)) or 1.0
        start = min(max(float(rows.norms.mean()) / 100, lowest), highest)
        self.flattening = Flattening(start if self.flat else highest, lowest, highest)
        start = max(self.flattening.theta, 0.5 / float(upper @ pairs.size))
        self.bias_step = Flattening(start, 1e-9 * start, 1e6 * start)
        self.b = self.previous = np.zeros(pairs.n_labels)

    def certify(self, alpha: FloatArray) -> tuple[FloatArray, float, float]:
        """Return training scores, primal and dual objective; see `feasible` for the dual variables."""
        lists = self.pairs.lists
        self.settle(self.sums(kernels.dual_sums(alpha, lists, self.pairs.n_labels)))
        scores = self.scores()
        loss = float(self.upper @ kernels.hinge_sums(scores, lists))
        squares = self.squares()
        primal, dual = 0.5 * squares[0] + loss, float(alpha.sum()) - 0.5 * squares[1]
        self.feasible, self.repair = alpha, 0.0
        if self.rows.free:
            self.feasible = meet_constraints(alpha, self.upper, self.pairs)
            beta = kernels.dual_sums(self.feasible, lists, self.pairs.n_labels)
            free, relaxed = self.sums(beta)[:-1], dual - float(self.b @ self.totals)
            dual = float(self.feasible.sum()) - 0.5 * float(np.vdot(free, free))
            self.repair = max(relaxed - dual, 0.0)
        return scores, primal, dual

    def sums(self, beta: FloatArray) -> FloatArray:
        """Return beta'[X, 1], (n_features + 1, n_labels)."""
        sums = self.no_sums()
        self.add_sums(sums, beta, EVERY)
        return sums

    def no_sums(self) -> FloatArray:
        """Return zeros to which `add_sums` adds."""
        return np.zeros((self.rows.X.shape[1] + 1, self.pairs.n_labels))

    def add_sums(self, sums: FloatArray, beta: FloatArray, rows: slice) -> None:
        """Add beta'[X, 1] of some rows."""
        X = self._part(rows)
        kernels.add_adjoint((X.data, X.indices, X.indptr), beta, sums)
        sums[-1] += beta.sum(axis=0)

    def _part(self, rows: slice) -> Features:
        """Return some rows; a slice of all of them would be a copy."""
        return self.rows.X if rows is EVERY else read_only(self.rows.X[rows])

    def settle(self, sums: FloatArray) -> None:
        """Take the weights that the dual variables have with the center, by the `sums` of all rows."""
        self.free, self.totals = sums[:-1], sums[-1]
        self.free_bias, self.repair = self.rows.bias * self.totals, 0.0
        self.W = self.free - self.rows.basis[:-1] @ self.excess.T
        self.bias_weights = self.free_bias - self.rows.basis[-1] @ self.excess.T

    def scores(self, rows: slice = EVERY) -> FloatArray:
        """Return the scores of some rows by these weights."""
        scores: FloatArray = np.asarray(self._part(rows) @ self.W)
        scores += self.rows.bias * self.bias_weights + self.b
        return scores

    def squares(self) -> tuple[float, float]:
        """Return the squared norms of these weights and of those that the dual variables have alone."""
        pairs = (self.W, self.bias_weights), (self.free, self.free_bias)
        first, second = (float(np.vdot(W, W) + bias @ bias) for W, bias in pairs)
        return first, second

    def start_round(self, gap: float) -> None:
        """Choose the flattening by the absolute `gap`, and move the center to the current weights."""
        if self.flat:
            self.flattening.choose(gap, 0.5 * float(np.vdot(self.excess, self.excess)), self.repair)
        self.pull = 1.0 - self.flattening.kept(self.rows.moment)
        self.scaled = self.rows.tops * np.sqrt(self.pull)
        self.norms = self.rows.norms - np.einsum("ij,ij->i", self.scaled, self.scaled)
        self.working = self.excess * np.sqrt(self.pull)
        if self.rows.free:
            self.bias_step.adapt(gap, self.repair)
            self.norms += self.bias_step.theta
            self.previous, self.b = self.b, self.b + self.bias_step.theta * self.totals

    def sweep(self, alpha: FloatArray, active: Any, order: IntArray) -> None:
        """Make one pass, then one move of the center."""
        rows = self.rows
        parts = (rows.X.data, rows.X.indices, rows.X.indptr)
        # The loop adds value * move to weights of the constant feature and reads value * weights.
        value, weights = rows.bias, self.free_bias
        if rows.free:
            value = float(np.sqrt(self.bias_step.theta))
            weights = self.b / value
        lists, k = self.pairs.lists, self.pairs.n_labels
        cost = k * (2 * rows.X.nnz / rows.X.shape[0] + 2 * self.scaled.shape[1] + k)
        for part in in_pieces(len(order), cost):
            kernels.sweep_csr(
                parts,
                self.scaled,
                self.norms,
                self.free,
                self.working,
                weights,
                value,
                self.upper,
                alpha,
                lists,
                active,
                order[part],
            )
        self.move_center()
        if rows.free:
            moved = value * weights
            self.b, self.previous = 2 * moved - self.previous, moved

    def step_scores(self, rows: slice) -> FloatArray:
        """Return the scores that a visit of some rows would begin with; not for a free bias."""
        scores: FloatArray = np.asarray(self._part(rows) @ self.free)
        scores += self.rows.bias * self.free_bias
        scores -= self.scaled[rows] @ self.working.T
        return scores

    def visit(self, rows: slice, alpha: FloatArray, lists: Any, active: Any, order: IntArray) -> None:
        """Visit some rows, whose dual variables and lists of labels are given, in an `order` that counts them alone.

        Not for a free bias.
        """
        X = self._part(rows)
        tops, norms, upper = (np.ascontiguousarray(whole[rows]) for whole in (self.scaled, self.norms, self.upper))
        weights = self.free, self.working, self.free_bias
        parts = (X.data, X.indices, X.indptr)
        kernels.sweep_csr(parts, tops, norms, *weights, self.rows.bias, upper, alpha, lists, active, order)

    def move_center(self) -> None:
        """Move the center, after each pass."""
        self.excess = np.sqrt(self.pull) * self.working
        self.working *= self.pull

    def end_round(self) -> None:
        """Nothing to remember: the state is that of the center after its last move."""

    def weights(self) -> tuple[FloatArray, FloatArray]:
        """Return (coef, intercept)."""
        return np.ascontiguousarray(self.W.T), self.rows.bias * self.bias_weights + self.b
