"""Matrices of true labels, dense or sparse, and the few questions that both answer.

A matrix of labels is a bool ndarray (n_samples, n_labels), or, where that would hold mostly False, a `csr_array` of
bool with the labels of each row in rising order. Data sets decide by their size (`held`). Nothing here makes an array
of n_samples * n_labels entries of sparse labels but `dense_labels`, and that asks for the room first.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, csr_array, issparse, vstack

from mlrank.arrays import BoolArray, FloatArray, IntArray
from mlrank.room import check_room

__all__ = [
    "MOST_DENSE",
    "LabelMatrix",
    "TopScores",
    "as_labels",
    "check_dense",
    "check_directions",
    "chosen_labels",
    "columns_of",
    "dense_labels",
    "held",
    "label_counts",
    "labels_of",
    "labels_of_rows",
    "n_marks",
    "row_counts",
    "sparse_labels",
    "stacked_labels",
    "take_columns",
    "top_of",
    "top_of_counted",
]

# Labels of more entries than this are held sparse: as bools they take 256 MiB, and their scores 2 GiB.
MOST_DENSE = 1 << 28
# The best scores of a row that stand for all where labels are sparse.
MOST_BEST = 100

# A bool ndarray (n_samples, n_labels), or a canonical csr_array of bool with int32 indices that stores True alone.
LabelMatrix: TypeAlias = Any


class TopScores(NamedTuple):
    """The best scored labels of each row.

    labels : (n_rows, m) int32 ndarray, by falling score, equal scores by rising label; -1 where a row has no more
    scores : (n_rows, m) float32 or float64 ndarray, -inf where there is no label
    """

    labels: npt.NDArray[np.int32]
    scores: npt.NDArray[Any]


def as_labels(Y: Any) -> LabelMatrix:
    """Return labels as a bool ndarray, or sparse ones in the form that compiled loops take; `Y` itself where it is so.

    Raises
    ------
    ValueError
        If `Y` is not bool or not two-dimensional.
    """
    if not issparse(Y):
        Y = np.asarray(Y)
    if Y.dtype != np.bool_ or Y.ndim != 2:
        raise ValueError(f"Y must be a two-dimensional bool array, found {Y.dtype} of shape {Y.shape}")
    return _canonical(Y) if issparse(Y) else Y


def _canonical(Y: Any) -> csr_array:
    small = isinstance(Y, csr_array) and Y.indices.dtype == Y.indptr.dtype == np.int32
    if small and Y.has_canonical_format and Y.data.all():
        return Y
    found = csr_array(Y, copy=True)
    found.sum_duplicates()
    found.eliminate_zeros()
    if found.nnz > np.iinfo(np.int32).max:
        raise ValueError(f"{found.nnz} label entries need 64-bit indices, which are not supported")
    parts = (found.data, found.indices.astype(np.int32), found.indptr.astype(np.int32))
    return csr_array(parts, shape=found.shape)


def held(Y: Any) -> LabelMatrix:
    """Return labels in the form that data sets and results have them: dense up to MOST_DENSE entries, sparse beyond."""
    Y = as_labels(Y)
    large = Y.shape[0] * Y.shape[1] > MOST_DENSE
    if issparse(Y):
        return Y if large else np.asarray(Y.toarray())
    return sparse_labels(Y) if large else Y


def sparse_labels(Y: LabelMatrix) -> csr_array:
    """Return labels as csr_array: Y itself where it is one."""
    return as_labels(Y if issparse(Y) else csr_array(Y))


def dense_labels(Y: LabelMatrix, what: str = "", hint: str = "") -> BoolArray:
    """Return labels as ndarray: Y itself where it is one.

    Parameters
    ----------
    what : str
        Who needs them dense, for the message.
    hint : str
        What would help.

    Raises
    ------
    UserError
        If they need more memory than there is.
    """
    if not issparse(Y):
        return np.asarray(Y)
    check_dense(Y, what, hint)
    return np.asarray(Y.toarray())


def check_dense(Y: LabelMatrix, what: str = "", hint: str = "") -> None:
    """Raise what `dense_labels` does, and make nothing."""
    n, k = Y.shape
    hint = hint or "keep fewer labels (subset: top_labels or min_positives), or take a solver of sparse labels"
    check_room(float(n) * k, f"{what or 'a dense matrix'} of {n} rows and {k} labels", hint=hint)


def check_directions(n_labels: int) -> None:
    """Refuse to find all directions of so many labels where they need more memory than there is.

    Raises
    ------
    UserError
        With what helps.
    """
    hint = "a smaller n_components (a number of directions, such as 100) needs less"
    check_room(32.0 * n_labels**2, f"all directions of {n_labels} labels", hint=hint)


def columns_of(Y: LabelMatrix) -> csc_array:
    """Return labels by column: the rows of label j are ``indices[indptr[j]:indptr[j + 1]]``, in rising order."""
    return csc_array(sparse_labels(Y))


def label_counts(Y: LabelMatrix) -> IntArray:
    """Return the number of rows of each label, shape (n_labels,)."""
    if issparse(Y):
        return np.bincount(Y.indices, minlength=Y.shape[1])
    return np.asarray(np.count_nonzero(Y, axis=0), np.int64)


def row_counts(Y: LabelMatrix) -> IntArray:
    """Return the number of labels of each row, shape (n_samples,)."""
    if issparse(Y):
        return np.asarray(np.diff(Y.indptr), np.int64)
    return np.asarray(np.count_nonzero(Y, axis=1), np.int64)


def n_marks(Y: LabelMatrix) -> int:
    """Return how many entries are True."""
    return int(Y.nnz) if issparse(Y) else int(np.count_nonzero(Y))


def labels_of(Y: LabelMatrix, row: int) -> list[int]:
    """Return the labels of one row, in rising order."""
    if issparse(Y):
        return Y.indices[Y.indptr[row] : Y.indptr[row + 1]].tolist()  # type: ignore[no-any-return]
    return np.flatnonzero(Y[row]).tolist()


def labels_of_rows(Y: LabelMatrix, rows: Any) -> LabelMatrix:
    """Return the labels of some rows, in the order given."""
    return as_labels(Y[rows])


def stacked_labels(parts: Sequence[LabelMatrix]) -> LabelMatrix:
    """Return the labels of several parts one below the other, sparse if any part is."""
    if len(parts) == 1:
        return parts[0]
    if any(map(issparse, parts)):
        return as_labels(vstack([sparse_labels(part) for part in parts], format="csr"))
    return np.concatenate(parts)


def take_columns(Y: LabelMatrix, labels: IntArray) -> LabelMatrix:
    """Return some labels, in the order given."""
    return as_labels(Y[:, labels]) if issparse(Y) else np.ascontiguousarray(Y[:, labels])


def chosen_labels(best: TopScores, chosen: BoolArray, n_labels: int) -> csr_array:
    """Return the label sets of rows in which some of the best labels, (n_rows, m), are chosen."""
    starts = np.concatenate([[0], np.cumsum(np.count_nonzero(chosen, axis=1))])
    parts = (np.ones(int(starts[-1]), np.bool_), best.labels[chosen], starts)
    return as_labels(csr_array(parts, shape=(len(best.labels), n_labels)))


def top_of(scores: FloatArray, k: int) -> TopScores:
    """Return the `k` best scored labels of each row of (n_rows, n_labels) scores, all of them where there are fewer.

    A row costs one pass to select and a sort of `k`; equal scores go to the lower label, at the end of the list too.

    Raises
    ------
    ValueError
        If a score is NaN.
    """
    if (unordered := np.isnan(scores)).any():
        row, label = np.argwhere(unordered)[0]
        raise ValueError(f"scores has {unordered.sum()} NaN, the first in row {row}, label {label}")
    width = scores.shape[1]
    if k >= width:
        order = np.argsort(-scores, axis=1, kind="stable")
        return TopScores(order.astype(np.int32), np.take_along_axis(scores, order, axis=1))
    chosen = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    last = np.take_along_axis(scores, chosen, axis=1).min(axis=1)
    # A row that has more labels of its last score than places: the selection took any of them.
    for row in np.flatnonzero(np.count_nonzero(scores >= last[:, None], axis=1) > k):
        above = np.flatnonzero(scores[row] > last[row])
        chosen[row] = np.concatenate([above, np.flatnonzero(scores[row] == last[row])[: k - above.size]])
    chosen.sort(axis=1)
    found = np.take_along_axis(scores, chosen, axis=1)
    order = np.argsort(-found, axis=1, kind="stable")
    return TopScores(
        np.take_along_axis(chosen, order, axis=1).astype(np.int32), np.take_along_axis(found, order, axis=1)
    )


def top_of_counted(scores: csr_array, k: int) -> TopScores:
    """Return what `top_of` returns of scores of which those above 0 alone are stored, in memory of these and k a row.

    A row costs a sort of what it stores; labels that are not stored score 0 and fill what is left, lower ones first.
    """
    n, k = scores.shape[0], min(k, scores.shape[1])
    n_stored = np.diff(scores.indptr)
    row = np.repeat(np.arange(n), n_stored)
    order = np.lexsort((scores.indices, -scores.data, row))
    place = np.arange(len(order)) - np.repeat(scores.indptr[:-1], n_stored)
    labels, best = np.empty((n, k), np.int32), np.zeros((n, k))
    for into, values in ((labels, scores.indices), (best, scores.data)):
        into[row[place < k], place[place < k]] = values[order][place < k]
    short = np.flatnonzero(n_stored < k)
    number = np.full(n, -1)
    number[short] = np.arange(len(short))
    # As many labels as a row has places are enough to fill those that are left.
    stored, low = np.zeros((len(short), k), np.bool_), (number[row] >= 0) & (scores.indices < k)
    stored[number[row[low]], scores.indices[low]] = True
    fill = np.argsort(stored, axis=1, kind="stable")
    after = np.arange(k) - n_stored[short][:, None]
    labels[short] = np.where(after >= 0, np.take_along_axis(fill, np.maximum(after, 0), axis=1), labels[short])
    return TopScores(labels, best)
