"""Compiled loops over rows of cells: the data lines of tables and ARFF files.

`plan` says for each attribute what its cells hold (`kind`), and whether they go to Y or X and to which column
(`to_y`, `target`); values and class paths lie sorted in `pool` with `bounds`, those of attribute j at
first[j]..first[j + 1] - 1, and `column` gives the column of each. Numbers whose rounding needs more than one exact
operation are listed in `slow` as (start, stop, place in the values), to be read again by the caller; missing cells in
`missing` as (row, attribute), those of features only where `keep_missing` is set. counts = [n_slow, n_missing].
Every write is checked: a full array ends the loop with NO_ROOM. `word` must be as long as the text.
"""

from typing import Any

from mlrank.compiled import INNER, njit
from mlrank.datasets.formats import _codes as codes
from mlrank.datasets.formats._codes import BINARY, CLASSES, NOMINAL, NUMERIC
from mlrank.datasets.formats._scan import (
    AT_SIGN,
    BLANK,
    CLOSE,
    COMMA,
    DOUBLE,
    EXACT,
    NEWLINE,
    NO_NUMBER,
    ONE,
    OPEN,
    PERCENT,
    QUESTION,
    SINGLE,
    TAB,
    ends_cell,
    find_word,
    integer,
    line_end,
    number,
    skip_blanks,
    word_at,
)

NO_CLOSING = 256

__all__ = ["dense_rows", "sparse_rows"]


@njit(cache=True)
def dense_rows(
    text: Any, X: Any, Y: Any, row: int, plan: Any, word: Any, slow: Any, missing: Any, counts: Any
) -> tuple[int, int, int, int]:
    """Read comma-separated rows into X and Y from `row` on; return (code, offset, attribute, next row)."""
    # Arrays taken out of the tuple once: handing it to a function for every cell costs more than reading the cell.
    kind, to_y, target, column = plan.kind, plan.to_y, plan.target, plan.column
    at, n_slow, n_missing, n_attributes = 0, 0, 0, kind.shape[0]
    if word.shape[0] < text.shape[0]:
        return codes.NO_ROOM, at, 0, row
    while at < text.shape[0]:
        at = skip_blanks(text, at)
        if text[at] == NEWLINE or text[at] == PERCENT:
            at = line_end(text, at) + 1
            continue
        if text[at] == OPEN:
            return codes.NOT_DENSE, at, 0, row
        if row >= X.shape[0] or row >= Y.shape[0]:
            return codes.NO_ROOM, at, 0, row
        j = -1
        while j + 1 < n_attributes:
            j += 1
            if j > 0:
                code, at = _next_cell(text, at)
                if code != codes.DONE:
                    return code, at, j, row
            while kind[j] == NUMERIC and j + 1 < n_attributes:
                # The common case without what the careful reading below looks for: numbers and commas alone.
                value, stop, how = number(text, at)
                if how != EXACT or text[stop] != COMMA or text[stop + 1] <= BLANK:
                    break
                X[row, target[j]] = value
                at = stop + 1
                j += 1
            if kind[j] <= BINARY:
                code, stop, value, how = _numeric_cell(text, at, NO_CLOSING, kind[j] == BINARY)
                if code == codes.MISSING and (plan.keep_missing or to_y[j]):
                    if n_missing >= missing.shape[0]:
                        return codes.NO_ROOM, at, j, row
                    missing[n_missing, 0], missing[n_missing, 1] = row, j
                    n_missing += 1
                    at = stop
                    continue
                if code != codes.DONE:
                    return code, at, j, row
                if how != EXACT:
                    if n_slow >= slow.shape[0]:
                        return codes.NO_ROOM, at, j, row
                    quote = 1 if text[at] == SINGLE or text[at] == DOUBLE else 0
                    slow[n_slow, 0], slow[n_slow, 1] = at + quote, stop - quote
                    slow[n_slow, 2] = row * X.shape[1] + target[j]
                    n_slow += 1
                if to_y[j]:
                    Y[row, target[j]] = value != 0.0
                else:
                    X[row, target[j]] = value
            else:
                code, stop, found = _word_cell(text, at, NO_CLOSING, j, plan, Y[row], word)
                if code == codes.MISSING and (plan.keep_missing or to_y[j]):
                    if n_missing >= missing.shape[0]:
                        return codes.NO_ROOM, at, j, row
                    missing[n_missing, 0], missing[n_missing, 1] = row, j
                    n_missing += 1
                    at = stop
                    continue
                if code != codes.DONE:
                    return code, at, j, row
                if kind[j] == NOMINAL:
                    if to_y[j]:
                        Y[row, target[j]] = column[found] == 1
                    else:
                        X[row, column[found]] = 1.0
            at = stop
        at = skip_blanks(text, at)
        if text[at] != NEWLINE and text[at] != PERCENT:
            if text[at] == COMMA and text[skip_blanks(text, at + 1)] == OPEN:
                return codes.WEIGHT, skip_blanks(text, at + 1), n_attributes - 1, row
            return codes.TOO_MANY if text[at] == COMMA else codes.AFTER_CELL, at, n_attributes - 1, row
        row += 1
        at = line_end(text, at) + 1
        counts[0], counts[1] = n_slow, n_missing
    return codes.DONE, at, 0, row


