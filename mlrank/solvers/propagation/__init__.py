"""Labels spread along a graph of the rows: SMSE and MCGF."""

from mlrank.solvers.propagation.mcgf import MCGF
from mlrank.solvers.propagation.smse import SMSE

__all__ = [
    "MCGF",
    "SMSE",
]
