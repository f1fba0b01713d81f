"""Dense rows, swept with a flattened spectrum.

Coordinate descent crawls where few directions of feature space carry most of the rows' second moment: the common mean
of non-negative features, features on unlike scales. For dense rows each round of passes therefore solves not the
problem itself, min_W 1/2 |W|^2 + loss, but a proximal step of it around the weights V of the pass before::

    min_W  1/2 |W|^2 + loss + 1/2 sum_j h_j (W_j - V_j)^2,    h_j = max(0, moment_j / theta - 1)

in the eigenbasis of the second moment, where the extra term makes the rows' moments min(moment_j, theta). Its fixed
points are those of the problem, and one pass serves both the step and the move of V (method of multipliers with one
inexact inner pass). theta = max moment is plain coordinate descent. The gap is the step's own gap plus
1/2 sum h_j^2 (W_j - V_j)^2; theta is moved until both parts shrink together, and back up when the gap grows
(`Flattening`).

A free bias is one more column of ones that the problem does not penalize but the step does, with h = 1 / theta_b: its
weights are the multipliers of the dual's equality constraints. Rows are then centered first, which changes the bias
alone. The certificate needs dual variables that meet the constraints (`meet_constraints`), and theta_b is moved by how
the gap divides between the step and this repair.

Reference: Rockafellar, "Augmented Lagrangians and applications of the proximal point algorithm in convex programming",
Mathematics of Operations Research, 1976.

Dual variables that meet the constraints of a free bias: for every label, sum_i beta_i = 0.

A pass leaves small sums. They are moved along pairs of labels like flow in an electric network whose conductances are
the masses of the free variables, which costs the dual objective little because free variables have a gradient near 0.

Rank-SVM rows from inner products: kernels, and penalized problems with more features than rows.

With K the kernel of the training rows and L the hypergraph Laplacian, the dual of eq. 10 has the Gram matrix (eq. 27)::

    A = K (I + lam L K)^-1,    new rows:  f(x) = k_x' (I + lam L K)^-1 beta

which is I + lam X'LX inverted between the rows if K = XX'. A = USU' gives the rows U S^1/2 of a plain problem. The
constant feature of a penalized bias adds bias^2 to A and is added last: L maps constants to zero, so it belongs outside
the inverse, where it would cost nine digits.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, eigh, lu_factor, lu_solve
from scipy.sparse import issparse

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray, as_dense, in_pieces
from mlrank.hypergraph import vertex_degree
from mlrank.kernels.factor import factor_gram
from mlrank.solvers.flattening import LONE, Flattening
from mlrank.solvers.rank_svm import kernels

__all__ = [
    "EVERY",
    "DenseSweeps",
    "FlatRows",
    "better_dense",
    "check_size",
    "gram_rows",
    "kernel_distance",
    "meet_constraints",
]

ATTEMPTS = 6
# Sums below this part of all dual variables are rounding.
ROUNDING = 1e-13


def meet_constraints(alpha: FloatArray, upper: FloatArray, pairs: Any) -> FloatArray:
    """Return a feasible point near `alpha`; zeros, which are feasible, where none is found."""
    repaired = alpha.copy()
    total = float(alpha.sum())
    for attempt in range(ATTEMPTS):
        # Free variables first; if they do not do, all that have room in that direction.
        free_only = attempt < ATTEMPTS // 2
        sums, down, up = kernels.pair_masses(repaired, upper, pairs.lists, pairs.n_labels, free_only)
        if np.abs(sums).max() <= ROUNDING * total:
            return repaired
        room = np.minimum(down, up) if free_only else down + up
        conductance = room + room.T
        laplacian = np.diag(conductance.sum(axis=1)) - conductance
        potential = np.linalg.lstsq(laplacian, sums, rcond=1e-12)[0]
        # What each pair (p relevant, q irrelevant) must give up, at most what it has.
        flow = room * (potential[:, None] - potential)
        flow = np.clip(flow, -up, down)
        kernels.shift_pairs(repaired, upper, pairs.lists, flow, down, up, free_only)
    return np.zeros_like(alpha)


# Sparse rows fuller than this are cheaper dense, if they fit.
DENSE_FROM = 0.25
DENSE_BYTES = 2**30
# M is scaled to a unit diagonal where its scales are so many times apart.
GRADED = 1e6
# Directions with less than this part of the largest moment are rounding.
NOISE = 1e-14


def better_dense(X: Features) -> bool:
    """Whether `X` is dense, or so full that sweeping it dense is cheaper."""
    if not issparse(X):
        return True
    cells = X.shape[0] * X.shape[1]
    return bool(X.nnz >= DENSE_FROM * cells and 8 * cells <= DENSE_BYTES)


@dataclass(frozen=True)
class FlatRows:
    """Dense rows in the eigenbasis of their second moment.

    Z : (n_samples, r), the rows; a free bias is its last column, of ones
    moment : (r,), mean square of each column of Z, ascending but for that of a free bias
    basis : (n_features + 1, r), from weights in the eigenbasis to weights of [x, bias]; or (n_samples, r), to
        coefficients of the training rows
    bias : value of the constant feature, 0 for a free bias
    shift : (r - 1,) for a free bias: what the scores of each direction were centered by; else None
    span : the training rows, if `basis` leads to their coefficients and weights are requested
    dual : whether `basis` leads to coefficients of the training rows
    """

    Z: FloatArray
    moment: FloatArray
    basis: FloatArray
    bias: float
    shift: FloatArray | None = None
    span: Features | None = None
    dual: bool = False

    @classmethod
    def of(
        cls, X: Features, bias: float, free: bool = False, metric: FloatArray | None = None, robust: bool = False
    ) -> "FlatRows":
        """Rotate `X`; `metric` is the M of w'Mw, by which weights are measured instead of w'w.

        For a free bias rows are centered by their mean, or if `robust` by their median, which no single row moves.

        O(n m r) flops and one eigenproblem of order r = min(n_samples, n_features + 1).
        """
        X = np.asarray(as_dense(X))
        rows = np.column_stack([X, np.full(len(X), bias)])
        center = (np.median(rows, axis=0) if robust else rows.mean(axis=0)) if free else None
        if center is not None:
            rows = rows - center
        moment, basis = _eigenbasis(rows) if metric is None else _measured_eigenbasis(rows, metric)
        Z = np.ascontiguousarray(rows @ basis)
        shift = None if center is None else center @ basis
        return cls(Z, moment, basis, bias, shift).with_free_bias()

    def with_free_bias(self) -> "FlatRows":
        """Return the rows with the column of a free bias appended, if there is one."""
        if self.shift is None:
            return self
        Z = np.column_stack([self.Z, np.ones(len(self.Z))])
        return FlatRows(Z, np.append(self.moment, 1.0), self.basis, self.bias, self.shift, self.span, self.dual)

    @property
    def free(self) -> bool:
        """Whether the last column belongs to a free bias."""
        return self.shift is not None

    def penalized_rows(self) -> FloatArray:
        """Return `Z` without the column of a free bias."""
        return self.Z[:, :-1] if self.free else self.Z

    def weights(self, omega: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (coef, intercept) of weights (n_labels, r) in the eigenbasis; `coef` may be of the training rows."""
        intercept = np.zeros(len(omega))
        if self.shift is not None:
            omega, intercept = omega[:, :-1], omega[:, -1] - omega[:, :-1] @ self.shift
        coef = omega @ self.basis.T
        if not self.dual:
            return np.ascontiguousarray(coef[:, :-1]), intercept + self.bias * coef[:, -1]
        intercept = intercept + self.bias**2 * coef.sum(axis=1)
        return coef if self.span is None else np.ascontiguousarray((self.span.T @ coef.T).T), intercept


