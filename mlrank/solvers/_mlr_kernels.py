"""Compiled loops of block coordinate ascent for multi-label ranking.

A visit of example i takes the scores s of its labels, and the curvature c = K_ii of its block, and maximises eq. 14
(with coefficient 1 on the cross term) over beta_k = y_k alpha_k, exactly::

    max  sum_k (y_k - s_k + c beta_k^old) beta_k - c/2 sum_k beta_k^2,    0 <= y_k beta_k <= C,    sum_k beta_k = 0

whose solution is the projection clip(u_k + shift) of u_k = beta_k^old + (y_k - s_k) / c for the one shift, lambda / c
of eq. 15, that makes the sum 0. Of problem (4), the exact one, a visit sweeps over the pairs of labels instead.
"""

from typing import Any

import numpy as np

from mlrank.compiled import njit

# The certificate is computed outside, so a sweep may reorder its sums.
FAST = {"reassoc", "contract", "nsz"}


@njit(cache=True, error_model="numpy", fastmath=FAST)
def project(u: Any, lower: Any, upper: Any, shift: float, out: Any) -> float:
    """Set `out` to clip(u + shift, lower, upper) with sum 0, for the shift that is returned; start at `shift`.

    Newton's method on a piecewise linear function, kept inside a bracket that every evaluation makes smaller: exact as
    soon as the right piece is found.
    """
    low, high = np.inf, -np.inf
    for k in range(u.size):
        low = min(low, lower[k] - u[k])
        high = max(high, upper[k] - u[k])
    shift = min(max(shift, low), high)
    while True:
        total, free = 0.0, 0.0
        for k in range(u.size):
            wanted = u[k] + shift
            value = min(max(wanted, lower[k]), upper[k])
            out[k] = value
            total += value
            free += 1.0 if value == wanted else 0.0
        if total > 0.0:
            high = shift
        elif total < 0.0:
            low = shift
        else:
            return shift
        following = shift - total / free if free > 0.0 else np.inf
        if abs(following - shift) <= 1e-15 * abs(shift):
            return shift
        if not low < following < high:
            following = 0.5 * (low + high)
            if following in (low, high):
                return shift
        shift = following


@njit(cache=True, error_model="numpy", fastmath=FAST)
def sweep_pairs(
    z: Any, order: Any, n_relevant: int, n_irrelevant: int, scores: Any, curvature: float, C: float
) -> None:
    """Maximise over each pair of one example in turn, 0 <= z <= C, updating `z` and `scores` in place.

    `order` lists the relevant labels, then the irrelevant ones; `z` is laid out relevant label by relevant label.
    """
    step = 0.5 / curvature
    at = 0
    for p in range(n_relevant):
        high = scores[order[p]]
        for q in range(n_relevant, n_relevant + n_irrelevant):
            old = z[at]
            new = min(max(old - (high - scores[order[q]] - 2.0) * step, 0.0), C)
            if new != old:
                z[at] = new
                move = (new - old) * curvature
                high += move
                scores[order[q]] -= move
            at += 1
        scores[order[p]] = high


@njit(cache=True, error_model="numpy", fastmath=FAST)
def visit(i: int, scores: Any, curvature: float, C: float, block: Any, work: Any) -> bool:
    """Maximise over the block of example `i`, given its scores; leave the move of beta in work[0], return if any.

    block : signs (n, K), order (n, K), n_relevant (n,), n_irrelevant (n,), offset (n,), beta (n, K), shift (n,), and
        the variables z of pairs, empty for eq. 13; work : (4, K)
    """
    signs, order, n_relevant, n_irrelevant, offset, beta, shift, z = block
    y, old, move = signs[i], beta[i], work[0]
    moved = 0.0
    if z.size > 0:
        after = work[1]
        after[:] = scores
        own = z[offset[i] : offset[i] + n_relevant[i] * n_irrelevant[i]]
        sweep_pairs(own, order[i], n_relevant[i], n_irrelevant[i], after, curvature, C)
        for k in range(y.size):
            move[k] = (after[k] - scores[k]) / curvature
            moved += abs(move[k])
            old[k] += move[k]
        return moved > 0.0
    u, lower, upper = work[1], work[2], work[3]
    for k in range(y.size):
        u[k] = old[k] + (y[k] - scores[k]) / curvature
        lower[k] = min(y[k] * C, 0.0)
        upper[k] = max(y[k] * C, 0.0)
    shift[i] = project(u, lower, upper, shift[i], move)
    for k in range(y.size):
        new = move[k]
        move[k] = new - old[k]
        moved += abs(move[k])
        old[k] = new
    return moved > 0.0


@njit(cache=True, error_model="numpy", fastmath=FAST)
def mix_moves(moves: Any, mix: Any, out: Any) -> None:
    """Set `out` (m, K) to moves @ mix, or to `moves` where `mix` is empty."""
    for b in range(moves.shape[0]):
        if mix.size == 0:
            out[b] = moves[b]
            continue
        out[b] = 0.0
        for j in range(mix.shape[0]):
            for k in range(mix.shape[1]):
                out[b, k] += moves[b, j] * mix[j, k]


