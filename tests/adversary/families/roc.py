"""SVM-perf: the area under the ROC curve of each label."""

import numpy as np

from mlrank.solvers import SOLVERS
from tests.adversary.family import LONG, Family, linear_rivals, norm_and_scores

_SOLVER = SOLVERS["svm_perf"]


def _objective(solver, model, train):
    square, F = norm_and_scores(model, train)
    total = LONG(0)
    for f, y in zip(F.T, train.Y.T, strict=True):
        if y.any() and not y.all():
            total += np.maximum(0, 1 - (f[y][:, None] - f[~y])).mean()
    C = solver.C * (100 if solver.C_convention == "perf" else 1)
    return float(square / 2 + LONG(C) * total)


FAMILY = Family(
    solvers={
        "svm_perf": _SOLVER(),
        "svm_perf unit": _SOLVER(C_convention="unit"),
        "svm_perf rbf": _SOLVER(kernel="rbf"),
        "svm_perf polynomial": _SOLVER(kernel="polynomial"),
        "svm_perf precomputed": _SOLVER(kernel="precomputed"),
    },
    objective=_objective,
    rivals=linear_rivals,
)
