"""SLRM with each loss, with and without its graph, and the solvers that spread labels along a graph of rows."""

from dataclasses import replace

import numpy as np

from mlrank.graphs import self_tuning_graph
from mlrank.solvers import SOLVERS
from mlrank.solvers.models import all_rows
from tests.adversary.family import LONG, Family, dense, signs_of

_SOLVER = SOLVERS["slrm"]


def _loss(name, margin):
    if name == "logistic":
        return np.logaddexp(LONG(0), -margin).sum()
    return (np.maximum(1 - margin, 0) ** 2).sum() if name == "squared_hinge" else ((1 - margin) ** 2).sum() / 2


def _objective(solver, model, train):
    W = model.left.astype(LONG) @ model.right.astype(LONG).T
    total = _loss(solver.loss, signs_of(train) * (dense(train.X) @ W))
    if solver.gamma > 0:
        rows = all_rows(train)
        graph, F = self_tuning_graph(rows, solver.n_neighbors, solver.scale_neighbor).tocoo(), dense(rows) @ W
        total += solver.gamma / 4 * (graph.data[:, None] * (F[graph.row] - F[graph.col]) ** 2).sum()
    return float(total + LONG(solver.lam) * np.linalg.svd(W.astype(np.float64), compute_uv=False).sum())


def _rivals(solver, model, train):
    for factor in (0.0, 0.5, 0.99, 1.01, 2.0):
        yield replace(model, left=factor * model.left)
    for column in range(min(len(model.left), 8)):
        for factor in (0.0, 0.9, 1.1):
            left = model.left.copy()
            left[column] *= factor
            yield replace(model, left=left)


FAMILY = Family(
    solvers={
        "slrm": _SOLVER(),
        "slrm without graph": _SOLVER(gamma=0.0),
    },
    objective=_objective,
    rivals=_rivals,
    strength="lam",
)
# Hundreds of steps each: for the whole form alone.
LOSSES = Family(
    solvers={
        "slrm logistic": _SOLVER(gamma=0.0, loss="logistic"),
        "slrm squared_hinge": _SOLVER(gamma=0.0, loss="squared_hinge"),
    },
    objective=_objective,
    rivals=_rivals,
    strength="lam",
    pending=True,
)
# Nothing but that their scores are finite and those of the rows, and that a residual decides.
GRAPHS = Family(
    solvers={
        "smse": SOLVERS["smse"](),
        "smse smse1": SOLVERS["smse"](variant="smse1", nu=0.0),
        "mcgf": SOLVERS["mcgf"](),
    },
    strength=None,
)
