"""Sizes of arrays that are filled while a file is read, so that they are seldom copied and never far too large."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mlrank.datasets.formats.text import MOST_EMPTY, LineBlock, is_packed
from mlrank.errors import UserError
from mlrank.hardware import available_memory
from mlrank.room import check_room, fits

__all__ = ["Growth", "no_room", "resized"]

# Bytes of text for each byte of memory that rows of it may take: many digits for each number.
TEXT_OF_MEMORY = 4


class Growth:
    """Foresees from the blocks read so far how much the rest of the files will hold.

    Growing an array can mean to copy it: with a fixed step the cost would be quadratic in the size of the files.
    """

    def __init__(self, parts: Sequence[Path]) -> None:
        files = [path for path in parts if path.is_file()]
        packed = [path for path in files if is_packed(path)]
        # The size of a packed file says nothing about its content.
        self.bytes_left = sum(path.stat().st_size for path in files if path not in packed)
        # Text of rows that fit into memory is not much longer than these; a small packed file may unpack to any length.
        available = available_memory() if packed else None
        self.most_bytes = None if available is None else TEXT_OF_MEMORY * available
        self.n_bytes, self.n_bare, self.n_rows = 0, 0, 0

    def passed(self, block: LineBlock, n_rows: int) -> None:
        """Say that a block comes after so many rows.

        Raises
        ------
        UserError
            If a very long text before it held no row, or the files unpack to more than could fit into memory.
        """
        n_bytes = len(block.text)
        self.bytes_left = max(0, self.bytes_left - n_bytes)
        self.n_bytes += n_bytes
        self.n_bare = self.n_bare + n_bytes if n_rows == self.n_rows else n_bytes
        self.n_rows = n_rows
        if self.n_bare > max(MOST_EMPTY, 2 * n_bytes):
            raise UserError(f"more than {MOST_EMPTY} bytes without a row: this is no data file", block.path, block.line)
        if self.most_bytes is not None and self.n_bytes > self.most_bytes:
            raise UserError(f"unpacks to more than {self.n_bytes} bytes, too many for this memory", block.path)

    def room(self, block: LineBlock, have: int, used: int, added: int, width: int) -> int:
        """Return a length for an array of length `have`, `used` so far, to which a block adds `added`.

        Raises
        ------
        UserError
            If so many entries of `width` bytes take more memory than there is.
        """
        needed = used + added
        if needed <= have:
            return have
        check_room((needed - have) * width, f"a further {needed - have} rows or entries", block.path)
        rest = int(1.02 * added * self.bytes_left / max(len(block.text), 1))
        foreseen = max(needed + rest, have + have // 4)
        return foreseen if fits((foreseen - have) * width) else needed


def resized(array: Any, rows: int) -> Any:
    """Return the array with another number of rows, new ones filled with zeros; in place where it can be."""
    if rows == len(array):
        return array
    if len(array) == 0:
        # What is allocated at once gets large pages from the system, which are several times faster to fill.
        return np.zeros((rows, *array.shape[1:]), array.dtype)
    array.resize((rows, *array.shape[1:]), refcheck=False)
    return array


def no_room(block: LineBlock, at: int) -> ValueError:
    """Return the error for an array that was made too small for a block, which only a mistake of ours can bring."""
    return ValueError(f"{block.error(at, 'arrays are too small for this row')}; please report this file")
