"""The compiled loop over rows of separated numbers.

It reads what every reader of tables reads alike: plain numbers, perhaps with blanks around them, and cells of nothing.
At anything else it stops, and the caller reads the table in another way; so it needs no messages.
"""

from typing import Any

from mlrank.compiled import INNER, njit
from mlrank.datasets.formats._scan import BLANK, DOUBLE, EXACT, NEWLINE, NO_NUMBER, RETURN, number

__all__ = ["SKIPPED", "number_rows"]

# A column that goes nowhere; label j is -2 - j, feature j is j.
SKIPPED = -1


@njit(cache=True)
def number_rows(text: Any, separator: int, target: Any, X: Any, Y: Any, known: Any, row: int, others: Any) -> Any:
    """Read rows into X, Y and known from `row` on; return (next row, number of others), next row -1 for other text.

    others : (start, stop, row, feature) of cells to be looked at: numbers to be read again from their text, and words;
    start is stop for a cell of nothing. A label of nothing is left as it is in `known`.
    """
    at, n_others, last = 0, 0, target.shape[0] - 1
    while at < text.shape[0]:
        if text[at] == NEWLINE or (text[at] == RETURN and text[at + 1] == NEWLINE):
            at += 1
            continue
        if row >= X.shape[0]:
            return -1, 0
        j = -1
        while j < last:
            j += 1
            while j < last and target[j] >= 0:
                # The common case of the careful reading below: a number and a separator.
                value, stop, how = number(text, at)
                if how != EXACT or text[stop] != separator:
                    break
                X[row, target[j]] = value
                at = stop + 1
                j += 1
            while text[at] == BLANK and separator != BLANK:
                at += 1
            place = target[j]
            value, stop, how = 0.0, at, NO_NUMBER
            if place != SKIPPED:
                value, stop, how = number(text, at)
            end = _cell_end(text, stop, separator)
            if end < 0 or (text[end] == separator) != (j < last):
                return -1, 0
            while stop < end and (text[stop] == BLANK or text[stop] == RETURN):
                stop += 1
            whole = stop == end
            if place >= 0 and whole and how == EXACT:
                X[row, place] = value
            elif place >= 0:
                if n_others >= others.shape[0]:
                    return -1, 0
                others[n_others, 0], others[n_others, 1] = at, at if _is_empty(text, at, end) else end
                others[n_others, 2], others[n_others, 3] = row, place
                n_others += 1
            elif place < SKIPPED and whole and how == EXACT and (value == 0.0 or value == 1.0):
                Y[row, -2 - place] = value == 1.0
                known[row, -2 - place] = True
            elif place < SKIPPED and not _is_empty(text, at, end):
                return -1, 0
            at = end + 1
        row += 1
    return row, n_others


@njit(**INNER)
def _cell_end(text: Any, at: int, separator: int) -> int:
    """Return where a cell without quotation marks ends; -1 for one that others may see in another way."""
    while text[at] != separator and text[at] != NEWLINE:
        if text[at] == DOUBLE or text[at] == 0 or (text[at] == RETURN and text[at + 1] != NEWLINE):
            return -1
        at += 1
    return at


@njit(**INNER)
def _is_empty(text: Any, at: int, end: int) -> bool:
    return at == end or (at + 1 == end and text[at] == RETURN)
