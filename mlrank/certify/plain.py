"""Plain arithmetic of a second opinion: products of rows, block by block, in long doubles.

Everything here is slow and follows its definition. Nothing is shared with the solvers, whose results it judges.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from mlrank.arrays import Features
from mlrank.errors import UserError
from mlrank.solvers.models import DualPoint, KernelModel, LinearModel, LowRankModel, SparseLinearModel

__all__ = [
    "LONG",
    "WHOLE_ROWS",
    "GramRows",
    "KernelBlocks",
    "LinearRows",
    "LongArray",
    "dense_rows",
    "dual_of",
    "kernel_values",
    "rows_of",
]

LONG = np.longdouble
LongArray = npt.NDArray[np.longdouble]
# Numbers of a block.
BLOCK = 1 << 21
# What sums of kernel values may lose of scores.
CANCELLED = 1e-6
# Kernel matrices of more rows take too much memory in long doubles, 16 bytes for each pair, and are computed anew for
# each product; operations of such a product at most: some minutes.
WHOLE_ROWS, PAIRWISE = 6000, 3e10


def dense_rows(X: Features, at: slice | npt.NDArray[Any] = slice(None)) -> LongArray:
    """Return some rows as a dense array of long doubles."""
    rows = X[at]
    return np.asarray(rows.toarray() if issparse(rows) else rows, dtype=LONG)


def product(A: LongArray, B: LongArray) -> LongArray:
    """Return A B; no library multiplies long doubles, and where both are read in order it takes a fifth of the time."""
    return np.asarray(np.dot(np.ascontiguousarray(A), np.asfortranarray(B)))


def _blocks(n: int, cost: int) -> Iterator[slice]:
    """Yield slices of n rows, of which each takes `cost` numbers."""
    step = max(1, BLOCK // max(cost, 1))
    return (slice(first, min(first + step, n)) for first in range(0, n, step))


def kernel_values(settings: Any, X: LongArray, Z: LongArray) -> LongArray:
    """Return the kernel values (n_rows_of_X, n_rows_of_Z) from the definition; no expansion of squares.

    `settings` has `kernel`, `gamma`, `degree` and `coef0`.
    """
    kind, gamma = settings.kernel, LONG(settings.gamma)
    if kind in ("linear", "polynomial"):
        inner = X @ Z.T
        return inner if kind == "linear" else (gamma * inner + LONG(settings.coef0)) ** int(settings.degree)
    values = np.empty((len(X), len(Z)), LONG)
    for block in _blocks(len(X), Z.size):
        apart, whole = X[block, None] - Z[None], X[block, None] + Z[None]
        if kind == "rbf":
            values[block] = np.exp(-gamma * (apart**2).sum(axis=2))
        elif kind == "chi2":
            ratio = np.divide(apart**2, whole, out=np.zeros_like(whole), where=whole != 0)
            values[block] = np.exp(-gamma * ratio.sum(axis=2))
        elif kind == "additive_chi2":
            product = 2 * X[block, None] * Z[None]
            values[block] = np.divide(product, whole, out=np.zeros_like(whole), where=whole != 0).sum(axis=2)
        else:
            raise UserError(f"no definition of the kernel {kind!r} to certify by")
    return values


@dataclass(frozen=True)
class LinearRows:
    """Training rows, and a model with weights of the features.

    Parameters
    ----------
    X : (n_samples, n_features)
    W : (n_features, n_labels), of the model
    """

    X: Features
    W: LongArray

    def times(self, V: LongArray) -> LongArray:
        """Return X V."""
        V = np.asfortranarray(V)
        return np.vstack([product(dense_rows(self.X, at), V) for at in _blocks(self.X.shape[0], self.X.shape[1])])

    def adjoint(self, B: LongArray) -> LongArray:
        """Return X'B."""
        total = np.zeros((self.X.shape[1], B.shape[1]), LONG)
        for at in _blocks(self.X.shape[0], self.X.shape[1]):
            total += product(dense_rows(self.X, at).T, B[at])
        return total

    def outputs(self) -> LongArray:
        """Return the scores of the rows without an intercept."""
        return self.times(self.W)

    def inner(self) -> LongArray:
        """Return the inner products (n_labels, n_labels) of the weights."""
        return product(self.W.T, self.W)

    def spanned(self, B: LongArray) -> LongArray:
        """Return the inner products (n_labels, n_labels) of the weights sum_i b_i phi(x_i)."""
        V = self.adjoint(B)
        return product(V.T, V)

    def penalized(self, B: LongArray, lam: Any, laplacian: Callable[[LongArray], LongArray]) -> LongArray:
        """Return at least v'M^-1 v for v = X'B and M = I + lam X'LX, summed over labels.

        No eigenvalue of M is below 1, so that 2 v'y - y'My + |v - My|^2 is no less for any y. A y near M^-1 v comes
        from double precision.
        """
        V, X = self.adjoint(B), dense_rows(self.X)
        M = np.eye(X.shape[1]) + (lam * (X.T @ laplacian(X))).astype(np.float64)
        y = np.linalg.solve(M, V.astype(np.float64)).astype(LONG)
        plain = self.times(y)
        pull = lam * laplacian(plain)
        rest = V - y - self.adjoint(pull)
        return np.asarray(2 * (V * y).sum() - (y**2).sum() - (plain * pull).sum() + (rest**2).sum())


