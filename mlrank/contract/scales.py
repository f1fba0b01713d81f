"""Checks on badly scaled problems: is a certificate true where features, rows or cells are of unlike size?

A solver may give up on such a problem, with a ValueError or `converged` False. It may not claim what is not so. What an
objective is, only the solver can say: with a method ``objective_of(model, train)`` it is recomputed, and models made in
another way are judged by it.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mlrank.arrays import BoolArray, FloatArray
from mlrank.contract.subject import Broken, NotApplicable, Subject, random_problem
from mlrank.solvers import Capabilities, LinearModel, TrainingSet
from mlrank.solvers.models import KernelModel

__all__ = ["SCALE_CHECKS"]

# What objectives may differ by, relative; a bound that is broken by less is rounding.
OBJECTIVES, ROUNDING = 1e-6, 1e-9
# What one step of one weight may take off the objective of a closed form, relative.
STEP = 1e-9
# How near the scores of a row must be, alone and among others.
ALONE = 1e-9
EPS = float(np.finfo(np.float64).eps)
FACTORS = (0.0, 0.5, 0.9, 1.1, 2.0)


class OddProblem(NamedTuple):
    """A badly scaled problem; `odd_column` and `odd_row` can be left out of it."""

    name: str
    X: FloatArray
    Y: BoolArray
    odd_column: int | None = None
    odd_row: int | None = None


def odd_problems() -> Iterator[OddProblem]:
    """Yield problems whose features, rows or cells are of unlike size."""
    X, Y = random_problem(n=30, m=5, k=4)
    yield OddProblem("columns of 1e-4 to 1e4", X * 10.0 ** np.linspace(-4, 4, X.shape[1]), Y)
    yield OddProblem("one column times 1e6", X * np.where(np.arange(X.shape[1]) == 1, 1e6, 1.0), Y, odd_column=1)
    cell = X.copy()
    cell[5, 2] = 1e6
    yield OddProblem("one cell of 1e6", cell, Y, odd_row=5)
    yield OddProblem("an offset of 1e6", X + 1e6, Y)
    still = np.column_stack([X, X[:, 0], np.zeros(len(X)), np.full(len(X), 1e3)])
    yield OddProblem("equal and constant columns", still, Y)
    yield OddProblem("more features than rows", np.random.default_rng(1).standard_normal((12, 30)), Y[:12])


class OddFit(NamedTuple):
    """A model of a badly scaled problem, or the error that the fit ended with."""

    problem: OddProblem
    solver: Any
    train: TrainingSet
    model: Any

    def objective(self, model: Any) -> float:
        """Return the objective of a model, as the solver says."""
        return float(self.solver.objective_of(model, self.train))

    def claim(self, condition: Any, message: str) -> None:
        """Raise Broken with the name of the problem unless `condition` holds."""
        if not condition:
            raise Broken(f"{self.problem.name}: {message}")


def _tries(subject: Subject) -> list[OddFit]:
    """Return what came of all problems, the error in place of the model of a fit that failed; they are fitted once."""
    if not subject.odd_fits:
        for problem in odd_problems():
            solver, train = subject.made(), TrainingSet(problem.X, problem.Y)
            try:
                model = solver.fit(train)
            except Exception as error:
                model = error
            subject.odd_fits.append(OddFit(problem, solver, train, model))
    return subject.odd_fits


def _fits(subject: Subject) -> Iterator[OddFit]:
    """Yield the models of all problems that the solver does not refuse with a ValueError."""
    for fit in _tries(subject):
        if isinstance(fit.model, (ValueError, MemoryError)):
            continue
        if isinstance(fit.model, Exception):
            raise fit.model
        yield fit


def _fits_with_objective(subject: Subject) -> Iterator[OddFit]:
    if not Capabilities.of(subject.solver).states_objective:
        raise NotApplicable("it has no objective_of(model, train), which says what its objective is")
    return _fits(subject)


def check_scales(subject: Subject) -> None:
    """Badly scaled problems are fitted or refused with a ValueError; certificates are finite and decide `converged`."""
    for fit in _tries(subject):
        problem, solver, _, model = fit
        if isinstance(model, ValueError):
            continue
        if isinstance(model, Exception):
            raise Broken(f"{problem.name}: {type(model).__name__}: {' '.join(f'{model}'.split())}") from model
        info = model.info
        fit.claim(np.isfinite(model.decision_function(problem.X)).all(), "scores are not all finite")
        if np.isnan(info.optimality) and Capabilities.of(subject.solver).certificate is None:
            continue
        fit.claim(np.isfinite(info.optimality), f"optimality is {info.optimality}")
        fit.claim(info.optimality >= -ROUNDING, f"optimality is {info.optimality:.1e}, below 0")
        tol = getattr(solver, "tol", None)
        over = info.converged and tol is not None and not info.optimality <= tol
        fit.claim(not over, f"converged with optimality {info.optimality:.1e} and tol={tol}")


def check_objective(subject: Subject) -> None:
    """The objective is that of the returned model on the rows that were given."""
    for fit in _fits_with_objective(subject):
        found, true = fit.model.info.objective, fit.objective(fit.model)
        same = abs(found - true) <= OBJECTIVES * abs(true) + 1e-300
        fit.claim(same, f"objective_of the model is {true:.9g}, and its info says {found:.9g}")


def check_bound(subject: Subject) -> None:
    """No model made in another way is better than the certificate allows."""
    kind = Capabilities.of(subject.solver).certificate
    if kind not in (None, "gap"):
        raise NotApplicable(f"its certificate is a {kind}, which is no bound of the objective")
    for fit in _fits_with_objective(subject):
        info = fit.model.info
        bound = info.objective * (1.0 - info.optimality) - ROUNDING * abs(info.objective)
        for rival in _rivals(subject, fit):
            value = fit.objective(rival)
            fit.claim(not value < bound, f"a feasible model has objective {value:.9g}, below the bound {bound:.9g}")


def _rivals(subject: Subject, fit: OddFit) -> Iterator[Any]:
    """Yield models with weights made larger or smaller, and one fitted without the odd row or column."""
    model, problem = fit.model, fit.problem
    name = "coef" if isinstance(model, LinearModel) else "dual" if isinstance(model, KernelModel) else None
    if name is None:
        return
    for factor in FACTORS:
        yield replace(model, **{name: factor * getattr(model, name), "intercept": factor * model.intercept})
    X, Y = problem.X.copy(), problem.Y
    if problem.odd_column is not None and name == "coef":
        X[:, problem.odd_column] = 0.0
        other = subject.made().fit(TrainingSet(X, Y))
        coef = other.coef.copy()
        coef[:, problem.odd_column] = 0.0
        yield replace(other, coef=coef)
    if problem.odd_row is not None:
        kept = np.delete(np.arange(len(X)), problem.odd_row)
        yield subject.made().fit(TrainingSet(X[kept], Y[kept]))


def check_stationary(subject: Subject) -> None:
    """A closed form that has converged is stationary: no step of one weight lowers its objective."""
    if Capabilities.of(subject.solver).certificate != "backward error":
        raise NotApplicable("its certificate is no backward error: CERTIFICATE says so of closed forms")
    for fit in _fits_with_objective(subject):
        model = fit.model
        if not (model.info.converged and isinstance(model, LinearModel)):
            continue
        value = fit.objective(model)
        sizes = np.sqrt((fit.problem.X**2).mean(axis=0))
        for label, feature in np.ndindex(model.coef.shape):
            if sizes[feature] == 0:
                continue
            step = 1e-3 / sizes[feature]
            above, below = (fit.objective(_moved(model, label, feature, by)) for by in (step, -step))
            slope, bend = (above - below) / 2, above + below - 2 * value
            gain = slope**2 / (2 * bend) if bend > EPS * abs(value) else 0.0
            message = f"converged, and one weight of feature {feature} can take {gain:.1e} off the objective"
            fit.claim(gain <= STEP * abs(value) + EPS, message)


def _moved(model: LinearModel, label: int, feature: int, by: float) -> LinearModel:
    coef = model.coef.copy()
    coef[label, feature] += by
    return replace(model, coef=coef)


def check_one_row(subject: Subject) -> None:
    """A row is scored alone as among others, and sparse as dense, on any scale."""
    if Capabilities.of(subject.solver).transductive:
        raise NotApplicable("its models score only rows that they were given")
    for fit in _fits(subject):
        X, model = fit.problem.X, fit.model
        scores = model.decision_function(X)
        within = ALONE * float(np.abs(scores).max()) + _rounding(model, X)
        alone = np.vstack([model.decision_function(X[[row]]) for row in range(len(X))])
        apart = float(np.abs(alone - scores).max())
        fit.claim(apart <= within, f"a row alone is scored {apart:.1e} apart from the row among others")
        apart = float(np.abs(model.decision_function(csr_array(X)) - scores).max())
        fit.claim(apart <= within, f"sparse rows are scored {apart:.1e} apart from dense ones")


def _rounding(model: Any, X: FloatArray) -> float:
    """Return what the order of a sum may change in scores that are products with weights."""
    coef = getattr(model, "coef", None)
    if (
        not hasattr(model, "intercept")
        or not isinstance(coef, np.ndarray)
        or coef.ndim != 2
        or coef.shape[1] != X.shape[1]
    ):
        return 0.0
    return 8 * EPS * float((np.abs(X) @ np.abs(coef.T) + np.abs(model.intercept)).max())


SCALE_CHECKS: dict[str, Callable[[Subject], None]] = {
    "scales": check_scales,
    "objective": check_objective,
    "bound": check_bound,
    "stationary": check_stationary,
    "one_row": check_one_row,
}
