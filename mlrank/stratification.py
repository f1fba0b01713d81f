"""Parts of rows that have each label in the same share: iterative stratification of sparse labels.

Algorithm 1 of Sechidis, Tsoumakas & Vlahavas 2011 ("On the stratification of multi-label data"): the label with the
fewest rows left is handed out first, each of its rows to the part that lacks most of the label. Its parts are only
nearly as large as requested, later labels get what earlier ones leave over, and a rare label can still land wholly in
one part. So three repairs follow: rows are moved until every part has exactly its size; pairs of rows are swapped where
that lowers the sum over parts and labels of (positives - share)**2 / positives of the label; and last, for a label that
a part lacks, pairs are swapped where that lowers the sum of ((positives - share) / positives of the label)**2, in which
rare labels weigh more. The label shares of parts are then about as even as those of the algorithm alone where labels
are few a row, and two to three times as even where they are many (yeast, delicious).

Time grows with the marks, and memory with the marks and n_labels * n_parts. 10^5 rows of 10^4 labels, 5 a row, take a
second; 490 000 rows of 670 000 labels half a minute, most of it for labels with hardly a row for each part.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, hstack

from mlrank.arrays import FloatArray, IntArray, in_pieces
from mlrank.compiled import INNER, njit
from mlrank.labels import LabelMatrix, sparse_labels

__all__ = ["stratified_parts"]

# A row is compared with so many others, in so many passes over the rows, to even out the shares of its labels.
PARTNERS, PASSES = 32, 3
# For a label that a part lacks, so many of its rows are candidates, which in small data are all, and so many rounds are
# made at most: swaps for one rare label can take a row from another.
CANDIDATES, ROUNDS = 200, 20


def stratified_parts(Y: LabelMatrix, sizes: IntArray, rng: np.random.Generator) -> IntArray:
    """Return the part of each row; part p has sizes[p] rows, and each label in about the share that it has in all.

    Parameters
    ----------
    Y : (n_samples, n_labels) bool ndarray or csr_array
    sizes : (n_parts,) int64 ndarray, of sum n_samples
    rng : numpy Generator
        Decides ties, and the order of rows, with the same result for the same generator.

    Returns
    -------
    (n_samples,) int64 ndarray
    """
    order = rng.permutation(Y.shape[0])
    marks = sparse_labels(Y)
    # Having no label counts as one more label, so that such rows are spread as evenly as the others.
    empty = csr_array((np.diff(marks.indptr) == 0)[:, None])
    marks = csr_array(hstack([marks, empty], format="csr")[order])
    rows = _Lists(marks.indptr.astype(np.int64), marks.indices.astype(np.int64))
    columns = marks.tocsc()
    labels = _Lists(columns.indptr.astype(np.int64), columns.indices.astype(np.int64))
    shares = np.outer(np.diff(labels.ptr), sizes / sizes.sum())
    turn, ties = rng.permutation(marks.shape[1]), rng.random(marks.shape[0])
    drawn = np.full(marks.shape[0], -1, np.int64)
    _hand_out(rows.ptr, rows.items, labels.ptr, labels.items, turn, ties, shares.copy(), sizes.astype(float), drawn)
    balance = _Balance(rows, labels, drawn, sizes, shares)
    balance.move_to_sizes()
    balance.even_out(rng)
    balance.swap_for_lacking_labels()
    part = np.empty_like(drawn)
    part[order] = balance.part
    return part


@dataclass(frozen=True)
class _Lists:
    """Lists of numbers end to end: that of `i` is ``items[ptr[i] : ptr[i + 1]]``."""

    ptr: IntArray
    items: IntArray


class _Balance:
    """Parts of rows, and how many rows of each label each has more than its share."""

    def __init__(self, rows: _Lists, labels: _Lists, part: IntArray, sizes: IntArray, shares: FloatArray) -> None:
        self.rows, self.labels, self.part, self.sizes, self.shares = rows, labels, part, sizes, shares
        totals = np.diff(labels.ptr)
        self.weight = 1 / np.maximum(totals, 1).astype(float) ** 2
        places = np.repeat(np.arange(totals.size), totals) * sizes.size + part[labels.items]
        self.excess = np.bincount(places, minlength=shares.size).reshape(shares.shape) - shares

    def move_to_sizes(self) -> None:
        """Give each part its size; every row that moves is the one of its part that does best for the imbalance."""
        surplus = np.bincount(self.part, minlength=self.sizes.size) - self.sizes
        while surplus.any():
            source, target = int(surplus.argmax()), int(surplus.argmin())
            _move_one(self.rows.ptr, self.rows.items, self.weight, self.excess, self.part, source, target)
            surplus[source] -= 1
            surplus[target] += 1

    def even_out(self, rng: np.random.Generator) -> None:
        """Swap rows with random others where that evens out the shares of their labels."""
        n_rows, weight = self.part.size, 1 / np.maximum(np.diff(self.labels.ptr), 1)
        marked = np.zeros(weight.size)
        for _ in range(PASSES):
            steps = rng.integers(1, max(n_rows, 2), PARTNERS)
            for piece in in_pieces(n_rows, 3 * PARTNERS * self.rows.items.size / n_rows):
                state = self.rows.ptr, self.rows.items, weight, self.excess, self.part
                _even_out(*state, steps, marked, piece.start, piece.stop)

    def swap_for_lacking_labels(self) -> None:
        """Swap rows for labels that a part lacks until no swap helps one of them, or for ROUNDS rounds."""
        marked = np.zeros(self.weight.size)
        for _ in range(ROUNDS):
            if not sum(self.swap_for(int(label), int(target), marked) for label, target in self.lacking()):
                break

    def lacking(self) -> IntArray:
        """Return the (label, part) pairs without a positive although the part's share is one or more."""
        return np.argwhere((self.excess <= 0.5 - self.shares) & (self.shares >= 1 - 1e-9))

    def swap_for(self, label: int, target: int, marked: FloatArray) -> bool:
        """Give `target` a positive of `label` for another row, if some swap lowers the imbalance."""
        if self.excess[label, target] > 0.5 - self.shares[label, target]:
            return False
        source = int(self.excess[label].argmax())
        holders = self.labels.items[self.labels.ptr[label] : self.labels.ptr[label + 1]]
        givers = holders[self.part[holders] == source]
        parts = self.rows.ptr, self.rows.items, self.weight, self.excess, self.part
        return bool(_swap_one(*parts, givers, marked, source, target, label % self.part.size))


