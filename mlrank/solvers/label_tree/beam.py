"""Beam search in a label tree: many rows at a time, level by level, and node by node within a level.

Of a node's weights a row meets a few, in as many places of memory. Rows that follow the same node are taken one after
the other, so that its weights are in the cache for all but the first.
"""

import numpy as np

from mlrank.compiled import INNER, njit

__all__ = ["search"]


@njit(cache=True)
def search(  # type: ignore[no-untyped-def]
    row_ptr,
    row_features,
    row_values,
    begin,
    end,
    order,
    leaf_ptr,
    widths,
    level_sizes,
    features,
    children,
    weights,
    bias,
    place_ptr,
    shifts,
    places,
    kind,
    beam,
    widest,
    every,
    best,
    labels,
):
    """Follow the best nodes of each level; write the scores of all labels met, if `every` is not empty, or the best."""
    n_rows, n_levels = end - begin, level_sizes.size
    nodes, scores, n_nodes = np.zeros((n_rows, beam), np.int64), np.zeros((n_rows, beam)), np.ones(n_rows, np.int64)
    next_nodes, next_scores = np.zeros((n_rows, beam), np.int64), np.zeros((n_rows, beam))
    n_next = np.zeros(n_rows, np.int64)
    margins = np.empty(widest)
    node_base, bias_base = 0, 0
    one = np.uint64(1)  # unsigned indices are not asked whether they count from the end
    for level in range(n_levels):
        last = level == n_levels - 1
        n_next[:] = 0
        for place in _by_node(nodes, n_nodes, level_sizes[level]):
            r = place // beam
            i, b = begin + r, place - r * beam
            node, score = nodes[r, b], scores[r, b]
            first = leaf_ptr[node] if last else node * widths[level]
            width = leaf_ptr[node + 1] - first if last else widths[level]
            for c in range(width):
                margins[c] = bias[bias_base + first + c]
            base, shift = place_ptr[node_base + node], shifts[node_base + node]
            for t in range(row_ptr[i], row_ptr[i + 1]):
                feature, value = row_features[t], row_values[t]
                at = np.uint64(base + (feature >> shift))
                low, high = np.uint64(places[at]), np.uint64(places[at + one])
                while low < high and features[low] < feature:
                    low += one
                while low < high and features[low] == feature:
                    margins[np.uint64(children[low])] += value * weights[low]
                    low += one
            for c in range(width):
                z = margins[c]
                if kind == 0:
                    found = score - max(1.0 - z, 0.0) ** 3
                elif z > 0:
                    found = score - np.log1p(np.exp(-z))
                else:
                    found = score + z - np.log1p(np.exp(z))
                child = first + c
                if not last:
                    n_next[r] = _insert(next_scores[r], next_nodes[r], n_next[r], found, child)
                elif every.size > 0:
                    every[i, order[child]] = found
                else:
                    n_next[r] = _insert(best[i], labels[i], n_next[r], found, order[child])
        nodes, next_nodes = next_nodes, nodes
        scores, next_scores = next_scores, scores
        n_nodes, n_next = n_next, n_nodes
        if not last:
            node_base += level_sizes[level]
            bias_base += level_sizes[level + 1]
    if every.size == 0:
        for r in range(n_rows):
            for spare in range(n_nodes[r], best.shape[1]):
                best[begin + r, spare], labels[begin + r, spare] = -np.inf, -1


@njit(**INNER)
def _by_node(nodes, n_nodes, n):  # type: ignore[no-untyped-def]
    """Return the places ``row * beam + b`` of the ``n_nodes[row]`` nodes of each row, those of one node together.

    Where there are fewer of them than nodes, as of a single row, they come row by row: few share a node then.
    """
    found, filled = np.empty(n_nodes.sum(), np.int64), 0
    if found.size < n:
        for row in range(n_nodes.size):
            for b in range(n_nodes[row]):
                found[filled] = row * nodes.shape[1] + b
                filled += 1
        return found
    ptr = np.zeros(n + 1, np.int64)
    for row in range(n_nodes.size):
        for b in range(n_nodes[row]):
            ptr[nodes[row, b] + 1] += 1
    for node in range(n):
        ptr[node + 1] += ptr[node]
    for row in range(n_nodes.size):
        for b in range(n_nodes[row]):
            node = nodes[row, b]
            found[ptr[node]] = row * nodes.shape[1] + b
            ptr[node] += 1
    return found


@njit(**INNER)
def _insert(scores, items, n, score, item):  # type: ignore[no-untyped-def]
    """Insert an item into a list that falls by score, and rises by number where scores are equal; return its length.

    What falls off the end of a full list is lost.
    """
    if n == scores.size:
        if n == 0 or score < scores[n - 1] or (score == scores[n - 1] and item > items[n - 1]):
            return n
        n -= 1
    at = n
    while at > 0 and (scores[at - 1] < score or (scores[at - 1] == score and items[at - 1] > item)):
        scores[at], items[at] = scores[at - 1], items[at - 1]
        at -= 1
    scores[at], items[at] = score, item
    return n + 1
