"""Columns of a table as labels: 0/1 columns in any two words, or one column of lists of labels."""

import ast
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mlrank.arrays import BoolArray
from mlrank.datasets.columns import ListColumn
from mlrank.datasets.formats.frames.tables import Table, cell_error
from mlrank.datasets.formats.frames.values import column_words, is_lists, is_none, missing_words, plain_text
from mlrank.datasets.formats.frames.words import negative_of, normal_words
from mlrank.datasets.formats.names import matching_names, repeated
from mlrank.datasets.formats.room import MOST_COLUMNS
from mlrank.datasets.formats.text import plain_name, shown
from mlrank.errors import UserError, unknown_name
from mlrank.labels import LabelMatrix, as_labels
from mlrank.room import check_room

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LabelsRead", "by_number", "label_names_of", "read_label_columns", "read_list_column"]

# A message shows this many words at most.
SHOWN_WORDS = 4
_THERE = frozenset(("1", "True"))
_ENTRIES = _THERE | {"0", "False"}


class LabelsRead(NamedTuple):
    """Y and known of each part, (n_rows, n_labels), the names, and notes."""

    parts: list[tuple[LabelMatrix, BoolArray | None]]
    names: tuple[str, ...]
    notes: list[str]


def label_names_of(table: Table, given: int | Sequence[str], among: Sequence[str]) -> tuple[str, ...]:
    """Return the label columns: the first n, for -n the last n, or those named, of which `y_*` names several.

    Parameters
    ----------
    table : Table, for messages
    given : as the option has it
    among : the columns that may be labels or features, in order

    Raises
    ------
    UserError
        If there is no such column, or no feature would be left.
    """
    if isinstance(given, int):
        if not 0 < abs(given) < len(among):
            most = len(among) - 1
            message = f"{given} says that {abs(given)} of {len(among)} columns are labels; possible are 1 to {most}"
            raise UserError(message, table.path)
        return tuple(among[:given] if given > 0 else among[given:])
    names, there = matching_names(given, among), set(table.names)
    for name in names:
        if name not in there:
            raise UserError(unknown_name("label column", plain_name(name), map(plain_name, table.names)), table.path)
    if (twice := repeated(names)) is not None:
        raise UserError(f"the label column {shown(twice)} is named twice", table.path)
    return names


def read_label_columns(
    tables: Sequence[Table], sizes: Sequence[int], names: tuple[str, ...], positive: Sequence[str]
) -> LabelsRead:
    """Read 0/1 columns; a missing entry is unknown.

    Parameters
    ----------
    tables, sizes : the parts and their numbers of rows
    names : tuple of str
    positive : words that say that a label is there, where they are not among those that are known

    Raises
    ------
    UserError
        If a column has other values than two, or two words of which none is known to mean yes.
    """
    check_room(2 * sum(sizes) * len(names), f"{len(names)} labels of {sum(sizes)} rows", tables[0].path)
    Y = [np.zeros((size, len(names)), np.bool_) for size in sizes]
    known = [np.ones((size, len(names)), np.bool_) for size in sizes]
    words: list[set[str]] = [set() for _ in names]
    cells: dict[tuple[int, int], Any] = {}
    for part, table in enumerate(tables):
        start = 0
        for frame in table.batches(names):
            for offset, name in enumerate(frame.columns):
                column, place = frame[name], start + offset
                quick = _zeros_and_ones(column)
                if quick is None:
                    text, missing = column_words(column)
                    known[part][:, place] = ~missing
                    words[place] |= set(text[~missing])
                    cells[part, place] = text
                else:
                    Y[part][:, place], known[part][:, place] = quick
                    # Of text, that words are read as marks is noted; a frame may hold the marks as such.
                    there, absent = ("true", "false") if table.is_text and column.dtype.kind == "b" else ("1", "0")
                    words[place] |= {there} if Y[part][:, place].any() else set()
                    words[place] |= {absent} if (~Y[part][:, place] & known[part][:, place]).any() else set()
            start += frame.shape[1]
    given = normal_words(positive)
    guessed: dict[tuple[str, ...], int] = {}
    for place, found in enumerate(words):
        negative = negative_of(frozenset(found), given)
        if negative is None:
            raise _not_two(tables, names[place], place, found, cells)
        pair = tuple(sorted(found))
        if found - {"0", "1"} or given & found:
            guessed[pair] = guessed.get(pair, 0) + 1
        for part in range(len(tables)):
            if (part, place) in cells:
                Y[part][:, place] = known[part][:, place] & ~cells[part, place].isin(negative).to_numpy(np.bool_)
            elif negative & {"1", "true"}:
                Y[part][:, place] = known[part][:, place] & ~Y[part][:, place]
    notes = [
        f"{count} label column{'s' * (count > 1)} of {' and '.join(map(shown, pair))} read as 0 and 1"
        for pair, count in guessed.items()
    ]
    return LabelsRead([(y, None if k.all() else k) for y, k in zip(Y, known, strict=True)], names, notes)


