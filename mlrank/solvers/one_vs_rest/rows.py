"""The rows and labels of linear machines, and how their solutions follow one another along C.

A large C is reached by stages: solutions at a series of C, each 8 times the one before, of which a machine takes those
below its own C. They start where C times the mean square of a row is about 1, are found to a loose tolerance, and
depend on the rows alone. What a search prepares for its fits holds them, and fits without it find the same again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse, vstack

from mlrank.arrays import Features, FloatArray, IntArray, as_dense
from mlrank.linalg.sums import column_offsets, less_offsets, scores_of
from mlrank.solvers.base import WHOLE, Block, TrainingSet
from mlrank.solvers.one_vs_rest.kernels import SignArray
from mlrank.solvers.one_vs_rest.logistic import LogisticLockstep, entropies
from mlrank.solvers.one_vs_rest.newton import STEPS, LinearProblem, Lockstep, PathPoint, ridge_factor, ridge_point
from mlrank.solvers.one_vs_rest.signs import BlockSigns

__all__ = ["LabelMachines", "MachineRows", "Machines", "dual_objectives", "joined", "objectives", "primal_objectives"]

# Ratio of C between stages, their tolerance.
RATIO, LOOSE = 8.0, 3e-2
# Numbers in an array of machines in lockstep, and how many these are at least.
CELLS, LEAST = 2**18, 8
# Bytes of the stages that are kept.
KEPT = 2**28
# By so much, relative, may a bound exceed the objective.
ROUNDING = 1e-9
# Solvers stop a little below the tolerance, which the certificate then meets in spite of rounding.
MARGIN = 0.95


class JudgedRows(Protocol):
    """What certificates need of rows: those given, those less the offsets of far columns, and the loss."""

    given: Features
    near: Features
    offsets: FloatArray | None
    loss: str
    free: bool
    positive_weight: float


class Machines(NamedTuple):
    """Machines with their certificates: P and D of each on the given rows.

    Parameters
    ----------
    W : (n_machines, n_features)
    b, primal, dual : (n_machines,)
    beta : (n_machines, n_samples) ndarray or csr_array, dual variables with signs; None where they are not kept
    n_iter : (n_machines,)
    """

    W: FloatArray
    b: FloatArray
    primal: FloatArray
    dual: FloatArray
    n_iter: IntArray
    beta: FloatArray | csr_array | None

    def beta_of(self, machine: int, n_samples: int) -> FloatArray:
        """Return the dual variables (n_samples,) of a machine, 0 where they are not kept."""
        return np.zeros(n_samples) if self.beta is None else np.asarray(as_dense(self.beta[[machine]])[0])

    def replaced(self, places: list[int], beta: FloatArray) -> FloatArray | csr_array | None:
        """Return the dual variables with those of some machines replaced."""
        if not places or self.beta is None:
            return self.beta
        if not issparse(self.beta):
            self.beta[places] = beta
            return self.beta
        kept = np.ones(len(self.b))
        kept[places] = 0.0
        spread = csr_array((np.ones(len(places)), (places, range(len(places)))), shape=(len(kept), len(places)))
        return csr_array(diags_array(kept) @ self.beta + spread @ csr_array(beta))


class LabelMachines(NamedTuple):
    """Machines, and the labels (n_machines,) that they are for."""

    labels: IntArray
    machines: Machines

    @classmethod
    def of(cls, labels: Sequence[IntArray], parts: Sequence[Machines], shape: tuple[int, int]) -> "LabelMachines":
        """Return the machines of several groups of labels, on rows of a shape, one group after the other."""
        return cls(np.concatenate([np.empty(0, dtype=np.int64), *labels]), joined(parts, shape))


@dataclass
class _Group:
    """The labels of machines that go in lockstep, and the stages of them that were computed."""

    labels: IntArray
    stages: list[PathPoint] = field(default_factory=list)


class MachineRows:
    """Dense rows for machines of all labels.

    Where labels are held sparse, n_samples n_labels numbers are too many: `fit` then keeps no dual variables.

    Parameters
    ----------
    train : TrainingSet
    loss, free, positive_weight : of the problem, see `LinearProblem`
    """

    def __init__(self, train: TrainingSet, loss: str, free: bool, positive_weight: float) -> None:
        self.given, self.loss, self.free, self.positive_weight = train.X, loss, free, positive_weight
        self.offsets = column_offsets(train.X)
        self.near: Features = less_offsets(train.X, self.offsets)
        self._signs, self._many = BlockSigns(train), train.has_sparse_labels
        self.mixed = self._signs.mixed
        # A free bias takes up what is taken off all rows.
        self.center = np.asarray(train.X.mean(axis=0)).ravel() if free else np.zeros(train.n_features)
        Z = as_dense(train.X) - self.center if free else as_dense(train.X)
        self.basis: FloatArray | None = None
        if Z.shape[1] > Z.shape[0]:
            self.basis, R = np.linalg.qr(Z.T)
            Z = R.T
        self.rows = np.ascontiguousarray(Z)
        square = float(np.einsum("ij,ij->", self.rows, self.rows)) / len(self.rows)
        self.first = RATIO ** float(np.round(np.log(max(square, 1e-300)) / -np.log(RATIO)))
        size = max(LEAST, CELLS // len(self.rows))
        self._groups = [_Group(part) for part in np.array_split(self.mixed, -(-len(self.mixed) // size) or 1)]
        self._single: dict[int, _Group] = {}

    @cached_property
    def _ridge(self) -> tuple[FloatArray, bool] | None:
        return ridge_factor(self.rows)

    def fit(self, C: float, tol: float, max_iter: int, block: Block = WHOLE) -> LabelMachines:
        """Return machines for the labels of a block."""
        groups = [group for group in block.of(self._groups) if len(group.labels)]
        parts = []
        for group in groups:
            found = self._fit(group, C, tol, max_iter)
            parts.append(found._replace(beta=None) if self._many else found)
        return LabelMachines.of([group.labels for group in groups], parts, self.given.shape)

    def fit_one(self, label: int, C: float, tol: float, max_iter: int) -> Machines:
        """Return the machine of a label, whichever others are fitted; its dual variables are kept."""
        group = self._single.setdefault(label, _Group(np.array([label])))
        return self._fit(group, C, tol, max_iter)

    def _fit(self, group: _Group, C: float, tol: float, max_iter: int) -> Machines:
        S = np.ascontiguousarray(self._signs.of(group.labels).T)
        problem = LinearProblem(self.rows, S, self.loss, self.free, self.positive_weight)
        point = self._before(problem, group, C) if max_iter >= STEPS else ridge_point(problem, self._ridge)
        steps = _steps(problem, C, point, MARGIN * tol)
        steps.run(min(max_iter, STEPS))
        W = steps.W if self.basis is None else steps.W @ self.basis.T
        b = (steps.b - W.astype(np.longdouble) @ self.center).astype(np.float64) if self.free else steps.b
        values = objectives(self, S, C, W, b, steps.beta)
        return Machines(W, b, *values, steps.steps, steps.beta)

    def _before(self, problem: LinearProblem, group: _Group, C: float) -> PathPoint:
        """Return the stage before C, or ridge regression where C is small."""
        stages, level, number = group.stages, self.first, 0
        held = KEPT // max(1, 8 * len(self.mixed) * len(self.rows))
        point = stages[0] if stages and level * RATIO <= C else ridge_point(problem, self._ridge)
        while level * RATIO <= C:
            if number < len(stages):
                point = stages[number]
            else:
                stage = _steps(problem, level, point, LOOSE)
                stage.run(STEPS)
                point = stage.point().ahead(RATIO)
                if len(stages) < held:
                    stages.append(point)
            number, level = number + 1, level * RATIO
        return point


def _steps(problem: LinearProblem, C: float, point: PathPoint, tol: float) -> Lockstep | LogisticLockstep:
    return (LogisticLockstep if problem.loss == "logistic" else Lockstep)(problem, C, point, tol)


def joined(parts: Sequence[Machines], shape: tuple[int, int]) -> Machines:
    """Return the machines of several parts of the labels, on rows of a shape, one part after the other."""
    if not parts:
        (n, m), empty = shape, np.empty(0)
        return Machines(np.empty((0, m)), empty, empty, empty, np.empty(0, dtype=int), csr_array((0, n)))
    W, b, primal, dual, n_iter, betas = zip(*parts, strict=True)
    beta: FloatArray | csr_array | None = None
    if issparse(betas[0]):
        beta = csr_array(vstack(betas, format="csr"))
    elif betas[0] is not None:
        beta = np.concatenate(betas)
    W, b, primal, dual, n_iter = (np.concatenate(values) for values in (W, b, primal, dual, n_iter))
    return Machines(W, b, primal, dual, n_iter, beta)


def primal_objectives(rows: JudgedRows, S: SignArray, C: float, W: FloatArray, b: FloatArray) -> FloatArray:
    """Return P of machines on the rows that were given, see `objectives`."""
    costs = _costs(rows, S, C)
    margins = S * scores_of(rows.given, W, b, rows.offsets).T
    if rows.loss == "logistic":
        loss = (costs * np.logaddexp(0.0, -margins)).sum(axis=1)
    else:
        slack = np.maximum(0.0, 1.0 - margins)
        loss = (costs * (slack**2 if rows.loss == "squared_hinge" else slack)).sum(axis=1)
    return np.asarray(0.5 * (np.einsum("ij,ij->i", W, W) + (0.0 if rows.free else b * b)) + loss)


def _costs(rows: JudgedRows, S: SignArray, C: float) -> FloatArray:
    return np.asarray(np.where(S > 0, C * rows.positive_weight, np.where(S < 0, C, 0.0)))


def objectives(
    rows: JudgedRows,
    S: SignArray,
    C: float,
    W: FloatArray,
    b: FloatArray,
    beta: FloatArray,
    v: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return P and D of machines on the rows that were given; D is 0 where `beta` gives no bound.

    P = 1/2 |w|^2 + sum c max(0, 1 - s f)^p and D = sum alpha - 1/2 |X'beta|^2, less sum alpha^2 / (4 c) for p = 2; the
    square of a bias that is not free counts with that of w, and so does that of sum beta. `v` is X'beta where known.
    The logistic loss is c log(1 + exp(-s f)), and in D the entropy of alpha / c, times c, stands for alpha.
    """
    costs = _costs(rows, S, C)
    squared, primal = rows.loss == "squared_hinge", primal_objectives(rows, S, C, W, b)
    total, sums = np.abs(beta).sum(axis=1), beta.sum(axis=1)
    if v is None:
        v = np.asarray(rows.near.T @ beta.T).T
        if not rows.free and rows.offsets is not None:
            v = v + np.multiply.outer(sums, rows.offsets)
    norm = np.einsum("ij,ij->i", v, v) + (0.0 if rows.free else sums * sums)
    if rows.loss == "logistic":
        dual = entropies(np.abs(beta), costs).sum(axis=1) - 0.5 * norm
    else:
        if squared:
            norm += np.divide(beta**2, 2.0 * costs, out=np.zeros_like(beta), where=costs > 0).sum(axis=1)
        return primal, dual_objectives(squared, total, norm, primal)
    return primal, _sound(dual, primal)


def dual_objectives(squared: bool, total: FloatArray, norm: FloatArray, primal: FloatArray) -> FloatArray:
    """Return D of hinge machines, see `objectives`, by the sums of their alpha and the squares that are halved in D."""
    # The best part of the dual point: all of it or less where bounds hold it.
    part = np.minimum(np.inf if squared else 1.0, total / np.maximum(norm, 1e-300))
    return _sound(part * total - 0.5 * part**2 * norm, primal)


def _sound(dual: FloatArray, primal: FloatArray) -> FloatArray:
    """Return bounds, or 0 for one that is none."""
    return np.where((dual >= 0.0) & (dual <= primal * (1.0 + ROUNDING)), dual, 0.0)
