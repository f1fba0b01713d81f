"""What PLST, CPLST and FaIE share: coded labels, their products with the decomposed rows, and the number of components.

A method is a few small matrices after that: nothing of n_samples rows is left but where there are few rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mlrank.arrays import Features, FloatArray, with_ones
from mlrank.kernels import Kernel
from mlrank.linalg import CenteredRows
from mlrank.linalg.eigen import largest
from mlrank.solvers.base import FitInfo, TrainingSet, check_choices, check_components, check_kernel, n_components_of
from mlrank.solvers.models import KernelModel, LinearModel
from mlrank.solvers.ridge import TOL, Ridge, RidgeSpace, better_of, check_penalty, kernel_space, linear_space
from mlrank.solvers.scales import scale_notes

__all__ = [
    "HAT_BIASES",
    "Hat",
    "LabelSpace",
    "LabelSpaceSettings",
    "eigen_error",
    "fit_info",
    "label_space",
    "project",
    "signs",
    "solved",
    "truncated",
]

# The residual of eigenvectors counts so many times in the certificate.
DIRECTIONS = 1e2
HAT_BIASES = ("center", "none", "ones")


@dataclass(frozen=True)
class LabelSpaceSettings:
    """The settings that PLST, CPLST and FaIE share, checked; the solvers explain them.

    Raises
    ------
    ValueError
        For a setting out of range.
    """

    n_components: float
    lam: float | str
    kernel: Kernel
    hat_bias: str = "center"

    @classmethod
    def of(cls, solver: Any) -> "LabelSpaceSettings":
        """Return the shared settings of a solver; PLST has no hat matrix."""
        check_kernel(solver)
        return cls(solver.n_components, solver.lam, Kernel.of(solver), getattr(solver, "hat_bias", cls.hat_bias))

    def __post_init__(self) -> None:
        check_components(self)
        check_penalty("lam", self.lam)
        check_choices(self, {"hat_bias": HAT_BIASES})

    def cost(self, n_samples: int, n_features: int, n_labels: int) -> tuple[float, float]:
        """Return operations and bytes of a fit, up to a constant and in full."""
        size = n_samples if self.kernel.kind != "linear" else min(n_samples, n_features)
        products = float(n_samples) * n_features * (size + n_labels)
        operations = products + 10.0 * (float(size) ** 3 + float(n_labels) ** 3)
        return operations, 8.0 * (n_samples * (n_features + n_labels) + 4.0 * size**2 + 3.0 * n_labels**2)


@dataclass(frozen=True)
class Hat:
    """The rows whose hat matrix tells what features can predict, and their products, with U of the regression.

    Parameters
    ----------
    space : RidgeSpace, with U_h
    parts : (r_h, n_labels), U_h'Y
    ones : (r_h,), U_h'1
    cross : (r, r_h), U'U_h, or None where U_h is U
    """

    space: RidgeSpace
    parts: FloatArray
    ones: FloatArray
    cross: FloatArray | None

    def across(self, A: FloatArray) -> FloatArray:
        """Return U'U_h A."""
        return A if self.cross is None else self.cross @ A

    def times(self, Z: FloatArray, lam: float, ridge: Ridge) -> tuple[FloatArray, float]:
        """Return H Z, computed from the rows, and its certificate; `ridge` is the regression of Z itself."""
        if self.cross is None:
            return ridge.fitted, ridge.error
        own = self.space.certified(self.space.coef(self.space.parts(Z), lam), Z, lam)
        return own.fitted, own.error


@dataclass(frozen=True)
class LabelSpace:
    """Coded labels Y and the centered rows of the regression, decomposed.

    Parameters
    ----------
    rows : RidgeSpace, with U
    Y : (n_samples, n_labels) ndarray, coded
    parts : (r, n_labels), U'Y
    gram : (n_labels, n_labels), Y'Y
    hat : Hat
    """

    rows: RidgeSpace
    Y: FloatArray
    parts: FloatArray
    gram: FloatArray
    hat: Hat

    @cached_property
    def graded(self) -> "LabelSpace | None":
        """The same by the slower decomposition of the rows; None where it would take too long."""
        rows = self.rows.graded
        hat = rows if self.hat.cross is None else self.hat.space.graded
        return None if rows is None or hat is None else _joined(rows, hat, self.Y)

    @property
    def mean(self) -> FloatArray:
        """Mean of the coded labels, shape (n_labels,)."""
        mean: FloatArray = self.Y.mean(axis=0)
        return mean

    def scatter(self) -> FloatArray:
        """Return Yc'Yc with centered labels Yc."""
        total = self.Y.sum(axis=0)
        scatter: FloatArray = self.gram - np.outer(total, total) / len(self.Y)
        return scatter

    def explained(self, lam: float) -> FloatArray:
        """Return Yc'H Yc with the hat matrix H."""
        parts = self.hat.parts - np.outer(self.hat.ones, self.mean)
        return (parts.T * self.hat.space.shrunk(lam)) @ parts


