"""The ridge systems of hypergraph spectral learning, for any lam: by eigenvectors or by block conjugate gradients.

With centred rows Xc, targets H and B = Xc'H the solution is W = (Xc'Xc + lam I)^+ B. In the dual form W = Xc'A with
(Xc Xc' + lam I) A = H, which also serves kernels; it is used where there are fewer rows than features and lam > 0, and
the primal form otherwise. What comes back tells W and the small matrices of which every certificate is made.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from mlrank.arrays import FloatArray
from mlrank.linalg import BlockLanczos, CenteredRows, GramOperator, SymmetricOperator, block_cg, orthonormal_columns

__all__ = ["BACKENDS", "Solved", "System"]

BACKENDS = ("auto", "eigenvectors", "iterative")
# The smaller Gram matrix is decomposed up to this size, and up to the second where iterating is slow or tells no rank.
SMALL = 1000
MEDIUM = 4000
# The basis that all lam share may take this many bytes, and half as many columns as it has rows.
BASIS_BYTES = 2 << 30
# How often a tolerance is tightened by ten where the certificate is of another norm than the iteration's.
TIGHTENINGS = 4


class Solved(NamedTuple):
    """A solution and what certifies it, for r targets.

    Parameters
    ----------
    coef : (n_features, r), or (n_samples, r) dual coefficients of a kernel
    explained : (r, r) B'W
    target, residual : (r, r) B'B and R'R with R = B - (Xc'Xc + lam I) W, in feature space
    n_iter : int
    direct : bool
        Whether a smaller tolerance would change nothing.
    """

    coef: FloatArray
    explained: FloatArray
    target: FloatArray
    residual: FloatArray
    n_iter: int
    direct: bool


class Spectrum(NamedTuple):
    """Positive eigenvalues and their eigenvectors of a Gram matrix."""

    values: FloatArray
    vectors: FloatArray

    @classmethod
    def of(cls, gram: FloatArray) -> "Spectrum":
        values, vectors = eigh(gram, driver="evd", overwrite_a=True, check_finite=False)
        keep = values > len(values) * np.finfo(np.float64).eps * max(values[-1], 0.0)
        return cls(values[keep], vectors[:, keep])


@dataclass(frozen=True)
class System:
    """The systems of one training set, of all lam and targets; what they share is computed when first needed.

    Parameters
    ----------
    rows : CenteredRows, or None with a kernel
    kernel : (n_samples, n_samples) centred kernel matrix, or None
    backend : one of BACKENDS
    bases : dict
        By form and name of the targets.
    """

    rows: CenteredRows | None
    kernel: FloatArray | None
    backend: str = "auto"
    bases: dict[tuple[bool, str], BlockLanczos] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features; with a kernel, rows twice."""
        if self.rows is not None:
            return self.rows.shape
        return self._kernel.shape[0], self._kernel.shape[0]

    @property
    def _kernel(self) -> FloatArray:
        if self.kernel is None:
            raise ValueError("a system has rows or a kernel")
        return self.kernel

    @cached_property
    def _dual_spectrum(self) -> Spectrum:
        return Spectrum.of(self._kernel.copy() if self.rows is None else self.rows.gram(dual=True))

    @cached_property
    def _primal_spectrum(self) -> Spectrum:
        if self.rows is None:
            raise ValueError("with a kernel there is no primal form")
        return Spectrum.of(self.rows.gram(dual=False))

    def solve(self, H: FloatArray, lam: float, tol: float, max_iter: int, name: str) -> Solved:
        """Return W for the orthonormal targets `H`, (n_samples, r), to the relative residual `tol`.

        Targets of equal `name` must be equal: they share a basis.
        """
        n_samples, n_features = self.shape
        smaller = min(n_samples, n_features)
        direct = smaller <= SMALL or (lam == 0 and (smaller <= MEDIUM or self.rows is None))
        if H.shape[1] == 0:
            return self._nothing()
        if self.backend == "eigenvectors" or (self.backend == "auto" and direct):
            return self._direct(H, lam)
        dual = self.rows is None or (lam > 0 and n_samples <= n_features)
        found = self._iterate(H, lam, tol, max_iter, dual, name)
        if found is not None:
            return found
        if self.backend == "auto" and smaller <= MEDIUM:
            return self._direct(H, lam)
        return self._long(H, lam, tol, max_iter, dual)

    def _nothing(self) -> Solved:
        size = self.shape[0] if self.rows is None else self.shape[1]
        empty = np.zeros((0, 0))
        return Solved(np.zeros((size, 0)), empty, empty, empty, 1, True)

    def _direct(self, H: FloatArray, lam: float) -> Solved:
        if self.rows is None or self.shape[0] <= self.shape[1]:
            spectrum = self._dual_spectrum
            parts = spectrum.vectors.T @ H
            weight = 1.0 / (spectrum.values + lam)
            dual = spectrum.vectors @ (weight[:, None] * parts)
            coef = dual if self.rows is None else self.rows.transpose_times(dual)
            return self._certified(H, lam, coef, (parts.T * (spectrum.values * weight)) @ parts)
        spectrum = self._primal_spectrum
        parts = spectrum.vectors.T @ self.rows.transpose_times(H)
        weight = 1.0 / (spectrum.values + lam)
        coef = spectrum.vectors @ (weight[:, None] * parts)
        return self._certified(H, lam, coef, (parts.T * weight) @ parts)

    def _certified(self, H: FloatArray, lam: float, coef: FloatArray, explained: FloatArray, n_iter: int = 0) -> Solved:
        """Add B'B and the residual, from products with the rows."""
        if self.rows is None:
            rest = H - self._kernel @ coef - lam * coef
            target, residual = H.T @ self._kernel @ H, rest.T @ self._kernel @ rest
        else:
            B = self.rows.transpose_times(H)
            rest = B - self.rows.transpose_times(self.rows.times(coef)) - lam * coef
            target, residual = B.T @ B, rest.T @ rest
        return Solved(coef, explained, target, residual, max(n_iter, 1), direct=n_iter == 0)

    def _operator(self, dual: bool) -> GramOperator | SymmetricOperator:
        if self.rows is None:
            return SymmetricOperator(self._kernel)
        first, second = self.rows.times, self.rows.transpose_times
        return GramOperator(second, first) if dual else GramOperator(first, second)

    def _start(self, H: FloatArray, dual: bool) -> FloatArray:
        return H if dual or self.rows is None else self.rows.transpose_times(H)

    def _iterate(self, H: FloatArray, lam: float, tol: float, max_iter: int, dual: bool, name: str) -> Solved | None:
        """Solve by the basis that all lam share; None where it would grow too large."""
        if (dual, name) not in self.bases:
            start, scale = orthonormal_columns(self._start(H, dual))
            self.bases[dual, name] = BlockLanczos(self._operator(dual), start, scale, energy=dual)
        basis = self.bases[dual, name]
        size, width = basis.start.shape
        columns = min(size // 2, BASIS_BYTES // (8 * size))
        found = basis.solve(lam, tol, min(max_iter, max(columns // width, 1)))
        if found is None:
            return None
        coef = basis.combine(found.weights)
        explained = self._explained(basis.start @ basis.scale, coef, lam, dual)
        if dual and self.rows is not None:
            coef = self.rows.transpose_times(coef)
        target, residual = basis.energy_of(basis.scale, 0), basis.energy_of(found.tail, found.n_blocks)
        return Solved(coef, explained, target, residual, found.n_blocks, direct=False)

    def _long(self, H: FloatArray, lam: float, tol: float, max_iter: int, dual: bool) -> Solved:
        """Solve in the memory of a few blocks."""
        start = self._start(H, dual)
        coef, _, n_iter = block_cg(self._operator(dual), start, lam, tol, max_iter)
        explained = self._explained(start, coef, lam, dual)
        if dual and self.rows is not None:
            coef = self.rows.transpose_times(coef)
        return self._certified(H, lam, coef, explained, n_iter)

    @staticmethod
    def _explained(start: FloatArray, coef: FloatArray, lam: float, dual: bool) -> FloatArray:
        """Return B'W; residuals are orthogonal to the first block, so errors are of second order."""
        product = start.T @ coef
        explained = start.T @ start - lam * product if dual else product
        symmetric: FloatArray = (explained + explained.T) / 2
        return symmetric
