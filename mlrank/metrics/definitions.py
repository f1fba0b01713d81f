"""The metrics by name, each with its written definition.

What is undefined is NaN, left out of the average and counted: a value says over how many labels or rows it was taken.
That holds for F1, precision and recall as well, where 0/0 could be called 0 (scikit-learn) or 1 (Mulan): the mean of
what is defined leaves a perfect prediction at its best value even if some label is absent from the test rows, and it is
the same rule for every metric. The price is that the labels averaged over depend on the predictions (a label absent
from the test rows counts, with F1 = 0, only for a method that predicts it), which `n_defined` shows. Tables that are
to be laid beside published ones choose the published rule: every function has the parameter ``empty``, the value of an
undefined term (`empty=0` is the rule of the papers' tables); the two rules agree when every label occurs in the test
rows. A row without relevant labels has nothing to rank, so every row-wise ranking metric leaves it out. Entries whose
true label is unknown are left out of every count and every list, as if the row or label did not have them.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import BoolArray, FloatArray
from mlrank.labels import LabelMatrix, TopScores
from mlrank.metrics.base import Metric, MetricValue
from mlrank.metrics.curves import auc_rank_curve, auc_rank_curve_mean, auc_samples_among
from mlrank.metrics.own import Metrics, Raw, own_names
from mlrank.metrics.probabilities import brier, expected_calibration_error, log_loss
from mlrank.metrics.propensity import psndcg_at, psp_at
from mlrank.metrics.rankings import (
    BestRankings,
    Rankings,
    auc_macro,
    auc_micro,
    auc_samples,
    coverage,
    lrap,
    map_macro,
    ndcg_at,
    one_error,
    precision_at,
    ranking_loss,
)
from mlrank.metrics.sets import (
    Confusion,
    f1_macro,
    f1_micro,
    f1_samples,
    hamming_loss,
    jaccard_samples,
    precision_macro,
    precision_micro,
    recall_macro,
    recall_micro,
    subset_accuracy,
)

__all__ = ["METRICS", "SearchValue", "evaluate", "measure", "search_value"]


def evaluate(
    Y: LabelMatrix,
    scores: FloatArray | TopScores,
    Y_pred: LabelMatrix,
    known: BoolArray | None = None,
    own: Sequence[str] = (),
    propensities: FloatArray | None = None,
) -> dict[str, MetricValue]:
    """Compute every metric, sorting each row and each label once (under half a second at 5000 rows and 400 labels).

    Of the best scores of each row alone, those metrics that they decide, in time and memory linear in the entries.

    Parameters
    ----------
    Y, Y_pred : (n_samples, n_labels) bool ndarray, or csr_array with the best scores
        True and predicted label sets.
    scores : (n_samples, n_labels) float64 ndarray, or TopScores
    known : (n_samples, n_labels) bool ndarray, optional
        Which entries count: those whose true label is not known are left out of every metric.
    own : names of metrics of the user's own to compute besides; see `mlrank.metrics.own`
    propensities : (n_labels,) ndarray, optional
        Of the labels, from training rows; what needs them is undefined without. See `mlrank.metrics.propensity`.

    Returns
    -------
    dict from metric name to MetricValue, in the order of `METRICS`

    Raises
    ------
    ValueError
        If a dtype or shape is wrong, there is no cell, or a score is NaN.
    """
    if isinstance(scores, TopScores):
        best: dict[str, object] = {"scores": BestRankings(Y, scores, propensities), "sets": Confusion(Y, Y_pred)}
        return {name: metric.function(Y, best[metric.needs]) for name, metric in METRICS.items() if metric.of_best}
    rankings = Rankings(Y, np.asarray(scores), known, propensities)
    shared = {"scores": rankings, "probabilities": rankings, "sets": Confusion(Y, np.asarray(Y_pred), known)}
    found = {name: metric.function(Y, shared[metric.needs]) for name, metric in METRICS.items()}
    given: dict[str, BoolArray | FloatArray] = {"scores": np.asarray(scores), "sets": np.asarray(Y_pred)}
    return found | {name: measure(name, Y, given[METRICS[name].needs], known) for name in own}


def measure(
    name: str,
    Y: LabelMatrix,
    predicted: LabelMatrix | FloatArray | TopScores,
    known: BoolArray | None = None,
    propensities: FloatArray | None = None,
) -> MetricValue:
    """Compute the metric `name` from the scores or label sets it needs; see `evaluate` for the arrays."""
    metric = METRICS[name]
    if issparse(Y) and not metric.of_best:
        raise ValueError(f"{name} needs all scores, and of sparse labels the best of each row are at hand")
    if own_names([name]):
        return metric.function(Y, Raw(predicted, known))
    if metric.needs == "sets":
        return metric.function(Y, Confusion(Y, predicted, known))
    if isinstance(predicted, TopScores):
        return metric.function(Y, BestRankings(Y, predicted, propensities))
    return metric.function(Y, Rankings(Y, predicted, known, propensities))


class SearchValue(NamedTuple):
    """What a search compares: a value, and how many terms predictions left undefined, which count as the worst.

    `value` is None where no prediction defines any term.
    """

    value: float | None
    n_undefined: int


def search_value(
    name: str,
    Y: LabelMatrix,
    predicted: LabelMatrix | FloatArray | TopScores,
    known: BoolArray | None = None,
    propensities: FloatArray | None = None,
) -> SearchValue:
    """Compute the metric `name` as the mean over the terms that some prediction defines.

    So the values of all points of a search are over the same terms. A point that predicts little, and leaves undefined
    what it is bad at, must not be compared by the rest. `measure` leaves such terms out.
    """
    metric, measured = METRICS[name], measure(name, Y, predicted, known, propensities)
    if metric.needs == "probabilities" and not measured.n_defined:
        low, high = float(np.min(predicted)), float(np.max(predicted))
        raise ValueError(
            f"{name} needs probabilities, found scores from {low:.3g} to {high:.3g}; 'calibrate: sigmoid' makes some"
        )
    if own_names([name]) and not measured.n_defined:
        raise ValueError(f"the metric '{name}' is undefined for these predictions, and a search compares numbers")
    n_definable = measured.n_defined
    if metric.worst is not None:
        # A label or row is a term of such a metric as soon as it is predicted somewhere, if that can be judged.
        n_definable = measured.n_total
        if known is not None:
            n_definable = int(np.count_nonzero(known.any(axis={"labels": 0, "rows": 1, "all": None}[measured.unit])))
    n_undefined = n_definable - measured.n_defined
    if not n_definable:
        return SearchValue(None, 0)
    if metric.worst is None or not n_undefined:
        return SearchValue(measured.value, 0)
    total = measured.value * measured.n_defined if measured.n_defined else 0.0
    return SearchValue((total + metric.worst * n_undefined) / n_definable, n_undefined)


_COUNTED = (
    "summed over the rows and divided by the largest sum that any order of the labels reaches, p_l the propensity of a "
    "label by its training rows (Jain et al. 2016; 'propensity' in a configuration sets A and B). Tied labels count "
    "with their expectation over random order. Undefined where the training rows are not known."
)


def _top_metric(function: Callable[..., MetricValue], k: int, meaning: str) -> Metric:
    return Metric(partial(function, k=k), True, "scores", meaning, of_best=True)


def _places(k: int) -> str:
    return "place" if k == 1 else f"{k} places"


def _precision_at(k: int) -> Metric:
    return _top_metric(
        precision_at,
        k,
        f"P@{k}: of a row, the number of relevant labels among the {k} best scored, divided by {k}; mean over the "
        "rows. Tied labels that straddle the limit count with their expectation over random order. Undefined for a "
        "row without relevant labels.",
    )


def _ndcg_at(k: int) -> Metric:
    return _top_metric(
        ndcg_at,
        k,
        f"nDCG@{k}: of a row, the sum of 1 / log2(1 + place) over the relevant labels at the first {_places(k)}, "
        "divided by the largest sum that any order of its labels reaches; mean over the rows. Tied labels count "
        "with their expectation over random order. Undefined for a row without relevant labels.",
    )


def _psp_at(k: int) -> Metric:
    meaning = f"PSP@{k}: of a row, the sum of 1 / p_l over the relevant labels l at the first {_places(k)}; {_COUNTED}"
    return _top_metric(psp_at, k, meaning)


def _psndcg_at(k: int) -> Metric:
    return _top_metric(
        psndcg_at,
        k,
        f"PSnDCG@{k}: of a row, the sum of 1 / (p_l log2(1 + place)) over the relevant labels l at the first "
        f"{_places(k)}; {_COUNTED}",
    )


_DEFINITIONS: dict[str, Metric] = {
    "f1_macro": Metric(
        f1_macro,
        True,
        "sets",
        "Of a label, F1 = 2 TP / (2 TP + FP + FN); unweighted mean over the labels. Undefined for a label "
        "that is neither present nor predicted (TP + FP + FN = 0).",
        worst=0.0,
        of_best=True,
    ),
    "f1_micro": Metric(
        f1_micro,
        True,
        "sets",
        "F1 = 2 TP / (2 TP + FP + FN) with TP, FP, FN summed over all rows and labels. Undefined if nothing "
        "is relevant and nothing predicted.",
        worst=0.0,
        of_best=True,
    ),
    "f1_samples": Metric(
        f1_samples,
        True,
        "sets",
        "Of a row, F1 = 2 |true and predicted| / (|true| + |predicted|); mean over the rows. Undefined for a "
        "row whose two sets are both empty; 0 if just one is.",
        worst=0.0,
        of_best=True,
    ),
    "precision_macro": Metric(
        precision_macro,
        True,
        "sets",
        "Of a label, TP / (TP + FP); unweighted mean over the labels. Undefined for a label that is never predicted.",
        worst=0.0,
        of_best=True,
    ),
    "recall_macro": Metric(
        recall_macro,
        True,
        "sets",
        "Of a label, TP / (TP + FN); unweighted mean over the labels. Undefined for a label without positives.",
        of_best=True,
    ),
    "precision_micro": Metric(
        precision_micro,
        True,
        "sets",
        "TP / (TP + FP), summed over all rows and labels before dividing. Undefined if nothing is predicted.",
        worst=0.0,
        of_best=True,
    ),
    "recall_micro": Metric(
        recall_micro,
        True,
        "sets",
        "TP / (TP + FN), summed over all rows and labels before dividing. Undefined if nothing is relevant.",
        of_best=True,
    ),
    "jaccard_samples": Metric(
        jaccard_samples,
        True,
        "sets",
        "Jaccard accuracy: of a row, |true and predicted| / |true or predicted|; mean over the rows. "
        "Undefined for a row whose two sets are both empty; 0 if just one is.",
        worst=0.0,
        of_best=True,
    ),
    "subset_accuracy": Metric(
        subset_accuracy,
        True,
        "sets",
        "The fraction of rows whose predicted set equals the true set, empty sets included. Always defined.",
        of_best=True,
    ),
    "hamming_loss": Metric(
        hamming_loss,
        False,
        "sets",
        "Of a row, the fraction of labels on which the predicted and the true set differ; mean over the rows. "
        "Always defined.",
        of_best=True,
    ),
    "auc_macro": Metric(
        auc_macro,
        True,
        "scores",
        "Of a label, the fraction of (positive, negative) pairs of rows that the scores order rightly, a tied "
        "pair counting 1/2 (the area under the ROC curve); unweighted mean over the labels. Undefined for a "
        "label without positives or without negatives.",
    ),
    "auc_micro": Metric(
        auc_micro,
        True,
        "scores",
        "The fraction of (relevant, irrelevant) pairs among all cells of all rows and labels that the scores "
        "order rightly, a tied pair counting 1/2. Undefined if all cells are of one class.",
    ),
    "auc_samples": Metric(
        auc_samples,
        True,
        "scores",
        "Of a row, the fraction of (relevant, irrelevant) pairs of labels that the scores order rightly, a "
        "tied pair counting 1/2; mean over the rows. Undefined for a row without relevant or without "
        "irrelevant labels.",
    ),
    "auc_samples_single": Metric(
        partial(auc_samples_among, among="single"),
        True,
        "scores",
        "auc_samples over the rows with one relevant label. Undefined for a row without irrelevant labels.",
    ),
    "auc_samples_multi": Metric(
        partial(auc_samples_among, among="multi"),
        True,
        "scores",
        "auc_samples over the rows with two relevant labels or more. Undefined for a row without irrelevant labels.",
    ),
    "auc_rank_curve": Metric(
        auc_rank_curve,
        True,
        "scores",
        "The first k labels of every row are predicted, k = 0, 1, ... up to all: the area by trapezoids under the true "
        "over the false positive rate, both pooled. Tied labels count with their expectation. A perfect ranking stays "
        "below 1 unless all rows have equally many relevant labels. Undefined if all labels are of one class.",
    ),
    "auc_rank_curve_single": Metric(
        partial(auc_rank_curve, among="single"),
        True,
        "scores",
        "auc_rank_curve over the rows with one relevant label. Undefined without any.",
    ),
    "auc_rank_curve_multi": Metric(
        partial(auc_rank_curve, among="multi"),
        True,
        "scores",
        "auc_rank_curve over the rows with two relevant labels or more. Undefined without any, or if all are relevant.",
    ),
    "auc_rank_curve_mean": Metric(
        auc_rank_curve_mean,
        True,
        "scores",
        "As auc_rank_curve, with means of the rows' own rates. Undefined for a row whose labels are of one class.",
    ),
    "map_macro": Metric(
        map_macro,
        True,
        "scores",
        "Mean average precision: of a label, the mean over its positives of the precision among the rows "
        "scored at least as high; unweighted mean over the labels. Equal scores enter as one group. Undefined "
        "for a label without positives; 1 for a label without negatives.",
    ),
    "lrap": Metric(
        lrap,
        True,
        "scores",
        "Label ranking average precision: of a row, the mean over its relevant labels of the fraction of "
        "relevant ones among the labels scored at least as high; mean over the rows. Equal scores enter as "
        "one group. Undefined for a row without relevant labels; 1 for a row without irrelevant ones.",
    ),
    "ranking_loss": Metric(
        ranking_loss,
        False,
        "scores",
        "Of a row, the fraction of (relevant, irrelevant) pairs of labels in which the irrelevant one is "
        "scored at least as high; mean over the rows. A tied pair counts in full, so with ties it exceeds 1 - "
        "auc_samples. Undefined for a row without relevant or without irrelevant labels.",
    ),
    "one_error": Metric(
        one_error,
        False,
        "scores",
        "The fraction of rows whose best scored label is irrelevant. If several share the best score, the row "
        "counts the irrelevant fraction of them. Undefined for a row without relevant labels.",
        of_best=True,
    ),
    "coverage": Metric(
        coverage,
        False,
        "scores",
        "Of a row, how many labels must be read from the top of the ranking until all relevant ones are seen; "
        "mean over the rows. Depth counts from 1: a row with one relevant label, ranked first, has coverage 1 "
        "(papers that count from 0 report 1 less). Tied labels are all read. Undefined for a row without "
        "relevant labels.",
    ),
    "precision_at_1": Metric(
        partial(precision_at, k=1),
        True,
        "scores",
        "P@1: the fraction of rows whose best scored label is relevant, which is 1 - one_error. If several share "
        "the best score, the row counts the relevant fraction of them. Undefined for a row without relevant labels.",
        of_best=True,
    ),
    "precision_at_3": _precision_at(3),
    "precision_at_5": _precision_at(5),
    "ndcg_at_1": _ndcg_at(1),
    "ndcg_at_3": _ndcg_at(3),
    "ndcg_at_5": _ndcg_at(5),
    "psp_at_1": _psp_at(1),
    "psp_at_3": _psp_at(3),
    "psp_at_5": _psp_at(5),
    "psndcg_at_1": _psndcg_at(1),
    "psndcg_at_3": _psndcg_at(3),
    "psndcg_at_5": _psndcg_at(5),
    "brier": Metric(
        brier,
        False,
        "probabilities",
        "The Brier score: the mean over all entries of (p - y)^2, where p is the probability and y is 1 for a relevant "
        "label and 0 for another. Undefined unless all scores lie between 0 and 1.",
    ),
    "log_loss": Metric(
        log_loss,
        False,
        "probabilities",
        "The mean over all entries of -log p for a relevant label and -log(1 - p) for another, p no nearer to 0 and 1 "
        "than 2.2e-16. Undefined unless all scores lie between 0 and 1.",
    ),
    "expected_calibration_error": Metric(
        expected_calibration_error,
        False,
        "probabilities",
        "Entries are put into 10 bins of equal width by their probability; the mean over the bins, weighted by their "
        "entries, of the distance between the mean probability and the share of relevant labels. Undefined unless all "
        "scores lie between 0 and 1.",
    ),
}

METRICS = Metrics(_DEFINITIONS)
