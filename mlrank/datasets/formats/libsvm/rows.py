"""Rows of numbered features and labels, read block by block into arrays that grow in place."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from mlrank.arrays import IntArray
from mlrank.datasets.dataset import Dataset
from mlrank.datasets.formats import _codes as codes
from mlrank.datasets.formats.base import Source, as_dataset
from mlrank.datasets.formats.growth import Growth, no_room, resized
from mlrank.datasets.formats.libsvm.numbering import Numbering
from mlrank.datasets.formats.names import LabelTree
from mlrank.datasets.formats.numbers import cell_at, reread_numbers
from mlrank.datasets.formats.room import NAME_BYTES
from mlrank.datasets.formats.text import LineBlock
from mlrank.errors import UserError
from mlrank.labels import MOST_DENSE, as_labels
from mlrank.room import check_room

__all__ = ["NumberedRows"]

# Label numbers up to this one are labels, whether they occur or not.
LEAST_RANGE = 100


class NumberedRows:
    """Rows read so far, with numbers as written."""

    def __init__(self, growth: Growth) -> None:
        self.growth = growth
        self.data, self.indices, self.indptr = np.zeros(0), np.zeros(0, np.int32), np.zeros(1, np.int32)
        self.ids, self.id_indptr = np.zeros(0, np.int32), np.zeros(1, np.int64)
        self.state = np.zeros(6, np.int64)
        self.ends = [0]

    def read(self, path: Path, blocks: Iterable[LineBlock]) -> None:
        """Append the rows of one part."""
        for place, block in enumerate(blocks):
            if place == 0:
                self.state[3:5] = block.line - 1, 0
            self.read_block(block)
        self.ends.append(int(self.state[0]))
        if self.ends[-1] == self.ends[-2]:
            raise UserError("holds no rows", path)

    def read_block(self, block: LineBlock) -> None:
        """Append the rows of a block."""
        from mlrank.datasets.formats.libsvm._kernels import label_rows

        pairs = block.text.count(b":")
        self._make_room(block, pairs, block.n_lines + block.text.count(b","))
        slow = np.empty((pairs, 3), np.int64)
        text = np.frombuffer(block.text, np.uint8)
        store = (self.data, self.indices, self.indptr, self.ids, self.id_indptr)
        code, at, n_slow = label_rows(text, *store, self.state, slow)
        if code == codes.EMPTY_LINE:
            message = "an empty line between rows; a row without labels and features is written as one blank"
            raise UserError(message, block.path, int(self.state[4]), 1)
        if code != codes.DONE:
            raise _error(code, block, at)
        reread_numbers(block, slow[:n_slow], self.data)

    def _make_room(self, block: LineBlock, pairs: int, ids: int) -> None:
        row, entry, label = self.state[:3].tolist()
        self.growth.passed(block, row)
        n_rows = self.growth.room(block, len(self.indptr) - 1, row, block.n_lines, 12)
        n_entries = self.growth.room(block, len(self.data), entry, pairs, 12)
        self._resize(n_rows, n_entries, self.growth.room(block, len(self.ids), label, ids, 4))

    def _resize(self, n_rows: int, n_entries: int, n_ids: int) -> None:
        self.data, self.indices = resized(self.data, n_entries), resized(self.indices, n_entries)
        self.indptr, self.id_indptr = resized(self.indptr, n_rows + 1), resized(self.id_indptr, n_rows + 1)
        self.ids = resized(self.ids, n_ids)

    def as_written(self) -> csr_array:
        """Return the features, their columns numbered as in the file."""
        self._resize(*self.state[:3].tolist())
        shape = (len(self.indptr) - 1, int(self.indices.max(initial=0)) + 1)
        return csr_array((self.data, self.indices, self.indptr), shape=shape)

    def finish(
        self,
        source: Source,
        tree: LabelTree | None,
        feature_tree: LabelTree | None,
        declared: tuple[int, int] | tuple[None, None] = (None, None),
    ) -> Dataset:
        """Decide bases and widths by the training part, or by what the files' first lines say; return the data."""
        self._resize(*self.state[:3].tolist())
        features = Numbering("feature", self.indices, self.indptr, source.parts, tuple(self.ends), declared[0])
        labels = Numbering("label", self.ids, self.id_indptr, source.parts, tuple(self.ends), declared[1])
        base, label_base = 0, 0
        if declared[0] is None:
            base, label_base = _feature_base(source, features, feature_tree), _label_base(source, labels, tree)
        n_features = features.width(base, feature_tree)
        used = None if declared[0] is not None or tree else self._sparse_ids()
        n_labels = labels.width(label_base, tree) if used is None else used.size
        counted = [] if declared[0] is not None else [f"features counted from {base}, labels from {label_base}"]
        # Where the width is declared, a part that does not reach it says nothing.
        narrower = features.narrower(base + n_features) if declared[0] is None and not feature_tree else ()
        notes = (*counted, *narrower)
        # Names, and Y, of which every entry is there if it is small.
        room = NAME_BYTES * (n_labels + n_features) + min(self.ends[-1] * n_labels, MOST_DENSE)
        check_room(room, f"{self.ends[-1]} rows of {n_labels} labels and {n_features} features", source.parts[0])
        if used is not None:
            ids = f"{used.size} labels, the numbers that occur between {used[0]} and {used[-1]}"
            notes = (f"features counted from {base}", ids, *notes[1:])
            self.ids, label_base = np.searchsorted(used, self.ids).astype(np.int32), 0
        Y = self._label_matrix(n_labels, label_base)
        if Y.nnz != self.ids.size:
            labels.check_repeats()
        if self.state[5]:
            features.check_repeats()
        return as_dataset(
            source,
            self._feature_matrix(n_features, base),
            Y,
            tree.names if tree else tuple(map(str, range(label_base, label_base + n_labels) if used is None else used)),
            feature_tree.names if feature_tree else tuple(str(base + feature) for feature in range(n_features)),
            np.diff(self.ends).tolist(),
            notes=notes,
        )

    def _sparse_ids(self) -> IntArray | None:
        """Return the label numbers that occur, where they leave out most numbers up to the largest; None otherwise."""
        if self.ids.size == 0:
            return None
        used: IntArray = np.unique(self.ids)
        return used if int(used[-1]) + 1 > max(LEAST_RANGE, 2 * used.size + 1) else None

    def _feature_matrix(self, n_features: int, base: int) -> csr_array:
        self.indices -= np.int32(base)
        X = csr_array((self.data, self.indices, self.indptr), shape=(self.ends[-1], n_features))
        X.sort_indices()
        X.eliminate_zeros()
        return X

    def _label_matrix(self, n_labels: int, base: int) -> csr_array:
        """Return the labels, each row's in rising order and once."""
        parts = (np.ones(self.ids.size, np.bool_), self.ids - np.int32(base), self.id_indptr)
        Y: csr_array = as_labels(csr_array(parts, shape=(self.ends[-1], n_labels)))
        return Y


