"""The quadratic form G = c Xl'Xl + gamma X'LX of one gamma: diagonal in few coordinates, or by products alone.

Xl are labeled rows, L is the graph's Laplacian over all rows X and c the curvature of the loss.
"""

from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array, issparse

from mlrank.arrays import Features, FloatArray
from mlrank.linalg import CenteredRows, block_cg
from mlrank.linalg.graded import graded_svd

__all__ = [
    "Coordinates",
    "EigenSystem",
    "ProductSystem",
    "SlrmSystem",
]

EPS = float(np.finfo(np.float64).eps)
# Conjugate gradients stop where the residual is this part of what it was at the start, which is the last solution.
CG_REDUCTION = 0.03
CG_STEPS = 200
# Smallest eigenvalues so many times above the rounding of the largest keep the digits that a gap of 1e-4 takes.
EXACT = 1e-7


class SlrmSystem(Protocol):
    """What the iteration needs of G; V has a row for each coordinate."""

    size: int

    @property
    def penalty(self) -> float:
        """A penalty to start with."""
        ...

    def solve(self, B: FloatArray, beta: float, start: FloatArray) -> FloatArray:
        """Return (G + beta I)^-1 B, from `start` where it is not exact."""
        ...

    def invert(self, B: FloatArray, tol: float, max_iter: int) -> tuple[FloatArray, int]:
        """Return G^+ B, to the relative residual `tol` where it is not exact, and the number of steps."""
        ...

    def outputs(self, V: FloatArray) -> FloatArray:
        """Return Xl V."""
        ...

    def back(self, R: FloatArray) -> FloatArray:
        """Return Xl'R."""
        ...

    def smooth(self, V: FloatArray, F: FloatArray) -> FloatArray:
        """Return gamma X'LX V, where F = Xl V."""
        ...

    def lift(self, V: FloatArray) -> FloatArray:
        """Return V as weights of the features."""
        ...

    def lower(self, W: FloatArray) -> FloatArray:
        """Return weights of the features in coordinates."""
        ...


class Coordinates:
    """The features, or an orthonormal basis of the row space where there are fewer rows.

    Every solution lies in the row space, and its singular values are the same in such a basis.

    Parameters
    ----------
    labeled : CenteredRows
    everything : CenteredRows
        All rows, the labeled ones first, with the same center.
    features : bool
        Whether they are the features in any case.
    """

    def __init__(self, labeled: CenteredRows, everything: CenteredRows, features: bool = False) -> None:
        self.labeled, self.everything, self.features = labeled, everything, features

    @cached_property
    def _row_space(self) -> tuple[FloatArray, FloatArray] | None:
        """Left singular vectors and singular values of all rows; None where the features themselves serve."""
        n, d = self.everything.shape
        if n >= d or self.features:
            return None
        squares, left = eigh(self.everything.gram(dual=True), driver="evd", overwrite_a=True, check_finite=False)
        keep = squares > n * EPS * max(squares[-1], 0.0)
        return left[:, keep], np.sqrt(squares[keep])

    @cached_property
    def rows(self) -> FloatArray | None:
        """All rows in the basis; None where the features themselves serve."""
        return None if self._row_space is None else self._row_space[0] * self._row_space[1]

    @cached_property
    def gram(self) -> FloatArray:
        """Xl'Xl."""
        if self.rows is None:
            return self.labeled.gram(dual=False)
        rows = self.rows[: self.labeled.shape[0]]
        return rows.T @ rows

    def back(self, R: FloatArray) -> FloatArray:
        """Return Xl'R."""
        if self.rows is None:
            return self.labeled.transpose_times(R)
        return self.rows[: self.labeled.shape[0]].T @ R

    def labeled_rows(self, vectors: FloatArray) -> FloatArray:
        """Return Xl @ vectors."""
        return self.labeled.times(vectors) if self.rows is None else self.rows[: self.labeled.shape[0]] @ vectors

    def lift(self, V: FloatArray) -> FloatArray:
        """Return V as weights of the features."""
        if self._row_space is None:
            return V
        left, values = self._row_space
        return self.everything.transpose_times(left @ (V / values[:, None]))

    def lower(self, W: FloatArray) -> FloatArray:
        """Return weights of the features in coordinates."""
        if self._row_space is None:
            return W
        left, values = self._row_space
        return (left.T @ self.everything.times(W)) / values[:, None]


