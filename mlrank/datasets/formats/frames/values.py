"""Columns of a frame as numbers: text in quotes, decimal commas, thousands, missing words, booleans.

What a column holds is decided by the training part. Numbers are read as Python reads them, rounded correctly; what is
neither a number nor missing keeps its place, so that a message can name it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mlrank.arrays import BoolArray, FloatArray
from mlrank.datasets.formats.frames.words import MISSING, NUMBER, normal_word
from mlrank.datasets.formats.text import shown
from mlrank.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "MARKS",
    "PLAIN",
    "Numerals",
    "column_words",
    "guess_numerals",
    "is_dates",
    "is_lists",
    "is_none",
    "is_numeric",
    "missing_words",
    "numbers",
    "numerals_set",
    "plain_text",
]

_DATE = re.compile(r"\d{4}-\d\d?-\d\d?([T ].*)?|\d\d?[./]\d\d?[./]\d{2,4}([T ].*)?|\d{4}/\d\d?/\d\d?([T ].*)?")
# So many cells of a column tell whether it holds dates.
LOOKED_AT = 1000
# Beyond it not every whole number is a floating-point number.
_EXACT = 2.0**53


@dataclass(frozen=True)
class Numerals:
    """How numbers are written: what stands before their fractions, and between thousands ("" for nothing)."""

    decimal: str = "."
    thousands: str = ""

    @property
    def note(self) -> str:
        """What is to be shown where numbers are not written as usual."""
        commas = ["decimal commas"] if self.decimal == "," else []
        if self.thousands and (not commas or self.thousands != "."):
            commas.append(f"thousands between {shown(self.thousands)}")
        return f"numbers read with {' and '.join(commas)}"

    def pattern(self) -> str:
        """Return the regular expression of a number that `normal` turns into a plain one."""
        point, group = re.escape(self.decimal), re.escape(self.thousands)
        whole = rf"\d{{1,3}}(?:{group}\d{{3}})+|\d+" if self.thousands else r"\d+"
        return rf"[-+]?(?:(?:{whole})(?:{point}\d*)?|{point}\d+)(?:[eE][-+]?\d+)?"

    def normal(self, text: "pd.Series[str]") -> "pd.Series[str]":
        """Return numbers so written as Python writes them."""
        if self.thousands:
            text = text.str.replace(self.thousands, "", regex=False)
        return text if self.decimal == "." else text.str.replace(self.decimal, ".", regex=False)


PLAIN = Numerals()
_COMMA = re.compile(r"[-+]?\d*,\d+|[-+]?\d{1,3}(?:\.\d{3})+,\d+")
_GROUPS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
# Marks between thousands that no other number has: apostrophes and blanks, as in 1'234.5 and 1 234,5.
MARKS = ("'", "\u2019", " ", "\u00a0", "\u202f")


def numerals_set(decimal: str | None, thousands: str | None, path: Path) -> Numerals | None:
    """Return how numbers are written as options say; None if they say nothing.

    Raises
    ------
    UserError
        If one mark is to stand for both.
    """
    if decimal is None and thousands is None:
        return None
    decimal = decimal or ("," if thousands == "." else ".")
    if decimal == thousands:
        raise UserError(f"decimal and thousands are both {shown(decimal)}", path)
    return Numerals(decimal, thousands or "")


def guess_numerals(columns: Iterable["pd.Series[Any]"]) -> Numerals | str:
    """Return how the columns of text that are no plain numbers write numbers.

    A column counts if all its cells are numbers in one way: 1.234,5 with a decimal comma, 1,234.5 with thousands, or
    1'234.5 and 1 234,5 with another mark between thousands. Cells such as 1,234 fit two ways; others must tell which.

    Returns
    -------
    Numerals, or the first cell that may be either
    """
    decimal, thousands, unclear = False, False, ""
    marked: dict[str, str] = {}
    for column in columns:
        words = plain_text(column)
        words = words[~missing_words(words)]
        other = words[~words.str.fullmatch(NUMBER).astype(bool)]
        if not len(other):
            continue
        as_comma = other.str.fullmatch(_COMMA.pattern).astype(bool)
        as_groups = other.str.fullmatch(_GROUPS.pattern).astype(bool)
        if as_comma.all() and not as_groups.all():
            decimal = True
        elif as_groups.all() and (~as_comma | (other.str.count(",") > 1)).any():
            thousands = True
        elif as_groups.all():
            unclear = unclear or str(other.iloc[0])
        elif (mark := _mark_of(other)) is not None:
            marked.setdefault(mark, str(other.iloc[0]))
            decimal = decimal or bool(other.str.contains(",", regex=False).any())
    if marked:
        # One mark for all; what a comma means beside it a cell of one group and no fraction does not say.
        (mark, cell), *more = marked.items()
        return cell if more or thousands or (unclear and not decimal) else Numerals("," if decimal else ".", mark)
    if decimal and thousands:
        return unclear or "1,234"
    if decimal:
        return Numerals(",", ".")
    if thousands:
        return Numerals(".", ",")
    return unclear if unclear else PLAIN


def _mark_of(words: "pd.Series[str]") -> str | None:
    """Return the mark that stands between the thousands of all numbers that have any; None if they are none such."""
    for mark in MARKS:
        if words.str.contains(mark, regex=False).any():
            for point in (".", ","):
                if words.str.fullmatch(Numerals(point, mark).pattern()).all():
                    return mark
            return None
    return None


def is_numeric(column: "pd.Series[Any]") -> bool:
    """Return whether the library already took a column for numbers or booleans."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype) or column.dtype.kind == "c":
        return False
    return bool(pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype))


