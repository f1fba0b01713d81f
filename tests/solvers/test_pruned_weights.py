"""Linear models without their small weights: what is left, what its gap is, and that it is stored so."""

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from mlrank import load_model, save_model
from mlrank.certify import CERTIFIERS
from mlrank.solvers import SOLVERS, LinearModel, TrainingSet
from mlrank.solvers.models import SparseLinearModel
from tests.solvers.problems import random_problem

CASES = [
    ("binary_svm", {}),
    ("binary_svm", {"loss": "squared_hinge", "positive_weight": 2.0}),
    ("binary_svm", {"backend": "libsvm"}),
    ("logistic", {"positive_weight": 0.5}),
    ("logistic", {"bias": "augmented"}),
]


@pytest.mark.parametrize(("key", "settings"), CASES)
@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_small_weights_are_left_out_and_the_gap_says_what_they_were_worth(key, settings, make):
    X, Y = random_problem()
    Y[:, 0] = True
    train = TrainingSet(make(X), Y)
    whole = SOLVERS[key](**settings).fit(train)
    least = float(np.quantile(np.abs(whole.coef[1:]), 0.4))
    solver = SOLVERS[key](min_weight=least, **settings)
    model = solver.fit(train)
    assert isinstance(model, SparseLinearModel)
    expected = np.where(np.abs(whole.coef) > least, whole.coef, 0.0)
    assert (model.coef.toarray() == expected).all()
    assert model.coef.nnz == np.count_nonzero(expected) < np.count_nonzero(whole.coef)
    proof = CERTIFIERS[key](solver, model, train)
    assert proof.objective == pytest.approx(model.info.objective, rel=1e-12)
    assert proof.certificate == pytest.approx(model.info.optimality, abs=1e-6)
    assert model.info.optimality > whole.info.optimality
    assert model.info.converged == (model.info.optimality <= solver.tol)
    lost = np.count_nonzero(whole.coef) - model.coef.nnz
    assert any(
        note.startswith(f"left out {lost} of {np.count_nonzero(whole.coef)} weights") for note in model.info.notes
    )
    for rows in (X, csr_array(X)):
        assert model.decision_function(rows) == pytest.approx(X @ expected.T + whole.intercept, abs=1e-12)


def test_nothing_is_left_out_by_default_and_a_threshold_below_all_changes_no_objective():
    X, Y = random_problem()
    for key in ("binary_svm", "logistic"):
        whole, same = (SOLVERS[key](min_weight=least).fit(TrainingSet(X, Y)) for least in (0.0, 1e-300))
        assert type(whole) is LinearModel
        assert whole.info.notes == ()
        assert same.info.objective == pytest.approx(whole.info.objective, rel=1e-12)
        assert same.info.converged


def test_models_are_stored_with_what_is_left_alone(tmp_path):
    X, Y = random_problem()
    solver = SOLVERS["logistic"](min_weight=0.2)
    model = solver.fit(TrainingSet(X, Y))
    save_model(tmp_path / "a.model", model, TrainingSet(X, Y), solver=solver)
    again = load_model(tmp_path / "a.model").predictor.model
    assert issparse(again.coef)
    assert again.coef.nnz == model.coef.nnz
    assert again.decision_function(X).tobytes() == model.decision_function(X).tobytes()


def test_thresholds_of_kernels_are_refused():
    with pytest.raises(ValueError, match="min_weight is linear only, found kernel 'rbf'"):
        SOLVERS["binary_svm"](kernel="rbf", min_weight=0.1)
