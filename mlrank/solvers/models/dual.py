"""The dual point of a fit: what `mlrank certify` needs beside the weights to prove their distance from the optimum."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from mlrank.arrays import FloatArray
from mlrank.solvers.base import ModelArrays, ModelMeta

__all__ = ["DUALS", "DualPoint"]

# Bytes of an entry: of a sparse matrix with its column, and of a dense one.
SPARSE_BYTES, DENSE_BYTES = 12, 8


@dataclass(frozen=True)
class DualPoint:
    """Dual variables, summed for each training row and label; scores never need them.

    Parameters
    ----------
    beta : (n_samples, n_labels) csr_array, or an ndarray where most entries are not 0
        What row i adds to the weights of label k: w_k = sum_i beta_ik phi(x_i). No more bytes than the scores of the
        training rows, and in double precision: features far from zero multiply what rounding leaves of it.
    """

    beta: csr_array | FloatArray

    @classmethod
    def of(cls, beta: FloatArray) -> "DualPoint":
        """Return the dual point of an array (n_samples, n_labels)."""
        if SPARSE_BYTES * np.count_nonzero(beta) < DENSE_BYTES * beta.size:
            return cls(csr_array(beta))
        return cls(beta)

    def arrays(self) -> ModelArrays:
        """Return `beta`."""
        return {"beta": self.beta}

    def meta(self) -> ModelMeta:
        """Return the kind of dual point."""
        return {"dual": "rows"}


DUALS = {"rows": DualPoint}
