"""Why polynomial kernels of unscaled features do not converge: what scores round to at the optimum itself.

A model with a kernel scores rows by a sum of kernel values times weights in double precision. However it was found, its
scores are off by some 1e-16 of the terms of that sum. A polynomial of degree 3 of a column of 1e4 has values of 1e24,
which cancel to scores of 1. The optimum is found here on the monomials of the features, whose columns are scaled one by
one; where the rounding of a kernel's sum with the weights of that optimum is more than the tolerance, no weights in
double precision are as good as the certificate asks for. Run with ``python -m tests.adversary.rounding [SEED]``.
"""

import sys
from dataclasses import replace
from itertools import combinations_with_replacement
from math import factorial

import numpy as np
from scipy.sparse import issparse

from mlrank.solvers import TrainingSet
from tests.adversary.families import FAMILIES
from tests.adversary.problems import NAMES, draw
from tests.adversary.sweep import MODERATE

# Those whose models hold dual variables with the linear kernel too.
SOLVERS = (("binary", "binary_svm polynomial"), ("rank", "rank_svm polynomial"), ("mlr", "mlr polynomial"))
# Monomials of more features are too many.
MOST_FEATURES = 12
LONG = np.longdouble


def monomials(X, degree=3):
    """Return rows Z (n_samples, n_monomials) with ZZ' = (XX' + 1)^degree, in long doubles."""
    columns, d = [], X.shape[1]
    for total in range(degree + 1):
        for chosen in combinations_with_replacement(range(d), total):
            often = np.bincount(np.array(chosen, dtype=int), minlength=d)
            count = factorial(degree) // factorial(degree - total)
            for times in often:
                count //= factorial(int(times))
            columns.append(np.sqrt(LONG(count)) * X[:, list(chosen)].astype(LONG).prod(axis=1))
    return np.stack(columns, axis=1)


def rounding(solver, problem):
    """Return what scores of the kernel round to at the optimum, and the gap to which that optimum was found."""
    Z = monomials(problem.X)
    model = replace(solver, kernel="linear").fit(TrainingSet(Z.astype(np.float64), problem.Y))
    beta = model.dual_point.beta
    beta = np.abs(beta.toarray() if issparse(beta) else np.asarray(beta))
    return float(2.0**-53 * (np.abs(Z @ Z.T) @ beta).max()), model.info.optimality


def main() -> None:
    """Print the problems with ratios up to 1e6 that do not converge, and the rounding of each."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    for family, variant in SOLVERS:
        solver, n, converged, lost = FAMILIES[family].solvers[variant], 0, 0, 0
        for name in NAMES:
            problem = draw(name, seed)
            skipped = any(name.startswith(start) for start in FAMILIES[family].skip)
            if problem.ratio > MODERATE or problem.factor != 1 or problem.X.shape[1] > MOST_FEATURES or skipped:
                continue
            n, info = n + 1, solver.fit(problem.training_set(solver)).info
            converged += info.converged
            if not info.converged:
                off, gap = rounding(solver, problem)
                lost += off > solver.tol
                print(f"    {name:52} gap {info.optimality:.0e}, rounding {off:.0e} at an optimum of gap {gap:.0e}")
        print(
            f"{variant}: {n} problems, {converged} converged, {lost} round to more than tol={solver.tol:g}", flush=True
        )


if __name__ == "__main__":
    main()
