"""Parquet tables, where pyarrow is installed; see `frames` for what columns may hold."""

from collections.abc import Iterator

from mlrank.arrays import Features, as_dense
from mlrank.datasets.dataset import Dataset
from mlrank.datasets.formats.base import Format, LoadOptions, Source, StreamRequest, WriteJob
from mlrank.datasets.formats.frames import (
    COLUMN_OPTIONS,
    labels_elsewhere,
    open_table,
    read_tables,
    stream_tables,
)
from mlrank.datasets.formats.writing import described_rows, refuse_wide
from mlrank.errors import UserError

__all__ = ["PARQUET"]


def _read(source: Source) -> Dataset:
    """Read Parquet tables.

    Raises
    ------
    UserError
        If pyarrow is not installed or a column holds what cannot be understood.
    """
    return read_tables(source, [open_table(path, "parquet") for path in source.parts], labels_elsewhere(source))


def _stream(request: StreamRequest) -> Iterator[Features]:
    """Yield the selected columns of a Parquet file."""
    return stream_tables(request, open_table(request.path, "parquet"))


def _write(job: WriteJob) -> LoadOptions:
    import pandas as pd

    data = job.dataset
    refuse_wide(data, "parquet")
    described, options = described_rows(data)
    for path, rows in job.parts():
        part = slice(rows.start, rows.stop)
        about = pd.DataFrame({name: column[part] for name, column in described.items()}, index=range(len(rows)))
        features = pd.DataFrame(as_dense(data.X[part]), columns=list(data.feature_names))
        labels = pd.DataFrame(data.Y[part], columns=list(data.label_names))
        if data.known is not None:
            labels = labels.astype("boolean").mask(~data.known[part])
        try:
            pd.concat([about, features, labels], axis=1).to_parquet(path, engine="pyarrow", index=False)
        except ImportError as error:
            raise UserError("Parquet needs the package pyarrow: install mlrank[parquet]") from error
        except ValueError as error:
            raise UserError(" ".join(str(error).split())) from error
    return job.options(format="parquet", label_columns=list(data.label_names), **options)


PARQUET = Format(
    key="parquet",
    endings=(".parquet",),
    options=COLUMN_OPTIONS,
    read=_read,
    stream=_stream,
    write=_write,
    written=".parquet",
    by_columns="parquet",
)
