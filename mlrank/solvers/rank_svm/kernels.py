"""Compiled loops of dual coordinate descent for Rank-SVM.

One visit of an instance computes its scores once, sweeps over its pairs (relevant p, irrelevant q) in score space,
where a pair needs only the scalar curvature 2 |x|^2, and writes the sum of all steps back to the weights: the
iterates of the paper's Algorithm 1 at O((active labels) * m + pairs) instead of O(pairs * m).

Labels of an instance are kept in two lists (relevant, irrelevant); `active_*` hold, for each instance, the positions in
these lists that are swept. `alpha` is laid out irrelevant-major: alpha[offset[i] + c * n_relevant + r].
"""

from typing import Any

import numpy as np

from mlrank.compiled import INNER, njit

# The certificate is computed outside, so a sweep may reorder its sums.
FAST = {"reassoc", "contract", "nsz"}


@njit(**INNER, fastmath=FAST, error_model="numpy")
def sweep_pairs(
    alpha: Any,
    base: int,
    n_relevant: int,
    relevant: Any,
    irrelevant: Any,
    s_relevant: Any,
    s_irrelevant: Any,
    norm: float,
    upper: float,
) -> None:
    """Minimize over each pair of one instance in turn (eq. 23), updating `alpha` and the scores in place."""
    # A row of zeros has norm 0: its gradient is -1, the step infinite, and its pairs go straight to the upper bound.
    step = 0.5 / norm
    for t in range(irrelevant.shape[0]):
        first = base + irrelevant[t] * n_relevant
        score = s_irrelevant[t]
        for u in range(relevant.shape[0]):
            at = first + relevant[u]
            old = alpha[at]
            new = min(max(old - (s_relevant[u] - score - 1.0) * step, 0.0), upper)
            if new != old:
                alpha[at] = new
                move = (new - old) * norm
                s_relevant[u] += move
                score -= move
        s_irrelevant[t] = score


@njit(**INNER)
def list_active(i: int, pairs: Any, active: Any, labels: Any) -> Any:
    """Write the active labels of instance `i` to `labels`, relevant ones first; return their positions in its lists."""
    relevant_ptr, relevant, irrelevant_ptr, irrelevant, _ = pairs
    active_relevant, n_active_relevant, active_irrelevant, n_active_irrelevant = active
    r0, c0 = relevant_ptr[i], irrelevant_ptr[i]
    rows = active_relevant[r0 : r0 + n_active_relevant[i]]
    columns = active_irrelevant[c0 : c0 + n_active_irrelevant[i]]
    for u in range(rows.size):
        labels[u] = relevant[r0 + rows[u]]
    for t in range(columns.size):
        labels[rows.size + t] = irrelevant[c0 + columns[t]]
    return rows, columns


@njit(cache=True, fastmath=FAST, error_model="numpy")
def sweep_dense(X: Any, norms: Any, W: Any, upper: Any, alpha: Any, pairs: Any, active: Any, visits: Any) -> None:
    """Visit the instances `visits` once; `W` is (n_labels, n_features), updated in place."""
    relevant_ptr, offset = pairs[0], pairs[4]
    n_labels, n_features = W.shape
    labels = np.empty(n_labels, dtype=np.int32)
    before = np.empty(n_labels)
    scores = np.empty(n_labels)
    for i in visits:
        rows, columns = list_active(i, pairs, active, labels)
        n_r, n = rows.size, rows.size + columns.size
        x = X[i]
        for u in range(n):
            w = W[labels[u]]
            total = 0.0
            for f in range(n_features):
                total += x[f] * w[f]
            before[u] = total
            scores[u] = total
        sweep_pairs(
            alpha,
            offset[i],
            relevant_ptr[i + 1] - relevant_ptr[i],
            rows,
            columns,
            scores[:n_r],
            scores[n_r:n],
            norms[i],
            upper[i],
        )
        for u in range(n):
            if scores[u] != before[u]:
                move = (scores[u] - before[u]) / norms[i]
                w = W[labels[u]]
                for f in range(n_features):
                    w[f] += move * x[f]


