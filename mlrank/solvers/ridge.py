"""Ridge regression with a free bias, for every penalty and target at once, from one decomposition of the rows.

Let Xc be the centered rows, or the centered rows in a kernel's feature space, with thin singular value decomposition
U S V'. Only the smaller Gram matrix is decomposed, so U is known through V where there are more rows than features: no
matrix of n x n arises then, and sparse rows stay sparse. For targets Z with column means m::

    min_W,b  |X W + 1b' - Z|^2 + lam |W|^2     W = V S (S^2 + lam)^-1 U'Z,   b = m - W'(mean row)

The hat matrix Xc (Xc'Xc + lam I)^-1 Xc' is U S^2 (S^2 + lam)^-1 U'. With lam = 0 both are those of the pseudo-inverse,
of rows with columns scaled to one length: what is zero but for rounding there is zero.

Certificate: with R = Xc'(Zc - Xc W) - lam W, the residual of the normal equations on the rows as they are, a target z
with its column r and weights w has::

    sqrt(r'(Xc'Xc + lam I)^-1 r) / |z|  =  sqrt(objective of w - least objective) / |z|  >=  |Xc w - Xc w*| / |z|

so it bounds the relative error of the fitted scores. The largest over the targets counts, or 10^4 times the largest
backward error |r_i| / (|x_i| (|z| + sum_j |x_j||w_j|) + lam |w_i|) of a feature i if that is more, and what scores of
the model round to is added: of X W where features are far from zero, of K A where entries or weights are large. With a
kernel and weights A of rows it is |Zc - Kc A - lam A| / |z|, which is no less. Eigenvalues in it are taken as small as
rounding may have left them. Where it would be above one, all weights are zero instead.

Where it is above TOL after steps of iterative refinement, features or rows are many powers of ten apart, and their Gram
matrix has lost digits: a slower decomposition of the rows themselves takes its place (`mlrank.linalg.graded`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from scipy.linalg import eigh, qr

from mlrank.arrays import Features, FloatArray, as_dense, read_only
from mlrank.kernels import Kernel
from mlrank.linalg import CenteredRows, center_columns, column_lengths
from mlrank.linalg.graded import graded_rows, graded_svd
from mlrank.solvers.base import FitInfo
from mlrank.solvers.models import KernelModel, LinearModel

__all__ = [
    "GRADED_SIDE",
    "TOL",
    "Ridge",
    "RidgeSpace",
    "better_of",
    "check_penalty",
    "gram_space",
    "kernel_space",
    "linear_space",
]

# Where the penalty is "auto": so much of the mean squared singular value.
AUTO_PENALTY = 1e-6
# The certificate up to which a closed form counts as solved: kernel matrices that are nearly singular, with the penalty
# "auto", leave seven digits of scores.
TOL = 1e-6
# The backward error of a feature counts so many times.
BACKWARD = 1e4
# Iterative refinement goes on above this certificate, for so many steps, as long as it halves.
REFINED = 1e-9
REFINEMENTS = 3
# With lam = 0: directions that were dropped may leave this part of a column's length times that of a target, or else
# they were more than rounding.
DROPPED = 1e-12
# The slower decomposition is made up to these sizes: the smaller side of the rows, and their entries.
GRADED_SIDE = 1500
GRADED_ENTRIES = 1 << 26
# Rows that the middle entry of a kernel matrix is taken of.
MEDIAN_ROWS = 64
EPS = float(np.finfo(np.float64).eps)


class Ridge(NamedTuple):
    """A regression with its certificate.

    Parameters
    ----------
    coef : (n_targets, n_features) ndarray; with a kernel (n_targets, n_samples)
    fitted : (n_samples, n_targets) ndarray
        Scores of the rows, without the bias.
    error : float
        The certificate, of the target where it is largest.
    objective : float
    """

    coef: FloatArray
    fitted: FloatArray
    error: float
    objective: float


class _Measured(NamedTuple):
    ridge: Ridge
    correction: Callable[[], FloatArray]


@dataclass(frozen=True)
class RidgeSpace:
    """The decomposition of one set of rows.

    Parameters
    ----------
    values : (r,) ndarray
        Squared singular values; those that are not zero, or with a kernel all.
    vectors : (n_samples, r) or (n_features, r) ndarray
        U if `dual`, V otherwise.
    dual : bool
    rows : CenteredRows or None
        None with a kernel.
    K : (n_samples, n_samples) ndarray
        The kernel matrix, not centered but less `shift`; empty without a kernel.
    centered : bool
        Whether the regression has a free bias.
    noise : float
        What rounding may have added to the eigenvalues. Those of a kernel that are smaller count as zero with lam = 0.
    shift : float
    U : (n_samples, r) ndarray or None
        Where it is known beside V.
    lost : bool
        Whether rounding left nothing of what distinguishes the rows in the kernel matrix.
    """

    values: FloatArray
    vectors: FloatArray
    dual: bool
    rows: CenteredRows | None
    K: FloatArray
    centered: bool
    noise: float
    shift: float = 0.0
    U: FloatArray | None = None
    lost: bool = False

    @property
    def level(self) -> FloatArray:
        """Means of the columns of the kernel matrix, (n_samples,), zeros without centering; empty without a kernel."""
        mean: FloatArray = self.K.mean(axis=0) + self.shift if len(self.K) else np.zeros(0)
        return mean if self.centered else np.zeros(len(self.K))

    def bounded(self, error: float) -> float:
        """Return the certificate of a fit in this space whose error was measured.

        Where rounding hides the rows no weights are known to be better than none, and none may be far off.
        """
        return max(error, float(self.lost))

    def penalty(self, lam: float | str) -> float:
        """Return `lam`, or for "auto" a millionth of the mean squared singular value."""
        if lam != "auto":
            return float(lam)
        width = len(self.vectors) if self.rows is None else self.rows.shape[1]
        return AUTO_PENALTY * float(self.values.sum()) / width

    def inverse(self, lam: float) -> FloatArray:
        """Return 1 / (S^2 + lam), zero where both count as zero, shape (r,)."""
        regular = self.values > (0.0 if self.rows is not None or lam > 0 else self.noise)
        total = self.values + lam
        return np.divide(1.0, total, out=np.zeros_like(total), where=regular | (lam > 0))

    def shrunk(self, lam: float) -> FloatArray:
        """Return the eigenvalues of the hat matrix, shape (r,)."""
        if self.rows is not None:
            kept: FloatArray = self.values / (self.values + lam)
            return kept
        return self.values * self.inverse(lam)

    def parts(self, targets: FloatArray) -> FloatArray:
        """Return U'Z, shape (r, n_targets); with centered rows the means of the targets play no part in it."""
        if self.U is not None:
            return np.asarray(self.U.T @ targets)
        if self.rows is None:
            return np.asarray(self.vectors.T @ (center_columns(targets) if self.centered else targets))
        if self.dual:
            return self.vectors.T @ targets
        parts: FloatArray = (self.vectors.T @ self.rows.transpose_times(targets)) / np.sqrt(self.values)[:, None]
        return parts

    def left_times(self, parts: FloatArray) -> FloatArray:
        """Return U @ parts, shape (n_samples, k)."""
        if self.U is not None or self.dual or self.rows is None:
            return np.asarray((self.vectors if self.U is None else self.U) @ parts)
        return self.rows.times(self.vectors @ (parts / np.sqrt(self.values)[:, None]))

    def left(self) -> FloatArray:
        """Return U, shape (n_samples, r)."""
        if self.U is not None:
            return self.U
        if self.dual or self.rows is None:
            return self.vectors
        return self.rows.times(self.vectors / np.sqrt(self.values))

    def coef(self, parts: FloatArray, lam: float) -> FloatArray:
        """Return the weights (n_targets, n_features) for U'Z = `parts`; with a kernel (n_targets, n_samples)."""
        if not self.dual and self.rows is not None:
            weight = np.sqrt(self.values) / (self.values + lam)
            return np.ascontiguousarray((self.vectors @ (weight[:, None] * parts)).T)
        if self.rows is None:
            return np.ascontiguousarray((self.vectors @ (self.inverse(lam)[:, None] * parts)).T)
        expansion = self.vectors @ (parts / (self.values + lam)[:, None])
        return np.ascontiguousarray(self.rows.transpose_times(expansion).T)

    def certified(self, coef: FloatArray, targets: FloatArray, lam: float) -> Ridge:
        """Return the regression of `targets`, (n_samples, n_targets), with its certificate, refined where it pays."""
        Z = center_columns(targets) if self.centered else targets
        lengths, whole = column_lengths(Z), column_lengths(targets)
        # A constant target leaves nothing but rounding when it is centered.
        lengths = np.where(lengths > 1e-8 * whole, lengths, whole)
        measure = self._measured_rows if self.rows is not None else self._measured_kernel
        best = measure(coef, Z, lengths, lam)
        for _ in range(REFINEMENTS):
            if best.ridge.error <= REFINED:
                break
            refined = measure(best.ridge.coef + best.correction().T, Z, lengths, lam)
            if not refined.ridge.error < best.ridge.error / 2:
                best = min(best, refined, key=_by_error)
                break
            best = refined
        if _by_error(best) <= 1.0:
            return best.ridge
        return min(best, measure(np.zeros_like(coef), Z, lengths, lam), key=_by_error).ridge

    def energies(self, residual: FloatArray, lam: float) -> tuple[FloatArray, FloatArray]:
        """Return r'(Xc'Xc + lam I)^-1 r for the columns of `residual`, (n_features, k), at most, and V'R, (r, k).

        For rows without a kernel. With lam = 0 the part of r outside of the rows' directions is infinite unless it is
        rounding.
        """
        assert self.rows is not None
        if self.dual:
            turned = (self.vectors.T @ self.rows.times(residual)) / np.sqrt(self.values)[:, None]
        else:
            turned = self.vectors.T @ residual
        squares = turned**2
        total = self.values + lam - self.noise
        within = np.full(residual.shape[1], np.inf)
        if total.min(initial=1.0) > 0:
            within = (squares / total[:, None]).sum(axis=0)
        if len(self.values) == residual.shape[0]:
            return within, turned
        if lam > self.noise:
            beyond = np.maximum((residual**2).sum(axis=0) - squares.sum(axis=0), 0.0) / (lam - self.noise)
            return within + beyond, turned
        if self.dual:
            outside = residual - self.rows.transpose_times(self.vectors @ (turned / np.sqrt(self.values)[:, None]))
        else:
            outside = residual - self.vectors @ turned
        lengths = self.rows.lengths[:, None]
        part = np.divide(np.abs(outside), lengths, out=np.zeros_like(outside), where=lengths > 0).max(axis=0)
        return within + np.where(part > DROPPED * np.sqrt(self.rows.shape[0]), np.inf, part**2), turned

    def _measured_rows(self, coef: FloatArray, Z: FloatArray, lengths: FloatArray, lam: float) -> _Measured:
        assert self.rows is not None
        W = coef.T
        fitted = self.rows.times(W)
        rest = Z - fitted
        residual = self.rows.transpose_times(rest) - lam * W
        squares, turned = self.energies(residual, lam)
        columns = self.rows.lengths[:, None]
        terms = columns * (lengths + (columns * np.abs(W)).sum(axis=0)) + lam * np.abs(W)
        backward = np.divide(np.abs(residual), terms, out=np.zeros_like(terms), where=terms > 0).max(initial=0.0)
        sizes = self.rows.lengths + np.sqrt(len(Z)) * np.abs(self.rows.mean)
        rounding = EPS * (sizes @ np.abs(W))
        error = max(_largest(np.sqrt(squares) + rounding, lengths), BACKWARD * float(backward))
        objective = float(np.vdot(rest, rest) + lam * np.vdot(W, W))

        def correction() -> FloatArray:
            assert self.rows is not None
            step = turned / (self.values + lam)[:, None]
            if self.dual:
                return self.rows.transpose_times(self.vectors @ (step / np.sqrt(self.values)[:, None]))
            return np.asarray(self.vectors @ step)

        return _Measured(Ridge(coef, fitted, error, objective), correction)

    def _measured_kernel(self, coef: FloatArray, Z: FloatArray, lengths: FloatArray, lam: float) -> _Measured:
        A = center_columns(coef.T) if self.centered else coef.T
        product = self.K @ A
        fitted = center_columns(product) if self.centered else product
        rest = Z - fitted - lam * A
        parts = self.vectors.T @ rest
        inverse = self.inverse(lam)[:, None]
        error = np.linalg.norm(rest if lam > 0 else parts[inverse[:, 0] > 0], axis=0)
        error += self.rounding(A)
        objective = float(((Z - fitted) ** 2).sum() + lam * np.vdot(A, fitted))

        def correction() -> FloatArray:
            return np.asarray(self.vectors @ (inverse * parts))

        return _Measured(Ridge(np.ascontiguousarray(A.T), fitted, _largest(error, lengths), objective), correction)

    def rounding(self, A: FloatArray) -> FloatArray:
        """Return the length of what scores of coefficients A (n_samples, k) of a kernel's rows round to, shape (k,)."""
        length: FloatArray = EPS * np.sqrt(len(A)) * self.largest_entry * np.linalg.norm(A, axis=0)
        return length

    @cached_property
    def largest_entry(self) -> float:
        """The largest entry of the kernel matrix in size, at most."""
        return max(float(self.K.max()), -float(self.K.min())) + abs(self.shift)

    @cached_property
    def graded(self) -> "RidgeSpace | None":
        """The space by the slower decomposition; None where it would take too long, or where this is one."""
        if self.noise == 0:
            return None
        if self.rows is None:
            return self._graded_kernel() if len(self.K) <= GRADED_SIDE else None
        n_samples, n_features = self.rows.shape
        if min(n_samples, n_features) > GRADED_SIDE or n_samples * n_features > GRADED_ENTRIES:
            return None
        U, values, V = graded_svd(self.rows.dense())
        return RidgeSpace(values**2, V, False, self.rows, self.K, self.centered, 0.0, U=U)

    def _graded_kernel(self) -> "RidgeSpace":
        L = graded_rows(self.K + self.shift)
        U, values, _ = graded_svd(center_columns(L) if self.centered else L)
        whole = np.asarray(qr(U, check_finite=False)[0]) if U.size else np.eye(len(L))
        U = np.hstack([U, whole[:, U.shape[1] :]])
        squares = np.concatenate([values**2, np.zeros(U.shape[1] - len(values))])
        return RidgeSpace(squares, U, True, None, self.K, self.centered, 0.0, self.shift, lost=self.lost)

    def model(
        self, X: Features, coef: FloatArray, mean: FloatArray, kernel: Kernel, info: FitInfo
    ) -> LinearModel | KernelModel:
        """Return the model with these weights whose scores of the rows `X` have the column means `mean`."""
        if self.rows is not None:
            return LinearModel(coef, mean - coef @ self.rows.mean, info)
        return KernelModel.expansion(kernel, read_only(X), coef, mean - coef @ self.level, info)


