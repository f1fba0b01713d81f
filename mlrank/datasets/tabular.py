"""Readers for tables with a header line: CSV, and Parquet where pyarrow is installed.

The label columns are named by a file of label names or by label_columns. Cells are numbers, labels 0 or 1. A cell that
is empty or ? is missing.
"""

import csv
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from mlrank.datasets.arff_header import Attribute, Header
from mlrank.datasets.arff_layout import Layout, columns_layout, make_plan
from mlrank.datasets.arff_rows import DenseRows
from mlrank.datasets.files import Block, read_blocks, shown
from mlrank.datasets.gaps import Gaps, nan_places
from mlrank.datasets.growth import Growth
from mlrank.datasets.labels import read_labels
from mlrank.datasets.parsed import Parsed, Source
from mlrank.errors import UserError

__all__ = ["csv_header", "read_csv", "read_parquet"]


def read_csv(source: Source) -> Parsed:
    """Read comma-separated tables with one header line; names may be quoted.

    Raises
    ------
    UserError
        At the first thing that cannot be understood, with file, line and column.
    """
    header, blocks = csv_header(source.parts[0])
    layout = columns_layout(header, _label_columns(source))
    rows = DenseRows(len(layout.feature_names), len(layout.label_names), Growth(source.parts))
    sizes = []
    for place, path in enumerate(source.parts):
        if place:
            header, blocks = csv_header(path)
        plan = make_plan(header, layout, source.impute is not None, empty_is_gap=True)
        sizes.append(rows.read(blocks, plan, header))
    X, Y = rows.finish()
    known = rows.gaps.known(Y.shape)
    X, fill, notes = rows.gaps.fill(X, source.impute, sizes[0], layout.feature_names)
    return Parsed(X, Y, layout.label_names, layout.feature_names, tuple(sizes), tuple(notes), known, fill=fill)


def read_parquet(source: Source) -> Parsed:
    """Read Parquet tables of numeric and bool columns; see `read_csv`.

    Raises
    ------
    UserError
        If pyarrow is not installed or a column holds something else than numbers.
    """
    tables = [_parquet(path) for path in source.parts]
    layout = columns_layout(_header(source.parts[0], list(tables[0])), _label_columns(source))
    for path, table in zip(source.parts[1:], tables[1:], strict=True):
        make_plan(_header(path, list(table)), layout)
    gaps = Gaps()
    X = _stacked(source, tables, layout.feature_names)
    labels = _stacked(source, tables, layout.label_names)
    gaps.add_cells(nan_places(X), nan_places(labels))
    _refuse_gaps(source, tables, layout, X)
    known = gaps.known(labels.shape)
    labels, X = np.nan_to_num(labels), np.nan_to_num(X)
    _check_labels(source, tables, layout, labels)
    sizes = tuple(len(table) for table in tables)
    X, fill, notes = gaps.fill(X, source.impute, sizes[0], layout.feature_names)
    return Parsed(X, labels != 0, layout.label_names, layout.feature_names, sizes, tuple(notes), known, fill=fill)


def _label_columns(source: Source) -> int | tuple[str, ...]:
    if (source.labels is None) == (source.label_columns is None):
        message = (
            "a table does not say which columns are labels: give label_columns, or a file of their names as labels"
        )
        raise UserError(message if source.labels is None else "give either label_columns or labels", source.parts[0])
    if source.label_columns is not None:
        return source.label_columns
    return read_labels(source.labels).names if source.labels else ()


