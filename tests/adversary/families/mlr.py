"""Multi-label ranking: the thresholds of eq. 13, or the pairs of problem (4)."""

import numpy as np

from mlrank.solvers import SOLVERS
from tests.adversary.family import LONG, Family, linear_rivals, norm_and_scores, signs_of

_SOLVER = SOLVERS["mlr"]


def _objective(solver, model, train):
    square, F = norm_and_scores(model, train, solver.bias == "augmented")
    total = LONG(0)
    for f, y in zip(F, signs_of(train), strict=True):
        if (y > 0).all() or (y < 0).all():
            continue
        if solver.formulation == "exact":
            total += np.maximum(0, 2 - (f[y > 0][:, None] - f[y < 0])).sum()
        else:  # piecewise linear in t: the least value is at a kink
            total += min(np.maximum(0, y * (t - (f - y))).sum() for t in f - y)
    return float(square / 2 + LONG(solver.C) * total)


FAMILY = Family(
    solvers={
        "mlr": _SOLVER(kernel="linear"),
        "mlr augmented": _SOLVER(kernel="linear", bias="augmented"),
        "mlr exact": _SOLVER(kernel="linear", formulation="exact"),
        "mlr rbf": _SOLVER(kernel="rbf"),
        "mlr chi2": _SOLVER(),
        "mlr polynomial": _SOLVER(kernel="polynomial"),
        "mlr precomputed": _SOLVER(kernel="precomputed"),
    },
    objective=_objective,
    rivals=linear_rivals,
    nonnegative=("mlr chi2",),
    skip=("one label",),
)
