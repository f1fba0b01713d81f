"""ML-LOC: label correlations that hold in a part of the data, passed to each label's machine as a code of the row.

Problem (Huang & Zhou, "Multi-label learning by exploiting label correlations locally", AAAI 2012), with signs s_ij of
the labels, rows x_i, codes c_i of m groups in the simplex and group prototypes p_g among the label sets y_i::

    J = sum_ij max(0, 1 - s_ij f_j(x_i, c_i)) + lam1 sum_j (|w_j|^2 + |v_j|^2) + lam2 sum_ig c_ig |y_i - p_g|^2
    f_j(x, c) = w_j'x + v_j'c + b_j

Method: groups of label sets by k-means to begin with; then in turn, each exactly, the machines (support vector machines
on [x, c] with C = 1 / (2 lam1) and a free bias), the codes (a small linear program for each row, see
`best_codes`) and the prototypes (weighted means). J never rises. A row to be scored has no label set:
its code is predicted by ridge regression on the features. Where these codes are not cut to the simplex, scores of
linear machines are linear in x, and the model is that.

J is not convex: what can be certified is that no block of variables can lower it alone. `optimality` is by how much one
of them still could, relative to J: the larger of the duality gaps of the machines and of what new codes would bring,
bounded by the duals of their programs. Prototypes are exact. `objective` is J, one iteration one turn of the blocks.

With lam2 well above 1 codes stay with the groups of the beginning: distances of label sets then outweigh any loss of a
machine. A label that all rows carry, or none, has the constant score +1 or -1 and no part in the programs.

Cost: for each turn one machine for each label, which needs n x n kernel values, and n programs of m unknowns.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack, issparse

from mlrank.arrays import BoolArray, Features, FloatArray, IntArray, as_features, read_only
from mlrank.kernels import Kernel
from mlrank.linalg import CenteredRows
from mlrank.solvers.base import (
    CertificateKind,
    FitInfo,
    ModelArrays,
    ModelMeta,
    TrainingSet,
    check_choices,
    check_components,
    check_kernel,
    check_not_negative,
    check_positive,
    n_components_of,
)
from mlrank.solvers.binary_svm import BinarySVM
from mlrank.solvers.ml_loc.codes import best_codes
from mlrank.solvers.models import KernelModel, LinearModel
from mlrank.solvers.ridge import RidgeSpace, linear_space
from mlrank.solvers.scales import scale_notes

__all__ = ["MLLOC", "Groups", "LocModel", "column_spread", "divided", "label_groups"]

RESTARTS = 10
MOST_ROUNDS = 300
# Digits of a square distance between label sets: label sets are often equally far, and rounding is not to choose.
DIGITS = 9


class Groups(NamedTuple):
    """The codes to begin with, (n_samples, n_groups) of 0 and 1, and what a reader must know of them."""

    C: FloatArray
    notes: tuple[str, ...]


def column_spread(X: Features) -> FloatArray:
    """Return the standard deviation of each column, 1 where it is constant."""
    if issparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        # Stored values around their mean, and the others, which are zeros.
        apart = np.bincount(X.indices, (X.data - mean[X.indices]) ** 2, minlength=X.shape[1])
        zeros = X.shape[0] - np.bincount(X.indices, minlength=X.shape[1])
        spread = np.sqrt((apart + zeros * mean**2) / X.shape[0])
    else:
        mean, spread = np.abs(X).mean(axis=0), np.asarray(X.std(axis=0))
    # Of a constant column nothing is left but rounding.
    constant = spread <= 1e-12 * np.abs(mean)
    return np.where(constant, 1.0, spread)


def divided(X: Features, by: FloatArray) -> Features:
    """Return `X` with each column divided by a number."""
    return as_features(X @ diags_array(1.0 / by)) if issparse(X) else X / by


def label_groups(X: Features, Y: BoolArray, requested: int, seed: int) -> Groups:
    """Group the label sets by k-means (k-means++, best of ten), equal ones together.

    Label sets are ordered by the features of their rows before random numbers are drawn, and of equally near centers
    the first counts, so that neither the order of the rows nor that of the labels decides about groups.
    """
    distinct, number, count = np.unique(Y, axis=0, return_inverse=True, return_counts=True)
    number = number.ravel()
    totals = np.bincount(number, weights=np.asarray(X.sum(axis=1)).ravel()) / count
    order = np.argsort(totals, kind="stable")
    n_groups = min(requested, len(distinct))
    group = np.empty(len(distinct), dtype=np.int64)
    group[order] = _k_means(np.where(distinct[order], 1.0, -1.0), count[order].astype(np.float64), n_groups, seed)
    C = np.zeros((len(Y), n_groups))
    C[np.arange(len(Y)), group[number]] = 1.0
    note = f"{requested} groups asked for, {n_groups} used: there are no more different label sets"
    return Groups(C, (note,) if n_groups < requested else ())


def _k_means(points: FloatArray, weights: FloatArray, n_groups: int, seed: int) -> IntArray:
    """Return the group of each point, of the best of several runs of Lloyd's method."""
    rng = np.random.default_rng(seed)
    best, least = np.zeros(len(points), dtype=np.int64), np.inf
    for _ in range(RESTARTS):
        group, spent = _lloyd(points, weights, _first_centers(points, weights, n_groups, rng))
        if spent < least:
            best, least = group, spent
    return best


