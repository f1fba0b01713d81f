"""Binary-SVM: the gap from the definitions, independence of labels, agreement with the libraries."""

import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.svm import SVC

from mlrank.kernels import KERNELS, KernelFunction
from mlrank.solvers import SOLVERS, TrainingSet, binary_svm
from tests.solvers.problems import random_problem

BinarySVM = SOLVERS["binary_svm"]


def primal(w, b, X, relevant, C, loss):
    slack = np.maximum(0.0, 1 - np.where(relevant, 1, -1) * (X @ w + b))
    if loss == "hinge":
        return 0.5 * w @ w + C * slack.sum()
    return 0.5 * (w @ w + b * b) + C * (slack**2).sum()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_objective_is_the_sum_over_labels(loss, sparse):
    X, Y = random_problem()
    model = BinarySVM(C=2.0, loss=loss, tol=1e-6).fit(TrainingSet(csr_array(X) if sparse else X, Y))
    total = sum(primal(w, b, X, y, 2.0, loss) for w, b, y in zip(model.coef, model.intercept, Y.T, strict=True))
    assert model.info.objective == pytest.approx(total, rel=1e-10)


def test_squared_hinge_reaches_the_minimum_of_a_general_optimizer():
    X, Y = random_problem()
    model = BinarySVM(C=2.0, loss="squared_hinge", tol=1e-9).fit(TrainingSet(X, Y))
    for w, b, y in zip(model.coef, model.intercept, Y.T, strict=True):
        best = minimize(
            lambda v, y=y: primal(v[:-1], v[-1], X, y, 2.0, "squared_hinge"), np.zeros(X.shape[1] + 1), tol=1e-10
        )
        assert primal(w, b, X, y, 2.0, "squared_hinge") <= best.fun * (1 + 1e-8)
        assert np.append(w, b) == pytest.approx(best.x, abs=1e-4)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_certificate_bounds_the_distance_to_the_optimum(loss):
    X, Y = random_problem(n=120, m=10)
    rough = BinarySVM(C=5.0, loss=loss, tol=0.5).fit(TrainingSet(X, Y)).info
    exact = BinarySVM(C=5.0, loss=loss, tol=1e-6).fit(TrainingSet(X, Y)).info
    assert exact.optimality <= 1e-6
    # P - P* <= P - D, and D is at most P*: both sides of the certificate.
    assert rough.objective - exact.objective <= rough.optimality * rough.objective + 1e-9
    assert rough.objective * (1 - rough.optimality) <= exact.objective * (1 + 1e-12)


