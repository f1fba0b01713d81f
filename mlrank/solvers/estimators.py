"""Estimators of scikit-learn's interface as solvers, named by their import path: ``sklearn.svm:LinearSVC``.

An estimator that takes several labels at once is fitted to all of them; of any other each label gets one of its own,
and a label of which all rows or none have it gets a constant score. Scores are what ``decision_function`` gives, else
probabilities less one half, else predictions less one half, so that zero is the natural cut of all of them. There is no
certificate. Linear machines are stored as weights; other models are not stored, as that would take pickles, which can
run code when they are read.

A fit costs what the estimator costs, times the number of labels where each has its own.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from inspect import Parameter
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import Features, FloatArray, IntArray, as_dense
from mlrank.imported import import_object
from mlrank.solvers.base import FitInfo, ModelMeta, TrainingSet
from mlrank.solvers.construct import (
    LEFT_OUT,
    THREADS,
    construct,
    parameters,
    recorded_warnings,
    settings_inside,
    warned,
)
from mlrank.solvers.models import LinearModel

__all__ = ["estimator_solver", "is_estimator", "iterations", "takes_sparse", "with_settings_inside"]

# The name of a class that `__getattr__` makes again, in a worker: its estimator and nested settings follow.
PREFIX = "of_"
# Packages whose classifiers take a matrix of labels, whatever their tags say.
MATRIX_ONLY = ("skmultilearn",)


def is_estimator(value: object) -> bool:
    """Return whether a class is that of an estimator which predicts labels."""
    methods = ("fit", "predict", "get_params", "set_params")
    return isinstance(value, type) and all(callable(getattr(value, name, None)) for name in methods)


def estimator_solver(place: str, settings: Iterable[str] = ()) -> type[Any]:
    """Return the solver of an estimator, a frozen dataclass of the estimator's settings.

    Parameters
    ----------
    place : "package.module:ClassName"
    settings : the names that a configuration gives; those of nested estimators (``estimator__C``) become settings

    Raises
    ------
    ValueError
        If the class cannot be made into a solver.
    """
    return _made(PREFIX + "|".join((place, *settings_inside(settings))).encode().hex())


def with_settings_inside(solver: type[Any], settings: Iterable[str]) -> type[Any]:
    """Return a solver of ours that fits estimators, with those of `settings` that are settings of its estimator."""
    nested = [name for name in settings_inside(settings) if name.startswith("estimator__")]
    place = f"{solver.__module__}:{solver.__qualname__}"
    return _made(PREFIX + "|".join((place, *nested)).encode().hex()) if nested else solver


def __getattr__(name: str) -> type[Any]:
    """Return the solver class of a name, so that pickles of its instances find it in any process."""
    if name.startswith(PREFIX):
        return _made(name)
    raise AttributeError(name)


@cache
def _made(name: str) -> type[Any]:
    place, *nested = bytes.fromhex(name.removeprefix(PREFIX)).decode().split("|")
    kind: type[Any] = import_object(place)
    if dataclasses.is_dataclass(kind):  # a solver of ours
        added = [(setting, Any, LEFT_OUT) for setting in nested]
        made = dataclasses.make_dataclass(name, added, bases=(kind,), frozen=True)
    else:
        # A chain goes through the labels in turn.
        namespace: dict[str, object] = {"PLACE": place, "BY_PLACE": "order" in parameters(kind)}
        made = dataclasses.make_dataclass(
            name, _fields_of(kind, nested), bases=(_Estimator,), frozen=True, namespace=namespace
        )
    made.__module__ = __name__
    return made


def _fields_of(kind: type[Any], nested: Sequence[str]) -> list[Any]:
    known = {name: default for name, default in parameters(kind).items() if name not in THREADS}
    lists = {
        setting.partition("__")[0] for setting in nested if setting.partition("__")[2].partition("__")[0].isdigit()
    }
    fields: list[Any] = []
    for name, default in known.items():
        if name in lists:  # its parts are given one by one
            continue
        if default is Parameter.empty:
            fields.append((name, Any))
        else:  # from a factory, as a default may be a list
            fields.append((name, Any, dataclasses.field(default_factory=partial(_itself, default))))
    fields += [(setting, Any, LEFT_OUT) for setting in nested if setting not in known]
    if nested or {"random_state", "estimator"} & set(known):
        fields.append(("seed", int, 0))
    return fields


def _itself(value: object) -> object:
    return value


class _Estimator:
    """What solvers of estimators share; their fields are the estimator's settings."""

    PLACE: ClassVar[str]
    SHARED: ClassVar[tuple[str, ...]] = ()
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False
    USES_KNOWN: ClassVar[bool] = False
    TAKES_ESTIMATORS: ClassVar[bool] = True
    LOADS: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    def __post_init__(self) -> None:
        """Construct the estimator, which refuses settings that it does not know; some check values too."""
        self._estimator(check=True)

    def fit(self, train: TrainingSet, prepared: object = None) -> "LinearModel | EstimatorModel":
        """Fit the estimator to all labels that vary at once where it takes them, else one for each of these."""
        X, targets = train.X, train.dense_Y.astype(np.int64)
        varied = np.flatnonzero(train.dense_Y.any(axis=0) & ~train.dense_Y.all(axis=0))
        with recorded_warnings() as caught:
            whole = self._estimator()
            dense = issparse(X) and not takes_sparse(whole)
            X = as_dense(X) if dense else X
            together = bool(varied.size) and _takes_many(whole, varied.size)
            columns = [targets[:, varied]] if together else list(targets[:, varied].T)
            machines = tuple(self._estimator().fit(X, column) for column in columns)
        converged, notes = warned(caught)
        notes += (f"sparse rows were made dense: {self.PLACE} takes no others",) if dense else ()
        info = FitInfo(iterations(machines), np.nan, np.nan, converged, notes)
        constants = np.where(train.dense_Y[0], 0.5, -0.5)
        if not together and all(_is_linear(one, train.n_features) for one in machines):
            return _linear(machines, varied, constants, train.n_features, info)
        return EstimatorModel(machines, together, varied, constants, info, dense)

    def _estimator(self, check: bool = False) -> Any:
        """Return a new estimator with these settings, one thread and this seed."""
        entries = dataclasses.fields(self)  # type: ignore[arg-type]
        given = {entry.name: getattr(self, entry.name) for entry in entries if entry.name != "seed"}
        return construct(self.PLACE, given, getattr(self, "seed", 0), check)


