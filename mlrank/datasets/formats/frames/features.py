"""Columns of a table as features: numbers, categories as one 0/1 column for each value, lists of numbers, text.

What a column is, is decided by the training part, or by the names of a model's features: `colour=red` is the category
red of the column colour, `vector[2]` the third number of the lists in vector, `body~rain` how often a text has a term.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mlrank.arrays import BoolArray, Features
from mlrank.datasets.columns import TextColumn
from mlrank.datasets.formats.frames.tables import Table, cell_error
from mlrank.datasets.formats.frames.values import MARKS, Numerals, is_dates, is_none, missing_words, numbers, plain_text
from mlrank.datasets.formats.text import shown
from mlrank.errors import UserError
from mlrank.room import check_room

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Categories",
    "Encoded",
    "Feature",
    "Lists",
    "Number",
    "Terms",
    "check_feature_names",
    "either_way",
    "features_by_name",
    "first_wrong",
    "mostly_zeros",
]

# A column of more different values than these has no categories.
MOST_CATEGORIES = 1 << 16
# More 0/1 features of categories than these, which are most of all, are stored as a sparse matrix.
MOST_DENSE = 1000
_PLACE = re.compile(r"\d{1,9}\]", re.ASCII)


class Encoded(NamedTuple):
    """The values of some features, (n_rows, n_features), and which rows have none."""

    values: Features
    missing: BoolArray


@dataclass
class Number:
    """A column of numbers or booleans; `as_written`: the text of its cells is needed to read them."""

    column: str
    how: Numerals = field(default_factory=Numerals)
    as_written: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return (self.column,)

    def encode(self, table: Table, column: "pd.Series[Any]", start: int = 0) -> Encoded:
        """Return the values of a column whose first row has this number.

        Raises
        ------
        UserError
            At the first cell that is neither a number nor missing.
        """
        if is_dates(column):
            raise not_dates(table, self.column)
        values, wrong = numbers(column, self.how)
        if wrong.any():
            raise first_wrong(table, self.column, column, wrong, start)
        return Encoded(values[:, None], np.isnan(values))


@dataclass
class Categories:
    """A column of words, each with a feature that is 1 where a cell has it."""

    column: str
    values: tuple[str, ...]
    n_unknown: int = 0
    as_written: ClassVar[bool] = True

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(f"{self.column}={value}" for value in self.values)

    @classmethod
    def of(cls, table: Table, name: str, column: "pd.Series[Any]") -> "Categories":
        """Take the values of a column of the training part, sorted.

        Raises
        ------
        UserError
            If there are so many that they are no categories.
        """
        words = category_words(column)
        values = sorted(set(words[~missing_words(words)]))
        if len(values) > MOST_CATEGORIES:
            message = f"column {shown(name)} has {len(values)} different values, more than {MOST_CATEGORIES} categories"
            raise UserError(f"{message}: name it among ignore_columns, or as id_column", table.path)
        if not values:
            raise UserError(f"column {shown(name)} holds no value: name it among ignore_columns", table.path)
        return cls(name, tuple(values))

    def encode(self, table: Table, column: "pd.Series[Any]", start: int = 0) -> Encoded:
        """Return the values of a column; one that the training part does not have has no feature, and is counted."""
        words = category_words(column)
        missing = missing_words(words)
        places = words.map({value: place for place, value in enumerate(self.values)})
        known = places.notna().to_numpy(np.bool_)
        self.n_unknown += int((~known & ~missing).sum())
        rows, shape = np.flatnonzero(known), (len(words), len(self.values))
        values = csr_array((np.ones(rows.size), (rows, places[known].to_numpy(np.int64))), shape=shape)
        return Encoded(values, missing)


@dataclass
class Lists:
    """A column of lists of numbers of one length, as was `decided`; `places`: those used of lists that are longer."""

    column: str
    width: int
    places: tuple[int, ...] | None = None
    decided: str = "in the first row"
    as_written: ClassVar[bool] = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(f"{self.column}[{place}]" for place in self.places or range(self.width))

    @classmethod
    def of(cls, table: Table, name: str, column: "pd.Series[Any]") -> "Lists":
        """Take the length of the first list."""
        first = next((cell for cell in column if not is_none(cell)), ())
        if not len(first):
            raise UserError(f"column {shown(name)} holds no list of numbers: name it among ignore_columns", table.path)
        return cls(name, len(first))

    def encode(self, table: Table, column: "pd.Series[Any]", start: int = 0) -> Encoded:
        """Return the numbers of lists.

        Raises
        ------
        UserError
            At the first cell that is no list of numbers of this length.
        """
        used = list(range(self.width) if self.places is None else self.places)
        check_room(8 * len(column) * len(used), f"{len(used)} numbers of each list in {shown(self.column)}", table.path)
        values, missing = np.zeros((len(column), len(used))), np.zeros(len(column), np.bool_)
        for row, cell in enumerate(column):
            if is_none(cell):
                missing[row] = True
                continue
            try:
                numeric = np.asarray(cell, np.float64)
            except (TypeError, ValueError):
                numeric = np.zeros(0)
            fits = numeric.ndim == 1 and (numeric.size == self.width or (self.places and numeric.size > self.width))
            if not fits or not np.isfinite(numeric).all():
                expected = f"a list of {self.width} numbers{' or more' if self.places else f' as {self.decided}'}"
                size = f", {numeric.size} numbers" if numeric.ndim == 1 and numeric.size else ""
                found = f"expected {expected}, found {shown(str(cell))}{size}"
                place = table.place(start + row, self.column)
                raise UserError(f"row {place.row + 1} of column {shown(self.column)}: {found}", place.path)
            values[row] = numeric[used]
        return Encoded(values, missing)


@dataclass
class Terms:
    """A column of text: how often each term occurs in it, as sparse counts."""

    text: TextColumn
    terms: tuple[str, ...]
    as_written: ClassVar[bool] = True

    @property
    def column(self) -> str:
        """Name of the column."""
        return self.text.column

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(f"{self.column}~{term}" for term in self.terms)

    @classmethod
    def of(cls, table: Table, text: TextColumn, columns: Iterable["pd.Series[Any]"]) -> "Terms":
        """Take the terms of all parts, sorted; which of them are used, the training part of each split decides."""
        documents = [document for column in columns for document in text_cells(column)]
        try:
            terms = text.counter().fit(documents).get_feature_names_out()
        except ValueError as error:
            raise UserError(f"column {shown(text.column)} holds no words", table.path) from error
        return cls(text, tuple(map(str, terms)))

    def encode(self, table: Table, column: "pd.Series[Any]", start: int = 0) -> Encoded:
        """Return the counts; a cell without text has none."""
        counts = self.text.counter(self.terms).transform(text_cells(column))
        return Encoded(csr_array(counts, dtype=np.float64), np.zeros(len(column), np.bool_))


Feature = Number | Categories | Lists | Terms


def features_by_name(
    names: Sequence[str], columns: Sequence[str], text: Sequence[TextColumn]
) -> tuple[list[tuple[Feature, list[int]]], list[str]]:
    """Return which columns of a table give the features of these names, and the names that none gives.

    Returns
    -------
    features : list of (Feature, places of its values among the names)
    lacking : list of str
    """
    there, by_column = set(columns), {item.column: item for item in text}
    groups: dict[tuple[str, str], list[tuple[int, str]]] = {}
    found: list[tuple[Feature, list[int]]] = []
    lacking: list[str] = []
    for place, name in enumerate(names):
        if name in there:
            found.append((Number(name), [place]))
            continue
        for mark in "=[~":
            column, detail = _split(name, mark, there)
            if column is not None and (mark != "~" or column in by_column):
                groups.setdefault((mark, column), []).append((place, detail))
                break
        else:
            lacking.append(name)
    for (mark, column), members in groups.items():
        places, details = [place for place, _ in members], tuple(detail for _, detail in members)
        if mark == "=":
            found.append((Categories(column, details), places))
        elif mark == "~":
            found.append((Terms(by_column[column], details), places))
        elif all(_PLACE.fullmatch(detail) for detail in details):
            pairs = sorted(zip((int(detail[:-1]) for detail in details), places, strict=True))
            used = tuple(number for number, _ in pairs)
            some = None if used == tuple(range(len(used))) else used
            found.append((Lists(column, used[-1] + 1, some, "in training"), [place for _, place in pairs]))
        else:
            lacking += [names[place] for place in places]
    return found, lacking


def mostly_zeros(features: Sequence[Feature]) -> bool:
    """Return whether the values of features are to be stored as a sparse matrix: terms, or very many categories."""
    hot = sum(len(feature.values) for feature in features if isinstance(feature, Categories))
    many = hot > MOST_DENSE and 2 * hot > sum(len(feature.names) for feature in features)
    return many or any(isinstance(feature, Terms) for feature in features)


def check_feature_names(features: Sequence[Feature], table: Table) -> None:
    """Refuse names of features that could be those of other columns: a model finds its columns by them.

    Raises
    ------
    UserError
        With the column to be renamed.
    """
    if all(isinstance(feature, Number) for feature in features):
        return
    names = [name for feature in features for name in feature.names]
    owners = [feature for feature in features for _ in feature.names]
    text = tuple(feature.text for feature in features if isinstance(feature, Terms))
    for found, places in features_by_name(names, table.names, text)[0]:
        for place in places:
            if (type(found), found.column) != (type(owners[place]), owners[place].column):
                pair = f"{shown(names[place])} of column {shown(owners[place].column)}"
                cure = "rename one of the two, or name one among ignore_columns"
                raise UserError(f"the feature {pair} may be one of column {shown(found.column)}: {cure}", table.path)


def _split(name: str, mark: str, columns: set[str]) -> tuple[str | None, str]:
    at = name.find(mark)
    while at > 0:
        if name[:at] in columns:
            return name[:at], name[at + 1 :]
        at = name.find(mark, at + 1)
    return None, ""


def category_words(column: "pd.Series[Any]") -> "pd.Series[str]":
    """Return the cells of a column as categories, numbers as they are written in the shortest way."""
    return plain_text(column).reset_index(drop=True)


def text_cells(column: "pd.Series[Any]") -> list[str]:
    """Return the cells of a column as documents; one that is missing is empty."""
    return [str(cell) for cell in plain_text(column)]


def not_dates(table: Table, column: str) -> UserError:
    """Return the error of a column of dates."""
    cure = "turn them into numbers (a year, days since the first), or name the column among ignore_columns"
    return UserError(f"column {shown(column)} holds dates, which are no numbers: {cure}", table.path)


def either_way(cell: str, path: Path) -> UserError:
    """Return the error of a table whose numbers may be written in two ways."""
    message = f"{shown(cell)} is one number with a decimal comma and another with thousands"
    if any(mark in cell for mark in MARKS):
        message = f"numbers are written in more than one way, such as {shown(cell)}"
    return UserError(f"{message}: set decimal and thousands, such as decimal: ','", path)


def first_wrong(table: Table, name: str, column: "pd.Series[Any]", wrong: BoolArray, start: int) -> UserError:
    """Return the error of the first cell that is no number, with the option that would settle it."""
    row = int(np.flatnonzero(wrong)[0])
    cell = column.iloc[row]
    found = shown(str(cell))
    missing = int(missing_words(plain_text(column)).sum())
    if isinstance(cell, (float, np.floating)) and np.isinf(cell):
        message = f"{shown(name)} is infinite"
    elif re.sub(r"[,.'\u2019\s_]", "", found).lstrip("+-").isdigit():
        message = f"column {shown(name)} holds {found}: set decimal and thousands to say how numbers are written"
    elif re.match(r"\[\s*[-+.\d]", str(cell)):
        cure = "Parquet files, DataFrames and .npy files hold such lists as numbers"
        message = f"column {shown(name)} holds lists of numbers as text, found {found}: {cure}"
    elif wrong.sum() > (len(column) - missing) / 2:
        cure = "one_hot for categories, text_columns for text, ignore_columns or id_column for none of it"
        message = f"column {shown(name)} holds text, found {found}: say {cure}"
    else:
        message = f"column {shown(name)} is numeric, found {found}"
    return cell_error(table, start + row, name, message)
