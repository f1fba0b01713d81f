"""Estimators of scikit-learn's interface as solvers: the scores of estimators that are used by hand."""

import pickle
import subprocess
import sys
from importlib.metadata import version

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mlrank.config import load_config, load_stored_config, parse_config
from mlrank.errors import UserError
from mlrank.experiment import run
from mlrank.experiment.points import method_inputs
from mlrank.records.sources import source_hashes
from mlrank.solvers import Capabilities, TrainingSet
from mlrank.solvers.estimators import estimator_solver
from mlrank.solvers.models import LinearModel
from tests.experiment.small import small_data, write_libsvm
from tests.experiment.test_run import contents
from tests.solvers.problems import random_problem

LOGISTIC, FOREST = "sklearn.linear_model:LogisticRegression", "sklearn.ensemble:RandomForestClassifier"
CHAIN = "sklearn.multioutput:ClassifierChain"


def problem():
    X, Y = random_problem()
    Y[:, 0], Y[:, 1] = True, False
    return X, Y


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_linear_machines_of_each_label_are_one_linear_model_with_constants(form):
    X, Y = problem()
    model = estimator_solver(LOGISTIC)(C=0.3).fit(TrainingSet(form(X), Y))
    scores = model.decision_function(form(X))
    assert isinstance(model, LinearModel)
    for label in range(2, Y.shape[1]):
        machine = LogisticRegression(C=0.3).fit(form(X), Y[:, label])
        assert scores[:, label] == pytest.approx(machine.decision_function(form(X)), abs=1e-12)
    assert set(scores[:, 0]) == {0.5}
    assert set(scores[:, 1]) == {-0.5}
    assert np.isnan(model.info.optimality)


def test_probabilities_less_one_half_where_there_are_no_margins_and_else_predictions():
    X, Y = problem()
    scores = estimator_solver("sklearn.naive_bayes:GaussianNB")().fit(TrainingSet(X, Y)).decision_function(X)
    by_hand = GaussianNB().fit(X, Y[:, 3]).predict_proba(X)[:, 1] - 0.5
    assert scores[:, 3] == pytest.approx(by_hand, abs=1e-12)

    class Predicting(NearestCentroid):
        decision_function = predict_proba = property()

    plain = NearestCentroid().fit(X, Y[:, 3].astype(int)).predict(X)
    sys.modules[__name__].Predicting = Predicting
    scores = estimator_solver(f"{__name__}:Predicting")().fit(TrainingSet(X, Y)).decision_function(X)
    assert scores[:, 3] == pytest.approx(plain - 0.5, abs=0)


def test_an_estimator_of_many_labels_has_all_that_vary_and_the_seed():
    X, Y = problem()
    solver = estimator_solver(FOREST)
    assert Capabilities.of(solver).draws
    scores = solver(n_estimators=7, seed=5).fit(TrainingSet(X, Y)).decision_function(X)
    forest = RandomForestClassifier(7, random_state=5).fit(X, Y[:, 2:])
    assert scores[:, 2:] == pytest.approx(np.column_stack([p[:, 1] for p in forest.predict_proba(X)]) - 0.5, abs=0)
    own = solver(n_estimators=7, seed=5, random_state=3).fit(TrainingSet(X, Y)).decision_function(X)
    assert not np.array_equal(own, scores)
    alone = solver(n_estimators=7, seed=5).fit(TrainingSet(X, Y[:, :3])).decision_function(X)
    single = RandomForestClassifier(7, random_state=5).fit(X, Y[:, 2])
    assert alone[:, 2] == pytest.approx(single.predict_proba(X)[:, 1] - 0.5, abs=0)


def test_sparse_rows_are_made_dense_for_an_estimator_that_takes_no_others():
    X, Y = problem()
    solver = estimator_solver("sklearn.naive_bayes:GaussianNB")()
    model = solver.fit(TrainingSet(csr_array(X), Y))
    expected = solver.fit(TrainingSet(X, Y)).decision_function(X)
    for rows in (csr_array(X), X):
        assert model.decision_function(rows) == pytest.approx(expected, abs=0)
    assert model.info.notes == ("sparse rows were made dense: sklearn.naive_bayes:GaussianNB takes no others",)