def label_space(train: TrainingSet, settings: LabelSpaceSettings, Y: FloatArray) -> LabelSpace:
    """Decompose the rows of `train` by the kernel and hat_bias that are set, and multiply them with the labels `Y`."""
    rows = _space(train.X, settings.kernel, "center")
    hat = rows if settings.hat_bias == "center" else _space(train.X, settings.kernel, settings.hat_bias)
    return _joined(rows, hat, Y)


def _joined(rows: RidgeSpace, hat: RidgeSpace, Y: FloatArray) -> LabelSpace:
    parts = rows.parts(Y)
    if hat is rows:
        return LabelSpace(rows, Y, parts, Y.T @ Y, Hat(rows, parts, np.zeros(len(parts)), None))
    products = hat.parts(np.hstack([Y, np.ones((len(Y), 1))]))
    return LabelSpace(rows, Y, parts, Y.T @ Y, Hat(hat, products[:, :-1], products[:, -1], rows.parts(hat.left())))


def _space(X: Features, kernel: Kernel, bias: str) -> RidgeSpace:
    if kernel.kind != "linear":
        return kernel_space(X, kernel, centered=bias == "center", bias=float(bias == "ones"))
    if bias == "center":
        return linear_space(CenteredRows(X))
    if bias == "ones":
        X = with_ones(X)
    return linear_space(CenteredRows(X, np.zeros(X.shape[1])), centered=False)


def signs(train: TrainingSet) -> FloatArray:
    """Return the labels as +1 and -1."""
    return np.where(train.dense_Y, 1.0, -1.0)


def truncated(requested: int, found: int, what: str) -> tuple[str, ...]:
    """Return the note of a fit for which there were fewer components than requested."""
    return (f"{requested} components asked for, {found} used: the rank of {what}",) if found < requested else ()


def solved(space: LabelSpace, fit: Callable[[LabelSpace], LinearModel | KernelModel]) -> LinearModel | KernelModel:
    """Return the fit in `space`, or the better one in its graded space if that has not converged."""
    return better_of(fit, space, lambda one: one.graded)


def fit_info(
    train: TrainingSet, rows: RidgeSpace, objective: float, errors: list[float], notes: tuple[str, ...]
) -> FitInfo:
    """Return how a closed form on `rows` went, of which the largest error counts."""
    largest = rows.bounded(max(errors))
    converged = largest <= TOL
    return FitInfo(1, objective, largest, converged, notes + scale_notes(train, converged))


def eigen_error(product: FloatArray, vectors: FloatArray, values: FloatArray, total: float = 0.0) -> float:
    """Return the residual of eigenvectors, whose products with the matrix are given, relative to the largest value.

    It is relative to a millionth of `total`, which the matrix is a part of, if that is more.

    It counts a hundred times: the directions themselves err by more, the nearer the value of the next one is.
    """
    rest = product - vectors * values
    return (
        DIRECTIONS
        * float(np.linalg.norm(rest, axis=0).max(initial=0.0))
        / (float(values.max(initial=1e-6 * total)) or 1.0)
    )


def project(
    train: TrainingSet, settings: LabelSpaceSettings, space: LabelSpace, explained: bool
) -> LinearModel | KernelModel:
    """Return the model of ridge regression onto the first eigenvectors of Yc'Yc, or with `explained` of Yc'H Yc."""
    lam, requested = space.rows.penalty(settings.lam), n_components_of(settings.n_components, train.n_labels)
    matrix = space.explained(lam) if explained else space.scatter()
    values, V = largest(matrix, requested, train.n_labels * np.finfo(np.float64).eps)
    targets = space.Y @ V
    ridge = space.rows.certified(space.rows.coef(space.parts @ V, lam), targets, lam)
    product, error = matrix @ V, 0.0
    if explained:
        fitted, error = space.hat.times(targets - targets.mean(axis=0), lam, ridge)
        product = space.Y.T @ fitted - np.outer(space.mean, fitted.sum(axis=0))
    errors = [ridge.error, error, eigen_error(product, V, values, float(np.trace(space.gram)))]
    what = "the labels that features explain" if explained else "the centered labels"
    info = fit_info(train, space.rows, float(values.sum()), errors, truncated(requested, len(values), what))
    return space.rows.model(train.X, V @ ridge.coef, space.mean, settings.kernel, info)