@njit(cache=True)
def sparse_rows(
    text: Any, rows: Any, Y: Any, state: Any, plan: Any, seen: Any, word: Any, slow: Any, missing: Any, counts: Any
) -> tuple[int, int, int]:
    """Read rows {i v, ...} into rows = (data, indices, indptr) and Y; return (code, offset, attribute).

    state = [next row, next entry]; `seen` holds for each attribute the row in which it was last met, plus 1.
    """
    data, indices, indptr = rows
    kind, to_y, target, column = plan.kind, plan.to_y, plan.target, plan.column
    at, n_slow, n_missing, row, entry = 0, 0, 0, state[0], state[1]
    room = min(data.shape[0], indices.shape[0])
    if word.shape[0] < text.shape[0]:
        return codes.NO_ROOM, at, 0
    while at < text.shape[0]:
        at = skip_blanks(text, at)
        if text[at] == NEWLINE or text[at] == PERCENT:
            at = line_end(text, at) + 1
            continue
        if text[at] != OPEN:
            return codes.NOT_SPARSE, at, 0
        if row >= Y.shape[0] or row + 1 >= indptr.shape[0]:
            return codes.NO_ROOM, at, 0
        opened = at
        at = skip_blanks(text, at + 1)
        while text[at] != CLOSE:
            code, at, j, start = _index(text, at, seen, row)
            if code != codes.DONE:
                return code, at, j
            if kind[j] <= BINARY:
                if text[start] == ONE and (text[start + 1] == COMMA or text[start + 1] == CLOSE):
                    # The common case of the careful reading below.
                    code, stop, value, how = codes.DONE, start + 1, 1.0, EXACT
                else:
                    code, stop, value, how = _numeric_cell(text, start, CLOSE, kind[j] == BINARY)
                if code == codes.MISSING and (plan.keep_missing or to_y[j]):
                    if n_missing >= missing.shape[0]:
                        return codes.NO_ROOM, start, j
                    missing[n_missing, 0], missing[n_missing, 1] = row, j
                    n_missing += 1
                elif code != codes.DONE:
                    return code, start, j
                elif to_y[j]:
                    Y[row, target[j]] = value != 0.0
                elif value != 0.0 or how != EXACT:
                    if entry >= room or n_slow >= slow.shape[0]:
                        return codes.NO_ROOM, start, j
                    if how != EXACT:
                        quote = 1 if text[start] == SINGLE or text[start] == DOUBLE else 0
                        slow[n_slow, 0], slow[n_slow, 1], slow[n_slow, 2] = start + quote, stop - quote, entry
                        n_slow += 1
                    data[entry], indices[entry] = value, target[j]
                    entry += 1
            else:
                code, stop, found = _word_cell(text, start, CLOSE, j, plan, Y[row], word)
                if code == codes.MISSING and (plan.keep_missing or to_y[j]):
                    if n_missing >= missing.shape[0]:
                        return codes.NO_ROOM, start, j
                    missing[n_missing, 0], missing[n_missing, 1] = row, j
                    n_missing += 1
                elif code != codes.DONE:
                    return code, start, j
                elif kind[j] == NOMINAL and to_y[j]:
                    Y[row, target[j]] = column[found] == 1
                elif kind[j] == NOMINAL:
                    if entry >= room:
                        return codes.NO_ROOM, start, j
                    data[entry], indices[entry] = 1.0, column[found]
                    entry += 1
            code, at = _next_pair(text, stop)
            if code != codes.DONE:
                return code, at, j
        at = skip_blanks(text, at + 1)
        if text[at] == COMMA and text[skip_blanks(text, at + 1)] == OPEN:
            return codes.WEIGHT, skip_blanks(text, at + 1), 0
        if text[at] != NEWLINE and text[at] != PERCENT:
            return codes.AFTER_ROW, at, 0
        # What a row leaves out has the first declared value; listed are the attributes for which that is not 0.
        for place in range(plan.omitted.shape[0]):
            j = plan.omitted[place]
            if seen[j] == row + 1:
                continue
            if kind[j] == CLASSES:
                return codes.NO_CLASS, opened, j
            if to_y[j]:
                Y[row, target[j]] = True
            else:
                if entry >= room:
                    return codes.NO_ROOM, opened, j
                data[entry], indices[entry] = 1.0, target[j]
                entry += 1
        row += 1
        indptr[row] = entry
        state[0], state[1] = row, entry
        at = line_end(text, at) + 1
        counts[0], counts[1] = n_slow, n_missing
    return codes.DONE, at, 0


