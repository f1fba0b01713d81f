"""Compiled loop over the lines of multi-label LIBSVM files."""

from typing import Any

from mlrank.compiled import INNER, njit
from mlrank.datasets.formats import _codes as codes
from mlrank.datasets.formats._scan import (
    BLANK,
    COLON,
    COMMA,
    EXACT,
    HASH,
    LARGEST_INDEX,
    NEWLINE,
    NO_NUMBER,
    RETURN,
    TAB,
    integer,
    line_end,
    number,
    skip_blanks,
)

__all__ = ["label_rows"]


@njit(cache=True)
def label_rows(
    text: Any, data: Any, indices: Any, indptr: Any, ids: Any, id_indptr: Any, state: Any, slow: Any
) -> tuple[int, int, int]:
    """Read lines "l,l i:v i:v", indices and label ids as written; return (code, offset, n_slow).

    state = [next row, next entry, next label, line reached, first empty line met or 0, rows out of order].
    Every write is checked: a full array ends the loop with NO_ROOM.
    """
    row, entry, label = state[0], state[1], state[2]
    at, n_slow, room = 0, 0, min(data.shape[0], indices.shape[0])
    while at < text.shape[0]:
        state[3] += 1
        first = skip_blanks(text, at)
        if text[first] == HASH:
            at = line_end(text, first) + 1
            continue
        if text[at] == NEWLINE or (text[at] == RETURN and text[at + 1] == NEWLINE):
            # Harmless at the end of the file only: a row of nothing at all would be written as one blank.
            if state[4] == 0:
                state[4] = state[3]
            at = line_end(text, at) + 1
            continue
        if state[4] != 0:
            return codes.EMPTY_LINE, at, n_slow
        if row + 1 >= min(indptr.shape[0], id_indptr.shape[0]):
            return codes.NO_ROOM, at, n_slow
        unlabeled = text[at] == BLANK or text[at] == TAB
        if not unlabeled:
            code, at, label = _labels(text, at, ids, label)
            if code != codes.DONE:
                return code, at, n_slow
        at, last, in_order = skip_blanks(text, at), -1, True
        while text[at] != NEWLINE and text[at] != HASH:
            code, stop, end, index, value, how = _pair(text, at)
            if code != codes.DONE:
                alone = unlabeled and last < 0 and code == codes.NOT_A_PAIR and index >= 0
                return (codes.LABEL_AFTER_BLANK if alone else code), stop, n_slow
            if entry >= room or n_slow >= slow.shape[0]:
                return codes.NO_ROOM, at, n_slow
            if how != EXACT:
                slow[n_slow, 0], slow[n_slow, 1], slow[n_slow, 2] = stop, end, entry
                n_slow += 1
            data[entry], indices[entry] = value, index
            entry += 1
            in_order = in_order and index > last
            last = index
            at = skip_blanks(text, end)
        state[5] += not in_order
        row += 1
        indptr[row], id_indptr[row] = entry, label
        state[0], state[1], state[2] = row, entry, label
        at = line_end(text, at) + 1
    return codes.DONE, at, n_slow


@njit(**INNER)
def _pair(text: Any, at: int) -> tuple[int, int, int, int, float, int]:
    """Read "i:v"; return (code, start of the value or place of the error, stop, index, value, how exact)."""
    index, stop = integer(text, at)
    if index < 0 or text[stop] != COLON:
        return codes.NOT_A_PAIR, at, at, index, 0.0, EXACT
    if index > LARGEST_INDEX:
        return codes.INDEX_TOO_LARGE, at, at, index, 0.0, EXACT
    value, end, how = number(text, stop + 1)
    if how == NO_NUMBER or not _ends_pair(text[end]):
        return codes.NOT_A_NUMBER, stop + 1, end, index, 0.0, EXACT
    return codes.DONE, stop + 1, end, index, value, how


@njit(**INNER)
def _ends_pair(byte: int) -> bool:
    return byte in (BLANK, TAB, RETURN, NEWLINE, HASH)


@njit(**INNER)
def _labels(text: Any, at: int, ids: Any, label: int) -> tuple[int, int, int]:
    """Read "l,l,l"; return (code, position, next label)."""
    first = label
    while True:
        value, stop = integer(text, at)
        if value < 0:
            blank = text[at] == BLANK or text[at] == TAB
            return (codes.BLANK_AFTER_COMMA if blank and label > first else codes.NOT_A_LABEL), at, label
        if text[stop] == COLON and label == first:
            return codes.NO_LABELS, at, label
        if text[stop] != COMMA and not _ends_pair(text[stop]):
            return codes.NOT_A_LABEL, at, label
        if value > LARGEST_INDEX:
            return codes.INDEX_TOO_LARGE, at, label
        if label >= ids.shape[0]:
            return codes.NO_ROOM, at, label
        ids[label] = value
        label += 1
        if text[stop] != COMMA:
            return codes.DONE, stop, label
        at = stop + 1