def _by_error(one: _Measured) -> float:
    return one.ridge.error if np.isfinite(one.ridge.error) else np.inf


def _largest(errors: FloatArray, lengths: FloatArray) -> float:
    """Return the largest of the errors relative to the lengths of the targets; a target of zeros has no error."""
    relative = np.divide(errors, lengths, out=np.zeros_like(errors), where=lengths > 0)
    return float(relative.max(initial=0.0))


def linear_space(rows: CenteredRows, centered: bool = True) -> RidgeSpace:
    """Decompose `rows`; those whose mean is set to zero are taken as they are, which `centered` must say."""
    n_samples, n_features = rows.shape
    dual = n_samples < n_features
    values, vectors = eigh(rows.gram(dual), driver="evd", overwrite_a=True, check_finite=False)
    noise = _rounding(values)
    keep = values > noise
    return RidgeSpace(values[keep], vectors[:, keep], dual, rows, np.zeros((0, 0)), centered, noise)


def kernel_space(X: Features, kernel: Kernel, centered: bool = True, bias: float = 0.0) -> RidgeSpace:
    """Decompose the kernel matrix of `X`, centered or as it is, with `bias` added to every entry."""
    return gram_space(X, kernel(X, X) + bias, centered)


def gram_space(X: Features, K: FloatArray, centered: bool = True) -> RidgeSpace:
    """Decompose the kernel matrix `K` of the rows `X`, centered on both sides or as it is.

    All its directions are kept: in those of eigenvalue zero the weights of rows are the targets divided by the penalty.
    What is centered is less the middle entry, which makes no difference and keeps the digits of a nearly constant one.
    """
    gram, shift = K, 0.0
    if centered:
        shift = float(np.median(K[:: max(1, len(K) // MEDIAN_ROWS)]))
        K = K - shift
        gram = center_columns(center_columns(K).T)
        gram = (gram + gram.T) / 2
    values, vectors = eigh(gram, driver="evd", overwrite_a=centered, check_finite=False)
    space = RidgeSpace(np.maximum(values, 0.0), vectors, True, None, K, centered, _rounding(values), shift)
    kept = not centered or values.max(initial=0.0) > EPS * space.largest_entry * len(values)
    return space if kept or not _rows_differ(X) else replace(space, lost=True)


def _rows_differ(X: Features) -> bool:
    return bool(as_dense(X.max(axis=0) - X.min(axis=0)).any())


def _rounding(values: FloatArray) -> float:
    return len(values) * EPS * max(float(values[-1]), 0.0)


class _Fitted(Protocol):
    @property
    def info(self) -> FitInfo: ...


M = TypeVar("M", bound=_Fitted)
S = TypeVar("S")


def better_of(fit: Callable[[S], M], space: S, graded: Callable[[S], S | None]) -> M:
    """Return ``fit(space)``, or if it has not converged the better of it and a fit in the space of `graded`."""
    first = fit(space)
    if first.info.converged or (slower := graded(space)) is None:
        return first
    second = fit(slower)
    return second if second.info.optimality < first.info.optimality else first


def check_penalty(name: str, value: Any) -> None:
    """Raise ValueError unless a penalty is "auto" or a finite number, 0 or above."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < np.inf
    if value != "auto" and not number:
        raise ValueError(f"{name} must be 'auto' or a number, 0 or above, found {value!r}")
