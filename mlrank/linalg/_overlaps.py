"""How far the blocks of a Krylov basis have drifted from being orthogonal, foretold without touching them."""

import numpy as np
from scipy.linalg import solve_triangular

from mlrank.arrays import FloatArray

__all__ = ["Overlaps"]

EPS = np.finfo(np.float64).eps


class Overlaps:
    """Estimates of Q_i'Q_j for the blocks of a block Lanczos basis, from its coefficients alone.

    With A Q_j = Q_(j-1) R_(j-1)' + Q_j D_j + Q_(j+1) R_j the overlaps W_ij = Q_i'Q_j of exact products obey::

        W_i(j+1) R_j = R_(i-1) W_(i-1)j + D_i W_ij + R_i' W_(i+1)j - W_ij D_j - W_i(j-1) R_(j-1)'

    and rounding adds noise of a size that is known. Kept up with matrices, the estimate grows as the overlaps do: along
    the directions that have converged (Simon, "The Lanczos algorithm with partial reorthogonalization", Math. Comp. 42,
    1984, for blocks of one column). O(j p^3) for block j, where an inner product with all blocks takes O(j n p^2).

    Parameters
    ----------
    width : int
        Columns p of the first block; no later one is wider.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        # Which noise is assumed does not matter, but it must not be blind to a direction.
        self.noise: FloatArray = EPS * np.random.default_rng(0).standard_normal((width, width))
        empty = np.zeros((0, width, width))
        # D_i and R_i filled up with zeros, Q_i'Q_j of the last block j, and of the one before.
        self.diagonal, self.below = empty, empty
        self.last: FloatArray = np.eye(width)[None]
        self.before: FloatArray = empty

    def foretell(self, D: FloatArray, R: FloatArray, size: float) -> FloatArray:
        """Return the overlaps of the next block with all so far, (j + 1, p, width of the next).

        Parameters
        ----------
        D, R : (p_j, p_j) ndarray
            Q_j'AQ_j and the triangular factor of the next block.
        size : float
            Of A.
        """
        j, width = len(self.below), D.shape[0]
        product = np.repeat((size * self.noise[:, :width])[None], j + 1, axis=0)
        if j:
            W, below = self.last, self.below
            product[:j] += self.diagonal @ W[:j] + below.transpose(0, 2, 1) @ W[1:] - W[:j] @ D
            product[1:j] += below[:-1] @ W[: j - 1]
            product[:j] -= self.before @ below[-1, :width, : self.before.shape[2]].T
        overlaps: FloatArray = product @ solve_triangular(R, np.eye(width), check_finite=False)
        return overlaps

    def accept(self, D: FloatArray, R: FloatArray, overlaps: FloatArray) -> None:
        """Take in the next block, its coefficients, (p_j, p_j) and (p_(j+1), p_j), and its overlaps with the others."""
        self.diagonal = np.concatenate([self.diagonal, self._filled(D)])
        self.below = np.concatenate([self.below, self._filled(R)])
        own = np.eye(self.width, R.shape[0])[None]
        self.before, self.last = self.last, np.concatenate([overlaps, own])

    def fresh(self, n_blocks: int, width: int) -> FloatArray:
        """Return the overlaps of a block of `width` columns that was just made orthogonal to `n_blocks` others."""
        return np.repeat(self.noise[None, :, :width], n_blocks, axis=0)

    def _filled(self, M: FloatArray) -> FloatArray:
        out = np.zeros((1, self.width, self.width))
        out[0, : M.shape[0], : M.shape[1]] = M
        return out
