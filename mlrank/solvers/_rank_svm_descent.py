"""Rounds of dual coordinate descent, each ended by a certificate and a new choice of the labels to sweep."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.solvers import _rank_svm_kernels as kernels
from mlrank.solvers._rank_svm_pairs import Pairs
from mlrank.solvers._rank_svm_rows import DenseSweeps, FlatRows
from mlrank.solvers._rank_svm_sparse import SparseSweeps
from mlrank.solvers.base import relative_gap

__all__ = ["Run", "Solution", "caps", "descend"]

# A round never runs more passes than this without a new certificate.
LONGEST_ROUND = 10


class Run(Protocol):
    """The settings that a run depends on; RankSVM and RankHLapSVM have them."""

    @property
    def C(self) -> float:
        """As in RankSVM."""
        ...

    @property
    def C_scale(self) -> str:
        """As in RankSVM."""
        ...

    @property
    def order(self) -> str:
        """As in RankSVM."""
        ...

    @property
    def stop(self) -> str:
        """As in RankSVM."""
        ...

    @property
    def eps(self) -> float:
        """As in RankSVM."""
        ...

    @property
    def tol(self) -> float:
        """As in RankSVM."""
        ...

    @property
    def max_iter(self) -> int:
        """As in RankSVM."""
        ...

    @property
    def seed(self) -> int:
        """As in RankSVM."""
        ...


@dataclass(frozen=True)
class Solution:
    """An approximate optimum with its certificate.

    coef : (n_labels, n_features), or (n_labels, n_samples) for kernels; intercept : (n_labels,)
    alpha : (n_pairs,), feasible, irrelevant-major within each row
    primal, dual : objective values at the weights and at alpha; n_iter : passes or steps
    """

    coef: FloatArray
    intercept: FloatArray
    alpha: FloatArray
    primal: float
    dual: float
    n_iter: int

    @property
    def gap(self) -> float:
        """Relative duality gap; 0 where both values are 0."""
        return relative_gap(self.primal, self.dual)


def caps(pairs: Pairs, run: Run) -> FloatArray:
    """Return C / (|y_i| |z_i|) for each row, 0 where it holds no pair; divided by their number if C is of a mean."""
    C = run.C if run.C_scale == "sum" else run.C / len(pairs.size)
    return np.divide(C, pairs.size, out=np.zeros(len(pairs.size)), where=pairs.size > 0)


def descend(rows: Any, pairs: Pairs, run: Run) -> Solution:
    """Solve to relative duality gap `tol`, or as far as `max_iter` passes go."""
    upper, rng = caps(pairs, run), np.random.default_rng(run.seed)
    as_printed = run.order == "cyclic"
    make = DenseSweeps if isinstance(rows, FlatRows) else SparseSweeps
    sweeps = make(rows, upper, pairs, not as_printed)
    alpha, active = np.zeros(int(pairs.size.sum())), pairs.no_labels()
    before, n_iter, step = np.full((len(upper), pairs.n_labels), np.inf), 0, np.inf
    while True:
        scores, primal, dual = sweeps.certify(alpha)
        done = step < run.eps if run.stop == "step" else primal - dual <= run.tol * primal
        if done or n_iter >= run.max_iter:
            return Solution(*sweeps.weights(), sweeps.feasible, primal, dual, n_iter)
        # A pair may stay out only while it is further from moving than its scores moved in the last round.
        slack = np.full(len(upper), np.inf) if as_printed else 2 * np.abs(scores - before).max(axis=1)
        kernels.find_active(scores, slack, upper, alpha, pairs.lists, active)
        before, visits = scores, np.flatnonzero(active[3])
        sweeps.start_round(primal - dual)
        for _ in range(min(_round_length(n_iter, run), run.max_iter - n_iter)):
            last = alpha.copy() if run.stop == "step" else alpha
            sweeps.sweep(alpha, active, visits if as_printed else rng.permutation(visits))
            step = float(np.linalg.norm(alpha - last)) if run.stop == "step" else np.inf
            n_iter += 1
        sweeps.end_round()


def _round_length(n_iter: int, run: Run) -> int:
    return 1 if run.stop == "step" else min(max(1, n_iter // 3), LONGEST_ROUND)
