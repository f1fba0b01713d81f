"""Dataset: one multi-label data set in memory, whatever file it came from."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray, as_features, read_only
from mlrank.datasets.columns import TextColumn
from mlrank.labels import LabelMatrix, dense_labels, held, n_marks

__all__ = ["Dataset"]

UNKNOWN_HINT = "keep fewer labels or rows, or take unknown entries as absent"


@dataclass(frozen=True)
class Dataset:
    """A multi-label data set; the arrays are read-only.

    Parameters
    ----------
    name : str
    X : (n_samples, n_features) float64 ndarray or csr_array
    Y : (n_samples, n_labels) bool ndarray, or csr_array
        Sparse if it has more than `mlrank.labels.MOST_DENSE` entries, all of them known; dense otherwise. Either may be
        given.
    known : (n_samples, n_labels) bool ndarray or None
        False where an entry of `Y` is missing; None if all are known.
    label_names, feature_names : tuple of str
    official : (train_rows, test_rows) or None
        The split that the data set is published with.
    source : str
        Where the data came from.
    fill : (n_features,) float64 ndarray or None
        What missing values of X were filled with, or would have been; None if they were to be refused.
    notes : tuple of str
        What was decided or changed while reading.
    stand_in : bool
        Whether the data were generated, so that no table made from them may be compared with a paper's.
    ids : tuple of str or None
        What the user calls the rows.
    groups : (n_samples,) int64 ndarray or None
        Rows of one group stay together in every split and fold.
    folds : (n_samples,) int64 ndarray or None
        The fold of each row, counted from 0, where the data say it.
    text : tuple of TextColumn
        The columns of text that features count the terms of.

    Raises
    ------
    ValueError
        If shapes, names or the official split do not fit together.
    """

    name: str
    X: Features
    Y: LabelMatrix
    known: BoolArray | None
    label_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    official: tuple[IntArray, IntArray] | None
    source: str
    fill: FloatArray | None = None
    notes: tuple[str, ...] = ()
    stand_in: bool = False
    ids: tuple[str, ...] | None = None
    groups: IntArray | None = None
    folds: IntArray | None = None
    text: tuple[TextColumn, ...] = ()

    def __post_init__(self) -> None:
        X, Y = as_features(self.X), self.Y if issparse(self.Y) else np.asarray(self.Y)
        n_samples, n_features = X.shape
        if Y.dtype != np.bool_ or Y.ndim != 2 or Y.shape[0] != n_samples:
            raise ValueError(f"Y must be a bool array of {n_samples} rows, found {Y.dtype} of shape {Y.shape}")
        Y = held(Y) if self.known is None else dense_labels(Y, "labels with unknown entries", UNKNOWN_HINT)
        if len(self.label_names) != Y.shape[1]:
            raise ValueError(f"{len(self.label_names)} label names for {Y.shape[1]} labels")
        if len(self.feature_names) != n_features:
            raise ValueError(f"{len(self.feature_names)} feature names for {n_features} features")
        if self.known is not None and self.known.shape != Y.shape:
            raise ValueError(f"known has shape {self.known.shape}, Y has shape {Y.shape}")
        if self.fill is not None and self.fill.shape != (n_features,):
            raise ValueError(f"fill has shape {self.fill.shape} for {n_features} features")
        object.__setattr__(self, "X", read_only(X))
        object.__setattr__(self, "Y", read_only(Y))
        if self.known is not None:
            object.__setattr__(self, "known", read_only(self.known))
        for name in ("ids", "groups", "folds"):
            found = getattr(self, name)
            if found is not None and len(found) != n_samples:
                raise ValueError(f"{name} has {len(found)} entries for {n_samples} rows")
        if self.official is not None:
            rows = np.concatenate(self.official)
            if not np.array_equal(np.sort(rows), np.arange(n_samples)):
                raise ValueError("the official split must hold every row exactly once")

    def __repr__(self) -> str:
        kind = "sparse" if issparse(self.X) else "dense"
        parts = [f"{self.n_samples} rows", f"{self.n_features} features ({kind})", f"{self.n_labels} labels"]
        if self.known is not None:
            parts.append(f"{self.known.size - np.count_nonzero(self.known)} label entries unknown")
        if self.official is not None:
            parts.append(f"official split of {len(self.official[0])} and {len(self.official[1])} rows")
        return f"<Dataset {self.name}: {', '.join(parts)}>"

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.Y.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.Y.shape[1])

    @property
    def cardinality(self) -> float:
        """Mean number of labels per row."""
        return n_marks(self.Y) / self.n_samples

    @property
    def description(self) -> str:
        """Where the data came from, with the notes, as the title line of a table says it."""
        return f"{self.source} ({'; '.join(self.notes)})" if self.notes else self.source
