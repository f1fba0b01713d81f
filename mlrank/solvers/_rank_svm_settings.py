"""What Rank-SVM and Rank-HLapSVM share around the solution: checked settings, prepared rows, the model."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mlrank.arrays import FloatArray, as_dense, take_rows
from mlrank.kernels import KERNELS
from mlrank.kernels.rows import check_gram
from mlrank.solvers._kernel_model import KernelModel
from mlrank.solvers._rank_svm_descent import Solution
from mlrank.solvers._rank_svm_gram import check_size, gram_rows
from mlrank.solvers._rank_svm_pairs import Pairs
from mlrank.solvers._rank_svm_rows import FlatRows, better_dense
from mlrank.solvers._rank_svm_sparse import SparseRows
from mlrank.solvers.base import FitInfo, LinearModel, TrainingSet, check_choices, check_kernel, check_positive

__all__ = ["BIAS", "Prepared", "check_settings", "cost", "fitted", "kernel_matrix", "prepare_plain"]

# Value of the constant feature for each setting of `bias`; a free bias has none.
BIAS = {"augmented": 1.0, "free": 0.0, "none": 0.0}
# Passes that a fit of moderate C takes, for estimates.
PASSES = 30
CHOICES: dict[str, tuple[str, ...]] = {
    "bias": tuple(BIAS),
    "algorithm": ("dcd", "frank_wolfe"),
    "order": ("permuted", "cyclic"),
    "stop": ("gap", "step"),
    "C_scale": ("sum", "mean"),
}


@dataclass(frozen=True)
class Prepared:
    """What every C shares: the pairs, the rows as they will be swept, and what the data made of the settings."""

    pairs: Pairs
    rows: FlatRows | SparseRows
    notes: tuple[str, ...] = ()


def check_settings(solver: Any) -> None:
    """Raise ValueError for a setting out of range, or settings that do not go together."""
    check_positive(solver, "C", "eps", "tol", "max_iter")
    check_kernel(solver, precomputed=True)
    check_choices(solver, CHOICES)
    if solver.order == "cyclic" and solver.bias == "free":
        raise ValueError("order 'cyclic' is Algorithm 1 as printed, whose bias is penalised; found bias 'free'")
    for name, value in (("order", "cyclic"), ("stop", "step")):
        if solver.algorithm == "frank_wolfe" and getattr(solver, name) == value:
            raise ValueError(f"{name} {value!r} is of algorithm 'dcd' alone, found algorithm 'frank_wolfe'")


def kernel_matrix(train: TrainingSet, solver: Any) -> FloatArray:
    """Return the kernel matrix of the training rows.

    Raises
    ------
    ValueError
        If it does not fit into memory, or a precomputed one is not symmetric and positive semidefinite.
    """
    linear = solver.kernel == "linear"
    what = "lam above 0 with more features than rows" if linear else f"kernel {solver.kernel!r}"
    check_size(train.n_samples, train.n_samples, what)
    if solver.kernel != "precomputed":
        return KERNELS[solver.kernel](train.X, train.X, solver.gamma, solver.degree, solver.coef0)
    K: FloatArray = as_dense(train.X)
    check_gram(K)
    return K


def cost(solver: Any, n_samples: int, n_features: int, n_labels: int) -> tuple[float, float]:
    """Return how operations and bytes of a fit grow with the shape of the training set.

    A pass over dense rows takes n_samples n_features n_labels operations, and a pair of labels 12 bytes, of which rows
    are taken to have four relevant ones.
    """
    pairs = 12.0 * n_samples * 4 * n_labels
    if solver.kernel != "linear":
        return PASSES * float(n_samples) ** 2 * n_labels + float(n_samples) ** 3, 16.0 * n_samples**2 + pairs
    smaller = min(n_samples, n_features)
    operations = PASSES * float(n_samples) * n_features * n_labels + float(n_samples) * n_features * smaller
    return operations, 8.0 * n_samples * n_features + 16.0 * smaller**2 + pairs


def prepare_plain(train: TrainingSet, solver: Any) -> Prepared:
    """List the label pairs and bring the rows into the form in which they are swept."""
    bias, free, pairs = BIAS[solver.bias], solver.bias == "free", Pairs.of(train.Y, train.known)
    if solver.kernel != "linear":
        return Prepared(pairs, gram_rows(kernel_matrix(train, solver), bias, free))
    if better_dense(train.X):
        return Prepared(pairs, FlatRows.of(train.X, bias, free))
    return Prepared(pairs, SparseRows.of(train.X, bias, free))


def fitted(solution: Solution, prepared: Prepared, solver: Any, train: TrainingSet) -> LinearModel | KernelModel:
    """Return the model, with the certificate measured against the solver's tolerance."""
    converged = solution.gap <= solver.tol
    info = FitInfo(solution.n_iter, solution.primal, solution.gap, converged, prepared.notes)
    if solver.kernel == "linear":
        return LinearModel(solution.coef, solution.intercept, info)
    support = np.flatnonzero(np.abs(solution.coef).max(axis=0) > 0)
    rows = support if solver.kernel == "precomputed" else take_rows(train.X, support)
    dual = np.ascontiguousarray(solution.coef[:, support])
    constants = (solver.kernel, solver.gamma, info, solver.degree, solver.coef0)
    return KernelModel(rows, dual, solution.intercept, *constants, train.n_samples)
