"""Linear algebra that solvers share: centred rows that stay sparse, rank-revealing bases, block conjugate gradients."""

from mlrank.linalg.bases import orthonormal_columns, range_basis
from mlrank.linalg.block import BlockLanczos, GramOperator, LanczosSolution, SymmetricOperator, block_cg
from mlrank.linalg.rows import CenteredRows, centre_columns

__all__ = [
    "BlockLanczos",
    "CenteredRows",
    "GramOperator",
    "LanczosSolution",
    "SymmetricOperator",
    "block_cg",
    "centre_columns",
    "orthonormal_columns",
    "range_basis",
]
