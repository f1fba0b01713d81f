"""What several writers of formats share."""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import issparse

from mlrank.datasets.dataset import Dataset
from mlrank.errors import UserError
from mlrank.labels import labels_of

__all__ = ["described_rows", "entries", "label_cells", "refuse_unknown", "refuse_wide"]

# A sparse matrix is not made dense beyond this many cells.
MOST_CELLS = 100_000_000


def refuse_unknown(data: Dataset, key: str) -> None:
    """Refuse unknown label entries, for a format that cannot hold them."""
    if data.known is not None:
        count = int((~data.known).sum())
        raise UserError(f"{count} label entries are unknown, which the format '{key}' cannot hold")


def refuse_wide(data: Dataset, key: str) -> None:
    """Refuse a sparse matrix of very many cells, features or labels, for a format that writes all of them."""
    if issparse(data.Y):
        raise UserError(f"{data.n_samples} x {data.n_labels} label cells, nearly all 0, are too many for '{key}'")
    if issparse(data.X) and data.X.shape[0] * data.X.shape[1] > MOST_CELLS:
        raise UserError(f"{data.X.shape[0]} x {data.X.shape[1]} cells, nearly all 0, are too many for '{key}'")


def entries(data: Dataset, row: int) -> list[tuple[int, float]]:
    """Return (column, value) of what is not 0 in a row."""
    if issparse(data.X):
        part = slice(data.X.indptr[row], data.X.indptr[row + 1])
        return list(zip(data.X.indices[part].tolist(), data.X.data[part].tolist(), strict=True))
    columns = np.flatnonzero(data.X[row])
    return list(zip(columns.tolist(), data.X[row, columns].tolist(), strict=True))


def label_cells(data: Dataset, row: int) -> list[str]:
    """Return the labels of a row as text: 0, 1, or ? for an unknown entry."""
    cells = ["0"] * data.n_labels
    for label in labels_of(data.Y, row):
        cells[label] = "1"
    if data.known is not None:
        for unknown in np.flatnonzero(~data.known[row]).tolist():
            cells[unknown] = "?"
    return cells


def described_rows(data: Dataset) -> tuple[dict[str, Sequence[object]], dict[str, str]]:
    """Return the columns that name, group and fold the rows, and the options that say so when they are read.

    Raises
    ------
    UserError
        If a feature or label has the name of such a column.
    """
    found: dict[str, Sequence[object]] = {}
    options: dict[str, str] = {}
    for what, values in (("id", data.ids), ("group", data.groups), ("fold", data.folds)):
        if values is None:
            continue
        if what in data.feature_names or what in data.label_names:
            raise UserError(f"the {what}s of the rows have no place: a feature or label is called '{what}'")
        found[what] = values if isinstance(values, tuple) else values.tolist()
        options[f"{what}_column"] = what
    return found, options
