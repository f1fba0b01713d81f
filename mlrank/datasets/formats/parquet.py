"""Parquet tables of numeric and bool columns, where pyarrow is installed.

The label columns are named by a file of label names or by label_columns. A null is missing. Some columns are read at a
time into their final place: a whole table would be held several times over by the libraries.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mlrank.arrays import BoolArray, Features, FloatArray, as_dense
from mlrank.datasets.dataset import Dataset
from mlrank.datasets.formats.arrays import check_whole_number, error_text
from mlrank.datasets.formats.base import Format, LoadOptions, Source, StreamRequest, WriteJob, as_dataset
from mlrank.datasets.formats.csv import label_columns, table_header
from mlrank.datasets.formats.layout import columns_layout, make_plan
from mlrank.datasets.formats.missing import MissingValues, nan_places
from mlrank.datasets.formats.room import check_room
from mlrank.datasets.formats.text import shown
from mlrank.datasets.formats.writing import refuse_wide
from mlrank.errors import UserError

__all__ = ["PARQUET"]

# Cells that are read at a time.
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
    # Beside X and Y, some columns at a time as the library holds them.
    width = 8 * len(layout.feature_names) + len(layout.label_names) + 24
    check_room(sum(sizes) * width, f"{sum(sizes)} rows of {len(heads[0][0])} columns", source.parts[0])
    X = np.empty((sum(sizes), len(layout.feature_names)))
    Y = np.empty((sum(sizes), len(layout.label_names)), np.bool_)
    missing, start = MissingValues(), 0
    for path, size in zip(source.parts, sizes, strict=True):
        part = slice(start, start + size)
        for columns, values in _columns(path, size, layout.feature_names):
            X[part, columns] = values
        rows, places = nan_places(X[part])
        if rows.size and source.impute is None:
            message = f"row {rows[0] + 1}: the value of {shown(layout.feature_names[places[0]])} is missing"
            raise UserError(f"{message}: set impute to mean, median or zero to have it filled", path)
        X[start + rows, places] = 0
        none = np.zeros(0, np.int64)
        missing.add_cells((start + rows, places), (none, none))
        for columns, values in _columns(path, size, layout.label_names):
            rows, places = nan_places(values)
            missing.add_cells((none, none), (start + rows, columns.start + places))
            Y[part, columns] = _marks(path, values, layout.label_names[columns])
        start += size
    known = missing.known(Y.shape)
    X, fill, notes = missing.fill(X, source.impute, sizes[0], layout.feature_names)
    both = layout.label_names, layout.feature_names
    return as_dataset(source, X, Y, *both, sizes, notes=notes, known=known, fill=fill)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a file; whatever goes wrong with it in the block becomes a UserError."""
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
        raise UserError(f"cannot be read as Parquet: {error_text(error)}", path) from error


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


def _columns(path: Path, n_rows: int, names: Sequence[str]) -> Iterator[tuple[slice, FloatArray]]:
    """Yield the values of columns, some columns at a time, with their places among the names."""
    step = max(1, BATCH_CELLS // n_rows)
    with _opened(path) as file:
        for first in range(0, len(names), step):
            some = list(names[first : first + step])
            read = file.read(columns=some, use_threads=False)
            _check_whole(path, read)
            table = read.to_pandas()[some]
            _check_types(path, table)
            values: FloatArray = table.to_numpy(np.float64, na_value=np.nan)
            row, column = next(iter(np.argwhere(np.isinf(values))), (None, 0))
            if row is not None:
                raise UserError(f"row {row + 1} of column {shown(some[column])} is infinite", path)
            yield slice(first, first + len(some)), values


def _check_types(path: Path, table: Any) -> None:
    import pandas as pd

    for name, dtype in table.dtypes.items():
        if not (pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)):
            raise UserError(f"column {shown(name)} holds {dtype}, not numbers: remove it or turn it into numbers", path)


def _check_whole(path: Path, table: Any) -> None:
    """Refuse whole numbers that are no 64-bit floating-point numbers; they would be rounded."""
    from pyarrow.compute import min_max
    from pyarrow.types import is_int64, is_uint64

    for place, column in enumerate(table.schema):
        if not (is_int64(column.type) or is_uint64(column.type)):
            continue
        for number in min_max(table.column(place)).as_py().values():
            if number is not None:
                check_whole_number(path, f"column {shown(column.name)}", number)


def _marks(path: Path, values: FloatArray, names: Sequence[str]) -> BoolArray:
    """Return which label entries are 1; a missing one is not, and what is neither 0 nor 1 is refused."""
    marks: BoolArray = values == 1
    wrong = np.argwhere(~(marks | (values == 0) | np.isnan(values)))
    if len(wrong):
        row, column = wrong[0]
        raise UserError(f"row {row + 1}: {shown(names[column])} takes 0 or 1, found {values[row, column]:g}", path)
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
            _check_whole(path, batch)
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