def is_dates(column: "pd.Series[Any]") -> bool:
    """Return whether a column holds dates or times, as such or as text."""
    if column.dtype.kind in "mM":
        return True
    if is_numeric(column):
        return False
    words = plain_text(column.iloc[:LOOKED_AT])
    words = words[~missing_words(words)]
    return len(words) > 0 and bool(words.str.fullmatch(_DATE.pattern).all())


def is_lists(column: "pd.Series[Any]") -> bool:
    """Return whether the cells of a column are lists or arrays."""
    if column.dtype != object:
        return str(column.dtype).startswith(("list", "large_list", "fixed_size_list"))
    first = next((value for value in column if value is not None and value is not np.nan), None)
    return isinstance(first, (list, tuple, set, np.ndarray))


def is_none(cell: Any) -> bool:
    """Return whether a cell of objects holds nothing."""
    return cell is None or (isinstance(cell, float) and cell != cell)


def plain_text(column: "pd.Series[Any]") -> "pd.Series[str]":
    """Return the cells of a column as text without blanks around it; a cell that is missing is empty."""
    import pandas as pd

    if is_numeric(column):
        return column.map(lambda value: "" if pd.isna(value) else _number_text(value))
    cells = column.astype(object)
    return cells.where(column.notna().to_numpy(), "").map(lambda value: str(value).strip()).astype(object)


def missing_words(words: "pd.Series[str]") -> BoolArray:
    """Return which cells of text say that their value is missing."""
    found: BoolArray = words.str.lower().isin(MISSING).to_numpy(np.bool_)
    return found


def column_words(column: "pd.Series[Any]") -> tuple["pd.Series[str]", BoolArray]:
    """Return the cells of a label as words in lower case, numbers alike however they are written; and the missing."""
    import pandas as pd

    if is_numeric(column):
        missing = column.isna().to_numpy(np.bool_)
        values = column.to_numpy(np.float64, na_value=np.nan)
        return pd.Series([normal_word(repr(float(value))) for value in values], dtype=object), missing
    words = plain_text(column).str.lower().reset_index(drop=True)
    missing = missing_words(words)
    different = words[~missing].unique()
    normal = {word: normal_word(word) for word in different}
    return words.map(lambda word: normal.get(word, word)), missing


def numbers(column: "pd.Series[Any]", how: Numerals = PLAIN) -> tuple[FloatArray, BoolArray]:
    """Return the cells of a column as numbers, NaN where they are missing, and which are neither.

    Parameters
    ----------
    column : Series
    how : how numbers are written, where they are text

    Returns
    -------
    values : (n_rows,) ndarray
    wrong : (n_rows,) bool ndarray
    """
    if is_numeric(column):
        values = column.to_numpy(np.float64, na_value=np.nan)
        return values, np.isinf(values)
    words = plain_text(column)
    missing = missing_words(words)
    truth = words.str.lower()
    booleans = truth.isin(("true", "false")).to_numpy(np.bool_)
    if booleans.any() and (booleans | missing).all():
        return np.where(missing, np.nan, (truth == "true").to_numpy(np.float64)), np.zeros(len(words), np.bool_)
    fits = words.str.fullmatch(how.pattern()).to_numpy(np.bool_)
    values = np.full(len(words), np.nan)
    # float() rounds correctly, which the library's own reading of text does not.
    values[fits] = [float(word) for word in how.normal(words[fits])]
    wrong: BoolArray = ~(fits | missing)
    return values, wrong | np.isinf(values)


def _number_text(value: Any) -> str:
    """Return a number as text, with all its digits; a whole one without a fraction, as it would be read from text."""
    whole = isinstance(value, (float, np.floating)) and float(value).is_integer() and abs(float(value)) < _EXACT
    return str(int(value)) if whole else repr(value)