def test_a_chain_with_settings_of_what_it_is_made_of():
    X, Y = problem()
    solver = estimator_solver(CHAIN, ["estimator", "estimator__C"])
    scores = solver(estimator=LOGISTIC, estimator__C=0.01).fit(TrainingSet(X, Y)).decision_function(X)
    chain = ClassifierChain(LogisticRegression(C=0.01, random_state=0), random_state=0).fit(X, Y[:, 2:])
    assert scores[:, 2:] == pytest.approx(chain.decision_function(X), abs=1e-12)


STEPS = "sklearn.pipeline:Pipeline"
SCALER = "sklearn.preprocessing:StandardScaler"


def method_of(text):
    head = "name: e\ndatasets: [yeast]\nsplit: {kind: official}\nmethods:\n  M:\n"
    return parse_config(head + text, "c.yaml").methods["M"]


def test_an_estimator_inside_is_a_mapping_with_grids_or_settings_with_both_names():
    nested = method_of(f"    solver: '{CHAIN}'\n    estimator: {{class: '{LOGISTIC}', C: [0.1, 1], tol: 0.01}}\n")
    flat = method_of(
        f"    solver: '{CHAIN}'\n    estimator: '{LOGISTIC}'\n    estimator__C: [0.1, 1]\n    estimator__tol: 0.01\n"
    )
    assert nested == flat
    assert [point.settings["estimator__C"] for point in nested.grid()] == [0.1, 1]
    assert parse_config(
        f"name: e\ndatasets: [yeast]\nsplit: {{kind: official}}\nmethods: {{M: {nested.resolved()}}}\n", "c"
    )


@pytest.mark.parametrize("outer", ["", "estimator"])
def test_the_steps_of_a_pipeline_are_a_list_of_mappings(outer):
    steps = f"steps: ['{SCALER}', {{class: '{LOGISTIC}', C: [0.1, 1]}}]"
    text = f"    solver: '{STEPS}'\n    {steps}\n"
    if outer:
        text = f"    solver: '{CHAIN}'\n    estimator: {{class: '{STEPS}', {steps}}}\n"
    method = method_of(text)
    X, Y = problem()
    model = method.solver_class(**method.grid()[1].settings).fit(TrainingSet(X, Y))
    line = make_pipeline(StandardScaler(), LogisticRegression(C=1))
    if outer:
        expected = ClassifierChain(line).fit(X, Y[:, 2:]).decision_function(X)
    else:
        expected = np.column_stack([line.fit(X, y).decision_function(X) for y in Y.T[2:]])
    assert model.decision_function(X)[:, 2:] == pytest.approx(expected, abs=1e-12)


def test_parts_of_the_same_class_get_numbers_and_every_part_that_draws_gets_the_seed():
    settings = {"estimators__0": FOREST, "estimators__1": FOREST, "estimators__1__max_depth": 3, "voting": "soft"}
    solver = estimator_solver("sklearn.ensemble:VotingClassifier", settings)
    assert Capabilities.of(solver).draws
    made = solver(**settings, seed=8)._estimator()
    assert [(name, one.max_depth, one.random_state) for name, one in made.estimators] == [
        ("randomforestclassifier-1", None, 8),
        ("randomforestclassifier-2", 3, 8),
    ]


