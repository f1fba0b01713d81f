"""SLRM from its definitions, slowly: dense graph, dense Laplacian, sums over entries, proximal gradient."""

import numpy as np


def dense_graph(X, c=5, s=7):
    """Return the self-tuning graph: each row chooses its c nearest, an edge needs one choice."""
    n = len(X)
    distance = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    A = np.zeros((n, n))
    others = [[j for j in np.argsort(distance[i], kind="stable") if j != i] for i in range(n)]
    scale = [distance[i, others[i][min(s, n - 1) - 1]] for i in range(n)]
    for i in range(n):
        for j in others[i][:c]:
            A[i, j] = A[j, i] = np.exp(-(distance[i, j] ** 2) / (scale[i] * scale[j]))
    return A


def smoothness(X, A):
    """Return X'LX as the sum over edges, eq. 7."""
    M = np.zeros((X.shape[1], X.shape[1]))
    for i, j in zip(*np.nonzero(A), strict=True):
        step = (X[i] - X[j])[:, None]
        M += 0.5 * A[i, j] * (step @ step.T)
    return M


def entry_loss(loss, f, y):
    """Return the loss and its derivative at outputs f for labels y = +1 or -1 (squared: any target)."""
    if loss == "squared":
        return 0.5 * (f - y) ** 2, f - y
    if loss == "logistic":
        return np.log1p(np.exp(-y * f)), -y / (1 + np.exp(y * f))
    return np.maximum(0, 1 - y * f) ** 2, -2 * y * np.maximum(0, 1 - y * f)


def objective(V, Xl, targets, known, M, lam, gamma, loss="squared"):
    """Return eq. 9 at V (d, k), with the loss over known entries in the first place."""
    fit = entry_loss(loss, Xl @ V, targets)[0][known].sum()
    return fit + lam * np.linalg.svd(V, compute_uv=False).sum() + 0.5 * gamma * np.trace(V.T @ M @ V)


def minimum(Xl, targets, known, M, lam, gamma, loss="squared", steps=20_000):
    """Return the minimizer by proximal gradient steps, accelerated with restarts, to machine precision or nearly."""
    curvature = {"squared": 1.0, "logistic": 0.25, "squared_hinge": 2.0}[loss]
    size = np.linalg.eigvalsh(curvature * Xl.T @ Xl + gamma * M)[-1]
    V = ahead = np.zeros((Xl.shape[1], targets.shape[1]))
    t = 1.0
    for _ in range(steps):
        slope = np.where(known, entry_loss(loss, Xl @ ahead, targets)[1], 0.0)
        left, values, right = np.linalg.svd(ahead - (Xl.T @ slope + gamma * M @ ahead) / size, full_matrices=False)
        new = (left * np.maximum(values - lam / size, 0.0)) @ right
        if np.vdot(ahead - new, new - V) > 0:
            t = 1.0
        after = (1 + np.sqrt(1 + 4 * t * t)) / 2
        ahead = new + (t - 1) / after * (new - V)
        if np.abs(new - V).max() <= 1e-15 * max(1.0, np.abs(new).max()) and np.abs(ahead - new).max() <= 1e-15:
            break
        V, t = new, after
    return new
