"""MCGF: label propagation by the Green's function of a graph, with label correlations.

A graph A joins all rows, with labels or without, to their nearest neighbors; L is its Laplacian and G = L^+ its
Green's function, the inverse without the zero mode of each connected part. Y0 holds the labels as +1 and -1, and 0 for
rows without; Corr the cosines between label columns. How the correlations enter is not settled by what is published of
the method, so there are three readings::

    variant="product"      F = G Y0 (I + a Corr0),  Corr0 = Corr with zero diagonal
    variant="sylvester"    min_F  b |F - Y0|^2 + tr(F'LF) - a' tr(F Corr F'),   a' = rho b / lambda_max(Corr)
                           (L + b I) F - a' F Corr = b Y0
    variant="similarity"   as "product", on the graph A + g A_label with A_label(i, i') = y_i'Corr y_i' / (|y_i||y_i'|)
                           between the rows with labels

G Y0 is the F without component means that solves L F = Y0 less its component means: by conjugate gradients, without G.
`optimality` is the relative residual of that system or of the Sylvester equation, computed from F: the largest of
a part of the graph and a label (`parts`), since a large part would hide the others. `objective` is the
minimum for "sylvester", and that of tr(F'LF) - 2 tr(F'Y0) over F before correlations for the others. One iteration is
one product of the graph with all labels.

A label that all training rows carry, or none, tells nothing: the other labels are scored as if it were not there, and
its score is a constant as large as the largest other score, and at least 1, above or below zero. Rows in a part of the
graph without any training row score 0. Scores are of the rows given, not of others.

References: Ding, Simon, Jin & Li, KDD 2007 (the Green's function); Wang, Huang & Ding, ICCV 2009.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np
from scipy.sparse import block_array, csr_array, eye_array

from mlrank.arrays import BoolArray, FloatArray, IntArray
from mlrank.graphs import component_of, laplacian, without_means
from mlrank.solvers.base import CertificateKind, FitInfo, TrainingSet, check_choices, check_not_negative, check_positive
from mlrank.solvers.models import TransductiveModel
from mlrank.solvers.propagation.parts import part_by_part
from mlrank.solvers.propagation.systems import GraphSolution, LikeRows, label_cosines, sylvester
from mlrank.solvers.row_graph import GRAPH_SETTINGS, GraphSettings, RowGraph
from mlrank.solvers.scales import scale_notes

__all__ = [
    "MCGF",
    "Propagation",
]

VARIANTS = ("product", "sylvester", "similarity")
CODINGS = ("signs", "zero_one")
MOST_RHO = 0.95


@dataclass(frozen=True)
class Propagation:
    """The graph of rows, and what has been propagated on it, which is the same for every `a`."""

    rows: RowGraph
    solved: dict[tuple[object, ...], tuple[GraphSolution, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class MCGF:
    """Labels spread over a graph of rows by its Green's function, then over correlated labels.

    Use it in place of SMSE to compare with label propagation by a Green's function.

    Parameters
    ----------
    variant : {"product", "sylvester", "similarity"}
        How label correlations enter.
    a : float
        Weight of the correlations in "product" and "similarity", 0 or more.
    b : float
        Of "sylvester": weight of the labels, above 0.
    rho : float
        Of "sylvester": weight of the correlations, from 0 to 0.95 of what leaves the problem bounded.
    g : float
        Of "similarity": weight of the edges between rows of like labels, 0 or more.
    coding : {"signs", "zero_one"}
        Whether an absent label is -1, or 0 like a row without labels.
    graph : {"self_tuning", "gaussian", "cosine"}
        Weights of the graph of rows (`mlrank.graphs`).
    n_neighbors : int
        Neighbors that each row chooses.
    scale_neighbor : int
        Of graph "self_tuning".
    width : float, optional
        sigma of graph "gaussian", tau of graph "cosine".
    symmetrize : {"max", "mutual"}
        Whether one end of an edge must have chosen the other, or both.
    tol : float
        Relative residual at which to stop.
    max_iter : int
        Most products of the graph with all labels.

    References
    ----------
    Ding, Simon, Jin and Li, "A learning framework using Green's function and kernel regularization with application to
    recommender system", KDD 2007. Wang, Huang and Ding, "Image annotation using multi-label correlated Green's
    function", ICCV 2009.
    """

    variant: str = "product"
    a: float = 0.1
    b: float = 1.0
    rho: float = 0.5
    g: float = 0.01
    coding: str = "signs"
    graph: str = "self_tuning"
    n_neighbors: int = 10
    scale_neighbor: int = 7
    width: float | None = None
    symmetrize: str = "max"
    tol: float = 1e-8
    max_iter: int = 10_000

    SHARED: ClassVar[tuple[str, ...]] = GRAPH_SETTINGS
    USES_UNLABELED: ClassVar[bool] = True
    TRANSDUCTIVE: ClassVar[bool] = True
    CERTIFICATE: ClassVar[CertificateKind | None] = "residual"

    def __post_init__(self) -> None:
        check_positive(self, "b", "tol", "max_iter")
        check_not_negative(self, "a", "rho", "g")
        GraphSettings.of(self)
        if self.rho > MOST_RHO:
            raise ValueError(f"rho must be at most {MOST_RHO}, so that the problem is bounded, found {self.rho!r}")
        check_choices(self, {"variant": VARIANTS, "coding": CODINGS})

    def prepare(self, train: TrainingSet) -> Propagation:
        """Build the graph of rows; it is the same for every weight."""
        return Propagation(GraphSettings.of(self).build(train))

    def natural_cut(self, train: TrainingSet) -> float:
        """Return the middle between the codes of labels; 0 for the Green's function, which takes means off."""
        return 0.5 if (self.variant, self.coding) == ("sylvester", "zero_one") else 0.0

    def cost(self, n_samples: int, n_features: int, n_labels: int) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow with the number of rows, features and labels."""
        return GraphSettings.of(self).cost(n_samples, n_features, n_labels)

    def fit(self, train: TrainingSet, prepared: Propagation | None = None) -> TransductiveModel:
        """Score the rows of `train`, with labels and without."""
        propagation = self.prepare(train) if prepared is None else prepared
        rows = propagation.rows
        telling = np.asarray(train.dense_Y.any(axis=0) & ~train.dense_Y.all(axis=0))
        Y = train.dense_Y & telling
        solution, objective = self._spread(propagation, Y, self._targets(rows, Y, telling))
        scores = solution.F
        if self.variant != "sylvester":
            corr = label_cosines(Y)
            np.fill_diagonal(corr, 0.0)
            scores = scores + self.a * (scores @ corr)
        scores = _with_constants(scores, train.dense_Y, telling)
        converged = solution.optimality <= self.tol
        notes = rows.notes + _notes(rows, ~telling) + scale_notes(train, converged)
        return rows.model(scores, FitInfo(solution.n_iter, objective, solution.optimality, converged, notes))

    def _targets(self, rows: RowGraph, Y: BoolArray, telling: BoolArray) -> FloatArray:
        Y0 = np.zeros((rows.A.shape[0], Y.shape[1]))
        Y0[: rows.n_train] = np.where(Y, 1.0, -1.0 if self.coding == "signs" else 0.0) * telling
        return Y0

    def _spread(self, propagation: Propagation, Y: BoolArray, Y0: FloatArray) -> tuple[GraphSolution, float]:
        key = (self.variant, self.b, self.rho, self.g, self.coding, self.tol, self.max_iter)
        if key not in propagation.solved:
            solve = self._regularized if self.variant == "sylvester" else self._green
            propagation.solved[key] = solve(propagation.rows, Y, Y0)
        return propagation.solved[key]

    def _regularized(self, rows: RowGraph, Y: BoolArray, Y0: FloatArray) -> tuple[GraphSolution, float]:
        L, corr, b = laplacian(rows.A), label_cosines(Y), self.b
        C = -self.rho * b / float(np.linalg.eigvalsh(corr)[-1]) * corr
        solution = sylvester(lambda V: L @ V + b * V, L.diagonal() + b, C, b * Y0, self.tol, self.max_iter)
        A = csr_array(L + b * eye_array(len(Y0)))
        solution = part_by_part(A, C, b * Y0, solution, self.tol, self.max_iter)
        F = solution.F
        return solution, float(b * ((F - Y0) ** 2).sum() + np.vdot(F, L @ F) + np.vdot(F @ C, F))

    def _green(self, rows: RowGraph, Y: BoolArray, Y0: FloatArray) -> tuple[GraphSolution, float]:
        L, graph = laplacian(rows.A), rows.A
        product, diagonal, C = L.__matmul__, L.diagonal(), np.zeros((Y.shape[1],) * 2)
        joined = self.variant == "similarity" and self.g > 0
        if joined:
            like = LikeRows.of(Y)
            product = partial(_joined, L, like, self.g)
            diagonal[: rows.n_train] += self.g * like.diagonal
            graph = _with_label_nodes(rows.A, Y)
        part = component_of(graph)[1][: rows.A.shape[0]]
        B = without_means(Y0, part)
        solution = sylvester(product, diagonal, C, B, self.tol, self.max_iter)
        if joined:
            solution = _of_each_part(solution, product, diagonal, B, part, self.tol, self.max_iter)
        else:
            solution = part_by_part(L, C, B, solution, self.tol, self.max_iter, np.zeros(len(B)))
        F = without_means(solution.F, part)
        return solution._replace(F=F), float(np.vdot(F, product(F) - 2 * B))


def _of_each_part(
    solution: GraphSolution, product: Callable[[FloatArray], FloatArray], diagonal: FloatArray, B: FloatArray,
    part: IntArray, tol: float, max_iter: int,
) -> GraphSolution:  # fmt: skip
    """Return the solution with the largest residual of a connected part and a label, relative to their own targets.

    A large part, or a label of many rows, otherwise hides others. Once more to the tolerance that these need.
    """
    members = csr_array((np.ones(len(part)), part, np.arange(len(part) + 1)), shape=(len(part), int(part.max()) + 1))

    def worst(F: FloatArray) -> float:
        rest, own = (np.sqrt(members.T @ V**2) for V in (B - product(F), B))
        return float(np.divide(rest, own, out=np.where(rest > 0, np.inf, 0.0), where=own > 0).max(initial=0.0))

    error, again = worst(solution.F), solution
    if error > tol:
        goal = 0.5 * tol * solution.optimality / error
        again = sylvester(product, diagonal, np.zeros((B.shape[1],) * 2), B, goal, max_iter)
    better = min(error, worst(again.F))
    F = again.F if better < error else solution.F
    return GraphSolution(F, max(solution.n_iter, again.n_iter), better)


def _joined(L: csr_array, like: LikeRows, g: float, V: FloatArray) -> FloatArray:
    """Return (L + g L_label) V, L_label the Laplacian of A_label on the training rows, which come first."""
    moved: FloatArray = L @ V
    moved[: like.Z.shape[0]] += g * like.laplacian_times(V[: like.Z.shape[0]])
    return moved


def _with_label_nodes(A: csr_array, Y: BoolArray) -> csr_array:
    """Return a graph with the connected parts of A + A_label, in which each label is a row joined to those carrying it.

    Rows are alike if they share a label, or carry labels that some third row shares: either way a path joins them.
    """
    carried = csr_array(np.vstack([Y, np.zeros((A.shape[0] - len(Y), Y.shape[1]), dtype=np.bool_)]), dtype=np.float64)
    return csr_array(block_array([[A, carried], [carried.T, None]], format="csr"))


def _with_constants(scores: FloatArray, Y: BoolArray, telling: BoolArray) -> FloatArray:
    """Return the scores with constants for labels of one class, beyond all others."""
    if telling.all():
        return scores
    most = max(1.0, float(np.abs(scores[:, telling]).max(initial=0.0)))
    constants = np.where(Y.all(axis=0), most, -most)
    return np.where(telling, scores, constants)


def _notes(rows: RowGraph, constant: BoolArray) -> tuple[str, ...]:
    lost = rows.out_of_reach(component_of(rows.A)[1]).size
    notes = [f"{lost} rows joined to no training row score 0"] if lost else []
    if constant.any():
        notes.append(f"{int(constant.sum())} labels of all or no training rows have constant scores")
    return tuple(notes)
