"""Label powerset, RAkEL, chains and calibrated ranking beside plain loops over the same estimators."""

import pickle
from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.tree import DecisionTreeClassifier

from mlrank.config import load_config, load_stored_config, parse_config
from mlrank.errors import UserError
from mlrank.experiment.points import method_inputs
from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.estimators import with_settings_inside
from mlrank.yamlfile import dump_yaml
from tests.solvers.problems import random_problem

FORMS = pytest.mark.parametrize("form", [np.asarray, csr_array])
TREE, RIDGE = "sklearn.tree:DecisionTreeClassifier", "sklearn.linear_model:RidgeClassifier"
LOGISTIC = "sklearn.linear_model:LogisticRegression"
CHAIN = "sklearn.multioutput:ClassifierChain"
KEYS = ["label_powerset", "rakel", "classifier_chains", "calibrated_ranking"]


def problem():
    X, Y = random_problem(n=60, seed=6)
    return X[:45], Y[:45], X[45:]


def tree_of(X, y, seed=0):
    return DecisionTreeClassifier(max_depth=3, random_state=seed).fit(X, y)


def of_trees(key, **settings):
    solver = with_settings_inside(SOLVERS[key], ["estimator__max_depth"])
    return solver(estimator=TREE, estimator__max_depth=3, **settings)


def powerset_by_hand(X, Y, rows, seed=0):
    """Return (likeliest set, probability of each label) of each row."""
    texts = ["".join("01"[int(bit)] for bit in row) for row in Y]
    machine = tree_of(X, texts, seed)
    sets = np.array([[digit == "1" for digit in text] for text in machine.classes_])
    sure = machine.predict_proba(rows)
    return sets[sure.argmax(axis=1)], np.array([[row[sets[:, j]].sum() for j in range(Y.shape[1])] for row in sure])


@FORMS
def test_a_label_powerset_answers_by_the_likeliest_set_or_by_each_label(form):
    X, Y, rows = problem()
    inside, sure = powerset_by_hand(X, Y, rows)
    train = TrainingSet(form(X), Y)
    soft = of_trees("label_powerset", answer="probabilities").fit(train).decision_function(form(rows))
    assert soft == pytest.approx(sure - 0.5, abs=1e-12)
    hard = of_trees("label_powerset").fit(train).decision_function(form(rows))
    assert np.array_equal(hard > 0, inside)
    assert hard[inside] == pytest.approx(sure[inside] / 2, abs=1e-12)
    assert hard[~inside] == pytest.approx((sure[~inside] - 1) / 2, abs=1e-12)


def test_a_powerset_of_one_set_has_no_estimator_and_one_without_probabilities_is_sure():
    X, Y, rows = problem()
    alone = SOLVERS["label_powerset"]().fit(TrainingSet(X, np.tile(Y[2], (45, 1))))
    assert np.array_equal(alone.decision_function(rows), np.tile(np.where(Y[2], 0.5, -0.5), (15, 1)))
    sure = SOLVERS["label_powerset"](estimator=RIDGE).fit(TrainingSet(X, Y)).decision_function(rows)
    texts = ["".join("01"[int(bit)] for bit in row) for row in Y]
    predicted = RidgeClassifier(random_state=0).fit(X, texts).predict(rows)
    assert np.array_equal(sure, np.array([[0.5 if digit == "1" else -0.5 for digit in text] for text in predicted]))


@FORMS
@pytest.mark.parametrize("answer", ["set", "probabilities"])
@pytest.mark.parametrize("labelsets", ["disjoint", "overlapping"])
def test_rakel_averages_the_powersets_of_its_labelsets(form, labelsets, answer):
    X, Y, rows = problem()
    solver = of_trees("rakel", labelset_size=2, labelsets=labelsets, n_labelsets=4, answer=answer, seed=5)
    model = solver.fit(TrainingSet(form(X), Y))
    answers = {label: [] for label in range(5)}
    for one in model.powersets:
        inside, sure = powerset_by_hand(X, Y[:, one.labels], rows, seed=5)
        for place, label in enumerate(one.labels):
            answers[label].append((inside if answer == "set" else sure)[:, place])
    scores = model.decision_function(form(rows))
    for label, found in answers.items():
        expected = np.mean(found, axis=0) - 0.5 if found else np.full(15, Y[:, label].mean() - 0.5)
        assert scores[:, label] == pytest.approx(expected, abs=1e-12)


