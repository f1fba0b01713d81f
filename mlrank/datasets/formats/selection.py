"""Selection: which columns of a file are the features that are asked for, by their names or numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

import numpy as np

from mlrank.arrays import FloatArray, IntArray
from mlrank.datasets.columns import TextColumn
from mlrank.datasets.formats.text import shown
from mlrank.errors import LONGEST_COMPARED, UserError, comparable
from mlrank.stored import numbered

__all__ = ["Selection", "listed"]

# A message names this many columns at most.
SHOWN_NAMES = 3


@dataclass(frozen=True)
class Selection:
    """The columns that rows are to have.

    Parameters
    ----------
    features : tuple of str, in order
    labels : tuple of str
        Columns that may be there and are ignored.
    owner : str
        What takes the features, for messages, such as "the model".
    fill : (n_features,) ndarray or None
        What missing values are filled with; None: they are refused.
    text : tuple of TextColumn
        The columns of text that features count the terms of.
    """

    features: tuple[str, ...]
    labels: tuple[str, ...]
    owner: str
    fill: FloatArray | None = None
    text: tuple[TextColumn, ...] = ()

    def match(self, columns: Sequence[str], path: Path) -> tuple[IntArray, list[str]]:
        """Return the places of the features among the names of columns, and messages about unused columns.

        Raises
        ------
        UserError
            If one is not there.
        """
        places = {name: place for place, name in enumerate(columns)}
        missing = [name for name in self.features if name not in places]
        if missing:
            raise self.lacking(missing, columns, path)
        extra = [name for name in columns if name not in self._known]
        return np.array([places[name] for name in self.features], np.int64), self.describe_unused(extra)

    def describe_unused(self, names: Sequence[str]) -> list[str]:
        """Return a message about columns that are ignored; none if there are no such columns."""
        if not names:
            return []
        return [f"{len(names)} further columns are no features of {self.owner} and left out: {listed(names)}"]

    def numbers(self, zero_based: bool | None, path: Path) -> "ColumnNumbers":
        """Return which column each feature number of a file is.

        `zero_based` says whether the numbers of the file count from 0; if it is None, a number is a feature's name.

        Raises
        ------
        UserError
            If the features have other names than numbers and `zero_based` is None.
        """
        n = len(self.features)
        if zero_based is not None:
            return ColumnNumbers(self, 0 if zero_based else 1, None)
        first = numbered(self.features)
        if first is not None:
            return ColumnNumbers(self, first, None)
        # A part of numbered features, as a subset of a LIBSVM file has.
        if not all(name.isascii() and name.isdigit() and len(name) < 10 for name in self.features):
            raise UserError(
                f"the {n} features of {self.owner} have names ({listed(self.features)}), those of the file numbers: "
                "say whether they count from 0 or from 1 (--zero-based or --one-based)",
                path,
            )
        own = np.array([int(name) for name in self.features])
        table = np.full(int(own.max()) + 1, -1)
        table[own] = np.arange(n)
        return ColumnNumbers(self, 0, table)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset((*self.features, *self.labels))

    def lacking(self, missing: list[str], columns: Sequence[str], path: Path) -> UserError:
        """Return the error of a file without some of the features."""
        others = comparable(name for name in columns if name not in self._known)
        near = get_close_matches(missing[0][:LONGEST_COMPARED], others, n=1, cutoff=0.8)
        hint = f"; is {shown(missing[0])} the column {shown(near[0])}?" if near else ""
        there = f"; it has {len(columns)} columns: {listed(columns)}" if len(missing) == len(self.features) else hint
        lacks = f"lacks {len(missing)} of the {len(self.features)} features of {self.owner}: {listed(missing)}"
        return UserError(lacks + there, path)


@dataclass(frozen=True)
class ColumnNumbers:
    """From the numbers of a file to columns: less `base`, or through `table`, where -1 stands for none."""

    selection: Selection
    base: int
    table: IntArray | None

    def columns(self, numbers: IntArray) -> IntArray:
        """Return the column of each number; -1 for one that is ignored, -2 for one that should not be there."""
        n = len(self.selection.features)
        if self.table is None:
            columns = numbers.astype(np.int64) - self.base
            return np.where((columns >= 0) & (columns < n), columns, -2)
        inside = numbers < len(self.table)
        return np.where(inside, self.table[np.where(inside, numbers, 0)], -1)

    def refusal(self, number: int) -> str:
        """Return why a number is no feature's."""
        n, owner = len(self.selection.features), self.selection.owner
        last = f"the features of {owner} have the numbers {self.base} to {self.base + n - 1}"
        hint = "; if this file counts from 0, say --zero-based" if number < self.base else ""
        return f"feature number {number}, but {last}{hint}"


def listed(names: Sequence[str]) -> str:
    """Return the first few of some names for a message, and how many more there are."""
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return ", ".join(shown(name) for name in names[:SHOWN_NAMES]) + more