@njit(cache=True, fastmath=FAST, error_model="numpy")
def sweep_csr(
    X: Any,
    tops: Any,
    norms: Any,
    W: Any,
    excess: Any,
    intercept: Any,
    bias: float,
    upper: Any,
    alpha: Any,
    pairs: Any,
    active: Any,
    visits: Any,
) -> None:
    """As sweep_dense for X = (data, indices, indptr) and one more feature of value `bias` (weights: `intercept`).

    `W` is (n_features, n_labels), so that a nonzero is one row. The inner products are those of X less those of `tops`
    (n_samples, r), whose weights are `excess` (n_labels, r).
    """
    data, indices, indptr = X
    relevant_ptr, offset = pairs[0], pairs[4]
    n_labels, n_tops = excess.shape
    labels = np.empty(n_labels, dtype=np.int32)
    before = np.empty(n_labels)
    scores = np.empty(n_labels)
    for i in visits:
        rows, columns = list_active(i, pairs, active, labels)
        n_r, n = rows.size, rows.size + columns.size
        top = tops[i]
        for u in range(n):
            e = excess[labels[u]]
            total = 0.0
            for j in range(n_tops):
                total += top[j] * e[j]
            before[u] = bias * intercept[labels[u]] - total
        for at in range(indptr[i], indptr[i + 1]):
            w = W[indices[at]]
            value = data[at]
            for u in range(n):
                before[u] += value * w[labels[u]]
        for u in range(n):
            scores[u] = before[u]
        sweep_pairs(
            alpha,
            offset[i],
            relevant_ptr[i + 1] - relevant_ptr[i],
            rows,
            columns,
            scores[:n_r],
            scores[n_r:n],
            norms[i],
            upper[i],
        )
        # Keep only the labels that moved, then touch each nonzero's row once.
        moved = 0
        for u in range(n):
            if scores[u] != before[u]:
                move = (scores[u] - before[u]) / norms[i]
                label = labels[u]
                labels[moved] = label
                before[moved] = move
                intercept[label] += bias * move
                e = excess[label]
                for j in range(n_tops):
                    e[j] += move * top[j]
                moved += 1
        for at in range(indptr[i], indptr[i + 1]):
            w = W[indices[at]]
            value = data[at]
            for u in range(moved):
                w[labels[u]] += value * before[u]


@njit(cache=True)
def dual_sums(alpha: Any, pairs: Any, n_labels: int) -> Any:
    """Return beta (n, n_labels) of eq. 15: what all pairs together add to each label of each instance."""
    relevant_ptr, relevant, irrelevant_ptr, irrelevant, offset = pairs
    n = offset.shape[0]
    beta = np.zeros((n, n_labels))
    for i in range(n):
        r0, c0 = relevant_ptr[i], irrelevant_ptr[i]
        a = relevant_ptr[i + 1] - r0
        at = offset[i]
        if a == 0:
            continue
        for c in range(c0, irrelevant_ptr[i + 1]):
            total = 0.0
            for r in range(a):
                value = alpha[at]
                beta[i, relevant[r0 + r]] += value
                total += value
                at += 1
            beta[i, irrelevant[c]] -= total
    return beta


@njit(cache=True, fastmath=FAST)
def add_adjoint(X: Any, beta: Any, sums: Any) -> None:
    """Add X'beta for X = (data, indices, indptr) to `sums` (at least n_features, n_labels)."""
    data, indices, indptr = X
    n, n_labels = beta.shape
    for i in range(n):
        for at in range(indptr[i], indptr[i + 1]):
            row = sums[indices[at]]
            value = data[at]
            for k in range(n_labels):
                row[k] += value * beta[i, k]


@njit(cache=True)
def hinge_sums(scores: Any, pairs: Any) -> Any:
    """Return for each instance the sum over its pairs of max(0, 1 - (f_p - f_q))."""
    relevant_ptr, relevant, irrelevant_ptr, irrelevant, _ = pairs
    n = scores.shape[0]
    total = np.zeros(n)
    for i in range(n):
        for r in range(relevant_ptr[i], relevant_ptr[i + 1]):
            high = scores[i, relevant[r]] - 1.0
            for c in range(irrelevant_ptr[i], irrelevant_ptr[i + 1]):
                total[i] += max(0.0, scores[i, irrelevant[c]] - high)
    return total


