"""Missing values: unknown label entries, and features to be filled as the user says."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array, issparse

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray
from mlrank.datasets.formats import _codes as codes
from mlrank.datasets.formats.text import shown
from mlrank.errors import UserError, unknown_name
from mlrank.room import check_room

__all__ = ["IMPUTE", "FilledFeatures", "Impute", "MissingValues", "check_impute", "filled", "nan_places", "put_values"]

# A mapping has the value of each feature by its name, as a model was fitted with; other features are ignored.
Impute = Literal["mean", "median", "zero"] | Mapping[str, float]
IMPUTE = {
    "mean": "The mean of the feature over the training part.",
    "median": "The median of the feature over the training part.",
    "zero": "0.",
}
"""The ways to fill missing features, each with what is put in."""


def check_impute(how: Any) -> None:
    """Refuse an unknown way to fill missing features.

    Raises
    ------
    UserError
        With the nearest known one.
    """
    if how is not None and not isinstance(how, Mapping) and how not in IMPUTE:
        raise UserError(unknown_name("way to impute", how, IMPUTE))


# A row and a column.
PLACE_BYTES = 16


class FilledFeatures(NamedTuple):
    """Features without missing values.

    X : (n_samples, n_features) float64 ndarray or csr_array
    values : (n_features,) what a missing value of each feature is filled with; None where none may be missing
    notes : messages about it
    """

    X: Features
    values: FloatArray | None
    notes: list[str]


class MissingValues:
    """The missing values of all parts, as places in X and in Y."""

    def __init__(self) -> None:
        self._features: list[tuple[IntArray, IntArray]] = []
        self._labels: list[tuple[IntArray, IntArray]] = []

    def add(self, cells: IntArray, plan: Any, n_labels: int) -> None:
        """Add missing values, given as (row, attribute)."""
        rows, attributes = cells[:, 0], cells[:, 1]
        kind, to_y = plan.kind[attributes], plan.to_y[attributes]
        paths, one = kind == codes.CLASSES, to_y & (kind != codes.CLASSES)
        nominal, plain = ~to_y & (kind == codes.NOMINAL), ~to_y & (kind < codes.NOMINAL)
        # One missing cell stands for as many entries as there are classes, or values.
        values = int((plan.first[attributes[nominal] + 1] - plan.first[attributes[nominal]]).sum())
        check_room(PLACE_BYTES * (int(paths.sum()) * n_labels + values), "the list of missing values")
        self._labels.append((rows[one], plan.target[attributes[one]]))
        self._labels.append((np.repeat(rows[paths], n_labels), np.tile(np.arange(n_labels), int(paths.sum()))))
        self._features.append((rows[plain], plan.target[attributes[plain]]))
        for row, attribute in zip(rows[nominal], attributes[nominal], strict=True):
            columns = plan.column[plan.first[attribute] : plan.first[attribute + 1]]
            self._features.append((np.full(columns.size, row), columns))

    def add_cells(self, features: tuple[IntArray, IntArray], labels: tuple[IntArray, IntArray]) -> None:
        """Add missing values, given as (rows, columns) of X and of Y."""
        self._features.append(features)
        self._labels.append(labels)

    def first_feature(self) -> tuple[int, int] | None:
        """Return (row, column) of the first missing feature; None if there is none."""
        rows, columns = _joined(self._features)
        return (int(rows[0]), int(columns[0])) if rows.size else None

    def known(self, shape: tuple[int, int]) -> BoolArray | None:
        """Return the mask of label entries that are known; None if all are."""
        rows, labels = _joined(self._labels)
        if rows.size == 0:
            return None
        known = np.ones(shape, np.bool_)
        known[rows, labels] = False
        return known

    def features(self) -> tuple[IntArray, IntArray]:
        """Return the rows and columns of the missing values of X."""
        return _joined(self._features)

    def fill(self, X: Features, how: Impute | None, n_train: int, names: tuple[str, ...]) -> FilledFeatures:
        """Fill missing values with 0, the mean or median of a column's known values, or with values given by name.

        Only the first `n_train` rows count: what the test part looks like must not leak. X holds 0 in these cells.

        Raises
        ------
        UserError
            If a column has no known value to learn from.
        """
        rows, columns = self.features()
        if how is None:
            if rows.size:
                raise ValueError("missing values of features are kept only where they are to be filled")
            return FilledFeatures(X, None, [])
        if isinstance(how, Mapping):
            values, by = np.array([how.get(name, 0.0) for name in names]), "the values that the model was fitted with"
        elif how == "zero":
            values, by = np.zeros(X.shape[1]), "0"
        else:
            values = _learned(X, rows, columns, how, n_train, names)
            by = f"the {how} of the training part" if n_train < X.shape[0] else f"the {how}"
        if rows.size == 0:
            return FilledFeatures(X, values, [])
        notes = [f"{rows.size} missing cells in {len(np.unique(columns))} columns filled with {by}"]
        return FilledFeatures(put_values(X, rows, columns, values[columns]), values, notes)


def nan_places(X: Features) -> tuple[IntArray, IntArray]:
    """Return the rows and columns of the cells of X that are NaN."""
    if not issparse(X):
        rows, columns = np.nonzero(np.isnan(X))
        return rows, columns
    entries = np.flatnonzero(np.isnan(X.data))
    return np.searchsorted(X.indptr, entries, side="right") - 1, X.indices[entries].astype(np.int64)


def filled(X: Features, fill: FloatArray | None) -> tuple[Features, int]:
    """Return X with the cells that are NaN filled with a value for each column, if there are any, and their number."""
    rows, columns = nan_places(X)
    if fill is None or not rows.size:
        return X, 0
    X = X.copy()
    if isinstance(X, np.ndarray):
        X[rows, columns] = fill[columns]
    else:
        X.data[np.isnan(X.data)] = fill[columns]
    return X, int(rows.size)


def put_values(X: Features, rows: IntArray, columns: IntArray, values: FloatArray) -> Features:
    """Return X with `values` in the cells (rows, columns), which are 0; a dense X is changed."""
    if issparse(X):
        added = coo_array((values, (rows, columns)), shape=X.shape)
        return csr_array(X + added.tocsr())
    X[rows, columns] = values
    return X


def _learned(
    X: Features, rows: IntArray, columns: IntArray, how: str, n_train: int, names: tuple[str, ...]
) -> FloatArray:
    """Return the mean or median of the known training cells of every column, (n_features,)."""
    statistic: Callable[[FloatArray], Any] = _mean if how == "mean" else np.median
    train = X[:n_train].tocsc() if issparse(X) else X[:n_train]
    inside = rows < n_train
    order = np.argsort(columns[inside], kind="stable")
    missing_rows = np.split(rows[inside][order], np.searchsorted(columns[inside][order], np.arange(1, X.shape[1])))
    values = np.zeros(X.shape[1])
    for column, missing in enumerate(missing_rows):
        known = np.delete(_cells(train, column), missing)
        if known.size == 0:
            where = "the training part" if n_train < X.shape[0] else "the data"
            message = f"feature {shown(names[column])} is missing in every row of {where}, so it has no {how}"
            raise UserError(f"{message}; remove it or impute zero")
        values[column] = statistic(known)
    return values


def _cells(train: Any, column: int) -> FloatArray:
    if not issparse(train):
        dense: FloatArray = train[:, column]
        return dense
    cells = np.zeros(train.shape[0])
    entries = slice(train.indptr[column], train.indptr[column + 1])
    cells[train.indices[entries]] = train.data[entries]
    return cells


def _mean(values: FloatArray) -> float:
    # Scaled, so that the sum of large numbers does not overflow.
    largest = float(np.abs(values).max())
    return float(np.mean(values / largest) * largest) if largest else 0.0


def _joined(places: list[tuple[IntArray, IntArray]]) -> tuple[IntArray, IntArray]:
    empty = np.zeros(0, np.int64)
    return (
        np.concatenate([empty, *(rows for rows, _ in places)]),
        np.concatenate([empty, *(columns for _, columns in places)]),
    )