@dataclass(frozen=True)
class KernelBlocks:
    """A kernel matrix that is computed for each product, block by block.

    Parameters
    ----------
    settings : with `kernel`, `gamma`, `degree` and `coef0`
    rows : (n_samples, n_features)
    absolute : whether its entries count by their size
    """

    settings: Any
    rows: LongArray
    absolute: bool = False

    def __matmul__(self, B: LongArray) -> LongArray:
        B, parts = np.asfortranarray(B), []
        for at in _blocks(len(self.rows), len(self.rows)):
            K = kernel_values(self.settings, self.rows[at], self.rows)
            parts.append(product(abs(K) if self.absolute else K, B))
        return np.vstack(parts)

    def __abs__(self) -> "KernelBlocks":
        return replace(self, absolute=True)


@dataclass(frozen=True)
class GramRows:
    """Training rows under a kernel, and a model with a coefficient for each of them.

    Parameters
    ----------
    K : (n_samples, n_samples), kernel values in long doubles, or what computes them
    A : (n_samples, n_labels), coefficients of the model
    """

    K: LongArray | KernelBlocks
    A: LongArray

    def times(self, B: LongArray) -> LongArray:
        """Return K B."""
        return self.K @ B if isinstance(self.K, KernelBlocks) else product(self.K, B)

    def outputs(self) -> LongArray:
        """Return the scores of the rows without an intercept.

        Raises
        ------
        UserError
            If they are sums that cancel by more than the digits of long doubles.
        """
        scores = self.times(self.A)
        sizes = abs(self.K) if isinstance(self.K, KernelBlocks) else np.abs(self.K)
        lost = 2 * np.finfo(LONG).eps * replace(self, K=sizes).times(np.abs(self.A))
        if not (lost <= CANCELLED * (1 + np.abs(scores))).all():
            raise UserError("its scores are sums that cancel beyond long doubles: `scale: standard`")
        return scores

    def inner(self) -> LongArray:
        """Return the inner products (n_labels, n_labels) of the weights."""
        return product(self.A.T, self.times(self.A))

    def spanned(self, B: LongArray) -> LongArray:
        """Return the inner products (n_labels, n_labels) of the weights sum_i b_i phi(x_i)."""
        return product(B.T, self.times(B))

    def penalized(self, B: LongArray, lam: Any, laplacian: Callable[[LongArray], LongArray]) -> LongArray:
        """Return at least v'M^-1 v as `LinearRows.penalized`; y has coefficients, of which M makes y + lam L K y."""
        if isinstance(self.K, KernelBlocks):
            raise UserError(f"with a kernel and more than {WHOLE_ROWS} rows its penalty is not certified")
        M = np.eye(len(self.K)) + (lam * laplacian(self.K)).astype(np.float64)
        y = np.linalg.solve(M, B.astype(np.float64)).astype(LONG)
        plain = self.times(y)
        pull = lam * laplacian(plain)
        rest = B - y - pull
        forced, own = (B * plain).sum(), (y * plain).sum() + (plain * pull).sum()
        return np.asarray(2 * forced - own + (rest * self.times(rest)).sum())


def rows_of(model: Any, X: Features) -> LinearRows | GramRows:
    """Return the training rows with the weights of a model of them.

    Raises
    ------
    ValueError
        If the model is of another kind, or of other rows.
    """
    if isinstance(model, (LinearModel, SparseLinearModel, LowRankModel)):
        if model.coef.shape[1] != X.shape[1]:
            raise ValueError(
                f"the model has {model.coef.shape[1]} weights a label, the rows have {X.shape[1]} features"
            )
        coef = model.coef.toarray() if isinstance(model, SparseLinearModel) else model.coef
        return LinearRows(X, coef.T.astype(LONG))
    if not isinstance(model, KernelModel):
        raise ValueError(f"a {type(model).__name__} has no weights to certify")
    n = X.shape[0]
    A = np.zeros((n, len(model.dual)), LONG)
    if model.kernel == "precomputed":
        A[np.asarray(model.X_train)] = model.dual.T
        return GramRows(dense_rows(X), A)
    rows = dense_rows(X)
    A[_places(rows, dense_rows(model.X_train))] = model.dual.T
    if n <= WHOLE_ROWS:
        return GramRows(kernel_values(model, rows, rows), A)
    if float(n) ** 2 * rows.shape[1] > PAIRWISE:
        raise UserError(f"kernel values of {n} rows of {rows.shape[1]} features take too long in long doubles")
    return GramRows(KernelBlocks(model, rows), A)


def _places(rows: LongArray, support: LongArray) -> npt.NDArray[np.int64]:
    """Return where the support rows are among the training rows: in their order, equal ones one after the other."""
    places: list[int] = []
    at = 0
    for row in support:
        while at < len(rows) and not np.array_equal(rows[at], row):
            at += 1
        if at == len(rows):
            raise ValueError("the model has a support row that is none of the training rows")
        places.append(at)
        at += 1
    return np.array(places, np.int64)


def dual_of(model: Any, shape: tuple[int, int]) -> LongArray | None:
    """Return the dual point (n_samples, n_labels) that is stored with a model, None where there is none.

    Raises
    ------
    ValueError
        If it is of other rows or labels.
    """
    point: DualPoint | None = getattr(model, "dual_point", None)
    if point is None:
        return None
    given: Any = point.beta
    beta = np.asarray(given.toarray() if issparse(given) else given)
    if beta.shape != shape:
        raise ValueError(f"the dual point has shape {beta.shape}, {shape} was expected")
    return beta.astype(LONG)
