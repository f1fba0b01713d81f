"""SLRM: its objective from the definition, a bound from a dual point that is rebuilt, and a rival.

Models hold no dual point of it. Steps of its own, in double precision, go from the model's weights towards the optimum:
where they end, the gradient gives a bound, and the objective must not be below what the certificate claims.
"""

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

# Steps, and operations that they may take.
STEPS, OPERATIONS = (300, 3000), 3e10
# Steps end where weights move by less than this part.
STILL = 1e-13


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
    singular value of their sum is above lam. Weights are those of the model, those that steps from there lead to, and
    for the squared loss those of the steps' multipliers.
    """
    if not isinstance(model, LowRankModel):
        raise ValueError(f"a {type(model).__name__} has no weights to certify")
    half = LONG(0.5 if solver.objective == 8 else 1)
    lam, gamma = half * LONG(solver.lam), LONG(solver.gamma)
    signs = np.where(train.dense_Y, LONG(1), LONG(-1 if solver.coding == "signs" else 0))
    known = np.ones_like(train.dense_Y) if train.known is None else train.known
    targets, weight = np.where(known, signs, LONG(0)), np.ones(train.dense_Y.shape, LONG)
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
    primal = loss.value(F) + energy / 2 + lam * _nuclear(V)
    zero = loss.value(np.zeros_like(F))
    A = loss.gradient(F)
    G = labeled.T @ A + smooth
    if lam == 0:
        lengths = np.sqrt((labeled**2).sum(axis=0))[:, None]
        size = lengths * (np.sqrt((loss.targets**2).sum(axis=0)) + (lengths * np.abs(V)).sum(axis=0)) + np.abs(smooth)
        error = np.divide(np.abs(G), size, out=np.zeros_like(G), where=size > 0).max(initial=LONG(0))
        return Proof(float(primal / half), float(error), BACKWARD, scale=float(zero / half))
    dual, rival = _bound(loss, lam, A, G, energy), LONG(np.inf)
    smoothness = partial(_smoothness, solver, all_rows(train), everything)
    quadratic = solver.loss == "squared" and bool(weight.all())
    steps = _multiplier_steps if quadratic else _gradient_steps
    for W in steps(labeled, V, smoothness(np.eye(len(V), dtype=LONG), gamma)[0], loss, lam):
        smooth, energy = smoothness(W, gamma)
        F = labeled @ W
        A = loss.gradient(F)
        dual = max(dual, _bound(loss, lam, A, labeled.T @ A + smooth, energy))
        rival = min(rival, loss.value(F) + energy / 2 + lam * _nuclear(W))
    proof = gap_proof(primal, dual, zero)
    return Proof(
        float(primal / half),
        proof.certificate,
        GAP,
        scale=float(zero / half),
        rebuilt=True,
        rival=float(rival / half),
    )


def _nuclear(V: LongArray) -> Any:
    """Return the sum of the singular values."""
    if not V.size:
        return LONG(0)
    scale = max(np.abs(V).max(), LONG(1e-300))
    return np.linalg.svd((V / scale).astype(np.float64), compute_uv=False).sum() * scale


def _n_steps(d: int, k: int) -> int:
    """Return how many steps on weights (d, k) are affordable."""
    few, many = STEPS
    return int(np.clip(OPERATIONS / (d * k * (d + 20 * min(d, k))), few, many))


def _bound(loss: _Loss, lam: Any, A: LongArray, G: LongArray, energy: Any) -> Any:
    """Return the dual objective of the part of A and of the graph's push with no singular value of G above lam."""
    largest = np.linalg.norm(G.astype(np.float64), 2)
    part = min(LONG(1), lam / LONG(largest * (1 + 1e-14))) if largest > 0 else LONG(1)
    return max(-loss.conjugate(part * A) - part**2 * energy / 2, LONG(0))


def _multiplier_steps(X: LongArray, V: LongArray, S: LongArray, loss: _Loss, lam: Any) -> tuple[LongArray, LongArray]:
    """Return weights of low rank, and weights at which the gradient of squared losses has no singular value above lam.

    The alternating direction method of multipliers, begun at V and its gradient, in double precision and coordinates
    of unit curvature; `S` is what the graph makes of weights. Any weights give a bound and an objective.
    """
    gradient = X.T @ loss.gradient(X @ V) + S @ V
    H, U = (X.T @ X + S).astype(np.float64), V.astype(np.float64)
    most, limit = float(np.abs(gradient).max()) or 1.0, float(lam)
    target = H @ U - gradient.astype(np.float64)  # B: the gradient is H V - B
    dual = _clipped(-gradient.astype(np.float64) / most, limit / most) * most
    eigenvalues, vectors = np.linalg.eigh(H)
    eigenvalues = np.maximum(eigenvalues, 1e-14 * eigenvalues[-1])
    rate = float(np.sqrt(eigenvalues[-1] * np.median(eigenvalues)))
    inverse = (vectors / (eigenvalues + rate)) @ vectors.T
    for _ in range(_n_steps(*U.shape)):
        before = U
        moved = dual + rate * (inverse @ (target - dual + rate * U))
        dual = _clipped(moved, limit)
        U = (moved - dual) / rate
        if np.linalg.norm(U - before) <= STILL * np.linalg.norm(U):
            break
    weights = (vectors / eigenvalues) @ (vectors.T @ (target - dual))
    return U.astype(LONG), weights.astype(LONG)


def _gradient_steps(X: LongArray, V: LongArray, S: LongArray, loss: _Loss, lam: Any) -> tuple[LongArray]:
    """Return weights that proximal gradient steps from V lead to, with momentum that starts anew where it is uphill."""
    rows, push, U = X.astype(np.float64), S.astype(np.float64), V.astype(np.float64)
    curvature = {"squared": 1.0, "logistic": 0.25, "squared_hinge": 2.0}[loss.kind]
    length = 1.0 / float(np.linalg.eigvalsh(curvature * rows.T @ rows + push)[-1])
    targets: Any = loss.targets.astype(np.float64)
    weight: Any = loss.weight.astype(np.float64)
    plain: Any = _Loss(loss.kind, targets, weight)
    ahead: Any = U
    momentum = 1.0
    for _ in range(_n_steps(*U.shape)):
        moved = ahead - length * (rows.T @ plain.gradient(rows @ ahead) + push @ ahead)
        new = moved - _clipped(moved, float(lam) * length)
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        if np.vdot(ahead - new, new - U) > 0:
            following = momentum = 1.0
        ahead = new + (momentum - 1) / following * (new - U)
        still = np.linalg.norm(new - U) <= STILL * np.linalg.norm(new)
        U, momentum = new, following
        if still and momentum > 1.0:
            break
    return (U.astype(LONG),)


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
