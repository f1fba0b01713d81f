"""SLRM: its objective from the definition, and a bound from a dual point that is rebuilt from the weights."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mlrank.arrays import Features, FloatArray
from mlrank.certify.plain import LONG, LongArray, dense_rows
from mlrank.certify.proof import BACKWARD, GAP, Proof, gap_proof
from mlrank.graphs import gaussian_graph, laplacian, self_tuning_graph
from mlrank.solvers import TrainingSet
from mlrank.solvers.models import LowRankModel, all_rows

__all__ = ["certify_slrm"]

STEPS = 300


class _Loss:
    """The loss of outputs F of labeled rows with targets T; entries without weight do not count."""

    def __init__(self, kind: str, targets: LongArray, weight: LongArray) -> None:
        self.kind, self.targets, self.weight = kind, targets, weight

    def value(self, F: LongArray) -> Any:
        margin = self.targets * F
        if self.kind == "squared":
            return (self.weight * (F - self.targets) ** 2).sum() / 2
        if self.kind == "logistic":
            return (self.weight * np.logaddexp(LONG(0), -margin)).sum()
        return (self.weight * np.maximum(1 - margin, 0) ** 2).sum()

    def gradient(self, F: LongArray) -> LongArray:
        margin = self.targets * F
        if self.kind == "squared":
            return np.asarray(self.weight * (F - self.targets))
        if self.kind == "logistic":
            return np.asarray(-self.weight * self.targets / (1 + np.exp(margin)))
        return np.asarray(-2 * self.weight * self.targets * np.maximum(1 - margin, 0))

    def conjugate(self, A: LongArray) -> Any:
        """Return the largest value of <A, F> less the loss; A is a part of a gradient."""
        if self.kind == "squared":
            return (A**2 / 2 + A * self.targets)[self.weight > 0].sum()
        part = (-A * self.targets)[self.weight > 0]
        if self.kind == "squared_hinge":
            return (part**2 / 4 - part).sum()
        inside = np.clip(part, LONG(1e-300), 1 - LONG(1e-19))
        return (inside * np.log(inside) + (1 - inside) * np.log1p(-inside)).sum()


def certify_slrm(solver: Any, model: Any, train: TrainingSet) -> Proof:
    """SLRM, eq. 9 or 8 of its module.

    A dual point has the derivatives of the loss at some weights, and what the graph adds to them, made smaller until no
    singular value of their sum is above lam. Weights are those of the model, and for the squared loss also those of
    a dual point nearby.
    """
    if not isinstance(model, LowRankModel):
        raise ValueError(f"a {type(model).__name__} has no weights to certify")
    half = LONG(0.5 if solver.objective == 8 else 1)
    lam, gamma = half * LONG(solver.lam), LONG(solver.gamma)
    signs = np.where(train.Y, LONG(1), LONG(-1 if solver.coding == "signs" else 0))
    known = np.ones_like(train.Y) if train.known is None else train.known
    targets, weight = np.where(known, signs, LONG(0)), np.ones(train.Y.shape, LONG)
    if solver.missing == "mask" or solver.loss != "squared":
        weight = known.astype(LONG)
    labeled, everything = dense_rows(train.X), dense_rows(all_rows(train))
    if solver.center:
        mean = labeled.mean(axis=0)
        labeled, everything = labeled - mean, everything - mean
        targets = targets - targets.mean(axis=0)
    loss = _Loss(solver.loss, targets, weight)
    V = model.left.astype(LONG) @ model.right.T.astype(LONG)
    smooth, energy = _smoothness(solver, all_rows(train), everything, V, gamma)
    F = labeled @ V
    nuclear = LONG(0)
    if V.size:
        scale = max(np.abs(V).max(), LONG(1e-300))
        nuclear = np.linalg.svd((V / scale).astype(np.float64), compute_uv=False).sum() * scale
    primal = loss.value(F) + energy / 2 + lam * nuclear
    zero = loss.value(np.zeros_like(F))
    A = loss.gradient(F)
    G = labeled.T @ A + smooth
    if lam == 0:
        lengths = np.sqrt((labeled**2).sum(axis=0))[:, None]
        size = lengths * (np.sqrt((loss.targets**2).sum(axis=0)) + (lengths * np.abs(V)).sum(axis=0)) + np.abs(smooth)
        error = np.divide(np.abs(G), size, out=np.zeros_like(G), where=size > 0).max(initial=LONG(0))
        return Proof(float(primal / half), float(error), BACKWARD, scale=float(zero / half))
    points = [(A, G, energy)]
    if solver.loss == "squared" and weight.all():
        smoothness = partial(_smoothness, solver, all_rows(train), everything)
        W = _dual_weights(labeled, V, smoothness, G, lam, gamma)
        smooth, energy = smoothness(W, gamma)
        A = loss.gradient(labeled @ W)
        points.append((A, labeled.T @ A + smooth, energy))
    dual = max(_bound(loss, lam, *point) for point in points)
    proof = gap_proof(primal, dual, zero)
    return Proof(float(primal / half), proof.certificate, GAP, scale=float(zero / half), rebuilt=True)


def _bound(loss: _Loss, lam: Any, A: LongArray, G: LongArray, energy: Any) -> Any:
    """Return the dual objective of the part of A and of the graph's push with no singular value of G above lam."""
    largest = np.linalg.norm(G.astype(np.float64), 2)
    part = min(LONG(1), lam / LONG(largest * (1 + 1e-14))) if largest > 0 else LONG(1)
    return max(-loss.conjugate(part * A) - part**2 * energy / 2, LONG(0))


