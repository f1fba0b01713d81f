"""The label hypergraph: rows are vertices, each label is a hyperedge that holds the rows carrying it.

Nothing here forms an (n_samples, n_samples) matrix: with H = Y the incidence matrix and W = diag(weights), the clique
expansion has the Laplacian L = D - H W H' (Rank-HLapSVM paper, eq. 5), and only products with it are needed.
"""

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array, issparse

from mlrank.arrays import BoolArray, Features, FloatArray, as_dense, as_features, take_rows
from mlrank.labels import LabelMatrix

__all__ = [
    "EXPANSIONS",
    "expansion_factor",
    "hyperedge_weights",
    "intra_class_distance",
    "laplacian_gram",
    "vertex_degree",
]

# A sum of squares has lost digits below this part of what it is a difference of.
CANCELLED = 1e-6


def intra_class_distance(X: Features, Y: BoolArray) -> FloatArray:
    """Return the mean squared distance between two different rows of each label, shape (n_labels,).

    Rank-HLapSVM paper, eq. 30, in closed form 2 (d sum|x|^2 - |sum x|^2) / (d (d - 1)) on centered rows: the cost is
    one product Y'X instead of all pairs. Labels with fewer than two rows get 0.
    """
    X, H = as_features(X), csr_array(Y, dtype=np.float64)
    size = np.asarray(Y.sum(axis=0), dtype=np.float64)
    center = np.asarray(X.mean(axis=0)).ravel()
    if issparse(X):
        # Centered sums without densifying: |x - c|^2 and sum(x - c) from the sparse products.
        raw = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        squares = raw - 2 * (X @ center) + center @ center
        sums = np.asarray((H.T @ X).todense()) - size[:, None] * center
    else:
        centered = X - center
        raw = squares = np.einsum("ij,ij->i", centered, centered)
        sums = H.T @ centered
    pairs = size * (size - 1)
    total = 2 * (size * (H.T @ squares) - np.einsum("ej,ej->e", sums, sums))
    # What is left of much larger numbers is summed again, around the center of the label itself.
    for label in np.flatnonzero((pairs > 0) & (total <= CANCELLED * size * (H.T @ raw + size * (center @ center)))):
        rows = X[np.flatnonzero(Y[:, label])]
        rows = as_dense(rows) - as_dense(rows).mean(axis=0)
        total[label] = 2 * size[label] * float(np.vdot(rows, rows))
    distance: FloatArray = np.divide(total, pairs, out=np.zeros_like(total), where=pairs > 0)
    # Identical rows may come out a rounding error below zero.
    np.maximum(distance, 0.0, out=distance)
    return distance


def euclidean_distance(X: Features, Y: BoolArray) -> FloatArray:
    """Return the mean distance, not squared, between two different rows of each label, shape (n_labels,).

    All pairs of each label: O(sum_e d_e^2 m) flops. Labels with fewer than two rows get 0.
    """
    from sklearn.metrics import pairwise_distances_chunked  # a second to load, which many fits need not

    X, distance = as_features(X), np.zeros(Y.shape[1])
    for label, relevant in enumerate(Y.T):
        rows = take_rows(X, np.flatnonzero(relevant))
        d = rows.shape[0]
        if d > 1:
            distance[label] = sum(float(part.sum()) for part in pairwise_distances_chunked(rows)) / (d * (d - 1))
    return distance


def hyperedge_weights(X: Features, Y: BoolArray, nu: float) -> FloatArray:
    """Return w(e) = exp(-nu * mean intra-class distance), shape (n_labels,) (Rank-HLapSVM paper, eq. 29)."""
    weights: FloatArray = np.exp(-nu * intra_class_distance(X, Y))
    return weights


def vertex_degree(Y: LabelMatrix, weights: FloatArray) -> FloatArray:
    """Return the row sums of H W H', shape (n_samples,): each row's similarity to all rows, itself included."""
    H = csr_array(Y, dtype=np.float64)
    degree: FloatArray = H @ (weights * Y.sum(axis=0))
    return degree


def laplacian_gram(X: Features, Y: BoolArray, weights: FloatArray) -> FloatArray:
    """Return X'LX, shape (n_features, n_features), as X'DX - (X'H) W (X'H)'.

    O(n m^2 + k m^2) flops and O(m^2) memory; L, (n_samples, n_samples), is never formed. A bias column would add a zero
    row and column, because L maps constants to zero.
    """
    X, root = as_features(X), np.sqrt(vertex_degree(Y, weights))
    H = csr_array(Y, dtype=np.float64)
    if issparse(X):
        scaled = X * root[:, None]
        gram = np.asarray((scaled.T @ scaled).todense())
        edges = np.asarray((H.T @ X).todense())
    else:
        scaled = X * root[:, None]
        gram = scaled.T @ scaled
        edges = H.T @ X
    edges *= np.sqrt(weights)[:, None]
    result: FloatArray = gram - edges.T @ edges
    return result


def expansion_factor(Y: LabelMatrix, expansion: str, weights: FloatArray) -> FloatArray | csr_array:
    """Return H0, (n_samples, n_labels), with S = H0 H0' the similarity of an expansion; S is never formed.

    Hypergraph spectral paper, eq. 3 (clique), 6 (star), 7 (zhou). For cca, S = Y(Y'Y)^+Y' of the centered labels and H0
    is an orthonormal basis of their range (section 3.2), with fewer columns where labels are dependent. Rows without a
    label have degree zero and a zero row. Clique degrees count the row itself, which keeps S at most the identity.

    Parameters
    ----------
    Y : (n_samples, n_labels) labels; of sparse ones, for which there is no cca, the factor is sparse
    expansion : key of EXPANSIONS
    weights : (n_labels,) hyperedge weights, which cca has no place for
    """
    return EXPANSIONS[expansion](Y, weights)


def _clique(Y: LabelMatrix, weights: FloatArray) -> FloatArray | csr_array:
    return _normalized(Y, vertex_degree(Y, weights), np.sqrt(weights))


def _star(Y: LabelMatrix, weights: FloatArray) -> FloatArray | csr_array:
    size = np.maximum(Y.sum(axis=0), 1)
    return _normalized(Y, Y @ (weights / size), np.sqrt(weights) / size)


def _zhou(Y: LabelMatrix, weights: FloatArray) -> FloatArray | csr_array:
    return _normalized(Y, Y @ weights, np.sqrt(weights / np.maximum(Y.sum(axis=0), 1)))


def _cca(Y: LabelMatrix, weights: FloatArray) -> FloatArray | csr_array:
    basis, values, _ = np.linalg.svd(Y - Y.mean(axis=0), full_matrices=False)
    # A constant label leaves rounding noise, which must not count as a direction.
    found: FloatArray = basis[:, values > 1e-10 * max(values[0], 1e-3)]
    return found


def _normalized(Y: LabelMatrix, degree: FloatArray, edge: FloatArray) -> FloatArray | csr_array:
    root = np.sqrt(np.divide(1.0, degree, out=np.zeros(len(degree)), where=degree > 0))
    if issparse(Y):
        values = np.repeat(root, np.diff(Y.indptr)) * edge[Y.indices]
        return csr_array((values, Y.indices, Y.indptr), shape=Y.shape)
    factor: FloatArray = Y * root[:, None] * edge
    return factor


EXPANSIONS: dict[str, Callable[[LabelMatrix, FloatArray], FloatArray | csr_array]] = {
    "clique": _clique,
    "star": _star,
    "zhou": _zhou,
    "cca": _cca,
}
