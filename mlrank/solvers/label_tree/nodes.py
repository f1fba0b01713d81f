"""The problem of one node: a squared hinge machine for each child, all children at once.

Rows and features are numbered anew within the node, so that its weights (features, children) lie together: a value of a
row meets the weights of all children in one or two lines of cache. All machines take the same steps of dual coordinate
descent (Hsieh et al. 2008, algorithm 1), without shrinking: nearly every row moves some child.

Of the features of a leaf most are lone ones, which one row alone has. Their weights are multiples of that row's dual
variables, and are made of these at the end: a pass takes of them the sum of their squares, as one number of the row.

Features on scales far apart, or far from 0, take descent more passes than anyone waits for. Machines that it has not
solved soon are solved one by one by Newton's method, where the node is small enough for it.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from mlrank import arrays
from mlrank.arrays import FloatArray, IntArray
from mlrank.compiled import INNER, njit
from mlrank.linalg.interior import OPERATIONS
from mlrank.solvers.base import relative_gap
from mlrank.solvers.label_machine import LabelRows, solve_squared
from mlrank.solvers.label_tree.local import local_rows
from mlrank.solvers.label_tree.tree import Node

__all__ = ["Machines", "NodeRows", "Weights", "train_node"]

# Sweeps go on until no gradient is above this, then gaps are computed; where one is too large, the bound shrinks.
GRADIENT, SMALLER = 0.1, 0.3
# Lone features are parted from the others if they make up so much of the nonzeros.
LONE = 0.1
# So many features are gone through in the time in which one is sorted among others.
SCANNED = 64
# So many passes come before Newton's method, which takes about so many steps.
PATIENCE, NEWTON_STEPS = 300, 10


@dataclass(frozen=True)
class NodeRows:
    """What the nodes of one fit share.

    Parameters
    ----------
    row_ptr, features, values : the rows as CSR, values float32 or float64
    label_ptr, label_rows : the rows of each label
    draws : (n,) random numbers in [0, 1)
    local_row, local_feature : (n_samples,) and (n_features,) int32 ndarrays of -1, as they are again after each node
    """

    row_ptr: npt.NDArray[np.int32]
    features: npt.NDArray[np.int32]
    values: npt.NDArray[Any]
    label_ptr: IntArray
    label_rows: npt.NDArray[np.int32]
    draws: FloatArray
    local_row: npt.NDArray[np.int32]
    local_feature: npt.NDArray[np.int32]


class Machines(NamedTuple):
    """How the machines of a node are solved."""

    C: float
    tol: float
    max_iter: int
    min_weight: float


class Weights(NamedTuple):
    """The weights of a node that are not left out, and how far its machines are from the optimum.

    features, children, weights : (n,) int32, uint8 and float, by rising feature and child; bias : (n_children,)
    primal, dual : (n_children,) float64, of the weights before any were left out
    n_passes, n_dropped : int
    """

    features: npt.NDArray[np.int32]
    children: npt.NDArray[np.uint8]
    weights: npt.NDArray[Any]
    bias: npt.NDArray[Any]
    primal: FloatArray
    dual: FloatArray
    n_passes: int
    n_dropped: int


def train_node(rows: NodeRows, node: Node, machines: Machines) -> Weights:
    """Train the machines of a node, whose rows are those with a label below it; its number says where draws begin."""
    bounds, turn = node.bounds, 31 * node.number
    mark_ptr, marks, ptr, features, values, own = local_rows(
        *(rows.row_ptr, rows.features, rows.values, rows.label_ptr, rows.label_rows),
        *(node.labels, rows.local_row, rows.local_feature),
    )
    signs = _signs(np.ascontiguousarray(bounds), mark_ptr, marks, ptr.size - 1, values)
    n_children = bounds.size - 1
    small = 2.0 * NEWTON_STEPS * (len(signs) + own.size) * own.size**2 <= OPERATIONS
    ptr, features, values, own, *lone = _part(ptr, features, values, own, np.inf if small else LONE)
    alpha = np.zeros_like(signs)
    weights = np.zeros((own.size - lone[1].size + 1, n_children), rows.values.dtype)
    squares = np.zeros((2, len(signs)))
    primal, dual = np.zeros(n_children), np.zeros(n_children)
    live = np.ones(n_children, np.int8)
    state = np.array([GRADIENT, 0.0])  # the bound on gradients, and passes so far
    cost = 2.0 * (values.size + 4 * len(signs)) * n_children
    at_once = max(1, int(arrays.PIECE / max(cost, 1.0)))
    steps = 0
    while live.any() and state[1] + steps < machines.max_iter:
        most = min(machines.max_iter, PATIENCE) if small else machines.max_iter - steps
        _descend(
            *(ptr, features, values, *lone, signs, squares, alpha, weights, primal, dual, live, state),
            *(rows.draws, turn, machines.C, machines.tol, min(at_once, int(most - state[1])), int(most)),
        )
        if small and state[1] >= PATIENCE:
            X = csr_array((values.astype(np.float64), features, ptr), shape=(len(signs), own.size)).toarray()
            # Once: what it has not solved is left to descent.
            steps, small = _newton(X, signs, weights, primal, dual, live, machines, int(state[1])), False
    kept = _select(weights, own, *lone, alpha, signs, machines.min_weight, rows.local_feature)
    return Weights(kept[0], kept[1], kept[2], weights[-1].copy(), primal, dual, int(state[1]) + steps, int(kept[3]))


def _newton(
    X: FloatArray,
    signs: npt.NDArray[Any],
    weights: npt.NDArray[Any],
    primal: FloatArray,
    dual: FloatArray,
    live: npt.NDArray[np.int8],
    machines: Machines,
    spent: int,
) -> int:
    """Solve live children by Newton's method; those it solves to the tolerance are live no longer.

    Descent has certified its own weights before. The objective is that of weights as they are stored, the bound that of
    weights in float64. Returns the most steps for a child: (n + m) m^2 operations each, n rows and m features.
    """
    most = 0
    for child in np.flatnonzero(live):
        rows = LabelRows(X, False, lambda: None, signs[:, child].astype(np.float64), machines.C, free=False)
        given = weights[:, child].astype(np.float64)
        solved = solve_squared(rows, machines.tol / 2, machines.max_iter - spent, given)
        if solved is None:
            continue
        w, intercept, steps = solved
        most = max(most, steps)
        stored = np.append(w, intercept).astype(weights.dtype)
        reached = rows.squared_hinge(stored[:-1].astype(np.float64), float(stored[-1]))[0]
        bound = max(rows.squared_hinge(w, intercept)[1], dual[child])
        if relative_gap(reached, bound) <= min(machines.tol, relative_gap(primal[child], dual[child])):
            weights[:, child], primal[child], dual[child], live[child] = stored, reached, bound, 0
    return most


@njit(cache=True)
def _signs(bounds, mark_ptr, marks, n_rows, like):  # type: ignore[no-untyped-def]
    """Return 1 for the rows (n_rows, n_children) of a label below a child and -1 for all others, as `like` is."""
    n_children = bounds.size - 1
    signs = np.full((n_rows, n_children), -1, like.dtype)
    for child in range(n_children):
        for s in range(mark_ptr[bounds[child] - bounds[0]], mark_ptr[bounds[child + 1] - bounds[0]]):
            signs[marks[s], child] = 1
    return signs


@njit(cache=True)
def _part(ptr, features, values, own, least):  # type: ignore[no-untyped-def]
    """Part lone features from the others: return (ptr, features, values, own, lone_ptr, lone_values).

    The lone features of row r are the ones from ``lone_ptr[r]`` to ``lone_ptr[r + 1]`` among the last of `own`. There
    are none where less than `least` of the nonzeros are of such.
    """
    n_rows = ptr.size - 1
    counts, number, n_lone = np.zeros(own.size, np.int32), np.empty(own.size, np.int32), 0
    for feature in features:
        counts[feature] += 1
    for f in range(own.size):
        n_lone += counts[f] == 1
    lone_ptr, at = np.zeros(n_rows + 1, np.int64), 0
    if n_lone < least * features.size:
        return ptr, features, values, own, lone_ptr, values[:0].copy()
    lone_values, parted = np.empty(n_lone, values.dtype), np.empty_like(own)
    for f in range(own.size):
        if counts[f] > 1:
            number[f], parted[at] = at, own[f]
            at += 1
    shared_ptr, size = np.zeros(n_rows + 1, np.int64), features.size - n_lone
    found, numbers, n_shared, n_lone = np.empty(size, np.int32), np.empty(size, values.dtype), 0, 0
    for r in range(n_rows):
        for t in range(ptr[r], ptr[r + 1]):
            if counts[features[t]] > 1:
                found[n_shared], numbers[n_shared] = number[features[t]], values[t]
                n_shared += 1
            else:
                parted[at + n_lone], lone_values[n_lone] = own[features[t]], values[t]
                n_lone += 1
        shared_ptr[r + 1], lone_ptr[r + 1] = n_shared, n_lone
    return shared_ptr, found, numbers, parted, lone_ptr, lone_values


@njit(cache=True)
def _descend(  # type: ignore[no-untyped-def]
    ptr,
    features,
    values,
    lone_ptr,
    lone_values,
    signs,
    squares,
    alpha,
    weights,
    primal,
    dual,
    live,
    state,
    draws,
    turn,
    C,
    tol,
    passes,
    max_iter,
):
    """Make up to so many passes; a child whose gap is at most `tol` is no longer live.

    The last row of `weights` is the bias: every row has a feature more, of value 1. `squares` are those of the rows and
    of their lone features.
    """
    n_rows, n_children = signs.shape
    n_features = weights.shape[0] - 1
    if state[1] == 0:
        for i in range(n_rows):
            square = 1.0
            for t in range(ptr[i], ptr[i + 1]):
                square += float(values[t]) * float(values[t])
            for t in range(lone_ptr[i], lone_ptr[i + 1]):
                squares[1, i] += float(lone_values[t]) * float(lone_values[t])
            squares[0, i] = square + squares[1, i]
    order = np.empty(n_rows, np.int64)
    one = weights.dtype.type(1)
    ridge = weights.dtype.type(1 / (2 * C))
    score, step = np.empty(n_children, weights.dtype), np.empty(n_children, weights.dtype)
    on = live.astype(weights.dtype)
    for _ in range(passes):
        for i in range(n_rows):
            order[i] = i
        for i in range(n_rows - 1, 0, -1):
            j = int(draws[(turn + int(state[1]) * 7919 + i) % draws.size] * (i + 1))
            order[i], order[j] = order[j], order[i]
        worst = weights.dtype.type(0)
        for i in order:
            for c in range(n_children):
                score[c] = weights[n_features, c]
            for t in range(ptr[i], ptr[i + 1]):
                row, x = weights[features[t]], values[t]
                for c in range(n_children):
                    score[c] += x * row[c]
            scale = weights.dtype.type(1 / (squares[0, i] + 1 / (2 * C)))
            # What its lone features add to a score is a multiple of its dual variable.
            penalty = ridge + weights.dtype.type(squares[1, i])
            mine, sign = alpha[i], signs[i]
            largest = weights.dtype.type(0)
            for c in range(n_children):
                gradient = sign[c] * score[c] - one + penalty * mine[c]
                changed = max(mine[c] - gradient * scale, weights.dtype.type(0))
                moved = (changed - mine[c]) * on[c]
                # Where the bound of 0 does not stop it this is the gradient, else less.
                largest = max(largest, abs(moved))
                mine[c] += moved
                step[c] = moved * sign[c]
            if largest > 0:
                worst = max(worst, largest / scale)
                row = weights[n_features]
                for c in range(n_children):
                    row[c] += step[c]
                for t in range(ptr[i], ptr[i + 1]):
                    row, x = weights[features[t]], values[t]
                    for c in range(n_children):
                        row[c] += x * step[c]
        state[1] += 1
        if worst <= state[0] or state[1] >= max_iter:
            _certify(ptr, features, values, lone_ptr, lone_values, signs, alpha, weights, primal, dual, live, C)
            left = 0
            for c in range(n_children):
                if live[c] and primal[c] - dual[c] <= tol * primal[c]:
                    live[c] = 0
                left += live[c]
                on[c] = live[c]
            if left == 0:
                return
            state[0] *= SMALLER


@njit(**INNER)
def _lone_weight(x, alpha, sign, like):  # type: ignore[no-untyped-def]
    """Return the weight of a lone feature, of value x in a row of this dual variable and sign, as `like` has them."""
    return like.dtype.type(np.float64(x) * (np.float64(alpha) * sign))


@njit(**INNER)
def _certify(  # type: ignore[no-untyped-def]
    ptr, features, values, lone_ptr, lone_values, signs, alpha, weights, primal, dual, live, C
):
    """Set the weights of live children to those of their multipliers, and their objectives, all sums in float64."""
    n_rows, n_children = signs.shape
    n_features = weights.shape[0] - 1
    exact = np.zeros((n_features + 1, n_children))
    linear, score = np.zeros(n_children), np.empty(n_children)
    loss, square = np.zeros(n_children), np.zeros(n_children)
    for i in range(n_rows):
        for c in range(n_children):
            a = np.float64(alpha[i, c])
            score[c] = a * signs[i, c]
            linear[c] += a - a * a / (4 * C)
            exact[n_features, c] += score[c]
        for t in range(ptr[i], ptr[i + 1]):
            row, x = exact[features[t]], np.float64(values[t])
            for c in range(n_children):
                row[c] += x * score[c]
        mine, sign = alpha[i], signs[i]
        for t in range(lone_ptr[i], lone_ptr[i + 1]):
            x = np.float64(lone_values[t])
            for c in range(n_children):
                linear[c] -= 0.5 * (x * score[c]) ** 2
                square[c] += np.float64(_lone_weight(x, mine[c], sign[c], weights)) ** 2
    for f in range(n_features + 1):
        for c in range(n_children):
            linear[c] -= 0.5 * exact[f, c] ** 2
            if live[c]:
                weights[f, c] = exact[f, c]
            square[c] += np.float64(weights[f, c]) ** 2
    for i in range(n_rows):
        for c in range(n_children):
            score[c] = weights[n_features, c]
        for t in range(ptr[i], ptr[i + 1]):
            row, x = weights[features[t]], np.float64(values[t])
            for c in range(n_children):
                score[c] += x * row[c]
        mine, sign = alpha[i], signs[i]
        for t in range(lone_ptr[i], lone_ptr[i + 1]):
            x = np.float64(lone_values[t])
            for c in range(n_children):
                score[c] += x * _lone_weight(x, mine[c], sign[c], weights)
        for c in range(n_children):
            slack = max(1.0 - signs[i, c] * score[c], 0.0)
            loss[c] += slack * slack
    for c in range(n_children):
        if live[c]:
            primal[c] = 0.5 * square[c] + C * loss[c]
            dual[c] = linear[c]


@njit(cache=True)
def _select(weights, own, lone_ptr, lone_values, alpha, signs, min_weight, local_feature):  # type: ignore[no-untyped-def]
    """Return (features, children, weights) of the weights above `min_weight` in size, and how many are not."""
    n_rows, n_children = signs.shape
    n_shared, n_given = weights.shape[0] - 1, 0
    kept = np.zeros(own.size, np.int32)
    for f in range(n_shared):
        count = 0
        for c in range(n_children):
            count += abs(weights[f, c]) > min_weight
            n_given += weights[f, c] != 0
        kept[f] = count
    # Of a row whose largest lone value makes no such weight of a child, no other does.
    able_ptr, owner = np.zeros(n_rows + 1, np.int64), np.empty(lone_values.size, np.int64)
    able = np.empty(n_rows * n_children if lone_values.size > 0 else 0, np.uint8)
    for r in range(n_rows if lone_values.size > 0 else 0):
        mine, sign = alpha[r], signs[r]
        largest, n_values, at = 0.0, 0, able_ptr[r]
        for t in range(lone_ptr[r], lone_ptr[r + 1]):
            largest, n_values = max(largest, abs(np.float64(lone_values[t]))), n_values + (lone_values[t] != 0)
        for c in range(n_children):
            n_given += n_values * (mine[c] != 0)
            if abs(_lone_weight(largest, mine[c], sign[c], weights)) > min_weight:
                able[at] = c
                at += 1
        for t in range(lone_ptr[r], lone_ptr[r + 1]):
            owner[t], count = r, 0
            for s in range(able_ptr[r], at):
                count += abs(_lone_weight(lone_values[t], mine[able[s]], sign[able[s]], weights)) > min_weight
            kept[n_shared + t] = count
        able_ptr[r + 1] = at
    n_kept = kept.sum()
    features, children, numbers = (
        np.empty(n_kept, np.int32),
        np.empty(n_kept, np.uint8),
        np.empty(n_kept, weights.dtype),
    )
    at = 0
    for f in _rising(own, np.flatnonzero(kept), local_feature):
        if f < n_shared:
            for c in range(n_children):
                if abs(weights[f, c]) > min_weight:
                    features[at], children[at], numbers[at] = own[f], c, weights[f, c]
                    at += 1
            continue
        r = owner[f - n_shared]
        for s in range(able_ptr[r], able_ptr[r + 1]):
            weight = _lone_weight(lone_values[f - n_shared], alpha[r, able[s]], signs[r, able[s]], weights)
            if abs(weight) > min_weight:
                features[at], children[at], numbers[at] = own[f], able[s], weight
                at += 1
    return features, children, numbers, n_given - n_kept


@njit(**INNER)
def _rising(own, some, local_feature):  # type: ignore[no-untyped-def]
    """Return `some` places in `own` by rising feature; `local_feature` (n_features,) is -1 before and after."""
    if local_feature.size > SCANNED * some.size:
        return some[np.argsort(own[some])]
    for f in some:
        local_feature[own[f]] = f
    rising, at = np.empty_like(some), 0
    for feature in range(local_feature.size):
        if local_feature[feature] >= 0:
            rising[at] = local_feature[feature]
            local_feature[feature] = -1
            at += 1
    return rising