@njit(cache=True)
def _hand_out(row_ptr, row_labels, label_ptr, label_rows, turn, ties, lacking, room, part):  # type: ignore[no-untyped-def]
    """Give each row a part; `lacking` (n_labels, n_parts) and `room` (n_parts,) begin as shares and are used up.

    Labels lie in `order` by their number of rows left; start[c] is the place of the first with c or more. One that
    loses a row changes places with the first of its number, and that number begins one place later.
    """
    n_labels, n_parts = lacking.shape
    left = np.zeros(n_labels, np.int64)
    most = 0
    for label in range(n_labels):
        left[label] = label_ptr[label + 1] - label_ptr[label]
        most = max(most, left[label])
    start = np.zeros(most + 2, np.int64)
    for label in range(n_labels):
        start[left[label] + 1] += 1
    for count in range(most + 1):
        start[count + 1] += start[count]
    order, place, filled = np.empty(n_labels, np.int64), np.empty(n_labels, np.int64), start.copy()
    for label in turn:
        place[label] = filled[left[label]]
        order[place[label]] = label
        filled[left[label]] += 1
    while most > 0 and start[1] < n_labels:
        label = order[start[1]]
        for t in range(label_ptr[label], label_ptr[label + 1]):
            row = label_rows[t]
            if part[row] >= 0:
                continue
            best, n_best = 0, 0
            for p in range(n_parts):
                ahead = lacking[label, p] - lacking[label, best]
                if ahead == 0:
                    ahead = room[p] - room[best]
                if n_best == 0 or ahead > 0:
                    best, n_best = p, 1
                elif ahead == 0:
                    n_best += 1
            if n_best > 1:
                nth = int(ties[row] * n_best)
                first = best
                for p in range(first, n_parts):
                    if lacking[label, p] == lacking[label, first] and room[p] == room[first]:
                        if nth == 0:
                            best = p
                            break
                        nth -= 1
            part[row] = best
            room[best] -= 1
            for s in range(row_ptr[row], row_ptr[row + 1]):
                other = row_labels[s]
                lacking[other, best] -= 1
                here, first = place[other], start[left[other]]
                moved = order[first]
                order[here], order[first] = moved, other
                place[moved], place[other] = here, first
                start[left[other]] += 1
                left[other] -= 1


