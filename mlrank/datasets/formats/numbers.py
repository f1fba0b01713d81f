"""Numbers that the compiled scanners leave to a slower routine, and text pieces for messages."""

from typing import Any

import numpy as np

from mlrank.arrays import FloatArray
from mlrank.datasets.formats.growth import no_room
from mlrank.datasets.formats.text import LineBlock, shown

__all__ = ["cell_at", "reread_numbers"]


def reread_numbers(block: LineBlock, slow: Any, values: FloatArray) -> None:
    """Read the numbers listed in `slow` as (start, stop, place) with correct rounding into the flat `values`.

    Raises
    ------
    UserError
        If a number is too large for float64.
    """
    if len(slow) == 0:
        return
    from mlrank.datasets.formats._scan import copy_pieces

    copy = np.empty(int((slow[:, 1] - slow[:, 0] + 1).sum()), np.uint8)
    if copy_pieces(np.frombuffer(block.text, np.uint8), slow, copy) != copy.size:
        raise no_room(block, int(slow[0, 0]))
    # numpy reads text as Python's float does, only without a Python object for each number.
    numbers = np.fromstring(copy.tobytes(), sep=" ")
    large = np.flatnonzero(~np.isfinite(numbers))
    if large.size:
        start, stop = slow[large[0], :2].tolist()
        raise block.error(start, f"{shown(block.text[start:stop])} is too large for a 64-bit number")
    values[slow[:, 2]] = numbers


def cell_at(block: LineBlock, offset: int, ends: bytes) -> str:
    """Quote the piece of text at `offset`, up to the first of the bytes `ends` or the line's end."""
    stop = block.text.index(b"\n", offset)
    piece = block.text[offset : min(stop, offset + 400)]
    cut = min((at for at in (piece.find(bytes([end])) for end in ends) if at > 0), default=len(piece))
    return shown(piece[:cut].strip())