def _first_centers(points: FloatArray, weights: FloatArray, n_groups: int, rng: np.random.Generator) -> FloatArray:
    """Draw points, each with a chance that grows with its square distance from those drawn before (k-means++)."""
    chosen: list[int] = []
    apart = np.ones(len(points))
    for _ in range(n_groups):
        reach = np.cumsum(weights * apart)
        chosen.append(int(np.searchsorted(reach, rng.random() * reach[-1], side="right")))
        nearest = _rounded_square_distances(points, points[chosen[-1:]])[:, 0]
        apart = nearest if len(chosen) == 1 else np.minimum(apart, nearest)
    return points[chosen]


def _lloyd(points: FloatArray, weights: FloatArray, centers: FloatArray) -> tuple[IntArray, float]:
    """Return the groups that means of groups are nearest to, and the sum of square distances, rounded."""
    group = np.full(len(points), -1)
    for _ in range(MOST_ROUNDS):
        distances = _rounded_square_distances(points, centers)
        nearest = distances.argmin(axis=1)
        if np.array_equal(nearest, group):
            break
        group = nearest
        members = np.zeros_like(distances)
        members[np.arange(len(points)), group] = weights
        size = members.sum(axis=0)[:, None]
        centers = np.where(size > 0, members.T @ points / np.where(size > 0, size, 1.0), centers)
    spent = float((weights * distances[np.arange(len(points)), group]).sum())
    return group, round(spent, DIGITS - 3)


def _rounded_square_distances(points: FloatArray, centers: FloatArray) -> FloatArray:
    apart = (points**2).sum(axis=1)[:, None] + (centers**2).sum(axis=1) - 2.0 * points @ centers.T
    rounded: FloatArray = np.maximum(np.round(apart, DIGITS), 0.0)
    return rounded


CODINGS = ("signs", "zero_one")
# A group of less than this has no members.
EMPTY = 1e-12


class Begun(NamedTuple):
    """What lam1 and lam2 share: scaled rows and their divisors, the kernel matrix, rows of unit spread, and groups."""

    X: Features
    divisor: FloatArray
    K: FloatArray | None
    spread: FloatArray
    rows: RidgeSpace
    groups: Groups


class Machines(NamedTuple):
    """The machines of all labels, without codes, and their weights of codes; J without distances, and its gap."""

    base: LinearModel | KernelModel
    V: FloatArray
    outputs: FloatArray
    objective: float
    gap: float


