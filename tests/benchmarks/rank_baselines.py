"""What Rank-SVM is timed beside.

Algorithm 1 of the Rank-HLapSVM paper, with the rows visited in a new order every pass, and Frank-Wolfe's method, both
written straightforwardly; and LIBLINEAR's machine for each label.
"""

import time
from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.sparse import csr_array, hstack, issparse

from mlrank.solvers import SOLVERS, TrainingSet
from mlrank.solvers.rank_svm import kernels


@njit(cache=True)
def pass_dense(X, norms, pairs, upper, alpha, W, order):
    relevant_ptr, relevant, irrelevant_ptr, irrelevant, offset = pairs
    for i in order:
        at = offset[i]
        for c in range(irrelevant_ptr[i], irrelevant_ptr[i + 1]):
            q = irrelevant[c]
            for r in range(relevant_ptr[i], relevant_ptr[i + 1]):
                p = relevant[r]
                G = -1.0
                for f in range(X.shape[1]):
                    G += (W[p, f] - W[q, f]) * X[i, f]
                old = alpha[at]
                new = min(max(old - G / (2 * norms[i]), 0.0), upper[i])
                if new != old:
                    alpha[at] = new
                    for f in range(X.shape[1]):
                        W[p, f] += (new - old) * X[i, f]
                        W[q, f] -= (new - old) * X[i, f]
                at += 1


@njit(cache=True)
def pass_csr(data, indices, indptr, norms, pairs, upper, alpha, W, order):
    relevant_ptr, relevant, irrelevant_ptr, irrelevant, offset = pairs
    for i in order:
        at = offset[i]
        for c in range(irrelevant_ptr[i], irrelevant_ptr[i + 1]):
            q = irrelevant[c]
            for r in range(relevant_ptr[i], relevant_ptr[i + 1]):
                p = relevant[r]
                G = -1.0
                for t in range(indptr[i], indptr[i + 1]):
                    G += (W[p, indices[t]] - W[q, indices[t]]) * data[t]
                old = alpha[at]
                new = min(max(old - G / (2 * norms[i]), 0.0), upper[i])
                if new != old:
                    alpha[at] = new
                    for t in range(indptr[i], indptr[i + 1]):
                        W[p, indices[t]] += (new - old) * data[t]
                        W[q, indices[t]] -= (new - old) * data[t]
                at += 1


@dataclass(frozen=True)
class Timed:
    """Seconds and passes, the certified relative gap that they led to, and whether it is the wanted one."""

    seconds: float
    n_iter: int
    gap: float
    tol: float

    @property
    def done(self):
        return self.gap <= self.tol


def algorithm_1(X, pairs, C, tol, cap, seed=0):
    """Run passes until the relative gap is `tol` or `cap` seconds are over; the time of the certificates is free."""
    rng = np.random.default_rng(seed)
    n, rows = X.shape[0], with_bias(X)
    squares = rows.multiply(rows) if issparse(rows) else rows**2
    norms = np.asarray(squares.sum(axis=1)).ravel()
    upper = np.divide(C, pairs.size, out=np.zeros(n), where=pairs.size > 0)
    alpha, W = np.zeros(int(pairs.size.sum())), np.zeros((pairs.n_labels, rows.shape[1]))
    parts = (rows.data, rows.indices, rows.indptr) if issparse(rows) else (rows,)
    one_pass = pass_csr if issparse(rows) else pass_dense
    visits = np.flatnonzero(pairs.size)
    one_pass(*parts, norms, pairs.lists, upper, alpha, W, visits[:0])
    seconds, n_iter = 0.0, 0
    while True:
        for _ in range(max(1, n_iter // 20)):
            order = rng.permutation(visits)
            started = time.process_time()
            one_pass(*parts, norms, pairs.lists, upper, alpha, W, order)
            seconds += time.process_time() - started
            n_iter += 1
        gap = certificate(rows, pairs, upper, alpha)
        if gap <= tol or seconds > cap:
            return Timed(seconds, n_iter, gap, tol)


def frank_wolfe(X, pairs, C, tol, cap):
    """Run steps until the relative gap is `tol` or `cap` seconds are over; each takes O(n^2 k), as the paper has it.

    Scores come from the matrix of all inner products, and the step from the gradient of every pair; the linear program
    over a box needs no solver. The gap comes with the step.
    """
    n, k = X.shape[0], pairs.n_labels
    started = time.process_time()
    rows = with_bias(X)
    K = (rows @ rows.T).toarray() if issparse(rows) else rows @ rows.T
    row, relevant, irrelevant = kernels.list_pairs(pairs.lists)
    upper, high, low = C / pairs.size[row], row * k + relevant, row * k + irrelevant
    alpha, F, beta, n_iter = np.zeros(len(row)), np.zeros(n * k), np.zeros(n * k), 0
    while True:
        gradient = 1 - F[high] + F[low]
        move = np.where(gradient > 0, upper, 0) - alpha
        gap, dual = gradient @ move, alpha.sum() - 0.5 * (beta @ F)
        seconds = time.process_time() - started
        if gap <= tol * (gap + dual) or seconds > cap:
            return Timed(seconds, n_iter, gap / (gap + dual), tol)
        turn = np.bincount(high, move, n * k) - np.bincount(low, move, n * k)
        scores = (K @ turn.reshape(n, k)).ravel()
        step = min(1.0, gap / (turn @ scores))
        alpha += step * move
        beta += step * turn
        F += step * scores
        n_iter += 1


def one_vs_rest(X, Y, C, tol, cap):
    """Solve one label after the other to the relative gap `tol`; stop after the one that is beyond `cap` seconds.

    Returns the time, with the gap of all labels solved, infinite if some are left, and their number.
    """
    solver = SOLVERS["binary_svm"](C=C, loss="squared_hinge", tol=tol, max_iter=1000)
    solver.fit(TrainingSet(X[:20], Y[:20]))
    seconds, n_iter, primal, dual = 0.0, 0, 0.0, 0.0
    for label in range(Y.shape[1]):
        train = TrainingSet(X, np.ascontiguousarray(Y[:, [label]]))
        started = time.process_time()
        info = solver.fit(train).info
        seconds += time.process_time() - started
        n_iter += info.n_iter
        primal += info.objective
        dual += info.objective * (1 - info.optimality)
        if seconds > cap:
            break
    gap = (primal - dual) / primal if label + 1 == Y.shape[1] else np.inf
    return Timed(seconds, n_iter, gap, tol), label + 1


def with_bias(X):
    """Return `X` with a constant feature."""
    ones = np.ones((X.shape[0], 1))
    return csr_array(hstack([X, ones])) if issparse(X) else np.hstack([X, ones])


def certificate(rows, pairs, upper, alpha):
    """Return the relative duality gap of `alpha`."""
    W = (rows.T @ kernels.dual_sums(alpha, pairs.lists, pairs.n_labels)).T
    half = 0.5 * np.vdot(W, W)
    primal = half + upper @ kernels.hinge_sums(np.ascontiguousarray(rows @ W.T), pairs.lists)
    return (primal - alpha.sum() + half) / primal