@njit(cache=True)
def find_active(scores: Any, slack: Any, upper: Any, alpha: Any, pairs: Any, active: Any) -> None:
    """Fill the active lists: labels of pairs that are free, or within `slack` of leaving the bound they sit at."""
    relevant_ptr, relevant, irrelevant_ptr, irrelevant, offset = pairs
    active_relevant, n_active_relevant, active_irrelevant, n_active_irrelevant = active
    is_open = np.empty(scores.shape[1], dtype=np.int64)
    margins = np.empty(scores.shape[1])
    for i in range(scores.shape[0]):
        r0, c0 = relevant_ptr[i], irrelevant_ptr[i]
        a, b = relevant_ptr[i + 1] - r0, irrelevant_ptr[i + 1] - c0
        for r in range(a):
            is_open[r] = 0
            margins[r] = scores[i, relevant[r0 + r]] - 1.0
        # Without branches, which nobody could predict: four times as fast.
        n_c = 0
        at = offset[i]
        for c in range(b):
            score = scores[i, irrelevant[c0 + c]]
            use = 0
            for r in range(a):
                gradient = margins[r] - score
                value = alpha[at]
                at += 1
                moves = ((value > 0.0) | (gradient < slack[i])) & ((value < upper[i]) | (gradient > -slack[i]))
                is_open[r] |= moves
                use |= moves
            active_irrelevant[c0 + n_c] = c
            n_c += use
        n_r = 0
        for r in range(a):
            active_relevant[r0 + n_r] = r
            n_r += is_open[r]
        n_active_relevant[i] = n_r
        n_active_irrelevant[i] = n_c


@njit(cache=True)
def best_vertex(scores: Any, upper: Any, pairs: Any, target: Any) -> None:
    """Set `target` to the cap of each pair whose margin f_p - f_q is below 1, else to 0."""
    relevant_ptr, relevant, irrelevant_ptr, irrelevant, offset = pairs
    for i in range(scores.shape[0]):
        at = offset[i]
        for c in range(irrelevant_ptr[i], irrelevant_ptr[i + 1]):
            score = scores[i, irrelevant[c]]
            for r in range(relevant_ptr[i], relevant_ptr[i + 1]):
                target[at] = upper[i] if scores[i, relevant[r]] - score < 1.0 else 0.0
                at += 1


@njit(cache=True)
def list_pairs(pairs: Any) -> Any:
    """Return row, relevant and irrelevant label of each pair, three arrays (n_pairs,)."""
    relevant_ptr, relevant, irrelevant_ptr, irrelevant, offset = pairs
    n = offset.shape[0]
    total = 0
    for i in range(n):
        total += (relevant_ptr[i + 1] - relevant_ptr[i]) * (irrelevant_ptr[i + 1] - irrelevant_ptr[i])
    rows, high, low = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total, np.int64)
    for i in range(n):
        at = offset[i]
        for c in range(irrelevant_ptr[i], irrelevant_ptr[i + 1]):
            for r in range(relevant_ptr[i], relevant_ptr[i + 1]):
                rows[at], high[at], low[at] = i, relevant[r], irrelevant[c]
                at += 1
    return rows, high, low


@njit(cache=True)
def pair_masses(alpha: Any, upper: Any, pairs: Any, n_labels: int, free_only: bool) -> Any:
    """Return sum_i beta_i, and how far the variables of each pair of labels may fall and rise."""
    relevant_ptr, relevant, irrelevant_ptr, irrelevant, offset = pairs
    sums, down, up = np.zeros(n_labels), np.zeros((n_labels, n_labels)), np.zeros((n_labels, n_labels))
    for i in range(offset.shape[0]):
        at = offset[i]
        for c in range(irrelevant_ptr[i], irrelevant_ptr[i + 1]):
            q = irrelevant[c]
            for r in range(relevant_ptr[i], relevant_ptr[i + 1]):
                p, value = relevant[r], alpha[at]
                sums[p] += value
                sums[q] -= value
                if free_only:
                    mass = value * (upper[i] - value) / upper[i]
                    down[p, q] += mass
                    up[p, q] += mass
                else:
                    down[p, q] += value
                    up[p, q] += upper[i] - value
                at += 1
    return sums, down, up


@njit(cache=True)
def shift_pairs(alpha: Any, upper: Any, pairs: Any, flow: Any, down: Any, up: Any, free_only: bool) -> None:
    """Take `flow` off the variables of each pair of labels, in proportion to the room they have."""
    relevant_ptr, relevant, irrelevant_ptr, irrelevant, offset = pairs
    for i in range(offset.shape[0]):
        at = offset[i]
        for c in range(irrelevant_ptr[i], irrelevant_ptr[i + 1]):
            q = irrelevant[c]
            for r in range(relevant_ptr[i], relevant_ptr[i + 1]):
                p, value = relevant[r], alpha[at]
                f = flow[p, q]
                if f != 0.0:
                    whole = down[p, q] if f > 0.0 else up[p, q]
                    if free_only:
                        share = value * (upper[i] - value) / upper[i]
                    else:
                        share = value if f > 0.0 else upper[i] - value
                    alpha[at] = min(max(value - f * (share / whole), 0.0), upper[i])
                at += 1
