"""Binary-SVM: one machine for each label, with hinge or squared hinge loss."""

from dataclasses import replace

import numpy as np

from mlrank.solvers import SOLVERS
from tests.adversary.family import LONG, Family, linear_rivals, norm_and_scores, signs_of

_SOLVER = SOLVERS["binary_svm"]


def _objective(solver, model, train):
    squared = solver.loss == "squared_hinge"
    mixed = train.Y.any(axis=0) & ~train.Y.all(axis=0)
    _, F = norm_and_scores(model, train)
    slack = np.maximum(0, 1 - signs_of(train) * F)[:, mixed]
    square, _ = norm_and_scores(only(model, mixed), train, squared or solver.bias == "augmented")
    costs = np.where(train.Y, LONG(solver.positive_weight), LONG(1))[:, mixed]
    return float(square / 2 + LONG(solver.C) * (costs * (slack**2 if squared else slack)).sum())


def only(model, labels):
    """Return the model with zeros for the labels that have no machine."""
    name = "coef" if hasattr(model, "coef") else "dual"
    return replace(model, **{name: getattr(model, name) * labels[:, None], "intercept": model.intercept * labels})


FAMILY = Family(
    solvers={
        "binary_svm": _SOLVER(),
        "binary_svm squared_hinge": _SOLVER(loss="squared_hinge"),
        "binary_svm augmented": _SOLVER(bias="augmented", positive_weight=3.0),
        "binary_svm squared_hinge weighted": _SOLVER(loss="squared_hinge", positive_weight=0.3),
        "binary_svm libsvm": _SOLVER(backend="libsvm", positive_weight=3.0),
        "binary_svm liblinear": _SOLVER(loss="squared_hinge", backend="liblinear", positive_weight=0.3),
        "binary_svm rbf": _SOLVER(kernel="rbf"),
        "binary_svm polynomial": _SOLVER(kernel="polynomial"),
        "binary_svm chi2": _SOLVER(kernel="chi2"),
        "binary_svm precomputed": _SOLVER(kernel="precomputed"),
    },
    objective=_objective,
    rivals=linear_rivals,
    nonnegative=("binary_svm chi2",),
)
