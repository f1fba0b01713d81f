"""Each check of the contract finds the solver that breaks it, and passes one that does not."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.sparse import issparse

from mlrank.contract import CHECKS, Broken, Subject, verdict
from mlrank.solvers import LinearModel, TrainingSet
from mlrank.solvers.base import FitInfo


@dataclass(frozen=True)
class Ridge:
    """Least squares with a penalty: right in everything."""

    C: float = 1.0
    tol: float = 1e-6
    max_iter: int = 100

    SHARED = ()
    USES_KNOWN = False

    def prepare(self, train):
        X = train.X.toarray() if issparse(train.X) else train.X
        return np.linalg.eigh(X.T @ X)

    def fit(self, train: TrainingSet, prepared=None):
        values, vectors = self.prepare(train) if prepared is None else prepared
        X = train.X.toarray() if issparse(train.X) else train.X
        target = np.where(train.Y, 1.0, -1.0)
        level = target.mean(axis=0)
        coef = (vectors / (values + 1 / self.C)) @ (vectors.T @ (X.T @ (target - level)))
        return LinearModel(coef.T.copy(), level, self.info())

    def info(self):
        return FitInfo(1, float("nan"), 0.0, True)

    def cost(self, n, d, k):
        return float(n * d * k), 8.0 * n * d


@dataclass(frozen=True)
class WrongShape(Ridge):
    def fit(self, train, prepared=None):
        model = super().fit(train, prepared)
        return LinearModel(model.coef[:-1], model.intercept[:-1], model.info)


@dataclass(frozen=True)
class NoInfo(Ridge):
    def info(self):
        return {"converged": True}


@dataclass(frozen=True)
class Writes(Ridge):
    def fit(self, train, prepared=None):
        Y = np.asarray(train.Y.base if train.Y.base is not None else train.Y)
        Y.flags.writeable = True
        Y[0] = ~Y[0]
        return super().fit(train, prepared)


@dataclass(frozen=True)
class DenseAlone(Ridge):
    def fit(self, train, prepared=None):
        if issparse(train.X):
            raise TypeError("dense only")
        return super().fit(train, prepared)


@dataclass(frozen=True)
class SparseIsOther(Ridge):
    def fit(self, train, prepared=None):
        model = super().fit(train, prepared)
        return replace(model, coef=model.coef * (1.01 if issparse(train.X) else 1.0))


@dataclass(frozen=True)
class Unseeded(Ridge):
    def fit(self, train, prepared=None):
        model = super().fit(train, prepared)
        return replace(model, coef=model.coef + 1e-9 * np.random.default_rng().standard_normal(model.coef.shape))


class LocalModel(LinearModel):
    def __reduce__(self):
        raise TypeError("cannot be sent")


@dataclass(frozen=True)
class Stays(Ridge):
    def fit(self, train, prepared=None):
        model = super().fit(train, prepared)
        return LocalModel(model.coef, model.intercept, model.info)


@dataclass(frozen=True)
class FavoursFirstLabel(Ridge):
    def fit(self, train, prepared=None):
        model = super().fit(train, prepared)
        return replace(model, intercept=model.intercept + (np.arange(len(model.intercept)) == 0))


@dataclass(frozen=True)
class FavoursFirstRow(Ridge):
    def fit(self, train, prepared=None):
        model = super().fit(train, prepared)
        first = train.X[[0]]
        return replace(model, intercept=model.intercept + float(first.sum()))


@dataclass(frozen=True)
class NoBias(Ridge):
    def fit(self, train, prepared=None):
        model = super().fit(train, prepared)
        return replace(model, intercept=0.0 * model.intercept)


@dataclass(frozen=True)
class FailsOnOpposites(Ridge):
    def fit(self, train, prepared=None):
        if train.n_samples == 80:
            raise np.linalg.LinAlgError("singular")
        return super().fit(train, prepared)


@dataclass(frozen=True)
class Overclaims(Ridge):
    def info(self):
        return FitInfo(1, 1.0, 0.1, True)


@dataclass(frozen=True)
class NeverConverges(Ridge):
    def info(self):
        return FitInfo(1, 1.0, 0.1, False)


@dataclass(frozen=True)
class HidesGivingUp(Ridge):
    def info(self):
        return FitInfo(self.max_iter, 1.0, 0.0 if self.max_iter > 1 else 1.0, True)


@dataclass(frozen=True)
class PreparesTooMuch(Ridge):
    def prepare(self, train):
        values, vectors = super().prepare(train)
        return values + 1 / self.C, vectors


@dataclass(frozen=True)
class IgnoresKnown(Ridge):
    USES_KNOWN = True


@dataclass(frozen=True)
class CostsNothing(Ridge):
    def cost(self, n, d, k):
        return 1.0, 8.0


class Squared(LinearModel):
    def decision_function(self, X):
        return super().decision_function(X) ** 3


@dataclass(frozen=True)
class StoresAnother(Ridge):
    def fit(self, train, prepared=None):
        model = super().fit(train, prepared)
        return Squared(model.coef, model.intercept, model.info)


BREAKERS = [
    ("scores", WrongShape, "shape (7, 4) instead of (7, 5)"),
    ("scores", NoInfo, "info is a dict, not a FitInfo"),
    ("input", Writes, "the training data were changed by the fit"),
    ("sparse", DenseAlone, "TypeError: dense only"),
    ("sparse", SparseIsOther, "they differ by"),
    ("repeated", Unseeded, "two equal fits gave different scores"),
    ("pickle", Stays, "TypeError: cannot be sent"),
    ("label_order", FavoursFirstLabel, "labels in another order give other scores: they differ by"),
    ("row_order", FavoursFirstRow, "training rows in another order give another model"),
    ("degenerate", NoBias, "a label that no row carries is scored as high as one that all rows carry"),
    ("duplicates", FailsOnOpposites, "LinAlgError: singular"),
    ("certificate", Overclaims, "converged with optimality 1.0e-01"),
    ("certificate", NeverConverges, "did not converge to tol=0.01: optimality 1.0e-01"),
    ("giving_up", HidesGivingUp, "converged=True with optimality 1.0e+00 and tol=1e-6"),
    ("prepare", PreparesTooMuch, "with what was prepared and C="),
    ("known", IgnoresKnown, "unknown entries are taken as absent"),
    ("cost", CostsNothing, "the operations do not grow with the rows"),
]


@pytest.mark.parametrize(("check", "solver", "told"), BREAKERS, ids=lambda value: getattr(value, "__name__", None))
def test_a_broken_solver_is_found_and_told_in_one_line(check, solver, told):
    found = verdict(Subject(solver), check)
    assert found.outcome == "failed"
    assert told in found.message
    assert "\n" not in found.message


@pytest.mark.parametrize("check", CHECKS)
def test_a_sound_solver_passes_or_is_passed_over(check):
    found = verdict(Subject(Ridge), check)
    assert found.outcome == ("skipped" if check == "known" else "passed"), found.message


def test_a_model_that_is_another_kind_than_it_says_is_not_stored():
    found = verdict(Subject(StoresAnother), "stored")
    assert found.outcome == "skipped"
    assert "a model of other scores came back" in found.message


def test_every_check_has_a_solver_that_breaks_it():
    assert {check for check, *_ in BREAKERS} | {"stored"} == set(CHECKS)


def test_a_sound_solver_that_says_it_minimizes_something_it_does_not():
    with pytest.raises(Broken, match="the objective is nan"):
        CHECKS["certificate"](Subject(Ridge, objective=True))
    CHECKS["certificate"](Subject(Ridge, objective=False))
