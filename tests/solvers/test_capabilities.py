"""What a solver can do, as its class declares it."""

from dataclasses import dataclass, field

import pytest

from mlrank.solvers import SOLVERS, Capabilities

TRANSDUCTIVE = {"matrix_completion", "smse", "mcgf"}
SEMI_SUPERVISED = {"slrm"}


@dataclass(frozen=True)
class Plain:
    C: float = 1.0

    def fit(self, train, prepared=None):
        raise NotImplementedError


@dataclass(frozen=True)
class Able(Plain):
    seed: int = 0
    kernel: str = "rbf"

    SHARED = ("kernel",)
    USES_UNLABELED = True
    TRANSDUCTIVE = True
    USES_KNOWN = True
    CERTIFICATE = "residual"
    LOADS = ()

    def prepare(self, train):
        return train

    def cost(self, n, m, k):
        return n, n

    def canonical(self):
        return self

    def objective_of(self, model, train):
        return 0.0


def test_a_class_that_declares_nothing_gets_the_defaults():
    expected = Capabilities((), False, False, False, False, False, False, False, None, False, ("numba",), None)
    assert Capabilities.of(Plain) == Capabilities.of(Plain()) == expected
    assert not expected.pairwise


def test_everything_declared_is_read():
    flags = (True,) * 7
    assert Capabilities.of(Able) == Capabilities(("kernel",), *flags, "residual", True, (), "rbf")


def test_the_kernel_is_that_of_the_solver_given():
    assert Capabilities.of(Able(kernel="precomputed")).pairwise
    assert not Capabilities.of(Able).pairwise


def test_a_setting_without_a_default_is_no_kernel():
    @dataclass(frozen=True)
    class Demanding(Plain):
        kernel: str = field(kw_only=True)

    assert Capabilities.of(Demanding).kernel is None
    assert Capabilities.of(Demanding(kernel="precomputed")).pairwise


@pytest.mark.parametrize("key", SOLVERS)
def test_solvers_that_score_only_the_rows_they_were_given(key):
    able = Capabilities.of(SOLVERS[key])
    assert able.transductive == (key in TRANSDUCTIVE)
    assert able.uses_unlabeled == (key in TRANSDUCTIVE | SEMI_SUPERVISED)


NOTHING_SOLVED = {
    *("knn", "bknn", "ml_knn", "iblr_ml"),
    *("label_powerset", "rakel", "classifier_chains", "calibrated_ranking"),
}


def test_every_solver_says_what_its_certificate_is_but_neighbors_and_those_over_estimators():
    kinds = {key: Capabilities.of(solver).certificate for key, solver in SOLVERS.items()}
    assert {key for key, kind in kinds.items() if kind is None} == NOTHING_SOLVED
    assert set(kinds.values()) == {"gap", "residual", "backward error", None}


def test_a_solver_without_a_nuclear_norm_says_that_its_certificate_is_of_equations():
    slrm = SOLVERS["slrm"]
    kinds = [Capabilities.of(one).certificate for one in (slrm, slrm(), slrm(lam=0.0))]
    assert kinds == ["gap", "gap", "backward error"]