def _dual_weights(
    X: LongArray, V: LongArray, smoothness: Callable[..., tuple[LongArray, Any]], G: LongArray, lam: Any, gamma: Any
) -> LongArray:
    """Return weights near V at which the gradient of squared losses has no singular value above lam.

    The alternating direction method of multipliers, begun at V and its gradient G, in double precision and coordinates
    of unit curvature: any weights give a bound, and STEPS of it give one about as good as the solver's.
    """
    hessian = X.T @ X + smoothness(np.eye(X.shape[1], dtype=LONG), gamma)[0]
    H, U = hessian.astype(np.float64), V.astype(np.float64)
    most, limit = float(np.abs(G).max()) or 1.0, float(lam)
    target = H @ U - G.astype(np.float64)  # B: the gradient is H V - B
    dual = _clipped(-G.astype(np.float64) / most, limit / most) * most
    eigenvalues, vectors = np.linalg.eigh(H)
    eigenvalues = np.maximum(eigenvalues, 1e-14 * eigenvalues[-1])
    rate = float(np.sqrt(eigenvalues[-1] * np.median(eigenvalues)))
    inverse = (vectors / (eigenvalues + rate)) @ vectors.T
    for _ in range(STEPS):
        moved = dual + rate * (inverse @ (target - dual + rate * U))
        dual = _clipped(moved, limit)
        U = (moved - dual) / rate
    weights = (vectors / eigenvalues) @ (vectors.T @ (target - dual))
    return np.asarray(weights, dtype=LONG)


def _clipped(matrix: FloatArray, limit: float) -> FloatArray:
    """Return a matrix with its singular values cut at `limit`."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    clipped: FloatArray = (left * np.minimum(values, limit)) @ right
    return clipped


def _smoothness(solver: Any, rows: Features, X: LongArray, V: LongArray, gamma: Any) -> tuple[LongArray, Any]:
    """Return gamma X'LX V and gamma trace(V'X'LX V), by the edges of the graph."""
    if gamma == 0:
        return np.zeros_like(V), LONG(0)
    if isinstance(solver.width, str):
        graph = self_tuning_graph(rows, solver.n_neighbors, solver.scale_neighbor, solver.symmetrize)
    else:
        graph = gaussian_graph(rows, solver.n_neighbors, solver.width, solver.symmetrize)
    edges, F = laplacian(graph).tocoo(), X @ V
    F = F - np.sort(F, axis=0)[len(F) // 2]
    pushed = np.zeros_like(F)
    np.add.at(pushed, edges.row, edges.data[:, None] * F[edges.col])
    return gamma * (X.T @ pushed), gamma * (F * pushed).sum()
