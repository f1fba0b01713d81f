"""Compiled loop over the lines of multi-label LIBSVM files."""

from typing import Any

import numpy as np
from numba import njit

from mlrank.datasets import _codes as codes
from mlrank.datasets._scan import (
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

__all__ = ["ROW", "label_rows"]

# Places in `state`: the next row, entry and label, the line reached, and the first empty line met (0: none).
ROW, ENTRY, LABEL, LINE, EMPTY = range(5)


@njit(cache=True)
def label_rows(text: Any, entries: Any, labels: Any, state: Any, slow: Any) -> tuple[int, int, int]:
    """Read lines "l,l i:v i:v" into entries = (data, indices, indptr), labels = (ids, indptr).

    Indices and ids are stored as written. Returns (code, offset, n_slow).
    """
    at, n_slow = 0, 0
    while at < text.shape[0]:
        state[LINE] += 1
        content = skip_blanks(text, at)
        if text[content] == HASH:
            at = line_end(text, content) + 1
            continue
        if text[at] == NEWLINE or (text[at] == RETURN and text[at + 1] == NEWLINE):
            # Harmless at the end of the file only: a row of nothing at all would be written as one blank.
            if state[EMPTY] == 0:
                state[EMPTY] = state[LINE]
            at = line_end(text, at) + 1
            continue
        if state[EMPTY] != 0:
            return codes.EMPTY_LINE, at, n_slow
        code, at, n_slow = _row(text, at, entries, labels, state, slow, n_slow)
        if code != codes.DONE:
            return code, at, n_slow
        state[ROW] += 1
        entries[2][state[ROW]], labels[1][state[ROW]] = state[ENTRY], state[LABEL]
        at = line_end(text, at) + 1
    return codes.DONE, at, n_slow


@njit(cache=True)
def _row(text: Any, at: int, entries: Any, labels: Any, state: Any, slow: Any, n_slow: int) -> tuple[int, int, int]:
    unlabeled = text[at] == BLANK or text[at] == TAB
    if not unlabeled:
        code, at = _labels(text, at, labels, state)
        if code != codes.DONE:
            return code, at, n_slow
    start, first, sorted_so_far = at, state[ENTRY], True
    at = skip_blanks(text, at)
    while text[at] != NEWLINE and text[at] != HASH:
        index, stop = integer(text, at)
        if index < 0 or text[stop] != COLON:
            lone = unlabeled and state[ENTRY] == first and index >= 0
            return (codes.LABEL_AFTER_BLANK if lone else codes.NOT_A_PAIR), at, n_slow
        if index > LARGEST_INDEX:
            return codes.INDEX_TOO_LARGE, at, n_slow
        value, end, how = number(text, stop + 1)
        if how == NO_NUMBER or not _ends_pair(text[end]):
            return codes.NOT_A_NUMBER, stop + 1, n_slow
        if how != EXACT:
            slow[n_slow, 0], slow[n_slow, 1], slow[n_slow, 2] = stop + 1, end, state[ENTRY]
            n_slow += 1
        entry = state[ENTRY]
        sorted_so_far = sorted_so_far and (entry == first or index > entries[1][entry - 1])
        entries[0][entry], entries[1][entry] = value, index
        state[ENTRY] += 1
        at = skip_blanks(text, end)
    if not sorted_so_far and _repeats(entries[1][first : state[ENTRY]]):
        return codes.REPEATED_INDEX, start, n_slow
    return codes.DONE, at, n_slow


@njit(cache=True)
def _ends_pair(byte: int) -> bool:
    return byte == BLANK or byte == TAB or byte == RETURN or byte == NEWLINE or byte == HASH  # noqa: SIM109


@njit(cache=True)
def _labels(text: Any, at: int, labels: Any, state: Any) -> tuple[int, int]:
    first = state[LABEL]
    while True:
        label, stop = integer(text, at)
        if label < 0:
            blank = text[at] == BLANK or text[at] == TAB
            return (codes.BLANK_AFTER_COMMA if blank and state[LABEL] > first else codes.NOT_A_LABEL), at
        if text[stop] == COLON and state[LABEL] == first:
            return codes.NO_CLASS, at
        if text[stop] != COMMA and not _ends_pair(text[stop]):
            return codes.NOT_A_LABEL, at
        if label > LARGEST_INDEX:
            return codes.INDEX_TOO_LARGE, at
        labels[0][state[LABEL]] = label
        state[LABEL] += 1
        if text[stop] != COMMA:
            break
        at = stop + 1
    if _repeats(labels[0][first : state[LABEL]]):
        return codes.REPEATED_LABEL, at
    return codes.DONE, stop


@njit(cache=True)
def _repeats(indices: Any) -> bool:
    """Return whether a number occurs twice; a few are compared directly, many by sorting."""
    size = indices.shape[0]
    if size <= 16:
        for later in range(1, size):
            for earlier in range(later):
                if indices[earlier] == indices[later]:
                    return True
        return False
    ordered = np.sort(indices)
    return bool((ordered[1:] == ordered[:-1]).any())
