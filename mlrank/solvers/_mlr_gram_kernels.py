"""Compiled sweep of multi-label ranking over the rows of a kernel matrix.

Examples are visited in batches of a few dozen. Within a batch the scores are kept up by the batch's own part of the
matrix, which stays in the cache, so that it can be visited several times over; what all these visits changed is then
added to the scores of all examples at once, four rows of the matrix at a time.
"""

from typing import Any

import numpy as np
from numba import njit

# A change in that file does not invalidate the machine code cached for this one: touch it as well.
from mlrank.solvers._mlr_kernels import FAST, mix_moves, visit

# Columns of the kernel matrix of which four rows stay in the cache.
COLUMNS = 1024


@njit(cache=True, error_model="numpy", fastmath=FAST)
def add_rows(G: Any, rows: Any, n: int, moves: Any, F: Any) -> None:
    """Add sum_b moves[b, k] G[rows[b]] to F[k] for the first `n` of `rows`, four rows at a time."""
    for left in range(0, F.shape[1], COLUMNS):
        right = min(left + COLUMNS, F.shape[1])
        for b in range(0, n, 4):
            # Past the end the last row is taken again, with moves of zero.
            g0, g1 = G[rows[b], left:right], G[rows[min(b + 1, n - 1)], left:right]
            g2, g3 = G[rows[min(b + 2, n - 1)], left:right], G[rows[min(b + 3, n - 1)], left:right]
            for k in range(F.shape[0]):
                m0, m1, m2, m3 = moves[b, k], moves[b + 1, k], moves[b + 2, k], moves[b + 3, k]
                if m0 != 0 or m1 != 0 or m2 != 0 or m3 != 0:
                    f = F[k, left:right]
                    for c in range(f.size):
                        f[c] += m0 * g0[c] + m1 * g1[c] + m2 * g2[c] + m3 * g3[c]


@njit(cache=True, error_model="numpy", fastmath=FAST)
def sweep_gram(
    G: Any, diagonal: Any, tops: Any, F: Any, block: Any, C: float, mix: Any, rho: float, batches: Any, inner: int
) -> None:
    """Visit the examples of each row of `batches` (-1: none) `inner` times, keeping all scores.

    G (n, n), symmetric, and F (K, n), scores by G, of the same type; the kernel matrix is G + U diag(gain) U', with
    tops = (U (n, r), gain (r,), p (r, K), held (r, K)), p = U'beta kept up; scores are F' + U (gain p + held) mix.
    """
    U, gain, p, held = tops
    beta = block[5]
    n_labels, r, size = F.shape[0], U.shape[1], batches.shape[1]
    own, scores, before = np.empty((size, size)), np.empty((size, n_labels)), np.empty((size, n_labels))
    rows, moves = np.empty(size, np.int64), np.zeros((size + 3, n_labels), G.dtype)
    work, level, mixed = np.empty((4, n_labels)), np.empty((r, n_labels)), np.empty((r, n_labels))
    one = np.empty((1, n_labels))
    for t in range(batches.shape[0]):
        m = 0
        while m < size and batches[t, m] >= 0:
            m += 1
        batch = batches[t, :m]
        for j in range(r):
            for k in range(n_labels):
                level[j, k] = gain[j] * p[j, k] + held[j, k]
        mix_moves(level, mix, mixed)
        for b in range(m):
            i = batch[b]
            for k in range(n_labels):
                scores[b, k] = F[k, i]
                before[b, k] = beta[i, k]
            for j in range(r):
                for k in range(n_labels):
                    scores[b, k] += U[i, j] * mixed[j, k]
            for c in range(b + 1):
                value = float(G[i, batch[c]])
                for j in range(r):
                    value += U[i, j] * gain[j] * U[batch[c], j]
                own[b, c] = value
                own[c, b] = value
            # Rounding must not turn the curvature, which is above zero, into nothing.
            own[b, b] = max(own[b, b], 1e-9 * diagonal[i])
        for _ in range(inner):
            any_moved = False
            for b in range(m):
                if visit(batch[b], scores[b], rho * own[b, b], C, block, work):
                    any_moved = True
                    mix_moves(work[:1], mix, one)
                    for c in range(m):
                        weight = own[b, c]
                        for k in range(n_labels):
                            scores[c, k] += weight * one[0, k]
            if not any_moved:
                break
        n_moved = 0
        for b in range(m):
            i = batch[b]
            total = 0.0
            for k in range(n_labels):
                work[0, k] = beta[i, k] - before[b, k]
                total += abs(work[0, k])
            if total > 0.0:
                for j in range(r):
                    for k in range(n_labels):
                        p[j, k] += U[i, j] * work[0, k]
                mix_moves(work[:1], mix, one)
                rows[n_moved] = i
                for k in range(n_labels):
                    moves[n_moved, k] = one[0, k]
                n_moved += 1
        moves[n_moved : n_moved + 3] = 0.0
        add_rows(G, rows, n_moved, moves, F)


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
