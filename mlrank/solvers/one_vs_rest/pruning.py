"""Linear models without their small weights, and what that does to their certificates."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from mlrank.arrays import Features, FloatArray
from mlrank.linalg.sums import column_offsets, less_offsets
from mlrank.solvers.base import TrainingSet, relative_gap
from mlrank.solvers.models import LinearModel, SparseLinearModel
from mlrank.solvers.one_vs_rest.rows import primal_objectives
from mlrank.solvers.one_vs_rest.signs import LANES, BlockSigns

__all__ = ["pruned"]


class LinearLoss(Protocol):
    """The settings of a solver that its objective depends on, and those of what is left out and of what is enough."""

    @property
    def C(self) -> float: ...
    @property
    def loss(self) -> str: ...
    @property
    def free(self) -> bool: ...
    @property
    def positive_weight(self) -> float: ...
    @property
    def min_weight(self) -> float: ...
    @property
    def tol(self) -> float: ...


@dataclass
class _Judged:
    """What objectives need of rows, see `rows.JudgedRows`."""

    given: Features
    near: Features
    offsets: FloatArray | None
    loss: str
    free: bool
    positive_weight: float


def pruned(model: LinearModel, train: TrainingSet, solver: LinearLoss) -> LinearModel | SparseLinearModel:
    """Return the model without weights of at most `min_weight` in size, or as it is where that is 0.

    The bound on the objective stands, as it belongs to the dual point; the objective is computed again at the weights
    that are left, and the gap is theirs. Costs a product of the rows with the weights.
    """
    if solver.min_weight == 0:
        return model
    kept = np.abs(model.coef) > solver.min_weight
    coef, info = csr_array(np.where(kept, model.coef, 0.0)), model.info
    offsets, labels = column_offsets(train.X), BlockSigns(train)
    shape = (offsets, solver.loss, solver.free, solver.positive_weight)
    rows, primal = _Judged(train.X, less_offsets(train.X, offsets), *shape), 0.0
    for at in range(0, len(labels.mixed), LANES):
        part = labels.mixed[at : at + LANES]
        S, W = np.ascontiguousarray(labels.of(part).T), coef[part].toarray()
        primal += float(primal_objectives(rows, S, solver.C, W, model.intercept[part]).sum())
    gap = relative_gap(primal, info.objective * (1.0 - info.optimality))
    n_weights = int(np.count_nonzero(model.coef))
    note = (
        f"left out {n_weights - coef.nnz} of {n_weights} weights, which are {solver.min_weight:g} or less in size: "
        f"the gap was {info.optimality:.1e} with them"
    )
    info = replace(info, objective=primal, optimality=gap, converged=gap <= solver.tol, notes=(*info.notes, note))
    return SparseLinearModel(coef, model.intercept, info, dual_point=model.dual_point)
