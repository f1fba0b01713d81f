"""The directions W of hypergraph spectral learning: from one ridge system, and by the paper's own eigenproblem."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from mlrank.arrays import FloatArray
from mlrank.solvers._hypergraph_systems import TIGHTENINGS, Solved, System
from mlrank.solvers.base import FitInfo

__all__ = ["Directions", "Target", "exact_directions", "lstsq_directions", "printed_directions"]

# Eigenvalues below this part of the largest carry no direction.
RANK_TOLERANCE = 1e-10


class Target(NamedTuple):
    """H0 = basis @ diag(values) @ V', its basis orthonormal.

    Parameters
    ----------
    basis : (n_samples, r) ndarray
    values : (r,) ndarray, largest first
    """

    basis: FloatArray
    values: FloatArray

    @property
    def mean(self) -> FloatArray:
        """Mean of the targets; zero where the factor was centred."""
        mean: FloatArray = self.basis.mean(axis=0)
        return mean


class Directions(NamedTuple):
    """W, (n_features, r) or the dual coefficients of a kernel, with its eigenvalues if any, and how it was found."""

    coef: FloatArray
    eigenvalues: FloatArray | None
    info: FitInfo


def lstsq_directions(system: System, target: Target, lam: float, tol: float, max_iter: int, name: str) -> Directions:
    """Return the solution of eq. 28, of least norm with lam = 0."""
    solved = system.solve(target.basis, lam, tol, max_iter, name)
    for extra in range(1, TIGHTENINGS + 1):
        optimality = _relative(np.trace(solved.residual), np.trace(solved.target))
        if optimality <= tol or solved.direct or solved.n_iter >= max_iter:
            break
        solved = system.solve(target.basis, lam, tol / 10**extra, max_iter, name)
    # |XcW - H|^2 + lam|W|^2 = |H|^2 - trace(B'W) at the minimum; a free bias takes the mean off H.
    loss = target.basis.shape[1] - target.basis.shape[0] * float(target.mean @ target.mean) - np.trace(solved.explained)
    return Directions(solved.coef, None, FitInfo(solved.n_iter, float(loss), optimality, optimality <= tol))


def exact_directions(
    system: System, target: Target, lam: float, unit: bool, tol: float, max_iter: int, name: str
) -> Directions:
    """Return the solution of eq. 12 from the ridge system of eq. 28 and an r x r eigenproblem."""
    for extra in range(TIGHTENINGS + 1):
        solved = system.solve(target.basis, lam, tol / 10**extra, max_iter, name)
        eigenvalues, turn = _small_problem(solved, target.values)
        optimality = max(
            _relative(np.trace(solved.residual), np.trace(solved.target)), _eigen_residual(solved, eigenvalues, turn)
        )
        if optimality <= tol or solved.direct or solved.n_iter >= max_iter:
            break
    coef = solved.coef @ turn
    if unit:
        coef = coef / _lengths(system, coef)
    info = FitInfo(solved.n_iter, float(eigenvalues.sum()), optimality, optimality <= tol)
    return Directions(coef, eigenvalues, info)


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


def _relative(square: float, scale: float) -> float:
    return float(np.sqrt(max(square, 0.0) / scale)) if scale > 0 else 0.0


def _lengths(system: System, coef: FloatArray) -> FloatArray:
    if system.kernel is not None:
        return np.asarray(np.sqrt(np.einsum("ij,ij->j", coef, system.kernel @ coef)))
    return np.asarray(np.linalg.norm(coef, axis=0))


def printed_directions(system: System, target: Target, lam: float, unit: bool, tol: float) -> Directions:
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
    optimality = _relative(float(((left - right) ** 2).sum()), float((left**2).sum()))
    info = FitInfo(1, float(eigenvalues.sum()), optimality, optimality <= tol)
    return Directions(coef / _lengths(system, coef) if unit else coef, eigenvalues, info)


def _within_range(similarity: FloatArray, metric: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Solve eq. 13, whose pseudo-inverse confines it to the range of Xc'."""
    values, vectors = eigh(metric)
    keep = values > len(values) * np.finfo(np.float64).eps * max(values[-1], 0.0)
    whitened = vectors[:, keep] / np.sqrt(values[keep])
    eigenvalues, turn = eigh(whitened.T @ similarity @ whitened) if keep.any() else (np.zeros(0), np.zeros((0, 0)))
    return eigenvalues, whitened @ turn
