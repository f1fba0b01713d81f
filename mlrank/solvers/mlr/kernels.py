"""Compiled loops of block coordinate ascent for multi-label ranking.

A visit of example i takes the scores s of its labels, and the curvature c = K_ii of its block, and maximizes eq. 14
(with coefficient 1 on the cross term) over beta_k = y_k alpha_k, exactly::

    max  sum_k (y_k - s_k + c beta_k^old) beta_k - c/2 sum_k beta_k^2,    0 <= y_k beta_k <= C,    sum_k beta_k = 0

whose solution is the projection clip(u_k + shift) of u_k = beta_k^old + (y_k - s_k) / c for the one shift, lambda / c
of eq. 15, that makes the sum 0. Of problem (4), the exact one, a visit sweeps over the pairs of labels instead.

Compiled sweep of multi-label ranking over the rows of a kernel matrix.

Examples are visited in batches. Within a batch the scores are kept up by the batch's own part of the matrix, which
stays in the cache, so that it can be visited several times over; what all these visits changed is then added to the
scores of all examples at once: for each label the rows of the matrix that have moved it, four at a time.
"""

from typing import Any

import numpy as np

from mlrank.compiled import INNER, njit

# Arrays are copied in loops here: assigning one array to another compiles into far more.
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
            target = u[k] + shift
            value = min(max(target, lower[k]), upper[k])
            out[k] = value
            total += value
            free += 1.0 if value == target else 0.0
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


@njit(**INNER, error_model="numpy", fastmath=FAST)
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


@njit(**INNER, error_model="numpy", fastmath=FAST)
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
        for k in range(y.size):
            after[k] = scores[k]
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


@njit(**INNER, error_model="numpy", fastmath=FAST)
def mix_moves(moves: Any, mix: Any, out: Any) -> None:
    """Set `out` (m, K) to moves @ mix, or to `moves` where `mix` is empty."""
    for b in range(moves.shape[0]):
        for k in range(out.shape[1]):
            out[b, k] = moves[b, k] if mix.size == 0 else 0.0
        for j in range(mix.shape[0]):
            for k in range(mix.shape[1]):
                out[b, k] += moves[b, j] * mix[j, k]


@njit(**INNER, error_model="numpy", fastmath=FAST)
def read_tops(i: int, tops: Any, mix: Any, out: Any, work: Any) -> None:
    """Set out[0] to U_i (held - (1 - gain) p) mix: what the cut directions change in the scores of example `i`."""
    U, gain, p, held = tops
    row = work[:1]
    for k in range(row.shape[1]):
        row[0, k] = 0.0
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
def add_products(X: Any, stored: Any, out: Any) -> None:
    """Add X'beta to `out` (n_features, K), of rows X and beta, both as (data, indices, indptr)."""
    data, indices, indptr = X
    values, labels, starts = stored
    for i in range(indptr.size - 1):
        for t in range(indptr[i], indptr[i + 1]):
            row, value = out[indices[t]], data[t]
            for at in range(starts[i], starts[i + 1]):
                row[labels[at]] += value * values[at]


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


# Columns of the kernel matrix of which the rows of a batch stay in the cache.
COLUMNS = 512


@njit(**INNER, error_model="numpy", fastmath=FAST)
def add_rows(G: Any, rows: Any, moves: Any, F: Any, movers: Any) -> None:
    """Add sum_b moves[k, b] G[rows[b]] to F[k] for each label k; movers : (K, m), room for whole numbers."""
    n_labels, m = F.shape[0], rows.size
    count = np.zeros(n_labels, np.int64)
    for k in range(n_labels):
        for b in range(m):
            if moves[k, b] != 0:
                movers[k, count[k]] = b
                count[k] += 1
    for left in range(0, F.shape[1], COLUMNS):
        right = min(left + COLUMNS, F.shape[1])
        for k in range(n_labels):
            f, n = F[k, left:right], count[k]
            for t in range(0, n - 3, 4):
                b0, b1, b2, b3 = movers[k, t], movers[k, t + 1], movers[k, t + 2], movers[k, t + 3]
                m0, m1, m2, m3 = moves[k, b0], moves[k, b1], moves[k, b2], moves[k, b3]
                g0, g1 = G[rows[b0], left:right], G[rows[b1], left:right]
                g2, g3 = G[rows[b2], left:right], G[rows[b3], left:right]
                for c in range(f.size):
                    f[c] += m0 * g0[c] + m1 * g1[c] + m2 * g2[c] + m3 * g3[c]
            for t in range(n - n % 4, n):
                move, g = moves[k, movers[k, t]], G[rows[movers[k, t]], left:right]
                for c in range(f.size):
                    f[c] += move * g[c]


