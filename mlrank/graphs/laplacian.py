"""Degrees, Laplacians and connected parts of a graph given by its symmetric adjacency matrix."""

import numpy as np
from scipy.sparse import csr_array, diags_array, issparse, triu
from scipy.sparse.csgraph import connected_components

from mlrank.arrays import Features, FloatArray, IntArray, as_features
from mlrank.errors import not_among

__all__ = ["LAPLACIANS", "component_of", "degrees", "laplacian", "laplacian_product", "without_means"]

LAPLACIANS = ("combinatorial", "normalized")


def degrees(A: csr_array) -> FloatArray:
    """Return the sum of the weights at each row, shape (n_samples,)."""
    return np.asarray(A.sum(axis=1), dtype=np.float64).ravel()


def laplacian(A: csr_array, kind: str = "combinatorial") -> csr_array:
    """Return D - A, or D^-1/2 (D - A) D^-1/2, D the degrees.

    Rows without edges are rows of zeros in both kinds.

    Parameters
    ----------
    A : (n_samples, n_samples) csr_array
    kind : {"combinatorial", "normalized"}

    Returns
    -------
    (n_samples, n_samples) csr_array
    """
    if kind not in LAPLACIANS:
        raise ValueError(not_among("kind", kind, LAPLACIANS))
    degree = degrees(A)
    if kind == "combinatorial":
        return csr_array(as_features(diags_array(degree) - A))
    root = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    scaled = diags_array(root) @ A @ diags_array(root)
    return csr_array(as_features(diags_array((degree > 0).astype(np.float64)) - scaled))


def laplacian_product(A: csr_array, X: Features) -> FloatArray:
    """Return X'LX with L = D - A, shape (n_features, n_features), from the edges alone.

    O(n_edges n_features + n_samples n_features^2) operations for dense rows.

    Parameters
    ----------
    A : (n_samples, n_samples) csr_array
    X : (n_samples, n_features) ndarray or csr_array
    """
    # T with L = T + T': each edge is visited once.
    T = csr_array(as_features(diags_array(degrees(A) / 2) - triu(A, 1)))
    if issparse(X):
        product: FloatArray = (X.T @ (T @ X)).toarray()
    else:
        # L takes constants off anyway; done before, features far from the origin cost no digits.
        centered = X - X.mean(axis=0)
        product = centered.T @ (T @ centered)
    return product + product.T


def component_of(A: csr_array) -> tuple[int, IntArray]:
    """Return the number of connected parts of the graph, and the part each row is in."""
    n_parts, part = connected_components(A, directed=False)
    return int(n_parts), part.astype(np.int64)


def without_means(V: FloatArray, part: IntArray) -> FloatArray:
    """Return `V` (n_samples, k) with the mean over each connected part taken off its rows.

    What is left is orthogonal to the null space of the Laplacian D - A.
    """
    members = csr_array((np.ones(len(part)), part, np.arange(len(part) + 1)), shape=(len(part), int(part.max()) + 1))
    means = (members.T @ V) / np.bincount(part)[:, None]
    centered: FloatArray = V - means[part]
    return centered