def _zeros_and_ones(column: "pd.Series[Any]") -> tuple[BoolArray, BoolArray] | None:
    """Return a column of numbers 0 and 1, or of booleans, and which entries are known; None for any other."""
    import pandas as pd

    if not (pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype)):
        return None
    values = column.to_numpy(np.float64, na_value=np.nan)
    there, known = values == 1, ~np.isnan(values)
    return (there, known) if (there | (values == 0) | ~known).all() else None


def _not_two(
    tables: Sequence[Table], name: str, place: int, found: set[str], cells: dict[tuple[int, int], Any]
) -> UserError:
    """Return the error of a column that is no label, at the first cell that is neither 0 nor 1 if there is one."""
    words = sorted(found)
    listed = ", ".join(shown(word) for word in words[:SHOWN_WORDS]) + (" ..." if len(words) > SHOWN_WORDS else "")
    for part, table in enumerate(tables):
        text = cells.get((part, place))
        if text is None:
            continue
        row = next((row for row, word in enumerate(text) if word not in ("0", "1")), None)
        if row is None:
            continue
        if all(_is_numeral(word) for word in words) and len(words) == 2:
            cure = f"if one of {listed} means that a row has it, set positive to it"
            message = f"{shown(name)} takes 0 or 1, found {shown(text.iloc[row])}; {cure}"
        elif all(_is_numeral(word) for word in words):
            message = f"{shown(name)} takes 0 or 1, found {shown(text.iloc[row])}"
        elif len(words) == 2:
            message = f"{shown(name)} has the words {listed}: set positive to the one that means that a row has it"
        elif len(words) == 1:
            message = f"{shown(name)} has the word {listed} alone: set positive to what means that a row has it"
        else:
            message = f"{shown(name)} takes 0 or 1, or two words, found {shown(text.iloc[row])} of {listed}"
        return cell_error(table, row, name, message)
    return UserError(f"{shown(name)} takes 0 or 1, found {listed}", tables[0].path)


def _is_numeral(word: str) -> bool:
    return word.lstrip("+-").replace(".", "", 1).isdigit()


