"""The tree: labels halved by balanced 2-means until a leaf holds few, and every few halvings taken for one level.

Several workers grow and train one tree: each halves all labels down to the level whose nodes are dealt to them, and
from there on only those below its own nodes. The labels of a node are trained in the order that they had when its
children were halved apart, so that what is below them, and by whom, changes nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mlrank.arrays import Features, FloatArray, IntArray, read_only
from mlrank.compiled import INNER, njit
from mlrank.labels import columns_of, label_counts
from mlrank.solvers.base import WHOLE, Block
from mlrank.solvers.label_tree.local import local_rows

__all__ = ["GrownTree", "Node", "Tree", "grow", "shape_of"]

# Rounds of 2-means at most; it ends when fewer than this share of the labels change sides. Four rounds lose .007 of
# precision at 1 on labels in clusters.
ROUNDS, MOVED = 20, 0.005
# The first level with so many nodes for each block is dealt to them, or an earlier one, of which each block has one at
# least, if none then costs more than so many times the mean: what is above is halved by all of them.
DEALT, EVEN = 2, 1.1


@dataclass(frozen=True)
class Tree:
    """A tree of labels in which the nodes of a level have equally many children, but for the labels below the last.

    Parameters
    ----------
    order : (n_labels,) int64 ndarray
        The labels, so that those below a node follow one another.
    leaf_ptr : (n_leaves + 1,) int64 ndarray
        The labels of leaf i are ``order[leaf_ptr[i]:leaf_ptr[i + 1]]``.
    widths : (n_levels - 1,) int64 ndarray
        Children of a node of each level but the last, whose children are labels.
    """

    order: IntArray
    leaf_ptr: IntArray
    widths: IntArray

    @property
    def level_sizes(self) -> IntArray:
        """Nodes of each level, from the root down."""
        return np.concatenate([[1], np.cumprod(self.widths)]).astype(np.int64)

    def bounds(self, level: int) -> IntArray:
        """Return where in `order` the labels below each child of a level begin, and where the last ones end."""
        if level == len(self.widths):
            return np.arange(self.order.size + 1)
        step = (self.leaf_ptr.size - 1) // int(self.level_sizes[level + 1])
        return self.leaf_ptr[::step]

    def child_ptr(self, level: int) -> IntArray:
        """Return where the children of each node of a level begin among all children of the level."""
        if level == len(self.widths):
            return self.leaf_ptr
        return np.arange(int(self.level_sizes[level]) + 1) * int(self.widths[level])


class Node(NamedTuple):
    """A node by its number, from the root down: its labels, and where in `labels` those of each child begin and end."""

    number: int
    labels: IntArray
    bounds: IntArray


@dataclass(frozen=True)
class GrownTree(Tree):
    """A tree, or what a block grows of it, as it is trained.

    Parameters
    ----------
    orders : tuple of (n_labels,) int64 ndarray
        For each level the labels as they lay when its children had been halved apart. In what a block grows, labels
        below nodes of others have no order.
    n_rows : (n_labels,) int64 ndarray
        Rows of each label.
    """

    orders: tuple[IntArray, ...]
    n_rows: IntArray

    def nodes(self, block: Block) -> Iterator[Node]:
        """Yield the nodes of a block."""
        owners = self._deal(block)
        numbers = np.concatenate([[0], np.cumsum(self.level_sizes)])
        for level, own in enumerate(owners.of_levels(self.level_sizes)):
            bounds, child_ptr = self.bounds(level), self.child_ptr(level)
            for place in np.flatnonzero(own == block.number):
                ends = bounds[child_ptr[place] : child_ptr[place + 1] + 1]
                yield Node(int(numbers[level] + place), self.orders[level][ends[0] : ends[-1]], ends - ends[0])

    def own_order(self, block: Block) -> IntArray:
        """Return the labels below the nodes of the dealt level that a block has, in their places, and -1 elsewhere."""
        *_, of_leaves = self._deal(block).of_levels(self.level_sizes)
        own: IntArray = np.where(np.repeat(of_leaves == block.number, np.diff(self.leaf_ptr)), self.order, -1)
        return own

    def _deal(self, block: Block) -> "_Deal":
        n_rows, n_leaves = self.n_rows[self.order], self.leaf_ptr.size - 1
        bounds = (self.leaf_ptr[:: n_leaves // size] for size in self.level_sizes.tolist())
        deals = (_deal(n_rows, ends, self.widths, block.n_blocks) for ends in bounds)
        return next(deal for deal in deals if deal is not None)


class _Deal(NamedTuple):
    """Which block has which nodes: of each level above that whose nodes are dealt, and of that, with all below."""

    above: tuple[IntArray, ...]
    dealt: IntArray

    def of_levels(self, level_sizes: IntArray) -> list[IntArray]:
        """Return the block of each node, level by level."""
        below = level_sizes[len(self.above) :].tolist()
        return [*self.above, *(np.repeat(self.dealt, size // self.dealt.size) for size in below)]


def _deal(n_rows: IntArray, bounds: IntArray, widths: IntArray, n_blocks: int) -> _Deal | None:
    """Deal nodes to blocks by what they cost, the largest first, each to the block that has least.

    A node costs its rows, counted with each of its labels, times its children. Returns None where a level has too few
    nodes, and there is another below it.

    Parameters
    ----------
    n_rows : (n_labels,) rows of the labels as they lie
    bounds : where the labels of each node of the level begin and end
    """
    rows = np.diff(np.concatenate([[0], np.cumsum(n_rows)])[bounds]).astype(float)
    level_sizes = np.concatenate([[1], np.cumprod(widths)]).astype(np.int64)
    level = int(np.searchsorted(level_sizes, rows.size))
    n_children = [*widths.tolist(), n_rows.size / level_sizes[-1]]
    costs = [
        rows.reshape(size, -1).sum(axis=1) * n_children[at] for at, size in enumerate(level_sizes[:level].tolist())
    ]
    costs.append(rows * sum(n_children[level:]))
    every, loads = np.concatenate(costs), np.zeros(n_blocks)
    owners = np.zeros(every.size, np.int64)
    for place in np.argsort(-every, kind="stable").tolist():
        owners[place] = int(np.argmin(loads))
        loads[owners[place]] += every[place]
    enough = DEALT * n_blocks if n_blocks > 1 else 1
    if rows.size < min(enough, level_sizes[-1]) and (rows.size < n_blocks or loads.max() > EVEN * loads.mean()):
        return None
    *first, dealt = np.split(owners, np.cumsum([cost.size for cost in costs])[:-1])
    return _Deal(tuple(first), dealt)


def shape_of(n_labels: int, branching: int, leaf: int) -> tuple[int, IntArray]:
    """Return how often labels are halved so that a leaf has `leaf` of them at most, and the widths of levels.

    >>> shape_of(16, 16, 16), shape_of(1000, 16, 100), shape_of(100_000, 16, 100)
    ((0, array([], dtype=int64)), (4, array([16])), (10, array([ 4, 16, 16])))
    """
    halvings = 0
    while n_labels > leaf << halvings:
        halvings += 1
    per_level = int(np.log2(branching))
    first = halvings % per_level
    widths = [1 << first] * (first > 0) + [branching] * (halvings // per_level)
    return halvings, np.array(widths, dtype=np.int64)


def grow(
    X: Features, Y: csr_array, branching: int, leaf: int, rng: np.random.Generator, block: Block = WHOLE
) -> GrownTree:
    """Return a tree in which labels of similar rows lie together, or what a block needs of it.

    A label stands for the sum of its rows, each of unit length, at unit length itself. A segment of labels is halved by
    2-means: the difference of two random labels is the first direction; the half of the labels that lies farthest along
    it and the other half make the next one, the difference of their sums at unit length each (spherical means; plain
    means lose a hundredth of precision at 1 on labels in clusters). A round costs the nonzeros of the rows.

    Parameters
    ----------
    X : (n_samples, n_features) csr_array
    Y : (n_samples, n_labels) bool csr_array
    branching : int, a power of 2
    leaf : int
        Labels of a leaf at most.
    rng : draws the first centers
    block : Block
    """
    n_labels = Y.shape[1]
    halvings, widths = shape_of(n_labels, branching, leaf)
    depths = np.concatenate([[0], np.cumsum(np.log2(widths))]).astype(int)
    n_rows, dealt = label_counts(Y), None
    order, ptr, orders = np.arange(n_labels), np.array([0, n_labels]), []
    if halvings:
        columns = columns_of(Y)
        labels = columns.indptr.astype(np.int64), read_only(columns.indices)
        rows = read_only(X.indptr), read_only(X.indices), _unit(X)
        lengths = np.empty(n_labels)
        center = np.zeros(X.shape[1])
        _lengths(*rows, *labels, center, lengths)
        number, place = np.full(X.shape[1], -1, np.int32), np.full(X.shape[0], -1, np.int32)
        for depth in range(halvings):
            sizes = np.diff(ptr)
            inner = np.stack([ptr[:-1], ptr[:-1] + (sizes + 1) // 2], axis=1)
            seeds = rng.random((sizes.size, 2))
            if dealt is None and depth in depths and (deal := _deal(n_rows[order], ptr, widths, block.n_blocks)):
                dealt, owners = depth, deal.dealt
            for segment in range(sizes.size):
                if dealt is not None and owners[segment >> (depth - dealt)] != block.number:
                    continue
                ends = int(ptr[segment]), int(inner[segment, 1]), int(ptr[segment + 1])
                _halve(*rows, *labels, lengths, order, *ends, seeds[segment], number, place)
            ptr = np.append(inner.ravel(), n_labels)
            if depth + 1 in depths:
                orders.append(order.copy())
    return GrownTree(order, ptr, widths, (*orders, order), n_rows)


def _unit(X: csr_array) -> FloatArray:
    """Return the values of rows at unit length; rows of zeros stay."""
    largest = np.ones(X.shape[0])
    filled = np.flatnonzero(np.diff(X.indptr))
    largest[filled] = np.maximum.reduceat(np.abs(X.data), X.indptr[filled])
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    # By the largest value first: squares of very large or small ones are no numbers.
    values = X.data / np.where(largest > 0, largest, 1.0)[row]
    lengths = np.sqrt(np.bincount(row, values**2, minlength=X.shape[0]))
    return np.asarray(values / np.where(lengths > 0, lengths, 1.0)[row])


@njit(cache=True)
def _lengths(row_ptr, features, values, label_ptr, label_rows, center, lengths):  # type: ignore[no-untyped-def]
    """Set the length of the sum of each label's rows; `center` is zero before and after."""
    for label in range(lengths.size):
        for s in range(label_ptr[label], label_ptr[label + 1]):
            for t in range(row_ptr[label_rows[s]], row_ptr[label_rows[s] + 1]):
                center[features[t]] += values[t]
        square = 0.0
        for s in range(label_ptr[label], label_ptr[label + 1]):
            for t in range(row_ptr[label_rows[s]], row_ptr[label_rows[s] + 1]):
                square += center[features[t]] ** 2
                center[features[t]] = 0.0
        lengths[label] = np.sqrt(square)


