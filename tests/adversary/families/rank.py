"""Rank-SVM (eq. 9) and Rank-HLapSVM (eq. 10)."""

import numpy as np

from mlrank.solvers import SOLVERS
from tests.adversary.family import LONG, Family, dense, linear_rivals, norm_and_scores

_RANK, _PENALTY = SOLVERS["rank_svm"], SOLVERS["rank_hlapsvm"]


def _loss(F, Y, C):
    total = LONG(0)
    for f, y in zip(F, Y, strict=True):
        if y.any() and not y.all():
            total += np.maximum(0, 1 - (f[y][:, None] - f[~y])).mean()
    return LONG(C) * total


def _objective(solver, model, train):
    square, F = norm_and_scores(model, train, solver.bias == "augmented")
    return float(square / 2 + _loss(F, train.Y, solver.C))


def _penalized(solver, model, train):
    """Eq. 10 for linear kernels: the penalty is on the training scores without a bias."""
    square, F = norm_and_scores(model, train, solver.bias == "augmented")
    X, Y = dense(train.X), train.Y
    H = Y.astype(LONG)
    weights = np.ones(Y.shape[1], dtype=LONG)
    for label in range(Y.shape[1]):
        rows = X[Y[:, label]]
        if len(rows) >= 2 and solver.nu:
            apart = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
            weights[label] = np.exp(-LONG(solver.nu) * apart.sum() / (len(rows) * (len(rows) - 1)))
    similarity = (H * weights) @ H.T
    L = np.diag(similarity.sum(axis=1)) - similarity
    # L maps constants to 0: centered scores lose no digits to large ones.
    plain = F - np.sort(F, axis=0)[len(F) // 2]
    return float(square / 2 + LONG(solver.lam) / 2 * (plain * (L @ plain)).sum() + _loss(F, Y, solver.C))


FAMILY = Family(
    solvers={
        "rank_svm": _RANK(),
        "rank_svm free": _RANK(bias="free"),
        "rank_svm none": _RANK(bias="none"),
        "rank_svm rbf": _RANK(kernel="rbf"),
        "rank_svm rbf free": _RANK(kernel="rbf", bias="free"),
        "rank_svm polynomial": _RANK(kernel="polynomial"),
        "rank_svm chi2": _RANK(kernel="chi2"),
        "rank_svm additive_chi2": _RANK(kernel="additive_chi2"),
        "rank_svm precomputed": _RANK(kernel="precomputed"),
    },
    objective=_objective,
    rivals=linear_rivals,
    nonnegative=("rank_svm chi2", "rank_svm additive_chi2"),
    skip=("one label",),
)
PENALTY = Family(
    solvers={
        "rank_hlapsvm": _PENALTY(),
        "rank_hlapsvm nu": _PENALTY(nu=1e-2),
        "rank_hlapsvm free": _PENALTY(bias="free"),
    },
    objective=_penalized,
    rivals=linear_rivals,
    skip=("one label",),
)
