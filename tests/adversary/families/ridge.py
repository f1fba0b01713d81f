"""Closed forms of ridge regression: PLST, CPLST, FaIE, shared subspaces and compressed sensing."""

from dataclasses import replace

import numpy as np

from mlrank.solvers import SOLVERS, LinearModel
from tests.adversary.family import LONG, Family, dense, kernel_values, linear_rivals

EPS = np.finfo(np.float64).eps


def triangular(R, B):
    """Solve RX = B by substitution, in the precision of both."""
    X = np.zeros_like(B)
    for i in range(len(R) - 1, -1, -1):
        X[i] = (B[i] - R[i, i + 1 :] @ X[i + 1 :]) / R[i, i]
    return X


def least_squares(A, B):
    """Return argmin |AX - B| for A of full column rank, by Householder reflections of rows and columns in long doubles.

    Columns are scaled to one length and pivoted, the longest rows come first: rows and columns of any size keep their
    digits (Cox & Higham, "Stability of Householder QR factorization for weighted least squares problems", 1998).
    """
    scale = np.sqrt((A**2).sum(axis=0))
    scale = np.where(scale > 0, scale, LONG(1))
    A = A / scale
    rows = np.argsort(-np.abs(A).max(axis=1), kind="stable")
    A, B, order = A[rows], B[rows].copy(), np.arange(A.shape[1])
    for j in range(A.shape[1]):
        best = j + int(((A[j:, j:]) ** 2).sum(axis=0).argmax())
        A[:, [j, best]], order[[j, best]] = A[:, [best, j]], order[[best, j]]
        v = A[j:, j].copy()
        v[0] += np.copysign(np.sqrt((v**2).sum()), v[0])
        square = (v**2).sum()
        if square == 0:
            continue
        A[j:, j:] -= np.outer(v, (v @ A[j:, j:]) * (2 / square))
        B[j:] -= np.outer(v, (v @ B[j:]) * (2 / square))
    X = np.zeros((A.shape[1], B.shape[1]), dtype=LONG)
    X[order] = triangular(A[: A.shape[1]], B[: A.shape[1]])
    return X / scale[:, None]


def ridge(X, Z, lam):
    """Return the weights of |XW - Z|^2 + lam |W|^2 for lam > 0."""
    d = X.shape[1]
    return least_squares(
        np.vstack([X, np.sqrt(LONG(lam)) * np.eye(d, dtype=LONG)]),
        np.vstack([Z, np.zeros((d, Z.shape[1]), dtype=LONG)]),
    )


def kernel_ridge(K, Z, lam):
    """Return A with (K + lam I) A = Z, by elimination in long doubles."""
    return least_squares(K + LONG(lam) * np.eye(len(K), dtype=LONG), Z)


def _rows(solver, train):
    """Return centered rows and their penalty, or the centered kernel matrix and its penalty."""
    X = dense(train.X)
    if solver.kernel == "linear":
        Xc = X - X.mean(axis=0)
        Xc[:, (X == X[0]).all(axis=0)] = 0
        total, size = (Xc**2).sum(), X.shape[1]
        G = Xc
    else:
        K = kernel_values(solver.kernel, X, X, solver.gamma, solver.degree, solver.coef0)
        G = K - K.mean(axis=0)
        G = G - G.mean(axis=1)[:, None]
        total, size = np.trace(G), len(G)
    lam = LONG(1e-6) * total / size if solver.lam == "auto" else LONG(solver.lam)
    return G, lam


def _fitted(solver, G, Z, lam):
    """Return the ridge regression of centered targets on the rows."""
    if lam == 0:
        return np.zeros_like(Z)
    return G @ (ridge(G, Z, lam) if solver.kernel == "linear" else kernel_ridge(G, Z, lam))


def _top(matrix, count):
    values, vectors = np.linalg.eigh(matrix.astype(np.float64))
    keep = values > len(values) * EPS * max(values[-1], 0.0)
    return vectors[:, keep][:, ::-1][:, :count]


def _scores(solver, model, train, X):
    """Return the scores of the training rows by the formulas, in long doubles but for eigenvectors."""
    G, lam = _rows(solver, train)
    if isinstance(solver, SOLVERS["faie"]):
        Y = train.Y.astype(LONG)
        H = _fitted(solver, G, np.eye(len(Y), dtype=LONG) - LONG(1) / len(Y), lam)
        C = _top(Y @ Y.T + LONG(solver.alpha) * (H + H.T) / 2, solver.n_components).astype(LONG)
        return 2 * (_fitted(solver, G, C - C.mean(axis=0), lam) + C.mean(axis=0)) @ (C.T @ Y) - 1
    S = np.where(train.Y, LONG(1), LONG(-1))
    Sc = S - S.mean(axis=0)
    fitted = _fitted(solver, G, Sc, lam)
    explained = isinstance(solver, SOLVERS["cplst"])
    V = _top(Sc.T @ fitted if explained else Sc.T @ Sc, solver.n_components).astype(LONG)
    return fitted @ V @ V.T + S.mean(axis=0)


