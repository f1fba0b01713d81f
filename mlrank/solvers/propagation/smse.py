"""SMSE: semi-supervised multi-label learning by a Sylvester equation (Chen, Song, Wang and Zhang, SDM 2008).

A graph A joins all rows, with labels or without, to their nearest neighbors; a second one, B, joins labels by the
cosine of their columns, B_jj' = exp(-(1 - cos(y_j, y_j')) / tau). L and H are their Laplacians, Ln and Hn the
normalized ones. Scores F are smooth on both graphs::

    variant="smse1"   min_F  mu tr(F'LF) + nu tr(FHF'),                             rows with labels fixed, F_L = Y_L
                      mu L_UU F_U + nu F_U H = -mu L_UL Y_L
    variant="smse2"   min_F  |F - Y0|^2 + beta tr(F'Ln F) + gamma tr(F Hn F'),      Y0 the labels, 0 without label
                      (I + beta Ln) F + gamma F Hn = Y0

`objective` is the minimum and `optimality` the relative residual of the Sylvester equation, computed from F: the
largest of all parts of the graph that are joined by edges of next to no weight, and of all eigenvectors of the label
graph, each relative to its own right-hand side (`mlrank.solvers.propagation.parts`). One iteration is one product of
the graph with all labels. Label graphs are small and are decomposed into eigenvectors, so
that each column is a system of its own (`sylvester`).

In smse1 a part of the graph without any row with labels is not determined by the equation: there each label's score is
its mean over the rows with labels. In smse2 such scores are 0.

Scores are of the rows given, not of others. Those of training rows are their labels in smse1, and pulled towards them
in smse2: fit thresholds to held-out scores, as per_label_f1 does by itself.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array, diags_array

from mlrank.arrays import BoolArray, FloatArray
from mlrank.graphs import component_of, laplacian
from mlrank.solvers.base import CertificateKind, FitInfo, TrainingSet, check_choices, check_not_negative, check_positive
from mlrank.solvers.models import TransductiveModel
from mlrank.solvers.propagation.parts import part_by_part
from mlrank.solvers.propagation.systems import GraphSolution, dense_laplacian, label_cosines, sylvester
from mlrank.solvers.row_graph import GRAPH_SETTINGS, GraphSettings, RowGraph
from mlrank.solvers.scales import scale_notes

__all__ = [
    "SMSE",
]

VARIANTS = ("smse1", "smse2")
CODINGS = ("zero_one", "signs")


@dataclass(frozen=True)
class SMSE:
    """Scores that are smooth on a graph of rows and on a graph of labels.

    Use it where few rows have labels, near rows share them, and all rows to be scored are there at training.

    Parameters
    ----------
    variant : {"smse1", "smse2"}
        Labels as constraints and plain Laplacians, or labels as targets and normalized Laplacians.
    mu, nu : float
        Of smse1: weight of the graph of rows, above 0, and of labels, 0 or more. Only their ratio matters.
    beta, gamma : float
        Of smse2: weight of the graph of rows and of labels, 0 or more.
    tau : float
        Width of the graph of labels.
    coding : {"zero_one", "signs"}
        Whether an absent label is 0, like a row without labels, or -1.
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
    Chen, Song, Wang and Zhang, "Semi-supervised multi-label learning by solving a Sylvester equation", SDM 2008.
    """

    variant: str = "smse2"
    mu: float = 1.0
    nu: float = 1.0
    beta: float = 1.0
    gamma: float = 0.1
    tau: float = 1.0
    coding: str = "zero_one"
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
        check_positive(self, "mu", "tau", "tol", "max_iter")
        check_not_negative(self, "nu", "beta", "gamma")
        GraphSettings.of(self)
        check_choices(self, {"variant": VARIANTS, "coding": CODINGS})

    def prepare(self, train: TrainingSet) -> RowGraph:
        """Build the graph of rows; it is the same for every weight."""
        return GraphSettings.of(self).build(train)

    def natural_cut(self, train: TrainingSet) -> float:
        """Return the middle between the codes of absent and present labels."""
        return 0.5 if self.coding == "zero_one" else 0.0

    def cost(self, n_samples: int, n_features: int, n_labels: int) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow with the number of rows, features and labels."""
        return GraphSettings.of(self).cost(n_samples, n_features, n_labels)

    def fit(self, train: TrainingSet, prepared: RowGraph | None = None) -> TransductiveModel:
        """Score the rows of `train`, with labels and without."""
        rows = self.prepare(train) if prepared is None else prepared
        Y = train.dense_Y.astype(np.float64) if self.coding == "zero_one" else np.where(train.dense_Y, 1.0, -1.0)
        solve = self._clamped if self.variant == "smse1" else self._smoothed
        solution, objective, notes = solve(rows, Y, self._label_laplacian(train.dense_Y))
        converged = solution.optimality <= self.tol
        notes = rows.notes + notes + scale_notes(train, converged)
        info = FitInfo(solution.n_iter, objective, solution.optimality, converged, notes)
        return rows.model(solution.F, info)

    def _label_laplacian(self, Y: BoolArray) -> FloatArray:
        affinity = np.exp((label_cosines(Y) - 1) / self.tau)
        np.fill_diagonal(affinity, 0.0)
        return dense_laplacian(affinity, normalized=self.variant == "smse2")

    def _clamped(self, rows: RowGraph, Y: FloatArray, H: FloatArray) -> tuple[GraphSolution, float, tuple[str, ...]]:
        n, n_train = rows.A.shape[0], rows.n_train
        L = laplacian(rows.A)
        lost = rows.out_of_reach(component_of(rows.A)[1])
        F = np.zeros((n, Y.shape[1]))
        F[:n_train], F[lost] = Y, Y.mean(axis=0)
        free = np.setdiff1d(np.arange(n_train, n), lost)
        inner, given = self.mu * L[free][:, free], -self.mu * (L[free][:, :n_train] @ Y)
        solution = sylvester(lambda V: inner @ V, inner.diagonal(), self.nu * H, given, self.tol, self.max_iter)
        leak = self.mu * np.asarray(rows.A[free][:, :n_train].sum(axis=1)).ravel()
        solution = part_by_part(csr_array(inner), self.nu * H, given, solution, self.tol, self.max_iter, leak)
        F[free] = solution.F
        objective = self.mu * np.vdot(F, L @ F) + self.nu * np.vdot(F @ H, F)
        notes = (f"{lost.size} rows joined to no training row score the labels' means",) if lost.size else ()
        return solution._replace(F=F), float(objective), notes

    def _smoothed(self, rows: RowGraph, Y: FloatArray, H: FloatArray) -> tuple[GraphSolution, float, tuple[str, ...]]:
        L = laplacian(rows.A, "normalized")
        Y0 = np.zeros((rows.A.shape[0], Y.shape[1]))
        Y0[: rows.n_train] = Y
        C = self.gamma * H
        solution = sylvester(
            lambda V: V + self.beta * (L @ V), 1 + self.beta * L.diagonal(), C, Y0, self.tol, self.max_iter
        )
        A = csr_array(diags_array(np.ones(len(Y0))) + self.beta * L)
        solution = part_by_part(A, C, Y0, solution, self.tol, self.max_iter)
        F = solution.F
        objective = ((F - Y0) ** 2).sum() + self.beta * np.vdot(F, L @ F) + np.vdot(F @ C, F)
        lost = rows.out_of_reach(component_of(rows.A)[1]).size
        return solution, float(objective), (f"{lost} rows joined to no training row score 0",) if lost else ()
