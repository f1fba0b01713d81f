"""The features that a model takes, from a table block by block, found by name; other columns are not looked at."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, hstack, issparse

from mlrank.arrays import Features
from mlrank.datasets.formats.base import StreamRequest
from mlrank.datasets.formats.frames.features import (
    Categories,
    Feature,
    Number,
    either_way,
    features_by_name,
    mostly_zeros,
)
from mlrank.datasets.formats.frames.tables import Table
from mlrank.datasets.formats.frames.values import (
    PLAIN,
    Numerals,
    guess_numerals,
    is_lists,
    is_numeric,
    numerals_set,
    plain_text,
)
from mlrank.datasets.formats.text import plain_name, shown
from mlrank.errors import UserError, unknown_name

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["stream_tables"]


def stream_tables(request: StreamRequest, table: Table) -> Iterator[Features]:
    """Yield the selected features of a table block by block; other columns are not looked at.

    Raises
    ------
    UserError
        If a feature is not there, missing without a value to fill it with, or a cell cannot be understood.
    """
    selection = request.selection
    found, lacking = features_by_name(selection.features, table.names, selection.text)
    if lacking:
        raise selection.lacking(lacking, table.names, request.path)
    used = {feature.column for feature, _ in found}
    request.notes.extend(table.notes)
    aside = {*used, *selection.labels, *filter(None, [request.id_column])}
    request.notes.extend(selection.describe_unused([name for name in table.names if name not in aside]))
    written = [feature.column for feature, _ in found if feature.as_written]
    columns = [name for name in table.names if name in used]
    if request.id_column is not None:
        if request.id_column not in table.names:
            raise UserError(unknown_name("id column", request.id_column, map(plain_name, table.names)), request.path)
        columns = list(dict.fromkeys([*columns, request.id_column]))
        written = [*written, request.id_column]
    sparse = mostly_zeros([feature for feature, _ in found])
    done = 0
    plain = [feature.column for feature, _ in found if isinstance(feature, Number)]
    for frame, how in _frames(request, table, columns, written, plain):
        if request.id_column is not None:
            request.ids.extend(plain_text(frame[request.id_column]).tolist())
        X = _selected(request, table, frame, found, done, how, sparse)
        done += X.shape[0]
        yield X
    for feature, _ in found:
        if isinstance(feature, Categories) and feature.n_unknown:
            n = feature.n_unknown
            request.notes.append(
                f"{n} cells of {shown(feature.column)} hold categories that {selection.owner} does not know"
            )
    if done == 0:
        raise UserError("holds no rows", request.path)


def _frames(
    request: StreamRequest, table: Table, columns: list[str], written: list[str], plain: list[str]
) -> Iterator[tuple["pd.DataFrame", Numerals]]:
    """Yield blocks of rows, and how their numbers are written; `plain` are the columns that hold numbers.

    The first cell that says that they have decimal commas decides for all: the rows are read anew as they are written.

    Raises
    ------
    UserError
        If rows before had decimal points.
    """
    style = request.style
    fixed = numerals_set(style.decimal, style.thousands, request.path)
    how, done, fractions = fixed or PLAIN, 0, False
    reading = True
    while reading:
        reading = False
        as_text = table.is_text and how.decimal != "."
        for place, frame in enumerate(table.rows(columns, columns if as_text else written, request.rows)):
            if place < done:
                continue
            if fixed is None and how == PLAIN:
                how = _guessed(request, frame, plain)
                if table.is_text and how.decimal != ".":
                    if fractions:
                        message = "numbers have decimal points in the first rows and decimal commas later"
                        raise UserError(f"{message}: set decimal to say which they have", request.path)
                    reading = True
                    break
            if how != PLAIN and how.note not in request.notes:
                request.notes.append(how.note)
            fractions |= any(frame[name].dtype.kind == "f" for name in plain)
            done += 1
            yield frame, how


def _guessed(request: StreamRequest, frame: "pd.DataFrame", plain: Sequence[str]) -> Numerals:
    columns = [column for name in plain if not is_numeric(column := frame[name]) and not is_lists(column)]
    how = guess_numerals(columns) if columns else PLAIN
    if isinstance(how, str):
        raise either_way(how, request.path)
    return how


def _selected(
    request: StreamRequest,
    table: Table,
    frame: "pd.DataFrame",
    found: Sequence[tuple[Feature, list[int]]],
    done: int,
    how: Numerals,
    sparse: bool,
) -> Features:
    n = len(request.selection.features)
    names = [feature.column for feature, _ in found]
    if not sparse and all(isinstance(f, Number) for f, _ in found) and all(is_numeric(frame[name]) for name in names):
        order = [place for _, (place,) in found]
        X = np.empty((len(frame), n))
        X[:, order] = frame[names].to_numpy(np.float64, na_value=np.nan)
        rows, columns = np.nonzero(np.isnan(X))
        if rows.size:
            _check_complete(request, request.selection.features[columns[0]], done + int(rows[0]))
        return X
    X = np.empty((len(frame), 0 if sparse else n))
    blocks: list[Any] = []
    order = []
    for feature, places in found:
        if isinstance(feature, Number):
            feature.how = how
        encoded = feature.encode(table, frame[feature.column], done)
        values = encoded.values
        if encoded.missing.any():
            rows = np.flatnonzero(encoded.missing)
            _check_complete(request, feature.names[0], done + int(rows[0]))
            values = values.toarray() if issparse(values) else values.copy()
            values[rows] = np.nan
        if sparse:
            blocks.append(csr_array(values))
            order += places
        else:
            X[:, places] = values.toarray() if issparse(values) else values
    return csr_array(csr_array(hstack(blocks, format="csr"))[:, np.argsort(order)]) if sparse else X


def _check_complete(request: StreamRequest, name: str, row: int) -> None:
    """Refuse a missing value where nothing fills it."""
    if request.selection.fill is None:
        message = f"row {row + 1}: the value of {shown(name)} is missing, so it has no score"
        raise UserError(message, request.path)
