"""Beam search in a label tree: many rows at a time, level by level, and node by node within a level.

Of a node's weights a row meets a few, in as many places of memory. Rows that follow the same node are taken one after
the other, so that its weights are in the cache for all but the first, and where there are enough of them, a table of
all features says where in the node the weights of each begin. Nodes that have weights for most features and children,
as those near the root do, are held as matrices beside: a feature of a row meets one line of such a matrix.
"""

import numpy as np

from mlrank.compiled import INNER, njit

__all__ = ["search"]

# A table of a node's weights is made if its rows look up a third as many features as it has weights, or more: it takes
# a pass over these, which follow one another, in place of searches, which do not.
LOOKUPS = 3.0
# Its entries are int32.
MOST_ENTRIES = 2**31 - 1


@njit(cache=True)
def search(  # type: ignore[no-untyped-def]
    row_ptr,
    row_features,
    row_values,
    begin,
    order,
    leaf_ptr,
    widths,
    level_sizes,
    node_ptr,
    features,
    children,
    weights,
    bias,
    place_ptr,
    shifts,
    places,
    matrix_at,
    matrices,
    kind,
    widest,
    table,
    nodes,
    scores,
    n_nodes,
    visits,
    state,
    most,
    every,
    best,
    labels,
):
    """Follow the best nodes of each level; write the scores of all labels met, if `every` is not empty, or the best.

    After about `most` visits of a row to a node it returns, and goes on when it is called again, until ``state[0]`` is
    the number of levels.

    Parameters
    ----------
    begin : the first of the rows that are followed together
    widest : the most children of a node
    table : (n_features,) int32 ndarray, not negative
    nodes, scores : (2, n_rows, beam) int64 and float64 ndarrays
        Those of the level and of the next one, by turns; of the root level they are all 0.
    n_nodes : (2, n_rows) int64 ndarray, how many of them count: 1 of the root level
    visits : (n_rows * beam,) int64 ndarray
    state : (3,) int64 ndarray of 0
        The level, and how many of its visits are made, of how many.
    """
    n_rows, beam, n_levels = nodes.shape[1], nodes.shape[2], level_sizes.size
    margins = np.empty(widest)
    mean = (row_ptr[begin + n_rows] - row_ptr[begin]) / n_rows
    one = np.uint64(1)  # unsigned indices are not asked whether they count from the end
    node_base, bias_base = level_sizes[: state[0]].sum(), level_sizes[1 : state[0] + 1].sum()
    for level in range(state[0], n_levels):
        last = level == n_levels - 1
        now, then = level % 2, (level + 1) % 2
        if state[1] == 0:
            n_nodes[then, :] = 0
            state[2] = _by_node(nodes[now], n_nodes[now], level_sizes[level], visits)
        first_visit, n_visits = state[1], min(state[2], state[1] + most)
        alike, tabled = first_visit, False
        for visit in range(first_visit, n_visits):
            place = visits[visit]
            r = place // beam
            b = place - r * beam
            i, node, score = begin + r, nodes[now, r, b], scores[now, r, b]
            low_end, high_end = node_ptr[node_base + node], node_ptr[node_base + node + 1]
            matrix = matrix_at[node_base + node]
            if visit == alike:
                alike = _end_of(visits, visit, n_visits, nodes[now], node)
                n_weights = high_end - low_end
                tabled = matrix < 0 and LOOKUPS * mean * (alike - visit) >= n_weights and n_weights <= MOST_ENTRIES
                if tabled:
                    _enter(table, features, low_end, high_end)
            first = leaf_ptr[node] if last else node * widths[level]
            width = leaf_ptr[node + 1] - first if last else widths[level]
            for c in range(width):
                margins[c] = bias[bias_base + first + c]
            if matrix >= 0:
                for t in range(row_ptr[i], row_ptr[i + 1]):
                    line, value = np.uint64(matrix + row_features[t] * width), row_values[t]
                    for c in range(width):
                        margins[c] += value * matrices[line + np.uint64(c)]
            elif tabled:
                for t in range(row_ptr[i], row_ptr[i + 1]):
                    feature, value = row_features[t], row_values[t]
                    # What an earlier node left there is a place of another feature, or beyond the weights.
                    low, high = np.uint64(low_end + table[np.uint64(feature)]), np.uint64(high_end)
                    while low < high and features[low] == feature:
                        margins[np.uint64(children[low])] += value * weights[low]
                        low += one
            else:
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
                    n_nodes[then, r] = _insert(scores[then, r], nodes[then, r], n_nodes[then, r], found, child)
                elif every.size > 0:
                    every[i, order[child]] = found
                else:
                    n_nodes[then, r] = _insert(best[i], labels[i], n_nodes[then, r], found, order[child])
        if n_visits < state[2]:
            state[1] = n_visits
            return
        most -= n_visits - first_visit
        state[0], state[1] = level + 1, 0
        if not last:
            node_base += level_sizes[level]
            bias_base += level_sizes[level + 1]
    if every.size == 0:
        for r in range(n_rows):
            for spare in range(n_nodes[n_levels % 2, r], best.shape[1]):
                best[begin + r, spare], labels[begin + r, spare] = -np.inf, -1


@njit(**INNER)
def _by_node(nodes, n_nodes, n, found):  # type: ignore[no-untyped-def]
    """Set the places ``row * beam + b`` of the ``n_nodes[row]`` nodes of each row, those of one node together.

    Where there are fewer of them than nodes, as of a single row, they come row by row: few share a node then. Returns
    how many there are.
    """
    total, filled = n_nodes.sum(), 0
    if total < n:
        for row in range(n_nodes.size):
            for b in range(n_nodes[row]):
                found[filled] = row * nodes.shape[1] + b
                filled += 1
        return total
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
    return total


@njit(**INNER)
def _end_of(visits, visit, n_visits, nodes, node):  # type: ignore[no-untyped-def]
    """Return where the visits to a node end that begin with `visit`."""
    beam = nodes.shape[1]
    end = visit + 1
    while end < n_visits and nodes[visits[end] // beam, visits[end] % beam] == node:
        end += 1
    return end


@njit(**INNER)
def _enter(table, features, low_end, high_end):  # type: ignore[no-untyped-def]
    """Set where the weights of each feature of a node begin, counted from the node's first weight."""
    for at in range(low_end, high_end):
        if at == low_end or features[at] != features[at - 1]:
            table[np.uint64(features[at])] = at - low_end


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
