"""The ridge systems of hypergraph spectral learning, for any lam: by factorization or block conjugate gradients.

With centered rows Xc, targets H and B = Xc'H the solution is W = (Xc'Xc + lam I)^+ B. In the dual form W = Xc'A with
(Xc Xc' + lam I) A = H, which also serves kernels; it is used where there are fewer rows than features and lam > 0, and
the primal form otherwise. What comes back tells W and the small matrices of which every certificate is made.

The directions W of hypergraph spectral learning: from one ridge system, and by the paper's own eigenproblem.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.sparse import issparse

from mlrank.arrays import FloatArray
from mlrank.linalg import BlockLanczos, CenteredRows, GramOperator, SymmetricOperator, block_cg, range_basis
from mlrank.solvers.base import FitInfo
from mlrank.solvers.hypergraph.targets import Target
from mlrank.solvers.ridge import GRADED_SIDE, RidgeSpace, linear_space

__all__ = [
    "BACKENDS",
    "LARGE",
    "HypergraphDirections",
    "RidgeSystem",
    "Solved",
    "exact_directions",
    "lstsq_directions",
    "printed_directions",
]

BACKENDS = ("auto", "direct", "iterative")
# Up to this size the smaller Gram matrix is decomposed once, which then serves every lam in no time.
SMALL = 400
# Up to this size it is decomposed for lam = 0, where the rank matters.
MEDIUM = 4000
# Up to this size it may be factorized for another lam.
LARGE = 10_000
# Nanoseconds, measured, of what the choice between iterating and factorizing rests on: a multiplication and addition of
# sparse rows with a block, of dense rows, of two blocks (the dozen or two of a step), and of two sparse rows; the
# factorization for each cube of the size, and passes over the Gram matrix for each square.
SPARSE, DENSE, BLOCK, PAIR, CUBE, SQUARE = 0.2, 0.08, 2.0, 2.0, 0.009, 8.0
EPS = float(np.finfo(np.float64).eps)
# Iterating is given up where its steps are foretold to take so many times as long as a factorization: that serves one
# lam, where steps serve all.
PATIENCE = 2.0
# A basis that all lam share has half as many columns as rows at most, and takes this many bytes at most.
BASIS_BYTES = 2 << 30
# Columns of B = Xc'H that are this small beside others are dependent on them.
START_TOLERANCE = 1e-14
# How often a tolerance is tightened by ten where the certificate is of another norm than the iteration's.
TIGHTENINGS = 4
# Features whose lengths are so many times apart are brought to one length in residuals.
APART = 1e3


class Solved(NamedTuple):
    """A solution and what certifies it, for r targets.

    Parameters
    ----------
    coef : (n_features, r), or (n_samples, r) dual coefficients of a kernel
    explained : (r, r) B'W
    target, residual : (r, r) B'B and R'R with R = B - (Xc'Xc + lam I) W, in feature space, where features are far
        apart with each divided by its length
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


def worst_target(solved: Solved) -> float:
    """Return the relative residual of the normal equations of the target where it is largest."""
    pairs = zip(np.diagonal(solved.residual), np.diagonal(solved.target), strict=True)
    return max((_relative(float(over), float(under)) for over, under in pairs), default=0.0)


def _relative(square: float, scale: float) -> float:
    return float(np.sqrt(max(square, 0.0) / scale)) if scale > 0 else 0.0


@dataclass(frozen=True)
class RidgeSystem:
    """The systems of one training set, of all lam and targets; what they share is computed when first needed.

    Parameters
    ----------
    rows : CenteredRows, or None with a kernel
    kernel : (n_samples, n_samples) centered kernel matrix, or None
    backend : one of BACKENDS
    grams, spectra, bases, sides : dict
        What was computed so far: by form, dual or primal, and bases by the name of the targets too; sides B = Xc'H by
        that name alone.
    """

    rows: CenteredRows | None
    kernel: FloatArray | None
    backend: str = "auto"
    grams: dict[bool, FloatArray] = field(default_factory=dict)
    spectra: dict[bool, Spectrum] = field(default_factory=dict)
    bases: dict[tuple[bool, str], BlockLanczos] = field(default_factory=dict)
    sides: dict[str, FloatArray] = field(default_factory=dict)

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

    def _gram(self, dual: bool) -> FloatArray:
        if dual not in self.grams:
            self.grams[dual] = self._kernel if self.rows is None else self.rows.gram(dual)
        return self.grams[dual]

    def _spectrum(self, dual: bool) -> Spectrum:
        if dual not in self.spectra:
            self.spectra[dual] = Spectrum.of(self._gram(dual).copy())
        return self.spectra[dual]

    def solve(self, H: FloatArray, lam: float, tol: float, max_iter: int, name: str) -> Solved:
        """Return W for the orthonormal targets `H`, (n_samples, r), to the relative residual `tol`.

        Targets of equal `name` must be equal: they share a basis. Features of far unlike length are brought to one
        length in the residual, which one of them would fill; where that is too large, a decomposition of the rows
        themselves takes the place of their Gram matrix's.
        """
        solved = self._solve(H, lam, tol, max_iter, name)
        if H.shape[1] == 0 or self.rows is None:
            return solved
        if self.unit is None:  # steps are judged by the rows, since they work with products of products
            return solved if solved.direct else self._judged(H, lam, solved, np.ones(self.rows.shape[1]), name)
        solved = self._judged(H, lam, solved, self.unit, name)
        if worst_target(solved) <= tol or self._graded is None:
            return solved
        ridge = self._graded.certified(self._graded.coef(self._graded.parts(H), lam), H, lam)
        explained = H.T @ ridge.fitted
        found = Solved(ridge.coef.T, (explained + explained.T) / 2, solved.target, solved.residual, solved.n_iter, True)
        return min(solved, self._judged(H, lam, found, self.unit, name), key=worst_target)

    @cached_property
    def unit(self) -> FloatArray | None:
        """Lengths of the features, 1 for one of zeros; None where they are not far apart, or there is a kernel."""
        if self.rows is None:
            return None
        lengths = self.rows.lengths
        used = lengths[lengths > 0]
        apart = used.size and float(used.max()) > APART * float(used.min())
        return np.where(lengths > 0, lengths, 1.0) if apart else None

    @cached_property
    def _graded(self) -> RidgeSpace | None:
        rows = self.rows
        if rows is None or min(rows.shape) > GRADED_SIDE:
            return None
        return linear_space(rows, centered=bool(rows.shifted)).graded

    def _judged(self, H: FloatArray, lam: float, solved: Solved, unit: FloatArray, name: str) -> Solved:
        """Return the solution with B'B and the residual on the rows, of features divided by `unit`."""
        assert self.rows is not None
        if name not in self.sides:
            self.sides[name] = self.rows.transpose_times(H)
        B, coef = self.sides[name], solved.coef
        rest = B - self.rows.transpose_times(self.rows.times(coef)) - lam * coef
        B, rest = B / unit[:, None], rest / unit[:, None]
        # What the products of the residual itself round to, where terms of a row or feature cancel.
        lengths = self.rows.lengths
        lost = EPS * float(np.linalg.norm(lengths / unit)) * (lengths @ np.abs(coef))
        return solved._replace(target=B.T @ B, residual=rest.T @ rest + np.diag(lost**2))

    def _solve(self, H: FloatArray, lam: float, tol: float, max_iter: int, name: str) -> Solved:
        n_samples, n_features = self.shape
        smaller = min(n_samples, n_features)
        by_kernel = self.rows is None
        direct = smaller <= SMALL or (lam == 0 and (smaller <= MEDIUM or by_kernel))
        if H.shape[1] == 0:
            return self._nothing()
        if self.backend == "direct" or (self.backend == "auto" and direct):
            return self._direct(H, lam)
        dual = by_kernel or (lam > 0 and n_samples <= n_features)
        found = self._iterate(H, lam, tol, max_iter, dual, name)
        if found is not None:
            return found
        if self.backend == "auto" and lam > 0 and smaller <= LARGE:
            return self._direct(H, lam)
        return self._long(H, lam, tol, max_iter, dual)

    def _nothing(self) -> Solved:
        size = self.shape[0] if self.rows is None else self.shape[1]
        empty = np.zeros((0, 0))
        return Solved(np.zeros((size, 0)), empty, empty, empty, 1, True)

    def _direct(self, H: FloatArray, lam: float) -> Solved:
        if lam > 0 and min(self.shape) > SMALL:
            return self._factorized(H, lam)
        if self.rows is None or self.shape[0] <= self.shape[1]:
            spectrum = self._spectrum(dual=True)
            parts = spectrum.vectors.T @ H
            weight = 1.0 / (spectrum.values + lam)
            dual = spectrum.vectors @ (weight[:, None] * parts)
            coef = dual if self.rows is None else self.rows.transpose_times(dual)
            return self._certified(H, lam, coef, (parts.T * (spectrum.values * weight)) @ parts)
        spectrum = self._spectrum(dual=False)
        parts = spectrum.vectors.T @ self.rows.transpose_times(H)
        weight = 1.0 / (spectrum.values + lam)
        coef = spectrum.vectors @ (weight[:, None] * parts)
        return self._certified(H, lam, coef, (parts.T * weight) @ parts)

    def _factorized(self, H: FloatArray, lam: float) -> Solved:
        """Solve by a Cholesky factorization of the smaller Gram matrix, which a lam above 0 makes regular."""
        dual = self.rows is None or self.shape[0] <= self.shape[1]
        gram = self._gram(dual).copy()
        gram[np.diag_indices_from(gram)] += lam
        start = self._start(H, dual)
        # Of the transpose, which is the matrix itself, so that it is factorized in place.
        coef = cho_solve(cho_factor(gram.T, overwrite_a=True, check_finite=False), start, check_finite=False)
        explained = self._explained(start, coef, lam, dual)
        if self.rows is not None and dual:
            coef = self.rows.transpose_times(coef)
        return self._certified(H, lam, coef, explained)

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
            begin = self._start(H, dual)
            start, _ = range_basis(begin, START_TOLERANCE)
            scale = start.T @ begin
            self.bases[dual, name] = BlockLanczos(self._operator(dual), start, scale, energy=dual)
        basis = self.bases[dual, name]
        size, width = H.shape[0] if dual else self.shape[1], H.shape[1]
        columns = min(size // 2, BASIS_BYTES // (8 * size))
        worth = np.inf
        if self.backend == "auto" and lam > 0 and min(self.shape) <= LARGE:
            worth = PATIENCE * self._factorization_cost(dual) / self._step_cost(dual, width)
        found = basis.solve(lam, tol, min(max_iter, max(columns // width, 1)), worth)
        if found is None:
            return None
        coef = basis.combine(found.weights)
        explained = self._explained(basis.start @ basis.scale, coef, lam, dual)
        if dual and self.rows is not None:
            coef = self.rows.transpose_times(coef)
        target, residual = basis.energy_of(basis.scale, 0), basis.energy_of(found.tail, found.n_blocks)
        return Solved(coef, explained, target, residual, found.n_blocks, direct=False)

    def _step_cost(self, dual: bool, width: int) -> float:
        """Return about how long one step with a block of so many columns takes."""
        if self.rows is None:
            products = DENSE * self.shape[0] ** 2
        else:
            X = self.rows.rows
            products = 2 * (SPARSE * X.nnz if issparse(X) else DENSE * X.size)
        return products * width + BLOCK * self.shape[0 if dual else 1] * width**2

    def _factorization_cost(self, dual: bool) -> float:
        """Return about how long a factorization takes, with the Gram matrix, even if that is there already.

        What a lam gets would depend on those solved before, otherwise.
        """
        size = self.shape[0 if dual else 1]
        X = None if self.rows is None else self.rows.rows
        if X is None:
            gram = 0.0
        elif issparse(X):
            # Every two nonzeros of a column, or of a row.
            counts = np.bincount(X.indices) if dual else np.diff(X.indptr)
            gram = PAIR / 2 * float((counts.astype(np.float64) ** 2).sum())
        else:
            gram = DENSE / 2 * X.size * size
        return gram + CUBE * size**3 + SQUARE * size**2

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


# Eigenvalues below this part of the largest carry no direction.
RANK_TOLERANCE = 1e-10


class HypergraphDirections(NamedTuple):
    """W, (n_features, r) or the dual coefficients of a kernel, with its eigenvalues if any, and how it was found."""

    coef: FloatArray
    eigenvalues: FloatArray | None
    info: FitInfo


def lstsq_directions(
    system: RidgeSystem, target: Target, lam: float, tol: float, max_iter: int, name: str
) -> HypergraphDirections:
    """Return the solution of eq. 28, of least norm with lam = 0."""
    solved = system.solve(target.basis, lam, tol, max_iter, name)
    for extra in range(1, TIGHTENINGS + 1):
        optimality = worst_target(solved)
        if optimality <= tol or solved.direct or solved.n_iter >= max_iter:
            break
        solved = system.solve(target.basis, lam, tol / 10**extra, max_iter, name)
    # |XcW - H|^2 + lam|W|^2 = |H|^2 - trace(B'W) at the minimum; a free bias takes the mean off H.
    loss = target.basis.shape[1] - target.basis.shape[0] * float(target.mean @ target.mean) - np.trace(solved.explained)
    return HypergraphDirections(solved.coef, None, FitInfo(solved.n_iter, float(loss), optimality, optimality <= tol))


def exact_directions(
    system: RidgeSystem, target: Target, lam: float, unit: bool, tol: float, max_iter: int, name: str
) -> HypergraphDirections:
    """Return the solution of eq. 12 from the ridge system of eq. 28 and an r x r eigenproblem."""
    for extra in range(TIGHTENINGS + 1):
        solved = system.solve(target.basis, lam, tol / 10**extra, max_iter, name)
        eigenvalues, turn = _small_problem(solved, target.values)
        optimality = max(worst_target(solved), _eigen_residual(solved, eigenvalues, turn))
        if optimality <= tol or solved.direct or solved.n_iter >= max_iter:
            break
    coef = solved.coef @ turn
    if unit:
        coef = coef / _lengths(system, coef)
    info = FitInfo(solved.n_iter, float(eigenvalues.sum()), optimality, optimality <= tol)
    return HypergraphDirections(coef, eigenvalues, info)


def _small_problem(solved: Solved, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return eigenvalues and the turn C with W = ZC and W'(Xc'Xc + lam I)W = I."""
    if values.size == 0:
        return values, np.zeros((0, 0))
    small = values[:, None] * solved.explained * values
    eigenvalues, vectors = eigh((small + small.T) / 2)
    keep = eigenvalues[::-1] > RANK_TOLERANCE * max(eigenvalues[-1], 0.0)
    eigenvalues, vectors = eigenvalues[::-1][keep], vectors[:, ::-1][:, keep]
    return eigenvalues, values[:, None] * vectors / np.sqrt(eigenvalues)


def _eigen_residual(solved: Solved, eigenvalues: FloatArray, turn: FloatArray) -> float:
    """Return the relative residual of Xc'S Xc W = (Xc'Xc + lam I) W D: with B and R of the system it is RCD of BCD."""
    scaled = turn * eigenvalues
    over, under = (float(np.einsum("ij,ij", scaled, gram @ scaled)) for gram in (solved.residual, solved.target))
    return _relative(over, under)


def _lengths(system: RidgeSystem, coef: FloatArray) -> FloatArray:
    if system.kernel is not None:
        return np.asarray(np.sqrt(np.einsum("ij,ij->j", coef, system.kernel @ coef)))
    return np.asarray(np.linalg.norm(coef, axis=0))


def printed_directions(system: RidgeSystem, target: Target, lam: float, unit: bool, tol: float) -> HypergraphDirections:
    """Return the solution of eq. 13 or 14 as printed: the eigenvectors of a d x d matrix, dense, O(n d^2 + d^3)."""
    if system.rows is None:
        raise ValueError("the eigenproblem as printed has no kernel form")
    metric = system.rows.gram(dual=False)
    edges = system.rows.transpose_times(target.basis * target.values)
    similarity = edges @ edges.T
    most = target.basis.shape[1]
    if lam > 0:
        metric[np.diag_indices_from(metric)] += lam
        eigenvalues, coef = eigh(similarity, metric)
    else:
        eigenvalues, coef = _within_range(similarity, metric)
    eigenvalues, coef = eigenvalues[::-1][:most], coef[:, ::-1][:, :most]
    keep = eigenvalues > RANK_TOLERANCE * max(eigenvalues[:1].sum(), 0.0)
    eigenvalues, coef = eigenvalues[keep], np.ascontiguousarray(coef[:, keep])
    left, right = similarity @ coef, metric @ coef * eigenvalues
    if system.unit is not None:
        left, right = left / system.unit[:, None], right / system.unit[:, None]
    optimality = _relative(float(((left - right) ** 2).sum()), float((left**2).sum()))
    info = FitInfo(1, float(eigenvalues.sum()), optimality, optimality <= tol)
    return HypergraphDirections(coef / _lengths(system, coef) if unit else coef, eigenvalues, info)


def _within_range(similarity: FloatArray, metric: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Solve eq. 13, whose pseudo-inverse confines it to the range of Xc'."""
    values, vectors = eigh(metric)
    keep = values > len(values) * np.finfo(np.float64).eps * max(values[-1], 0.0)
    whitened = vectors[:, keep] / np.sqrt(values[keep])
    eigenvalues, turn = eigh(whitened.T @ similarity @ whitened) if keep.any() else (np.zeros(0), np.zeros((0, 0)))
    return eigenvalues, whitened @ turn
