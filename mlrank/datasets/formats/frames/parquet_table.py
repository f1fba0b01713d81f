"""Parquet files as tables, where pyarrow is installed: some columns at a time, or blocks of rows."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlrank.datasets.formats.arrays import check_whole_number, error_text
from mlrank.datasets.formats.frames.tables import Place, check_names
from mlrank.datasets.formats.text import shown
from mlrank.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ParquetTable"]

# Cells that are read at a time: a whole table would be held several times over by the libraries.
BATCH_CELLS = 1 << 20


@dataclass
class ParquetTable:
    """A Parquet file.

    Raises
    ------
    UserError
        If pyarrow is not installed, or the file cannot be read.
    """

    path: Path
    notes: tuple[str, ...] = ()
    is_text: bool = field(default=False, init=False)
    unnamed: tuple[str, ...] = field(default=(), init=False)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, without those that pandas stored as the index."""
        with self._opened() as file:
            # Through pandas, which takes columns that are an index apart.
            empty = file.schema_arrow.empty_table().to_pandas()
        if not all(isinstance(name, str) for name in empty.columns):
            raise UserError("column names must be text", self.path)
        names = tuple(empty.columns)
        check_names(self.path, names)
        return names

    @cached_property
    def n_rows(self) -> int:
        """Number of rows."""
        with self._opened() as file:
            return int(file.metadata.num_rows)

    def batches(self, columns: Sequence[str], as_written: bool = False) -> Iterator["pd.DataFrame"]:
        """Yield the columns, some at a time."""
        if not self.n_rows:
            raise UserError("holds no rows", self.path)
        step = max(1, BATCH_CELLS // self.n_rows)
        with self._opened() as file:
            for first in range(0, len(columns), step):
                some = list(columns[first : first + step])
                read = file.read(columns=some, use_threads=False)
                self._check_whole(read)
                if len(read) != self.n_rows:
                    message = f"column {shown(some[0])} has {len(read)} rows, the file says {self.n_rows}"
                    raise UserError(f"cannot be read as Parquet: {message}", self.path)
                yield read.to_pandas()[some]

    def rows(self, columns: Sequence[str], as_written: Sequence[str], size: int) -> Iterator["pd.DataFrame"]:
        """Yield blocks of rows."""
        step = max(1, BATCH_CELLS // 2 // max(1, len(columns)))
        with self._opened() as file:
            for batch in file.iter_batches(batch_size=min(size, step), columns=list(columns), use_threads=False):
                self._check_whole(batch)
                yield batch.to_pandas()[list(columns)]

    def place(self, row: int, column: str) -> Place:
        """Return the row: the file has no lines."""
        return Place(self.path, row)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """Open the file; whatever goes wrong with it in the block becomes a UserError."""
        try:
            from pyarrow.parquet import ParquetFile
        except ImportError as error:
            raise UserError("Parquet needs the package pyarrow: install mlrank[parquet]", self.path) from error
        try:
            with ParquetFile(self.path) as file:
                yield file
        except UserError:
            raise
        except FileNotFoundError as error:
            raise UserError("no such file", self.path) from error
        except Exception as error:  # what a damaged file makes the library raise is not documented
            raise UserError(f"cannot be read as Parquet: {error_text(error)}", self.path) from error

    def _check_whole(self, table: Any) -> None:
        """Refuse whole numbers that are no 64-bit floating-point numbers; they would be rounded."""
        from pyarrow.compute import min_max
        from pyarrow.types import is_int64, is_uint64

        for place, column in enumerate(table.schema):
            if not (is_int64(column.type) or is_uint64(column.type)):
                continue
            for number in min_max(table.column(place)).as_py().values():
                if number is not None:
                    check_whole_number(self.path, f"column {shown(column.name)}", number)