def backward(X, Z, W, lam):
    """Return the largest |x_i'(z - Xw) - lam w_i|, each relative to what its own terms are."""
    rest = Z - X @ W
    residual = np.abs(X.T @ rest - lam * W)
    lengths = np.sqrt((X**2).sum(axis=0))[:, None]
    size = lengths * (np.sqrt((Z**2).sum(axis=0)) + (lengths * np.abs(W)).sum(axis=0)) + lam * np.abs(W)
    return float(np.divide(residual, size, out=np.zeros_like(residual), where=size > 0).max())


def _backward(solver, model, train):
    """The normal equations of the labels, projected on the directions that the model has."""
    if not (isinstance(model, LinearModel) and isinstance(solver, SOLVERS["plst"])):
        return 0.0
    G, lam = _rows(solver, train)
    S = np.where(train.Y, LONG(1), LONG(-1))
    Sc = S - S.mean(axis=0)
    V = _top(Sc.T @ Sc, solver.n_components).astype(LONG)
    targets = Sc @ V @ V.T
    # A label on its own, which the directions leave out, has a target of rounding alone.
    some = (targets**2).sum(axis=0) > 1e-24 * (Sc**2).sum(axis=0)
    return backward(G, targets[:, some], model.coef.T.astype(LONG)[:, some], lam)


def _variants(lam):
    return {key: SOLVERS[key](n_components=2, lam=lam) for key in ("plst", "cplst", "faie")}


def _named(suffix, solvers):
    return {f"{name}{suffix}": solver for name, solver in solvers.items()}


LINEAR = ("plst", "cplst", "faie", "plst auto", "cplst auto", "faie auto")
FAMILY = Family(solvers=_variants(1.0), reference=_scores, backward_error=_backward, strength="lam", shift_free=LINEAR)
KERNELS = Family(
    solvers={
        "plst rbf": SOLVERS["plst"](n_components=2, lam=1.0, kernel="rbf"),
        "plst rbf auto": SOLVERS["plst"](n_components=2, kernel="rbf"),
        "faie polynomial": SOLVERS["faie"](n_components=2, kernel="polynomial"),
    },
    reference=_scores,
    strength=None,
)
AUTO = Family(
    solvers=_named(" auto", _variants("auto")),
    reference=_scores,
    backward_error=_backward,
    strength=None,
    shift_free=LINEAR,
)


def _subspace(solver, model, train):
    """The objective of Ji et al. with the best subspace for the weights, and the model's own intercept."""
    Y, n = train.Y.astype(LONG), train.n_samples
    if isinstance(model, LinearModel):
        W = model.coef.astype(LONG).T
        F, gram = dense(train.X) @ W + model.intercept.astype(LONG), W.T @ W
    else:
        Z, A = dense(model.X_train), model.dual.astype(LONG).T
        constants = (model.gamma, model.degree, model.coef0)
        F = kernel_values(model.kernel, dense(train.X), Z, *constants) @ A + model.intercept.astype(LONG)
        gram = A.T @ kernel_values(model.kernel, Z, Z, *constants) @ A
    rank = min(5 * ((Y.shape[1] - 1) // 5) if Y.shape[1] > 5 else Y.shape[1] - 1, Y.shape[1])
    scale = np.trace(gram) or LONG(1)
    squares = np.sort(np.linalg.eigvalsh((gram / scale).astype(np.float64)))[::-1] * scale
    outside = np.maximum(squares[rank:], 0).sum()
    return float(((F - Y) ** 2).sum() / n + LONG(solver.alpha) * outside + LONG(solver.beta) * np.trace(gram))


SUBSPACE = Family(
    solvers={
        "shared_subspace": SOLVERS["shared_subspace"](),
        "shared_subspace light": SOLVERS["shared_subspace"](alpha=1e-3, beta=1e-6),
        "shared_subspace rbf": SOLVERS["shared_subspace"](kernel="rbf"),
        "shared_subspace polynomial": SOLVERS["shared_subspace"](kernel="polynomial"),
    },
    objective=_subspace,
    rivals=linear_rivals,
    strength="beta",
    shift_free=("shared_subspace", "shared_subspace light"),
)


def _compressed(solver, model, train):
    Z = train.Y.astype(LONG) @ model.Phi.astype(LONG).T
    return dense(train.X), Z, LONG(solver.s2) + LONG(solver.c2)


def _compressed_scores(solver, model, train, X):
    rows, Z, lam = _compressed(solver, model, train)
    return replace(model, coef=ridge(rows, Z, lam).T.astype(np.float64)).decision_function(X)


def _compressed_backward(solver, model, train):
    rows, Z, lam = _compressed(solver, model, train)
    return backward(rows, Z, model.coef.T.astype(LONG), lam)


COMPRESSED = Family(
    solvers={"bayes_cs": SOLVERS["bayes_cs"]()},
    reference=_compressed_scores,
    backward_error=_compressed_backward,
    strength="s2",
)