@njit(cache=True, error_model="numpy", fastmath=FAST)
def read_tops(i: int, tops: Any, mix: Any, out: Any, work: Any) -> None:
    """Set out[0] to U_i (held - (1 - gain) p) mix: what the cut directions change in the scores of example `i`."""
    U, gain, p, held = tops
    row = work[:1]
    row[:] = 0.0
    for j in range(U.shape[1]):
        for k in range(row.shape[1]):
            row[0, k] += U[i, j] * (held[j, k] - (1.0 - gain[j]) * p[j, k])
    mix_moves(row, mix, out)


@njit(cache=True, error_model="numpy", fastmath=FAST)
def sweep_dense(
    X: Any, curvature: Any, share: float, diagonal: Any, tops: Any, W: Any, block: Any, C: float, mix: Any, visits: Any
) -> None:
    """Visit the examples `visits` once; W (K, n_features) = mix'beta'X and p = U'beta are kept up.

    The scores are share (W x_i + what `tops` change) + (1 - share) diagonal_i beta_i; `curvature` (n,) is of blocks.
    """
    U, p, beta = tops[0], tops[2], block[5]
    n_labels, n_features = W.shape
    work, one, scores = np.empty((4, n_labels)), np.empty((1, n_labels)), np.empty(n_labels)
    for i in visits:
        x = X[i]
        read_tops(i, tops, mix, one, work)
        for k in range(n_labels):
            w = W[k]
            total = 0.0
            for f in range(n_features):
                total += w[f] * x[f]
            scores[k] = share * (total + one[0, k]) + (1.0 - share) * diagonal[i] * beta[i, k]
        if visit(i, scores, curvature[i], C, block, work):
            for j in range(U.shape[1]):
                for k in range(n_labels):
                    p[j, k] += U[i, j] * work[0, k]
            mix_moves(work[:1], mix, one)
            for k in range(n_labels):
                move = one[0, k]
                if move != 0.0:
                    w = W[k]
                    for f in range(n_features):
                        w[f] += move * x[f]


@njit(cache=True, error_model="numpy", fastmath=FAST)
def sweep_csr(
    X: Any, curvature: Any, share: float, diagonal: Any, tops: Any, W: Any, block: Any, C: float, mix: Any, visits: Any
) -> None:
    """As sweep_dense for X = (data, indices, indptr) and W (n_features, K), so that a nonzero meets one row."""
    data, indices, indptr = X
    U, p, beta = tops[0], tops[2], block[5]
    n_labels = W.shape[1]
    work, one, scores = np.empty((4, n_labels)), np.empty((1, n_labels)), np.empty(n_labels)
    for i in visits:
        read_tops(i, tops, mix, one, work)
        for k in range(n_labels):
            scores[k] = one[0, k]
        for t in range(indptr[i], indptr[i + 1]):
            w, value = W[indices[t]], data[t]
            for k in range(n_labels):
                scores[k] += value * w[k]
        for k in range(n_labels):
            scores[k] = share * scores[k] + (1.0 - share) * diagonal[i] * beta[i, k]
        if visit(i, scores, curvature[i], C, block, work):
            for j in range(U.shape[1]):
                for k in range(n_labels):
                    p[j, k] += U[i, j] * work[0, k]
            mix_moves(work[:1], mix, one)
            for t in range(indptr[i], indptr[i + 1]):
                w, value = W[indices[t]], data[t]
                for k in range(n_labels):
                    w[k] += value * one[0, k]


@njit(cache=True)
def find_active(scores: Any, before: Any, signs: Any, beta: Any, mixed: Any, active: Any) -> None:
    """Tell the examples that may move: those with a beta, or nearer to one than twice what their scores moved last.

    An example without any stays so while each relevant label is above each irrelevant one by 2.
    """
    for i in range(scores.shape[0]):
        low, high, moved = np.inf, -np.inf, 0.0
        used = False
        for k in range(scores.shape[1]):
            moved = max(moved, abs(scores[i, k] - before[i, k]))
            used = used or beta[i, k] != 0.0
            if signs[i, k] > 0:
                low = min(low, scores[i, k])
            elif signs[i, k] < 0:
                high = max(high, scores[i, k])
        active[i] = mixed[i] and (used or not low - high >= 2.0 + 2.0 * moved)


@njit(cache=True)
def pair_loss(F: Any, signs: Any) -> float:
    """Return the sum over examples and pairs (relevant p, irrelevant q) of max(0, 2 - (f_p - f_q))."""
    total = 0.0
    for i in range(F.shape[0]):
        for p in range(F.shape[1]):
            if signs[i, p] > 0:
                for q in range(F.shape[1]):
                    if signs[i, q] < 0:
                        total += max(0.0, 2.0 - F[i, p] + F[i, q])
    return total
