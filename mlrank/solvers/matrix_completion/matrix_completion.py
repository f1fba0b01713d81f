"""Matrix completion: the unknown labels are the missing entries of a matrix of small rank, [labels, features, ones].

Problem (Goldberg et al., "Transduction with matrix completion: three birds with one stone", NIPS 2010; Cabral et al.,
"Matrix completion for weakly-supervised multi-label image classification", NIPS 2011 and PAMI 37, 2015), with all rows,
labeled and unlabeled, signs y of the O_Y observed labels and all O_X features x::

    min_Z  mu |Z|_* + lam / O_Y sum log(1 + exp(-gamma y z)) / gamma + 1 / O_X sum c(z, x),  Z = [Z_Y, Z_X, 1], Z_X in S

    features="ls"    c = (z - x)^2 / 2                      features="chi2"    c = (z - x)^2 / (z + x + e)
    constraint="none" is MC-1, "nonnegative" MC-Pos, "simplex" MC-Simplex (rows of Z_X are histograms)
    bias="ones" has the column of ones, "labels" a bias b_j beside z_ij instead (MC-b), "none" neither

e is a tenth of the mean positive feature: without it the curvature at empty bins has no bound. Scores are Z_Y (+ b).

Method: the fixed-point iteration of the papers, Z <- P(D(Z - tau grad)), D shrinking singular values by tau mu and P
setting the column of ones and projecting onto S. The step tau = min(3.8 O_Y / (lam gamma), O_X) has gamma in it, which
the papers' has not and must where gamma is not 1. Iterates run ahead by Nesterov's momentum, within S, which starts
anew when it points uphill. With the chi2 loss the curvature of features is at most 64 / (27 e O_X) in S, which gives
the step there. Singular values come from the smaller Gram matrix.

The iteration alone takes steps as the square root of lam, thousands on counts. Without a constraint its fixed point is
the minimum of a convex problem, and it begins near that, where splitting leads (splitting.py) in some tens of steps.
With one, mu falls by a quarter to its last value as in the papers; values before the last are only passed through.
The result depends on neither.

`optimality` is the relative residual of the fixed point: |Z - P(D(Z - tau grad))| / tau, over |grad|, at the point from
which the last step went; steps of this kind bring no two points further apart, so it bounds that of the result. Without
column of ones and constraint it is the residual of the optimality conditions. With them a fixed point need not be the
minimum, since projecting after shrinking is not the proximal map of both; it is the papers' method. `objective` is the
printed one at the result. One iteration is one step.

The rows scored are those given: see `TransductiveModel`. Z is dense whatever the rows are, n (k + d + 1)
numbers. Features of unequal scale count unequally: scale columns to unit variance, or rows of histograms to sum one.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from mlrank.arrays import FloatArray, as_dense
from mlrank.linalg.shrink import largest_singular_value
from mlrank.solvers.base import (
    CertificateKind,
    FitInfo,
    TrainingSet,
    check_choices,
    check_positive,
    unknown_label_notes,
)
from mlrank.solvers.matrix_completion.problem import CONSTRAINTS, FEATURE_LOSSES, Completion, CompletionPoint
from mlrank.solvers.matrix_completion.splitting import near_fixed_point
from mlrank.solvers.models import TransductiveModel, all_rows, row_digests
from mlrank.solvers.scales import scale_notes

__all__ = ["MatrixCompletion"]

CHOICES = {"features": FEATURE_LOSSES, "constraint": CONSTRAINTS, "bias": ("ones", "labels", "none")}
# What mu starts with, of the largest singular value, and what it is multiplied with; and the residual to pass it on.
FALL = 0.25
PASSING = 0.3
# How far from one the sum of a histogram may be.
SUM_ERROR = 1e-6
# Decompositions, as the cost model counts them.
STEPS = 20.0


@dataclass(frozen=True)
class MatrixCompletion:
    """Transductive classification by matrix completion.

    Use it where all rows to be scored are there at training, and label entries or features are missing.

    Parameters
    ----------
    lam : float
        Weight of the labels beside the features.
    features : {"ls", "chi2"}
        Loss of the features; "chi2" goes with a constraint.
    constraint : {"none", "nonnegative", "simplex"}
        What completed features must be.
    bias : {"ones", "labels", "none"}
        A column of ones, a bias for each label, or none.
    gamma : float
        Steepness of the logistic loss.
    mu : float
        Weight of the nuclear norm.
    tol : float
        Relative residual at which to stop.
    max_iter : int
        Most steps in all.

    References
    ----------
    Goldberg, Zhu, Recht, Xu and Nowak, "Transduction with matrix completion: three birds with one stone", NIPS 2010.
    Cabral, De la Torre, Costeira and Bernardino, "Matrix completion for weakly-supervised multi-label image
    classification", NIPS 2011 and IEEE TPAMI 37 (2015).
    """

    lam: float = 1.0
    features: str = "ls"
    constraint: str = "none"
    bias: str = "ones"
    gamma: float = 1.0
    mu: float = 1e-4
    tol: float = 1e-4
    max_iter: int = 5000

    SHARED: ClassVar[tuple[str, ...]] = ()
    USES_UNLABELED: ClassVar[bool] = True
    TRANSDUCTIVE: ClassVar[bool] = True
    USES_KNOWN: ClassVar[bool] = True
    CERTIFICATE: ClassVar[CertificateKind | None] = "residual"
    LOADS: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        check_positive(self, "lam", "gamma", "mu", "tol", "max_iter")
        check_choices(self, CHOICES)
        if self.features == "chi2" and self.constraint == "none":
            raise ValueError("features 'chi2' goes with constraint 'nonnegative' or 'simplex', found constraint 'none'")

    def cost(self, n_samples: int, n_features: int, n_labels: int) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow with the shape of the labeled and unlabeled rows."""
        width = n_features + n_labels + 1.0
        return STEPS * n_samples * width * min(n_samples, width), 48.0 * n_samples * width

    def fit(self, train: TrainingSet, prepared: Any = None) -> TransductiveModel:
        """Complete the labels of the rows of `train`, the unlabeled ones among them.

        Raises
        ------
        ValueError
            If no label is observed, or features are not what the constraint says.
        """
        rows = all_rows(train)
        problem = self._problem(train, np.asarray(as_dense(rows)))
        point, info = self._complete(problem)
        notes = unknown_label_notes(train, "they count as unlabeled", "their scores come of the rank alone")
        notes += scale_notes(train, info.converged)
        info = replace(info, notes=(*info.notes, *notes))
        scores = np.ascontiguousarray(point.Z[:, : train.n_labels]) + point.bias
        return TransductiveModel(row_digests(rows), train.n_samples, scores, info)

    def _problem(self, train: TrainingSet, X: FloatArray) -> Completion:
        signs = np.zeros((len(X), train.n_labels))
        signs[: train.n_samples] = np.where(train.dense_Y, 1.0, -1.0)
        if train.known is not None:
            signs[: train.n_samples][~train.known] = 0.0
        if not signs.any():
            raise ValueError("no label of any row is known, so there is nothing to complete")
        self._check_features(X)
        return Completion(signs, X, self.lam, self.gamma, self.features, self.constraint, self.bias)

    def _check_features(self, X: FloatArray) -> None:
        if self.constraint != "none" and X.min() < 0:
            raise ValueError(f"constraint {self.constraint!r} needs features of at least 0, found {X.min():g}")
        sums = X.sum(axis=1)
        wrong = np.flatnonzero((np.abs(sums - 1.0) > SUM_ERROR) & (sums != 0))
        if self.constraint == "simplex" and wrong.size:
            found = f"row {wrong[0]} with sum {sums[wrong[0]]:g}"
            raise ValueError(f"constraint 'simplex' needs rows that sum to one (scale: l1), found {found}")

    def _complete(self, problem: Completion) -> tuple[CompletionPoint, FitInfo]:
        left, levels = self.max_iter, [self.mu]
        if self.constraint == "none":
            # One step is kept for the residual, which is reported.
            point, n_iter = near_fixed_point(problem, self.mu, self.tol, left - 1)
            left -= n_iter
        else:
            point, levels = _rank_one(problem), self._levels(problem)
        for level in levels:
            goal = self.tol if level == self.mu else max(self.tol, PASSING)
            most = left if level == self.mu else left - 1
            point, residual, n_iter = _descend(problem, point, level, goal, most)
            left -= n_iter
        norms = np.linalg.svd(point.Z, compute_uv=False)
        objective = self.mu * float(norms.sum()) + problem.loss(point)
        return point, FitInfo(self.max_iter - left, objective, residual, residual <= self.tol)

    def _levels(self, problem: Completion) -> list[float]:
        levels, level = [], FALL * largest_singular_value(problem.observed)
        while level > self.mu:
            levels.append(level)
            level *= FALL
        return [*levels, self.mu]


