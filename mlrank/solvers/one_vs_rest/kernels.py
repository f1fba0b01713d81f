"""Compiled loops over rows of machines in lockstep: losses, dual variables and exact line searches.

Arrays of rows are (n_labels, n_samples): a machine's rows lie together. Signs are +1, -1, and 0 where the label of a
row is not known, which then costs nothing.
"""

from typing import Any, TypeAlias

import numpy as np

from mlrank.arrays import BoolArray, FloatArray, IntArray
from mlrank.compiled import njit

__all__ = ["SignArray", "SingleArray", "line_search", "smoothed", "sparse_pass"]

SignArray: TypeAlias = np.ndarray[Any, np.dtype[np.int8]]
SingleArray: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]


@njit(cache=True)
def smoothed(  # pragma: no cover
    active: IntArray,
    F: FloatArray,
    S: SignArray,
    A0: FloatArray,
    costs: FloatArray,
    kappa: FloatArray,
    squared: bool,
    beta: FloatArray,
    inside: BoolArray,
    sums: FloatArray,
) -> None:
    """Write s alpha, whether alpha is strictly within its bounds, and each machine's sums.

    These are of the loss, of alpha, of alpha r, and of the slopes of rows within bounds; r = 1 - s f.
    """
    for p in range(len(active)):
        b = active[p]
        loss, total, product, slopes = 0.0, 0.0, 0.0, 0.0
        for i in range(F.shape[1]):
            s = S[b, i]
            cost = costs[1] if s > 0 else costs[0] if s < 0 else 0.0
            r = 1.0 - s * F[b, i]
            if squared:
                slope, t, cap = 2.0 * cost, 2.0 * cost * r, np.inf
                loss += cost * max(r, 0.0) ** 2
            else:
                slope, cap = cost * kappa[b], cost
                t = A0[b, i] + slope * r
                loss += cost * max(r, 0.0)
            alpha = min(max(t, 0.0), cap)
            within = 0.0 < t < cap
            inside[p, i] = within
            beta[p, i] = s * alpha
            total += alpha
            product += alpha * r
            if within:
                slopes += slope
        sums[p, 0], sums[p, 1], sums[p, 2], sums[p, 3] = loss, total, product, slopes


@njit(cache=True)
def line_search(  # pragma: no cover
    active: IntArray,
    F: FloatArray,
    DF: FloatArray,
    S: SignArray,
    A0: FloatArray,
    costs: FloatArray,
    kappa: FloatArray,
    squared: bool,
    first: FloatArray,
    second: FloatArray,
    steps: FloatArray,
) -> None:
    """Write the step t along DF that minimizes the smoothed objective, whose penalty has slope first + t second.

    The slope of the whole is piecewise linear and grows: Newton's method on it, held within a bracket.
    """
    for p in range(len(active)):
        b = active[p]
        low, high, t = 0.0, np.inf, 1.0
        for _ in range(40):
            slope, bend = first[p] + t * second[p], second[p]
            size = abs(first[p]) + abs(t * second[p])
            for i in range(F.shape[1]):
                s = S[b, i]
                cost = costs[1] if s > 0 else costs[0] if s < 0 else 0.0
                dr = -s * DF[p, i]
                r = 1.0 - s * F[b, i] + t * dr
                if squared:
                    h, a, cap = 2.0 * cost, 2.0 * cost * r, np.inf
                else:
                    h, cap = cost * kappa[b], cost
                    a = A0[b, i] + h * r
                part = min(max(a, 0.0), cap) * dr
                slope += part
                size += abs(part)
                if 0.0 < a < cap:
                    bend += h * dr * dr
            if abs(slope) <= 1e-13 * size:
                break
            if slope < 0:
                low = t
            else:
                high = t
            move = t - slope / bend if bend > 0 else (2.0 * t if slope < 0 else 0.5 * t)
            if not low < move < high:
                move = 0.5 * (low + high) if high < np.inf else 2.0 * t
            if abs(move - t) <= 1e-12 * t:
                break
            t = move
        steps[p] = t


@njit(cache=True)
def sparse_pass(  # pragma: no cover
    data: SingleArray,
    indices: IntArray,
    indptr: IntArray,
    order: IntArray,
    squares: SingleArray,
    S: SignArray,
    costs: FloatArray,
    squared: bool,
    beta: SingleArray,
    W: SingleArray,
    move: SingleArray,
    gains: FloatArray,
) -> None:
    """Minimize over each row's dual variables in turn, of all machines at once, and add what each D gains by it.

    Here machines lie side by side: S and beta are (n_samples, n_machines), W (n_features + 1, n_machines) with the bias
    last; `squares` are lengths of rows with the constant feature, squared.
    """
    n_lanes, last = W.shape[1], W.shape[0] - 1
    least, most = np.float32(0.0), (np.float32(np.inf), np.float32(costs[0]), np.float32(costs[1]))
    lean = (np.float32(0.0), np.float32(0.0))
    if squared:
        lean = (np.float32(0.5 / costs[0]), np.float32(0.5 / costs[1]))
    for i in order:
        low, high = indptr[i], indptr[i + 1]
        bias = W[last]
        for j in range(n_lanes):
            move[j] = bias[j]
        for p in range(low, high):
            x, w = data[p], W[indices[p]]
            for j in range(n_lanes):
                move[j] += x * w[j]
        n_moved = 0
        for j in range(n_lanes):
            s = np.float32(S[i, j])
            own = lean[1] if s > 0 else lean[0]
            cap = most[0] if squared else (most[2] if s > 0 else most[1])
            bend, before = squares[i] + own, s * beta[i, j]
            after = min(max(before - (s * move[j] - np.float32(1.0) + before * own) / bend, least), cap)
            step = s * (after - before)
            move[j] = step
            beta[i, j] += step
            gains[j] += 0.5 * bend * step * step
            n_moved += step != 0
        if n_moved:
            for j in range(n_lanes):
                bias[j] += move[j]
            for p in range(low, high):
                x, w = data[p], W[indices[p]]
                for j in range(n_lanes):
                    w[j] += x * move[j]