@pytest.mark.parametrize(
    ("setting", "where", "problem"),
    [
        (
            "estimator: {class: 'sklearn.svm:SVC', c: 1}",
            (7, 43),
            "unknown setting of sklearn.svm:SVC 'c'. Did you mean 'C'?",
        ),
        ("estimator: {class: 'sklearn.svm:SVC', C: [1, -2]}", (7, 50), "The 'C' parameter of SVC must be a float"),
        (
            "estimator: {class: 'sklearn.svm:SVc'}",
            (7, 24),
            "unknown class of module sklearn.svm 'SVc'. Did you mean 'SVC'?",
        ),
        ("estimator: {clas: 'sklearn.svm:SVC'}", (7, 16), "unknown key 'clas'. Did you mean 'class'?"),
        (
            "estimator__C: 2\n    estimator: {class: 'sklearn.svm:SVC', C: 1}",
            (8, 46),
            "'estimator__C' is given twice, once inside a mapping",
        ),
        ("estimator: {class: 'collections:Counter'}", (7, 24), "is no estimator"),
        ("estimator: [{class: 'sklearn.svm:SVC'}]", (7, 16), "a list of mappings is for steps, estimators"),
        (
            f"estimator: {{class: '{STEPS}', steps: ['{SCALER}', {{class: '{LOGISTIC}', penal: 1}}]}}",
            (7, 152),
            "Did you mean 'penalty'?",
        ),
    ],
)
def test_what_is_wrong_inside_an_estimator_has_its_line_and_column(setting, where, problem):
    with pytest.raises(UserError) as refused:
        method_of(f"    solver: '{CHAIN}'\n    {setting}\n")
    assert len(refused.value.problems) == 1
    assert problem in str(refused.value)
    assert (refused.value.line, refused.value.column) == where


class Boosted:
    """Has what boosting libraries have: settings handed on, words with a colon, no tags and no decision function."""

    def __init__(self, *, objective="binary:logistic", **others):
        self.objective = objective
        self.others = {"n_estimators": 10, "nthread": None, "random_state": None} | others

    def get_params(self, deep=True):
        return {"objective": self.objective, **self.others}

    def set_params(self, **given):
        for name, value in given.items():
            if name == "objective":
                self.objective = value
            else:
                self.others[name] = value
        return self

    def fit(self, X, y):
        self.share = np.mean(y) * self.others["n_estimators"] / 100
        return self

    def predict_proba(self, X):
        return np.tile([1 - self.share, self.share], (X.shape[0], 1)).astype(np.float32)

    def predict(self, X):
        return np.full((X.shape[0], 1), self.share > 0.5)


def test_settings_that_a_class_hands_on_are_known_and_words_with_a_colon_stay_words():
    X, Y = problem()
    place = f"{__name__}:Boosted"
    solver = estimator_solver(place)
    made = solver(n_estimators=50, objective="reg:squarederror", seed=4)._estimator()
    assert made.get_params() == {
        "objective": "reg:squarederror",
        "n_estimators": 50,
        "nthread": 1,
        "random_state": 4,
    }
    scores = solver(n_estimators=50).fit(TrainingSet(X, Y)).decision_function(X)
    assert scores[:, 2:] == pytest.approx(np.tile(Y[:, 2:].mean(axis=0) / 2 - 0.5, (len(X), 1)), abs=1e-7)
    with pytest.raises(UserError, match="Did you mean 'n_estimators'"):
        method_of(f"    {{solver: '{place}', n_estimator: 3}}\n")


def test_an_estimator_inside_is_code_that_results_folders_may_not_name(tmp_path):
    method = f"{{solver: '{CHAIN}', estimator: 'no.such:One'}}"
    text = f"name: e\ndatasets: [yeast]\nsplit: {{kind: official}}\nmethods: {{M: {method}}}\n"
    (tmp_path / "config.yaml").write_text(text)
    (tmp_path / "planned.json").write_text("{}")
    assert load_stored_config(tmp_path / "config.yaml").methods["M"].axes == (("estimator", ("no.such:One",)),)
    with pytest.raises(UserError, match="names code"):
        load_config(tmp_path / "config.yaml")


def test_a_fit_that_has_not_converged_says_so():
    X, Y = problem()
    info = estimator_solver(LOGISTIC)(max_iter=1, tol=1e-12).fit(TrainingSet(X, Y)).info
    assert not info.converged
    assert any("max_iter" in note or "iteration" in note.lower() for note in info.notes)


