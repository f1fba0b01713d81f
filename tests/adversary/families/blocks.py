"""Matrix completion and ML-LOC: the objective of what a fit arrives at, from the definition."""

import numpy as np

from mlrank.arrays import as_dense
from mlrank.solvers import SOLVERS
from mlrank.solvers.models import all_rows
from tests.adversary.family import LONG, Family, dense, signs_of

# Of an objective.
RELATIVE = 1e-6


def _completed(solver, model, train):
    X = np.asarray(as_dense(all_rows(train)))
    problem = solver._problem(train, X)
    point, info = solver._complete(problem)
    _, number, count = np.unique(X, axis=0, return_inverse=True, return_counts=True)
    once = count[number.ravel()] == 1  # equal rows have scores of their own
    if not np.array_equal((point.Z[:, : train.n_labels] + point.bias)[once], model.decision_function(X)[once]):
        yield "another fit of the same rows gives other scores"
    Z, k, n, rows = point.Z.astype(LONG), train.n_labels, train.n_samples, X.astype(LONG)
    margins = LONG(solver.gamma) * signs_of(train) * Z[:n, :k]
    labels = np.logaddexp(LONG(0), -margins).sum() / LONG(solver.gamma) / margins.size
    features = ((Z[:, k : k + X.shape[1]] - rows) ** 2).sum() / (2 * X.size)
    norms = np.linalg.svd(point.Z, compute_uv=False).astype(LONG).sum()
    objective = float(LONG(solver.mu) * norms + LONG(solver.lam) * labels + features)
    if not abs(info.objective - objective) <= RELATIVE * objective:
        yield f"the objective is {objective:.9g}, reported {info.objective:.9g}"
    if solver.bias == "none" and model.info.converged:
        yield from _least(solver, train, point, objective)


def _least(solver, train, point, objective):
    """The problem is convex: no scaled matrix is better by more than a residual may hide."""
    Z, k, n = point.Z, train.n_labels, train.n_samples
    X = np.asarray(as_dense(all_rows(train)))

    def value(Z):
        labels = np.logaddexp(0.0, -solver.gamma * np.where(train.Y, 1.0, -1.0) * Z[:n, :k]).mean() / solver.gamma
        features = ((Z[:, k : k + X.shape[1]] - X) ** 2).sum() / (2 * X.size)
        return solver.mu * np.linalg.svd(Z, compute_uv=False).sum() + solver.lam * labels + features

    # A step of residual r from Z gains at most |slope| r |Z - Z'| to first order.
    for factor in (0.0, 0.5, 0.9, 1.1):
        other = value(factor * Z)
        gain = objective - other
        slope = solver.mu * np.sqrt(min(Z.shape)) * 10
        if gain > RELATIVE * objective + solver.tol * slope * abs(1 - factor) * np.linalg.norm(Z):
            yield f"the matrix times {factor} has {other:.9g}, below {objective:.9g}"


COMPLETION = Family(
    solvers={
        "matrix_completion": SOLVERS["matrix_completion"](),
        "matrix_completion convex": SOLVERS["matrix_completion"](bias="none"),
    },
    strength="mu",
    own=_completed,
    pending=True,  # thousands of steps each: for the whole form alone
)


def _local(solver, model, train):
    """J of the machines and codes that a second fit arrives at, the prototypes the means of its codes."""
    begun = solver.prepare(train)
    machines, C, info = solver._alternate(train.Y, begun)
    if (info.objective, info.optimality) != (model.info.objective, model.info.optimality):
        yield "another fit of the same rows has another objective"
    X, codes, V = dense(begun.X), C.astype(LONG), machines.V.astype(LONG)
    W, b = machines.base.coef.astype(LONG), machines.base.intercept.astype(LONG)
    S = signs_of(train)
    mixed = train.Y.any(axis=0) & ~train.Y.all(axis=0)
    slack = np.maximum(0, 1 - S * (X @ W.T + codes @ V.T + b))[:, mixed]
    size = codes.sum(axis=0)[:, None]
    prototypes = np.where(size > 0, codes.T @ S / np.where(size > 0, size, 1), 0)
    apart = ((S[:, None] - prototypes[None]) ** 2).sum(axis=2)
    objective = slack.sum() + LONG(solver.lam1) * ((W[mixed] ** 2).sum() + (V[mixed] ** 2).sum())
    objective = float(objective + LONG(solver.lam2) * (codes * apart).sum())
    if not abs(info.objective - objective) <= RELATIVE * objective:
        yield f"the objective is {objective:.9g}, reported {info.objective:.9g}"


LOCAL = Family(
    solvers={
        "ml_loc": SOLVERS["ml_loc"](n_groups=2),
        "ml_loc as given": SOLVERS["ml_loc"](n_groups=2, scale=False, lam2=1.0),
    },
    strength="lam1",
    own=_local,
)
