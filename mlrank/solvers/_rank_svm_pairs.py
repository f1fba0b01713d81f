"""The label pairs of Rank-SVM."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mlrank.arrays import BoolArray, IntArray

__all__ = ["Pairs"]

PAIRS_LIMIT = 10**9


@dataclass(frozen=True)
class Pairs:
    """The label pairs of each row, as lists of relevant and irrelevant labels.

    lists : (relevant_ptr, relevant, irrelevant_ptr, irrelevant, offset), the form the compiled loops take
    size : (n_samples,) number of relevant times number of irrelevant labels, 0 for a row without pairs
    """

    lists: tuple[IntArray, Any, IntArray, Any, IntArray]
    size: IntArray
    n_labels: int

    @classmethod
    def of(cls, Y: BoolArray, known: BoolArray | None = None) -> "Pairs":
        """List the pairs of `Y` (n_samples, n_labels); a label that is not known is in none.

        Raises
        ------
        ValueError
            If no row has both a relevant and an irrelevant label, or there are more pairs than memory can be asked for.
        """
        classes = (Y, ~Y) if known is None else (Y & known, ~Y & known)
        n_relevant, n_irrelevant = (part.sum(axis=1) for part in classes)
        size = n_relevant * n_irrelevant
        total = int(size.sum())
        if total == 0:
            raise ValueError("no row has both a relevant and an irrelevant label, so there is nothing to rank")
        if total > PAIRS_LIMIT:
            raise ValueError(
                f"{total} label pairs need {8 * total / 2**30:.0f} GiB; at most {PAIRS_LIMIT} are supported"
            )
        relevant, irrelevant = (np.nonzero(part)[1].astype(np.int32) for part in classes)
        pointers = _pointers(n_relevant), _pointers(n_irrelevant)
        lists = (pointers[0], relevant, pointers[1], irrelevant, _pointers(size)[:-1])
        return cls(lists, size, Y.shape[1])

    def no_labels(self) -> tuple[Any, IntArray, Any, IntArray]:
        """Return room for the active labels of each row: positions in its two lists, and their numbers."""
        _, relevant, _, irrelevant, offset = self.lists
        numbers = np.zeros_like(offset), np.zeros_like(offset)
        return np.zeros_like(relevant), numbers[0], np.zeros_like(irrelevant), numbers[1]


def _pointers(counts: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
