"""The targets of hypergraph spectral learning: main directions of the label hypergraph, of dense or of sparse labels.

With H0 the factor of an expansion and P the centering, they are left singular vectors of P H0, largest first. Of sparse
labels nothing here has an entry for each row and label, or for two labels where there are many: the right singular
vectors are eigenvectors of H0'P H0, found by products.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mlrank.arrays import FloatArray
from mlrank.hypergraph import expansion_factor
from mlrank.labels import LabelMatrix, check_directions
from mlrank.linalg import CenteredRows, center_columns, range_basis
from mlrank.linalg.eigen import leading

__all__ = ["Target", "sparse_target", "target"]


class Target(NamedTuple):
    """H0 = basis @ diag(values) @ V', its basis orthonormal, or the largest terms of it.

    Parameters
    ----------
    basis : (n_samples, r) ndarray
    values : (r,) ndarray, largest first
    error : float
        Largest |P H0 H0'P h - h value^2| of a column h, relative to the largest value^2; 0 where H0 was decomposed.
    """

    basis: FloatArray
    values: FloatArray
    error: float = 0.0

    @property
    def mean(self) -> FloatArray:
        """Mean of the targets; zero where the factor was centered."""
        mean: FloatArray = self.basis.mean(axis=0)
        return mean


def target(
    Y: LabelMatrix, expansion: str, weights: FloatArray, center: bool, full: bool, n_components: int | None
) -> Target:
    """Return the directions of dense labels, as many as the factor's rank or, `full`, as it has columns, or fewer."""
    factor = expansion_factor(Y, expansion, weights)
    basis, values = range_basis(center_columns(factor) if center else factor, full=full)
    return Target(basis[:, :n_components], values[:n_components])


def sparse_target(Y: csr_array, expansion: str, weights: FloatArray, center: bool, n_components: int) -> Target:
    """Return the directions of sparse labels.

    Each step of the eigenproblem takes a product of the labels and of their transpose with eight columns.

    Raises
    ------
    UserError
        If so many directions are asked for that all must be found, and these need more memory than there is.
    """
    factor = expansion_factor(Y, expansion, weights)
    assert isinstance(factor, csr_array)
    size = factor.shape[1]
    rows = CenteredRows(factor, None if center else np.zeros(size))

    def matrix() -> FloatArray:
        check_directions(size)
        return rows.gram(dual=False)

    noise = size * float(np.finfo(np.float64).eps)
    _, V = leading(lambda U: rows.transpose_times(rows.times(U)), matrix, size, min(n_components, size), noise)
    basis, values = range_basis(rows.times(V))
    rest = rows.times(rows.transpose_times(basis)) - basis * values**2
    scale = float(values.max(initial=0.0)) ** 2
    return Target(basis, values, float(np.linalg.norm(rest, axis=0).max(initial=0.0)) / scale if scale > 0 else 0.0)