@dataclass(frozen=True)
class MLLOC:
    """Machines with local label correlations as codes.

    Use it where labels go together in one part of the data and not in another; its problem is not convex.

    Parameters
    ----------
    n_groups : int or float
        Groups of label sets; a number below 1 is a part of the labels, rounded half up, at least 1.
    lam1 : float
        Weight of the size of the machines, above 0.
    lam2 : float
        Weight of the distance between label sets and prototypes, 0 or above.
    kernel, gamma, degree, coef0 : str, float, int, float
        linear, rbf, polynomial, chi2 or additive_chi2, with exp(-gamma D) for rbf and chi2 and (gamma x'z +
        coef0)^degree for polynomial, of the part of the machines that depends on x.
    scale : bool
        Whether columns are divided by their standard deviation, which codes in [0, 1] assume.
    coding : {"signs", "zero_one"}
        Of label sets in distances; with labels of 0 and 1 distances are a quarter.
    code_lam : float
        Ridge weight, for each row, of the regression of codes on features of unit variance.
    project_codes : bool
        Whether predicted codes are cut to [0, 1] and divided by their sum.
    tol : float
        What one block of variables may still bring, relative to J.
    max_iter : int
        Most turns.
    seed : int
        Of k-means.

    References
    ----------
    Huang and Zhou, "Multi-label learning by exploiting label correlations locally", AAAI 2012.
    """

    n_groups: int | float = 15
    lam1: float = 1.0
    lam2: float = 100.0
    kernel: str = "linear"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0
    scale: bool = True
    coding: str = "signs"
    code_lam: float = 1e-2
    project_codes: bool = False
    tol: float = 1e-3
    max_iter: int = 20
    seed: int = 0

    SHARED: ClassVar[tuple[str, ...]] = ("n_groups", "kernel", "gamma", "degree", "coef0", "scale", "seed")
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False
    CERTIFICATE: ClassVar[CertificateKind | None] = "gap"
    LOADS: ClassVar[tuple[str, ...]] = ("numba", "scikit-learn")

    def __post_init__(self) -> None:
        check_components(self, "n_groups")
        check_positive(self, "lam1", "code_lam", "tol", "max_iter")
        check_not_negative(self, "lam2")
        check_kernel(self)
        check_choices(self, {"coding": CODINGS})

    def prepare(self, train: TrainingSet) -> Begun:
        """Scale the rows, group the label sets and decompose the rows for the regression of codes."""
        spread = column_spread(train.X)
        divisor = spread if self.scale else np.ones_like(spread)
        X = divided(train.X, divisor)
        K = None
        if self.kernel != "linear":
            K = Kernel.of(self)(X, X)
        groups = label_groups(train.X, train.dense_Y, n_components_of(self.n_groups, train.n_labels), self.seed)
        return Begun(X, divisor, K, spread, linear_space(CenteredRows(divided(train.X, spread))), groups)

    def cost(self, n_samples: int, n_features: int, n_labels: int) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow with the shape of the training set."""
        groups = n_components_of(self.n_groups, n_labels)
        machines = float(n_samples) ** 2 * (n_features + n_labels)
        return machines + 10.0 * n_samples * n_labels * groups**2, 24.0 * n_samples**2

    def fit(self, train: TrainingSet, prepared: Begun | None = None) -> "LinearModel | LocModel":
        """Alternate between machines, codes and prototypes, and learn to predict codes."""
        begun = self.prepare(train) if prepared is None else prepared
        machines, C, info = self._alternate(train.dense_Y, begun)
        info = replace(info, notes=info.notes + scale_notes(train, info.converged or self.scale))
        coef = begun.rows.coef(begun.rows.parts(C), self.code_lam * train.n_samples)
        assert begun.rows.rows is not None
        intercept = C.mean(axis=0) - coef @ begun.rows.rows.mean
        model = LocModel(
            machines.base, begun.divisor, machines.V, coef / begun.spread, intercept, self.project_codes, info
        )
        return model.linear() if self.kernel == "linear" and not self.project_codes else model

    def _alternate(self, Y: BoolArray, begun: Begun) -> tuple[Machines, FloatArray, FitInfo]:
        C, notes = begun.groups
        labels = np.where(Y, 1.0, 0.0 if self.coding == "zero_one" else -1.0)
        prototypes = np.zeros((C.shape[1], Y.shape[1]))
        for n_iter in range(1, self.max_iter + 1):
            prototypes = _prototypes(C, labels, prototypes)
            penalty = self.lam2 * _square_distances(labels, prototypes)
            machines = self._machines(begun, C, Y)
            objective = machines.objective + float((C * penalty).sum())
            better, rise = _better_codes(machines, C, Y, penalty)
            optimality = max(machines.gap, rise) / objective if objective > 0 else 0.0
            if optimality <= self.tol:
                break
            if n_iter < self.max_iter:
                C = better
        return machines, C, FitInfo(n_iter, objective, optimality, optimality <= self.tol, notes)

    def _machines(self, begun: Begun, C: FloatArray, Y: BoolArray) -> Machines:
        loss_weight = 1.0 / (2.0 * self.lam1)
        if begun.K is None:
            model = BinarySVM(C=loss_weight, tol=self.tol).fit(TrainingSet(_beside(begun.X, C), Y))
            arrays, d = model.arrays(), begun.X.shape[1]
            W, V = np.ascontiguousarray(arrays["coef"][:, :d]), arrays["coef"][:, d:]
            base: LinearModel | KernelModel = LinearModel(W, arrays["intercept"], model.info)
            outputs = base.decision_function(begun.X)
        else:
            whole = begun.K + C @ C.T
            model = BinarySVM(C=loss_weight, kernel="precomputed", tol=self.tol).fit(TrainingSet(whole, Y))
            arrays = model.arrays()
            support, dual, intercept = arrays["X_train"], arrays["dual"], arrays["intercept"]
            base = KernelModel.expansion(Kernel.of(self), read_only(begun.X[support]), dual, intercept, model.info)
            V, outputs = dual @ C[support], begun.K[:, support] @ dual.T + intercept
        objective = 2.0 * self.lam1 * model.info.objective
        return Machines(base, V, outputs, objective, model.info.optimality * objective)


def _beside(X: Features, C: FloatArray) -> Features:
    return as_features(hstack([X, csr_array(C)], format="csr") if issparse(X) else np.hstack([X, C]))


def _prototypes(C: FloatArray, labels: FloatArray, before: FloatArray) -> FloatArray:
    """Return the mean label set of each group; an empty group keeps what it had."""
    size = C.sum(axis=0)[:, None]
    filled = size >= EMPTY
    prototypes: FloatArray = np.where(filled, C.T @ labels / np.where(filled, size, 1.0), before)
    return prototypes


def _square_distances(labels: FloatArray, prototypes: FloatArray) -> FloatArray:
    products = labels @ prototypes.T
    apart = (labels**2).sum(axis=1)[:, None] + (prototypes**2).sum(axis=1) - 2.0 * products
    squares: FloatArray = np.maximum(apart, 0.0)
    return squares


def _better_codes(machines: Machines, C: FloatArray, Y: BoolArray, penalty: FloatArray) -> tuple[FloatArray, float]:
    """Return the best codes, and a bound on what any codes could bring."""
    varied = Y.any(axis=0) & ~Y.all(axis=0)
    signs = np.where(Y[:, varied], 1.0, -1.0)
    V, outputs = machines.V[varied], machines.outputs[:, varied]
    found = best_codes(outputs, V, signs, penalty)
    present = np.maximum(1.0 - signs * (outputs + C @ V.T), 0.0).sum(axis=1) + (C * penalty).sum(axis=1)
    # A row whose code is as good as the best keeps it: of two the programs know no difference.
    keep = present <= found.values
    return np.where(keep[:, None], C, found.C), float(np.maximum(present - found.bounds, 0.0).sum())


@dataclass(frozen=True)
class LocModel:
    """Scores ``base(x / divisor) + codes(x) @ V.T`` with predicted codes.

    Parameters
    ----------
    base : LinearModel or KernelModel
    divisor : (n_features,) ndarray
    V : (n_labels, n_groups) ndarray
    code_coef, code_intercept : (n_groups, n_features), (n_groups,) ndarray
    project : bool
        Whether codes are cut to [0, 1] and divided by their sum, all alike where it is 0.
    info : FitInfo
    """

    base: LinearModel | KernelModel
    divisor: FloatArray
    V: FloatArray
    code_coef: FloatArray
    code_intercept: FloatArray
    project: bool
    info: FitInfo

    def codes(self, X: Features) -> FloatArray:
        """Return predicted codes, (n_samples, n_groups)."""
        codes: FloatArray = np.asarray(as_features(X) @ self.code_coef.T) + self.code_intercept
        if self.project:
            codes = np.clip(codes, 0.0, 1.0)
            codes[codes.sum(axis=1) == 0] = 1.0
            codes /= codes.sum(axis=1, keepdims=True)
        return codes

    def decision_function(self, X: Features) -> FloatArray:
        """Return scores (n_samples, n_labels)."""
        X = as_features(X)
        scores: FloatArray = self.base.decision_function(divided(X, self.divisor)) + self.codes(X) @ self.V.T
        return scores

    def linear(self) -> LinearModel:
        """Return the same model as one linear function, of a linear base and codes that are not cut."""
        arrays = self.base.arrays()
        coef = arrays["coef"] / self.divisor + self.V @ self.code_coef
        return LinearModel(coef, arrays["intercept"] + self.V @ self.code_intercept, self.info)

    def arrays(self) -> ModelArrays:
        """Return the arrays that define the model."""
        own = {"divisor": self.divisor, "V": self.V}
        return {**own, "code_coef": self.code_coef, "code_intercept": self.code_intercept}

    def meta(self) -> ModelMeta:
        """Return the kind of model and its setting; `base` is stored as a part of its own."""
        return {"model": "ml_loc", "project": self.project}
