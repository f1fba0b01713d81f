"""What the baselines share: estimators of their setting `estimator`, and how sure these are of a class."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import Features, FloatArray, IntArray, as_dense
from mlrank.imported import is_path
from mlrank.solvers.base import FitInfo, ModelArrays, ModelMeta
from mlrank.solvers.construct import LEFT_OUT, construct
from mlrank.solvers.estimators import takes_sparse

__all__ = ["LOGISTIC", "NotStored", "check_estimator", "estimator_of", "predictions", "probabilities", "rows_for"]

# Its own 100 iterations are too few for most data that are not scaled.
LOGISTIC, ITERATIONS = "sklearn.linear_model:LogisticRegression", 1000
INSIDE = "estimator__"


def estimator_of(solver: Any, seed: int, check: bool = False) -> Any:
    """Return a new estimator as the settings `estimator` and `estimator__...` of a solver say."""
    values = {entry.name: getattr(solver, entry.name) for entry in dataclasses.fields(solver)}
    inside = {
        name.removeprefix(INSIDE): value
        for name, value in values.items()
        if name.startswith(INSIDE) and value is not LEFT_OUT
    }
    if solver.estimator == LOGISTIC:
        inside.setdefault("max_iter", ITERATIONS)
    return construct(solver.estimator, inside, seed, check)


def check_estimator(solver: Any) -> None:
    """Raise ValueError unless `estimator` names a class that can be made with its settings."""
    if not is_path(solver.estimator):
        raise ValueError(f"estimator must be 'package.module:ClassName', found {solver.estimator!r}")
    try:
        made = estimator_of(solver, 0, check=True)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"estimator cannot be imported: {error}") from error
    missing = [name for name in ("fit", "predict") if not callable(getattr(made, name, None))]
    if missing:
        raise ValueError(f"estimator must have fit and predict, and {solver.estimator} has no {missing[0]}")


def rows_for(solver: Any, X: Features) -> tuple[Features, bool, tuple[str, ...]]:
    """Return rows as the estimator of a solver takes them, whether sparse ones were made dense, and a note if so."""
    if not issparse(X) or takes_sparse(estimator_of(solver, 0)):
        return X, False, ()
    return as_dense(X), True, (f"sparse rows were made dense: {solver.estimator} takes no others",)


def probabilities(machine: Any, X: Features, n_classes: int) -> FloatArray:
    """Return how probable each of the classes 0, 1, ... is, (n_samples, n_classes).

    A machine without ``predict_proba`` is sure of what it predicts.
    """
    found = np.zeros((X.shape[0], n_classes))
    if hasattr(machine, "predict_proba"):
        found[:, np.asarray(getattr(machine, "classes_", range(n_classes)), np.int64)] = machine.predict_proba(X)
    else:
        found[np.arange(X.shape[0]), predictions(machine, X)] = 1.0
    return found


def predictions(machine: Any, X: Features) -> IntArray:
    """Return the class 0, 1, ... that is predicted of each row, (n_samples,)."""
    return np.asarray(as_dense(machine.predict(X)), np.int64).ravel()


@dataclass(frozen=True)
class NotStored:
    """A model with estimators inside, which is not stored.

    Parameters
    ----------
    info : FitInfo
    dense : bool
        Whether sparse rows are made dense for the estimators.
    """

    info: FitInfo
    dense: bool

    def rows(self, X: Features) -> Features:
        """Return rows as the estimators take them."""
        return as_dense(X) if self.dense and issparse(X) else X

    def arrays(self) -> ModelArrays:
        """Raise ValueError: estimators are not stored."""
        raise ValueError("fitted estimators would have to be pickled, and a pickle can run code when it is read")

    def meta(self) -> ModelMeta:
        """Raise ValueError: estimators are not stored."""
        raise ValueError("fitted estimators would have to be pickled, and a pickle can run code when it is read")