def csv_header(path: Path) -> tuple[Header, Iterator[Block]]:
    """Read the header line of a table; return its columns and the blocks of rows that follow.

    Raises
    ------
    UserError
        If there is none, or it is no CSV of two columns or more with a name each.
    """
    blocks = read_blocks(path)
    first = next(blocks, None)
    if first is None:
        raise UserError("holds no header line", path)
    line, _, rest = first.text.partition(b"\n")
    try:
        text = line.decode("utf-8").rstrip("\r")
        names = next(csv.reader([text], strict=True), [])
    except UnicodeDecodeError as error:
        raise UserError("not UTF-8 text; convert the file to UTF-8", path, 1, error.start + 1) from error
    except csv.Error as error:
        raise UserError(f"the header line is no CSV: {error}", path, 1, 1) from error
    if len(names) == 1:
        hint = next((f"; this one seems to use {shown(mark)}" for mark in ";\t|" if mark in text), "")
        raise UserError(f"a header line of one column: columns are separated by commas{hint}", path, 1, 1)
    return _header(path, names), _plain(chain([Block(path, rest, 2)] if rest else [], blocks))


def _plain(blocks: Iterator[Block]) -> Iterator[Block]:
    """Refuse what would begin a comment elsewhere: nothing of a table is passed over."""
    for block in blocks:
        if (at := block.text.find(b"%")) >= 0:
            raise block.error(at, "found '%' where a number belongs")
        yield block


def _header(path: Path, names: list[str]) -> Header:
    for place, name in enumerate(names):
        if not name.strip():
            raise UserError(f"column {place + 1} has no name", path, 1)
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise UserError(f"two columns are named {shown(twice)}", path, 1)
    return Header(path, "", tuple(Attribute(name, "numeric", (), 1, 1) for name in names))


def _parquet(path: Path) -> Any:
    import pandas as pd

    try:
        table = pd.read_parquet(path, engine="pyarrow")
    except ImportError as error:
        raise UserError("Parquet needs the package pyarrow: install mlrank[parquet]", path) from error
    except FileNotFoundError as error:
        raise UserError("no such file", path) from error
    except Exception as error:  # what a damaged file makes the library raise is not documented
        raise UserError(f"cannot be read as Parquet: {' '.join(str(error).split())[:200]}", path) from error
    if not len(table):
        raise UserError("holds no rows", path)
    if not all(isinstance(name, str) for name in table.columns):
        raise UserError("column names must be text", path)
    for name, dtype in table.dtypes.items():
        if not (pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)):
            raise UserError(f"column {shown(name)} holds {dtype}, not numbers: remove it or turn it into numbers", path)
        if pd.api.types.is_complex_dtype(dtype):
            raise UserError(f"column {shown(name)} holds complex numbers", path)
    return table


def _stacked(source: Source, tables: list[Any], names: tuple[str, ...]) -> Any:
    values = [table[list(names)].to_numpy(np.float64, na_value=np.nan) for table in tables]
    for path, part in zip(source.parts, values, strict=True):
        row, column = next(iter(np.argwhere(np.isinf(part))), (None, 0))
        if row is not None:
            raise UserError(f"row {row + 1} of column {shown(names[column])} is infinite", path)
    return np.vstack(values)


def _refuse_gaps(source: Source, tables: list[Any], layout: Layout, X: Any) -> None:
    if source.impute is None and np.isnan(X).any():
        row, column = np.argwhere(np.isnan(X))[0]
        path, place = _place(source, tables, int(row))
        message = f"row {place}: the value of {shown(layout.feature_names[column])} is missing"
        raise UserError(f"{message}: set impute to mean, median or zero to have it filled", path)


def _check_labels(source: Source, tables: list[Any], layout: Layout, labels: Any) -> None:
    wrong = np.argwhere((labels != 0) & (labels != 1))
    if len(wrong):
        row, column = wrong[0]
        path, place = _place(source, tables, int(row))
        found = f"{labels[row, column]:g}"
        raise UserError(f"row {place}: {shown(layout.label_names[column])} takes 0 or 1, found {found}", path)


def _place(source: Source, tables: list[Any], row: int) -> tuple[Path, int]:
    """Return the file of a row and its number there, counted from 1."""
    for path, table in zip(source.parts, tables, strict=True):
        if row < len(table):
            return path, row + 1
        row -= len(table)
    raise ValueError(f"row {row} is beyond the last")