@njit(cache=True)
def _halve(row_ptr, features, values, label_ptr, label_rows, lengths, order, begin, middle, end, seeds, number, place):  # type: ignore[no-untyped-def]
    """Put the labels order[begin:end] in such an order that those before `middle` are one half.

    `number` (n_features,) and `place` (n_samples,) are -1, before and after, as `local_rows` takes them.
    """
    size = end - begin
    labels = order[begin:end].copy()
    mark_ptr, marks, ptr, own, numbers, seen = local_rows(
        row_ptr, features, values, label_ptr, label_rows, labels, place, number
    )
    n_rows, n_features = ptr.size - 1, seen.size
    share, other, along = np.empty(n_rows), np.empty(n_rows), np.empty(n_rows)
    # Side by side, as a feature that a row has is added to both.
    centers, direction = np.empty((n_features, 2)), np.empty(n_features)
    near, far = np.uint64(0), np.uint64(1)
    first = int(seeds[0] * size)
    second = (first + 1 + int(seeds[1] * (size - 1))) % size
    side, score, ranked = np.zeros(size, np.int8), np.empty(size), np.empty(size)
    side[first], side[second] = 1, -1
    for turn in range(ROUNDS):
        share[:], other[:] = 0.0, 0.0
        for i in range(size):
            if side[i] != 0 and lengths[labels[i]] > 0:
                mine = share if side[i] > 0 else other
                for s in range(mark_ptr[i], mark_ptr[i + 1]):
                    mine[marks[s]] += 1.0 / lengths[labels[i]]
        centers[:] = 0.0
        for r in range(n_rows):
            if share[r] != 0 or other[r] != 0:
                for t in range(ptr[r], ptr[r + 1]):
                    feature = np.uint64(own[t])
                    centers[feature, near] += share[r] * numbers[t]
                    centers[feature, far] += other[r] * numbers[t]
        near_square, far_square = 0.0, 0.0
        for f in range(n_features):
            near_square += centers[f, 0] ** 2
            far_square += centers[f, 1] ** 2
        near_length, far_length = np.sqrt(near_square), np.sqrt(far_square)
        for f in range(n_features):
            # A half without a row has no direction.
            direction[f] = centers[f, 0] / (near_length if near_length > 0 else 1.0)
            direction[f] -= centers[f, 1] / (far_length if far_length > 0 else 1.0)
        for r in range(n_rows):
            found = 0.0
            for t in range(ptr[r], ptr[r + 1]):
                found += direction[np.uint64(own[t])] * numbers[t]
            along[r] = found
        for i in range(size):
            found = 0.0
            for s in range(mark_ptr[i], mark_ptr[i + 1]):
                found += along[marks[s]]
            score[i] = found / lengths[labels[i]] if lengths[labels[i]] > 0 else 0.0
        for i in range(size):
            ranked[i] = score[i]
        bound = _largest(ranked, middle - begin)
        # Of labels with the very score of the bound, the first ones fill the half.
        room = middle - begin
        for i in range(size):
            room -= score[i] > bound
        moved = 0
        for i in range(size):
            now = 1 if score[i] > bound else -1
            if score[i] == bound and room > 0:
                now, room = 1, room - 1
            moved += side[i] != now
            side[i] = now
        if turn > 0 and moved < MOVED * size:
            break
    low, high = begin, middle
    for i in range(size):
        if side[i] > 0:
            order[low] = labels[i]
            low += 1
        else:
            order[high] = labels[i]
            high += 1


@njit(**INNER)
def _largest(values, n):  # type: ignore[no-untyped-def]
    """Return the n-th largest value; the order of `values` is lost."""
    low, high, at = 0, values.size - 1, n - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i, j = i + 1, j - 1
        if at <= j:
            high = j
        elif at >= i:
            low = i
        else:
            break
    return values[at]