def test_solvers_and_models_can_be_sent_to_a_process_that_knows_nothing_of_them():
    X, Y = problem()
    solver = estimator_solver(CHAIN, ["estimator__C"])(estimator=LOGISTIC, estimator__C=0.5)
    assert pickle.loads(pickle.dumps(solver)) == solver
    script = "import pickle, sys; print(pickle.load(sys.stdin.buffer).estimator__C)"
    done = subprocess.run([sys.executable, "-c", script], input=pickle.dumps(solver), capture_output=True, check=True)
    assert done.stdout.split() == [b"0.5"]
    model = solver.fit(TrainingSet(X, Y))
    again = pickle.loads(pickle.dumps(model)).decision_function(X)
    assert again.tobytes() == model.decision_function(X).tobytes()


def config(folder, method):
    X, Y = small_data()
    write_libsvm(folder / "train.svm", X[:60], Y[:60])
    write_libsvm(folder / "test.svm", X[60:], Y[60:])
    data = f"[{{train: {folder / 'train.svm'}, test: {folder / 'test.svm'}}}]"
    text = f"name: e\ndatasets: {data}\nsplit: {{kind: official}}\nmethods: {{M: {method}}}\nsearch: {{folds: 2}}\n"
    return parse_config(text, "c.yaml")


@pytest.mark.parametrize(
    ("method", "problem"),
    [
        (f"{{solver: '{LOGISTIC}', c: 1}}", f"unknown setting of {LOGISTIC} 'c'. Did you mean 'C'?"),
        (f"{{solver: '{LOGISTIC}', C: -1}}", "The 'C' parameter of LogisticRegression must be a float"),
        (f"{{solver: '{CHAIN}'}}", f"{CHAIN} needs a value for 'estimator'"),
        (
            f"{{solver: '{CHAIN}', estimator: '{LOGISTIC}', estimator__c: 1}}",
            f"c.yaml:4:130: unknown setting of {LOGISTIC} 'c'. Did you mean 'C'?",
        ),
        ("{solver: 'sklearn.linear_model:LogisticRegresion'}", "Did you mean 'LogisticRegression'?"),
        ("{solver: 'sklearn.preprocessing:StandardScaler'}", "is not a solver: a solver is a frozen dataclass"),
    ],
)
def test_what_an_estimator_refuses_is_refused_before_anything_is_fitted(tmp_path, method, problem):
    with pytest.raises(UserError) as refused:
        config(tmp_path, method)
    assert problem in str(refused.value)


def test_a_search_gives_the_same_bytes_with_any_workers_and_goes_on(tmp_path):
    experiment = config(tmp_path, f"{{solver: '{FOREST}', n_estimators: 3, max_depth: [1, 4]}}")
    one, two = run(experiment, tmp_path / "one", 1), run(experiment, tmp_path / "two", 2)
    assert contents(one) == contents(two)
    before = one.journal.read()
    run(experiment, tmp_path / "one", 1)
    assert one.journal.read() == before
    assert not list(one.path.rglob("*.model"))
    linear = run(config(tmp_path, f"{{solver: '{LOGISTIC}', C: 1}}"), tmp_path / "linear", 1)
    assert len(list(linear.path.rglob("*.model"))) == 1


def test_results_depend_on_the_code_of_every_estimator_inside():
    library = {"scikit-learn": version("scikit-learn")}
    for text in ("{solver: rakel}", f"{{solver: '{STEPS}', steps: ['{SCALER}', '{__name__}:Boosted']}}"):
        sources = method_inputs(method_of(f"    {text}\n"))[1]
        own = {name for name in sources if name not in library}
        assert library.items() <= sources.items()
        assert any("test_estimators" in name for name in own) == ("Boosted" in text)


def test_results_depend_on_the_version_of_the_library():
    assert source_hashes(LOGISTIC) == {"scikit-learn": version("scikit-learn")}
