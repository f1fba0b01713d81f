"""Compiled loops over rows of machines in lockstep: losses, dual variables and exact line searches.

Arrays of rows are (n_labels, n_samples): a machine's rows lie together. Signs are +1, -1, and 0 where the label of a
row is not known, which then costs nothing.
"""

from typing import Any, TypeAlias

import numpy as np

from mlrank.arrays import BoolArray, FloatArray, IntArray
from mlrank.compiled import njit

__all__ = ["SignArray", "SingleArray", "line_search", "smoothed", "sparse_descent", "sparse_judged", "sparse_pass"]

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


@njit(cache=True, error_model="numpy")
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
    last; `squares` are lengths of rows with the constant feature, squared. A division that asks whether it is by zero
    would not be made for several machines at once: here none is, as lengths are at least 1.
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


@njit(cache=True, error_model="numpy")
def sparse_judged(  # pragma: no cover
    data: FloatArray,
    indices: IntArray,
    indptr: IntArray,
    S: SignArray,
    costs: FloatArray,
    squared: bool,
    beta: FloatArray,
    W: FloatArray,
    sums: FloatArray,
) -> None:
    """Add to W (n_features, n_machines) the weights of dual variables, and to `sums` four sums of each machine.

    These are of beta, of alpha, of the penalty alpha^2 / (2 c) of the squared hinge, and of the loss. Machines lie side
    by side, as in `sparse_pass`.
    """
    n_lanes = W.shape[1]
    lean = (0.5 / costs[0], 0.5 / costs[1]) if squared else (0.0, 0.0)
    for i in range(len(S)):
        own, signs = beta[i], S[i]
        moved = False
        for j in range(n_lanes):
            if own[j] != 0.0:
                moved = True
                break
        if not moved:
            continue
        for j in range(n_lanes):
            sums[0, j] += own[j]
            sums[1, j] += abs(own[j])
            sums[2, j] += own[j] * own[j] * (lean[1] if signs[j] > 0 else lean[0])
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            x, w = data[p], W[np.uint64(indices[p])]
            for j in range(n_lanes):
                w[j] += x * own[j]
    score = np.empty(n_lanes)
    for i in range(len(S)):
        signs = S[i]
        for j in range(n_lanes):
            score[j] = sums[0, j]
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            x, w = data[p], W[np.uint64(indices[p])]
            for j in range(n_lanes):
                score[j] += x * w[j]
        for j in range(n_lanes):
            slack = max(0.0, 1.0 - signs[j] * score[j])
            cost = costs[1] if signs[j] > 0 else costs[0] if signs[j] < 0 else 0.0
            sums[3, j] += cost * (slack * slack if squared else slack)


@njit(cache=True, error_model="numpy")
def sparse_descent(  # pragma: no cover
    data: SingleArray,
    indices: IntArray,
    indptr: IntArray,
    ones: bool,
    squares: FloatArray,
    s: SignArray,
    costs: FloatArray,
    squared: bool,
    beta: FloatArray,
    w: FloatArray,
    eps: float,
    most: int,
) -> tuple[int, float, float]:
    """Minimize over the dual variables of one machine in turn; return how many were looked at, P and D.

    Rows that stay at a bound are left out until the others are done (Hsieh et al. 2008, section 3.2). It ends once the
    projected slopes of all rows are within a range of `eps`, or after `most` looks. `w` has the bias last; see
    `sparse_pass` for `squares`. `ones`: all `data` are 1, and need not be read, which saves an eighth of the time.
    Indices are unsigned, as a signed one may count from the end, and asking costs a quarter.
    """
    last, n = len(w) - 1, len(s)
    rows = np.empty(n, np.int64)
    n_known = 0
    for i in range(n):
        if s[i] != 0:
            rows[n_known] = i
            n_known += 1
    size, looks, state = n_known, 0, np.uint64(1)
    above, below = np.inf, -np.inf
    while looks < most:
        for k in range(size - 1, 0, -1):  # in random order, by a congruential generator
            state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            other = np.int64((state >> np.uint64(33)) % np.uint64(k + 1))
            rows[k], rows[other] = rows[other], rows[k]
        largest, least, k = -np.inf, np.inf, 0
        while k < size:
            row = np.uint64(rows[k])
            looks += 1
            cost = costs[1] if s[row] > 0 else costs[0]
            own, cap = (0.5 / cost, np.inf) if squared else (0.0, cost)
            begin, end = np.uint64(indptr[row]), np.uint64(indptr[row + np.uint64(1)])
            score = w[last]
            if ones:
                for p in range(begin, end):
                    score += w[np.uint64(indices[p])]
            else:
                for p in range(begin, end):
                    score += data[p] * w[np.uint64(indices[p])]
            alpha = s[row] * beta[row]
            slope = s[row] * score - 1.0 + own * alpha
            projected = slope
            if alpha <= 0.0:
                projected = min(slope, 0.0)
            elif alpha >= cap:
                projected = max(slope, 0.0)
            if (alpha <= 0.0 and slope > above) or (alpha >= cap and slope < below):
                size -= 1
                rows[k], rows[size] = rows[size], rows[k]
                continue
            largest, least, k = max(largest, projected), min(least, projected), k + 1
            if projected != 0.0:
                after = min(max(alpha - slope / (squares[row] + own), 0.0), cap)
                step = s[row] * (after - alpha)
                beta[row] = s[row] * after
                w[last] += step
                if ones:
                    for p in range(begin, end):
                        w[np.uint64(indices[p])] += step
                else:
                    for p in range(begin, end):
                        w[np.uint64(indices[p])] += data[p] * step
        above, below = (largest if largest > 0.0 else np.inf), (least if least < 0.0 else -np.inf)
        if largest - least <= eps:
            if size == n_known:
                break
            size, above, below = n_known, np.inf, -np.inf
    norm = 0.0
    for j in range(len(w)):
        norm += w[j] * w[j]
    primal, dual = 0.5 * norm, -0.5 * norm
    for k in range(n_known):
        i = rows[k]
        cost = costs[1] if s[i] > 0 else costs[0]
        score = w[last]
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            score += data[p] * w[np.uint64(indices[p])]
        slack, alpha = max(0.0, 1.0 - s[i] * score), s[i] * beta[i]
        primal += cost * (slack * slack if squared else slack)
        dual += alpha - (alpha * alpha / (4.0 * cost) if squared else 0.0)
    return looks, primal, dual
