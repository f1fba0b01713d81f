"""Label trees: every machine of every node, on the rows below the node."""

from mlrank.arrays import as_dense, as_features
from mlrank.solvers import SOLVERS
from tests.adversary.family import LONG, Family
from tests.solvers.label_tree_reference import machines, primal

_SOLVER = SOLVERS["label_tree"]
FACTORS = (0.0, 0.5, 0.9, 0.99, 1.01, 1.1, 2.0)
OBJECTIVE, ROUNDING = 1e-6, 1e-9


def _own(solver, model, train):
    """The objective is the sum over machines, and no machine is better by more than the gap when its weights shrink."""
    X, total = as_dense(as_features(train.X)).astype(model.weights.dtype).astype(LONG), LONG(0)
    info, C = model.info, LONG(solver.C)
    for rows, signs, w in machines(model, X, train.Y):
        reached = primal(w, rows, signs, C)
        least = min(primal(factor * w, rows, signs, C) for factor in FACTORS)
        if least < reached * (1 - info.optimality - ROUNDING):
            yield f"a machine of {reached:.9g} is {least:.9g} with other weights, and the gap is {info.optimality:.2e}"
        total += reached
    if not abs(total - info.objective) <= OBJECTIVE * total:
        yield f"the objective is {float(total):.9g}, reported {info.objective:.9g}"


FAMILY = Family(
    solvers={
        "label_tree": _SOLVER(branching=2, leaf=2),
        "label_tree exact": _SOLVER(branching=4, leaf=1, tol=1e-6, max_iter=20_000),
    },
    own=_own,
)
