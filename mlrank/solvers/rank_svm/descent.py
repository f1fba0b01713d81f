"""Rounds of dual coordinate descent, each ended by a certificate and a new choice of the labels to sweep.

Rank-SVM by Frank and Wolfe's method, as Elisseeff and Weston proposed.

A step goes from alpha towards the vertex s of the dual's feasible set that maximizes the linearized objective g's, by
exact line search: the dual is quadratic. g'(s - alpha) is the duality gap at the current weights, so every step has its
certificate for nothing. Without a free bias the vertex is s = cap where g > 0, else 0. With one it is a linear program
with one constraint for each label, whose multipliers are the best bias (HiGHS; seconds for each step from 10^5 pairs).

The method converges like 1 / steps. It is here to be compared with.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from mlrank.arrays import BoolArray, FloatArray, IntArray
from mlrank.labels import LabelMatrix, row_counts
from mlrank.solvers.base import relative_gap
from mlrank.solvers.rank_svm import kernels
from mlrank.solvers.rank_svm.rows import DenseSweeps, FlatRows
from mlrank.solvers.rank_svm.settings import RankSettings
from mlrank.solvers.rank_svm.sparse import SparseSweeps

__all__ = [
    "Pairs",
    "RankSolution",
    "caps",
    "descend",
    "frank_wolfe",
    "pair_counts",
    "round_length",
]

PAIRS_LIMIT = 10**9


@dataclass(frozen=True)
class Pairs:
    """The label pairs of each row, as lists of relevant and irrelevant labels.

    lists : (relevant_ptr, relevant, irrelevant_ptr, irrelevant, offset), the form the compiled loops take
    size : (n_samples,) number of relevant times number of irrelevant labels, 0 for a row without pairs
    """

    lists: tuple[IntArray, Any, IntArray, Any, IntArray]
    size: IntArray
    n_labels: int

    @classmethod
    def of(cls, Y: BoolArray, known: BoolArray | None = None) -> "Pairs":
        """List the pairs of `Y` (n_samples, n_labels); a label that is not known is in none.

        Raises
        ------
        ValueError
            If no row has both a relevant and an irrelevant label, or there are more pairs than memory can be asked for.
        """
        total = int(pair_counts(Y, known).sum())
        if total > PAIRS_LIMIT:
            raise ValueError(
                f"{total} label pairs need {8 * total / 2**30:.0f} GiB; at most {PAIRS_LIMIT} are supported"
            )
        return cls.listed(Y, known)

    @classmethod
    def listed(cls, Y: BoolArray, known: BoolArray | None = None) -> "Pairs":
        """List the pairs as `of`, also where there is none."""
        classes = (Y, ~Y) if known is None else (Y & known, ~Y & known)
        n_relevant, n_irrelevant = (part.sum(axis=1) for part in classes)
        labels = np.broadcast_to(np.arange(Y.shape[1], dtype=np.int32), Y.shape)
        relevant, irrelevant = (labels[part] for part in classes)
        size, pointers = n_relevant * n_irrelevant, (_pointers(n_relevant), _pointers(n_irrelevant))
        lists = (pointers[0], relevant, pointers[1], irrelevant, _pointers(size)[:-1])
        return cls(lists, size, Y.shape[1])

    def no_labels(self) -> tuple[Any, IntArray, Any, IntArray]:
        """Return room for the active labels of each row: positions in its two lists, and their numbers."""
        _, relevant, _, irrelevant, offset = self.lists
        numbers = np.zeros_like(offset), np.zeros_like(offset)
        return np.zeros_like(relevant), numbers[0], np.zeros_like(irrelevant), numbers[1]


def pair_counts(Y: LabelMatrix, known: BoolArray | None = None) -> IntArray:
    """Return the number of pairs of each row, shape (n_samples,).

    Raises
    ------
    ValueError
        If no row has both a relevant and an irrelevant label.
    """
    relevant = row_counts(Y if known is None else Y & known)
    irrelevant = (Y.shape[1] if known is None else known.sum(axis=1)) - relevant
    size: IntArray = relevant * irrelevant
    if not size.any():
        raise ValueError("no row has both a relevant and an irrelevant label, so there is nothing to rank")
    return size


def _pointers(counts: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


# A round never runs more passes than this without a new certificate.
LONGEST_ROUND = 10
# After so many passes another method is asked.
PATIENCE = 1000


@dataclass(frozen=True)
class RankSolution:
    """An approximate optimum with its certificate.

    coef : (n_labels, n_features), or (n_labels, n_samples) for kernels; intercept : (n_labels,)
    alpha : (n_pairs,), feasible, irrelevant-major within each row; empty where pairs are packed
    primal, dual : objective values at the weights and at alpha; n_iter : passes or steps
    beta : (n_samples, n_labels), sums of alpha as of eq. 15; None before the solution is judged by the given rows, and
        where it would take too much room
    """

    coef: FloatArray
    intercept: FloatArray
    alpha: FloatArray
    primal: float
    dual: float
    n_iter: int
    beta: FloatArray | None = None

    @property
    def optimality(self) -> float:
        """Relative duality gap; 0 where both values are 0."""
        return relative_gap(self.primal, self.dual)


def caps(size: IntArray, settings: RankSettings) -> FloatArray:
    """Return C / (|y_i| |z_i|) by the numbers of pairs, 0 where there is none; divided by n if C is of a mean."""
    C = settings.C if settings.C_scale == "sum" else settings.C / len(size)
    return np.divide(C, size, out=np.zeros(len(size)), where=size > 0)


def descend(
    rows: Any, pairs: Pairs, settings: RankSettings, rescue: Callable[[int], RankSolution | None]
) -> RankSolution:
    """Solve to relative duality gap `tol`, or as far as `max_iter` passes go.

    `rescue` is asked once, with the number of passes so far, when they are many: passes end if it has the solution.
    """
    upper, rng = caps(pairs.size, settings), np.random.default_rng(settings.seed)
    as_printed = settings.order == "cyclic"
    make = DenseSweeps if isinstance(rows, FlatRows) else SparseSweeps
    sweeps = make(rows, upper, pairs, not as_printed)
    alpha, active = np.zeros(int(pairs.size.sum())), pairs.no_labels()
    before, n_iter, step = np.full((len(upper), pairs.n_labels), np.inf), 0, np.inf
    asked = as_printed or settings.stop == "step"
    while True:
        scores, primal, dual = sweeps.certify(alpha)
        done = step < settings.eps if settings.stop == "step" else primal - dual <= settings.tol * primal
        if done or n_iter >= settings.max_iter:
            return RankSolution(*sweeps.weights(), sweeps.feasible, primal, dual, n_iter)
        if n_iter >= PATIENCE and not asked:
            asked, rescued = True, rescue(n_iter)
            if rescued is not None and rescued.optimality <= settings.tol:
                return rescued
        # A pair may stay out only while it is further from moving than its scores moved in the last round.
        slack = np.full(len(upper), np.inf) if as_printed else 2 * np.abs(scores - before).max(axis=1)
        kernels.find_active(scores, slack, upper, alpha, pairs.lists, active)
        before, visits = scores, np.flatnonzero(active[3])
        sweeps.start_round(primal - dual)
        for _ in range(min(round_length(n_iter, settings), settings.max_iter - n_iter)):
            last = alpha.copy() if settings.stop == "step" else alpha
            sweeps.sweep(alpha, active, visits if as_printed else rng.permutation(visits))
            step = float(np.linalg.norm(alpha - last)) if settings.stop == "step" else np.inf
            n_iter += 1
        sweeps.end_round()


def round_length(n_iter: int, settings: RankSettings) -> int:
    """Return how many passes follow after so many before the next certificate."""
    return 1 if settings.stop == "step" else min(max(1, n_iter // 3), LONGEST_ROUND)


def frank_wolfe(
    rows: Any, pairs: Pairs, settings: RankSettings, rescue: Callable[[int], RankSolution | None]
) -> RankSolution:
    """Solve to relative duality gap `tol`, or as far as `max_iter` steps go; `rows` are FlatRows or SparseRows.

    It is there to be compared with, so `rescue` is not asked.
    """
    upper, R = caps(pairs.size, settings), rows.penalized_rows()
    vertex = _FreeVertex(pairs, upper) if rows.free else _BoxVertex(pairs, upper)
    alpha, n_iter = np.zeros(int(pairs.size.sum())), 0
    W, F = np.zeros((R.shape[1], pairs.n_labels)), np.zeros((R.shape[0], pairs.n_labels))
    while True:
        target, bias = vertex(F)
        half = 0.5 * float(np.vdot(W, W))
        primal = half + float(upper @ kernels.hinge_sums(F + bias, pairs.lists))
        dual = float(alpha.sum()) - half
        if primal - dual <= settings.tol * primal or n_iter >= settings.max_iter:
            weights = np.column_stack([W.T, bias]) if rows.free else W.T
            coef, intercept = rows.weights(weights)
            return RankSolution(coef, intercept, alpha, primal, dual, n_iter)
        move = R.T @ kernels.dual_sums(target, pairs.lists, pairs.n_labels) - W
        curvature = float(np.vdot(move, move))
        step = min(1.0, (primal - dual) / curvature) if curvature > 1e-15 else 1.0
        alpha += step * (target - alpha)
        W += step * move
        F = np.ascontiguousarray(R @ W)
        n_iter += 1


class _BoxVertex:
    """The best vertex where the only constraints are 0 <= alpha <= cap."""

    def __init__(self, pairs: Pairs, upper: FloatArray) -> None:
        self.pairs, self.upper = pairs, upper

    def __call__(self, F: FloatArray) -> tuple[FloatArray, FloatArray]:
        target = np.empty(int(self.pairs.size.sum()))
        kernels.best_vertex(F, self.upper, self.pairs.lists, target)
        return target, np.zeros(F.shape[1])


class _FreeVertex:
    """The best vertex with sum_i beta_i = 0, and the best bias for the scores."""

    def __init__(self, pairs: Pairs, upper: FloatArray) -> None:
        rows, relevant, irrelevant = kernels.list_pairs(pairs.lists)
        number = np.arange(len(rows))
        values = np.concatenate([np.ones(len(rows)), -np.ones(len(rows))])
        places = np.concatenate([relevant, irrelevant]), np.concatenate([number, number])
        # The constraints add up to 0 = 0, so one of them is left out.
        self.sums = csc_array((values, places), shape=(pairs.n_labels, len(rows)))[:-1]
        self.rows, self.relevant, self.irrelevant = rows, relevant, irrelevant
        self.bounds = np.column_stack([np.zeros(len(rows)), upper[rows]])

    def __call__(self, F: FloatArray) -> tuple[FloatArray, FloatArray]:
        from scipy.optimize import linprog

        gradient = 1.0 - F[self.rows, self.relevant] + F[self.rows, self.irrelevant]
        zeros = np.zeros(self.sums.shape[0])
        found = linprog(-gradient, A_eq=self.sums, b_eq=zeros, bounds=self.bounds, method="highs")
        if found.status != 0:
            raise ValueError(f"the linear program of a Frank-Wolfe step failed: {found.message}")
        return np.clip(found.x, 0.0, self.bounds[:, 1]), -np.append(found.eqlin.marginals, 0.0)
