"""Missing cells: unknown label entries, and features to be filled as the user says."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy.sparse import coo_array, csr_array, issparse

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray
from mlrank.datasets import _codes as codes
from mlrank.datasets.files import shown
from mlrank.errors import UserError, unknown_name

__all__ = ["IMPUTE", "Gaps", "Impute", "check_impute", "fill"]

Impute = Literal["mean", "median", "zero"]
IMPUTE = ("mean", "median", "zero")


def check_impute(how: str | None) -> None:
    """Refuse an unknown way to fill missing features.

    Raises
    ------
    UserError
        With the nearest known one.
    """
    if how is not None and how not in IMPUTE:
        raise UserError(unknown_name("way to impute", how, IMPUTE))


class Gaps:
    """The missing cells of all parts, as places in X and in Y."""

    def __init__(self) -> None:
        self._features: list[tuple[IntArray, IntArray]] = []
        self._labels: list[tuple[IntArray, IntArray]] = []

    def add(self, found: IntArray, plan: Any, n_labels: int) -> None:
        """Add missing cells, found as (row, attribute)."""
        rows, attributes = found[:, 0], found[:, 1]
        kind, to_y = plan.kind[attributes], plan.to_y[attributes]
        paths, one = kind == codes.CLASSES, to_y & (kind != codes.CLASSES)
        self._labels.append((rows[one], plan.target[attributes[one]]))
        self._labels.append((np.repeat(rows[paths], n_labels), np.tile(np.arange(n_labels), int(paths.sum()))))
        nominal, plain = ~to_y & (kind == codes.NOMINAL), ~to_y & (kind < codes.NOMINAL)
        self._features.append((rows[plain], plan.target[attributes[plain]]))
        for row, attribute in zip(rows[nominal], attributes[nominal], strict=True):
            columns = plan.column[plan.first[attribute] : plan.first[attribute + 1]]
            self._features.append((np.full(columns.size, row), columns))

    def add_cells(self, features: tuple[IntArray, IntArray], labels: tuple[IntArray, IntArray]) -> None:
        """Add missing cells, given as (rows, columns) of X and of Y."""
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

    def fill(self, X: Features, how: str | None, n_train: int, names: tuple[str, ...]) -> tuple[Features, list[str]]:
        """Return X with missing cells filled, and what is to be said about it; see `fill`."""
        rows, columns = _joined(self._features)
        if rows.size == 0:
            return X, []
        if how is None:
            raise ValueError("missing cells of features are kept only where they are to be filled")
        filled = fill(X, rows, columns, how, n_train, names)
        n_columns = len(np.unique(columns))
        by = "0" if how == "zero" else f"the {how} of the training part" * (n_train < X.shape[0]) or f"the {how}"
        return filled, [f"{rows.size} missing cells in {n_columns} columns filled with {by}"]


def fill(X: Features, rows: IntArray, columns: IntArray, how: str, n_train: int, names: tuple[str, ...]) -> Features:
    """Return X with the cells (rows, columns) set to 0, or to the mean or median of a column's known cells.

    Only the first `n_train` rows count: what the test part looks like must not leak. X holds 0 in these cells.

    Raises
    ------
    UserError
        If a column has no known cell to learn from.
    """
    values = np.zeros(rows.size) if how == "zero" else _learned(X, rows, columns, how, n_train, names)
    if issparse(X):
        added = coo_array((values, (rows, columns)), shape=X.shape)
        return csr_array(X + added.tocsr())
    X[rows, columns] = values
    return X


def _learned(
    X: Features, rows: IntArray, columns: IntArray, how: str, n_train: int, names: tuple[str, ...]
) -> FloatArray:
    statistic: Callable[[FloatArray], Any] = _mean if how == "mean" else np.median
    values = np.zeros(rows.size)
    train = X[:n_train].tocsc() if issparse(X) else X[:n_train]
    for column in np.unique(columns):
        here = columns == column
        gaps = rows[here]
        cells = train[:, [column]].toarray().ravel() if issparse(X) else train[:, column]
        known = np.delete(cells, gaps[gaps < n_train])
        if known.size == 0:
            where = "the training part" if n_train < X.shape[0] else "the data"
            message = f"feature {shown(names[column])} is missing in every row of {where}, so it has no {how}"
            raise UserError(f"{message}; remove it or impute zero")
        values[here] = statistic(known)
    return values


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