def test_labelsets_are_distinct_of_the_size_asked_for_and_drawn_by_the_seed():
    rakel = SOLVERS["rakel"]
    for n, size in ((30, 3), (6, 3), (4, 9), (1, 3)):
        sets = [tuple(one) for one in rakel(labelset_size=size).drawn(n)]
        assert all(len(one) == min(size, n) and sorted(set(one)) == list(one) for one in sets)
        most = len(list(combinations(range(n), min(size, n))))
        assert len(set(sets)) == len(sets) == min(2 * n, most)
        parts = rakel(labelset_size=size, labelsets="disjoint").drawn(n)
        assert sorted(np.concatenate(parts)) == list(range(n))
    assert rakel().drawn(0) == []
    assert [list(one) for one in rakel(seed=1).drawn(30)] == [list(one) for one in rakel(seed=1).drawn(30)]
    assert [list(one) for one in rakel(seed=1).drawn(30)] != [list(one) for one in rakel(seed=2).drawn(30)]
    # Each of the ten pairs of five labels is drawn about as often as any other.
    counts = dict.fromkeys(combinations(range(30), 2), 0)
    for seed in range(400):
        for one in rakel(labelset_size=2, n_labelsets=20, seed=seed).drawn(30):
            counts[tuple(one)] += 1
    assert abs(np.array(list(counts.values())) - 400 * 20 / 435).max() < 6 * (400 * 20 / 435) ** 0.5


def test_labels_in_no_labelset_are_counted():
    X, Y, rows = problem()
    model = of_trees("rakel", labelset_size=1, n_labelsets=2).fit(TrainingSet(X, Y))
    assert model.info.notes == ("3 of 5 labels are in no labelset: their scores are constant",)
    assert np.ptp(model.decision_function(rows), axis=0).astype(bool).sum() == 2


def chain_by_hand(X, Y, rows, order, soft, seed=0):
    """Fit trees in turn to the row and the true labels before; score with the labels predicted before."""
    wide, scored, found = X, rows, np.empty((len(rows), Y.shape[1]))
    for label in order:
        machine = tree_of(wide, Y[:, label], seed)
        predicted = machine.predict(scored)
        found[:, label] = machine.predict_proba(scored)[:, 1] if soft else predicted
        wide, scored = np.column_stack([wide, Y[:, label]]), np.column_stack([scored, predicted])
    return found


@FORMS
@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_chains_are_averaged(form, voting):
    X, Y, rows = problem()
    train = TrainingSet(form(X), Y)
    one = of_trees("classifier_chains", n_chains=1, order="given", voting=voting).fit(train)
    expected = chain_by_hand(X, Y, rows, range(5), voting == "soft")
    assert one.decision_function(form(rows)) == pytest.approx(expected - 0.5, abs=1e-12)
    many = of_trees("classifier_chains", n_chains=3, voting=voting, seed=4).fit(train)
    orders = [list(chain.chain.order_) for chain in many.chains]
    assert len({tuple(order) for order in orders}) == 3
    expected = np.mean([chain_by_hand(X, Y, rows, order, voting == "soft", seed=4) for order in orders], axis=0)
    assert many.decision_function(form(rows)) == pytest.approx(expected - 0.5, abs=1e-12)


def test_a_chain_of_a_part_of_the_rows_leaves_out_labels_that_do_not_vary_there():
    X, Y, rows = problem()
    Y[:, 1], Y[:, 2] = True, False
    Y[:, 3] = np.arange(45) == 7
    model = of_trees("classifier_chains", n_chains=6, part=0.4, seed=1).fit(TrainingSet(X, Y))
    sizes = {chain.labels.size for chain in model.chains}
    assert sizes == {2, 3}
    scores = model.decision_function(rows)
    assert set(scores[:, 1]) == {0.5}
    assert set(scores[:, 2]) == {-0.5}
    for chain in model.chains:
        assert chain.chain.estimators_[0].tree_.n_node_samples[0] == 18


@FORMS
@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_calibrated_ranking_counts_the_votes_of_pairs_and_of_the_virtual_label(form, voting):
    X, Y, rows = problem()
    Y[:, 4] = Y[:, 3]  # nothing tells these two apart
    Y[:, 2] = Y[:, 0] & Y[:, 2]  # label 2 never without label 0
    scores = of_trees("calibrated_ranking", voting=voting).fit(TrainingSet(form(X), Y)).decision_function(form(rows))

    def vote(machine, row):
        return machine.predict_proba([row])[0][1] if voting == "soft" else float(machine.predict([row])[0])

    for i, row in enumerate(rows):
        votes, virtual = np.zeros(5), 0.0
        for a in range(5):
            own = vote(tree_of(X, Y[:, a]), row)
            votes[a] += own
            virtual += 1 - own
            for b in range(a + 1, 5):
                differ = Y[:, a] != Y[:, b]
                if not differ.any():
                    first = 0.5
                elif len(set(Y[differ, a])) == 1:
                    first = float(Y[differ, a][0])
                else:
                    first = vote(tree_of(X[differ], Y[differ, a]), row)
                votes[a] += first
                votes[b] += 1 - first
        assert scores[i] == pytest.approx((votes - virtual) / 5, abs=1e-12)


