"""Which columns of a file are the features that somebody wants, by their names or numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

import numpy as np

from mlrank.arrays import FloatArray, IntArray
from mlrank.datasets.files import shown
from mlrank.errors import UserError
from mlrank.stored import numbered

__all__ = ["Wanted"]

# A message names this many columns at most.
SHOWN_NAMES = 3


@dataclass(frozen=True)
class Wanted:
    """The columns that rows are to have.

    Parameters
    ----------
    features : tuple of str, in order
    labels : tuple of str
        Columns that may be there and are passed over.
    who : str
        What wants them, for messages, such as "the model".
    fill : (n_features,) ndarray or None
        What missing cells are filled with; None: they are refused.
    """

    features: tuple[str, ...]
    labels: tuple[str, ...]
    who: str
    fill: FloatArray | None = None

    def match(self, found: Sequence[str], path: Path) -> tuple[IntArray, list[str]]:
        """Return the places of the features among the names `found`, and what is to be said of further ones.

        Raises
        ------
        UserError
            If one is not there.
        """
        places = {name: place for place, name in enumerate(found)}
        missing = [name for name in self.features if name not in places]
        if missing:
            raise UserError(self._lacks(missing, found), path)
        extra = [name for name in found if name not in self._known]
        return np.array([places[name] for name in self.features], np.int64), self.extra(extra)

    def extra(self, names: Sequence[str]) -> list[str]:
        """Return what is to be said of columns that nobody wants."""
        if not names:
            return []
        return [f"{len(names)} further columns are no features of {self.who} and left out: {_listed(names)}"]

    def numbers(self, key: str, zero_based: bool | None, path: Path) -> "Numbers":
        """Say which column a feature's number in a file is.

        `zero_based` is what the user says of the file. A number is a feature's name if nothing is said; XMC files count
        from 0.

        Raises
        ------
        UserError
            If the features have other names than numbers and nothing is said.
        """
        n = len(self.features)
        if zero_based is None and key == "xmc":
            zero_based = True
        if zero_based is not None:
            return Numbers(self, 0 if zero_based else 1, None)
        first = numbered(self.features)
        if first is not None:
            return Numbers(self, first, None)
        # A part of numbered features, as a subset of a LIBSVM file has.
        if not all(name.isascii() and name.isdigit() and len(name) < 10 for name in self.features):
            raise UserError(
                f"the {n} features of {self.who} have names ({_listed(self.features)}), those of the file numbers: say "
                "whether they count from 0 or from 1 (--zero-based or --one-based)",
                path,
            )
        own = np.array([int(name) for name in self.features])
        table = np.full(int(own.max()) + 1, -1)
        table[own] = np.arange(n)
        return Numbers(self, 0, table)

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset((*self.features, *self.labels))

    def _lacks(self, missing: list[str], found: Sequence[str]) -> str:
        near = get_close_matches(missing[0], [name for name in found if name not in self._known], n=1, cutoff=0.8)
        hint = f"; is {shown(missing[0])} the column {shown(near[0])}?" if near else ""
        there = f"; it has {len(found)} columns: {_listed(found)}" if len(missing) == len(self.features) else hint
        return f"lacks {len(missing)} of the {len(self.features)} features of {self.who}: {_listed(missing)}{there}"


@dataclass(frozen=True)
class Numbers:
    """From the numbers of a file to columns: less `base`, or through `table`, where -1 stands for none."""

    wanted: Wanted
    base: int
    table: IntArray | None

    def columns(self, numbers: IntArray) -> IntArray:
        """Return the column of each number; -1 for one that is left out, -2 for one that should not be there."""
        n = len(self.wanted.features)
        if self.table is None:
            columns = numbers.astype(np.int64) - self.base
            return np.where((columns >= 0) & (columns < n), columns, -2)
        inside = numbers < len(self.table)
        return np.where(inside, self.table[np.where(inside, numbers, 0)], -1)

    def refusal(self, number: int) -> str:
        """Say why a number is none of a feature."""
        n, who = len(self.wanted.features), self.wanted.who
        last = f"the features of {who} have the numbers {self.base} to {self.base + n - 1}"
        hint = "; if this file counts from 0, say --zero-based" if number < self.base else ""
        return f"feature number {number}, but {last}{hint}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return ", ".join(shown(name) for name in names[:SHOWN_NAMES]) + more