def _takes_many(estimator: Any, n_labels: int) -> bool:
    """Return whether an estimator is to be fitted to a matrix of so many labels."""
    if type(estimator).__module__.partition(".")[0] in MATRIX_ONLY:
        return True
    if not hasattr(estimator, "__sklearn_tags__") and not hasattr(estimator, "_get_tags"):
        return False
    try:
        from sklearn.utils import get_tags
    except ImportError:  # before 1.6
        tags = estimator._get_tags()
        return bool(tags.get("multioutput_only") or (tags.get("multilabel") and n_labels > 1))
    found = get_tags(estimator)
    if found.target_tags.multi_output and not found.target_tags.single_output:
        return True
    return n_labels > 1 and found.classifier_tags is not None and bool(found.classifier_tags.multi_label)


def takes_sparse(estimator: Any) -> bool:
    """Return whether an estimator takes sparse rows, as its tags say; one without tags is taken to."""
    try:
        from sklearn.utils import get_tags

        return bool(get_tags(estimator).input_tags.sparse)
    except (ImportError, AttributeError):  # before 1.6, or of another library
        return True


def iterations(machines: Sequence[Any]) -> int:
    """Return the largest number of iterations that an estimator of scikit-learn reports, 1 if none does."""
    found = [one.n_iter_ for one in machines if getattr(one, "n_iter_", None) is not None]
    counts = [np.max(one) for one in found if np.size(one)]
    return int(max(counts, default=1))


def _linear(
    machines: Sequence[Any], varied: IntArray, constants: FloatArray, n_features: int, info: FitInfo
) -> LinearModel:
    """Return linear machines as one model; labels without a machine keep their constants."""
    coef, intercept = np.zeros((len(constants), n_features)), np.array(constants)
    for label, one in zip(varied, machines, strict=True):
        coef[label] = np.ravel(as_dense(one.coef_))
        intercept[label] = np.ravel(one.intercept_)[0]
    return LinearModel(coef, intercept, info)


def _is_linear(machine: Any, n_features: int) -> bool:
    weights = all(hasattr(machine, name) for name in ("coef_", "intercept_", "decision_function"))
    return weights and np.size(as_dense(machine.coef_)) == n_features and np.size(machine.intercept_) == 1


@dataclass(frozen=True)
class EstimatorModel:
    """Fitted estimators: one for all labels that vary, or one for each of them.

    Parameters
    ----------
    machines : tuple of fitted estimators
    together : bool
        Whether the one machine has all labels that vary.
    varied : (n_varied,) ndarray of int
        Labels that some training rows have and some do not.
    constants : (n_labels,) ndarray
        Scores of the other labels.
    info : FitInfo
    dense : bool
        Whether sparse rows are made dense for them.
    """

    machines: tuple[Any, ...]
    together: bool
    varied: IntArray
    constants: FloatArray
    info: FitInfo
    dense: bool = False

    def decision_function(self, X: Features) -> FloatArray:
        """Return scores (n_samples, n_labels)."""
        scores = np.tile(self.constants, (X.shape[0], 1))
        X = as_dense(X) if self.dense and issparse(X) else X
        if self.together:
            scores[:, self.varied] = _scores_of_all(self.machines[0], X, self.varied.size)
            return scores
        for label, machine in zip(self.varied, self.machines, strict=True):
            scores[:, label] = _scores_of_one(machine, X)
        return scores

    def arrays(self) -> Mapping[str, FloatArray]:
        """Raise ValueError: estimators are not stored."""
        raise ValueError("fitted estimators would have to be pickled, and a pickle can run code when it is read")

    def meta(self) -> ModelMeta:
        """Raise ValueError: estimators are not stored."""
        raise ValueError("fitted estimators would have to be pickled, and a pickle can run code when it is read")


def _scores_of_one(machine: Any, X: Features) -> FloatArray:
    """Return the scores of the rows for the class 1, (n_samples,)."""
    if hasattr(machine, "decision_function"):
        return np.asarray(machine.decision_function(X), np.float64).ravel()
    if hasattr(machine, "predict_proba"):
        return np.asarray(machine.predict_proba(X), np.float64)[:, 1] - 0.5
    return np.asarray(as_dense(machine.predict(X)), np.float64).ravel() - 0.5


def _scores_of_all(machine: Any, X: Features, n_labels: int) -> FloatArray:
    """Return the scores of the rows for all labels, (n_samples, n_labels)."""
    if hasattr(machine, "decision_function"):
        found = machine.decision_function(X)
        if np.shape(found) == (X.shape[0], n_labels):
            return np.asarray(found, np.float64)
    if hasattr(machine, "predict_proba"):
        found = machine.predict_proba(X)
        if isinstance(found, list):  # of each label the probabilities of 0 and 1
            found = np.column_stack([part[:, 1] for part in found])
        return np.asarray(as_dense(found), np.float64) - 0.5
    return np.asarray(as_dense(machine.predict(X)), np.float64) - 0.5
