"""Directions: hypergraph spectral learning and class-wise discriminant analysis."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mlrank.hypergraph import expansion_factor
from mlrank.solvers import PROJECTIONS, SOLVERS, LinearModel
from tests.adversary.family import LONG, Family, dense

_SOLVER = SOLVERS["hypergraph_spectral"]
# A residual in doubles is right to so much of the tolerance.
SLACK = 1.1
# Features are brought to one length where theirs are so far apart.
APART = 1e3


def centered(X):
    Xc = X - X.mean(axis=0)
    Xc[:, (X == X[0]).all(axis=0)] = 0
    return Xc


def _equilibrated(X, lam):
    """Return the rows with columns of one length, and their penalty for each column: weights are times lengths."""
    lengths = np.sqrt((X**2).sum(axis=0))
    lengths = np.where(lengths > 0, lengths, LONG(1))
    return X / lengths, (LONG(lam) / lengths**2)[:, None], lengths[:, None]


def _largest(above, below):
    return float(np.divide(above, below, out=np.zeros_like(above), where=below > 0).max(initial=0))


def _spectral(solver, model, train):
    """The ridge system of the targets (eq. 28), or the eigenproblem (eq. 12), with features of one length."""
    projection = solver.fit_projection(train)
    X, lam, lengths = _equilibrated(centered(dense(train.X)), solver.lam)
    H = expansion_factor(train.Y, solver.expansion, np.ones(train.n_labels)).astype(LONG)
    H = H - H.mean(axis=0)
    W = projection.coef.astype(LONG) * lengths
    if solver.method == "lstsq":
        U, values, _ = np.linalg.svd(H.astype(np.float64), full_matrices=False)
        targets = U[:, values > 1e-8 * values.max(initial=0.0)].astype(LONG)
        # The basis of the targets is known up to a turn, which the weights have too.
        turn = np.linalg.lstsq(targets.astype(np.float64), solver._target(train).basis, rcond=None)[0]
        right = X.T @ (targets @ turn.astype(LONG))
        rest = right - X.T @ (X @ W) - lam * W
        error = _largest(np.sqrt((rest**2).sum(axis=0)), np.sqrt((right**2).sum(axis=0)))
    else:
        right = X.T @ (H @ (H.T @ (X @ W)))
        rest = right - (X.T @ (X @ W) + lam * W) * projection.eigenvalues
        error = _largest(np.sqrt((rest**2).sum())[None], np.sqrt((right**2).sum())[None])
    # Up to this ratio residuals are of features as they are.
    used = lengths[lengths != 1]
    ratio = min(float(used.max() / used.min()), APART) if used.size else 1.0
    if model.info.converged and not error <= SLACK * ratio * solver.tol + 1e-9:
        yield f"converged, and the equations of equilibrated features hold to {error:.2e} only"


HYPERGRAPH = Family(
    solvers={
        "hypergraph_spectral": _SOLVER(head="ridge"),
        "hypergraph_spectral lstsq": _SOLVER(head="ridge", method="lstsq"),
        "hypergraph_spectral iterative": _SOLVER(head="ridge", backend="iterative"),
    },
    strength="lam",
    own=_spectral,
    skip=("one label",),
)


@dataclass(frozen=True)
class Projected:
    """A projection as a solver: its scores are the projected rows."""

    ridge: float = 0.0
    denominator: str = "auto"
    USES_UNLABELED: ClassVar[bool] = False

    def fit(self, train, prepared: Any = None):
        """Return the projection as a linear model."""
        projection = self.projection(train)
        return LinearModel(np.ascontiguousarray(projection.coef.T), projection.offset, projection.info)

    def projection(self, train):
        """Return the projection."""
        return PROJECTIONS["blda"](ridge=self.ridge, denominator=self.denominator).fit(train)


def _discriminant(solver, model, train):
    """S_b U = D U diag(eigenvalues), features of one length: the backward error of each entry."""
    if not model.info.converged:
        return
    projection, Y = solver.projection(train), train.Y.astype(LONG)
    U, values = projection.coef.astype(LONG), projection.eigenvalues.astype(LONG)
    X, count = dense(train.X), Y.sum(axis=1)
    X = X[count > 0]
    if solver.denominator != "total" and len(X) <= X.shape[1] + Y.shape[1]:
        return  # S_w is singular, and its pseudo-inverse leaves directions out
    Y, count = Y[count > 0], count[count > 0]
    X = X - (count @ X) / count.sum()
    sizes = Y.sum(axis=0)
    means = np.divide(
        Y.T @ X, sizes[:, None], out=np.zeros((len(sizes), X.shape[1]), dtype=LONG), where=sizes[:, None] > 0
    )
    total = np.sqrt(count)[:, None] * X
    between = np.sqrt(sizes)[:, None] * means
    lengths = np.sqrt((total**2).sum(axis=0))
    lengths = np.where(lengths > 0, lengths, LONG(1))
    A, B, W = total / lengths, between / lengths, U * lengths[:, None]
    forced, held = B.T @ (B @ W), A.T @ (A @ W)
    if solver.denominator != "total":
        held = held - forced
    rest = np.sqrt(((forced - held * values) ** 2).sum(axis=0))
    size = np.sqrt((forced**2).sum(axis=0)) + np.abs(values) * np.sqrt((W**2).sum(axis=0))
    error = float((rest / np.where(size > 0, size, 1)).max(initial=0))
    if not error <= 1e-6:
        yield f"converged, and the eigenvectors are so to {error:.2e} only"


BLDA = Family(
    solvers={"blda total": Projected(denominator="total"), "blda within": Projected(denominator="within")},
    strength=None,
    own=_discriminant,
    skip=("one label", "two labels"),
)
