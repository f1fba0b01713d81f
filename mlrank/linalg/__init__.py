"""Linear algebra that solvers share: sparse centered rows, orthonormal bases, conjugate gradients, shrinking."""

from mlrank.linalg.bases import orthonormal_columns, range_basis
from mlrank.linalg.block import BlockLanczos, LanczosSolution, block_cg
from mlrank.linalg.operators import GramOperator, SymmetricOperator
from mlrank.linalg.rows import CenteredRows, center_columns, column_lengths, without_constants
from mlrank.linalg.shrink import Shrunk, largest_singular_value, shrink_singular_values, singular_values_below

__all__ = [
    "BlockLanczos",
    "CenteredRows",
    "GramOperator",
    "LanczosSolution",
    "Shrunk",
    "SymmetricOperator",
    "block_cg",
    "center_columns",
    "column_lengths",
    "largest_singular_value",
    "orthonormal_columns",
    "range_basis",
    "shrink_singular_values",
    "singular_values_below",
    "without_constants",
]
