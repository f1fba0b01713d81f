"""Symmetric systems A F + F C = B on a graph whose parts are joined by edges of next to no weight.

A residual that is small beside B says nothing of a part of the graph that B does not touch: all it hears comes through
edges of 1e-8, say, and its scores may be those of no label at all. So the part has a right-hand side of its own: its
rows of B and what reaches it from other parts. Each residual is relative to that, for each part and each column.

Where A is a Laplacian, and what leaves a part is all that keeps its block from being singular, the level of each part
is found by itself first, from sums of edges that leave parts, in which nothing cancels.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, lstsq
from scipy.sparse import coo_array, csr_array, diags_array
from scipy.sparse.csgraph import connected_components

from mlrank.arrays import FloatArray, IntArray
from mlrank.solvers.propagation.systems import GraphSolution, shifted_cg

__all__ = ["part_by_part"]

# Edges below this part of the heaviest edge of both their ends join no parts.
WEAK = 1e-4
# Parts are mended one by one, and their levels together, up to so many parts, in so many rounds.
MOST_PARTS, ROUNDS = 500, 6


class GraphParts(NamedTuple):
    """A split into what is within parts and between them.

    Parameters
    ----------
    part : (n,) int ndarray
        Which part each row is in.
    n_parts : int
    within, between : (n, n) csr_array
        Their sum is A but for `outflow`, where it is given.
    outflow : (n,) ndarray or None
        Of a Laplacian: what leaves each row for other parts and beyond. `within` is then the Laplacian of the parts.
    """

    part: IntArray
    n_parts: int
    within: csr_array
    between: csr_array
    outflow: FloatArray | None

    @classmethod
    def of(cls, A: csr_array, leak: FloatArray | None) -> "GraphParts":
        """Split `A`; of a Laplacian, `leak` is what leaves each row for rows that are not there."""
        entries = coo_array(A)
        off = entries.row != entries.col
        row, col, weight = entries.row[off], entries.col[off], -entries.data[off]
        heaviest = np.zeros(A.shape[0])
        np.maximum.at(heaviest, row, weight)
        strong = weight >= WEAK * np.minimum(heaviest[row], heaviest[col])
        n_parts, part = connected_components(csr_array((weight[strong], (row[strong], col[strong])), shape=A.shape))
        apart = part[row] != part[col]
        between = csr_array((-weight[apart], (row[apart], col[apart])), shape=A.shape)
        inside = csr_array((weight[~apart], (row[~apart], col[~apart])), shape=A.shape)
        if leak is None:
            return cls(part.astype(np.int64), n_parts, csr_array(A - between), between, None)
        within = csr_array(diags_array(np.asarray(inside.sum(axis=1)).ravel()) - inside)
        outflow = leak - np.asarray(between.sum(axis=1)).ravel()
        return cls(part.astype(np.int64), n_parts, within, between, outflow)

    def sums(self, V: FloatArray) -> FloatArray:
        """Return the sums over each part, (n_parts, k)."""
        totals = np.zeros((self.n_parts, V.shape[1]))
        np.add.at(totals, self.part, V)
        return totals

    def residual(self, B: FloatArray, shifts: FloatArray, G: FloatArray) -> FloatArray:
        """Return B - (A + shifts) G."""
        rest: FloatArray = B - self.between @ G - shifts * G
        if self.outflow is None:
            rest -= self.within @ G
            return rest
        # The Laplacian of a part maps its level to zero, which rounding would not.
        inside: FloatArray = self.within @ (G - self.means(G)[self.part])
        rest -= self.outflow[:, None] * G + inside
        return rest

    def errors(self, B: FloatArray, shifts: FloatArray, G: FloatArray, residual: FloatArray) -> FloatArray:
        """Return the length of the residual of each part and column over that of the part's own right-hand side.

        Of a Laplacian the sum of the residual, which moves the level of a part, is taken from what leaves the part. The
        rest is of differences within the part, and relative to a part of its scores as well.
        """
        heard = np.abs(B) + abs(self.between) @ np.abs(G)
        own, rest = np.sqrt(self.sums(heard**2)), residual
        level = np.zeros_like(own)
        if self.outflow is not None:
            rest = residual - self.means(residual)[self.part]
            own = own + WEAK * np.sqrt(self.sums((self.within.diagonal()[:, None] * G) ** 2))
            level = _ratio(np.abs(self.left_over(B, shifts, G)), self.sums(heard))
        return np.maximum(level, _ratio(np.sqrt(self.sums(rest**2)), own))

    def means(self, V: FloatArray) -> FloatArray:
        """Return the means over each part, (n_parts, k)."""
        means: FloatArray = self.sums(V) / np.bincount(self.part)[:, None]
        return means

    def left_over(self, B: FloatArray, shifts: FloatArray, G: FloatArray) -> FloatArray:
        """Return the sums of the residual of a Laplacian over each part, without what cancels within it."""
        assert self.outflow is not None
        return self.sums(B - self.between @ G - (self.outflow[:, None] + shifts) * G)

    def levels(self, B: FloatArray, shifts: FloatArray, G: FloatArray) -> FloatArray:
        """Return what to add to all scores of each part, (n_parts, k), so that the residuals of parts sum to zero."""
        assert self.outflow is not None
        rest = self.left_over(B, shifts, G)
        joined = np.zeros((self.n_parts, self.n_parts))
        entries = coo_array(self.between)
        np.add.at(joined, (self.part[entries.row], self.part[entries.col]), entries.data)
        joined[np.diag_indices_from(joined)] += np.bincount(self.part, self.outflow, self.n_parts)
        sizes, added = np.bincount(self.part), np.zeros_like(rest)
        for shift in np.unique(shifts):
            columns = shifts == shift
            system = joined + shift * np.diag(sizes)
            root = np.sqrt(np.where(np.diag(system) > 0, np.diag(system), 1.0))
            scaled = system / root[:, None] / root
            added[:, columns] = lstsq(scaled, rest[:, columns] / root[:, None])[0] / root[:, None]
        return added


def part_by_part(
    A: csr_array, C: FloatArray, B: FloatArray, solution: GraphSolution, tol: float, max_iter: int,
    leak: FloatArray | None = None,
) -> GraphSolution:  # fmt: skip
    """Return the solution of A F + F C = B with its residual relative to each part and column, solved where needed.

    Parameters
    ----------
    A : (n, n) csr_array, symmetric
    C : (k, k) symmetric ndarray
    B : (n, k) ndarray
    solution : GraphSolution
        To the relative residual `tol` as a whole.
    tol, max_iter : float, int
    leak : (n,) ndarray, optional
        Where A is the Laplacian of a larger graph without some of its rows: the weight of each row's edges to those.
    """
    if B.size == 0:
        return solution
    parts = GraphParts.of(A, leak)
    shifts, Q = eigh(C)
    # Laplacians have no eigenvalue below zero, and one that is zero is to be zero.
    shifts = np.where(
        np.abs(shifts) <= len(C) * np.finfo(np.float64).eps * np.abs(shifts).max(initial=0.0), 0.0, shifts
    )
    D, G, n_iter = B @ Q, solution.F @ Q, solution.n_iter
    residual = parts.residual(D, shifts, G)
    errors = parts.errors(D, shifts, G, residual)
    worst = float(errors.max(initial=0.0))
    best, start = (worst, G), G
    for _ in range(ROUNDS if parts.n_parts <= MOST_PARTS else 0):
        if worst <= tol or n_iter >= max_iter:
            break
        if parts.outflow is not None:
            G = G + parts.levels(D, shifts, G)[parts.part]
            residual = parts.residual(D, shifts, G)
            errors = parts.errors(D, shifts, G, residual)
        G = G.copy()
        for number in np.flatnonzero((errors > tol / 2).any(axis=1)):
            rows = np.flatnonzero(parts.part == number)
            move, spent = _part(parts, rows, residual[rows], shifts, tol, max_iter - n_iter)
            G[rows] += move
            n_iter += spent
        residual = parts.residual(D, shifts, G)
        errors = parts.errors(D, shifts, G, residual)
        worst = float(errors.max(initial=0.0))
        if worst < best[0]:
            best = (worst, G)
    F = solution.F if best[1] is start else best[1] @ Q.T
    return GraphSolution(F, n_iter, best[0])


def _part(
    parts: GraphParts, rows: IntArray, residual: FloatArray, shifts: FloatArray, tol: float, max_iter: int
) -> tuple[FloatArray, int]:
    """Solve for the rows of one part."""
    block = parts.within[rows][:, rows]
    if parts.outflow is not None:
        residual = residual - residual.mean(axis=0)
        block = csr_array(block + diags_array(parts.outflow[rows]))
    lengths = np.sqrt(np.einsum("ij,ij->j", residual, residual))
    scale = np.where(lengths > 0, lengths, 1.0)
    solved, n_iter = shifted_cg(lambda V: block @ V, block.diagonal(), residual / scale, shifts, tol / 4, max_iter)
    return solved * scale, n_iter


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    ratio: FloatArray = np.divide(above, below, out=np.where(above > 0, np.inf, 0.0), where=below > 0)
    return ratio
