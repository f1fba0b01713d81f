"""What a family of solvers tells the checks about itself."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mlrank.arrays import as_dense, as_features
from mlrank.solvers import LinearModel, Model, TrainingSet
from mlrank.solvers.models import KernelModel

__all__ = ["Family", "kernel_values", "linear_rivals", "norm_and_scores", "signs_of"]

LONG = np.longdouble


@dataclass(frozen=True)
class Family:
    """Solvers that share an objective, each under the name of its variant.

    Parameters
    ----------
    solvers : variant -> solver
    objective : (solver, model, train) -> the objective of the model on the given rows, from the definition, in plain
        numpy; the certificate then is a relative gap. None where a family has no objective, or it is not known.
    rivals : (solver, model, train) -> models made in another way from the model, whose objective cannot be below the
        bound. Models fitted without the odd row or column come on top wherever there is an objective.
    backward_error : (solver, model, train) -> relative residual of the normal equations on the given rows, each
        right-hand side for itself; converged means at most 1e-10 for a closed form
    reference : (solver, model, train, X) -> scores of the rows X by an SVD or QR of equilibrated rows
    strength : the setting that the factor of a problem multiplies
    nonnegative : variants that need features of at least 0
    shift_free : variants whose scores no constant added to all rows changes
    skip : beginnings of the names of problems that mean nothing to the family
    own : (solver, model, train) -> what is wrong, found by a check of the family's own
    pending : whether faults are known and not mended yet; ``make test`` then leaves the family out
    """

    solvers: Mapping[str, Any]
    objective: Callable[[Any, Model, TrainingSet], float] | None = None
    rivals: Callable[[Any, Model, TrainingSet], Iterable[Model]] | None = None
    backward_error: Callable[[Any, Model, TrainingSet], float] | None = None
    reference: Callable[[Any, Model, TrainingSet, np.ndarray], np.ndarray] | None = None
    strength: str | None = "C"
    nonnegative: tuple[str, ...] = ()
    shift_free: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    own: Callable[[Any, Model, TrainingSet], Iterable[str]] | None = None
    pending: bool = False

    def solver(self, variant, factor=1.0):
        """Return a variant, the weight of its loss or penalty multiplied by `factor`."""
        solver = self.solvers[variant]
        if factor == 1.0:
            return solver
        if self.strength is None:
            return None
        return replace(solver, **{self.strength: factor * getattr(solver, self.strength)})


def dense(X):
    """Return features as a dense array of long doubles."""
    return as_dense(as_features(X)).astype(LONG)


def signs_of(train: TrainingSet):
    """Return +1 and -1 for relevant and irrelevant labels."""
    return np.where(train.Y, LONG(1), LONG(-1))


def kernel_values(kind, X, Z, gamma=1.0, degree=3, coef0=1.0):
    """Return kernel values from the definition, one pair of rows at a time, in long doubles."""
    gamma, coef0 = LONG(gamma), LONG(coef0)
    if kind in ("linear", "polynomial"):
        inner = X @ Z.T
        return inner if kind == "linear" else (gamma * inner + coef0) ** int(degree)
    apart, whole = X[:, None] - Z[None], X[:, None] + Z[None]
    if kind == "rbf":
        return np.exp(-gamma * (apart**2).sum(axis=2))
    ratio = np.divide(apart**2, whole, out=np.zeros_like(whole), where=whole != 0)
    if kind == "chi2":
        return np.exp(-gamma * ratio.sum(axis=2))
    product = np.divide(2 * X[:, None] * Z[None], whole, out=np.zeros_like(whole), where=whole != 0)
    return product.sum(axis=2)


def norm_and_scores(model, train: TrainingSet, penalized_bias=None):
    """Return sum_k |f_k|^2 and the scores of the training rows, of a linear or a kernel model, in long doubles.

    `penalized_bias` : of a kernel model, whether intercepts are the sum of the dual variables of K + 1; of a linear
    one, whether the square of intercepts counts
    """
    if isinstance(model, LinearModel):
        W, b = model.coef.astype(LONG), model.intercept.astype(LONG)
        square = (W**2).sum() + ((b**2).sum() if penalized_bias else LONG(0))
        return square, dense(train.X) @ W.T + b
    assert isinstance(model, KernelModel)
    dual = model.dual.astype(LONG)
    X = dense(train.X)
    if model.kernel == "precomputed":
        rows = np.asarray(model.X_train)
        K, inner = X[:, rows], X[np.ix_(rows, rows)]
    else:
        constants = (model.gamma, model.degree, model.coef0)
        Z = dense(model.X_train)
        K, inner = kernel_values(model.kernel, X, Z, *constants), kernel_values(model.kernel, Z, Z, *constants)
    square = (dual * (dual @ inner)).sum()
    if penalized_bias:
        square += (dual.sum(axis=1) ** 2).sum()
    return square, K @ dual.T + model.intercept.astype(LONG)


def linear_rivals(solver, model, train):
    """Yield models of which none may be better than the bound: all weights, those of a label or of a feature scaled."""
    name = "coef" if isinstance(model, LinearModel) else "dual"
    weights = getattr(model, name)
    for factor in (0.0, 0.5, 0.9, 0.99, 1.01, 1.1, 2.0):
        yield replace(model, **{name: factor * weights, "intercept": factor * model.intercept})
    if name == "dual":
        return
    for column in range(min(weights.shape[1], 8)):
        for factor in (0.0, 0.9, 1.1):
            changed = weights.copy()
            changed[:, column] *= factor
            yield replace(model, **{name: changed})
