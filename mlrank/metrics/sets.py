"""Metrics of predicted label sets, from counts per label, per row, or over all cells.

Every function takes ``(Y, Y_pred)``, two bool arrays (n_samples, n_labels), both dense or both csr_array, or a
`Confusion` in place of `Y_pred` so that several metrics share its counts. Cost: once per `Confusion` O(n_samples *
n_labels), or of sparse sets O(their entries); then O(n_samples + n_labels).
The parameter `empty` is the value of a term that is 0/0; NaN, the default, leaves the term out of the average.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from mlrank.arrays import BoolArray, FloatArray, IntArray
from mlrank.labels import LabelMatrix, as_labels, label_counts, row_counts
from mlrank.metrics.base import MetricValue

__all__ = [
    "Confusion",
    "average",
    "check_shapes",
    "f1_macro",
    "f1_micro",
    "f1_samples",
    "hamming_loss",
    "jaccard_samples",
    "observed",
    "precision_macro",
    "precision_micro",
    "ratio",
    "recall_macro",
    "recall_micro",
    "subset_accuracy",
]


class Counts(NamedTuple):
    """Of each label (or row, or of all cells): relevant and predicted, predicted, relevant; int64 arrays."""

    hits: IntArray
    predicted: IntArray
    relevant: IntArray


@dataclass(frozen=True)
class Confusion:
    """True and predicted label sets with their counts, computed when first asked for.

    Parameters
    ----------
    Y, Y_pred : (n_samples, n_labels) bool ndarray or csr_array
    known : (n_samples, n_labels) bool ndarray, optional
        Which entries of `Y` count; of sparse label sets all do.

    Raises
    ------
    ValueError
        If a dtype or shape is wrong or there is no cell.
    """

    Y: LabelMatrix
    Y_pred: LabelMatrix
    known: BoolArray | None = None

    def __post_init__(self) -> None:
        check_shapes(self.Y, self.Y_pred, "Y_pred")
        if self.Y_pred.dtype != np.bool_:
            raise ValueError(f"Y_pred must be a bool array, found {self.Y_pred.dtype}")
        for name in ("Y", "Y_pred"):
            object.__setattr__(self, name, observed(getattr(self, name), self.known))

    @cached_property
    def by_label(self) -> Counts:
        """Counts of each label."""
        return self._count(0)

    @cached_property
    def by_row(self) -> Counts:
        """Counts of each row."""
        return self._count(1)

    @cached_property
    def pooled(self) -> Counts:
        """Counts over all cells, as arrays of one entry."""
        return Counts(*(part.sum(keepdims=True) for part in self.by_label))

    def _count(self, axis: int) -> Counts:
        count = label_counts if axis == 0 else row_counts
        return Counts(*(count(mask) for mask in (self._both, self.Y_pred, self.Y)))

    @cached_property
    def _both(self) -> LabelMatrix:
        sparse = issparse(self.Y)
        return as_labels(csr_array(self.Y.multiply(self.Y_pred))) if sparse else self.Y & self.Y_pred


def observed(Y: LabelMatrix, known: BoolArray | None) -> LabelMatrix:
    """Return `Y` with the entries that are not known set to False.

    Raises
    ------
    ValueError
        If `known` has another shape.
    """
    if known is None:
        return Y
    if known.shape != Y.shape:
        raise ValueError(f"known has shape {known.shape}, Y has shape {Y.shape}")
    return np.asarray(Y & known)


def check_shapes(Y: LabelMatrix, predicted: LabelMatrix | FloatArray, name: str) -> None:
    """Raise ValueError unless `Y` is a nonempty bool matrix and `predicted`, called `name`, has its shape and form."""
    if Y.dtype != np.bool_ or Y.ndim != 2:
        raise ValueError(f"Y must be a two-dimensional bool array, found {Y.dtype} of shape {Y.shape}")
    if predicted.shape != Y.shape:
        raise ValueError(f"{name} has shape {predicted.shape}, Y has shape {Y.shape}")
    if issparse(Y) != issparse(predicted):
        raise ValueError(f"Y and {name} must both be dense or both be sparse")
    if 0 in Y.shape:
        raise ValueError(f"nothing to measure: Y and {name} have shape {Y.shape}")


def ratio(numerator: FloatArray | IntArray, denominator: FloatArray | IntArray) -> FloatArray:
    """Return the quotients, NaN where the denominator is 0."""
    quotient = np.full(np.shape(denominator), np.nan)
    return np.divide(numerator, denominator, out=quotient, where=np.asarray(denominator) != 0)


def average(terms: FloatArray, unit: Literal["labels", "rows", "all"], empty: float) -> MetricValue:
    """Average the defined terms; undefined (NaN) ones take the value `empty`, and stay out if that is NaN too."""
    filled = np.where(np.isnan(terms), empty, terms)
    defined = filled[~np.isnan(filled)]
    return MetricValue(float(defined.mean()) if defined.size else math.nan, defined.size, terms.size, unit)


def _confusion(Y: BoolArray, Y_pred: BoolArray | Confusion) -> Confusion:
    return Y_pred if isinstance(Y_pred, Confusion) else Confusion(Y, Y_pred)


def _f1(counts: Counts) -> FloatArray:
    return ratio(2 * counts.hits, counts.predicted + counts.relevant)


def f1_macro(Y: BoolArray, Y_pred: BoolArray | Confusion, empty: float = math.nan) -> MetricValue:
    """Average the F1 of the labels; `empty` is the F1 of a label neither present nor predicted."""
    return average(_f1(_confusion(Y, Y_pred).by_label), "labels", empty)


def f1_micro(Y: BoolArray, Y_pred: BoolArray | Confusion, empty: float = math.nan) -> MetricValue:
    """Compute the F1 of all cells pooled; `empty` is its value if nothing is relevant and nothing predicted."""
    return average(_f1(_confusion(Y, Y_pred).pooled), "all", empty)


def f1_samples(Y: BoolArray, Y_pred: BoolArray | Confusion, empty: float = math.nan) -> MetricValue:
    """Average the F1 of the rows; `empty` is the F1 of a row whose true and predicted sets are both empty."""
    return average(_f1(_confusion(Y, Y_pred).by_row), "rows", empty)


def precision_macro(Y: BoolArray, Y_pred: BoolArray | Confusion, empty: float = math.nan) -> MetricValue:
    """Average the precision of the labels; `empty` is that of a label never predicted."""
    counts = _confusion(Y, Y_pred).by_label
    return average(ratio(counts.hits, counts.predicted), "labels", empty)


def recall_macro(Y: BoolArray, Y_pred: BoolArray | Confusion, empty: float = math.nan) -> MetricValue:
    """Average the recall of the labels; `empty` is that of a label without positives."""
    counts = _confusion(Y, Y_pred).by_label
    return average(ratio(counts.hits, counts.relevant), "labels", empty)


def precision_micro(Y: BoolArray, Y_pred: BoolArray | Confusion, empty: float = math.nan) -> MetricValue:
    """Compute the precision of all cells pooled; `empty` is its value if nothing is predicted."""
    counts = _confusion(Y, Y_pred).pooled
    return average(ratio(counts.hits, counts.predicted), "all", empty)


def recall_micro(Y: BoolArray, Y_pred: BoolArray | Confusion, empty: float = math.nan) -> MetricValue:
    """Compute the recall of all cells pooled; `empty` is its value if nothing is relevant."""
    counts = _confusion(Y, Y_pred).pooled
    return average(ratio(counts.hits, counts.relevant), "all", empty)


def jaccard_samples(Y: BoolArray, Y_pred: BoolArray | Confusion, empty: float = math.nan) -> MetricValue:
    """Average the Jaccard index of the rows; `empty` is that of a row whose two sets are both empty."""
    counts = _confusion(Y, Y_pred).by_row
    return average(ratio(counts.hits, counts.predicted + counts.relevant - counts.hits), "rows", empty)


def subset_accuracy(Y: BoolArray, Y_pred: BoolArray | Confusion) -> MetricValue:
    """Compute the fraction of rows whose set is predicted exactly; a row without known labels is left out."""
    misses, n_labels = _misses(_confusion(Y, Y_pred))
    return average(np.where(n_labels > 0, misses == 0, math.nan), "rows", math.nan)


def hamming_loss(Y: BoolArray, Y_pred: BoolArray | Confusion) -> MetricValue:
    """Compute the fraction of cells predicted wrongly; a row without known labels is left out."""
    return average(ratio(*_misses(_confusion(Y, Y_pred))), "rows", math.nan)


def _misses(confusion: Confusion) -> tuple[IntArray, IntArray]:
    """Return of each row the number of labels predicted wrongly, and of how many."""
    counts, (n_rows, n_labels) = confusion.by_row, confusion.Y.shape
    known = confusion.known
    n_known = np.full(n_rows, n_labels) if known is None else np.count_nonzero(known, axis=1)
    return counts.predicted + counts.relevant - 2 * counts.hits, n_known.astype(np.int64)
