"""Parquet tables of numeric and bool columns, where pyarrow is installed.

The label columns are named by a file of label names or by label_columns. A null is missing. Tables are read batch by
batch into their final arrays: pandas would hold a table several times over.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mlrank.arrays import Features, FloatArray, as_dense
from mlrank.datasets.dataset import Dataset
from mlrank.datasets.formats.base import Format, LoadOptions, Source, StreamRequest, WriteJob, as_dataset
from mlrank.datasets.formats.csv import label_columns, table_header
from mlrank.datasets.formats.layout import columns_layout, make_plan
from mlrank.datasets.formats.missing import MissingValues, nan_places
from mlrank.datasets.formats.text import shown
from mlrank.datasets.formats.writing import refuse_wide
from mlrank.errors import UserError

__all__ = ["PARQUET"]

# Cells of a batch.
BATCH_CELLS = 1 << 20


def _read(source: Source) -> Dataset:
    """Read Parquet tables.

    Raises
    ------
    UserError
        If pyarrow is not installed or a column holds something else than numbers.
    """
    heads = [_head(path) for path in source.parts]
    layout = columns_layout(table_header(source.parts[0], heads[0][0]), label_columns(source))
    for path, (names, _) in zip(source.parts[1:], heads[1:], strict=True):
        make_plan(table_header(path, names), layout)
    sizes = [size for _, size in heads]
    X = np.empty((sum(sizes), len(layout.feature_names)))
    Y = np.empty((sum(sizes), len(layout.label_names)), np.bool_)
    missing, start = MissingValues(), 0
    for path, size in zip(source.parts, sizes, strict=True):
        first = start
        for batch in _batches(path):
            stop = start + len(batch)
            row = start - first
            X[start:stop] = _numbers(path, row, batch, layout.feature_names)
            labels = _numbers(path, row, batch, layout.label_names)
            (rows, columns), (label_rows, label_places) = nan_places(X[start:stop]), nan_places(labels)
            if rows.size and source.impute is None:
                message = f"row {row + rows[0] + 1}: the value of {shown(layout.feature_names[columns[0]])} is missing"
                raise UserError(f"{message}: set impute to mean, median or zero to have it filled", path)
            X[start + rows, columns] = 0
            labels[label_rows, label_places] = 0
            missing.add_cells((start + rows, columns), (start + label_rows, label_places))
            Y[start:stop] = _labels(path, row, labels, layout.label_names)
            start = stop
        if start != first + size:
            raise UserError(f"cannot be read as Parquet: its head says {size} rows, it has {start - first}", path)
    known = missing.known(Y.shape)
    X, fill, notes = missing.fill(X, source.impute, sizes[0], layout.feature_names)
    both = layout.label_names, layout.feature_names
    return as_dataset(source, X, Y, *both, sizes, notes=notes, known=known, fill=fill)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a file; whatever goes wrong with it in the block is told in a line."""
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise UserError("Parquet needs the package pyarrow: install mlrank[parquet]", path) from error
    try:
        with ParquetFile(path) as file:
            yield file
    except UserError:
        raise
    except FileNotFoundError as error:
        raise UserError("no such file", path) from error
    except Exception as error:  # what a damaged file makes the library raise is not documented
        raise UserError(f"cannot be read as Parquet: {' '.join(str(error).split())[:200]}", path) from error


def _head(path: Path) -> tuple[list[str], int]:
    """Return the names of the columns and the number of rows."""
    with _opened(path) as file:
        # Through pandas, which takes columns that are an index apart.
        empty, size = file.schema_arrow.empty_table().to_pandas(), int(file.metadata.num_rows)
    if not size:
        raise UserError("holds no rows", path)
    if not all(isinstance(name, str) for name in empty.columns):
        raise UserError("column names must be text", path)
    _check_types(path, empty)
    return list(empty.columns), size


def _batches(path: Path) -> Iterator[Any]:
    """Yield the rows of a file as data frames."""
    with _opened(path) as file:
        rows = max(1, BATCH_CELLS // max(1, len(file.schema_arrow.names)))
        for batch in file.iter_batches(batch_size=rows):
            table = batch.to_pandas()
            _check_types(path, table)
            yield table


def _check_types(path: Path, table: Any) -> None:
    import pandas as pd

    for name, dtype in table.dtypes.items():
        if not (pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)):
            raise UserError(f"column {shown(name)} holds {dtype}, not numbers: remove it or turn it into numbers", path)


def _numbers(path: Path, start: int, table: Any, names: Sequence[str]) -> FloatArray:
    values: FloatArray = table[list(names)].to_numpy(np.float64, na_value=np.nan)
    row, column = next(iter(np.argwhere(np.isinf(values))), (None, 0))
    if row is not None:
        raise UserError(f"row {start + row + 1} of column {shown(names[column])} is infinite", path)
    return values if values.flags.writeable else values.copy()


def _labels(path: Path, start: int, labels: FloatArray, names: Sequence[str]) -> Any:
    marks = labels != 0
    wrong = np.argwhere(marks & (labels != 1))
    if len(wrong):
        row, column = wrong[0]
        message = f"{shown(names[column])} takes 0 or 1, found {labels[row, column]:g}"
        raise UserError(f"row {start + row + 1}: {message}", path)
    return marks


def _stream(request: StreamRequest) -> Iterator[Features]:
    """Yield the selected columns of a Parquet file.

    Raises
    ------
    UserError
        If pyarrow is not installed, a column is missing or holds something else than numbers.
    """
    path, features, empty = request.path, list(request.selection.features), True
    with _opened(path) as file:
        request.notes.extend(request.selection.match(list(file.schema_arrow.names), path)[1])
        for batch in file.iter_batches(batch_size=request.rows, columns=features):
            table = batch.to_pandas()[features]
            for name, dtype in table.dtypes.items():
                if dtype.kind not in "biuf":
                    raise UserError(f"column {shown(str(name))} holds {dtype}, not numbers", path)
            empty = False
            yield table.to_numpy(np.float64, na_value=np.nan)
    if empty:
        raise UserError("holds no rows", path)


def _write(job: WriteJob) -> LoadOptions:
    import pandas as pd

    data = job.dataset
    refuse_wide(data, "parquet")
    for path, rows in job.parts():
        part = slice(rows.start, rows.stop)
        features = pd.DataFrame(as_dense(data.X[part]), columns=list(data.feature_names))
        labels = pd.DataFrame(data.Y[part], columns=list(data.label_names))
        if data.known is not None:
            labels = labels.astype("boolean").mask(~data.known[part])
        try:
            pd.concat([features, labels], axis=1).to_parquet(path, engine="pyarrow", index=False)
        except ImportError as error:
            raise UserError("Parquet needs the package pyarrow: install mlrank[parquet]") from error
        except ValueError as error:
            raise UserError(" ".join(str(error).split())) from error
    return job.options(format="parquet", label_columns=list(data.label_names))


PARQUET = Format(
    key="parquet",
    endings=(".parquet",),
    options=("labels", "label_columns", "impute"),
    read=_read,
    stream=_stream,
    write=_write,
    written=".parquet",
    by_columns="parquet",
)
