"""Closed forms: ridge regression of label codes, and the shared subspace.

For targets Z and weights W, with A = [X; sqrt(lam) I] and q = [Z - XW; -sqrt(lam) W], the residual of the normal
equations is A'q, and the part of q within the columns of A has the length by which weighted scores differ from those of
the minimum. It is taken relative to each target, and a kernel's |Z - KA - lam A| / |Z| likewise.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.certify.plain import LONG, GramRows, LongArray, dense_rows, kernel_values, rows_of
from mlrank.certify.proof import BACKWARD, Proof
from mlrank.errors import UserError
from mlrank.solvers import TrainingSet

__all__ = ["certify_compressed", "certify_faie", "certify_label_space", "certify_subspace"]

EPS = float(np.finfo(np.float64).eps)
# Directions of labels are not unique where their eigenvalues are nearer than this part of the largest.
TIED = 1e-9


@dataclass(frozen=True)
class _Regression:
    """Ridge regression on rows G, or on a centered kernel matrix G."""

    G: LongArray
    lam: Any
    gram: bool

    def fitted(self, Z: LongArray) -> FloatArray:
        """Return H Z in double precision, by QR of rows with columns of one length, or by elimination."""
        if self.gram:
            G = self.G.astype(np.float64)
            weights = np.linalg.solve(G + float(self.lam) * np.eye(len(G)), Z.astype(np.float64))
            return np.asarray(G @ weights)
        top = self.orthonormal()[: len(self.G)]
        return np.asarray(top @ (top.T @ Z.astype(np.float64)))

    def error(self, W: LongArray, Z: LongArray) -> float:
        """Return the certificate of weights W for targets Z, of the target where it is largest."""
        rest = Z - self.G @ W
        if self.gram:
            apart = np.sqrt(((rest - self.lam * W) ** 2).sum(axis=0))
        else:
            q = np.vstack([rest, -np.sqrt(self.lam) * W])
            apart = np.sqrt(((self.orthonormal().T @ q) ** 2).sum(axis=0))
        lengths = np.sqrt((Z**2).sum(axis=0))
        return float(np.divide(apart, lengths, out=np.zeros_like(apart), where=lengths > 0).max(initial=LONG(0)))

    def orthonormal(self) -> FloatArray:
        """Return an orthonormal basis of the columns of A."""
        A = np.vstack([self.G, np.sqrt(self.lam) * np.eye(self.G.shape[1], dtype=LONG)])
        lengths = np.sqrt((A**2).sum(axis=0))
        basis: FloatArray = np.linalg.qr((A / np.where(lengths > 0, lengths, 1)).astype(np.float64))[0]
        return basis


def _rows(solver: Any, train: TrainingSet, bias: str = "center") -> LongArray:
    """Return the rows of a regression, or their kernel matrix, with the bias that is asked for."""
    X = dense_rows(train.X)
    if solver.kernel == "linear":
        if bias == "ones":
            return np.hstack([X, np.ones((len(X), 1), LONG)])
        centered = X - X.mean(axis=0)
        centered[:, (X == X[0]).all(axis=0)] = 0
        return centered if bias == "center" else X
    K = X if solver.kernel == "precomputed" else kernel_values(solver, X, X)
    if bias == "center":
        K = K - K.mean(axis=0)
        return np.asarray(K - K.mean(axis=1)[:, None])
    return np.asarray(K + LONG(bias == "ones"))


def _regressions(solver: Any, train: TrainingSet) -> tuple[_Regression, _Regression]:
    """Return the regression on centered rows, and that of the hat matrix H."""
    G, gram = _rows(solver, train), solver.kernel != "linear"
    size = np.trace(G) / len(G) if gram else (G**2).sum() / G.shape[1]
    lam = LONG(1e-6) * size if solver.lam == "auto" else LONG(solver.lam)
    if lam <= 0:
        raise UserError("lam is 0: least squares of least norm is not certified")
    X = dense_rows(train.X)
    if gram and np.finfo(LONG).eps * np.abs(kernel_values(solver, X, X)).max() > lam / 1e9:
        raise UserError("its kernel values are too large to be centered in long doubles: `scale: standard`")
    regression = _Regression(G, lam, gram)
    bias = getattr(solver, "hat_bias", "center")
    hat = regression if bias == "center" else _Regression(_rows(solver, train, bias), lam, gram)
    return regression, hat


def _components(requested: float, n_labels: int) -> int:
    return int(requested) if requested >= 1 else max(1, int(np.floor(requested * n_labels + 0.5)))


def _top(matrix: FloatArray, count: int, noise: float) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues and their vectors, without those of rounding."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = min(count, int((values > max(noise * values[0], 0.0)).sum()))
    if 0 < kept < len(values) and values[kept - 1] - values[kept] <= TIED * values[0] and kept == count:
        raise UserError("two directions of the labels are as good: which one the solver took is not in the model")
    return values[:kept], vectors[:, :kept]


def _weights(model: Any, train: TrainingSet) -> LongArray:
    """Return the weights (n_features, n_labels), or the coefficients (n_samples, n_labels)."""
    rows = rows_of(model, train.X)
    return rows.A if isinstance(rows, GramRows) else rows.W


def certify_label_space(solver: Any, model: Any, train: TrainingSet) -> Proof:
    """PLST, and CPLST, whose directions are of the labels that features explain."""
    regression, hat = _regressions(solver, train)
    S = np.where(train.dense_Y, LONG(1), LONG(-1))
    Sc = S - S.mean(axis=0)
    scatter = Sc.T @ Sc
    explained = hasattr(solver, "hat_bias")
    matrix = Sc.T.astype(np.float64) @ hat.fitted(Sc) if explained else scatter.astype(np.float64)
    values, V = _top(matrix, _components(solver.n_components, S.shape[1]), S.shape[1] * EPS)
    V = V.astype(LONG)
    V[~Sc.any(axis=0)] = 0  # nothing but rounding
    error = regression.error(_weights(model, train), Sc @ V @ V.T)
    return Proof(float(values.sum()), error, BACKWARD, scale=float(np.trace(scatter)))


def certify_faie(solver: Any, model: Any, train: TrainingSet) -> Proof:
    """FaIE: the code vectors are eigenvectors of YY' + alpha H."""
    regression, hat = _regressions(solver, train)
    missing = train.known is not None and not train.known.all()
    signed = missing or solver.coding == "signs"
    Y = np.where(train.dense_Y, LONG(1), LONG(-1 if signed else 0))
    if train.known is not None:
        Y = np.where(train.known, Y, LONG(0))
    H = hat.fitted(np.eye(len(Y), dtype=LONG) - (LONG(1) / len(Y) if hat is regression else 0))
    matrix = (Y @ Y.T).astype(np.float64) + solver.alpha * H
    values, C = _top(matrix, _components(solver.n_components, Y.shape[1]), 1e-12)
    targets = C.astype(LONG) @ (C.T.astype(LONG) @ Y)
    weights = _weights(model, train) / (1 if signed else 2)
    error = regression.error(weights, targets - targets.mean(axis=0))
    return Proof(float(values.sum()), error, BACKWARD, scale=float((Y**2).sum()))


