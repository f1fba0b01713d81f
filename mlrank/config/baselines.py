"""Sets of baselines that a configuration adds to its methods by one word: ``baselines: standard``."""

from collections.abc import Mapping
from typing import Any

from mlrank.config.findings import Findings
from mlrank.config.names import OneOf, show
from mlrank.yamlfile import YamlMapping

__all__ = ["BASELINES", "KEY", "with_baselines"]

KEY = "baselines"
# Scores of training rows by the estimator that was fitted to them are too good to place a cut by.
_CUT = {"kind": "svr_midpoint", "scores": "heldout"}


def _method(solver: str, **settings: Any) -> YamlMapping:
    return {"solver": solver, **settings, "threshold": _CUT}


def _logistic(*C: float) -> YamlMapping:
    return {"class": "sklearn.linear_model:LogisticRegression", "C": list(C), "max_iter": 1000}


# Methods as a configuration would have them. One of each kind that reviewers ask for: labels by themselves, in chains,
# in small sets, by neighbors, by trees of all labels, and by trees of each. All have the same cut.
BASELINES: Mapping[str, Mapping[str, YamlMapping]] = {
    "standard": {
        "Logistic": _method("logistic_regression", C=[0.1, 1, 10]),
        "Chains": _method("classifier_chains", estimator=_logistic(0.1, 1)),
        "RAkEL": _method("rakel", estimator=_logistic(0.1, 1), answer="probabilities"),
        "ML-kNN": _method("ml_knn", n_neighbors=[5, 10, 20]),
        "Forest": _method("random_forest", n_estimators=100, min_samples_leaf=[1, 3]),
        "Boosting": _method("hist_gradient_boosting", max_leaf_nodes=[7, 15]),
    }
}


def with_baselines(data: YamlMapping, findings: Findings) -> YamlMapping:
    """Return a configuration with the methods that its key ``baselines`` adds behind its own, and without the key.

    A method of its own with the name of a baseline is refused: tables name results by their methods.
    """
    if KEY not in data:
        return data
    given = data[KEY]
    rest = {key: value for key, value in data.items() if key != KEY}
    try:
        added: Mapping[str, Any] = BASELINES[OneOf("set of baselines", lambda: BASELINES)(given)]
    except ValueError as error:
        findings(str(error), KEY)
        return rest
    methods = rest.get("methods", {})
    if not isinstance(methods, dict):  # which is reported with the methods
        return rest
    for name in methods:
        if name in added:
            findings(
                f"the method {show(name)} is one of the baselines '{given}' too: give it another name",
                "methods",
                name,
                key=True,
            )
    return {**rest, "methods": {**methods, **{name: dict(block) for name, block in added.items()}}}
