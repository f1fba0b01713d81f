"""Each check of the contract finds the solver that breaks it, and passes one that does not."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.sparse import issparse

from mlrank.contract import CHECKS, Broken, Subject, verdict
from mlrank.labels import top_of
from mlrank.solvers import LinearModel, TrainingSet
from mlrank.solvers.base import WHOLE, FitInfo


@dataclass(frozen=True)
class Ridge:
    """Least squares with a penalty: right in everything."""

    C: float = 1.0
    tol: float = 1e-6
    max_iter: int = 100

    SHARED = ()
    USES_KNOWN = False
    CERTIFICATE = "backward error"

    def prepare(self, train):
        X = train.X.toarray() if issparse(train.X) else train.X
        return np.linalg.svd(X, full_matrices=False)

    def fit(self, train: TrainingSet, prepared=None):
        left, values, right = self.prepare(train) if prepared is None else prepared
        target = np.where(train.Y, 1.0, -1.0)
        level = target.mean(axis=0)
        coef = (right.T * (values / (values**2 + 1 / self.C))) @ (left.T @ (target - level))
        model = LinearModel(coef.T.copy(), level, self.info())
        if not isinstance(model.info, FitInfo) or not np.isnan(model.info.objective):
            return model
        return replace(model, info=replace(model.info, objective=self.objective_of(model, train)))

    def objective_of(self, model, train):
        target = np.where(train.Y, 1.0, -1.0)
        rest = train.X @ model.coef.T + model.intercept - target
        return float((rest**2).sum() + (model.coef**2).sum() / self.C)

    def info(self):
        return FitInfo(1, float("nan"), 1e-15, True)

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
class SparseLabelsAreOther(Ridge):
    SPARSE_LABELS = True

    def fit(self, train, prepared=None):
        model = super().fit(replace(train, Y=train.dense_Y), prepared)
        return replace(model, coef=model.coef * (1.01 if issparse(train.Y) else 1.0))


class RoughModel(LinearModel):
    def top_scores(self, X, k):
        found = top_of(self.decision_function(X), k)
        return found.labels, found.scores + 0.01


@dataclass(frozen=True)
class RoughAtTheTop(Ridge):
    def fit(self, train, prepared=None):
        model = super().fit(train, prepared)
        return RoughModel(model.coef, model.intercept, model.info)


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
        left, values, right = super().prepare(train)
        return left, values + 1 / self.C, right


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


@dataclass(frozen=True)
class Divides(Ridge):
    def fit(self, train, prepared=None):
        if not issparse(train.X) and (np.ptp(train.X, axis=0) == 0).any():
            raise ZeroDivisionError("a constant feature")
        return super().fit(train, prepared)


@dataclass(frozen=True)
class Unbounded(Ridge):
    def info(self):
        return FitInfo(1, 1.0, float("nan"), True)


@dataclass(frozen=True)
class Negative(Ridge):
    def info(self):
        return FitInfo(1, 1.0, -1e-3, True)


@dataclass(frozen=True)
class ObjectiveOfOtherRows(Ridge):
    """Its objective is that of rows in single precision."""

    def fit(self, train, prepared=None):
        model = super().fit(train, prepared)
        other = TrainingSet(train.X.astype(np.float32).astype(np.float64), train.Y)
        return replace(model, info=replace(model.info, objective=self.objective_of(model, other)))


@dataclass(frozen=True)
class HalfWay(Ridge):
    """Stops at half the weights and claims to be at the optimum."""

    CERTIFICATE = "gap"

    def fit(self, train, prepared=None):
        model = super().fit(train, prepared)
        model = replace(model, coef=0.5 * model.coef)
        return replace(model, info=replace(model.info, objective=self.objective_of(model, train)))


@dataclass(frozen=True)
class HalfWayClosed(HalfWay):
    CERTIFICATE = "backward error"


@dataclass(frozen=True)
class Truncated(Ridge):
    """Leaves out what is small beside the largest singular value."""

    def prepare(self, train):
        left, values, right = super().prepare(train)
        return left, np.where(values > 1e-5 * values[0], values, 0.0), right


@dataclass(frozen=True)
class TruncatedGap(Truncated):
    """As above, and claims a gap: only a model without the large column shows it."""

    CERTIFICATE = "gap"


class Batched(LinearModel):
    def decision_function(self, X):
        found = super().decision_function(X)
        return found - found.mean(axis=0)


@dataclass(frozen=True)
class CentersTogether(Ridge):
    def fit(self, train, prepared=None):
        model = super().fit(train, prepared)
        return Batched(model.coef, model.intercept, model.info)


@dataclass(frozen=True)
class BlocksTogether(Ridge):
    """Takes the mean weights of the labels of a block off each of them: what a label gets depends on its block."""

    def fit_block(self, train, block, prepared=None):
        labels = block.of(np.arange(train.n_labels))
        coef = Ridge.fit(self, train).coef[labels]
        return labels, coef - coef.mean(axis=0)

    def join(self, train, parts):
        model = Ridge.fit(self, train)
        coef = np.empty_like(model.coef)
        for labels, own in parts:
            coef[labels] = own
        return LinearModel(coef, model.intercept, model.info)

    def fit(self, train, prepared=None):
        return self.join(train, [self.fit_block(train, WHOLE)])


@dataclass(frozen=True)
class SoundGap(Ridge):
    CERTIFICATE = "gap"


@dataclass(frozen=True)
class Unstated(Ridge):
    def objective_of(self, model, train):
        return float("nan")


@dataclass(frozen=True)
class Silent:
    """Says nothing of its objective."""

    def fit(self, train, prepared=None):
        return Ridge().fit(train)


BREAKERS = [
    ("scores", WrongShape, "shape (7, 4) instead of (7, 5)"),
    ("scores", NoInfo, "info is a dict, not a FitInfo"),
    ("input", Writes, "the training data were changed by the fit"),
    ("sparse", DenseAlone, "TypeError: dense only"),
    ("sparse", SparseIsOther, "they differ by"),
    ("sparse_labels", SparseLabelsAreOther, "scores after dense and after sparse labels are not the same"),
    ("top_scores", RoughAtTheTop, "the best scores are not those of their labels"),
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
    ("scales", Divides, "equal and constant columns: ZeroDivisionError: a constant feature"),
    ("scales", Unbounded, "columns of 1e-4 to 1e4: optimality is nan"),
    ("scales", Negative, "optimality is -1.0e-03, below 0"),
    ("objective", ObjectiveOfOtherRows, "and its info says"),
    ("bound", HalfWay, "columns of 1e-4 to 1e4: a feasible model has objective"),
    ("bound", TruncatedGap, "a feasible model has objective"),
    ("stationary", HalfWayClosed, "converged, and one weight of feature"),
    ("stationary", Truncated, "converged, and one weight of feature"),
    ("blocks", BlocksTogether, "2 blocks give another model than one"),
    ("one_row", CentersTogether, "a row alone is scored"),
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
    assert found.outcome == (
        "skipped" if check in {"known", "bound", "sparse_labels", "top_scores", "blocks"} else "passed"
    ), found.message


def test_a_model_that_is_another_kind_than_it_says_is_not_stored():
    found = verdict(Subject(StoresAnother), "stored")
    assert found.outcome == "skipped"
    assert "a model of other scores came back" in found.message


def test_every_check_has_a_solver_that_breaks_it():
    assert {check for check, *_ in BREAKERS} | {"stored"} == set(CHECKS)


def test_a_sound_solver_that_says_it_minimizes_something_it_does_not():
    with pytest.raises(Broken, match="the objective is nan"):
        CHECKS["certificate"](Subject(Unstated, objective=True))
    CHECKS["certificate"](Subject(Unstated, objective=False))


def test_a_sound_gap_stands_against_other_models():
    assert verdict(Subject(SoundGap), "bound").outcome == "passed"


@pytest.mark.parametrize("check", ["objective", "bound", "stationary"])
def test_without_an_objective_or_the_kind_of_certificate_a_check_is_skipped(check):
    found = verdict(Subject(Silent), check)
    assert found.outcome == "skipped"
    assert "objective_of" in found.message or "backward error" in found.message