def _feature_base(source: Source, features: Numbering, tree: LabelTree | None) -> int:
    if source.zero_based is not None:
        return 0 if source.zero_based else 1
    if features.uses_zero:
        return 0
    if tree and features.largest(0) < len(tree.names):
        raise UserError(_either("features", features, tree), source.parts[0])
    return 1


def _either(what: str, numbers: Numbering, tree: LabelTree) -> str:
    return (
        f"{what} may count from 0 or from 1: {len(tree.names)} are named in {tree.path.name}, the training part uses "
        f"numbers up to {numbers.largest(0)} without 0. Set zero_based"
    )


def _label_base(source: Source, labels: Numbering, tree: LabelTree | None) -> int:
    if source.zero_based or labels.uses_zero:
        return 0
    if tree is None or source.zero_based is not None or labels.largest(0) >= len(tree.names):
        return 1
    raise UserError(_either("labels", labels, tree), source.parts[0])


def _error(code: int, block: LineBlock, at: int) -> Exception:
    if code == codes.NO_ROOM:
        return no_room(block, at)
    # Labels end at a comma; in a pair a comma is part of what is wrong.
    ends = b", \t#" if code in (codes.INDEX_TOO_LARGE, codes.LABEL_AFTER_BLANK) else b" \t#"
    return block.error(at, _MESSAGES[code].format(found=cell_at(block, at, ends)))


_MESSAGES = {
    codes.NOT_A_NUMBER: "expected a number after the colon, found {found}",
    codes.NOT_A_PAIR: "expected index:value, found {found}",
    codes.NOT_A_LABEL: "expected a label's number (whole, not negative), found {found}",
    codes.NO_LABELS: "found the feature {found} where labels belong; a row without labels starts with a blank",
    codes.INDEX_TOO_LARGE: "the number {found} is larger than 2147483646",
    codes.BLANK_AFTER_COMMA: "a blank after a comma in the list of labels: write 2,5 instead of 2, 5",
    codes.LABEL_AFTER_BLANK: "found the label {found} after a blank; a row that starts with a blank has no labels",
}
