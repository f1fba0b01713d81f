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

`objective` is that of the problem; it is a closed form, so `optimality` is 0. Cost: the smaller Gram matrix of the rows
(or the kernel matrix) and its eigen-decomposition, once for all alpha, beta and rank; then O(min(n, n_features) k^2)
for k labels. Sparse rows stay sparse. A kernel makes the rows those of its feature space; penalties do not depend on
the basis there, so nothing else changes.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import eigh

from mlrank.arrays import FloatArray
from mlrank.kernels import Kernel, canonical
from mlrank.kernels.rows import KernelRows
from mlrank.linalg import CenteredRows
from mlrank.solvers.base import FitInfo, TrainingSet, check_kernel, check_not_negative
from mlrank.solvers.models import KernelModel, LinearModel
from mlrank.solvers.ridge import RidgeSpace, gram_space, linear_space

__all__ = ["SharedSubspace", "default_rank"]

# Of the largest eigenvalue: below it an eigenvalue of labels' products is rounding.
NOISE = 1e-12


class Decomposed(NamedTuple):
    """The rows, decomposed; `rows` gives kernel values of other rows, None for the linear kernel."""

    space: RidgeSpace
    rows: KernelRows | None


def default_rank(n_labels: int) -> int:
    """Return 5 floor((k - 1) / 5), the paper's rank as far as is known, or k - 1 for fewer than 6 labels.

    >>> [default_rank(n_labels) for n_labels in (1, 5, 6, 10, 20, 21)]
    [0, 4, 5, 5, 15, 20]
    """
    return 5 * ((n_labels - 1) // 5) if n_labels > 5 else n_labels - 1


@dataclass(frozen=True)
class SharedSubspace:
    """Least squares on all labels with a shared subspace.

    Parameters
    ----------
    alpha : float
        Weight of what lies outside the subspace, 0 or above.
    beta : float
        Weight of all, 0 or above; with both 0 it is least squares of least norm.
    rank : int or "auto"
        Dimension of the subspace, 0 or above; "auto" is `default_rank`. Beyond the rank of X'Y alpha has no effect.
    kernel, gamma, degree, coef0 : str, float, int, float
        A key of KERNELS and its constants, or "precomputed": the rows of X then are those of the kernel matrix.
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
        return Decomposed(gram_space(rows.gram(self.gamma)), rows)

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
        space, rows = self.prepare(train) if prepared is None else prepared
        if prepared is None and rows is not None:
            rows.forget()
        Y = train.Y.astype(np.float64)
        mean, n = Y.mean(axis=0), train.n_samples
        root = np.sqrt(space.values)[:, None]
        right = root * space.parts(Y - mean) / n
        inner = space.values[:, None] / n + self.beta
        outer = inner + self.alpha
        basis = _leading(right / np.sqrt(outer * inner))
        requested = default_rank(train.n_labels) if self.rank == "auto" else int(self.rank)
        kept = basis[:, : min(requested, basis.shape[1])]
        weights = (right + self.alpha * (right @ kept) @ kept.T / inner) / outer
        # At the minimum the quadratic part is half of the linear one.
        objective = float(((Y - mean) ** 2).sum() / n - np.sum(right * weights))
        info = FitInfo(1, objective, 0.0, True, self._notes(requested, basis.shape[1]))
        coef = space.coef(root * weights, 0.0)
        if rows is None:
            return space.model(train.X, coef, mean, Kernel.of(self), info)
        return KernelModel.of(rows, coef, mean - coef @ space.level, self.gamma, info)

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
