"""How labels go together: cosines of their columns, the graph they make, and that of rows with like labels."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array

from mlrank.arrays import BoolArray, FloatArray

__all__ = ["LikeRows", "dense_laplacian", "label_cosines"]


def label_cosines(Y: BoolArray) -> FloatArray:
    """Return the cosines between columns of `Y`, shape (n_labels, n_labels), with a diagonal of ones.

    A label that no row carries has the cosine 0 with all others.
    """
    H = Y.astype(np.float64)
    together = H.T @ H
    root = np.sqrt(np.diag(together))
    lengths = np.outer(root, root)
    cosines: FloatArray = np.divide(together, lengths, out=np.zeros_like(together), where=lengths > 0)
    np.fill_diagonal(cosines, 1.0)
    return cosines


def dense_laplacian(affinity: FloatArray, normalized: bool) -> FloatArray:
    """Return D - B, or D^-1/2 (D - B) D^-1/2 with rows of zeros where the degree is zero."""
    degree = affinity.sum(axis=1)
    L: FloatArray = np.diag(degree) - affinity
    if normalized:
        root = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
        L = root[:, None] * L * root
    return L


class LikeRows(NamedTuple):
    """The graph of rows with weights y_i'Corr y_i' / (|y_i||y_i'|), Corr the cosines between labels.

    It joins most rows to most rows and is known by its products: with the rows of Z scaled to length one, A_label =
    Z Corr Z'. Rows without labels have no edges.

    Parameters
    ----------
    Z : (n_rows, n_labels) csr_array
    corr : (n_labels, n_labels) ndarray
    degree : (n_rows,) ndarray, self-loops included, which a Laplacian takes off
    diagonal : (n_rows,) ndarray, of the Laplacian
    """

    Z: csr_array
    corr: FloatArray
    degree: FloatArray
    diagonal: FloatArray

    @classmethod
    def of(cls, Y: BoolArray) -> "LikeRows":
        """Build the graph of the rows of `Y`."""
        corr = label_cosines(Y)
        size = Y.sum(axis=1)
        Z = csr_array(diags_array(1 / np.sqrt(np.maximum(size, 1))) @ csr_array(Y, dtype=np.float64))
        spread = Z @ corr
        loops = np.asarray(Z.multiply(spread).sum(axis=1)).ravel()
        degree = spread @ np.asarray(Z.sum(axis=0)).ravel()
        return cls(Z, corr, degree, np.maximum(degree - loops, 0.0))

    def laplacian_times(self, V: FloatArray) -> FloatArray:
        """Return (D - A_label) V."""
        product: FloatArray = self.degree[:, None] * V - self.Z @ (self.corr @ (self.Z.T @ V))
        return product