@njit(**INNER)
def _next_cell(text: Any, at: int) -> tuple[int, int]:
    """Pass one separator: a comma with blanks around it, or tabs alone; return (code, start of the next cell)."""
    if text[at] == COMMA and text[at + 1] > BLANK:
        return codes.DONE, at + 1
    start, tabs = at, False
    while text[at] == BLANK or text[at] == TAB:
        tabs = tabs or text[at] == TAB
        at += 1
    if text[at] == COMMA:
        at += 1
        while text[at] == BLANK or text[at] == TAB:
            at += 1
        return codes.DONE, at
    after = skip_blanks(text, at)
    if text[after] == NEWLINE or text[after] == PERCENT:
        return codes.TOO_FEW, start
    return (codes.DONE, at) if tabs else (codes.AFTER_CELL, at)


@njit(**INNER)
def _index(text: Any, at: int, seen: Any, row: int) -> tuple[int, int, int, int]:
    """Read an attribute's number; return (code, position, attribute, start of its value)."""
    j, stop = integer(text, at)
    if text[at] == NEWLINE:
        return codes.UNCLOSED_ROW, at, 0, at
    if j < 0 or (text[stop] != BLANK and text[stop] != TAB):
        return codes.NOT_AN_INDEX, at, 0, at
    if j >= seen.shape[0]:
        return codes.INDEX_TOO_LARGE, at, 0, at
    if seen[j] == row + 1:
        return codes.REPEATED_INDEX, at, j, at
    seen[j] = row + 1
    return codes.DONE, at, j, skip_blanks(text, stop)


@njit(**INNER)
def _next_pair(text: Any, at: int) -> tuple[int, int]:
    """Pass the comma behind a pair, or stop at the closing brace; return (code, position)."""
    at = skip_blanks(text, at)
    if text[at] == COMMA:
        at = skip_blanks(text, at + 1)
        return (codes.NOT_AN_INDEX if text[at] == CLOSE else codes.DONE), at
    if text[at] == CLOSE:
        return codes.DONE, at
    return (codes.UNCLOSED_ROW if text[at] == NEWLINE else codes.AFTER_CELL), at


@njit(**INNER)
def _numeric_cell(text: Any, at: int, closing: int, binary: bool) -> tuple[int, int, float, int]:
    """Read a number, or a 0 or 1, that may be quoted; return (code, stop, value, how exact)."""
    value, stop, how = number(text, at)
    if how == NO_NUMBER and (text[at] == SINGLE or text[at] == DOUBLE):
        value, stop, how = number(text, at + 1)
        if text[stop] != text[at]:
            return (codes.NOT_BINARY if binary else codes.NOT_A_NUMBER), at, 0.0, EXACT
        stop += 1
    ends = text[stop] == BLANK or text[stop] == PERCENT or ends_cell(text[stop], closing)
    if ends and how != NO_NUMBER and not (binary and (how != EXACT or (value != 0.0 and value != 1.0))):
        return codes.DONE, stop, value, how
    if _is_missing(text, at, closing):
        return codes.MISSING, at + 1, 0.0, EXACT
    return (codes.NOT_BINARY if binary else codes.NOT_A_NUMBER), at, 0.0, EXACT


@njit(**INNER)
def _is_missing(text: Any, at: int, closing: int) -> bool:
    return text[at] == QUESTION and (text[at + 1] == BLANK or ends_cell(text[at + 1], closing))  # type: ignore[no-any-return]


@njit(**INNER)
def _word_cell(text: Any, at: int, closing: int, j: int, plan: Any, marks: Any, word: Any) -> tuple[int, int, int]:
    """Read a nominal value, or classes into the row `marks` of Y; return (code, stop, position of the value)."""
    if _is_missing(text, at, closing):
        return codes.MISSING, at + 1, 0
    length, stop = word_at(text, at, closing, word)
    if length < 0:
        return codes.OPEN_QUOTE, at, 0
    low, high = plan.first[j], plan.first[j + 1]
    if plan.kind[j] == NOMINAL:
        found = find_word(word, 0, length, plan.pool, plan.bounds, low, high)
        return (codes.UNKNOWN_VALUE if found < 0 else codes.DONE), stop, found
    start = 0
    for place in range(length + 1):
        if place == length or word[place] == AT_SIGN:
            found = find_word(word, start, place, plan.pool, plan.bounds, low, high)
            if found < 0:
                return codes.UNKNOWN_CLASS, stop, found
            # Its ancestors are marked by the caller.
            marks[plan.column[found]] = True
            start = place + 1
    return codes.DONE, stop, 0
