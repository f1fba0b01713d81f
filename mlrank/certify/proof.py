"""What a certifier returns: an objective and a certificate, recomputed from their definitions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlrank.certify.plain import LONG, LongArray
from mlrank.solvers import TrainingSet

__all__ = ["BACKWARD", "GAP", "RESIDUAL", "Certifier", "Proof", "balanced_sides", "gap_proof", "part_of"]

GAP, RESIDUAL, BACKWARD = "gap", "residual", "backward error"


@dataclass(frozen=True)
class Proof:
    """A fit recomputed from its definition.

    Parameters
    ----------
    objective, certificate : float or None
        None where they cannot be recomputed.
    kind : what the certificate is
    note : why something cannot be recomputed
    scale : float
        What rounding of the objective is relative to.
    rebuilt : bool
        Whether the bound comes from another dual point than the solver's, which the model does not hold.
    rival : float, optional
        The objective of another feasible point, which no true certificate has a bound above.
    """

    objective: float | None = None
    certificate: float | None = None
    kind: str | None = None
    note: str = ""
    scale: float = 0.0
    rebuilt: bool = False
    rival: float | None = None


# (settings of the solver, model, training set as the model saw it) -> Proof
Certifier = Callable[[Any, Any, TrainingSet], Proof]


def part_of(total: Any, square: Any, most: Any = 1.0) -> Any:
    """Return the largest value of part * total - part^2 square / 2 for parts up to `most`; at least 0."""
    part = min(LONG(most), total / square) if square > 0 else LONG(min(most, 1.0))
    return max(part * total - part**2 * square / 2, LONG(0))


def gap_proof(primal: Any, dual: Any | None, zero: Any) -> Proof:
    """Return the proof of an objective with a lower bound; `zero` is the objective of weights of zero."""
    if dual is None:
        note = "the model holds no dual variables: the objective alone was certified"
        return Proof(float(primal), None, GAP, note, float(zero))
    gap = float((primal - dual) / primal) if primal > 0 else 0.0
    return Proof(float(primal), gap, GAP, scale=float(zero))


def balanced_sides(up: LongArray, down: LongArray) -> tuple[LongArray, LongArray]:
    """Return both sides, (m, ..) of at least 0, with equal sums over the first axis: the larger is made smaller."""
    above, below = up.sum(axis=0), down.sum(axis=0)
    least = np.minimum(above, below)
    return (
        up * np.divide(least, above, out=np.zeros_like(least), where=above > 0),
        down * np.divide(least, below, out=np.zeros_like(least), where=below > 0),
    )
