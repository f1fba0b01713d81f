"""The scikit-learn estimator: scikit-learn's own checks, its searches and pipelines, the same fits as without it."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_matrix, csr_array, csr_matrix, lil_array
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import accuracy_score, f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from threadpoolctl import threadpool_info, threadpool_limits

from mlrank.kernels import KERNELS
from mlrank.sklearn import MultiLabelRanker
from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.splits import kfold
from mlrank.thresholds import THRESHOLDS
from tests.solvers.problems import random_problem

OTHER_LABELS = "its targets are two classes of other values than 0 and 1, which are no indicator of labels"
ONE_CLASS = "it expects one class for each row and predictions of one dimension"
NOT_APPLICABLE = {
    "check_estimators_dtypes": OTHER_LABELS,
    "check_classifier_data_not_an_array": OTHER_LABELS,
    "check_fit2d_1feature": OTHER_LABELS,
    "check_classifiers_one_label": OTHER_LABELS,
    "check_classifiers_classes": ONE_CLASS,
    "check_classifiers_train": ONE_CLASS,
    "check_classifier_not_supporting_multiclass": "it expects a message about binary classes",
}


SINGLE = "it expects a column of probabilities for each class of one target, not for each label"
PROBABILITIES = {
    "check_estimator_sparse_array": SINGLE,
    "check_estimator_sparse_matrix": SINGLE,
    "check_decision_proba_consistency": ONE_CLASS,
    "check_classifier_multioutput": "it expects labels where scores are above 0: calibrated ones are cut at 1/2",
}


@pytest.mark.parametrize(
    ("ranker", "excused"),
    [
        (MultiLabelRanker(), NOT_APPLICABLE),
        (MultiLabelRanker("binary_svm", C=8.0), NOT_APPLICABLE),
        (MultiLabelRanker("binary_svm", calibrate="sigmoid"), NOT_APPLICABLE | PROBABILITIES),
    ],
)
def test_scikit_learns_checks_pass_but_those_of_single_labels(ranker, excused):
    found = check_estimator(ranker, expected_failed_checks=excused, on_skip=None, on_fail="raise")
    assert {check["check_name"] for check in found if check["status"] == "xfail"} == set(excused)
    assert sum(check["status"] == "passed" for check in found) >= 45


@pytest.fixture
def problem():
    return random_problem(n=60)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("threshold", ["zero", "svr_midpoint", "per_label_f1"])
def test_it_gives_what_solver_and_threshold_give(problem, threshold, sparse):
    X, Y = problem
    rows = csr_array(X) if sparse else X
    train = TrainingSet(rows, Y)
    solver, kind = SOLVERS["rank_svm"](C=2.0), THRESHOLDS[threshold]
    scores = solver.fit(train).decision_function(train.X)
    own = scores
    if kind.FIT_ON == "heldout":
        own = np.empty_like(scores)
        for rest, held in kfold(Y, 3, 0, True):
            own[held] = solver.fit(TrainingSet(rows[rest], Y[rest])).decision_function(rows[held])
    expected = kind().fit(own, Y, train.X)(scores, train.X)
    found = MultiLabelRanker(solver, threshold).fit(rows, Y.astype(int))
    assert np.array_equal(found.decision_function(rows), scores)
    assert np.array_equal(found.predict(rows), expected)
    assert found.predict(rows).dtype == np.int64
    assert found.model_.info.converged
    assert found.score(rows, Y) == accuracy_score(Y, expected) == np.mean((expected == Y).all(axis=1))
    assert found.n_features_in_ == 6
    assert found.classes_.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("make", [csr_matrix, csr_array, csc_matrix, lil_array, np.asfortranarray])
def test_every_kind_of_indicator_and_matrix_is_the_same(problem, make):
    X, Y = problem
    expected = MultiLabelRanker("rank_svm").fit(csr_array(X) if make is not np.asfortranarray else X, Y)
    found = MultiLabelRanker("rank_svm").fit(make(X), make(Y.astype(float)))
    rows = X if make is np.asfortranarray else csr_array(X)
    assert np.array_equal(found.decision_function(make(X)), expected.decision_function(rows))


def test_cross_validation_gives_what_fits_on_the_folds_give(problem):
    X, Y = problem
    ranker, folds = MultiLabelRanker(SOLVERS["rank_svm"](C=1.0), "svr_midpoint"), KFold(3)
    micro = make_scorer(f1_score, average="micro")
    fits = [(clone(ranker).fit(X[train], Y[train]), test) for train, test in folds.split(X)]
    expected = [f1_score(Y[test], fitted.predict(X[test]), average="micro") for fitted, test in fits]
    assert cross_val_score(ranker, X, Y.astype(int), cv=folds, scoring=micro).tolist() == expected
    plain = [fitted.score(X[test], Y[test]) for fitted, test in fits]
    assert cross_val_score(ranker, X, Y.astype(int), cv=folds).tolist() == plain


def test_folds_of_a_kernel_matrix_have_the_columns_of_their_rows(problem):
    X, Y = problem
    solver, heldout = SOLVERS["binary_svm"](kernel="rbf", gamma=0.1, tol=1e-9), {"threshold_scores": "heldout"}
    given = MultiLabelRanker(replace(solver, kernel="precomputed"), "per_label_f1", **heldout)
    named = MultiLabelRanker(solver, "per_label_f1", **heldout)
    K = KERNELS["rbf"](X, X, 0.1)
    assert cross_val_score(given, K, Y, cv=3) == pytest.approx(cross_val_score(named, X, Y, cv=3))


@pytest.mark.parametrize("make", [csr_matrix, csr_array])
def test_a_search_over_a_sparse_indicator_is_that_over_a_dense_one(problem, make):
    # cross_val_score itself takes no sparse y, whatever the estimator.
    X, Y = problem
    grid = {"solver__C": [0.01, 1.0]}
    searches = [
        GridSearchCV(MultiLabelRanker("rank_svm"), grid, scoring="f1_micro", cv=KFold(3)).fit(X, y)
        for y in (Y.astype(int), make(Y.astype(int)))
    ]
    dense, sparse = (search.cv_results_["mean_test_score"] for search in searches)
    assert np.array_equal(dense, sparse)
    assert np.array_equal(searches[0].predict(X), searches[1].predict(X))


def test_a_grid_over_settings_of_solver_and_threshold_in_a_pipeline(problem):
    X, Y = problem
    steps = Pipeline([("scale", StandardScaler()), ("ranker", MultiLabelRanker("rank_svm", "top_k"))])
    grid = {"ranker__solver__C": [0.01, 10.0], "ranker__threshold__k": [1, 2]}
    steps.set_params(ranker__threshold=THRESHOLDS["top_k"](k=1))
    search = GridSearchCV(steps, grid, scoring="f1_micro", cv=KFold(3)).fit(X, Y.astype(int))
    assert set(search.best_params_) == set(grid)
    best = search.best_estimator_[-1]
    assert (best.solver.C, best.threshold.k) == tuple(search.best_params_.values())
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    assert search.predict(X).sum(axis=1).tolist() == [search.best_params_["ranker__threshold__k"]] * len(X)


def test_a_grid_over_solvers_and_thresholds(problem):
    X, Y = problem
    grid = {"solver": ["rank_svm", SOLVERS["binary_svm"](C=4.0)], "threshold": ["zero", "svr_midpoint"]}
    search = GridSearchCV(MultiLabelRanker(), grid, scoring="f1_macro", cv=2).fit(X, Y.astype(int))
    assert len(search.cv_results_["params"]) == 4
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()


def test_it_follows_a_selection_of_features(problem):
    X, Y = problem
    steps = make_pipeline(SelectKBest(lambda X, y: X.var(axis=0), k=3), MultiLabelRanker("rank_svm"))
    assert steps.fit(X, Y.astype(int)).decision_function(X).shape == Y.shape
    assert steps[-1].n_features_in_ == 3


def test_parameters_are_those_of_solver_and_threshold():
    ranker = MultiLabelRanker("rank_svm", "svr_midpoint")
    params = ranker.get_params()
    assert (params["solver"], params["solver__C"], params["threshold__epsilon"]) == ("rank_svm", 1.0, 0.1)
    assert ranker.get_params(deep=False) == {
        "solver": "rank_svm",
        "threshold": "svr_midpoint",
        "threshold_scores": None,
        "calibrate": None,
        "min_labels": 0,
        "max_labels": None,
        "seed": 0,
    }
    ranker.set_params(solver__C=3.0, solver__tol=1e-3, threshold__C=2.0, seed=5)
    assert ranker.solver == SOLVERS["rank_svm"](C=3.0, tol=1e-3)
    assert ranker.threshold == THRESHOLDS["svr_midpoint"](C=2.0)
    again = clone(ranker)
    assert again.get_params() == ranker.get_params()
    assert not hasattr(clone(ranker.fit(*random_problem())), "model_")
    ranker.set_params(solver="binary_svm", solver__C=7.0)
    assert ranker.solver == SOLVERS["binary_svm"](C=7.0)
    for wrong, message in (
        ({"CC": 1.0}, r"unknown parameter 'CC'\. Did you mean 'C'"),
        ({"threshold__k": 1}, "unknown setting of SVRMidpoint 'k'"),
        ({"solver__CC": 1.0}, r"unknown setting of BinarySVM 'CC'\. Did you mean 'C'"),
        ({"solver__C": -1.0}, "C must be a number above 0"),
        ({"other__C": 1.0}, "unknown parameter 'other__C'"),
    ):
        with pytest.raises(ValueError, match=message):
            ranker.set_params(**wrong)


def test_settings_of_the_solver_are_keywords(problem):
    X, Y = problem
    ranker = MultiLabelRanker("rank_svm", C=8, kernel="rbf", gamma=0.5)
    expected = SOLVERS["rank_svm"](C=8, kernel="rbf", gamma=0.5)
    assert ranker._part("solver") == expected
    assert repr(ranker) == "MultiLabelRanker(C=8, gamma=0.5, kernel='rbf', solver='rank_svm')"
    assert {"C": 8, "kernel": "rbf"}.items() <= ranker.get_params(deep=False).items()
    assert ranker.get_params()["solver__C"] == 8
    again = clone(ranker)
    assert again.get_params() == ranker.get_params()
    scores = expected.fit(TrainingSet(X, Y)).decision_function(X)
    assert np.array_equal(pickle.loads(pickle.dumps(again.fit(X, Y))).decision_function(X), scores)
    assert again.set_params(C=2)._part("solver") == replace(expected, C=2)
    assert again.set_params(solver__C=3)._part("solver") == replace(expected, C=3)
    search = GridSearchCV(ranker, {"C": [0.01, 8]}, scoring="f1_micro", cv=KFold(2)).fit(X, Y.astype(int))
    assert search.best_estimator_._part("solver").C == search.best_params_["C"]


def test_another_solver_forgets_the_settings_of_the_one_before():
    ranker = MultiLabelRanker("rank_svm", "top_k", C=8, threshold__k=2, solver__seed=4, seed=1)
    assert (ranker._part("solver").seed, ranker.seed, ranker._part("threshold").k) == (4, 1, 2)
    ranker.set_params(n_neighbors=3, solver="knn")  # whatever their order
    assert ranker._part("solver") == SOLVERS["knn"](n_neighbors=3)
    assert ranker._part("threshold").k == 2
    assert "threshold__k" not in ranker.set_params(threshold="zero").get_params()


def test_settings_over_a_solver_that_is_given_and_names_that_are_shared():
    given = SOLVERS["rank_svm"](C=2.0, tol=1e-4)
    assert MultiLabelRanker(given, C=5.0)._part("solver") == replace(given, C=5.0)
    assert MultiLabelRanker("svm_perf", solver__calibrate=False).calibrate is None
    for settings, message in (
        ({"CC": 1}, r"unknown parameter 'CC'\. Did you mean 'C'"),
        ({"threshold__k": 1}, "unknown setting of Natural 'k'"),
        ({"scaler__C": 1}, "unknown parameter 'scaler__C'"),
        ({"C": 1, "solver__C": 2}, "'C' and 'solver__C' are one setting"),
    ):
        with pytest.raises(ValueError, match=message):
            MultiLabelRanker("rank_svm", **settings)
    with pytest.raises(ValueError, match="C must be a number above 0"):
        MultiLabelRanker("rank_svm", C=-1).fit(*random_problem())
    with pytest.raises(ValueError, match="unknown solver 'rank_svn'"):
        MultiLabelRanker("rank_svn", C=1).fit(*random_problem())


def test_label_names_and_frames_go_in_and_come_out(problem):
    X, Y = problem
    names = ["red", "blue", "green", "new", "old"]
    rows = pd.DataFrame(X, index=[f"r{i}" for i in range(60)], columns=list("abcdef"))
    labels = pd.DataFrame(Y.astype(int), index=rows.index, columns=names)
    plain = MultiLabelRanker("binary_svm", calibrate="sigmoid").fit(X, Y)
    ranker = clone(MultiLabelRanker("binary_svm", calibrate="sigmoid").set_output(transform="pandas")).fit(rows, labels)
    assert ranker.classes_.tolist() == names
    assert ranker.feature_names_in_.tolist() == list("abcdef")
    for method in ("predict", "decision_function", "predict_proba"):
        expected = pd.DataFrame(getattr(plain, method)(X), index=rows.index, columns=names)
        pd.testing.assert_frame_equal(getattr(ranker, method)(rows), expected)
    assert ranker.score(rows, labels) == plain.score(X, Y)
    assert ranker.set_output().predict(rows).columns.tolist() == names
    assert isinstance(ranker.set_output(transform="default").predict(rows), np.ndarray)
    for wrong in ("polars", "frame"):
        with pytest.raises(ValueError, match="transform must be 'default', 'pandas' or None"):
            ranker.set_output(transform=wrong)
    with pytest.raises(ValueError, match="two columns of y have the name 'red'"):
        ranker.fit(rows, labels.set_axis(["red", "blue", "red", "new", "old"], axis=1))


def test_probabilities_are_refused_where_there_are_none(problem):
    with pytest.raises(AttributeError, match=r"the scores of rank_svm are no probabilities.*calibrate='sigmoid'"):
        MultiLabelRanker("rank_svm").fit(*problem).predict_proba(problem[0])
    assert not hasattr(MultiLabelRanker("rank_svm").fit(*problem), "predict_proba")


def test_metadata_are_refused_in_words(problem):
    X, Y = problem
    message = "fit takes no metadata, found 'sample_weight': every row counts alike"
    with pytest.raises(TypeError, match=message):
        MultiLabelRanker().fit(X, Y, sample_weight=np.ones(60))
    with pytest.raises(TypeError, match=message):
        MultiLabelRanker().set_fit_request(sample_weight=True)
    with config_context(enable_metadata_routing=True):
        plain = make_pipeline(StandardScaler(), MultiLabelRanker()).fit(X, Y)
        assert plain.predict(X).shape == Y.shape
        assert MultiLabelRanker().get_metadata_routing().fit.requests == {}


def test_a_fitted_ranker_pickles(problem):
    X, Y = problem
    ranker = MultiLabelRanker("rank_svm", "svr_midpoint").fit(X, Y)
    again = pickle.loads(pickle.dumps(ranker))
    assert np.array_equal(again.predict(X), ranker.predict(X))


@pytest.mark.parametrize(
    ("ranker", "y", "message"),
    [
        (MultiLabelRanker("rank_svn"), None, r"unknown solver 'rank_svn'\. Did you mean 'rank_svm'"),
        (MultiLabelRanker(threshold="zeros"), None, r"unknown threshold 'zeros'\. Did you mean 'zero'"),
        (MultiLabelRanker("smse"), None, "SMSE scores only rows that it was given"),
        (MultiLabelRanker(threshold="oracle_size"), None, "OracleSize looks at the true labels"),
        (MultiLabelRanker(threshold_scores="test"), None, "threshold_scores must be 'train', 'heldout' or None"),
        (MultiLabelRanker(), np.zeros(60), "Unknown label type: y must be an indicator"),
        (MultiLabelRanker(), np.full((60, 2), 2), "Unknown label type: y must be an indicator of 0 and 1.*, found 2$"),
        (
            MultiLabelRanker(),
            np.full((60, 2), "a"),
            "Unknown label type: y must be an indicator of 0 and 1.*, found 'a'$",
        ),
        (MultiLabelRanker(), np.full((60, 2), np.nan), "y must be an indicator of 0 and 1 for each label, found nan$"),
        (MultiLabelRanker(SOLVERS["knn"]), None, "solver must be a key, or one of mlrank's with .*, found KNN$"),
        (MultiLabelRanker(RidgeClassifier()), None, "solver must be a key, .*, found a RidgeClassifier$"),
        (MultiLabelRanker(), np.zeros((59, 2)), "y has 59 rows, X has 60"),
    ],
)
def test_what_cannot_be_fitted_is_a_value_error(problem, ranker, y, message):
    X, Y = problem
    with pytest.raises(ValueError, match=message):
        ranker.fit(X, Y if y is None else y)


def test_predicting_before_fitting_or_of_another_width_is_refused(problem):
    X, Y = problem
    with pytest.raises(NotFittedError):
        MultiLabelRanker().predict(X)
    ranker = MultiLabelRanker().fit(X, Y)
    with pytest.raises(ValueError, match="5 features"):
        ranker.decision_function(X[:, :5])
    with pytest.raises(ValueError, match="NaN"):
        ranker.decision_function(np.full_like(X, np.nan))


def test_fits_and_scores_have_one_thread_and_others_have_theirs_back(monkeypatch):
    seen = []

    def counted(kind, name):
        plain = getattr(kind, name)

        def call(*args, **kwargs):
            seen.append([library["num_threads"] for library in threadpool_info()])
            return plain(*args, **kwargs)

        monkeypatch.setattr(kind, name, call)

    X, Y = random_problem(n=30)
    ranker = MultiLabelRanker("binary_svm", calibrate="sigmoid")
    counted(SOLVERS["binary_svm"], "fit")
    with threadpool_limits(2):
        before = [library["num_threads"] for library in threadpool_info()]
        ranker.fit(X, Y)
        counted(type(ranker.model_), "decision_function")
        ranker.predict(X)
        assert [library["num_threads"] for library in threadpool_info()] == before
    assert len(seen) == 5
    assert max(before) == 2
    assert all(set(counts) == {1} for counts in seen)
