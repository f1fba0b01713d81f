"""Shared-subspace least squares (MLLS, also called MLSSM): labels share a subspace of the features.

Problem (Ji, Tang, Yu & Ye, "Extracting shared subspace for multi-label classification", KDD 2008), with centered rows X
and labels Y (0 and 1), weights U = W + Theta'V and orthonormal rows of Theta, `rank` many::

    min_{U, V, Theta}  1/n |X U - Y|^2 + alpha |U - Theta'V|^2 + beta |U|^2

V = Theta U, and Theta spans the best subspace, so that what lies outside it is penalized by alpha + beta, what lies
inside by beta. The paper solves a generalized eigenproblem of n_features rows. Here, with X = P S Q', E = S^2/n + beta,
D = E + alpha and R = S P'Y/n, that problem is one of n_labels rows: its vectors L are those of (D E)^-1/2 R, and then

    U = Q W,   W = D^-1 (R + alpha E^-1 R T T'),   T the first `rank` eigenvectors of R'(D E)^-1 R,

which spans Theta = range of Q E^-1 R T. So ridge regression with penalty alpha + beta comes back for rank 0, with
penalty beta for full rank or alpha = 0, and reduced-rank ridge regression for alpha to infinity.

`objective` is that of the problem. It is a closed form: with the residual R of the normal equations of U on the rows as
they are, `optimality` is the square root of n R'(X'X/n + beta I)^-1 R / |Y|^2 of the label where it is largest, which
bounds the relative error of the fitted scores, or that of what a better subspace for U would take off the objective,
n / |Y|^2 times that, if it is larger. It has converged up to 1e-6 (see `mlrank.solvers.ridge`). With a kernel, what its
scores round to is added; where that makes the certificate more than one, all weights are zero.

Cost: the smaller Gram matrix of the rows (or the kernel matrix) and its eigen-decomposition, once for all alpha, beta
and rank; then O(min(n, n_features) k^2) for k labels, and products of the rows with the weights. Sparse rows stay
sparse. A kernel makes the rows those of its feature space; penalties do not depend on the basis there, so nothing else
changes.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import eigh, eigvalsh, qr, solve, solve_triangular

from mlrank.arrays import FloatArray
from mlrank.kernels import Kernel, canonical
from mlrank.kernels.exact import ACCURACY, long_expansion, long_kernel
from mlrank.kernels.rows import KernelRows
from mlrank.linalg import CenteredRows, center_columns
from mlrank.solvers.base import CertificateKind, FitInfo, TrainingSet, check_kernel, check_not_negative
from mlrank.solvers.models import KernelModel, LinearModel
from mlrank.solvers.ridge import REFINED, REFINEMENTS, TOL, RidgeSpace, better_of, gram_space, linear_space
from mlrank.solvers.scales import scale_notes

__all__ = ["SharedSubspace", "default_rank"]

# Of the largest eigenvalue: below it an eigenvalue of labels' products is rounding.
NOISE = 1e-12


class Decomposed(NamedTuple):
    """The rows, decomposed; `rows` gives kernel values of other rows, None for the linear kernel."""

    space: RidgeSpace
    rows: KernelRows | None

    def graded(self) -> "Decomposed | None":
        """Return the same by the slower decomposition, None where it would take too long."""
        space = self.space.graded
        return None if space is None else Decomposed(space, self.rows)


class SubspaceProblem(NamedTuple):
    """The problem for one subspace, in the coordinates of the rows' singular vectors: weights there are root * E.

    Parameters
    ----------
    space : RidgeSpace
    Y : (n_samples, n_labels) ndarray, centered
    alpha, beta : float
    root : (r, 1) ndarray, singular values
    theta, phi : (r, rank) ndarray, an orthonormal basis of the subspace, theta = root * phi
    """

    space: RidgeSpace
    Y: FloatArray
    alpha: float
    beta: float
    root: FloatArray
    theta: FloatArray
    phi: FloatArray

    def coef(self, E: FloatArray) -> FloatArray:
        """Return the weights (n_labels, n_features), or with a kernel (n_labels, n_samples)."""
        if self.space.rows is None:
            weights = self.space.vectors @ E
        elif self.space.dual:
            weights = self.space.rows.transpose_times(self.space.vectors @ E)
        else:
            weights = self.space.vectors @ (self.root * E)
        return np.ascontiguousarray(weights.T)

    def solve(self, right: FloatArray) -> FloatArray:
        """Return E with (S^2/n + alpha + beta - alpha theta theta') E = right."""
        outer = self.root**2 / len(self.Y) + self.beta + self.alpha
        plain: FloatArray = np.divide(right, outer, out=np.zeros_like(right), where=outer > 0)
        if self.theta.shape[1] == 0 or self.alpha == 0:
            return plain
        scaled = np.divide(self.phi, outer, out=np.zeros_like(self.phi), where=outer > 0)
        inner = np.eye(self.theta.shape[1]) / self.alpha - self.theta.T @ (self.root * scaled)
        moved: FloatArray = plain + scaled @ solve(inner, self.theta.T @ (self.root * plain), assume_a="sym")
        return moved

    def measured(self, E: FloatArray) -> tuple[float, float, FloatArray]:
        """Return the objective, the certificate, and the residual in coordinates."""
        n, inside = len(self.Y), self.theta.T @ (self.root * E)
        lengths = np.linalg.norm(self.Y, axis=0)
        if self.space.rows is None:
            A, B = self.space.vectors @ E, self.space.vectors @ (self.phi @ inside)
            if self.space.centered:
                A, B = center_columns(A), center_columns(B)
            fitted = center_columns(self.space.K @ A)
            rest = (self.Y - fitted) / n - (self.alpha + self.beta) * A + self.alpha * B
            residual = self.space.vectors.T @ rest
            errors = n * np.linalg.norm(rest, axis=0) + self.space.rounding(A)
            gram = A.T @ fitted
        else:
            W, B = self.coef(E).T, self.coef(self.phi @ inside).T
            fitted = self.space.rows.times(W)
            rest = self.space.rows.transpose_times(self.Y - fitted) / n - (self.alpha + self.beta) * W + self.alpha * B
            squares, turned = self.space.energies(n * rest, n * self.beta)
            residual, errors = turned / (n * self.root), np.sqrt(squares)
            gram = W.T @ W
        most = eigvalsh((gram + gram.T) / 2)[::-1][: self.theta.shape[1]].sum()
        outside = float(np.trace(gram) - (inside**2).sum())
        loss = float(((self.Y - fitted) ** 2).sum()) / n
        objective = loss + self.alpha * max(outside, 0.0) + self.beta * float(np.trace(gram))
        total = float(np.vdot(self.Y, self.Y)) / n
        better = self.alpha * max(float(most - (inside**2).sum()), 0.0)
        error = float(np.divide(errors, lengths, out=np.zeros_like(errors), where=lengths > 0).max(initial=0.0))
        return objective, max(error, float(np.sqrt(better / total)) if total > 0 else 0.0), residual


def default_rank(n_labels: int) -> int:
    """Return 5 floor((k - 1) / 5), the paper's rank as far as is known, or k - 1 for fewer than 6 labels.

    >>> [default_rank(n_labels) for n_labels in (1, 5, 6, 10, 20, 21)]
    [0, 4, 5, 5, 15, 20]
    """
    return 5 * ((n_labels - 1) // 5) if n_labels > 5 else n_labels - 1


@dataclass(frozen=True)
class SharedSubspace:
    """Least squares on all labels with a shared subspace.

    Use it for many correlated labels with linear scores, in closed form.

    Parameters
    ----------
    alpha : float
        Weight of what lies outside the subspace, 0 or above.
    beta : float
        Weight of all, 0 or above; with both 0 it is least squares of least norm.
    rank : int or "auto"
        Dimension of the subspace, 0 or above; "auto" is `default_rank`. Beyond the rank of X'Y alpha has no effect.
    kernel, gamma, degree, coef0 : str, float, int, float
        linear, rbf, polynomial, chi2 or additive_chi2, with exp(-gamma D) for rbf and chi2 and (gamma x'z +
        coef0)^degree for polynomial; or precomputed: the rows of X then are those of the kernel matrix.

    References
    ----------
    Ji, Tang, Yu and Ye, "Extracting shared subspace for multi-label classification", KDD 2008.
    """

    alpha: float = 1.0
    beta: float = 1.0
    rank: int | str = "auto"
    kernel: str = "linear"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0

    SHARED: ClassVar[tuple[str, ...]] = ("kernel", "gamma", "degree", "coef0")
    USES_UNLABELED: ClassVar[bool] = False
    TRANSDUCTIVE: ClassVar[bool] = False
    CERTIFICATE: ClassVar[CertificateKind | None] = "backward error"
    NATURAL_CUT: ClassVar[float] = 0.5
    LOADS: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        check_not_negative(self, "alpha", "beta")
        check_kernel(self, precomputed=True)
        _check_rank(self.rank)

    def canonical(self) -> "SharedSubspace":
        """Return the solver with what has no effect at its default: constants of other kernels."""
        return canonical(self)

    def prepare(self, train: TrainingSet) -> Decomposed:
        """Decompose the rows, which alpha, beta and rank share."""
        if self.kernel == "linear":
            return Decomposed(linear_space(CenteredRows(train.X)), None)
        rows = KernelRows(train.X, self.kernel, self.degree, self.coef0)
        return Decomposed(gram_space(rows.X, rows.gram(self.gamma)), rows)

    def cost(self, n_samples: int, n_features: int, n_labels: int) -> tuple[float, float]:
        """Return how operations and bytes of a fit grow with the shape of the training set."""
        size = n_samples if self.kernel != "linear" else min(n_samples, n_features)
        operations = float(n_samples) * n_features * size + 10.0 * float(size) ** 3
        return operations, 8.0 * (5.0 * size**2 + n_samples * n_labels)

    def fit(self, train: TrainingSet, prepared: Decomposed | None = None) -> LinearModel | KernelModel:
        """Solve the problem on `train`; a label that all rows carry, or none, has the constant score 1 or 0.

        Raises
        ------
        ValueError
            If the kernel is not defined for the rows, or a precomputed one is none.
        """
        prepared_here = self.prepare(train) if prepared is None else prepared
        if prepared is None and prepared_here.rows is not None:
            prepared_here.rows.forget()
        return better_of(lambda one: self._fitted(train, one), prepared_here, Decomposed.graded)

    def _fitted(self, train: TrainingSet, decomposed: Decomposed) -> LinearModel | KernelModel:
        space, rows = decomposed
        Y = train.dense_Y.astype(np.float64)
        mean, n = Y.mean(axis=0), train.n_samples
        root = np.sqrt(space.values)[:, None]
        right = space.parts(Y - mean) / n
        inner = space.values[:, None] / n + self.beta
        scale = np.sqrt((inner + self.alpha) * inner)
        basis = _leading(np.divide(root * right, scale, out=np.zeros_like(right), where=scale > 0))
        requested = default_rank(train.n_labels) if self.rank == "auto" else int(self.rank)
        kept = basis[:, : min(requested, basis.shape[1])]
        phi = np.divide(right @ kept, inner, out=np.zeros((len(right), kept.shape[1])), where=inner > 0)
        theta, factor = qr(root * phi, mode="economic", check_finite=False) if kept.size else (phi, np.eye(0))
        phi = solve_triangular(factor, phi.T, trans="T").T if kept.size else phi
        problem = SubspaceProblem(space, Y - mean, self.alpha, self.beta, root, theta, phi)
        E = problem.solve(right)
        objective, error, residual = problem.measured(E)
        for _ in range(REFINEMENTS):
            if error <= REFINED:
                break
            moved = E + problem.solve(residual)
            again = problem.measured(moved)
            if not again[1] < error / 2:
                break
            E, (objective, error, residual) = moved, again
        if not error <= 1.0:  # weights of zero are nearer
            E = np.zeros_like(E)
            objective, error, _ = problem.measured(E)
        error, coef = space.bounded(error), problem.coef(E)
        power = self.degree if self.kernel == "polynomial" else 1
        notes = self._notes(requested, basis.shape[1]) + scale_notes(train, error <= TOL, power)
        info = FitInfo(1, objective, error, error <= TOL, notes)
        if rows is None:
            return space.model(train.X, coef, mean, Kernel.of(self), info)
        coef = coef - coef.mean(axis=1, keepdims=True)
        intercept = mean - coef @ space.level
        # Squares of residuals are off by as much as their roots, times what these are.
        lost = float((space.rounding(coef.T) ** 2).sum())
        if np.sqrt(lost * objective * n) + lost > ACCURACY * objective * n:
            info = replace(info, objective=self._objective(train, coef, intercept, objective))
        return KernelModel.of(rows, coef, intercept, self.gamma, info)

    def _objective(self, train: TrainingSet, coef: FloatArray, intercept: FloatArray, objective: float) -> float:
        """Return the objective of a model with a kernel, in long doubles; `objective` where that takes too long."""
        K = long_kernel(Kernel.of(self), train.X)
        if K is None:
            return objective
        scores = long_expansion(K, coef.T)
        gram = coef @ scores
        size = np.trace(gram) or 1.0
        directions = eigvalsh(((gram + gram.T) / (2 * size)).astype(np.float64))
        rank = default_rank(train.n_labels) if self.rank == "auto" else int(self.rank)
        outside = size * np.maximum(directions[: max(len(directions) - rank, 0)], 0.0).sum()
        loss = ((scores + intercept - train.dense_Y) ** 2).sum() / train.n_samples
        return float(loss + self.alpha * outside + self.beta * np.trace(gram))

    def _notes(self, requested: int, found: int) -> tuple[str, ...]:
        if requested < found or self.alpha == 0:
            return ()
        return (
            f"a subspace of {requested} dimensions holds all {found} directions of the labels: alpha has no effect",
        )


def _leading(scaled: FloatArray) -> FloatArray:
    """Return the eigenvectors of scaled'scaled, largest first, without those of eigenvalue zero."""
    values, vectors = eigh(scaled.T @ scaled)
    keep = values > NOISE * max(values[-1], 0.0)
    return np.asarray(vectors[:, keep][:, ::-1])


def _check_rank(rank: Any) -> None:
    if rank != "auto" and (isinstance(rank, bool) or not isinstance(rank, int) or rank < 0):
        raise ValueError(f"rank must be 'auto' or a whole number, 0 or above, found {rank!r}")
