"""The five checks of a fit: each yields what is wrong."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from mlrank.arrays import as_dense, as_features
from mlrank.kernels import Kernel
from mlrank.solvers import LinearModel, Model, TrainingSet
from mlrank.solvers.models import KernelModel, LowRankModel, TransductiveModel
from mlrank.solvers.sparse_bayes.model import CompressedModel
from tests.adversary.family import Family
from tests.adversary.problems import AdversaryProblem

__all__ = ["CHECKS", "AdversaryFit"]

OBJECTIVE, SCORES, BACKWARD = 1e-6, 1e-9, 1e-10
# Certificates are of codes of labels, of which scores are twice a sum.
PREDICTIONS = 2e-6
# What two sums of the same numbers may differ by, relative.
ROUNDING = 1e-9
# Objectives below this part of that of zero weights are rounding.
NOTHING = 1e-16
# All rows are shifted by so many times their largest feature.
SHIFT = 4.0
EPS = np.finfo(np.float64).eps


@dataclass(frozen=True)
class AdversaryFit:
    """A fit under test: family, variant, solver, problem, training set and model."""

    family: Family
    variant: str
    solver: object
    problem: AdversaryProblem
    train: TrainingSet
    model: Model

    def objective(self, model: Model | None = None) -> float:
        """Return the objective of a model on the given rows, from the definition."""
        return self.family.objective(self.solver, self.model if model is None else model, self.train)

    def refit(self, problem: AdversaryProblem, **changes) -> Model:
        """Fit the same solver on another problem."""
        solver = replace(self.solver, **changes)
        return solver.fit(problem.training_set(solver, self.variant in self.family.nonnegative))


def check_info(fit: AdversaryFit) -> Iterator[str]:
    """`optimality` is a finite number, not negative beyond rounding, and decides `converged`."""
    info = fit.model.info
    if not np.isfinite(info.optimality):
        yield f"optimality is {info.optimality}"
    elif info.optimality < -ROUNDING:
        yield f"optimality is negative: {info.optimality:.2e}"
    if info.converged and fit.family.objective is not None and info.objective < 0:
        yield f"converged, and the objective, a sum of squares and losses, is {info.objective:.2e}"
    tol = getattr(fit.solver, "tol", None)
    if tol is not None and info.converged and not info.optimality <= tol:
        yield f"converged with optimality {info.optimality:.2e} above tol={tol:g}"


def check_objective(fit: AdversaryFit) -> Iterator[str]:
    """1. `objective` is that of the returned model on the given rows."""
    if fit.family.objective is None:
        return
    reported, true = fit.model.info.objective, fit.objective()
    if not abs(reported - true) <= OBJECTIVE * abs(true) + NOTHING * _zero(fit):
        yield f"the objective is {true:.9g}, reported {reported:.9g}"


def check_rivals(fit: AdversaryFit) -> Iterator[str]:
    """2. No feasible point found in another way is below the bound."""
    if fit.family.objective is None:
        return
    info, least = fit.model.info, np.inf
    for rival in _rivals(fit):
        least = min(least, fit.objective(rival))
    bound = info.objective * (1.0 - info.optimality)
    if least < bound - ROUNDING * abs(info.objective) - NOTHING * _zero(fit):
        yield f"a feasible point has {least:.9g}, below the bound {bound:.9g} (objective {info.objective:.9g})"


def _zero(fit: AdversaryFit) -> float:
    """Return the objective of zero weights, to which rounding is relative."""
    name = next((name for name in ("coef", "dual") if hasattr(fit.model, name)), None)
    if not isinstance(fit.model, (LinearModel, KernelModel)) or name is None:
        return 0.0
    zeros = {name: 0.0 * getattr(fit.model, name), "intercept": 0.0 * fit.model.intercept}
    return fit.objective(replace(fit.model, **zeros))


def _rivals(fit: AdversaryFit) -> Iterator[Model]:
    if fit.family.rivals is not None:
        yield from fit.family.rivals(fit.solver, fit.model, fit.train)
    problem = fit.problem
    if (problem.odd_rows or problem.odd_columns) and not fit.train.pairwise:
        try:
            other = fit.refit(problem.without_odd())
        except ValueError:
            return
        if not problem.odd_columns or isinstance(other, LinearModel):
            yield other


def check_closed_form(fit: AdversaryFit) -> Iterator[str]:
    """3. The normal equations hold on the given rows, and the scores are those of an SVD or QR of equilibrated rows."""
    family, model = fit.family, fit.model
    if not model.info.converged:
        return
    if family.backward_error is not None:
        error = family.backward_error(fit.solver, model, fit.train)
        if not error <= BACKWARD:
            yield f"converged, and the normal equations hold to {error:.2e} only"
    if family.reference is not None:
        X = as_dense(as_features(fit.train.X))
        expected, scores = family.reference(fit.solver, model, fit.train, X), model.decision_function(X)
        apart, size = np.abs(scores - expected).max(), np.abs(expected).max()
        if not apart <= PREDICTIONS * max(size, 1e-300):
            yield f"converged, and scores are {apart:.2e} off where the largest is {size:.2e}"


def check_scores(fit: AdversaryFit) -> Iterator[str]:
    """4. One row is scored as among many, and dense rows as sparse ones."""
    X = as_dense(as_features(fit.train.X))
    scores = fit.model.decision_function(X)
    if not np.isfinite(scores).all():
        yield "scores are not all finite"
        return
    within = SCORES * np.abs(scores).max() + _rounding(fit.model, X)
    alone = np.vstack([fit.model.decision_function(X[[row]]) for row in range(len(X))])
    # Rows of a graph have scores of their own, which a row alone does not where it equals another.
    once = slice(None)
    if isinstance(fit.model, TransductiveModel):
        _, number, count = np.unique(X, axis=0, return_inverse=True, return_counts=True)
        once = count[number.ravel()] == 1
    if not np.abs(alone - scores)[once].max(initial=0.0) <= within:
        yield f"a row alone is scored {np.abs(alone - scores).max():.2e} apart from the row among others"
    if not fit.train.pairwise and not np.abs(fit.model.decision_function(csr_array(X)) - scores).max() <= within:
        yield "sparse rows are scored apart from dense ones"


def _rounding(model, X) -> float:
    """Return what the order of a sum may change in the scores of a model that is one sum."""
    if isinstance(model, (LinearModel, LowRankModel, CompressedModel)):
        terms = np.abs(X) @ np.abs(model.coef.T)
        if isinstance(model, CompressedModel):  # labels D Phi'S m of compressed ones m, where S is up to 1 / v
            terms = terms / (model.s2 + model.c2)
    elif isinstance(model, KernelModel):
        support = np.asarray(model.X_train) if model.kernel == "precomputed" else as_dense(model.X_train)
        K = X[:, support] if model.kernel == "precomputed" else Kernel.of(model)(X, support)
        terms = (np.abs(K) * _conditioning(model, X, support)) @ np.abs(model.dual.T)
    else:
        return 0.0
    return 4 * EPS * float((terms + np.abs(getattr(model, "intercept", 0.0))).max())


def _conditioning(model, X, Z):
    """Return how many times larger the relative error of an inner product is than that of its terms."""
    if model.kernel not in ("polynomial", "linear"):
        return 1.0
    terms, inner, degree = np.abs(X) @ np.abs(Z.T), X @ Z.T, 1
    if model.kernel == "polynomial":
        terms, inner, degree = model.gamma * terms + model.coef0, model.gamma * inner + model.coef0, model.degree
    return degree * terms / np.maximum(np.abs(inner), 1e-300)


def check_shift(fit: AdversaryFit) -> Iterator[str]:
    """4. A constant added to all rows changes nothing where a bias is free or rows are centered."""
    if fit.variant not in fit.family.shift_free or fit.train.pairwise:
        return
    by = SHIFT * 2.0 ** np.ceil(np.log2(1.0 + np.abs(fit.problem.X).max()))
    shifted = replace(fit.problem, X=fit.problem.X + by, X_new=fit.problem.X_new + by, form="dense")
    moved = np.abs((shifted.X - by) - fit.problem.X).max()
    if moved > 0:  # the data themselves have changed
        return
    model, plain = fit.refit(shifted), fit.model
    if not (model.info.converged and plain.info.converged):
        return
    if fit.family.objective is None:
        X = as_dense(as_features(fit.train.X))
        scores = plain.decision_function(X)
        apart = np.abs(model.decision_function(X + by) - scores).max()
        if not apart <= PREDICTIONS * max(np.abs(scores).max(), 1e-300):
            yield f"a constant added to all rows changes scores by {apart:.2e}"
        return
    apart = abs(model.info.objective - plain.info.objective) / max(plain.info.objective, 1e-300)
    if not apart <= model.info.optimality + plain.info.optimality + OBJECTIVE:
        yield f"a constant added to all rows changes the objective by {apart:.2e}"


def check_own(fit: AdversaryFit) -> Iterator[str]:
    """What the family checks by itself."""
    if fit.family.own is not None:
        yield from fit.family.own(fit.solver, fit.model, fit.train)


CHECKS = (check_info, check_objective, check_rivals, check_closed_form, check_scores, check_shift, check_own)