class EigenSystem:
    """G in coordinates in which it is diagonal: its positive eigenvalues are `values`.

    Parameters
    ----------
    coordinates : Coordinates
    values : (p,) ndarray, eigenvalues of G, increasing
    vectors : (size of the coordinates, p) ndarray
    curvature : float
        c.
    cross : (p, n_labels) ndarray
        Xl'Y in the coordinates of G's eigenvectors, in which G^-1 Xl'Y is kept too.
    exact : bool
        Whether the decomposition is known to leave each eigenvalue its digits: nothing has been dropped, and the
        smallest is far above the rounding of the largest.
    """

    def __init__(
        self, coordinates: Coordinates, values: FloatArray, vectors: FloatArray, curvature: float, cross: FloatArray,
        exact: bool,
    ) -> None:  # fmt: skip
        self.values, self.vectors, self.exact = values, vectors, exact
        self.coordinates, self.curvature, self.size = coordinates, curvature, len(values)
        self.cross = cross
        self.inverse_cross = self.cross / self.values[:, None]

    @classmethod
    def of(cls, coordinates: Coordinates, G: FloatArray, curvature: float, cross: FloatArray) -> "EigenSystem":
        """Decompose `G`, which is overwritten; `cross` is Xl'Y in the coordinates."""
        values, vectors = eigh(G, driver="evd", overwrite_a=True, check_finite=False)
        noise = len(values) * EPS * max(values[-1], 0.0)
        keep = values > noise
        exact = coordinates.rows is None and bool(values[0] * EXACT > noise)
        return cls(coordinates, values[keep], vectors[:, keep], curvature, vectors[:, keep].T @ cross, exact)

    @classmethod
    def graded(
        cls, coordinates: Coordinates, differences: FloatArray, weights: FloatArray, targets: FloatArray
    ) -> "EigenSystem":
        """Decompose a factor of G: the labeled rows, with `weights`, and `differences` of rows along a graph's edges.

        Features many powers of ten apart keep their digits, which they lose in G. One weight for all rows is c.
        """
        n_labeled, root = coordinates.labeled.shape[0], np.sqrt(weights)[:, None]
        left, values, vectors = graded_svd(np.vstack([root * coordinates.labeled.dense(), differences]))
        rows = (left[:n_labeled] * (values / root))[:, ::-1]
        system = cls(coordinates, values[::-1] ** 2, vectors[:, ::-1], float(weights.max()), rows.T @ targets, False)
        system.rows = rows
        return system

    def n_bytes(self, n_features: int) -> int:
        """Return what is kept at most."""
        r: int = self.cross.shape[1]
        return int(self.vectors.nbytes) + 8 * r * (2 * self.size + n_features + r)

    @property
    def penalty(self) -> float:
        """A penalty to start with: between the extreme eigenvalues."""
        low, high = float(self.values[0]), float(self.values[-1])
        return float(np.sqrt(high * max(low, 1e-8 * high)))

    @cached_property
    def inverse_gram(self) -> FloatArray:
        """The Gram matrix (n_labels, n_labels) of G^-1 Xl'Y."""
        found: FloatArray = self.inverse_cross.T @ self.inverse_cross
        return found

    @cached_property
    def lifted_inverse_cross(self) -> FloatArray:
        """G^-1 Xl'Y as weights of the features."""
        return self.lift(self.inverse_cross)

    @cached_property
    def energies(self) -> FloatArray:
        """The diagonal of Y'Xl G^-1 Xl'Y."""
        found: FloatArray = np.einsum("ij,ij->j", self.cross, self.inverse_cross)
        return found

    @cached_property
    def rows(self) -> FloatArray:
        """The labeled rows."""
        return self.coordinates.labeled_rows(self.vectors)

    def solve(self, B: FloatArray, beta: float, start: FloatArray) -> FloatArray:
        """Return (G + beta I)^-1 B."""
        found: FloatArray = B / (self.values + beta)[:, None]
        return found

    def invert(self, B: FloatArray, tol: float, max_iter: int) -> tuple[FloatArray, int]:
        """Return G^+ B and 1."""
        return B / self.values[:, None], 1

    def outputs(self, V: FloatArray) -> FloatArray:
        """Return Xl V."""
        return self.rows @ V

    def back(self, R: FloatArray) -> FloatArray:
        """Return Xl'R."""
        return self.rows.T @ R

    def smooth(self, V: FloatArray, F: FloatArray) -> FloatArray:
        """Return gamma X'LX V, as G V - c Xl'F."""
        found: FloatArray = self.values[:, None] * V - self.curvature * self.back(F)
        return found

    def gradient(self, V: FloatArray) -> FloatArray:
        """Return Xl'Y - G V, minus the gradient of the quadratic part."""
        found: FloatArray = self.cross - self.values[:, None] * V
        return found

    def lift(self, V: FloatArray) -> FloatArray:
        """Return V as weights of the features."""
        return self.coordinates.lift(self.vectors @ V)

    def lower(self, W: FloatArray) -> FloatArray:
        """Return weights of the features in coordinates."""
        found: FloatArray = self.vectors.T @ self.coordinates.lower(W)
        return found


