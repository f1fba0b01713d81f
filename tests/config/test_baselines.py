"""Presets of scikit-learn's estimators, and the sets of baselines that one word adds to a configuration."""

import pytest
from sklearn.linear_model import LogisticRegression

from mlrank.config import parse_config
from mlrank.config.baselines import BASELINES
from mlrank.errors import UserError
from mlrank.explain import explain
from mlrank.solvers.presets import PRESETS
from mlrank.yamlfile import dump_yaml

HEAD = "name: e\ndatasets: [yeast]\nsplit: {kind: official}\n"


def method_of(text):
    return parse_config(f"{HEAD}methods:\n  M: {text}\n", "c.yaml").methods["M"]


def axes_of(text):
    return dict(method_of(text).axes)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_its_import_path_with_settings(name):
    preset = PRESETS[name]
    method = method_of(f"{{solver: {name}}}")
    assert method.solver == preset.place
    assert dict(method.axes) == {setting: (value,) for setting, value in preset.settings.items()}
    (topic,) = explain(name)
    assert topic.kind == "preset"
    assert preset.place in topic.paragraphs[0]


def test_what_is_given_replaces_the_settings_of_a_preset():
    assert axes_of("{solver: random_forest, n_estimators: [10, 20]}") == {"n_estimators": (10, 20)}
    inside = axes_of("{solver: logistic_chain, estimator__C: [0.1, 1]}")
    assert inside == {
        "estimator": ("sklearn.linear_model:LogisticRegression",),
        "estimator__max_iter": (1000,),
        "estimator__C": (0.1, 1),
    }
    other = axes_of("{solver: logistic_chain, estimator: {class: 'sklearn.svm:SVC', C: 3}}")
    assert other == {"estimator": ("sklearn.svm:SVC",), "estimator__C": (3,)}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{solver: random_forrest}", "c.yaml:5:15: unknown solver 'random_forrest'. Did you mean 'random_forest'?"),
        ("{solver: random_forest, n_estimator: 3}", "c.yaml:5:30: unknown setting of sklearn.ensemble:RandomForest"),
        ("{solver: logistic_chain, estimator: {class: 'sklearn.svm:SVC', c: 3}}", "c.yaml:5:69: unknown setting"),
    ],
)
def test_what_is_wrong_beside_a_preset_has_its_place(text, problem):
    with pytest.raises(UserError) as refused:
        method_of(text)
    assert str(refused.value).startswith(problem)


def test_baselines_come_behind_the_methods_and_read_back_as_methods():
    text = f"{HEAD}baselines: standard\nmethods:\n  Own: {{solver: rank_svm, C: 1}}\n"
    config = parse_config(text, "c.yaml")
    assert list(config.methods) == ["Own", *BASELINES["standard"]]
    assert len(BASELINES["standard"]) == 6
    assert all(len(method.grid()) > 1 for name, method in config.methods.items() if name != "Own")
    again = parse_config(dump_yaml(config.resolved()), "again.yaml")
    assert again == config
    alone = parse_config(f"{HEAD}baselines: standard\n", "c.yaml")
    assert list(alone.methods) == list(BASELINES["standard"])
    cuts = {(method.threshold, method.threshold_scores) for method in alone.methods.values()}
    assert cuts == {("svr_midpoint", "heldout")}
    logistic = alone.methods["Logistic"]
    made = logistic.solver_class(**logistic.grid()[0].settings)._estimator()
    assert made.get_params() == LogisticRegression(C=0.1, max_iter=1000, random_state=0).get_params()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("baselines: standart\n", "c.yaml:4:12: unknown set of baselines 'standart'. Did you mean 'standard'?"),
        ("baselines: [standard]\n", "c.yaml:4:12: the set of baselines must be one of standard"),
        (
            "baseline: standard\nmethods: {A: {solver: knn}}\n",
            "c.yaml:4:1: unknown key 'baseline'. Did you mean 'baselines'?",
        ),
        (
            "baselines: standard\nmethods: {Forest: {solver: knn}}\n",
            "c.yaml:5:11: the method 'Forest' is one of the baselines 'standard' too: give it another name",
        ),
    ],
)
def test_what_is_wrong_with_baselines_has_its_place(text, problem):
    with pytest.raises(UserError) as refused:
        parse_config(HEAD + text, "c.yaml")
    assert problem in str(refused.value)
