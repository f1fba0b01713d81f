"""The features of a file's rows block by block, so that files larger than the memory can be read.

Labels that the file holds are ignored. MATLAB files, and .npz files whose X lies column by column, are read whole.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mlrank.arrays import Features, as_features
from mlrank.datasets.formats import Source, find_format, format_of
from mlrank.datasets.formats.base import StreamRequest, TextStyle
from mlrank.datasets.formats.missing import filled
from mlrank.datasets.formats.selection import Selection
from mlrank.errors import UserError, check_regular, memory_errors

__all__ = ["RowStream"]

# So much text is read at a time.
CHUNK_BYTES = 1 << 21


class RowStream:
    """Iterates over the rows of a file as blocks with the columns selected; `notes` fill up on the way.

    Parameters
    ----------
    path : Path
    selection : Selection
    format : str, optional
        Key of FORMATS; by the file's ending if left out.
    zero_based : bool, optional
        For formats that number features: whether they count from 0. Left out, the numbers are the features' names.
    cells : int
        Blocks have about so many cells at most, where the format allows to say so.
    id_column : str, optional
        The column of a table that names the rows; `take_ids` gives the names of the rows that were read.
    style : TextStyle
        How the file is written, where it is separated text.

    Raises
    ------
    UserError
        If the format is unknown, or its features have no numbers and `zero_based` is given.
    """

    def __init__(
        self,
        path: Path,
        selection: Selection,
        format: str | None = None,
        zero_based: bool | None = None,
        cells: int = 1 << 22,
        id_column: str | None = None,
        style: TextStyle = TextStyle(),  # noqa: B008, it cannot change
    ) -> None:
        if not path.is_dir():
            check_regular(path)
        self.path, self.selection, self.zero_based = path, selection, zero_based
        self.format = find_format(format or format_of(path, Source((path,))))
        if zero_based is not None and not self.format.numbered:
            raise UserError(f"features of the format '{self.format.key}' do not count from a number", path)
        self.rows = max(1, cells // len(selection.features))
        self.notes: list[str] = []
        self.ids: list[str] = []
        self.id_column = id_column
        if id_column is not None and "id_column" not in self.format.options:
            raise UserError(f"the format '{self.format.key}' has no columns that could name the rows", path)
        for option, value in vars(style).items():
            if value is not None and option not in self.format.options:
                raise UserError(f"'{option}' has no effect with format '{self.format.key}'", path)
        self.style = style
        self.n_filled = 0

    def take_ids(self, n_rows: int) -> list[str]:
        """Return the names of the next rows that were read and not asked for yet; none without a column of names."""
        taken = self.ids[:n_rows]
        del self.ids[:n_rows]
        return taken

    def __iter__(self) -> Iterator[Features]:
        with memory_errors(self.path):
            yield from self._blocks()

    def _blocks(self) -> Iterator[Features]:
        about = (self.path, self.selection, self.zero_based, self.rows, CHUNK_BYTES)
        request = StreamRequest(*about, self.notes, self.id_column, self.ids, self.style)
        for block in self.format.stream(request):
            X, n_filled = filled(as_features(block), self.selection.fill)
            self.n_filled += n_filled
            # The compiled readers refuse such numbers; files of arrays may hold them.
            values = X if isinstance(X, np.ndarray) else X.data
            if not np.isfinite(values).all():
                missing = "missing (NaN) or " if self.selection.fill is None else ""
                raise UserError(f"holds features that are {missing}infinite, which have no scores", self.path)
            yield X
        if self.n_filled:
            owner = self.selection.owner
            self.notes.append(f"{self.n_filled} missing cells filled with the values that {owner} was fitted with")
