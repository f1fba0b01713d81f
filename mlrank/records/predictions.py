"""What a run stored of its test rows, as arrays again: all scores, or the best of each row."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mlrank.arrays import BoolArray, FloatArray, IntArray
from mlrank.errors import UserError
from mlrank.labels import LabelMatrix, TopScores, as_labels, chosen_labels
from mlrank.metrics import MetricValue, evaluate

__all__ = ["StoredPredictions", "all_scores", "stored_predictions"]


class StoredPredictions(NamedTuple):
    """The test rows of a run.

    Y, Y_pred : (n_rows, n_labels) bool ndarray, or csr_array where there are very many labels
    scores : (n_rows, n_labels) ndarray, or TopScores
    rows : (n_rows,) numbers of the rows in the data
    known : (n_rows, n_labels) mask of the entries of `Y` that count; None: all
    propensities : (n_labels,) ndarray, or None in a run of an older version
    """

    Y: LabelMatrix
    scores: FloatArray | TopScores
    Y_pred: LabelMatrix
    rows: IntArray
    known: BoolArray | None
    propensities: FloatArray | None

    def evaluate(self) -> dict[str, MetricValue]:
        """Compute every metric."""
        return evaluate(self.Y, self.scores, self.Y_pred, self.known, propensities=self.propensities)


def stored_predictions(arrays: Mapping[str, np.ndarray[Any, Any]], n_labels: int) -> StoredPredictions:
    """Return the arrays of a run as what they are.

    Raises
    ------
    ValueError
        If they do not fit together.
    """
    rows, propensities = arrays["rows"], arrays.get("propensities")
    if "chosen" not in arrays:
        known = arrays.get("known")
        return StoredPredictions(arrays["Y_true"], arrays["scores"], arrays["Y_pred"], rows, known, propensities)
    best, chosen = TopScores(arrays["labels"], arrays["scores"]), arrays["chosen"]
    true = arrays["true_labels"]
    parts = (np.ones(len(true), np.bool_), true, arrays["true_starts"])
    Y = as_labels(csr_array(parts, shape=(len(best.labels), n_labels)))
    return StoredPredictions(Y, best, chosen_labels(best, chosen, n_labels), rows, None, propensities)


def all_scores(arrays: Mapping[str, np.ndarray[Any, Any]], what: str) -> Mapping[str, np.ndarray[Any, Any]]:
    """Return the arrays of a run that stored all scores; refuse one that stored the best of each row.

    Raises
    ------
    UserError
        `what` says what needs them.
    """
    if "chosen" in arrays:
        raise UserError(f"{what} needs all scores, and this run of very many labels kept the best of each row")
    return arrays
