"""Logistic regression of each label."""

import numpy as np

from mlrank.solvers import SOLVERS
from tests.adversary.families.binary import only
from tests.adversary.family import LONG, Family, linear_rivals, norm_and_scores, signs_of

_SOLVER = SOLVERS["logistic"]


def _objective(solver, model, train):
    mixed = train.Y.any(axis=0) & ~train.Y.all(axis=0)
    _, F = norm_and_scores(model, train)
    square, _ = norm_and_scores(only(model, mixed), train, solver.bias == "augmented")
    costs = np.where(train.Y, LONG(solver.positive_weight), LONG(1))
    loss = np.logaddexp(LONG(0), -signs_of(train) * F)
    return float(square / 2 + LONG(solver.C) * (costs * loss)[:, mixed].sum())


FAMILY = Family(
    solvers={
        "logistic": _SOLVER(),
        "logistic augmented": _SOLVER(bias="augmented", positive_weight=3.0),
        "logistic weighted": _SOLVER(positive_weight=0.3),
    },
    objective=_objective,
    rivals=linear_rivals,
    shift_free=("logistic", "logistic weighted"),
)
