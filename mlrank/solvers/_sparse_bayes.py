"""Sparse labels from compressed ones: a few Bayesian iterations for each row, for many rows at once.

A row has compressed labels m with variance v, m ~ N(Phi y, v I), and y_j ~ N(0, 1 / a_j) with a_j ~ Gamma(A0, B0). With
D = diag(1 / E a_j) and S = (v I + Phi D Phi')^-1, from E a_j = 1::

    mean = D Phi'S m,   var_j = D_j - D_j^2 phi_j'S phi_j,   E a_j = (A0 + 1/2) / (B0 + (var_j + mean_j^2) / 2)

until the means of a row move by no more than `tol` of their length. All products of a row are told by the K (K + 1) / 2
products of pairs of rows of Phi, so that each iteration is two matrix products and a K x K inverse for each row.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mlrank.arrays import FloatArray

__all__ = ["Posterior", "relevance"]

A0 = B0 = 1e-6
# Numbers of K x K matrices held at a time.
BLOCK = 1_000_000


class Posterior(NamedTuple):
    """Means and variances of labels, (n_rows, n_labels), and the 1 / E a that gave them."""

    mean: FloatArray
    variance: FloatArray
    prior: FloatArray


class Pairs(NamedTuple):
    """Phi, (K, k), the indices of pairs of its rows, how often each counts, and their products, (k, n_pairs)."""

    Phi: FloatArray
    first: npt.NDArray[np.intp]
    second: npt.NDArray[np.intp]
    often: FloatArray
    products: FloatArray


def relevance(
    m: FloatArray,
    v: FloatArray,
    Phi: FloatArray,
    tol: float,
    max_iter: int,
    free: FloatArray | None = None,
    label_v: float | None = None,
) -> Posterior:
    """Return the labels of rows.

    Parameters
    ----------
    m : (n_rows, K) ndarray
    v : (n_rows,) ndarray
    Phi : (K, n_labels) ndarray
    tol, max_iter : float, int
    free : (n_rows, n_labels) ndarray of 0 and 1, optional
        0 for labels that are known, whose part must not be in `m`; their mean and variance is 0.
    label_v : float, optional
        The variance in S where variances of labels are computed, if another than `v`.
    """
    size = max(1, BLOCK // len(Phi) ** 2)
    pairs = _pairs(Phi)
    open_labels = np.ones((len(m), Phi.shape[1])) if free is None else free
    blocks = [slice(begin, begin + size) for begin in range(0, len(m), size)] or [slice(0, 0)]
    parts = [_iterate(m[rows], v[rows], pairs, tol, max_iter, open_labels[rows], label_v) for rows in blocks]
    return Posterior(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _pairs(Phi: FloatArray) -> Pairs:
    first, second = (indices.astype(np.intp) for indices in np.triu_indices(len(Phi)))
    often = np.where(first == second, 1.0, 2.0)
    return Pairs(Phi, first, second, often, np.ascontiguousarray((Phi[first] * Phi[second]).T))


def _iterate(
    m: FloatArray, v: FloatArray, pairs: Pairs, tol: float, max_iter: int, free: FloatArray, label_v: float | None
) -> Posterior:
    found = Posterior(*(np.zeros_like(free) for _ in range(3)))
    left, prior, before = np.arange(len(m)), free, np.zeros_like(free)
    for _ in range(max_iter):
        S, spread = _inverse(prior, v[left], pairs)
        mean = prior * ((S @ m[left][:, :, None])[:, :, 0] @ pairs.Phi)
        if label_v is not None:
            spread = _inverse(prior, np.full(len(left), label_v), pairs)[1]
        variance = prior - prior**2 * spread
        for whole, part in zip(found, (mean, variance, prior), strict=True):
            whole[left] = part
        moved = np.linalg.norm(mean - before, axis=1) > tol * np.linalg.norm(mean, axis=1)
        if not moved.any():
            break
        left, before = left[moved], mean[moved]
        prior = free[left] * (B0 + (variance[moved] + before**2) / 2.0) / (A0 + 0.5)
    return found


def _inverse(prior: FloatArray, v: FloatArray, pairs: Pairs) -> tuple[FloatArray, FloatArray]:
    """Return S, (n_rows, K, K), and phi_j'S phi_j, (n_rows, n_labels)."""
    K = len(pairs.Phi)
    S: FloatArray = np.empty((len(prior), K, K))
    S[:, pairs.first, pairs.second] = S[:, pairs.second, pairs.first] = prior @ pairs.products
    S[:, np.arange(K), np.arange(K)] += v[:, None]
    S = np.asarray(np.linalg.inv(S), dtype=np.float64)
    return S, (S[:, pairs.first, pairs.second] * pairs.often) @ pairs.products.T