def read_list_column(tables: Sequence[Table], spec: ListColumn) -> LabelsRead:
    """Read a column of lists of labels: an empty one is a row without labels, a missing one is unknown.

    Raises
    ------
    UserError
        If a cell is no list, names a label that is not listed, or there are too many labels.
    """
    found: list[list[list[str] | None]] = []
    for table in tables:
        if spec.column not in table.names:
            message = unknown_name("column of labels", plain_name(spec.column), map(plain_name, table.names))
            raise UserError(message, table.path)
        (frame,) = table.batches([spec.column], as_written=True)
        found.append(_lists(table, spec, frame[spec.column]))
    notes = []
    if (n_entries := _entries(found)) is not None:
        names = spec.names or tuple(map(str, range(n_entries)))
        if len(names) != n_entries:
            message = f"column {shown(spec.column)} holds lists of {n_entries} entries for {len(names)} names of labels"
            raise UserError(message, tables[0].path)
        found = [
            [row and [name for name, mark in zip(names, row, strict=True) if mark in _THERE] for row in part]
            for part in found
        ]
        spec = replace(spec, names=names)
        notes = [f"the lists in column {shown(spec.column)} have an entry of 0 or 1 for each of {n_entries} labels"]
    occurring = {label for part in found for row in part if row for label in row}
    names = tuple(sorted(occurring, key=by_number)) if spec.names is None else spec.names
    if not names:
        raise UserError(f"column {shown(spec.column)} names no label", tables[0].path)
    if len(names) > MOST_COLUMNS["label"]:
        raise UserError(f"{len(names)} labels: more than {MOST_COLUMNS['label']} are not supported", tables[0].path)
    if unknown := sorted(occurring - set(names)):
        listed = ", ".join(map(shown, unknown[:SHOWN_WORDS]))
        message = f"{len(unknown)} labels of column {shown(spec.column)} are not among the names listed: {listed}"
        raise UserError(message, tables[0].path)
    n_rows = sum(map(len, found))
    if any(row is None for part in found for row in part):  # which entries are unknown is a mask of all
        check_room(2 * n_rows * len(names), f"{len(names)} labels of {n_rows} rows", tables[0].path)
    places = {name: place for place, name in enumerate(names)}
    parts, n_empty = [], 0
    for rows in found:
        shape = (len(rows), len(names))
        marks = [sorted({places[label] for label in row}) if row else [] for row in rows]
        starts = np.concatenate([[0], np.cumsum([len(row) for row in marks])]).astype(np.int32)
        entries = np.fromiter((place for row in marks for place in row), np.int32, int(starts[-1]))
        Y = as_labels(csr_array((np.ones(len(entries), np.bool_), entries, starts), shape=shape))
        n_empty += sum(row is not None and not row for row in rows)
        unknown_rows = [place for place, row in enumerate(rows) if row is None]
        known = np.ones(shape, np.bool_) if unknown_rows else None
        if known is not None:
            known[unknown_rows] = False
        parts.append((Y, known))
    notes = notes or [f"{len(names)} labels read from the lists in column {shown(spec.column)}"]
    if n_empty:
        notes.append(f"{n_empty} row{'s have' if n_empty > 1 else ' has'} an empty list, no label")
    return LabelsRead(parts, names, notes)


def _lists(table: Table, spec: ListColumn, column: "pd.Series[Any]") -> list[list[str] | None]:
    if is_lists(column):
        return [None if is_none(cell) else _names(cell) for cell in column]
    words = plain_text(column)
    # Of an empty cell text cannot say whether it is missing; a frame or a Parquet file can.
    missing = (missing_words(words) & (words != "").to_numpy(np.bool_)) | column.isna().to_numpy(np.bool_)
    if spec.separator is not None:
        return [
            None if absent else [part for raw in word.split(spec.separator) if (part := raw.strip())]
            for word, absent in zip(words, missing, strict=True)
        ]
    rows: list[list[str] | None] = []
    for row, (word, absent) in enumerate(zip(words, missing, strict=True)):
        value = [] if word == "" else None if absent else _parsed(word)
        if value is None and not absent:
            marks = [mark for mark in ";|, " if mark in word]
            hint = f", perhaps {shown(marks[0])}" if marks else ""
            message = (
                f"column {shown(spec.column)} holds no list, found {shown(word)}: set the separator of labels{hint}"
            )
            raise cell_error(table, row, spec.column, message)
        rows.append(value)
    return rows


def _parsed(word: str) -> list[str] | None:
    """Return a list as JSON or Python writes it; None if the text is none."""
    if not word.startswith(("[", "(", "{")):
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(word)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(value, (list, tuple, set)) and all(isinstance(item, (str, int, float)) for item in value):
            return _names(value)
    return None


def _names(cell: Iterable[Any]) -> list[str]:
    """Return the labels of a list as text, whole numbers without a fraction."""
    return [
        str(int(item)) if isinstance(item, (float, np.floating)) and float(item).is_integer() else str(item).strip()
        for item in cell
    ]


def by_number(name: str) -> tuple[bool, int, str]:
    """Return what sorts names, numbers as such and first."""
    numeric = name.isascii() and name.isdigit() and len(name) < 19
    return not numeric, int(name) if numeric else 0, name


def _entries(parts: Sequence[Sequence[list[str] | None]]) -> int | None:
    """Return how many labels there are if the lists are rows of 0 and 1, one for each; None if they name labels.

    Lists of one length above two that hold 0 and 1 alone repeat one of them, which no list of labels does.
    """
    lists = [row for part in parts for row in part if row is not None]
    widths = {len(row) for row in lists}
    if len(widths) != 1 or max(widths) < 3 or not all(set(row) <= _ENTRIES for row in lists):
        return None
    return widths.pop()
