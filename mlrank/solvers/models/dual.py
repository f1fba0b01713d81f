"""The dual point of a fit: what `mlrank certify` needs beside the weights to prove their distance from the optimum."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from mlrank.arrays import FloatArray
from mlrank.solvers.base import ModelArrays, ModelMeta

__all__ = ["DUALS", "DualPoint"]

# Bytes of an entry: of a sparse matrix with its column, and of a dense one in single precision.
SPARSE_BYTES, DENSE_BYTES = 12, 4


@dataclass(frozen=True)
class DualPoint:
    """Dual variables, summed for each training row and label; scores never need them.

    Parameters
    ----------
    beta : (n_samples, n_labels) csr_array, or an ndarray of float32 where most entries are not 0
        What row i adds to the weights of label k: w_k = sum_i beta_ik phi(x_i). Half the bytes of the scores of the
        training rows at most.
    """

    beta: csr_array | npt.NDArray[np.float32]

    @classmethod
    def of(cls, beta: FloatArray) -> "DualPoint":
        """Return the dual point of an array (n_samples, n_labels)."""
        if SPARSE_BYTES * np.count_nonzero(beta) < DENSE_BYTES * beta.size:
            return cls(csr_array(beta))
        return cls(beta.astype(np.float32))

    def arrays(self) -> ModelArrays:
        """Return `beta`."""
        return {"beta": self.beta}

    def meta(self) -> ModelMeta:
        """Return the kind of dual point."""
        return {"dual": "rows"}


DUALS = {"rows": DualPoint}