def _rank_one(problem: Completion) -> CompletionPoint:
    """Return the nearest matrix of rank one to what is observed."""
    seen = problem.observed
    tall = len(seen) >= seen.shape[1]
    gram = seen.T @ seen if tall else seen @ seen.T
    main = np.linalg.eigh(gram)[1][:, -1]
    Z = np.outer(seen @ main, main) if tall else np.outer(main, main @ seen)
    return CompletionPoint(Z, np.zeros(problem.signs.shape[1]))


def _descend(
    problem: Completion, point: CompletionPoint, level: float, goal: float, most: int
) -> tuple[CompletionPoint, float, int]:
    """Return where steps at one value of mu lead, the residual there and the number of steps."""
    ahead, momentum, rank, residual = point, 1.0, min(point.Z.shape), np.inf
    for n_iter in range(1, most + 1):
        step = problem.step(ahead, level, rank)
        residual = step.move / step.slope
        rank, last, point = step.rank, point, step.point
        if residual <= goal:
            return point, residual, n_iter
        if np.vdot(ahead.Z - point.Z, point.Z - last.Z) > 0:
            momentum = 1.0
        grown = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        pace, momentum = (momentum - 1.0) / grown, grown
        ahead = problem.projected(
            CompletionPoint(*(new + pace * (new - old) for new, old in zip(point, last, strict=True)))
        )
    return point, residual, max(most, 0)