def certify_subspace(solver: Any, model: Any, train: TrainingSet) -> Proof:
    """Shared subspace: its objective with the best subspace for the weights, and their normal equations."""
    U, Y, n = _weights(model, train), train.dense_Y.astype(LONG), train.n_samples
    Yc = Y - Y.mean(axis=0)
    gram, alpha, beta = solver.kernel != "linear", LONG(solver.alpha), LONG(solver.beta)
    G = _rows(solver, train)
    inner = U.T @ (G @ U) if gram else U.T @ U
    k = Y.shape[1]
    default = 5 * ((k - 1) // 5) if k > 5 else k - 1
    rank = min(default if solver.rank == "auto" else int(solver.rank), k)
    scale = np.trace(inner) or LONG(1)
    values, vectors = np.linalg.eigh((inner / scale).astype(np.float64))
    T = vectors[:, ::-1][:, :rank].astype(LONG)
    outside = np.maximum(values[::-1][rank:], 0).sum() * scale
    fitted = G @ U
    objective = ((Yc - fitted) ** 2).sum() / n + alpha * outside + beta * np.trace(inner)
    zero = float((Yc**2).sum() / n)
    if beta == 0:
        note = "beta is 0: the objective alone was certified"
        return Proof(float(objective), None, BACKWARD, note, zero)
    pull = n * ((alpha + beta) * U - alpha * (U @ T @ T.T))  # n times what the penalty adds to the gradient
    if gram:
        apart = np.sqrt(((Yc - fitted - pull) ** 2).sum(axis=0))
    else:
        regression = _Regression(G, n * beta, False)
        q = np.vstack([Yc - fitted, -pull / np.sqrt(n * beta)])
        apart = np.sqrt(((regression.orthonormal().T @ q) ** 2).sum(axis=0))
    lengths = np.sqrt((Yc**2).sum(axis=0))
    error = np.divide(apart, lengths, out=np.zeros_like(apart), where=lengths > 0).max(initial=LONG(0))
    return Proof(float(objective), float(error), BACKWARD, scale=zero)


def certify_compressed(solver: Any, model: Any, train: TrainingSet) -> Proof:
    """Compressed labels: ridge regression of Phi y without a bias."""
    coef, Phi = getattr(model, "coef", None), getattr(model, "Phi", None)
    whole = train.known is None or bool(train.known.all())
    if coef is None or Phi is None or solver.kernel != "linear" or not whole:
        raise UserError("with a kernel or unknown labels its regression is not certified")
    if (solver.protocol == "active_in_train" and solver.budget < 1) or solver.bias != "none":
        raise UserError("with rows that are asked for, or a bias, its regression is not certified")
    G, lam, W = dense_rows(train.X), LONG(solver.s2) + LONG(solver.c2), coef.T.astype(LONG)
    if W.shape[0] != G.shape[1]:
        raise UserError("with rows in the place of weights its regression is not certified")
    Z = train.dense_Y.astype(LONG) @ Phi.T.astype(LONG)
    objective = ((Z - G @ W) ** 2).sum() + lam * (W**2).sum()
    return Proof(float(objective), _Regression(G, lam, False).error(W, Z), BACKWARD, scale=float((Z**2).sum()))