@njit(cache=True)
def _move_one(row_ptr, row_labels, weight, excess, part, source, target):  # type: ignore[no-untyped-def]
    """Move the row of `source` to `target` that does best for the imbalance."""
    best, row = np.inf, -1
    for i in range(part.size):
        if part[i] == source:
            change = 0.0
            for t in range(row_ptr[i], row_ptr[i + 1]):
                label = row_labels[t]
                change += weight[label] * (excess[label, target] - excess[label, source] + 1)
            if change < best:
                best, row = change, i
    _move(row_ptr, row_labels, excess, part, row, source, target)


@njit(cache=True)
def _even_out(row_ptr, row_labels, weight, excess, part, steps, marked, begin, end):  # type: ignore[no-untyped-def]
    """Swap each row from begin to end with the best, if any helps, of the rows that lie `steps` behind it.

    `marked` (n_labels,) is zero before and after.
    """
    for i in range(begin, end):
        for t in range(row_ptr[i], row_ptr[i + 1]):
            marked[row_labels[t]] = weight[row_labels[t]]
        best, partner = -1e-12, -1
        for step in steps:
            j = (i + step) % part.size
            source, target = part[i], part[j]
            if source == target:
                continue
            change = 0.0
            for t in range(row_ptr[i], row_ptr[i + 1]):
                label = row_labels[t]
                change += weight[label] * (excess[label, target] - excess[label, source] + 1)
            for t in range(row_ptr[j], row_ptr[j + 1]):
                label = row_labels[t]
                change -= weight[label] * (excess[label, target] - excess[label, source] - 1) + 2 * marked[label]
            if change < best:
                best, partner = change, j
        for t in range(row_ptr[i], row_ptr[i + 1]):
            marked[row_labels[t]] = 0.0
        if partner >= 0:
            source, target = part[i], part[partner]
            _move(row_ptr, row_labels, excess, part, i, source, target)
            _move(row_ptr, row_labels, excess, part, partner, target, source)


@njit(cache=True)
def _swap_one(row_ptr, row_labels, weight, excess, part, givers, marked, source, target, begin):  # type: ignore[no-untyped-def]
    """Swap the best pair of a row of `givers`, in `source`, and a row of `target`; False if none helps.

    Rows of `target` are looked at from `begin` on, and after the last one from the first: they were shuffled.

    `marked` (n_labels,) is zero before and after.
    """
    best, giver, other = -1e-12, -1, -1
    for i in givers:
        change = 0.0
        for t in range(row_ptr[i], row_ptr[i + 1]):
            label = row_labels[t]
            marked[label] = weight[label]
            change += weight[label] * (excess[label, target] - excess[label, source] + 1)
        n_seen = 0
        for step in range(part.size):
            j = (begin + step) % part.size
            if part[j] != target:
                continue
            n_seen += 1
            if n_seen > CANDIDATES:
                break
            swapped = change
            for t in range(row_ptr[j], row_ptr[j + 1]):
                label = row_labels[t]
                # A label that both have stays where it is: its terms of both rows go.
                swapped -= weight[label] * (excess[label, target] - excess[label, source] - 1) + 2 * marked[label]
            if swapped < best:
                best, giver, other = swapped, i, j
        for t in range(row_ptr[i], row_ptr[i + 1]):
            marked[row_labels[t]] = 0.0
    if giver < 0:
        return False
    _move(row_ptr, row_labels, excess, part, giver, source, target)
    _move(row_ptr, row_labels, excess, part, other, target, source)
    return True


@njit(**INNER)
def _move(row_ptr, row_labels, excess, part, row, source, target):  # type: ignore[no-untyped-def]
    for t in range(row_ptr[row], row_ptr[row + 1]):
        excess[row_labels[t], source] -= 1
        excess[row_labels[t], target] += 1
    part[row] = target
