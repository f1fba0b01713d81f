"""Names for what scikit-learn has: baselines that are an estimator's import path and settings, and no code of ours.

``solver: random_forest`` in a configuration stands for the import path, and every setting of the estimator may stand
beside it; those below are used where they do not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

__all__ = ["PRESETS", "Preset"]


@dataclass(frozen=True)
class Preset:
    """An estimator by a short name.

    Parameters
    ----------
    summary : str
        What it is, in a sentence.
    place : "package.module:ClassName"
    settings : mapping
        Where they are other than the estimator's own defaults; settings of estimators inside have both names.
    """

    summary: str
    place: str
    settings: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    def merged(self, given: Mapping[str, object]) -> dict[str, object]:
        """Return the settings given and those of the preset; one that is given replaces all that is inside it.

        >>> chain = PRESETS["logistic_chain"]
        >>> chain.merged({"estimator__C": 10})["estimator__max_iter"]
        1000
        >>> chain.merged({"estimator": "sklearn.svm:SVC"})
        {'estimator': 'sklearn.svm:SVC'}
        """
        added = {
            name: value
            for name, value in self.settings.items()
            if name not in given and not any(name.startswith(f"{one}__") for one in given)
        }
        return {**added, **given}


_LOGISTIC = "sklearn.linear_model:LogisticRegression"

PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "logistic_regression": Preset("Logistic regression of each label.", _LOGISTIC, {"max_iter": 1000}),
        "logistic_chain": Preset(
            "One chain of logistic regressions, each with the labels before it as features.",
            "sklearn.multioutput:ClassifierChain",
            {"estimator": _LOGISTIC, "estimator__max_iter": 1000},
        ),
        "random_forest": Preset(
            "A random forest of all labels.", "sklearn.ensemble:RandomForestClassifier", {"n_estimators": 200}
        ),
        "extra_trees": Preset(
            "Extremely randomized trees of all labels.", "sklearn.ensemble:ExtraTreesClassifier", {"n_estimators": 200}
        ),
        "hist_gradient_boosting": Preset(
            "Gradient boosting of trees on binned features, for each label.",
            "sklearn.ensemble:HistGradientBoostingClassifier",
        ),
        "mlp": Preset(
            "A network with one hidden layer and the sum of the labels' logistic losses.",
            "sklearn.neural_network:MLPClassifier",
            {"early_stopping": True, "max_iter": 500},
        ),
    }
)
