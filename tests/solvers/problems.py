"""Problems and slow references that the solver tests share."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tracemalloc import get_traced_memory, start, stop

import numpy as np
from scipy.sparse import csr_array

from mlrank.contract import random_problem
from mlrank.solvers import TrainingSet

__all__ = [
    "FIXTURES",
    "SCENARIOS",
    "caps",
    "clique_laplacian",
    "fit_and_peak",
    "load",
    "pairs_of",
    "random_problem",
    "rank_dual",
    "rank_primal",
    "two_labels_a_row",
    "with_bias",
]

FIXTURES = Path(__file__).parent.parent / "fixtures"
SCENARIOS = ("tiny", "edge", "largeC", "sparse", "medium", "wide", "degenerate", "hist")


def load(scenario):
    """Return the arrays of a scenario by name, read-only: they are read once for all tests."""
    return dict(_stored(scenario))


@cache
def _stored(scenario):
    with np.load(FIXTURES / f"{scenario}.npz") as stored:
        arrays = {key: stored[key] for key in stored.files}
    for array in arrays.values():
        array.flags.writeable = False
    return arrays


def pairs_of(Y) -> Iterator[tuple[int, int, int]]:
    """Yield (row, irrelevant label, relevant label), irrelevant-major as the solver lays them out."""
    for i, row in enumerate(Y):
        for q in np.flatnonzero(~row):
            for p in np.flatnonzero(row):
                yield i, q, p


def caps(Y, C):
    """Return C / (|y_i| |z_i|) for each row, 0 where it has no pair."""
    size = Y.sum(axis=1) * (~Y).sum(axis=1)
    return np.array([C / s if s else 0.0 for s in size])


def rank_primal(W, X, Y, C, M=None):
    """Return the objective of eq. 9 (eq. 10 with M = I + lam X'LX) at W (k, m), from the definition."""
    M = np.eye(X.shape[1]) if M is None else M
    F = X @ W.T
    loss = sum(caps(Y, C)[i] * max(0.0, 1 - (F[i, p] - F[i, q])) for i, q, p in pairs_of(Y))
    return 0.5 * np.trace(W @ M @ W.T) + loss


def rank_dual(alpha, X, Y, M=None):
    """Return the dual objective of eq. 17 at alpha, and its W, from the definition."""
    M = np.eye(X.shape[1]) if M is None else M
    beta = np.zeros(Y.shape)
    for value, (i, q, p) in zip(alpha, pairs_of(Y), strict=True):
        beta[i, p] += value
        beta[i, q] -= value
    W = np.linalg.solve(M, X.T @ beta).T
    return alpha.sum() - 0.5 * np.trace(W @ M @ W.T), W


def clique_laplacian(Y, weights):
    """Return the dense L = D - H W H' of eq. 5."""
    H = Y.astype(float)
    similarity = (H * weights) @ H.T
    return np.diag(similarity.sum(axis=1)) - similarity


def with_bias(X):
    return np.hstack([X, np.ones((X.shape[0], 1))])


def two_labels_a_row(n, k, rng):
    """Return the two labels of each row, one of either half, and the labels as a csr_array."""
    labels = rng.integers(k // 2, size=(n, 2)) + np.array([0, k // 2])
    return labels, csr_array((np.ones(2 * n, bool), labels.ravel(), np.arange(0, 2 * n + 1, 2)), shape=(n, k))


def fit_and_peak(solver, X, Y):
    """Return a fitted model, and the most bytes that were held at once, after a fit on few rows has compiled."""
    few = X.shape[0] // 4
    solver.fit(TrainingSet(X[:few], Y[:few]))
    start()
    model = solver.fit(TrainingSet(X, Y))
    peak = get_traced_memory()[1]
    stop()
    return model, peak
