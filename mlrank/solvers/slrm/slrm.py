"""Semi-supervised low-rank mapping (SLRM): least squares with a nuclear norm and a graph over all rows.

Problem (Jing, Yang, Yu & Ng, "Semi-supervised low-rank mapping learning for multi-label classification", CVPR 2015),
with labeled rows Xl, labels Y coded +1, -1 and 0 where missing, and the Laplacian L of a graph over all rows X::

    min_V  1/2 |Xl V - Y|^2 + lam |V|_* + gamma/2 trace(V'X'LX V)                                      (eq. 9)

with one column of V, (n_features, n_labels), for each label; scores are X V. The printed eq. 8 lacks the halves: it is
eq. 9 at lam/2, times two. Dual, over Z with no singular value above lam, where G = Xl'Xl + gamma X'LX and B = Xl'Y::

    max_Z  1/2 |Y|^2 - 1/2 trace((B - Z)' G^-1 (B - Z))

`optimality` is the relative duality gap (P - D) / P, with the multiplier of the iteration as Z, which is feasible at
every step. Both are computed on the given rows unless the decomposition of G is known to have kept the digits. For lam
= 0, a system of equations, it is the largest entry of B - GV relative to its terms, |x_i| (|y| + sum_j |x_j||v_j|) and
that of the graph, or |B - GV| / |B|. `objective` is P at the V that is returned, which
has exact low rank. V = 0 is the solution from lambda_max = |B|_2 on; it is then returned as exact zeros and `notes` say
so. One iteration is one step of the alternating direction method of multipliers (section 3 of the paper), or what
finds the solution without any.

G is formed from the sparse graph without any n x n matrix, and decomposed once for each gamma: a step then costs no
product with G at all, whatever the penalty, and the nuclear norm needs the smaller Gram matrix of V alone. With fewer
rows than features, coordinates are those of the row space; where both are many, products and conjugate gradients serve.

loss="logistic" and "squared_hinge" put sum log(1 + exp(-y f)) and sum max(0, 1 - y f)^2 for the first term (the paper's
future work). Their dual variables are the derivatives of the loss at V, and S = gamma X'LX V, scaled by s <= 1 so that
s (Xl'A + S) has no singular value above lam: D(s) = -conjugate(s A) - s^2/2 trace(V'S). Where steps do not do, A and V
are moved to where that holds (admm.py), and small problems are solved by the two factors of V (factored.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Protocol

import numpy as np
from scipy.sparse import csr_array, issparse

from mlrank.arrays import Features, FloatArray
from mlrank.graphs import gaussian_graph, self_tuning_graph
from mlrank.graphs.weights import SYMMETRIZE
from mlrank.linalg import CenteredRows
from mlrank.solvers.base import (
    CertificateKind,
    FitInfo,
    TrainingSet,
    check_choices,
    check_not_negative,
    check_positive,
    never_known,
    unknown_label_notes,
)
from mlrank.solvers.models import LowRankModel, all_rows
from mlrank.solvers.row_graph import neighbor_finder, too_few_rows
from mlrank.solvers.scales import scale_notes
from mlrank.solvers.slrm.admm import LOSSES, Loss, SlrmSolution, Stop, least_squares, minimize
from mlrank.solvers.slrm.certificate import certified
from mlrank.solvers.slrm.factored import fits_factored, minimize_factored
from mlrank.solvers.slrm.problem import LARGE, SlrmProblem, coded, dense_if_full, row_space
from mlrank.solvers.slrm.split import minimize_split, row_weights
from mlrank.solvers.slrm.squared import PartedCross, solve_squared
from mlrank.solvers.slrm.systems import EigenSystem, SlrmSystem

__all__ = ["SLRM", "LowRankModel", "label_correlation", "related_labels"]


class HasWeights(Protocol):
    """A model with one row of weights for each label."""

    @property
    def coef(self) -> FloatArray:
        """The weights, (n_labels, n_features)."""
        ...


def label_correlation(model: HasWeights) -> FloatArray:
    """Return U U' of a mapping U (n_labels, n_features), its rows scaled to length one: cosines between labels.

    The paper prints U'U, which is between features, and a table that is not symmetric, as cosines are. A label without
    weights is like none, itself included.
    """
    norms = np.linalg.norm(model.coef, axis=1, keepdims=True)
    rows = np.divide(model.coef, norms, out=np.zeros_like(model.coef), where=norms > 0)
    return np.asarray(np.clip(rows @ rows.T, -1.0, 1.0))


def related_labels(
    model: HasWeights, label_names: Sequence[str], n_related: int = 2
) -> dict[str, tuple[tuple[str, float], ...]]:
    """Return for each label those with the largest correlation above zero, the largest first, ties in their order.

    >>> from types import SimpleNamespace
    >>> model = SimpleNamespace(coef=np.array([[1.0, 0.0], [3.0, 4.0], [0.0, 0.0]]))
    >>> related_labels(model, ["sky", "tree", "book"])
    {'sky': (('tree', 0.6),), 'tree': (('sky', 0.6),), 'book': ()}
    """
    if len(label_names) != len(model.coef):
        raise ValueError(f"the model has {len(model.coef)} labels, found {len(label_names)} names")
    likeness = label_correlation(model)
    np.fill_diagonal(likeness, 0.0)
    order = np.argsort(-likeness, axis=1, kind="stable")[:, :n_related]
    return {
        name: tuple((label_names[other], float(row[other])) for other in places if row[other] > 0)
        for name, row, places in zip(label_names, likeness, order, strict=True)
    }


CHOICES = {
    "loss": tuple(LOSSES),
    "missing": ("zero", "mask"),
    "coding": ("signs", "zero_one"),
    "symmetrize": SYMMETRIZE,
    "u_step": ("auto", "eigen", "products"),
    "objective": (9, 8),
}


@dataclass(frozen=True)
class SLRM:
    """Semi-supervised low-rank mapping (eq. 9), by the alternating direction method of multipliers.

    Use it where many rows have no labels, or labels are missing, and labels are correlated (weights of small rank).

    Parameters
    ----------
    lam : float
        Weight of the nuclear norm, 0 or above; above 0 unless all labels enter a squared loss.
    gamma : float
        Weight of the graph, 0 or above.
    n_neighbors : int
        Neighbors that each row chooses.
    scale_neighbor : int
        The neighbor whose distance is a row's scale; the paper names self-tuning alone.
    symmetrize : {"max", "mutual"}
        Whether an edge needs one end's choice or both.
    width : "self_tuning" or float
        A number is the width of all edges, exp(-distance^2 / width).
    loss : {"squared", "logistic", "squared_hinge"}
        The first is the paper's.
    missing : {"zero", "mask"}
        Missing labels are targets 0 of the squared loss as the paper has it, or have no loss; with other
        losses they have none.
    coding : {"signs", "zero_one"}
        Labels as +1 and -1, or as 1 and 0 in the squared loss, where missing ones are 0 too.
    center : bool
        Whether labeled rows and their labels are centered, which gives scores an intercept; the paper has none.
    objective : {9, 8}
        The printed equation that lam belongs to; the algorithm solves 9.
    u_step : {"auto", "eigen", "products"}
        Decompose G, or solve by products; "auto" decomposes up to 3000 rows or features.
    beta : "adaptive" or float
        Penalty; a number stays constant, and steps are then as printed, from zero.
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        Most steps.

    References
    ----------
    Jing, Yang, Yu and Ng, "Semi-supervised low-rank mapping learning for multi-label classification", CVPR 2015.
    """

    lam: float = 1.0
    gamma: float = 1.0
    n_neighbors: int = 5
    scale_neighbor: int = 7
    symmetrize: str = "max"
    width: float | str = "self_tuning"
    loss: str = "squared"
    missing: str = "zero"
    coding: str = "signs"
    center: bool = False
    objective: int = 9
    u_step: str = "auto"
    beta: float | str = "adaptive"
    tol: float = 1e-4
    max_iter: int = 1000

    SHARED: ClassVar[tuple[str, ...]] = (
        "n_neighbors",
        "scale_neighbor",
        "symmetrize",
        "width",
        "loss",
        "missing",
        "coding",
        "center",
        "u_step",
    )
    USES_UNLABELED: ClassVar[bool] = True
    TRANSDUCTIVE: ClassVar[bool] = False
    USES_KNOWN: ClassVar[bool] = True
    CERTIFICATE: ClassVar[CertificateKind | None] = "gap"

    def __post_init__(self) -> None:
        check_positive(self, "n_neighbors", "scale_neighbor", "tol", "max_iter")
        for name in ("n_neighbors", "scale_neighbor"):
            if not isinstance(getattr(self, name), int):
                raise ValueError(f"{name} must be a whole number, found {getattr(self, name)!r}")
        check_not_negative(self, "lam", "gamma")
        check_choices(self, CHOICES)
        if self.width != "self_tuning":
            check_positive(self, "width")
        if self.beta != "adaptive":
            check_positive(self, "beta")
        self._check_together()

    def _check_together(self) -> None:
        if self.lam == 0 and (self.loss != "squared" or self.missing == "mask"):
            raise ValueError(
                "lam 0 goes with loss 'squared' and missing 'zero' alone: other losses may have no minimum"
            )
        squared_only = (("objective", 8), ("coding", "zero_one"), ("center", True))
        for name, value in squared_only:
            if self.loss != "squared" and getattr(self, name) == value:
                raise ValueError(f"{name} {value!r} goes with loss 'squared', found loss {self.loss!r}")
        for name, value in (("coding", "zero_one"), ("center", True)):
            if self.missing == "mask" and getattr(self, name) == value:
                raise ValueError(f"{name} {value!r} goes with missing 'zero', found missing 'mask'")

    def prepare(self, train: TrainingSet) -> SlrmProblem:
        """Collect what every lam and gamma share: the graph, X'LX, and G decomposed once for each gamma."""
        labels = coded(train, self.coding)
        mean, level = np.zeros(train.n_features), np.zeros(train.n_labels)
        if self.center:
            mean = np.asarray(train.X.mean(axis=0), dtype=np.float64).ravel()
            level = labels.mean(axis=0)
        by_products = {"auto": None, "eigen": False, "products": True}[self.u_step]
        X = dense_if_full(all_rows(train))
        labeled = CenteredRows(train.X if issparse(X) else X[: train.n_samples], mean)
        loss, basis = self._loss(train, labels - level)
        return SlrmProblem(labeled, X, partial(self._graph, train), loss, level, basis, by_products)

    def _loss(self, train: TrainingSet, targets: FloatArray) -> tuple[Loss, FloatArray | None]:
        if self.missing == "mask" and train.known is not None and not train.known.all():
            return LOSSES[self.loss](targets, train.known), None
        basis = row_space(targets) if self.loss == "squared" else None
        return LOSSES[self.loss](targets if basis is None else targets @ basis), basis

    def _graph(self, train: TrainingSet, X: Features) -> csr_array:
        find = neighbor_finder(train)
        if isinstance(self.width, str):
            return self_tuning_graph(X, self.n_neighbors, self.scale_neighbor, self.symmetrize, find)
        return gaussian_graph(X, self.n_neighbors, self.width, self.symmetrize, find)

    def certificate_kind(self) -> CertificateKind:
        """Return what `optimality` is: without a nuclear norm there is a system of equations to solve."""
        return "backward error" if self.lam == 0 else "gap"

    def natural_cut(self, train: TrainingSet) -> float:
        """Return the middle between the codes of absent and present labels."""
        return 0.5 if self.coding == "zero_one" else 0.0

    def cost(self, n_samples: int, n_features: int, n_labels: int) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow with the shape of the training set."""
        few = min(n_samples, n_features)
        if few > LARGE:
            return float(n_samples) * n_features * n_labels, 8.0 * n_features * n_labels * 8
        pairs = float(n_samples) ** 2 * n_features
        return pairs + 10.0 * few**3 + 100.0 * few * n_labels**2, 8.0 * (4.0 * few**2 + 10.0 * few * n_labels)

    def fit(
        self, train: TrainingSet, prepared: SlrmProblem | None = None, init: LowRankModel | None = None
    ) -> LowRankModel:
        """Fit the weights of all labels.

        Parameters
        ----------
        train : TrainingSet
        prepared : SlrmProblem, optional
        init : LowRankModel, optional
            A model of other lam or gamma to start from: it saves steps, and changes the solution within `tol`.

        Raises
        ------
        ValueError
            If `init` is of another number of labels or features.
        """
        needed = (train.n_labels, train.n_features)
        if init is not None and init.coef.shape != needed:
            raise ValueError(f"init has weights of shape {init.coef.shape}, the training set needs {needed}")
        problem = self.prepare(train) if prepared is None else prepared
        half = 0.5 if self.objective == 8 else 1.0
        notes = self._notes(train)
        if half * self.lam >= problem.lambda_max:
            return self._zero(train, problem, half, notes)
        found = self._found(problem, half * self.lam, init)
        right = problem.label_factor(found.right)
        if (never := never_known(train)).any():  # exactly zero at the minimum, where rounding would rank rows
            right = np.where(never[:, None], 0.0, right)
        converged = found.optimality <= self.tol
        notes += scale_notes(train, converged)
        info = FitInfo(found.n_iter, found.trace[-1] / half, found.optimality, converged, notes)
        intercept = problem.level - right @ (found.left.T @ problem.labeled.mean)
        return LowRankModel(found.left, right, intercept, found.rank, np.array(found.trace) / half, info)

    def _found(self, problem: SlrmProblem, lam: float, init: LowRankModel | None) -> SlrmSolution:
        """Return the solution with its certificate on the given rows; by the slower decomposition if that is better."""
        start = None if init is None else problem.turned(init.coef.T)
        system = problem.system(self.gamma)
        found = self._solve(problem, system, lam, None if start is None else system.lower(start))
        if not isinstance(system, EigenSystem) or (system.exact and found.optimality <= self.tol):
            return found
        found = certified(problem, system, self.gamma, lam, found)
        if found.optimality <= self.tol:
            return found
        loss, exact = problem.loss, problem.exact or lam == 0
        weights = np.ones(problem.labeled.shape[0]) if exact else row_weights(problem.row_lengths, loss)
        graded = problem.graded_system(self.gamma, weights)
        if graded is None:
            return found
        if exact:
            again = self._solve(problem, graded, lam, None if start is None else graded.lower(start))
        else:
            again = minimize_split(graded, loss, weights, lam, self._stop)
            again = again._replace(left=graded.lift(again.left))
        again = certified(problem, graded, self.gamma, lam, again)
        found = again if again.optimality < found.optimality else found
        if found.optimality <= self.tol or exact or self.beta != "adaptive" or not fits_factored(graded, loss):
            return found
        V = found.left if found.right is None else found.left @ found.right.T
        again = minimize_factored(graded, loss, weights, lam, self._stop, graded.lower(V))
        again = again._replace(left=graded.lift(again.left), n_iter=found.n_iter + again.n_iter)
        again = certified(problem, graded, self.gamma, lam, again)
        return again if again.optimality < found.optimality else found

    def _notes(self, train: TrainingSet) -> tuple[str, ...]:
        targets = self.loss == "squared" and self.missing == "zero"
        missing = unknown_label_notes(
            train, "their targets are 0" if targets else "they count as unlabeled", "their scores are 0"
        )
        if self.gamma == 0:
            return missing
        unlabeled = 0 if train.X_unlabeled is None else train.X_unlabeled.shape[0]
        return (*missing, *too_few_rows(self.n_neighbors, train.n_samples + unlabeled))

    def path(
        self, train: TrainingSet, lams: Sequence[float], prepared: SlrmProblem | None = None
    ) -> list[LowRankModel]:
        """Fit several lam; return the models in the order given.

        Where G is not diagonal, or the loss another, the largest comes first and each starts from the solution before.
        Elsewhere a fit's own start is as good, and costs less than one from a model does.
        """
        problem = self.prepare(train) if prepared is None else prepared
        alone = problem.exact and not problem.by_products
        models: dict[float, LowRankModel] = {}
        last = None
        for lam in sorted(set(lams), reverse=True):
            last = models[lam] = replace(self, lam=lam).fit(train, problem, None if alone else last)
        return [models[lam] for lam in lams]

    @property
    def _stop(self) -> Stop:
        return Stop(self.tol, self.max_iter, None if isinstance(self.beta, str) else self.beta)

    def _solve(self, problem: SlrmProblem, system: SlrmSystem, lam: float, start: FloatArray | None) -> SlrmSolution:
        """Return a solution that has a row for each feature."""
        stop = self._stop
        if lam > 0 and problem.exact and isinstance(system, EigenSystem):
            parted = problem.parted
            if system in problem.graded.values():
                parted = PartedCross(system.cross, parted.basis)
            return solve_squared(system, parted, problem.loss, lam, stop, start)
        if lam == 0:
            found = least_squares(system, problem.turned_loss, stop)
        else:
            found = minimize(system, problem.loss, lam, stop, start)
        return found._replace(left=system.lift(found.left))

    def _zero(self, train: TrainingSet, problem: SlrmProblem, half: float, notes: tuple[str, ...]) -> LowRankModel:
        objective = problem.loss.value(np.zeros_like(problem.loss.targets)) / half
        reason = f"lam {self.lam:g} is not below lambda_max {problem.lambda_max / half:.6g}: all weights are zero"
        info = FitInfo(1, objective, 0.0, True, (reason, *notes))
        left, right = np.zeros((train.n_features, 0)), np.zeros((train.n_labels, 0))
        return LowRankModel(left, right, problem.level, 0, np.array([objective]), info)
