"""Files as tables: one file, or a folder of files of the same columns, one below the other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mlrank.datasets.formats.frames.parquet_table import ParquetTable
from mlrank.datasets.formats.frames.tables import Place, Table, TextTable
from mlrank.datasets.formats.text import file_stem, shown
from mlrank.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["JoinedTable", "open_table"]

# Rows that are counted at a time.
BLOCK_ROWS = 1 << 16


def open_table(path: Path, key: str, separator: str | None = None, header: bool | None = None, least: int = 2) -> Table:
    """Open a file, or a folder of files, of the format "csv", "tsv" or "parquet".

    Parameters
    ----------
    path : Path
    key : key of the format
    separator, header, least : as of `TextTable`

    Raises
    ------
    UserError
        If a file cannot be read, has no names for its columns, or other ones than the first of its folder.
    """
    if path.is_dir():
        files = _files_in(path, (f".{key}",))
        return JoinedTable(path, [open_table(file, key, separator, header, least) for file in files])
    if key == "parquet":
        return ParquetTable(path)
    return TextTable(path, separator or ("\t" if key == "tsv" else None), header, least=least)


@dataclass
class JoinedTable:
    """Tables of the same columns, one below the other, such as a folder of files."""

    path: Path
    parts: Sequence[Table]

    def __post_init__(self) -> None:
        first = self.parts[0]
        for part in self.parts[1:]:
            if set(part.names) != set(first.names):
                other = sorted(set(part.names) ^ set(first.names))[0]
                raise UserError(f"has other columns than {first.path.name}, such as {shown(other)}", part.path)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in the order of the first part."""
        return self.parts[0].names

    @property
    def is_text(self) -> bool:
        """Whether the parts are text."""
        return self.parts[0].is_text

    @property
    def unnamed(self) -> tuple[str, ...]:
        """The columns that have no name."""
        return self.parts[0].unnamed

    @property
    def notes(self) -> tuple[str, ...]:
        """What was seen in the parts, and how many there are."""
        return (*dict.fromkeys(note for part in self.parts for note in part.notes), f"{len(self.parts)} files joined")

    def batches(self, columns: Sequence[str], as_written: bool = False) -> Iterator["pd.DataFrame"]:
        """Yield the columns, all at once."""
        import pandas as pd

        if columns:
            yield pd.concat([_whole(part, columns, as_written) for part in self.parts], ignore_index=True)

    def rows(self, columns: Sequence[str], as_written: Sequence[str], size: int) -> Iterator["pd.DataFrame"]:
        """Yield blocks of rows."""
        for part in self.parts:
            yield from part.rows(columns, as_written, size)

    def place(self, row: int, column: str) -> Place:
        """Return the place in the part that has the row."""
        for part in self.parts:
            size = sum(map(len, part.rows([column], [column], BLOCK_ROWS)))
            if row < size:
                return part.place(row, column)
            row -= size
        return Place(self.path, row)


def _whole(table: Table, columns: Sequence[str], as_written: bool) -> "pd.DataFrame":
    import pandas as pd

    return pd.concat(list(table.batches(columns, as_written)), axis=1)


def _files_in(path: Path, endings: Sequence[str]) -> list[Path]:
    """Return the files of a folder that have one of the endings, sorted by name, without hidden ones.

    Raises
    ------
    UserError
        If there is none.
    """
    found = sorted(
        entry
        for entry in path.iterdir()
        if entry.is_file() and not entry.name.startswith((".", "_")) and file_stem(entry)[1] in endings
    )
    if not found:
        raise UserError(f"a folder without a file of the ending {' or '.join(endings)}", path)
    return found
