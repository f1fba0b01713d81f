"""What a threshold strategy is: it turns real scores into label sets."""

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import numpy as np

from mlrank.arrays import BoolArray, Features, FloatArray

__all__ = ["Cut", "Threshold", "is_fitted"]


class Cut(Protocol):
    """A fitted threshold.

    TOGETHER: it decides over all rows that it is given, not row by row; absent means False.
    """

    def __call__(self, scores: FloatArray, X: Features, Y: BoolArray | None = None) -> BoolArray:
        """Return predicted label sets (n_samples, n_labels); only ORACLE strategies are handed the true `Y`."""
        ...

    def arrays(self) -> Mapping[str, np.ndarray[Any, Any]]:
        """Return the arrays that define the cut."""
        ...

    def meta(self) -> Mapping[str, object]:
        """Return the rest of what defines the cut, as JSON values; "cut" names its kind."""
        ...


class Threshold(Protocol):
    """A frozen dataclass of settings.

    ORACLE: the strategy looks at the labels of the rows it decides on, so tables star it.
    FIT_ON: the scores it is fitted to unless the config says otherwise: "train" (the model's scores of its own training
    rows, as the papers do) or "heldout" (cross-fitted scores).
    A strategy may have ``check(n_labels)``, which raises ValueError if it does not fit that many labels: it is asked
    before the first fit of an experiment. One that depends on the solver has ``at(natural_cut)``, which returns the
    threshold to be fitted. One that fits nothing has ``unfitted(n_labels) -> Cut``, by which it serves data of very
    many labels: its cuts have ``of_best(best, sizes)``, which chooses among the best labels of each row (`TopScores`);
    `sizes` are the true numbers of labels, for an ORACLE.
    """

    ORACLE: ClassVar[bool] = False
    FIT_ON: ClassVar[str] = "train"

    def fit(self, scores: FloatArray, Y: BoolArray, X: Features, known: BoolArray | None = None) -> Cut:
        """Fit to scores (n_samples, n_labels), their true labels and features.

        `known` is False where an entry of `Y` is missing: such entries are left out.
        """
        ...


def is_fitted(threshold: type[Any]) -> bool:
    """Return whether the cuts of a strategy are fitted to scores; others need none, or the solver's cut alone."""
    return not hasattr(threshold, "unfitted") and not hasattr(threshold, "at")