class ProductSystem:
    """G by products with the rows; systems are solved by block conjugate gradients.

    Parameters
    ----------
    labeled, everything : CenteredRows
    laplacian : csr_array or None
        L; None for gamma = 0, where labeled rows alone count.
    gamma, curvature : float
    """

    def __init__(
        self,
        labeled: CenteredRows,
        everything: CenteredRows,
        laplacian: csr_array | None,
        gamma: float,
        curvature: float,
    ) -> None:
        self.labeled, self.everything, self.laplacian = labeled, everything, laplacian
        self.gamma, self.curvature = gamma, curvature
        self.n_labeled, self.size = labeled.shape

    @property
    def penalty(self) -> float:
        """A penalty to start with: the mean eigenvalue of G, but for centering."""
        trace = self.curvature * _dot(self.labeled.rows, self.labeled.rows)
        if self.laplacian is not None:
            trace += self.gamma * _dot(self.everything.rows, self.laplacian @ self.everything.rows)
        return trace / min(self.everything.shape) or 1.0

    def half(self, V: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what `rest` needs, and V'GV."""
        F = self._seen.times(V)
        pushed = np.zeros_like(F) if self.laplacian is None else self.gamma * (self.laplacian @ F)
        pushed[: self.n_labeled] += self.curvature * F[: self.n_labeled]
        product = F.T @ pushed
        return pushed, (product + product.T) / 2

    def rest(self, U: FloatArray) -> FloatArray:
        """Return GV from what `half` gave."""
        return self._seen.transpose_times(U)

    @property
    def _seen(self) -> CenteredRows:
        return self.labeled if self.laplacian is None else self.everything

    def solve(self, B: FloatArray, beta: float, start: FloatArray) -> FloatArray:
        """Return (G + beta I)^-1 B, nearly: `start` with its residual reduced."""
        residual = B - self.rest(self.half(start)[0]) - beta * start
        return start + block_cg(self, residual, beta, CG_REDUCTION, CG_STEPS)[0]

    def invert(self, B: FloatArray, tol: float, max_iter: int) -> tuple[FloatArray, int]:
        """Return G^+ B, nearly, and the number of steps."""
        V, _, n_iter = block_cg(self, B, 0.0, tol, max_iter)
        return V, max(n_iter, 1)

    def outputs(self, V: FloatArray) -> FloatArray:
        """Return Xl V."""
        return self.labeled.times(V)

    def back(self, R: FloatArray) -> FloatArray:
        """Return Xl'R."""
        return self.labeled.transpose_times(R)

    def smooth(self, V: FloatArray, F: FloatArray) -> FloatArray:
        """Return gamma X'LX V."""
        if self.laplacian is None:
            return np.zeros_like(V)
        return self.gamma * self.everything.transpose_times(self.laplacian @ self.everything.times(V))

    def lift(self, V: FloatArray) -> FloatArray:
        """Return V: its rows are the features."""
        return V

    def lower(self, W: FloatArray) -> FloatArray:
        """Return W: its rows are the features."""
        return W


def _dot(A: Features, B: Features) -> float:
    return float((A.multiply(B) if issparse(A) else A * B).sum())
