"""Sets of baselines that a configuration adds to its methods by one word: ``baselines: standard``."""

from collections.abc import Mapping
from typing import Any

from mlrank.config.findings import Findings
from mlrank.config.names import one_of, show
from mlrank.yamlfile import YamlMapping

__all__ = ["BASELINES", "KEY", "with_baselines"]

KEY = "baselines"
_LOGISTIC = "sklearn.linear_model:LogisticRegression"

# Methods as a configuration would have them. One of each kind that reviewers ask for: labels by themselves, in chains,
# in small sets, by neighbors, by trees of all labels, and by trees of each.
BASELINES: Mapping[str, Mapping[str, YamlMapping]] = {
    "standard": {
        "Logistic": {"solver": "logistic_regression", "C": [0.1, 1, 10]},
        "Chains": {"solver": "classifier_chains", "estimator": {"class": _LOGISTIC, "C": [0.1, 1]}},
        "RAkEL": {"solver": "rakel", "estimator": {"class": _LOGISTIC, "C": [0.1, 1]}, "answer": "probabilities"},
        "ML-kNN": {"solver": "ml_knn", "n_neighbors": [5, 10, 20]},
        "Forest": {"solver": "random_forest", "min_samples_leaf": [1, 3]},
        "Boosting": {"solver": "hist_gradient_boosting", "learning_rate": [0.05, 0.1]},
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
        added: Mapping[str, Any] = BASELINES[one_of("set of baselines", lambda: BASELINES)(given)]
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