@njit(**INNER, error_model="numpy", fastmath=FAST)
def read_batch(batch: Any, at: Any, G: Any, diagonal: Any, tops: Any, F: Any, mix: Any, own: Any, scores: Any) -> None:
    """Set `own` (m, m) to the batch's part of the kernel matrix, and `scores` (K, m) to its scores."""
    U, gain, p, held = tops
    n_labels, r, m = F.shape[0], U.shape[1], batch.size
    level, mixed, V = np.empty((r, n_labels)), np.empty((r, n_labels)), np.empty((r, m))
    for j in range(r):
        for k in range(n_labels):
            level[j, k] = gain[j] * p[j, k] + held[j, k]
        for b in range(m):
            V[j, b] = U[batch[b], j]
    mix_moves(level, mix, mixed)
    for k in range(n_labels):
        f, s = F[k], scores[k]
        for b in range(m):
            s[b] = f[at[b]]
        for j in range(r):
            weight, v = mixed[j, k], V[j]
            for b in range(m):
                s[b] += weight * v[b]
    for b in range(m):
        g, row = G[at[b]], own[b]
        for c in range(m):
            row[c] = g[at[c]]
        for j in range(r):
            weight, v = gain[j] * V[j, b], V[j]
            for c in range(m):
                row[c] += weight * v[c]
        # Rounding must not turn the curvature, which is above zero, into nothing.
        row[b] = max(row[b], 1e-9 * diagonal[batch[b]])


@njit(**INNER, error_model="numpy", fastmath=FAST)
def visit_batch(batch: Any, own: Any, scores: Any, block: Any, C: float, mix: Any, rho: float, work: Any) -> bool:
    """Visit the examples of a batch in turn, keeping their scores; return whether any has moved."""
    moved = False
    s, one = work[4], work[5:]
    for b in range(batch.size):
        row = own[b]
        for k in range(s.size):
            s[k] = scores[k, b]
        if visit(batch[b], s, rho * row[b], C, block, work):
            moved = True
            mix_moves(work[:1], mix, one)
            for k in range(s.size):
                move, target = one[0, k], scores[k]
                if move != 0.0:
                    for c in range(batch.size):
                        target[c] += move * row[c]
    return moved


@njit(cache=True, error_model="numpy", fastmath=FAST)
def sweep_gram(
    G: Any,
    place: Any,
    diagonal: Any,
    tops: Any,
    F: Any,
    block: Any,
    C: float,
    mix: Any,
    rho: float,
    batches: Any,
    visits: int,
) -> None:
    """Visit the examples of each row of `batches` (-1: none), keeping the scores.

    G (m, m), symmetric, and F (K, m), scores by G, of the same type, with example i at place[i]; the kernel matrix is
    G + U diag(gain) U', with tops = (U (n, r), gain (r,), p (r, K), held (r, K)), p = U'beta kept up; scores are
    F' + U (gain p + held) mix. A batch is visited `visits` times, or until none of its examples moves.
    """
    U, p, beta = tops[0], tops[2], block[5]
    n_labels, size = F.shape[0], batches.shape[1]
    own, scores, before = np.empty((size, size)), np.empty((n_labels, size)), np.empty((size, n_labels))
    moves, movers, work = (
        np.empty((n_labels, size), G.dtype),
        np.empty((n_labels, size), np.int64),
        np.empty((6, n_labels)),
    )
    places = np.empty(size, np.int64)
    for t in range(batches.shape[0]):
        m = 0
        while m < size and batches[t, m] >= 0:
            m += 1
        batch, at = batches[t, :m], places[:m]
        for b in range(m):
            at[b] = place[batch[b]]
            for k in range(n_labels):
                before[b, k] = beta[batch[b], k]
        read_batch(batch, at, G, diagonal, tops, F, mix, own[:m, :m], scores[:, :m])
        for _ in range(visits):
            if not visit_batch(batch, own[:m, :m], scores[:, :m], block, C, mix, rho, work):
                break
        for b in range(m):
            for k in range(n_labels):
                work[0, k] = beta[batch[b], k] - before[b, k]
                for j in range(U.shape[1]):
                    p[j, k] += U[batch[b], j] * work[0, k]
            mix_moves(work[:1], mix, work[5:])
            for k in range(n_labels):
                moves[k, b] = work[5, k]
        add_rows(G, at, moves[:, :m], F, movers)


@njit(cache=True)
def square_of(G: Any, rows: Any) -> Any:
    """Return G[rows][:, rows]."""
    part = np.empty((rows.size, rows.size), G.dtype)
    for a in range(rows.size):
        for b in range(rows.size):
            part[a, b] = G[rows[a], rows[b]]
    return part


@njit(cache=True, error_model="numpy", fastmath=FAST)
def subtract_tops(K: Any, V: Any, out: Any) -> None:
    """Set `out` to K - V'V, rounded to its own type; V is (r, n)."""
    tile = np.empty(COLUMNS)
    for i in range(K.shape[0]):
        for left in range(0, K.shape[1], COLUMNS):
            k, o = K[i, left : left + COLUMNS], out[i, left : left + COLUMNS]
            for c in range(k.size):  # to assign whole slices compiles five seconds longer, for a message on shapes
                tile[c] = k[c]
            for j in range(V.shape[0]):
                value, v = V[j, i], V[j, left : left + COLUMNS]
                for c in range(v.size):
                    tile[c] -= value * v[c]
            for c in range(k.size):
                o[c] = tile[c]