@pytest.mark.parametrize("key", KEYS)
def test_the_default_is_logistic_regression_and_settings_inside_reach_it(key):
    X, Y, rows = problem()
    plain = SOLVERS[key]().fit(TrainingSet(X, Y))
    written = with_settings_inside(SOLVERS[key], ["estimator__max_iter", "estimator__C"])
    same = written(estimator=LOGISTIC, estimator__C=1.0, estimator__max_iter=1000)
    scores = same.fit(TrainingSet(X, Y)).decision_function(rows)
    assert scores.tobytes() == plain.decision_function(rows).tobytes()
    assert pickle.loads(pickle.dumps(same)) == same
    other = written(estimator__C=0.01).fit(TrainingSet(X, Y)).decision_function(rows)
    assert not np.allclose(other, scores, atol=1e-3)


@pytest.mark.parametrize("key", KEYS)
def test_sparse_rows_are_made_dense_for_estimators_that_take_no_others(key):
    X, Y, rows = problem()
    solver = SOLVERS[key](estimator="sklearn.naive_bayes:GaussianNB")
    model = solver.fit(TrainingSet(csr_array(X), Y))
    expected = solver.fit(TrainingSet(X, Y)).decision_function(rows)
    assert model.decision_function(csr_array(rows)).tobytes() == expected.tobytes()
    assert model.info.notes[0] == "sparse rows were made dense: sklearn.naive_bayes:GaussianNB takes no others"


def test_the_first_label_of_a_chain_is_logistic_regression_by_itself():
    X, Y, rows = problem()
    scores = SOLVERS["classifier_chains"](n_chains=1, order="given").fit(TrainingSet(X, Y)).decision_function(rows)
    alone = LogisticRegression(max_iter=1000).fit(X, Y[:, 0]).predict_proba(rows)[:, 1]
    assert scores[:, 0] == pytest.approx(alone - 0.5, abs=1e-12)


CONFIG = "name: e\ndatasets: [yeast]\nsplit: {kind: official}\nmethods:\n  M:\n    solver: "


def test_a_configuration_has_grids_inside_the_estimator_and_says_what_is_wrong_there():
    text = f"{CONFIG}rakel\n    estimator: {{class: '{LOGISTIC}', C: [0.1, 1]}}\n    labelset_size: [2, 3]\n"
    method = parse_config(text, "c.yaml").methods["M"]
    made = [method.solver_class(**point.settings) for point in method.grid()]
    assert [(one.estimator__C, one.labelset_size) for one in made] == [(0.1, 2), (0.1, 3), (1, 2), (1, 3)]
    for wrong, place, problem in (
        ("estimator: {class: 'sklearn.svm:SVC', c: 1}", "c.yaml:7:43:", "Did you mean 'C'?"),
        ("estimator: {class: 'sklearn.svm:SVC', C: -1}", "c.yaml:7:46:", "The 'C' parameter of SVC"),
        ("estimator: 'no_such_module:One'", "c.yaml:7:16:", "No module named 'no_such_module'"),
        ("estimator: 'sklearn.preprocessing:StandardScaler'", "c.yaml:7:16:", "has no predict"),
        ("estimator: tree", "c.yaml:7:16:", "must be 'package.module:ClassName'"),
        ("labelsets: disjont", "c.yaml:7:16:", "Did you mean 'disjoint'?"),
        ("labelset_sise: 3", "c.yaml:7:5:", "Did you mean 'labelset_size'?"),
    ):
        with pytest.raises(UserError) as refused:
            parse_config(f"{CONFIG}rakel\n    {wrong}\n", "c.yaml")
        assert str(refused.value).startswith(place)
        assert problem in str(refused.value)


def test_results_read_back_depend_on_what_they_depended_on():
    for solver in ("rakel", CHAIN):
        text = f"{CONFIG}'{solver}'\n    estimator: {{class: '{LOGISTIC}', C: [0.1, 1]}}\n"
        config = parse_config(text, "c.yaml")
        again = parse_config(dump_yaml(config.resolved()), "config.yaml", stored=True)
        assert method_inputs(again.methods["M"]) == method_inputs(config.methods["M"])


def test_a_results_folder_may_not_name_an_estimator_to_import(tmp_path):
    (tmp_path / "config.yaml").write_text(f"{CONFIG}rakel\n    estimator: 'no.such:One'\n    estimator__C: [1, 2]\n")
    (tmp_path / "planned.json").write_text("{}")
    stored = load_stored_config(tmp_path / "config.yaml").methods["M"]
    assert dict(stored.axes) == {"estimator": ("no.such:One",), "estimator__C": (1, 2)}
    with pytest.raises(UserError, match=r"names code, 'no\.such:One'"):
        load_config(tmp_path / "config.yaml")