def test_a_label_alone_has_the_same_machine():
    X, Y = random_problem()
    together = BinarySVM(C=2.0).fit(TrainingSet(X, Y))
    alone = BinarySVM(C=2.0).fit(TrainingSet(X, Y[:, [3]]))
    assert np.allclose(together.coef[3], alone.coef[0], atol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_rbf_scores_are_libsvms(sparse):
    X, Y = random_problem()
    rows = csr_array(X) if sparse else X
    model = BinarySVM(C=2.0, kernel="rbf", gamma=0.3, tol=1e-8).fit(TrainingSet(rows, Y))
    new = np.random.default_rng(5).standard_normal((9, X.shape[1]))
    for label in range(Y.shape[1]):
        reference = SVC(C=2.0, kernel="rbf", gamma=0.3, tol=1e-8).fit(X, Y[:, label])
        scores = model.decision_function(csr_array(new) if sparse else new)
        assert scores[:, label] == pytest.approx(reference.decision_function(new), abs=1e-5)


@pytest.mark.parametrize("kernel", ["chi2", "additive_chi2", "rbf", "polynomial"])
def test_a_kernel_by_name_is_the_kernel_precomputed(kernel):
    X, Y = random_problem()
    X, new = np.abs(X), np.abs(np.random.default_rng(5).standard_normal((9, X.shape[1])))
    K, K_new = KERNELS[kernel](X, X, 0.3), KERNELS[kernel](new, X, 0.3)
    named = BinarySVM(C=2.0, kernel=kernel, gamma=0.3, tol=1e-8).fit(TrainingSet(X, Y))
    given = BinarySVM(C=2.0, kernel="precomputed", tol=1e-8).fit(TrainingSet(K, Y))
    assert np.allclose(named.decision_function(new), given.decision_function(K_new), atol=1e-5)
    for label in range(Y.shape[1]):
        reference = SVC(C=2.0, kernel="precomputed", tol=1e-8).fit(K, Y[:, label])
        assert given.decision_function(K_new)[:, label] == pytest.approx(reference.decision_function(K_new), abs=1e-5)


def test_a_search_over_gamma_computes_distances_once(monkeypatch):
    X, Y = random_problem()
    X, calls = np.abs(X), []
    plain = KERNELS["chi2"]
    counted = KernelFunction(lambda X, Z: calls.append((X, Z)) or plain.base(X, Z), plain.finish)
    monkeypatch.setitem(KERNELS, "chi2", counted)
    train, new = TrainingSet(X, Y), np.abs(X[:7] + 0.1)
    prepared = BinarySVM(kernel="chi2").prepare(train)
    shared = {}
    for gamma in (0.1, 1.0, 4.0):
        model = BinarySVM(kernel="chi2", gamma=gamma).fit(train, prepared)
        shared[gamma] = [model.decision_function(rows).tobytes() for rows in (train.X, new)]
    assert [Z is train.X for _, Z in calls] == [True, True]
    assert [X is train.X for X, _ in calls] == [True, False]
    for gamma, scores in shared.items():
        model = BinarySVM(kernel="chi2", gamma=gamma).fit(train)
        assert [model.decision_function(rows).tobytes() for rows in (train.X, new)] == scores


def test_a_kernel_matrix_that_is_none_is_refused():
    X, Y = random_problem()
    svm = BinarySVM(kernel="precomputed")
    with pytest.raises(
        ValueError, match="a precomputed kernel must be a symmetric matrix of the training rows, found 40"
    ):
        svm.fit(TrainingSet(X, Y))
    model = svm.fit(TrainingSet(X @ X.T, Y))
    for either in (model, pickle.loads(pickle.dumps(model))):
        with pytest.raises(ValueError, match="one value for each of the 40 training rows, found 6"):
            either.decision_function(X)


def test_beyond_the_kernel_matrix_limit_the_answer_is_the_same(monkeypatch):
    X, Y = random_problem()
    gram = BinarySVM(C=2.0, tol=1e-7, backend="libsvm").fit(TrainingSet(X, Y))
    monkeypatch.setattr(binary_svm, "GRAM_ROWS", 10)
    for rows in (X, csr_array(X)):
        solver = BinarySVM(C=2.0, tol=1e-7, backend="libsvm")
        assert solver.prepare(TrainingSet(rows, Y)) is None
        model = solver.fit(TrainingSet(rows, Y))
        assert np.allclose(model.coef, gram.coef, atol=1e-3)
        assert model.info.objective == pytest.approx(gram.info.objective, rel=2e-7)


def test_constant_labels_have_constant_scores():
    X, Y = random_problem()
    Y[:, 0], Y[:, 1] = True, False
    for loss in ("hinge", "squared_hinge"):
        scores = BinarySVM(loss=loss).fit(TrainingSet(X, Y)).decision_function(X)
        assert (scores[:, 0] == 1).all()
        assert (scores[:, 1] == -1).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "log"}, "loss must be one of hinge, squared_hinge, found 'log'"),
        ({"kernel": "sigmoid"}, "kernel must be one of linear, .*, additive_chi2, precomputed, found 'sigmoid'"),
        ({"kernel": "rbf", "loss": "squared_hinge"}, "loss 'squared_hinge' is linear only, found kernel 'rbf'"),
    ],
)
def test_settings_that_do_not_exist_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        BinarySVM(**settings)
