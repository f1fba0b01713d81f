"""Rounds of block coordinate ascent, each ended by an estimate of the gap, and the certificate at the end."""

from typing import Any, NamedTuple

import numpy as np

__all__ = ["Ascent", "ascend"]

# A round never runs more passes than this without a new estimate.
LONGEST_ROUND = 10
# Single precision is left for good after so many certificates that did not confirm the estimate.
DISAPPOINTMENTS = 2


class Ascent(NamedTuple):
    """Where an ascent ended: the state of the sweeps, after a certificate, and its values."""

    sweeps: Any
    primal: float
    dual: float
    n_iter: int

    @property
    def gap(self) -> float:
        """Relative duality gap; 0 where both values are 0."""
        return (self.primal - self.dual) / self.primal if self.primal > 0 else 0.0


def ascend(sweeps: Any, tol: float, max_iter: int, seed: int) -> Ascent:
    """Solve to relative duality gap `tol`, or as far as `max_iter` passes go."""
    rng, n_iter, disappointments = np.random.default_rng(seed), 0, 0
    while True:
        primal, dual = sweeps.estimate()
        if primal - dual <= tol * primal or n_iter >= max_iter:
            primal, dual = sweeps.certify()
            if primal - dual <= tol * primal or n_iter >= max_iter:
                return Ascent(sweeps, primal, dual, n_iter)
            disappointments += 1
            sweeps.refresh(disappointments < DISAPPOINTMENTS)
        if n_iter > 0:
            sweeps.tops.adapt(primal - dual)
        for _ in range(min(max(1, n_iter // 4), LONGEST_ROUND, max_iter - n_iter)):
            sweeps.sweep(rng.permutation(sweeps.visits))
            n_iter += 1
