"""Which rows to ask the labels of: mutual information between a row and the others of a pool, and simpler rules.

With R the precision of the compressed labels of all rows, (K_X + sigma I)^-1, a row x of the pool U, all else known::

    "gp_mi"     log[(R_UU^-1)_xx (R_UU)_xx], the information for each compressed label; depends on features alone
    "full_mi"   the same of the labels, 1/2 log|I - Q_xx P_x| + 1/2 log|I + R_xx P_x| with P_x = Phi D_x Phi' and
                Q = (R_UU^-1 (x) I + blockdiag(P))^-1, which is of the size of compressed labels
    "variance"  the sum of the variances of its labels
    "random"

The rows of U are chosen one after the other. R_UU^-1 is the covariance given the rows known so far, and each choice
takes a rank-one part off it; (R_UU)_xx stays as it is, since R is of all rows. Large pools are sampled (POOL).
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from mlrank.arrays import Features, FloatArray, IntArray, take_rows
from mlrank.solvers.sparse_bayes.model import Posterior

__all__ = ["RULES", "Latent", "greedy", "label_information", "query_order"]

# Most rows of a pool from which one is chosen. The others need the labels of the pool predicted anew each time.
POOL = {"gp_mi": 2000, "full_mi": 200, "variance": 200}
RULES = (*POOL, "random")
# Most rows and columns of Q.
Q_SIZE = 2000
# A pool that is sampled is sampled anew after so many choices, of all rows to be chosen.
STAGES = 10


class Latent(Protocol):
    """What rules need of a model fitted to the rows known so far."""

    @property
    def Phi(self) -> FloatArray:
        """How labels are compressed, (K, n_labels)."""
        ...

    def covariance(self, X: Features) -> FloatArray:
        """Return R_UU^-1 for rows U."""
        ...

    def labels(self, X: Features) -> Posterior:
        """Return what is predicted of the labels of rows."""
        ...


def query_order(
    fit: Callable[[IntArray], Latent], X: Features, start: IntArray, n_queries: int, rule: str, seed: int
) -> IntArray:
    """Return the numbers of the rows of `X` to be asked for, in order.

    Parameters
    ----------
    fit : rows -> Latent
        Fits a model to rows whose labels are known: `start`, and those chosen.
    X : (n_rows, n_features)
    start : (n_start,) numbers of rows known from the beginning
    n_queries : int
        At most the number of other rows.
    rule : one of RULES
    seed : int
    """
    rng = np.random.default_rng(seed)
    rest = rng.permutation(np.setdiff1d(np.arange(X.shape[0]), start))
    if rule == "random":
        return rest[:n_queries]
    chosen = np.zeros(0, dtype=np.int64)
    while len(chosen) < n_queries:
        known = np.sort(np.concatenate([start, chosen]))
        pool, left = np.sort(rest[: POOL[rule]]), n_queries - len(chosen)
        if rule == "gp_mi":
            most = left if len(pool) == len(rest) else min(left, max(1, n_queries // STAGES))
            found = pool[greedy(fit(known).covariance(take_rows(X, pool)), most)]
        else:
            found = _best_one(fit(known), X, pool, rule)
        chosen = np.concatenate([chosen, found])
        rest = rng.permutation(np.setdiff1d(rest, found))
    return chosen


def _best_one(model: Latent, X: Features, pool: IntArray, rule: str) -> IntArray:
    if rule == "full_mi":
        pool = pool[: max(1, Q_SIZE // len(model.Phi))]
    rows = take_rows(X, pool)
    labels = model.labels(rows)
    if rule == "variance":
        return pool[[labels.variance.sum(axis=1).argmax()]]
    return pool[[label_information(model.covariance(rows), model.Phi, labels.prior).argmax()]]


def greedy(covariance: FloatArray, count: int) -> IntArray:
    """Return the rows of a pool in the order in which the largest information takes them out of it."""
    precision = np.diag(np.linalg.inv(covariance))
    left, parts = np.diag(covariance).copy(), np.zeros((min(count, len(covariance)), len(covariance)))
    chosen: list[int] = []
    waiting = np.ones(len(covariance), dtype=bool)
    for i, part in enumerate(parts):
        # Of equal rows the first: what differs in the last digits is equal.
        score = np.where(waiting, np.round(np.log(np.maximum(left * precision, 1.0)), 10), -1.0)
        x = int(score.argmax())
        chosen.append(x)
        waiting[x] = False
        part[:] = (covariance[x] - parts[:i, x] @ parts[:i]) / np.sqrt(left[x])
        left = np.maximum(left - part**2, 0.0)
    return np.array(chosen, dtype=np.int64)


def label_information(covariance: FloatArray, Phi: FloatArray, prior: FloatArray) -> FloatArray:
    """Return the information between the labels of each row of a pool and those of the others.

    Parameters
    ----------
    covariance : (n_pool, n_pool) ndarray
        R_UU^-1.
    Phi : (K, n_labels) ndarray
    prior : (n_pool, n_labels) ndarray
        D of each row.
    """
    n, K = len(covariance), len(Phi)
    P = (Phi * prior[:, None, :]) @ Phi.T
    whole = np.kron(covariance, np.eye(K)).reshape(n, K, n, K)
    rows = np.arange(n)
    whole[rows, :, rows, :] += P
    Q = np.linalg.inv(whole.reshape(n * K, n * K)).reshape(n, K, n, K)[rows, :, rows, :]
    precision = np.diag(np.linalg.inv(covariance))
    before = np.linalg.slogdet(np.eye(K) - Q @ P)[1]
    information: FloatArray = 0.5 * (before + np.linalg.slogdet(np.eye(K) + precision[:, None, None] * P)[1])
    return information
