"""Sizes of arrays that are filled while a file is read, so that they are seldom copied and never far too large."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mlrank.datasets.formats.text import LineBlock, is_packed

__all__ = ["Growth", "no_room", "resized"]


class Growth:
    """Foresees from the blocks read so far how much the rest of the files will hold.

    Growing an array can mean to copy it: with a fixed step the cost would be quadratic in the size of the files.
    """

    def __init__(self, parts: Sequence[Path]) -> None:
        # The size of a packed file says nothing about its content.
        self.bytes_left = sum(path.stat().st_size for path in parts if path.is_file() and not is_packed(path))

    def passed(self, n_bytes: int) -> None:
        """Say that a block of so many bytes has come."""
        self.bytes_left = max(0, self.bytes_left - n_bytes)

    def room(self, have: int, used: int, added: int, n_bytes: int) -> int:
        """Return a length for an array of length `have`, `used` so far, to which a block of `n_bytes` adds `added`."""
        needed = used + added
        if needed <= have:
            return have
        rest = int(1.02 * added * self.bytes_left / max(n_bytes, 1))
        return max(needed + rest, have + have // 4)


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
