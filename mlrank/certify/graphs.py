"""SMSE and MCGF: the equation of the scores on the graph of all rows, by its edges."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mlrank.certify.plain import LONG, LongArray
from mlrank.certify.proof import RESIDUAL, Proof
from mlrank.errors import UserError
from mlrank.graphs import GRAPHS, component_of
from mlrank.solvers import TrainingSet
from mlrank.solvers.models import TransductiveModel, all_rows, row_digests

__all__ = ["certify_mcgf", "certify_smse"]


def _graph(solver: Any, model: Any, train: TrainingSet) -> tuple[csr_array, LongArray]:
    """Return the graph of all rows, and their scores."""
    rows = all_rows(train)
    if not isinstance(model, TransductiveModel) or model.n_train != train.n_samples:
        raise ValueError("the model is not one of these training rows")
    if not np.array_equal(row_digests(rows), model.digests):
        raise ValueError("the model was fitted to other rows, with labels or without")
    scale = solver.scale_neighbor if solver.graph == "self_tuning" else solver.width
    if solver.graph == "cosine" and scale is None:
        scale = 1.0
    return GRAPHS[solver.graph](rows, solver.n_neighbors, scale, solver.symmetrize), model.scores.astype(LONG)


def _times_laplacian(A: csr_array, F: LongArray, normalized: bool = False) -> LongArray:
    """Return L F as a sum over edges of weight times difference; of the normalized Laplacian, of scaled rows."""
    edges = A.tocoo()
    weight = edges.data.astype(LONG)[:, None]
    degree = np.zeros((A.shape[0], 1), LONG)
    np.add.at(degree, edges.row, weight)
    root = np.ones_like(degree)
    if normalized:
        root = np.divide(1, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    scaled, pushed = root * F, np.zeros_like(F)
    np.add.at(pushed, edges.row, weight * (scaled[edges.row] - scaled[edges.col]))
    return np.asarray(root * pushed)


def _cosines(Y: LongArray) -> LongArray:
    together = Y.T @ Y
    lengths = np.sqrt(np.outer(np.diagonal(together), np.diagonal(together)))
    cosines: LongArray = np.divide(together, lengths, out=np.zeros_like(together), where=lengths > 0)
    cosines[np.diag_indices_from(cosines)] = 1
    return cosines


def _relative(rest: LongArray, right: LongArray, C: LongArray) -> float:
    """Return the largest residual relative to its right-hand side, by eigenvectors of the graph of labels."""
    Q = np.linalg.eigh(C.astype(np.float64))[1].astype(LONG)
    lengths, sizes = (np.sqrt(((part @ Q) ** 2).sum(axis=0)) for part in (rest, right))
    return float(np.divide(lengths, sizes, out=lengths.copy(), where=sizes > 0).max(initial=LONG(0)))


def _whole(rest: LongArray, right: LongArray) -> float:
    """Return the residual of all labels together, relative to their right-hand sides."""
    size = np.sqrt((right**2).sum())
    return float(np.sqrt((rest**2).sum()) / size) if size > 0 else 0.0


def certify_smse(solver: Any, model: Any, train: TrainingSet) -> Proof:
    """SMSE: the Sylvester equation of its variant."""
    A, F = _graph(solver, model, train)
    n, Y = train.n_samples, train.dense_Y.astype(LONG)
    affinity = np.exp((_cosines(Y) - 1) / LONG(solver.tau))
    affinity[np.diag_indices_from(affinity)] = 0
    degree = affinity.sum(axis=1)
    H = np.diag(degree) - affinity
    if solver.variant == "smse2":
        root = np.divide(1, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
        H = root[:, None] * H * root
    targets = np.zeros_like(F)
    targets[:n] = Y if solver.coding == "zero_one" else 2 * Y - 1
    if solver.variant == "smse2":
        C, smooth = LONG(solver.gamma) * H, LONG(solver.beta) * _times_laplacian(A, F, normalized=True)
        objective = ((F - targets) ** 2).sum() + (F * smooth).sum() + ((F @ C) * F).sum()
        error = _relative(F + smooth + F @ C - targets, targets, C)
        return Proof(float(objective), error, RESIDUAL, scale=float((targets**2).sum()))
    mu, C = LONG(solver.mu), LONG(solver.nu) * H
    part = component_of(A)[1]
    lost = ~np.isin(part, part[:n])
    free = np.flatnonzero(~lost & (np.arange(len(F)) >= n))
    if not np.array_equal(F[:n], targets[:n]):
        return Proof(kind=RESIDUAL, certificate=float("inf"), note="training rows do not score their labels")
    pushed = _times_laplacian(A, F)
    objective = mu * (F * pushed).sum() + ((F @ C) * F).sum()
    clamped = np.zeros_like(F)
    clamped[:n] = targets[:n]
    right = -mu * _times_laplacian(A, clamped)[free]
    error = _relative(mu * pushed[free] + F[free] @ C, right, C)
    return Proof(float(objective), error, RESIDUAL, scale=float(mu * (clamped**2).sum()))


def certify_mcgf(solver: Any, model: Any, train: TrainingSet) -> Proof:
    """MCGF: scores before correlations solve L F = Y0 without its means, or its Sylvester equation."""
    if solver.variant == "similarity" and solver.g > 0:
        raise UserError("variant 'similarity' has a graph of labels beside that of rows, which is not certified")
    A, scores = _graph(solver, model, train)
    telling = np.flatnonzero(train.dense_Y.any(axis=0) & ~train.dense_Y.all(axis=0))
    Y, F = train.dense_Y[:, telling].astype(LONG), scores[:, telling]
    targets = np.zeros_like(F)
    targets[: train.n_samples] = 2 * Y - 1 if solver.coding == "signs" else Y
    corr = _cosines(Y)
    if solver.variant == "sylvester":
        full = _cosines((train.dense_Y & train.dense_Y.any(axis=0) & ~train.dense_Y.all(axis=0)).astype(LONG))
        b, largest = LONG(solver.b), LONG(np.linalg.eigvalsh(full.astype(np.float64))[-1])
        C, pushed = -LONG(solver.rho) * b / largest * corr, _times_laplacian(A, F)
        objective = b * ((F - targets) ** 2).sum() + (F * pushed).sum() + ((F @ C) * F).sum()
        error = _whole(pushed + b * F + F @ C - b * targets, b * targets)
        return Proof(float(objective), error, RESIDUAL, scale=float(b * (targets**2).sum()))
    mixed = np.eye(len(corr), dtype=LONG) + LONG(solver.a) * (corr - np.eye(len(corr), dtype=LONG))
    F = F @ np.linalg.inv(mixed.astype(np.float64)).astype(LONG)
    right = targets.copy()
    part = component_of(A)[1]
    for number in np.unique(part):
        right[part == number] -= right[part == number].mean(axis=0)
    pushed = _times_laplacian(A, F)
    error = _whole(pushed - right, right)
    return Proof(float((F * (pushed - 2 * right)).sum()), error, RESIDUAL, scale=float((targets**2).sum()))