def _eigenbasis(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return moments (r,), ascending, and orthonormal directions (m, r)."""
    n, m = rows.shape
    if m <= n:
        moment, basis = eigh(rows.T @ rows / n)
        return np.maximum(moment, 0.0), basis
    moment, left = eigh(rows @ rows.T / n)
    kept = moment > NOISE * moment[-1]
    return moment[kept], rows.T @ (left[:, kept] / np.sqrt(n * moment[kept]))


def _measured_eigenbasis(rows: FloatArray, metric: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return moments, ascending, and directions B with B'MB = I; M is `metric`, and 1 for the last column."""
    m = rows.shape[1]
    M = np.eye(m)
    M[:-1, :-1] = metric
    # Scaled to a unit diagonal, M has a Cholesky factor whatever the scales of its columns.
    size = np.sqrt(np.diag(M)) if np.diag(M).max() > GRADED * np.diag(M).min() else np.ones(m)
    moments = rows.T @ rows / len(rows) / size / size[:, None]
    try:
        moment, basis = eigh(moments, M / size / size[:, None], driver="gvd", overwrite_a=True, overwrite_b=True)
    except LinAlgError as error:
        raise ValueError(
            f"lam above 0 needs features on scales that are less far apart: I + lam X'LX has no Cholesky factor in "
            f"double precision; `scale: standard` brings them together ({error})"
        ) from error
    return np.maximum(moment, 0.0), basis / size[:, None]


EVERY = slice(None)


class DenseSweeps:
    """State of the passes over FlatRows: weights, proximal center, flattening."""

    def __init__(self, rows: FlatRows, upper: FloatArray, pairs: Any, flat: bool = True) -> None:
        self.rows, self.upper, self.pairs, self.flat = rows, upper, pairs, flat
        shape = (pairs.n_labels, len(rows.moment))
        self.penalized = slice(shape[1] - rows.free)
        # Of each column: what a unit of beta'Z adds to the weights, and the share that the center has in them.
        self.gain, self.pull = np.ones(shape[1]), np.zeros(shape[1])
        self.center, self.previous, self.working = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        # Kept for all rounds: fresh memory for each took 20 of 240 ms on 2000 x 500 rows.
        self.scaled = np.empty_like(rows.Z)
        moment = rows.moment[self.penalized] if shape[1] > rows.free else np.zeros(1)
        highest = float(moment.max(initial=0.0)) or 1.0
        # The mean moment without the leading one, which mostly is that of the common mean of all rows.
        start = float(moment.sum() - highest) / len(moment)
        start = start if flat and start > LONE * highest else highest
        self.flattening = Flattening(start, 1e-12 * highest, highest)
        # Steps of the bias are of order 1 even where all dual variables together are small.
        start = max(self.flattening.theta, 0.5 / float(upper @ pairs.size))
        self.bias = Flattening(start, 1e-9 * start, 1e6 * start)

    def certify(self, alpha: FloatArray) -> tuple[FloatArray, float, float]:
        """Return training scores, primal and dual objective; see `feasible` for the dual variables."""
        Z, part, lists = self.rows.Z, self.penalized, self.pairs.lists
        self.settle(self.sums(kernels.dual_sums(alpha, lists, self.pairs.n_labels)))
        scores = self.scores()
        loss = float(self.upper @ kernels.hinge_sums(scores, lists))
        squares = self.squares()
        primal, dual = 0.5 * squares[0] + loss, float(alpha.sum()) - 0.5 * squares[1]
        self.feasible, self.repair = alpha, 0.0
        if self.rows.free:
            self.feasible = meet_constraints(alpha, self.upper, self.pairs)
            free = kernels.dual_sums(self.feasible, lists, self.pairs.n_labels).T @ Z[:, part]
            relaxed = dual - float(self.omega[:, -1] @ self.free[:, -1])
            dual = float(self.feasible.sum()) - 0.5 * float(np.vdot(free, free))
            self.repair = max(relaxed - dual, 0.0)
        return scores, primal, dual

    def sums(self, beta: FloatArray) -> FloatArray:
        """Return beta'Z."""
        sums: FloatArray = beta.T @ self.rows.Z
        return sums

    def no_sums(self) -> FloatArray:
        """Return zeros to which `add_sums` adds."""
        return np.zeros(self.center.shape)

    def add_sums(self, sums: FloatArray, beta: FloatArray, rows: slice) -> None:
        """Add beta'Z of some rows."""
        sums += beta.T @ self.rows.Z[rows]

    def settle(self, sums: FloatArray) -> None:
        """Take the weights that the dual variables have with the center, by the `sums` of all rows."""
        self.free, self.repair = sums, 0.0
        self.omega = self.gain * self.free + self.pull * self.center

    def scores(self, rows: slice = EVERY) -> FloatArray:
        """Return the scores of some rows by these weights."""
        scores: FloatArray = self.rows.Z[rows] @ self.omega.T
        return scores

    def squares(self) -> tuple[float, float]:
        """Return the squared norms of these weights and of those that the dual variables have alone."""
        weights, free = self.omega[:, self.penalized], self.free[:, self.penalized]
        return float(np.vdot(weights, weights)), float(np.vdot(free, free))

    def start_round(self, gap: float) -> None:
        """Choose the flattening by the absolute `gap`, and move the center to the current weights."""
        part = self.penalized
        distance = self.free[:, part] - self.omega[:, part]
        if self.flat:
            self.flattening.choose(gap, 0.5 * float(np.vdot(distance, distance)), self.repair)
        kept = self.flattening.kept(self.rows.moment[part])
        self.gain[part], self.pull[part] = kept, 1.0 - kept
        if self.rows.free:
            self.bias.adapt(gap, self.repair)
            self.gain[-1], self.pull[-1] = self.bias.theta, 1.0
        root = np.sqrt(self.gain)
        np.multiply(self.rows.Z, root, out=self.scaled)
        self.norms = np.einsum("ij,ij->i", self.scaled, self.scaled)
        self.previous = self.omega / root
        # Weights of the scaled rows at which W = omega for the new center omega.
        self.working = root * self.free + self.pull * self.previous

    def sweep(self, alpha: FloatArray, active: Any, order: IntArray) -> None:
        """Make one pass, then one move of the center."""
        lists, cost = self.pairs.lists, self.pairs.n_labels * (2 * self.scaled.shape[1] + self.pairs.n_labels)
        for part in in_pieces(len(order), cost):
            kernels.sweep_dense(self.scaled, self.norms, self.working, self.upper, alpha, lists, active, order[part])
        self.move_center()

    def step_scores(self, rows: slice) -> FloatArray:
        """Return the scores that a visit of some rows would begin with."""
        scores: FloatArray = self.scaled[rows] @ self.working.T
        return scores

    def visit(self, rows: slice, alpha: FloatArray, lists: Any, active: Any, order: IntArray) -> None:
        """Visit some rows, whose dual variables and lists of labels are given, in an `order` that counts them alone."""
        Z, norms, upper = (np.ascontiguousarray(whole[rows]) for whole in (self.scaled, self.norms, self.upper))
        kernels.sweep_dense(Z, norms, self.working, upper, alpha, lists, active, order)

    def move_center(self) -> None:
        """Move the center, after each pass."""
        following = self.working + self.pull * (self.working - self.previous)
        self.previous, self.working = self.working, following

    def end_round(self) -> None:
        """Remember the center that the last move set."""
        self.center = self.previous * np.sqrt(self.gain)

    def weights(self) -> tuple[FloatArray, FloatArray]:
        """Return (coef, intercept)."""
        return self.rows.weights(self.omega)


# Cells of the largest matrix that is formed: 1.7 GiB, and its eigenvectors as much again.
CELLS_LIMIT = 15_000**2


def check_size(rows: int, columns: int, what: str) -> None:
    """Raise ValueError where `what` needs a matrix of more than CELLS_LIMIT cells."""
    if rows * columns > CELLS_LIMIT:
        needed, most = (8 * cells / 2**30 for cells in (rows * columns, CELLS_LIMIT))
        raise ValueError(
            f"{what} needs a matrix of {rows} x {columns} cells, {needed:.1f} GiB; at most {most:.1f} GiB are supported"
        )


def gram_rows(
    K: FloatArray,
    bias: float,
    free: bool,
    penalty: tuple[float, BoolArray, FloatArray] | None = None,
    span: Features | None = None,
) -> FlatRows:
    """Return rows whose inner products are eq. 27 with a bias; O(n^3).

    Parameters
    ----------
    K : (n_samples, n_samples), without bias
    penalty : (lam, Y, hyperedge weights), or None for lam = 0
    span : the training rows, if K is linear and weights are requested
    """
    A, factors = K, None
    if penalty is not None:
        lam, Y, weights = penalty
        H = Y.astype(np.float64)
        # I + lam K L, without forming L.
        system = lam * (K * vertex_degree(Y, weights) - ((K @ H) * weights) @ H.T)
        system[np.diag_indices_from(system)] += 1.0
        factors = lu_factor(system, overwrite_a=True)
        A = lu_solve(factors, K)
        A = 0.5 * (A + A.T)
    means = A.mean(axis=0)
    A = A - means - means[:, None] + means.mean() if free else A + bias**2
    Z, moment, basis = factor_gram(A)
    shift = None
    if free:
        # Directions of next to no moment may lean towards the constant one, of none, which new rows would see.
        Z, basis = Z - Z.mean(axis=0), basis - basis.mean(axis=0)
        shift = means @ basis
    if factors is not None:
        basis = lu_solve(factors, basis, trans=1)
    return FlatRows(Z, moment, basis, bias, shift, span, dual=True).with_free_bias()


def kernel_distance(K: FloatArray, Y: BoolArray) -> FloatArray:
    """Return the mean squared distance between two different rows of each label (eq. 30) in the space of the kernel."""
    H = Y.astype(np.float64)
    size = H.sum(axis=0)
    total = 2 * (size * (np.diag(K) @ H) - np.einsum("ie,ij,je->e", H, K, H, optimize=True))
    pairs = size * (size - 1)
    distance: FloatArray = np.divide(total, pairs, out=np.zeros_like(total), where=pairs > 0)
    return np.maximum(distance, 0.0)
