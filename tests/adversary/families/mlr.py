"""Multi-label ranking: the thresholds of eq. 13, or the pairs of problem (4)."""

import numpy as np

from mlrank.solvers import SOLVERS, LinearModel
from tests.adversary.families.ridge import least_squares
from tests.adversary.family import LONG, Family, dense, kernel_values, linear_rivals, norm_and_scores, signs_of

_SOLVER = SOLVERS["mlr"]


def _objective(solver, model, train):
    if solver.halve:
        square, F = _halved(model, train)
    else:
        square, F = norm_and_scores(model, train, solver.bias == "augmented")
    if solver.correlation:
        square = _mixed_square(solver, model, train)
    total = LONG(0)
    for f, y in zip(F, signs_of(train), strict=True):
        if (y > 0).all() or (y < 0).all():
            continue
        if solver.formulation == "exact":
            total += np.maximum(0, 2 - (f[y > 0][:, None] - f[y < 0])).sum()
        else:  # piecewise linear in t: the least value is at a kink
            total += min(np.maximum(0, y * (t - (f - y))).sum() for t in f - y)
    return float(square / 2 + LONG(solver.C) * total)


def _halved(model, train):
    """The norm and scores of dual variables under (K + diag K) / 2, the kernel of the printed steps."""
    K, beta = dense(train.X), np.zeros((train.n_samples, train.n_labels), dtype=LONG)
    beta[np.asarray(model.X_train)] = model.dual.T
    F = (K @ beta + np.diag(K)[:, None] * beta) / 2
    return (beta * F).sum(), F


def _mixed_square(solver, model, train):
    """|f|^2 measured by the inverse of the label correlations R: weights are those of mixed labels."""
    H = train.Y.astype(LONG)
    size = np.sqrt((H**2).sum(axis=0))
    cosine = H.T @ H / np.maximum(np.outer(size, size), 1)
    np.fill_diagonal(cosine, 1)
    R = (1 - LONG(solver.correlation)) * np.eye(len(cosine), dtype=LONG) + LONG(solver.correlation) * cosine
    if isinstance(model, LinearModel):
        gram = model.coef.astype(LONG) @ model.coef.astype(LONG).T
    else:
        dual, Z = model.dual.astype(LONG), dense(model.X_train)
        gram = dual @ kernel_values(model.kernel, Z, Z, model.gamma, model.degree, model.coef0) @ dual.T
    return (least_squares(R, np.eye(len(R), dtype=LONG)) * gram).sum()


FAMILY = Family(
    solvers={
        "mlr": _SOLVER(kernel="linear"),
        "mlr augmented": _SOLVER(kernel="linear", bias="augmented"),
        "mlr exact": _SOLVER(kernel="linear", formulation="exact"),
        "mlr rbf": _SOLVER(kernel="rbf"),
        "mlr chi2": _SOLVER(),
        "mlr polynomial": _SOLVER(kernel="polynomial"),
        "mlr precomputed": _SOLVER(kernel="precomputed"),
        "mlr halve": _SOLVER(kernel="precomputed", halve=True),
        "mlr correlation": _SOLVER(kernel="linear", correlation=0.5),
        "mlr correlation rbf": _SOLVER(kernel="rbf", correlation=0.5),
    },
    objective=_objective,
    rivals=linear_rivals,
    nonnegative=("mlr chi2",),
    skip=("one label",),
)
