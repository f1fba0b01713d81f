"""Rounds of block coordinate ascent, each ended by an estimate of the gap, and the certificate at the end."""

from typing import Any, NamedTuple

import numpy as np

from mlrank.solvers.base import relative_gap

__all__ = ["Ascent", "ascend"]

# A round never runs more passes than this without a new estimate.
LONGEST_ROUND = 10
# Single precision is left for good after so many certificates that did not confirm the estimate, or so many estimates
# in a row that were no better than the best before: they may be rounding.
DISAPPOINTMENTS = 2
STALE = 5


class Ascent(NamedTuple):
    """Where an ascent ended: the state of the sweeps, after a certificate, and its values."""

    sweeps: Any
    primal: float
    dual: float
    n_iter: int

    @property
    def gap(self) -> float:
        """Relative duality gap; 0 where both values are 0."""
        return relative_gap(self.primal, self.dual)


def ascend(sweeps: Any, tol: float, max_iter: int, seed: int) -> Ascent:
    """Solve to relative duality gap `tol`, or as far as `max_iter` passes go."""
    rng, n_iter, disappointments, best, stale = np.random.default_rng(seed), 0, 0, np.inf, 0
    while True:
        primal, dual = sweeps.estimate()
        best, stale = (primal - dual, 0) if primal - dual < best else (best, stale + 1)
        ended = primal - dual <= tol * primal or n_iter >= max_iter
        if ended or (sweeps.single and stale >= STALE):
            primal, dual = sweeps.certify()
            if primal - dual <= tol * primal or n_iter >= max_iter:
                return Ascent(sweeps, primal, dual, n_iter)
            # Estimates of a part of the examples say nothing of rounding when they fail.
            disappointments += sweeps.whole
            sweeps.refresh(sweeps.single and ended and disappointments < DISAPPOINTMENTS)
        if n_iter > 0:
            sweeps.tops.adapt(primal - dual)
        visits = sweeps.choose()
        for _ in range(min(max(1, n_iter // sweeps.estimates), LONGEST_ROUND, max_iter - n_iter)):
            sweeps.sweep(rng.permutation(visits))
            n_iter += 1
