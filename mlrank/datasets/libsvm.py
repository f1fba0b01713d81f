"""Readers for multi-label LIBSVM files, "l,l i:v i:v" with labels in any order, and for XMC files, which add a header.

A row without labels starts with a blank. Features and labels are numbered; whether from 0 or 1 is decided once for
all parts, by the user or by whether number 0 occurs in the training part, and so is the number of columns. In XMC
files (of the Extreme Classification Repository) both count from 0, and the first line, "n d k", says how many rows,
features and labels there are.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from mlrank.arrays import BoolArray
from mlrank.datasets import _codes as codes
from mlrank.datasets.files import Block, read_blocks, shown
from mlrank.datasets.growth import Growth, no_room, resized
from mlrank.datasets.labels import LabelTree, read_labels, read_names
from mlrank.datasets.numbering import MOST_COLUMNS, Numbering
from mlrank.datasets.numbers import cell_at, reread_numbers
from mlrank.datasets.parsed import Parsed, Source
from mlrank.errors import UserError

__all__ = ["numbered_blocks", "read_libsvm", "read_xmc"]

_HEADER = re.compile(rb"[ \t]*([0-9]{1,10})[ \t]+([0-9]{1,10})[ \t]+([0-9]{1,10})[ \t\r]*")


def read_libsvm(source: Source) -> Parsed:
    """Read multi-label LIBSVM files into a csr_array; features and labels are named by their numbers as written.

    `source.labels` may name the labels and `source.features` the features. Features count from 0 if
    `source.zero_based` is True, or None and the training part uses number 0; else from 1. Labels likewise, except
    that with False they still count from 0 where the training part uses number 0, as the files of the LIBSVM
    collection do.

    Raises
    ------
    UserError
        At the first thing that cannot be understood, with file, line and column; if a later part is wider than the
        training part; if the labels' base cannot be told.
    """
    rows = _Rows(Growth(source.parts))
    for path in source.parts:
        rows.read(path, read_blocks(path))
    return rows.finish(source, *_names(source))


def read_xmc(source: Source) -> Parsed:
    """Read XMC files into a csr_array; the training part's first line decides how many features and labels there are.

    Raises
    ------
    UserError
        At the first thing that cannot be understood, with file, line and column; if a file holds other numbers of
        rows, features or labels than its first line, the training part's first line or the names say.
    """
    rows, sizes = _Rows(Growth(source.parts)), []
    for path in source.parts:
        (n_rows, *size), blocks = _header(path)
        sizes.append(size)
        before = int(rows.state[0])
        rows.read(path, blocks)
        if (found := int(rows.state[0]) - before) != n_rows:
            raise UserError(f"the first line says {n_rows} rows, the file has {found}", path, 1, 1)
        if size != sizes[0]:
            wanted = "{} features and {} labels".format(*sizes[0])
            raise UserError(f"{source.parts[0].name} has {wanted}; the first line here says other numbers", path, 1, 1)
    trees = _names(source)
    for tree, number, what in zip(trees, (sizes[0][1], sizes[0][0]), ("labels", "features"), strict=True):
        if tree and len(tree.names) != number:
            raise UserError(f"names {len(tree.names)} {what}, {source.parts[0].name} has {number}", tree.path)
    return rows.finish(source, *trees, declared=(sizes[0][0], sizes[0][1]))


def numbered_blocks(path: Path, key: str, n_bytes: int) -> Iterator[tuple[csr_array, int, bool]]:
    """Yield the features of a file's rows, as many at a time as `n_bytes` of text hold, and let labels be.

    Yields
    ------
    rows : csr_array, its columns numbered as written and in the order written
    start : int
        Number of the first row in the file, counted from 0.
    in_order : bool
        Whether the numbers of each row rise; otherwise one may occur twice.

    Raises
    ------
    UserError
        At the first thing that cannot be understood, with file, line and column; if the file holds no rows.
    """
    blocks = _header(path)[1] if key == "xmc" else read_blocks(path)
    rows, size, start = _Rows(Growth(())), 0, 0
    for block in blocks:
        if size == 0:
            rows.state[3] = block.line - 1
        rows.read_block(block)
        size += len(block.text)
        if size >= n_bytes and rows.state[0]:
            yield rows.as_written(), start, not rows.state[5]
            start += int(rows.state[0])
            empty_line, rows, size = rows.state[4], _Rows(Growth(())), 0
            rows.state[4] = empty_line
    if rows.state[0]:
        yield rows.as_written(), start, not rows.state[5]
    elif start == 0:
        raise UserError("holds no rows", path)


def _names(source: Source) -> tuple[LabelTree | None, LabelTree | None]:
    """Read the files that name labels and features."""
    labels = read_labels(source.labels) if source.labels else None
    return labels, read_names(source.features, "feature") if source.features else None


def _header(path: Path) -> tuple[list[int], Iterator[Block]]:
    """Read the first line of an XMC file; return [rows, features, labels] and the blocks behind it."""
    blocks = read_blocks(path)
    first = next(blocks, None)
    if first is None:
        raise UserError("holds no rows", path)
    line, _, rest = first.text.partition(b"\n")
    match = _HEADER.fullmatch(line)
    if not match:
        wanted = "expected the first line of an XMC file: numbers of rows, features and labels"
        raise UserError(f"{wanted}, found {shown(line.strip())}", path, 1, 1)
    numbers = [int(number) for number in match.groups()]
    for what, number in zip(MOST_COLUMNS, numbers[1:], strict=True):
        if not 0 < number <= MOST_COLUMNS[what]:
            raise UserError(f"{number} {what}s: possible are 1 to {MOST_COLUMNS[what]}", path, 1, 1)
    return numbers, chain([Block(path, rest, 2)] if rest else [], blocks)


class _Rows:
    """Rows read so far, with numbers as written."""

    def __init__(self, growth: Growth) -> None:
        self.growth = growth
        self.data, self.indices, self.indptr = np.zeros(0), np.zeros(0, np.int32), np.zeros(1, np.int32)
        self.ids, self.id_indptr = np.zeros(0, np.int32), np.zeros(1, np.int64)
        self.state = np.zeros(6, np.int64)
        self.ends = [0]

    def read(self, path: Path, blocks: Iterable[Block]) -> None:
        """Append the rows of one part."""
        for place, block in enumerate(blocks):
            if place == 0:
                self.state[3:5] = block.line - 1, 0
            self.read_block(block)
        self.ends.append(int(self.state[0]))
        if self.ends[-1] == self.ends[-2]:
            raise UserError("holds no rows", path)

    def read_block(self, block: Block) -> None:
        """Append the rows of a block."""
        from mlrank.datasets._libsvm_kernels import label_rows

        pairs = block.text.count(b":")
        self._make_room(len(block.text), block.n_lines, pairs, block.n_lines + block.text.count(b","))
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

    def _make_room(self, n_bytes: int, rows: int, pairs: int, ids: int) -> None:
        row, entry, label = self.state[:3].tolist()
        self.growth.passed(n_bytes)
        n_rows = self.growth.room(len(self.indptr) - 1, row, rows, n_bytes)
        n_entries = self.growth.room(len(self.data), entry, pairs, n_bytes)
        self._resize(n_rows, n_entries, self.growth.room(len(self.ids), label, ids, n_bytes))

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
    ) -> Parsed:
        """Decide bases and widths by the training part, or by what the files' first lines say; return the arrays."""
        self._resize(*self.state[:3].tolist())
        features = Numbering("feature", self.indices, self.indptr, source.parts, tuple(self.ends), declared[0])
        labels = Numbering("label", self.ids, self.id_indptr, source.parts, tuple(self.ends), declared[1])
        base, label_base = 0, 0
        if declared[0] is None:
            base, label_base = _feature_base(source, features, feature_tree), _label_base(source, labels, tree)
        n_features = features.width(base, feature_tree)
        n_labels = labels.width(label_base, tree)
        counted = [] if declared[0] is not None else [f"features counted from {base}, labels from {label_base}"]
        # Where the width is declared, a part that does not reach it says nothing.
        narrower = features.narrower(base + n_features) if declared[0] is None and not feature_tree else ()
        notes = (*counted, *narrower)
        Y = self._label_matrix(n_labels, label_base)
        if np.count_nonzero(Y) != self.ids.size:
            labels.check_repeats()
        if self.state[5]:
            features.check_repeats()
        return Parsed(
            self._feature_matrix(n_features, base),
            Y,
            tree.names if tree else tuple(str(label_base + label) for label in range(n_labels)),
            feature_tree.names if feature_tree else tuple(str(base + feature) for feature in range(n_features)),
            tuple(np.diff(self.ends).tolist()),
            notes,
        )

    def _feature_matrix(self, n_features: int, base: int) -> csr_array:
        self.indices -= np.int32(base)
        X = csr_array((self.data, self.indices, self.indptr), shape=(self.ends[-1], n_features))
        X.sort_indices()
        X.eliminate_zeros()
        return X

    def _label_matrix(self, n_labels: int, base: int) -> BoolArray:
        Y = np.zeros((self.ends[-1], n_labels), np.bool_)
        Y[np.repeat(np.arange(self.ends[-1]), np.diff(self.id_indptr)), self.ids - base] = True
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


def _error(code: int, block: Block, at: int) -> Exception:
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
