"""Compiled sweep of multi-label ranking over the rows of a kernel matrix.

Examples are visited in batches. Within a batch the scores are kept up by the batch's own part of the matrix, which
stays in the cache, so that it can be visited several times over; what all these visits changed is then added to the
scores of all examples at once: for each label the rows of the matrix that have moved it, four at a time.
"""

from typing import Any

import numpy as np

from mlrank.compiled import njit
from mlrank.solvers._mlr_kernels import FAST, mix_moves, visit

# Columns of the kernel matrix of which the rows of a batch stay in the cache.
COLUMNS = 512


@njit(cache=True, error_model="numpy", fastmath=FAST)
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


@njit(cache=True, error_model="numpy", fastmath=FAST)
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


@njit(cache=True, error_model="numpy", fastmath=FAST)
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
    for t in range(batches.shape[0]):
        m = 0
        while m < size and batches[t, m] >= 0:
            m += 1
        batch = batches[t, :m]
        at = place[batch]
        before[:m] = beta[batch]
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
            tile[: k.size] = k
            for j in range(V.shape[0]):
                value, v = V[j, i], V[j, left : left + COLUMNS]
                for c in range(v.size):
                    tile[c] -= value * v[c]
            for c in range(k.size):
                o[c] = tile[c]
